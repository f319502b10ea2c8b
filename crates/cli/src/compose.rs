//! Puts the parts together: workspace, ledger, subsystems, policy, services.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use pcbflow_checkpoint::manifest::ManifestError;
use pcbflow_checkpoint::workspace::{Board, Workspace, WorkspaceError};
use pcbflow_core::catalogue::Catalogue;
use pcbflow_core::event::{Actor, Fact, NewEvent, Owner, StopCause, Words};
use pcbflow_core::ids::{BoardName, RunId, Scope, StreamId};
use pcbflow_core::manifest::{KindInfo, Manifest, ManifestFault};
use pcbflow_core::policy::Policy;
use pcbflow_core::ports::{
    Clock, Expect, FileDigests, Ledger, LedgerError, Progress, Services, Subsystem,
};
use pcbflow_core::row::Row;
use pcbflow_eda::EditorSettings;
use pcbflow_engine::{BoardSetup, Host, Parts, SystemClock};
use pcbflow_store::{FileBlobs, Mode, OpenOptions, Opened, StateHome};

use crate::args::Global;
use crate::cancel::{Stop, Wish};
use crate::error::{CommandError, Kind};
use crate::settings::{self, Settings};

/// Variable that names the user's state folder, for tests and odd machines.
pub const STATE_HOME_VAR: &str = "PCBFLOW_STATE_HOME";

/// All subsystems of this program. A new one is a line here.
#[must_use]
pub fn subsystems() -> Vec<Arc<dyn Subsystem>> {
    subsystems_with(&BTreeMap::new(), &EditorSettings::default())
}

/// The same with what a person configured: files of tools, the editor.
fn subsystems_with(
    tools: &BTreeMap<String, PathBuf>,
    editor: &EditorSettings,
) -> Vec<Arc<dyn Subsystem>> {
    let process = pcbflow_process::ProcessSubsystem::new();
    let mut editor = editor.clone();
    let chrome = ["chrome", "google-chrome", "chromium"].iter().find_map(|name| tools.get(*name));
    editor.browser = editor.browser.or_else(|| chrome.cloned());
    let process = tools.iter().fold(process, |process, (name, file)| process.tool(name, file));
    vec![
        Arc::new(process),
        Arc::new(checkpoint()),
        Arc::new(pcbflow_kicad::Kicad::new()),
        Arc::new(crate::storage::StorageSubsystem),
        Arc::new(pcbflow_eda::Eda::new(editor)),
        Arc::new(crate::rows_only::RowsOnly::new("agents", pcbflow_agents::ROWS)),
    ]
}

/// Git and snapshots; copies of a damaged history go outside the workspace.
fn checkpoint() -> pcbflow_checkpoint::CheckpointSubsystem {
    match state_home() {
        Some(StateHome(dir)) => {
            pcbflow_checkpoint::CheckpointSubsystem::with_elsewhere(dir.join("kept-elsewhere"))
        }
        None => pcbflow_checkpoint::CheckpointSubsystem::new(),
    }
}

/// Rows of all subsystems.
#[must_use]
pub fn rows() -> Vec<Row> {
    subsystems().iter().flat_map(|s| s.rows()).collect()
}

/// Step kinds of all subsystems.
#[must_use]
pub fn kinds() -> Vec<KindInfo> {
    subsystems().iter().flat_map(|s| s.kinds()).collect()
}

/// The folded catalogue with a person's rules.
///
/// # Errors
/// A rule that names an unknown class.
pub fn catalogue(settings: &Settings) -> Result<Catalogue, CommandError> {
    Catalogue::fold(rows(), settings.rules.clone())
        .map_err(|e| CommandError::new(Kind::Config, e.to_string()))
}

/// An opened workspace.
pub struct Site {
    /// The workspace.
    pub workspace: Workspace,
    /// Its settings.
    pub settings: Settings,
    /// The policy.
    pub policy: Arc<Policy>,
    /// Subsystems.
    pub subsystems: Vec<Arc<dyn Subsystem>>,
}

impl Site {
    /// Finds and opens the workspace that the options or the current folder name.
    ///
    /// # Errors
    /// No workspace; settings that can't be read.
    pub fn open(global: &Global) -> Result<Site, CommandError> {
        let workspace = match &global.workspace {
            Some(dir) => Workspace::at(dir)?,
            None => Workspace::find(&current_dir()?)?,
        };
        Site::at(workspace)
    }

