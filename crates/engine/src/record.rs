//! Records what futures brought: observations, diagnoses, checks, and what panicked.

use std::sync::Arc;

use pcbflow_core::check::{CheckOutcome, CheckResult};
use pcbflow_core::event::{
    CatchLayer, CheckPurpose, Ended, Fact, NewEvent, ReadBack, RecoveryOutcome, TAIL_BYTES_MAX,
    Words,
};
use pcbflow_core::evidence::{Evidence, Signal, Source, codes};
use pcbflow_core::ids::{Digest, StepKey};
use pcbflow_core::manifest::{PhaseDef, Safety};
use pcbflow_core::ports::{Observation, StepResult};
use pcbflow_core::projection::{CAUSE_SLOT, Stage};
use pcbflow_core::redact::arguments;
use pcbflow_core::text::head_and_tail;

use crate::act::{Done, Outcome};
use crate::dispatcher::{Dispatcher, What, found_for};
use crate::setup::EngineError;
use crate::shared;

impl Dispatcher<'_> {
    /// Records what a future brought.
    pub(crate) async fn finish(&mut self, phase: &PhaseDef, done: Done) -> Result<(), EngineError> {
        let key = done.key;
        match done.outcome {
            Outcome::Woke => {
                // The next pass starts the attempt, or sees that all is to stop.
                if !self.cancelled() {
                    self.woke.insert(key);
                }
                Ok(())
            }
            Outcome::Looked(result) => self.looked(phase, &key, result).await,
            Outcome::Attempted(observation, closure, took) => {
                self.attempted(&key, *observation, closure, took).await
            }
            Outcome::ReadBack(found) => self.read_back(&key, found).await,
            Outcome::Acted(rung, recovery) => {
                if recovery.outcome == RecoveryOutcome::Failed && !self.cancelled() {
                    self.did_not_work(&key, &rung).await?;
                }
                let words = Words { summary: recovery.summary, ..Words::default() };
                let fact = Fact::RecoveryFinished {
                    rung,
                    outcome: recovery.outcome,
                    notes: recovery.notes,
                };
                self.put(&key, fact, words, true).await
            }
            Outcome::Probed(result) => {
                if self.cancelled() && result.outcome != CheckOutcome::Pass {
                    // Cut short: it says nothing, and is made again after the resume.
                    return Ok(());
                }
                if let Stage::Recovered { rung, .. } = self.stage(&key)
                    && result.outcome == CheckOutcome::Fail
                {
                    self.did_not_work(&key, &rung).await?;
                }
                self.observe(&key, &result, CheckPurpose::Recheck, None).await
            }
            Outcome::Watched(result) => self.watched(&key, &result).await,
        }
    }

    /// The lesson of an action that failed, or whose probe says that nothing changed.
    async fn did_not_work(&mut self, key: &StepKey, rung: &str) -> Result<(), EngineError> {
        let state = self.journal.state().steps.get(key);
        let Some(failure) = state.and_then(|s| s.failure.as_ref()) else { return Ok(()) };
        let fact = Fact::LessonLearned {
            fingerprint: failure.fingerprint,
            class: failure.class.clone(),
            rung: rung.to_owned(),
            worked: false,
        };
        self.put(key, fact, Words::default(), false).await
    }

    async fn read_back(&mut self, key: &StepKey, found: ReadBack) -> Result<(), EngineError> {
        if self.cancelled() && found == ReadBack::Unclear {
            // Cut short: it says nothing, and is made again after the resume.
            return Ok(());
        }
        let found = found_for(key, found);
        let words = Words::say(match found {
            ReadBack::Landed => "the effect is there",
            ReadBack::Absent => "nothing of the effect is there",
            ReadBack::Partial => "part of the effect is there",
            ReadBack::Unclear => "it can't be told",
        });
        self.put(key, Fact::EffectReadBack { found }, words, true).await
    }

    async fn attempted(
        &mut self,
        key: &StepKey,
        observation: Observation,
        closure: Digest,
        took_ms: u64,
    ) -> Result<(), EngineError> {
        // With the wish to stop there, only a check that ran says anything.
        let said = match &observation.result {
            StepResult::Checked(check) => {
                check.outcome != CheckOutcome::CouldNotRun && observation.ended != Ended::Stopped
            }
            StepResult::Failed(_) => false,
        };
        let stopped = self.cancelled() && !said;
        let ended = if stopped { Ended::Stopped } else { observation.ended };
        let attempt = self.journal.state().steps.get(key).map(|s| s.last_attempt);
        let mut scope = self.journal.scope(Some(key));
        scope.attempt = attempt;
        let mut blobs = observation.blobs.clone();
        blobs.extend(observation.stdout.blob.clone());
        blobs.extend(observation.stderr.blob.clone());
        let finished = Fact::AttemptFinished {
            ended,
            exit: observation.exit,
            signal: observation.signal,
            took_ms,
            tool: observation.tool.clone(),
            closure,
            outputs: observation.outputs.clone(),
            blobs,
            records: observation.records.clone(),
        };
        let words = Words {
            summary: observation.summary.clone(),
            // Whoever ran it: no secret of a command line becomes part of the record.
            argv: arguments(&observation.argv, None).shown,
            stdout_tail: head_and_tail(&observation.stdout.text, TAIL_BYTES_MAX),
            stderr_tail: head_and_tail(&observation.stderr.text, TAIL_BYTES_MAX),
            ..Words::default()
        };
        let finished = self.journal.event(scope, finished, words);
        if stopped {
            return self.journal.put(vec![finished], true).await;
        }
        match observation.result {
            StepResult::Checked(check) => {
                // The result and its check stand in one transaction.
                let safety = self.journal.state().safety(key);
                let free = safety.is_some_and(Safety::freely_repeated);
                self.journal.put(vec![finished], false).await?;
                self.observe(key, &check, CheckPurpose::Step, Some(!free)).await
            }
            StepResult::Failed(evidence) => {
                let mut events = vec![finished];
                events.extend(self.diagnosed(key, &evidence, CatchLayer::Step));
                self.journal.put(events, true).await
            }
        }
    }

    /// The events of a failure: diagnosis, catch, and the lesson of a rung that did not help.
    pub fn diagnosed(
        &mut self,
        key: &StepKey,
        evidence: &Evidence,
        layer: CatchLayer,
    ) -> Vec<NewEvent> {
        let diagnosis = self.parts.policy.catalogue.diagnose(evidence);
        let retry_after_ms = evidence
            .signals
            .iter()
            .find(|s| s.code == codes::RETRY_AFTER)
            .and_then(|s| s.number)
            .and_then(|seconds| u64::try_from(seconds).ok())
            .map(|seconds| seconds.saturating_mul(1000));
        let scope = self.journal.scope(Some(key));
        let mut events = Vec::new();
        let state = self.journal.state().steps.get(key);
        if let Some(old) = state.filter(|s| s.has_open_failure()).and_then(|s| s.failure.as_ref())
            && old.fingerprint == diagnosis.fingerprint
            && let Some(tried) = old.tried.last()
        {
            let fact = Fact::LessonLearned {
                fingerprint: old.fingerprint,
                class: old.class.clone(),
                rung: tried.rung.clone(),
                worked: false,
            };
            events.push(self.journal.event(scope.clone(), fact, Words::default()));
        }
        if !self.journal.state().lessons.contains_key(&diagnosis.fingerprint) {
            let facts = self.shared.taken_over(&diagnosis.fingerprint).into_iter();
            let scope = self.journal.scope(None);
            let event = |fact| self.journal.event(scope.clone(), fact, shared::taken_over_words());
            events.extend(facts.map(event));
        }
        let mut words = Words::say(format!("{} by {}", diagnosis.class, diagnosis.rule));
        words.signals.clone_from(&evidence.signals);
        if !diagnosis.hint.is_empty() {
            words.more.insert("hint".to_owned(), diagnosis.hint.clone());
        }
        let mut slots = evidence.slots.clone();
        if let Some(cause) = diagnosis.cause {
            slots.insert(CAUSE_SLOT.to_owned(), cause.short());
        }
        slots.entry("step".to_owned()).or_insert_with(|| key.step.to_string());
        if !evidence.tool.is_empty() {
            slots.entry("tool".to_owned()).or_insert_with(|| evidence.tool.clone());
        }
        self.reasons.insert(key.clone(), first_words(evidence));
        let catch = Fact::CatchRecorded {
            layer,
            class: diagnosis.class.clone(),
            fingerprint: diagnosis.fingerprint,
        };
        let failure = Fact::FailureDiagnosed {
            class: diagnosis.class,
            known: diagnosis.known,
            confidence: diagnosis.confidence,
            trust: diagnosis.trust,
            fingerprint: diagnosis.fingerprint,
            retry_after_ms,
            allow: diagnosis.allow,
            slots,
        };
        events.push(self.journal.event(scope.clone(), failure, words));
        events.push(self.journal.event(scope, catch, Words::default()));
        events
    }

    pub(crate) async fn observe(
        &mut self,
        key: &StepKey,
        result: &CheckResult,
        purpose: CheckPurpose,
        sync: Option<bool>,
    ) -> Result<(), EngineError> {
        let mut findings = None;
        if !result.findings.is_empty() {
            let bytes = serde_json::to_vec(&result.findings).unwrap_or_default();
            let blobs = Arc::clone(&self.parts.services.blobs);
            let blob = crate::journal::blocking(move || blobs.put("findings.json", &bytes)).await?;
            findings = Some(blob.digest);
        }
        if purpose == CheckPurpose::Step {
            self.findings.insert(key.clone(), result.findings.clone());
            if !result.reason.is_empty() {
                self.reasons.insert(key.clone(), result.reason.clone());
            }
        }
        let fact = Fact::CheckObserved {
            check: result.name.clone(),
            purpose,
            outcome: result.outcome,
            gate: result.gate(),
            counts: result.counts,
            findings,
        };
        self.put(key, fact, Words::say(result.reason.clone()), sync.unwrap_or(true)).await
    }

    pub(crate) async fn put(
        &mut self,
        key: &StepKey,
        fact: Fact,
        words: Words,
        sync: bool,
    ) -> Result<(), EngineError> {
        let event = self.journal.event(self.journal.scope(Some(key)), fact, words);
        self.journal.put(vec![event], sync).await
    }

    /// A future panicked: a fault of ours or of a subsystem. It is recorded as what the future was
    /// to bring, so that the ladder counts it.
    pub(crate) async fn panicked(
        &mut self,
        phase: &PhaseDef,
        error: &tokio::task::JoinError,
    ) -> Result<(), EngineError> {
        let Some((key, what)) = self.forget(error.id()) else { return Ok(()) };
        let said = format!("panic: {error}");
        tracing::warn!("{key}: {said}");
        match what {
            // A wait holds nothing, and a watch is started again while there is time.
            What::Wait | What::Watch => Ok(()),
            What::Look => {
                self.looked(phase, &key, Err(Box::new(self.panic_of(phase, &key, &said)))).await
            }
            What::Attempt => {
                let evidence = self.panic_of(phase, &key, &said);
                let observation = Observation::of(StepResult::Failed(evidence));
                self.attempted(&key, observation, Digest::ZERO, 0).await
            }
            What::ReadBack => self.read_back(&key, ReadBack::Unclear).await,
            What::Recover(rung) => {
                self.acted_without(&key, rung, RecoveryOutcome::Failed, &said).await
            }
            What::Probe(probe) => {
                let result = CheckResult::could_not_run(&probe, &said);
                self.observe(&key, &result, CheckPurpose::Recheck, None).await
            }
        }
    }

    fn panic_of(&self, phase: &PhaseDef, key: &StepKey, said: &str) -> Evidence {
        let step = phase.steps.iter().find(|s| s.id == key.step);
        let layer = step.map_or("engine", |s| s.uses.as_str());
        let mut evidence = Evidence::new(layer, "pcbflow");
        evidence.push(Signal::new(Source::Report, codes::EXCEPTION).text(said));
        evidence
    }
}

fn first_words(evidence: &Evidence) -> String {
    evidence
        .signals
        .iter()
        .find(|s| !s.text.is_empty())
        .map_or_else(String::new, |s| pcbflow_core::text::one_line(&s.text))
}
