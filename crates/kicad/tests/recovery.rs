//! Ladders and probes with the real tool.

mod support;

use std::path::{Path, PathBuf};

use pcbflow_core::check::{CheckOutcome, CheckResult, Gate};
use pcbflow_core::event::RecoveryOutcome;
use pcbflow_core::ports::Subsystem as _;
use pcbflow_kicad::Kicad;
use pcbflow_kicad::cli::FindEnv;
use pcbflow_kicad::rows::{actions, probes};
use pcbflow_kicad::sexpr::{Document, Edit, Node};
use serde_json::{Value, json};
use support::*;

const BOARD: &str = "StickHub.kicad_pcb";
/// Name of the record of its rule set.
const RULESET: &str = "kicad.ruleset:StickHub";

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

/// A pipe can be opened only when somebody writes into it, so whoever opens it waits for ever.
#[test]
fn ki_6_a_pipe_in_place_of_the_project_file_is_not_waited_for() {
    let Some(mut bench) = stickhub(9, Kicad::new()) else { return };
    let adopted =
        pcbflow_kicad::record_ruleset(&bench.root(), Path::new(BOARD), bench.blobs.as_ref());
    bench.records.extend(adopted);
    let pro = bench.root().join("StickHub.kicad_pro");
    std::fs::remove_file(&pro).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&pro).status().unwrap();
    assert!(made.success());
    assert_eq!(bench.codes("kicad/drc", &drc()), ["kicad.pro_unreadable"]);
    let (told, done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let recovery = bench.act("kicad/drc", &drc(), "KI-6", actions::COPY_WITH_RULES);
        told.send(recovery.outcome).unwrap();
    });
    let waited = done.recv_timeout(std::time::Duration::from_secs(20));
    assert_eq!(waited.unwrap(), RecoveryOutcome::Done);
}

#[test]
fn ki_6_the_recorded_rule_set_stands_in_for_a_lost_project_file() {
    for major in [9, 10] {
        let Some(mut bench) = stickhub(9, Kicad::new()) else { return };
        let args = [("board", json!(BOARD)), ("kicad", json!(major))];
        let pro = bench.root().join("StickHub.kicad_pro");
        let good = std::fs::read(&pro).unwrap();
        let adopted =
            pcbflow_kicad::record_ruleset(&bench.root(), Path::new(BOARD), bench.blobs.as_ref());
        let first = bench.run("kicad/drc", &args);
        let mut recorded = first.records.clone();
        recorded.retain(|name, _| name == RULESET);
        assert_eq!(recorded, adopted, "init records the same");
        let counts = checked(first).counts;
        for damage in [None, Some(&b""[..]), Some(&good[..300])] {
            match damage {
                None => std::fs::remove_file(&pro).unwrap(),
                Some(bytes) => std::fs::write(&pro, bytes).unwrap(),
            }
            bench.notes.clear();
            // Without a record nothing can be done: the person is asked.
            bench.records.clear();
            let done = bench.act("kicad/drc", &args, "KI-6", actions::COPY_WITH_RULES);
            assert_eq!(done.outcome, RecoveryOutcome::NotApplicable);
            bench.records = adopted.clone();
            let done = bench.act("kicad/drc", &args, "KI-6", actions::COPY_WITH_RULES);
            assert_eq!(done.outcome, RecoveryOutcome::Done, "{}", done.summary);
            let proof = bench.prove("kicad/drc", &args, probes::RULES_IN_FORCE);
            assert_eq!(proof.outcome, CheckOutcome::Pass, "{}", proof.reason);
            let healed = bench.run("kicad/drc", &args);
            let again = healed.records.contains_key(RULESET);
            assert!(!again, "a recorded set is not recorded again");
            assert_eq!(checked(healed).counts, counts);
            match damage {
                None => assert!(!pro.exists(), "the engineer's folder is not written"),
                Some(bytes) => assert_eq!(std::fs::read(&pro).unwrap(), bytes),
            }
        }
    }
}