    /// Opens a workspace.
    ///
    /// # Errors
    /// Settings that can't be read.
    pub fn at(workspace: Workspace) -> Result<Site, CommandError> {
        let settings = settings::load(&workspace.root)?;
        let subsystems = subsystems_with(&settings.tools, &settings.editor);
        let mut longer = BTreeMap::new();
        for s in &subsystems {
            for o in s.overrides() {
                longer.insert((s.name().to_owned(), o.class.to_owned()), o.longer_factor);
            }
        }
        let policy =
            Policy { catalogue: catalogue(&settings)?, settings: settings.classes.clone(), longer };
        Ok(Site { workspace, settings, policy: Arc::new(policy), subsystems })
    }

    /// The board that an argument means; see [`board_name`].
    ///
    /// # Errors
    /// No such board, or several to choose from.
    pub fn board_name(&self, arg: Option<&str>) -> Result<BoardName, CommandError> {
        board_name(&self.workspace, arg)
    }

    /// Whether a command about an ask must name its board. A folder that can't be listed counts:
    /// a name too many does no harm.
    #[must_use]
    pub fn several_boards(&self) -> bool {
        self.workspace.boards().map_or(true, |boards| boards.list.len() > 1)
    }

    /// A board with a valid manifest.
    ///
    /// # Errors
    /// Faults of the manifest, each with its line and remedy.
    pub fn board(&self, name: &BoardName) -> Result<Board, CommandError> {
        let kinds: Vec<KindInfo> = self.subsystems.iter().flat_map(|s| s.kinds()).collect();
        let board = match self.workspace.board(name) {
            // What keeps it from being read may not be all that is wrong with it.
            Err(WorkspaceError::Manifest(ManifestError::Faults { path, list })) => {
                let mut all = self.workspace.faults(name, &kinds, &|m| self.step_faults(m))?;
                // Whatever was seen first stays told.
                all.extend(list.into_iter().filter(|f| !all.contains(f)).collect::<Vec<_>>());
                all.sort_by_key(|f| f.at);
                let faults = ManifestError::Faults { path, list: all };
                return Err(CommandError::from(WorkspaceError::Manifest(faults)));
            }
            other => other?,
        };
        self.workspace.holds(&board)?;
        let more = self.step_faults(&board.document.manifest);
        board
            .document
            .valid(&kinds, more)
            .map_err(|e| CommandError::from(WorkspaceError::Manifest(e)))?;
        Ok(board)
    }

    /// What the subsystems see in the arguments of the steps.
    fn step_faults(&self, manifest: &Manifest) -> Vec<ManifestFault> {
        let mut more: Vec<ManifestFault> = Vec::new();
        for (p, phase) in manifest.phases.iter().enumerate() {
            for (s, step) in phase.steps.iter().enumerate() {
                let own = |sub: &&Arc<dyn Subsystem>| {
                    sub.kinds().iter().any(|k| k.name == step.uses.as_str())
                };
                for sub in self.subsystems.iter().filter(own) {
                    more.extend(sub.step_faults(step).into_iter().map(|mut f| {
                        f.path = format!("phases[{p}].steps[{s}].{}", f.path);
                        f
                    }));
                }
            }
        }
        more
    }

    /// Opens the ledger.
    ///
    /// # Errors
    /// What the store says: damaged, newer, read-only, no space.
    pub fn ledger(&self, mode: Mode) -> Result<Opened, CommandError> {
        let options = OpenOptions::of_workspace(&self.workspace.root, state_home(), mode);
        Ok(pcbflow_store::open(&options)?)
    }

    /// Blobs of the workspace.
    #[must_use]
    pub fn blobs(&self) -> FileBlobs {
        FileBlobs::new(self.workspace.state_dir().join("blobs"))
    }

    /// Services for subsystems.
    #[must_use]
    pub fn services(&self, stop: &Stop, progress: Arc<dyn Progress>) -> Services {
        let blobs = Arc::new(self.blobs());
        let cache = self.workspace.state_dir().join("cache");
        let digests: Arc<dyn FileDigests> =
            Arc::new(pcbflow_checkpoint::digests::CachedDigests::new(&cache));
        Services {
            spawn: Arc::new(pcbflow_process::ProcessSpawn::new(
                self.workspace.state_dir(),
                Arc::clone(&blobs) as Arc<dyn pcbflow_core::ports::Blobs>,
            )),
            blobs,
            digests,
            clock: Arc::new(SystemClock),
            cancel: Arc::new(stop.clone()),
            progress,
        }
    }

