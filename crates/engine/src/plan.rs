//! Which steps of a manifest may run now. Pure.

use std::collections::BTreeMap;

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

/// Steps that can't run as things stand, each with the need that holds it: one that is decided
/// and does not let it go on, or is held itself. Steps that are decided themselves are left out.
#[must_use]
pub fn blocked(phase: &PhaseDef, state: &BoardState) -> BTreeMap<StepId, StepId> {
    let gate = |id: &StepId| state.steps.get(&key(&phase.id, id)).and_then(StepState::gate);
    let mut held: BTreeMap<StepId, StepId> = BTreeMap::new();
    if !phase.steps.iter().any(|s| gate(&s.id).is_some_and(|g| !g.advances())) {
        return held;
    }
    // Each round but the last one adds a step.
    for _ in 0..=phase.steps.len() {
        let before = held.len();
        for step in phase.steps.iter().filter(|s| gate(&s.id).is_none()) {
            let holds =
                |n: &&StepId| held.contains_key(*n) || gate(n).is_some_and(|g| !g.advances());
            if let Some(need) = step.needs.iter().find(holds).cloned() {
                held.entry(step.id.clone()).or_insert(need);
            }
        }
        if held.len() == before {
            break;
        }
    }
    held
}
