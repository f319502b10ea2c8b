//! Drives one board: the only owner of its state during a run.
//!
//! The dispatcher decides, appends, and lets futures of [`crate::act`] do the work beside it. It
//! never spins: when nothing can start it waits for a future, and when none runs it is at the
//! end. Every intent is durable before its future starts.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use pcbflow_core::check::{CheckOutcome, CheckResult, Finding, Gate};
use pcbflow_core::event::{
    CatchLayer, CheckPurpose, Decision, Ended, Fact, NewEvent, OutputRef, ReadBack, TAIL_BYTES_MAX,
    Words,
};
use pcbflow_core::evidence::{Evidence, Signal, Source, codes};
use pcbflow_core::ids::{AskId, AttemptNo, Digest, PhaseId, StepKey};
use pcbflow_core::manifest::{PhaseDef, StepDef};
use pcbflow_core::ports::{Observation, StepContext, StepResult};
use pcbflow_core::projection::{Decided, Stage, StepState};
use pcbflow_core::text::head_and_tail;
use tokio::task::JoinSet;

use crate::act::{Done, Job, Outcome, Scratch};
use crate::closure;
use crate::journal::Journal;
use crate::plan;
use crate::setup::{BoardSetup, EngineError, Parts, RunOptions};

/// How often an open ask's condition is looked at, in milliseconds.
const WATCH_MS: u64 = 10_000;

