//! State of one step, folded from the events of its scope.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::pairs;
use crate::check::{CheckOutcome, Gate};
use crate::event::{CheckPurpose, Decision, Event, Fact, OutputRef, ReadBack, RecoveryOutcome};
use crate::evidence::Source;
use crate::ids::{AskId, AttemptNo, ClassId, Digest, KindName, RunId, Seq};
use crate::manifest::Safety;
use crate::time::Timestamp;

/// What the plan says about a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// Its kind.
    pub uses: KindName,
    /// Its safety class.
    pub safety: Safety,
    /// Digest of its definition.
    pub definition: Digest,
    /// Deadline of a first attempt in milliseconds.
    pub deadline_ms: u64,
}

/// Where a step stands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum Stage {
    /// Nothing was done in this run or since the person's answer.
    #[default]
    Planned,
    /// An intent without a result.
    Attempting,
    /// A result without a check or diagnosis.
    Attempted,
    /// The step's own check was observed.
    Checked {
        /// Its gate.
        gate: Gate,
    },
    /// A failure is open.
    Failed,
    /// An effect was read back.
    ReadBack {
        /// What was found.
        found: ReadBack,
        /// The rung it belongs to.
        rung: Option<String>,
    },
    /// A rung's action is under way.
    Recovering {
        /// The rung.
        rung: String,
    },
    /// A rung's action ended.
    Recovered {
        /// The rung.
        rung: String,
        /// Whether it says it did its work.
        done: bool,
    },
    /// The probe after an action was observed.
    Probed {
        /// The rung.
        rung: String,
        /// Only a pass closes the failure.
        passed: bool,
    },
    /// Passed or up to date.
    Done {
        /// Its gate: pass or warn.
        gate: Gate,
    },
    /// Ran, and its gate holds the phase.
    Held {
        /// Fail, empty or blocked.
        gate: Gate,
    },
    /// Waits for the person, or for a later try.
    Escalated {
        /// Safe to repeat later without a person.
        try_later: bool,
    },
}

/// An open failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureState {
    /// Position of its diagnosis.
    pub seq: Seq,
    /// Its class.
    pub class: ClassId,
    /// Whether a rule fitted.
    pub known: bool,
    /// Leading source of the diagnosis.
    pub trust: Source,
    /// In percent.
    pub confidence: u8,
    /// Its identity.
    pub fingerprint: Digest,
    /// When this fingerprint was first seen in the episode.
    pub since: Timestamp,
    /// Wait that the other side asked for.
    pub retry_after_ms: Option<u64>,
    /// Rung that a person's rule puts first.
    pub allow: Option<String>,
    /// Values for the message.
    pub slots: BTreeMap<String, String>,
    /// Rungs that ran for this failure in order, with what came of each.
    pub tried: Vec<Tried>,
}

/// One rung that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// The rung.
    pub rung: String,
    /// How often in a row.
    pub times: u32,
}

/// What was spent on one fingerprint in the running episode.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Seen {
    /// First time.
    pub since: Timestamp,
    /// How often it was diagnosed.
    pub sightings: u32,
    /// Attempts made since it was first seen, that one included.
    pub attempts: u32,
    /// Uses of each rung.
    pub rungs: BTreeMap<String, u32>,
}

/// The last pass of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassState {
    /// Position of the pass.
    pub seq: Seq,
    /// Run in which it was.
    pub run: Option<RunId>,
    /// Its gate.
    pub gate: Gate,
    /// Digest of the definition.
    pub definition: Digest,
    /// Digest of the closure.
    pub closure: Digest,
    /// Outputs.
    pub outputs: Vec<OutputRef>,
}

/// What is known of a rung for a fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Lesson {
    /// How often it worked.
    pub worked: u32,
    /// How often it did not.
    pub failed: u32,
}

/// State of a step.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StepState {
    /// What the plan says.
    pub planned: Option<Planned>,
    /// Where it stands.
    pub stage: Stage,
    /// A decision whose consequence has not started.
    pub decided: Option<(Seq, Decided)>,
    /// Attempts in this run.
    pub attempts: u32,
    /// Number of the last attempt.
    pub last_attempt: AttemptNo,
    /// Its deadline.
    pub last_deadline_ms: u64,
    /// Its marker.
    pub last_tag: String,
    /// Digest of its closure.
    pub last_closure: Digest,
    /// Its outputs.
    pub last_outputs: Vec<OutputRef>,
    /// An attempt was made whose effect may be there, and no read-back has settled it.
    pub unsettled: bool,
    /// The open failure, or the last one that was healed.
    pub failure: Option<FailureState>,
    /// The failure in `failure` is closed, by this rung and check.
    pub healed: Option<(String, Seq)>,
    /// Position of the last check.
    pub last_check: Option<Seq>,
    /// Spent per fingerprint in this episode.
    #[serde(with = "pairs")]
    pub seen: BTreeMap<Digest, Seen>,
    /// Recoveries in this run.
    pub recoveries: u32,
    /// Notes for the next attempts.
    pub notes: BTreeMap<String, String>,
    /// The open ask.
    pub ask: Option<AskId>,
    /// The last pass.
    pub pass: Option<PassState>,
}

