//! A small world for each test: a profile, a browser, a site.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pcbflow_core::catalogue::Catalogue;
use pcbflow_core::evidence::{self, Evidence};
use pcbflow_eda::browser::{Browser, Closed, Launch, Profile, Sandbox, find};
use pcbflow_eda::cdp::{Client, Script, Session};
pub use rustix::process::Signal;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, SemaphorePermit};

/// For what should be quick and runs on a busy machine.
pub const PATIENT: Duration = Duration::from_secs(20);
/// For what will not be answered.
pub const SHORT: Duration = Duration::from_secs(1);

/// Browsers that run side by side; each takes some hundred megabytes.
static ROOM: Semaphore = Semaphore::const_new(2);

/// The real browser.
pub fn chromium() -> PathBuf {
    let found = find(std::env::var_os("PCBFLOW_TEST_BROWSER").as_deref().map(Path::new));
    found.into_iter().next().expect("no Chrome or Chromium here: `cargo xtask setup` installs it")
}

/// How tests start a browser. The machines of tests often allow no sandbox.
pub fn launch(program: impl Into<PathBuf>, folder: &Path) -> Launch {
    let mut launch = Launch::new(program, Profile::at(folder));
    launch.headless = true;
    launch.sandbox = Sandbox::Off;
    launch.within = PATIENT;
    launch
}

/// A profile folder with room for a browser.
pub struct Place {
    dir: tempfile::TempDir,
    _room: Option<SemaphorePermit<'static>>,
}

impl Place {
    pub async fn new() -> Place {
        let room = ROOM.acquire().await.expect("never closed");
        Place { _room: Some(room), ..Place::more() }
    }

    /// A further place for a test that has one: waiting for room there could wait for ever.
    pub fn more() -> Place {
        Place { dir: tempfile::tempdir().expect("a folder"), _room: None }
    }

    pub fn folder(&self) -> PathBuf {
        self.dir.path().join("profile")
    }

    pub fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A small program that stands in for a browser's start.
    pub fn program(&self, script: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let file = self.beside("fake-chrome");
        std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("a file");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&file, mode).expect("may be started");
        file
    }

    /// Proves that nothing of this place is left.
    pub fn assert_clean(&self) {
        assert_no_process_names(self.dir.path());
        for name in ["SingletonLock", "SingletonCookie", "SingletonSocket"] {
            let link = self.folder().join(name);
            assert!(link.symlink_metadata().is_err(), "{name} is left");
        }
    }
}

