//! What is told when nothing failed: where a run resumes, how it ended, what a check found.

use pcbflow_core::ids::Seq;

use crate::lists;
use crate::message::{Ending, Message, MessageError, Text};
use crate::slots::{Board, PhaseName, Slot, Slots, StepName};
use crate::story::Place;
use crate::template::fill;

/// What came before the step at which a run resumes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Before {
    /// Nothing: it is the first step.
    Nothing,
    /// This step passed; its outputs are saved and not committed yet.
    Passed(StepName),
    /// This step passed and its outputs are committed.
    Committed(StepName),
}

/// The one sentence that says where a run goes on.
#[must_use]
pub fn resume_line(board: &Board, phase: &PhaseName, step: &StepName, before: &Before) -> Text {
    let slots = Slots::default()
        .with(Slot::Board(board.clone()))
        .with(Slot::Phase(phase.clone()))
        .with(Slot::Step(step.clone()));
    let (template, slots) = match before {
        Before::Nothing => ("Resuming {board} at {phase}, step {step}.", slots),
        Before::Passed(name) => (
            "Resuming {board} at {phase}, step {step} \u{2014} the previous step ({previous}) passed and is saved.",
            slots.with(Slot::Previous(name.clone())),
        ),
        Before::Committed(name) => (
            "Resuming {board} at {phase}, step {step} \u{2014} the previous step ({previous}) passed and is committed.",
            slots.with(Slot::Previous(name.clone())),
        ),
    };
    sentence(template, &slots)
}

/// Said when the record of a run that was cut short has been put in order.
#[must_use]
pub fn record_repaired() -> Text {
    Text::fixed("The last run stopped without closing. I repaired its record; nothing was lost.")
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// Everything passed.
    Pass,
    /// Passed, with findings below the limits.
    Conditional {
        /// How many.
        findings: u64,
        /// No history took the results: they are kept as a snapshot.
        unsaved: bool,
    },
    /// Findings at or above a limit.
    Findings {
        /// How many.
        findings: u64,
    },
    /// Checks that could not run: nothing is known.
    Unverified {
        /// How many.
        checks: u64,
    },
    /// Open asks.
    NeedsPerson {
        /// How many.
        asks: u64,
    },
    /// Everything was up to date.
    NothingToDo,
    /// A passing fault did not pass in time.
    TryLater,
    /// Stopped on request.
    Stopped,
}

/// The summary of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// The board.
    pub board: Board,
    /// How it ended.
    pub end: RunEnd,
    /// How many steps ran.
    pub steps: u64,
    /// How many failures were healed on the way.
    pub healed: u64,
    /// Only checks were asked for: nothing is made and nothing is saved.
    pub checks_only: bool,
    /// The last event of the run.
    pub event: Option<Seq>,
}

/// Templates of a summary.
struct Words {
    what: &'static str,
    why: &'static str,
    worked: &'static str,
    ask: &'static str,
    count: u64,
}

impl RunSummary {
    /// The summary in five parts.
    ///
    /// # Errors
    /// [`MessageError`] never happens: all templates are part of this module and tested.
    pub fn message(&self) -> Result<Message, MessageError> {
        let words = if self.checks_only { check_words(self.end) } else { run_words(self.end) };
        let slots =
            Slots::default().with(Slot::Board(self.board.clone())).with(Slot::Count(words.count));
        let place = Place { board: Some(self.board.clone()), ..Place::default() };
        let parts = [
            sentence(words.what, &slots),
            sentence(words.why, &slots),
            self.tried(),
            sentence(words.worked, &slots),
            sentence(words.ask, &slots),
        ];
        Message::new(place.text(), parts, Ending::Note, 1, self.event)
    }

