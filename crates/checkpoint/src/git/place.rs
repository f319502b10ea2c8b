//! Where a repository lies and where its head stands, read from its files without a process.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Most folders on the way up.
const UP_MAX: usize = 128;
/// Most bytes of a small file of git (`HEAD`, a reference, a link).
const SMALL_BYTES_MAX: u64 = 64 * 1024;
/// Most bytes of the file of packed references.
const PACKED_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A repository with a working folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repo {
    /// Top of the working folder, canonical.
    pub top: PathBuf,
    /// Its own `.git` folder: index, HEAD, locks.
    pub git_dir: PathBuf,
    /// What its worktrees share: objects, references, settings.
    pub common_dir: PathBuf,
}

/// Why there is no repository to work with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceFault {
    /// None from this folder upward.
    #[error("no history in {from} or a folder above it")]
    None {
        /// Where the search began.
        from: PathBuf,
    },
    /// A repository without a working folder.
    #[error("the history at {path} has no working folder")]
    Bare {
        /// Where.
        path: PathBuf,
    },
    /// The search ended inside the repository's own files.
    #[error("{path} lies inside the history's own files")]
    Inside {
        /// The folder.
        path: PathBuf,
    },
    /// A `.git` is there and is no whole repository.
    #[error("the history at {path} is not whole: {what}")]
    Broken {
        /// Where.
        path: PathBuf,
        /// What is missing.
        what: &'static str,
    },
    /// The folder can't be looked at.
    #[error("{path} can't be looked at: {message}")]
    Io {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        message: String,
    },
}

/// Where the head stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Full name of the branch's reference; `None` when the head is detached.
    pub branch: Option<String>,
    /// Id of the commit; `None` on a branch without commits.
    pub commit: Option<String>,
}

fn small(path: &Path, most: u64) -> Option<String> {
    let meta = std::fs::metadata(path).ok()?;
    if !meta.is_file() || meta.len() > most {
        return None;
    }
    std::fs::read_to_string(path).ok()
}

/// Whether a folder has the parts of a repository.
fn is_git_dir(dir: &Path) -> bool {
    let shared = shared_by(dir);
    dir.join("HEAD").symlink_metadata().is_ok()
        && shared.join("objects").is_dir()
        && (shared.join("refs").is_dir() || shared.join("reftable").is_dir())
}

fn shared_by(git_dir: &Path) -> PathBuf {
    match small(&git_dir.join("commondir"), SMALL_BYTES_MAX) {
        Some(text) => {
            let path = git_dir.join(text.trim());
            std::fs::canonicalize(&path).unwrap_or(path)
        }
        None => git_dir.to_owned(),
    }
}

impl Repo {
    /// Finds the repository whose working folder holds `from`.
    ///
    /// # Errors
    /// [`PlaceFault`] says why there is none.
    pub fn locate(from: &Path) -> Result<Repo, PlaceFault> {
        let real = std::fs::canonicalize(from)
            .map_err(|e| PlaceFault::Io { path: from.to_owned(), message: e.to_string() })?;
        for dir in real.ancestors().take(UP_MAX) {
            let dot = dir.join(".git");
            match std::fs::symlink_metadata(&dot) {
                Ok(_) => return Repo::at(dir, &dot),
                Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(e) => return Err(PlaceFault::Io { path: dot, message: e.to_string() }),
            }
            if dir.file_name().is_some_and(|n| n == ".git") {
                return Err(PlaceFault::Inside { path: real });
            }
            if dir.join("HEAD").is_file() && is_git_dir(dir) {
                return Err(PlaceFault::Bare { path: dir.to_owned() });
            }
        }
        Err(PlaceFault::None { from: from.to_owned() })
    }

    fn at(top: &Path, dot: &Path) -> Result<Repo, PlaceFault> {
        let broken = |what| PlaceFault::Broken { path: dot.to_owned(), what };
        let git_dir = if dot.is_dir() {
            std::fs::canonicalize(dot).map_err(|_| broken("its folder can't be opened"))?
        } else {
            let text =
                small(dot, SMALL_BYTES_MAX).ok_or_else(|| broken("its link can't be read"))?;
            let to =
                text.strip_prefix("gitdir:").ok_or_else(|| broken("its link has no target"))?;
            let path = top.join(to.trim());
            std::fs::canonicalize(&path).map_err(|_| broken("the target of its link is gone"))?
        };
        if !is_git_dir(&git_dir) {
            return Err(broken("HEAD, objects or refs are missing"));
        }
        let common_dir = shared_by(&git_dir);
        Ok(Repo { top: top.to_owned(), git_dir, common_dir })
    }

