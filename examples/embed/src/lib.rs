//! Runs a board of a workspace from a Rust program and hands back what happened.
//!
//! [`Session::open`] puts the crates together: what the program `pcbflow` does, without its
//! commands. [`Session::run`] runs the board to its next stop; [`Session::events`] reads its
//! record. The record is the workspace's own, so `pcbflow status` and `pcbflow log` see the run.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use pcbflow_checkpoint::CheckpointSubsystem;
use pcbflow_checkpoint::digests::CachedDigests;
use pcbflow_checkpoint::workspace::Workspace;
use pcbflow_core::catalogue::Catalogue;
use pcbflow_core::event::{Actor, Event, Fact, NewEvent, Owner, Words};
use pcbflow_core::ids::{BoardName, KindName, RunId, Scope, Seq, StepKey, StreamId};
use pcbflow_core::policy::Policy;
use pcbflow_core::ports::{
    Blobs, Cancel, Clock, Expect, Ledger, LedgerError, Progress, Services, Subsystem,
};
use pcbflow_engine::{BoardSetup, Host, Parts, RunOptions, RunReport, SystemClock, run_board};
use pcbflow_kicad::Kicad;
use pcbflow_process::{ProcessSpawn, ProcessSubsystem};
use pcbflow_store::{FileBlobs, Mode, OpenOptions, StateHome};
use tokio::sync::watch;

/// Events read from the ledger at a time.
const EVENTS_MAX: usize = 4096;

/// Any fault of the parts; each says in words what it is.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;

/// A board, ready to be run.
pub struct Session {
    parts: Parts,
    setup: BoardSetup,
    stop: Stop,
}

impl Session {
    /// Opens a board of the workspace at `folder`. `state_home` is the folder outside the
    /// workspace where the head of the record is kept, so that a record that was cut is noticed.
    ///
    /// # Errors
    /// No such workspace or board; faults of its manifest; what the store says.
    pub fn open(
        folder: &Path,
        board: &str,
        state_home: Option<&Path>,
        progress: Arc<dyn Progress>,
    ) -> Result<Session, Fault> {
        // 1. The workspace and the board's manifest.
        let workspace = Workspace::find(folder)?;
        let board = workspace.board(&BoardName::new(board)?)?;

        // 2. The subsystems: their step kinds decide whether the manifest is valid, their rows
        //    are the table of failures.
        let subsystems: Vec<Arc<dyn Subsystem>> = vec![
            Arc::new(ProcessSubsystem::new()),
            Arc::new(CheckpointSubsystem::new()),
            Arc::new(Kicad::new()),
        ];
        let kinds: Vec<_> = subsystems.iter().flat_map(|s| s.kinds()).collect();
        board.document.valid(&kinds, Vec::new())?;
        let rows: Vec<_> = subsystems.iter().flat_map(|s| s.rows()).collect();
        let longer = subsystems.iter().flat_map(|s| {
            s.overrides()
                .into_iter()
                .map(|o| ((s.name().to_owned(), o.class.to_owned()), o.longer_factor))
        });
        let policy = Policy {
            longer: longer.collect(),
            catalogue: Catalogue::fold(rows, Vec::new())?,
            settings: BTreeMap::new(),
        };

        // 3. The record, and the services that steps use.
        let home = state_home.map(|h| StateHome(h.to_owned()));
        let options = OpenOptions::of_workspace(&workspace.root, home, Mode::Write);
        let ledger: Arc<dyn Ledger> = pcbflow_store::open(&options)?.ledger;
        let state_dir = workspace.state_dir();
        let blobs: Arc<dyn Blobs> = Arc::new(FileBlobs::new(state_dir.join("blobs")));
        let stop = Stop::default();
        let services = Services {
            spawn: Arc::new(ProcessSpawn::new(&state_dir, Arc::clone(&blobs))),
            blobs,
            digests: Arc::new(CachedDigests::new(&state_dir.join("cache"))),
            clock: Arc::new(SystemClock),
            cancel: Arc::new(stop.clone()),
            progress,
        };

        // 4. Everything together.
        let parts = Parts {
            ledger,
            subsystems,
            services,
            policy: Arc::new(policy),
            host: Arc::new(ManifestHost { state_dir: state_dir.clone() }),
            owner: Owner {
                host: "embed".to_owned(),
                pid: std::process::id(),
                started: SystemClock.now().to_string(),
            },
        };
        let setup = BoardSetup {
            manifest: board.document.manifest,
            workspace: workspace.root,
            board_dir: board.dir,
            root: board.root,
            state_dir,
        };
        let session = Session { parts, setup, stop };
        session.begin_stream()?;
        Ok(session)
    }

