//! Reads from the ledger that a failure was met, diagnosed, climbed and closed as its row says.

use std::path::Path;

use pcbflow_cli::compose;
use pcbflow_cli::settings::Settings;
use pcbflow_core::check::CheckOutcome;
use pcbflow_core::event::{CheckPurpose, Decision, Event, Fact, ReadBack, RecoveryOutcome};
use pcbflow_core::ids::{BoardName, ClassId, StepKey};
use pcbflow_core::policy::FAILURE_ATTEMPTS_MAX;
use pcbflow_core::row::{Available, Resume, Row, RungKind};
use pcbflow_humanize::{Form, check_message};
use pcbflow_store::{Mode, OpenOptions, StateHome, open};
use pcbflow_tests::TestEnvironment;

/// How it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Healed by this rung.
    Cured(&'static str),
    /// The ladder led to the person.
    Asked,
    /// Left out, with all else gone on.
    LeftOut,
}

/// What the ledger must hold.
pub struct Want<'a> {
    /// The row.
    pub class: &'a str,
    /// The step.
    pub step: &'a str,
    /// Rungs that do not apply to this step by the rules of the policy, and why.
    pub left: &'a [(&'a str, &'a str)],
    /// The end.
    pub end: End,
}

/// Why a read-back is no rung for a step that may be repeated freely.
pub const FREE: (&str, &str) = ("read-back", "the step may be repeated freely");

/// The row of a class, from the table that the program folds.
pub fn row(class: &str) -> Row {
    let table = compose::catalogue(&Settings::default()).expect("the table");
    *table.row(&ClassId::new(class).expect("a class")).expect("a row")
}

/// Asserts that the board's ledger holds everything.
#[track_caller]
pub fn holds(test: &TestEnvironment, board: &str, want: &Want<'_>) {
    let proof = Proof::of(test, board, want);
    proof.intent_comes_first();
    proof.rungs_are_the_ladders();
    proof.waits_are_kept();
    proof.actions_are_rechecked();
    proof.ends_well();
    message_is_plain(&test.ws(), &test.path("state"), board, want.step);
    test.pcbflow(&["ledger", "verify"]).exits(0);
    test.pcbflow(&["replay", board]).exits(0);
}

struct Proof<'a> {
    want: &'a Want<'a>,
    row: Row,
    /// Every event of the step.
    all: Vec<Event>,
    /// Place of the diagnosis in them.
    from: usize,
    /// Place behind the end of the episode.
    to: usize,
    story: String,
}