    /// Where the head stands; `None` when the files don't tell (another format of references, or
    /// damage), so that git has to be asked.
    #[must_use]
    pub fn head(&self) -> Option<Head> {
        let text = small(&self.git_dir.join("HEAD"), SMALL_BYTES_MAX)?;
        let text = text.trim();
        let Some(name) = text.strip_prefix("ref:").map(str::trim) else {
            return is_id(text).then(|| Head { branch: None, commit: Some(text.to_owned()) });
        };
        if self.common_dir.join("reftable").is_dir() || name.split('/').any(|p| p == "..") {
            return None;
        }
        let commit = self.loose(name).or_else(|| self.packed(name));
        match commit {
            Some(id) if is_id(&id) => {
                Some(Head { branch: Some(name.to_owned()), commit: Some(id) })
            }
            // A reference to a reference, or damage.
            Some(_) => None,
            None => Some(Head { branch: Some(name.to_owned()), commit: None }),
        }
    }

    fn loose(&self, name: &str) -> Option<String> {
        let text = small(&self.git_dir.join(name), SMALL_BYTES_MAX)
            .or_else(|| small(&self.common_dir.join(name), SMALL_BYTES_MAX))?;
        Some(text.trim().to_owned())
    }

    fn packed(&self, name: &str) -> Option<String> {
        let text = small(&self.common_dir.join("packed-refs"), PACKED_BYTES_MAX)?;
        text.lines()
            .filter_map(|l| l.split_once(' '))
            .find(|(_, n)| n.trim_end() == name)
            .map(|(id, _)| id.to_owned())
    }

    /// What is under way in the repository, in words; `None` when nothing is.
    #[must_use]
    pub fn under_way(&self) -> Option<&'static str> {
        const MARKS: [(&str, &str); 6] = [
            ("rebase-merge", "a rebase is under way"),
            ("rebase-apply", "a rebase is under way"),
            ("MERGE_HEAD", "a merge is under way"),
            ("CHERRY_PICK_HEAD", "a cherry-pick is under way"),
            ("REVERT_HEAD", "a revert is under way"),
            ("BISECT_LOG", "a bisect is under way"),
        ];
        MARKS
            .iter()
            .find(|(name, _)| self.git_dir.join(name).symlink_metadata().is_ok())
            .map(|(_, words)| *words)
    }

    /// A repository between the working folder's top and `path` (a submodule or a nested one).
    #[must_use]
    pub fn nested(&self, path: &Path) -> Option<PathBuf> {
        path.ancestors()
            .skip(1)
            .take_while(|dir| *dir != self.top && dir.starts_with(&self.top))
            .find(|dir| dir.join(".git").symlink_metadata().is_ok())
            .map(Path::to_owned)
    }

    /// Whether the clone is shallow or partial, so that absent objects are normal.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        if self.common_dir.join("shallow").is_file() {
            return true;
        }
        let config = small(&self.common_dir.join("config"), SMALL_BYTES_MAX).unwrap_or_default();
        let config = config.to_lowercase();
        config.contains("partialclone") || config.contains("promisor = true")
    }

    /// Whether somebody else owns the working folder or the repository, and who.
    #[must_use]
    pub fn other_owner(&self) -> Option<String> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            // A file that we make belongs to us; asking the system for our id needs no more.
            let ours = tempfile::tempfile().ok()?.metadata().ok()?.uid();
            for path in [&self.top, &self.git_dir] {
                let owner = std::fs::metadata(path).ok()?.uid();
                if owner != ours {
                    return Some(format!("{} belongs to user {owner}", path.display()));
                }
            }
        }
        None
    }
}

/// Whether a text is the id of an object.
#[must_use]
pub fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit())
}
