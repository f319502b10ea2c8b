//! Damaged files and hostile surroundings: never a clean verdict, always a typed fact.

mod support;

use std::path::Path;
use std::process::Command;

use pcbflow_core::check::{CheckOutcome, Gate};
use pcbflow_core::ports::StepResult;
use serde_json::{Value, json};
use support::*;

const BOARD: &str = "StickHub.kicad_pcb";

fn with(major: u32) -> Vec<(&'static str, Value)> {
    vec![("board", json!(BOARD)), ("kicad", json!(major)), ("parity", json!(false))]
}

/// A bench with StickHub as KiCad 9 saved it, which 9 and 10 read.
fn stickhub() -> Option<Bench> {
    let demo = demo(9, "stickhub")?;
    let bench = Bench::new();
    bench.bring(&demo);
    Some(bench)
}

fn majors() -> Vec<u32> {
    [9, 10].into_iter().filter(|m| have(*m)).collect()
}

#[test]
fn boards_that_do_not_load() {
    let Some(bench) = stickhub() else { return };
    let path = bench.root().join(BOARD);
    let good = std::fs::read(&path).unwrap();
    let sheet = std::fs::read(path.with_extension("kicad_sch")).unwrap();
    let text = String::from_utf8(good.clone()).unwrap();
    let half = good[..good.len() / 2].to_vec();
    let mut bom = b"\xef\xbb\xbf".to_vec();
    bom.extend_from_slice(&good);
    let merge = format!("<<<<<<< HEAD\n{text}").into_bytes();
    let marks = text.replacen("(segment", "<<<<<<< HEAD\n(segment", 1).into_bytes();
    let unknown = text.replacen("(segment", "(segmentx", 1).into_bytes();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("empty", vec![]),
        ("cut", half),
        ("other text", b"hello\n".to_vec()),
        ("byte order mark", bom),
        ("merge marks at the top", merge),
        ("merge marks inside", marks),
        ("unknown word", unknown),
        ("a schematic", sheet),
        ("json", b"{}".to_vec()),
    ];
    for major in majors() {
        for (what, bytes) in &cases {
            std::fs::write(&path, bytes).unwrap();
            let got = bench.codes("kicad/drc", &with(major));
            assert!(got.contains(&"kicad.board_damaged".to_owned()), "{what} {major}: {got:?}");
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(bench.codes("kicad/drc", &with(major)), ["kicad.input_missing"]);
        std::fs::create_dir(&path).unwrap();
        assert_eq!(bench.codes("kicad/drc", &with(major)), ["kicad.board_damaged"]);
        std::fs::remove_dir(&path).unwrap();
    }
}

#[test]
fn boards_that_load_all_the_same() {
    let Some(bench) = stickhub() else { return };
    let path = bench.root().join(BOARD);
    let text = text(&path);
    let mut latin = text.clone().into_bytes();
    let at = text.find("\"0.1uF\"").unwrap();
    latin[at + 1] = 0xb5;
    let mut nul = text.clone().into_bytes();
    nul.push(0);
    for major in majors() {
        for (what, bytes) in [
            ("CRLF", text.replace('\n', "\r\n").into_bytes()),
            ("Latin-1", latin.clone()),
            ("NUL", nul.clone()),
        ] {
            std::fs::write(&path, bytes).unwrap();
            let check = bench.check("kicad/drc", &with(major));
            assert_eq!(check.counts.errors, 0, "{what} {major}: {:#?}", check.findings);
        }
    }
}

#[test]
fn a_newer_board_never_reaches_an_older_tool() {
    let Some(bench) = stickhub() else { return };
    let path = bench.root().join(BOARD);
    let newer = text(&path).replace("20241229", "20301229");
    std::fs::write(&path, newer).unwrap();
    let evidence =
        failed(bench.run("kicad/drc", &[("board", json!(BOARD)), ("parity", json!(false))]));
    assert_eq!(codes(&evidence), ["kicad.format_too_new"]);
    assert_eq!(evidence.signals[0].number, Some(20_301_229));
    assert!(bench.spawn.runs.lock().unwrap().iter().all(|argv| argv[1] == "version"));
}

