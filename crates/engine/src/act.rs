//! What the dispatcher lets run beside itself: waiting, attempts, read-backs, actions, probes and
//! watches. Each is a future that ends in one [`Outcome`]; none of them touches the ledger.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pcbflow_core::check::CheckResult;
use pcbflow_core::event::{Ended, ReadBack};
use pcbflow_core::evidence::{Evidence, Signal, Source, codes};
use pcbflow_core::ids::{Digest, StepKey};
use pcbflow_core::ports::{
    Closure, Observation, Recovery, Services, StepContext, StepResult, Subsystem,
};
use pcbflow_core::time::Timestamp;

use crate::{closure, inputs};

/// How long after its deadline a subsystem may still answer before it is cut off, in
/// milliseconds. Children end within one second; reports are then still read.
const GRACE_MS: u64 = 15_000;
/// How long after the wish to stop a subsystem may still answer before it is cut off, in
/// milliseconds.
const STOP_GRACE_MS: u64 = 15_000;
/// Longest time for a probe or read-back, in milliseconds.
const PROBE_MS_MAX: u64 = 600_000;
/// Longest time for an action of a rung, in milliseconds.
const ACTION_MS_MAX: u64 = 1_800_000;
/// Longest time for listing and digesting a step's inputs, in milliseconds.
const CLOSURE_MS_MAX: u64 = 120_000;

/// What came of a future.
pub enum Outcome {
    /// The wake time of a decided attempt has come.
    Woke,
    /// The closure was taken: its digest, or why it can't be.
    Looked(Result<Digest, Box<Evidence>>),
    /// An attempt ended.
    Attempted(Box<Observation>, Digest, u64),
    /// An effect was read back.
    ReadBack(ReadBack),
    /// An action ended.
    Acted(String, Box<Recovery>),
    /// A probe was observed.
    Probed(Box<CheckResult>),
    /// The condition of an ask was looked at.
    Watched(Box<CheckResult>),
}

/// A step's future that ended.
pub struct Done {
    /// Which step.
    pub key: StepKey,
    /// What came of it.
    pub outcome: Outcome,
}

/// One thing for a subsystem to do.
#[derive(Clone)]
pub struct Job {
    /// The step.
    pub key: StepKey,
    /// Everything about it.
    pub context: StepContext,
    /// Its subsystem.
    pub subsystem: Arc<dyn Subsystem>,
    /// Services.
    pub services: Services,
    /// Its private folder; goes with the last copy of the job.
    pub scratch: Option<Arc<Scratch>>,
}

/// A private folder that is removed when it is dropped.
pub struct Scratch(pub PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(e) = std::fs::remove_dir_all(&self.0)
            && e.kind() != std::io::ErrorKind::NotFound
        {
            // What can't be removed now goes at the next start; it holds nothing of worth.
            tracing::debug!("{} was not removed: {e}", self.0.display());
        }
    }
}

impl Job {
    /// Waits for the wake time or the wish to stop.
    pub async fn wait(self, wake: Timestamp) -> Done {
        let clock = Arc::clone(&self.services.clock);
        let cancel = Arc::clone(&self.services.cancel);
        tokio::select! {
            () = clock.sleep_until(wake) => {}
            () = cancel.cancelled() => {}
        }
        Done { key: self.key, outcome: Outcome::Woke }
    }

    /// Takes the closure and its digest.
    pub async fn look(self) -> Done {
        let key = self.key.clone();
        let result = match self.within(CLOSURE_MS_MAX, self.closure()).await {
            Some(Ok((digest, _))) => Ok(digest),
            Some(Err(evidence)) => Err(evidence),
            None => Err(Box::new(self.late("listing the step's inputs", CLOSURE_MS_MAX))),
        };
        Done { key, outcome: Outcome::Looked(result) }
    }

    async fn closure(&self) -> Result<(Digest, Closure), Box<Evidence>> {
        let mut closure =
            self.subsystem.closure(&self.context, &self.services).await.map_err(Box::new)?;
        let (root, declared) = (self.context.root.clone(), self.context.step.inputs().to_vec());
        let found = crate::journal::blocking(move || {
            declared.into_iter().map(|i| (inputs::expand(&root, &i), i)).collect::<Vec<_>>()
        })
        .await;
        for (found, input) in found {
            // A pattern that matches other files tomorrow is another closure. One that matches
            // nothing, or more than can be listed, proves nothing in a later run.
            let proof = if found.whole { String::new() } else { self.context.run.clone() };
            closure.files.extend(found.files);
            closure.settings.insert(format!("input:{input}"), proof);
        }
        let digests = Arc::clone(&self.services.digests);
        let root = self.context.root.clone();
        let taken = closure.clone();
        let digest =
            crate::journal::blocking(move || closure::digest(&taken, &root, digests.as_ref()))
                .await;
        match digest {
            Ok(digest) => Ok((digest, closure)),
            Err(e) => {
                let mut evidence = self.evidence();
                evidence.push(Signal::new(Source::File, "input_unreadable").text(&e.to_string()));
                Err(Box::new(evidence))
            }
        }
    }

