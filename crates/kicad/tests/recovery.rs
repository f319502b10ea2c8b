//! Ladders and probes with the real tool.

mod support;

use std::path::{Path, PathBuf};

use pcbflow_core::check::{CheckOutcome, Gate};
use pcbflow_core::event::RecoveryOutcome;
use pcbflow_core::ports::Subsystem as _;
use pcbflow_kicad::Kicad;
use pcbflow_kicad::cli::FindEnv;
use pcbflow_kicad::rows::{actions, probes};
use pcbflow_kicad::sexpr::{Document, Edit, Node};
use serde_json::{Value, json};
use support::*;

const BOARD: &str = "StickHub.kicad_pcb";

fn drc() -> Vec<(&'static str, Value)> {
    vec![("board", json!(BOARD))]
}

fn stickhub(major: u32, kicad: Kicad) -> Option<Bench> {
    let demo = demo(major, "stickhub")?;
    if !have(9) || !have(10) {
        return None;
    }
    let bench = Bench::with(kicad);
    bench.bring(&demo);
    Some(bench)
}

/// Where a tool is, by its own name.
fn place(major: u32) -> PathBuf {
    let name = format!("kicad-cli-{major}");
    let path = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&path).map(|f| f.join(&name)).find(|p| p.exists()).unwrap()
}

/// A folder for PATH with one tool of this major version, called `kicad-cli`.
fn path_with(folder: &Path, major: u32) -> FindEnv {
    std::fs::create_dir_all(folder).unwrap();
    std::os::unix::fs::symlink(place(major), folder.join("kicad-cli")).unwrap();
    FindEnv { path: Some(folder.as_os_str().to_owned()), known: vec![] }
}

#[test]
fn ki_8_another_installed_version_reads_the_board() {
    let folder = tempfile::tempdir().unwrap();
    let mut env = path_with(&folder.path().join("bin"), 9);
    let Some(bench) = stickhub(10, Kicad::looking_in(env.clone())) else { return };
    assert_eq!(bench.codes("kicad/drc", &drc()), ["kicad.format_too_new"]);
    env.known = vec![place(10)];
    let mut bench = stickhub(10, Kicad::looking_in(env)).unwrap();
    let before = bench.prove("kicad/drc", &drc(), probes::FORMAT_READABLE);
    assert_eq!(before.outcome, CheckOutcome::Fail);
    let done = bench.act("kicad/drc", &drc(), "KI-8", actions::USE_OTHER_VERSION);
    assert_eq!(done.outcome, RecoveryOutcome::Done, "{}", done.summary);
    let proof = bench.prove("kicad/drc", &drc(), probes::FORMAT_READABLE);
    assert_eq!(proof.outcome, CheckOutcome::Pass, "{}", proof.reason);
    let healed = bench.run("kicad/drc", &drc());
    assert!(healed.tool.starts_with("kicad-cli 10."));
    assert_eq!(checked(healed).gate(), Gate::Pass);
    let again = bench.act("kicad/drc", &drc(), "KI-8", actions::USE_OTHER_VERSION);
    assert_eq!(again.outcome, RecoveryOutcome::NotApplicable, "there is no third one");
}

