//! Design-rule and electrical checks with the real tool, on real boards and damaged copies.

mod support;

use pcbflow_core::check::{CheckOutcome, CheckResult, Gate};
use serde_json::{Value, json};
use support::*;

fn stickhub(bench: &Bench, major: u32) -> bool {
    let Some(demo) = demo(major, "stickhub") else { return false };
    if !have(major) {
        return false;
    }
    bench.bring(&demo);
    true
}

#[test]
fn stickhub_is_clean_and_untouched() {
    for major in [9, 10] {
        let bench = Bench::new();
        if !stickhub(&bench, major) {
            continue;
        }
        let before = snapshot(&bench.root());
        let drc = bench.run("kicad/drc", &[("board", json!("StickHub.kicad_pcb"))]);
        assert!(drc.tool.starts_with(&format!("kicad-cli {major}.")), "{}", drc.tool);
        assert_eq!(drc.outputs.len(), 1, "{:?}", drc.outputs);
        assert_eq!(drc.outputs[0].path, "out/drc.json");
        assert!(drc.records.contains_key("kicad.ruleset:StickHub"));
        assert!(!text(&bench.board_dir().join("out/drc.json")).contains("pcbflow"));
        let check = checked(drc);
        assert_eq!((check.counts.errors, check.counts.warnings), (0, 0), "{:#?}", check.findings);
        // The project as KiCad 10 saved it has no copies that differ.
        assert_eq!(check.counts.apart, if major == 9 { 74 } else { 0 });
        assert_eq!(check.gate(), Gate::Pass);
        let erc = bench.check("kicad/erc", &[("schematic", json!("StickHub.kicad_sch"))]);
        assert_eq!(erc.gate(), Gate::Pass, "{erc:#?}");
        assert_eq!(snapshot(&bench.root()), before, "the engineer's folder is as it was");
    }
}

#[test]
fn findings_have_the_same_ids_in_the_next_run() {
    let bench = Bench::new();
    if !stickhub(&bench, 9) {
        return;
    }
    let ids = || {
        let check = bench.check("kicad/drc", &[("board", json!("StickHub.kicad_pcb"))]);
        check.findings.iter().map(|f| f.id.clone()).collect::<Vec<_>>()
    };
    let first = ids();
    assert_eq!(first.len(), 74);
    let mut unique = first.clone();
    unique.dedup();
    assert_eq!(unique, first);
    assert_eq!(ids(), first);
}

#[test]
fn the_pairs_give_their_known_counts() {
    let Some(pairs) = corpus("pairs") else { return };
    for (folder, errors, warnings) in [
        ("phantom-extra/with-pro", 0, 0),
        ("phantom-hidden/with-pro", 4, 0),
        ("severity/error", 4, 0),
        ("severity/warning", 0, 4),
        ("severity/ignore", 0, 1),
        ("dru/good", 4, 0),
        ("dru/absent", 0, 0),
        ("truncated-pro/whole", 0, 0),
    ] {
        for major in [9, 10] {
            if !have(major) {
                continue;
            }
            let bench = Bench::new();
            bench.bring(&pairs.join(folder));
            let with = [
                ("board", json!("board.kicad_pcb")),
                ("parity", json!(false)),
                ("kicad", json!(major)),
            ];
            let check = bench.check("kicad/drc", &with);
            // These boards have no schematic beside them, and that is told.
            let alone = check.findings.iter().filter(|f| f.rule == "pcbflow_no_schematic").count();
            assert_eq!(alone, 1, "{folder} with {major}");
            assert_eq!(
                (check.counts.errors, check.counts.warnings),
                (errors, warnings + 1),
                "{folder} with {major}: {:#?}",
                check.findings
            );
        }
    }
    for (folder, code) in [
        ("phantom-extra/no-pro", "kicad.pro_missing"),
        ("phantom-hidden/no-pro", "kicad.pro_missing"),
        ("dru/syntax-error", "kicad.rules_file_broken"),
        ("truncated-pro/cut", "kicad.pro_unreadable"),
    ] {
        let bench = Bench::new();
        bench.bring(&pairs.join(folder));
        let with = [("board", json!("board.kicad_pcb")), ("parity", json!(false))];
        assert_eq!(bench.codes("kicad/drc", &with), [code], "{folder}");
        assert!(bench.spawn.runs.lock().unwrap().iter().all(|argv| argv[1] == "version"));
    }
}

