//! A board to run: manifest, ledger in memory, simulated clock, recording host.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pcbflow_core::catalogue::Catalogue;
use pcbflow_core::event::{BlobRef, Decision, Event, Fact, NewEvent, Owner, StopCause};
use pcbflow_core::ids::{BoardName, Digest, Seq, StepKey, StreamId};
use pcbflow_core::manifest::{CheckSpec, Manifest, PhaseDef, StepDef, faults};
use pcbflow_core::policy::{Policy, Replay, replay};
use pcbflow_core::ports::{
    Blobs, Cancel, Captured, Clock, Expect, FileDigests, Ledger, LedgerError, Progress, Services,
    Spawn, SpawnEnded, SpawnRequest, SpawnResult,
};
use pcbflow_core::projection::BoardState;
use pcbflow_core::time::Timestamp;
use pcbflow_engine::{BoardSetup, EngineError, Host, Parts, RunOptions, RunReport, run_board};
use pcbflow_store::MemLedger;
use tokio::sync::watch;

use crate::rows;
use crate::world::{KINDS, Sim, World};

/// Time that passes only when somebody waits for it, or a test moves it.
pub struct SimClock {
    now: Mutex<i64>,
    pub slept_ms: Mutex<Vec<u64>>,
}

impl SimClock {
    pub fn jump_ms(&self, ms: i64) {
        *self.now.lock().unwrap() += ms * 1000;
    }
}

#[async_trait]
impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        let mut now = self.now.lock().unwrap();
        *now += 1;
        Timestamp(*now)
    }

    async fn sleep_until(&self, wake: Timestamp) {
        tokio::task::yield_now().await;
        let mut now = self.now.lock().unwrap();
        self.slept_ms.lock().unwrap().push(wake.ms_since(Timestamp(*now)));
        *now = (*now).max(wake.0);
    }
}

pub struct Wish(watch::Sender<bool>);

impl Wish {
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
    pub fn clear(&self) {
        self.0.send_replace(false);
    }
}

#[async_trait]
impl Cancel for Wish {
    fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }
    async fn cancelled(&self) {
        self.0.subscribe().wait_for(|stop| *stop).await.unwrap();
    }
}

#[derive(Default)]
struct MemBlobs(Mutex<BTreeMap<Digest, Vec<u8>>>);

impl Blobs for MemBlobs {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<BlobRef, LedgerError> {
        let digest = Digest::of(bytes);
        self.0.lock().unwrap().insert(digest, bytes.to_vec());
        let bytes = bytes.len() as u64;
        Ok(BlobRef { name: name.into(), digest, bytes, true_bytes: bytes })
    }
    fn get(&self, digest: &Digest) -> Result<Vec<u8>, LedgerError> {
        let found = self.0.lock().unwrap().get(digest).cloned();
        found.ok_or_else(|| LedgerError::NotFound { what: digest.to_string() })
    }
}

struct Files;

impl FileDigests for Files {
    fn digest(&self, path: &Path) -> Result<Option<(Digest, u64)>, std::io::Error> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(Some((Digest::of(&bytes), bytes.len() as u64))),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }
}

struct NoSpawn;

#[async_trait]
impl Spawn for NoSpawn {
    async fn run(&self, _: SpawnRequest, _: &dyn Cancel) -> SpawnResult {
        SpawnResult {
            ended: SpawnEnded::NotFound,
            stdout: Captured::default(),
            stderr: Captured::default(),
            took_ms: 0,
            memory: pcbflow_core::ports::MemorySeen::default(),
        }
    }
}

/// Calls back on every appended event; a test may stop the run or answer an ask then.
type OnEvent = Box<dyn FnMut(&Event) + Send>;

#[derive(Default)]
pub struct Watcher(Mutex<Option<OnEvent>>);

impl Watcher {
    pub fn on(&self, f: impl FnMut(&Event) + Send + 'static) {
        *self.0.lock().unwrap() = Some(Box::new(f));
    }
}

impl Progress for Watcher {
    fn doing(&self, _: &StepKey, _: &str) {}
    fn appended(&self, events: &[Event]) {
        if let Some(f) = self.0.lock().unwrap().as_mut() {
            events.iter().for_each(f);
        }
    }
}

