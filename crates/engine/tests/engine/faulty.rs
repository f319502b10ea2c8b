//! A ledger that fails, is full, or whose other writers are faster, at a chosen append.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pcbflow_core::event::{Event, Fact, NewEvent};
use pcbflow_core::ids::{LedgerId, Seq, StreamId};
use pcbflow_core::ports::{Expect, Head, Ledger, LedgerError};
use pcbflow_store::MemLedger;

use crate::world::World;

/// What happens at the chosen append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// The process dies when the events are on disk, before it hears of it.
    DiesAfter,
    /// The process dies before the events are on disk.
    DiesBefore,
    /// No space, from there on.
    Full,
    /// Another writer is faster, at every append.
    Contended,
    /// Another writer is always faster.
    AlwaysContended,
}

pub struct Faulty {
    pub inner: Arc<MemLedger>,
    pub world: Arc<World>,
    pub at: usize,
    pub how: How,
    pub appends: AtomicUsize,
}

impl Faulty {
    pub fn new(inner: &Arc<MemLedger>, world: &Arc<World>, at: usize, how: How) -> Arc<Faulty> {
        let (inner, world) = (inner.clone(), world.clone());
        Arc::new(Faulty { inner, world, at, how, appends: AtomicUsize::new(0) })
    }

    fn other_writer(&self, stream: &StreamId, event: &NewEvent) {
        let fact = Fact::Noted { topic: "other".into() };
        let mut other = NewEvent { fact, ..event.clone() };
        other.scope = Default::default();
        self.inner.append(stream, Expect::Any, &[other]).unwrap();
    }
}

fn gone() -> LedgerError {
    LedgerError::Storage { doing: "appending", message: "the process is gone".into() }
}

impl Ledger for Faulty {
    fn id(&self) -> LedgerId {
        self.inner.id()
    }

    fn append(
        &self,
        stream: &StreamId,
        expect: Expect,
        events: &[NewEvent],
    ) -> Result<Head, LedgerError> {
        if self.world.dead.load(Ordering::SeqCst) {
            return Err(gone());
        }
        let n = self.appends.fetch_add(1, Ordering::SeqCst) + 1;
        match self.how {
            How::DiesAfter if n == self.at => {
                self.inner.append(stream, expect, events)?;
                self.world.dead.store(true, Ordering::SeqCst);
                Err(gone())
            }
            How::DiesBefore if n == self.at => {
                self.world.dead.store(true, Ordering::SeqCst);
                Err(gone())
            }
            How::Full if n >= self.at => Err(LedgerError::DiskFull { doing: "appending" }),
            How::Contended if n % 2 == 1 && n > 1 => {
                self.other_writer(stream, &events[0]);
                self.inner.append(stream, expect, events)
            }
            How::AlwaysContended if n > 1 => {
                self.other_writer(stream, &events[0]);
                self.inner.append(stream, expect, events)
            }
            _ => self.inner.append(stream, expect, events),
        }
    }

    fn head(&self, stream: &StreamId) -> Result<Option<Head>, LedgerError> {
        self.inner.head(stream)
    }

    fn read(
        &self,
        stream: &StreamId,
        from: Seq,
        limit: usize,
        words: bool,
    ) -> Result<Vec<Event>, LedgerError> {
        self.inner.read(stream, from, limit, words)
    }

    fn streams(&self) -> Result<Vec<StreamId>, LedgerError> {
        self.inner.streams()
    }

    fn fold_cache(
        &self,
        stream: &StreamId,
        projection: &str,
        version: u32,
    ) -> Result<Option<(Head, Vec<u8>)>, LedgerError> {
        self.inner.fold_cache(stream, projection, version)
    }

    fn store_fold(
        &self,
        stream: &StreamId,
        projection: &str,
        version: u32,
        at: Head,
        bytes: &[u8],
    ) -> Result<(), LedgerError> {
        self.inner.store_fold(stream, projection, version, at, bytes)
    }
}
