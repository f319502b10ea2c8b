//! Programs that stand before the real tool and lie.

mod support;

use std::path::PathBuf;

use pcbflow_core::ports::StepResult;
use pcbflow_kicad::Kicad;
use pcbflow_kicad::cli::FindEnv;
use serde_json::json;
use support::*;

const REPORT: &str = r#"{"$schema":"https://schemas.kicad.org/drc.v1.json","coordinate_units":"mm","date":"DATE","kicad_version":"9.0.8","schematic_parity":[],"source":"SOURCE","unconnected_items":[],"violations":[]}"#;

/// What the tool says of a report without findings.
const COUNTS: &str =
    "echo Found 0 violations; echo Found 0 unconnected items; echo Found 0 schematic parity issues";

/// A tool that answers `version` and then does what `body` says; `$out` is the report's path.
fn tool(body: &str) -> String {
    format!(
        "#!/bin/sh\nif [ \"$1\" = version ]; then echo 9.0.8; exit 0; fi\nout=; while [ $# -gt 0 ]; do [ \"$1\" = -o ] && out=$2; shift; done\n{body}\n"
    )
}

fn bench_with(script: &str) -> Option<Bench> {
    let demo = demo(9, "stickhub")?;
    let folder = tempfile::tempdir().unwrap().keep();
    let program = program(&folder, "kicad-cli", script);
    let path = Some(program.parent().map(PathBuf::from).unwrap().into_os_string());
    let mut bench = Bench::with(Kicad::looking_in(FindEnv { path, known: vec![] }));
    bench.deadline_ms = 3_000;
    bench.bring(&demo);
    Some(bench)
}

fn report(source: &str, date: &str) -> String {
    REPORT.replace("SOURCE", source).replace("DATE", date)
}

#[test]
fn lies_are_seen_through() {
    let now = "$(date -u +%Y-%m-%dT%H:%M:%S+0000)";
    let say = |source: &str, date: &str| {
        let text = report(source, date).replace('"', "\\\"").replace("$schema", "schema");
        format!("echo \"{text}\" > \"$out\"; {COUNTS}; echo Saved DRC Report to $out")
    };
    let good = say("StickHub.kicad_pcb", now);
    let cases: Vec<(&str, String, &str)> = vec![
        ("nothing", "exit 0".into(), "kicad.report_missing"),
        ("says saved", "echo Saved DRC Report to $out; exit 0".into(), "kicad.report_missing"),
        ("empty", ": > \"$out\"; echo Saved".into(), "kicad.report_empty"),
        (
            "half",
            format!("{good}; head -c 60 \"$out\" > \"$out.x\"; mv \"$out.x\" \"$out\""),
            "kicad.report_unreadable",
        ),
        ("not json", "echo hello > \"$out\"".into(), "kicad.report_unreadable"),
        ("old", say("StickHub.kicad_pcb", "2020-01-01T00:00:00+0000"), "kicad.report_stale"),
        ("other board", say("Other.kicad_pcb", now), "kicad.report_other_board"),
        ("no canary", good.clone(), "kicad.canary_not_hit"),
        ("status 5, nothing found", format!("{good}; exit 5"), "kicad.report_contradicts_exit"),
        ("more said than listed", format!("{good}; echo Found 3 violations"), "kicad.report_cut"),
        ("more open said", format!("{good}; echo Found 1 unconnected items"), "kicad.report_cut"),
        (
            "more parity said",
            format!("{good}; echo Found 2 schematic parity issues"),
            "kicad.report_cut",
        ),
        ("no count said", good.replace(COUNTS, "true"), "kicad.report_cut"),
        (
            "a count in another language",
            good.replace("echo Found 0 violations", "echo 0 Verletzungen gefunden"),
            "kicad.report_cut",
        ),
        ("thousands", format!("{good}; echo Found 1,273 violations"), "kicad.report_cut"),
        (
            "another count in colours",
            format!("{good}; printf 'Found \\033[1;31m2\\033[0m unconnected items\\n'"),
            "kicad.report_cut",
        ),
        ("segfault", format!("{good}; kill -SEGV $$"), "signal"),
        ("status 139", "exit 139".into(), "status"),
        ("status 2", "exit 2".into(), "status"),
        ("endless", "yes".into(), "output_endless"),
        ("hangs", "sleep 600".into(), "deadline_passed"),
        ("forks", "sleep 600 & sleep 600".into(), "deadline_passed"),
        (
            "no parity",
            format!("echo 'Failed to fetch schematic netlist for parity tests.' >&2; {good}"),
            "kicad.parity_not_run",
        ),
        (
            "broken kiface",
            "echo 'Failed to load kiface library' >&2; exit 255".into(),
            "kicad.install_broken",
        ),
        (
            "old flags",
            "echo 'Unknown argument: --schematic-parity'; echo Usage: x; exit 1".into(),
            "kicad.flags_refused",
        ),
    ];
    for (what, body, code) in cases {
        let Some(bench) = bench_with(&tool(&body)) else { return };
        let began = std::time::Instant::now();
        let evidence = failed(bench.run("kicad/drc", &[("board", json!("StickHub.kicad_pcb"))]));
        let got = codes(&evidence);
        assert!(got.contains(&code.to_owned()), "{what}: {got:?}");
        // What is wrong with the report is told, and not that the rules are wrong.
        let told = match code.strip_prefix("kicad.").unwrap_or_default() {
            "report_missing" | "report_empty" => Some("report_missing"),
            "report_unreadable" | "report_contradicts_exit" | "report_cut" => {
                Some("report_not_whole")
            }
            "report_stale" => Some("report_stale"),
            "report_other_board" => Some("report_of_another"),
            "parity_not_run" => Some("parity_not_run"),
            _ => None,
        };
        assert_eq!(evidence.slots.get("variant").map(String::as_str), told, "{what}");
        assert!(began.elapsed().as_secs() < 20, "{what}");
    }
}

