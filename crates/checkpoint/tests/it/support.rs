//! A workspace with a board in a real repository, and services that touch nothing else.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use pcbflow_checkpoint::CheckpointSubsystem;
use pcbflow_checkpoint::digests::CachedDigests;
use pcbflow_core::event::{BlobRef, Event, OutputRef};
use pcbflow_core::ids::{
    AttemptNo, BoardName, Digest, KindName, LedgerId, PhaseId, Seq, StepId, StepKey,
};
use pcbflow_core::manifest::{COMMIT_STEP, CheckSpec, StepDef};
use pcbflow_core::ports::{
    Blobs, Cancel, Captured, Clock, Head, LedgerError, Observation, Progress, Services, Spawn,
    SpawnEnded, SpawnRequest, SpawnResult, StepContext, StepResult, Subsystem as _,
};
use pcbflow_core::time::Timestamp;

/// Most bytes of a captured text, far fewer than what git prints for many files.
const TEXT_BYTES_MAX: usize = 2_000;

pub struct Store(Mutex<BTreeMap<Digest, Vec<u8>>>);

impl Blobs for Store {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<BlobRef, LedgerError> {
        let digest = Digest::of(bytes);
        self.0.lock().unwrap().insert(digest, bytes.to_vec());
        let bytes = bytes.len() as u64;
        Ok(BlobRef { name: name.into(), digest, bytes, true_bytes: bytes })
    }
    fn get(&self, digest: &Digest) -> Result<Vec<u8>, LedgerError> {
        let found = self.0.lock().unwrap().get(digest).cloned();
        found.ok_or(LedgerError::NotFound { what: "blob".into() })
    }
}

/// Starts programs with a cleared environment; captures, redacts and cuts as the real one does.
pub struct TestSpawn {
    home: PathBuf,
    blobs: Arc<Store>,
    pub calls: Mutex<Vec<Vec<String>>>,
    pub path: Mutex<String>,
    /// The process ends itself as by a kill when it is about to make this call.
    die_at: Option<usize>,
}

#[async_trait]
impl Spawn for TestSpawn {
    async fn run(&self, request: SpawnRequest, _cancel: &dyn Cancel) -> SpawnResult {
        self.calls.lock().unwrap().push(request.argv.clone());
        if self.die_at.is_some_and(|n| self.calls.lock().unwrap().len() > n) {
            let me = std::process::id().to_string();
            Command::new("kill").args(["-9", &me]).status().unwrap();
            std::thread::sleep(Duration::from_secs(10));
        }
        let started = Instant::now();
        let mut command = Command::new(&request.argv[0]);
        command.args(&request.argv[1..]).current_dir(&request.cwd).env_clear();
        command.env("PATH", self.path.lock().unwrap().as_str()).env("HOME", &self.home);
        command
            .env("GIT_CONFIG_GLOBAL", self.home.join(".gitconfig"))
            .env("GIT_CONFIG_NOSYSTEM", "1");
        command.envs(&request.env).env("PCBFLOW_ATTEMPT", &request.tag);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return self.result(SpawnEnded::NotFound, b"", b"", started);
            }
            Err(e) => return self.result(SpawnEnded::Failed(e.to_string()), b"", b"", started),
        };
        let mut stdin = child.stdin.take().unwrap();
        let input = request.stdin.unwrap_or_default();
        let feeder = std::thread::spawn(move || stdin.write_all(&input));
        let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let reader = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            out.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let error_reader = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            err.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let mut late = false;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if started.elapsed() > Duration::from_millis(request.deadline_ms) && !late {
                late = true;
                child.kill().unwrap();
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        feeder.join().unwrap().ok();
        let ended = match status.code() {
            _ if late => SpawnEnded::DeadlinePassed,
            Some(code) => SpawnEnded::Exited(code),
            None => SpawnEnded::Signalled(9),
        };
        self.result(ended, &reader.join().unwrap(), &error_reader.join().unwrap(), started)
    }
}

impl TestSpawn {
    /// Another one with the same home, which ends the process at a call.
    pub fn again(&self, die_at: Option<usize>) -> TestSpawn {
        TestSpawn {
            home: self.home.clone(),
            blobs: self.blobs.clone(),
            calls: Mutex::new(Vec::new()),
            path: Mutex::new(self.path.lock().unwrap().clone()),
            die_at,
        }
    }

    fn result(&self, ended: SpawnEnded, out: &[u8], err: &[u8], started: Instant) -> SpawnResult {
        let captured = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            let text = pcbflow_core::redact::redact(&text, self.home.to_str());
            let blob = (!bytes.is_empty()).then(|| self.blobs.put("out", text.as_bytes()).unwrap());
            let cut = pcbflow_core::text::head_and_tail(&text, TEXT_BYTES_MAX);
            Captured { text: cut, blob, total_bytes: bytes.len() as u64 }
        };
        let took_ms = started.elapsed().as_millis() as u64;
        SpawnResult {
            ended,
            stdout: captured(out),
            stderr: captured(err),
            took_ms,
            memory: pcbflow_core::ports::MemorySeen::default(),
        }
    }
}

