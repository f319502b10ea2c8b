//! Projects that are not what they should be, checked by the real KiCad.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use pcbflow_core::event::Fact;
use pcbflow_tests::TestEnvironment;
use pcbflow_tests::ledger::count;

/// Runs a board whose file was changed; it must not end well. Its document.
fn never_clean(name: &str, codes: &[i32], change: impl FnOnce(&Path)) {
    let test = TestEnvironment::new();
    let Some(project) = test.tracks("tracks") else { return };
    change(&project);
    let ran = test.pcbflow(&["run", "tracks", "--json"]);
    ran.exits_one_of(codes);
    assert_ne!(ran.json()["verdict"], "pass", "{name}\n{ran}");
    test.pcbflow(&["ledger", "verify"]).exits(0);
    test.pcbflow(&["replay", "tracks"]).exits(0);
}

fn board(project: &Path) -> std::path::PathBuf {
    project.join("tracks.kicad_pcb")
}

#[test]
fn files_that_are_no_boards() {
    for (name, bytes) in [
        ("empty", &b""[..]),
        ("other text", b"this is not a board\n"),
        ("a schematic", b"(kicad_sch (version 20250114) (generator \"eeschema\"))\n"),
        ("zeros", &[0; 4096]),
        ("brackets", &[b'('; 200_000]),
        ("too new", b"(kicad_pcb (version 20991231) (generator \"pcbnew\"))\n"),
    ] {
        never_clean(name, &[3, 4, 5], |project| {
            fs::write(board(project), bytes).expect("a file");
        });
    }
}

#[test]
fn a_board_that_was_cut_or_has_conflict_marks() {
    never_clean("cut", &[3, 4, 5], |project| {
        let text = fs::read(board(project)).expect("a board");
        fs::write(board(project), &text[..text.len() / 2]).expect("half a board");
    });
    never_clean("conflict", &[3, 4, 5], |project| {
        let text = fs::read_to_string(board(project)).expect("a board");
        let marks = "<<<<<<< HEAD\n\t(net 0 \"\")\n=======\n\t(net 0 \"x\")\n>>>>>>> other\n";
        fs::write(board(project), text.replacen("\t(net 0 \"\")\n", marks, 1)).expect("a board");
    });
}

#[test]
fn a_board_that_is_gone_a_folder_or_a_pipe() {
    never_clean("gone", &[4, 5, 78], |project| fs::remove_file(board(project)).expect("no board"));
    never_clean("a folder", &[4, 5, 78], |project| {
        fs::remove_file(board(project)).expect("no board");
        fs::create_dir(board(project)).expect("a folder");
    });
    never_clean("a pipe", &[4, 5, 78], |project| {
        fs::remove_file(board(project)).expect("no board");
        let made = std::process::Command::new("mkfifo").arg(board(project)).status();
        assert!(made.is_ok_and(|s| s.success()), "a pipe");
    });
}

/// A drawing frame above the project, a library outside of it and a model that is not there yet: each
/// that changes runs the steps again, and without a change nothing runs.
#[test]
fn what_kicad_reads_elsewhere_runs_the_steps_again() {
    let test = TestEnvironment::new();
    let Some(project) = test.tracks("tracks") else { return };
    let file = project.join("tracks.kicad_pro");
    let text = fs::read_to_string(&file).expect("a project");
    let mut json: serde_json::Value = serde_json::from_str(&text).expect("a project");
    json["pcbnew"]["page_layout_descr_file"] = "$(KIPRJMOD)/../frames/f.kicad_wks".into();
    json["text_variables"]["PARTS"] = "${KIPRJMOD}/../parts".into();
    fs::write(&file, json.to_string()).expect("a project");
    let table = "(fp_lib_table (version 7) (lib (name \"p\")(type \"KiCad\")(uri \"${PARTS}/p.pretty\")(options \"\")(descr \"\")))";
    fs::write(project.join("fp-lib-table"), table).expect("a table");
    let frame = test.path("hw/frames/f.kicad_wks");
    let part = test.path("hw/parts/p.pretty/x.kicad_mod");
    let wks = |size: &str| {
        format!(
            "(kicad_wks (version 20231118) (generator \"pl_editor\") (generator_version \"9.0\")
             (setup (textsize {size} {size}) (linewidth 0.15) (textlinewidth 0.15) (left_margin 10)
             (right_margin 10) (top_margin 10) (bottom_margin 10)))"
        )
    };
    let part_of = |name: &str| {
        format!(
            "(footprint \"x\" (version 20241229) (generator \"pcbnew\") (layer \"F.Cu\") (descr \"{name}\"))"
        )
    };
    for path in [&frame, &part] {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    }
    fs::write(&frame, wks("1.5")).expect("a frame");
    let checks = || {
        test.json(0, &["run", "tracks"]);
        count(&test.facts("tracks"), |f| matches!(f, Fact::AttemptFinished { .. }))
    };
    let mut before = checks();
    for (what, path, content) in [
        ("the frame", &frame, wks("2")),
        ("a new part", &part, part_of("one")),
        ("the part", &part, part_of("two")),
    ] {
        assert_eq!(checks(), before, "before {what}: nothing to do");
        fs::write(path, content).expect("a file");
        let now = checks();
        assert!(now > before, "{what}");
        before = now;
    }
}

