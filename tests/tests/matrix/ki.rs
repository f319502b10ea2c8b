//! KI: the real kicad-cli on boards that are not what they should be.

use std::fs;
use std::path::{Path, PathBuf};

use pcbflow_core::catalogue::Catalogue;
use pcbflow_core::evidence::{Evidence, Signal, Source, codes};
use pcbflow_kicad::sexpr::{Document, Edit, Node};
use pcbflow_kicad::signals;
use pcbflow_tests::environment::has_kicad;
use pcbflow_tests::{Ran, TestEnvironment, tools};
use serde_json::{Value, json};

use crate::lab::{answer, few, step};
use crate::proof::{End, Want, holds};
use crate::{Recipe, diagnosis, real};

pub const RECIPES: &[Recipe] = &[
    diagnosis(
        "KI-1",
        "the export from EasyEDA comes with the editor",
        &[("typed evidence", no_export)],
    ),
    real("KI-2", &[("all in the map", mapped), ("not in the map", unmapped)]),
    real("KI-3", &[("a hole is gone", hole_gone)]),
    real("KI-4", &[("pins changed nets", pins_changed)]),
    real("KI-5", &[("found elsewhere", kicad_found), ("that version is nowhere", kicad_nowhere)]),
    real("KI-6", &[("from the recorded rules", recorded_rules), ("nothing on record", no_rules)]),
    real("KI-7", &[("another version does it", crashes_once), ("a damaged board", conflict_marks)]),
    real("KI-8", &[("another version reads it", newer_board), ("none reads it", far_newer)]),
    real("KI-9", &[("no board file", board_gone), ("no sub-sheet", sheet_gone)]),
];

fn diagnosed(layer: &str, signal: Signal, class: &str) {
    let rows =
        [pcbflow_process::ROWS, pcbflow_checkpoint::ROWS, pcbflow_kicad::ROWS, pcbflow_store::ROWS];
    let more = [pcbflow_eda::ROWS, pcbflow_agents::ROWS];
    let table = Catalogue::fold([rows.concat(), more.concat()].concat(), Vec::new()).expect("rows");
    let mut evidence = Evidence::new(layer, "");
    evidence.push(signal);
    assert_eq!(table.diagnose(&evidence).class.as_str(), class);
}

fn no_export() {
    let layer = signals::LAYER_BOARD_EXPORT;
    diagnosed(layer, Signal::new(Source::Report, signals::EXPORT_UNDEFINED), "KI-1");
    diagnosed(layer, Signal::new(Source::Report, signals::EXPORT_INCOMPLETE), "KI-1");
    diagnosed(layer, Signal::new(Source::File, codes::OUTPUT_EMPTY), "KI-1");
}

/// A board is checked with a mounting hole that no symbol stands for, then without it.
fn hole_gone() {
    let with = json!({"board": TRACKS, "parity": false, "report": "out/look.json"});
    let Some((test, project)) = checked(&with) else { return };
    let path = project.join(TRACKS);
    let without = fs::read_to_string(&path).expect("a board");
    let hole = "(footprint \"x:Hole\" (layer \"F.Cu\") (at 50 50) \
        (property \"Reference\" \"H77\" (at 0 0 0) (layer \"F.Fab\")) \
        (pad \"\" np_thru_hole circle (at 0 0) (size 3 3) (drill 3) (layers \"*.Cu\" \"*.Mask\")))";
    let end = without.trim_end().len() - 1;
    fs::write(&path, format!("{}{hole}\n)\n", &without[..end])).expect("a board");
    test.pcbflow(&["run", "tracks", "--json"]).exits_one_of(&[0, 3, 5]);
    fs::write(&path, &without).expect("a board");
    asked(&test, "tracks", "KI-3");
    assert_eq!(fs::read_to_string(&path).expect("a board"), without, "the board is left alone");
    let restored = test.board("tracks").join("out/restored").join(TRACKS);
    assert!(fs::read_to_string(restored).expect("a restored board").contains("H77"));
}

fn want(
    class: &'static str,
    left: &'static [(&'static str, &'static str)],
    end: End,
) -> Want<'static> {
    Want { class, step: "look", left, end }
}

/// Replaces the steps of a board by one, and keeps where its files lie.
fn only(test: &TestEnvironment, board: &str, uses: &str, with: &Value) {
    let file = test.board(board).join("project.yaml");
    let text = fs::read_to_string(&file).expect("a manifest");
    let head = text.split("phases:").next().expect("a head").to_owned();
    let phase = "phases:\n  - id: 12-final-verification\n    steps:\n";
    fs::write(&file, format!("{head}{phase}{}", step(uses, "look", with, &[])))
        .expect("a manifest");
}

