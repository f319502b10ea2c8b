//! What the systems before pcbflow got wrong (`docs/peers.md`): the items that no other test
//! shows, and that every item of that table names a test that exists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use pcbflow_core::event::{Decision, Event, Fact};
use pcbflow_tests::TestEnvironment;
use pcbflow_tests::files::contents;
use pcbflow_tests::ledger::count;
use pcbflow_tests::manifest::Manifest;
use serde_json::json;

use crate::lab::{BOARD, PHASE, ready, script, step};

/// Items that are shown now; the others come with the editor, the agents and the repair loop.
fn wanted() -> BTreeSet<u32> {
    let editor = [5, 18, 27, 37, 39];
    let first = (1..=40).filter(|n| !editor.contains(n));
    first.chain([41, 42, 43, 47, 48, 49, 50, 51, 52, 56]).collect()
}

#[test]
fn every_item_names_tests_that_exist() {
    let root = pcbflow_tests::program::source_root();
    let text = fs::read_to_string(root.join("docs/peers.md")).expect("docs/peers.md");
    let mut named: BTreeMap<u32, usize> = BTreeMap::new();
    let mut faults = Vec::new();
    for line in text.lines().filter(|l| l.starts_with("| ")) {
        let mut cells = line.trim_matches('|').split(" | ").map(str::trim);
        let Some(item) = cells.next().and_then(|c| c.parse().ok()) else { continue };
        for test in line.split('`').filter(|word| word.contains(".rs::")) {
            let (file, name) = test.split_once("::").expect("a test");
            let source = fs::read_to_string(root.join(file)).unwrap_or_default();
            if !source.contains(&format!("fn {name}(")) {
                faults.push(format!("{item}: there is no {test}"));
            }
            *named.entry(item).or_default() += 1;
        }
    }
    let missing: Vec<u32> = wanted().into_iter().filter(|n| !named.contains_key(n)).collect();
    assert!(missing.is_empty(), "items without a test: {missing:?}");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn place(events: &[Event], wanted: impl Fn(&Fact) -> bool) -> usize {
    events.iter().position(|e| wanted(&e.fact)).expect("the event")
}

#[test]
fn item_3_killed_as_its_recovery_begins_the_failure_and_the_rung_are_on_disk() {
    let test = TestEnvironment::new();
    let here = test.path("here").display().to_string();
    let go = test.path("go").display().to_string();
    let install = format!(
        "install: [sh, -c, {:?}]",
        format!("touch {here}; while [ ! -f {go} ]; do sleep 0.05; done; cp have.py lib.py")
    );
    let with = json!({"script": "look.py"});
    test.boards(&[&Manifest::new(BOARD).phase(PHASE).raw(&step(
        "process/check",
        "look",
        &with,
        &[&install],
    ))]);
    fs::write(test.board(BOARD).join("look.py"), "import lib\n").expect("a script");
    fs::write(test.board(BOARD).join("have.py"), "").expect("a package");
    let running = test.start(&["run", BOARD]);
    let end = Instant::now() + Duration::from_secs(60);
    while !test.path("here").exists() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(2));
    }
    running.kill();
    assert_eq!(running.wait().signal, Some(9));
    // A writer opens it first; nothing of the work goes on by that.
    test.pcbflow(&["status", BOARD]).exits(0);
    let events = test.events(BOARD);
    let failed = place(
        &events,
        |f| matches!(f, Fact::FailureDiagnosed { class, .. } if class.as_str() == "SC-2"),
    );
    let planned = place(
        &events,
        |f| matches!(f, Fact::DecisionTaken { decision: Decision::Recover { rung }, .. } if rung == "install-declared"),
    );
    let begun = place(&events, |f| matches!(f, Fact::RecoveryStarted { .. }));
    assert!(failed < planned && planned < begun, "{}", test.story(BOARD));
    fs::write(test.path("go"), "").expect("a file");
    let resumed = test.pcbflow(&["resume", BOARD]);
    resumed.exits_one_of(&[0, 4]);
    assert!(format!("{resumed}").contains("look"), "the step is named\n{resumed}");
}

