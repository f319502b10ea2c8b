//! One run of one board, from the claim to the stop.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pcbflow_core::check::{Counts, Gate, PhaseVerdict};
use pcbflow_core::event::{CatchLayer, Ended, Fact, StopCause, Words};
use pcbflow_core::evidence::{Evidence, Signal, Source, codes};
use pcbflow_core::exit::{Exit, Verdict};
use pcbflow_core::ids::{Digest, StepId, StepKey};
use pcbflow_core::manifest::{COMMIT_STEP, CheckSpec, PhaseDef, StepDef};
use pcbflow_core::projection::{BoardState, PhaseState, RunState, Stage};
use tokio::sync::Mutex;

use crate::act::Outcome;
use crate::claim::Claim;
use crate::closure;
use crate::dispatcher::Dispatcher;
use crate::journal::Journal;
use crate::plan;
use crate::setup::{BoardSetup, EngineError, Parts, RunOptions, RunReport, StepReport};
use crate::status;

/// How often the claim's heartbeat is written, in milliseconds.
const HEARTBEAT_MS: u64 = 10_000;

/// Stop words of runs that are gone on with instead of a new one being started.
const RESUMABLE: [&str; 3] = ["interrupted", "terminated", "storage"];

/// Runs a board to its next stop.
///
/// # Errors
/// [`EngineError`]: busy, storage, the claim. Failures of steps are no errors: they are in the
/// report and in the ledger.
pub async fn run_board(
    parts: &Parts,
    setup: &BoardSetup,
    options: &RunOptions,
) -> Result<RunReport, EngineError> {
    if let Some(to) = &options.to
        && !setup.manifest.phases.iter().any(|p| p.id == *to)
    {
        return Err(EngineError::NoPhase(to.clone()));
    }
    let now = parts.services.clock.now();
    let claim = Claim::take(&setup.state_dir, setup.board(), &parts.owner, now)?;
    let beat = heartbeat(claim, Arc::clone(&parts.services.clock));
    let result = claimed(parts, setup, options).await;
    // The task owns the claim; it is released when the task is gone.
    beat.abort();
    match beat.await {
        Ok(()) => {}
        Err(e) if e.is_cancelled() => {}
        Err(e) => tracing::warn!("the heartbeat of the claim ended early: {e}"),
    }
    result
}

fn heartbeat(
    claim: Claim,
    clock: Arc<dyn pcbflow_core::ports::Clock>,
) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        let claim = Mutex::new(claim);
        // Ends with the run, which aborts this task.
        loop {
            tokio::time::sleep(Duration::from_millis(HEARTBEAT_MS)).await;
            if let Err(e) = claim.lock().await.beat(clock.now()) {
                tracing::warn!("{e}");
            }
        }
    })
}

async fn claimed(
    parts: &Parts,
    setup: &BoardSetup,
    options: &RunOptions,
) -> Result<RunReport, EngineError> {
    let (ledger, clock) = (Arc::clone(&parts.ledger), Arc::clone(&parts.services.clock));
    let (progress, policy) = (Arc::clone(&parts.services.progress), Arc::clone(&parts.policy));
    let board = setup.board().clone();
    let journal =
        crate::journal::blocking(move || Journal::open(ledger, clock, progress, board, policy))
            .await?;
    let going_on = going_on(journal.state(), options);
    let seed = going_on.as_ref().map_or(options.seed, |r| r.seed);
    let mut options = options.clone();
    if let Some(run) = &going_on {
        options.run = run.id.clone();
    }
    let phases = phases(setup, &options, parts);
    let mut run = Run {
        dispatcher: Dispatcher::new(parts, setup, &options, journal, seed),
        setup,
        parts,
        phases: &phases,
        options: &options,
        resumed_at: None,
        settled: Vec::new(),
    };
    run.dispatcher.journal.set_run(options.run.clone());
    if going_on.is_none() && !options.force && !options.checks_only && run.nothing_to_do().await? {
        return Ok(run.report(StopCause::NothingToDo, None));
    }
    match going_on {
        Some(_) => run.resume().await?,
        None => run.start().await?,
    }
    let cause = run.phases().await;
    let cause = match cause {
        Ok(cause) => cause,
        Err(e) => {
            // Nothing can be recorded any more; the next start finds the open run.
            return Err(e);
        }
    };
    run.stop(&cause).await?;
    Ok(run.report(cause, Some(options.run.clone())))
}

