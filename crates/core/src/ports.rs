//! What core and engine need of the world, as traits. The other crates implement them; only
//! `cli` and the tests put implementations and users together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;

use crate::check::CheckResult;
use crate::event::{BlobRef, Ended, Event, NewEvent, OutputRef, ReadBack, RecoveryOutcome};
use crate::evidence::Evidence;
use crate::ids::{AttemptNo, BoardName, Digest, LedgerId, Seq, StepId, StepKey, StreamId};
use crate::manifest::{KindInfo, ManifestFault, StepDef};
use crate::row::Row;
use crate::time::Timestamp;

/// The time, and waiting for it. Tests drive it; nothing asserts on real seconds.
#[async_trait]
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;
    /// Returns when `wake` has come; at once when it has passed.
    async fn sleep_until(&self, wake: Timestamp);
}

/// A wish to stop, shared by everything that runs.
#[async_trait]
pub trait Cancel: Send + Sync {
    /// Whether somebody wants to stop.
    fn is_cancelled(&self) -> bool;
    /// Returns when somebody wants to stop.
    async fn cancelled(&self);
}

/// Head of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Head {
    /// Position of the last event.
    pub seq: Seq,
    /// Its hash.
    pub hash: Digest,
}

/// What a stream's head must be for an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Whatever it is.
    Any,
    /// The stream has no events yet.
    Empty,
    /// Exactly this head.
    At(Head),
}

/// Why the ledger did not do as asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// Another writer was faster: read, fold, decide again.
    #[error("stream {stream} has moved on from what was expected")]
    MovedOn {
        /// The stream.
        stream: StreamId,
        /// Its head now.
        head: Option<Head>,
    },
    /// LG-1: no space for the event; nothing was written.
    #[error("no space left for the record while {doing}")]
    DiskFull {
        /// What was being done.
        doing: &'static str,
    },
    /// LG-2: the chain breaks, the file is cut, empty or gone although this ledger was known.
    #[error("the record is damaged: {what}")]
    Damaged {
        /// What was seen, with the last good position where there is one.
        what: String,
    },
    /// LG-3: written by a newer release.
    #[error("the record has format {found}, this release knows {known}")]
    Newer {
        /// Format found.
        found: u32,
        /// Newest format known.
        known: u32,
    },
    /// LG-4: can't be opened for writing.
    #[error("the record can't be written: {what}")]
    ReadOnly {
        /// What was refused.
        what: String,
    },
    /// There is no such stream, event or blob.
    #[error("no {what}")]
    NotFound {
        /// What was looked for.
        what: String,
    },
    /// An event is larger than the ledger takes, or not of a form it takes.
    #[error("event refused: {why}")]
    Refused {
        /// Why.
        why: String,
    },
    /// Anything else from storage.
    #[error("storage fault while {doing}: {message}")]
    Storage {
        /// What was being done.
        doing: &'static str,
        /// What storage said.
        message: String,
    },
}

/// Append-only, chained streams of events.
///
/// Every implementation passes the conformance suite of `store`.
pub trait Ledger: Send + Sync {
    /// Id of the ledger.
    fn id(&self) -> LedgerId;
    /// Whether the block of disk space kept for the last events had to be given up, so that no
    /// step may start (LG-1).
    fn space_is_short(&self) -> bool {
        false
    }
    /// Appends all of `events` or none. When it returns, they are durable.
    ///
    /// # Errors
    /// [`LedgerError::MovedOn`] when the head is not as expected; storage faults.
    fn append(
        &self,
        stream: &StreamId,
        expect: Expect,
        events: &[NewEvent],
    ) -> Result<Head, LedgerError>;
    /// Head of a stream, `None` when it has no events.
    ///
    /// # Errors
    /// Storage faults.
    fn head(&self, stream: &StreamId) -> Result<Option<Head>, LedgerError>;
    /// Up to `limit` events from `from` on, bodies included when `words`.
    ///
    /// # Errors
    /// Storage faults; [`LedgerError::Damaged`] when a hash does not fit.
    fn read(
        &self,
        stream: &StreamId,
        from: Seq,
        limit: usize,
        words: bool,
    ) -> Result<Vec<Event>, LedgerError>;
    /// All streams that have events.
    ///
    /// # Errors
    /// Storage faults.
    fn streams(&self) -> Result<Vec<StreamId>, LedgerError>;
    /// The stored fold of `projection` at `version`, with the head it stands at. Only returned
    /// when that head is part of the chain.
    ///
    /// # Errors
    /// Storage faults.
    fn fold_cache(
        &self,
        stream: &StreamId,
        projection: &str,
        version: u32,
    ) -> Result<Option<(Head, Vec<u8>)>, LedgerError>;
    /// Stores a fold; a cache may be dropped at any time.
    ///
    /// # Errors
    /// Storage faults.
    fn store_fold(
        &self,
        stream: &StreamId,
        projection: &str,
        version: u32,
        at: Head,
        bytes: &[u8],
    ) -> Result<(), LedgerError>;
}

