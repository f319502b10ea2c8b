//! One program from start to end.

use std::ffi::{OsStr, OsString};
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pcbflow_core::ports::{Cancel, Captured, MemorySeen, SpawnEnded, SpawnRequest, SpawnResult};
use pcbflow_core::redact::{SECRET_BYTES_MIN, arguments, is_secret_key};
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::capture::Capture;
use super::fault::SpawnFault;
use super::group::Group;
use super::memory::{self, Limits, Looks, Over};
use super::{
    DEADLINE_MS_DEFAULT, OUTPUT_BYTES_MAX_DEFAULT, ProcessSpawn, env, find_program, leftovers,
};

/// Bytes read at a time.
const CHUNK_BYTES: usize = 64 * 1024;
/// After the leader ended, how long others may hold its pipes before they are ended, in
/// milliseconds.
const PIPE_MS: u64 = 150;
/// After the group ended, how long the rest of its output may take, in milliseconds.
const REST_MS: u64 = 250;
/// How long the leader may take to end after the first signal, in milliseconds.
const COLLECT_MS: u64 = 700;
/// Most starts while somebody still writes the program's file.
const BUSY_TRIES_MAX: u32 = 10;
/// Between two of them, in milliseconds.
const BUSY_WAIT_MS: u64 = 20;

/// A result without any output.
pub(super) fn empty(ended: SpawnEnded) -> SpawnResult {
    SpawnResult {
        ended,
        stdout: Captured::default(),
        stderr: Captured::default(),
        took_ms: 0,
        memory: MemorySeen::default(),
    }
}

/// A started program.
pub(super) struct Running {
    child: Box<dyn ChildWrapper>,
    group: Group,
}

/// Starts the program of a request.
pub(super) async fn start(
    spawn: &ProcessSpawn,
    request: &SpawnRequest,
) -> Result<Running, SpawnFault> {
    let (program, args) = request.argv.split_first().ok_or(SpawnFault::NoProgram)?;
    if let Some(at) = request.argv.iter().position(|a| a.contains('\0')) {
        return Err(SpawnFault::NulByte { at });
    }
    if !request.cwd.is_dir() {
        return Err(SpawnFault::FolderMissing);
    }
    let own = leftovers::own_tag;
    let attempt = if request.tag.is_empty() { own() } else { request.tag.clone() };
    let tag = leftovers::child_tag(&attempt);
    let variables = variables(spawn, request, &tag);
    let search = variables.iter().rev().find(|(n, _)| n == "PATH" || n == "Path");
    let file = find_program(program, &request.cwd, search.map(|(_, v)| v.as_os_str()))?;

    // Without a record a kill of pcbflow could leave children behind, but a state folder that
    // can't be written must not stop a look at the board.
    let record = leftovers::place(&spawn.state_dir, &tag)
        .and_then(|place| leftovers::record(&place, &tag, None).map(|()| place))
        .inspect_err(|error| tracing::warn!(%error, "a child can't be recorded"))
        .ok();
    let start = || -> io::Result<Box<dyn ChildWrapper>> {
        let mut command = CommandWrap::with_new(&file, |command| {
            command.args(args).current_dir(&request.cwd);
            command.env_clear().envs(variables.iter().map(|(n, v)| (n, v)));
            let input = if request.stdin.is_some() { Stdio::piped() } else { Stdio::null() };
            command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        });
        command.wrap(KillOnDrop);
        #[cfg(unix)]
        command.wrap(process_wrap::tokio::ProcessGroup::leader());
        #[cfg(windows)]
        command.wrap(process_wrap::tokio::JobObject);
        command.spawn()
    };
    let child = start_patiently(start).await.map_err(|error| {
        if let Some(place) = &record {
            drop(std::fs::remove_file(place));
        }
        SpawnFault::of(&error, &file)
    })?;
    let pid = child.id();
    if let (Some(place), Some(pid)) = (&record, pid)
        && let Err(error) = leftovers::record(place, &tag, Some(pid))
    {
        tracing::warn!(%error, "a child can't be recorded");
    }
    Ok(Running { child, group: Group::new(pid.unwrap_or(0), &tag, record) })
}

/// Starts; again while the program's file is still open for writing somewhere.
async fn start_patiently<T>(start: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let mut tries = 0;
    loop {
        match start() {
            Err(e) if e.kind() == io::ErrorKind::ExecutableFileBusy && tries < BUSY_TRIES_MAX => {
                tries += 1;
                sleep(Duration::from_millis(BUSY_WAIT_MS)).await;
            }
            other => return other,
        }
    }
}

