//! Closing a ledger: folds and known heads are kept, room that is not needed is given back.

use std::fs::{self, File};
use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::RedbLedger;
use crate::engine::{self, Handle};

/// From this size on a file is looked at for unused room, in bytes.
const COMPACT_BYTES_MIN: u64 = 8 << 20;

/// A bulk write: at least one part in so many of the file came through this handle. The engine
/// gives room at the end back by itself; a bulk write leaves pages up there. After one time the
/// file stays tight.
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

/// Whether so much was written through this handle that rewriting the file tightly is worth it.
fn is_loose(path: &Path, appended: u64) -> bool {
    fs::metadata(path).is_ok_and(|m| {
        m.len() >= COMPACT_BYTES_MIN && appended.saturating_mul(BULK_PART) >= m.len()
    })
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
