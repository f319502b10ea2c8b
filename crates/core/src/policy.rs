//! `decide`: what to do next for one step. A pure function of the folded state, the policy, the
//! time and a seed; the engine only carries out what it says.
//!
//! **Invariants.** Every ladder ends: each choice uses up a rung, an attempt or a read-back, and
//! all of them are counted in the state. A step of class `guarded`, `once` or `publish` whose
//! effect may be there is never repeated before a read-back says that nothing landed. Only a
//! passed check finishes a step with [`Gate::Pass`] or [`Gate::Warn`].

use std::collections::BTreeMap;

use crate::catalogue::Catalogue;
use crate::check::Gate;
use crate::event::{Decision, ReadBack};
use crate::evidence::Source;
use crate::ids::{AttemptNo, ClassId, Digest, StepKey};
use crate::manifest::Safety;
use crate::projection::{BoardState, FailureState, Lesson, Seen, Stage, StepState};
use crate::row::{Autonomy, Available, Resume, Row, Rung, RungKind, Waits};
use crate::time::Timestamp;

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
/// Note by which a person's yes to an action is remembered; the rung's id follows.
pub const GO_AHEAD_NOTE: &str = "answer";

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
             {LESSON_FAILURES_MAX}\n"
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
        if self.safety == Safety::Publish
            && self.step.notes.get(GO_AHEAD_NOTE).map(String::as_str) != Some("yes")
        {
            return self.ask_for("go_ahead", "publishing needs a recorded go-ahead");
        }
        match self.safety {
            Safety::Guarded => Decided {
                decision: Decision::ReadBack { rung: None },
                reason: "guarded: the guard is asked first".to_owned(),
            },
            _ => self.attempt(None, 0, "first attempt"),
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
            ReadBack::Absent => self.attempt_now(rung, 0, "read back: nothing landed"),
            ReadBack::Partial
                if self.safety == Safety::Guarded || self.safety.freely_repeated() =>
            {
                self.attempt_now(rung, 0, "read back: only the rest is missing")
            }
            ReadBack::Partial => {
                self.ask("part of the effect is there and the step may not be repeated")
            }
            ReadBack::Unclear if self.safety.freely_repeated() => {
                self.attempt_now(rung, 0, "read back told nothing; the step may be repeated freely")
            }
            ReadBack::Unclear if self.step.has_open_failure() && rung.is_some() => self.climb(),
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
        if !self.safety.freely_repeated() && self.step.unsettled {
            return Decided {
                decision: Decision::ReadBack { rung },
                reason: format!("{why}; what landed before is read back first"),
            };
        }
        self.attempt_now(rung.as_ref(), wait_ms, why)
    }

    fn attempt_now(&self, rung: Option<&String>, wait_ms: u64, why: &str) -> Decided {
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

    fn climb(&self) -> Decided {
        let (Some(failure), Some(row)) = (self.failure(), self.row()) else {
            return self.ask("no row is known for this failure");
        };
        if let Some(why) = self.over_budget(failure, row) {
            return self.at_end(row, why);
        }
        for rung in self.order(failure, row) {
            if let Some(decided) = self.try_rung(failure, row, rung) {
                return decided;
            }
        }
        self.at_end(row, "every rung was tried")
    }

    fn over_budget(&self, failure: &FailureState, row: &Row) -> Option<&'static str> {
        let settings = self.policy.settings.get(row.id);
        let attempts_max = settings
            .and_then(|s| s.attempts_max)
            .unwrap_or(row.budget.attempts_max)
            .min(FAILURE_ATTEMPTS_MAX);
        let ladder_ms_max = settings
            .and_then(|s| s.ladder_ms_max)
            .unwrap_or(row.budget.ladder_ms_max)
            .min(LADDER_MS_MAX);
        let run_recoveries = self.board.run.as_ref().map_or(0, |r| r.recoveries);
        if self.seen().is_some_and(|s| s.attempts >= attempts_max) {
            Some("the attempts for this failure are used up")
        } else if self.now.ms_since(failure.since) > ladder_ms_max {
            Some("the time for this failure is used up")
        } else if self.step.recoveries >= STEP_RECOVERIES_MAX {
            Some("the step's recoveries are used up")
        } else if run_recoveries >= RUN_RECOVERIES_MAX {
            Some("the run's recoveries are used up")
        } else {
            None
        }
    }

    /// The rungs in the order in which they are tried: what a person's rule puts first, then
    /// what worked before for this fingerprint, then the row's own order. Asks stay last.
    fn order<'r>(&self, failure: &FailureState, row: &'r Row) -> Vec<&'r Rung> {
        let none = BTreeMap::new();
        let lessons = self.board.lessons.get(&failure.fingerprint).unwrap_or(&none);
        let lesson = |r: &Rung| lessons.get(r.id).copied().unwrap_or_default();
        let mut rungs: Vec<&Rung> = row.ladder.iter().collect();
        rungs.sort_by_key(|r| {
            let ends = matches!(r.kind, RungKind::Ask | RungKind::GoOn);
            let alone = r.autonomy == Autonomy::Alone;
            let allowed = failure.allow.as_deref() == Some(r.id);
            let worked = lesson(r).worked > 0;
            (ends, !(alone && allowed), !(alone && worked))
        });
        let hopeless = |r: &&Rung| {
            let Lesson { worked, failed } = lesson(r);
            r.kind == RungKind::Act && worked == 0 && failed >= LESSON_FAILURES_MAX
        };
        rungs.retain(|r| !hopeless(r));
        rungs
    }

    fn try_rung(&self, failure: &FailureState, row: &Row, rung: &Rung) -> Option<Decided> {
        let used = self.seen().and_then(|s| s.rungs.get(rung.id)).copied().unwrap_or(0) as usize;
        let waits = self.waits(row, rung);
        if used >= waits.as_ref().map_or(1, Vec::len).min(RUNG_TIMES_MAX) {
            return None;
        }
        let unknown = !failure.known;
        let decide = |decision, reason: String| Some(Decided { decision, reason });
        match rung.kind {
            // An unknown failure is never retried blindly: only a step that changes nothing.
            RungKind::Retry(_) | RungKind::RetryLonger { .. }
                if unknown && self.safety != Safety::ReadOnly =>
            {
                None
            }
            RungKind::Retry(w) => {
                let wait = self.wait(failure, rung, &w, waits.as_ref()?.get(used).copied()?, used);
                Some(self.attempt(Some(rung.id), wait, &format!("{}: {}", row.id, rung.what)))
            }
            RungKind::RetryLonger { factor, ms_max } => {
                Some(self.longer(row, rung, factor, ms_max))
            }
            RungKind::ReadBack if self.safety.freely_repeated() => None,
            RungKind::ReadBack => decide(
                Decision::ReadBack { rung: Some(rung.id.to_owned()) },
                format!("{}: {}", row.id, rung.what),
            ),
            // Words alone never pick an action.
            RungKind::Act if failure.trust == Source::Text || unknown => None,
            RungKind::Act if rung.autonomy == Autonomy::Person => None,
            // The action comes with a later release: the ladder goes on without it.
            RungKind::Act if row.available != Available::Now => None,
            RungKind::Act if rung.autonomy == Autonomy::GoAhead => self.go_ahead(row, rung),
            RungKind::Act => decide(
                Decision::Recover { rung: rung.id.to_owned() },
                format!("{}: {}", row.id, rung.what),
            ),
            RungKind::GoOn => {
                decide(Decision::LeaveUnverified, format!("{}: {}", row.id, rung.what))
            }
            RungKind::Ask => Some(self.at_end(row, "the ladder leads to the person")),
        }
    }

    fn go_ahead(&self, row: &Row, rung: &Rung) -> Option<Decided> {
        match self.step.notes.get(GO_AHEAD_NOTE).map(String::as_str) {
            Some("yes") => Some(Decided {
                decision: Decision::Recover { rung: rung.id.to_owned() },
                reason: format!("{}: {}, with the person's go-ahead", row.id, rung.what),
            }),
            // Said no: the next rung.
            Some("no") => None,
            _ => Some(self.ask_for("go_ahead", "the next rung needs a go-ahead")),
        }
    }

    fn longer(&self, row: &Row, rung: &Rung, factor: u32, ms_max: u64) -> Decided {
        let kind = self.step.planned.as_ref().map_or("", |p| p.uses.as_str());
        let family = kind.split('/').next().unwrap_or("").to_owned();
        let factor =
            self.policy.longer.get(&(family, row.id.to_owned())).copied().unwrap_or(factor);
        let longer = self.step.last_deadline_ms.saturating_mul(u64::from(factor)).min(ms_max);
        let decided = self.attempt(Some(rung.id), 0, &format!("{}: {}", row.id, rung.what));
        match decided.decision {
            Decision::Attempt { no, wake, wait_ms, rung, deadline_ms } => Decided {
                decision: Decision::Attempt {
                    no,
                    wake,
                    wait_ms,
                    rung,
                    deadline_ms: longer.max(deadline_ms),
                },
                reason: decided.reason,
            },
            _ => decided,
        }
    }

    /// The waits of a repeating rung with the person's settings, capped; `None` for others.
    fn waits(&self, row: &Row, rung: &Rung) -> Option<Vec<u64>> {
        let RungKind::Retry(waits) = rung.kind else { return None };
        let set = self.policy.settings.get(row.id).and_then(|s| s.waits_ms.clone());
        // A setting replaces waits that are there; it adds none to an immediate repetition.
        let list = match set {
            Some(list) if waits.ms != [0] => list,
            _ => waits.ms.to_vec(),
        };
        Some(list.into_iter().map(|ms| ms.min(WAIT_MS_MAX)).take(RUNG_TIMES_MAX).collect())
    }

    fn wait(
        &self,
        failure: &FailureState,
        rung: &Rung,
        waits: &Waits,
        ms: u64,
        used: usize,
    ) -> u64 {
        if waits.honours_retry_after
            && let Some(asked) = failure.retry_after_ms
        {
            return asked.min(WAIT_MS_MAX);
        }
        let draw = draw(self.seed, self.key, rung.id, failure.seq.0, used as u64);
        jittered(ms, waits.jitter_percent, draw).min(WAIT_MS_MAX)
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

    fn ask_for(&self, kind: &str, why: &str) -> Decided {
        let class = self.row().map_or(EXHAUSTED_CLASS, |r| r.id);
        self.ask_as(class, Some(kind), why)
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

/// A number drawn from the seed for one use of one rung: the same inputs, the same number.
fn draw(seed: u64, key: &StepKey, rung: &str, failure: u64, used: u64) -> u64 {
    let mut hasher = blake3::Hasher::new_derive_key("pcbflow jitter v1");
    for number in [seed, failure, used] {
        hasher.update(&number.to_le_bytes());
    }
    hasher.update(key.to_string().as_bytes());
    hasher.update(&[0]);
    hasher.update(rung.as_bytes());
    let mut first = [0u8; 8];
    for (to, from) in first.iter_mut().zip(hasher.finalize().as_bytes()) {
        *to = *from;
    }
    u64::from_le_bytes(first)
}

/// `ms` with up to `percent` more or less, evenly spread by `draw`.
fn jittered(ms: u64, percent: u8, draw: u64) -> u64 {
    let span = ms.saturating_mul(u64::from(percent)) / 100;
    if span == 0 {
        return ms;
    }
    ms - span + draw % (2 * span + 1)
}

/// What replay found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replay {
    /// Every decision came out again.
    Same {
        /// How many decisions were compared.
        decisions: u64,
    },
    /// A decision came out differently: the first one.
    Different {
        /// Position of the recorded decision.
        seq: u64,
        /// What was recorded.
        recorded: Decision,
        /// What comes out now.
        now: Decision,
        /// The reason that `decide` gives now.
        reason: String,
    },
    /// Decisions were taken under another policy: nothing can be said.
    OtherPolicy {
        /// Position of the first such decision.
        seq: u64,
        /// Its policy.
        recorded: Digest,
        /// The policy now.
        now: Digest,
        /// Decisions that could be compared and were the same.
        compared: u64,
    },
}

/// Feeds the recorded observations to `decide` and compares the decisions. `events` are the
/// whole stream from its first event on.
#[must_use]
pub fn replay<'a>(
    events: impl IntoIterator<Item = &'a crate::event::Event>,
    policy: &Policy,
) -> Replay {
    let digest = policy.digest();
    let mut state = BoardState::default();
    let mut compared = 0;
    let mut other: Option<(u64, Digest)> = None;
    for event in events {
        if let crate::event::Fact::DecisionTaken { decision, now, seed, policy: under, .. } =
            &event.fact
            && let Some(key) = event.step_key()
        {
            if *under == digest {
                let again = decide(&state, &key, policy, *now, *seed);
                if again.decision != *decision {
                    return Replay::Different {
                        seq: event.seq.0,
                        recorded: decision.clone(),
                        now: again.decision,
                        reason: again.reason,
                    };
                }
                compared += 1;
            } else if other.is_none() {
                other = Some((event.seq.0, *under));
            }
        }
        state.apply(event);
    }
    match other {
        Some((seq, recorded)) => Replay::OtherPolicy { seq, recorded, now: digest, compared },
        None => Replay::Same { decisions: compared },
    }
}
