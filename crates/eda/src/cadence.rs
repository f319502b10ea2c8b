//! The pace of part searches, shared by all steps and all processes of a workspace.
//!
//! The editor's site counts searches for an address, not for a step. So the moment of the next
//! search lies in one file of the workspace's state folder; whoever searches takes it under a
//! lock and moves it on.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Pace while nothing was refused, in milliseconds between two searches.
pub(crate) const PACE_MS: u64 = 500;
/// Pace after a refusal, for the rest of the day, in milliseconds.
pub(crate) const SLOW_MS: u64 = 3_000;
/// How long a slow pace lasts after the last refusal, in milliseconds.
const SLOW_FOR_MS: i64 = 3_600_000;
/// How long a throttle may answer with nothing instead of a refusal, in milliseconds.
const COOL_MS: i64 = 120_000;
/// Longest wait that the file may ask for, in milliseconds; a clock that was set back asks for more.
const WAIT_MS_MAX: i64 = 600_000;
/// Largest file, in bytes.
const FILE_BYTES_MAX: u64 = 4_096;

/// What the file holds; all times are milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
struct Pace {
    /// Before this nobody searches.
    next: i64,
    /// Until then the pace is slow.
    slow_until: i64,
    /// When a search was refused last.
    refused: i64,
    /// Searches that were answered with parts or with a plain "none".
    answered: u64,
}

/// The pace of one workspace.
#[derive(Debug, Clone)]
pub(crate) struct Cadence {
    file: PathBuf,
}

impl Cadence {
    /// The pace that lies in this state folder.
    pub fn at(state_dir: &Path) -> Cadence {
        Cadence { file: state_dir.join("eda").join("searches.json") }
    }

    /// Takes the next moment; how long to wait for it, in milliseconds.
    pub fn take(&self, now: i64) -> std::io::Result<u64> {
        self.change(|pace| {
            let wait = (pace.next - now).clamp(0, WAIT_MS_MAX);
            let each = if now < pace.slow_until { SLOW_MS } else { PACE_MS };
            pace.next = now + wait + i64::try_from(each).unwrap_or(0);
            u64::try_from(wait).unwrap_or(0)
        })
    }

    /// A search was answered; how many were before it.
    pub fn answered(&self) -> std::io::Result<u64> {
        self.change(|pace| {
            let before = pace.answered;
            pace.answered = pace.answered.saturating_add(1);
            before
        })
    }

    /// How many searches were answered so far.
    pub fn count(&self) -> u64 {
        self.change(|pace| pace.answered).unwrap_or(0)
    }

    /// Whether a search was refused so short a time ago that an empty answer may be a refusal.
    pub fn just_refused(&self, now: i64) -> bool {
        let refused = self.change(|pace| pace.refused).unwrap_or(0);
        refused > 0 && (0..COOL_MS).contains(&(now - refused))
    }

    /// A search was refused: everybody goes slowly from now on.
    pub fn slow_down(&self, now: i64) -> std::io::Result<()> {
        self.change(|pace| {
            pace.refused = now;
            pace.slow_until = now + SLOW_FOR_MS;
            pace.next = pace.next.max(now + i64::try_from(SLOW_MS).unwrap_or(0));
        })
    }

    /// Changes the file under its lock. A file that can't be read begins anew.
    fn change<T>(&self, change: impl FnOnce(&mut Pace) -> T) -> std::io::Result<T> {
        if let Some(folder) = self.file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let options =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&self.file);
        let mut file: File = options?;
        file.lock()?;
        let mut text = Vec::new();
        (&file).take(FILE_BYTES_MAX).read_to_end(&mut text)?;
        let mut pace: Pace = serde_json::from_slice(&text).unwrap_or_default();
        let result = change(&mut pace);
        file.seek(SeekFrom::Start(0))?;
        file.set_len(0)?;
        file.write_all(&serde_json::to_vec(&pace)?)?;
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_share_one_pace_that_slows_after_a_refusal() {
        let folder = tempfile::tempdir().expect("a folder");
        let (a, b) = (Cadence::at(folder.path()), Cadence::at(folder.path()));
        assert_eq!(a.take(1_000).expect("a file"), 0);
        assert_eq!(b.take(1_000).expect("a file"), PACE_MS);
        assert_eq!(a.take(1_000).expect("a file"), 2 * PACE_MS);
        b.slow_down(10_000).expect("a file");
        assert_eq!(a.take(10_000).expect("a file"), SLOW_MS);
        assert_eq!(a.take(10_000).expect("a file"), 2 * SLOW_MS);
        // A clock that was set back does not stop everybody.
        assert!(a.take(-10_000_000).expect("a file") <= 600_000);
        std::fs::write(folder.path().join("eda/searches.json"), "{").expect("a file");
        assert_eq!(a.take(0).expect("a file"), 0);
        assert!(!a.just_refused(20_000), "the file began anew");
        a.slow_down(20_000).expect("a file");
        assert!(b.just_refused(30_000) && !b.just_refused(200_000));
        assert_eq!((a.answered().expect("a file"), a.count()), (0, 1));
    }
}
