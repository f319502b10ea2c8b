//! What KiCad reads for a step: each such file decides whether the step is up to date, and the private
//! copy leads to it.

mod support;

use std::path::{Path, PathBuf};

use pcbflow_core::ids::Digest;
use pcbflow_core::ports::Subsystem as _;
use pcbflow_kicad::Kicad;
use pcbflow_kicad::cli::FindEnv;
use serde_json::{Value, json};
use support::*;

const BOARD: &str = "hw/StickHub.kicad_pcb";
const MODEL: &str = "${KIPRJMOD}/3dmodels/JST_SH_SM04B-SRSS-TB.STEP";
const SYMBOL: &str = "${KIPRJMOD}/RobotProtos.kicad_sym";
const FOOTPRINTS: &str = "${KIPRJMOD}/footprints.pretty";
const FRAME: &str = "\"page_layout_descr_file\": \"";

/// StickHub in the folder `hw` of the board's root, with tools that only tell their version.
fn looking() -> Option<Bench> {
    let folder = tempfile::tempdir().unwrap().keep();
    let tool = program(&folder, "kicad-cli", "#!/bin/sh\necho 9.0.8\n");
    let path = Some(tool.parent().map(PathBuf::from).unwrap().into_os_string());
    in_hw(Bench::with(Kicad::looking_in(FindEnv { path, known: vec![] })))
}

fn in_hw(bench: Bench) -> Option<Bench> {
    copy_tree(&demo(9, "stickhub")?, &bench.root().join("hw"));
    Some(bench)
}

