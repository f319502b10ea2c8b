//! Stopped from outside: Ctrl-C, a termination signal, a kill. Work is kept, children are gone,
//! and resume goes on.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use pcbflow_core::event::{Fact, StopCause};
use pcbflow_tests::TestEnvironment;
use pcbflow_tests::ledger::count;
use pcbflow_tests::manifest::Manifest;
use rustix::process::Signal;

const LIMIT: Duration = Duration::from_secs(60);

/// Waits until a file is there.
fn appears(file: &Path) {
    let start = Instant::now();
    while !fs::read_to_string(file).is_ok_and(|text| !text.is_empty()) {
        assert!(start.elapsed() < LIMIT, "{} did not appear", file.display());
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether a process lives; one that only waits to be waited for does not.
fn lives(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

fn board(test: &TestEnvironment) -> Manifest {
    let hang = test.path("pid").display().to_string();
    Manifest::new("b")
        .phase("05-schematic-audit")
        .make("first", "out/first.txt", &[])
        .act("check", "hang", &["hang", &hang], &["needs: [first]"])
        .make("last", "out/last.txt", &["needs: [hang]"])
}

/// The same, with a step that ends.
fn mended(test: &TestEnvironment) {
    let text = board(test).text().replace("\"hang\", ", "\"say\", ");
    fs::write(test.board("b").join("project.yaml"), text).expect("a manifest");
}

fn children(test: &TestEnvironment) -> Vec<String> {
    ["pid", "pid.child"]
        .iter()
        .map(|f| {
            appears(&test.path(f));
            fs::read_to_string(test.path(f)).expect("a process id")
        })
        .collect()
}

fn goes_on(test: &TestEnvironment, children: &[String]) {
    mended(test);
    let before = test.json(0, &["status", "b"]);
    assert!(before.to_string().contains("b"), "{before:#}");
    let done = test.json(0, &["resume", "b"]);
    assert_eq!(done["verdict"], "pass", "{done:#}");
    for pid in children {
        assert!(!lives(pid), "{pid} is still there");
    }
    let runs = test.events("b");
    let of = |step: &str| {
        let starts = runs.iter().filter(|e| {
            matches!(e.fact, Fact::AttemptStarted { .. })
                && e.step_key().is_some_and(|k| k.step.as_str() == step)
        });
        starts.count()
    };
    assert_eq!((of("first"), of("last")), (1, 1), "{}", test.story("b"));
    let starts = count(&test.facts("b"), |f| matches!(f, Fact::RunStarted { .. }));
    assert_eq!(starts, 1, "resume goes on with the run\n{}", test.story("b"));
    test.pcbflow(&["ledger", "verify"]).exits(0);
    test.pcbflow(&["replay", "b"]).exits(0);
}

fn stopped_by(signal: Signal, code: i32, cause: StopCause) {
    let test = TestEnvironment::new();
    test.boards(&[&board(&test)]);
    let running = test.start(&["run", "b", "--json"]);
    let children = children(&test);
    running.signal(signal);
    let ran = running.wait();
    let told = ran.exits(code).json();
    assert_eq!(told["verdict"], "stopped", "{ran}");
    assert!(told["resume"].as_str().is_some_and(|r| r.contains("resume")), "{ran}");
    for pid in &children {
        assert!(!lives(pid), "{pid} outlived pcbflow");
    }
    let stopped = count(&test.facts("b"), |f| *f == Fact::RunStopped { cause: cause.clone() });
    assert_eq!(stopped, 1, "{}", test.story("b"));
    goes_on(&test, &children);
}

#[test]
fn ctrl_c_saves_the_state() {
    stopped_by(Signal::INT, 130, StopCause::Interrupted);
}

#[test]
fn a_termination_signal_saves_the_state() {
    stopped_by(Signal::TERM, 143, StopCause::Terminated);
}

#[test]
fn a_kill_loses_nothing_and_leaves_no_children_after_resume() {
    let test = TestEnvironment::new();
    test.boards(&[&board(&test)]);
    let running = test.start(&["run", "b"]);
    let children = children(&test);
    running.kill();
    assert_eq!(running.wait().signal, Some(9));
    let status = test.pcbflow(&["status", "b"]);
    status.exits(0);
    goes_on(&test, &children);
}

#[test]
fn a_second_ctrl_c_while_stopping_loses_nothing() {
    let test = TestEnvironment::new();
    test.boards(&[&board(&test)]);
    let running = test.start(&["run", "b"]);
    let children = children(&test);
    running.signal(Signal::INT);
    running.signal(Signal::INT);
    running.signal(Signal::TERM);
    running.wait().exits_one_of(&[130, 143]);
    goes_on(&test, &children);
}

/// A phase with a check that hangs before a command, and a phase after it.
fn two_phases(test: &TestEnvironment) -> Manifest {
    let hang = test.path("pid").display().to_string();
    Manifest::new("b")
        .phase("05-schematic-audit")
        .act("check", "hang", &["hang", &hang], &[])
        .land("act", "act.txt", &[], &["needs: [hang]"])
        .phase("06-layout")
        .land("later", "later.txt", &[], &[])
}

/// Starts a command, cuts it in its first check, mends that and resumes.
fn resumed(test: &TestEnvironment, arguments: &[&str], cut: Signal) {
    two_phases(test).write(&test.board("b"));
    let running = test.start(arguments);
    children(test);
    running.signal(cut);
    running.wait();
    let text = two_phases(test).text().replace("\"hang\", ", "\"say\", ");
    fs::write(test.board("b").join("project.yaml"), text).expect("a manifest");
    let done = test.json(0, &["resume", "b"]);
    assert_eq!(done["verdict"], "pass", "{done:#}");
}

/// What is resumed is what was asked for: checks alone stay checks alone.
#[test]
fn resume_after_a_cut_check_runs_only_checks() {
    for cut in [Signal::KILL, Signal::TERM, Signal::INT] {
        for done_before in [false, true] {
            let test = TestEnvironment::new();
            test.boards(&[&two_phases(&test)]);
            if done_before {
                let one = Manifest::new("b").phase("05-schematic-audit");
                one.make("one", "out/1.txt", &[]).write(&test.board("b"));
                test.json(0, &["run", "b"]);
            }
            resumed(&test, &["check", "b"], cut);
            let what = format!("{cut:?}, a run before: {done_before}\n{}", test.story("b"));
            for file in ["act.txt", "later.txt"] {
                assert!(!test.board("b").join(file).exists(), "{file} after {what}");
            }
            let checked = |f: &Fact| matches!(f, Fact::StepPassed { .. });
            assert_eq!(
                count(&test.facts("b"), checked),
                1 + 2 * usize::from(done_before),
                "{what}"
            );
            // A run still does the rest.
            test.json(0, &["run", "b"]);
            assert!(test.board("b").join("later.txt").exists(), "{what}");
            test.pcbflow(&["replay", "b"]).exits(0);
        }
    }
}

/// A run up to a phase is resumed up to that phase, also when it is cut twice.
#[test]
fn resume_after_a_cut_run_goes_as_far_as_that_run() {
    for cut in [Signal::KILL, Signal::TERM] {
        let test = TestEnvironment::new();
        test.boards(&[&two_phases(&test)]);
        let to = ["run", "b", "--to", "05-schematic-audit"];
        let running = test.start(&to);
        children(&test);
        running.signal(cut);
        running.wait();
        for file in ["pid", "pid.child"] {
            fs::remove_file(test.path(file)).expect("the marks of the first cut");
        }
        resumed(&test, &["resume", "b"], cut);
        let what = format!("{cut:?}\n{}", test.story("b"));
        assert!(test.board("b").join("act.txt").exists(), "{what}");
        assert!(!test.board("b").join("later.txt").exists(), "{what}");
        test.json(0, &["run", "b"]);
        assert!(test.board("b").join("later.txt").exists(), "{what}");
    }
}
