//! What a subsystem is given: the context of a step, its private folder, its marker.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use pcbflow_core::event::OutputRef;
use pcbflow_core::ids::{AttemptNo, Digest, PhaseId, RunId, StepId, StepKey};
use pcbflow_core::manifest::{COMMIT_STEP, PhaseDef, StepDef};
use pcbflow_core::ports::StepContext;
use pcbflow_core::projection::{BoardState, Stage};

use crate::act::{Job, Scratch};
use crate::dispatcher::Dispatcher;
use crate::plan;
use crate::scratch;
use crate::setup::EngineError;

impl Dispatcher<'_> {
    /// Marker of an attempt's children: the same for the same attempt, whoever asks.
    pub(crate) fn tag(&self, key: &StepKey, no: AttemptNo) -> String {
        self.tag_in(&self.options.run, key, no)
    }

    /// The same for an attempt of another run.
    pub(crate) fn tag_in(&self, run: &RunId, key: &StepKey, no: AttemptNo) -> String {
        let what = format!("{}/{}/{key}/{no}/{run}", self.parts.ledger.id(), self.setup.board());
        format!("pf-{}-{no}", Digest::of(what.as_bytes()).short())
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
    pub(crate) fn job_with_scratch(
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

    pub(crate) fn action_job(
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
        let (dir, pid) = (&self.setup.state_dir, self.parts.owner.pid);
        scratch::make(dir, self.setup.board(), pid, self.scratch_no)
    }

    pub(crate) fn context(
        &self,
        phase: &PhaseDef,
        step: &StepDef,
        scratch: PathBuf,
    ) -> StepContext {
        let key = plan::key(&phase.id, &step.id);
        let state = self.journal.state();
        let known = state.steps.get(&key).cloned().unwrap_or_default();
        let phase_outputs: Vec<OutputRef> = phase_outputs(state, &phase.id);
        let tag = Some(known.last_tag).filter(|t| !t.is_empty());
        // A look or read-back before the first attempt has a marker too.
        let tag = tag.unwrap_or_else(|| self.tag(&key, AttemptNo(0)));
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
            tag,
            deadline_ms: known.planned.map_or(60_000, |p| p.deadline_ms),
            notes,
            records: state.records.clone(),
            head: self.journal.head().map(|h| (self.journal.ledger().id(), h)),
            status: crate::status::status(
                self.setup,
                state,
                (step.id.as_str() == COMMIT_STEP).then_some(&phase.id),
            ),
            needs: needs(state, phase, step),
            phase_outputs,
            earlier_outputs: known.pass.map(|p| p.outputs).unwrap_or_default(),
            run: self.options.run.to_string(),
            round: None,
        }
    }
}

/// What the passes of the needed steps say. A step that declares no outputs is known by what it ran
/// on, since nobody can tell what it left behind.
fn needs(state: &BoardState, phase: &PhaseDef, step: &StepDef) -> BTreeMap<StepId, Digest> {
    let mut needs = BTreeMap::new();
    for need in &step.needs {
        let pass = state.steps.get(&plan::key(&phase.id, need)).and_then(|s| s.pass.as_ref());
        let Some(pass) = pass else { continue };
        let mut text = format!("pcbflow need v1\n{}\n", pass.definition);
        for output in &pass.outputs {
            text.push_str(&format!("{} {} {}\n", output.path.len(), output.path, output.digest));
        }
        if pass.outputs.is_empty() {
            text.push_str(&format!("{}\n", pass.closure));
        }
        needs.insert(need.clone(), Digest::of(text.as_bytes()));
    }
    needs
}

/// Outputs of the passed steps of a phase, the commit left out.
fn phase_outputs(state: &BoardState, phase: &PhaseId) -> Vec<OutputRef> {
    let mut outputs: Vec<OutputRef> = state
        .steps
        .iter()
        .filter(|(k, s)| k.phase == *phase && matches!(s.stage, Stage::Done { .. }))
        .filter(|(k, _)| k.step.as_str() != COMMIT_STEP)
        .flat_map(|(_, s)| s.pass.iter().flat_map(|p| p.outputs.clone()))
        .collect();
    outputs.sort();
    outputs.dedup();
    outputs
}