/// The run that is gone on with: one whose process is gone (we hold the claim), one that was
/// stopped from outside, or, when asked to resume, any that is not finished.
fn going_on(state: &BoardState, options: &RunOptions) -> Option<RunState> {
    let run = state.run.as_ref()?;
    if run.checks_only != options.checks_only {
        return None;
    }
    let goes_on = match run.stopped.as_deref() {
        None => true,
        Some(word) if RESUMABLE.contains(&word) => true,
        // After an ask, the person's answer is part of the same run.
        Some("needs_person") => options.resume || state.open_asks().next().is_none(),
        Some("finished" | "nothing_to_do") => false,
        Some(_) => options.resume,
    };
    goes_on.then(|| run.clone())
}

/// The phases that this run goes through, with the steps that it runs.
fn phases(setup: &BoardSetup, options: &RunOptions, parts: &Parts) -> Vec<PhaseDef> {
    let mut list = Vec::new();
    for phase in &setup.manifest.phases {
        let mut phase = phase.clone();
        if options.checks_only {
            phase.steps.retain(|s| {
                let is_check = parts.kind(&s.uses).is_some_and(|k| k.is_check);
                let last = s.uses.as_str().rsplit('/').next().unwrap_or("");
                let wanted =
                    options.only_kinds.is_empty() || options.only_kinds.iter().any(|k| k == last);
                is_check && wanted
            });
            let kept: Vec<StepId> = phase.steps.iter().map(|s| s.id.clone()).collect();
            for step in &mut phase.steps {
                step.needs.retain(|n| kept.contains(n));
            }
        }
        let last = options.to.as_ref() == Some(&phase.id);
        list.push(phase);
        if last {
            break;
        }
    }
    list
}

struct Run<'a> {
    dispatcher: Dispatcher<'a>,
    setup: &'a BoardSetup,
    parts: &'a Parts,
    phases: &'a [PhaseDef],
    options: &'a RunOptions,
    resumed_at: Option<StepKey>,
    settled: Vec<StepKey>,
}

