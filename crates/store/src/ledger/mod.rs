//! The ledger in one file.

mod close;
mod commit;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;

use pcbflow_core::event::{Event, NewEvent};
use pcbflow_core::ids::{LedgerId, Seq, StreamId};
use pcbflow_core::ports::{Expect, Head, Ledger, LedgerError};
use redb::ReadTransaction;

use crate::engine::{self, EVENTS, Handle};
use crate::fault;
use crate::frame::{Prepared, Salts, damaged};
use crate::group::Group;
use crate::heads::KnownHeads;
use crate::read::{Control, Scan, ScanEnd, Scanner};
use crate::reserve::Reserve;

/// How often an appending process notes its heads in the state folder, in milliseconds.
const NOTE_EVERY_MS: u64 = 5_000;

/// Largest fold that is kept, in bytes.
pub const FOLD_BYTES_MAX: usize = 64 << 20;

/// Makes a writing handle, again after a fault.
pub(crate) type Opener = Box<dyn Fn() -> Result<Handle, LedgerError> + Send + Sync>;

type FoldKey = (StreamId, String, u32);

/// Everything that `open` found out.
pub(crate) struct Parts {
    pub(crate) path: PathBuf,
    pub(crate) id: LedgerId,
    pub(crate) handle: Handle,
    pub(crate) opener: Opener,
    pub(crate) salts: Box<dyn Salts>,
    pub(crate) known: Option<KnownHeads>,
    pub(crate) reserve: Option<Reserve>,
    pub(crate) heads: BTreeMap<StreamId, Head>,
    pub(crate) lock: Option<File>,
    pub(crate) copy: Option<tempfile::TempDir>,
}

struct Noting {
    heads: BTreeMap<StreamId, Head>,
    dirty: bool,
    last: Instant,
}

/// A ledger in one file, shared by the processes and threads that have it open.
pub struct RedbLedger {
    path: PathBuf,
    id: LedgerId,
    handle: RwLock<Option<Handle>>,
    opener: Opener,
    salts: Box<dyn Salts>,
    known: Option<KnownHeads>,
    noting: Mutex<Noting>,
    reserve: Option<Reserve>,
    space_short: AtomicBool,
    appended_bytes: AtomicU64,
    /// Numbers of streams that are in the file; they never change.
    numbers: Mutex<BTreeMap<StreamId, u32>>,
    folds: Mutex<BTreeMap<FoldKey, (Head, Vec<u8>)>>,
    group: Group,
    _copy: Option<tempfile::TempDir>,
    // Last, so that it is released after the file is closed.
    lock: Option<File>,
}

impl std::fmt::Debug for RedbLedger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedbLedger")
            .field("path", &self.path)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