/// The name of the only board.
fn name(test: &TestEnvironment) -> String {
    let mut all = fs::read_dir(test.ws().join("projects")).expect("the boards");
    all.next().expect("a board").expect("a board").file_name().to_string_lossy().into_owned()
}

fn cured(test: &TestEnvironment, board: &str, class: &'static str, rung: &'static str) {
    let ran = test.pcbflow(&["run", board, "--json"]);
    ran.exits_one_of(&[0, 3]);
    holds(test, board, &want(class, &[], End::Cured(rung)));
}

fn asked(test: &TestEnvironment, board: &str, class: &'static str) -> Ran {
    let ran = test.pcbflow(&["run", board, "--json"]);
    ran.exits(4);
    assert_eq!(ran.json()["class"], class, "{ran}\n{}", test.story(board));
    holds(test, board, &want(class, &[], End::Asked));
    ran
}

fn reference(node: Node<'_>) -> Option<String> {
    let named = |n: &Node<'_>| n.atom(1).is_some_and(|a| a.text() == "Reference");
    node.children_named("property").find(named)?.atom(2).map(Node::text)
}

/// Cuts footprints out of a board.
fn cut(board: &Path, parts: &[&str]) {
    let doc = Document::parse(fs::read(board).expect("a board")).expect("a board");
    let mut edit = Edit::new(&doc);
    for node in doc.root().children_named("footprint") {
        if reference(node).is_some_and(|r| parts.contains(&r.as_str())) {
            edit.remove_lines(node).expect("a footprint");
        }
    }
    fs::write(board, edit.finish().expect("a board")).expect("a board");
}

/// StickHub with nothing but its comparison.
fn compared(with: &Value) -> Option<(TestEnvironment, PathBuf, String)> {
    let test = TestEnvironment::new();
    let project = test.stickhub()?;
    let board = name(&test);
    only(&test, &board, "kicad/compare", with);
    Some((test, project, board))
}

const STICKHUB: &str = "StickHub.kicad_pcb";

fn mapped() {
    let with = json!({"board": STICKHUB, "footprint_map": "map.json"});
    let Some((test, project, board)) = compared(&with) else { return };
    cut(&project.join(STICKHUB), &["C18"]);
    let map = json!({"C18": "footprints:2012_C"});
    fs::write(project.join("map.json"), map.to_string()).expect("a map");
    cured(&test, &board, "KI-2", "remap-footprints");
}

fn unmapped() {
    let Some((test, project, board)) = compared(&json!({"board": STICKHUB})) else { return };
    cut(&project.join(STICKHUB), &["C18", "R3", "U1"]);
    asked(&test, &board, "KI-2");
}

fn pins_changed() {
    let Some((test, project, board)) = compared(&json!({"board": STICKHUB})) else { return };
    let path = project.join(STICKHUB);
    let doc = Document::parse(fs::read(&path).expect("a board")).expect("a board");
    let part = doc
        .root()
        .children_named("footprint")
        .find(|n| reference(*n).as_deref() == Some("C18"))
        .expect("C18");
    let nets: Vec<_> = part.children_named("pad").filter_map(|pad| pad.child("net")).collect();
    let text = |at: usize| String::from_utf8(nets[at].bytes().to_vec()).expect("text");
    let (first, second) = (text(0), text(1));
    assert_ne!(first, second);
    let mut edit = Edit::new(&doc);
    edit.replace(nets[0], &second).expect("a net");
    edit.replace(nets[1], &first).expect("a net");
    fs::write(&path, edit.finish().expect("a board")).expect("a board");
    asked(&test, &board, "KI-4");
}

/// The small board with nothing but its design-rule check.
fn checked(with: &Value) -> Option<(TestEnvironment, PathBuf)> {
    let test = TestEnvironment::new();
    let project = test.tracks("tracks")?;
    only(&test, "tracks", "kicad/drc", with);
    Some((test, project))
}

const TRACKS: &str = "tracks.kicad_pcb";

fn usual_places() -> bool {
    Path::new("/usr/local/bin/kicad-cli").exists() || Path::new("/usr/bin/kicad-cli").exists()
}

fn kicad_found() {
    let Some((mut test, _)) = checked(&json!({"board": TRACKS, "parity": false})) else { return };
    if !usual_places() {
        pcbflow_tests::note("skipped: no KiCad in a usual place");
        return;
    }
    few(&mut test, &["git"]);
    cured(&test, "tracks", "KI-5", "find-in-known-places");
}

fn kicad_nowhere() {
    let Some((test, _)) = checked(&json!({"board": TRACKS, "parity": false, "kicad": 8})) else {
        return;
    };
    asked(&test, "tracks", "KI-5");
}

fn recorded_rules() {
    let Some((test, project)) = checked(&json!({"board": TRACKS, "parity": false})) else { return };
    fs::remove_file(project.join("tracks.kicad_pro")).expect("no rules");
    cured(&test, "tracks", "KI-6", "copy-with-rules");
    assert!(!project.join("tracks.kicad_pro").exists(), "the person's folder is left alone");
}

