//! Drives one board: the only owner of its state during a run.
//!
//! The dispatcher decides, appends, and lets futures of [`crate::act`] do the work beside it. It
//! never spins: when nothing can start it waits for a future, and when none runs it is at the
//! end. Every intent is durable before its future starts. What a future brought is recorded in
//! [`crate::record`], open asks are watched in [`crate::watch`].

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use pcbflow_core::check::{CheckResult, Finding};
use pcbflow_core::event::{CheckPurpose, Decision, Fact, ReadBack, RecoveryOutcome, Words};
use pcbflow_core::ids::{AskId, AttemptNo, Digest, Seq, StepId, StepKey};
use pcbflow_core::manifest::{COMMIT_STEP, PhaseDef, Safety, StepDef};
use pcbflow_core::policy::WAIT_MS_MAX;
use pcbflow_core::projection::{Decided, Stage};
use pcbflow_core::time::Timestamp;
use tokio::task::JoinSet;

use crate::act::Done;
use crate::journal::Journal;
use crate::plan;
use crate::setup::{BoardSetup, EngineError, Parts, RunOptions};
use crate::shared::Shared;

/// Most passes over a phase's steps between two waits. Each pass but the last appends an event,
/// and every ladder ends, so this is never reached; it only keeps a fault of ours from spinning.
const PASSES_MAX: usize = 100_000;

/// How long a result may wait for the next intent's transaction, in milliseconds.
const FLUSH_MS: u64 = 200;

/// How a future of the set ended.
type Ended = Result<(tokio::task::Id, Done), tokio::task::JoinError>;

/// What a future does, for the slots it takes and for the one that panics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    /// Waits for the wake time of an attempt.
    Wait,
    /// Takes the closure.
    Look,
    /// Makes an attempt.
    Attempt,
    /// Reads back.
    ReadBack,
    /// Carries out this rung's action.
    Recover(String),
    /// Runs this probe.
    Probe(String),
    /// Watches an ask.
    Watch,
}

impl What {
    /// Whether it is work that counts against `jobs`.
    fn takes_slot(&self) -> bool {
        !matches!(self, What::Wait | What::Watch)
    }
}

/// Drives the steps of one board.
pub(crate) struct Dispatcher<'a> {
    pub parts: &'a Parts,
    pub setup: &'a BoardSetup,
    pub options: &'a RunOptions,
    pub journal: Journal,
    pub(crate) running: JoinSet<Done>,
    /// What each future does, and for which step.
    pub(crate) tasks: HashMap<tokio::task::Id, (StepKey, What)>,
    /// Steps with a future under way, watches left out.
    pub(crate) busy: BTreeSet<StepKey>,
    /// Steps whose ask is watched.
    pub(crate) watching: BTreeSet<StepKey>,
    /// Asks whose condition was looked at once.
    pub(crate) asks_looked: BTreeSet<AskId>,
    /// Position of the last event before this process began.
    pub(crate) asked_before: Option<Seq>,
    /// Steps whose wait is over, whatever the clock says by now.
    pub(crate) woke: BTreeSet<StepKey>,
    /// Steps that were looked at by this process, with the digest of their closure.
    pub(crate) looked: BTreeMap<StepKey, Digest>,
    /// The run was started by an earlier process: what it decided is looked at again.
    pub resumed: bool,
    /// Steps that could not be verified or were left for later are tried again.
    pub retry_held: bool,
    /// Findings of this run, by step.
    pub findings: BTreeMap<StepKey, Vec<Finding>>,
    /// Reasons of this run, by step.
    pub reasons: BTreeMap<StepKey, String>,
    /// Steps that can't be proven in a look at checks only, each with the step that has to run first.
    pub unmet: BTreeMap<StepKey, StepId>,
    /// What other boards learned.
    pub shared: Shared,
    pub(crate) waiting_since: Option<Timestamp>,
    pub(crate) seed: u64,
    pub(crate) scratch_no: u64,
}

