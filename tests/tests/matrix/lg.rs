//! LG: the ledger, and the disk under it.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pcbflow_core::ports::{Ledger as _, Observation, StepContext};
use pcbflow_store::evidence::{evidence_of, evidence_of_repair};
use pcbflow_store::{LEDGER_FILE, Mode, OpenOptions, open};
use pcbflow_tests::TestEnvironment;
use pcbflow_tests::files::copy_tree;
use pcbflow_tests::manifest::Manifest;
use pcbflow_tests::small_disk::Mount;
use serde_json::json;

use crate::lab::{BOARD, PHASE, answer, ready, step};
use crate::look::{failed, look, passed};
use crate::proof::{End, Want, holds};
use crate::{Recipe, real};

pub const RECIPES: &[Recipe] = &[
    real("LG-1", &[("the reserve is enough", reserve_helps), ("it stays full", stays_full)]),
    real(
        "LG-2",
        &[
            ("refused by every command", refused),
            ("cut short", cut_short),
            ("a byte changed", byte_changed),
        ],
    ),
    real("LG-3", &[("a newer format", newer)]),
    real("LG-4", &[("a folder that may only be read", read_only)]),
    real("LG-5", &[("its writer was killed", killed_writer)]),
];

fn want(class: &'static str, at: &'static str, end: End) -> Want<'static> {
    Want { class, step: at, left: &[], end }
}

fn fill(file: &Path, leave_kb: u64) {
    let mut out = File::create(file).expect("a file");
    let block = [7_u8; 65536];
    for size in [block.len(), 512, 1] {
        while out.write_all(&block[..size]).is_ok() {}
    }
    drop(out);
    let size = fs::metadata(file).expect("the filler").len();
    let kept = size.saturating_sub(leave_kb * 1024);
    File::options().write(true).open(file).and_then(|f| f.set_len(kept)).expect("room");
}

/// The board's folder lies on a disk of its own that is full: KiCad says "Saved" and nothing is.
fn stays_full() {
    let test = TestEnvironment::new();
    let Some(_project) = test.tracks("tracks") else { return };
    let folder = test.board("tracks");
    let saved = test.path("saved");
    copy_tree(&folder, &saved);
    let Some(_disk) = Mount::small(&folder, 8 * 1024) else { return };
    copy_tree(&saved, &folder);
    let filler = folder.join("filler");
    fill(&filler, 0);
    let stopped = test.pcbflow(&["run", "tracks", "--json"]);
    stopped.exits(4);
    let at = stopped.json()["step"].as_str().expect("a step").to_owned();
    holds(&test, "tracks", &Want { class: "LG-1", step: &at, left: &[], end: End::Asked });
    fs::remove_file(filler).expect("the filler");
    answer(&test, &stopped, "tracks", "retry").exits(0);
}

/// Record and outputs share a full disk; pcbflow's own reserve is enough to go on.
fn reserve_helps() {
    let test = TestEnvironment::new();
    let Some(_disk) = Mount::small(&test.ws(), 48 * 1024) else { return };
    let Some(_project) = test.tracks("tracks") else { return };
    fill(&test.ws().join("filler"), 900);
    let ran = test.pcbflow(&["run", "tracks", "--json"]);
    ran.exits_one_of(&[0, 4]);
    let met = test.story("tracks").contains("LG-1");
    pcbflow_tests::note(&format!("LG-1 with its reserve: exit {:?}, met {met}", ran.exit));
    if met && ran.exit == Some(0) {
        let healed = test.events("tracks").into_iter().find_map(|e| match &e.fact {
            pcbflow_core::event::Fact::StepRecovered { class, .. } if class.as_str() == "LG-1" => {
                e.scope.step.map(|s| s.to_string())
            }
            _ => None,
        });
        let at = healed.expect("a healed step");
        let want = Want { class: "LG-1", step: &at, left: &[], end: End::Cured("free-own-space") };
        holds(&test, "tracks", &want);
    }
}

fn board() -> Manifest {
    Manifest::new(BOARD).phase(PHASE).make("one", "out/1.txt", &[])
}

/// A damaged record takes no events, so what is asserted is that nothing is written and what is
/// said.
fn refused() {
    let test = TestEnvironment::new();
    test.boards(&[&board()]);
    test.pcbflow(&["run", BOARD]).exits(0);
    let file = test.ws().join(".pcbflow").join(LEDGER_FILE);
    let bytes = fs::read(&file).expect("the ledger");
    fs::write(&file, &bytes[..bytes.len() / 2]).expect("half of it");
    let refused = test.json(12, &["run", BOARD]);
    assert_eq!(refused["class"], "LG-2", "{refused:#}");
    assert_eq!(fs::read(&file).expect("the ledger").len(), bytes.len() / 2);
}

