//! Snapshots: sets of files that a green check blessed, kept by content.
//!
//! A snapshot is bound to its paths, its board, its check, its time and its event: its id is the
//! digest of the record that names them all. The content lies in a store shared by all snapshots.
//! Ids, record, paths and content are checked again at each restore.
//!
//! **Invariants.** No link is followed out of the folder or replaced by a file. What a restore
//! replaces or removes is kept as a snapshot of its own. The newest good snapshot and those that
//! are in use are never dropped.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use pcbflow_core::event::OutputRef;
use pcbflow_core::ids::{BoardName, Digest};
use pcbflow_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::paths::{self, PathError};

/// Most snapshots of a board.
pub const SNAPSHOTS_MAX: usize = 50;
/// Most files of a snapshot.
pub const FILES_MAX: usize = 5_000;
/// Most bytes of a record.
const RECORD_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Version of the record's form.
const VERSION: u32 = 1;

/// Why a snapshot could not be taken or restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The id is not one, or there is no such snapshot.
    #[error("there is no snapshot {id:?}")]
    Unknown {
        /// As given.
        id: String,
    },
    /// Record or content is not what it was.
    #[error("the snapshot {id} was altered: {what}")]
    Altered {
        /// Its id.
        id: String,
        /// What differs.
        what: String,
    },
    /// The snapshot belongs to something else.
    #[error("the snapshot {id} is of {of}, not of {wanted}")]
    OtherTarget {
        /// Its id.
        id: String,
        /// What it is of.
        of: String,
        /// What was asked for.
        wanted: String,
    },
    /// A file is not what the check saw.
    #[error("{path} changed since its check, so it is not kept as good")]
    Changed {
        /// The file.
        path: String,
    },
    /// A path is refused.
    #[error(transparent)]
    Path(#[from] PathError),
    /// More files than a snapshot takes.
    #[error("{files} files, a snapshot takes {FILES_MAX}")]
    TooMany {
        /// How many.
        files: usize,
    },
    /// The system refused.
    #[error("{path} can't be {doing}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What the system says.
        source: std::io::Error,
    },
}

fn io(path: &Path, doing: &'static str, source: std::io::Error) -> SnapshotError {
    SnapshotError::Io { path: path.to_owned(), doing, source }
}

/// What a snapshot is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Blessed by a green check: a rollback may restore it.
    Good,
    /// What a restore replaced; kept as evidence.
    Broken,
}

/// A file of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// Path relative to the folder, with '/'.
    pub path: String,
    /// Digest of its content; `None`: there was no such file.
    pub digest: Option<Digest>,
    /// Its size in bytes.
    pub bytes: u64,
    /// Whether it may be executed.
    pub executable: bool,
}

/// Everything that a snapshot is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Version of this form.
    pub version: u32,
    /// The board.
    pub board: BoardName,
    /// What it is for.
    pub purpose: Purpose,
    /// The check that blessed it, with the event that holds its result.
    pub check: String,
    /// Position and hash of that event, or other words that name it.
    pub event: String,
    /// When it was taken.
    pub at: Timestamp,
    /// Its files, by path.
    pub files: Vec<Kept>,
}

impl Record {
    fn bytes(&self) -> Vec<u8> {
        // A struct of plain fields always serialises; an empty text would fail its digest.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Its files as events name them.
    #[must_use]
    pub fn outputs(&self) -> Vec<OutputRef> {
        let one = |k: &Kept| {
            let (path, bytes) = (k.path.clone(), k.bytes);
            k.digest.map(|digest| OutputRef { path, digest, bytes })
        };
        self.files.iter().filter_map(one).collect()
    }
}

/// What a new snapshot is bound to.
#[derive(Debug, Clone)]
pub struct Binding<'a> {
    /// The board.
    pub board: &'a BoardName,
    /// What it is for.
    pub purpose: Purpose,
    /// The check that blessed it.
    pub check: &'a str,
    /// The event that holds its result.
    pub event: &'a str,
    /// The time now.
    pub at: Timestamp,
}

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Snapshot of what was there before.
    pub broken: Digest,
    /// Paths that were written or removed.
    pub changed: Vec<String>,
}

