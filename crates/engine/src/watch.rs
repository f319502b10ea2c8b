//! Looks at the conditions of open asks while the run may wait for them.

use pcbflow_core::check::{CheckOutcome, CheckResult};
use pcbflow_core::event::{CheckPurpose, Fact, Words};
use pcbflow_core::ids::{AskId, StepKey};
use pcbflow_core::manifest::PhaseDef;
use pcbflow_core::projection::Stage;

use crate::dispatcher::{Dispatcher, What};
use crate::setup::EngineError;

/// How often an open ask's condition is looked at, in milliseconds.
const WATCH_MS: u64 = 10_000;

impl Dispatcher<'_> {
    /// Starts looking at the conditions of open asks, if the run may wait for them. Steps that do
    /// not depend on an ask go on beside it: a watch takes no slot.
    pub(crate) async fn start_watches(&mut self, phase: &PhaseDef) -> Result<(), EngineError> {
        if self.options.wait_ms_max == 0 {
            return self.look_once(phase);
        }
        let now = self.parts.services.clock.now();
        let open: Vec<_> = self
            .journal
            .state()
            .open_asks()
            .filter_map(|a| a.step.clone().map(|s| (s, a.class.to_string(), a.watch.clone())))
            .filter(|(key, ..)| key.phase == phase.id)
            .collect();
        if open.is_empty() {
            self.waiting_since = None;
            return Ok(());
        }
        let since = *self.waiting_since.get_or_insert(now);
        let left = self.options.wait_ms_max.saturating_sub(now.ms_since(since));
        if left == 0 {
            return Ok(());
        }
        for (key, class, watch) in open {
            let Some(step) = phase.steps.iter().find(|s| s.id == key.step) else { continue };
            if self.watching.contains(&key) {
                continue;
            }
            let probe = watch.clone().unwrap_or_default();
            let job = match self.action_job(phase, step, &key, &class, &probe)? {
                Some(job) => job,
                None => self.job(phase, step, &key)?,
            };
            let wake = now.plus_ms(WATCH_MS.min(left));
            self.spawn(&key, What::Watch, job.watch(watch, wake));
        }
        Ok(())
    }

    /// A resumed run that may not wait still looks once whether the person has done by now what
    /// an earlier process asked for.
    fn look_once(&mut self, phase: &PhaseDef) -> Result<(), EngineError> {
        let Some(before) = self.asked_before.filter(|_| self.resumed) else { return Ok(()) };
        let open: Vec<_> = self
            .journal
            .state()
            .open_asks()
            .filter(|a| a.seq <= before && !self.asks_looked.contains(&a.id))
            .filter_map(|a| {
                let (step, watch) = (a.step.clone()?, a.watch.clone()?);
                Some((a.id.clone(), step, a.class.to_string(), watch))
            })
            .filter(|(_, key, ..)| key.phase == phase.id && !self.watching.contains(key))
            .collect();
        let now = self.parts.services.clock.now();
        for (ask, key, class, watch) in open {
            self.asks_looked.insert(ask);
            let Some(step) = phase.steps.iter().find(|s| s.id == key.step) else { continue };
            if let Some(job) = self.action_job(phase, step, &key, &class, &watch)? {
                self.spawn(&key, What::Watch, job.watch(Some(watch), now));
            }
        }
        Ok(())
    }

    /// Takes in what a watch saw, and what others answered meanwhile.
    pub(crate) async fn watched(
        &mut self,
        key: &StepKey,
        result: &CheckResult,
    ) -> Result<(), EngineError> {
        // Somebody may have answered from another process meanwhile.
        self.journal.refresh().await?;
        let open: Vec<AskId> = self
            .journal
            .state()
            .open_asks()
            .filter(|a| a.step.as_ref() == Some(key))
            .map(|a| a.id.clone())
            .collect();
        if open.is_empty() {
            self.look_again(key);
            return Ok(());
        }
        if result.outcome != CheckOutcome::Pass {
            return Ok(());
        }
        self.observe(key, result, CheckPurpose::Watch, None).await?;
        for ask in open {
            let fact = Fact::AskAnswered { ask, answer: "seen".to_owned() };
            self.put(key, fact, Words::say("pcbflow saw that it was done"), true).await?;
        }
        self.look_again(key);
        Ok(())
    }

    /// What the person did may have changed the inputs of the steps that start again: this one,
    /// and those that waited for the same answer.
    fn look_again(&mut self, key: &StepKey) {
        let asks = self.journal.state().asks.iter();
        let mut keys: Vec<StepKey> = asks
            .filter(|a| a.step.as_ref() == Some(key))
            .flat_map(|a| a.also.iter().cloned())
            .collect();
        keys.push(key.clone());
        for key in keys {
            if self.stage(&key) == Stage::Planned && !self.busy.contains(&key) {
                self.looked.remove(&key);
            }
        }
    }
}
