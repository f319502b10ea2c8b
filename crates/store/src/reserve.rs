//! A block of disk space that is given up when the disk is full, so that the last events still
//! find room.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Size of the block in bytes, unless the options say otherwise.
pub const RESERVE_BYTES: u64 = 2 << 20;

const FILE_NAME: &str = "reserve";

#[derive(Debug, Clone)]
pub(crate) struct Reserve {
    path: PathBuf,
    bytes: u64,
}

impl Reserve {
    pub(crate) fn beside(ledger: &Path, bytes: u64) -> Reserve {
        Reserve { path: ledger.with_file_name(FILE_NAME), bytes }
    }

    /// Whether the block is there in full.
    pub(crate) fn is_kept(&self) -> bool {
        self.bytes == 0 || fs::metadata(&self.path).is_ok_and(|m| m.len() >= self.bytes)
    }

    /// Lays the block if it is missing. False when there is no room for it: a half block is
    /// worse than none, because it is taken for a whole one.
    pub(crate) fn ensure(&self) -> bool {
        if self.is_kept() {
            return true;
        }
        let laid = self.lay();
        if laid.is_err() {
            self.give_up();
        }
        laid.is_ok()
    }

    fn lay(&self) -> std::io::Result<()> {
        // Not zeros: some file systems give those no room. The extendable output of one hash is
        // as good as random for that.
        let mut block = vec![0u8; 64 << 10];
        blake3::Hasher::new().finalize_xof().fill(&mut block);
        let mut file = File::create(&self.path)?;
        let mut left = self.bytes;
        while left > 0 {
            let n = left.min(block.len() as u64);
            // At most the length of the block, so it fits.
            file.write_all(block.get(..usize::try_from(n).unwrap_or(0)).unwrap_or_default())?;
            left -= n;
        }
        file.sync_all()
    }

    /// Gives the space back. True when there was something to give.
    pub(crate) fn give_up(&self) -> bool {
        fs::remove_file(&self.path).is_ok()
    }
}
