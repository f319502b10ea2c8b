//! SC: scripts and steps that fail, hang, run in circles and lie.

use std::fs;

use pcbflow_core::event::{Decision, Event, Fact, ReadBack};
use pcbflow_core::policy::STEP_ATTEMPTS_MAX;
use pcbflow_tests::TestEnvironment;
use pcbflow_tests::ledger::count;
use pcbflow_tests::manifest::Manifest;
use serde_json::{Value, json};

use crate::lab::{BOARD, PHASE, answer, ready, step};
use crate::proof::{End, FREE, Want, holds, message_is_plain};
use crate::{Recipe, real};

pub const RECIPES: &[Recipe] = &[
    real(
        "SC-1",
        &[
            ("the second try passes", fails_once),
            ("an exception, always", raises),
            ("ends itself by a signal", ends_itself),
            ("a step that writes is not repeated", writer_fails),
        ],
    ),
    real("SC-2", &[("installed", module_installed), ("not installed", module_missing)]),
    real(
        "SC-3",
        &[
            ("ends in twice the time", slow),
            ("hangs with a grandchild", hangs),
            ("what it wrote was there", late_and_landed),
        ],
    ),
    real(
        "SC-4",
        &[
            ("prints without end", prints_without_end),
            ("works without a word", works_without_a_word),
        ],
    ),
    real("SC-5", &[("half the batch", half_batch), ("no batch", too_much_memory)]),
    real("SC-6", &[("another failure each time", used_up)]),
    real(
        "SC-7",
        &[
            ("made at the second try", made_later),
            ("never made", never_made),
            ("empty", made_empty),
            ("says no and exits 0", says_no),
        ],
    ),
    real(
        "SC-8",
        &[
            ("landed, the answer lost", landed),
            ("nothing landed", nothing_landed),
            ("nobody can tell", unclear),
        ],
    ),
];

fn want(
    class: &'static str,
    left: &'static [(&'static str, &'static str)],
    end: End,
) -> Want<'static> {
    Want { class, step: "look", left, end }
}

fn sh(text: &str) -> Value {
    json!({"argv": ["sh", "-c", text]})
}

fn cured(
    test: &TestEnvironment,
    class: &'static str,
    left: &'static [(&'static str, &'static str)],
    rung: &'static str,
) {
    test.pcbflow(&["run", BOARD, "--json"]).exits(0);
    holds(test, BOARD, &want(class, left, End::Cured(rung)));
}

fn asked(
    test: &TestEnvironment,
    class: &'static str,
    left: &'static [(&'static str, &'static str)],
) -> pcbflow_tests::Ran {
    let ran = test.pcbflow(&["run", BOARD, "--json"]);
    ran.exits(4);
    assert_eq!(ran.json()["class"], class, "{ran}\n{}", test.story(BOARD));
    holds(test, BOARD, &want(class, left, End::Asked));
    ran
}

fn one(uses: &str, with: &Value, more: &[&str]) -> TestEnvironment {
    ready(&[step(uses, "look", with, more)])
}

fn fails_once() {
    let test = one("process/check", &sh("[ -f been ] || { touch been; exit 7; }"), &[]);
    cured(&test, "SC-1", &[], "once-more-if-read-only");
}

fn raises() {
    let test = one("process/check", &json!({"script": "look.py"}), &[]);
    fs::write(test.board(BOARD).join("look.py"), "raise ValueError('no such layer')\n")
        .expect("a script");
    asked(&test, "SC-1", &[]);
}

fn ends_itself() {
    let test = one("process/check", &sh("kill -SEGV $$"), &[]);
    asked(&test, "SC-1", &[]);
}

fn writer_fails() {
    let test = one("process/command", &sh("echo x >> effect; exit 7"), &[]);
    let ran = test.pcbflow(&["run", BOARD, "--json"]);
    ran.exits(4);
    let effect = fs::read_to_string(test.board(BOARD).join("effect")).expect("the effect");
    assert_eq!(effect.lines().count(), 1, "done twice\n{}", test.story(BOARD));
    message_is_plain(&test.ws(), &test.path("state"), BOARD, "look");
    test.pcbflow(&["replay", BOARD]).exits(0);
}

