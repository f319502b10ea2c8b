//! From the name of a program to its file. Done here and not by the system, so that "not found",
//! "not allowed" and "its interpreter is missing" are told apart.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::fault::SpawnFault;

/// The file of `program`: a path as it is (relative to `cwd`), a bare name by the search path.
///
/// # Errors
/// [`SpawnFault::NotFound`], or [`SpawnFault::Denied`] when only files that may not be started
/// have the name.
pub fn find_program(
    program: &str,
    cwd: &Path,
    search: Option<&OsStr>,
) -> Result<PathBuf, SpawnFault> {
    if program.is_empty() {
        return Err(SpawnFault::NoProgram);
    }
    let is_path = program.contains('/') || (cfg!(windows) && program.contains('\\'));
    let places: Vec<PathBuf> = if is_path {
        vec![cwd.join(program)]
    } else {
        // An empty entry means the current folder; a step must not depend on that.
        search
            .map(|s| std::env::split_paths(s).filter(|p| p.is_absolute()).collect::<Vec<_>>())
            .unwrap_or_default()
            .into_iter()
            .map(|p| p.join(program))
            .collect()
    };
    let mut denied = false;
    for place in places.iter().flat_map(|p| spellings(p)) {
        match std::fs::metadata(&place) {
            Ok(meta) if meta.is_file() && may_run(&meta) => return Ok(place),
            Ok(meta) => denied |= meta.is_file() || is_path,
            Err(error) => denied |= error.kind() == std::io::ErrorKind::PermissionDenied,
        }
    }
    Err(if denied { SpawnFault::Denied } else { SpawnFault::NotFound })
}

#[cfg(windows)]
fn spellings(place: &Path) -> Vec<PathBuf> {
    let mut all = vec![place.to_owned()];
    for ending in ["exe", "com", "bat", "cmd"] {
        let mut name = place.as_os_str().to_owned();
        name.push(format!(".{ending}"));
        all.push(PathBuf::from(name));
    }
    all
}

#[cfg(not(windows))]
fn spellings(place: &Path) -> Vec<PathBuf> {
    vec![place.to_owned()]
}

#[cfg(unix)]
fn may_run(meta: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    meta.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn may_run(_meta: &std::fs::Metadata) -> bool {
    true
}