#[test]
fn ki_5_the_tool_is_found_in_a_usual_place() {
    let folder = tempfile::tempdir().unwrap();
    let empty = Some(folder.path().as_os_str().to_owned());
    let nowhere = FindEnv { path: empty.clone(), known: vec![] };
    let Some(mut bench) = stickhub(9, Kicad::looking_in(nowhere)) else { return };
    assert_eq!(bench.codes("kicad/drc", &drc()), ["spawn_not_found"]);
    let done = bench.act("kicad/drc", &drc(), "KI-5", actions::FIND_IN_KNOWN_PLACES);
    assert_eq!(done.outcome, RecoveryOutcome::NotApplicable);
    let watched = bench.prove("kicad/drc", &drc(), probes::KICAD_USABLE);
    assert_eq!(watched.outcome, CheckOutcome::Fail);
    let there = FindEnv { path: empty, known: vec![PathBuf::from("/nowhere/x"), place(9)] };
    let mut bench = stickhub(9, Kicad::looking_in(there)).unwrap();
    assert!(bench.kicad.handles("ENV-4", actions::FIND_IN_KNOWN_PLACES));
    let done = bench.act("kicad/drc", &drc(), "KI-5", actions::FIND_IN_KNOWN_PLACES);
    assert_eq!(done.outcome, RecoveryOutcome::Done);
    let proof = bench.prove("kicad/drc", &drc(), probes::KICAD_USABLE);
    assert_eq!(proof.outcome, CheckOutcome::Pass, "{}", proof.reason);
    assert_eq!(bench.check("kicad/drc", &drc()).gate(), Gate::Pass);
}

#[test]
fn ki_5_a_tool_that_only_answers_version_is_not_usable() {
    let folder = tempfile::tempdir().unwrap();
    program(
        folder.path(),
        "kicad-cli",
        "#!/bin/sh\n[ \"$1\" = version ] && { echo 9.0.8; exit 0; }\necho 'Failed to load kiface library' >&2\nexit 255\n",
    );
    let env = FindEnv { path: Some(folder.path().as_os_str().to_owned()), known: vec![place(10)] };
    let Some(mut bench) = stickhub(9, Kicad::looking_in(env)) else { return };
    assert!(bench.codes("kicad/drc", &drc()).contains(&"kicad.install_broken".to_owned()));
    let proof = bench.prove("kicad/drc", &drc(), probes::KICAD_USABLE);
    assert_eq!(proof.outcome, CheckOutcome::Fail);
    let done = bench.act("kicad/drc", &drc(), "KI-5", actions::USE_OTHER_VERSION);
    assert_eq!(done.outcome, RecoveryOutcome::Done);
    let proof = bench.prove("kicad/drc", &drc(), probes::KICAD_USABLE);
    assert_eq!(proof.outcome, CheckOutcome::Pass, "{}", proof.reason);
    assert_eq!(bench.check("kicad/drc", &drc()).gate(), Gate::Pass);
}

#[test]
fn ki_7_a_crash_is_answered_by_another_version() {
    let folder = tempfile::tempdir().unwrap();
    program(
        folder.path(),
        "kicad-cli",
        "#!/bin/sh\n[ \"$1\" = version ] && { echo 9.0.8; exit 0; }\nkill -SEGV $$\n",
    );
    let env = FindEnv { path: Some(folder.path().as_os_str().to_owned()), known: vec![place(10)] };
    let Some(mut bench) = stickhub(9, Kicad::looking_in(env)) else { return };
    assert_eq!(bench.codes("kicad/drc", &drc()), ["signal"]);
    let one = bench.act("kicad/drc", &drc(), "KI-7", actions::ONE_PROCESS_PER_CHANGE);
    assert_eq!(one.outcome, RecoveryOutcome::NotApplicable);
    let done = bench.act("kicad/drc", &drc(), "KI-7", actions::OTHER_ROUTE);
    assert_eq!(done.outcome, RecoveryOutcome::Done);
    let proof = bench.prove("kicad/drc", &drc(), probes::ONLY_INTENDED_CHANGES);
    assert_eq!(proof.outcome, CheckOutcome::Pass);
    assert_eq!(bench.check("kicad/drc", &drc()).gate(), Gate::Pass);
}

/// A footprint's reference.
fn reference(node: Node<'_>) -> Option<String> {
    let named = |n: &Node<'_>| n.atom(1).is_some_and(|a| a.text() == "Reference");
    node.children_named("property").find(named)?.atom(2).map(Node::text)
}

/// Cuts footprints out of a board.
fn without_parts(path: &Path, parts: &[&str]) {
    let doc = Document::parse(std::fs::read(path).unwrap()).unwrap();
    let mut edit = Edit::new(&doc);
    for node in doc.root().children_named("footprint") {
        if reference(node).is_some_and(|r| parts.contains(&r.as_str())) {
            edit.remove_lines(node).unwrap();
        }
    }
    std::fs::write(path, edit.finish().unwrap()).unwrap();
}