#[test]
fn ki_6_looser_rules_need_a_word_of_the_engineer() {
    let Some(mut bench) = stickhub(9, Kicad::new()) else { return };
    let pro = bench.root().join("StickHub.kicad_pro");
    let mut json: Value = serde_json::from_str(&text(&pro)).unwrap();
    bench.records = bench.run("kicad/drc", &drc()).records;
    let rules = "/board/design_settings/rules";
    let limit = |json: &mut Value, number: f64| {
        json.pointer_mut(rules).unwrap()["min_track_width"] = json!(number);
    };
    limit(&mut json, 0.16);
    std::fs::write(&pro, json.to_string()).unwrap();
    bench.check("kicad/drc", &drc());
    let set: Value = serde_json::from_str(&text(&pro)).unwrap();
    assert_eq!(set.pointer(rules).unwrap()["min_track_width"], json!(0.16));
    bench.records = bench.run("kicad/drc", &drc()).records;
    limit(&mut json, 0.05);
    std::fs::write(&pro, json.to_string()).unwrap();
    assert_eq!(bench.codes("kicad/drc", &drc()), ["kicad.ruleset_changed"]);
    let mut meant = drc();
    meant.push(("accept_rules", json!(true)));
    assert_eq!(bench.check("kicad/drc", &meant).outcome, CheckOutcome::Pass);
    let done = bench.act("kicad/drc", &drc(), "KI-6", actions::COPY_WITH_RULES);
    assert_eq!(done.outcome, RecoveryOutcome::Done);
    bench.check("kicad/drc", &drc());
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
fn ki_6_new_custom_rules_with_a_fault_are_not_checked_away() {
    let Some(mut bench) = stickhub(9, Kicad::new()) else { return };
    bench.records = bench.run("kicad/drc", &drc()).records;
    let rules = bench.root().join("StickHub.kicad_dru");
    std::fs::write(&rules, "(version 1)\n(rule a (constraint clearance (min 1mm))").unwrap();
    assert_eq!(bench.codes("kicad/drc", &drc()), ["kicad.rules_file_broken"]);
    let done = bench.act("kicad/drc", &drc(), "KI-6", actions::COPY_WITH_RULES);
    assert_eq!(done.outcome, RecoveryOutcome::NotApplicable, "{}", done.summary);
    // Sound new rules hold, also when the project file is lost.
    std::fs::write(&rules, "(version 1)\n(rule a (condition \"A.Reference == 'C18'\") (constraint disallow footprint))").unwrap();
    let strict = bench.check("kicad/drc", &drc()).counts;
    assert_eq!(strict.errors, 1);
    std::fs::remove_file(bench.root().join("StickHub.kicad_pro")).unwrap();
    let done = bench.act("kicad/drc", &drc(), "KI-6", actions::COPY_WITH_RULES);
    assert_eq!(done.outcome, RecoveryOutcome::Done);
    assert_eq!(bench.check("kicad/drc", &drc()).counts, strict);
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

/// A folder, or a link that leads to itself, in the place of the rules: asked about, or the recorded
/// rules stand in; never a step that can't be run and says nothing.
#[test]
fn ki_6_a_folder_or_a_loop_in_place_of_the_rules() {
    let Some(mut bench) = stickhub(9, Kicad::new()) else { return };
    let with = [("board", json!(BOARD)), ("parity", json!(false))];
    let adopted =
        pcbflow_kicad::record_ruleset(&bench.root(), Path::new(BOARD), bench.blobs.as_ref());
    for (ending, code) in
        [("kicad_pro", "kicad.pro_unreadable"), ("kicad_dru", "kicad.rules_file_broken")]
    {
        let file = bench.root().join("StickHub").with_extension(ending);
        let good = std::fs::read(&file).ok();
        for looped in [false, true] {
            let _gone = std::fs::remove_file(&file);
            match looped {
                true => std::os::unix::fs::symlink(&file, &file).unwrap(),
                false => std::fs::create_dir(&file).unwrap(),
            }
            bench.notes.clear();
            bench.records.clear();
            for uses in ["kicad/drc", "kicad/export", "kicad/compare"] {
                assert_eq!(bench.codes(uses, &with), [code], "{uses} {ending} {looped}");
            }
            let sheet = [("schematic", json!("StickHub.kicad_sch"))];
            assert_eq!(bench.codes("kicad/erc", &sheet), [code], "{ending} {looped}");
            bench.records = adopted.clone();
            let done = bench.act("kicad/drc", &with, "KI-6", actions::COPY_WITH_RULES);
            assert_eq!(done.outcome, RecoveryOutcome::Done, "{}", done.summary);
            assert_eq!(bench.check("kicad/drc", &with).counts.errors, 0, "{ending} {looped}");
            assert_eq!(bench.check("kicad/erc", &sheet).counts.errors, 0, "{ending} {looped}");
            match looped {
                true => std::fs::remove_file(&file).unwrap(),
                false => std::fs::remove_dir(&file).unwrap(),
            }
        }
        if let Some(good) = good {
            std::fs::write(&file, good).unwrap();
        }
    }
}

/// Rules that were broken when another check passed are no rules to hold the corrected ones against.
#[test]
fn ki_6_rules_that_were_broken_once_do_not_lock_the_corrected_ones_out() {
    let broken = "(version 1)\n(rule a (condition \"A.Reference == 'C18'\") (constraint clearence (min 1mm)))";
    let Some(mut bench) = stickhub(9, Kicad::new()) else { return };
    let rules = bench.root().join("StickHub.kicad_dru");
    std::fs::write(&rules, broken).unwrap();
    let sheet = [("schematic", json!("StickHub.kicad_sch"))];
    bench.records = bench.run("kicad/erc", &sheet).records;
    assert!(bench.records.contains_key(RULESET));
    let adopted =
        pcbflow_kicad::record_ruleset(&bench.root(), Path::new(BOARD), bench.blobs.as_ref());
    // A record of an older release, which kept the broken text.
    let project = text(&bench.root().join("StickHub.kicad_pro"));
    let old = json!({"form": 1, "project": project, "rules": broken}).to_string();
    let old = pcbflow_core::ports::Blobs::put(bench.blobs.as_ref(), "ruleset.json", old.as_bytes());
    let old = [("kicad.ruleset".to_owned(), old.unwrap().digest.to_string())];
    for records in [bench.records.clone(), adopted, old.into_iter().collect()] {
        bench.records = records;
        bench.notes.clear();
        std::fs::write(&rules, broken).unwrap();
        assert_eq!(bench.codes("kicad/drc", &drc()), ["kicad.rules_file_broken"]);
        std::fs::write(&rules, broken.replace("clearence (min 1mm)", "clearance (min 0mm)"))
            .unwrap();
        bench.check("kicad/drc", &drc());
        // What an earlier attempt was told to do does not bring the broken text back.
        bench.notes.insert("kicad.ruleset".to_owned(), "recorded".to_owned());
        bench.check("kicad/drc", &drc());
    }
}

/// `accept_rules: true` is a way out, whatever the attempts before it were told to do.
#[test]
fn ki_6_accepted_rules_are_checked_with_also_after_a_recovery() {
    let Some(mut bench) = stickhub(9, Kicad::new()) else { return };
    let rules = bench.root().join("StickHub.kicad_dru");
    let rule = "(version 1)\n(rule a (condition \"A.Reference == 'C18'\") (constraint disallow footprint))";
    std::fs::write(&rules, rule).unwrap();
    let first = bench.run("kicad/drc", &drc());
    bench.records = first.records.clone();
    let strict = checked(first).counts;
    std::fs::remove_file(&rules).unwrap();
    assert_eq!(bench.codes("kicad/drc", &drc()), ["kicad.ruleset_changed"]);
    bench.act("kicad/drc", &drc(), "KI-6", actions::COPY_WITH_RULES);
    assert_eq!(bench.check("kicad/drc", &drc()).counts, strict);
    let mut meant = drc();
    meant.push(("accept_rules", json!(true)));
    let said = bench.run("kicad/drc", &meant);
    assert!(said.records.contains_key(RULESET), "the accepted set is the recorded one now");
    assert_eq!(checked(said).counts.errors, strict.errors - 1);
}

/// Models that lie with the project are found from the project file; without it a STEP file without
/// them took the place of the good one.
#[test]
fn ki_6_fabrication_files_are_made_with_the_recorded_project_file_or_not_at_all() {
    let Some(mut bench) = stickhub(9, Kicad::new()) else { return };
    let args = [("board", json!(BOARD)), ("what", json!(["step"]))];
    let pro = bench.root().join("StickHub.kicad_pro");
    bench.records =
        pcbflow_kicad::record_ruleset(&bench.root(), Path::new(BOARD), bench.blobs.as_ref());
    let missing = |check: CheckResult| -> Vec<(String, bool)> {
        let models = check.findings.into_iter().filter(|f| f.rule == "model_missing");
        models.map(|f| (f.message, f.apart)).collect()
    };
    let good = missing(bench.check("kicad/export", &args));
    assert!(good.iter().all(|(_, apart)| *apart), "{good:?}");
    let made = snapshot(&bench.board_dir().join("out/fab"));
    std::fs::remove_file(&pro).unwrap();
    assert_eq!(bench.codes("kicad/export", &args), ["kicad.pro_missing"]);
    assert_eq!(snapshot(&bench.board_dir().join("out/fab")), made, "the good files are there");
    let done = bench.act("kicad/export", &args, "KI-6", actions::COPY_WITH_RULES);
    assert_eq!(done.outcome, RecoveryOutcome::Done, "{}", done.summary);
    let proof = bench.prove("kicad/export", &args, probes::RULES_IN_FORCE);
    assert_eq!(proof.outcome, CheckOutcome::Pass, "{}", proof.reason);
    assert_eq!(missing(bench.check("kicad/export", &args)), good);
    assert!(!pro.exists(), "the engineer's folder is not written");
    // A model that is gone from the project's own folder is no matter of this computer.
    std::fs::remove_dir_all(bench.root().join("3dmodels")).unwrap();
    let lost = missing(bench.check("kicad/export", &args));
    assert!(lost.iter().any(|(text, apart)| !apart && text.contains("3dmodels/")), "{lost:?}");
}

/// What is on record about one project says nothing about another one of the same manifest, not even
/// about one of the same name in another folder.
#[test]
fn ki_6_each_project_of_a_manifest_has_rules_of_its_own() {
    let Some(mut bench) = stickhub(9, Kicad::new()) else { return };
    let limit = |file: &Path, mm: f64| {
        let mut json: Value = serde_json::from_str(&text(file)).unwrap();
        json.pointer_mut("/board/design_settings/rules").unwrap()["min_track_width"] = json!(mm);
        std::fs::write(file, json.to_string()).unwrap();
    };
    let other = bench.root().join("panel/StickHub.kicad_pro");
    copy_tree(&demo(9, "stickhub").unwrap(), other.parent().unwrap());
    limit(&other, 0.05);
    let of_other = vec![("board", json!("panel/StickHub.kicad_pcb"))];
    bench.records = bench.run("kicad/drc", &drc()).records;
    let second = bench.run("kicad/drc", &of_other);
    assert!(second.records.contains_key("kicad.ruleset:panel/StickHub"), "{:?}", second.records);
    let counts = checked(second.clone()).counts;
    // Without a record of its own nothing stands in for a lost project file.
    let kept = std::fs::read(&other).unwrap();
    std::fs::remove_file(&other).unwrap();
    let act = actions::COPY_WITH_RULES;
    let none = bench.act("kicad/drc", &of_other, "KI-6", act);
    assert_eq!(none.outcome, RecoveryOutcome::NotApplicable, "{}", none.summary);
    bench.records.extend(second.records);
    assert_eq!(bench.act("kicad/drc", &of_other, "KI-6", act).outcome, RecoveryOutcome::Done);
    assert_eq!(bench.check("kicad/drc", &of_other).counts, counts);
    bench.notes.clear();
    std::fs::write(&other, kept).unwrap();
    bench.check("kicad/drc", &drc());
    limit(&other, 0.01);
    assert_eq!(bench.codes("kicad/drc", &of_other), ["kicad.ruleset_changed"]);
    bench.check("kicad/drc", &drc());
}

/// Older releases kept one rule set for a manifest. It counts for the project that it names.
#[test]
fn ki_6_a_record_of_an_older_release_counts_for_its_own_project() {
    let Some(mut bench) = stickhub(9, Kicad::new()) else { return };
    let adopted =
        pcbflow_kicad::record_ruleset(&bench.root(), Path::new(BOARD), bench.blobs.as_ref());
    bench.records = [("kicad.ruleset".to_owned(), adopted[RULESET].clone())].into();
    for ending in ["kicad_pcb", "kicad_sch"] {
        let file = |stem: &str| bench.root().join(format!("{stem}.{ending}"));
        std::fs::copy(file("StickHub"), file("Other")).unwrap();
    }
    std::fs::remove_file(bench.root().join("StickHub.kicad_pro")).unwrap();
    let act = actions::COPY_WITH_RULES;
    assert_eq!(bench.act("kicad/drc", &drc(), "KI-6", act).outcome, RecoveryOutcome::Done);
    bench.notes.clear();
    let other = [("board", json!("Other.kicad_pcb"))];
    assert_eq!(bench.act("kicad/drc", &other, "KI-6", act).outcome, RecoveryOutcome::NotApplicable);
}