    /// The segment of a clone's history that a new stream takes over, if its commits name one.
    #[must_use]
    pub fn adopted(&self, board: &Board) -> Option<Fact> {
        let services = self.services(&Stop::default(), Arc::new(NoProgress));
        let anchor = block_on(async {
            let git = pcbflow_checkpoint::git::Git::new(&services, &board.dir, "adopt");
            pcbflow_checkpoint::git::anchor(&git, &board.name).await
        });
        // Without a runtime there is no git either; the stream then begins anew, which is true.
        let anchor = anchor.ok().flatten()?;
        Some(Fact::SegmentAdopted { ledger: anchor.ledger, seq: anchor.seq, hash: anchor.hash })
    }

    /// Everything a run needs.
    #[must_use]
    pub fn parts(&self, ledger: Arc<dyn Ledger>, services: Services, stop: &Stop) -> Parts {
        Parts {
            ledger,
            subsystems: self.subsystems.clone(),
            services,
            policy: Arc::clone(&self.policy),
            host: Arc::new(WorkspaceHost {
                state_dir: self.workspace.state_dir(),
                stop: stop.clone(),
            }),
            owner: owner(),
        }
    }

    /// What follows a run and may fail without harm: the readable mirrors of its boards.
    pub fn after_run(
        &self,
        ledger: &pcbflow_store::RedbLedger,
        boards: &[Board],
        app: &crate::App,
    ) {
        for board in boards {
            for warning in crate::mirror::update(self, ledger, board) {
                app.ui.warn(&warning);
            }
        }
    }

    /// The parts of a board that lie outside the ledger.
    #[must_use]
    pub fn setup(&self, board: &Board) -> BoardSetup {
        BoardSetup {
            manifest: board.document.manifest.clone(),
            workspace: self.workspace.root.clone(),
            board_dir: board.dir.clone(),
            root: board.root.clone(),
            state_dir: self.workspace.state_dir(),
        }
    }
}

/// The board that an argument means: the named one, the current folder's, or the only one.
///
/// # Errors
/// No such board, or several to choose from.
pub fn board_name(workspace: &Workspace, arg: Option<&str>) -> Result<BoardName, CommandError> {
    if let Some(text) = arg {
        return BoardName::new(text).map_err(|e| CommandError::new(Kind::Usage, e.to_string()));
    }
    if let Some(name) = workspace.board_of(&current_dir()?) {
        return Ok(name);
    }
    let boards = workspace.boards()?.list;
    match boards.as_slice() {
        [one] => Ok(one.name.clone()),
        [] => Err(CommandError::new(Kind::NotFound, "this workspace has no board yet")
            .hint("'pcbflow init NAME' or 'pcbflow init --from BOARD.kicad_pro' makes one")),
        many => {
            let names: Vec<&str> = many.iter().map(|b| b.name.as_str()).collect();
            Err(CommandError::new(Kind::Usage, "which board?")
                .hint(format!("name one of: {}", names.join(", "))))
        }
    }
}

/// Makes sure that a board's stream has its genesis. `adopt` looks for the anchor of a clone; it
/// is only called when the stream is new.
///
/// # Errors
/// What the ledger says.
pub fn ensure_stream(
    ledger: &dyn Ledger,
    board: &BoardName,
    records: BTreeMap<String, String>,
    adopt: impl FnOnce() -> Option<Fact>,
) -> Result<bool, LedgerError> {
    let stream = StreamId::Board(board.clone());
    if ledger.head(&stream)?.is_some() {
        return Ok(false);
    }
    let at = SystemClock.now();
    let event = |fact| NewEvent {
        at,
        scope: Scope::default(),
        actor: Actor::Engine,
        fact,
        words: Words::default(),
    };
    let mut events = vec![
        event(Fact::StreamOpened {
            ledger: ledger.id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }),
        event(Fact::BoardCreated { records }),
    ];
    events.extend(adopt().map(event));
    match ledger.append(&stream, Expect::Empty, &events) {
        Ok(_) => Ok(true),
        // Somebody else was faster: the stream is there, which is what was wanted.
        Err(LedgerError::MovedOn { .. }) => Ok(false),
        Err(e) => Err(e),
    }
}

