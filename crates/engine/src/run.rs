//! One run of one board, from the claim to the stop.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use pcbflow_core::check::{Counts, Gate, PhaseVerdict};
use pcbflow_core::event::{Fact, StopCause, Words};
use pcbflow_core::ids::{PhaseId, Seq, StepId, StepKey};
use pcbflow_core::manifest::{COMMIT_STEP, CheckSpec, PhaseDef, StepDef};
use pcbflow_core::ports::Clock;
use pcbflow_core::projection::{BoardState, PhaseState, RunState, StepState};

use crate::claim::Claim;
use crate::dispatcher::Dispatcher;
use crate::journal::Journal;
use crate::plan;
use crate::setup::{BoardSetup, EngineError, Parts, RunOptions, RunReport};
use crate::shared::{self, Shared};
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
    let clock = Arc::clone(&parts.services.clock);
    let claim = Claim::take(&setup.state_dir, setup.board(), &parts.owner, clock.now())?;
    // The claim lives in this future and goes with it, also when the future is dropped half way.
    tokio::select! {
        biased;
        result = claimed(parts, setup, options) => result,
        never = heartbeat(claim, clock.as_ref()) => match never {},
    }
}

/// Whether a run would find nothing to do, seen without a claim and without a writable ledger: the
/// report of such a run, or `None` when there may be work and [`run_board`] must look for itself.
/// Appends nothing.
///
/// # Errors
/// [`EngineError`]: the storage.
pub async fn idle_board(
    parts: &Parts,
    setup: &BoardSetup,
    options: &RunOptions,
) -> Result<Option<RunReport>, EngineError> {
    if options.force || options.checks_only || options.resume {
        return Ok(None);
    }
    let journal = open_journal(parts, setup).await?;
    // A run that somebody else is in the middle of is theirs to end.
    if going_on(journal.state(), options).is_some() {
        return Ok(None);
    }
    let phases = phases(setup, options, parts);
    let mut run = Run::new(parts, setup, options, journal, options.seed, &phases);
    let idle = run.nothing_to_do().await?;
    Ok(idle.then(|| run.report(StopCause::NothingToDo, None)))
}

async fn open_journal(parts: &Parts, setup: &BoardSetup) -> Result<Journal, EngineError> {
    let (ledger, clock) = (Arc::clone(&parts.ledger), Arc::clone(&parts.services.clock));
    let (progress, policy) = (Arc::clone(&parts.services.progress), Arc::clone(&parts.policy));
    let board = setup.board().clone();
    crate::journal::blocking(move || Journal::open(ledger, clock, progress, board, policy)).await
}

async fn heartbeat(mut claim: Claim, clock: &dyn Clock) -> Infallible {
    // Ends with the run, which drops this future.
    loop {
        tokio::time::sleep(Duration::from_millis(HEARTBEAT_MS)).await;
        if let Err(e) = claim.beat(clock.now()) {
            tracing::warn!("{e}");
        }
    }
}

async fn claimed(
    parts: &Parts,
    setup: &BoardSetup,
    options: &RunOptions,
) -> Result<RunReport, EngineError> {
    let journal = open_journal(parts, setup).await?;
    let going_on = going_on(journal.state(), options);
    let seed = going_on.as_ref().map_or(options.seed, |r| r.seed);
    let mut options = options.clone();
    if let Some(run) = &going_on {
        options.run = run.id.clone();
        if options.resume {
            // Whoever resumes gets the run that was asked for: its kind and how far it goes.
            options.checks_only = run.checks_only;
            options.only_kinds.clone_from(&run.only_kinds);
            // A phase that left the manifest since limits nothing.
            let listed = |to: &PhaseId| setup.manifest.phases.iter().any(|p| p.id == *to);
            options.to = run.to.clone().filter(listed);
        }
    }
    let phases = phases(setup, &options, parts);
    let mut run = Run::new(parts, setup, &options, journal, seed, &phases);
    run.dispatcher.journal.set_run(options.run.clone());
    if going_on.is_none() && !options.force && !options.checks_only && run.nothing_to_do().await? {
        return Ok(run.report(StopCause::NothingToDo, None));
    }
    run.read_shared().await?;
    match &going_on {
        Some(before) => run.resume(before).await?,
        None => run.start().await?,
    }
    run.clear_scratch().await;
    // On an error nothing can be recorded any more; the next start finds the open run.
    let cause = run.phases().await?;
    run.stop(&cause).await?;
    Ok(run.report(cause, Some(options.run.clone())))
}