impl Run<'_> {
    fn state(&self) -> &BoardState {
        self.dispatcher.journal.state()
    }

    /// The commit step of a phase as a phase of its own.
    fn commit_phase(&self, phase: &PhaseDef) -> Option<PhaseDef> {
        let uses = self.options.commit_kind.clone().filter(|_| !self.options.checks_only)?;
        let id = StepId::new(COMMIT_STEP).ok()?;
        let step = StepDef {
            id,
            uses,
            with: BTreeMap::new(),
            check: CheckSpec::Own,
            safety: None,
            timeout_ms: None,
            needs: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            install: Vec::new(),
            systems: Vec::new(),
        };
        Some(PhaseDef { id: phase.id.clone(), steps: vec![step] })
    }

    /// Whether every phase is done and every step of it up to date. Appends nothing.
    async fn nothing_to_do(&mut self) -> Result<bool, EngineError> {
        let phases = self.phases;
        let mut any = false;
        for phase in phases.iter().filter(|p| !p.steps.is_empty()) {
            if !self.state().phases.get(&phase.id).is_some_and(PhaseState::is_done) {
                return Ok(false);
            }
            let commit = self.commit_phase(phase);
            for part in std::iter::once(phase).chain(commit.as_ref()) {
                for step in &part.steps {
                    any = true;
                    if !self.up_to_date(part, step).await? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(any)
    }

    async fn up_to_date(&mut self, phase: &PhaseDef, step: &StepDef) -> Result<bool, EngineError> {
        let key = plan::key(&phase.id, &step.id);
        let Some(pass) = self.state().steps.get(&key).and_then(|s| s.pass.clone()) else {
            return Ok(false);
        };
        if pass.definition != step.digest() {
            return Ok(false);
        }
        let job = self.dispatcher.job(phase, step, &key)?;
        let Outcome::Looked(Ok(now)) = job.look().await.outcome else { return Ok(false) };
        let hold = closure::outputs_hold(
            &pass.outputs,
            &self.setup.board_dir,
            self.parts.services.digests.as_ref(),
        );
        Ok(closure::same_inputs(&pass, step.digest(), now) && hold.unwrap_or(false))
    }

    async fn policy_blob(&self) -> Result<Digest, EngineError> {
        let text = self.parts.policy.describe();
        let blobs = Arc::clone(&self.parts.services.blobs);
        let stored =
            crate::journal::blocking(move || blobs.put("policy.txt", text.as_bytes())).await?;
        tracing::debug!("policy {} stored", stored.digest);
        Ok(self.dispatcher.journal.policy_digest())
    }

    async fn start(&mut self) -> Result<(), EngineError> {
        let policy = self.policy_blob().await?;
        let fact = Fact::RunStarted {
            seed: self.options.seed,
            policy,
            owner: self.parts.owner.clone(),
            checks_only: self.options.checks_only,
        };
        let journal = &mut self.dispatcher.journal;
        let event = journal.event(journal.scope(None), fact, Words::default());
        journal.put(vec![event], true).await
    }

    /// Goes on with a run: ends what is left of its processes, closes open intents as cut short
    /// and lets their ladder settle what landed.
    async fn resume(&mut self) -> Result<(), EngineError> {
        let policy = self.policy_blob().await?;
        let open: Vec<(StepKey, String, u64)> = self
            .state()
            .open_intents()
            .map(|(k, s)| (k.clone(), s.last_tag.clone(), s.attempts.into()))
            .collect();
        let fact = Fact::RunResumed { policy, owner: self.parts.owner.clone() };
        let journal = &mut self.dispatcher.journal;
        let mut events = vec![journal.event(journal.scope(None), fact, Words::default())];
        for (key, tag, attempts) in &open {
            self.parts.host.end_leftovers(tag).await;
            let mut scope = self.dispatcher.journal.scope(Some(key));
            scope.attempt = self.state().steps.get(key).map(|s| s.last_attempt);
            let cut = Fact::AttemptFinished {
                ended: Ended::CutShort,
                exit: None,
                signal: None,
                took_ms: 0,
                tool: String::new(),
                closure: Digest::ZERO,
                outputs: Vec::new(),
                blobs: Vec::new(),
                records: BTreeMap::new(),
            };
            let words = Words::say("the process that made this attempt is gone");
            events.push(self.dispatcher.journal.event(scope, cut, words));
            let mut evidence = Evidence::new("engine/resume", "pcbflow");
            evidence.push(Signal::new(Source::Own, codes::INTENT_WITHOUT_RESULT).text(tag));
            evidence.push(Signal::new(Source::Own, "owner_gone"));
            // Each cut is a failure of its own: being cut twice uses up no ladder.
            evidence.test_ids.push(format!("{tag} {attempts}"));
            events.extend(self.dispatcher.diagnosed(key, &evidence, CatchLayer::Resume));
            self.settled.push(key.clone());
        }
        self.dispatcher.journal.put(events, true).await?;
        self.resumed_at = self.settled.first().cloned().or_else(|| self.first_undone());
        Ok(())
    }

    fn first_undone(&self) -> Option<StepKey> {
        self.phases.iter().flat_map(plan::keys).find(|key| {
            !self.state().steps.get(key).is_some_and(|s| matches!(s.stage, Stage::Done { .. }))
        })
    }

    async fn phases(&mut self) -> Result<StopCause, EngineError> {
        let phases = self.phases;
        for phase in phases.iter().filter(|p| !p.steps.is_empty()) {
            self.dispatcher.run_steps(phase).await?;
            if self.parts.services.cancel.is_cancelled() {
                return Ok(StopCause::Interrupted);
            }
            if self.options.checks_only {
                continue;
            }
            let advances = self.judge(phase).await?;
            if !advances {
                break;
            }
            if let Some(commit) = self.commit_phase(phase) {
                self.dispatcher.run_steps(&commit).await?;
                if self.parts.services.cancel.is_cancelled() {
                    return Ok(StopCause::Interrupted);
                }
                if !self.state().phases.get(&phase.id).is_some_and(PhaseState::is_done) {
                    break;
                }
                self.anchor().await?;
            }
        }
        Ok(self.cause())
    }

    /// Gives the phase its verdict, unless the last one still says the same.
    async fn judge(&mut self, phase: &PhaseDef) -> Result<bool, EngineError> {
        let keys = plan::keys(phase);
        let verdict = self.state().verdict_of(&keys);
        let mut counts = Counts::default();
        for key in &keys {
            for f in self.dispatcher.findings.get(key).into_iter() {
                counts = counts.plus(Counts::of(f));
            }
        }
        let known = self.state().phases.get(&phase.id).cloned().unwrap_or_default();
        let ran = keys.iter().any(|k| {
            self.state()
                .steps
                .get(k)
                .and_then(|s| s.pass.as_ref())
                .is_none_or(|p| known.verdict.is_none_or(|(_, seq)| p.seq > seq))
        });
        let same = known.verdict.is_some_and(|(v, _)| v == verdict);
        if !same
            || ran
            || (verdict.advances() && known.commit.is_none() && known.last_commit.is_none())
        {
            let mut scope = self.dispatcher.journal.scope(None);
            scope.phase = Some(phase.id.clone());
            let fact = Fact::PhaseVerdictGiven { verdict, counts };
            let event = self.dispatcher.journal.event(scope, fact, Words::default());
            self.dispatcher.journal.put(vec![event], true).await?;
        }
        Ok(verdict.advances())
    }

    async fn anchor(&mut self) -> Result<(), EngineError> {
        let Some(head) = self.dispatcher.journal.head() else { return Ok(()) };
        let journal = &mut self.dispatcher.journal;
        let fact = Fact::AnchorWritten { seq: head.seq, hash: head.hash };
        let event = journal.event(journal.scope(None), fact, Words::default());
        journal.put(vec![event], false).await
    }

    /// Why the run stops now, from the gates of everything that was asked for.
    fn cause(&self) -> StopCause {
        match self.verdict().0 {
            Verdict::Pass => StopCause::Finished,
            Verdict::Findings => StopCause::Findings,
            Verdict::Unverified => StopCause::Unverified,
            Verdict::NeedsPerson => StopCause::NeedsPerson,
            Verdict::Failed => StopCause::TryLater,
            Verdict::Stopped => StopCause::Interrupted,
        }
    }

    /// The verdict, and whether it is conditional.
    fn verdict(&self) -> (Verdict, bool) {
        let mut verdict = Verdict::Pass;
        let mut conditional = false;
        let mut any = false;
        for phase in self.phases.iter().filter(|p| !p.steps.is_empty()) {
            let commit = self.commit_phase(phase);
            let keys = plan::keys(phase).into_iter().chain(commit.iter().flat_map(plan::keys));
            for key in keys {
                any = true;
                let step = self.state().steps.get(&key);
                let asks = self.state().open_asks().any(|a| a.step.as_ref() == Some(&key));
                let of_step = match step.map(|s| &s.stage) {
                    _ if asks => Verdict::NeedsPerson,
                    Some(Stage::Done { gate }) => {
                        conditional |= *gate == Gate::Warn;
                        Verdict::Pass
                    }
                    Some(Stage::Held { gate: Gate::Fail }) => Verdict::Findings,
                    Some(Stage::Held { .. }) => Verdict::Unverified,
                    Some(Stage::Escalated { try_later: true }) => Verdict::Failed,
                    Some(Stage::Escalated { .. }) => Verdict::NeedsPerson,
                    // Not reached because something before it holds: that one decides.
                    _ if verdict != Verdict::Pass => Verdict::Pass,
                    _ => Verdict::Unverified,
                };
                verdict = verdict.worse(of_step);
            }
        }
        // A run that looked at nothing has verified nothing.
        if !any {
            verdict = Verdict::Unverified;
        }
        (verdict, conditional && verdict == Verdict::Pass)
    }

    async fn stop(&mut self, cause: &StopCause) -> Result<(), EngineError> {
        let paused = !matches!(cause, StopCause::Finished | StopCause::NothingToDo);
        if paused && !self.options.checks_only {
            let note = status::status(self.setup, self.state(), None);
            if let Err(e) = self.parts.host.write_status(self.setup, &note).await {
                let journal = &mut self.dispatcher.journal;
                let fact = Fact::Noted { topic: "status_unwritten".to_owned() };
                let event = journal.event(journal.scope(None), fact, Words::say(e));
                journal.put(vec![event], false).await?;
            }
        }
        let journal = &mut self.dispatcher.journal;
        let fact = Fact::RunStopped { cause: cause.clone() };
        let event = journal.event(journal.scope(None), fact, Words::default());
        journal.put(vec![event], true).await?;
        journal.store_fold().await;
        Ok(())
    }

    fn report(&self, cause: StopCause, run: Option<pcbflow_core::ids::RunId>) -> RunReport {
        let (mut verdict, conditional) = self.verdict();
        let nothing = cause == StopCause::NothingToDo;
        if nothing {
            verdict = Verdict::Pass;
        }
        if matches!(cause, StopCause::Interrupted | StopCause::Terminated) {
            verdict = Verdict::Stopped;
        }
        let conditional = if nothing { self.last_conditional() } else { conditional };
        RunReport {
            board: self.setup.board().clone(),
            run,
            verdict,
            conditional,
            exit: if nothing { Exit::Done } else { verdict.exit() },
            cause,
            steps: self.step_reports(nothing),
            phases: self.phase_reports(),
            asks: self.state().open_asks().cloned().collect(),
            resumed_at: self.resumed_at.clone(),
            settled: self.settled.clone(),
            head: self.dispatcher.journal.head(),
            notes: BTreeMap::new(),
        }
    }

    fn last_conditional(&self) -> bool {
        self.phases.iter().any(|p| {
            self.state()
                .phases
                .get(&p.id)
                .and_then(|s| s.verdict)
                .is_some_and(|(v, _)| v == PhaseVerdict::Conditional)
        })
    }

    fn phase_reports(&self) -> Vec<(pcbflow_core::ids::PhaseId, PhaseVerdict, Option<String>)> {
        self.phases
            .iter()
            .filter_map(|p| {
                let known = self.state().phases.get(&p.id)?;
                Some((p.id.clone(), known.verdict?.0, known.commit.clone()))
            })
            .collect()
    }

    fn step_reports(&self, nothing: bool) -> Vec<StepReport> {
        let mut list = Vec::new();
        for phase in self.phases.iter().filter(|p| !p.steps.is_empty()) {
            let commit = self.commit_phase(phase);
            let keys = plan::keys(phase).into_iter().chain(commit.iter().flat_map(plan::keys));
            for key in keys {
                let step = self.state().steps.get(&key).cloned().unwrap_or_default();
                let findings = self.dispatcher.findings.get(&key).cloned().unwrap_or_default();
                let skipped = nothing
                    || step
                        .pass
                        .as_ref()
                        .is_some_and(|p| p.run.as_ref() != Some(&self.options.run))
                        && matches!(step.stage, Stage::Done { .. });
                let class = step.failure.as_ref().map(|f| f.class.to_string());
                let recovered = match (&step.healed, class) {
                    (Some((rung, _)), Some(class)) => Some((class, rung.clone())),
                    _ => None,
                };
                list.push(StepReport {
                    gate: if nothing { step.pass.as_ref().map(|p| p.gate) } else { step.gate() },
                    skipped,
                    recovered,
                    counts: Counts::of(&findings),
                    findings,
                    reason: self.dispatcher.reasons.get(&key).cloned().unwrap_or_default(),
                    key,
                });
            }
        }
        list
    }
}
