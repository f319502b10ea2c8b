//! The graph of a phase: what waits for what, what is done again, what is committed.

use std::collections::BTreeMap;

use pcbflow_core::event::{Event, Fact};
use pcbflow_tests::TestEnvironment;
use pcbflow_tests::ledger::count;
use pcbflow_tests::manifest::Manifest;

/// Positions of a kind of fact, by step.
fn at(events: &[Event], wanted: impl Fn(&Fact) -> bool) -> BTreeMap<String, u64> {
    let of = |e: &Event| e.step_key().map(|k| (k.step.to_string(), e.seq.0));
    events.iter().filter(|e| wanted(&e.fact)).filter_map(of).collect()
}

fn started(fact: &Fact) -> bool {
    matches!(fact, Fact::AttemptStarted { .. })
}

fn passed(fact: &Fact) -> bool {
    matches!(fact, Fact::StepPassed { .. })
}

fn diamond() -> Manifest {
    Manifest::new("b")
        .phase("05-schematic-audit")
        .make("last", "out/d.txt", &["needs: [left, right]"])
        .make("left", "out/b.txt", &["needs: [first]"])
        .make("right", "out/c.txt", &["needs: [first]"])
        .make("first", "out/a.txt", &[])
        .phase("12-final-verification")
        .make("end", "out/e.txt", &[])
}

#[test]
fn steps_wait_for_what_they_need_whatever_their_order_in_the_file() {
    let test = TestEnvironment::new();
    test.boards(&[&diamond()]);
    let done = test.json(0, &["run", "b", "--jobs", "4"]);
    assert_eq!(done["verdict"], "pass");
    let events = test.events("b");
    let (started, passed) = (at(&events, started), at(&events, passed));
    for (step, need) in [
        ("left", "first"),
        ("right", "first"),
        ("last", "left"),
        ("last", "right"),
        ("end", "last"),
    ] {
        assert!(started[step] > passed[need], "{step} before {need}\n{}", test.story("b"));
    }
}

#[test]
fn each_phase_is_one_commit_with_its_place_in_the_record() {
    let test = TestEnvironment::new();
    test.boards(&[&diamond()]);
    test.pcbflow(&["run", "b"]).exits(0);
    let log = test.git(&["log", "--format=%H%n%B", "--", "projects/b"]);
    assert_eq!(log.matches("Pcbflow-Ledger: ").count(), 2, "{log}");
    let committed = count(&test.facts("b"), |f| matches!(f, Fact::OutputsCommitted { .. }));
    assert_eq!(committed, 2);
    for file in ["a", "b", "c", "d", "e"] {
        let path = format!("HEAD:projects/b/out/{file}.txt");
        assert!(!test.git(&["show", &path]).is_empty(), "{file}");
    }
    // Nothing of pcbflow's own is in it.
    let files = test.git(&["ls-files"]);
    assert!(!files.contains(".pcbflow/") && !files.contains(".logs/"), "{files}");
    assert_eq!(test.git(&["status", "--porcelain", "--", "projects"]), "");
}

#[test]
fn a_finished_board_is_left_alone_and_a_changed_step_runs_again() {
    let test = TestEnvironment::new();
    test.boards(&[&diamond()]);
    test.pcbflow(&["run", "b"]).exits(0);
    let (before, commits) = (test.events("b").len(), test.git(&["rev-list", "--count", "HEAD"]));
    let again = test.json(0, &["run", "b"]);
    assert_eq!(again["data"]["cause"], "nothing_to_do", "{again:#}");
    assert_eq!(test.events("b").len(), before, "a run with nothing to do appends nothing");
    assert_eq!(test.git(&["rev-list", "--count", "HEAD"]), commits);
    // One output is gone: that step and nothing else.
    std::fs::remove_file(test.board("b").join("out/c.txt")).expect("an output");
    test.pcbflow(&["run", "b"]).exits(0);
    let events = test.events("b");
    let again = at(&events[before..], started);
    assert!(again.contains_key("right") && !again.contains_key("left"), "{}", test.story("b"));
    assert!(test.board("b").join("out/c.txt").is_file());
}

/// A check of a program that reads `data.txt`, which its command line does not say.
fn reads_data(more: &[&str]) -> Manifest {
    let look = ["sh", "-c", "grep -q good data.txt"];
    Manifest::new("b").phase("05-schematic-audit").command("check", "look", &look, more)
}

#[test]
fn a_check_whose_inputs_nobody_declared_runs_in_every_run() {
    let test = TestEnvironment::new();
    test.boards(&[&reads_data(&[])]);
    let data = test.board("b").join("data.txt");
    std::fs::write(&data, "good").expect("data");
    test.json(0, &["run", "b"]);
    let before = test.events("b").len();
    test.json(0, &["run", "b"]);
    assert!(at(&test.events("b")[before..], started).contains_key("look"), "{}", test.story("b"));
    std::fs::write(&data, "bad").expect("data");
    let bad = test.pcbflow(&["run", "b", "--json"]);
    assert_ne!(bad.exit, Some(0), "it never looked at the data that changed\n{}", test.story("b"));
}

#[test]
fn a_declared_input_that_is_not_there_proves_nothing_later() {
    let test = TestEnvironment::new();
    test.boards(&[&reads_data(&["inputs: [dta.txt]"])]);
    let data = test.board("b").join("data.txt");
    std::fs::write(&data, "good").expect("data");
    test.json(0, &["run", "b"]);
    std::fs::write(&data, "bad").expect("data");
    assert_ne!(test.pcbflow(&["run", "b", "--json"]).exit, Some(0), "{}", test.story("b"));
}