#[test]
fn a_tool_without_a_version_is_broken() {
    for script in ["#!/bin/sh\nexit 0\n", "#!/bin/sh\nexit 255\n", "#!/bin/sh\necho 7.0.11\n"] {
        let Some(bench) = bench_with(script) else { return };
        let got = bench.codes("kicad/drc", &[("board", json!("StickHub.kicad_pcb"))]);
        assert_eq!(got, ["kicad.version_out_of_range"]);
    }
}

#[test]
fn exports_that_are_empty_or_not_there() {
    for (body, code) in [
        ("exit 0", "output_missing"),
        (
            "d=$out; case $d in */) mkdir -p $d; d=$d/StickHub-F_Cu.gtl;; esac; : > $d; echo Plotted",
            "output_empty",
        ),
        (
            "d=$out; case $d in */) mkdir -p $d; d=$d/StickHub-F_Cu.gtl;; esac; echo half > $d",
            "kicad.report_unreadable",
        ),
    ] {
        let Some(bench) = bench_with(&tool(body)) else { return };
        let got = bench.codes("kicad/export", &[("board", json!("StickHub.kicad_pcb"))]);
        assert_eq!(got, [code], "{body}");
        assert!(!bench.board_dir().join("out").exists(), "nothing unproven is put in place");
    }
}

#[test]
fn a_finished_board_spawns_nothing_when_looked_at() {
    use pcbflow_core::ports::Subsystem as _;
    let Some(bench) = bench_with(&tool("exit 0")) else { return };
    let context = bench.context("kicad/drc", &[("board", json!("StickHub.kicad_pcb"))]);
    let look = || wait(bench.kicad.closure(&context, &bench.services)).unwrap();
    let first = look();
    let runs = bench.spawn.runs.lock().unwrap().len();
    assert_eq!(runs, 1, "the version is asked for once");
    assert_eq!(look(), first);
    assert_eq!(bench.spawn.runs.lock().unwrap().len(), runs);
    assert_eq!(first.settings["tool"], "kicad-cli 9.0.8");
    for name in [
        "StickHub.kicad_pcb",
        "StickHub.kicad_pro",
        "StickHub.kicad_dru",
        "StickHub.kicad_sch",
        "fp-lib-table",
    ] {
        assert!(first.files.iter().any(|f| f.ends_with(name)), "{name}");
    }
    assert!(first.files.iter().any(|f| f.extension().is_some_and(|e| e == "kicad_mod")));
}

