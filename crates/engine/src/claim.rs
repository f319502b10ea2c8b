//! The claim on a board: a lock file held by the process that runs it.
//!
//! The lock itself says whether the owner lives; the words in the file only say who it is. Nobody
//! removes a claim of a live process.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use pcbflow_core::event::Owner;
use pcbflow_core::ids::BoardName;
use pcbflow_core::time::Timestamp;

use crate::setup::EngineError;

/// Most bytes of a claim file that are read.
const CLAIM_BYTES_MAX: u64 = 4096;

/// A held claim. Dropping it, or the end of the process, releases it.
#[derive(Debug)]
pub struct Claim {
    file: File,
    path: PathBuf,
    owner: Owner,
    since: Timestamp,
}

fn fault(path: &Path, e: &std::io::Error) -> EngineError {
    if let Some(full) = EngineError::of_full_disk(e, "claiming the board") {
        return full;
    }
    EngineError::Claim { path: path.to_owned(), message: e.to_string() }
}

impl Claim {
    /// Path of a board's claim file.
    #[must_use]
    pub fn path(state_dir: &Path, board: &BoardName) -> PathBuf {
        state_dir.join("claims").join(format!("{board}.lock"))
    }

    /// Takes the claim.
    ///
    /// # Errors
    /// [`EngineError::Busy`] when another live process holds it, [`EngineError::Claim`] when the
    /// file can't be made or locked.
    pub fn take(
        state_dir: &Path,
        board: &BoardName,
        owner: &Owner,
        now: Timestamp,
    ) -> Result<Claim, EngineError> {
        let path = Claim::path(state_dir, board);
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir).map_err(|e| fault(dir, &e))?;
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|e| fault(&path, &e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(busy(board, &path)),
            Err(TryLockError::Error(e)) => return Err(fault(&path, &e)),
        }
        let mut claim = Claim { file, path, owner: owner.clone(), since: now };
        claim.beat(now)?;
        Ok(claim)
    }

    /// Writes host, pid, start and heartbeat into the file.
    ///
    /// # Errors
    /// [`EngineError::Claim`] when the file can't be written.
    pub fn beat(&mut self, now: Timestamp) -> Result<(), EngineError> {
        let text = serde_json::json!({
            "host": self.owner.host,
            "pid": self.owner.pid,
            "started": self.owner.started,
            "since": self.since.to_string(),
            "heartbeat": now.to_string(),
        })
        .to_string();
        let write = |file: &mut File| -> std::io::Result<()> {
            file.seek(SeekFrom::Start(0))?;
            file.write_all(text.as_bytes())?;
            file.set_len(text.len() as u64)
        };
        write(&mut self.file).map_err(|e| fault(&self.path, &e))
    }
}

fn busy(board: &BoardName, path: &Path) -> EngineError {
    let mut text = String::new();
    // The other side may be writing right now: whatever can be read is shown, nothing depends on it.
    if let Ok(file) = File::open(path) {
        let read = file.take(CLAIM_BYTES_MAX).read_to_string(&mut text);
        if read.is_err() {
            text.clear();
        }
    }
    let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let field = |key: &str| json.get(key).and_then(|v| v.as_str()).unwrap_or("?").to_owned();
    EngineError::Busy {
        board: board.clone(),
        host: field("host"),
        pid: json
            .get("pid")
            .and_then(serde_json::Value::as_u64)
            .and_then(|p| u32::try_from(p).ok())
            .unwrap_or(0),
        since: field("since"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_owner_at_a_time_and_a_dead_one_is_taken_over() {
        let dir = tempfile::tempdir().unwrap();
        let board = BoardName::new("b").unwrap();
        let owner = Owner { host: "h".into(), pid: 7, started: "s".into() };
        let first = Claim::take(dir.path(), &board, &owner, Timestamp(0)).unwrap();
        match Claim::take(dir.path(), &board, &owner, Timestamp(1)) {
            Err(EngineError::Busy { pid: 7, host, .. }) => assert_eq!(host, "h"),
            other => panic!("{other:?}"),
        }
        let other = BoardName::new("c").unwrap();
        assert!(Claim::take(dir.path(), &other, &owner, Timestamp(1)).is_ok());
        drop(first);
        assert!(Claim::take(dir.path(), &board, &owner, Timestamp(2)).is_ok());
    }
}