#[test]
fn parity_that_can_not_run_is_no_clean_parity() {
    let Some(pairs) = corpus("pairs") else { return };
    let bench = Bench::new();
    bench.bring(&pairs.join("phantom-extra/with-pro"));
    let with = [("board", json!("board.kicad_pcb"))];
    assert_eq!(bench.codes("kicad/drc", &with), ["kicad.input_missing"]);
}

#[test]
fn an_empty_board_is_empty() {
    let Some(pairs) = corpus("pairs") else { return };
    let bench = Bench::new();
    bench.bring(&pairs.join("phantom-extra/with-pro"));
    let empty = "(kicad_pcb (version 20241229) (generator \"pcbnew\") (generator_version \"9.0\")
        (general (thickness 1.6)) (paper \"A4\") (layers (0 \"F.Cu\" signal) (2 \"B.Cu\" signal)))";
    std::fs::write(bench.root().join("board.kicad_pcb"), empty).unwrap();
    let with = [("board", json!("board.kicad_pcb")), ("parity", json!(false))];
    let check = bench.check("kicad/drc", &with);
    assert_eq!((check.gate(), check.outcome), (Gate::Empty, CheckOutcome::Pass));
}

/// A project that switches its needed checks off is not simply clean.
#[test]
fn checks_that_the_project_switches_off_are_named() {
    for major in [9, 10] {
        let bench = Bench::new();
        if !stickhub(&bench, major) {
            continue;
        }
        let path = bench.root().join("StickHub.kicad_pro");
        let text = text(&path).replace("\"error\"", "\"ignore\"");
        std::fs::write(&path, text).unwrap();
        let off = |check: &CheckResult| {
            let named = check.findings.iter().filter(|f| f.rule == "pcbflow_check_off");
            named.map(|f| f.id.clone()).collect::<Vec<_>>()
        };
        let with = [("board", json!("StickHub.kicad_pcb")), ("kicad", json!(major))];
        let check = bench.check("kicad/drc", &with);
        assert_eq!(check.gate(), Gate::Warn);
        assert!(off(&check).contains(&"drc:pcbflow_check_off:clearance".to_owned()));
        let with = [("schematic", json!("StickHub.kicad_sch")), ("kicad", json!(major))];
        let check = bench.check("kicad/erc", &with);
        assert!(off(&check).contains(&"erc:pcbflow_check_off:pin_not_connected".to_owned()));
    }
}

/// A link in place of the folder of outputs does not lead them elsewhere.
#[cfg(unix)]
#[test]
fn outputs_are_not_written_through_a_link() {
    let bench = Bench::new();
    if !stickhub(&bench, 9) {
        return;
    }
    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), bench.board_dir().join("out")).unwrap();
    let with = [("schematic", json!("StickHub.kicad_sch"))];
    assert_eq!(bench.check("kicad/erc", &with).outcome, CheckOutcome::CouldNotRun);
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