/// The run that is gone on with: one whose process is gone (we hold the claim), one that was
/// stopped from outside, or, when asked to resume, any that is not finished.
fn going_on(state: &BoardState, options: &RunOptions) -> Option<RunState> {
    let run = state.run.as_ref()?;
    if !options.resume && run.checks_only != options.checks_only {
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

pub(crate) struct Run<'a> {
    pub dispatcher: Dispatcher<'a>,
    pub setup: &'a BoardSetup,
    pub parts: &'a Parts,
    pub phases: &'a [PhaseDef],
    pub options: &'a RunOptions,
    pub resumed_at: Option<StepKey>,
    pub settled: Vec<StepKey>,
    pub notes: BTreeMap<String, String>,
}

impl<'a> Run<'a> {
    fn new(
        parts: &'a Parts,
        setup: &'a BoardSetup,
        options: &'a RunOptions,
        journal: Journal,
        seed: u64,
        phases: &'a [PhaseDef],
    ) -> Run<'a> {
        let dispatcher = Dispatcher::new(parts, setup, options, journal, seed);
        let (resumed_at, settled, notes) = (None, Vec::new(), BTreeMap::new());
        let mut run = Run { dispatcher, setup, parts, phases, options, resumed_at, settled, notes };
        run.note_clock();
        run
    }
}