/// Drives the steps of one board.
pub(crate) struct Dispatcher<'a> {
    pub parts: &'a Parts,
    pub setup: &'a BoardSetup,
    pub options: &'a RunOptions,
    pub journal: Journal,
    running: JoinSet<Done>,
    /// Steps with a future under way.
    busy: BTreeSet<StepKey>,
    /// Whose future a task is, for the one that panics.
    tasks: HashMap<tokio::task::Id, StepKey>,
    /// Steps that were looked at in this run, with the digest of their closure.
    looked: BTreeMap<StepKey, Digest>,
    /// Findings of this run, by step.
    pub findings: BTreeMap<StepKey, Vec<Finding>>,
    /// Reasons of this run, by step.
    pub reasons: BTreeMap<StepKey, String>,
    /// Steps that can't run because a need is held.
    pub blocked: Vec<StepKey>,
    waiting_since: Option<pcbflow_core::time::Timestamp>,
    seed: u64,
    scratch_no: u64,
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
            journal,
            running: JoinSet::new(),
            busy: BTreeSet::new(),
            tasks: HashMap::new(),
            looked: BTreeMap::new(),
            findings: BTreeMap::new(),
            reasons: BTreeMap::new(),
            blocked: Vec::new(),
            waiting_since: None,
            seed,
            scratch_no: 0,
        }
    }

    fn cancelled(&self) -> bool {
        self.parts.services.cancel.is_cancelled()
    }

    /// Runs these steps of a phase until each is decided, blocked or waits for the person.
    pub async fn run_steps(&mut self, phase: &PhaseDef) -> Result<(), EngineError> {
        self.plan(phase).await?;
        loop {
            if !self.cancelled() {
                self.start_ready(phase).await?;
                self.start_watches(phase).await?;
            }
            if self.running.is_empty() {
                break;
            }
            match self.running.join_next_with_id().await {
                Some(Ok((id, done))) => {
                    self.tasks.remove(&id);
                    self.busy.remove(&done.key);
                    self.finish(phase, done).await?;
                }
                Some(Err(e)) => self.panicked(phase, &e).await?,
                None => break,
            }
        }
        self.journal.sync().await
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

    async fn start_ready(&mut self, phase: &PhaseDef) -> Result<(), EngineError> {
        // One pass over the steps may free others (a step that is skipped at once), so it is
        // repeated while something changed; each step changes at most a few times per pass.
        let passes_max = phase.steps.len() + 1;
        for _ in 0..passes_max {
            let mut changed = false;
            for step in &phase.steps {
                if self.busy.len() >= self.options.jobs.max(1) {
                    return Ok(());
                }
                let key = plan::key(&phase.id, &step.id);
                if self.busy.contains(&key) || self.blocked.contains(&key) {
                    continue;
                }
                let stage = self.journal.state().steps.get(&key).map(|s| s.stage.clone());
                let decided = matches!(
                    stage,
                    Some(Stage::Done { .. } | Stage::Held { .. } | Stage::Escalated { .. })
                );
                if decided {
                    continue;
                }
                if let Some(need) =
                    plan::blocked_by(phase, step, self.journal.state(), &self.blocked)
                {
                    self.reasons.insert(key.clone(), format!("waits for '{need}'"));
                    self.blocked.push(key);
                    changed = true;
                    continue;
                }
                if plan::needs_met(phase, step, self.journal.state()) {
                    changed |= self.advance(phase, step, &key).await?;
                }
            }
            if !changed {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Takes one step one move further: starts a future or records its end. True when the step
    /// was decided without one.
    async fn advance(
        &mut self,
        phase: &PhaseDef,
        step: &StepDef,
        key: &StepKey,
    ) -> Result<bool, EngineError> {
        let state = self.journal.state().steps.get(key).cloned().unwrap_or_default();
        if state.stage == Stage::Planned && !self.looked.contains_key(key) {
            let job = self.job(phase, step, key)?;
            self.spawn(key, job.look());
            return Ok(false);
        }
        // A decision whose consequence never started is carried out as it was taken.
        match state.decided {
            Some((_, Decided::Attempt { no, deadline_ms, wake, .. }))
                if !matches!(state.stage, Stage::Attempting) =>
            {
                self.attempt(phase, step, key, no, deadline_ms, wake).await?;
                return Ok(false);
            }
            _ => {}
        }
        let decided = self.decide(phase, step, key).await?;
        self.carry_out(phase, step, key, decided).await
    }

    async fn decide(
        &mut self,
        phase: &PhaseDef,
        step: &StepDef,
        key: &StepKey,
    ) -> Result<Decision, EngineError> {
        let seed = self.seed;
        let scope = self.journal.scope(Some(key));
        let clock = Arc::clone(&self.parts.services.clock);
        let board_dir = self.setup.board_dir.clone();
        let digests = Arc::clone(&self.parts.services.digests);
        let (step_id, phase_id) = (step.id.clone(), phase.id.clone());
        let reason = self.reasons.get(key).cloned().unwrap_or_default();
        let looked = self.looked.get(key).copied().unwrap_or_default();
        let decided = self
            .journal
            .decide(key, seed, move |decision, state| {
                let event = |fact, words| NewEvent {
                    at: clock.now(),
                    scope: scope.clone(),
                    actor: pcbflow_core::event::Actor::Engine,
                    fact,
                    words,
                };
                let key = plan::key(&phase_id, &step_id);
                let now = state.steps.get(&key).cloned().unwrap_or_default();
                let following = Following {
                    step: &now,
                    def: step,
                    looked,
                    reason: &reason,
                    commit: state.records.get("commit"),
                    ask_id: state.next_ask_id(),
                };
                following
                    .events(decision, |path| digests.digest(&board_dir.join(path)).ok().flatten())
                    .into_iter()
                    .map(|(fact, words)| event(fact, words))
                    .collect()
            })
            .await?;
        Ok(decided.decision)
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
                self.spawn(key, job.read_back());
                Ok(false)
            }
            Decision::Recover { rung } => {
                let class = self.class_of(key);
                let job = self.action_job(phase, step, key, &class, &rung)?;
                match job {
                    Some(job) => self.spawn(key, job.recover(class, rung)),
                    None => {
                        let fact = Fact::RecoveryFinished {
                            rung,
                            outcome: pcbflow_core::event::RecoveryOutcome::NotApplicable,
                            notes: BTreeMap::new(),
                        };
                        self.put(key, fact, Words::say("no subsystem knows this action"), true)
                            .await?;
                    }
                }
                Ok(false)
            }
            Decision::Probe { probe, .. } => {
                let class = self.class_of(key);
                match self.action_job(phase, step, key, &class, &probe)? {
                    Some(job) => self.spawn(key, job.probe(probe)),
                    None => {
                        let result = CheckResult::could_not_run(&probe, "no subsystem knows it");
                        self.observe(key, &result, CheckPurpose::Recheck, None).await?;
                    }
                }
                Ok(false)
            }
            Decision::Finish { .. }
            | Decision::Ask { .. }
            | Decision::LeaveUnverified
            | Decision::TryLater => Ok(true),
        }
    }

    fn spawn(&mut self, key: &StepKey, work: impl Future<Output = Done> + Send + 'static) {
        self.busy.insert(key.clone());
        let task = self.running.spawn(work);
        self.tasks.insert(task.id(), key.clone());
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
        wake: pcbflow_core::time::Timestamp,
    ) -> Result<(), EngineError> {
        if wake > self.parts.services.clock.now() {
            let job = self.job(phase, step, key)?;
            self.spawn(key, job.wait(wake));
            return Ok(());
        }
        let mut job = self.job_with_scratch(phase, step, key)?;
        let tag = self.tag(key, no);
        let safety =
            self.journal.state().safety(key).unwrap_or(pcbflow_core::manifest::Safety::Once);
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
        self.spawn(key, job.attempt());
        Ok(())
    }

    fn tag(&self, key: &StepKey, no: AttemptNo) -> String {
        let run = self.options.run.to_string();
        let what = format!("{}/{}/{key}/{no}/{run}", self.parts.ledger.id(), self.setup.board());
        format!("pf-{}-{no}", Digest::of(what.as_bytes()).short())
    }

    /// Records what a future brought.
    async fn finish(&mut self, phase: &PhaseDef, done: Done) -> Result<(), EngineError> {
        let key = done.key;
        match done.outcome {
            // The next pass over the steps starts the attempt, or sees that all is to stop.
            Outcome::Woke => Ok(()),
            Outcome::Looked(result) => self.looked(phase, &key, result).await,
            Outcome::Attempted(observation, closure, took) => {
                self.attempted(&key, *observation, closure, took).await
            }
            Outcome::ReadBack(found) => {
                let words = Words::say(match found {
                    ReadBack::Landed => "the effect is there",
                    ReadBack::Absent => "nothing of the effect is there",
                    ReadBack::Partial => "part of the effect is there",
                    ReadBack::Unclear => "it can't be told",
                });
                self.put(&key, Fact::EffectReadBack { found }, words, true).await
            }
            Outcome::Acted(rung, recovery) => {
                let words = Words { summary: recovery.summary, ..Words::default() };
                let fact = Fact::RecoveryFinished {
                    rung,
                    outcome: recovery.outcome,
                    notes: recovery.notes,
                };
                self.put(&key, fact, words, true).await
            }
            Outcome::Probed(result) => {
                self.observe(&key, &result, CheckPurpose::Recheck, None).await
            }
            Outcome::Watched(result) => self.watched(&key, &result).await,
        }
    }

    /// Decides whether a step is up to date.
    async fn looked(
        &mut self,
        phase: &PhaseDef,
        key: &StepKey,
        result: Result<Digest, Box<Evidence>>,
    ) -> Result<(), EngineError> {
        self.looked.insert(key.clone(), *result.as_ref().unwrap_or(&Digest::ZERO));
        let Some(step) = phase.steps.iter().find(|s| s.id == key.step) else { return Ok(()) };
        let Ok(now) = result else { return Ok(()) };
        let state = self.journal.state().steps.get(key).cloned().unwrap_or_default();
        let Some(pass) = state.pass.filter(|_| !self.options.force) else { return Ok(()) };
        if !closure::same_inputs(&pass, step.digest(), now) {
            return Ok(());
        }
        let digests = &self.parts.services.digests;
        let hold = closure::outputs_hold(&pass.outputs, &self.setup.board_dir, digests.as_ref());
        if hold.unwrap_or(false) {
            let fact = Fact::StepSkipped { since: pass.seq, gate: pass.gate };
            let scope = self.journal.scope(Some(key));
            let mut events =
                vec![self.journal.event(scope.clone(), fact, Words::say("up to date"))];
            let known = self.journal.state().phases.get(&phase.id);
            let commit = known.filter(|p| p.commit.is_none()).and_then(|p| p.last_commit.clone());
            if let Some(commit) = commit.filter(|_| is_commit(key)) {
                let fact = Fact::OutputsCommitted { commit };
                events.push(self.journal.event(scope, fact, Words::default()));
            }
            self.journal.put(events, false).await?;
        }
        Ok(())
    }

    async fn attempted(
        &mut self,
        key: &StepKey,
        observation: Observation,
        closure: Digest,
        took_ms: u64,
    ) -> Result<(), EngineError> {
        let stopped = self.cancelled() && !matches!(observation.result, StepResult::Checked(_));
        let ended = if stopped { Ended::Stopped } else { observation.ended };
        let attempt = self.journal.state().steps.get(key).map(|s| s.last_attempt);
        let mut scope = self.journal.scope(Some(key));
        scope.attempt = attempt;
        let mut blobs = observation.blobs.clone();
        blobs.extend(observation.stdout.blob.clone());
        blobs.extend(observation.stderr.blob.clone());
        let finished = Fact::AttemptFinished {
            ended,
            exit: observation.exit,
            signal: observation.signal,
            took_ms,
            tool: observation.tool.clone(),
            closure,
            outputs: observation.outputs.clone(),
            blobs,
            records: observation.records.clone(),
        };
        let words = Words {
            summary: observation.summary.clone(),
            argv: observation.argv.clone(),
            stdout_tail: head_and_tail(&observation.stdout.text, TAIL_BYTES_MAX),
            stderr_tail: head_and_tail(&observation.stderr.text, TAIL_BYTES_MAX),
            ..Words::default()
        };
        let finished = self.journal.event(scope, finished, words);
        if stopped {
            return self.journal.put(vec![finished], true).await;
        }
        match observation.result {
            StepResult::Checked(check) => {
                // The result and its check stand in one transaction.
                let free = self
                    .journal
                    .state()
                    .safety(key)
                    .is_some_and(pcbflow_core::manifest::Safety::freely_repeated);
                self.journal.put(vec![finished], false).await?;
                self.observe(key, &check, CheckPurpose::Step, Some(!free)).await
            }
            StepResult::Failed(evidence) => {
                let mut events = vec![finished];
                events.extend(self.diagnosed(key, &evidence, CatchLayer::Step));
                self.journal.put(events, true).await
            }
        }
    }

    /// The events of a failure: diagnosis, catch, and the lesson of a rung that did not help.
    pub fn diagnosed(
        &mut self,
        key: &StepKey,
        evidence: &Evidence,
        layer: CatchLayer,
    ) -> Vec<NewEvent> {
        let diagnosis = self.parts.policy.catalogue.diagnose(evidence);
        let retry_after_ms = evidence
            .signals
            .iter()
            .find(|s| s.code == codes::RETRY_AFTER)
            .and_then(|s| s.number)
            .and_then(|seconds| u64::try_from(seconds).ok())
            .map(|seconds| seconds.saturating_mul(1000));
        let scope = self.journal.scope(Some(key));
        let mut events = Vec::new();
        let state = self.journal.state().steps.get(key);
        if let Some(old) = state.filter(|s| s.has_open_failure()).and_then(|s| s.failure.as_ref())
            && old.fingerprint == diagnosis.fingerprint
            && let Some(tried) = old.tried.last()
        {
            let fact = Fact::LessonLearned {
                fingerprint: old.fingerprint,
                class: old.class.clone(),
                rung: tried.rung.clone(),
                worked: false,
            };
            events.push(self.journal.event(scope.clone(), fact, Words::default()));
        }
        let mut words = Words::say(format!("{} by {}", diagnosis.class, diagnosis.rule));
        words.signals.clone_from(&evidence.signals);
        if !diagnosis.hint.is_empty() {
            words.more.insert("hint".to_owned(), diagnosis.hint.clone());
        }
        let mut slots = evidence.slots.clone();
        slots.entry("step".to_owned()).or_insert_with(|| key.step.to_string());
        if !evidence.tool.is_empty() {
            slots.entry("tool".to_owned()).or_insert_with(|| evidence.tool.clone());
        }
        self.reasons.insert(key.clone(), first_words(evidence));
        let catch = Fact::CatchRecorded {
            layer,
            class: diagnosis.class.clone(),
            fingerprint: diagnosis.fingerprint,
        };
        let failure = Fact::FailureDiagnosed {
            class: diagnosis.class,
            known: diagnosis.known,
            confidence: diagnosis.confidence,
            trust: diagnosis.trust,
            fingerprint: diagnosis.fingerprint,
            retry_after_ms,
            allow: diagnosis.allow,
            slots,
        };
        events.push(self.journal.event(scope.clone(), failure, words));
        events.push(self.journal.event(scope, catch, Words::default()));
        events
    }

    async fn observe(
        &mut self,
        key: &StepKey,
        result: &CheckResult,
        purpose: CheckPurpose,
        sync: Option<bool>,
    ) -> Result<(), EngineError> {
        let mut findings = None;
        if !result.findings.is_empty() {
            let bytes = serde_json::to_vec(&result.findings).unwrap_or_default();
            let blobs = Arc::clone(&self.parts.services.blobs);
            let blob = crate::journal::blocking(move || blobs.put("findings.json", &bytes)).await?;
            findings = Some(blob.digest);
        }
        if purpose == CheckPurpose::Step {
            self.findings.insert(key.clone(), result.findings.clone());
            if !result.reason.is_empty() {
                self.reasons.insert(key.clone(), result.reason.clone());
            }
        }
        let fact = Fact::CheckObserved {
            check: result.name.clone(),
            purpose,
            outcome: result.outcome,
            gate: result.gate(),
            counts: result.counts,
            findings,
        };
        self.put(key, fact, Words::say(result.reason.clone()), sync.unwrap_or(true)).await
    }

    async fn put(
        &mut self,
        key: &StepKey,
        fact: Fact,
        words: Words,
        sync: bool,
    ) -> Result<(), EngineError> {
        let event = self.journal.event(self.journal.scope(Some(key)), fact, words);
        self.journal.put(vec![event], sync).await
    }

    /// A future panicked: a fault of ours, recorded as evidence of the step that ran.
    async fn panicked(
        &mut self,
        phase: &PhaseDef,
        error: &tokio::task::JoinError,
    ) -> Result<(), EngineError> {
        let Some(key) = self.tasks.remove(&error.id()) else { return Ok(()) };
        self.busy.remove(&key);
        let Some(step) = phase.steps.iter().find(|s| s.id == key.step) else { return Ok(()) };
        let mut evidence = Evidence::new(step.uses.as_str(), "pcbflow");
        evidence
            .push(Signal::new(Source::Report, codes::EXCEPTION).text(&format!("panic: {error}")));
        if self.journal.state().steps.get(&key).map(|s| &s.stage) == Some(&Stage::Attempting) {
            let observation = Observation::of(StepResult::Failed(evidence));
            return self.attempted(&key, observation, Digest::ZERO, 0).await;
        }
        let events = self.diagnosed(&key, &evidence, CatchLayer::Step);
        self.journal.put(events, true).await
    }

    /// Starts looking at the conditions of open asks, if the run may wait for them.
    async fn start_watches(&mut self, phase: &PhaseDef) -> Result<(), EngineError> {
        if self.options.wait_ms_max == 0 {
            return Ok(());
        }
        let now = self.parts.services.clock.now();
        let open: Vec<_> = self
            .journal
            .state()
            .open_asks()
            .filter_map(|a| a.step.clone().map(|s| (s, a.class.to_string(), a.watch.clone())))
            .filter(|(key, ..)| key.phase == phase.id && !self.busy.contains(key))
            .collect();
        if open.is_empty() {
            self.waiting_since = None;
            return Ok(());
        }
        let since = *self.waiting_since.get_or_insert(now);
        if now.ms_since(since) >= self.options.wait_ms_max {
            return Ok(());
        }
        for (key, class, watch) in open {
            let Some(step) = phase.steps.iter().find(|s| s.id == key.step) else { continue };
            let probe = watch.clone().unwrap_or_default();
            let job = match self.action_job(phase, step, &key, &class, &probe)? {
                Some(job) => job,
                None => self.job(phase, step, &key)?,
            };
            self.spawn(&key, job.watch(watch, now.plus_ms(WATCH_MS)));
        }
        Ok(())
    }

    async fn watched(&mut self, key: &StepKey, result: &CheckResult) -> Result<(), EngineError> {
        // Somebody may have answered from another process meanwhile.
        self.journal.refresh().await?;
        if result.outcome != CheckOutcome::Pass {
            return Ok(());
        }
        let open: Vec<AskId> = self
            .journal
            .state()
            .open_asks()
            .filter(|a| a.step.as_ref() == Some(key))
            .map(|a| a.id.clone())
            .collect();
        self.observe(key, result, CheckPurpose::Watch, None).await?;
        for ask in open {
            let fact = Fact::AskAnswered { ask, answer: "seen".to_owned() };
            self.put(key, fact, Words::say("pcbflow saw that it was done"), true).await?;
        }
        Ok(())
    }

    pub fn job(
        &mut self,
        phase: &PhaseDef,
        step: &StepDef,
        key: &StepKey,
    ) -> Result<Job, EngineError> {
        let context = self.context(phase, step, PathBuf::new());
        let subsystem = self.parts.of_kind(&step.uses).ok_or_else(|| {
            // The manifest was validated against the kinds before the run.
            EngineError::Ledger(pcbflow_core::ports::LedgerError::Refused {
                why: format!("no subsystem for {}", step.uses),
            })
        })?;
        Ok(Job {
            key: key.clone(),
            context,
            subsystem,
            services: self.parts.services.clone(),
            scratch: None,
        })
    }

    /// The same with a fresh private folder, which goes when the job is done.
    fn job_with_scratch(
        &mut self,
        phase: &PhaseDef,
        step: &StepDef,
        key: &StepKey,
    ) -> Result<Job, EngineError> {
        let mut job = self.job(phase, step, key)?;
        let scratch = self.scratch()?;
        job.context.scratch.clone_from(&scratch);
        job.scratch = Some(Arc::new(Scratch(scratch)));
        Ok(job)
    }

    fn action_job(
        &mut self,
        phase: &PhaseDef,
        step: &StepDef,
        key: &StepKey,
        class: &str,
        action: &str,
    ) -> Result<Option<Job>, EngineError> {
        let Some(subsystem) = self.parts.of_action(&step.uses, class, action) else {
            return Ok(None);
        };
        let job = self.job_with_scratch(phase, step, key)?;
        Ok(Some(Job { subsystem, ..job }))
    }

    fn scratch(&mut self) -> Result<PathBuf, EngineError> {
        self.scratch_no += 1;
        let dir = self.setup.state_dir.join("tmp").join(format!(
            "{}-{}-{}",
            self.setup.board(),
            self.parts.owner.pid,
            self.scratch_no
        ));
        let make = || -> std::io::Result<()> {
            if dir.exists() {
                std::fs::remove_dir_all(&dir)?;
            }
            std::fs::create_dir_all(&dir)
        };
        make().map_err(|e| EngineError::Scratch { path: dir.clone(), message: e.to_string() })?;
        Ok(dir)
    }

    fn context(&self, phase: &PhaseDef, step: &StepDef, scratch: PathBuf) -> StepContext {
        let key = plan::key(&phase.id, &step.id);
        let state = self.journal.state();
        let known = state.steps.get(&key).cloned().unwrap_or_default();
        let phase_outputs: Vec<OutputRef> = phase_outputs(state, &phase.id);
        let mut notes = known.notes;
        if let Some(failure) = &known.failure {
            notes.insert("class".to_owned(), failure.class.to_string());
            for (slot, value) in &failure.slots {
                notes.insert(format!("slot:{slot}"), value.clone());
            }
        }
        StepContext {
            board: self.setup.board().clone(),
            key,
            step: step.clone(),
            workspace: self.setup.workspace.clone(),
            board_dir: self.setup.board_dir.clone(),
            root: self.setup.root.clone(),
            state_dir: self.setup.state_dir.clone(),
            scratch,
            attempt: known.last_attempt,
            tag: known.last_tag,
            deadline_ms: known.planned.map_or(60_000, |p| p.deadline_ms),
            notes,
            records: state.records.clone(),
            head: self.journal.head().map(|h| (self.journal.ledger().id(), h)),
            status: crate::status::status(
                self.setup,
                state,
                (step.id.as_str() == pcbflow_core::manifest::COMMIT_STEP).then_some(&phase.id),
            ),
            phase_outputs,
            run: self.options.run.to_string(),
        }
    }
}

/// Outputs of the passed steps of a phase, the commit left out.
fn phase_outputs(state: &pcbflow_core::projection::BoardState, phase: &PhaseId) -> Vec<OutputRef> {
    let mut outputs: Vec<OutputRef> = state
        .steps
        .iter()
        .filter(|(k, s)| k.phase == *phase && matches!(s.stage, Stage::Done { .. }))
        .filter(|(k, _)| k.step.as_str() != pcbflow_core::manifest::COMMIT_STEP)
        .flat_map(|(_, s)| s.pass.iter().flat_map(|p| p.outputs.clone()))
        .collect();
    outputs.sort();
    outputs.dedup();
    outputs
}

fn first_words(evidence: &Evidence) -> String {
    evidence
        .signals
        .iter()
        .find(|s| !s.text.is_empty())
        .map_or_else(String::new, |s| pcbflow_core::text::one_line(&s.text))
}

fn is_commit(key: &StepKey) -> bool {
    key.step.as_str() == pcbflow_core::manifest::COMMIT_STEP
}

/// What the events that belong to a decision, and stand in its transaction, are made of.
struct Following<'a> {
    step: &'a StepState,
    def: &'a StepDef,
    /// Closure at the look of this run.
    looked: Digest,
    reason: &'a str,
    /// The last commit that a commit step made.
    commit: Option<&'a String>,
    ask_id: String,
}