/// Content-addressed evidence. Bytes are on disk, synced, before `put` returns.
pub trait Blobs: Send + Sync {
    /// Stores bytes (already redacted) under a name for people. Cut at the store's cap.
    ///
    /// # Errors
    /// Storage faults.
    fn put(&self, name: &str, bytes: &[u8]) -> Result<BlobRef, LedgerError>;
    /// The bytes of a blob; checked against the digest.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`], [`LedgerError::Damaged`].
    fn get(&self, digest: &Digest) -> Result<Vec<u8>, LedgerError>;
}

/// Digests of files, cached by file status with a racy-timestamp rule.
pub trait FileDigests: Send + Sync {
    /// Digest and size of a file's content; `None` when there is no such file.
    ///
    /// # Errors
    /// What the system says when the file is there and can't be read.
    fn digest(&self, path: &Path) -> Result<Option<(Digest, u64)>, std::io::Error>;
}

/// A program to start.
#[derive(Debug, Clone, Default)]
pub struct SpawnRequest {
    /// Program and arguments; never a shell line.
    pub argv: Vec<String>,
    /// Folder to run in.
    pub cwd: PathBuf,
    /// Variables on top of the allow-list that `process` passes on.
    pub env: BTreeMap<String, String>,
    /// Bytes for standard input; closed at once without.
    pub stdin: Option<Vec<u8>>,
    /// Deadline in milliseconds; the whole process group ends within one second after it.
    pub deadline_ms: u64,
    /// Most bytes per stream before the program counts as an endless writer.
    pub output_bytes_max: u64,
    /// Most resident bytes of the group; 0 = a share of the machine's memory that spares it.
    pub memory_bytes_max: u64,
    /// Longest time in milliseconds in which the group may work (its CPU time grows) without a
    /// byte of output; 0 = no limit.
    pub quiet_ms_max: u64,
    /// Marker put into `PCBFLOW_ATTEMPT`.
    pub tag: String,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpawnEnded {
    /// With this status.
    Exited(i32),
    /// By this signal, not ours.
    Signalled(i32),
    /// Our deadline passed and we ended the group.
    DeadlinePassed,
    /// Somebody wanted to stop and we ended the group.
    Cancelled,
    /// It wrote past the cap and we ended the group.
    OutputEndless,
    /// It grew past the memory limit and we ended the group.
    MemoryOverLimit(u64),
    /// It worked for this many milliseconds without a byte of output, longer than it may, and we
    /// ended the group.
    BusyWithoutOutput(u64),
    /// No such program.
    NotFound,
    /// The program may not be started.
    Denied,
    /// Starting failed otherwise; what the system said.
    Failed(String),
}

/// One captured stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// Head and tail, redacted, bounded, cut on character borders.
    pub text: String,
    /// The full redacted stream as a blob (up to the store's cap), if anything was written.
    pub blob: Option<BlobRef>,
    /// Bytes really written.
    pub total_bytes: u64,
}

/// What was seen of a program's memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemorySeen {
    /// Resident bytes of the group at the last look, where they were large and had grown at each
    /// of the last looks.
    pub rising_to: Option<u64>,
    /// The system's own count of processes that it ended for lack of memory grew meanwhile.
    pub out_of_memory: bool,
}

/// What came of a program.
#[derive(Debug, Clone)]
pub struct SpawnResult {
    /// How it ended.
    pub ended: SpawnEnded,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
    /// How long it ran, in milliseconds.
    pub took_ms: u64,
    /// Its memory.
    pub memory: MemorySeen,
}

impl SpawnResult {
    /// Exit status, if it exited by itself.
    #[must_use]
    pub fn status(&self) -> Option<i32> {
        match self.ended {
            SpawnEnded::Exited(n) => Some(n),
            _ => None,
        }
    }
}

/// Starts programs. Implemented by `process`; used by every subsystem.
#[async_trait]
pub trait Spawn: Send + Sync {
    /// Runs a program to its end, its deadline or the wish to stop. Never leaves a member of
    /// the process group behind.
    async fn run(&self, request: SpawnRequest, cancel: &dyn Cancel) -> SpawnResult;
}

