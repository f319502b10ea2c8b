//! Netlists, comparisons, fabrication files and jobsets with the real tool.

mod support;

use pcbflow_core::check::Gate;
use pcbflow_core::ports::StepResult;
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
                StepResult::Failed(evidence) => {
                    assert_eq!((major, codes(&evidence)), (9, vec!["kicad.format_too_new".into()]));
                    assert!(folder.starts_with("v10"), "{folder}");
                }
            }
        }
    }
}