/// The electrical check depends on sheets, rules and libraries, and not on the board.
#[test]
fn what_the_electrical_check_depends_on() {
    use pcbflow_core::ports::Subsystem as _;
    let Some(bench) = bench_with(&tool("exit 0")) else { return };
    let sheet = bench.root().join("StickHub.kicad_sch");
    let simulated = text(&sheet).replacen(
        "(property \"Reference\"",
        "(property \"Sim.Library\" \"models/x.lib\" (at 0 0 0)) (property \"Reference\"",
        1,
    );
    std::fs::write(&sheet, simulated).unwrap();
    let look = |uses: &str, stock: bool| {
        let with = [
            ("board", json!("StickHub.kicad_pcb")),
            ("schematic", json!("StickHub.kicad_sch")),
            ("stock_libraries", json!(stock)),
        ];
        let with: Vec<_> =
            with.into_iter().filter(|(n, _)| *n != "board" || uses == "kicad/compare").collect();
        wait(bench.kicad.closure(&bench.context(uses, &with), &bench.services)).unwrap()
    };
    let erc = look("kicad/erc", false);
    let has = |name: &str| erc.files.iter().any(|f| f.ends_with(name));
    for name in [
        "StickHub.kicad_sch",
        "StickHub.kicad_pro",
        "StickHub.kicad_dru",
        "sym-lib-table",
        "RobotProtos.kicad_sym",
        "models/x.lib",
    ] {
        assert!(has(name), "{name}");
    }
    assert!(!has("StickHub.kicad_pcb"));
    // A netlist without parts is an alarm when the board has some.
    for uses in ["kicad/netlist", "kicad/compare"] {
        let files = look(uses, false).files;
        assert!(files.iter().any(|f| f.ends_with("StickHub.kicad_pcb")), "{uses}");
    }
    assert!(!erc.settings.contains_key("stock_libraries"));
    assert!(look("kicad/erc", true).settings.contains_key("stock_libraries"));
}

/// A 3D model or a drawing frame that changes makes the fabrication files old.
#[test]
fn fabrication_files_depend_on_models_and_frames() {
    use pcbflow_core::ports::Subsystem as _;
    let Some(bench) = bench_with(&tool("exit 0")) else { return };
    let pro = bench.root().join("StickHub.kicad_pro");
    let frame = "\"page_layout_descr_file\": \"";
    std::fs::write(&pro, text(&pro).replacen(frame, &format!("{frame}frame.kicad_wks"), 1))
        .unwrap();
    let files = |uses: &str| {
        let context = bench.context(uses, &[("board", json!("StickHub.kicad_pcb"))]);
        wait(bench.kicad.closure(&context, &bench.services)).unwrap().files
    };
    let has = |uses: &str, name: &str| files(uses).iter().any(|f| f.ends_with(name));
    for name in ["3dmodels/JST_SH_SM04B-SRSS-TB.STEP", "frame.kicad_wks"] {
        assert!(has("kicad/export", name), "{name}");
        assert_eq!(has("kicad/drc", name), name == "frame.kicad_wks", "{name}");
    }
}

#[test]
fn the_first_on_path_is_the_one_used() {
    let Some(bench) = bench_with(&tool("echo impostor >&2; exit 2")) else { return };
    let observation = bench.run("kicad/drc", &[("board", json!("StickHub.kicad_pcb"))]);
    assert!(matches!(observation.result, StepResult::Failed(_)));
    assert!(observation.stderr.text.contains("impostor"));
    assert_eq!(observation.exit, Some(2));
}

/// Writes a report with these sheets; `$canary` holds what was planted in the root sheet, as a
/// report would have it.
fn erc_tool(sheets: &str, after: &str) -> String {
    let body = r#"
for sheet; do :; done
line() { grep -o "$1" "$sheet" | tail -n 1; }
text=$(line '(text "${ERC_ERROR pcbflow-canary-[^}]*}" (at [^)]*) (effects[^u]*(uuid "[^"]*")')
flag=$(line '(no_connect (at [^)]*) (uuid "[^"]*")')
entry() {
  id=$(echo "$3" | sed 's/.*uuid "\([^"]*\)".*/\1/'); words=$(echo "$3" | sed -n 's/.*ERC_ERROR \([^}]*\)}.*/\1/p')
  x=$(echo "$3" | sed 's/.*(at \([0-9.]*\) \([0-9.]*\).*/\1/'); y=$(echo "$3" | sed 's/.*(at \([0-9.]*\) \([0-9.]*\).*/\2/')
  echo "{\"type\":\"$1\",\"severity\":\"error\",\"description\":\"$words\",\"items\":[{\"uuid\":\"$id\",\"pos\":{\"x\":$x,\"y\":$y}}]}"
}
said=$(entry generic-error x "$text"); flagged=$(entry no_connect_dangling x "$flag")
echo '{"coordinate_units":"mm","date":"'$(date -u +%Y-%m-%dT%H:%M:%S+0000)'","kicad_version":"9.0.8","sheets":['SHEETS'],"source":"'$(basename "$sheet")'"}' > "$out"
echo Found $(grep -o '"type"' "$out" | wc -l) violations
AFTER
"#;
    let keep = "#!/bin/sh\nif [ \"$1\" = version ]; then echo 9.0.8; exit 0; fi\nout=; last=; for word; do [ \"$last\" = -o ] && out=$word; last=$word; done\n";
    format!("{keep}{}", body.replace("SHEETS", sheets).replace("AFTER", after))
}

