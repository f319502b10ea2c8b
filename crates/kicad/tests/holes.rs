//! Mounting holes on record, with the real tool.

mod support;

use std::path::PathBuf;

use pcbflow_core::check::CheckOutcome;
use pcbflow_core::event::RecoveryOutcome;
use pcbflow_core::ports::StepResult;
use pcbflow_kicad::Kicad;
use pcbflow_kicad::rows::{actions, probes};
use pcbflow_kicad::sexpr::{Document, Edit};
use serde_json::{Value, json};
use support::*;

const BOARD: &str = "StickHub.kicad_pcb";

fn stickhub() -> Option<Bench> {
    let demo = demo(9, "stickhub")?;
    if !have(9) || !have(10) {
        return None;
    }
    let bench = Bench::with(Kicad::new());
    bench.bring(&demo);
    Some(bench)
}

/// A mounting hole that no symbol stands for is missed by no check of KiCad's.
#[test]
fn ki_3_a_hole_that_is_gone_is_named_and_put_back_beside_the_outputs() {
    let hole = "(footprint \"x:MountingHole\" (layer \"F.Cu\") (uuid \"10000000-0000-4000-8000-000000000077\") (at 200 60)
        (property \"Reference\" \"H77\" (at 0 0 0) (layer \"F.Fab\") (uuid \"10000000-0000-4000-8000-000000000078\") (effects (font (size 1 1) (thickness 0.15))))
        (attr exclude_from_pos_files exclude_from_bom)
        (pad \"\" np_thru_hole circle (at 0 0) (size 3.2 3.2) (drill 3.2) (layers \"*.Cu\" \"*.Mask\") (uuid \"10000000-0000-4000-8000-000000000079\")))";
    for major in [9, 10] {
        let Some(mut bench) = stickhub() else { return };
        let with = vec![("board", json!(BOARD)), ("parity", json!(false)), ("kicad", json!(major))];
        let path = bench.root().join(BOARD);
        let without = std::fs::read(&path).unwrap();
        let doc = Document::parse(without.clone()).unwrap();
        let mut edit = Edit::new(&doc);
        edit.insert_child(doc.root(), doc.root().children_named("footprint").last(), hole).unwrap();
        std::fs::write(&path, edit.finish().unwrap()).unwrap();
        let first = bench.run("kicad/drc", &with);
        assert!(first.records.contains_key("kicad.holes:StickHub"), "{:?}", first.records);
        bench.records.extend(first.records.clone());
        let errors = checked(first).counts.errors;
        assert_eq!(bench.check("kicad/drc", &with).counts.errors, errors, "nothing is gone");
        assert_eq!(
            bench.prove("kicad/drc", &with, probes::HOLES_EQUAL).outcome,
            CheckOutcome::Pass
        );

        std::fs::write(&path, &without).unwrap();
        let evidence = failed(bench.run("kicad/drc", &with));
        assert_eq!(codes(&evidence), ["kicad.holes_lost"]);
        assert_eq!(evidence.signals[0].text, "H77 at 200, 60 mm, drill 3.2 mm");
        assert_eq!(evidence.slots["count"], "1");
        assert_eq!(
            bench.prove("kicad/drc", &with, probes::HOLES_EQUAL).outcome,
            CheckOutcome::Fail
        );

        let done = bench.act("kicad/drc", &with, "KI-3", actions::RESTORE_HOLES);
        assert_eq!(done.outcome, RecoveryOutcome::NotApplicable);
        assert!(done.summary.contains("H77 at 200, 60 mm"), "{}", done.summary);
        assert_eq!(std::fs::read(&path).unwrap(), without, "the design file is as it was");
        let restored = bench.board_dir().join("out/restored").join(BOARD);

        let mut accepted = with.clone();
        accepted.push(("accept_holes", json!(true)));
        // An answer that was there before the question is none.
        let early = failed(bench.run("kicad/drc", &accepted));
        assert_eq!(early.slots["variant"], "holes_not_accepted");
        bench.records.extend(bench.run("kicad/drc", &with).records);
        let said = bench.run("kicad/drc", &accepted);
        assert!(said.summary.contains("as accepted: H77"), "{}", said.summary);
        assert_eq!(checked(said).counts.errors, 0);

        std::fs::copy(&restored, &path).unwrap();
        assert_eq!(bench.check("kicad/drc", &with).counts.errors, 0);
        assert_eq!(
            bench.prove("kicad/drc", &with, probes::HOLES_EQUAL).outcome,
            CheckOutcome::Pass
        );
        let again = bench.act("kicad/drc", &with, "KI-3", actions::RESTORE_HOLES);
        assert_eq!(again.summary, "every recorded hole is there");
    }
}

/// A board of StickHub with mounting holes of these names beside it.
fn with_holes(plain: &[u8], names: &[&str]) -> Vec<u8> {
    let doc = Document::parse(plain.to_vec()).unwrap();
    let mut edit = Edit::new(&doc);
    for (at, name) in names.iter().enumerate() {
        let hole = format!(
            "(footprint \"x:{name}\" (layer \"F.Cu\") (uuid \"10000000-0000-4000-8000-0000000001{at}0\") (at {} 60)
        (property \"Reference\" \"{name}\" (at 0 0 0) (layer \"F.Fab\") (uuid \"10000000-0000-4000-8000-0000000001{at}1\") (effects (font (size 1 1) (thickness 0.15))))
        (attr exclude_from_pos_files exclude_from_bom)
        (pad \"\" np_thru_hole circle (at 0 0) (size 3.2 3.2) (drill 3.2) (layers \"*.Cu\" \"*.Mask\") (uuid \"10000000-0000-4000-8000-0000000001{at}2\")))",
            200 + 10 * name.bytes().last().map_or(0, |b| u32::from(b - b'0')),
        );
        let last = doc.root().children_named("footprint").last();
        edit.insert_child(doc.root(), last, &hole).unwrap();
    }
    edit.finish().unwrap()
}

/// An answer counts for the loss that was asked about, not for more and not for a later one.
#[test]
fn ki_3_an_accepted_loss_is_the_one_that_was_asked_about() {
    let Some(mut bench) = stickhub() else { return };
    let asking = vec![("board", json!(BOARD)), ("parity", json!(false)), ("kicad", json!(9))];
    let mut answered = asking.clone();
    answered.push(("accept_holes", json!(true)));
    let path = bench.root().join(BOARD);
    let plain = std::fs::read(&path).unwrap();
    let mut go = |holes: &[&str], with: &[(&str, Value)]| -> Result<String, String> {
        std::fs::write(&path, with_holes(&plain, holes)).unwrap();
        let seen = bench.run("kicad/drc", with);
        bench.records.extend(seen.records.clone());
        match seen.result {
            StepResult::Checked(_) => Ok(seen.summary),
            StepResult::Failed(e) => Err(format!("{} {}", e.slots["variant"], e.slots["items"])),
        }
    };
    let asked = |items: &str| Err(format!("holes_gone {items}"));
    let refused = |items: &str| Err(format!("holes_not_accepted {items}"));
    assert!(go(&["H1", "H2", "H3"], &asking).is_ok());
    assert_eq!(go(&["H2", "H3"], &asking), asked("H1"));
    assert_eq!(go(&["H3"], &answered), refused("H1, H2"), "more than was asked about");
    assert_eq!(go(&["H1", "H3"], &answered), refused("H2"), "as many, but another one");
    assert_eq!(go(&["H3"], &answered), refused("H1, H2"), "it is not asked about by itself");
    let said = go(&["H2", "H3"], &answered).unwrap();
    assert!(said.contains("as accepted: H1 at"), "{said}");
    assert_eq!(go(&["H3"], &answered), refused("H2"), "a later loss");
    assert_eq!(go(&["H3"], &answered), refused("H2"));
    assert_eq!(go(&["H3"], &asking), asked("H2"));
    assert!(go(&["H2", "H3"], &answered).is_ok(), "it is there again");
    assert_eq!(go(&["H3"], &answered), refused("H2"), "the old question is settled");
    assert_eq!(go(&["H3"], &asking), asked("H2"));
    assert!(go(&["H3"], &answered).is_ok());
    assert!(go(&["H3"], &asking).is_ok());
}

/// Boards of the same name in two folders have a record each.
#[test]
fn ki_3_holes_of_another_project_of_the_same_name_are_not_missed() {
    let Some(mut bench) = stickhub() else { return };
    let from = bench.root();
    let (near, far) = (format!("a/{BOARD}"), format!("b/{BOARD}"));
    let parts: Vec<PathBuf> = snapshot(&from).into_keys().collect();
    for part in &parts {
        for folder in ["a", "b"] {
            let to = from.join(folder).join(part.strip_prefix(&from).unwrap());
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(part, to).unwrap();
        }
    }
    let plain = std::fs::read(from.join(&near)).unwrap();
    std::fs::write(from.join(&near), with_holes(&plain, &["H1"])).unwrap();
    std::fs::write(from.join(&far), with_holes(&plain, &["H2"])).unwrap();
    let with =
        |board: &str| [("board", json!(board)), ("parity", json!(false)), ("kicad", json!(9))];
    for board in [&near, &far, &near, &far] {
        let seen = bench.run("kicad/drc", &with(board));
        bench.records.extend(seen.records.clone());
        assert_eq!(checked(seen).counts.errors, 0, "{board}");
    }
    std::fs::write(from.join(&far), &plain).unwrap();
    let evidence = failed(bench.run("kicad/drc", &with(&far)));
    assert_eq!(evidence.slots["items"], "H2");
}
