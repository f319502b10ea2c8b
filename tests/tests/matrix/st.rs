//! ST: what was done, and where the work stands.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use pcbflow_core::event::Fact;
use pcbflow_core::evidence::{Evidence, Signal, Source};
use pcbflow_core::ports::{Observation, StepContext};
use pcbflow_tests::TestEnvironment;
use pcbflow_tests::ledger::count;
use pcbflow_tests::manifest::Manifest;
use serde_json::json;

use crate::lab::{BOARD, PHASE, ready, script, step};
use crate::look::{failed, look, passed};
use crate::proof::{End, FREE, Want, holds};
use crate::{Recipe, real, small};

pub const RECIPES: &[Recipe] = &[
    real(
        "ST-1",
        &[
            ("a hook changes an output once", changed_once),
            ("a hook changes it always", changed_always),
        ],
    ),
    real(
        "ST-2",
        &[("killed in a free step", killed_free), ("killed after its write", killed_after_write)],
    ),
    small("ST-3", &[("its facts changed", facts_changed), ("it is gone", file_gone)]),
    small("ST-4", &[("a note of an older head", old_note)]),
    small(
        "ST-5",
        &[
            ("the result is gone", result_gone),
            ("a finished board is not run again", finished_board),
        ],
    ),
];

const COMMIT: &str = pcbflow_core::manifest::COMMIT_STEP;

fn want(
    class: &'static str,
    at: &'static str,
    left: &'static [(&'static str, &'static str)],
    end: End,
) -> Want<'static> {
    Want { class, step: at, left, end }
}

/// A board whose commit check puts its own words into an output.
fn with_hook(once: bool) -> TestEnvironment {
    let with = json!({"argv": ["sh", "-c", "echo x > out/x.txt"]});
    let test = ready(&[step("process/generate", "make", &with, &["outputs: [out/x.txt]"])]);
    let when = if once { "[ -f .git/been ] && exit 0; touch .git/been\n" } else { "" };
    let text = format!(
        "#!/bin/sh\n{when}[ -f projects/b/out/x.txt ] || exit 0\n\
         id=$(echo changed | git hash-object -w --stdin)\n\
         git update-index --cacheinfo 100644,$id,projects/b/out/x.txt\n"
    );
    script(&test.ws().join(".git/hooks/pre-commit"), &text);
    test
}

fn changed_once() {
    let test = with_hook(true);
    test.pcbflow(&["run", BOARD, "--json"]).exits(0);
    holds(&test, BOARD, &want("ST-1", COMMIT, &[], End::Cured("commit-outputs")));
    assert_eq!(test.git(&["show", "HEAD:projects/b/out/x.txt"]), "x\n");
}

fn changed_always() {
    let test = with_hook(false);
    test.pcbflow(&["run", BOARD, "--json"]).exits(4);
    holds(&test, BOARD, &want("ST-1", COMMIT, &[], End::Asked));
    let kept = test.ws().join(".pcbflow/snapshots");
    assert!(kept.is_dir(), "a snapshot of the outputs\n{}", test.story(BOARD));
}

/// Starts a run and kills it once a file is there.
fn kill_when(test: &TestEnvironment, there: &Path) {
    let running = test.start(&["run", BOARD, "--json"]);
    let end = Instant::now() + Duration::from_secs(60);
    while !there.exists() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    running.kill();
    let ran = running.wait();
    assert_eq!(ran.signal, Some(9), "{ran}");
}

fn killed_free() {
    let test = TestEnvironment::new();
    let (go, here) = (test.path("go"), test.path("here"));
    let words = ["until", &go.display().to_string(), &here.display().to_string()];
    let board = Manifest::new(BOARD).phase(PHASE).make("before", "out/before.txt", &[]).act(
        "check",
        "look",
        &words,
        &["needs: [before]"],
    );
    test.boards(&[&board]);
    kill_when(&test, &here);
    fs::write(&go, "").expect("a file");
    test.pcbflow(&["resume", BOARD, "--json"]).exits(0);
    holds(&test, BOARD, &want("ST-2", "look", &[FREE], End::Cured("replay-the-missing")));
    let again = test.events(BOARD).into_iter().filter(|e| {
        matches!(e.fact, Fact::AttemptStarted { .. })
            && e.scope.step.as_ref().is_some_and(|s| s.as_str() == "before")
    });
    assert_eq!(again.count(), 1, "the finished step was not run again");
}

fn killed_after_write() {
    let test = TestEnvironment::new();
    let effect = test.path("effect");
    let board = Manifest::new(BOARD).phase(PHASE).land(
        "look",
        &effect.display().to_string(),
        &["--after", "30000"],
        &[],
    );
    test.boards(&[&board]);
    kill_when(&test, &effect);
    test.pcbflow(&["resume", BOARD, "--json"]).exits(0);
    holds(&test, BOARD, &want("ST-2", "look", &[], End::Cured("read-back")));
    let landed = fs::read_to_string(effect).expect("the effect");
    assert_eq!(landed.lines().count(), 1, "{}", test.story(BOARD));
}

