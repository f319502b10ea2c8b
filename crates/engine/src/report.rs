//! How a run came out: its verdict, and the report of every step.

use pcbflow_core::check::{Counts, Finding, Gate, PhaseVerdict};
use pcbflow_core::event::StopCause;
use pcbflow_core::exit::{Exit, Verdict};
use pcbflow_core::ids::{PhaseId, RunId, StepKey};
use pcbflow_core::projection::{Stage, StepState};

use crate::plan;
use crate::run::Run;
use crate::setup::{RunReport, StepReport};

impl Run<'_> {
    /// Why the run stops now, from the gates of everything that was asked for.
    pub fn cause(&self) -> StopCause {
        match self.verdict().0 {
            Verdict::Pass => StopCause::Finished,
            Verdict::Findings => StopCause::Findings,
            Verdict::Unverified => StopCause::Unverified,
            Verdict::NeedsPerson => StopCause::NeedsPerson,
            Verdict::Failed => StopCause::TryLater,
            Verdict::Stopped => self.parts.host.stop_cause(),
        }
    }

    /// Keys of everything that was asked for, commits included.
    fn asked_for(&self) -> Vec<StepKey> {
        let mut keys = Vec::new();
        for phase in self.phases.iter().filter(|p| !p.steps.is_empty()) {
            keys.extend(plan::keys(phase));
            keys.extend(self.commit_phase(phase).iter().flat_map(plan::keys));
        }
        keys
    }

    /// The verdict, and whether it is conditional. The worst step decides, wherever it stands;
    /// what was not reached because something else holds it decides nothing.
    fn verdict(&self) -> (Verdict, bool) {
        let keys = self.asked_for();
        let mut verdict = Verdict::Pass;
        let mut conditional = false;
        let mut open = false;
        for key in &keys {
            match self.verdict_of(key) {
                Some(of_step) => verdict = verdict.worse(of_step),
                None => open = true,
            }
            let stage = self.state().steps.get(key).map(|s| &s.stage);
            conditional |= matches!(stage, Some(Stage::Done { gate: Gate::Warn }));
        }
        // A run that looked at nothing, or left something out for no reason, verified nothing.
        if verdict == Verdict::Pass && (open || keys.is_empty()) {
            verdict = Verdict::Unverified;
        }
        (verdict, conditional && verdict == Verdict::Pass)
    }

    /// Verdict of one step; nothing when it is not decided.
    fn verdict_of(&self, key: &StepKey) -> Option<Verdict> {
        if self.state().open_asks().any(|a| a.holds(key)) {
            return Some(Verdict::NeedsPerson);
        }
        if self.dispatcher.unmet.contains_key(key) {
            return Some(Verdict::Unverified);
        }
        match self.state().steps.get(key).map(|s| &s.stage) {
            Some(Stage::Done { .. }) => Some(Verdict::Pass),
            Some(Stage::Held { gate: Gate::Fail }) => Some(Verdict::Findings),
            Some(Stage::Held { .. }) => Some(Verdict::Unverified),
            Some(Stage::Escalated { try_later: true }) => Some(Verdict::Failed),
            Some(Stage::Escalated { .. }) => Some(Verdict::NeedsPerson),
            _ => None,
        }
    }

    pub fn report(&self, cause: StopCause, run: Option<RunId>) -> RunReport {
        let (mut verdict, conditional) = self.verdict();
        let nothing = cause == StopCause::NothingToDo;
        if nothing {
            verdict = Verdict::Pass;
        }
        let exit = match cause {
            StopCause::Interrupted => Exit::Interrupted,
            StopCause::Terminated => Exit::Terminated,
            _ => verdict.exit(),
        };
        if matches!(cause, StopCause::Interrupted | StopCause::Terminated) {
            verdict = Verdict::Stopped;
        }
        let conditional = if nothing { self.last_conditional() } else { conditional };
        RunReport {
            board: self.setup.board().clone(),
            run,
            checks_only: self.options.checks_only,
            verdict,
            conditional,
            exit,
            cause,
            steps: self.step_reports(nothing),
            phases: self.phase_reports(),
            asks: self.state().open_asks().cloned().collect(),
            resumed_at: self.resumed_at.clone(),
            settled: self.settled.clone(),
            head: self.dispatcher.journal.head(),
            notes: self.notes.clone(),
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

    fn phase_reports(&self) -> Vec<(PhaseId, PhaseVerdict, Option<String>)> {
        self.phases
            .iter()
            .filter_map(|p| {
                let known = self.state().phases.get(&p.id)?;
                Some((p.id.clone(), known.verdict?.0, known.commit.clone()))
            })
            .collect()
    }

    /// Findings of a step that was not checked now but earlier: what still holds is listed again.
    fn recorded(&self, step: &StepState) -> Vec<Finding> {
        let decided = matches!(step.stage, Stage::Done { .. } | Stage::Held { .. });
        let digest =
            if decided { step.last_findings } else { step.pass.as_ref().and_then(|p| p.findings) };
        let Some(digest) = digest else { return Vec::new() };
        let read = self.parts.services.blobs.get(&digest).map_err(|e| e.to_string());
        let read = read.and_then(|bytes| serde_json::from_slice(&bytes).map_err(|e| e.to_string()));
        read.unwrap_or_else(|e| {
            // The counts still say how many there are.
            tracing::warn!("findings {digest} can't be read: {e}");
            Vec::new()
        })
    }

    fn step_reports(&self, nothing: bool) -> Vec<StepReport> {
        let mut list = Vec::new();
        for phase in self.phases.iter().filter(|p| !p.steps.is_empty()) {
            let commit = self.commit_phase(phase);
            let keys = plan::keys(phase).into_iter().chain(commit.iter().flat_map(plan::keys));
            for key in keys {
                let step = self.state().steps.get(&key).cloned().unwrap_or_default();
                // What an earlier check counted says nothing about a step that could not be checked
                // now or has not had its turn.
                let unmet = self.dispatcher.unmet.contains_key(&key);
                let decided = !unmet && step.gate().is_some_and(|g| g != Gate::Blocked);
                let holds = nothing || decided;
                let findings = match self.dispatcher.findings.get(&key) {
                    Some(now) => now.clone(),
                    None if holds => self.recorded(&step),
                    None => Vec::new(),
                };
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
                let gate = match nothing {
                    true => step.pass.as_ref().map(|p| p.gate),
                    false if unmet => Some(Gate::Blocked),
                    false => step.gate(),
                };
                list.push(StepReport {
                    gate,
                    skipped,
                    recovered,
                    counts: if holds { step.last_counts } else { Counts::default() },
                    findings,
                    reason: self.dispatcher.reasons.get(&key).cloned().unwrap_or_default(),
                    key,
                });
            }
        }
        list
    }
}
