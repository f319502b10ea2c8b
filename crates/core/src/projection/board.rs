//! State of one board, folded from its stream.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::pairs;
use super::step::{Lesson, Stage, StepState};
use crate::check::{Counts, Gate, PhaseVerdict};
use crate::event::{Event, Fact, Owner, StopCause};
use crate::ids::{AskId, ClassId, Digest, LedgerId, PhaseId, RunId, Seq, StepKey};
use crate::manifest::{COMMIT_STEP, Safety};
use crate::policy::GO_AHEAD_ASK;
use crate::time::Timestamp;

/// Name of this projection in fold caches.
pub const BOARD_PROJECTION: &str = "board";
/// Raised whenever the fold or its shape changes; older caches are then not used.
pub const BOARD_PROJECTION_VERSION: u32 = 7;
/// Most answered asks kept in the state; older ones are in the ledger.
const ASKS_KEPT_MAX: usize = 200;

/// What closes an ask when a run begins: whether it still stands, this run finds out.
pub const NEW_RUN: &str = "new run";

/// Slot of a diagnosed failure that holds a line shown beside its message, as it is: the file or
/// the command that a message may not hold.
pub const BESIDE_SLOT: &str = "beside";
/// Slot of a diagnosed failure that holds the install command of its step, to be shown as it is.
pub const INSTALL_SLOT: &str = "install";
/// Slot of a diagnosed failure that holds the identity of its cause.
pub const CAUSE_SLOT: &str = "cause";

/// The last run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunState {
    /// Its id.
    pub id: RunId,
    /// Its seed.
    pub seed: u64,
    /// Digest of the policy that holds.
    pub policy: Digest,
    /// Host, pid and start of its process.
    pub owner: (String, u32, String),
    /// When it started.
    pub started: Timestamp,
    /// Only checks.
    pub checks_only: bool,
    /// The last phase it goes to; `None` for all of them.
    pub to: Option<PhaseId>,
    /// With only checks: last parts of the kinds that it looks at; empty for all of them.
    pub only_kinds: Vec<String>,
    /// Why it stopped, if it did.
    pub stopped: Option<StopWord>,
    /// Recoveries over all steps.
    pub recoveries: u32,
}

/// What a run of checks alone puts aside: it takes nothing from the run before it, whose asks stay
/// open and which is gone on with afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Aside {
    /// The run before it.
    run: Option<RunState>,
    /// Steps that it has not touched, as they stood.
    #[serde(with = "pairs")]
    steps: BTreeMap<StepKey, StepState>,
    /// Asks that were open.
    asks: Vec<AskId>,
}

/// [`StopCause`] as its word; a newer release's causes stay readable.
pub type StopWord = String;

/// A phase.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PhaseState {
    /// Its last verdict, with the position of the event.
    pub verdict: Option<(PhaseVerdict, Seq)>,
    /// Counts of that verdict.
    pub counts: Counts,
    /// Commit of its outputs, if they were committed after that verdict.
    pub commit: Option<String>,
    /// The last commit of its outputs, whatever came after.
    pub last_commit: Option<String>,
}

impl PhaseState {
    /// Done: the verdict lets it advance and the outputs are committed.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.verdict.is_some_and(|(v, _)| v.advances()) && self.commit.is_some()
    }
}

/// An ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskState {
    /// Its id.
    pub id: AskId,
    /// Position of the event that raised it.
    pub seq: Seq,
    /// Class it comes from.
    pub class: ClassId,
    /// Kind for machines.
    pub kind: String,
    /// Plain name of the tool or place.
    pub tool: String,
    /// Probe by which pcbflow sees that it was done.
    pub watch: Option<String>,
    /// The step it belongs to.
    pub step: Option<StepKey>,
    /// Further steps with the same cause, which wait for the same answer.
    pub also: Vec<StepKey>,
    /// Identity of the cause, where the failure names one.
    pub cause: Option<String>,
    /// When it was raised.
    pub raised: Timestamp,
    /// The answer, if it was given.
    pub answer: Option<String>,
}

impl AskState {
    /// Steps that wait for the answer: the one that asked first, then the others.
    pub fn steps(&self) -> impl Iterator<Item = &StepKey> {
        self.step.iter().chain(&self.also)
    }

    /// Whether this step waits for the answer.
    #[must_use]
    pub fn holds(&self, key: &StepKey) -> bool {
        self.steps().any(|k| k == key)
    }
}