/// The pending part of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decided {
    /// An attempt.
    Attempt {
        /// Its number.
        no: AttemptNo,
        /// Its deadline.
        deadline_ms: u64,
        /// Earliest start.
        wake: Timestamp,
        /// Its rung.
        rung: Option<String>,
    },
    /// A read-back.
    ReadBack {
        /// Its rung.
        rung: Option<String>,
    },
    /// Anything else: taken again, which costs nothing.
    Other,
}

impl Decided {
    fn of(decision: &Decision) -> Decided {
        match decision {
            Decision::Attempt { no, deadline_ms, wake, rung, .. } => Decided::Attempt {
                no: *no,
                deadline_ms: *deadline_ms,
                wake: *wake,
                rung: rung.clone(),
            },
            Decision::ReadBack { rung } => Decided::ReadBack { rung: rung.clone() },
            _ => Decided::Other,
        }
    }
}

impl StepState {
    /// Whether a failure is open.
    #[must_use]
    pub fn has_open_failure(&self) -> bool {
        self.failure.is_some() && self.healed.is_none()
    }

    /// The gate with which the step counts for its phase, if it is decided.
    #[must_use]
    pub fn gate(&self) -> Option<Gate> {
        match &self.stage {
            Stage::Done { gate } | Stage::Held { gate } => Some(*gate),
            Stage::Escalated { .. } => Some(Gate::Blocked),
            _ => None,
        }
    }

    /// A new run: a new episode, nothing done yet in it.
    pub(super) fn new_run(&mut self) {
        self.stage = Stage::Planned;
        self.decided = None;
        self.attempts = 0;
        self.recoveries = 0;
        self.failure = None;
        self.healed = None;
        self.seen.clear();
        self.notes.clear();
        self.ask = None;
    }

    /// The person answered: a fresh budget.
    pub(super) fn answered(&mut self, answer: &str) {
        self.stage = Stage::Planned;
        self.decided = None;
        self.attempts = 0;
        self.recoveries = 0;
        self.seen.clear();
        self.ask = None;
        self.notes.insert("answer".to_owned(), answer.to_owned());
    }

    fn use_rung(&mut self, rung: &str) {
        let Some(failure) = &mut self.failure else { return };
        let seen = self.seen.entry(failure.fingerprint).or_default();
        *seen.rungs.entry(rung.to_owned()).or_default() += 1;
        match failure.tried.last_mut() {
            Some(last) if last.rung == rung => last.times += 1,
            _ => failure.tried.push(Tried { rung: rung.to_owned(), times: 1 }),
        }
    }

    /// Applies one event of this step. Returns false when the event does not fit the state.
    pub(super) fn apply(&mut self, event: &Event) -> bool {
        match &event.fact {
            Fact::StepPlanned { uses, safety, definition, deadline_ms } => {
                self.planned = Some(Planned {
                    uses: uses.clone(),
                    safety: *safety,
                    definition: *definition,
                    deadline_ms: *deadline_ms,
                });
                true
            }
            Fact::DecisionTaken { decision, .. } => {
                self.decided = Some((event.seq, Decided::of(decision)));
                true
            }
            Fact::AttemptStarted { deadline_ms, tag, .. } => {
                self.start_attempt(event, *deadline_ms, tag)
            }
            Fact::AttemptFinished { ended, closure, outputs, .. } => {
                let fits = self.stage == Stage::Attempting;
                self.stage = Stage::Attempted;
                self.last_closure = *closure;
                self.last_outputs.clone_from(outputs);
                self.unsettled = self.unsettled || ended.outcome_unknown();
                fits
            }
            Fact::CheckObserved { purpose, outcome, gate, .. } => {
                self.observe_check(event, *purpose, *outcome, *gate)
            }
            Fact::EffectReadBack { found } => self.observe_read_back(*found),
            Fact::FailureDiagnosed { .. } => self.fail(event),
            Fact::RecoveryStarted { rung, .. } => {
                self.use_rung(rung);
                self.recoveries += 1;
                self.decided = None;
                self.stage = Stage::Recovering { rung: rung.clone() };
                self.failure.is_some()
            }
            Fact::RecoveryFinished { rung, outcome, notes } => {
                self.notes.extend(notes.clone());
                let done = *outcome == RecoveryOutcome::Done;
                // What did not apply was not tried: nobody is told that it was.
                if *outcome == RecoveryOutcome::NotApplicable
                    && let Some(failure) = &mut self.failure
                    && failure.tried.last().is_some_and(|t| t.rung == *rung)
                {
                    failure.tried.pop();
                }
                self.stage = Stage::Recovered { rung: rung.clone(), done };
                true
            }
            _ => self.apply_end(event),
        }
    }

