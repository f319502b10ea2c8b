//! What a run is given and what it gives back.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use pcbflow_core::check::{Counts, Finding, Gate, PhaseVerdict};
use pcbflow_core::event::{Owner, StopCause};
use pcbflow_core::exit::{Exit, Verdict};
use pcbflow_core::ids::{BoardName, KindName, PhaseId, RunId, StepKey};
use pcbflow_core::manifest::{KindInfo, Manifest};
use pcbflow_core::policy::Policy;
use pcbflow_core::ports::{Head, Ledger, LedgerError, Services, Subsystem};
use pcbflow_core::projection::AskState;
use pcbflow_core::row::Row;

/// The parts of one board's run that lie outside the ledger.
#[derive(Debug, Clone)]
pub struct BoardSetup {
    /// The manifest, already valid.
    pub manifest: Manifest,
    /// Folder of the workspace.
    pub workspace: PathBuf,
    /// `projects/<board>`.
    pub board_dir: PathBuf,
    /// Where the board's files lie.
    pub root: PathBuf,
    /// `.pcbflow`.
    pub state_dir: PathBuf,
}

impl BoardSetup {
    /// The board.
    #[must_use]
    pub fn board(&self) -> &BoardName {
        &self.manifest.board
    }
}

/// What the engine asks of its surroundings besides the core's ports.
#[async_trait]
pub trait Host: Send + Sync {
    /// Ends what is left of a process group started with this marker. Called before any output
    /// of an attempt that was cut short is read.
    async fn end_leftovers(&self, tag: &str);
    /// Writes the `status:` key of the board's manifest at a pause. A failure is a note, the
    /// ledger is the truth.
    ///
    /// # Errors
    /// Why it could not be written.
    async fn write_status(
        &self,
        setup: &BoardSetup,
        status: &serde_json::Value,
    ) -> Result<(), String>;
    /// Who wanted to stop, once the wish is there: [`StopCause::Interrupted`] for Ctrl-C,
    /// [`StopCause::Terminated`] for a termination signal.
    fn stop_cause(&self) -> StopCause {
        StopCause::Interrupted
    }
}

/// The parts that a run uses.
#[derive(Clone)]
pub struct Parts {
    /// The ledger.
    pub ledger: Arc<dyn Ledger>,
    /// All subsystems.
    pub subsystems: Vec<Arc<dyn Subsystem>>,
    /// Services for subsystems.
    pub services: Services,
    /// The policy.
    pub policy: Arc<Policy>,
    /// Everything else.
    pub host: Arc<dyn Host>,
    /// This process.
    pub owner: Owner,
}

impl Parts {
    /// The subsystem of a step kind.
    #[must_use]
    pub fn of_kind(&self, kind: &KindName) -> Option<Arc<dyn Subsystem>> {
        self.subsystems.iter().find(|s| s.kinds().iter().any(|k| k.name == kind.as_str())).cloned()
    }

    /// What a kind says of itself.
    #[must_use]
    pub fn kind(&self, kind: &KindName) -> Option<KindInfo> {
        self.subsystems.iter().flat_map(|s| s.kinds()).find(|k| k.name == kind.as_str())
    }

    /// The subsystem that carries out an action or probe of a class for a step of a kind: the
    /// step's own if it wants to, else the one that owns the row.
    #[must_use]
    pub fn of_action(
        &self,
        kind: &KindName,
        class: &str,
        action: &str,
    ) -> Option<Arc<dyn Subsystem>> {
        self.of_kind(kind).filter(|s| s.handles(class, action)).or_else(|| {
            self.subsystems.iter().find(|s| s.rows().iter().any(|r: &Row| r.id == class)).cloned()
        })
    }
}

/// How far and how a run goes.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Last phase to run.
    pub to: Option<PhaseId>,
    /// Most steps at once.
    pub jobs: usize,
    /// Wait up to this long for open asks to be met, in milliseconds; 0 = stop at once.
    pub wait_ms_max: u64,
    /// Only checks, nothing is committed.
    pub checks_only: bool,
    /// With `checks_only`: only step kinds whose last part is one of these; empty = all.
    pub only_kinds: Vec<String>,
    /// Go on with the last run instead of starting a new one, if it can be gone on with.
    pub resume: bool,
    /// Kind of the step that commits a phase's outputs.
    pub commit_kind: Option<KindName>,
    /// Seed of the run's jitter.
    pub seed: u64,
    /// Id of a new run.
    pub run: RunId,
    /// Run steps even if they are up to date.
    pub force: bool,
}

/// Why a run could not be carried through.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The ledger refused.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Another live process runs this board.
    #[error("board {board} is being run by process {pid} on {host} since {since}")]
    Busy {
        /// The board.
        board: BoardName,
        /// Host of the other process.
        host: String,
        /// Its id.
        pid: u32,
        /// Since when, as it wrote.
        since: String,
    },
    /// The claim could not be made or read.
    #[error("the claim {path} can't be used: {message}")]
    Claim {
        /// The file.
        path: PathBuf,
        /// What the system said.
        message: String,
    },
    /// Another writer kept moving the stream; nothing was lost.
    #[error("stream of board {board} kept moving for {tries} tries")]
    Contended {
        /// The board.
        board: BoardName,
        /// How often it was tried.
        tries: u32,
    },
    /// A private folder for an attempt could not be made.
    #[error("the folder {path} can't be made: {message}")]
    Scratch {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        message: String,
    },
    /// No such phase.
    #[error("there is no phase {0}")]
    NoPhase(PhaseId),
}

impl EngineError {
    /// The error of a full disk (LG-1), if that is what the system said.
    pub(crate) fn of_full_disk(e: &std::io::Error, doing: &'static str) -> Option<EngineError> {
        use std::io::ErrorKind::{QuotaExceeded, StorageFull};
        let full = matches!(e.kind(), StorageFull | QuotaExceeded);
        full.then_some(EngineError::Ledger(LedgerError::DiskFull { doing }))
    }
}

/// How one step came out.
#[derive(Debug, Clone)]
pub struct StepReport {
    /// Which.
    pub key: StepKey,
    /// Its gate, if it was decided.
    pub gate: Option<Gate>,
    /// It was up to date.
    pub skipped: bool,
    /// It was healed: class and rung.
    pub recovered: Option<(String, String)>,
    /// Its counts.
    pub counts: Counts,
    /// Its findings.
    pub findings: Vec<Finding>,
    /// Why it failed or could not run, in words.
    pub reason: String,
}

/// How a run came out.
#[derive(Debug, Clone)]
pub struct RunReport {
    /// The board.
    pub board: BoardName,
    /// The run; `None` when there was nothing to do.
    pub run: Option<RunId>,
    /// Whether only checks were run, as asked for or as in the run that was gone on with.
    pub checks_only: bool,
    /// The verdict over everything that was asked for.
    pub verdict: Verdict,
    /// Only findings below the limits.
    pub conditional: bool,
    /// Exit code.
    pub exit: Exit,
    /// Why it stopped.
    pub cause: StopCause,
    /// The steps, in order of the manifest.
    pub steps: Vec<StepReport>,
    /// Verdicts of the phases that were judged.
    pub phases: Vec<(PhaseId, PhaseVerdict, Option<String>)>,
    /// Open asks.
    pub asks: Vec<AskState>,
    /// Whether the run went on with an earlier one, and at which step.
    pub resumed_at: Option<StepKey>,
    /// Steps whose result was unknown at resume.
    pub settled: Vec<StepKey>,
    /// Head after the run.
    pub head: Option<Head>,
    /// Notes such as a clock that went back.
    pub notes: BTreeMap<String, String>,
}
