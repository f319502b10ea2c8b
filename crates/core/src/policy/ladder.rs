//! Climbing a row's ladder: which rung is next, with which wait, and when the budget is used up.

use std::collections::BTreeMap;

use super::{
    Case, Decided, FAILURE_ATTEMPTS_MAX, GO_AHEAD_ASK, LADDER_MS_MAX, LESSON_FAILURES_MAX,
    RUN_RECOVERIES_MAX, RUNG_TIMES_MAX, STEP_RECOVERIES_MAX, WAIT_MS_MAX, go_ahead_note,
};
use crate::event::Decision;
use crate::evidence::Source;
use crate::ids::StepKey;
use crate::manifest::Safety;
use crate::projection::{FailureState, Lesson};
use crate::row::{Autonomy, Available, Row, Rung, RungKind, Waits};

impl Case<'_> {
    pub(super) fn climb(&self) -> Decided {
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
            // What has failed as often since is unlearned.
            let worked = lesson(r).worked > lesson(r).failed;
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
        let variant = failure.slots.get("variant").map_or("", String::as_str);
        if !rung.only.is_empty() && !rung.only.contains(&variant) {
            // It mends another form of this failure.
            return None;
        }
        let used = self.used(rung.id);
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
        match self.step.notes.get(&go_ahead_note(row.id)).map(String::as_str) {
            Some("yes") => Some(Decided {
                decision: Decision::Recover { rung: rung.id.to_owned() },
                reason: format!("{}: {}, with the person's go-ahead", row.id, rung.what),
            }),
            // Said no: the next rung.
            Some("no") => None,
            _ => Some(self.ask_as(row.id, Some(GO_AHEAD_ASK), "the next rung needs a go-ahead")),
        }
    }

    fn longer(&self, row: &Row, rung: &Rung, factor: u32, ms_max: u64) -> Decided {
        let decided = self.attempt(Some(rung.id), 0, &format!("{}: {}", row.id, rung.what));
        self.with_longer(decided, row, factor, ms_max)
    }

    /// The same attempt with a deadline `factor` times as long as the last one.
    fn with_longer(&self, mut decided: Decided, row: &Row, factor: u32, ms_max: u64) -> Decided {
        let kind = self.step.planned.as_ref().map_or("", |p| p.uses.as_str());
        let family = kind.split('/').next().unwrap_or("").to_owned();
        let set = self.policy.longer.get(&(family, row.id.to_owned()));
        let factor = u64::from(set.copied().unwrap_or(factor));
        let longer = self.step.last_deadline_ms.saturating_mul(factor).min(ms_max);
        if let Decision::Attempt { deadline_ms, .. } = &mut decided.decision {
            *deadline_ms = longer.max(*deadline_ms);
        }
        decided
    }

    /// The attempt that follows a read-back, as its rung wants it: after the rung's wait, or with
    /// its longer deadline. The read-back has counted the use already.
    pub(super) fn again(&self, rung: Option<&String>, why: &str) -> Decided {
        let found = self.failure().filter(|_| self.step.has_open_failure()).and_then(|failure| {
            let row = self.row()?;
            let rung = row.ladder.iter().find(|r| Some(r.id) == rung.map(String::as_str))?;
            Some((failure, row, rung))
        });
        let Some((failure, row, found)) = found else { return self.attempt_now(rung, 0, why) };
        match found.kind {
            RungKind::Retry(waits) => {
                let used = self.used(found.id).saturating_sub(1);
                let list = self.waits(row, found).unwrap_or_default();
                let ms = list.get(used).or(list.last()).copied().unwrap_or(0);
                let wait = self.wait(failure, found, &waits, ms, used);
                self.attempt_now(rung, wait, why)
            }
            RungKind::RetryLonger { factor, ms_max } => {
                self.with_longer(self.attempt_now(rung, 0, why), row, factor, ms_max)
            }
            _ => self.attempt_now(rung, 0, why),
        }
    }

    /// How often a rung was used for the open failure in this episode.
    fn used(&self, rung: &str) -> usize {
        self.seen().and_then(|s| s.rungs.get(rung)).copied().unwrap_or(0) as usize
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
