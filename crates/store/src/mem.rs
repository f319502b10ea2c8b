//! A ledger in memory: the model of the others, and for tests of everything above the store.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pcbflow_core::event::{Event, NewEvent};
use pcbflow_core::ids::{Digest, LedgerId, Seq, StreamId};
use pcbflow_core::ports::{Expect, Head, Ledger, LedgerError};

use crate::frame::{Frame, Prepared, RandomSalts, Salts, Sealer, damaged, writable_tail};
use crate::hash::Chain;
use crate::read::{Control, Scan, ScanEnd, Scanner};

type FoldKey = (StreamId, String, u32);

#[derive(Default)]
struct Inner {
    streams: BTreeMap<StreamId, Vec<Vec<u8>>>,
    folds: BTreeMap<FoldKey, (Head, Vec<u8>)>,
}

/// A ledger that lives as long as the value.
pub struct MemLedger {
    id: LedgerId,
    salts: Box<dyn Salts>,
    inner: Mutex<Inner>,
}

impl std::fmt::Debug for MemLedger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemLedger").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Salts from a seed, so that the same events give the same bytes.
struct SeededSalts {
    seed: u64,
    drawn: Mutex<u64>,
}

impl Salts for SeededSalts {
    fn next(&self) -> Result<[u8; 32], LedgerError> {
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        *drawn += 1;
        let mut input = [0u8; 16];
        input[..8].copy_from_slice(&self.seed.to_le_bytes());
        input[8..].copy_from_slice(&drawn.to_le_bytes());
        Ok(*blake3::hash(&input).as_bytes())
    }
}

pub(crate) fn seeded_salts(seed: u64) -> Box<dyn Salts> {
    Box::new(SeededSalts { seed, drawn: Mutex::new(0) })
}

impl Default for MemLedger {
    fn default() -> Self {
        MemLedger::new()
    }
}

impl MemLedger {
    /// An empty ledger. Its id is random where the system has randomness.
    #[must_use]
    pub fn new() -> MemLedger {
        match crate::frame::fresh_id() {
            Ok(id) => {
                MemLedger { id, salts: Box::new(RandomSalts), inner: Mutex::new(Inner::default()) }
            }
            Err(_) => MemLedger::seeded(0),
        }
    }

    /// An empty ledger whose id and salts come from a seed: the same appends give the same bytes.
    #[must_use]
    pub fn seeded(seed: u64) -> MemLedger {
        // Hex digits and a hyphen are always a valid ledger id.
        let id = LedgerId::new(format!("seeded-{seed:016x}"))
            .unwrap_or_else(|e| unreachable!("hex digits form an id: {e}"));
        MemLedger { id, salts: seeded_salts(seed), inner: Mutex::new(Inner::default()) }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // A panic while the lock is held leaves whole frames only: `extend` is the one change.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Digest over every stored byte, to compare two ledgers.
    #[must_use]
    pub fn bytes_digest(&self) -> Digest {
        let mut hasher = blake3::Hasher::new();
        for (stream, frames) in &self.inner().streams {
            hasher.update(stream.to_string().as_bytes());
            for frame in frames {
                hasher.update(&(frame.len() as u64).to_le_bytes());
                hasher.update(frame);
            }
        }
        Digest(*hasher.finalize().as_bytes())
    }
}

fn head_of(stream: &StreamId, frames: &[Vec<u8>]) -> Result<Option<Head>, LedgerError> {
    let Some(last) = frames.last() else { return Ok(None) };
    let seq = Seq(frames.len() as u64 - 1);
    let frame = Frame::parse(last).map_err(|e| damaged(stream, seq, &e))?;
    Ok(Some(Head { seq, hash: frame.hash }))
}

impl Ledger for MemLedger {
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
        let mut inner = self.inner();
        let frames = inner.streams.get(stream).map_or(&[][..], Vec::as_slice);
        if let Some(last) = frames.last().and_then(|f| Frame::parse(f).ok()) {
            writable_tail(&last)?;
        }
        let head = head_of(stream, frames)?;
        let mut fresh = Vec::new();
        let mut chain = Chain::new();
        let mut sealer = Sealer { chain: &mut chain, ledger: &self.id, salts: self.salts.as_ref() };
        let head = sealer.seal(stream, head, expect, &prepared, &mut |_, frame| {
            fresh.push(frame.to_vec());
            Ok(())
        })?;
        inner.streams.entry(stream.clone()).or_default().extend(fresh);
        Ok(head)
    }

    fn head(&self, stream: &StreamId) -> Result<Option<Head>, LedgerError> {
        head_of(stream, self.inner().streams.get(stream).map_or(&[][..], Vec::as_slice))
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
        Ok(self.inner().streams.keys().cloned().collect())
    }

    fn fold_cache(
        &self,
        stream: &StreamId,
        projection: &str,
        version: u32,
    ) -> Result<Option<(Head, Vec<u8>)>, LedgerError> {
        let inner = self.inner();
        let key = (stream.clone(), projection.to_owned(), version);
        let Some((at, bytes)) = inner.folds.get(&key) else { return Ok(None) };
        let place = usize::try_from(at.seq.0).ok();
        let frame = place.and_then(|n| inner.streams.get(stream)?.get(n));
        let known = frame.and_then(|f| Frame::parse(f).ok()).is_some_and(|f| f.hash == at.hash);
        Ok(known.then(|| (*at, bytes.clone())))
    }

    fn store_fold(
        &self,
        stream: &StreamId,
        projection: &str,
        version: u32,
        at: Head,
        bytes: &[u8],
    ) -> Result<(), LedgerError> {
        let key = (stream.clone(), projection.to_owned(), version);
        self.inner().folds.insert(key, (at, bytes.to_vec()));
        Ok(())
    }
}

impl Scanner for MemLedger {
    fn scan(
        &self,
        stream: &StreamId,
        from: Seq,
        visit: &mut Scan<'_>,
    ) -> Result<ScanEnd, LedgerError> {
        let inner = self.inner();
        let Some(frames) = inner.streams.get(stream) else { return Ok(ScanEnd::All) };
        let first = usize::try_from(from.0).unwrap_or(usize::MAX);
        for (n, frame) in frames.iter().enumerate().skip(first) {
            if visit(Seq(n as u64), frame)? == Control::Stop {
                return Ok(ScanEnd::Stopped);
            }
        }
        Ok(ScanEnd::All)
    }
}