// A panic while one of these locks is held leaves a value that is whole: each change is one step.
fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RedbLedger {
    pub(crate) fn new(parts: Parts) -> RedbLedger {
        let noting = Noting { heads: parts.heads, dirty: true, last: Instant::now() };
        RedbLedger {
            path: parts.path,
            id: parts.id,
            handle: RwLock::new(Some(parts.handle)),
            opener: parts.opener,
            salts: parts.salts,
            known: parts.known,
            noting: Mutex::new(noting),
            space_short: AtomicBool::new(parts.reserve.as_ref().is_some_and(|r| !r.is_kept())),
            appended_bytes: AtomicU64::new(0),
            numbers: Mutex::new(BTreeMap::new()),
            reserve: parts.reserve,
            folds: Mutex::new(BTreeMap::new()),
            group: Group::default(),
            _copy: parts.copy,
            lock: parts.lock,
        }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the reserved block of disk space is gone, so that no step should start.
    #[must_use]
    pub fn space_is_short(&self) -> bool {
        self.space_short.load(Ordering::Relaxed)
    }

    /// Lays the reserved block again. True when it is there.
    #[must_use]
    pub fn ensure_reserve(&self) -> bool {
        let kept = self.reserve.as_ref().is_none_or(Reserve::ensure);
        self.space_short.store(!kept, Ordering::Relaxed);
        kept
    }

    /// Runs `f` on the open handle, opening it again first if a fault closed it.
    pub(crate) fn with_handle<T>(
        &self,
        f: impl FnOnce(&Handle) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        {
            let slot = self.handle.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(handle) = slot.as_ref() {
                return f(handle);
            }
        }
        self.reopen(false)?;
        let slot = self.handle.read().unwrap_or_else(PoisonError::into_inner);
        match slot.as_ref() {
            Some(handle) => f(handle),
            None => Err(LedgerError::Storage {
                doing: "opening the record again",
                message: "another thread closed it".to_owned(),
            }),
        }
    }

    pub(crate) fn read_txn(&self) -> Result<ReadTransaction, LedgerError> {
        self.with_handle(Handle::begin_read)
    }

    /// After a fault the engine refuses everything until the file is opened again.
    fn reopen(&self, drop_first: bool) -> Result<(), LedgerError> {
        let mut slot = self.handle.write().unwrap_or_else(PoisonError::into_inner);
        if drop_first {
            *slot = None;
        }
        if slot.is_none() {
            let handle = (self.opener)()?;
            let txn = handle.begin_read()?;
            let streams = engine::stream_numbers(&txn)?;
            engine::check_tails(&txn, &streams)?;
            drop(txn);
            *slot = Some(handle);
        }
        Ok(())
    }

    /// Notes the heads in the state folder now. Done at the end and every few seconds anyway.
    pub fn note_heads(&self) {
        let Some(known) = &self.known else { return };
        let mut noting = lock(&self.noting);
        noting.last = Instant::now();
        if !noting.dirty || noting.heads.is_empty() {
            return;
        }
        match known.note(&self.id, &noting.heads) {
            Ok(()) => noting.dirty = false,
            // The ledger itself is fine; only a later check is weaker.
            Err(e) => tracing::warn!(error = %e, "the known heads can't be noted"),
        }
    }

    fn flush_folds(&self) -> Result<(), LedgerError> {
        if lock(&self.folds).is_empty() {
            return Ok(());
        }
        self.with_handle(|handle| {
            let txn = handle.begin_write()?;
            self.put_folds(&txn)?;
            txn.commit().map_err(|e| fault::engine("storing a fold", e))
        })?;
        lock(&self.folds).clear();
        Ok(())
    }
}

impl Ledger for RedbLedger {
    fn id(&self) -> LedgerId {
        self.id.clone()
    }

    fn space_is_short(&self) -> bool {
        RedbLedger::space_is_short(self)
    }

    fn append(
        &self,
        stream: &StreamId,
        expect: Expect,
        events: &[NewEvent],
    ) -> Result<Head, LedgerError> {
        let prepared = Prepared::all(events, self.salts.as_ref())?;
        self.group.submit(stream.clone(), expect, prepared, &|group| self.commit(group))
    }

    fn head(&self, stream: &StreamId) -> Result<Option<Head>, LedgerError> {
        let doing = "reading the head of a stream";
        let txn = self.read_txn()?;
        fault::guarded(|| {
            let streams = txn.open_table(engine::STREAMS).map_err(|e| fault::engine(doing, e))?;
            let name = stream.to_string();
            let number = streams.get(name.as_str()).map_err(|e| fault::engine(doing, e))?;
            let Some(number) = number.map(|n| n.value()) else { return Ok(None) };
            let events = txn.open_table(EVENTS).map_err(|e| fault::engine(doing, e))?;
            engine::head(&events, stream, number)
        })
    }

    fn read(
        &self,
        stream: &StreamId,
        from: Seq,
        limit: usize,
        words: bool,
    ) -> Result<Vec<Event>, LedgerError> {
        crate::read::collect(self, stream, from, limit, words)
    }

    fn streams(&self) -> Result<Vec<StreamId>, LedgerError> {
        let txn = self.read_txn()?;
        Ok(fault::guarded(|| engine::stream_numbers(&txn))?.into_keys().collect())
    }

    fn fold_cache(
        &self,
        stream: &StreamId,
        projection: &str,
        version: u32,
    ) -> Result<Option<(Head, Vec<u8>)>, LedgerError> {
        let key = (stream.clone(), projection.to_owned(), version);
        let fresh = lock(&self.folds).get(&key).cloned();
        let txn = self.read_txn()?;
        fault::guarded(|| {
            let Some(number) = engine::stream_numbers(&txn)?.get(stream).copied() else {
                return Ok(None);
            };
            let found = match fresh {
                Some(found) => Some(found),
                None => engine::fold(&txn, number, projection, version)?,
            };
            let Some((at, bytes)) = found else { return Ok(None) };
            let doing = "reading a fold";
            let events = txn.open_table(EVENTS).map_err(|e| fault::engine(doing, e))?;
            let real = engine::hash_at(&events, stream, number, at.seq)?;
            Ok((real == Some(at.hash)).then_some((at, bytes)))
        })
    }

    /// Kept in memory and written with the next append or at the end: it costs no commit of its
    /// own. Dropped without an error where the ledger is open for reading only.
    fn store_fold(
        &self,
        stream: &StreamId,
        projection: &str,
        version: u32,
        at: Head,
        bytes: &[u8],
    ) -> Result<(), LedgerError> {
        let writes = self.with_handle(|handle| Ok(matches!(handle, Handle::Writer(_))))?;
        if bytes.len() > FOLD_BYTES_MAX {
            return Err(LedgerError::Refused { why: format!("a fold of {} bytes", bytes.len()) });
        }
        if writes && self.head(stream)?.is_some() {
            let key = (stream.clone(), projection.to_owned(), version);
            lock(&self.folds).insert(key, (at, bytes.to_vec()));
        }
        Ok(())
    }
}

impl Scanner for RedbLedger {
    fn scan(
        &self,
        stream: &StreamId,
        from: Seq,
        visit: &mut Scan<'_>,
    ) -> Result<ScanEnd, LedgerError> {
        let txn = self.read_txn()?;
        let doing = "reading the record";
        let numbers = fault::guarded(|| engine::stream_numbers(&txn))?;
        let Some(number) = numbers.get(stream).copied() else { return Ok(ScanEnd::All) };
        let events = txn.open_table(EVENTS).map_err(|e| fault::engine(doing, e))?;
        // Guarded piece by piece, so that a panic of the visitor is not taken for damage.
        let mut range = fault::guarded(|| {
            let range = events.range((number, from.0)..=(number, u64::MAX));
            range.map_err(|e| fault::engine(doing, e))
        })?;
        let mut last = None;
        // Ends with the range.
        loop {
            let entry =
                fault::guarded(|| range.next().transpose().map_err(|e| fault::engine(doing, e)))?;
            let Some((key, value)) = entry else { break };
            let (seq, frame) = fault::guarded(|| Ok((Seq(key.value().1), value.value())))?;
            last = Some(seq);
            if visit(seq, frame)? == Control::Stop {
                return Ok(ScanEnd::Stopped);
            }
        }
        // A damaged inner page can end a walk early without a word; the head is found from the
        // other end.
        let head = fault::guarded(|| engine::head(&events, stream, number))?.map(|h| h.seq);
        match head.filter(|head| *head >= from && last != Some(*head)) {
            None => Ok(ScanEnd::All),
            Some(_) => {
                let missing = last.map_or(from, Seq::next);
                Err(damaged(stream, missing, &"it can't be reached"))
            }
        }
    }
}
