//! Puts the parts together: what a program of your own does once, at its start.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use pcbflow_checkpoint::digests::CachedDigests;
use pcbflow_checkpoint::workspace::Workspace;
use pcbflow_core::catalogue::Catalogue;
use pcbflow_core::event::{Event, Owner};
use pcbflow_core::ids::{BoardName, RunId, Seq, StepKey, StreamId};
use pcbflow_core::manifest::{KindInfo, Manifest, ManifestFault};
use pcbflow_core::policy::Policy;
use pcbflow_core::ports::{Blobs, Cancel, Clock, Ledger, Progress, Services, Subsystem};
use pcbflow_core::time::Timestamp;
use pcbflow_engine::{
    BoardSetup, EngineError, Host, Parts, RunOptions, RunReport, SystemClock, run_board,
};
use pcbflow_process::ProcessSpawn;
use pcbflow_store::{FileBlobs, MemLedger};

/// Most events of the stream that are read.
const EVENTS_MAX: usize = 10_000;

/// One board of a workspace, ready to be run.
pub struct World {
    parts: Parts,
    setup: BoardSetup,
}

/// What became of a run.
pub struct Ran {
    /// The engine's own account.
    pub report: RunReport,
    /// Every event of the board so far.
    pub events: Vec<Event>,
}

impl World {
    /// Opens a board. `subsystems` is the list that a new subsystem is one line of.
    pub fn open(
        folder: &Path,
        board: &str,
        subsystems: Vec<Arc<dyn Subsystem>>,
        progress: Arc<dyn Progress>,
    ) -> Result<World, Box<dyn std::error::Error>> {
        let workspace = Workspace::at(folder)?;
        let board = workspace.board(&BoardName::new(board)?)?;
        let kinds: Vec<_> = subsystems.iter().flat_map(|s| s.kinds()).collect();
        board.document.valid(&kinds, step_faults(&board.document.manifest, &subsystems))?;
        let rows: Vec<_> = subsystems.iter().flat_map(|s| s.rows()).collect();
        let policy = Policy {
            catalogue: Catalogue::fold(rows, Vec::new())?,
            settings: std::collections::BTreeMap::new(),
            longer: std::collections::BTreeMap::new(),
        };
        let state_dir = workspace.state_dir();
        let blobs: Arc<dyn Blobs> = Arc::new(FileBlobs::new(state_dir.join("blobs")));
        let services = Services {
            spawn: Arc::new(ProcessSpawn::new(&state_dir, Arc::clone(&blobs))),
            blobs,
            digests: Arc::new(CachedDigests::new(&state_dir.join("cache"))),
            clock: Arc::new(PatientClock::default()),
            cancel: Arc::new(NeverCancelled),
            progress,
        };
        let parts = Parts {
            ledger: Arc::new(MemLedger::new()),
            subsystems,
            services,
            policy: Arc::new(policy),
            host: Arc::new(QuietHost),
            owner: Owner {
                host: "example".to_owned(),
                pid: std::process::id(),
                started: String::new(),
            },
        };
        let setup = BoardSetup {
            manifest: board.document.manifest,
            workspace: workspace.root,
            board_dir: board.dir,
            root: board.root,
            state_dir,
        };
        Ok(World { parts, setup })
    }

    /// Runs the board to its next stop.
    pub async fn run(&self, run: &str) -> Result<Ran, EngineError> {
        let options = RunOptions {
            to: None,
            jobs: 2,
            wait_ms_max: 60_000,
            checks_only: false,
            only_kinds: Vec::new(),
            resume: false,
            // No commits here: a board of your own takes "checkpoint/commit".
            commit_kind: None,
            seed: 1,
            run: RunId::new(run).unwrap_or_else(|e| unreachable!("letters and digits: {e}")),
            force: false,
        };
        let report = run_board(&self.parts, &self.setup, &options).await?;
        let stream = StreamId::Board(self.setup.board().clone());
        let events = self.parts.ledger.read(&stream, Seq(0), EVENTS_MAX, true)?;
        Ok(Ran { report, events })
    }

    /// The table of rows.
    pub fn catalogue(&self) -> &Catalogue {
        &self.parts.policy.catalogue
    }

    /// The ledger.
    pub fn ledger(&self) -> &dyn Ledger {
        self.parts.ledger.as_ref()
    }

    /// The board.
    pub fn board(&self) -> &BoardName {
        self.setup.board()
    }
}

/// What the subsystem of each step has to say about its arguments, with the place in the file.
fn step_faults(manifest: &Manifest, subsystems: &[Arc<dyn Subsystem>]) -> Vec<ManifestFault> {
    let mut found = Vec::new();
    for (p, phase) in manifest.phases.iter().enumerate() {
        for (s, step) in phase.steps.iter().enumerate() {
            let own = |k: &KindInfo| k.name == step.uses.as_str();
            for subsystem in subsystems.iter().filter(|s| s.kinds().iter().any(own)) {
                found.extend(subsystem.step_faults(step).into_iter().map(|fault| ManifestFault {
                    path: format!("phases[{p}].steps[{s}].{}", fault.path),
                    ..fault
                }));
            }
        }
    }
    found
}

/// The real time, plus every wait that was asked for: waits cost nothing and are still recorded.
#[derive(Default)]
struct PatientClock {
    waited_us: std::sync::atomic::AtomicI64,
}

#[async_trait]
impl Clock for PatientClock {
    fn now(&self) -> Timestamp {
        let waited = self.waited_us.load(std::sync::atomic::Ordering::SeqCst);
        Timestamp(SystemClock.now().0.saturating_add(waited))
    }

    async fn sleep_until(&self, wake: Timestamp) {
        let missing = wake.0.saturating_sub(self.now().0).max(0);
        self.waited_us.fetch_add(missing, std::sync::atomic::Ordering::SeqCst);
        tokio::task::yield_now().await;
    }
}

/// Nobody wants to stop.
struct NeverCancelled;

#[async_trait]
impl Cancel for NeverCancelled {
    fn is_cancelled(&self) -> bool {
        false
    }

    async fn cancelled(&self) {
        std::future::pending().await
    }
}

/// Says nothing while it runs.
pub struct Quiet;

impl Progress for Quiet {
    fn doing(&self, _: &StepKey, _: &str) {}
    fn appended(&self, _: &[Event]) {}
}

/// Nothing to clean up and no `status:` to write: the ledger ends with the program.
struct QuietHost;

#[async_trait]
impl Host for QuietHost {
    async fn end_leftovers(&self, _: &str) {}

    async fn write_status(&self, _: &BoardSetup, _: &serde_json::Value) -> Result<(), String> {
        Ok(())
    }
}
