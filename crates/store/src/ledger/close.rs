//! Closing a ledger: folds and known heads are kept, room that is not needed is given back.

use std::fs::{self, File};
use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::RedbLedger;
use crate::engine::{self, Handle};

/// From this size on a file is looked at for unused room, in bytes.
const COMPACT_BYTES_MIN: u64 = 8 << 20;

/// Percent of the file that must be unused before it is rewritten more tightly. The engine gives
/// room at the end back by itself; this is for a bulk write that left pages up there, and after
/// one time the file stays tight.
const COMPACT_UNUSED_PERCENT: u64 = 10;

/// A bulk write: at least one part in so many of the file came through this handle.
const BULK_PART: u64 = 8;

impl Drop for RedbLedger {
    fn drop(&mut self) {
        let slot = self.handle.get_mut().unwrap_or_else(PoisonError::into_inner);
        let writes = matches!(slot, Some(Handle::Writer(_)));
        if writes && let Err(e) = self.flush_folds() {
            tracing::warn!(error = %e, "a fold could not be stored");
        }
        self.note_heads();
        let slot = self.handle.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = slot.take()
            && let Err(e) = handle.close()
        {
            tracing::warn!(error = %e, "the record was not closed cleanly");
            return;
        }
        let appended = self.appended_bytes.load(Ordering::Relaxed);
        if writes && is_loose(&self.path, appended) {
            tighten(&self.path, self.lock.as_ref());
        }
    }
}

/// Whether much of the file has never been written: it was made longer than it needs to be.
fn is_loose(path: &Path, appended: u64) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(path).is_ok_and(|m| {
            let (length, used) = (m.len(), m.blocks() * 512);
            length >= COMPACT_BYTES_MIN
                && appended.saturating_mul(BULK_PART) >= length
                && length.saturating_sub(used) * 100 > length * COMPACT_UNUSED_PERCENT
        })
    }
    #[cfg(not(unix))]
    {
        appended > 0 && fs::metadata(path).is_err()
    }
}

/// Only when nobody else has the ledger open; a failure costs nothing but the room.
fn tighten(path: &Path, lock: Option<&File>) {
    let alone = lock.is_none_or(|lock| lock.unlock().is_ok() && lock.try_lock().is_ok());
    if !alone {
        return;
    }
    let Ok(Handle::Writer(mut db)) = Handle::open_writer(path) else { return };
    if let Err(e) = db.compact() {
        tracing::debug!(error = %e, "the record keeps its unused room");
    }
    if let Err(e) = engine::close(db) {
        tracing::warn!(error = %e, "the record was not closed cleanly");
    }
}