#[test]
fn item_14_every_rung_of_an_escalated_step_is_an_entry_of_its_own() {
    let test = ready(&[step(
        "process/check",
        "look",
        &json!({"argv": ["claude"], "requires": {"node": ">=999"}}),
        &[],
    )]);
    test.pcbflow(&["run", BOARD, "--json"]).exits(4);
    let mut rungs = Vec::new();
    for event in test.events(BOARD) {
        if let Fact::RecoveryFinished { rung, outcome, .. } = event.fact {
            rungs.push((rung, outcome));
        }
    }
    let names: Vec<&str> = rungs.iter().map(|(rung, _)| rung.as_str()).collect();
    assert_eq!(names, ["use-configured-path", "find-in-known-places"], "{}", test.story(BOARD));
}

#[test]
fn items_15_16_and_42_attempts_are_ordered_whole_and_have_a_stated_limit() {
    let text = "echo to-out; echo to-err >&2; [ -f been ] || { touch been; exit 7; }";
    let test = ready(&[step("process/check", "look", &json!({"argv": ["sh", "-c", text]}), &[])]);
    test.pcbflow(&["run", BOARD]).exits(0);
    let events = test.events(BOARD);
    assert!(events.windows(2).all(|w| w[0].seq.next() == w[1].seq), "numbers without a gap");
    let of_step: Vec<&Event> = events
        .iter()
        .filter(|e| e.scope.step.as_ref().is_some_and(|s| s.as_str() == "look"))
        .collect();
    let attempts: Vec<_> =
        of_step.iter().filter(|e| matches!(e.fact, Fact::AttemptFinished { .. })).collect();
    assert_eq!(attempts.len(), 2);
    assert!(attempts[0].scope.attempt < attempts[1].scope.attempt);
    assert_eq!(attempts[0].scope.run, attempts[1].scope.run);
    for (attempt, status) in attempts.iter().zip([7, 0]) {
        let words = attempt.words.as_ref().expect("words");
        assert_eq!(words.argv[0], "sh");
        assert!(words.stdout_tail.contains("to-out") && !words.stdout_tail.contains("to-err"));
        assert!(words.stderr_tail.contains("to-err"), "{words:?}");
        assert!(matches!(attempt.fact, Fact::AttemptFinished { exit, .. } if exit == Some(status)));
    }
    let limits = of_step.iter().filter_map(|e| match e.fact {
        Fact::StepPlanned { deadline_ms, .. } => Some(deadline_ms),
        _ => None,
    });
    assert_eq!(limits.collect::<Vec<_>>(), [60_000], "the stated default");
}

#[test]
fn item_21_the_place_is_saved_and_proven_before_anybody_is_told() {
    let with = json!({"argv": ["sh", "-c", "exit 7"]});
    let made = json!({"argv": ["sh", "-c", "echo x > out/x.txt"]});
    let test = ready(&[
        step("process/generate", "make", &made, &["outputs: [out/x.txt]"]),
        step("process/check", "look", &with, &["needs: [make]"]),
    ]);
    let stopped = test.json(4, &["run", BOARD]);
    let ask = stopped["ask"]["id"].as_str().expect("an ask");
    test.pcbflow(&["ledger", "verify"]).exits(0);
    assert!(test.board(BOARD).join("out/x.txt").is_file(), "the work is there");
    let manifest = fs::read_to_string(test.board(BOARD).join("project.yaml")).expect("a manifest");
    assert!(manifest.contains("status:") && manifest.contains(ask), "{manifest}");
    let facts = test.facts(BOARD);
    assert_eq!(count(&facts, |f| matches!(f, Fact::AskRaised { .. })), 1);
    // The claim is released: nobody is busy.
    test.pcbflow(&["run", BOARD]).exits(4);
}