#[test]
fn project_files_that_carry_no_rules() {
    let Some(bench) = stickhub() else { return };
    let path = bench.root().join("StickHub.kicad_pro");
    let good = std::fs::read(&path).unwrap();
    let pro = || with(9);
    for (bytes, code) in [
        (vec![], "kicad.pro_empty"),
        (b"{}".to_vec(), "kicad.pro_without_rules"),
        (good[..400].to_vec(), "kicad.pro_unreadable"),
        (b"../other/StickHub.kicad_pro\n".to_vec(), "kicad.pro_link_text"),
        (b"<<<<<<< HEAD\n{}\n".to_vec(), "kicad.pro_unreadable"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(bench.codes("kicad/drc", &pro()), [code]);
        let erc = [("schematic", json!("StickHub.kicad_sch"))];
        assert_eq!(bench.codes("kicad/erc", &erc), [code]);
    }
    std::fs::rename(&path, path.with_file_name("stickhub.kicad_pro")).unwrap();
    assert_eq!(bench.codes("kicad/drc", &pro()), ["kicad.pro_missing"], "other letter case");
}

#[test]
fn rules_file_with_a_wrong_word() {
    let Some(bench) = stickhub() else { return };
    let path = bench.root().join("StickHub.kicad_dru");
    for rules in [
        "(version 1)\n(rule a (constraint clearance (min 1mm))",
        "(version 1)\n(rule a (constraint clearence (min 1mm)))",
        "(version 1)\n(rule a (layer \"F.Copper\") (constraint clearance (min 1mm)))",
    ] {
        std::fs::write(&path, rules).unwrap();
        assert_eq!(bench.codes("kicad/drc", &with(9)), ["kicad.rules_file_broken"], "{rules}");
    }
    // What our own reading can't know, the canary's probes find: an unknown function.
    std::fs::write(
        &path,
        "(version 1)\n(rule a (condition \"A.noSuchThing('x')\") (constraint clearance (min 1mm)))",
    )
    .unwrap();
    for major in majors() {
        let got = bench.codes("kicad/drc", &with(major));
        let known = ["kicad.canary_not_hit", "kicad.rules_file_broken"];
        assert!(got.len() == 1 && known.contains(&got[0].as_str()), "{major}: {got:?}");
    }
    std::fs::write(&path, "(version 1)\n(rule a (constraint clearance (min 0.4mm)))").unwrap();
    for major in majors() {
        assert!(bench.check("kicad/drc", &with(major)).counts.errors > 0, "a sound rule is used");
    }
}

#[test]
fn sheets_that_the_tool_would_drop() {
    let Some(demo) = demo(9, "pic_programmer") else { return };
    let erc = |major: u32| {
        vec![("schematic", json!("pic_programmer.kicad_sch")), ("kicad", json!(major))]
    };
    for major in majors() {
        let bench = Bench::new();
        bench.bring(&demo);
        assert!(bench.check("kicad/erc", &erc(major)).outcome != CheckOutcome::CouldNotRun);
        let sheet = bench.root().join("pic_sockets.kicad_sch");
        let good = text(&sheet);
        let newer = good.replacen("(version ", "(version 9", 1);
        std::fs::write(&sheet, newer).unwrap();
        assert_eq!(bench.codes("kicad/erc", &erc(major)), ["kicad.format_too_new"]);
        std::fs::write(&sheet, "EESchema Schematic File Version 4\n").unwrap();
        assert_eq!(bench.codes("kicad/erc", &erc(major)), ["kicad.format_too_old"]);
        std::fs::write(&sheet, &good[..good.len() / 2]).unwrap();
        assert_eq!(bench.codes("kicad/erc", &erc(major)), ["kicad.board_damaged"]);
        std::fs::remove_file(&sheet).unwrap();
        for (kind, args) in [
            ("kicad/erc", erc(major)),
            (
                "kicad/drc",
                vec![("board", json!("pic_programmer.kicad_pcb")), ("kicad", json!(major))],
            ),
            ("kicad/netlist", erc(major)),
        ] {
            assert_eq!(bench.codes(kind, &args), ["kicad.sheet_missing"], "{kind}");
        }
    }
}

#[test]
fn a_schematic_of_kicad_5_gives_no_false_answers() {
    let Some(path) = corpus("v5-fomu-pvt/archive/pvt/pcb") else { return };
    let bench = Bench::new();
    bench.bring(&path);
    let sheet = [("schematic", json!("tomu-fpga.sch"))];
    assert_eq!(bench.codes("kicad/erc", &sheet), ["kicad.format_too_old"]);
    assert_eq!(bench.codes("kicad/netlist", &sheet), ["kicad.format_too_old"]);
    let board = [("board", json!("tomu-fpga.kicad_pcb"))];
    let got = bench.codes("kicad/drc", &board);
    assert_eq!(got, ["kicad.format_too_old", "kicad.parity_not_run"]);
    assert_eq!(bench.codes("kicad/compare", &board), ["kicad.format_too_old"]);
}

#[test]
fn nothing_to_look_at_is_empty() {
    let Some(bench) = stickhub() else { return };
    let bare = "(kicad_sch (version 20250114) (generator \"eeschema\") (generator_version \"9.0\")\n (uuid \"6f0e0000-0000-0000-0000-000000000001\") (paper \"A4\") (lib_symbols)\n (sheet_instances (path \"/\" (page \"1\"))))\n";
    std::fs::write(bench.root().join("StickHub.kicad_sch"), bare).unwrap();
    let sheet = [("schematic", json!("StickHub.kicad_sch"))];
    assert_eq!(bench.check("kicad/erc", &sheet).gate(), Gate::Empty);
    // No parts from a schematic whose board has footprints is an alarm.
    assert_eq!(bench.codes("kicad/netlist", &sheet), ["kicad.netlist_empty"]);
    let board = [("board", json!(BOARD))];
    assert_eq!(bench.codes("kicad/compare", &board), ["kicad.netlist_empty"]);
}

#[test]
fn paths_and_links_that_leave_the_root_are_refused() {
    let Some(bench) = stickhub() else { return };
    let outside = bench.folder.path().join("outside.kicad_pcb");
    std::fs::copy(bench.root().join(BOARD), &outside).unwrap();
    std::os::unix::fs::symlink(&outside, bench.root().join("link.kicad_pcb")).unwrap();
    for board in ["../outside.kicad_pcb", "/etc/passwd", "link.kicad_pcb", "a/../../x.kicad_pcb"] {
        let check = bench.check("kicad/drc", &[("board", json!(board)), ("parity", json!(false))]);
        assert_eq!(check.gate(), Gate::Blocked, "{board}");
    }
    let check =
        bench.check("kicad/drc", &[("board", json!(BOARD)), ("report", json!("../x.json"))]);
    assert_eq!(check.gate(), Gate::Blocked);
    assert!(bench.spawn.runs.lock().unwrap().iter().filter(|a| a[1] != "version").count() <= 1);
}

#[test]
fn names_with_blanks_letters_and_line_ends() {
    let Some(demo) = demo(9, "stickhub") else { return };
    for name in ["door sensor", "tür-größe-电路", "two\nlines", "-rf", "a'b\"c", "$(x);y"] {
        let bench = Bench::new();
        let folder = bench.root().join("a b");
        copy_tree(&demo, &folder);
        for extension in ["kicad_pcb", "kicad_pro", "kicad_sch"] {
            let from = folder.join(format!("StickHub.{extension}"));
            std::fs::rename(from, folder.join(format!("{name}.{extension}"))).unwrap();
        }
        let board = format!("a b/{name}.kicad_pcb");
        for major in majors() {
            let args = [("board", json!(board)), ("kicad", json!(major))];
            let check = bench.check("kicad/drc", &args);
            assert_eq!((check.counts.errors, check.counts.apart), (0, 74), "{name:?} {major}");
            let what = ("what", json!(["gerbers", "drill", "position", "bom"]));
            let args = [("board", json!(board)), ("kicad", json!(major)), what];
            assert_eq!(bench.check("kicad/export", &args).gate(), Gate::Pass, "{name:?} {major}");
        }
    }
}

/// A small file system of its own; only root can make one.
struct Small(std::path::PathBuf);

impl Small {
    fn mount(at: &Path, options: &str) -> Option<Small> {
        std::fs::create_dir_all(at).unwrap();
        let done =
            Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at).status();
        if done.is_ok_and(|s| s.success()) {
            return Some(Small(at.to_owned()));
        }
        note("skipped: no file system can be mounted here");
        None
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _done = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn disk_full_and_read_only() {
    let Some(bench) = stickhub() else { return };
    let args = with(9);
    {
        let Some(_small) = Small::mount(&bench.folder.path().join("scratch"), "size=2m") else {
            return;
        };
        assert!(bench.codes("kicad/drc", &args).contains(&"disk_full".to_owned()));
        let export = [("board", json!(BOARD)), ("kicad", json!(9))];
        assert!(bench.codes("kicad/export", &export).contains(&"disk_full".to_owned()));
    }
    {
        let Some(_small) = Small::mount(&bench.board_dir(), "size=8k") else { return };
        assert_eq!(bench.codes("kicad/drc", &args), ["disk_full"]);
    }
    let Some(_small) = Small::mount(&bench.board_dir(), "ro,size=1m") else { return };
    assert_eq!(bench.codes("kicad/drc", &args), ["read_only"]);
}

#[test]
fn a_jobset_with_an_unknown_job_crashes_and_one_that_is_sound_does_not() {
    let Some(demo) = demo(9, "stickhub") else { return };
    let jobset = |kind: &str| {
        json!({
            "jobs": [{"id": "6e6bcbd7-0000-0000-0000-000000000001", "type": kind, "description": "",
                "settings": {"description": "", "filename": "", "output_filename": "",
                    "output_dir": "", "plot_layers": ["F.Cu"], "layers": ["F.Cu", "B.Cu"]}}],
            "meta": {"version": 1},
            "outputs": [{"id": "6e6bcbd7-0000-0000-0000-000000000002", "type": "folder",
                "only": [], "settings": {"output_path": "made/"}}]
        })
        .to_string()
    };
    for major in majors() {
        let bench = Bench::new();
        bench.bring(&demo);
        // A folder of the name that the jobset writes to: it must stay as it is.
        std::fs::create_dir(bench.root().join("made")).unwrap();
        let path = bench.root().join("x.kicad_jobset");
        let args = [
            ("project", json!("StickHub.kicad_pro")),
            ("jobset", json!("x.kicad_jobset")),
            ("kicad", json!(major)),
        ];
        std::fs::write(&path, jobset("no_such_job")).unwrap();
        let evidence = failed(bench.run("kicad/jobset", &args));
        let crashed = |s: &pcbflow_core::evidence::Signal| {
            s.code == "signal" && s.number == Some(11)
                || s.code == "status" && s.number == Some(139)
        };
        assert!(evidence.signals.iter().any(crashed), "{major}: {:?}", evidence.signals);
        std::fs::write(&path, jobset("pcb_export_gerbers")).unwrap();
        let made = bench.run("kicad/jobset", &args);
        assert!(
            made.outputs.iter().any(|o| o.path.starts_with("out/jobset/made/")),
            "{:?}",
            made.outputs
        );
        assert_eq!(checked(made).gate(), Gate::Pass);
        assert!(std::fs::read_dir(bench.root().join("made")).unwrap().next().is_none());
        for broken in ["", "{}", "{\"jobs\":[{}],\"meta\":{},\"outputs\":[]}"] {
            std::fs::write(&path, broken).unwrap();
            assert_eq!(bench.codes("kicad/jobset", &args), ["kicad.board_damaged"], "{broken}");
        }
        // With KiCad's defaults its jobs would write over the good files.
        std::fs::write(&path, jobset("pcb_export_gerbers")).unwrap();
        let good = snapshot(&bench.board_dir().join("out/jobset"));
        std::fs::write(bench.root().join("StickHub.kicad_pro"), "").unwrap();
        assert_eq!(bench.codes("kicad/jobset", &args), ["kicad.pro_empty"]);
        assert_eq!(snapshot(&bench.board_dir().join("out/jobset")), good);
    }
}

/// A board of 100 MB, behind `PCBFLOW_HEAVY`.
#[test]
fn a_board_of_100_mb_ends_within_its_deadline() {
    if !heavy() {
        return;
    }
    let Some(mut bench) = stickhub() else { return };
    let path = bench.root().join(BOARD);
    let text = text(&path);
    let end = text.trim_end().strip_suffix(')').unwrap();
    let mut big = end.to_owned();
    while big.len() < 100_000_000 {
        big.push_str("(gr_text \"x\" (at 1 1) (layer \"Cmts.User\") (effects (font (size 1 1) (thickness 0.15))))\n");
    }
    big.push(')');
    std::fs::write(&path, big).unwrap();
    bench.deadline_ms = 900_000;
    let observation = bench.run("kicad/drc", &with(9));
    match observation.result {
        StepResult::Checked(check) => assert_eq!(check.counts.apart, 74),
        StepResult::Failed(evidence) => panic!("{evidence:?}"),
    }
}
