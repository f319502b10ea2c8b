//! Whether a step is up to date, and whether what an earlier process decided still holds.

use std::sync::Arc;

use pcbflow_core::check::Gate;
use pcbflow_core::event::{Fact, NewEvent, Words};
use pcbflow_core::evidence::Evidence;
use pcbflow_core::ids::{Digest, StepKey};
use pcbflow_core::manifest::{PhaseDef, Safety, StepDef};
use pcbflow_core::projection::{PassState, Stage, StepState};

use crate::closure;
use crate::dispatcher::{Dispatcher, is_commit};
use crate::setup::EngineError;

impl Dispatcher<'_> {
    /// Records what follows from the closure that was taken: the step is up to date, is planned
    /// again, or goes on as it stands.
    pub(crate) async fn looked(
        &mut self,
        phase: &PhaseDef,
        key: &StepKey,
        result: Result<Digest, Box<Evidence>>,
    ) -> Result<(), EngineError> {
        // Without a closure the attempt itself says what is wrong with the inputs.
        let now = result.unwrap_or(Digest::ZERO);
        self.looked.insert(key.clone(), now);
        let Some(step) = phase.steps.iter().find(|s| s.id == key.step) else { return Ok(()) };
        let state = self.journal.state().steps.get(key).cloned().unwrap_or_default();
        let events = match &state.stage {
            Stage::Planned => {
                // What an attempt left behind of a step that may not be repeated is settled first.
                let open = state.unsettled && !self.is_free(key);
                let pass = state.pass.as_ref().filter(|_| !self.options.force && !open);
                match pass {
                    Some(pass) if self.holds(pass, step, now).await => self.up_to_date(key, pass),
                    _ => Vec::new(),
                }
            }
            Stage::Done { .. } => match &state.pass {
                Some(pass) if self.holds(pass, step, now).await => {
                    let open = self.uncommitted(key).is_some();
                    if open { self.up_to_date(key, pass) } else { Vec::new() }
                }
                _ => self.planned_again(key, &state),
            },
            Stage::Held { gate } => {
                let again = self.retry_held && *gate != Gate::Fail;
                if again || state.last_closure != now {
                    self.planned_again(key, &state)
                } else {
                    Vec::new()
                }
            }
            Stage::Escalated { try_later: true } => self.planned_again(key, &state),
            _ => Vec::new(),
        };
        self.journal.put(events, false).await
    }

    fn is_free(&self, key: &StepKey) -> bool {
        self.journal.state().safety(key).is_some_and(Safety::freely_repeated)
    }

    async fn holds(&self, pass: &PassState, step: &StepDef, now: Digest) -> bool {
        if now == Digest::ZERO || !closure::same_inputs(pass, step.digest(), now) {
            return false;
        }
        let digests = Arc::clone(&self.parts.services.digests);
        let (outputs, dir) = (pass.outputs.clone(), self.setup.board_dir.clone());
        let hold = crate::journal::blocking(move || {
            closure::outputs_hold(&outputs, &dir, digests.as_ref())
        });
        // An output that can't be read is not there as it was.
        hold.await.unwrap_or(false)
    }

    /// The last commit of a phase that got a new verdict since, for its commit step.
    fn uncommitted(&self, key: &StepKey) -> Option<String> {
        let known = self.journal.state().phases.get(&key.phase).filter(|_| is_commit(key))?;
        known.last_commit.clone().filter(|_| known.commit.is_none())
    }

    fn up_to_date(&self, key: &StepKey, pass: &PassState) -> Vec<NewEvent> {
        let scope = self.journal.scope(Some(key));
        let fact = Fact::StepSkipped { since: pass.seq, gate: pass.gate };
        let mut events = vec![self.journal.event(scope.clone(), fact, Words::say("up to date"))];
        if let Some(commit) = self.uncommitted(key) {
            let fact = Fact::OutputsCommitted { commit };
            events.push(self.journal.event(scope, fact, Words::default()));
        }
        events
    }

    /// The step starts again: what it was decided on is not what is there now.
    fn planned_again(&self, key: &StepKey, state: &StepState) -> Vec<NewEvent> {
        let Some(planned) = state.planned.clone() else { return Vec::new() };
        let fact = Fact::StepPlanned {
            uses: planned.uses,
            safety: planned.safety,
            definition: planned.definition,
            deadline_ms: planned.deadline_ms,
        };
        let words = Words::say("looked at again after a stop, and started again");
        vec![self.journal.event(self.journal.scope(Some(key)), fact, words)]
    }
}