#[test]
fn item_22_what_is_promised_is_recorded() {
    let test = ready(&[step(
        "process/check",
        "look",
        &json!({"argv": ["true"], "requires": {"node": ">=999"}}),
        &[],
    )]);
    let stopped = test.json(4, &["run", BOARD]);
    let says = stopped["human"]["ask"].as_str().expect("the last part").to_owned();
    // The run has ended: nothing goes on by itself, so nothing of the kind is promised.
    assert!(says.ends_with("then say 'retry'."), "{says}");
    let watched = |f: &Fact| matches!(f, Fact::AskRaised { watch: Some(_), .. });
    assert_eq!(count(&test.facts(BOARD), watched), 1, "what is watched while a run waits");
}

#[test]
fn item_25_safety_belongs_to_the_kind_and_a_generator_leaves_the_same_set() {
    let with = json!({"argv": ["sh", "-c", "echo x > out/x.txt; echo y > out/y.txt"]});
    let test =
        ready(&[step("process/generate", "make", &with, &["outputs: [out/x.txt, out/y.txt]"])]);
    test.pcbflow(&["run", BOARD]).exits(0);
    let first = contents(&test.board(BOARD).join("out"));
    test.pcbflow(&["run", BOARD, "--force"]).exits(0);
    assert_eq!(contents(&test.board(BOARD).join("out")), first);
    // A command of which nobody promises anything can't be called free by its manifest.
    let loose = step("process/command", "make", &with, &["safety: read_only"]);
    Manifest::new(BOARD).phase(PHASE).raw(&loose).write(&test.board(BOARD));
    let refused = test.json(78, &["run", BOARD]);
    assert!(refused.to_string().contains("stricter"), "{refused:#}");
}

#[test]
fn item_32_a_verdict_that_was_typed_in_is_no_verdict() {
    let test =
        ready(&[step("process/check", "look", &json!({"argv": ["false"], "findings": [1]}), &[])]);
    test.json(3, &["run", BOARD]);
    let file = test.board(BOARD).join("project.yaml");
    let text = fs::read_to_string(&file).expect("a manifest");
    fs::write(&file, text.replace("FAIL", "PASS")).expect("a manifest");
    assert_eq!(test.json(3, &["run", BOARD])["verdict"], "findings");
    let given =
        |f: &Fact| matches!(f, Fact::PhaseVerdictGiven { verdict, .. } if verdict.advances());
    assert_eq!(count(&test.facts(BOARD), given), 0, "{}", test.story(BOARD));
}

#[test]
fn items_4_and_41_back_within_a_second_of_the_limit_with_what_was_said() {
    let text = "echo before; (sleep 8; echo late) & wait";
    let with = json!({"argv": ["sh", "-c", text]});
    let test = ready(&[step("process/command", "look", &with, &["timeout: 2s"])]);
    test.pcbflow(&["run", BOARD]).exits(4);
    let ended = test.events(BOARD).into_iter().find_map(|e| match e.fact {
        Fact::AttemptFinished { took_ms, .. } => Some((took_ms, e.words.expect("words"))),
        _ => None,
    });
    let (took_ms, words) = ended.expect("an attempt");
    assert!((2_000..3_000).contains(&took_ms), "{took_ms} ms");
    assert_eq!(words.stdout_tail, "before\n");
}

#[test]
fn item_49_a_weakened_check_is_another_check() {
    let test = ready(&[step(
        "process/check",
        "look",
        &json!({"argv": ["./gate.sh"], "findings": [1]}),
        &[],
    )]);
    let gate = test.board(BOARD).join("gate.sh");
    script(&gate, "#!/bin/sh\nexit 1\n");
    test.pcbflow(&["run", BOARD]).exits(3);
    script(&gate, "#!/bin/sh\nexit 0\n");
    test.pcbflow(&["run", BOARD]).exits(0);
    let closures: BTreeSet<_> = test
        .events(BOARD)
        .into_iter()
        .filter(|e| e.scope.step.as_ref().is_some_and(|s| s.as_str() == "look"))
        .filter_map(|e| match e.fact {
            Fact::AttemptFinished { closure, .. } => Some(closure),
            _ => None,
        })
        .collect();
    assert_eq!(closures.len(), 2, "its digest has moved\n{}", test.story(BOARD));
}