#[test]
fn carriage_returns_are_no_fault() {
    let test = TestEnvironment::new();
    let Some(project) = test.tracks("tracks") else { return };
    let text = fs::read_to_string(board(&project)).expect("a board");
    fs::write(board(&project), text.replace('\n', "\r\n")).expect("a board");
    assert_eq!(test.json(0, &["run", "tracks"])["verdict"], "pass");
}

#[test]
fn a_missing_project_file_is_healed_from_the_record_or_asked_for() {
    for damage in ["gone", "empty", "cut", "link text"] {
        let test = TestEnvironment::new();
        let Some(project) = test.tracks("tracks") else { return };
        let rules = project.join("tracks.kicad_pro");
        let text = fs::read_to_string(&rules).expect("the rules");
        match damage {
            "gone" => fs::remove_file(&rules).expect("no rules"),
            "empty" => fs::write(&rules, "").expect("empty rules"),
            "cut" => fs::write(&rules, &text[..text.len() / 2]).expect("half the rules"),
            _ => fs::write(&rules, "../elsewhere/tracks.kicad_pro").expect("a link as text"),
        }
        let before = fs::read(&rules).ok();
        let ran = test.pcbflow(&["run", "tracks", "--json"]);
        ran.exits_one_of(&[0, 4]);
        let story = test.story("tracks");
        assert!(story.contains("KI-6"), "{damage}\n{story}");
        assert_eq!(fs::read(&rules).ok(), before, "{damage}: the person's file is left alone");
        test.pcbflow(&["replay", "tracks"]).exits(0);
    }
}

#[test]
fn real_violations_are_findings_and_hidden_ones_are_found() {
    let test = TestEnvironment::new();
    let Some(project) = test.tracks("tracks") else { return };
    // A rule of the project file that the default rules would not show.
    pcbflow_tests::files::replace(
        &project.join("tracks.kicad_pro"),
        "\"clearance\": 0.2",
        "\"clearance\": 4.5",
    );
    let found = test.json(3, &["run", "tracks"]);
    assert_eq!(found["verdict"], "findings");
    let rules: Vec<&str> = found["data"]["findings"]
        .as_array()
        .map(|l| l.iter().filter_map(|f| f["rule"].as_str()).collect())
        .unwrap_or_default();
    assert!(rules.contains(&"clearance"), "{found:#}");
    // The same without the project file: KiCad alone finds nothing at all.
    fs::remove_file(project.join("tracks.kicad_pro")).expect("no rules");
    let ran = test.pcbflow(&["run", "tracks", "--json"]);
    ran.exits_one_of(&[3, 4]);
    assert_ne!(ran.json()["verdict"], "pass", "{ran}");
}

#[test]
fn custom_rules_with_a_wrong_bracket_are_not_in_force_and_that_is_said() {
    let test = TestEnvironment::new();
    let Some(project) = test.tracks("tracks") else { return };
    let rules = "(version 1)\n(rule far\n\t(constraint clearance (min 4.5mm))\n\t(condition \"A.NetName == '/IN'\")";
    fs::write(project.join("tracks.kicad_dru"), format!("{rules}\n)\n")).expect("rules");
    test.json(3, &["run", "tracks"]);
    fs::write(project.join("tracks.kicad_dru"), rules).expect("broken rules");
    let ran = test.pcbflow(&["run", "tracks", "--json"]);
    ran.exits_one_of(&[4, 5]);
    let stopped = ran.json();
    assert_ne!(stopped["verdict"], "pass", "{ran}");
    // Corrected, another way than before they broke: what was broken is no record to hold them against.
    fs::write(project.join("tracks.kicad_dru"), format!("{rules}\n)\n")).expect("rules");
    test.pcbflow(&["answer", stopped["ask"]["id"].as_str().expect("an ask"), "retry"]).exits(0);
    let found = test.json(3, &["run", "tracks"]);
    assert!(found["asks"].as_array().is_none_or(Vec::is_empty), "{found:#}");
}