/// A property that KiCad does not know makes its rule dead: it is named. One that is not on our list
/// and exists is shown to exist by an item of the board.
#[test]
fn properties_of_rules_are_asked_of_the_board() {
    let rule = |name: &str, condition: &str| {
        format!(
            "(rule \"{name}\"\n (condition \"{condition}\")\n (constraint clearance (min 0.01mm)))\n"
        )
    };
    let good = [
        rule("tented", "A.Front_Tenting == 'x'"),
        rule("islands", "A.Remove_Islands == 'x' && B.Fill_Mode == 'y'"),
        rule("class", "A.NetClass == 'HV'"),
    ];
    let slip = rule("slip", "A.NetClas == 'HV'");
    for major in [9, 10] {
        let bench = Bench::new();
        if !stickhub(&bench, 9) || !have(major) {
            continue;
        }
        let path = bench.root().join("StickHub.kicad_dru");
        let with = [
            ("board", json!("StickHub.kicad_pcb")),
            ("kicad", json!(major)),
            ("parity", json!(false)),
        ];
        let named = |check: &CheckResult| -> Vec<String> {
            let own = check.findings.iter().filter(|f| f.rule == "pcbflow_rule_property");
            own.map(|f| f.message.clone()).collect()
        };
        if major == 9 {
            std::fs::write(&path, format!("(version 1)\n{}{slip}", good.concat())).unwrap();
            let messages = named(&bench.check("kicad/drc", &with));
            assert_eq!(messages.len(), 1, "{messages:?}");
            assert!(
                messages[0].contains("line 12") && messages[0].contains("'slip'"),
                "{messages:?}"
            );
            let report = text(&bench.board_dir().join("out/drc.json"));
            assert!(!report.contains("pcbflow-canary"));
            continue;
        }
        // Both names of zones are known to 10, that of vias has another one there.
        std::fs::write(&path, format!("(version 1)\n{}{}", good[1], good[2])).unwrap();
        assert_eq!(named(&bench.check("kicad/drc", &with)), Vec::<String>::new());
        std::fs::write(&path, format!("(version 1)\n{}{slip}", good[2])).unwrap();
        let evidence = failed(bench.run("kicad/drc", &with));
        assert_eq!(codes(&evidence), ["kicad.canary_not_hit", "kicad.rules_file_broken"]);
        assert!(evidence.signals[1].text.contains("rule 'slip'"), "{evidence:?}");
    }
}