const LIVE: &str = "b.kicad_pcb";

/// Small step: records the board file at its first look, and compares it with the record later.
pub fn files(context: &StepContext) -> Observation {
    if let Some(evidence) = pcbflow_checkpoint::record::evidence(context) {
        return failed(evidence);
    }
    let mut seen = passed();
    let bytes = fs::read(context.root.join(LIVE)).expect("the board");
    seen.records.insert(format!("file.{LIVE}"), pcbflow_checkpoint::record::of(&bytes));
    seen
}

/// A board for a look, without steps of its own.
fn for_look() -> TestEnvironment {
    ready(&[step("process/check", "look", &json!({"argv": ["true"]}), &[])])
}

fn looked_at() -> TestEnvironment {
    let test = for_look();
    fs::write(test.board(BOARD).join(LIVE), "(board (layers 2))").expect("a board");
    look(&test, "files", None);
    assert_eq!(count(&test.facts(BOARD), |f| matches!(f, Fact::StepPassed { .. })), 1);
    test
}

fn facts_changed() {
    let test = looked_at();
    fs::write(test.board(BOARD).join(LIVE), "(board (layers 4))").expect("a board");
    look(&test, "files", None);
    holds(&test, BOARD, &want("ST-3", "look", &[], End::Cured("correct-record")));
}

fn file_gone() {
    let test = looked_at();
    fs::remove_file(test.board(BOARD).join(LIVE)).expect("no board");
    look(&test, "files", None);
    holds(&test, BOARD, &want("ST-3", "look", &[], End::Asked));
}

/// Small step: acts on a session note, which names the head that it was written at.
pub fn note(context: &StepContext) -> Observation {
    let now =
        context.head.as_ref().map_or_else(String::new, |(_, h)| format!("{}:{}", h.seq, h.hash));
    let head = fs::read_to_string(context.root.join("note.txt")).unwrap_or_default();
    let mut seen = passed();
    seen.records.insert("note.head".to_owned(), head.trim().to_owned());
    let aside = context.notes.contains_key("note.ignored");
    let known = context.records.contains_key("note.head");
    if head.trim() == now || aside || !known {
        return seen;
    }
    let mut evidence = Evidence::new("look/look", "");
    evidence.push(Signal::new(Source::Own, pcbflow_checkpoint::signals::NOTE_OUTDATED));
    failed(evidence)
}

fn old_note() {
    let test = for_look();
    fs::write(test.board(BOARD).join("note.txt"), "2:old\n").expect("a note");
    look(&test, "note", None);
    look(&test, "note", None);
    holds(&test, BOARD, &want("ST-4", "look", &[], End::Cured("read-live")));
}

/// Small step: makes a file, and says so when it is about to make one that is on record.
pub fn result(context: &StepContext) -> Observation {
    let said = context.board_dir.join("said");
    if context.records.contains_key("made") && !said.exists() {
        fs::write(said, "").expect("a mark");
        let mut evidence = Evidence::new("look/look", "");
        evidence.push(Signal::new(Source::Own, pcbflow_checkpoint::signals::RESULT_ON_RECORD));
        return failed(evidence);
    }
    fs::create_dir_all(context.board_dir.join("out")).expect("a folder");
    fs::write(context.board_dir.join("out/made.txt"), "made\n").expect("a result");
    let mut seen = passed();
    seen.records.insert("made".to_owned(), "once".to_owned());
    seen
}

/// The recorded result is taken only where it can be compared with the record; this step has no
/// declared outputs, so it is made again.
fn result_gone() {
    let test = for_look();
    look(&test, "result", None);
    fs::remove_file(test.board(BOARD).join("out/made.txt")).expect("no result");
    look(&test, "result", None);
    assert!(test.board(BOARD).join("out/made.txt").is_file(), "{}", test.story(BOARD));
    holds(&test, BOARD, &want("ST-5", "look", &[], End::Cured("replay-that-step")));
}

/// In a flow the engine looks before it starts anything, so that the row is never reached: a
/// finished board is not run, and only the step whose output is gone is.
fn finished_board() {
    let test = TestEnvironment::new();
    let board = Manifest::new(BOARD).phase(PHASE).make("one", "out/1.txt", &[]).make(
        "two",
        "out/2.txt",
        &[],
    );
    test.boards(&[&board]);
    test.pcbflow(&["run", BOARD]).exits(0);
    let before = test.events(BOARD).len();
    assert_eq!(test.json(0, &["run", BOARD])["data"]["cause"], "nothing_to_do");
    assert_eq!(test.events(BOARD).len(), before);
    fs::remove_file(test.board(BOARD).join("out/2.txt")).expect("an output");
    test.pcbflow(&["run", BOARD]).exits(0);
    let started = |step: &str| {
        let all = test.events(BOARD).into_iter().filter(|e| {
            matches!(e.fact, Fact::AttemptStarted { .. })
                && e.scope.step.as_ref().is_some_and(|s| s.as_str() == step)
        });
        all.count()
    };
    assert_eq!((started("one"), started("two")), (1, 2), "{}", test.story(BOARD));
}
