//! Files of a board: scripts that are read, outputs that are written. Both stay in their folder.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use pcbflow_core::event::OutputRef;
use pcbflow_core::ids::Digest;
use pcbflow_core::manifest::path_fault;

/// Largest script, in bytes.
const SCRIPT_BYTES_MAX: u64 = 8 * 1024 * 1024;

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why.to_owned())
}

/// `base/path`, proven to lie below `base` when every link on the way is followed. The file itself
/// need not exist yet.
pub(crate) fn confined(base: &Path, path: &str) -> io::Result<PathBuf> {
    if let Some(why) = path_fault(path) {
        return Err(refused(&format!("{path:?} {why}")));
    }
    let base = base.canonicalize()?;
    let full = base.join(path);
    for part in full.ancestors() {
        match part.symlink_metadata() {
            Err(e)
                if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            Err(e) => return Err(e),
            Ok(_) => {
                let inside = part.canonicalize().is_ok_and(|real| real.starts_with(&base));
                let out = || refused(&format!("{path:?} leads out of its folder through a link"));
                return if inside { Ok(full) } else { Err(out()) };
            }
        }
    }
    Err(refused(&format!("{path:?} lies nowhere")))
}

/// The text of a script below the board's root.
pub(crate) fn script(root: &Path, path: &str) -> io::Result<String> {
    let file = confined(root, path)?;
    if std::fs::metadata(&file)?.len() > SCRIPT_BYTES_MAX {
        return Err(refused(&format!("{path:?} is larger than {SCRIPT_BYTES_MAX} bytes")));
    }
    std::fs::read_to_string(file)
}

/// Writes an output below the board's folder, whole or not at all.
pub(crate) fn output(board_dir: &Path, path: &str, bytes: &[u8]) -> io::Result<OutputRef> {
    let file = confined(board_dir, path)?;
    let folder = file.parent().unwrap_or(board_dir);
    std::fs::create_dir_all(folder)?;
    let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let beside = folder.join(format!(".{name}.new"));
    let mut to = std::fs::File::create(&beside)?;
    to.write_all(bytes)?;
    to.sync_all()?;
    std::fs::rename(&beside, &file)?;
    let bytes_len = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    Ok(OutputRef { path: path.to_owned(), digest: Digest::of(bytes), bytes: bytes_len })
}