/// The electrical check of a demo by such a tool.
fn erc_bench(script: &str) -> Option<Bench> {
    let demo = demo(9, "complex_hierarchy")?;
    let folder = tempfile::tempdir().unwrap().keep();
    let program = program(&folder, "kicad-cli", script);
    let path = Some(program.parent().map(PathBuf::from).unwrap().into_os_string());
    let mut bench = Bench::with(Kicad::looking_in(FindEnv { path, known: vec![] }));
    bench.deadline_ms = 10_000;
    bench.bring(&demo);
    Some(bench)
}

const ROOT: &str = r#""{\"path\":\"/\",\"uuid_path\":\"/\",\"violations\":[$said,$flagged]}""#;
const SUB: &str = r#"',{"path":"/","uuid_path":"/","violations":[]}'"#;

#[test]
fn an_electrical_report_without_all_sheets_is_not_believed() {
    let with = [("schematic", json!("complex_hierarchy.kicad_sch"))];
    for (count, clean) in [(1, false), (2, false), (3, true)] {
        let sheets = format!("{ROOT}{}", SUB.repeat(count - 1));
        let Some(bench) = erc_bench(&erc_tool(&sheets, "exit 5")) else { return };
        if clean {
            assert_eq!(bench.check("kicad/erc", &with).counts.errors, 0);
        } else {
            assert_eq!(bench.codes("kicad/erc", &with), ["kicad.report_unreadable"], "{count}");
        }
    }
}

/// Each lie about an electrical report that is whole otherwise: none is called clean.
#[test]
fn lies_about_the_electrical_check_are_seen_through() {
    let with = [("schematic", json!("complex_hierarchy.kicad_sch"))];
    let edit = |change: &str| {
        format!("sed '{change}' \"$out\" > \"$out.x\"; mv \"$out.x\" \"$out\"; exit 5")
    };
    for (what, after, code) in [
        ("nothing", "rm \"$out\"; exit 0".to_owned(), "kicad.report_missing"),
        ("empty", ": > \"$out\"; exit 0".to_owned(), "kicad.report_empty"),
        (
            "half",
            "head -c 90 \"$out\" > \"$out.x\"; mv \"$out.x\" \"$out\"; exit 5".to_owned(),
            "kicad.report_unreadable",
        ),
        (
            "old",
            edit(r#"s/"date":"[^"]*"/"date":"2020-01-01T00:00:00+0000"/"#),
            "kicad.report_stale",
        ),
        (
            "another schematic",
            edit(r#"s/"source":"[^"]*"/"source":"other.kicad_sch"/"#),
            "kicad.report_other_board",
        ),
        ("fewer than said", "echo Found 2,273 violations; exit 5".to_owned(), "kicad.report_cut"),
        ("status 0, something found", "exit 0".to_owned(), "kicad.report_contradicts_exit"),
    ] {
        let sheets = format!("{ROOT}{}", SUB.repeat(2));
        let Some(bench) = erc_bench(&erc_tool(&sheets, &after)) else { return };
        let evidence = failed(bench.run("kicad/erc", &with));
        assert_eq!(codes(&evidence), [code], "{what}");
        assert!(evidence.slots["variant"].starts_with("report_"), "{what}");
    }
}

/// The right date, source and sheets are not enough: what was planted must be found, at its place.
#[test]
fn an_electrical_report_without_the_planted_faults_is_not_believed() {
    let with = [("schematic", json!("complex_hierarchy.kicad_sch"))];
    let root = |list: &str| ROOT.replace("$said,$flagged", list);
    for (what, list, after, code) in [
        ("nothing", "", "exit 0", "kicad.canary_not_hit"),
        ("no nets", "$said", "exit 5", "kicad.canary_not_hit"),
        ("no words", "$flagged", "exit 5", "kicad.canary_not_hit"),
        ("another fault in its place", "$flagged,$flagged", "exit 5", "kicad.canary_not_hit"),
        ("more said", "$said,$flagged", "echo Found 9 violations; exit 5", "kicad.report_cut"),
    ] {
        let sheets = format!("{}{}", root(list), SUB.repeat(2));
        let Some(bench) = erc_bench(&erc_tool(&sheets, after)) else { return };
        assert_eq!(bench.codes("kicad/erc", &with), [code], "{what}");
    }
    let elsewhere = erc_tool(&format!("{ROOT}{}", SUB.repeat(2)), "exit 5");
    let elsewhere = elsewhere.replace("{\\\"x\\\":$x", "{\\\"x\\\":1$x");
    let Some(bench) = erc_bench(&elsewhere) else { return };
    assert_eq!(bench.codes("kicad/erc", &with), ["kicad.canary_not_hit"]);
}