    fn apply_end(&mut self, event: &Event) -> bool {
        match &event.fact {
            Fact::StepPassed { gate, definition, closure, outputs } => {
                self.stage = Stage::Done { gate: *gate };
                self.decided = None;
                self.unsettled = false;
                self.pass = Some(PassState {
                    seq: event.seq,
                    run: event.scope.run.clone(),
                    gate: *gate,
                    definition: *definition,
                    closure: *closure,
                    outputs: outputs.clone(),
                });
                true
            }
            Fact::StepRecovered { rung, proof, .. } => {
                self.healed = Some((rung.clone(), *proof));
                self.failure.is_some()
            }
            Fact::StepSkipped { gate, .. } => {
                self.stage = Stage::Done { gate: *gate };
                self.decided = None;
                self.pass.is_some()
            }
            Fact::StepHeld { gate } => {
                self.stage = Stage::Held { gate: *gate };
                self.decided = None;
                true
            }
            Fact::StepEscalated { try_later, .. } => {
                self.stage = Stage::Escalated { try_later: *try_later };
                self.decided = None;
                true
            }
            Fact::AskRaised { ask, .. } => {
                self.ask = Some(ask.clone());
                true
            }
            _ => true,
        }
    }

    fn start_attempt(&mut self, event: &Event, deadline_ms: u64, tag: &str) -> bool {
        if let Some((_, Decided::Attempt { rung: Some(rung), .. })) = self.decided.take() {
            // An action was counted when it started; only repetitions count here.
            let acted = matches!(&self.stage, Stage::Recovered { rung: r, .. } | Stage::Probed { rung: r, .. } | Stage::ReadBack { rung: Some(r), .. } if *r == rung);
            if !acted {
                self.use_rung(&rung);
            }
        }
        self.stage = Stage::Attempting;
        self.attempts += 1;
        if let Some(failure) = &self.failure {
            self.seen.entry(failure.fingerprint).or_default().attempts += 1;
        }
        self.last_attempt = event.scope.attempt.unwrap_or(AttemptNo(self.attempts));
        self.last_deadline_ms = deadline_ms;
        tag.clone_into(&mut self.last_tag);
        self.unsettled = true;
        true
    }

    fn observe_check(
        &mut self,
        event: &Event,
        purpose: CheckPurpose,
        outcome: CheckOutcome,
        gate: Gate,
    ) -> bool {
        match purpose {
            CheckPurpose::Step => {
                self.last_check = Some(event.seq);
                self.stage = Stage::Checked { gate };
                true
            }
            CheckPurpose::Recheck => {
                self.last_check = Some(event.seq);
                self.decided = None;
                match &self.stage {
                    Stage::Recovered { rung, .. } => {
                        self.stage = Stage::Probed {
                            rung: rung.clone(),
                            passed: outcome == CheckOutcome::Pass,
                        };
                        true
                    }
                    _ => false,
                }
            }
            CheckPurpose::Watch | CheckPurpose::Sense => true,
        }
    }

    fn observe_read_back(&mut self, found: ReadBack) -> bool {
        let rung = match self.decided.take() {
            Some((_, Decided::ReadBack { rung })) => rung,
            _ => None,
        };
        if let Some(rung) = &rung {
            self.use_rung(rung);
        }
        if found != ReadBack::Unclear {
            self.unsettled = false;
        }
        self.stage = Stage::ReadBack { found, rung };
        true
    }

    fn fail(&mut self, event: &Event) -> bool {
        let Fact::FailureDiagnosed {
            class,
            known,
            confidence,
            trust,
            fingerprint,
            retry_after_ms,
            allow,
            slots,
        } = &event.fact
        else {
            return false;
        };
        let seen = self.seen.entry(*fingerprint).or_insert_with(|| Seen {
            since: event.at,
            // The attempt that failed is the first of this failure.
            attempts: 1,
            ..Seen::default()
        });
        seen.sightings += 1;
        let since = seen.since;
        // The same failure again keeps what was tried; another one starts with nothing tried.
        let tried = match (&self.failure, &self.healed) {
            (Some(old), None) if old.fingerprint == *fingerprint => old.tried.clone(),
            _ => Vec::new(),
        };
        self.failure = Some(FailureState {
            seq: event.seq,
            class: class.clone(),
            known: *known,
            trust: *trust,
            confidence: *confidence,
            fingerprint: *fingerprint,
            since,
            retry_after_ms: *retry_after_ms,
            allow: allow.clone(),
            slots: slots.clone(),
            tried,
        });
        self.healed = None;
        self.decided = None;
        self.stage = Stage::Failed;
        true
    }
}
