//! Paths of a board: inputs stay below its root, outputs below its folder, links included.
//!
//! Checked at use, not when the manifest is read: a link can be put in place at any time. What
//! comes back is canonical, so that nothing between the check and the use goes through a link
//! that was there at the check.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use pcbflow_core::manifest::path_fault;

/// Most parts of a path.
const PARTS_MAX: usize = 256;

/// Why a path is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// Its form is refused before any file is looked at.
    #[error("the path {path:?} {fault}")]
    Form {
        /// As written.
        path: String,
        /// The fault.
        fault: &'static str,
    },
    /// A link on the way leads out of the folder.
    #[error("the path {path:?} leads out of {folder} to {to}")]
    Leaves {
        /// As written.
        path: String,
        /// The folder that it must stay in.
        folder: PathBuf,
        /// Where it leads.
        to: PathBuf,
    },
    /// The place of an output is a link.
    #[error("{path} is a link, an output is never written through one")]
    IsLink {
        /// The link.
        path: PathBuf,
    },
    /// The place of an output is a folder.
    #[error("{path} is a folder, a file goes there")]
    IsFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The folder is not there.
    #[error("the folder {path} is not there")]
    NoFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The path is there and is no folder.
    #[error("{path} is not a folder")]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// The system refused.
    #[error("{path} can't be looked at")]
    Io {
        /// The path.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

fn io(path: &Path, source: std::io::Error) -> PathError {
    PathError::Io { path: path.to_owned(), source }
}

/// The canonical folder that `root:` names, seen from the manifest's folder.
///
/// # Errors
/// It is not there, or is no folder.
pub fn resolve_root(manifest_dir: &Path, root: Option<&str>) -> Result<PathBuf, PathError> {
    let path = root.map_or_else(|| manifest_dir.to_owned(), |r| manifest_dir.join(r));
    let real = match std::fs::canonicalize(&path) {
        Ok(real) => real,
        Err(e) if e.kind() == ErrorKind::NotFound => return Err(PathError::NoFolder { path }),
        Err(e) => return Err(io(&path, e)),
    };
    if real.is_dir() { Ok(real) } else { Err(PathError::NotAFolder { path }) }
}

/// The canonical path of an input below `folder`, whether the file is there or not.
///
/// # Errors
/// The form is refused, or a link leads out of the folder.
pub fn confined(folder: &Path, path: &str) -> Result<PathBuf, PathError> {
    if let Some(fault) = path_fault(path) {
        return Err(PathError::Form { path: path.to_owned(), fault });
    }
    let folder = std::fs::canonicalize(folder).map_err(|e| io(folder, e))?;
    let real = canonical_as_far(&folder.join(path))?;
    if real.starts_with(&folder) {
        Ok(real)
    } else {
        Err(PathError::Leaves { path: path.to_owned(), folder, to: real })
    }
}

/// The canonical path of an output below `folder`; the output itself may not be a link.
///
/// # Errors
/// As [`confined`], [`PathError::IsLink`] and [`PathError::IsFolder`].
pub fn output(folder: &Path, path: &str) -> Result<PathBuf, PathError> {
    let real = confined(folder, path)?;
    let folder = std::fs::canonicalize(folder).map_err(|e| io(folder, e))?;
    let written = folder.join(path);
    match std::fs::symlink_metadata(&written) {
        Ok(meta) if meta.is_symlink() => Err(PathError::IsLink { path: written }),
        Ok(meta) if meta.is_dir() => Err(PathError::IsFolder { path: written }),
        Ok(_) => Ok(real),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(real),
        Err(e) => Err(io(&written, e)),
    }
}

/// Canonical form of the part of a path that is there, followed by the rest.
fn canonical_as_far(path: &Path) -> Result<PathBuf, PathError> {
    let mut rest: Vec<OsString> = Vec::new();
    let mut head = path.to_owned();
    for _ in 0..PARTS_MAX {
        match std::fs::canonicalize(&head) {
            Ok(mut real) => {
                real.extend(rest.iter().rev());
                return Ok(real);
            }
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                if std::fs::symlink_metadata(&head).is_ok_and(|m| m.is_symlink()) {
                    // A link to nothing: who creates its target decides where the write lands.
                    return Err(PathError::IsLink { path: head });
                }
                match head.components().next_back() {
                    Some(Component::Normal(name)) => rest.push(name.to_owned()),
                    _ => return Err(io(path, e)),
                }
                head.pop();
            }
            Err(e) => return Err(io(&head, e)),
        }
    }
    Err(PathError::Form { path: path.display().to_string(), fault: "has too many parts" })
}