fn python_module(install: &str) -> TestEnvironment {
    let more = [format!("install: [sh, -c, {install:?}]")];
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    let test =
        one("process/check", &json!({"script": "look.py", "env": {"PYTHONPATH": "lib"}}), &more);
    let board = test.board(BOARD);
    fs::write(board.join("look.py"), "import netlister\n").expect("a script");
    fs::create_dir_all(board.join("packages")).expect("a folder");
    fs::write(board.join("packages/netlister.py"), "").expect("a package");
    test
}

fn module_installed() {
    let test = python_module("cp -r packages lib; echo ran >> installs");
    cured(&test, "SC-2", &[], "install-declared");
    let ran = fs::read_to_string(test.board(BOARD).join("installs")).expect("it ran");
    assert_eq!(ran.lines().count(), 1, "the declared install really ran, once");
}

fn module_missing() {
    let test = python_module("true");
    let wants = asked(&test, "SC-2", &[]).json()["human"]["ask"].clone();
    assert_eq!(wants, "Install netlister, then say 'retry'.");
    let status = test.pcbflow(&["status", BOARD]);
    assert!(status.stdout.contains("Install command: sh -c true"), "{status}");
}

fn deadlines(test: &TestEnvironment) -> Vec<u64> {
    let started = test.facts(BOARD).into_iter().filter_map(|f| match f {
        Fact::DecisionTaken { decision: Decision::Attempt { deadline_ms, .. }, .. } => {
            Some(deadline_ms)
        }
        _ => None,
    });
    started.collect()
}

fn slow() {
    // The first try is too long for its deadline, the second is not for twice of it.
    let text = "[ -f been ] && exec sleep 1.3; touch been; exec sleep 60";
    let test = one("process/check", &sh(text), &["timeout: 1s"]);
    cured(&test, "SC-3", &[FREE], "twice-the-time");
    assert!(deadlines(&test).starts_with(&[1000, 2000]), "{}", test.story(BOARD));
}

fn hangs() {
    let test = TestEnvironment::new();
    let pids = test.path("hang");
    let board = Manifest::new(BOARD).phase(PHASE).act(
        "check",
        "look",
        &["hang", &pids.display().to_string()],
        &["timeout: 1s"],
    );
    test.boards(&[&board]);
    asked(&test, "SC-3", &[FREE]);
    assert_eq!(deadlines(&test), [1000, 2000], "{}", test.story(BOARD));
    for name in ["hang", "hang.child"] {
        let pid = fs::read_to_string(test.path(name)).expect("a process id");
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let gone = stat.is_empty() || stat.contains(") Z ");
        assert!(gone, "{name} lives on: {stat}");
    }
}

fn late_and_landed() {
    // Ended at its deadline; the guard finds the effect, so nothing is done twice.
    let guarded = json!({"argv": ["sh", "-c", "echo x >> out/x.txt; sleep 60"],
        "guard": ["test", "-f", "out/x.txt"]});
    let more = ["safety: guarded", "timeout: 1s", "outputs: [out/x.txt]"];
    let test = one("process/generate", &guarded, &more);
    cured(&test, "SC-3", &[], "read-back");
    let effect = fs::read_to_string(test.board(BOARD).join("out/x.txt")).expect("the effect");
    assert_eq!(effect.lines().count(), 1, "{}", test.story(BOARD));
}

fn prints_without_end() {
    let with = json!({"argv": ["yes", "and no word more"], "output_mb": 1});
    asked(&one("process/check", &with, &[]), "SC-4", &[]);
}

fn works_without_a_word() {
    let with = json!({"argv": ["sh", "-c", "while :; do :; done"], "quiet_s": 1});
    asked(&one("process/check", &with, &[]), "SC-4", &[]);
}

/// A real program that takes memory for each part of its batch.
fn eats(batch: Option<u64>) -> TestEnvironment {
    let code = "import os,time\nn=int(os.environ.get('PCBFLOW_BATCH','4'))\n\
                x=[bytearray(os.urandom(1))*(60<<20) for _ in range(n)]\ntime.sleep(2)\n";
    let mut with = json!({"argv": ["python3", "-c", code], "memory_mb": 160});
    if let Some(batch) = batch {
        with["batch"] = batch.into();
    }
    one("process/check", &with, &[])
}

fn half_batch() {
    cured(&eats(Some(4)), "SC-5", &[], "halve-batch");
}