fn variables(spawn: &ProcessSpawn, request: &SpawnRequest, tag: &str) -> Vec<(OsString, OsString)> {
    let mut all = env::passed_on(&spawn.more_names);
    all.retain(|(name, _)| name.to_str().is_none_or(|n| !request.env.contains_key(n)));
    let os = |text: &str| OsStr::new(text).to_owned();
    all.extend(request.env.iter().map(|(n, v)| (os(n), os(v))));
    all.push((os(env::ATTEMPT_VARIABLE), os(tag)));
    all
}

/// One stream that is being read.
struct Stream {
    capture: Arc<Mutex<Capture>>,
    task: Option<JoinHandle<()>>,
}

impl Stream {
    fn read<R: AsyncRead + Unpin + Send + 'static>(
        source: Option<R>,
        spawn: &ProcessSpawn,
        bytes_max: u64,
        endless: &Arc<Notify>,
    ) -> Stream {
        let capture = Arc::new(Mutex::new(Capture::new(&spawn.state_dir)));
        let task = source.map(|source| {
            tokio::spawn(read_all(source, Arc::clone(&capture), bytes_max, Arc::clone(endless)))
        });
        Stream { capture, task }
    }

    /// Waits for the end of the stream, but not longer than this.
    async fn wait(&mut self, ms: u64) -> bool {
        let Some(task) = &mut self.task else { return true };
        let done = timeout(Duration::from_millis(ms), task).await.is_ok();
        if done {
            self.task = None;
        }
        done
    }

    /// Bytes that came in so far.
    fn total(&self) -> u64 {
        self.capture.lock().unwrap_or_else(PoisonError::into_inner).total()
    }

    /// Gives up what is not there yet and takes what is.
    fn take(self, spawn: &ProcessSpawn) -> Capture {
        if let Some(task) = &self.task {
            task.abort();
        }
        let mut capture = self.capture.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *capture, Capture::new(&spawn.state_dir))
    }
}

async fn read_all<R: AsyncRead + Unpin>(
    mut source: R,
    capture: Arc<Mutex<Capture>>,
    bytes_max: u64,
    endless: Arc<Notify>,
) {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut over = false;
    loop {
        let n = match source.read(&mut chunk).await {
            Ok(0) | Err(_) => return,
            Ok(n) => n,
        };
        if over {
            // Read on, so that the program meets its end and not a closed pipe.
            continue;
        }
        let mut capture = capture.lock().unwrap_or_else(PoisonError::into_inner);
        capture.push(chunk.get(..n).unwrap_or(&[]));
        if capture.total() > bytes_max {
            over = true;
            endless.notify_one();
        }
    }
}

/// Zero means that the request names nothing.
fn or_default(value: u64, default: u64) -> u64 {
    if value == 0 { default } else { value }
}

