//! The readable mirrors of a board, with the words of `humanize`.

use std::sync::Arc;

use pcbflow_checkpoint::workspace::Board;
use pcbflow_core::catalogue::Catalogue;
use pcbflow_core::ids::ClassId;
use pcbflow_humanize::message::Part;
use pcbflow_humanize::render;
use pcbflow_humanize::slots::{Board as BoardSlot, PhaseName, Slots, StepName};
use pcbflow_humanize::story::{Outcome, Place, Story, Try, TryResult};
use pcbflow_store::RedbLedger;
use pcbflow_store::mirror::{HumanMessage, MessageFacts, Mirrors, Status};

use crate::compose::Site;

struct Told {
    catalogue: Catalogue,
}

impl HumanMessage for Told {
    fn message(&self, facts: &MessageFacts<'_>) -> String {
        let row = ClassId::new(facts.class).ok().and_then(|c| self.catalogue.row(&c).copied());
        let Some(row) = row else { return plain(facts.status, facts.notes) };
        let place = Place {
            board: BoardSlot::new(facts.board).ok(),
            phase: PhaseName::new(facts.phase).ok(),
            step: StepName::new(facts.step).ok(),
        };
        let outcome = match facts.status {
            Status::Recovered => Outcome::Recovered,
            Status::Escalated => Outcome::Escalated,
            Status::Ok | Status::Failed => Outcome::Waiting,
        };
        let mut story = Story::new(&row, place, outcome);
        story.slots = Slots::from_evidence(facts.slots).0;
        story.tries = facts
            .tried
            .iter()
            .map(|rung| Try { rung: rung.clone(), times: 1, result: TryResult::NotCured })
            .collect();
        match story.message() {
            // What comes next stands in the lines of the next attempts; nobody is needed yet.
            Ok(m) if facts.status == Status::Failed => m.part(Part::What).as_str().to_owned(),
            Ok(m) => render::mirror(&m).as_str().to_owned(),
            Err(_) => row.title.to_owned(),
        }
    }
}

/// What is said of an attempt behind which no failure class stands.
fn plain(status: Status, notes: u64) -> String {
    match (status, notes) {
        (Status::Ok, 0) => "It went as it should.".to_owned(),
        (Status::Ok, 1) => "It passed with 1 warning.".to_owned(),
        (Status::Ok, many) => format!("It passed with {many} warnings."),
        (Status::Recovered, _) => "It works again.".to_owned(),
        (Status::Failed, _) => "It did not pass.".to_owned(),
        (Status::Escalated, _) => "You are needed.".to_owned(),
    }
}

/// The words for mirrors and logs.
#[must_use]
pub fn words(site: &Site) -> Arc<dyn HumanMessage> {
    Arc::new(Told { catalogue: site.policy.catalogue.clone() })
}

/// Mirrors of a workspace.
#[must_use]
pub fn mirrors(site: &Site) -> Mirrors {
    Mirrors::new(&site.workspace.root, words(site))
}

/// Brings a board's mirrors up to its head. What could not be written is a warning.
#[must_use]
pub fn update(site: &Site, ledger: &RedbLedger, board: &Board) -> Vec<String> {
    match mirrors(site).update(ledger, &board.name) {
        Ok(warnings) => warnings
            .into_iter()
            .map(|w| format!("{} could not be written: {}", w.path.display(), w.message))
            .collect(),
        Err(e) => vec![format!("the readable log of {} was not written: {e}", board.name)],
    }
}
