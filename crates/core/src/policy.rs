//! `decide`: what to do next for one step. A pure function of the folded state, the policy, the
//! time and a seed; the engine only carries out what it says.
//!
//! **Invariants.** Every ladder ends: each choice uses up a rung, an attempt or a read-back, and
//! all of them are counted in the state. A step of class `guarded`, `once` or `publish` whose
//! effect may be there is never repeated before a read-back says that nothing landed. Only a
//! passed check finishes a step with [`Gate::Pass`] or [`Gate::Warn`].

mod ladder;
mod replay;

use std::collections::BTreeMap;

use crate::catalogue::Catalogue;
use crate::check::Gate;
use crate::event::{Decision, ReadBack};
use crate::ids::{AttemptNo, ClassId, Digest, StepKey};
use crate::manifest::Safety;
use crate::projection::{BoardState, FailureState, Seen, Stage, StepState};
use crate::row::{Resume, Row, RungKind};
use crate::time::Timestamp;

pub use replay::{Replay, replay};

/// Hard cap: attempts of one step in one run, or since a person's answer.
pub const STEP_ATTEMPTS_MAX: u32 = 20;
/// Hard cap: attempts for one failure in its episode, whatever a row or setting says.
pub const FAILURE_ATTEMPTS_MAX: u32 = 12;
/// Hard cap: recoveries of one run.
pub const RUN_RECOVERIES_MAX: u32 = 200;
/// Hard cap: recoveries of one step in one run, or since a person's answer.
pub const STEP_RECOVERIES_MAX: u32 = 30;
/// Hard cap: wait before a repetition that a row, setting or `Retry-After` may ask for, in
/// milliseconds.
pub const WAIT_MS_MAX: u64 = 600_000;
/// Hard cap: repetitions of one rung.
pub const RUNG_TIMES_MAX: usize = 5;
/// Hard cap: time from first failure to last rung, in milliseconds.
pub const LADDER_MS_MAX: u64 = 24 * 3600 * 1000;
/// After this many failures without one success a rung is skipped for a fingerprint.
pub const LESSON_FAILURES_MAX: u32 = 3;
/// Class in whose words a person is asked when hard caps end the tries.
pub const EXHAUSTED_CLASS: &str = "SC-6";
/// Kind of the ask for a person's yes: to the one action of a row that needs it, or, under
/// [`EXHAUSTED_CLASS`], to a step that publishes.
pub const GO_AHEAD_ASK: &str = "go_ahead";
/// Note that holds the answer to the go-ahead without which nothing of class `publish` is
/// attempted.
pub const PUBLISH_NOTE: &str = "publish";
/// The answer that lets a step run again, whatever its last attempt may have left behind.
pub const RETRY_ANSWER: &str = "retry";
/// The answer that a step which may run only once has done its work, where nothing else can tell.
pub const DONE_ANSWER: &str = "done";
/// Rung under which a failure is closed that the person mended.
pub const PERSON_RUNG: &str = "ask";

/// The words that answer an ask of this kind. Every other one would be recorded and mean nothing.
#[must_use]
pub fn answers(kind: &str) -> &'static [&'static str] {
    match kind {
        // A go-ahead may be looked at again, as every ask.
        GO_AHEAD_ASK => &["yes", "no", RETRY_ANSWER],
        // What the person has done by then is what is tried again.
        "sign_in" => &[RETRY_ANSWER, "push"],
        _ => &[RETRY_ANSWER],
    }
}

/// The same for an ask about a step: what it did can be settled by the word of the person, too, when
/// it may run only once.
#[must_use]
pub fn answers_about(kind: &str, step: Option<&StepState>) -> Vec<&'static str> {
    let open = |s: &StepState| {
        (s.unsettled || s.done_once) && s.planned.as_ref().is_some_and(|p| p.safety == Safety::Once)
    };
    let done = kind != GO_AHEAD_ASK && step.is_some_and(open);
    answers(kind).iter().copied().chain(done.then_some(DONE_ANSWER)).collect()
}