/// State of a board.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BoardState {
    /// The last event folded in: its position and hash.
    pub head: Option<(Seq, Digest)>,
    /// Time of that event.
    pub at: Timestamp,
    /// The ledger.
    pub ledger: Option<LedgerId>,
    /// Named records (`kicad.ruleset`).
    pub records: BTreeMap<String, String>,
    /// The last run.
    pub run: Option<RunState>,
    /// All steps ever planned.
    #[serde(with = "pairs")]
    pub steps: BTreeMap<StepKey, StepState>,
    /// All phases ever judged.
    pub phases: BTreeMap<PhaseId, PhaseState>,
    /// Open asks and the newest answered ones, oldest first.
    pub asks: Vec<AskState>,
    /// Asks ever raised; the next one gets the next number.
    pub asks_raised: u32,
    /// What a run of checks alone, which has not ended yet, put aside.
    pub aside: Option<Aside>,
    /// What worked before, by fingerprint and rung.
    #[serde(with = "pairs")]
    pub lessons: BTreeMap<Digest, BTreeMap<String, Lesson>>,
    /// Sightings of each class ever.
    pub failures_seen: BTreeMap<String, u32>,
    /// Recoveries proven ever.
    pub recovered: u32,
    /// Events that did not fit the state they met.
    pub oddities: u32,
    /// The newest of them, in words.
    pub oddity: Option<String>,
}