impl<'a> Proof<'a> {
    #[track_caller]
    fn of(test: &TestEnvironment, board: &str, want: &'a Want<'a>) -> Proof<'a> {
        let story = test.story(board);
        let of_step = |e: &Event| e.scope.step.as_ref().is_some_and(|s| s.as_str() == want.step);
        let all: Vec<Event> = test.events(board).into_iter().filter(of_step).collect();
        let found = all.iter().position(
            |e| matches!(&e.fact, Fact::FailureDiagnosed { class, .. } if class.as_str() == want.class),
        );
        let from = found.unwrap_or_else(|| {
            panic!("{} was not diagnosed at {}\n{story}", want.class, want.step)
        });
        let ends = |e: &Event| match want.end {
            End::Cured(_) => matches!(e.fact, Fact::StepRecovered { .. }),
            End::Asked => matches!(&e.fact, Fact::AskRaised { kind, .. } if kind != "go_ahead"),
            End::LeftOut => matches!(e.fact, Fact::StepHeld { .. }),
        };
        let last = all[from..].iter().position(ends);
        let to = from
            + 1
            + last.unwrap_or_else(|| panic!("{}: no end as {:?}\n{story}", want.class, want.end));
        Proof { want, row: row(want.class), all, from, to, story }
    }

    fn climbed(&self) -> &[Event] {
        &self.all[self.from..self.to]
    }

    #[track_caller]
    fn check(&self, holds: bool, what: &str) {
        assert!(holds, "{}: {what}\n{}", self.want.class, self.story);
    }

    /// The intent of the attempt is recorded before its failure, the failure before any rung.
    fn intent_comes_first(&self) {
        let started =
            self.all[..self.from].iter().any(|e| matches!(e.fact, Fact::AttemptStarted { .. }));
        self.check(started, "an intent before the failure");
        let others = self.climbed().iter().filter_map(|e| match &e.fact {
            Fact::FailureDiagnosed { class, .. } => Some(class.as_str()),
            _ => None,
        });
        self.check(others.into_iter().all(|c| c == self.want.class), "another failure on the way");
    }

    /// The rungs that were used, in their order. An attempt or read-back that belongs to the rung
    /// just taken is no further use of it.
    fn used(&self) -> Vec<String> {
        let mut used: Vec<String> = Vec::new();
        let mut taken: Option<String> = None;
        for event in self.climbed() {
            let Fact::DecisionTaken { decision, .. } = &event.fact else { continue };
            match decision {
                Decision::Recover { rung } => {
                    used.push(rung.clone());
                    taken = Some(rung.clone());
                }
                Decision::ReadBack { rung: Some(rung) } if taken.as_ref() != Some(rung) => {
                    used.push(rung.clone());
                    taken = Some(rung.clone());
                }
                Decision::Attempt { rung: Some(rung), .. } => {
                    let same = taken.take().as_ref() == Some(rung);
                    used.extend((!same).then(|| rung.clone()));
                }
                Decision::Ask { kind, .. } if kind != "go_ahead" => used.push("ask".to_owned()),
                Decision::LeaveUnverified => {
                    let goes_on = self.row.ladder.iter().find(|r| r.kind == RungKind::GoOn);
                    used.push(goes_on.map_or("?", |r| r.id).to_owned());
                }
                _ => {}
            }
        }
        used
    }

    /// What the ladder of the row gives, without what does not apply.
    fn ladder(&self) -> Vec<String> {
        let left = |id: &str| self.want.left.iter().any(|(rung, _)| *rung == id);
        for (rung, why) in self.want.left {
            let known = self.row.ladder.iter().any(|r| r.id == *rung);
            self.check(known && !why.is_empty(), &format!("{rung} is no rung"));
        }
        // Actions that come with a later release are no rungs yet.
        let later = self.row.available != Available::Now;
        let rungs =
            self.row.ladder.iter().filter(|r| !(left(r.id) || later && r.kind == RungKind::Act));
        rungs.flat_map(|r| std::iter::repeat_n(r.id.to_owned(), r.times())).collect()
    }

    fn rungs_are_the_ladders(&self) {
        let (used, mut ladder) = (self.used(), self.ladder());
        if let End::Cured(rung) = self.want.end {
            self.check(used.last().is_some_and(|u| u == rung), &format!("{used:?} ends by {rung}"));
            ladder.truncate(used.len());
        }
        if let (End::Asked, Resume::Nothing) = (self.want.end, self.row.texts.resume) {
            // Its ladder does not lead to the person; what can't be healed is asked as SC-6.
            ladder.push("ask".to_owned());
        }
        self.check(used == ladder, &format!("climbed {used:?}, the ladder is {ladder:?}"));
        self.check(used.len() <= FAILURE_ATTEMPTS_MAX as usize * 2, "the ladder is short");
    }

    /// Every wait has a recorded wake, and no attempt begins before it.
    fn waits_are_kept(&self) {
        for (at, event) in self.climbed().iter().enumerate() {
            let Fact::DecisionTaken { decision, now, .. } = &event.fact else { continue };
            let Decision::Attempt { wake, wait_ms, .. } = decision else { continue };
            self.check(*wake == now.plus_ms(*wait_ms), "the wake is now and the wait");
            let started =
                self.climbed()[at..].iter().find(|e| matches!(e.fact, Fact::AttemptStarted { .. }));
            self.check(started.is_none_or(|s| s.at >= *wake), "an attempt before its wake");
        }
    }

    /// Every action is recorded when it starts and when it ends, and one that says it is done is
    /// followed by the row's own probe.
    fn actions_are_rechecked(&self) {
        let events = self.climbed();
        for (at, event) in events.iter().enumerate() {
            let Fact::RecoveryStarted { rung, class } = &event.fact else { continue };
            self.check(class.as_str() == self.want.class, "the action is for this failure");
            let finished = events[at..].iter().position(
                |e| matches!(&e.fact, Fact::RecoveryFinished { rung: r, .. } if r == rung),
            );
            let end = at + finished.unwrap_or_else(|| panic!("{rung} has no end\n{}", self.story));
            let Fact::RecoveryFinished { outcome, .. } = &events[end].fact else { continue };
            let Some(probe) = self.row.recheck.probe.filter(|_| *outcome == RecoveryOutcome::Done)
            else {
                continue;
            };
            let rechecked = events[end..]
                .iter()
                .take_while(|e| !matches!(e.fact, Fact::RecoveryStarted { .. } | Fact::AttemptStarted { .. }))
                .any(|e| matches!(&e.fact, Fact::CheckObserved { check, purpose: CheckPurpose::Recheck, .. } if check == probe));
            self.check(rechecked, &format!("{probe} looks after {rung}"));
        }
    }

    fn ends_well(&self) {
        let last = &self.climbed()[self.to - self.from - 1].fact;
        match (self.want.end, last) {
            (End::Cured(by), Fact::StepRecovered { class, rung, proof, .. }) => {
                self.check(class.as_str() == self.want.class && rung == by, "healed by its rung");
                self.proven(proof.0);
                let passed =
                    self.all[self.to..].iter().any(|e| matches!(e.fact, Fact::StepPassed { .. }));
                self.check(passed, "the step passed");
            }
            (End::Asked, Fact::AskRaised { class, kind, watch, .. }) => {
                let asks = match self.row.texts.resume {
                    Resume::Nothing => row("SC-6"),
                    _ => self.row,
                };
                self.check(class.as_str() == asks.id, "asked in the words of its row");
                self.check(kind == asks.texts.ask_kind, "asked for what its row asks");
                let watched = match asks.texts.resume {
                    Resume::Watch(probe) => Some(probe),
                    _ => None,
                };
                self.check(watch.as_deref() == watched, "the ask names its condition");
                let escalated = self.climbed().iter().any(
                    |e| matches!(&e.fact, Fact::StepEscalated { class, .. } if class.as_str() == asks.id),
                );
                self.check(escalated, "escalated");
            }
            (End::LeftOut, Fact::StepHeld { .. }) => {}
            (_, other) => panic!("{other}\n{}", self.story),
        }
    }

    /// The proof of a cure is a check or a read-back that was made after the failure.
    fn proven(&self, proof: u64) {
        let proof =
            self.climbed().iter().find(|e| e.seq.0 == proof && e.seq > self.all[self.from].seq);
        let passed = |e: &Event| match &e.fact {
            Fact::CheckObserved { outcome, .. } => *outcome == CheckOutcome::Pass,
            _ => false,
        };
        let landed = self
            .climbed()
            .iter()
            .any(|e| matches!(e.fact, Fact::EffectReadBack { found: ReadBack::Landed }));
        self.check(proof.is_some_and(passed) || landed, "the cure is proven by another look");
    }
}

/// The five parts of the message about a step, and that they keep the rules.
#[track_caller]
pub fn message_is_plain(workspace: &Path, state: &Path, board: &str, step: &str) {
    let options =
        OpenOptions::of_workspace(workspace, Some(StateHome(state.to_owned())), Mode::Read);
    let opened = open(&options).expect("the ledger");
    let board = BoardName::new(board).expect("a board's name");
    let (_, state) = pcbflow_engine::fold_board(opened.ledger.as_ref(), &board).expect("the state");
    let key: &StepKey =
        state.steps.keys().find(|k| k.step.as_str() == step).expect("the step is known");
    let table = compose::catalogue(&Settings::default()).expect("the table");
    let message = pcbflow_cli::story::failure_message(&table, &board, &state, key)
        .expect("a message about the failure");
    let faults = check_message(&message, Form::Five);
    assert!(faults.is_empty(), "{faults:?}\n{:?}", pcbflow_cli::story::parts(&message));
    for part in pcbflow_humanize::Part::ALL {
        assert!(!message.part(part).is_empty(), "{part:?} is empty");
    }
}
