//! State of one step, folded from the events of its scope.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::pairs;
use crate::check::{Counts, Gate};
use crate::event::{Decision, OutputRef, ReadBack};
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
    /// Counts of the check that passed it.
    pub counts: Counts,
    /// Blob with the findings of that check.
    pub findings: Option<Digest>,
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
    /// It has passed, and no read-back has shown since that its effect is gone.
    pub done_once: bool,
    /// A person was asked, looked, and said 'done'; holds until the next attempt or pass.
    pub done_by_word: bool,
    /// A person was asked what the last attempt left behind, looked, and said 'retry'; holds until
    /// the next attempt.
    pub settled_by_person: bool,
    /// The open failure, or the last one that was healed.
    pub failure: Option<FailureState>,
    /// The failure in `failure` is closed, by this rung and check.
    pub healed: Option<(String, Seq)>,
    /// Position of the last check.
    pub last_check: Option<Seq>,
    /// Counts of the step's own last check.
    pub last_counts: Counts,
    /// Blob with the findings of that check.
    pub last_findings: Option<Digest>,
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
    pub(super) fn of(decision: &Decision) -> Decided {
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
}