    /// The first events of a board that has none yet.
    fn begin_stream(&self) -> Result<(), LedgerError> {
        let ledger = &self.parts.ledger;
        if ledger.head(&self.stream())?.is_some() {
            return Ok(());
        }
        let event = |fact| NewEvent {
            at: SystemClock.now(),
            scope: Scope::default(),
            actor: Actor::Engine,
            fact,
            words: Words::default(),
        };
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let events = [
            event(Fact::StreamOpened { ledger: ledger.id(), version }),
            event(Fact::BoardCreated { records: BTreeMap::new() }),
        ];
        match ledger.append(&self.stream(), Expect::Empty, &events) {
            // Somebody else was faster, which is as good.
            Ok(_) | Err(LedgerError::MovedOn { .. }) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Runs the board to its next stop: finished, findings, an ask, or the wish to stop.
    ///
    /// # Errors
    /// Another process runs the board; the record can't be written. What goes wrong inside a
    /// step is no error: it is healed, asked or reported.
    pub async fn run(&self) -> Result<RunReport, Fault> {
        let options = RunOptions {
            to: None,
            jobs: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            wait_ms_max: 0,
            checks_only: false,
            only_kinds: Vec::new(),
            resume: false,
            commit_kind: Some(KindName::new("checkpoint/commit")?),
            seed: uuid::Uuid::new_v4().as_u64_pair().0,
            run: RunId::new(uuid::Uuid::now_v7().simple().to_string())?,
            force: false,
        };
        Ok(run_board(&self.parts, &self.setup, &options).await?)
    }

    /// All events of the board from `from` on, with their words.
    ///
    /// # Errors
    /// What the record says.
    pub fn events(&self, from: Seq) -> Result<Vec<Event>, LedgerError> {
        let mut all: Vec<Event> = Vec::new();
        let mut next = from;
        // Ends with the first chunk that is not full.
        loop {
            let chunk = self.parts.ledger.read(&self.stream(), next, EVENTS_MAX, true)?;
            let full = chunk.len() == EVENTS_MAX;
            all.extend(chunk);
            match all.last() {
                Some(last) if full => next = last.seq.next(),
                _ => return Ok(all),
            }
        }
    }

    /// Position after the last event: what [`Session::events`] gives from here on is new.
    ///
    /// # Errors
    /// What the record says.
    pub fn next_seq(&self) -> Result<Seq, LedgerError> {
        Ok(self.parts.ledger.head(&self.stream())?.map_or(Seq(0), |h| h.seq.next()))
    }

    /// The table of failures that this session knows.
    #[must_use]
    pub fn catalogue(&self) -> &Catalogue {
        &self.parts.policy.catalogue
    }

    /// The wish to stop: the run goes to its next safe point and ends there.
    #[must_use]
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    fn stream(&self) -> StreamId {
        StreamId::Board(self.setup.board().clone())
    }
}

/// A wish to stop.
#[derive(Debug, Clone)]
pub struct Stop(watch::Sender<bool>);

impl Default for Stop {
    fn default() -> Self {
        Stop(watch::Sender::new(false))
    }
}

impl Stop {
    /// Asks the run to stop.
    pub fn wish(&self) {
        self.0.send_replace(true);
    }
}

#[async_trait]
impl Cancel for Stop {
    fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    async fn cancelled(&self) {
        // The sender lives in `self`: the wait can only end with the wish.
        if self.0.subscribe().wait_for(|wished| *wished).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Calls a function with every event as soon as it is recorded. It must return at once.
pub struct Tell<F>(pub F);

impl<F: Fn(&Event) + Send + Sync> Progress for Tell<F> {
    fn doing(&self, _: &StepKey, _: &str) {}

    fn appended(&self, events: &[Event]) {
        events.iter().for_each(&self.0);
    }
}

/// What the engine asks of its surroundings.
struct ManifestHost {
    state_dir: std::path::PathBuf,
}

#[async_trait]
impl Host for ManifestHost {
    async fn end_leftovers(&self, tag: &str) {
        pcbflow_process::end_leftovers(&self.state_dir, tag).await;
    }

    async fn write_status(
        &self,
        setup: &BoardSetup,
        status: &serde_json::Value,
    ) -> Result<(), String> {
        pcbflow_checkpoint::status::write(&setup.board_dir.join("project.yaml"), status)
            .map(|_| ())
            .map_err(|e| e.to_string())
    }
}
