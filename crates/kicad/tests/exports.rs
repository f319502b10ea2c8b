//! Netlists, comparisons, fabrication files and jobsets with the real tool.

mod support;

use pcbflow_core::check::Gate;
use pcbflow_core::ports::{StepResult, Subsystem as _};
use serde_json::json;
use support::*;

#[test]
fn all_files_of_stickhub() {
    for major in [9, 10] {
        let (Some(demo), true) = (demo(major, "stickhub"), have(major)) else { continue };
        let bench = Bench::new();
        bench.bring(&demo);
        let before = snapshot(&bench.root());
        // A layer that an earlier export left behind, and a file of somebody else's.
        let folder = bench.board_dir().join("out/fab/gerbers");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("StickHub-In7_Cu.g8"), "old").unwrap();
        std::fs::write(folder.join("README"), "mine").unwrap();
        let made = bench.run("kicad/export", &[("board", json!("StickHub.kicad_pcb"))]);
        let outputs = made.outputs.clone();
        let check = checked(made);
        assert_eq!(check.gate(), Gate::Pass, "{major}: {:#?}", check.findings);
        for folder in
            ["step", "ipc2581", "odb", "gerbers", "pdf", "svg", "bom", "drill", "position"]
        {
            let there = |o: &&pcbflow_core::event::OutputRef| {
                o.path.starts_with(&format!("out/fab/{folder}/")) && o.bytes > 0
            };
            assert!(outputs.iter().any(|o| there(&o)), "{folder}");
        }
        assert!(!folder.join("StickHub-In7_Cu.g8").exists());
        assert_eq!(text(&folder.join("README")), "mine");
        assert_eq!(snapshot(&bench.root()), before);
    }
}

#[test]
fn what_an_earlier_export_made_and_this_one_does_not_goes() {
    let (Some(demo), true) = (demo(9, "stickhub"), have(9)) else { return };
    let bench = Bench::new();
    bench.bring(&demo);
    let board = ("board", json!("StickHub.kicad_pcb"));
    let with = |what: &[&str]| [board.clone(), ("what", json!(what))];
    let first = bench.run("kicad/export", &with(&["drill", "pdf", "svg", "position"]));
    let made = |folder: &str| bench.board_dir().join("out/fab").join(folder);
    // One was changed since, one is another step's as well, one stays asked for.
    std::fs::write(made("svg/StickHub-front.svg"), "drawn on").unwrap();
    let mut context = bench.context("kicad/export", &with(&["drill"]));
    context.earlier_outputs = first.outputs.clone();
    let others = |o: &&pcbflow_core::event::OutputRef| o.path.contains("/position/");
    context.phase_outputs = first.outputs.iter().filter(others).cloned().collect();
    let check = checked(wait(bench.kicad.run(&context, &bench.services)));
    assert!(!made("pdf").exists(), "ours, as it was recorded, and not made now");
    assert!(made("position").exists() && made("drill").exists());
    assert_eq!(text(&made("svg/StickHub-front.svg")), "drawn on");
    let told: Vec<&str> = check.findings.iter().map(|f| f.rule.as_str()).collect();
    assert_eq!(told, ["earlier_output"], "{:#?}", check.findings);
    assert!(check.findings[0].message.contains("out/fab/svg/StickHub-front.svg"));
}

#[test]
fn netlist_and_comparison_of_stickhub() {
    for major in [9, 10] {
        let (Some(demo), true) = (demo(major, "stickhub"), have(major)) else { continue };
        let bench = Bench::new();
        bench.bring(&demo);
        let made = bench.run("kicad/netlist", &[("schematic", json!("StickHub.kicad_sch"))]);
        assert_eq!(made.outputs[0].path, "out/netlist.xml");
        assert_eq!(checked(made).gate(), Gate::Pass);
        let check = bench.check("kicad/compare", &[("board", json!("StickHub.kicad_pcb"))]);
        assert_eq!(check.gate(), Gate::Pass, "{:#?}", check.findings);
    }
}

#[test]
fn every_board_of_the_corpus_exports_what_it_has() {
    if !heavy() {
        return;
    }
    for (folder, named, _) in BOARDS {
        let Some(path) = corpus(folder) else { return };
        let bench = Bench::new();
        bench.bring(&path);
        let board = board_of(&path, named);
        for major in [9, 10] {
            if !have(major) {
                continue;
            }
            let with = [("board", json!(board)), ("kicad", json!(major))];
            let made = bench.run("kicad/export", &with);
            match made.result {
                StepResult::Checked(check) => {
                    assert_eq!(check.counts.errors, 0, "{folder} {major}: {:#?}", check.findings);
                }
                // Without its project file a board is asked about: its settings would not be in them.
                StepResult::Failed(evidence)
                    if !path.join(&board).with_extension("kicad_pro").exists() =>
                {
                    assert_eq!(codes(&evidence), ["kicad.pro_missing"], "{folder} {major}");
                }
                StepResult::Failed(evidence) => {
                    assert_eq!((major, codes(&evidence)), (9, vec!["kicad.format_too_new".into()]));
                    assert!(folder.starts_with("v10"), "{folder}");
                }
            }
        }
    }
}