struct Now(Mutex<i64>);

#[async_trait]
impl Clock for Now {
    fn now(&self) -> Timestamp {
        let mut now = self.0.lock().unwrap();
        *now += 1;
        Timestamp(*now)
    }
    async fn sleep_until(&self, wake: Timestamp) {
        let mut now = self.0.lock().unwrap();
        *now = (*now).max(wake.0);
        std::thread::sleep(Duration::from_millis(2));
    }
}

struct Never;

#[async_trait]
impl Cancel for Never {
    fn is_cancelled(&self) -> bool {
        false
    }
    async fn cancelled(&self) {
        std::future::pending().await
    }
}

impl Progress for Never {
    fn doing(&self, _key: &StepKey, _text: &str) {}
    fn appended(&self, _events: &[Event]) {}
}

/// A workspace with one board.
pub struct World {
    _dir: Option<tempfile::TempDir>,
    pub base: PathBuf,
    pub spawn: Arc<TestSpawn>,
    pub services: Services,
    pub context: StepContext,
    pub subsystem: CheckpointSubsystem,
}

pub const NAME: &str = "tür-1";
pub const PHASE: &str = "12-final-verification";

impl World {
    /// A workspace without a repository; the home has a name set.
    pub fn bare() -> World {
        let dir = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(dir.path()).unwrap();
        World::open(base, Some(dir))
    }

    /// The world in a folder, made where it is not there yet.
    pub fn open(base: PathBuf, dir: Option<tempfile::TempDir>) -> World {
        let fresh = !base.join("home").exists();
        let home = base.join("home");
        let workspace = home.join("my ws");
        let board_dir = workspace.join("projects").join(NAME);
        std::fs::create_dir_all(board_dir.join("out/sub dir")).unwrap();
        std::fs::create_dir_all(workspace.join(".pcbflow")).unwrap();
        std::fs::create_dir_all(base.join("scratch")).unwrap();
        if fresh {
            World::files(&home, &workspace, &board_dir);
        }
        let blobs = Arc::new(Store(Mutex::new(BTreeMap::new())));
        let spawn = Arc::new(TestSpawn {
            home,
            blobs: blobs.clone(),
            calls: Mutex::new(Vec::new()),
            path: Mutex::new(std::env::var("PATH").unwrap()),
            die_at: None,
        });
        let services = Services {
            spawn: spawn.clone(),
            blobs,
            digests: Arc::new(CachedDigests::new(&workspace.join(".pcbflow/cache"))),
            clock: Arc::new(Now(Mutex::new(1_000_000))),
            cancel: Arc::new(Never),
            progress: Arc::new(Never),
        };
        let context = context(&workspace, &board_dir, &base.join("scratch"));
        let mut world = World {
            _dir: dir,
            base,
            spawn,
            services,
            context,
            subsystem: CheckpointSubsystem::new(),
        };
        if fresh {
            world.write("out/drc.json", "{}\n");
            world.write("out/sub dir/ä \"q\".gbr", "G04\n");
        }
        world.outputs(&["out/drc.json", "out/sub dir/ä \"q\".gbr"]);
        world
    }

    fn files(home: &Path, workspace: &Path, board_dir: &Path) {
        std::fs::write(
            home.join(".gitconfig"),
            "[user]\n\tname = Ann\n\temail = ann@example.org\n[init]\n\tdefaultBranch = main\n",
        )
        .unwrap();
        std::fs::write(workspace.join(".gitignore"), ".pcbflow/\n.logs/\n").unwrap();
        let manifest = format!("# mine\nboard: {NAME}\nphases:\n  - id: {PHASE}\n");
        std::fs::write(board_dir.join("project.yaml"), manifest).unwrap();
    }

    /// The same with a repository in the workspace's folder and one commit.
    pub fn new() -> World {
        let world = World::bare();
        world.git(&["init", "-q"]);
        world.git(&["add", ".gitignore"]);
        world.git(&["commit", "-q", "-m", "start"]);
        world
    }

    pub fn write(&self, path: &str, text: &str) {
        std::fs::write(self.context.board_dir.join(path), text).unwrap();
    }

    /// Records what is on disk at these paths as the outputs of the phase.
    pub fn outputs(&mut self, paths: &[&str]) {
        let one = |p: &&str| {
            let path = self.context.board_dir.join(p);
            let (digest, bytes) = self.services.digests.digest(&path).unwrap().unwrap();
            OutputRef { path: (*p).to_owned(), digest, bytes }
        };
        self.context.phase_outputs = paths.iter().map(one).collect();
    }

    /// The person's own git, in the workspace.
    pub fn git(&self, args: &[&str]) -> String {
        let out = self.try_git(args);
        assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap().trim_end().to_owned()
    }

