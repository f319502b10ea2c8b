//! The rules of a board (KI-6) with the real tool: on record, lost, broken, looser, accepted.

mod support;

use std::path::Path;

use pcbflow_core::check::{CheckOutcome, CheckResult};
use pcbflow_core::event::RecoveryOutcome;
use pcbflow_kicad::Kicad;
use pcbflow_kicad::rows::{actions, probes};
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
        let models = check.findings.into_iter().filter(|f| f.rule.ends_with("model_missing"));
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