    fn tried(&self) -> Text {
        let count = |n| Slots::default().with(Slot::Count(n));
        let ran = match self.steps {
            0 if self.checks_only => Text::fixed("I looked at every check; none had to run again."),
            n if self.checks_only => {
                sentence("I ran {count:check|checks} and nothing else.", &count(n))
            }
            0 => Text::fixed("I looked at every step and ran none."),
            n => sentence("I ran {count:step|steps}.", &count(n)),
        };
        match self.healed {
            0 => ran,
            n => ran.then(&sentence("I fixed {count:problem|problems} on the way.", &count(n))),
        }
    }
}

fn run_words(end: RunEnd) -> Words {
    let words = |what, why, worked, ask, count| Words { what, why, worked, ask, count };
    match end {
        RunEnd::Pass => words(
            "The run of {board} is done.",
            "Every check passed.",
            "Yes. The board passed and your work is saved.",
            lists::NOTHING,
            0,
        ),
        RunEnd::Conditional { unsaved: true, .. } => words(
            "The run of {board} is done.",
            "The results are kept as a snapshot and not in a history.",
            "Partly. The board passed under this condition. No work is lost.",
            "Create a history with git, then run this board again.",
            0,
        ),
        RunEnd::Conditional { findings, unsaved: false } => words(
            "The run of {board} is done.",
            "The checks found {count:point|points} below the limits of this board.",
            "Partly. The board passed with open points. Your work is saved.",
            "Fix the open points, or accept them as they are.",
            findings,
        ),
        RunEnd::Findings { findings } => words(
            "The checks of {board} found faults.",
            "{count:finding is|findings are} listed, more than the limits of this board allow.",
            "No. The board does not pass yet. Your work is saved.",
            "Fix the findings shown on the board, then run it again.",
            findings,
        ),
        RunEnd::Unverified { checks: 0 } => words(
            "I could not check {board}.",
            "There was no step to run, so nothing is known.",
            "Not yet. The board is not proven. Your work is saved.",
            "Add steps to this board, then run it again.",
            0,
        ),
        RunEnd::Unverified { checks } => words(
            "I could not check all of {board}.",
            "{count:check|checks} could not run, so nothing is known there.",
            "Not yet. The board is not proven. Your work is saved.",
            "Read why each check did not run, then run it again.",
            checks,
        ),
        RunEnd::NeedsPerson { asks } => words(
            "The run of {board} needs you.",
            "It waits for {count:answer|answers} from you.",
            "Not yet. The board is paused. Your work is saved.",
            "Answer what is open for this board.",
            asks,
        ),
        RunEnd::NothingToDo => words(
            "The board {board} is up to date.",
            "Nothing has changed since the last run.",
            "Yes. Every step has passed already and no work is lost.",
            lists::NOTHING,
            0,
        ),
        RunEnd::TryLater => words(
            "The run of {board} did not finish.",
            "A passing fault did not go away in time.",
            "Not yet. The board is paused. Your work is saved.",
            "Run this board again in ten minutes.",
            0,
        ),
        RunEnd::Stopped => words(
            "The run of {board} was stopped.",
            "I was asked to stop.",
            "Not yet. The board is paused. Your work is saved.",
            "Run this board again when you are ready.",
            0,
        ),
    }
}

/// The words of a run of checks alone: it proves no more than they do, and saves nothing.
fn check_words(end: RunEnd) -> Words {
    let words = |what, why, worked, ask, count| Words { what, why, worked, ask, count };
    match end {
        RunEnd::Pass | RunEnd::NothingToDo => words(
            "The checks of the board {board} are done.",
            "Every check that you asked for passed.",
            "Yes. The checks passed. I saved nothing and no work is lost.",
            lists::NOTHING,
            0,
        ),
        RunEnd::Conditional { findings, .. } => words(
            "The checks of the board {board} are done.",
            "They found {count:point|points} below the limits of this board.",
            "Partly. The checks passed with open points. No work is lost.",
            "Fix the open points, or accept them as they are.",
            findings,
        ),
        RunEnd::Findings { .. } => Words {
            worked: "No. The board does not pass yet. I saved nothing and no work is lost.",
            ..run_words(end)
        },
        RunEnd::Unverified { .. } => Words {
            worked: "Not yet. The board is not proven. I saved nothing and no work is lost.",
            ..run_words(end)
        },
        RunEnd::NeedsPerson { .. } => words(
            "The checks of the board {board} need you.",
            "They wait for {count:answer|answers} from you.",
            "Not yet. The checks are paused. I saved nothing and no work is lost.",
            "Answer what is open for this board.",
            run_words(end).count,
        ),
        RunEnd::TryLater => words(
            "The checks of the board {board} did not finish.",
            "A passing fault did not go away in time.",
            "Not yet. The checks are paused. I saved nothing and no work is lost.",
            "Run the checks of this board again in ten minutes.",
            0,
        ),
        RunEnd::Stopped => words(
            "The checks of the board {board} were stopped.",
            "I was asked to stop.",
            "Not yet. The checks are paused. I saved nothing and no work is lost.",
            "Run the checks of this board again when you are ready.",
            0,
        ),
    }
}

