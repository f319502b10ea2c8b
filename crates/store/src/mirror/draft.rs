//! The fold behind the mirror: which record each attempt of a board has by now.

use std::collections::BTreeMap;

use pcbflow_core::check::Gate;
use pcbflow_core::event::{CheckPurpose, Decision, Ended, Event, Fact, Words, word};
use pcbflow_core::evidence::Source;
use pcbflow_core::ids::{Digest, PhaseId, Seq, StepId};
use serde::{Deserialize, Serialize};

use super::record::{Record, RecordError, RecordRecovery, Status};
use super::{HumanMessage, MessageFacts};

/// Most attempts of one phase that wait for their end; older ones are closed as they stand.
const OPEN_DRAFTS_MAX: usize = 4096;

/// What failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Failure {
    class: String,
    known: bool,
    http: Option<i64>,
    message: String,
    stack: String,
    slots: BTreeMap<String, String>,
}

/// What is remembered of a step between its attempts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct StepContext {
    failure: Option<Failure>,
    tried: Vec<String>,
}

/// One attempt that may still change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Draft {
    step: StepId,
    ts: String,
    command: String,
    script: String,
    stdout_tail: String,
    tool: String,
    status: Status,
    failure: Option<Failure>,
    tried: Vec<String>,
    seq: Seq,
    hash: Digest,
    /// Findings that let the step pass and are still to be read: its warnings.
    notes: u64,
    /// Something was said about it: it has a line.
    judged: bool,
    /// Nothing can change it any more.
    closed: bool,
}

/// One phase.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Phase {
    /// Bytes of the files that are final, and the digest of the last final line.
    pub(super) json_bytes: u64,
    pub(super) log_bytes: u64,
    pub(super) last_line: Option<(u64, Digest)>,
    pub(super) drafts: Vec<Draft>,
    steps: BTreeMap<StepId, StepContext>,
}

/// All phases of a board.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fold {
    /// Position of the next event.
    pub(super) next: Seq,
    pub(super) phases: BTreeMap<PhaseId, Phase>,
}

impl Fold {
    /// Takes in one event. Gives the phase whose files change.
    pub(super) fn apply(&mut self, event: &Event) -> Vec<PhaseId> {
        self.next = event.seq.next();
        if matches!(event.fact, Fact::RunStarted { .. } | Fact::RunStopped { .. }) {
            return self.close_all();
        }
        let (Some(phase_id), Some(step)) = (&event.scope.phase, &event.scope.step) else {
            return Vec::new();
        };
        let phase = self.phases.entry(phase_id.clone()).or_default();
        if phase.apply(step, event) { vec![phase_id.clone()] } else { Vec::new() }
    }

    fn close_all(&mut self) -> Vec<PhaseId> {
        let mut changed = Vec::new();
        for (id, phase) in &mut self.phases {
            if !phase.drafts.is_empty() {
                phase.drafts.iter_mut().for_each(Draft::close);
                changed.push(id.clone());
            }
            phase.steps.clear();
        }
        changed
    }
}

impl Phase {
    fn apply(&mut self, step: &StepId, event: &Event) -> bool {
        let none = Words::default();
        let words = event.words.as_ref().unwrap_or(&none);
        match &event.fact {
            Fact::AttemptStarted { .. } => self.start(step, event, words),
            Fact::DecisionTaken {
                decision: Decision::Attempt { rung: Some(rung), .. }, ..
            }
            | Fact::RecoveryStarted { rung, .. } => self.try_rung(step, rung),
            Fact::AttemptFinished { ended, tool, .. } => {
                let Some(draft) = self.last(step) else { return false };
                draft.finish(*ended, tool, event, words);
            }
            Fact::CheckObserved { purpose: CheckPurpose::Step, gate, counts, .. } => {
                let Some(draft) = self.last(step) else { return false };
                draft.notes = if *gate == Gate::Warn { u64::from(counts.warnings) } else { 0 };
                draft.judge(if gate.advances() { Status::Ok } else { Status::Failed });
            }
            Fact::FailureDiagnosed { class, known, slots, .. } => {
                let failure = Failure {
                    class: class.as_str().to_owned(),
                    known: *known,
                    slots: slots.clone(),
                    ..Failure::of_words(words)
                };
                let context = self.steps.entry(step.clone()).or_default();
                context.failure = Some(failure.clone());
                let Some(draft) = self.last(step) else { return false };
                draft.failure = Some(failure);
                draft.judge(Status::Failed);
            }
            Fact::StepPassed { .. } => {
                self.steps.remove(step);
                let Some(draft) = self.last(step) else { return false };
                if draft.status != Status::Recovered {
                    draft.judge(Status::Ok);
                    draft.failure = None;
                }
            }
            Fact::StepRecovered { .. } => {
                let context = self.steps.get(step).cloned().unwrap_or_default();
                let Some(draft) = self.last(step) else { return false };
                draft.failure = draft.failure.take().or(context.failure);
                draft.tried = context.tried;
                draft.judge(Status::Recovered);
            }
            Fact::StepHeld { gate } => {
                let Some(draft) = self.last(step) else { return false };
                draft.failure.get_or_insert_with(|| Failure {
                    class: word(gate),
                    ..Failure::of_words(words)
                });
                draft.judge(Status::Failed);
            }
            Fact::StepEscalated { .. } => {
                let context = self.steps.remove(step).unwrap_or_default();
                let Some(draft) = self.last(step) else { return false };
                draft.failure = draft.failure.take().or(context.failure);
                draft.tried = context.tried;
                draft.judge(Status::Escalated);
            }
            _ => return false,
        }
        true
    }