impl<'a> Dispatcher<'a> {
    pub fn new(
        parts: &'a Parts,
        setup: &'a BoardSetup,
        options: &'a RunOptions,
        journal: Journal,
        seed: u64,
    ) -> Dispatcher<'a> {
        Dispatcher {
            parts,
            setup,
            options,
            asked_before: journal.head().map(|h| h.seq),
            journal,
            running: JoinSet::new(),
            tasks: HashMap::new(),
            busy: BTreeSet::new(),
            watching: BTreeSet::new(),
            asks_looked: BTreeSet::new(),
            woke: BTreeSet::new(),
            looked: BTreeMap::new(),
            resumed: false,
            retry_held: false,
            findings: BTreeMap::new(),
            reasons: BTreeMap::new(),
            unmet: BTreeMap::new(),
            shared: Shared::default(),
            waiting_since: None,
            seed,
            scratch_no: 0,
        }
    }

    pub(crate) fn cancelled(&self) -> bool {
        self.parts.services.cancel.is_cancelled()
    }

    pub(crate) fn stage(&self, key: &StepKey) -> Stage {
        self.journal.state().steps.get(key).map(|s| s.stage.clone()).unwrap_or_default()
    }

    /// Runs these steps of a phase until each is decided, blocked or waits for the person.
    pub async fn run_steps(&mut self, phase: &PhaseDef) -> Result<(), EngineError> {
        self.plan(phase).await?;
        loop {
            for _ in 0..PASSES_MAX {
                if self.cancelled() || !self.start_ready(phase).await? {
                    break;
                }
            }
            if !self.cancelled() {
                self.start_watches(phase).await?;
            }
            match self.next_done().await? {
                Some(Ok((id, done))) => {
                    self.forget(id);
                    self.finish(phase, done).await?;
                }
                Some(Err(e)) => self.panicked(phase, &e).await?,
                None => break,
            }
        }
        self.journal.sync().await
    }

    /// Waits for the next future. What waits for the next transaction is not kept back while a
    /// long one runs: it would be lost for longer, and nobody would see it.
    async fn next_done(&mut self) -> Result<Option<Ended>, EngineError> {
        if self.journal.has_waiting() && !self.running.is_empty() {
            let soon = tokio::time::sleep(Duration::from_millis(FLUSH_MS));
            tokio::select! {
                biased;
                done = self.running.join_next_with_id() => return Ok(done),
                () = soon => self.journal.sync().await?,
            }
        }
        Ok(self.running.join_next_with_id().await)
    }

    /// A future is gone: which step it was for, and what it did.
    pub(crate) fn forget(&mut self, id: tokio::task::Id) -> Option<(StepKey, What)> {
        let (key, what) = self.tasks.remove(&id)?;
        let list = if what == What::Watch { &mut self.watching } else { &mut self.busy };
        list.remove(&key);
        Some((key, what))
    }

    async fn plan(&mut self, phase: &PhaseDef) -> Result<(), EngineError> {
        let mut events = Vec::new();
        for step in &phase.steps {
            let key = plan::key(&phase.id, &step.id);
            let Some(kind) = self.parts.kind(&step.uses) else { continue };
            let safety = step.safety.unwrap_or(kind.safety).max(kind.safety);
            let definition = step.digest();
            let context = self.context(phase, step, PathBuf::new());
            let deadline_ms = step.timeout_ms.unwrap_or_else(|| {
                self.parts.of_kind(&step.uses).map_or(kind.timeout_ms, |s| s.deadline_ms(&context))
            });
            let planned = self.journal.state().steps.get(&key).and_then(|s| s.planned.as_ref());
            let same = planned.is_some_and(|p| {
                p.definition == definition && p.deadline_ms == deadline_ms && p.safety == safety
            });
            if !same {
                let fact =
                    Fact::StepPlanned { uses: step.uses.clone(), safety, definition, deadline_ms };
                events.push(self.journal.event(
                    self.journal.scope(Some(&key)),
                    fact,
                    Words::default(),
                ));
            }
        }
        self.journal.put(events, false).await
    }

    /// One pass over the steps: starts what can start. True when something was recorded that may
    /// let more start, so that another pass is due.
    async fn start_ready(&mut self, phase: &PhaseDef) -> Result<bool, EngineError> {
        let mut changed = false;
        let blocked = plan::blocked(phase, self.journal.state());
        for step in &phase.steps {
            let slots = self.tasks.values().filter(|(_, what)| what.takes_slot()).count();
            if slots >= self.options.jobs.max(1) {
                return Ok(changed);
            }
            let key = plan::key(&phase.id, &step.id);
            if self.busy.contains(&key) || !self.is_due(&key) {
                continue;
            }
            if self.unmet.contains_key(&key) {
                continue;
            }
            if let Some(need) = blocked.get(&step.id) {
                self.reasons.insert(key, format!("waits for '{need}'"));
                continue;
            }
            // A need from before a resume counts once it was looked at again.
            let looked =
                step.needs.iter().all(|n| self.looked.contains_key(&plan::key(&phase.id, n)));
            if looked && plan::needs_met(phase, step, self.journal.state()) {
                changed |= self.advance(phase, step, &key).await?;
            }
        }
        Ok(changed)
    }

    /// Whether there is anything to do for a step: it is not decided, or was decided by an earlier
    /// process and not looked at since.
    fn is_due(&self, key: &StepKey) -> bool {
        match self.stage(key) {
            Stage::Escalated { try_later: false } => false,
            Stage::Done { .. } | Stage::Held { .. } | Stage::Escalated { .. } => {
                self.resumed && !self.looked.contains_key(key)
            }
            _ => true,
        }
    }

    /// Takes one step one move further: starts a future or records what needs none. True when
    /// something was recorded and no future was started.
    async fn advance(
        &mut self,
        phase: &PhaseDef,
        step: &StepDef,
        key: &StepKey,
    ) -> Result<bool, EngineError> {
        if !self.looked.contains_key(key) {
            let job = self.job(phase, step, key)?;
            self.spawn(key, What::Look, job.look());
            return Ok(false);
        }
        let state = self.journal.state().steps.get(key).cloned().unwrap_or_default();
        // A decision whose consequence never started is carried out as it was taken.
        if let Some((_, Decided::Attempt { no, deadline_ms, wake, .. })) = state.decided
            && state.stage != Stage::Attempting
        {
            self.attempt(phase, step, key, no, deadline_ms, wake).await?;
            return Ok(false);
        }
        let decided = self.decide(phase, step, key).await?;
        self.carry_out(phase, step, key, decided).await
    }

    async fn carry_out(
        &mut self,
        phase: &PhaseDef,
        step: &StepDef,
        key: &StepKey,
        decision: Decision,
    ) -> Result<bool, EngineError> {
        match decision {
            Decision::Attempt { no, deadline_ms, wake, .. } => {
                self.attempt(phase, step, key, no, deadline_ms, wake).await?;
                Ok(false)
            }
            Decision::ReadBack { .. } => {
                let job = self.job_with_scratch(phase, step, key)?;
                self.spawn(key, What::ReadBack, job.read_back());
                Ok(false)
            }
            Decision::Recover { rung } => {
                let class = self.class_of(key);
                if let Some(job) = self.action_job(phase, step, key, &class, &rung)? {
                    self.spawn(key, What::Recover(rung.clone()), job.recover(class, rung));
                    return Ok(false);
                }
                self.acted_without(key, rung, RecoveryOutcome::NotApplicable, NOBODY).await?;
                Ok(true)
            }
            Decision::Probe { probe, .. } => {
                let class = self.class_of(key);
                if let Some(job) = self.action_job(phase, step, key, &class, &probe)? {
                    self.spawn(key, What::Probe(probe.clone()), job.probe(probe));
                    return Ok(false);
                }
                let result = CheckResult::could_not_run(&probe, NOBODY);
                self.observe(key, &result, CheckPurpose::Recheck, None).await?;
                Ok(true)
            }
            Decision::Finish { .. }
            | Decision::Ask { .. }
            | Decision::LeaveUnverified
            | Decision::TryLater => Ok(true),
        }
    }

    /// Records the end of an action that no subsystem reported.
    pub(crate) async fn acted_without(
        &mut self,
        key: &StepKey,
        rung: String,
        outcome: RecoveryOutcome,
        why: &str,
    ) -> Result<(), EngineError> {
        let fact = Fact::RecoveryFinished { rung, outcome, notes: BTreeMap::new() };
        self.put(key, fact, Words::say(why), true).await
    }

    pub(crate) fn spawn(
        &mut self,
        key: &StepKey,
        what: What,
        work: impl Future<Output = Done> + Send + 'static,
    ) {
        let list = if what == What::Watch { &mut self.watching } else { &mut self.busy };
        list.insert(key.clone());
        let task = self.running.spawn(work);
        self.tasks.insert(task.id(), (key.clone(), what));
    }

    fn class_of(&self, key: &StepKey) -> String {
        self.journal
            .state()
            .steps
            .get(key)
            .and_then(|s| s.failure.as_ref())
            .map_or_else(String::new, |f| f.class.to_string())
    }

    /// Waits for the wake time or records the intent and starts the attempt.
    async fn attempt(
        &mut self,
        phase: &PhaseDef,
        step: &StepDef,
        key: &StepKey,
        no: AttemptNo,
        deadline_ms: u64,
        wake: Timestamp,
    ) -> Result<(), EngineError> {
        let now = self.parts.services.clock.now();
        if wake > now && !self.woke.contains(key) {
            let job = self.job(phase, step, key)?;
            // No wait is longer than the longest one that can be drawn: the clock went back.
            let wake = wake.min(now.plus_ms(WAIT_MS_MAX));
            self.spawn(key, What::Wait, job.wait(wake));
            return Ok(());
        }
        self.woke.remove(key);
        let mut job = self.job_with_scratch(phase, step, key)?;
        let tag = self.tag(key, no);
        let safety = self.journal.state().safety(key).unwrap_or(Safety::Once);
        let mut scope = self.journal.scope(Some(key));
        scope.attempt = Some(no);
        let fact =
            Fact::AttemptStarted { what: step.digest(), safety, deadline_ms, tag: tag.clone() };
        let words = Words::say(format!("{} of step '{}'", step.uses, step.id));
        let event = self.journal.event(scope, fact, words);
        self.journal.put(vec![event], true).await?;
        job.context.attempt = no;
        job.context.deadline_ms = deadline_ms;
        job.context.tag = tag;
        job.context.head = self.journal.head().map(|h| (self.journal.ledger().id(), h));
        self.parts.services.progress.doing(key, "started");
        self.spawn(key, What::Attempt, job.attempt());
        Ok(())
    }
}

/// Why an action or probe could not be carried out.
const NOBODY: &str = "no subsystem knows it";

/// Whether this is the step that pcbflow adds to a phase.
pub(crate) fn is_commit(key: &StepKey) -> bool {
    key.step.as_str() == COMMIT_STEP
}

/// What a read-back found, as it is recorded. A commit that is there is taken as partial: the
/// attempt that follows makes no second one and records its id.
pub(crate) fn found_for(key: &StepKey, found: ReadBack) -> ReadBack {
    if is_commit(key) && found == ReadBack::Landed { ReadBack::Partial } else { found }
}
