//! What the tests of the steps share: a small runner of processes, stores in memory, a workspace
//! in a temporary folder, and the boards that are there.

#![expect(dead_code, reason = "each suite uses its own part of this module")]

use std::collections::BTreeMap;
use std::future::Future;
use std::io::Write as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use pcbflow_core::check::CheckResult;
use pcbflow_core::event::{BlobRef, Event};
use pcbflow_core::evidence::Evidence;
use pcbflow_core::ids::{AttemptNo, BoardName, Digest, KindName, PhaseId, StepId, StepKey};
use pcbflow_core::manifest::{CheckSpec, StepDef};
use pcbflow_core::ports::{
    Blobs, Cancel, Captured, Clock, FileDigests, LedgerError, Observation, Progress, Recovery,
    Services, Spawn, SpawnEnded, SpawnRequest, SpawnResult, StepContext, StepResult, Subsystem,
};
use pcbflow_core::time::Timestamp;
use pcbflow_kicad::Kicad;
use serde_json::Value;

/// Runs a future on this thread.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        std::thread::park();
    }
}

#[derive(Default)]
struct Shared {
    result: Option<SpawnResult>,
    waker: Option<Waker>,
}

/// Runs programs with a deadline and a cap; counts them.
#[derive(Default)]
pub struct TestSpawn {
    /// Every argv that was run.
    pub runs: Mutex<Vec<Vec<String>>>,
}

