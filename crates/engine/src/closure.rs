//! Digest of everything that a step's result depends on, and whether a step is up to date.

use std::path::{Path, PathBuf};

use pcbflow_core::event::OutputRef;
use pcbflow_core::ids::Digest;
use pcbflow_core::ports::{Closure, FileDigests};
use pcbflow_core::projection::PassState;

/// Digest of a closure. A file that is not there counts as absent, so that its appearance
/// changes the digest.
///
/// # Errors
/// What the system says of a file that is there and can't be read.
pub fn digest(
    closure: &Closure,
    root: &Path,
    digests: &dyn FileDigests,
) -> Result<Digest, std::io::Error> {
    let mut files: Vec<&PathBuf> = closure.files.iter().collect();
    files.sort();
    files.dedup();
    let mut out = String::from("pcbflow closure v1\n");
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(file).to_string_lossy();
        match digests.digest(file)? {
            Some((digest, bytes)) => {
                out.push_str(&format!("file {} {name} {bytes} {digest}\n", name.len()));
            }
            None => out.push_str(&format!("absent {} {name}\n", name.len())),
        }
    }
    for (key, value) in &closure.settings {
        out.push_str(&format!("setting {} {key} {} {value}\n", key.len(), value.len()));
    }
    Ok(Digest::of(out.as_bytes()))
}

/// Whether every output of the last pass is there with its digest.
///
/// # Errors
/// What the system says of a file that is there and can't be read.
pub fn outputs_hold(
    outputs: &[OutputRef],
    board_dir: &Path,
    digests: &dyn FileDigests,
) -> Result<bool, std::io::Error> {
    for output in outputs {
        match digests.digest(&board_dir.join(&output.path))? {
            Some((digest, _)) if digest == output.digest => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Whether the last pass still holds for this definition and closure.
#[must_use]
pub fn same_inputs(pass: &PassState, definition: Digest, closure: Digest) -> bool {
    pass.definition == definition && pass.closure == closure
}
