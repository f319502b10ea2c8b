//! Several pcbflow at once on one workspace.

use std::fs;
use std::time::{Duration, Instant};

use pcbflow_core::event::Fact;
use pcbflow_tests::ledger::count;
use pcbflow_tests::manifest::Manifest;
use pcbflow_tests::{Ran, Running, TestEnvironment};

const LIMIT: Duration = Duration::from_secs(60);

/// A board that waits for a file in its middle.
fn board(test: &TestEnvironment, name: &str) -> Manifest {
    let go = test.path("go").display().to_string();
    let here = test.path(format!("here-{name}")).display().to_string();
    Manifest::new(name)
        .phase("05-schematic-audit")
        .make("made", "out/made.txt", &[])
        .act("check", "wait", &["until", &go, &here], &["needs: [made]"])
        .make("last", "out/last.txt", &["needs: [wait]"])
}

/// Waits until the board's step in the middle has begun.
fn in_the_middle(test: &TestEnvironment, name: &str) {
    let start = Instant::now();
    while !test.path(format!("here-{name}")).exists() {
        assert!(start.elapsed() < LIMIT, "{name} does not begin");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn go(test: &TestEnvironment, running: Running) -> Ran {
    fs::write(test.path("go"), "go").expect("the sign");
    running.wait()
}

#[test]
fn a_second_run_of_a_board_is_busy_and_changes_nothing() {
    let test = TestEnvironment::new();
    test.boards(&[&board(&test, "b")]);
    let first = test.start(&["run", "b"]);
    in_the_middle(&test, "b");
    let before = test.events("b").len();
    for command in ["run", "resume", "check"] {
        let busy = test.json(10, &[command, "b"]);
        assert_eq!(busy["class"], "AG-10", "{busy:#}");
    }
    assert_eq!(test.events("b").len(), before, "{}", test.story("b"));
    go(&test, first).exits(0);
    let starts = count(&test.facts("b"), |f| matches!(f, Fact::RunStarted { .. }));
    assert_eq!(starts, 1, "{}", test.story("b"));
}

#[test]
fn others_may_look_while_a_board_runs() {
    let test = TestEnvironment::new();
    test.boards(&[&board(&test, "b")]);
    let first = test.start(&["run", "b"]);
    in_the_middle(&test, "b");
    let status = test.json(0, &["status", "b"]);
    assert!(status.to_string().contains("running"), "{status:#}");
    for words in
        [&["log", "b"][..], &["history", "b"], &["ledger", "verify"], &["verify-trace", "b"]]
    {
        test.json(0, words);
    }
    go(&test, first).exits(0);
}

#[test]
fn an_answer_reaches_a_run_that_waits_for_it() {
    let test = TestEnvironment::new();
    let thing = test.path("thing").display().to_string();
    let board = Manifest::new("b")
        .phase("05-schematic-audit")
        .act("check", "look", &["cat", &thing], &[])
        .make("after", "out/after.txt", &["needs: [look]"]);
    test.boards(&[&board]);
    let running = test.start(&["run", "b", "--wait", "5m"]);
    let start = Instant::now();
    let ask = loop {
        assert!(start.elapsed() < LIMIT, "no ask");
        let status = test.json(0, &["status", "b"]);
        let asks = status["data"]["boards"][0]["asks"].clone();
        let asks = if asks.is_null() { status["asks"].clone() } else { asks };
        if let Some(id) = asks[0]["id"].as_str() {
            break id.to_owned();
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    fs::write(&thing, "here").expect("the thing");
    test.pcbflow(&["answer", &ask, "retry"]).exits(0);
    running.wait().exits(0);
    assert!(test.board("b").join("out/after.txt").is_file());
    test.pcbflow(&["replay", "b"]).exits(0);
}

#[test]
fn two_boards_run_at_once_in_two_processes() {
    let test = TestEnvironment::new();
    test.boards(&[&board(&test, "anna"), &board(&test, "berta")]);
    let (anna, berta) = (test.start(&["run", "anna"]), test.start(&["run", "berta"]));
    in_the_middle(&test, "anna");
    in_the_middle(&test, "berta");
    // Both are in the middle of their runs at this moment.
    let anna = go(&test, anna);
    let berta = berta.wait();
    anna.exits(0);
    berta.exits(0);
    for name in ["anna", "berta"] {
        let facts = test.facts(name);
        assert_eq!(count(&facts, |f| matches!(f, Fact::OutputsCommitted { .. })), 1, "{name}");
        test.pcbflow(&["replay", name]).exits(0);
    }
    test.pcbflow(&["ledger", "verify"]).exits(0);
    let log = test.git(&["log", "--format=%B"]);
    assert_eq!(log.matches("Pcbflow-Ledger: ").count(), 2, "{log}");
}

#[test]
fn eight_runs_at_once_leave_one_whole_chain_each() {
    let test = TestEnvironment::new();
    let names: Vec<String> = (0..8).map(|n| format!("board-{n}")).collect();
    let boards: Vec<Manifest> = names
        .iter()
        .map(|n| {
            (0..6).fold(Manifest::new(n).phase("05-schematic-audit"), |m, s| {
                m.make(&format!("s{s}"), &format!("out/{s}.txt"), &[])
            })
        })
        .collect();
    test.boards(&boards.iter().collect::<Vec<_>>());
    let running: Vec<Running> = names.iter().map(|n| test.start(&["run", n, "--json"])).collect();
    for run in running {
        run.wait().exits(0);
    }
    test.pcbflow(&["ledger", "verify"]).exits(0);
    for name in &names {
        let passed = count(&test.facts(name), |f| matches!(f, Fact::StepPassed { .. }));
        assert_eq!(passed, 7, "six steps and the commit\n{}", test.story(name));
    }
}