/// A schematic with one part.
const ONE_PART: &str = r#"(kicad_sch (version 20250114) (generator "eeschema") (generator_version "9.0")
  (uuid "11111111-1111-4111-8111-111111111110") (paper "A4")
  (lib_symbols (symbol "L:R" (in_bom yes) (on_board yes)
    (property "Reference" "R" (at 0 0 0)) (property "Value" "R" (at 0 0 0))
    (symbol "R_1_1" (pin passive line (at 0 3.81 270) (length 1.27) (name "~") (number "1")))))
  (symbol (lib_id "L:R") (at 101.6 101.6 0) (unit 1) (in_bom yes) (on_board yes) (dnp no)
    (uuid "11111111-1111-4111-8111-111111111111")
    (property "Reference" "R1" (at 100 100 0)) (property "Value" "1k" (at 100 100 0))
    (pin "1" (uuid "11111111-1111-4111-8111-111111111112"))
    (instances (project "tracks"
      (path "/11111111-1111-4111-8111-111111111110" (reference "R1") (unit 1)))))
  (sheet_instances (path "/" (page "1"))))
"#;

#[test]
fn a_check_that_nothing_can_prove_says_why_it_did_not_run() {
    let test = TestEnvironment::new();
    let Some(project) = test.tracks("tracks") else { return };
    fs::remove_file(project.join("tracks.kicad_pcb")).expect("no board");
    fs::write(project.join("tracks.kicad_sch"), ONE_PART).expect("a schematic");
    let file = project.join("tracks.kicad_pro");
    let mut json: serde_json::Value =
        serde_json::from_slice(&fs::read(&file).expect("a project")).expect("json");
    let off = [
        "unresolved_variable",
        "no_connect_dangling",
        "wire_dangling",
        "unconnected_wire_endpoint",
        "endpoint_off_grid",
        "label_dangling",
        "single_global_label",
    ];
    for check in off {
        json["erc"]["rule_severities"][check] = "ignore".into();
    }
    fs::write(&file, json.to_string()).expect("a project");
    fs::remove_dir_all(test.ws().join("projects")).expect("no board yet");
    let made = test.pcbflow(&["init", "only", "--from", &file.display().to_string()]);
    let missing = "there is no board file tracks.kicad_pcb: no DRC,";
    assert!(made.exits(0).stdout.contains(missing), "{made}");
    let ran = test.pcbflow(&["run", "only"]);
    assert_ne!(ran.exit, Some(0), "{ran}");
    assert!(ran.stdout.contains("erc: could not run: the project switches off every"), "{ran}");
}

#[test]
fn projects_that_are_none_are_refused_by_init() {
    let test = TestEnvironment::new();
    fs::write(test.path("hw/alone.kicad_pro"), "{}").expect("a file");
    fs::write(test.path("hw/x.kicad_pcb"), "(kicad_pcb)").expect("a file");
    for (file, code) in [
        ("../hw/none.kicad_pro", 11),
        ("../hw/alone.kicad_pro", 2),
        ("../hw/x.kicad_pcb", 2),
        ("../hw", 2),
    ] {
        test.json(code, &["init", "--from", file]);
    }
    assert!(!test.ws().join("projects").exists());
}

#[test]
fn a_board_of_a_hundred_megabytes_is_read_within_its_limit() {
    if !cfg!(feature = "heavy") {
        pcbflow_tests::note("left out without the feature heavy: a board of 100 MB");
        return;
    }
    let test = TestEnvironment::new();
    let Some(project) = test.tracks("tracks") else { return };
    let text = fs::read_to_string(board(&project)).expect("a board");
    let body = text.trim_end().strip_suffix(')').expect("the last bracket");
    let mut out = std::io::BufWriter::new(fs::File::create(board(&project)).expect("a board"));
    out.write_all(body.as_bytes()).expect("the board");
    // Blank lines and descriptions: large to read, and no check looks long at them.
    let words = "x".repeat(1000);
    for n in 0..40_000 {
        let line = format!(
            "\t(group \"{n} {words}\" (uuid \"5f0c0de1-0000-4000-8000-{n:012x}\") (members))\n"
        );
        out.write_all(line.as_bytes()).expect("the board");
        out.write_all(&[b' '; 1500]).expect("the board");
    }
    out.write_all(b")\n").and_then(|()| out.flush()).expect("the board");
    drop(out);
    let ran =
        test.start(&["run", "tracks", "--json"]).wait_at_most(std::time::Duration::from_secs(900));
    ran.exits_one_of(&[0, 3, 4, 5, 75]);
    if ran.exit != Some(0) {
        assert_ne!(ran.json()["verdict"], "pass", "{ran}");
    }
    test.pcbflow(&["ledger", "verify"]).exits(0);
}