/// What a check found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckEnd {
    /// It ran and found nothing.
    Clean,
    /// It ran and found something.
    Findings {
        /// Findings that count against the board.
        errors: u64,
        /// Findings below the limits.
        warnings: u64,
    },
    /// It could not run.
    CouldNotRun,
}

/// The summary of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckSummary {
    /// Where it stands; its step names the check.
    pub place: Place,
    /// The check.
    pub check: StepName,
    /// What it found.
    pub end: CheckEnd,
    /// The event of the observation.
    pub event: Option<Seq>,
}

impl CheckSummary {
    /// The summary in five parts.
    ///
    /// # Errors
    /// [`MessageError`] never happens: all templates are part of this module and tested.
    pub fn message(&self) -> Result<Message, MessageError> {
        let slots = Slots::default().with(Slot::Step(self.check.clone()));
        let tried = "I ran the check of the step {step} once.";
        let (what, why, tried, worked, ask) = match self.end {
            CheckEnd::Clean => (
                Text::fixed("The check of this board found nothing."),
                Text::fixed("All that it looks for is in order."),
                tried,
                "Yes. The check is clean and no work is lost.",
                lists::NOTHING,
            ),
            CheckEnd::Findings { errors, warnings } => (
                counted(
                    "The check of this board found {count:fault|faults}.",
                    errors.saturating_add(warnings),
                ),
                found(errors, warnings),
                tried,
                if errors == 0 {
                    "Partly. The check passed with open points. Your work is saved."
                } else {
                    "No. The board does not pass yet. Your work is saved."
                },
                if errors == 0 {
                    "Fix the open points, or accept them as they are."
                } else {
                    "Fix the findings shown on the board, then run it again."
                },
            ),
            CheckEnd::CouldNotRun => (
                Text::fixed("The check of this board could not run."),
                Text::fixed("The record holds the details."),
                "I tried to run the check of the step {step}.",
                "Not yet. The board is not proven. Your work is saved.",
                "Check the step {step}, then say 'retry'.",
            ),
        };
        let parts =
            [what, why, sentence(tried, &slots), sentence(worked, &slots), sentence(ask, &slots)];
        Message::new(self.place.text(), parts, Ending::Note, 1, self.event)
    }
}

fn found(errors: u64, warnings: u64) -> Text {
    let mut text = Text::default();
    if errors > 0 {
        text = text.then(&counted("{count:error counts|errors count} against this board.", errors));
    }
    if warnings > 0 {
        text = text.then(&counted("{count:warning is|warnings are} below its limits.", warnings));
    }
    if text.is_empty() { Text::fixed("Each of them is below the limits.") } else { text }
}

fn counted(template: &'static str, count: u64) -> Text {
    sentence(template, &Slots::default().with(Slot::Count(count)))
}

/// All templates of this module are tested with the slots they get.
fn sentence(template: &'static str, slots: &Slots) -> Text {
    fill(template, slots).unwrap_or_else(|_| Text::fixed("The record holds the details."))
}

#[cfg(test)]
#[path = "notice_tests.rs"]
mod tests;