/// Tells the person how it goes. Must return at once.
pub trait Progress: Send + Sync {
    /// A line about what a step is doing right now.
    fn doing(&self, key: &StepKey, text: &str);
    /// Events that were just appended, in order.
    fn appended(&self, events: &[Event]);
}

/// Everything a subsystem gets for one attempt, read-back, recovery or probe.
#[derive(Clone)]
pub struct StepContext {
    /// The board.
    pub board: BoardName,
    /// Phase and step.
    pub key: StepKey,
    /// The step as written, defaults filled in.
    pub step: StepDef,
    /// Folder of the workspace.
    pub workspace: PathBuf,
    /// The board's own folder `projects/<board>`: outputs go below it.
    pub board_dir: PathBuf,
    /// Where the board's files lie (`root:`, or `board_dir`): inputs come from below it.
    pub root: PathBuf,
    /// `.pcbflow` of the workspace: settings folders, caches.
    pub state_dir: PathBuf,
    /// A fresh, empty, private folder for this attempt; removed after it.
    pub scratch: PathBuf,
    /// Number of the attempt.
    pub attempt: AttemptNo,
    /// Marker for the environment of children.
    pub tag: String,
    /// Deadline in milliseconds.
    pub deadline_ms: u64,
    /// Notes that recoveries left for this step.
    pub notes: BTreeMap<String, String>,
    /// Named records of the board (`kicad.ruleset` -> digest of a blob).
    pub records: BTreeMap<String, String>,
    /// Head of the board's stream at the start of the attempt: ledger, position, hash.
    pub head: Option<(LedgerId, Head)>,
    /// What pcbflow would write under `status:` now.
    pub status: serde_json::Value,
    /// What the last passes of the steps that this one needs made, by their ids: another digest
    /// when one of them ran again with another outcome.
    pub needs: BTreeMap<StepId, Digest>,
    /// Files that the steps of this phase made (paths relative to `board_dir`), for the commit.
    pub phase_outputs: Vec<OutputRef>,
    /// What this step made when it last passed: its own to replace or to remove.
    pub earlier_outputs: Vec<OutputRef>,
    /// Id of the run, for trailers and messages.
    pub run: String,
    /// The round of looks that this one belongs to; `None` when it is alone and reads for itself.
    pub round: Option<Round>,
}

/// A moment in which several steps are looked at: what one look of a round reads of the machine
/// (installed tools, tables) holds for the others of the same round. Attempts have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round(pub u64);

/// The services a subsystem may use.
#[derive(Clone)]
pub struct Services {
    /// Starts programs.
    pub spawn: Arc<dyn Spawn>,
    /// Stores evidence.
    pub blobs: Arc<dyn Blobs>,
    /// Digests files.
    pub digests: Arc<dyn FileDigests>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The wish to stop.
    pub cancel: Arc<dyn Cancel>,
    /// Progress for the person.
    pub progress: Arc<dyn Progress>,
}

/// How a step's execution came out.
#[derive(Debug, Clone)]
pub enum StepResult {
    /// It ran and was checked. A failed check means findings, not a failure of the run.
    Checked(CheckResult),
    /// It failed: the evidence is diagnosed and the ladder of its class climbed.
    Failed(Evidence),
}

/// Everything observed in one attempt.
#[derive(Debug, Clone)]
pub struct Observation {
    /// How it ended.
    pub ended: Ended,
    /// What came out.
    pub result: StepResult,
    /// What was executed.
    pub argv: Vec<String>,
    /// Tool and version, such as `kicad-cli 9.0.8`.
    pub tool: String,
    /// Exit status, if a tool exited.
    pub exit: Option<i32>,
    /// Ending signal, if a signal ended it.
    pub signal: Option<i32>,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
    /// Files made, relative to the board's folder.
    pub outputs: Vec<OutputRef>,
    /// More stored evidence (reports).
    pub blobs: Vec<BlobRef>,
    /// Named records for later (`kicad.ruleset`, `commit`).
    pub records: BTreeMap<String, String>,
    /// One line for the person about what was seen.
    pub summary: String,
}

impl Observation {
    /// An observation with a result and nothing else.
    #[must_use]
    pub fn of(result: StepResult) -> Observation {
        Observation {
            ended: Ended::Returned,
            result,
            argv: Vec::new(),
            tool: String::new(),
            exit: None,
            signal: None,
            stdout: Captured::default(),
            stderr: Captured::default(),
            outputs: Vec::new(),
            blobs: Vec::new(),
            records: BTreeMap::new(),
            summary: String::new(),
        }
    }
}

