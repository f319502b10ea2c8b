//! The fold of one step: what each event does to its state.

use super::step::{Decided, FailureState, PassState, Planned, Seen, Stage, StepState, Tried};
use crate::check::{CheckOutcome, Gate};
use crate::event::{CheckPurpose, Ended, Event, Fact, ReadBack, RecoveryOutcome};
use crate::ids::{AttemptNo, ClassId, Digest, Seq};
use crate::manifest::Safety;
use crate::policy::{
    DONE_ANSWER, EXHAUSTED_CLASS, GO_AHEAD_ASK, PUBLISH_NOTE, RETRY_ANSWER, go_ahead_note,
};
use crate::time::Timestamp;

impl StepState {
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

    /// The person answered: a fresh budget. A yes or no to an action goes on with the ladder
    /// where it stood; any other answer lets the step start again.
    pub(super) fn answered(&mut self, kind: &str, class: &ClassId, answer: &str, at: Timestamp) {
        self.decided = None;
        self.attempts = 0;
        self.recoveries = 0;
        self.ask = None;
        self.notes.insert("answer".to_owned(), answer.to_owned());
        let go_ahead = kind == GO_AHEAD_ASK && matches!(answer, "yes" | "no");
        if go_ahead && class.as_str() == EXHAUSTED_CLASS {
            self.notes.insert(PUBLISH_NOTE.to_owned(), answer.to_owned());
        } else if go_ahead {
            self.notes.insert(go_ahead_note(class.as_str()), answer.to_owned());
            if let Some(failure) = &mut self.failure {
                failure.since = at;
                for seen in self.seen.values_mut() {
                    seen.attempts = 0;
                    seen.since = at;
                }
                self.stage = Stage::Failed;
                return;
            }
        }
        self.done_by_word = answer == DONE_ANSWER && kind != GO_AHEAD_ASK;
        if answer == RETRY_ANSWER && kind != GO_AHEAD_ASK {
            // They were told that the step may have done its work, and say that it is to run.
            self.settled_by_person = true;
        }
        self.stage = Stage::Planned;
        self.seen.clear();
        if let Some(failure) = &mut self.failure {
            // What the person did counts from here on, not what was tried before.
            failure.tried.clear();
        }
    }

    /// A plan after a decided end starts the step again: its definition, inputs or outputs are
    /// others now. A step in the middle of its ladder stays there.
    fn plan_again(&mut self, definition: Digest, safety: Safety) {
        let ended = matches!(
            self.stage,
            Stage::Done { .. } | Stage::Held { .. } | Stage::Escalated { try_later: true }
        );
        if ended {
            self.stage = Stage::Planned;
            self.decided = None;
        }
        let Some(before) = &self.planned else { return };
        if before.safety != safety {
            // What was decided under another class is decided again.
            self.decided = None;
        }
        if before.definition != definition {
            // The go-ahead was given for something else.
            self.notes.remove(PUBLISH_NOTE);
        }
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
                self.plan_again(*definition, *safety);
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
                // An attempt begins only when the one before is settled: what never began leaves
                // nothing behind.
                self.unsettled =
                    *ended != Ended::NotStarted && (self.unsettled || ended.outcome_unknown());
                fits
            }
            Fact::CheckObserved { purpose, outcome, gate, .. } => {
                self.observe_check(event, *purpose, *outcome, *gate)
            }
            Fact::EffectReadBack { found } => self.observe_read_back(event.seq, *found),
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
                self.done_once = true;
                self.done_by_word = false;
                self.pass = Some(PassState {
                    seq: event.seq,
                    run: event.scope.run.clone(),
                    gate: *gate,
                    definition: *definition,
                    closure: *closure,
                    outputs: outputs.clone(),
                    counts: self.last_counts,
                    findings: self.last_findings,
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
                self.forget_pass();
                self.stage = Stage::Held { gate: *gate };
                self.decided = None;
                true
            }
            Fact::StepEscalated { try_later, .. } => {
                self.forget_pass();
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

    /// The same inputs were judged again, and not as passed: the older pass holds no more.
    fn forget_pass(&mut self) {
        let closure = self.last_closure;
        let judged = self.last_check.max(self.failure.as_ref().map(|f| f.seq));
        self.pass = self.pass.take().filter(|p| p.closure != closure || Some(p.seq) > judged);
    }

    fn start_attempt(&mut self, event: &Event, deadline_ms: u64, tag: &str) -> bool {
        if let Some((_, Decided::Attempt { rung: Some(rung), .. })) = self.decided.take() {
            // An action was counted when it started, a read-back when it was observed.
            let read = matches!(&self.stage, Stage::ReadBack { rung: Some(r), .. } if *r == rung);
            if !read && !self.acted(&rung) {
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
        self.settled_by_person = false;
        self.done_by_word = false;
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
                if let Fact::CheckObserved { counts, findings, .. } = &event.fact {
                    self.last_counts = *counts;
                    self.last_findings = *findings;
                }
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

    /// Whether this use of a rung was counted when its action started.
    fn acted(&self, rung: &str) -> bool {
        matches!(
            &self.stage,
            Stage::Recovered { rung: r, .. } | Stage::Probed { rung: r, .. } if *r == rung
        )
    }

    fn observe_read_back(&mut self, seq: Seq, found: ReadBack) -> bool {
        let rung = match self.decided.take() {
            Some((_, Decided::ReadBack { rung })) => rung,
            _ => None,
        };
        if let Some(rung) = rung.as_ref().filter(|r| !self.acted(r)) {
            self.use_rung(rung);
        }
        self.last_check = Some(seq);
        // A found effect is settled by the pass that follows, not by the look alone: a process
        // may end between the two.
        let safety = self.planned.as_ref().map_or(Safety::Once, |p| p.safety);
        let rest = found == ReadBack::Partial && safety <= Safety::Guarded;
        if found == ReadBack::Absent || rest {
            self.unsettled = false;
            self.done_once = false;
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
