//! A headless Chromium that opens one address and is gone, with all its processes, after the test.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pcbflow_tests::editor::{Options, StandIn};
use pcbflow_tests::processes;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long a page may take for its test.
const REPORT_LIMIT: Duration = Duration::from_secs(40);
const FLAGS: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--no-default-browser-check",
    "--password-store=basic",
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows",
    "--disable-dev-shm-usage",
];

/// A browser with a profile of its own.
pub struct Browser {
    child: Child,
    home: TempDir,
}

impl Browser {
    pub fn open(url: &str) -> Browser {
        Browser::open_with(url, &[])
    }

    /// With flags beside the usual ones.
    pub fn open_with(url: &str, flags: &[&str]) -> Browser {
        let home = tempfile::tempdir().expect("a folder");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let child = Command::new("chromium")
            .args(FLAGS)
            .args(flags)
            .arg(format!("--user-data-dir={}", home.path().join("profile").display()))
            .arg(url)
            .env_clear()
            .env("PATH", path)
            .env("HOME", home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("`chromium` is on PATH: `cargo xtask setup` installs it");
        Browser { child, home }
    }

    /// Ends it as a crash would.
    pub fn kill(&mut self) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // A group that has ended by itself cannot be ended again.
            let _ended = kill_process_group(group, Signal::KILL).err();
        }
        let _reaped = self.child.wait().err();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.kill();
        let left = processes::left_of(self.home.path());
        if !std::thread::panicking() {
            assert!(left.is_empty(), "left of the browser: {left:?}");
        }
    }
}

/// A stand-in for pages: every browser is signed in.
pub fn desk() -> StandIn {
    let editor = StandIn::start(&Options::default()).expect("starts");
    editor.set(&json!({ "signed_in": true }));
    editor
}

/// The address of a test in the first page of the first project.
pub fn address(editor: &StandIn, test: &str) -> String {
    let url = editor.first_page_url();
    let (page, fragment) = url.split_once('#').expect("a fragment");
    format!("{page}?selftest={test}&report=http://{}#{fragment}", editor.control())
}

/// Waits until something holds in the stand-in.
pub fn until(what: &str, editor: &StandIn, holds: impl Fn(&StandIn) -> bool) {
    let start = Instant::now();
    while !holds(editor) {
        assert!(start.elapsed() < REPORT_LIMIT, "in time: {what}\n{:#?}", editor.events(""));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Runs a test of the page; what it saw.
pub fn saw(editor: &StandIn, test: &str) -> Value {
    let before = editor.events("selftest").len();
    let _browser = Browser::open(&address(editor, test));
    until("the page reports", editor, |e| e.events("selftest").len() > before);
    let report = editor.events("selftest").remove(before);
    assert_eq!(report["error"], Value::Null, "{:#?}", editor.events(""));
    report["saw"].clone()
}