fn put(path: &Path, content: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

fn replace(path: &Path, from: &str, to: &str) {
    let old = text(path);
    assert!(old.contains(from), "{from}");
    std::fs::write(path, old.replace(from, to)).unwrap();
}

impl Bench {
    fn hw(&self, name: &str) -> PathBuf {
        self.root().join("hw").join(name)
    }

    /// One digest of all that a step depends on, as the engine takes it.
    fn depends(&self, uses: &str, more: &[(&str, Value)]) -> Digest {
        let arg = match uses {
            "kicad/erc" => ("schematic", json!("hw/StickHub.kicad_sch")),
            "kicad/jobset" => ("project", json!("hw/StickHub.kicad_pro")),
            _ => ("board", json!(BOARD)),
        };
        let with: Vec<_> = [arg].into_iter().chain(more.iter().cloned()).collect();
        let closure = wait(self.kicad.closure(&self.context(uses, &with), &self.services)).unwrap();
        let mut all = format!("{:?}", closure.settings);
        for file in closure.files {
            let digest = self.services.digests.digest(&file).unwrap();
            all.push_str(&format!("{} {digest:?}\n", file.display()));
        }
        Digest::of(all.as_bytes())
    }

    /// A file that changes or comes changes what the step depends on, and nothing else does.
    fn counts(&self, uses: &str, file: &Path, what: &str) {
        for content in ["one", "two"] {
            let before = self.depends(uses, &[]);
            assert_eq!(self.depends(uses, &[]), before, "{uses} {what}: the same twice");
            put(file, content);
            assert_ne!(self.depends(uses, &[]), before, "{uses} {what}: {}", file.display());
        }
    }
}

#[test]
fn a_frame_or_model_counts_wherever_it_is() {
    let Some(bench) = looking() else { return };
    let (pro, pcb) = (bench.hw("StickHub.kicad_pro"), bench.hw("StickHub.kicad_pcb"));
    let away = tempfile::tempdir().unwrap();
    let (good_pro, good_pcb) = (text(&pro), text(&pcb));
    replace(
        &pro,
        "\"text_variables\": {}",
        "\"text_variables\": {\"LIB\": \"${KIPRJMOD}/../lib\"}",
    );
    let with_texts = text(&pro);
    for (at, (name, file)) in [
        ("plain.x".to_owned(), bench.hw("plain.x")),
        ("${KIPRJMOD}/near.x".to_owned(), bench.hw("near.x")),
        ("$(KIPRJMOD)/round.x".to_owned(), bench.hw("round.x")),
        ("$KIPRJMOD/bare.x".to_owned(), bench.hw("bare.x")),
        ("../up.x".to_owned(), bench.root().join("up.x")),
        ("${KIPRJMOD}/../above.x".to_owned(), bench.root().join("above.x")),
        ("${LIB}/by-text.x".to_owned(), bench.root().join("lib/by-text.x")),
        (away.path().join("far.x").to_string_lossy().into_owned(), away.path().join("far.x")),
    ]
    .into_iter()
    .enumerate()
    {
        put(&pro, &with_texts.replacen(FRAME, &format!("{FRAME}{name}"), 1 + at % 2));
        for uses in ["kicad/drc", "kicad/erc", "kicad/export", "kicad/jobset"] {
            let _gone = std::fs::remove_file(&file);
            bench.counts(uses, &file, &name);
        }
        put(&pro, &with_texts);
        put(&pcb, &good_pcb.replace(MODEL, &name));
        for uses in ["kicad/export", "kicad/jobset"] {
            let _gone = std::fs::remove_file(&file);
            bench.counts(uses, &file, &name);
        }
        put(&pcb, &good_pcb);
    }
    put(&pro, &good_pro);
    // A model without a folder is looked for beside the footprints too; what stands in for VRML.
    put(&pcb, &good_pcb.replace(MODEL, "loose.wrl"));
    bench.counts("kicad/export", &bench.hw("footprints.pretty/loose.wrl"), "beside footprints");
    bench.counts("kicad/export", &bench.hw("loose.wrl"), "VRML");
    bench.counts("kicad/export", &bench.hw("loose.step"), "in place of VRML");
    // A folder or a pipe in the place of a model is none.
    put(&pcb, &good_pcb.replace(MODEL, "/"));
    bench.depends("kicad/export", &[]);
}

#[test]
fn libraries_count_however_a_table_names_them() {
    let Some(bench) = looking() else { return };
    let away = tempfile::tempdir().unwrap();
    let far = |name: &str| away.path().join(name).to_string_lossy().into_owned();
    for (table, from, ending, file) in [
        ("fp-lib-table", FOOTPRINTS, "pretty", "/a.kicad_mod"),
        ("sym-lib-table", SYMBOL, "lib", ""),
    ] {
        let table = bench.hw(table);
        let good = text(&table);
        for (uri, folder) in [
            (format!("$(KIPRJMOD)/r.{ending}"), bench.hw("")),
            (format!("$KIPRJMOD/r.{ending}"), bench.hw("")),
            (format!("r.{ending}"), bench.hw("")),
            (format!("../r.{ending}"), bench.root()),
            (far(&format!("r.{ending}")), away.path().to_owned()),
        ] {
            put(&table, &good.replace(from, &uri));
            for uses in ["kicad/drc", "kicad/erc"] {
                let file = folder.join(format!("r.{ending}{file}"));
                let _gone = std::fs::remove_file(&file);
                bench.counts(uses, &file, &uri);
            }
        }
        // Tables in tables; a row of an inner one counts from the project's folder.
        let word = text(&table).split_whitespace().next().unwrap().to_owned();
        put(
            &table,
            &format!(
                "{word} (version 7) (lib (name t) (type Table) (uri \"$(KIPRJMOD)/../inner\")))"
            ),
        );
        let inner =
            |uri: &str| format!("{word} (version 7) (lib (name l) (type KiCad) (uri \"{uri}\")))");
        for (uri, folder) in
            [("${KIPRJMOD}/in", bench.hw("in")), ("../rel", bench.root().join("rel"))]
        {
            put(&bench.root().join("inner"), &inner(&format!("{uri}.{ending}")));
            let file = PathBuf::from(format!("{}.{ending}{file}", folder.display()));
            bench.counts("kicad/drc", &file, uri);
        }
        put(&table, &good);
    }
    // A folder of symbols, one in each file (KiCad 10): a new one counts, too.
    std::fs::create_dir_all(bench.hw("parts")).unwrap();
    replace(&bench.hw("sym-lib-table"), SYMBOL, "${KIPRJMOD}/parts");
    bench.counts("kicad/erc", &bench.hw("parts/R.kicad_sym"), "folder of symbols");
    bench.counts("kicad/drc", &bench.hw("parts/C.kicad_sym"), "folder of symbols");
}

#[test]
fn simulation_models_count_with_what_they_include() {
    let Some(bench) = looking() else { return };
    let sheet = bench.hw("StickHub.kicad_sch");
    let property = "(property \"Sim.Library\" \"$(KIPRJMOD)/../sim/x.lib\" (at 0 0 0))";
    let with = text(&sheet).replacen(
        "(property \"Reference\"",
        &format!("{property} (property \"Reference\""),
        1,
    );
    put(&sheet, &with);
    bench.counts("kicad/erc", &bench.root().join("sim/x.lib"), "model");
    put(&bench.root().join("sim/x.lib"), "* models\n.include \"more.lib\"\n");
    bench.counts("kicad/erc", &bench.root().join("sim/more.lib"), "included");
    put(&bench.root().join("sim/more.lib"), ".INC deep.lib\n.include more.lib\n");
    bench.counts("kicad/erc", &bench.root().join("sim/deep.lib"), "included by an included one");
}

#[test]
fn jobsets_with_commands_are_never_up_to_date_and_their_frames_count() {
    let Some(bench) = looking() else { return };
    let jobset = bench.root().join("j.kicad_jobset");
    let with = [("jobset", json!("j.kicad_jobset"))];
    let looks = || (bench.depends("kicad/jobset", &with), bench.depends("kicad/jobset", &with));
    put(
        &jobset,
        "{\"jobs\":[{\"type\":\"pcb_export_pdf\",\"settings\":{\"drawing_sheet\":\"../f.kicad_wks\"}}]}",
    );
    let (before, again) = looks();
    assert_eq!(before, again);
    put(&bench.root().join("f.kicad_wks"), "one");
    assert_ne!(looks().0, before);
    for kind in ["special_execute", "special_copyfiles"] {
        put(&jobset, &format!("{{\"jobs\":[{{\"type\":\"{kind}\"}}]}}"));
        let (first, second) = looks();
        assert_ne!(first, second, "{kind}");
    }
}

/// Which change in git is the last one, no file of the project says.
#[test]
fn a_text_that_shows_the_last_change_is_never_up_to_date() {
    let Some(bench) = looking() else { return };
    for (file, uses) in [
        ("StickHub.kicad_sch", "kicad/erc"),
        ("StickHub.kicad_sch", "kicad/drc"),
        ("StickHub.kicad_pcb", "kicad/export"),
        ("StickHub.kicad_pro", "kicad/drc"),
    ] {
        let path = bench.hw(file);
        let good = text(&path);
        assert_eq!(bench.depends(uses, &[]), bench.depends(uses, &[]), "{file}");
        put(&path, &good.replacen("\"\"", "\"${VCSHASH}\"", 1));
        assert_ne!(bench.depends(uses, &[]), bench.depends(uses, &[]), "{file}");
        put(&path, &good);
    }
}

/// A drawing frame above the project: what it says is checked, and not KiCad's own frame.
#[test]
fn a_frame_above_the_project_is_the_one_that_is_checked() {
    for major in [9, 10] {
        if !have(major) {
            return;
        }
        let Some(bench) = in_hw(Bench::new()) else { return };
        replace(&bench.hw("StickHub.kicad_pro"), FRAME, &format!("{FRAME}../frames/f.kicad_wks"));
        let frame = "(kicad_wks (version 20231118) (generator \"pl_editor\") (generator_version \"9.0\")
            (setup (textsize 1.5 1.5) (linewidth 0.15) (textlinewidth 0.15) (left_margin 10) (right_margin 10) (top_margin 10) (bottom_margin 10))
            (tbtext \"${NOT_IN_THIS_PROJECT}\" (name \"\") (pos 50 50)))";
        put(&bench.root().join("frames/f.kicad_wks"), frame);
        let with = [("board", json!(BOARD)), ("kicad", json!(major)), ("parity", json!(false))];
        let check = bench.check("kicad/drc", &with);
        let seen = check.findings.iter().filter(|f| f.rule == "unresolved_variable").count();
        assert!(seen > 0, "{major}: {:#?}", check.counts);
    }
}

/// A 3D model above the project gets into the STEP file, for every spelling of its place.
#[test]
fn a_model_above_the_project_is_in_the_step_file() {
    for major in [9, 10] {
        if !have(major) {
            return;
        }
        let Some(bench) = in_hw(Bench::new()) else { return };
        let model = bench.root().join("up/jst.STEP");
        put(&model, &text(&bench.hw("3dmodels/JST_SH_SM04B-SRSS-TB.STEP")));
        std::fs::remove_file(bench.hw("3dmodels/JST_SH_SM04B-SRSS-TB.STEP")).unwrap();
        let board = bench.hw("StickHub.kicad_pcb");
        let good = text(&board);
        let with = [("board", json!(BOARD)), ("kicad", json!(major)), ("what", json!(["step"]))];
        for (name, texts) in [
            ("${KIPRJMOD}/../up/jst.STEP".to_owned(), "{}"),
            ("$(KIPRJMOD)/../up/jst.STEP".to_owned(), "{}"),
            ("../up/jst.STEP".to_owned(), "{}"),
            ("${UP}/jst.STEP".to_owned(), "{\"UP\": \"${KIPRJMOD}/../up\"}"),
            (model.to_string_lossy().into_owned(), "{}"),
            ("../up/gone.STEP".to_owned(), "{}"),
        ] {
            // A STEP file takes seconds; both versions find names alike.
            if major == 10 && !name.starts_with("../up") {
                continue;
            }
            put(&board, &good.replace(MODEL, &name));
            let pro = bench.hw("StickHub.kicad_pro");
            let plain = text(&pro);
            replace(&pro, "\"text_variables\": {}", &format!("\"text_variables\": {texts}"));
            let check = bench.check("kicad/export", &with);
            let missing: Vec<&str> = check
                .findings
                .iter()
                .filter(|f| f.rule == "own_model_missing")
                .map(|f| f.message.as_str())
                .collect();
            let step = text(&bench.board_dir().join("out/fab/step/StickHub.step"));
            let gone = name.contains("gone");
            assert_eq!(step.contains("'J6'"), !gone, "{major} {name}");
            let said = format!(
                "the 3D model {name} was not found, so the STEP file has none of it for J2, J3, J4, J5, J6, J7, J8"
            );
            let wanted: &[&str] = if gone { &[&said] } else { &[] };
            assert_eq!(missing, wanted, "{major} {name}");
            put(&pro, &plain);
        }
    }
}

/// KiCad 10 knows projects with several root sheets; its command line checks one of them.
#[test]
fn a_further_root_sheet_is_named_because_nobody_checks_it() {
    if !have(10) {
        return;
    }
    let Some(bench) = in_hw(Bench::new()) else { return };
    let sheet = "(kicad_sch (version 20250114) (generator \"eeschema\") (generator_version \"9.0\") (uuid \"10000000-0000-4000-8000-000000000001\") (paper \"A4\") (lib_symbols))";
    put(&bench.hw("second.kicad_sch"), sheet);
    let pro = bench.hw("StickHub.kicad_pro");
    let mut json: Value = serde_json::from_str(&text(&pro)).unwrap();
    let first = json!({"filename": "StickHub.kicad_sch", "name": "a", "uuid": "1"});
    let with = [("schematic", json!("hw/StickHub.kicad_sch")), ("kicad", json!(10))];
    let mut named = |roots: Value| -> Vec<String> {
        json["schematic"]["top_level_sheets"] = roots;
        put(&pro, &json.to_string());
        let found = bench.check("kicad/erc", &with).findings;
        let roots = found.into_iter().filter(|f| f.rule == "pcbflow_root_not_checked");
        roots.map(|f| f.message).collect()
    };
    assert!(named(json!([first])).is_empty());
    let second = json!({"filename": "second.kicad_sch", "name": "b", "uuid": "2"});
    let found = named(json!([first, second]));
    assert!(found.len() == 1 && found[0].starts_with("second.kicad_sch is"), "{found:?}");
}
