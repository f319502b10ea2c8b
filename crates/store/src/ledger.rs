//! The ledger in one file.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use pcbflow_core::event::{Event, NewEvent};
use pcbflow_core::ids::{LedgerId, Seq, StreamId};
use pcbflow_core::ports::{Expect, Head, Ledger, LedgerError};
use redb::{ReadTransaction, ReadableTable, WriteTransaction};

use crate::engine::{self, EVENTS, FOLDS, Handle};
use crate::fault;
use crate::frame::{Frame, Prepared, Salts, Sealer, writable_tail};
use crate::group::{Group, Ticket};
use crate::hash::Chain;
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
    folds: Mutex<BTreeMap<FoldKey, (Head, Vec<u8>)>>,
    group: Group,
    _copy: Option<tempfile::TempDir>,
    // Last, so that it is released after the file is closed.
    _lock: Option<File>,
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

/// One result for each append of a group, and the error that ended the group, if one did.
struct Tried {
    results: Vec<Result<Head, LedgerError>>,
    failed: Option<LedgerError>,
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
            reserve: parts.reserve,
            folds: Mutex::new(BTreeMap::new()),
            group: Group::default(),
            _copy: parts.copy,
            _lock: parts.lock,
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

    fn commit(&self, group: &[Arc<Ticket>]) -> Vec<Result<Head, LedgerError>> {
        let first = self.try_commit(group);
        let Some(failed) = first.failed else { return first.results };
        tracing::warn!(error = %failed, "a commit failed; opening the record again");
        let full = matches!(failed, LedgerError::DiskFull { .. });
        let gave = full && self.reserve.as_ref().is_some_and(Reserve::give_up);
        if full {
            self.space_short.store(true, Ordering::Relaxed);
        }
        if let Err(e) = self.reopen(true) {
            tracing::warn!(error = %e, "the record can't be opened again");
            return group.iter().map(|_| Err(fault::again(&failed))).collect();
        }
        // A commit that reported a fault may still have reached the disk.
        let landed = first.results.iter().zip(group).any(|(result, ticket)| match result {
            Ok(head) => self.has(&ticket.stream, *head).unwrap_or(false),
            Err(_) => false,
        });
        if landed {
            return first.results;
        }
        if gave {
            let second = self.try_commit(group);
            match second.failed {
                None => return second.results,
                Some(_) => {
                    if let Err(e) = self.reopen(true) {
                        tracing::warn!(error = %e, "the record can't be opened again");
                    }
                }
            }
        }
        first
            .results
            .into_iter()
            .map(|result| result.and_then(|_| Err(fault::again(&failed))))
            .collect()
    }

    fn has(&self, stream: &StreamId, head: Head) -> Result<bool, LedgerError> {
        let txn = self.read_txn()?;
        let Some(number) = engine::stream_numbers(&txn)?.get(stream).copied() else {
            return Ok(false);
        };
        let events = txn.open_table(EVENTS).map_err(|e| fault::engine("reading the record", e))?;
        Ok(engine::hash_at(&events, stream, number, head.seq)? == Some(head.hash))
    }

    fn try_commit(&self, group: &[Arc<Ticket>]) -> Tried {
        let mut results = Vec::with_capacity(group.len());
        let done = self.with_handle(|handle| {
            let txn = handle.begin_write()?;
            self.fill(&txn, group, &mut results)?;
            if results.iter().all(Result::is_err) {
                return txn.abort().map_err(|e| fault::engine("giving up a write", e));
            }
            self.put_folds(&txn)?;
            txn.commit().map_err(|e| fault::engine("committing events", e))
        });
        let failed = done.err();
        if let Some(e) = &failed {
            while results.len() < group.len() {
                results.push(Err(fault::again(e)));
            }
        } else {
            self.committed(group, &results);
        }
        Tried { results, failed }
    }

    /// Puts every append of the group into the transaction. A storage fault ends the group; an
    /// append that may not be done only fails itself.
    fn fill(
        &self,
        txn: &WriteTransaction,
        group: &[Arc<Ticket>],
        results: &mut Vec<Result<Head, LedgerError>>,
    ) -> Result<(), LedgerError> {
        let doing = "appending events";
        let mut chain = Chain::new();
        let mut events = txn.open_table(EVENTS).map_err(|e| fault::engine(doing, e))?;
        let mut heads: BTreeMap<&StreamId, (Option<u32>, Option<Head>)> = BTreeMap::new();
        for ticket in group {
            let stream = &ticket.stream;
            if !heads.contains_key(stream) {
                heads.insert(stream, self.look_up(txn, &events, stream)?);
            }
            let (number, head) = heads.get(stream).copied().unwrap_or_default();
            // Frames first, table after: an append that is refused leaves nothing behind.
            let mut frames = Vec::with_capacity(ticket.events.len() + 1);
            let mut sealer =
                Sealer { chain: &mut chain, ledger: &self.id, salts: self.salts.as_ref() };
            let sealed = check_tail(&events, number, head).and_then(|()| {
                sealer.seal(stream, head, ticket.expect, &ticket.events, &mut |seq, frame| {
                    frames.push((seq, frame.to_vec()));
                    Ok(())
                })
            });
            if let Ok(head) = &sealed {
                let number = match number {
                    Some(number) => number,
                    None => engine::number_for_write(txn, stream)?,
                };
                for (seq, frame) in &frames {
                    events
                        .insert((number, seq.0), frame.as_slice())
                        .map_err(|e| fault::engine(doing, e))?;
                }
                heads.insert(stream, (Some(number), Some(*head)));
            }
            results.push(sealed);
        }
        Ok(())
    }