/// Note that holds the answer to the go-ahead of a class. A yes to one class's action is none to
/// another's, and none to publishing.
#[must_use]
pub fn go_ahead_note(class: &str) -> String {
    format!("{GO_AHEAD_ASK}:{class}")
}

/// Numbers that a person set for a class in `pcbflow.toml`. The hard caps hold all the same.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClassSettings {
    /// Most attempts for one failure.
    pub attempts_max: Option<u32>,
    /// Waits of its repetitions in milliseconds.
    pub waits_ms: Option<Vec<u64>>,
    /// Longest time of its ladder in milliseconds.
    pub ladder_ms_max: Option<u64>,
}

/// Everything that `decide` goes by, besides the state.
#[derive(Debug, Clone)]
pub struct Policy {
    /// All rows.
    pub catalogue: Catalogue,
    /// Settings by class.
    pub settings: BTreeMap<String, ClassSettings>,
    /// Factor of the longer deadline, by first part of the step kind and class.
    pub longer: BTreeMap<(String, String), u32>,
}

impl Policy {
    /// Everything that decisions depend on, as text: what is stored as the policy's blob.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut out = format!("pcbflow policy v1\ncatalogue {}\n", self.catalogue.digest());
        for (class, s) in &self.settings {
            out.push_str(&format!(
                "settings {class} attempts={:?} waits={:?} ladder={:?}\n",
                s.attempts_max, s.waits_ms, s.ladder_ms_max
            ));
        }
        for ((kind, class), factor) in &self.longer {
            out.push_str(&format!("longer {kind} {class} {factor}\n"));
        }
        out.push_str(&format!(
            "caps {STEP_ATTEMPTS_MAX} {FAILURE_ATTEMPTS_MAX} {RUN_RECOVERIES_MAX} \
             {STEP_RECOVERIES_MAX} {WAIT_MS_MAX} {RUNG_TIMES_MAX} {LADDER_MS_MAX} \
             {LESSON_FAILURES_MAX}\nlessons first=worked>failed\n"
        ));
        out
    }

    /// Digest of [`Policy::describe`].
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(self.describe().as_bytes())
    }
}

/// A decision with the reason in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// What to do.
    pub decision: Decision,
    /// Why.
    pub reason: String,
}

struct Case<'a> {
    key: &'a StepKey,
    step: &'a StepState,
    board: &'a BoardState,
    policy: &'a Policy,
    now: Timestamp,
    seed: u64,
    safety: Safety,
}

/// Decides what to do next for the step `key` of `board`.
///
/// Never panics and never answers "nothing": a state that fits no rule leads to an ask.
#[must_use]
pub fn decide(
    board: &BoardState,
    key: &StepKey,
    policy: &Policy,
    now: Timestamp,
    seed: u64,
) -> Decided {
    let fresh = StepState::default();
    let step = board.steps.get(key).unwrap_or(&fresh);
    // Without a plan the strictest class holds: nothing is repeated without proof.
    let safety = step.planned.as_ref().map_or(Safety::Once, |p| p.safety);
    let case = Case { key, step, board, policy, now, seed, safety };
    match &step.stage {
        Stage::Planned => case.first(),
        Stage::Attempting | Stage::Attempted => case.settle(),
        Stage::Checked { gate } | Stage::Done { gate } | Stage::Held { gate } => {
            finish(*gate, "the step's own check was observed")
        }
        Stage::Failed | Stage::Recovering { .. } => case.climb(),
        Stage::ReadBack { found, rung } => case.after_read_back(*found, rung.as_ref()),
        Stage::Recovered { rung, done: true } => case.after_action(rung),
        Stage::Recovered { .. } => case.climb(),
        Stage::Probed { rung, passed: true } => {
            case.attempt(Some(rung), 0, "the probe after the action passed")
        }
        Stage::Probed { .. } => case.climb(),
        Stage::Escalated { try_later: true } => {
            Decided { decision: Decision::TryLater, reason: "stopped for now".to_owned() }
        }
        Stage::Escalated { .. } => case.ask("the ladder is at its end"),
    }
}

