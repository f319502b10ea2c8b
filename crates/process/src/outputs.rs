//! Declared outputs, proven: there, not empty, made by this attempt.
//!
//! "Made by this attempt" is a comparison of the file before and after, not of its time with a
//! clock: a tool may keep an old time on a fresh copy, and clocks jump.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pcbflow_core::event::OutputRef;
use pcbflow_core::evidence::{Signal, Source, codes};
use pcbflow_core::ports::FileDigests;

use crate::confine::confined;
use crate::signals;

/// Most files of an output that is a folder.
const FILES_MAX: usize = 10_000;

/// What tells a written file from an untouched one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    len: u64,
    modified: Option<std::time::SystemTime>,
    /// Number and time of change of the entry, where the system has them.
    entry: (u64, i64, i64),
}

/// The declared outputs as they were before an attempt.
pub type Before = BTreeMap<PathBuf, Identity>;

/// Looks before the attempt.
pub fn look(board_dir: &Path, outputs: &[String]) -> Before {
    let files = outputs.iter().filter_map(|o| confined(board_dir, o).ok()).flat_map(|p| files(&p));
    files.filter_map(|f| identity(&f).map(|i| (f, i))).collect()
}

fn identity(file: &Path) -> Option<Identity> {
    let meta = file.metadata().ok()?;
    #[cfg(unix)]
    let entry = {
        use std::os::unix::fs::MetadataExt;
        (meta.ino(), meta.ctime(), meta.ctime_nsec())
    };
    #[cfg(not(unix))]
    let entry = (0, 0, 0);
    Some(Identity { len: meta.len(), modified: meta.modified().ok(), entry })
}

/// The file, or every file of the folder, sorted.
fn files(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let mut found = Vec::new();
    let mut open = vec![path.to_owned()];
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            if found.len() >= FILES_MAX {
                break;
            }
            // Links are not followed: they could lead out.
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                Ok(kind) if kind.is_file() => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// What in an output can't be kept, as it would be left out of the commit or stop it: the first
/// such entry and why.
fn unkept(path: &Path) -> Option<String> {
    let mut open = vec![path.to_owned()];
    let mut seen = 0;
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            if seen >= FILES_MAX {
                return None;
            }
            seen += 1;
            let name = entry.file_name();
            let why = match (name.to_str(), entry.file_type()) {
                (None, _) => "has a name that is not UTF-8",
                (Some(n), _) if n.chars().any(char::is_control) => "has a control code in its name",
                (Some(n), _) if n.eq_ignore_ascii_case(".git") => "is a git repository of its own",
                (_, Ok(kind)) if kind.is_dir() => {
                    open.push(entry.path());
                    continue;
                }
                (_, Ok(kind)) if kind.is_file() => continue,
                (_, Ok(kind)) if kind.is_symlink() => "is a link",
                _ => "is no plain file",
            };
            return Some(format!("{:?} {why} and can't be kept", name.to_string_lossy()));
        }
    }
    None
}

/// Looks after the attempt.
///
/// # Errors
/// One signal for each output that is not as it has to be.
pub fn prove(
    board_dir: &Path,
    outputs: &[String],
    before: &Before,
    digests: &dyn FileDigests,
) -> Result<Vec<OutputRef>, Vec<Signal>> {
    let mut made = Vec::new();
    let mut faults = Vec::new();
    for output in outputs {
        let fault = |code: &str| Signal::new(Source::File, code).text(output);
        let Ok(path) = confined(board_dir, output) else {
            faults.push(fault(codes::OUTPUT_MISSING));
            continue;
        };
        if let Some(why) = unkept(&path) {
            let unmet = Signal::new(Source::Report, signals::POST_CONDITION_UNMET);
            faults.push(unmet.text(&format!("outputs: in {output:?}, {why}")));
            continue;
        }
        let all = files(&path);
        if all.is_empty() {
            faults.push(fault(codes::OUTPUT_EMPTY));
        }
        let fresh = all.iter().any(|f| identity(f).as_ref() != before.get(f));
        for file in &all {
            match one(board_dir, file, digests) {
                Ok(made_one) => made.push(made_one),
                Err(code) => faults.push(fault(code)),
            }
        }
        if !fresh && path.exists() {
            faults.push(fault(codes::OUTPUT_STALE));
            faults.push(fault(signals::OUTPUT_UNCHANGED));
        }
    }
    if faults.is_empty() { Ok(made) } else { Err(faults) }
}

/// Whether every declared output is there and not empty, whoever made it.
#[must_use]
pub fn are_there(board_dir: &Path, outputs: &[String]) -> bool {
    outputs.iter().all(|output| {
        let Ok(path) = confined(board_dir, output) else { return false };
        let all = files(&path);
        !all.is_empty() && all.iter().all(|f| f.metadata().is_ok_and(|m| m.len() > 0))
    })
}

/// What there is of the outputs, without proof that this attempt made it.
pub fn present(board_dir: &Path, outputs: &[String], digests: &dyn FileDigests) -> Vec<OutputRef> {
    let paths = outputs.iter().filter_map(|o| confined(board_dir, o).ok());
    paths.flat_map(|p| files(&p)).filter_map(|f| one(board_dir, &f, digests).ok()).collect()
}

fn one(
    board_dir: &Path,
    file: &Path,
    digests: &dyn FileDigests,
) -> Result<OutputRef, &'static str> {
    let (digest, bytes) = match digests.digest(file) {
        Ok(Some(found)) => found,
        Ok(None) | Err(_) => return Err(codes::OUTPUT_MISSING),
    };
    if bytes == 0 {
        return Err(codes::OUTPUT_EMPTY);
    }
    let base = board_dir.canonicalize().unwrap_or_else(|_| board_dir.to_owned());
    let path = file.strip_prefix(&base).unwrap_or(file);
    let parts: Vec<_> = path.components().map(|c| c.as_os_str().to_string_lossy()).collect();
    Ok(OutputRef { path: parts.join("/"), digest, bytes })
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn what_a_commit_would_lose_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let inside = dir.path().join("sub");
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(inside.join("fine ä.txt"), "x").unwrap();
        assert_eq!(unkept(dir.path()), None);
        let told = |name: &[u8], make: &dyn Fn(&Path), why: &str| {
            let path = inside.join(std::ffi::OsStr::from_bytes(name));
            make(&path);
            let found = unkept(dir.path()).unwrap();
            assert!(found.contains(why), "{found}");
            if path.is_symlink() || path.is_file() {
                std::fs::remove_file(&path).unwrap();
            } else {
                std::fs::remove_dir(&path).unwrap();
            }
        };
        let file = |p: &Path| std::fs::write(p, "x").unwrap();
        told(b"bad\xff", &file, "not UTF-8");
        told(b"a\nb", &file, "control code");
        told(b".git", &|p| std::fs::create_dir(p).unwrap(), "git repository");
        told(b"h", &|p| std::os::unix::fs::symlink("fine ä.txt", p).unwrap(), "is a link");
        assert_eq!(unkept(dir.path()), None);
    }
}