/// A store of snapshots in a folder.
#[derive(Debug, Clone)]
pub struct Snapshots {
    dir: PathBuf,
}

impl Snapshots {
    /// The store in `dir`, normally `.pcbflow/snapshots`; it need not exist.
    #[must_use]
    pub fn new(dir: &Path) -> Snapshots {
        Snapshots { dir: dir.to_owned() }
    }

    fn records(&self, board: &BoardName) -> PathBuf {
        self.dir.join("boards").join(board.as_str())
    }

    fn object(&self, digest: &Digest) -> PathBuf {
        let hex = digest.to_string();
        let (head, rest) = hex.split_at(2);
        self.dir.join("objects").join(head).join(rest)
    }

    /// Takes a snapshot of files as a check saw them. `absent` are paths at which it saw nothing:
    /// files that appear there later go when the snapshot is restored.
    ///
    /// # Errors
    /// A file is not as it was checked, before or after it was copied; a path is refused.
    pub fn take(
        &self,
        folder: &Path,
        files: &[OutputRef],
        absent: &[&str],
        binding: &Binding<'_>,
    ) -> Result<Digest, SnapshotError> {
        let mut paths: Vec<&str> = files.iter().map(|f| f.path.as_str()).collect();
        paths.extend(absent);
        let record = self.keep(folder, &paths, binding)?;
        let there = |k: &&Kept| k.digest.is_some() && absent.contains(&k.path.as_str());
        if let Some(kept) = record.files.iter().find(there) {
            return Err(SnapshotError::Changed { path: kept.path.clone() });
        }
        for file in files {
            let kept = record.files.iter().find(|k| k.path == file.path);
            if kept.and_then(|k| k.digest) != Some(file.digest) {
                return Err(SnapshotError::Changed { path: file.path.clone() });
            }
            // Copied and still the same: nothing got in between check and copy, or after it.
            let now = std::fs::read(folder.join(&file.path)).ok().map(|b| Digest::of(&b));
            if now != Some(file.digest) {
                return Err(SnapshotError::Changed { path: file.path.clone() });
            }
        }
        self.store(&record)
    }

