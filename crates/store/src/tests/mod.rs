//! Suites of the store. Shared pieces first: events from a seed, opened ledgers.

pub(crate) mod arb;
mod conformance;
mod crash;
mod group;
mod kill;
mod mirrors;
mod moving;
mod opening;
mod space;
mod tamper;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcbflow_core::event::{Actor, Fact, NewEvent, Words};
use pcbflow_core::ids::{Scope, StreamId};
use pcbflow_core::ports::LedgerError;
use pcbflow_core::time::Timestamp;

use crate::{Mode, OpenOptions, Opened, RedbLedger, StateHome, open};

/// A board's stream.
pub(crate) fn board(name: &str) -> StreamId {
    format!("board/{name}").parse().unwrap()
}

/// An event that says a number.
pub(crate) fn note(n: u64) -> NewEvent {
    NewEvent {
        at: Timestamp(1_700_000_000_000_000 + n as i64),
        scope: Scope::default(),
        actor: Actor::Engine,
        fact: Fact::Noted { topic: format!("n{n}") },
        words: Words::say(format!("words {n}")),
    }
}

/// A workspace in a temporary folder, with a state folder that outlives it.
pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("ws")).unwrap();
        Place { folder }
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("ws")
    }

    pub(crate) fn options(&self) -> OpenOptions {
        options_of(self.folder.path())
    }

    pub(crate) fn try_open(&self, mode: Mode) -> Result<Opened, LedgerError> {
        open(&OpenOptions { mode, ..self.options() })
    }

    pub(crate) fn open(&self) -> Arc<RedbLedger> {
        self.try_open(Mode::Write).unwrap().ledger
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.options().path
    }
}

/// The options of a [`Place`] in `folder`, for another process.
pub(crate) fn options_of(folder: &Path) -> OpenOptions {
    let home = StateHome(folder.join("state"));
    let options = OpenOptions::of_workspace(&folder.join("ws"), Some(home), Mode::Write);
    OpenOptions { reserve_bytes: 64 << 10, ..options }
}
