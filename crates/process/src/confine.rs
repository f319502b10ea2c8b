//! Paths of a manifest stay inside the folder they belong to, links included.

use std::io;
use std::path::{Component, Path, PathBuf};

use pcbflow_core::manifest::path_fault;

/// Why a path is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfineFault {
    /// As written.
    #[error("{path:?} {why}")]
    Written {
        /// The path.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A link on the way leads out.
    #[error("{path:?} leads out of its folder through a link")]
    LeadsOut {
        /// The path.
        path: String,
    },
    /// The system did not let us look.
    #[error("{path:?} can't be looked at")]
    Unreadable {
        /// The path.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

/// `base/path`, proven to lie below `base` when every link on the way is followed. The file
/// itself need not exist yet.
///
/// # Errors
/// [`ConfineFault`] says why not.
pub fn confined(base: &Path, path: &str) -> Result<PathBuf, ConfineFault> {
    if let Some(why) = path_fault(path) {
        return Err(ConfineFault::Written { path: path.to_owned(), why });
    }
    let unreadable = |source| ConfineFault::Unreadable { path: path.to_owned(), source };
    let base = base.canonicalize().map_err(unreadable)?;
    let full: PathBuf = base.join(path).components().filter(|c| *c != Component::CurDir).collect();
    // The deepest part that exists decides; a dangling link exists as a link and is refused.
    for part in full.ancestors() {
        match part.symlink_metadata() {
            Err(e)
                if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
            {
                continue;
            }
            Err(e) => return Err(unreadable(e)),
            Ok(_) => {
                let real = part.canonicalize();
                if real.as_ref().is_ok_and(|r| r.starts_with(&base)) {
                    return Ok(full);
                }
                return Err(match real {
                    Err(e) if e.kind() != io::ErrorKind::NotFound => unreadable(e),
                    _ => ConfineFault::LeadsOut { path: path.to_owned() },
                });
            }
        }
    }
    Err(ConfineFault::LeadsOut { path: path.to_owned() })
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_leads_out() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().join("board");
        std::fs::create_dir_all(base.join("in")).unwrap();
        symlink("/etc", base.join("out")).unwrap();
        symlink("in", base.join("within")).unwrap();
        symlink("/no/such/place", base.join("dangling")).unwrap();
        for fine in ["x.txt", "in/deep/x", "within/x", "ä ö/ü", "./in/x"] {
            assert!(confined(&base, fine).is_ok(), "{fine}");
        }
        for bad in ["../x", "/etc/passwd", "out/passwd", "out", "dangling", "dangling/x", ""] {
            assert!(confined(&base, bad).is_err(), "{bad}");
        }
        // A board that is reached through a link itself.
        symlink(&base, dir.path().join("link")).unwrap();
        assert!(confined(&dir.path().join("link"), "in/x").is_ok());
    }
}