fn finish(gate: Gate, why: &str) -> Decided {
    Decided { decision: Decision::Finish { gate }, reason: why.to_owned() }
}

impl Case<'_> {
    fn first(&self) -> Decided {
        if let Some(refused) = self.publish_refused() {
            return refused;
        }
        match self.safety {
            Safety::Guarded => Decided {
                decision: Decision::ReadBack { rung: None },
                reason: "guarded: the guard is asked first".to_owned(),
            },
            _ if self.step.last_attempt.0 > 0 => {
                self.attempt(None, 0, "planned again: begins anew")
            }
            _ => self.attempt(None, 0, "first attempt"),
        }
    }

    /// Why a step that publishes may not be attempted now, if it may not.
    fn publish_refused(&self) -> Option<Decided> {
        if self.safety != Safety::Publish {
            return None;
        }
        match self.step.notes.get(PUBLISH_NOTE).map(String::as_str) {
            Some("yes") => None,
            Some("no") => Some(Decided {
                decision: Decision::LeaveUnverified,
                reason: "the person said no to publishing".to_owned(),
            }),
            _ => Some(self.ask_as(
                EXHAUSTED_CLASS,
                Some(GO_AHEAD_ASK),
                "publishing needs a recorded go-ahead",
            )),
        }
    }

    /// After an attempt whose outcome nobody recorded.
    fn settle(&self) -> Decided {
        if self.safety.freely_repeated() {
            self.attempt(None, 0, "cut short; the step may be repeated freely")
        } else {
            Decided {
                decision: Decision::ReadBack { rung: None },
                reason: "cut short; what landed is read back before anything is repeated"
                    .to_owned(),
            }
        }
    }

    fn after_read_back(&self, found: ReadBack, rung: Option<&String>) -> Decided {
        match found {
            ReadBack::Landed => finish(Gate::Pass, "read back: the effect is there"),
            ReadBack::Absent => self.again(rung, "read back: nothing landed"),
            ReadBack::Partial
                if self.safety == Safety::Guarded || self.safety.freely_repeated() =>
            {
                self.again(rung, "read back: only the rest is missing")
            }
            ReadBack::Unclear if self.safety.freely_repeated() => {
                self.again(rung, "read back told nothing; the step may be repeated freely")
            }
            // Where reading can't tell, the word of the person who looked counts, for one attempt.
            ReadBack::Unclear if self.step.settled_by_person => {
                self.again(rung, "it can't be told, and the person who looked said 'retry'")
            }
            ReadBack::Unclear if self.step.done_by_word => {
                finish(Gate::Pass, "it can't be told, and the person who looked says it is done")
            }
            ReadBack::Unclear if self.step.has_open_failure() && rung.is_some() => self.climb(),
            ReadBack::Partial => {
                self.ask("part of the effect is there and the step may not be repeated")
            }
            ReadBack::Unclear => self.ask("it can't be told whether the effect is there"),
        }
    }

    fn after_action(&self, rung: &str) -> Decided {
        match self.row().and_then(|row| row.recheck.probe) {
            Some(probe) => Decided {
                decision: Decision::Probe { rung: rung.to_owned(), probe: probe.to_owned() },
                reason: "the action says it is done; the probe looks for itself".to_owned(),
            },
            None => {
                self.attempt(Some(rung), 0, "the action says it is done; the attempt proves it")
            }
        }
    }

    /// An attempt, or the read-back that must come before it.
    fn attempt(&self, rung: Option<&str>, wait_ms: u64, why: &str) -> Decided {
        let rung = rung.map(str::to_owned);
        // What was done once is not done again because its definition, an input or an output is
        // another one now.
        let done_before = self.safety == Safety::Once && self.step.done_once;
        if !self.safety.freely_repeated() && (self.step.unsettled || done_before) {
            return Decided {
                decision: Decision::ReadBack { rung },
                reason: format!("{why}; what landed before is read back first"),
            };
        }
        self.attempt_now(rung.as_ref(), wait_ms, why)
    }

    fn attempt_now(&self, rung: Option<&String>, wait_ms: u64, why: &str) -> Decided {
        if let Some(refused) = self.publish_refused() {
            return refused;
        }
        if self.step.attempts >= STEP_ATTEMPTS_MAX {
            return self.exhausted("the step's attempts are used up");
        }
        Decided {
            decision: Decision::Attempt {
                no: AttemptNo(self.step.last_attempt.0.saturating_add(1)),
                deadline_ms: self.deadline_ms(),
                wake: self.now.plus_ms(wait_ms),
                wait_ms,
                rung: rung.cloned(),
            },
            reason: why.to_owned(),
        }
    }

    fn deadline_ms(&self) -> u64 {
        let planned = self.step.planned.as_ref().map_or(60_000, |p| p.deadline_ms);
        // A deadline that was made longer stays so for the rest of the episode.
        if self.longer_used() { self.step.last_deadline_ms.max(planned) } else { planned }
    }

    fn longer_used(&self) -> bool {
        self.row().is_some_and(|row| {
            row.ladder.iter().any(|r| {
                matches!(r.kind, RungKind::RetryLonger { .. })
                    && self.seen().is_some_and(|s| s.rungs.contains_key(r.id))
            })
        })
    }

    fn failure(&self) -> Option<&FailureState> {
        self.step.failure.as_ref()
    }

    fn row(&self) -> Option<&Row> {
        self.failure().and_then(|f| self.policy.catalogue.row(&f.class))
    }

    fn seen(&self) -> Option<&Seen> {
        self.failure().and_then(|f| self.step.seen.get(&f.fingerprint))
    }

    fn at_end(&self, row: &Row, why: &str) -> Decided {
        let goes_on = row.ladder.iter().any(|r| r.kind == RungKind::GoOn);
        if row.passing && !goes_on {
            return Decided { decision: Decision::TryLater, reason: why.to_owned() };
        }
        if goes_on {
            return Decided { decision: Decision::LeaveUnverified, reason: why.to_owned() };
        }
        self.ask(why)
    }

    fn exhausted(&self, why: &str) -> Decided {
        if self.row().is_some_and(|r| r.passing) {
            return Decided { decision: Decision::TryLater, reason: why.to_owned() };
        }
        self.ask_as(EXHAUSTED_CLASS, None, why)
    }

    fn ask(&self, why: &str) -> Decided {
        match self.row() {
            Some(row) if !matches!(row.texts.resume, Resume::Nothing) => {
                self.ask_as(row.id, None, why)
            }
            _ => self.ask_as(EXHAUSTED_CLASS, None, why),
        }
    }

    fn ask_as(&self, class: &str, kind: Option<&str>, why: &str) -> Decided {
        let row = ClassId::new(class).ok().and_then(|c| self.policy.catalogue.row(&c).copied());
        let (row_kind, tool, watch) = row.map_or(("retry", "the computer", None), |row| {
            let watch = match row.texts.resume {
                Resume::Watch(probe) => Some(probe.to_owned()),
                Resume::Retry | Resume::Nothing => None,
            };
            (row.texts.ask_kind, row.texts.tool, watch)
        });
        let class = ClassId::new(class).unwrap_or_else(|_| {
            ClassId::new(EXHAUSTED_CLASS)
                .unwrap_or_else(|_| unreachable!("a constant of the right form"))
        });
        Decided {
            decision: Decision::Ask {
                class,
                kind: kind.unwrap_or(row_kind).to_owned(),
                tool: tool.to_owned(),
                // A go-ahead can't be seen by looking.
                watch: if kind.is_some() { None } else { watch },
            },
            reason: why.to_owned(),
        }
    }
}