impl Running {
    /// Waits for the first of: its end, the deadline, the wish to stop, a limit. Then ends
    /// whatever is left and keeps what was written.
    pub(super) async fn finish(
        mut self,
        spawn: &ProcessSpawn,
        request: &SpawnRequest,
        cancel: &dyn Cancel,
    ) -> SpawnResult {
        let endless = Arc::new(Notify::new());
        let most = or_default(request.output_bytes_max, OUTPUT_BYTES_MAX_DEFAULT);
        let mut stdout = Stream::read(self.child.stdout().take(), spawn, most, &endless);
        let mut stderr = Stream::read(self.child.stderr().take(), spawn, most, &endless);
        let feeder = feed(&mut *self.child, request.stdin.clone());
        let deadline = Duration::from_millis(or_default(request.deadline_ms, DEADLINE_MS_DEFAULT));

        let limits = Limits::new(request.memory_bytes_max, request.quiet_ms_max);
        let mut looks = Looks::default();
        let ended_before = memory::ended_for_memory();
        let written = || stdout.total() + stderr.total();

        let (ended, by_itself) = tokio::select! {
            biased;
            status = self.child.wait() => (ended_as(status), true),
            () = endless.notified() => (SpawnEnded::OutputEndless, false),
            () = cancel.cancelled() => (SpawnEnded::Cancelled, false),
            () = sleep(deadline) => (SpawnEnded::DeadlinePassed, false),
            over = memory::over(&self.group, limits, &mut looks, written) => match over {
                Over::Memory(bytes) => (SpawnEnded::MemoryOverLimit(bytes), false),
                Over::Quiet(ms) => (SpawnEnded::BusyWithoutOutput(ms), false),
            },
        };
        let memory = looks.seen(limits, ended_before);
        if by_itself {
            // Others may still hold the pipes: a moment for what they have, then their end.
            let whole = stdout.wait(PIPE_MS).await && stderr.wait(PIPE_MS).await;
            if !whole || self.group.alive() {
                self.group.end().await;
            }
        } else {
            self.end_all().await;
        }
        // A last chunk may have come after the end and passed the cap.
        let whole = stdout.wait(REST_MS).await & stderr.wait(REST_MS).await;
        if !whole {
            tracing::debug!("output was given up: somebody outside the group holds the pipe");
        }
        if let Some(feeder) = feeder {
            feeder.abort();
        }
        self.group.disarm();
        let (stdout, stderr) = (stdout.take(spawn), stderr.take(spawn));
        let over = stdout.total() > most || stderr.total() > most;
        let ended = if over && matches!(ended, SpawnEnded::Exited(_) | SpawnEnded::Signalled(_)) {
            SpawnEnded::OutputEndless
        } else {
            ended
        };
        let (stdout, stderr) = keep(spawn, request, stdout, stderr).await;
        SpawnResult { ended, stdout, stderr, took_ms: 0, memory }
    }

    async fn end_all(&mut self) {
        #[cfg(windows)]
        if let Err(error) = self.child.start_kill() {
            tracing::debug!(%error, "a job could not be ended");
        }
        // The leader is collected at the same time: on some systems an ended process counts as
        // alive until somebody did.
        let collected = timeout(Duration::from_millis(COLLECT_MS), self.child.wait());
        let ((), collected) = tokio::join!(self.group.end(), collected);
        if collected.is_err() {
            tracing::warn!("a child did not end in time");
        }
    }
}

fn feed(child: &mut dyn ChildWrapper, bytes: Option<Vec<u8>>) -> Option<JoinHandle<()>> {
    let (mut input, bytes) = (child.stdin().take()?, bytes?);
    Some(tokio::spawn(async move {
        // A program that does not read to the end is its own business.
        if input.write_all(&bytes).await.is_ok() {
            drop(input.shutdown().await);
        }
    }))
}

fn ended_as(status: io::Result<ExitStatus>) -> SpawnEnded {
    match status {
        Err(error) => SpawnEnded::Failed(format!("waiting for the program failed: {error}")),
        Ok(status) => match (status.code(), signal_of(status)) {
            (Some(code), _) => SpawnEnded::Exited(code),
            (None, Some(signal)) => SpawnEnded::Signalled(signal),
            (None, None) => SpawnEnded::Failed("the program ended without a status".into()),
        },
    }
}

#[cfg(unix)]
fn signal_of(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal_of(_status: ExitStatus) -> Option<i32> {
    None
}

/// Values of variables with a secret's name, and secrets of the command line: a tool may print one
/// without its name, by which alone it could be told.
fn secrets(request: &SpawnRequest) -> Vec<String> {
    let named = request.env.iter().filter(|(name, _)| is_secret_key(name));
    let values = named.map(|(_, value)| value.clone()).filter(|v| v.len() >= SECRET_BYTES_MIN);
    values.chain(arguments(&request.argv, None).secrets).collect()
}

/// Redacts and stores both streams beside the runtime: large ones take a moment, and storing
/// waits for the disk.
async fn keep(
    spawn: &ProcessSpawn,
    request: &SpawnRequest,
    stdout: Capture,
    stderr: Capture,
) -> (Captured, Captured) {
    let secrets = secrets(request);
    let store = |name: &'static str, capture: Capture| {
        let (blobs, home) = (Arc::clone(&spawn.blobs), spawn.home.clone());
        let secrets = secrets.clone();
        let work = move || capture.finish(name, &*blobs, home.as_deref(), &secrets);
        tokio::task::spawn_blocking(work)
    };
    let (out, err) = (store("stdout", stdout), store("stderr", stderr));
    let lost = |what: Result<Captured, tokio::task::JoinError>| {
        what.unwrap_or_else(|error| {
            tracing::warn!(%error, "captured output was lost");
            Captured::default()
        })
    };
    (lost(out.await), lost(err.await))
}