/// Runs a short piece of async work to its end.
///
/// # Errors
/// The system gives no runtime.
pub fn block_on<T>(work: impl Future<Output = T>) -> Result<T, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| CommandError::new(Kind::Bug, format!("no runtime: {e}")))?;
    Ok(runtime.block_on(work))
}

/// Progress that nobody watches.
pub struct NoProgress;

impl Progress for NoProgress {
    fn doing(&self, _: &pcbflow_core::ids::StepKey, _: &str) {}
    fn appended(&self, _: &[pcbflow_core::event::Event]) {}
}

/// The user's state folder, where the known heads are kept.
#[must_use]
pub fn state_home() -> Option<StateHome> {
    use etcetera::BaseStrategy;
    if let Some(dir) = std::env::var_os(STATE_HOME_VAR) {
        return Some(StateHome(PathBuf::from(dir)));
    }
    let base = etcetera::choose_base_strategy().ok()?;
    let dir = base.state_dir().unwrap_or_else(|| base.data_dir());
    Some(StateHome(dir.join("pcbflow")))
}

/// The current folder.
///
/// # Errors
/// It was removed, or can't be read.
pub fn current_dir() -> Result<PathBuf, CommandError> {
    std::env::current_dir()
        .map_err(|e| CommandError::new(Kind::Usage, format!("the current folder is gone: {e}")))
}

/// This process.
#[must_use]
pub fn owner() -> Owner {
    let pid = std::process::id();
    Owner { host: host_name(), pid, started: process_start(pid) }
}

fn host_name() -> String {
    let from_file = |p: &str| std::fs::read_to_string(p).ok().map(|t| t.trim().to_owned());
    from_file("/proc/sys/kernel/hostname")
        .or_else(|| std::env::var("HOSTNAME").ok())
        .or_else(|| std::env::var("COMPUTERNAME").ok())
        .filter(|h| !h.is_empty())
        .unwrap_or_else(|| "this computer".to_owned())
}

/// Start of a process in the system's own terms; with the pid it names one process.
fn process_start(pid: u32) -> String {
    started_of(pid).unwrap_or_else(|| SystemClock.now().to_string())
}

/// Start of a process that lives; `None` when there is none, or the system does not tell.
#[must_use]
pub fn started_of(pid: u32) -> Option<String> {
    // Field 22 of /proc/<pid>/stat, counted after the program's name in parentheses.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let after = stat.rsplit(") ").next().unwrap_or("");
    after.split(' ').nth(19).map(str::to_owned)
}

/// A new run's id, sortable by time.
///
/// # Errors
/// Never in practice: the text has the right form.
pub fn new_run_id() -> Result<RunId, CommandError> {
    let id = uuid::Uuid::now_v7().simple().to_string();
    RunId::new(id).map_err(|e| CommandError::new(Kind::Bug, e.to_string()))
}

/// A random seed.
#[must_use]
pub fn new_seed() -> u64 {
    let bytes = *uuid::Uuid::new_v4().as_bytes();
    bytes.iter().take(8).fold(0, |n, b| (n << 8) | u64::from(*b))
}

struct WorkspaceHost {
    state_dir: PathBuf,
    stop: Stop,
}

#[async_trait]
impl Host for WorkspaceHost {
    async fn end_leftovers(&self, tag: &str) {
        pcbflow_process::end_leftovers(&self.state_dir, tag).await;
    }

    fn stop_cause(&self) -> StopCause {
        match self.stop.wished() {
            Wish::Terminate => StopCause::Terminated,
            Wish::Interrupt | Wish::None => StopCause::Interrupted,
        }
    }

    async fn write_status(
        &self,
        setup: &BoardSetup,
        status: &serde_json::Value,
    ) -> Result<(), String> {
        let path: &Path = &setup.board_dir.join("project.yaml");
        pcbflow_checkpoint::status::write_inside(&setup.workspace, path, status)
            .map(|_| ())
            .map_err(|e| crate::error::chain(&e))
    }
}