#[test]
fn ki_2_dropped_footprints_are_named() {
    for major in [9, 10] {
        let Some(mut bench) = stickhub(9, Kicad::new()) else { return };
        let with =
            |kind: &str| (kind.to_owned(), vec![("board", json!(BOARD)), ("kicad", json!(major))]);
        without_parts(&bench.root().join(BOARD), &["C18", "R3", "U1"]);
        for (kind, args) in [with("kicad/drc"), with("kicad/compare")] {
            let evidence = failed(bench.run(&kind, &args));
            assert_eq!(codes(&evidence), ["kicad.footprints_dropped"], "{kind}");
            assert_eq!(evidence.slots["count"], "3");
            assert_eq!(evidence.slots["parts"], "C18, R3, U1");
        }
        let (kind, args) = with("kicad/drc");
        let proof = bench.prove(&kind, &args, probes::FOOTPRINTS_EQUAL);
        assert_eq!(proof.outcome, CheckOutcome::Fail, "{}", proof.reason);
        for action in [actions::REMAP_FOOTPRINTS, actions::RESTORE_HOLES, actions::IMPORT_AGAIN] {
            let done = bench.act(&kind, &args, "KI-2", action);
            assert_eq!(done.outcome, RecoveryOutcome::NotApplicable, "{action}");
        }
    }
}

#[test]
fn ki_2_one_lost_and_one_extra_is_found() {
    let Some(bench) = stickhub(9, Kicad::new()) else { return };
    let path = bench.root().join(BOARD);
    let doc = Document::parse(std::fs::read(&path).unwrap()).unwrap();
    let mut edit = Edit::new(&doc);
    // C18 goes; a second logo-like part comes: the numbers are equal, the sets are not.
    let footprints: Vec<_> = doc.root().children_named("footprint").collect();
    let lost = footprints.iter().find(|n| reference(**n).as_deref() == Some("C18")).unwrap();
    let stranger = String::from_utf8(lost.bytes().to_vec()).unwrap();
    let stranger =
        stranger.replace("\"C18\"", "\"C218\"").replace("(path \"/", "(path \"/00000000");
    edit.replace(*lost, &stranger).unwrap();
    std::fs::write(&path, edit.finish().unwrap()).unwrap();
    for kind in ["kicad/drc", "kicad/compare"] {
        let evidence = failed(bench.run(kind, &drc()));
        assert_eq!(codes(&evidence), ["kicad.footprints_dropped"], "{kind}");
        assert_eq!(evidence.slots["parts"], "C18");
    }
    // The same part under a new name is the look-alike.
    let doc =
        Document::parse(text(&demo(9, "stickhub").unwrap().join(BOARD)).into_bytes()).unwrap();
    let renamed = String::from_utf8(doc.into_bytes()).unwrap().replace("\"C18\"", "\"C218\"");
    std::fs::write(&path, renamed).unwrap();
    let evidence = failed(bench.run("kicad/drc", &drc()));
    assert_eq!(codes(&evidence), ["kicad.footprints_dropped", "kicad.references_renumbered"]);
}