    /// Copies what is at the paths now into the store.
    fn keep(
        &self,
        folder: &Path,
        wanted: &[&str],
        binding: &Binding<'_>,
    ) -> Result<Record, SnapshotError> {
        if wanted.len() > FILES_MAX {
            return Err(SnapshotError::TooMany { files: wanted.len() });
        }
        let sorted: BTreeSet<&str> = wanted.iter().copied().collect();
        let mut files = Vec::new();
        for path in sorted {
            let real = paths::output(folder, path)?;
            let bytes = match std::fs::read(&real) {
                Ok(bytes) => bytes,
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                    let path = path.to_owned();
                    files.push(Kept { path, digest: None, bytes: 0, executable: false });
                    continue;
                }
                Err(e) => return Err(io(&real, "read", e)),
            };
            let digest = Digest::of(&bytes);
            self.put(&digest, &bytes)?;
            files.push(Kept {
                path: path.to_owned(),
                digest: Some(digest),
                bytes: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
                executable: executable(&real),
            });
        }
        Ok(Record {
            version: VERSION,
            board: binding.board.clone(),
            purpose: binding.purpose,
            check: binding.check.to_owned(),
            event: binding.event.to_owned(),
            at: binding.at,
            files,
        })
    }

    fn put(&self, digest: &Digest, bytes: &[u8]) -> Result<(), SnapshotError> {
        let path = self.object(digest);
        if std::fs::read(&path).is_ok_and(|old| Digest::of(&old) == *digest) {
            return Ok(());
        }
        write_whole(&path, bytes)
    }

    fn store(&self, record: &Record) -> Result<Digest, SnapshotError> {
        let bytes = record.bytes();
        let id = Digest::of(&bytes);
        write_whole(&self.records(&record.board).join(format!("{id}.json")), &bytes)?;
        Ok(id)
    }

    /// The record of a snapshot, proven by its id.
    ///
    /// # Errors
    /// No such snapshot; altered; of another board.
    pub fn record(&self, board: &BoardName, id: &str) -> Result<Record, SnapshotError> {
        // Only 64 hex digits make a file name: no other id reaches the file system.
        let unknown =
            || SnapshotError::Unknown { id: pcbflow_core::text::cut_bytes(id, 80).into() };
        let digest: Digest = id.parse().map_err(|_| unknown())?;
        let path = self.records(board).join(format!("{digest}.json"));
        let meta = std::fs::symlink_metadata(&path).map_err(|_| unknown())?;
        let altered = |what: &str| SnapshotError::Altered { id: id.to_owned(), what: what.into() };
        if !meta.is_file() || meta.len() > RECORD_BYTES_MAX {
            return Err(altered("its record is no plain file"));
        }
        let bytes = std::fs::read(&path).map_err(|e| io(&path, "read", e))?;
        if Digest::of(&bytes) != digest {
            return Err(altered("its record"));
        }
        let record: Record = serde_json::from_slice(&bytes).map_err(|_| altered("its record"))?;
        if record.version != VERSION {
            return Err(altered("its version is not known here"));
        }
        if record.board != *board {
            let (of, wanted) = (record.board.to_string(), board.to_string());
            return Err(SnapshotError::OtherTarget { id: id.to_owned(), of, wanted });
        }
        Ok(record)
    }

    /// Restores all files of a snapshot: changed and deleted ones come back, ones that were not
    /// there go. What was there is kept as a snapshot of its own. With `only`, the snapshot must
    /// be of exactly that file.
    ///
    /// # Errors
    /// Nothing is changed then, save when the system refuses in the middle.
    pub fn restore(
        &self,
        folder: &Path,
        board: &BoardName,
        id: &str,
        only: Option<&str>,
        at: Timestamp,
    ) -> Result<Restored, SnapshotError> {
        let record = self.record(board, id)?;
        if let Some(path) = only
            && !record.files.iter().all(|k| k.path == path)
        {
            let of = record.files.iter().map(|k| k.path.as_str()).collect::<Vec<_>>().join(", ");
            return Err(SnapshotError::OtherTarget { id: id.to_owned(), of, wanted: path.into() });
        }
        // Everything is proven before the first byte is written.
        let mut ready = Vec::new();
        for kept in &record.files {
            let real = paths::output(folder, &kept.path)?;
            ready.push((kept, real, self.content(id, kept)?));
        }
        let list: Vec<&str> = record.files.iter().map(|k| k.path.as_str()).collect();
        let binding = Binding { board, purpose: Purpose::Broken, check: "restore", event: id, at };
        let before = self.keep(folder, &list, &binding)?;
        let broken = self.store(&before)?;
        let mut changed = Vec::new();
        for ((kept, real, content), old) in ready.into_iter().zip(&before.files) {
            if old.digest == kept.digest && old.executable == kept.executable {
                continue;
            }
            match content {
                Some(bytes) => {
                    write_whole(&real, &bytes)?;
                    set_executable(&real, kept.executable).map_err(|e| io(&real, "written", e))?;
                }
                None => std::fs::remove_file(&real).map_err(|e| io(&real, "removed", e))?,
            }
            changed.push(kept.path.clone());
        }
        Ok(Restored { broken, changed })
    }

    fn content(&self, id: &str, kept: &Kept) -> Result<Option<Vec<u8>>, SnapshotError> {
        let Some(digest) = kept.digest else { return Ok(None) };
        let altered = || SnapshotError::Altered { id: id.to_owned(), what: kept.path.clone() };
        let bytes = std::fs::read(self.object(&digest)).map_err(|_| altered())?;
        if Digest::of(&bytes) == digest { Ok(Some(bytes)) } else { Err(altered()) }
    }

    /// The snapshot that keeps these files as recorded, if there is one; its content is proven.
    #[must_use]
    pub fn holding(&self, board: &BoardName, files: &[OutputRef]) -> Option<Digest> {
        self.list(board)
            .into_iter()
            .filter(|(_, r)| r.purpose == Purpose::Good)
            .find(|(id, r)| {
                let outputs = r.outputs();
                files.iter().all(|f| outputs.contains(f))
                    && r.files.iter().all(|k| self.content(&id.to_string(), k).is_ok())
            })
            .map(|(id, _)| id)
    }

    /// All sound snapshots of a board, newest first.
    #[must_use]
    pub fn list(&self, board: &BoardName) -> Vec<(Digest, Record)> {
        let Ok(entries) = std::fs::read_dir(self.records(board)) else { return Vec::new() };
        let mut list: Vec<(Digest, Record)> = entries
            .filter_map(|e| e.ok()?.file_name().to_str()?.strip_suffix(".json").map(str::to_owned))
            .filter_map(|id| Some((id.parse().ok()?, self.record(board, &id).ok()?)))
            .collect();
        list.sort_by(|(a, x), (b, y)| y.at.cmp(&x.at).then(a.cmp(b)));
        list
    }

    /// Drops the oldest snapshots past [`SNAPSHOTS_MAX`] and content that nothing uses any more.
    /// The newest good one and those in `in_use` (an open failure refers to them) always stay.
    ///
    /// # Errors
    /// The system refused; what was dropped is dropped.
    pub fn prune(
        &self,
        board: &BoardName,
        in_use: &BTreeSet<Digest>,
    ) -> Result<usize, SnapshotError> {
        let list = self.list(board);
        let newest = list.iter().find(|(_, r)| r.purpose == Purpose::Good).map(|(id, _)| *id);
        let mut dropped = 0;
        for (id, _) in list.iter().skip(SNAPSHOTS_MAX) {
            if Some(*id) == newest || in_use.contains(id) {
                continue;
            }
            let path = self.records(board).join(format!("{id}.json"));
            std::fs::remove_file(&path).map_err(|e| io(&path, "removed", e))?;
            dropped += 1;
        }
        if dropped > 0 {
            self.sweep()?;
        }
        Ok(dropped)
    }

    /// Removes content that no record of any board names.
    fn sweep(&self) -> Result<(), SnapshotError> {
        let boards = self.dir.join("boards");
        let mut used = BTreeSet::new();
        for entry in std::fs::read_dir(&boards).map_err(|e| io(&boards, "read", e))? {
            let name = entry.map_err(|e| io(&boards, "read", e))?.file_name();
            let Some(board) = name.to_str().and_then(|n| BoardName::new(n).ok()) else {
                // A folder that can't be understood may use anything.
                return Ok(());
            };
            let records = self.list(&board);
            used.extend(records.iter().flat_map(|(_, r)| r.files.iter().filter_map(|k| k.digest)));
        }
        let objects = self.dir.join("objects");
        for folder in std::fs::read_dir(&objects).map_err(|e| io(&objects, "read", e))?.flatten() {
            let head = folder.file_name();
            for file in std::fs::read_dir(folder.path()).into_iter().flatten().flatten() {
                let hex = format!("{}{}", head.display(), file.file_name().display());
                if hex.parse::<Digest>().is_ok_and(|d| !used.contains(&d)) {
                    let path = file.path();
                    std::fs::remove_file(&path).map_err(|e| io(&path, "removed", e))?;
                }
            }
        }
        Ok(())
    }
}

/// Writes a file whole: temporary file, sync, rename.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), SnapshotError> {
    let dir = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(dir).map_err(|e| io(dir, "made", e))?;
    let mut temp = tempfile::Builder::new()
        .prefix(".pcbflow-")
        .tempfile_in(dir)
        .map_err(|e| io(path, "written", e))?;
    temp.write_all(bytes).map_err(|e| io(path, "written", e))?;
    set_executable(temp.path(), false).map_err(|e| io(path, "written", e))?;
    temp.as_file().sync_all().map_err(|e| io(path, "synced", e))?;
    temp.persist(path).map_err(|e| io(path, "replaced", e.error))?;
    Ok(())
}

#[cfg(unix)]
fn executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|m| m.permissions().mode() & 0o100 != 0)
}

#[cfg(unix)]
fn set_executable(path: &Path, yes: bool) -> Result<(), std::io::Error> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = if yes { 0o755 } else { 0o644 };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn executable(_path: &Path) -> bool {
    false
}

#[cfg(not(unix))]
fn set_executable(_path: &Path, _yes: bool) -> Result<(), std::io::Error> {
    Ok(())
}

#[cfg(test)]
mod tests;
