//! A flow of milliseconds, and what must hold after any number of kills.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use pcbflow_core::event::Fact;
use pcbflow_tests::ledger::count;
use pcbflow_tests::manifest::Manifest;
use pcbflow_tests::{TestEnvironment, processes, tools};

/// Files of the steps that may land only once.
const ONCE: [&str; 3] = ["once/wire.txt", "once/order.txt", "once/label.txt"];

/// The flow: steps of each safety class that repeats or must not, two phases, two commits.
fn flow() -> Manifest {
    let slow = ["--before", "4", "--after", "4"];
    Manifest::new("b")
        .by_path()
        .phase("05-schematic-audit")
        .make("draw", "out/draw.txt", &[])
        .make("parts", "out/parts.txt", &[])
        .land("wire", ONCE[0], &slow, &["needs: [draw]", "outputs: [once/wire.txt]"])
        .act("check", "look", &["cat", "out/draw.txt"], &["needs: [draw]", "inputs: []"])
        .phase("12-final-verification")
        .land("order", ONCE[1], &slow, &["outputs: [once/order.txt]"])
        .land("label", ONCE[2], &slow, &["needs: [order]", "outputs: [once/label.txt]"])
        .make("pack", "out/pack.txt", &["needs: [order]"])
}

/// A place with the flow in it, and wrappers before its tools.
pub fn place() -> TestEnvironment {
    let test = TestEnvironment::release();
    test.boards(&[&flow()]);
    fs::create_dir_all(test.board("b").join("once")).expect("a folder");
    for tool in ["act", "git"] {
        tools::put_journal(&test.wrappers(), tool, &journal(&test));
    }
    test
}

fn journal(test: &TestEnvironment) -> PathBuf {
    test.path("journal")
}

/// What a finished place holds, as far as it is the same in each of them.
#[derive(Debug, PartialEq, Eq)]
pub struct End {
    files: BTreeMap<PathBuf, usize>,
    phases: Vec<String>,
    passed: BTreeSet<String>,
}

/// Runs to the end and looks at everything.
pub fn finish(test: &TestEnvironment, name: &str) -> End {
    let done = test.pcbflow(&["run", "b", "--json"]);
    if done.exit != Some(0) {
        let journal = fs::read_to_string(journal(test)).unwrap_or_default();
        panic!("{name}\n{done}\n{}\n{journal}", test.story("b"));
    }
    assert_eq!(done.json()["verdict"], "pass", "{name}\n{done}");
    test.pcbflow(&["ledger", "verify"]).exits(0);
    let replay = test.pcbflow(&["replay", "b"]);
    assert_eq!(replay.exit, Some(0), "{name}\n{replay}\n{}", test.story("b"));
    for file in ONCE {
        let landed = fs::read_to_string(test.board("b").join(file)).unwrap_or_default();
        assert_eq!(landed.lines().count(), 1, "{name}: {file}\n{}", test.story("b"));
    }
    intents_come_first(test, name);
    let left = processes::left_of(&test.path(""));
    assert!(left.is_empty(), "{name}: {left:?} are left");
    let log = test.git(&["log", "--format=%s", "--", "projects/b"]);
    let end = End {
        files: committed(test),
        phases: log.lines().map(str::to_owned).collect(),
        passed: passed(test),
    };
    let again = test.pcbflow(&["run", "b", "--json"]);
    assert_eq!(
        again.exits(0).json()["data"]["cause"],
        "nothing_to_do",
        "{name}\n{}",
        test.story("b")
    );
    end
}

/// Whatever a wrapper saw start for an attempt had its intent in the record.
fn intents_come_first(test: &TestEnvironment, name: &str) {
    let tags: BTreeSet<String> = test
        .facts("b")
        .into_iter()
        .filter_map(|fact| match fact {
            Fact::AttemptStarted { tag, .. } => Some(tag),
            _ => None,
        })
        .collect();
    for entry in tools::journal(&journal(test)) {
        // Looks at the surroundings (versions, state of the repository) belong to no attempt.
        if entry.argv.get(1).is_some_and(|word| ["land", "make"].contains(&word.as_str())) {
            // Each program of an attempt has a mark of its own behind the attempt's.
            let attempt = entry.tag.split('.').next().unwrap_or_default();
            assert!(
                tags.contains(attempt),
                "{name}: {entry:?} without an intent\n{}",
                test.story("b")
            );
        }
    }
}

/// Committed files of the board and their sizes; a line of a `once` step names its process.
fn committed(test: &TestEnvironment) -> BTreeMap<PathBuf, usize> {
    let list = test.git(&["ls-tree", "-r", "--name-only", "HEAD", "projects/b"]);
    let size = |file: &str| {
        let fixed = file.contains("/out/");
        fs::read(test.ws().join(file)).map_or(0, |bytes| if fixed { bytes.len() } else { 1 })
    };
    list.lines().map(|file| (PathBuf::from(file), size(file))).collect()
}

/// Steps that passed. Each passes once: a second pass is work done again.
fn passed(test: &TestEnvironment) -> BTreeSet<String> {
    let events = test.events("b");
    let of = |e: &pcbflow_core::event::Event| match e.fact {
        Fact::StepPassed { .. } => e.step_key().map(|k| k.to_string()),
        _ => None,
    };
    let all: Vec<String> = events.iter().filter_map(of).collect();
    let set: BTreeSet<String> = all.iter().cloned().collect();
    assert_eq!(all.len(), set.len(), "a step passed twice\n{}", test.story("b"));
    assert_eq!(count(&test.facts("b"), |f| matches!(f, Fact::OutputsCommitted { .. })), 2);
    set
}

/// The end of a run that was left alone.
pub fn alone() -> End {
    finish(&place(), "alone")
}