/// What a step's result depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Closure {
    /// Input files, absolute. Files that are not there count as absent and change the digest
    /// when they appear.
    pub files: Vec<PathBuf>,
    /// Everything else, by name: tool version, settings.
    pub settings: BTreeMap<String, String>,
}

/// What an action of a rung did.
#[derive(Debug, Clone)]
pub struct Recovery {
    /// How it ended.
    pub outcome: RecoveryOutcome,
    /// Notes for the next attempts.
    pub notes: BTreeMap<String, String>,
    /// One or two lines about what was done, for the technical record.
    pub summary: String,
    /// Stored evidence.
    pub blobs: Vec<BlobRef>,
}

impl Recovery {
    /// Done, with a line about it.
    #[must_use]
    pub fn done(summary: &str) -> Recovery {
        Recovery {
            outcome: RecoveryOutcome::Done,
            notes: BTreeMap::new(),
            summary: summary.to_owned(),
            blobs: Vec::new(),
        }
    }
    /// It does not apply, with the reason.
    #[must_use]
    pub fn not_applicable(why: &str) -> Recovery {
        Recovery { outcome: RecoveryOutcome::NotApplicable, ..Recovery::done(why) }
    }
    /// It failed, with the reason.
    #[must_use]
    pub fn failed(why: &str) -> Recovery {
        Recovery { outcome: RecoveryOutcome::Failed, ..Recovery::done(why) }
    }
    /// The same with a note for the next attempts.
    #[must_use]
    pub fn note(mut self, key: &str, value: &str) -> Recovery {
        self.notes.insert(key.to_owned(), value.to_owned());
        self
    }
}

/// Numbers of a row that a subsystem sets for its own steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowOverride {
    /// The class.
    pub class: &'static str,
    /// Factor of the longer deadline ([`crate::row::RungKind::RetryLonger`]).
    pub longer_factor: u32,
}

/// A subsystem: step kinds, failure rows and what can be done about them. One per crate; adding
/// one is this trait and one line in `cli`.
#[async_trait]
pub trait Subsystem: Send + Sync {
    /// First part of the names of its kinds.
    fn name(&self) -> &'static str;
    /// Its failure rows.
    fn rows(&self) -> Vec<Row>;
    /// Its step kinds.
    fn kinds(&self) -> Vec<KindInfo>;
    /// Numbers of other families' rows that differ for its steps.
    fn overrides(&self) -> Vec<RowOverride> {
        Vec::new()
    }
    /// Faults of a step's arguments that the general rules can't see.
    fn step_faults(&self, _step: &StepDef) -> Vec<ManifestFault> {
        Vec::new()
    }
    /// Deadline of a first attempt in milliseconds, when the manifest names none. May look at
    /// the size of the inputs.
    fn deadline_ms(&self, context: &StepContext) -> u64 {
        self.kinds()
            .iter()
            .find(|k| k.name == context.step.uses.as_str())
            .map_or(60_000, |k| k.timeout_ms)
    }
    /// What the step's result depends on. Must be quick: it runs on every look.
    ///
    /// # Errors
    /// Evidence, when the inputs can't even be listed; the step is then attempted, and fails.
    async fn closure(
        &self,
        context: &StepContext,
        services: &Services,
    ) -> Result<Closure, Evidence>;
    /// Makes one attempt. Must end within the deadline, and within a second when somebody wants to
    /// stop; the engine cuts it off fifteen seconds later and then takes its outcome as unknown.
    async fn run(&self, context: &StepContext, services: &Services) -> Observation;
    /// Looks whether the effect of the step is there; the guard of `guarded` steps. The commit
    /// step of a phase answers [`ReadBack::Partial`] for a commit that is there: the attempt that
    /// follows makes no second one and records its id.
    async fn read_back(&self, _context: &StepContext, _services: &Services) -> ReadBack {
        ReadBack::Unclear
    }
    /// Whether this subsystem carries out an action or probe of a row of another family for its
    /// own steps. Without it, the crate that owns the row does.
    fn handles(&self, _class: &str, _action: &str) -> bool {
        false
    }
    /// Carries out the action of a rung.
    async fn recover(
        &self,
        context: &StepContext,
        services: &Services,
        class: &str,
        action: &str,
    ) -> Recovery;
    /// Runs a probe: the recheck of an action, or the watch of an ask.
    async fn probe(&self, context: &StepContext, services: &Services, probe: &str) -> CheckResult;
    /// Lets go of what it holds across steps (a browser), at the end of a run. Must end by itself
    /// within seconds.
    async fn let_go(&self) {}
}
