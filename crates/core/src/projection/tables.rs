//! Small projections for lists: the catch log and statistics.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::event::{CatchLayer, Event, Fact};
use crate::ids::{ClassId, Digest, Scope, Seq};
use crate::time::Timestamp;

/// One line of the catch log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Catch {
    /// When.
    pub at: Timestamp,
    /// Position of the event.
    pub seq: Seq,
    /// Where the work stood.
    pub scope: Scope,
    /// Which layer found it.
    pub layer: CatchLayer,
    /// Its class.
    pub class: ClassId,
    /// Its identity.
    pub fingerprint: Digest,
    /// Position of the event that resolved it, once there is one.
    pub resolved: Option<Seq>,
}

/// The catch log of a stream, oldest first.
#[must_use]
pub fn catches<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<Catch> {
    let mut list: Vec<Catch> = Vec::new();
    for event in events {
        match &event.fact {
            Fact::CatchRecorded { layer, class, fingerprint } => list.push(Catch {
                at: event.at,
                seq: event.seq,
                scope: event.scope.clone(),
                layer: *layer,
                class: class.clone(),
                fingerprint: *fingerprint,
                resolved: None,
            }),
            Fact::StepRecovered { .. } | Fact::StepPassed { .. } => {
                let key = event.step_key();
                for open in list.iter_mut().filter(|c| c.resolved.is_none()) {
                    let same = (&open.scope.phase, &open.scope.step)
                        == (&event.scope.phase, &event.scope.step);
                    if key.is_some() && same {
                        open.resolved = Some(event.seq);
                    }
                }
            }
            _ => {}
        }
    }
    list
}

/// Numbers over a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Statistics {
    /// Events by name.
    pub events: BTreeMap<String, u64>,
    /// Failures by class.
    pub failures: BTreeMap<String, u64>,
    /// Recoveries that were proven, by class and rung.
    pub recovered: BTreeMap<String, BTreeMap<String, u64>>,
    /// Milliseconds spent in attempts.
    pub attempt_ms: u64,
    /// Attempts.
    pub attempts: u64,
    /// Runs.
    pub runs: u64,
}

impl Statistics {
    /// Counts one event.
    pub fn apply(&mut self, event: &Event) {
        let name = fact_word(&event.fact);
        match self.events.get_mut(name) {
            Some(count) => *count += 1,
            None => drop(self.events.insert(name.to_owned(), 1)),
        }
        match &event.fact {
            Fact::FailureDiagnosed { class, .. } => {
                *self.failures.entry(class.to_string()).or_default() += 1;
            }
            Fact::StepRecovered { class, rung, .. } => {
                let by_rung = self.recovered.entry(class.to_string()).or_default();
                *by_rung.entry(rung.clone()).or_default() += 1;
            }
            Fact::AttemptFinished { took_ms, .. } => {
                self.attempts += 1;
                self.attempt_ms = self.attempt_ms.saturating_add(*took_ms);
            }
            Fact::RunStarted { .. } => self.runs += 1,
            _ => {}
        }
    }
}

/// The name of a fact as it stands in JSON.
#[must_use]
pub fn fact_name(fact: &Fact) -> String {
    fact_word(fact).to_owned()
}

/// The same without making a text of it: a projection asks once an event.
#[must_use]
pub fn fact_word(fact: &Fact) -> &'static str {
    match fact {
        Fact::StreamOpened { .. } => "stream_opened",
        Fact::BoardCreated { .. } => "board_created",
        Fact::SegmentAdopted { .. } => "segment_adopted",
        Fact::RunStarted { .. } => "run_started",
        Fact::RunResumed { .. } => "run_resumed",
        Fact::RunStopped { .. } => "run_stopped",
        Fact::StepPlanned { .. } => "step_planned",
        Fact::AttemptStarted { .. } => "attempt_started",
        Fact::AttemptFinished { .. } => "attempt_finished",
        Fact::CheckObserved { .. } => "check_observed",
        Fact::EffectReadBack { .. } => "effect_read_back",
        Fact::FailureDiagnosed { .. } => "failure_diagnosed",
        Fact::DecisionTaken { .. } => "decision_taken",
        Fact::RecoveryStarted { .. } => "recovery_started",
        Fact::RecoveryFinished { .. } => "recovery_finished",
        Fact::SnapshotBlessed { .. } => "snapshot_blessed",
        Fact::SnapshotRestored { .. } => "snapshot_restored",
        Fact::StepPassed { .. } => "step_passed",
        Fact::StepRecovered { .. } => "step_recovered",
        Fact::StepHeld { .. } => "step_held",
        Fact::StepEscalated { .. } => "step_escalated",
        Fact::StepSkipped { .. } => "step_skipped",
        Fact::PhaseVerdictGiven { .. } => "phase_verdict_given",
        Fact::OutputsCommitted { .. } => "outputs_committed",
        Fact::AskRaised { .. } => "ask_raised",
        Fact::AskAnswered { .. } => "ask_answered",
        Fact::CatchRecorded { .. } => "catch_recorded",
        Fact::StallDetected { .. } => "stall_detected",
        Fact::ReplanRequested { .. } => "replan_requested",
        Fact::RepairRoundStarted { .. } => "repair_round_started",
        Fact::RepairRoundFinished { .. } => "repair_round_finished",
        Fact::LessonLearned { .. } => "lesson_learned",
        Fact::AnchorWritten { .. } => "anchor_written",
        Fact::BodyExpunged { .. } => "body_expunged",
        Fact::Noted { .. } => "noted",
    }
}