/// KiCad counts a text variable of the drawing frame without a value, and leaves it out of its report.
#[test]
fn what_kicad_counts_and_does_not_list_is_found() {
    for major in [9, 10] {
        let bench = Bench::new();
        if !stickhub(&bench, 9) || !have(major) {
            continue;
        }
        let pro = bench.root().join("StickHub.kicad_pro");
        let empty = "\"page_layout_descr_file\": \"";
        std::fs::write(&pro, text(&pro).replace(empty, &format!("{empty}frame.kicad_wks")))
            .unwrap();
        let frame = "(kicad_wks (version 20231118) (generator \"x\") (generator_version \"9.0\")
            (setup (textsize 1.5 1.5) (linewidth 0.15) (textlinewidth 0.15) (left_margin 10)
                (right_margin 10) (top_margin 10) (bottom_margin 10))
            (tbtext \"${nosuchthing}\" (name \"\") (pos 50 50)))";
        std::fs::write(bench.root().join("frame.kicad_wks"), frame).unwrap();
        let with = [
            ("board", json!("StickHub.kicad_pcb")),
            ("kicad", json!(major)),
            ("parity", json!(false)),
        ];
        let check = bench.check("kicad/drc", &with);
        let found: Vec<&str> =
            check.findings.iter().filter(|f| !f.apart).map(|f| f.rule.as_str()).collect();
        assert_eq!((found, check.counts.errors), (vec!["unresolved_variable"], 1), "{major}");
        assert_eq!(check.gate(), Gate::Fail);
        assert!(text(&bench.board_dir().join("out/drc.json")).contains("unresolved_variable"));
    }
}

/// KiCad does not start with a home folder whose name is not ASCII.
#[test]
fn a_workspace_below_a_folder_with_an_umlaut_and_blanks() {
    for major in [9, 10] {
        let (Some(path), true) = (demo(9, "stickhub"), have(major)) else { continue };
        let folder = tempfile::Builder::new().prefix("Übung mit Löchern 基板 ").tempdir().unwrap();
        let bench = Bench::below(folder, pcbflow_kicad::Kicad::new());
        bench.bring(&path);
        let board = [("board", json!("StickHub.kicad_pcb")), ("kicad", json!(major))];
        let sheet = [("schematic", json!("StickHub.kicad_sch")), ("kicad", json!(major))];
        let plain = Bench::new();
        plain.bring(&path);
        for (uses, with) in [
            ("kicad/drc", &board),
            ("kicad/erc", &sheet),
            ("kicad/netlist", &sheet),
            ("kicad/compare", &board),
        ] {
            let (here, there) = (bench.check(uses, with), plain.check(uses, with));
            assert_eq!(here.outcome, there.outcome, "{uses} {major}: {}", here.reason);
            assert_eq!(here.counts, there.counts, "{uses} {major}");
        }
        // Tables of the settings folder are read there too.
        let stock = [board[0].clone(), board[1].clone(), ("stock_libraries", json!(true))];
        let counts = bench.check("kicad/drc", &stock).counts;
        assert_eq!(counts, plain.check("kicad/drc", &stock).counts, "{major}");
        let own = snapshot(&bench.folder.path().join("ws/.pcbflow"));
        let of_kicad = |p: &std::path::PathBuf| p.ends_with(format!("{major}.0/kicad_common.json"));
        assert!(
            own.keys().any(of_kicad),
            "{major}: settings lie in the state folder {:?}",
            own.keys()
        );
        let mut files = board.to_vec();
        files.push(("what", json!(["gerbers", "drill", "position", "bom", "pdf", "step"])));
        assert_eq!(bench.check("kicad/export", &files).counts.errors, 0, "{major}");
        let jobset = json!({"jobs": [{"id": "1", "type": "pcb_export_gerbers", "description": "",
                "settings": {"filename": "", "output_dir": "", "layers": ["F.Cu"], "plot_layers": ["F.Cu"]}}],
            "meta": {"version": 1},
            "outputs": [{"id": "2", "type": "folder", "only": [], "settings": {"output_path": "made/"}}]});
        std::fs::write(bench.root().join("ü.kicad_jobset"), jobset.to_string()).unwrap();
        let jobs = [
            ("project", json!("StickHub.kicad_pro")),
            ("jobset", json!("ü.kicad_jobset")),
            ("kicad", json!(major)),
        ];
        assert_eq!(bench.check("kicad/jobset", &jobs).gate(), Gate::Pass, "{major}");
    }
}

/// A board without a schematic, and a step that says so: a point that stays open.
#[test]
fn a_board_that_nothing_compares_with_a_schematic_is_an_open_point() {
    let (Some(path), true) = (demo(9, "stickhub"), have(9)) else { return };
    let bench = Bench::new();
    bench.bring(&path);
    let with = [("board", json!("StickHub.kicad_pcb")), ("parity", json!(false))];
    let open =
        |check: &CheckResult| check.findings.iter().any(|f| f.rule == "pcbflow_no_schematic");
    assert!(!open(&bench.check("kicad/drc", &with)), "another step may compare");
    std::fs::remove_file(bench.root().join("StickHub.kicad_sch")).unwrap();
    let check = bench.check("kicad/drc", &with);
    assert!(open(&check), "{:?}", check.findings);
    assert_ne!(check.gate(), Gate::Pass);
    let asked = failed(bench.run("kicad/drc", &with[..1]));
    assert_eq!(codes(&asked), ["kicad.input_missing"]);
    assert_eq!(asked.signals[0].text, "StickHub.kicad_sch");
}

/// KiCad says nothing about a rule for a net, class or part that is not there.
#[test]
fn names_in_rules_that_the_board_does_not_have_are_named() {
    for major in [9, 10] {
        let (Some(path), true) = (demo(9, "stickhub"), have(major)) else { continue };
        let bench = Bench::new();
        bench.bring(&path);
        let rules = bench.root().join("StickHub.kicad_dru");
        let with = [("board", json!("StickHub.kicad_pcb")), ("kicad", json!(major))];
        // Each applies to something, or to nothing, as measured with both versions.
        for (condition, name) in [
            ("A.Type == 'Via' && A.NetName == 'gnd'", None),
            ("A.Type == 'Via' && A.NetName == 'GNDX'", Some("net 'GNDX'")),
            ("A.Type == 'Via' && A.NetClass == 'default'", None),
            ("A.Type == 'Via' && A.hasNetclass('default')", Some("net class 'default'")),
            ("A.Type == 'Pad' && A.memberOfFootprint('C18')", None),
            ("A.Type == 'Pad' && A.memberOfFootprint('c18')", Some("part 'c18'")),
            ("A.inDiffPair('/D')", None),
            ("A.inDiffPair('/D+')", Some("differential pair '/D+'")),
        ] {
            let rule = format!(
                "(version 1)\n(rule own (condition \"{condition}\") (constraint assertion \"A.Type == 'x'\"))"
            );
            std::fs::write(&rules, rule).unwrap();
            let found = bench.check("kicad/drc", &with).findings;
            let said: Vec<&str> = found
                .iter()
                .filter(|f| f.rule == "pcbflow_rule_name")
                .map(|f| f.message.as_str())
                .collect();
            let fires = found.iter().any(|f| f.message.contains("(rule 'own'"));
            assert_eq!(fires, name.is_none(), "{major} {condition}");
            assert_eq!(said.len(), usize::from(name.is_some()), "{major} {condition}: {said:?}");
            assert!(said.iter().all(|s| s.contains(name.unwrap())), "{major}: {said:?}");
        }
    }
}

/// KiCad is open on the board, and has newer work that is not saved.
#[test]
fn work_that_is_not_saved_is_told_and_looked_for_again() {
    let (Some(path), true) = (demo(9, "stickhub"), have(9)) else { return };
    let bench = Bench::new();
    bench.bring(&path);
    let board = [("board", json!("StickHub.kicad_pcb"))];
    let sheet = [("schematic", json!("StickHub.kicad_sch"))];
    let closure = |uses: &str, with: &[(&str, Value)]| {
        let context = bench.context(uses, with);
        wait(pcbflow_core::ports::Subsystem::closure(&bench.kicad, &context, &bench.services))
            .unwrap()
            .settings
    };
    let told = |check: &CheckResult| -> Vec<String> {
        let found = check.findings.iter().filter(|f| f.rule == "pcbflow_unsaved_work");
        found.map(|f| f.message.clone()).collect()
    };
    let before = closure("kicad/drc", &board);
    let clean = bench.run("kicad/drc", &board);
    assert!(!clean.summary.contains("open"), "{}", clean.summary);
    let counts = checked(clean).counts;
    std::fs::write(bench.root().join("~StickHub.kicad_pcb.lck"), "{}").unwrap();
    let open = bench.run("kicad/drc", &board);
    assert!(open.summary.contains("KiCad has StickHub.kicad_pcb open"), "{}", open.summary);
    assert_eq!(checked(open).counts, counts, "a board may be open; all may be saved");
    assert_eq!(closure("kicad/drc", &board), before);
    // Older than the file: left over, of no use.
    let auto = bench.root().join("_autosave-StickHub.kicad_pcb");
    std::fs::write(&auto, "x").unwrap();
    let file = std::fs::File::options().append(true).open(&auto).unwrap();
    let now = std::time::SystemTime::now();
    file.set_modified(now - std::time::Duration::from_secs(3_600)).unwrap();
    assert_eq!(bench.check("kicad/drc", &board).counts, counts);
    file.set_modified(now + std::time::Duration::from_secs(3_600)).unwrap();
    let unsaved = bench.check("kicad/drc", &board);
    assert_eq!(unsaved.counts.warnings, counts.warnings + 1);
    assert!(told(&unsaved)[0].contains("newer work on StickHub.kicad_pcb"), "{:?}", told(&unsaved));
    assert_ne!(closure("kicad/drc", &board), before, "when it is gone, the step runs again");
    assert!(told(&bench.check("kicad/erc", &sheet)).is_empty(), "the sheets are saved");
    std::fs::write(bench.root().join("_autosave-StickHub.kicad_sch"), "x").unwrap();
    for (uses, with) in
        [("kicad/erc", &sheet), ("kicad/netlist", &sheet), ("kicad/compare", &board)]
    {
        assert_eq!(told(&bench.check(uses, with)).len(), 1, "{uses}");
    }
}