    fn last(&mut self, step: &StepId) -> Option<&mut Draft> {
        self.drafts.iter_mut().rev().find(|d| d.step == *step && !d.closed)
    }

    fn try_rung(&mut self, step: &StepId, rung: &str) {
        let context = self.steps.entry(step.clone()).or_default();
        context.tried.push(rung.to_owned());
        let tried = context.tried.clone();
        if let Some(draft) = self.last(step) {
            draft.tried = tried;
        }
    }

    fn start(&mut self, step: &StepId, event: &Event, words: &Words) {
        self.drafts.iter_mut().filter(|d| d.step == *step).for_each(Draft::close);
        let over = self.drafts.len().saturating_sub(OPEN_DRAFTS_MAX);
        self.drafts.iter_mut().take(over).for_each(Draft::close);
        let context = self.steps.entry(step.clone()).or_default().clone();
        self.drafts.push(Draft {
            step: step.clone(),
            ts: event.at.seconds_text(),
            command: words.argv.join(" "),
            script: words.more.get("script").cloned().unwrap_or_default(),
            stdout_tail: String::new(),
            tool: String::new(),
            status: Status::Failed,
            failure: None,
            tried: context.tried,
            seq: event.seq,
            hash: event.hash,
            notes: 0,
            judged: false,
            closed: false,
        });
    }
}

impl Failure {
    fn of_words(words: &Words) -> Failure {
        let http = words.signals.iter().find(|s| s.source == Source::Http);
        let mut stack = String::new();
        for signal in &words.signals {
            let number = signal.number.map(|n| format!(" {n}")).unwrap_or_default();
            let line = format!("{} {}{number} {}", signal.source.word(), signal.code, signal.text);
            stack.push_str(line.trim_end());
            stack.push('\n');
        }
        stack.push_str(&words.stderr_tail);
        Failure {
            class: String::new(),
            known: false,
            http: http.and_then(|s| s.number),
            message: words.summary.clone(),
            stack,
            slots: BTreeMap::new(),
        }
    }
}

impl Draft {
    fn judge(&mut self, status: Status) {
        self.status = status;
        self.judged = true;
    }

    fn finish(&mut self, ended: Ended, tool: &str, event: &Event, words: &Words) {
        self.ts = event.at.seconds_text();
        self.seq = event.seq;
        self.hash = event.hash;
        self.tool = tool.to_owned();
        self.stdout_tail.clone_from(&words.stdout_tail);
        if self.command.is_empty() {
            self.command = words.argv.join(" ");
        }
        if let Some(script) = words.more.get("script") {
            self.script.clone_from(script);
        }
        if ended != Ended::Returned {
            self.failure.get_or_insert_with(|| Failure::of_words(words));
            self.judge(Status::Failed);
        }
    }

    /// No more can come: an attempt of which nothing was heard was cut short.
    fn close(&mut self) {
        self.closed = true;
        if !self.judged {
            self.judge(Status::Failed);
            self.failure.get_or_insert_with(|| Failure {
                message: "the attempt ended without a result".to_owned(),
                ..Failure::of_words(&Words::default())
            });
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// The record, if the attempt has one yet.
    pub(super) fn record(
        &self,
        board: &str,
        phase: &PhaseId,
        words: &dyn HumanMessage,
    ) -> Option<Record> {
        if !self.judged {
            return None;
        }
        let failure = (self.status != Status::Ok).then_some(self.failure.as_ref()).flatten();
        let result = match self.status {
            Status::Recovered => "success",
            Status::Escalated => "exhausted",
            _ if self.tried.is_empty() => "none",
            _ => "tried",
        };
        let no_slots = BTreeMap::new();
        let human_message = words.message(&MessageFacts {
            board,
            phase: phase.as_str(),
            step: self.step.as_str(),
            status: self.status,
            class: failure.map_or("", |f| f.class.as_str()),
            known: failure.is_some_and(|f| f.known),
            tried: &self.tried,
            tool: &self.tool,
            notes: self.notes,
            slots: failure.map_or(&no_slots, |f| &f.slots),
        });
        Some(Record {
            ts: self.ts.clone(),
            project: board.to_owned(),
            phase: phase.as_str().to_owned(),
            step: self.step.as_str().to_owned(),
            command: self.command.clone(),
            script: self.script.clone(),
            stdout_tail: self.stdout_tail.clone(),
            status: self.status,
            error: failure.map(|f| RecordError {
                class: f.class.clone(),
                http: f.http,
                message: f.message.clone(),
                stack: f.stack.clone(),
            }),
            recovery: RecordRecovery {
                attempted: self.tried.join(" + "),
                attempts: u32::try_from(self.tried.len()).unwrap_or(u32::MAX),
                result: result.to_owned(),
            },
            human_message,
            seq: self.seq,
            hash: self.hash,
        })
    }
}