/// Looks at the ledger of another workspace, as `pcbflow` opens one.
pub fn ledger(context: &StepContext) -> Observation {
    let home = pcbflow_cli::compose::state_home();
    let file = context.state_dir.join(LEDGER_FILE);
    let opened = open(&OpenOptions::new(file, home, Mode::Read));
    let seen = opened.and_then(|opened| {
        for stream in opened.ledger.streams()? {
            opened.ledger.read(&stream, pcbflow_core::ids::Seq(0), 100_000, true)?;
        }
        Ok(opened.repaired)
    });
    match seen {
        Ok(false) => passed(),
        Ok(true) => failed(evidence_of_repair()),
        Err(error) => failed(evidence_of(&error).expect("a fault of the ledger")),
    }
}

/// A sound workspace, and the state folder of another one that `damage` did something to.
fn two(damage: impl FnOnce(&Path)) -> (TestEnvironment, PathBuf) {
    let test = ready(&[step("process/check", "look", &json!({"argv": ["true"]}), &[])]);
    let other = test.path("other");
    fs::create_dir_all(&other).expect("a folder");
    let ws = other.display().to_string();
    test.pcbflow(&["--workspace", &ws, "init", BOARD]).exits(0);
    board().write(&other.join("projects").join(BOARD));
    test.pcbflow(&["--workspace", &ws, "run", BOARD]).exits(0);
    damage(&other.join(".pcbflow").join(LEDGER_FILE));
    (test, other.join(".pcbflow"))
}

fn damaged(damage: impl FnOnce(&Path), class: &'static str) {
    let (test, state) = two(damage);
    look(&test, "ledger", Some(&state));
    holds(&test, BOARD, &want(class, "look", End::Asked));
}

fn cut_short() {
    damaged(
        |file| {
            let size = fs::metadata(file).expect("the ledger").len();
            File::options().write(true).open(file).and_then(|f| f.set_len(size / 2)).expect("cut");
        },
        "LG-2",
    );
}

fn byte_changed() {
    damaged(
        |file| {
            let mut bytes = fs::read(file).expect("the ledger");
            let tag = b"05-schematic-audit";
            let places: Vec<usize> =
                (0..bytes.len() - tag.len()).filter(|at| bytes[*at..].starts_with(tag)).collect();
            assert!(!places.is_empty(), "no event");
            // Some of them lie in pages that are no longer used.
            places.into_iter().for_each(|at| bytes[at] ^= 1);
            fs::write(file, bytes).expect("the changed ledger");
        },
        "LG-2",
    );
}

fn newer() {
    let later = |file: &Path| {
        let mut bytes = fs::read(file).expect("the ledger");
        bytes[..64].fill(0x5a);
        fs::write(file, bytes).expect("bytes of a later engine");
        fs::write(file.with_file_name("ledger.format"), "7\n").expect("a later format");
    };
    damaged(later, "LG-3");
    // The command line says the same, and writes nothing.
    let test = TestEnvironment::new();
    test.boards(&[&board()]);
    test.pcbflow(&["run", BOARD]).exits(0);
    let file = test.ws().join(".pcbflow").join(LEDGER_FILE);
    later(&file);
    let was = fs::read(&file).expect("the ledger");
    assert_eq!(test.json(78, &["run", BOARD])["class"], "LG-3");
    assert_eq!(fs::read(&file).expect("the ledger"), was);
}

fn read_only() {
    let with = json!({"argv": ["sh", "-c", "echo x > out/x.txt"]});
    let test = ready(&[step("process/generate", "make", &with, &["outputs: [out/x.txt]"])]);
    let Some(disk) = Mount::read_only(&test.board(BOARD)) else { return };
    let stopped = test.pcbflow(&["run", BOARD, "--json"]);
    stopped.exits(4);
    holds(&test, BOARD, &want("LG-4", "make", End::Asked));
    drop(disk);
    answer(&test, &stopped, BOARD, "retry").exits(0);
}

fn killed_writer() {
    let (test, state) = two(|_| {});
    let other = state.parent().expect("a workspace").to_owned();
    let (go, here) = (test.path("go"), test.path("here"));
    let words = ["until", &go.display().to_string(), &here.display().to_string()];
    let board = Manifest::new(BOARD).phase(PHASE).act("check", "wait", &words, &[]);
    board.write(&other.join("projects").join(BOARD));
    let ws = other.display().to_string();
    let running = test.start(&["--workspace", &ws, "run", BOARD]);
    let end = Instant::now() + Duration::from_secs(60);
    while !here.exists() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    running.kill();
    assert_eq!(running.wait().signal, Some(9));
    fs::write(&go, "").expect("a file");
    look(&test, "ledger", Some(&state));
    holds(&test, BOARD, &want("LG-5", "look", End::Cured("open-for-writing-once")));
}