/// `path` relative to `folder` with '/', if it lies below it and is text.
#[must_use]
pub fn relative(folder: &Path, path: &Path) -> Option<String> {
    let rest = path.strip_prefix(folder).ok()?;
    let parts: Option<Vec<&str>> = rest.components().map(|c| c.as_os_str().to_str()).collect();
    Some(parts?.join("/"))
}

/// The way from the folder `from` to `to`, both canonical, with '/'; the absolute path when
/// they have nothing in common or a part is no text.
#[must_use]
pub fn way(from: &Path, to: &Path) -> String {
    let ours: Vec<Component<'_>> = from.components().collect();
    let theirs: Vec<Component<'_>> = to.components().collect();
    let common = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
    let down: Option<Vec<&str>> =
        theirs.iter().skip(common).map(|c| c.as_os_str().to_str()).collect();
    match down {
        Some(down) if common > 0 => {
            let up = std::iter::repeat_n("..", ours.len().saturating_sub(common));
            let parts: Vec<&str> = up.chain(down).collect();
            if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
        }
        _ => to.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_and_outputs_stay_inside() {
        let dir = tempfile::tempdir().unwrap();
        let board = dir.path().join("b");
        std::fs::create_dir_all(board.join("out")).unwrap();
        std::fs::write(dir.path().join("secret"), "x").unwrap();
        assert!(output(&board, "out/new dir/ä.json").unwrap().ends_with("out/new dir/ä.json"));
        assert!(matches!(output(&board, "out"), Err(PathError::IsFolder { .. })));
        assert!(matches!(confined(&board, "../secret"), Err(PathError::Form { .. })));
        assert!(matches!(confined(&board, "/etc/passwd"), Err(PathError::Form { .. })));
        #[cfg(unix)]
        {
            use std::os::unix::fs::symlink;
            symlink("../..", board.join("out/up")).unwrap();
            symlink("../secret", board.join("link")).unwrap();
            symlink("nothing", board.join("dangling")).unwrap();
            symlink("out", board.join("inside")).unwrap();
            assert!(matches!(confined(&board, "out/up/secret"), Err(PathError::Leaves { .. })));
            assert!(matches!(output(&board, "out/up/new/x"), Err(PathError::Leaves { .. })));
            assert!(matches!(confined(&board, "link"), Err(PathError::Leaves { .. })));
            assert!(matches!(output(&board, "dangling"), Err(PathError::IsLink { .. })));
            assert!(matches!(output(&board, "inside"), Err(PathError::IsLink { .. })));
            assert!(output(&board, "inside/x").unwrap().ends_with("b/out/x"));
        }
    }

    #[test]
    fn roots_and_ways() {
        let dir = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(dir.path()).unwrap();
        std::fs::create_dir_all(base.join("ws/projects/b")).unwrap();
        std::fs::create_dir_all(base.join("hw ü")).unwrap();
        let board = base.join("ws/projects/b");
        assert_eq!(way(&board, &base.join("hw ü")), "../../../hw ü");
        assert_eq!(resolve_root(&board, Some("../../../hw ü")).unwrap(), base.join("hw ü"));
        assert_eq!(resolve_root(&board, None).unwrap(), board);
        assert!(matches!(resolve_root(&board, Some("no")), Err(PathError::NoFolder { .. })));
        assert_eq!(way(&board, &board), ".");
        assert_eq!(relative(&base, &board).unwrap(), "ws/projects/b");
    }
}