impl BoardState {
    /// Folds events in order over this state.
    pub fn apply_all<'a>(&mut self, events: impl IntoIterator<Item = &'a Event>) {
        for event in events {
            self.apply(event);
        }
    }

    /// Applies one event.
    pub fn apply(&mut self, event: &Event) {
        if event.at < self.at {
            // A clock that went back changes nothing: sequence numbers order events.
            self.odd("the clock went back", event);
        }
        self.head = Some((event.seq, event.hash));
        self.at = self.at.max(event.at);
        let fits = match &event.fact {
            Fact::StreamOpened { ledger, .. } => {
                self.ledger = Some(ledger.clone());
                true
            }
            Fact::BoardCreated { records } => {
                self.records.extend(records.clone());
                true
            }
            Fact::RunStarted { .. } | Fact::RunResumed { .. } | Fact::RunStopped { .. } => {
                self.apply_run(event)
            }
            Fact::PhaseVerdictGiven { .. } | Fact::OutputsCommitted { .. } => {
                self.apply_phase(event)
            }
            Fact::AskAnswered { ask, answer } => self.answer(ask, answer, event.at),
            Fact::LessonLearned { fingerprint, rung, worked, .. } => {
                let lesson =
                    self.lessons.entry(*fingerprint).or_default().entry(rung.clone()).or_default();
                if *worked {
                    lesson.worked += 1;
                } else {
                    lesson.failed += 1;
                }
                true
            }
            _ => self.apply_step(event),
        };
        if !fits {
            self.odd("an event does not fit the state", event);
        }
    }

    fn odd(&mut self, what: &str, event: &Event) {
        self.oddities = self.oddities.saturating_add(1);
        self.oddity = Some(format!("{what}: {} {}", event.seq, event.fact));
    }

    fn apply_run(&mut self, event: &Event) -> bool {
        let owner = |o: &Owner| (o.host.clone(), o.pid, o.started.clone());
        match (&event.fact, &event.scope.run) {
            (
                Fact::RunStarted { seed, policy, owner: o, checks_only, to, only_kinds },
                Some(id),
            ) => {
                // Of a look that never ended, the run before it is what is put aside still.
                let before = self.aside.take();
                self.aside = checks_only.then(|| before.unwrap_or_else(|| self.put_aside()));
                for step in self.steps.values_mut() {
                    step.new_run();
                }
                for ask in self.asks.iter_mut().filter(|a| a.answer.is_none()) {
                    // A new run asks again if it must, then under the same id.
                    ask.answer = Some(NEW_RUN.to_owned());
                }
                self.run = Some(RunState {
                    id: id.clone(),
                    seed: *seed,
                    policy: *policy,
                    owner: owner(o),
                    started: event.at,
                    checks_only: *checks_only,
                    to: to.clone(),
                    only_kinds: only_kinds.clone(),
                    stopped: None,
                    recoveries: 0,
                });
                true
            }
            (Fact::RunResumed { policy, owner: o, to, only_kinds }, Some(id)) => {
                match &mut self.run {
                    Some(run) if run.id == *id => {
                        run.policy = *policy;
                        run.owner = owner(o);
                        run.to.clone_from(to);
                        run.only_kinds.clone_from(only_kinds);
                        run.stopped = None;
                        if run.checks_only && self.aside.is_none() {
                            // A look that had ended: it still takes nothing from what stands.
                            self.aside = Some(Aside { run: None, ..self.put_aside() });
                        }
                        true
                    }
                    _ => false,
                }
            }
            (Fact::RunStopped { cause }, _) => match &mut self.run {
                Some(run) => {
                    run.stopped = Some(stop_word(cause));
                    self.take_back();
                    true
                }
                None => false,
            },
            _ => false,
        }
    }

    fn put_aside(&self) -> Aside {
        let asks = self.open_asks().map(|a| a.id.clone()).collect();
        Aside { run: self.run.clone(), steps: self.steps.clone(), asks }
    }

    /// Ends a run of checks alone: what it did not touch stands as before. The run before it is gone
    /// on with, unless that one is done and the look itself was stopped from outside.
    fn take_back(&mut self) {
        let Some(aside) = self.aside.take() else { return };
        let untouched = |ask: &AskState| {
            aside.asks.contains(&ask.id)
                && ask.answer.as_deref() == Some(NEW_RUN)
                && ask.steps().all(|key| aside.steps.contains_key(key))
        };
        for ask in &mut self.asks {
            if untouched(ask) {
                ask.answer = None;
            }
        }
        self.steps.extend(aside.steps);
        let word = |run: &Option<RunState>| run.as_ref().and_then(|r| r.stopped.clone());
        let done = matches!(word(&aside.run).as_deref(), Some("finished" | "nothing_to_do"));
        let cut = matches!(word(&self.run).as_deref(), Some("interrupted" | "terminated"));
        if aside.run.is_some() && !(done && cut) {
            self.run = aside.run;
        }
    }

    fn apply_phase(&mut self, event: &Event) -> bool {
        let Some(id) = event.phase() else { return false };
        let phase = self.phases.entry(id.clone()).or_default();
        match &event.fact {
            Fact::PhaseVerdictGiven { verdict, counts } => {
                phase.verdict = Some((*verdict, event.seq));
                phase.counts = *counts;
                phase.commit = None;
                true
            }
            Fact::OutputsCommitted { commit } => {
                phase.commit = Some(commit.clone());
                phase.last_commit = Some(commit.clone());
                phase.verdict.is_some()
            }
            _ => false,
        }
    }

    fn apply_step(&mut self, event: &Event) -> bool {
        match &event.fact {
            Fact::FailureDiagnosed { class, .. } => {
                *self.failures_seen.entry(class.to_string()).or_default() += 1;
            }
            Fact::StepRecovered { .. } => self.recovered = self.recovered.saturating_add(1),
            Fact::RecoveryStarted { .. } => {
                if let Some(run) = &mut self.run {
                    run.recoveries = run.recoveries.saturating_add(1);
                }
            }
            Fact::AttemptFinished { records, .. } => self.records.extend(records.clone()),
            Fact::AskRaised { .. } => self.raise(event),
            _ => {}
        }
        match event.step_key() {
            Some(key) => {
                if let Some(aside) = &mut self.aside {
                    aside.steps.remove(&key);
                }
                self.steps.entry(key).or_default().apply(event)
            }
            // Facts without a step (notes, anchors, catches) change no step.
            None => true,
        }
    }

    fn raise(&mut self, event: &Event) {
        let Fact::AskRaised { ask, class, kind, tool, watch } = &event.fact else { return };
        let step = event.step_key();
        if let Some(open) = self.asks.iter_mut().find(|a| a.id == *ask && a.answer.is_none()) {
            // Another step with the same cause: it waits for the same answer.
            let joins = step.filter(|key| !open.holds(key));
            open.also.extend(joins);
            return;
        }
        let cause = step.as_ref().and_then(|key| self.cause_of(key, class, kind));
        let again = |a: &&mut AskState| a.id == *ask && a.answer.as_deref() == Some(NEW_RUN);
        if let Some(known) = self.asks.iter_mut().find(again) {
            // The question of an earlier run still stands.
            known.seq = event.seq;
            known.step = step;
            known.also = Vec::new();
            known.cause = cause;
            known.answer = None;
            return;
        }
        self.asks_raised = self.asks_raised.saturating_add(1);
        self.asks.push(AskState {
            id: ask.clone(),
            seq: event.seq,
            class: class.clone(),
            kind: kind.clone(),
            tool: tool.clone(),
            watch: watch.clone(),
            cause,
            step,
            also: Vec::new(),
            raised: event.at,
            answer: None,
        });
        if self.asks.len() > ASKS_KEPT_MAX
            && let Some(at) = self.asks.iter().position(|a| a.answer.is_some())
        {
            self.asks.remove(at);
        }
    }

    /// Cause of a step's failure as an ask of this class and kind is about it. A go-ahead is
    /// given to one step and never to another.
    fn cause_of(&self, key: &StepKey, class: &ClassId, kind: &str) -> Option<String> {
        let failure = self.steps.get(key)?.failure.as_ref()?;
        let same = failure.class == *class && kind != GO_AHEAD_ASK;
        same.then(|| failure.slots.get(CAUSE_SLOT).cloned()).flatten()
    }

    /// The id for what a step asks now: that of the open ask with the same cause, row and answers;
    /// that of the same question of an earlier run that nobody answered; or the next one.
    #[must_use]
    pub fn ask_id_for(
        &self,
        key: &StepKey,
        class: &ClassId,
        kind: &str,
        watch: Option<&str>,
    ) -> String {
        let cause = self.cause_of(key, class, kind);
        let same = |a: &&AskState| {
            a.cause == cause && a.class == *class && a.kind == kind && a.watch.as_deref() == watch
        };
        let joined = self.open_asks().find(|a| cause.is_some() && same(a));
        let unanswered = |a: &&AskState| a.answer.as_deref() == Some(NEW_RUN) && a.holds(key);
        let again = || self.asks.iter().rev().find(|a| unanswered(a) && same(a));
        joined.or_else(again).map_or_else(|| self.next_ask_id(), |a| a.id.to_string())
    }

    fn answer(&mut self, ask: &AskId, answer: &str, at: Timestamp) -> bool {
        let Some(state) = self.asks.iter_mut().find(|a| a.id == *ask) else { return false };
        if state.answer.is_some() {
            // The same answer twice is one answer.
            return true;
        }
        state.answer = Some(answer.to_owned());
        for key in state.step.iter().chain(&state.also) {
            if let Some(step) = self.steps.get_mut(key) {
                step.answered(&state.kind, &state.class, answer, at);
            }
        }
        true
    }

    /// Asks that wait for an answer, oldest first.
    pub fn open_asks(&self) -> impl Iterator<Item = &AskState> {
        self.asks.iter().filter(|a| a.answer.is_none())
    }

    /// The id that the next ask gets.
    #[must_use]
    pub fn next_ask_id(&self) -> String {
        format!("a{}", self.asks_raised.saturating_add(1))
    }

    /// The run that was not stopped by itself, if there is one: it can be resumed.
    #[must_use]
    pub fn open_run(&self) -> Option<&RunState> {
        self.run.as_ref().filter(|r| r.stopped.is_none())
    }

    /// Steps with an intent and no result.
    pub fn open_intents(&self) -> impl Iterator<Item = (&StepKey, &StepState)> {
        self.steps.iter().filter(|(_, s)| s.stage == Stage::Attempting)
    }

    /// The verdict on a phase that follows from the gates of these steps now, the commit step
    /// left out. Pending while a step is undecided.
    #[must_use]
    pub fn verdict_of<'a>(&self, steps: impl IntoIterator<Item = &'a StepKey>) -> PhaseVerdict {
        let mut gates: Vec<Gate> = Vec::new();
        for key in steps.into_iter().filter(|k| k.step.as_str() != COMMIT_STEP) {
            match self.steps.get(key).and_then(StepState::gate) {
                Some(gate) => gates.push(gate),
                None => return PhaseVerdict::Pending,
            }
        }
        PhaseVerdict::of(gates)
    }

    /// Safety class of a step as planned.
    #[must_use]
    pub fn safety(&self, key: &StepKey) -> Option<Safety> {
        self.steps.get(key)?.planned.as_ref().map(|p| p.safety)
    }
}

/// The word of a stop cause.
fn stop_word(cause: &StopCause) -> StopWord {
    crate::event::word(cause).replace(' ', "_")
}