impl Run<'_> {
    pub fn state(&self) -> &BoardState {
        self.dispatcher.journal.state()
    }

    /// The commit step of a phase as a phase of its own.
    pub fn commit_phase(&self, phase: &PhaseDef) -> Option<PhaseDef> {
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
            inputs: None,
            outputs: Vec::new(),
            install: Vec::new(),
            systems: Vec::new(),
        };
        Some(PhaseDef { id: phase.id.clone(), steps: vec![step] })
    }

    async fn phases(&mut self) -> Result<StopCause, EngineError> {
        let phases = self.phases;
        for phase in phases.iter().filter(|p| !p.steps.is_empty()) {
            if self.options.checks_only {
                self.find_unmet(phase).await?;
            }
            self.dispatcher.run_steps(phase).await?;
            if self.parts.services.cancel.is_cancelled() {
                return Ok(self.parts.host.stop_cause());
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
                    return Ok(self.parts.host.stop_cause());
                }
                if !self.state().phases.get(&phase.id).is_some_and(PhaseState::is_done) {
                    break;
                }
                self.judge_commit(phase, &commit).await?;
                self.anchor().await?;
            }
        }
        Ok(self.cause())
    }

    /// Gives the phase its verdict, unless the last one still says the same.
    async fn judge(&mut self, phase: &PhaseDef) -> Result<bool, EngineError> {
        let keys = plan::keys(phase);
        // A step that waits for a held one did not fail to run: the held one decides.
        let blocked = plan::blocked(phase, self.state());
        let decide = keys.iter().filter(|k| !blocked.contains_key(&k.step));
        let verdict = self.state().verdict_of(decide);
        let counts = keys
            .iter()
            .filter_map(|k| self.state().steps.get(k))
            .fold(Counts::default(), |sum, step| sum.plus(step.last_counts));
        let given = self.state().phases.get(&phase.id).and_then(|p| p.verdict);
        // A condition under which the outputs were kept holds until they are kept without it.
        let verdict = if verdict == PhaseVerdict::Pass && self.kept_conditionally(phase) {
            PhaseVerdict::Conditional
        } else {
            verdict
        };
        let ran = keys.iter().filter_map(|k| self.judged_at(k)).max();
        // The same verdict is given again only after a step was judged again.
        if given.is_none_or(|(v, seq)| v != verdict || ran > Some(seq)) {
            let mut scope = self.dispatcher.journal.scope(None);
            scope.phase = Some(phase.id.clone());
            let fact = Fact::PhaseVerdictGiven { verdict, counts };
            let event = self.dispatcher.journal.event(scope, fact, Words::default());
            self.dispatcher.journal.put(vec![event], true).await?;
        }
        Ok(verdict.advances())
    }

    /// Whether the last commit step of a phase passed under a condition.
    fn kept_conditionally(&self, phase: &PhaseDef) -> bool {
        let Ok(step) = StepId::new(COMMIT_STEP) else { return false };
        let known = self.state().steps.get(&plan::key(&phase.id, &step));
        known.and_then(|s| s.pass.as_ref()).is_some_and(|p| p.gate == Gate::Warn)
    }

    /// The verdict with how the outputs were kept, where that makes another one of it.
    async fn judge_commit(
        &mut self,
        phase: &PhaseDef,
        commit: &PhaseDef,
    ) -> Result<(), EngineError> {
        let state = self.state();
        let known = state.phases.get(&phase.id).cloned().unwrap_or_default();
        let gates = plan::keys(phase).into_iter().chain(plan::keys(commit));
        let gates: Vec<_> =
            gates.filter_map(|k| state.steps.get(&k).and_then(StepState::gate)).collect();
        let verdict = PhaseVerdict::of(gates);
        let (Some((given, _)), Some(id)) = (known.verdict, known.commit) else { return Ok(()) };
        if given == verdict || !verdict.advances() {
            return Ok(());
        }
        let mut scope = self.dispatcher.journal.scope(None);
        scope.phase = Some(phase.id.clone());
        let facts = [
            Fact::PhaseVerdictGiven { verdict, counts: known.counts },
            Fact::OutputsCommitted { commit: id },
        ];
        let journal = &self.dispatcher.journal;
        let events =
            facts.map(|fact| journal.event(scope.clone(), fact, Words::default())).to_vec();
        self.dispatcher.journal.put(events, true).await
    }

    /// Position of the newest event by which a step was judged.
    fn judged_at(&self, key: &StepKey) -> Option<Seq> {
        let step = self.state().steps.get(key)?;
        let pass = step.pass.as_ref().map(|p| p.seq);
        let failure = step.failure.as_ref().map(|f| f.seq);
        let ask = self.state().asks.iter().filter(|a| a.holds(key));
        pass.max(failure).max(step.last_check).max(ask.map(|a| a.seq).max())
    }

    async fn anchor(&mut self) -> Result<(), EngineError> {
        let Some(head) = self.dispatcher.journal.head() else { return Ok(()) };
        let journal = &mut self.dispatcher.journal;
        let fact = Fact::AnchorWritten { seq: head.seq, hash: head.hash };
        let event = journal.event(journal.scope(None), fact, Words::default());
        journal.put(vec![event], false).await
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
        self.tell_shared().await;
        Ok(())
    }

    /// What the other boards of the workspace learned.
    async fn read_shared(&mut self) -> Result<(), EngineError> {
        let (ledger, board) = (Arc::clone(&self.parts.ledger), self.setup.board().clone());
        let read = move || Shared::read(ledger.as_ref(), &board);
        self.dispatcher.shared = crate::journal::blocking(read).await?;
        Ok(())
    }

    /// Tells the other boards what this one learned. It is on record here already, so that a fault
    /// loses nothing: the next run tells it.
    async fn tell_shared(&self) {
        if self.state().lessons.is_empty() {
            return;
        }
        let (ledger, board) = (Arc::clone(&self.parts.ledger), self.setup.board().clone());
        let told = crate::journal::blocking(move || shared::tell(&ledger, &board)).await;
        if let Err(error) = told {
            tracing::warn!(%error, "lessons were not told to the workspace");
        }
    }
}