fn no_rules() {
    if !has_kicad(9) {
        return;
    }
    let test = TestEnvironment::new();
    let project = test.path("hw/tracks");
    let fixture = pcbflow_tests::program::source_root().join("tests/fixtures/tracks");
    pcbflow_tests::files::copy_tree(&fixture, &project);
    fs::remove_file(project.join("tracks.kicad_pro")).expect("no rules");
    test.pcbflow(&["init", "tracks"]).exits(0);
    let head = "board: tracks\nroot: ../../../hw/tracks\nphases:\n";
    fs::write(test.board("tracks").join("project.yaml"), head).expect("a manifest");
    only(&test, "tracks", "kicad/drc", &json!({"board": TRACKS, "parity": false}));
    asked(&test, "tracks", "KI-6");
}

fn board_gone() {
    let Some((test, project)) = checked(&json!({"board": TRACKS, "parity": false})) else { return };
    fs::remove_file(project.join(TRACKS)).expect("no board");
    let ran = asked(&test, "tracks", "KI-9");
    assert_eq!(ran.json()["ask"]["kind"], "restore_file", "{ran}");
}

fn sheet_gone() {
    let Some((test, project, board)) = compared(&json!({"board": STICKHUB})) else { return };
    let sheet = project.join("StickHub.kicad_sch");
    let text = fs::read_to_string(&sheet).expect("a sheet");
    let end = text.trim_end().len() - 1;
    let below = "(sheet (at 50 50) (size 30 20) \
        (property \"Sheetname\" \"gone\") (property \"Sheetfile\" \"gone.kicad_sch\"))";
    fs::write(&sheet, format!("{}{below}\n)\n", &text[..end])).expect("a sheet");
    let ran = asked(&test, &board, "KI-9");
    assert_eq!(ran.json()["ask"]["kind"], "restore_file", "{ran}");
}

/// One of the two real versions crashes; the other one does the step.
fn crashes_once() {
    if !has_kicad(10) {
        return;
    }
    let Some((mut test, _)) = checked(&json!({"board": TRACKS, "parity": false})) else { return };
    let real = tools::find("kicad-cli-9").expect("KiCad 9");
    few(&mut test, &["git", "kicad-cli-10"]);
    let orders = json!({"when": "pcb drc", "mode": "segfault", "real": real});
    tools::put(&test.wrappers(), "kicad-cli", "fake-kicad-cli", &orders);
    cured(&test, "tracks", "KI-7", "other-route");
}

fn conflict_marks() {
    let Some((test, project)) = checked(&json!({"board": TRACKS, "parity": false})) else { return };
    let text = fs::read_to_string(project.join(TRACKS)).expect("a board");
    let marks = "<<<<<<< HEAD\n\t(net 0 \"\")\n=======\n\t(net 0 \"x\")\n>>>>>>> other\n";
    fs::write(project.join(TRACKS), text.replacen("\t(net 0 \"\")\n", marks, 1)).expect("a board");
    asked(&test, "tracks", "KI-7");
}

/// A board that KiCad 10 saved, and KiCad 9 first on `PATH`; KiCad 10 is in a usual place.
fn newer_board() {
    if !has_kicad(10) || !Path::new("/usr/local/bin/kicad-cli-10").exists() {
        pcbflow_tests::note("skipped: no KiCad 10 in a usual place");
        return;
    }
    let Some((mut test, project)) = checked(&json!({"board": TRACKS, "parity": false})) else {
        return;
    };
    saved_by(&project, "20260206");
    few(&mut test, &["git", "kicad-cli-9"]);
    cured(&test, "tracks", "KI-8", "use-other-version");
}

/// Gives the board the format date of another version.
fn saved_by(project: &Path, date: &str) {
    let path = project.join(TRACKS);
    let text = fs::read_to_string(&path).expect("a board");
    let at = text.find("(version ").expect("a version") + "(version ".len();
    let end = at + text[at..].find(')').expect("its end");
    fs::write(&path, format!("{}{date}{}", &text[..at], &text[end..])).expect("a board");
}

fn far_newer() {
    let Some((test, project)) = checked(&json!({"board": TRACKS, "parity": false})) else { return };
    saved_by(&project, "20991231");
    let stopped = test.pcbflow(&["run", "tracks", "--json"]);
    stopped.exits(4);
    assert_eq!(stopped.json()["class"], "KI-8", "{stopped}");
    // Converting a copy needs a yes; with it, no installed version can do it either.
    answer(&test, &stopped, "tracks", "yes").exits(4);
    holds(&test, "tracks", &want("KI-8", &[], End::Asked));
}