#[test]
fn declared_inputs_spare_a_run_until_one_of_them_changes() {
    for input in ["data.txt", "d*", "lists"] {
        let test = TestEnvironment::new();
        test.boards(&[&reads_data(&[&format!("inputs: ['{input}']")])]);
        let data = test.board("b").join("data.txt");
        let listed = test.board("b").join("lists/deep/parts.csv");
        std::fs::create_dir_all(listed.parent().expect("a folder")).expect("folders");
        std::fs::write(&data, "good").expect("data");
        std::fs::write(&listed, "R1").expect("a list");
        test.json(0, &["run", "b"]);
        let again = test.json(0, &["run", "b"]);
        assert_eq!(again["data"]["cause"], "nothing_to_do", "{input}: {again:#}");
        std::fs::write(&listed, "R2").expect("a list");
        std::fs::write(&data, "bad").expect("data");
        assert_ne!(test.pcbflow(&["run", "b", "--json"]).exit, Some(0), "{input}");
    }
}

#[test]
fn a_step_runs_again_when_one_that_it_needs_made_something_else() {
    let test = TestEnvironment::new();
    let made = test.board("b").join("made.txt");
    let board = Manifest::new("b")
        .phase("05-schematic-audit")
        .command(
            "generate",
            "make",
            &["cp", "source.txt", "made.txt"],
            &["outputs: [made.txt]", "inputs: [source.txt]"],
        )
        .command(
            "check",
            "look",
            &["sh", "-c", "grep -q good made.txt"],
            &["needs: [make]", "inputs: []"],
        );
    test.boards(&[&board]);
    let source = test.board("b").join("source.txt");
    std::fs::write(&source, "good").expect("a source");
    test.json(0, &["run", "b"]);
    assert_eq!(test.json(0, &["run", "b"])["data"]["cause"], "nothing_to_do");
    std::fs::write(&source, "bad").expect("a source");
    assert_ne!(test.pcbflow(&["run", "b", "--json"]).exit, Some(0), "{}", test.story("b"));
    assert_eq!(std::fs::read_to_string(made).expect("what was made"), "bad");
}

#[test]
fn what_fails_holds_up_only_what_needs_it() {
    let test = TestEnvironment::new();
    let board = Manifest::new("b")
        .phase("05-schematic-audit")
        .act("check", "bad", &["fail", "3"], &[])
        .make("after", "out/after.txt", &["needs: [bad]"])
        .make("beside", "out/beside.txt", &[]);
    test.boards(&[&board]);
    let stopped = test.json(4, &["run", "b"]);
    assert_eq!(stopped["verdict"], "needs_person");
    let events = test.events("b");
    let started = at(&events, started);
    assert!(started.contains_key("beside") && !started.contains_key("after"), "{started:?}");
    assert!(test.board("b").join("out/beside.txt").is_file());
    assert_eq!(count(&test.facts("b"), |f| matches!(f, Fact::OutputsCommitted { .. })), 0);
}

#[test]
fn findings_are_a_verdict_and_no_failure() {
    let test = TestEnvironment::new();
    let board = Manifest::new("b").phase("05-schematic-audit").raw(&format!(
        "      - id: look\n        uses: process/check\n        with: {{ argv: [{:?}, fail, 7], findings: [7] }}\n",
        pcbflow_tests::program::own("act")
    ));
    test.boards(&[&board]);
    let found = test.json(3, &["run", "b"]);
    assert_eq!(found["verdict"], "findings");
    assert_eq!(count(&test.facts("b"), |f| matches!(f, Fact::FailureDiagnosed { .. })), 0);
    test.pcbflow(&["check", "b"]).exits(3);
}

#[test]
fn a_run_goes_to_the_phase_that_was_named_and_not_further() {
    let test = TestEnvironment::new();
    test.boards(&[&diamond()]);
    let plan = test.json(0, &["run", "b", "--dry-run"]);
    assert_eq!(plan["data"]["plan"].as_array().map(Vec::len), Some(5), "{plan:#}");
    assert!(!test.board("b").join("out").exists());
    test.pcbflow(&["run", "b", "--to", "05-schematic-audit"]).exits(0);
    assert!(test.board("b").join("out/d.txt").is_file());
    assert!(!test.board("b").join("out/e.txt").exists());
    test.pcbflow(&["run", "b", "--to", "06-placement-planning"]).exits(2);
    test.pcbflow(&["run", "b"]).exits(0);
    assert!(test.board("b").join("out/e.txt").is_file());
}

/// A commit that is taken back is made again each time, by a reset as by another branch.
#[test]
fn a_commit_that_is_taken_back_again_is_made_again() {
    let test = TestEnvironment::new();
    test.boards(&[&Manifest::new("b").phase("05-schematic-audit").make("one", "out/1.txt", &[])]);
    let held = || test.git(&["ls-files", "projects/b/out"]);
    test.git(&["add", "-A"]);
    test.git(&["commit", "-q", "-m", "base"]);
    test.git(&["branch", "other"]);
    test.json(0, &["run", "b"]);
    assert!(held().contains("1.txt"));
    for round in 0..3 {
        test.git(&["reset", "-q", "HEAD~1"]);
        assert!(!held().contains("1.txt"), "round {round}");
        test.json(0, &["run", "b"]);
        assert!(held().contains("1.txt"), "round {round}\n{}", test.story("b"));
    }
    test.git(&["symbolic-ref", "HEAD", "refs/heads/other"]);
    test.git(&["reset", "-q"]);
    test.json(0, &["run", "b"]);
    assert!(held().contains("1.txt"), "another branch\n{}", test.story("b"));
    let log = test.git(&["rev-parse", "HEAD"]);
    let told = test.pcbflow(&["status", "b"]);
    assert!(told.exits(0).stdout.contains(&log[..10]), "{log} {told}");
}
