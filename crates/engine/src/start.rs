//! How a run begins: nothing to do, a new run, or one that is gone on with.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pcbflow_core::event::{CatchLayer, Ended, Fact, NewEvent, Words};
use pcbflow_core::evidence::{Evidence, Signal, Source, codes};
use pcbflow_core::ids::{AttemptNo, Digest, RunId, StepId, StepKey};
use pcbflow_core::manifest::{PhaseDef, StepDef};
use pcbflow_core::ports::Round;
use pcbflow_core::projection::{PhaseState, RunState, Stage};

use crate::act::Outcome;
use crate::closure;
use crate::plan;
use crate::run::Run;
use crate::scratch;
use crate::setup::EngineError;

/// Stop words of runs whose undecided steps are tried again when they are gone on with.
const TRIED_AGAIN: [&str; 2] = ["unverified", "try_later"];
/// Code of the signal that the process of an attempt is gone.
const OWNER_GONE: &str = "state.owner_gone";
/// Counts the rounds of looks of this process.
static ROUNDS: AtomicU64 = AtomicU64::new(0);
/// Note of a report: the newest event is of a time that has not come yet.
const CLOCK_WENT_BACK: &str = "clock_went_back";

impl Run<'_> {
    /// Whether every phase is done and every step of it up to date. Appends nothing.
    pub async fn nothing_to_do(&mut self) -> Result<bool, EngineError> {
        let phases = self.phases;
        let round = Round(ROUNDS.fetch_add(1, Ordering::Relaxed));
        let mut any = false;
        for phase in phases.iter().filter(|p| !p.steps.is_empty()) {
            let commit = self.commit_phase(phase);
            let done = |p: &PhaseState| match &commit {
                Some(_) => p.is_done(),
                // Nothing is ever committed: the verdict alone makes a phase done.
                None => p.verdict.is_some_and(|(v, _)| v.advances()),
            };
            if !self.state().phases.get(&phase.id).is_some_and(done) {
                return Ok(false);
            }
            for part in std::iter::once(phase).chain(commit.as_ref()) {
                for step in &part.steps {
                    any = true;
                    if !self.up_to_date(part, step, round).await? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(any)
    }

    /// In a look at checks only: which of this phase's checks rest on a step that makes something
    /// and is not up to date, as what it made is not what would be made now. Appends nothing.
    pub async fn find_unmet(&mut self, phase: &PhaseDef) -> Result<(), EngineError> {
        let setup = self.setup;
        let Some(whole) = setup.manifest.phases.iter().find(|p| p.id == phase.id) else {
            return Ok(());
        };
        let round = Round(ROUNDS.fetch_add(1, Ordering::Relaxed));
        let mut holds: BTreeMap<StepId, bool> = BTreeMap::new();
        for check in &phase.steps {
            let mut ahead: Vec<&StepId> = vec![&check.id];
            let mut seen: BTreeSet<&StepId> = BTreeSet::new();
            // Ends: each step of the phase is taken once.
            while let Some(id) = ahead.pop() {
                let Some(step) = whole.steps.iter().find(|s| s.id == *id) else { continue };
                if !seen.insert(id) {
                    continue;
                }
                ahead.extend(&step.needs);
                if self.parts.kind(&step.uses).is_some_and(|k| k.is_check) {
                    continue;
                }
                let held = match holds.get(id) {
                    Some(held) => *held,
                    None => {
                        let held = self.up_to_date(whole, step, round).await?;
                        holds.insert(id.clone(), held);
                        held
                    }
                };
                if !held {
                    let key = plan::key(&phase.id, &check.id);
                    let why = format!("'{id}' has to run first: pcbflow run");
                    self.dispatcher.reasons.insert(key.clone(), why);
                    self.dispatcher.unmet.insert(key, id.clone());
                    break;
                }
            }
        }
        Ok(())
    }

    async fn up_to_date(
        &mut self,
        phase: &PhaseDef,
        step: &StepDef,
        round: Round,
    ) -> Result<bool, EngineError> {
        let key = plan::key(&phase.id, &step.id);
        let Some(pass) = self.state().steps.get(&key).and_then(|s| s.pass.clone()) else {
            return Ok(false);
        };
        if pass.definition != step.digest() {
            return Ok(false);
        }
        let mut job = self.dispatcher.job(phase, step, &key)?;
        job.context.round = Some(round);
        let Outcome::Looked(Ok(now)) = job.look().await.outcome else { return Ok(false) };
        let hold = closure::outputs_hold(
            &pass.outputs,
            &self.setup.board_dir,
            self.parts.services.digests.as_ref(),
        );
        Ok(closure::same_inputs(&pass, step.digest(), now) && hold.unwrap_or(false))
    }

    async fn policy_blob(&self) -> Result<Digest, EngineError> {
        let text = self.parts.policy.describe();
        let blobs = Arc::clone(&self.parts.services.blobs);
        let stored =
            crate::journal::blocking(move || blobs.put("policy.txt", text.as_bytes())).await?;
        tracing::debug!("policy {} stored", stored.digest);
        Ok(self.dispatcher.journal.policy_digest())
    }

    /// Says so when the newest event is later than now.
    pub fn note_clock(&mut self) {
        let now = self.parts.services.clock.now();
        let newest = self.state().at;
        if newest > now {
            let text = format!("the newest record is of {newest}, the clock says {now}");
            self.notes.insert(CLOCK_WENT_BACK.to_owned(), text);
        }
    }

    /// Removes private folders that dead processes left behind.
    pub async fn clear_scratch(&self) {
        let (dir, board) = (self.setup.state_dir.clone(), self.setup.board().clone());
        let removed = crate::journal::blocking(move || scratch::clear(&dir, &board)).await;
        if removed > 0 {
            tracing::debug!("{removed} private folders of dead processes removed");
        }
    }

    pub async fn start(&mut self) -> Result<(), EngineError> {
        let policy = self.policy_blob().await?;
        self.end_leftovers().await;
        // Intents of another kind of run that was cut short: their steps settle them first.
        let before = self.state().run.as_ref().map(|r| r.id.clone());
        let open: Vec<StepKey> = self.state().open_intents().map(|(k, _)| k.clone()).collect();
        let mut events: Vec<NewEvent> = Vec::new();
        for key in &open {
            events.push(self.cut_short(key, before.clone()));
        }
        let fact = Fact::RunStarted {
            seed: self.options.seed,
            policy,
            owner: self.parts.owner.clone(),
            checks_only: self.options.checks_only,
            to: self.options.to.clone(),
            only_kinds: self.options.only_kinds.clone(),
        };
        let journal = &mut self.dispatcher.journal;
        events.push(journal.event(journal.scope(None), fact, Words::default()));
        journal.put(events, true).await
    }

    /// Ends what is left of the processes of steps that were under way.
    async fn end_leftovers(&self) {
        let Some(run) = &self.state().run else { return };
        let under_way = self.state().steps.iter().filter(|(_, s)| {
            let decided = matches!(
                s.stage,
                Stage::Done { .. } | Stage::Held { .. } | Stage::Escalated { .. }
            );
            !decided && (s.stage != Stage::Planned || s.decided.is_some())
        });
        let mut tags = Vec::new();
        for (key, step) in under_way {
            match step.last_tag.as_str() {
                "" => tags.push(self.dispatcher.tag_in(&run.id, key, AttemptNo(0))),
                tag => tags.push(tag.to_owned()),
            }
        }
        for tag in tags {
            self.parts.host.end_leftovers(&tag).await;
        }
    }

    fn cut_short(&self, key: &StepKey, run: Option<RunId>) -> NewEvent {
        let journal = &self.dispatcher.journal;
        let mut scope = journal.scope(Some(key));
        scope.run = run;
        scope.attempt = self.state().steps.get(key).map(|s| s.last_attempt);
        let cut = Fact::AttemptFinished {
            ended: Ended::CutShort,
            exit: None,
            signal: None,
            took_ms: 0,
            tool: String::new(),
            closure: Digest::ZERO,
            outputs: Vec::new(),
            blobs: Vec::new(),
            records: BTreeMap::new(),
        };
        journal.event(scope, cut, Words::say("the process that made this attempt is gone"))
    }

    /// Goes on with a run: ends what is left of its processes, closes open intents as cut short
    /// and lets their ladder settle what landed.
    pub async fn resume(&mut self, before: &RunState) -> Result<(), EngineError> {
        let policy = self.policy_blob().await?;
        self.end_leftovers().await;
        self.dispatcher.resumed = true;
        self.dispatcher.retry_held =
            before.stopped.as_deref().is_some_and(|word| TRIED_AGAIN.contains(&word));
        let open: Vec<(StepKey, String, u32)> = self
            .state()
            .open_intents()
            .map(|(k, s)| (k.clone(), s.last_tag.clone(), s.attempts))
            .collect();
        let fact = Fact::RunResumed {
            policy,
            owner: self.parts.owner.clone(),
            to: self.options.to.clone(),
            only_kinds: self.options.only_kinds.clone(),
        };
        let journal = &mut self.dispatcher.journal;
        let mut events = vec![journal.event(journal.scope(None), fact, Words::default())];
        for (key, tag, attempts) in &open {
            events.push(self.cut_short(key, Some(before.id.clone())));
            let mut evidence = Evidence::new("engine/resume", "pcbflow");
            evidence.push(Signal::new(Source::Own, codes::INTENT_WITHOUT_RESULT).text(tag));
            evidence.push(Signal::new(Source::Own, OWNER_GONE));
            // Each cut is a failure of its own: being cut twice uses up no ladder.
            evidence.test_ids.push(format!("{tag} {attempts}"));
            events.extend(self.dispatcher.diagnosed(key, &evidence, CatchLayer::Resume));
            self.settled.push(key.clone());
        }
        self.dispatcher.journal.put(events, true).await?;
        self.resumed_at = self.settled.first().cloned().or_else(|| self.first_undone());
        Ok(())
    }

    fn first_undone(&self) -> Option<StepKey> {
        self.phases.iter().flat_map(plan::keys).find(|key| {
            !self.state().steps.get(key).is_some_and(|s| matches!(s.stage, Stage::Done { .. }))
        })
    }
}