#[async_trait]
impl Spawn for TestSpawn {
    async fn run(&self, request: SpawnRequest, _cancel: &dyn Cancel) -> SpawnResult {
        self.runs.lock().unwrap().push(request.argv.clone());
        let shared = Arc::new(Mutex::new(Shared::default()));
        let theirs = Arc::clone(&shared);
        std::thread::spawn(move || {
            let result = run_now(&request);
            let mut shared = theirs.lock().unwrap();
            shared.result = Some(result);
            if let Some(waker) = shared.waker.take() {
                waker.wake();
            }
        });
        std::future::poll_fn(move |context| {
            let mut shared = shared.lock().unwrap();
            match shared.result.take() {
                Some(result) => Poll::Ready(result),
                None => {
                    shared.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

fn pump(mut from: impl std::io::Read, cap: u64) -> (Vec<u8>, u64) {
    let (mut kept, mut total, mut chunk) = (Vec::new(), 0u64, [0u8; 65536]);
    while let Ok(read) = from.read(&mut chunk) {
        if read == 0 {
            break;
        }
        total += read as u64;
        if kept.len() < 1_000_000 {
            kept.extend_from_slice(&chunk[..read]);
        }
        if total > cap {
            break;
        }
    }
    (kept, total)
}

fn run_now(request: &SpawnRequest) -> SpawnResult {
    let started = Instant::now();
    let ended = |ended| SpawnResult {
        ended,
        stdout: Captured::default(),
        stderr: Captured::default(),
        took_ms: 0,
        memory: pcbflow_core::ports::MemorySeen::default(),
    };
    let mut command = Command::new(&request.argv[0]);
    command.args(&request.argv[1..]).current_dir(&request.cwd).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).envs(&request.env);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return ended(SpawnEnded::NotFound);
        }
        Err(error) => return ended(SpawnEnded::Failed(error.to_string())),
    };
    let group = child.id();
    let end_group = move || {
        let _sent = Command::new("/bin/kill").args(["-9", "--", &format!("-{group}")]).output();
    };
    let cap = request.output_bytes_max;
    let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let endless = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let flag = Arc::clone(&endless);
    let out = std::thread::spawn(move || {
        let got = pump(out, cap);
        if got.1 > cap {
            flag.store(true, std::sync::atomic::Ordering::SeqCst);
        }
        got
    });
    let err = std::thread::spawn(move || pump(err, cap));
    let deadline = started + Duration::from_millis(request.deadline_ms);
    let how = loop {
        if endless.load(std::sync::atomic::Ordering::SeqCst) {
            end_group();
            let _status = child.wait();
            break SpawnEnded::OutputEndless;
        }
        if let Some(status) = child.try_wait().unwrap() {
            end_group();
            break match (status.code(), status.signal()) {
                (Some(code), _) => SpawnEnded::Exited(code),
                (None, signal) => SpawnEnded::Signalled(signal.unwrap_or(0)),
            };
        }
        if Instant::now() > deadline {
            end_group();
            let _status = child.wait();
            break SpawnEnded::DeadlinePassed;
        }
        std::thread::sleep(Duration::from_millis(3));
    };
    let captured = |(bytes, total): (Vec<u8>, u64)| Captured {
        text: String::from_utf8_lossy(&bytes).into_owned(),
        blob: None,
        total_bytes: total,
    };
    SpawnResult {
        ended: how,
        stdout: captured(out.join().unwrap()),
        stderr: captured(err.join().unwrap()),
        took_ms: u64::try_from(started.elapsed().as_millis()).unwrap(),
        memory: pcbflow_core::ports::MemorySeen::default(),
    }
}

/// Blobs in memory.
#[derive(Default)]
pub struct MemoryBlobs(pub Mutex<BTreeMap<Digest, Vec<u8>>>);

impl Blobs for MemoryBlobs {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<BlobRef, LedgerError> {
        let digest = Digest::of(bytes);
        self.0.lock().unwrap().insert(digest, bytes.to_vec());
        let bytes = bytes.len() as u64;
        Ok(BlobRef { name: name.to_owned(), digest, bytes, true_bytes: bytes })
    }
    fn get(&self, digest: &Digest) -> Result<Vec<u8>, LedgerError> {
        let found = self.0.lock().unwrap().get(digest).cloned();
        found.ok_or_else(|| LedgerError::NotFound { what: digest.to_string() })
    }
}

struct Now;
#[async_trait]
impl Clock for Now {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }
    async fn sleep_until(&self, _wake: Timestamp) {}
}

struct Never;
#[async_trait]
impl Cancel for Never {
    fn is_cancelled(&self) -> bool {
        false
    }
    async fn cancelled(&self) {
        std::future::pending::<()>().await;
    }
}

struct Quiet;
impl Progress for Quiet {
    fn doing(&self, _key: &StepKey, _text: &str) {}
    fn appended(&self, _events: &[Event]) {}
}

struct Files;
impl FileDigests for Files {
    fn digest(&self, path: &Path) -> Result<Option<(Digest, u64)>, std::io::Error> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(Some((Digest::of(&bytes), bytes.len() as u64))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A workspace in a temporary folder with one board.
pub struct Bench {
    /// Everything lies below it.
    pub folder: tempfile::TempDir,
    /// The subsystem.
    pub kicad: Kicad,
    /// The runner.
    pub spawn: Arc<TestSpawn>,
    /// The blobs.
    pub blobs: Arc<MemoryBlobs>,
    /// Services.
    pub services: Services,
    /// Records of the board.
    pub records: BTreeMap<String, String>,
    /// Notes of recoveries.
    pub notes: BTreeMap<String, String>,
    /// Deadline of attempts, in milliseconds.
    pub deadline_ms: u64,
    attempts: Mutex<u32>,
}

impl Bench {
    /// With the tools of this machine.
    pub fn new() -> Bench {
        Bench::with(Kicad::new())
    }

    /// With this subsystem.
    pub fn with(kicad: Kicad) -> Bench {
        Bench::below(tempfile::tempdir().unwrap(), kicad)
    }

    /// In this folder.
    pub fn below(folder: tempfile::TempDir, kicad: Kicad) -> Bench {
        for part in ["root", "ws/.pcbflow", "ws/projects/b", "scratch"] {
            std::fs::create_dir_all(folder.path().join(part)).unwrap();
        }
        let (spawn, blobs) = (Arc::new(TestSpawn::default()), Arc::new(MemoryBlobs::default()));
        let services = Services {
            spawn: Arc::clone(&spawn) as Arc<dyn Spawn>,
            blobs: Arc::clone(&blobs) as Arc<dyn Blobs>,
            digests: Arc::new(Files),
            clock: Arc::new(Now),
            cancel: Arc::new(Never),
            progress: Arc::new(Quiet),
        };
        let (records, notes) = (BTreeMap::new(), BTreeMap::new());
        let attempts = Mutex::new(0);
        Bench {
            folder,
            kicad,
            spawn,
            blobs,
            services,
            records,
            notes,
            deadline_ms: 300_000,
            attempts,
        }
    }

    /// Folder of the engineer's files.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// The board's folder in the workspace.
    pub fn board_dir(&self) -> PathBuf {
        self.folder.path().join("ws/projects/b")
    }

    /// Copies a folder's content into the root.
    pub fn bring(&self, from: &Path) {
        copy_tree(from, &self.root());
    }

    /// The context of a new attempt.
    pub fn context(&self, uses: &str, with: &[(&str, Value)]) -> StepContext {
        let mut attempts = self.attempts.lock().unwrap();
        *attempts += 1;
        let scratch = self.folder.path().join(format!("scratch/{attempts}"));
        std::fs::create_dir_all(&scratch).unwrap();
        StepContext {
            board: BoardName::new("b").unwrap(),
            key: StepKey {
                phase: PhaseId::new("12-final-verification").unwrap(),
                step: StepId::new("s").unwrap(),
            },
            step: step(uses, with),
            workspace: self.folder.path().join("ws"),
            board_dir: self.board_dir(),
            root: self.root(),
            state_dir: self.folder.path().join("ws/.pcbflow"),
            scratch,
            attempt: AttemptNo(*attempts),
            tag: "t".to_owned(),
            deadline_ms: self.deadline_ms,
            notes: self.notes.clone(),
            records: self.records.clone(),
            head: None,
            status: Value::Null,
            needs: Default::default(),
            phase_outputs: Vec::new(),
            earlier_outputs: Vec::new(),
            run: "r".to_owned(),
            round: None,
        }
    }

    /// Makes an attempt.
    pub fn run(&self, uses: &str, with: &[(&str, Value)]) -> Observation {
        wait(self.kicad.run(&self.context(uses, with), &self.services))
    }

    /// Makes an attempt that must be checked.
    pub fn check(&self, uses: &str, with: &[(&str, Value)]) -> CheckResult {
        checked(self.run(uses, with))
    }

    /// Lets a rung act, and keeps its notes.
    pub fn act(
        &mut self,
        uses: &str,
        with: &[(&str, Value)],
        class: &str,
        action: &str,
    ) -> Recovery {
        let context = self.context(uses, with);
        let done = wait(self.kicad.recover(&context, &self.services, class, action));
        self.notes.extend(done.notes.clone());
        done
    }

    /// Asks a probe.
    pub fn prove(&self, uses: &str, with: &[(&str, Value)], probe: &str) -> CheckResult {
        let context = self.context(uses, with);
        wait(self.kicad.probe(&context, &self.services, probe))
    }

    /// Makes an attempt that must fail; its signal codes.
    pub fn codes(&self, uses: &str, with: &[(&str, Value)]) -> Vec<String> {
        codes(&failed(self.run(uses, with)))
    }
}

/// A step with arguments.
pub fn step(uses: &str, with: &[(&str, Value)]) -> StepDef {
    StepDef {
        id: StepId::new("s").unwrap(),
        uses: KindName::new(uses).unwrap(),
        with: with.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect(),
        check: CheckSpec::Own,
        safety: None,
        timeout_ms: None,
        needs: vec![],
        inputs: None,
        outputs: vec![],
        install: vec![],
        systems: vec![],
    }
}

/// The check of an observation.
pub fn checked(observation: Observation) -> CheckResult {
    match observation.result {
        StepResult::Checked(check) => check,
        StepResult::Failed(evidence) => panic!("failed: {evidence:#?}"),
    }
}

/// The evidence of an observation.
pub fn failed(observation: Observation) -> Evidence {
    match observation.result {
        StepResult::Failed(evidence) => evidence,
        StepResult::Checked(check) => {
            panic!("checked: {:?} {} {:?}", check.outcome, check.reason, check.counts)
        }
    }
}

/// Codes of all signals that are not words.
pub fn codes(evidence: &Evidence) -> Vec<String> {
    let typed =
        evidence.signals.iter().filter(|s| s.source != pcbflow_core::evidence::Source::Text);
    typed.map(|s| s.code.clone()).collect()
}

/// Copies a folder's content; the copies can be written.
pub fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_tree(&path, &target);
        } else {
            let bytes = std::fs::read(&path).unwrap();
            std::fs::write(&target, bytes).unwrap();
        }
    }
}

/// Every file below a folder with its bytes.
pub fn snapshot(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(path.clone(), std::fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// Whether the tests over many whole boards run, which take minutes: behind `PCBFLOW_HEAVY`.
pub fn heavy() -> bool {
    let heavy = std::env::var_os("PCBFLOW_HEAVY").is_some();
    if !heavy {
        note("skipped: PCBFLOW_HEAVY is not set");
    }
    heavy
}

/// Writes a line to standard error, past the test harness.
pub fn note(text: &str) {
    let _written = writeln!(std::io::stderr(), "note: {text}");
}

/// A folder of the corpus of real projects, where it is.
pub fn corpus(name: &str) -> Option<PathBuf> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/kicad").join(name);
    if folder.is_dir() {
        return Some(folder.canonicalize().unwrap());
    }
    note(&format!("skipped: {name} of the corpus is not here"));
    None
}

/// A demo project of an installed KiCad.
pub fn demo(major: u32, name: &str) -> Option<PathBuf> {
    let places = [
        format!("/opt/kicad-cli/{major}/root/usr/share/kicad/demos/{name}"),
        format!("/usr/share/kicad/demos/{name}"),
    ];
    let found = places.iter().map(PathBuf::from).find(|p| p.is_dir());
    if found.is_none() {
        note(&format!("skipped: demo {name} of KiCad {major} is not here"));
    }
    found
}

/// Whether a tool of this major version is on `PATH` under its own name.
pub fn have(major: u32) -> bool {
    let there = Command::new(format!("kicad-cli-{major}"))
        .arg("version")
        .output()
        .is_ok_and(|out| out.status.success());
    if !there {
        note(&format!("skipped: kicad-cli-{major} is not installed"));
    }
    there
}

/// Writes a program into a folder.
pub fn program(folder: &Path, name: &str, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::create_dir_all(folder).unwrap();
    let path = folder.join(name);
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(script.as_bytes()).unwrap();
    file.set_permissions(std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Reads a whole file as text.
pub fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Every real board of the corpus: folder, board file relative to it, oldest KiCad that reads it.
pub const BOARDS: [(&str, &str, u32); 8] = [
    ("v10-pic-programmer", "pic_programmer.kicad_pcb", 10),
    ("v5-fomu-pvt/archive/pvt/pcb", "tomu-fpga.kicad_pcb", 9),
    ("v6-smartknob-view-base/electronics", "view_base/view_base.kicad_pcb", 9),
    ("v7-olimex-esp32-evb", "", 9),
    ("v8-kicad-ci-test", "", 9),
    ("v8-upduino", "", 9),
    ("v9-bitaxe-gamma", "", 9),
    ("v9-stickhub", "StickHub.kicad_pcb", 9),
];

/// The board file of a corpus entry: as named, or the only one below the folder.
pub fn board_of(folder: &Path, named: &str) -> String {
    if !named.is_empty() {
        return named.to_owned();
    }
    let files = snapshot(folder);
    let mut boards = files.keys().filter(|p| p.extension().is_some_and(|e| e == "kicad_pcb"));
    boards.next().unwrap().strip_prefix(folder).unwrap().to_string_lossy().into_owned()
}