impl Following<'_> {
    fn events(
        &self,
        decision: &Decision,
        digest: impl Fn(&str) -> Option<(Digest, u64)>,
    ) -> Vec<(Fact, Words)> {
        let class = self.step.failure.as_ref().map(|f| f.class.clone());
        let reason = || Words::say(self.reason);
        match decision {
            Decision::Recover { rung } => class
                .map(|class| {
                    (Fact::RecoveryStarted { rung: rung.clone(), class }, Words::default())
                })
                .into_iter()
                .collect(),
            Decision::Finish { gate } if gate.advances() => self.passed(*gate, digest),
            Decision::Finish { gate } => vec![(Fact::StepHeld { gate: *gate }, reason())],
            Decision::LeaveUnverified => vec![(Fact::StepHeld { gate: Gate::Blocked }, reason())],
            Decision::TryLater => class
                .map(|class| (Fact::StepEscalated { class, try_later: true }, reason()))
                .into_iter()
                .collect(),
            Decision::Ask { class, kind, tool, watch } => {
                let Ok(ask) = AskId::new(self.ask_id.clone()) else { return Vec::new() };
                let raised = Fact::AskRaised {
                    ask,
                    class: class.clone(),
                    kind: kind.clone(),
                    tool: tool.clone(),
                    watch: watch.clone(),
                };
                let escalated = Fact::StepEscalated { class: class.clone(), try_later: false };
                vec![(escalated, reason()), (raised, reason())]
            }
            Decision::Attempt { .. } | Decision::ReadBack { .. } | Decision::Probe { .. } => {
                Vec::new()
            }
        }
    }

    fn passed(
        &self,
        gate: Gate,
        digest: impl Fn(&str) -> Option<(Digest, u64)>,
    ) -> Vec<(Fact, Words)> {
        let step = self.step;
        let read_back = matches!(step.stage, Stage::ReadBack { .. });
        let outputs = if read_back {
            // Nothing ran now: what the definition names is what is there.
            let there = |path: &String| {
                digest(path).map(|(digest, bytes)| OutputRef { path: path.clone(), digest, bytes })
            };
            self.def.outputs.iter().filter_map(there).collect()
        } else {
            step.last_outputs.clone()
        };
        let mut facts = self.healed();
        let closure = if read_back { self.looked } else { step.last_closure };
        let definition = self.def.digest();
        facts.push(Fact::StepPassed { gate, definition, closure, outputs });
        if self.def.id.as_str() == pcbflow_core::manifest::COMMIT_STEP
            && let Some(commit) = self.commit
        {
            facts.push(Fact::OutputsCommitted { commit: commit.clone() });
        }
        facts.into_iter().map(|f| (f, Words::default())).collect()
    }

    fn healed(&self) -> Vec<Fact> {
        let step = self.step;
        let Some(failure) = step.failure.as_ref().filter(|_| step.has_open_failure()) else {
            return Vec::new();
        };
        let rung = failure.tried.last().map_or_else(|| "read-back".to_owned(), |t| t.rung.clone());
        vec![
            Fact::StepRecovered {
                class: failure.class.clone(),
                rung: rung.clone(),
                attempts: step.seen.get(&failure.fingerprint).map_or(1, |s| s.attempts),
                proof: step.last_check.unwrap_or(failure.seq),
            },
            Fact::LessonLearned {
                fingerprint: failure.fingerprint,
                class: failure.class.clone(),
                rung,
                worked: true,
            },
        ]
    }
}
