//! A copy of a signed-in profile, without its caches and locks.

use std::io;
use std::path::{Path, PathBuf};

use super::lock::{Advice, Lock, look_at_lock};
use super::profile::Profile;

/// Most files that a copy takes.
pub const COPY_FILES_MAX: u64 = 100_000;
/// Most bytes that a copy takes.
pub const COPY_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;
/// Deepest folder that is followed.
const DEPTH_MAX: u32 = 32;

/// Folders and files that a browser makes again by itself, or that bind a profile to its process.
const LEFT_OUT: &[&str] = &[
    "cache",
    "code cache",
    "gpucache",
    "shadercache",
    "grshadercache",
    "graphitedawncache",
    "dawncache",
    "dawngraphitecache",
    "dawnwebgpucache",
    "cachestorage",
    "scriptcache",
    "media cache",
    "component_crx_cache",
    "extensions_crx_cache",
    "crashpad",
    "crash reports",
    "browsermetrics",
    "deferredbrowsermetrics",
    "devtoolsactiveport",
    "lockfile",
    "pcbflow-started",
];
/// Beginnings of such names.
const LEFT_OUT_STARTS: &[&str] = &["singleton", "browsermetrics-"];

/// What was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Copied {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Why a profile was not copied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyFault {
    /// A browser uses the source or the place of the copy. It has to be closed first: what it
    /// learnt in the last half minute is not on disk.
    #[error("a browser uses the profile")]
    InUse(Lock),
    /// It is larger than a profile can be.
    #[error("the profile is too large: more than {files_max} files or {bytes_max} bytes")]
    TooLarge {
        /// Most files.
        files_max: u64,
        /// Most bytes.
        bytes_max: u64,
    },
    /// One of the two lies in the other.
    #[error("a profile can't be copied into itself")]
    IntoItself,
    /// What the system said.
    #[error("the profile can't be copied: {path}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The fault.
        #[source]
        source: io::Error,
    },
}

/// Copies the profile `from` to `to`. What was in `to` is replaced in one step when the copy is
/// whole; until then it stays as it was.
///
/// # Errors
/// [`CopyFault`]; `to` is as before then.
pub fn copy_profile(from: &Path, to: &Profile) -> Result<Copied, CopyFault> {
    let goal = to.folder();
    if goal.starts_with(from) || from.starts_with(goal) {
        return Err(CopyFault::IntoItself);
    }
    for folder in [from, goal] {
        let lock = look_at_lock(folder);
        if let Advice::InUse { .. } = lock.advice() {
            return Err(CopyFault::InUse(lock));
        }
    }
    let beside = |ending: &str| {
        let mut name = goal.file_name().unwrap_or_default().to_owned();
        name.push(ending);
        goal.with_file_name(name)
    };
    let (fresh, old) = (beside(".pcbflow-new"), beside(".pcbflow-old"));
    remove(&fresh)?;
    let whole = copy_into(from, &fresh).and_then(|copied| {
        Profile::at(&fresh).mark().map_err(at(&fresh))?;
        Ok(copied)
    });
    let copied = match whole {
        Ok(copied) => copied,
        Err(fault) => {
            remove(&fresh)?;
            return Err(fault);
        }
    };
    remove(&old)?;
    let had_one = goal.exists();
    if had_one {
        std::fs::rename(goal, &old).map_err(at(goal))?;
    }
    if let Err(source) = std::fs::rename(&fresh, goal) {
        if had_one {
            std::fs::rename(&old, goal).map_err(at(&old))?;
        }
        return Err(CopyFault::Io { path: fresh, source });
    }
    remove(&old)?;
    Ok(copied)
}

fn copy_into(from: &Path, to: &Path) -> Result<Copied, CopyFault> {
    Profile::at(to).prepare().map_err(at(to))?;
    let mut copied = Copied::default();
    // Folders still to do; the depth bounds the way down, the number of files everything else.
    let mut open = vec![(PathBuf::new(), 0)];
    while let Some((inner, depth)) = open.pop() {
        let source = from.join(&inner);
        for entry in std::fs::read_dir(&source).map_err(at(&source))? {
            let entry = entry.map_err(at(&source))?;
            let path = inner.join(entry.file_name());
            let kind = entry.file_type().map_err(at(&entry.path()))?;
            if left_out(&entry.file_name().to_string_lossy()) {
                continue;
            }
            if kind.is_dir() && depth < DEPTH_MAX {
                std::fs::create_dir(to.join(&path)).map_err(at(&path))?;
                open.push((path, depth + 1));
            } else if kind.is_file() {
                let too_large =
                    CopyFault::TooLarge { files_max: COPY_FILES_MAX, bytes_max: COPY_BYTES_MAX };
                let size = entry.metadata().map_err(at(&entry.path()))?.len();
                if copied.files >= COPY_FILES_MAX || copied.bytes + size > COPY_BYTES_MAX {
                    return Err(too_large);
                }
                copied.bytes +=
                    std::fs::copy(entry.path(), to.join(&path)).map_err(at(&entry.path()))?;
                copied.files += 1;
            }
            // Links are never followed: they lead out of the profile.
        }
    }
    Ok(copied)
}

pub(super) fn left_out(name: &str) -> bool {
    let name = name.to_lowercase();
    LEFT_OUT.contains(&name.as_str()) || LEFT_OUT_STARTS.iter().any(|s| name.starts_with(s))
}

fn remove(folder: &Path) -> Result<(), CopyFault> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(folder)(error)),
        _ => Ok(()),
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> CopyFault + use<> {
    let path = path.to_owned();
    move |source| CopyFault::Io { path: path.clone(), source }
}
