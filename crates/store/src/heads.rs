//! The heads that this machine has seen, kept in the user's state folder.
//!
//! A chain alone does not show that its end, or all of it, is gone. So for each workspace folder
//! one small file outside it holds the ledger's id and the head of each stream. It may lag (it
//! is written after the events, and not every time), it never leads, and it never goes back.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use pcbflow_core::ids::{Digest, LedgerId, Seq, StreamId};
use pcbflow_core::ports::{Head, LedgerError};
use serde::{Deserialize, Serialize};

use crate::fault;

/// Folder below the state folder.
const FOLDER: &str = "known-heads";

/// Largest file of known heads that is read, in bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The user's state folder for pcbflow, such as `~/.local/state/pcbflow`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateHome(pub PathBuf);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct StoredHead {
    seq: u64,
    hash: Digest,
}

/// What this machine knows of the ledgers of one workspace folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    workspace: String,
    /// Which folder it was: another one at the same path is another workspace.
    folder: String,
    /// The ledger that the workspace had last.
    current: LedgerId,
    ledgers: BTreeMap<LedgerId, BTreeMap<StreamId, StoredHead>>,
}

/// The known heads of one workspace.
#[derive(Debug, Clone)]
pub struct KnownHeads {
    file: PathBuf,
    workspace: String,
    folder: String,
}

/// Names the folder itself, so that a fresh one at the same path is told apart.
fn folder_identity(folder: &Path) -> String {
    let Ok(meta) = fs::metadata(folder) else { return String::new() };
    let born = meta
        .created()
        .ok()
        .and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok())
        .map_or(0, |d| d.as_nanos());
    #[cfg(unix)]
    let inode = {
        use std::os::unix::fs::MetadataExt;
        meta.ino()
    };
    #[cfg(not(unix))]
    let inode = 0;
    format!("{inode}-{born}")
}

impl KnownHeads {
    /// The known heads of the workspace in `folder`.
    #[must_use]
    pub fn of(home: &StateHome, folder: &Path) -> KnownHeads {
        let path = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let workspace = path.to_string_lossy().into_owned();
        let name = Digest::of(path.as_os_str().as_encoded_bytes()).to_string();
        let name = name.get(..32).unwrap_or(&name);
        KnownHeads {
            file: home.0.join(FOLDER).join(format!("{name}.json")),
            workspace,
            folder: folder_identity(&path),
        }
    }

    /// A file that is missing or can't be read means that nothing is known.
    fn load(&self) -> Option<Record> {
        let meta = fs::metadata(&self.file).ok()?;
        if meta.len() > FILE_BYTES_MAX {
            return None;
        }
        let record: Record = serde_json::from_slice(&fs::read(&self.file).ok()?).ok()?;
        (record.workspace == self.workspace && record.folder == self.folder).then_some(record)
    }

    /// The ledger that this machine last saw in the workspace, if it had any events.
    #[must_use]
    pub fn current(&self) -> Option<LedgerId> {
        self.load().map(|r| r.current)
    }

    /// The heads known of a ledger.
    #[must_use]
    pub fn heads(&self, ledger: &LedgerId) -> BTreeMap<StreamId, Head> {
        let known = self.load().and_then(|mut r| r.ledgers.remove(ledger)).unwrap_or_default();
        known
            .into_iter()
            .map(|(stream, h)| (stream, Head { seq: Seq(h.seq), hash: h.hash }))
            .collect()
    }

    /// Takes in the heads of durable events. Positions only go forward.
    ///
    /// # Errors
    /// What the system says when the file can't be written.
    pub fn note(
        &self,
        ledger: &LedgerId,
        heads: &BTreeMap<StreamId, Head>,
    ) -> Result<(), LedgerError> {
        self.change(ledger, |known| {
            for (stream, head) in heads {
                let stored = StoredHead { seq: head.seq.0, hash: head.hash };
                let slot = known.entry(stream.clone()).or_insert_with(|| stored.clone());
                if slot.seq < stored.seq {
                    *slot = stored;
                }
            }
        })
    }

    /// Forgets what was known of the workspace, because a person chose to go on without it.
    ///
    /// # Errors
    /// What the system says when the file can't be removed.
    pub fn forget(&self) -> Result<(), LedgerError> {
        match fs::remove_file(&self.file) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(fault::io("forgetting the known heads", &e))
            }
            _ => Ok(()),
        }
    }

    fn change(
        &self,
        ledger: &LedgerId,
        edit: impl FnOnce(&mut BTreeMap<StreamId, StoredHead>),
    ) -> Result<(), LedgerError> {
        let doing = "noting the known heads";
        let fail = |e: std::io::Error| fault::io(doing, &e);
        let folder = self.file.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(fail)?;
        let lock = File::create(self.file.with_extension("lock")).map_err(fail)?;
        lock.lock().map_err(fail)?;
        let before = self.load();
        let mut record = before.clone().unwrap_or_else(|| Record {
            workspace: self.workspace.clone(),
            folder: self.folder.clone(),
            current: ledger.clone(),
            ledgers: BTreeMap::new(),
        });
        record.current = ledger.clone();
        edit(record.ledgers.entry(ledger.clone()).or_default());
        if before.as_ref() == Some(&record) {
            return Ok(());
        }
        let bytes = serde_json::to_vec_pretty(&record)
            .map_err(|e| LedgerError::Storage { doing, message: e.to_string() })?;
        let mut temp = tempfile::NamedTempFile::new_in(folder).map_err(fail)?;
        temp.write_all(&bytes).map_err(fail)?;
        temp.as_file().sync_all().map_err(fail)?;
        temp.persist(&self.file).map_err(|e| fail(e.error))?;
        Ok(())
    }
}