    pub fn try_git(&self, args: &[&str]) -> std::process::Output {
        self.git_in(&self.context.workspace, args)
    }

    pub fn git_in(&self, folder: &Path, args: &[&str]) -> std::process::Output {
        Command::new("git")
            .args(args)
            .current_dir(folder)
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap())
            .env("HOME", &self.spawn.home)
            .env("GIT_CONFIG_GLOBAL", self.spawn.home.join(".gitconfig"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_EDITOR", "true")
            .output()
            .unwrap()
    }

    pub fn git_dir(&self) -> PathBuf {
        self.context.workspace.join(".git")
    }

    pub fn config(&self, key: &str, value: &str) {
        self.git(&["config", key, value]);
    }

    pub fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    pub fn count(&self) -> usize {
        self.git(&["rev-list", "--count", "HEAD"]).parse().unwrap()
    }

    pub fn hook(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.git_dir().join("hooks").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub async fn run(&self) -> Observation {
        self.subsystem.run(&self.context, &self.services).await
    }

    /// Runs and returns the commit.
    pub async fn committed(&self) -> String {
        let seen = self.run().await;
        match &seen.result {
            StepResult::Checked(check) => {
                assert_eq!(check.outcome, pcbflow_core::check::CheckOutcome::Pass, "{seen:?}");
            }
            StepResult::Failed(evidence) => panic!("{evidence:?}"),
        }
        seen.records["commit"].clone()
    }

    /// Runs, expects a failure, and returns its class by the rows of this crate.
    pub async fn class(&self) -> (String, pcbflow_core::evidence::Evidence) {
        let seen = self.run().await;
        match seen.result {
            StepResult::Failed(evidence) => (diagnose(&evidence), evidence),
            StepResult::Checked(check) => panic!("{check:?}"),
        }
    }

    pub async fn recover(&self, action: &str) -> pcbflow_core::ports::Recovery {
        self.subsystem.recover(&self.context, &self.services, "", action).await
    }

    pub async fn probe(&self, probe: &str) -> pcbflow_core::check::CheckOutcome {
        self.subsystem.probe(&self.context, &self.services, probe).await.outcome
    }

    /// Starts the list of calls anew.
    pub fn forget_calls(&self) {
        self.spawn.calls.lock().unwrap().clear();
    }

    pub fn calls(&self) -> usize {
        self.spawn.calls.lock().unwrap().len()
    }
}

fn context(workspace: &Path, board_dir: &Path, scratch: &Path) -> StepContext {
    let phase = PhaseId::new(PHASE).unwrap();
    let step = StepId::new(COMMIT_STEP).unwrap();
    StepContext {
        board: BoardName::new(NAME).unwrap(),
        key: StepKey { phase, step: step.clone() },
        step: StepDef {
            id: step,
            uses: KindName::new("checkpoint/commit").unwrap(),
            with: BTreeMap::new(),
            check: CheckSpec::Own,
            safety: None,
            timeout_ms: None,
            needs: vec![],
            inputs: None,
            outputs: vec![],
            install: vec![],
            systems: vec![],
        },
        workspace: workspace.to_owned(),
        board_dir: board_dir.to_owned(),
        root: board_dir.to_owned(),
        state_dir: workspace.join(".pcbflow"),
        scratch: scratch.to_owned(),
        attempt: AttemptNo(1),
        tag: "t1".into(),
        deadline_ms: 60_000,
        notes: BTreeMap::new(),
        records: BTreeMap::new(),
        head: Some((LedgerId::new("l-1").unwrap(), Head { seq: Seq(7), hash: Digest::of(b"h") })),
        status: serde_json::json!({"phase": PHASE, "verdicts": {PHASE: "PASS"}}),
        needs: Default::default(),
        phase_outputs: vec![],
        earlier_outputs: vec![],
        run: "r-1".into(),
        round: None,
    }
}

/// The class by the folded rows of this crate and that of a missing program.
pub fn diagnose(evidence: &pcbflow_core::evidence::Evidence) -> String {
    let rows = pcbflow_checkpoint::ROWS;
    let mut fits: Vec<(pcbflow_core::evidence::Source, u32, &str)> = rows
        .iter()
        .flat_map(|row| row.matchers.iter().map(move |m| (m, row.id)))
        .filter(|(m, _)| m.fits(evidence))
        .map(|(m, id)| (m.trust(), u32::MAX - m.specificity(), id))
        .collect();
    fits.sort();
    fits.first().map_or_else(|| "none".to_owned(), |f| f.2.to_owned())
}

/// The codes of all facts, words left out.
pub fn codes(evidence: &pcbflow_core::evidence::Evidence) -> Vec<String> {
    use pcbflow_core::evidence::Source;
    let facts = evidence.signals.iter().filter(|s| s.source != Source::Text);
    facts.map(|s| s.code.clone()).collect()
}
