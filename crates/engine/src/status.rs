//! What stands under `status:` in a manifest: a note for people, never the truth.

use pcbflow_core::check::PhaseVerdict;
use pcbflow_core::projection::{BoardState, Stage, StepState};
use serde_json::{Value, json};

use pcbflow_core::ids::PhaseId;

use crate::setup::BoardSetup;

/// Current phase, verdict per phase, open steps, open asks. A phase whose outputs are being
/// committed right now counts as done: the note goes into that commit.
#[must_use]
pub fn status(setup: &BoardSetup, state: &BoardState, committing: Option<&PhaseId>) -> Value {
    let mut verdicts = serde_json::Map::new();
    let mut current = None;
    let mut open = Vec::new();
    for phase in setup.manifest.phases.iter().filter(|p| !p.steps.is_empty()) {
        let known = state.phases.get(&phase.id);
        if let Some((verdict, _)) = known.and_then(|p| p.verdict) {
            // What an earlier, now open phase feeds was not checked since.
            let verdict = if current.is_some() { PhaseVerdict::Pending } else { verdict };
            verdicts.insert(phase.id.to_string(), json!(verdict.word()));
        }
        let done = known.is_some_and(pcbflow_core::projection::PhaseState::is_done)
            || committing == Some(&phase.id);
        if done || current.is_some() {
            continue;
        }
        current = Some(phase.id.to_string());
        for step in &phase.steps {
            let key = crate::plan::key(&phase.id, &step.id);
            let passed = state
                .steps
                .get(&key)
                .map(|s: &StepState| matches!(s.stage, Stage::Done { .. }))
                .unwrap_or(false);
            if !passed {
                open.push(json!(step.id.as_str()));
            }
        }
    }
    let asks: Vec<Value> = state
        .open_asks()
        .map(|a| json!({"id": a.id.as_str(), "kind": a.kind, "tool": a.tool}))
        .collect();
    json!({
        "phase": current,
        "verdicts": verdicts,
        "open_steps": open,
        "open_asks": asks,
    })
}
