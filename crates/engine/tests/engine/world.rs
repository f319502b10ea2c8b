//! The world outside: what steps do, which effects are there, and a subsystem that drives it.
//! It outlives every run, as the real world outlives a killed process.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pcbflow_core::check::{CheckResult, Finding, FindingSeverity, Limits};
use pcbflow_core::event::{Ended, OutputRef, ReadBack};
use pcbflow_core::evidence::{Evidence, Signal, Source, codes};
use pcbflow_core::ids::Digest;
use pcbflow_core::manifest::{COMMIT_STEP, KindInfo, Safety};
use pcbflow_core::ports::{
    Closure, Observation, Recovery, Services, StepContext, StepResult, Subsystem,
};
use pcbflow_core::row::Row;
use tokio::sync::{Barrier, Notify};

use crate::rows;

/// What a step does when it is run.
#[derive(Clone)]
pub enum Act {
    /// Its effect lands and its check passes.
    Pass,
    Warn,
    Findings,
    Empty,
    CouldNotRun,
    /// It fails with this own signal; nothing lands.
    Fail(&'static str),
    /// The same, and its signal names this.
    FailOn(&'static str, &'static str),
    /// The same, with `Retry-After` in seconds.
    FailAfter(&'static str, i64),
    /// Its effect lands, and then it fails.
    LandThenFail(&'static str),
    /// Part of it lands, and then it fails.
    PartThenFail(&'static str),
    /// It never comes back.
    Hang,
    Panic,
    /// It waits until another step has come here too.
    Meet(Arc<Barrier>),
    /// It runs until somebody wants to stop, and says so.
    UntilStopped,
    /// The process ends before, or after, its effect landed.
    DieBefore,
    DieAfter,
}

#[derive(Default)]
pub struct World {
    script: Mutex<BTreeMap<String, VecDeque<Act>>>,
    /// How often each effect landed.
    effects: Mutex<BTreeMap<String, u32>>,
    parts: Mutex<BTreeMap<String, u32>>,
    commits: Mutex<BTreeMap<String, u32>>,
    calls: Mutex<Vec<String>>,
    probes: Mutex<VecDeque<bool>>,
    /// Answer of read-backs that can't tell.
    pub blind: AtomicBool,
    /// The process is dead: nothing it started goes on.
    pub dead: AtomicBool,
    pub died: Notify,
    /// Dies at this call of the subsystem, before or after what it does.
    pub die_at: AtomicUsize,
    pub die_after: AtomicBool,
    counted: AtomicUsize,
    /// Version of the tool, part of every closure.
    pub version: Mutex<String>,
    /// What the outputs say besides the step's name.
    pub content: Mutex<String>,
}

impl World {
    pub fn script(&self, step: &str, acts: &[Act]) {
        self.script.lock().unwrap().insert(step.to_owned(), acts.iter().cloned().collect());
    }

    pub fn probes(&self, outcomes: &[bool]) {
        self.probes.lock().unwrap().extend(outcomes);
    }

    pub fn effect(&self, step: &str) -> u32 {
        self.effects.lock().unwrap().get(step).copied().unwrap_or(0)
    }

    pub fn effects(&self) -> BTreeMap<String, u32> {
        self.effects.lock().unwrap().clone()
    }

    pub fn commits(&self) -> BTreeMap<String, u32> {
        self.commits.lock().unwrap().clone()
    }

    pub fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }

    pub fn called(&self, what: &str) -> usize {
        self.calls().iter().filter(|c| *c == what).count()
    }

    pub fn forget_calls(&self) {
        self.calls.lock().unwrap().clear();
    }

    /// A new process: the world is as it was left.
    pub fn reborn(&self) {
        self.dead.store(false, Ordering::SeqCst);
        self.die_at.store(0, Ordering::SeqCst);
    }

    pub async fn die(&self) {
        self.dead.store(true, Ordering::SeqCst);
        self.died.notify_one();
        std::future::pending::<()>().await;
    }

    /// A call of the subsystem. A dead process does nothing more.
    async fn call(&self, what: String) {
        if self.dead.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        self.calls.lock().unwrap().push(what);
        let n = self.counted.fetch_add(1, Ordering::SeqCst) + 1;
        if n == self.die_at.load(Ordering::SeqCst) && !self.die_after.load(Ordering::SeqCst) {
            self.die().await;
        }
    }

    async fn called_through(&self) {
        let n = self.counted.load(Ordering::SeqCst);
        if n == self.die_at.load(Ordering::SeqCst) && self.die_after.load(Ordering::SeqCst) {
            self.die().await;
        }
    }

    pub fn calls_counted(&self) -> usize {
        self.counted.load(Ordering::SeqCst)
    }

    fn next(&self, step: &str) -> Act {
        let mut script = self.script.lock().unwrap();
        let Some(acts) = script.get_mut(step) else { return Act::Pass };
        // The last act is what the step does from then on.
        if acts.len() > 1 { acts.pop_front().unwrap() } else { acts[0].clone() }
    }

    fn land(&self, step: &str) {
        *self.effects.lock().unwrap().entry(step.to_owned()).or_default() += 1;
        self.parts.lock().unwrap().remove(step);
    }
}

/// The subsystem `sim`.
pub struct Sim(pub Arc<World>);

const fn kind(name: &'static str, safety: Safety, is_check: bool, public: bool) -> KindInfo {
    KindInfo { name, about: "", safety, timeout_ms: 60_000, args: &[], is_check, public }
}

pub const KINDS: [KindInfo; 6] = [
    kind("sim/read", Safety::ReadOnly, true, true),
    kind("sim/make", Safety::Idempotent, false, true),
    kind("sim/guard", Safety::Guarded, false, true),
    kind("sim/once", Safety::Once, false, true),
    kind("sim/publish", Safety::Publish, false, true),
    kind("sim/commit", Safety::Guarded, false, false),
];

pub fn finding(severity: FindingSeverity) -> Finding {
    Finding {
        id: "f1".into(),
        engine: "sim".into(),
        rule: "r".into(),
        severity,
        message: "m".into(),
        items: Vec::new(),
        excluded: None,
        apart: false,
    }
}

fn failed(context: &StepContext, code: &str) -> Observation {
    failed_on(context, code, code)
}

fn failed_on(context: &StepContext, code: &str, name: &str) -> Observation {
    let mut evidence = Evidence::new(context.step.uses.as_str(), "sim");
    evidence.push(Signal::new(Source::Own, code).text(name));
    Observation::of(StepResult::Failed(evidence))
}

impl Sim {
    fn checked(&self, context: &StepContext, check: CheckResult) -> Observation {
        let mut observation = Observation::of(StepResult::Checked(check));
        observation.tool = "sim 1".to_owned();
        for path in &context.step.outputs {
            let text = format!("{} {}", context.key, self.0.content.lock().unwrap());
            let file = context.board_dir.join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, &text).unwrap();
            observation.outputs.push(OutputRef {
                path: path.clone(),
                digest: Digest::of(text.as_bytes()),
                bytes: text.len() as u64,
            });
        }
        observation
    }

    async fn act(&self, context: &StepContext, services: &Services) -> Observation {
        let step = context.step.id.as_str();
        let of = |severity| vec![finding(severity)];
        match self.0.next(step) {
            Act::Pass => {
                self.0.land(step);
                self.checked(context, CheckResult::pass("sim"))
            }
            Act::Warn => {
                let found = of(FindingSeverity::Warning);
                self.checked(context, CheckResult::of_findings("sim", found, Limits::default()))
            }
            Act::Findings => {
                let found = of(FindingSeverity::Error);
                self.checked(context, CheckResult::of_findings("sim", found, Limits::default()))
            }
            Act::Empty => {
                self.checked(context, CheckResult { empty: true, ..CheckResult::pass("sim") })
            }
            Act::CouldNotRun => self.checked(context, CheckResult::could_not_run("sim", "no tool")),
            Act::Fail(code) => failed(context, code),
            Act::FailOn(code, name) => failed_on(context, code, name),
            Act::FailAfter(code, seconds) => {
                let mut observation = failed(context, code);
                if let StepResult::Failed(evidence) = &mut observation.result {
                    evidence.push(Signal::new(Source::Http, codes::RETRY_AFTER).number(seconds));
                }
                observation
            }
            Act::LandThenFail(code) => {
                self.0.land(step);
                let mut observation = failed(context, code);
                observation.ended = Ended::ConnectionLost;
                observation
            }
            Act::PartThenFail(code) => {
                *self.0.parts.lock().unwrap().entry(step.to_owned()).or_default() += 1;
                failed(context, code)
            }
            Act::Hang => std::future::pending().await,
            Act::Panic => panic!("a fault of the subsystem"),
            Act::Meet(barrier) => {
                barrier.wait().await;
                self.checked(context, CheckResult::pass("sim"))
            }
            Act::UntilStopped => {
                services.cancel.cancelled().await;
                let mut observation = failed(context, "stopped");
                observation.ended = Ended::Stopped;
                observation
            }
            Act::DieBefore => {
                self.0.die().await;
                unreachable!("the dead do not go on")
            }
            Act::DieAfter => {
                self.0.land(step);
                self.0.die().await;
                unreachable!("the dead do not go on")
            }
        }
    }

    /// Commits the outputs of a phase; there is one commit for one set of outputs.
    fn commit(&self, context: &StepContext) -> Observation {
        let id = commit_id(context);
        let mut commits = self.0.commits.lock().unwrap();
        if !commits.contains_key(&id) || context.notes.contains_key("again") {
            *commits.entry(id.clone()).or_default() += 1;
        }
        let mut observation = Observation::of(StepResult::Checked(CheckResult::pass("commit")));
        observation.records.insert("commit".to_owned(), id);
        observation
    }
}

fn commit_id(context: &StepContext) -> String {
    let outputs = format!("{:?}", context.phase_outputs);
    format!("{}-{}", context.key.phase, Digest::of(outputs.as_bytes()).short())
}

#[async_trait]
impl Subsystem for Sim {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn rows(&self) -> Vec<Row> {
        rows::OWN.to_vec()
    }

    fn kinds(&self) -> Vec<KindInfo> {
        KINDS.to_vec()
    }

    async fn closure(&self, context: &StepContext, _: &Services) -> Result<Closure, Evidence> {
        let mut closure = Closure::default();
        if context.key.step.as_str() == COMMIT_STEP {
            closure.settings.insert("outputs".into(), format!("{:?}", context.phase_outputs));
        } else {
            closure.settings.insert("version".into(), self.0.version.lock().unwrap().clone());
            for need in &context.step.needs {
                // What a step makes is what those that need it read.
                closure.files.push(context.board_dir.join(format!("out/{need}")));
            }
        }
        Ok(closure)
    }

    async fn run(&self, context: &StepContext, services: &Services) -> Observation {
        self.0.call(format!("run {}", context.step.id)).await;
        let observation = if context.key.step.as_str() == COMMIT_STEP {
            self.commit(context)
        } else {
            self.act(context, services).await
        };
        self.0.called_through().await;
        observation
    }

    async fn read_back(&self, context: &StepContext, _: &Services) -> ReadBack {
        let step = context.step.id.as_str();
        self.0.call(format!("read {step}")).await;
        self.0.called_through().await;
        if self.0.blind.load(Ordering::SeqCst) {
            return ReadBack::Unclear;
        }
        if context.key.step.as_str() == COMMIT_STEP {
            let there = self.0.commits.lock().unwrap().contains_key(&commit_id(context));
            return if there { ReadBack::Landed } else { ReadBack::Absent };
        }
        if self.0.effect(step) > 0 {
            ReadBack::Landed
        } else if self.0.parts.lock().unwrap().contains_key(step) {
            ReadBack::Partial
        } else {
            ReadBack::Absent
        }
    }

    async fn recover(&self, _: &StepContext, _: &Services, class: &str, action: &str) -> Recovery {
        self.0.call(format!("recover {action}")).await;
        self.0.called_through().await;
        match (class, action) {
            (_, "useless") => Recovery::not_applicable("not here"),
            (_, "panics") => panic!("a fault of an action"),
            _ => Recovery::done("done"),
        }
    }

    async fn probe(&self, _: &StepContext, _: &Services, probe: &str) -> CheckResult {
        self.0.call(format!("probe {probe}")).await;
        self.0.called_through().await;
        if probe == "panics" {
            panic!("a fault of a probe");
        }
        match self.0.probes.lock().unwrap().pop_front() {
            Some(false) => CheckResult::fail(probe, "not yet"),
            _ => CheckResult::pass(probe),
        }
    }
}
