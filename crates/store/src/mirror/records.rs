//! The records of a board without any file: for a log that is read from the ledger itself.

use std::collections::BTreeMap;

use pcbflow_core::event::Event;
use pcbflow_core::ids::{BoardName, Seq};

use super::draft::Fold;
use super::record::Record;
use super::{HumanMessage, Status};

/// Folds events into records as they come.
#[derive(Debug, Default)]
pub struct Records {
    fold: Fold,
    /// Records handed out that may still change, by the position of their event.
    given: BTreeMap<Seq, Status>,
}

impl Records {
    /// Takes in the next event.
    pub fn apply(&mut self, event: &Event) {
        // Which phases changed matters only to files.
        let _changed = self.fold.apply(event);
    }

    /// Records that became final since the last call.
    pub fn take_final(&mut self, board: &BoardName, words: &dyn HumanMessage) -> Vec<Record> {
        self.take(board, words, true)
    }

    /// The same, and those that stand so for now: one that changes later comes again.
    pub fn take_all(&mut self, board: &BoardName, words: &dyn HumanMessage) -> Vec<Record> {
        self.take(board, words, false)
    }

    fn take(
        &mut self,
        board: &BoardName,
        words: &dyn HumanMessage,
        only_final: bool,
    ) -> Vec<Record> {
        let mut all = Vec::new();
        for (id, phase) in &mut self.fold.phases {
            for draft in phase.drafts.iter().filter(|d| d.is_closed() || !only_final) {
                let Some(record) = draft.record(board.as_str(), id, words) else { continue };
                let before = if draft.is_closed() {
                    self.given.remove(&record.seq)
                } else {
                    self.given.insert(record.seq, record.status)
                };
                if before != Some(record.status) {
                    all.push(record);
                }
            }
            phase.drafts.retain(|d| !d.is_closed());
        }
        all.sort_by_key(|r| r.seq);
        all
    }
}