    fn evidence(&self) -> Evidence {
        Evidence::new(self.context.step.uses.as_str(), "")
    }

    fn late(&self, what: &str, ms: u64) -> Evidence {
        let mut evidence = self.evidence();
        let ms = i64::try_from(ms).unwrap_or(i64::MAX);
        evidence.push(Signal::new(Source::Own, codes::DEADLINE_PASSED).number(ms).text(what));
        evidence
    }

    /// Makes an attempt. The closure is taken before it, so that an input that changes while it
    /// runs makes the step run again.
    pub async fn attempt(self) -> Done {
        let key = self.key.clone();
        let started = self.services.clock.now();
        let closure = match self.within(CLOSURE_MS_MAX, self.closure()).await {
            Some(Ok((digest, _))) => digest,
            // The attempt itself will say what is wrong with its inputs.
            Some(Err(_)) | None => Digest::ZERO,
        };
        let limit = self.context.deadline_ms.saturating_add(GRACE_MS);
        let made = self.within(limit, self.subsystem.run(&self.context, &self.services)).await;
        let observation = made.unwrap_or_else(|| {
            let mut late = Observation::of(StepResult::Failed(
                self.late("the step did not come back", self.context.deadline_ms),
            ));
            let stopped = self.services.cancel.is_cancelled();
            late.ended = if stopped { Ended::Stopped } else { Ended::DeadlinePassed };
            late
        });
        let took = self.services.clock.now().ms_since(started);
        Done { key, outcome: Outcome::Attempted(Box::new(observation), closure, took) }
    }

    /// Reads back whether the effect is there.
    pub async fn read_back(self) -> Done {
        let work = self.subsystem.read_back(&self.context, &self.services);
        let found = self.within(PROBE_MS_MAX, work).await;
        let found = found.unwrap_or(ReadBack::Unclear);
        Done { key: self.key, outcome: Outcome::ReadBack(found) }
    }

    /// Carries out the action of a rung.
    pub async fn recover(self, class: String, rung: String) -> Done {
        let work = self.subsystem.recover(&self.context, &self.services, &class, &rung);
        let recovery = self
            .within(ACTION_MS_MAX, work)
            .await
            .unwrap_or_else(|| Recovery::failed("the action did not come back in time"));
        Done { key: self.key, outcome: Outcome::Acted(rung, Box::new(recovery)) }
    }

    /// Runs a probe as the recheck of an action.
    pub async fn probe(self, probe: String) -> Done {
        let result = self.probed(&probe).await;
        Done { key: self.key, outcome: Outcome::Probed(Box::new(result)) }
    }

    /// Runs a probe as the watch of an ask, not before `wake`.
    pub async fn watch(self, probe: Option<String>, wake: Timestamp) -> Done {
        let clock = Arc::clone(&self.services.clock);
        let cancel = Arc::clone(&self.services.cancel);
        tokio::select! {
            () = clock.sleep_until(wake) => {}
            () = cancel.cancelled() => {}
        }
        let result = match &probe {
            Some(probe) if !cancel.is_cancelled() => self.probed(probe).await,
            _ => CheckResult::could_not_run("watch", "nothing can be watched"),
        };
        Done { key: self.key, outcome: Outcome::Watched(Box::new(result)) }
    }

    async fn probed(&self, probe: &str) -> CheckResult {
        self.within(PROBE_MS_MAX, self.subsystem.probe(&self.context, &self.services, probe))
            .await
            .unwrap_or_else(|| CheckResult::could_not_run(probe, "the probe did not come back"))
    }

    /// What the work brings within its time; nothing when it is late, or when somebody wants to
    /// stop and it does not come to an end.
    async fn within<T>(&self, ms: u64, work: impl Future<Output = T>) -> Option<T> {
        let stopped = async {
            self.services.cancel.cancelled().await;
            tokio::time::sleep(Duration::from_millis(STOP_GRACE_MS)).await;
        };
        tokio::select! {
            biased;
            done = tokio::time::timeout(Duration::from_millis(ms), work) => done.ok(),
            () = stopped => None,
        }
    }
}