#[derive(Default)]
pub struct TestHost {
    pub ended: Mutex<Vec<String>>,
    pub statuses: Mutex<Vec<serde_json::Value>>,
    pub terminated: Mutex<bool>,
}

#[async_trait]
impl Host for TestHost {
    async fn end_leftovers(&self, tag: &str) {
        self.ended.lock().unwrap().push(tag.to_owned());
    }
    async fn write_status(&self, _: &BoardSetup, note: &serde_json::Value) -> Result<(), String> {
        self.statuses.lock().unwrap().push(note.clone());
        Ok(())
    }
    fn stop_cause(&self) -> StopCause {
        let terminated = *self.terminated.lock().unwrap();
        if terminated { StopCause::Terminated } else { StopCause::Interrupted }
    }
}

pub struct Bench {
    pub dir: tempfile::TempDir,
    pub mem: Arc<MemLedger>,
    pub ledger: Arc<dyn Ledger>,
    pub world: Arc<World>,
    pub clock: Arc<SimClock>,
    pub wish: Arc<Wish>,
    pub watcher: Arc<Watcher>,
    pub host: Arc<TestHost>,
    pub policy: Arc<Policy>,
    pub runs: AtomicU64,
}

pub fn step(id: &str, kind: &str, needs: &[&str]) -> StepDef {
    StepDef {
        id: id.parse().unwrap(),
        uses: format!("sim/{kind}").parse().unwrap(),
        with: BTreeMap::new(),
        check: CheckSpec::Own,
        safety: None,
        timeout_ms: None,
        needs: needs.iter().map(|n| n.parse().unwrap()).collect(),
        inputs: None,
        outputs: vec![format!("out/{id}")],
        install: Vec::new(),
        systems: Vec::new(),
    }
}

pub fn board(phases: &[(&str, Vec<StepDef>)]) -> Manifest {
    let phases = phases
        .iter()
        .map(|(id, steps)| PhaseDef { id: id.parse().unwrap(), steps: steps.clone() })
        .collect();
    let board = "b".parse().unwrap();
    let manifest = Manifest { board, root: None, facts: BTreeMap::new(), phases };
    assert_eq!(faults(&manifest, &KINDS), []);
    manifest
}

/// One phase of one step.
pub fn single(kind: &str) -> Manifest {
    board(&[("01-p", vec![step("s", kind, &[])])])
}

pub fn key(phase: &str, step: &str) -> StepKey {
    StepKey { phase: phase.parse().unwrap(), step: step.parse().unwrap() }
}

pub fn stream() -> StreamId {
    StreamId::Board(BoardName::new("b").unwrap())
}

impl Bench {
    pub fn new() -> Bench {
        let mem = Arc::new(MemLedger::seeded(1));
        let mut all = rows::OWN.to_vec();
        all.extend([rows::NOBODYS, rows::PANICKY]);
        let policy = Policy {
            catalogue: Catalogue::fold(all, Vec::new()).unwrap(),
            settings: BTreeMap::new(),
            longer: BTreeMap::new(),
        };
        Bench {
            dir: tempfile::tempdir().unwrap(),
            ledger: mem.clone(),
            mem,
            world: Arc::new(World::default()),
            clock: Arc::new(SimClock {
                now: Mutex::new(1_700_000_000_000_000),
                slept_ms: Mutex::default(),
            }),
            wish: Arc::new(Wish(watch::Sender::new(false))),
            watcher: Arc::default(),
            host: Arc::default(),
            policy: Arc::new(policy),
            runs: AtomicU64::new(0),
        }
    }

    pub fn parts(&self) -> Parts {
        Parts {
            ledger: self.ledger.clone(),
            subsystems: vec![Arc::new(Sim(self.world.clone()))],
            services: Services {
                spawn: Arc::new(NoSpawn),
                blobs: Arc::new(MemBlobs::default()),
                digests: Arc::new(Files),
                clock: self.clock.clone(),
                cancel: self.wish.clone(),
                progress: self.watcher.clone(),
            },
            policy: self.policy.clone(),
            host: self.host.clone(),
            owner: Owner { host: "h".into(), pid: 7, started: "now".into() },
        }
    }