#[test]
fn ki_4_pins_on_other_nets_are_named() {
    for major in [9, 10] {
        let Some(bench) = stickhub(9, Kicad::new()) else { return };
        let path = bench.root().join(BOARD);
        let doc = Document::parse(std::fs::read(&path).unwrap()).unwrap();
        let part = doc
            .root()
            .children_named("footprint")
            .find(|n| reference(*n).as_deref() == Some("C18"))
            .unwrap();
        let nets: Vec<_> = part.children_named("pad").filter_map(|pad| pad.child("net")).collect();
        let texts: Vec<String> =
            nets.iter().map(|n| String::from_utf8(n.bytes().to_vec()).unwrap()).collect();
        assert_ne!(texts[0], texts[1]);
        let mut edit = Edit::new(&doc);
        edit.replace(nets[0], &texts[1]).unwrap();
        edit.replace(nets[1], &texts[0]).unwrap();
        std::fs::write(&path, edit.finish().unwrap()).unwrap();
        let args = [("board", json!(BOARD)), ("kicad", json!(major))];
        let evidence = failed(bench.run("kicad/compare", &args));
        assert_eq!(codes(&evidence), ["kicad.net_pins_differ"]);
        assert_eq!(evidence.signals[0].number, Some(2), "{:?}", evidence.slots);
        let proof = bench.prove("kicad/compare", &args, probes::PINS_EQUAL);
        assert_eq!(proof.outcome, CheckOutcome::Fail);
    }
}

#[test]
fn probes_that_have_nothing_to_look_at_do_not_pass() {
    let Some(bench) = stickhub(9, Kicad::new()) else { return };
    for probe in [probes::HOLES_EQUAL, probes::EXPORT_EQUALS_BOARD, "no-such-probe"] {
        assert_eq!(bench.prove("kicad/drc", &drc(), probe).outcome, CheckOutcome::CouldNotRun);
    }
}

#[test]
fn ki_2_mapped_footprints_come_back() {
    for (saved, major) in [(9, 9), (9, 10), (10, 10)] {
        let Some(mut bench) = stickhub(saved, Kicad::new()) else { return };
        let path = bench.root().join(BOARD);
        without_parts(&path, &["C18", "R3", "U1"]);
        let before = std::fs::read(&path).unwrap();
        let map = json!({"C18": "footprints:2012_C", "R3": "footprints.pretty/1005_C.kicad_mod"});
        std::fs::write(bench.root().join("map.json"), map.to_string()).unwrap();
        let args = [
            ("board", json!(BOARD)),
            ("kicad", json!(major)),
            ("footprint_map", json!("map.json")),
        ];
        let evidence = failed(bench.run("kicad/compare", &args));
        assert_eq!(evidence.slots["count"], "3");
        assert_eq!(evidence.slots["parts"], "U1", "only what the map does not have is asked for");
        let done = bench.act("kicad/compare", &args, "KI-2", actions::REMAP_FOOTPRINTS);
        assert_eq!(done.outcome, RecoveryOutcome::Done, "{}", done.summary);
        assert_eq!(done.blobs.len(), 1, "the board as it was is kept");
        assert_eq!(bench.blobs.0.lock().unwrap()[&done.blobs[0].digest], before);
        let evidence = failed(bench.run("kicad/compare", &args));
        assert_eq!((&*evidence.slots["count"], &*evidence.slots["parts"]), ("1", "U1"));
        let again = bench.act("kicad/compare", &args, "KI-2", actions::REMAP_FOOTPRINTS);
        assert_eq!(again.outcome, RecoveryOutcome::NotApplicable, "never twice");
        // With every part mapped, the second parser sees references, pads and nets as they were.
        std::fs::write(&path, std::fs::read(demo(saved, "stickhub").unwrap().join(BOARD)).unwrap())
            .unwrap();
        without_parts(&path, &["C18"]);
        let done = bench.act("kicad/compare", &args, "KI-2", actions::REMAP_FOOTPRINTS);
        assert_eq!(done.outcome, RecoveryOutcome::Done, "{}", done.summary);
        let proof = bench.prove("kicad/compare", &args, probes::FOOTPRINTS_EQUAL);
        assert_eq!(proof.outcome, CheckOutcome::Pass, "{}", proof.reason);
        assert_eq!(bench.check("kicad/compare", &args).gate(), Gate::Pass);
        let mut drc = args.to_vec();
        drc.push(("report", json!("out/after.json")));
        let check = bench.check("kicad/drc", &drc);
        let dropped = check.findings.iter().any(|f| f.rule == "missing_footprint");
        assert!(!dropped, "KiCad reads the part as well");
    }
}
