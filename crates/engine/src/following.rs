//! A decision of a step, and the facts that stand with it in one transaction.

use std::sync::Arc;

use pcbflow_core::check::Gate;
use pcbflow_core::event::{Actor, Decision, Fact, NewEvent, OutputRef, Words};
use pcbflow_core::ids::{AskId, Digest, StepKey};
use pcbflow_core::manifest::{COMMIT_STEP, PhaseDef, StepDef};
use pcbflow_core::policy::PERSON_RUNG;
use pcbflow_core::projection::{Stage, StepState};

use crate::dispatcher::Dispatcher;
use crate::plan;
use crate::setup::EngineError;

/// Rung under which a failure is closed whose effect was found by a read-back of no rung.
const READ_BACK_RUNG: &str = "read-back";

impl Dispatcher<'_> {
    /// Decides for a step and records the decision with the facts that belong to it.
    pub(crate) async fn decide(
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
                    actor: Actor::Engine,
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
                    ask_id: match decision {
                        Decision::Ask { class, kind, watch, .. } => {
                            state.ask_id_for(&key, class, kind, watch.as_deref())
                        }
                        _ => String::new(),
                    },
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
        if self.def.id.as_str() == COMMIT_STEP
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
        let tried = failure.tried.last().map(|t| t.rung.as_str());
        let read = matches!(step.stage, Stage::ReadBack { .. }).then_some(READ_BACK_RUNG);
        let recovered = |rung: &str| Fact::StepRecovered {
            class: failure.class.clone(),
            rung: rung.to_owned(),
            attempts: step.seen.get(&failure.fingerprint).map_or(1, |s| s.attempts),
            proof: step.last_check.unwrap_or(failure.seq),
        };
        let Some(rung) = tried.or(read) else {
            // Nothing of ours was tried since the person's answer: no lesson in that.
            return vec![recovered(PERSON_RUNG)];
        };
        vec![
            recovered(rung),
            Fact::LessonLearned {
                fingerprint: failure.fingerprint,
                class: failure.class.clone(),
                rung: rung.to_owned(),
                worked: true,
            },
        ]
    }
}