    pub fn setup(&self, manifest: &Manifest) -> BoardSetup {
        let root = self.dir.path().to_owned();
        BoardSetup {
            manifest: manifest.clone(),
            board_dir: root.join("projects/b"),
            root: root.join("projects/b"),
            state_dir: root.join(".pcbflow"),
            workspace: root,
        }
    }

    pub fn options(&self) -> RunOptions {
        let n = self.runs.fetch_add(1, Ordering::SeqCst) + 1;
        RunOptions {
            to: None,
            jobs: 2,
            wait_ms_max: 0,
            checks_only: false,
            only_kinds: Vec::new(),
            resume: false,
            commit_kind: Some("sim/commit".parse().unwrap()),
            seed: 42,
            run: format!("r{n}").parse().unwrap(),
            force: false,
        }
    }

    pub async fn run(&self, manifest: &Manifest) -> RunReport {
        self.run_with(manifest, |_| {}).await
    }

    pub async fn run_with(
        &self,
        manifest: &Manifest,
        set: impl FnOnce(&mut RunOptions),
    ) -> RunReport {
        self.try_run(manifest, set).await.unwrap()
    }

    pub async fn try_run(
        &self,
        manifest: &Manifest,
        set: impl FnOnce(&mut RunOptions),
    ) -> Result<RunReport, EngineError> {
        let mut options = self.options();
        set(&mut options);
        run_board(&self.parts(), &self.setup(manifest), &options).await
    }

    pub fn events(&self) -> Vec<Event> {
        self.mem.read(&stream(), Seq(0), usize::MAX, true).unwrap()
    }

    pub fn count(&self, wanted: impl Fn(&Fact) -> bool) -> usize {
        self.events().iter().filter(|e| wanted(&e.fact)).count()
    }

    pub fn state(&self) -> BoardState {
        let mut state = BoardState::default();
        state.apply_all(&self.events());
        state
    }

    /// Short names of the facts about a step, in order.
    pub fn story(&self, step: &str) -> Vec<String> {
        self.events()
            .iter()
            .filter(|e| e.scope.step.as_ref().is_some_and(|s| s.as_str() == step))
            .map(|e| match &e.fact {
                Fact::DecisionTaken { decision, .. } => format!("> {}", short(decision)),
                other => other.to_string(),
            })
            .collect()
    }

    /// Appends as another process would.
    pub fn append(&self, fact: Fact) {
        self.mem.append(&stream(), Expect::Any, &[self.new_event(fact)]).unwrap();
    }

    pub fn new_event(&self, fact: Fact) -> NewEvent {
        NewEvent {
            at: self.clock.now(),
            scope: Default::default(),
            actor: pcbflow_core::event::Actor::Person,
            fact,
            words: Default::default(),
        }
    }

    pub fn answer(&self, ask: &str, answer: &str) {
        self.append(Fact::AskAnswered { ask: ask.parse().unwrap(), answer: answer.into() });
    }

    /// Every decision of the ledger comes out again.
    pub fn assert_replays(&self) {
        let events = self.events();
        let taken = self.count(|f| matches!(f, Fact::DecisionTaken { .. })) as u64;
        assert_eq!(replay(&events, &self.policy), Replay::Same { decisions: taken });
        for event in &events {
            if let Fact::DecisionTaken { based_on, .. } = &event.fact {
                assert_eq!(based_on.next(), event.seq, "based on what stands before it");
            }
        }
    }

    pub fn waits(&self) -> Vec<u64> {
        let wait = |f: &Fact| match f {
            Fact::DecisionTaken { decision: Decision::Attempt { wait_ms, .. }, .. } => {
                Some(*wait_ms).filter(|ms| *ms > 0)
            }
            _ => None,
        };
        self.events().iter().filter_map(|e| wait(&e.fact)).collect()
    }
}

fn short(decision: &Decision) -> String {
    match decision {
        Decision::Attempt { rung: Some(rung), .. } => format!("attempt by {rung}"),
        Decision::Attempt { .. } => "attempt".into(),
        other => other.line(),
    }
}