    fn look_up(
        &self,
        txn: &WriteTransaction,
        events: &impl ReadableTable<(u32, u64), &'static [u8]>,
        stream: &StreamId,
    ) -> Result<(Option<u32>, Option<Head>), LedgerError> {
        let doing = "appending events";
        let streams = txn.open_table(engine::STREAMS).map_err(|e| fault::engine(doing, e))?;
        let number = streams
            .get(stream.to_string().as_str())
            .map_err(|e| fault::engine(doing, e))?
            .map(|n| n.value());
        let head = match number {
            Some(number) => engine::head(events, stream, number)?,
            None => None,
        };
        Ok((number, head))
    }

    fn put_folds(&self, txn: &WriteTransaction) -> Result<(), LedgerError> {
        let doing = "storing a fold";
        let folds = lock(&self.folds);
        if folds.is_empty() {
            return Ok(());
        }
        let mut table = txn.open_table(FOLDS).map_err(|e| fault::engine(doing, e))?;
        for ((stream, projection, version), (at, bytes)) in folds.iter() {
            let number = engine::number_for_write(txn, stream)?;
            let mut value = at.seq.0.to_le_bytes().to_vec();
            value.extend_from_slice(&at.hash.0);
            value.extend_from_slice(bytes);
            table
                .insert((number, projection.as_str(), *version), value.as_slice())
                .map_err(|e| fault::engine(doing, e))?;
        }
        Ok(())
    }

    fn committed(&self, group: &[Arc<Ticket>], results: &[Result<Head, LedgerError>]) {
        if results.iter().any(Result::is_ok) {
            lock(&self.folds).clear();
        }
        let due = {
            let mut noting = lock(&self.noting);
            for (ticket, result) in group.iter().zip(results) {
                if let Ok(head) = result {
                    noting.heads.insert(ticket.stream.clone(), *head);
                    noting.dirty = true;
                }
            }
            noting.last.elapsed() >= Duration::from_millis(NOTE_EVERY_MS)
        };
        if due {
            self.note_heads();
        }
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

fn check_tail(
    events: &impl ReadableTable<(u32, u64), &'static [u8]>,
    number: Option<u32>,
    head: Option<Head>,
) -> Result<(), LedgerError> {
    let (Some(number), Some(head)) = (number, head) else { return Ok(()) };
    let tail = events
        .get((number, head.seq.0))
        .map_err(|e| fault::engine("reading the head of a stream", e))?;
    match tail.as_ref().map(|t| Frame::parse(t.value())) {
        Some(Ok(frame)) => writable_tail(&frame),
        _ => Ok(()),
    }
}

impl Drop for RedbLedger {
    fn drop(&mut self) {
        let writes = match self.handle.get_mut().unwrap_or_else(PoisonError::into_inner) {
            Some(handle) => matches!(handle, Handle::Writer(_)),
            None => false,
        };
        if writes && let Err(e) = self.flush_folds() {
            tracing::warn!(error = %e, "a fold could not be stored");
        }
        self.note_heads();
    }
}

impl Ledger for RedbLedger {
    fn id(&self) -> LedgerId {
        self.id.clone()
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
        let txn = self.read_txn()?;
        let doing = "reading the head of a stream";
        let streams = txn.open_table(engine::STREAMS).map_err(|e| fault::engine(doing, e))?;
        let name = stream.to_string();
        let number = streams.get(name.as_str()).map_err(|e| fault::engine(doing, e))?;
        let Some(number) = number.map(|n| n.value()) else { return Ok(None) };
        let events = txn.open_table(EVENTS).map_err(|e| fault::engine(doing, e))?;
        engine::head(&events, stream, number)
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
        Ok(engine::stream_numbers(&self.read_txn()?)?.into_keys().collect())
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
        let doing = "reading a fold";
        let Some(number) = engine::stream_numbers(&txn)?.get(stream).copied() else {
            return Ok(None);
        };
        let (at, bytes) = match fresh {
            Some(found) => found,
            None => {
                let table = txn.open_table(FOLDS).map_err(|e| fault::engine(doing, e))?;
                let value = table
                    .get((number, projection, version))
                    .map_err(|e| fault::engine(doing, e))?;
                let Some(value) = value else { return Ok(None) };
                let Some((seq, rest)) = value.value().split_first_chunk::<8>() else {
                    return Ok(None);
                };
                let Some((hash, bytes)) = rest.split_first_chunk::<32>() else {
                    return Ok(None);
                };
                let at = Head {
                    seq: Seq(u64::from_le_bytes(*seq)),
                    hash: pcbflow_core::ids::Digest(*hash),
                };
                (at, bytes.to_vec())
            }
        };
        let events = txn.open_table(EVENTS).map_err(|e| fault::engine(doing, e))?;
        let real = engine::hash_at(&events, stream, number, at.seq)?;
        Ok((real == Some(at.hash)).then_some((at, bytes)))
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
        let Some(number) = engine::stream_numbers(&txn)?.get(stream).copied() else {
            return Ok(ScanEnd::All);
        };
        let events = txn.open_table(EVENTS).map_err(|e| fault::engine(doing, e))?;
        let range = events.range((number, from.0)..=(number, u64::MAX));
        for entry in range.map_err(|e| fault::engine(doing, e))? {
            let (key, value) = entry.map_err(|e| fault::engine(doing, e))?;
            if visit(Seq(key.value().1), value.value())? == Control::Stop {
                return Ok(ScanEnd::Stopped);
            }
        }
        Ok(ScanEnd::All)
    }
}
