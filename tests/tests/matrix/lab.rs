//! What the cases share: workspaces of one board, steps as JSON, and computers that lack things.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use pcbflow_tests::manifest::Manifest;
use pcbflow_tests::{Ran, Running, TestEnvironment, tools};
use serde_json::Value;

/// The board of all cases without KiCad.
pub const BOARD: &str = "b";
/// Its only phase.
pub const PHASE: &str = "05-schematic-audit";

/// A step as lines of the manifest; its arguments are JSON, which YAML is a superset of.
pub fn step(uses: &str, id: &str, with: &Value, more: &[&str]) -> String {
    let mut text = format!("      - id: {id}\n        uses: {uses}\n        with: {with}\n");
    for line in more {
        text.push_str(&format!("        {line}\n"));
    }
    text
}

/// The manifest of the board with these steps.
pub fn board(steps: &[String]) -> Manifest {
    Manifest::new(BOARD).phase(PHASE).raw(&steps.concat())
}

/// A workspace with the board, committed once.
pub fn ready(steps: &[String]) -> TestEnvironment {
    let test = TestEnvironment::new();
    test.boards(&[&board(steps)]);
    history(&test, &["add", "-A"]);
    history(&test, &["commit", "-q", "-m", "begin"]);
    test
}

/// Sets the waits of a class to times that a test can wait for.
pub fn waits(test: &TestEnvironment, class: &str, ms: &[u64]) {
    let text = format!("[retry.{class}]\nwaits_ms = {ms:?}\n");
    fs::write(test.ws().join("pcbflow.toml"), text).expect("settings");
}

/// Writes an executable script.
pub fn script(path: &Path, text: &str) -> PathBuf {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).expect("a folder");
    }
    fs::write(path, text).expect("a script");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a script that may run");
    path.to_owned()
}

/// A `PATH` of these programs of the machine and nothing else.
pub fn few(test: &mut TestEnvironment, names: &[&str]) {
    let always = ["sh", "env", "true", "false", "cat", "cp", "mkdir", "sleep", "touch"];
    let path = tools::only(&test.path("few"), &[&always, names].concat());
    test.set_path(&path);
}

/// Runs pcbflow as on a computer where these files can't be run; `None` (and a note) where such a
/// view can't be made.
pub fn without(test: &TestEnvironment, hidden: &[PathBuf], arguments: &[&str]) -> Option<Ran> {
    let nothing = test.path("nothing");
    fs::write(&nothing, "").expect("an empty file");
    let mut lines = String::from("set -e\nnothing=$1; mount=$2; shift 2\n");
    let mount = tools::find("mount")?;
    for file in hidden.iter().filter(|f| f.exists()) {
        lines.push_str(&format!("$mount --bind \"$nothing\" '{}'\n", file.display()));
    }
    lines.push_str("exec \"$@\"\n");
    let unshare = tools::find("unshare")?;
    let mut trial = test.program(&unshare);
    trial.args(["-m", "true"]);
    if Running::start(trial).wait().exit != Some(0) {
        pcbflow_tests::note("skipped: no mounts of its own for a process here");
        return None;
    }
    let sh = tools::find("sh").expect("a shell");
    let mut command = test.program(unshare);
    let pcbflow = test.command(&[]).get_program().to_owned();
    command.arg("-m").arg(sh).args(["-c", &lines, "sh"]).arg(nothing).arg(mount).arg(pcbflow);
    command.args(arguments);
    Some(Running::start(command).wait())
}

/// Answers the run's ask and goes on.
#[track_caller]
pub fn answer(test: &TestEnvironment, stopped: &Ran, board: &str, word: &str) -> Ran {
    let ask = stopped.json()["ask"]["id"].as_str().expect("an ask").to_owned();
    test.pcbflow(&["answer", &ask, word, "--board", board]).exits(0);
    test.pcbflow(&["resume", board, "--json"])
}

/// Calls git for what it does, not for what it says.
#[track_caller]
pub fn history(test: &TestEnvironment, arguments: &[&str]) {
    drop(test.git(arguments));
}
