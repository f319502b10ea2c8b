//! Which steps of a manifest may run now. Pure.

use pcbflow_core::ids::{PhaseId, StepId, StepKey};
use pcbflow_core::manifest::{PhaseDef, StepDef};
use pcbflow_core::projection::{BoardState, StepState};

/// Keys of a phase's steps, in order.
#[must_use]
pub fn keys(phase: &PhaseDef) -> Vec<StepKey> {
    phase.steps.iter().map(|s| key(&phase.id, &s.id)).collect()
}

/// A step's key.
#[must_use]
pub fn key(phase: &PhaseId, step: &StepId) -> StepKey {
    StepKey { phase: phase.clone(), step: step.clone() }
}

/// Whether everything that a step needs has a gate that lets it go on.
#[must_use]
pub fn needs_met(phase: &PhaseDef, step: &StepDef, state: &BoardState) -> bool {
    step.needs.iter().all(|need| {
        state
            .steps
            .get(&key(&phase.id, need))
            .and_then(StepState::gate)
            .is_some_and(pcbflow_core::check::Gate::advances)
    })
}

/// A need of the step that is decided and does not let it go on, if there is one: the step then
/// can't run in this run.
#[must_use]
pub fn blocked_by<'a>(
    phase: &PhaseDef,
    step: &'a StepDef,
    state: &BoardState,
    blocked: &[StepKey],
) -> Option<&'a StepId> {
    step.needs.iter().find(|need| {
        let key = key(&phase.id, need);
        blocked.contains(&key)
            || state.steps.get(&key).and_then(StepState::gate).is_some_and(|g| !g.advances())
    })
}
