//! The ledger of a test's workspace, read through the store and not through pcbflow's own words.

use std::path::Path;

use pcbflow_core::event::{Event, Fact};
use pcbflow_core::ids::{BoardName, Seq, StreamId};
use pcbflow_core::ports::Ledger as _;
use pcbflow_store::{Mode, OpenOptions, StateHome, open};

use crate::TestEnvironment;

/// Most events that a test's stream has.
const EVENTS_MAX: usize = 1_000_000;

/// A board's stream.
#[must_use]
pub fn stream(board: &str) -> StreamId {
    StreamId::Board(BoardName::new(board).expect("a board's name"))
}

impl TestEnvironment {
    /// All events of a board, words included. Nothing may have the ledger's repair to do: after a
    /// kill, pcbflow opens it first.
    ///
    /// # Panics
    /// When the ledger can't be read.
    #[track_caller]
    #[must_use]
    pub fn events(&self, board: &str) -> Vec<Event> {
        events_at(&self.ws(), &self.path("state"), board)
    }

    /// The facts of a board.
    #[track_caller]
    #[must_use]
    pub fn facts(&self, board: &str) -> Vec<Fact> {
        self.events(board).into_iter().map(|event| event.fact).collect()
    }

    /// One line a fact, for messages of failed assertions.
    #[must_use]
    pub fn story(&self, board: &str) -> String {
        let lines = self.events(board).into_iter().map(|e| {
            let step = e.step_key().map_or(String::new(), |k| k.to_string());
            let why = e.words.as_ref().map_or("", |w| w.summary.as_str());
            format!("{:>4} {step} {} {why}", e.seq.0, e.fact)
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// All events of a board in a workspace.
///
/// # Panics
/// When the ledger can't be read.
#[track_caller]
#[must_use]
pub fn events_at(workspace: &Path, state: &Path, board: &str) -> Vec<Event> {
    let home = StateHome(state.to_owned());
    let options = OpenOptions::of_workspace(workspace, Some(home), Mode::Read);
    let opened = open(&options).unwrap_or_else(|why| panic!("the ledger can't be read: {why}"));
    let read = opened.ledger.read(&stream(board), Seq(1), EVENTS_MAX, true);
    read.unwrap_or_else(|why| panic!("the stream can't be read: {why}"))
}

/// How many facts are of one kind.
#[must_use]
pub fn count(facts: &[Fact], wanted: impl Fn(&Fact) -> bool) -> usize {
    facts.iter().filter(|fact| wanted(fact)).count()
}