fn too_much_memory() {
    asked(&eats(None), "SC-5", &[]);
}

/// Each try fails with another status, so that each is a failure of its own with a ladder of its
/// own: the step's cap ends it. A person's 'retry' grants one fresh budget.
fn used_up() {
    // Words without numbers, for those are masked in a failure's identity.
    let text = "touch n; printf x >> n; [ -f mended ] || { tr x z < n >&2; exit 7; }";
    let test = one("process/check", &sh(text), &[]);
    let ran = test.pcbflow(&["run", BOARD, "--json"]);
    ran.exits(4);
    let facts = test.facts(BOARD);
    let attempts = count(&facts, |f| matches!(f, Fact::AttemptStarted { .. }));
    assert_eq!(attempts, STEP_ATTEMPTS_MAX as usize, "{}", test.story(BOARD));
    let raised = |f: &Fact| matches!(f, Fact::AskRaised { class, .. } if class.as_str() == "SC-6");
    let escalated =
        |f: &Fact| matches!(f, Fact::StepEscalated { class, .. } if class.as_str() == "SC-6");
    assert_eq!(count(&facts, raised), 1, "{}", test.story(BOARD));
    assert_eq!(count(&facts, escalated), 1, "{}", test.story(BOARD));
    message_is_plain(&test.ws(), &test.path("state"), BOARD, "look");
    fs::write(test.board(BOARD).join("mended"), "").expect("what was missing");
    answer(&test, &ran, BOARD, "retry").exits(0);
    let attempts = count(&test.facts(BOARD), |f| matches!(f, Fact::AttemptStarted { .. }));
    assert_eq!(attempts, STEP_ATTEMPTS_MAX as usize + 2, "one more, and the commit");
    test.pcbflow(&["replay", BOARD]).exits(0);
}

const MAKES: &[&str] = &["outputs: [out/x.txt]"];

fn made_later() {
    let test = one("process/generate", &sh("[ -f been ] && echo x > out/x.txt; touch been"), MAKES);
    cured(&test, "SC-7", &[FREE], "once-more-if-absent");
}

fn never_made() {
    asked(&one("process/generate", &sh("true"), MAKES), "SC-7", &[FREE]);
}

fn made_empty() {
    asked(&one("process/generate", &sh(": > out/x.txt"), MAKES), "SC-7", &[FREE]);
}

fn says_no() {
    let mut with = sh("echo '{\"ok\": false, \"err\": \"no\"}'");
    with["envelope"] = true.into();
    asked(&one("process/check", &with, &[]), "SC-7", &[FREE]);
}

fn once(text: &str, guard: Option<&str>) -> TestEnvironment {
    let mut with = sh(text);
    if let Some(file) = guard {
        with["guard"] = json!(["test", "-f", file]);
    }
    one("process/command", &with, &["safety: once", "timeout: 1s"])
}

fn effects(test: &TestEnvironment) -> usize {
    let text = fs::read_to_string(test.board(BOARD).join("effect")).unwrap_or_default();
    text.lines().count()
}

fn found(test: &TestEnvironment, wanted: ReadBack) -> usize {
    let of_step = |e: &Event| e.scope.step.as_ref().is_some_and(|s| s.as_str() == "look");
    let facts: Vec<Fact> = test.events(BOARD).into_iter().filter(of_step).map(|e| e.fact).collect();
    count(&facts, |f| matches!(f, Fact::EffectReadBack { found } if *found == wanted))
}

fn landed() {
    let test = once("echo x >> effect; sleep 60", Some("effect"));
    cured(&test, "SC-8", &[], "read-back");
    assert_eq!((effects(&test), found(&test, ReadBack::Landed)), (1, 1), "{}", test.story(BOARD));
}

fn nothing_landed() {
    let text = "[ -f been ] || { touch been; sleep 60; }; echo x >> effect";
    let test = once(text, Some("effect"));
    cured(&test, "SC-8", &[], "read-back");
    assert_eq!((effects(&test), found(&test, ReadBack::Absent)), (1, 1), "{}", test.story(BOARD));
}

fn unclear() {
    let test = once("echo x >> effect; sleep 60", None);
    asked(&test, "SC-8", &[]);
    assert_eq!(effects(&test), 1, "never repeated without proof\n{}", test.story(BOARD));
}