/// Fails if a process of this computer has the folder in its words, a second from now at the
/// latest.
pub fn assert_no_process_names(folder: &Path) {
    let name = folder.to_string_lossy().into_owned();
    let until = Instant::now() + Duration::from_secs(5);
    loop {
        let left = processes_with(&name);
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < until, "left behind: {left:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Processes with these words, seen by the test itself and not by the code under test.
#[cfg(target_os = "linux")]
pub fn processes_with(words: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").expect("a list of processes").flatten();
    let said = |pid: &str| {
        let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let line = String::from_utf8_lossy(&bytes).replace('\0', " ");
        line.contains(words).then(|| format!("{pid} {line}"))
    };
    entries.filter_map(|e| said(e.file_name().to_str()?)).collect()
}

#[cfg(not(target_os = "linux"))]
pub fn processes_with(words: &str) -> Vec<String> {
    let output = std::process::Command::new("ps").args(["-axo", "pid=,args="]).output();
    let output = output.expect("ps runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter(|l| l.contains(words)).map(str::to_owned).collect()
}

/// A browser with one tab that is attached to.
pub struct World {
    pub place: Place,
    pub browser: Browser,
}

impl World {
    pub async fn new() -> World {
        World::at(Place::new().await).await
    }

    pub async fn at(place: Place) -> World {
        let browser = launch(chromium(), &place.folder()).start().await.expect("it starts");
        World { place, browser }
    }

    pub fn client(&self) -> &Client {
        self.browser.client()
    }

    /// A new tab on an address, ready.
    pub async fn tab(&self, url: &str) -> Session {
        let tab = self.client().create_tab(url, PATIENT).await.expect("a tab");
        let session = self.client().attach(&tab, PATIENT).await.expect("attached");
        session.wait_ready(url, "true", PATIENT).await.expect("ready");
        session
    }

    /// Closes the browser and proves that nothing is left.
    pub async fn end(self) {
        assert_eq!(self.browser.close_within(PATIENT).await, Closed::Gracefully);
        self.place.assert_clean();
    }
}

/// A script of statements.
pub fn body(text: &str, within: Duration) -> Script {
    Script::body(text, within)
}

/// Value of an expression.
pub async fn value(session: &Session, expression: &str) -> Value {
    let script = Script::expression(expression, PATIENT);
    session.evaluate(&script).await.expect("a value").unwrap_or(Value::Null)
}

/// Sends a signal to one process that the test started.
pub fn signal(signal: Signal, pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(pid.expect("a number"), signal).expect("it is there");
}

/// Stops a process and waits until it really stands still.
pub async fn stop(pid: u32) {
    signal(Signal::STOP, pid);
    let until = Instant::now() + PATIENT;
    // Elsewhere than on Linux a moment has to do.
    let stands = || match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat.rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with(" T")),
        Err(_) => until.saturating_duration_since(Instant::now()) < PATIENT - SHORT,
    };
    while !stands() {
        assert!(Instant::now() < until, "{pid} does not stop");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The process in which the page of a session runs: the one that works while the page does. The
/// page works for as long as it takes to be sure, also on a machine that is busy with other things.
pub async fn renderer_of(session: &Session) -> u32 {
    let look = || async { session.client().processes(PATIENT).await.expect("processes") };
    let work = body("while (true);", PATIENT * 3);
    let (stopped, renderer) = tokio::join!(session.evaluate(&work), async {
        let until = Instant::now() + PATIENT * 2;
        let before = look().await;
        loop {
            tokio::time::sleep(Duration::from_millis(200)).await;
            // A browser makes processes in advance; one that is new did something else.
            let mut grown: Vec<(f64, u32)> = look()
                .await
                .iter()
                .filter(|p| p.kind == "renderer")
                .filter_map(|p| {
                    let old = before.iter().find(|b| b.pid == p.pid)?;
                    Some((p.cpu_seconds - old.cpu_seconds, p.pid))
                })
                .collect();
            grown.sort_by(|a, b| b.0.total_cmp(&a.0));
            let second = grown.get(1).map_or(0.0, |g| g.0);
            if let Some((most, pid)) = grown.first()
                && *most >= 0.5
                && *most >= second * 3.0
            {
                session.terminate(PATIENT).await.expect("the page is stopped");
                return *pid;
            }
            assert!(Instant::now() < until, "no process works: {grown:?}");
        }
    });
    assert_eq!(stopped, Err(pcbflow_eda::cdp::CallError::Terminated));
    assert!(session.answers(PATIENT).await);
    renderer
}

/// The class that all rows of this program find for these facts.
pub fn class_of(signals: &[evidence::Signal]) -> String {
    let mut evidence = Evidence::new("browser/start", "chrome");
    signals.iter().for_each(|s| evidence.push(s.clone()));
    let rows = pcbflow_eda::ROWS.iter().chain(pcbflow_process::ROWS).copied();
    let catalogue = Catalogue::fold(rows, Vec::new()).expect("the rows fold");
    catalogue.diagnose(&evidence).class.to_string()
}

/// A site of our own on this computer; ends with the test.
pub struct Site {
    port: u16,
    task: tokio::task::JoinHandle<()>,
}

impl Site {
    pub async fn new() -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
        Site { port, task }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// `/status/<n>` answers with that status, `/wait` never, `/reset` drops the line, everything
/// else is a page.
async fn serve(mut stream: TcpStream) {
    let mut question = vec![0; 8192];
    let Ok(n) = stream.read(&mut question).await else { return };
    let question = String::from_utf8_lossy(&question[..n]).into_owned();
    let path = question.split(' ').nth(1).unwrap_or("/").split('?').next().unwrap_or("/");
    if path.starts_with("/reset") {
        return;
    }
    if path.starts_with("/wait") {
        return tokio::time::sleep(Duration::from_secs(60)).await;
    }
    let status = path.strip_prefix("/status/").and_then(|s| s.split('/').next()).unwrap_or("200");
    let more = if status == "429" { "retry-AFTER: 7\r\n" } else { "" };
    let page = "<!doctype html><title>page</title><script>window.kept = 1;</script>";
    let answer = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: text/html\r\n{more}Content-Length: {}\r\n\
         Connection: close\r\n\r\n{page}",
        page.len()
    );
    // A browser that went away needs no answer.
    drop(stream.write_all(answer.as_bytes()).await);
    drop(stream.shutdown().await);
}
