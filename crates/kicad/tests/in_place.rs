//! The private copy with its canary gives the findings that the project gives in place.

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use pcbflow_core::ports::StepResult;
use serde_json::{Value, json};
use support::*;

type Bag = BTreeMap<String, usize>;

/// Entries of a report as comparable lines, by type.
fn bags(report: &Value) -> BTreeMap<String, Bag> {
    let mut bags: BTreeMap<String, Bag> = BTreeMap::new();
    let sheets = report["sheets"].as_array().into_iter().flatten().map(|s| &s["violations"]);
    let lists = ["violations", "unconnected_items", "schematic_parity"].map(|l| &report[l]);
    for entry in lists.into_iter().chain(sheets).filter_map(Value::as_array).flatten() {
        let mut items: Vec<String> = entry["items"]
            .as_array()
            .into_iter()
            .flatten()
            // KiCad 9 names any one of the pins of a net for this type, another one in each run.
            .map(|i| match entry["type"].as_str() {
                Some("power_pin_not_driven") => i["description"].to_string(),
                _ => format!("{} {}", i["description"], i["pos"]),
            })
            .collect();
        items.sort();
        let line = format!("{} {} {items:?}", entry["severity"], entry["excluded"]);
        let kind = entry["type"].as_str().unwrap().to_owned();
        *bags.entry(kind).or_default().entry(line).or_default() += 1;
    }
    bags
}

fn assert_equal(name: &str, ours: &Value, theirs: &Value) {
    let (ours, theirs) = (bags(ours), bags(theirs));
    let kinds: std::collections::BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    for kind in kinds {
        let of = |bags: &BTreeMap<String, Bag>| bags.get(kind).cloned().unwrap_or_default();
        let (a, b) = (of(&ours), of(&theirs));
        let count = |bag: &Bag| bag.values().sum::<usize>();
        // At the cap, which ones are listed differs from run to run.
        let cap = if kind == "clearance" { 499 } else { 199 };
        if count(&a) >= cap && count(&b) >= cap {
            continue;
        }
        assert_eq!(a, b, "{name}: {kind}");
    }
}

fn in_place(folder: &Path, major: u32, home: &Path, args: &[&str], input: &str) -> Option<Value> {
    let out = home.join("in-place.json");
    let _gone = std::fs::remove_file(&out);
    let config = home.join("plain");
    Command::new(format!("kicad-cli-{major}"))
        .args(args)
        .args(["--format", "json", "--units", "mm", "--severity-all", "-o"])
        .arg(&out)
        .arg(folder.join(input))
        .env("HOME", home)
        .env("KICAD_CONFIG_HOME", config)
        .envs([("LC_ALL", "C.UTF-8"), ("LANG", "C.UTF-8"), ("TZ", "UTC")])
        .output()
        .unwrap();
    serde_json::from_slice(&std::fs::read(&out).ok()?).ok()
}

fn compare(name: &str, folder: &Path, board: &str, major: u32) {
    let bench = Bench::new();
    bench.bring(folder);
    let schematic = Path::new(board).with_extension("kicad_sch").to_string_lossy().into_owned();
    let has_sheet = bench.root().join(&schematic).exists();
    let label = format!("{name} with {major}");
    let read = |file: &str| -> Value {
        serde_json::from_slice(&std::fs::read(bench.board_dir().join("out").join(file)).unwrap())
            .unwrap()
    };
    let common = [("kicad", json!(major)), ("parity", json!(has_sheet))];
    let mut with = vec![("board", json!(board))];
    with.extend(common.clone());
    let drc = bench.run("kicad/drc", &with);
    let home = bench.folder.path().join("ws/.pcbflow/kicad-home");
    if let StepResult::Failed(evidence) = &drc.result {
        note(&format!("{label}: {:?}", evidence.signals));
        return;
    }
    let place = tempfile::tempdir().unwrap();
    copy_tree(folder, place.path());
    let args: &[&str] =
        if has_sheet { &["pcb", "drc", "--schematic-parity"] } else { &["pcb", "drc"] };
    let theirs = in_place(place.path(), major, &home, args, board).unwrap();
    assert_equal(&format!("{label} drc"), &read("drc.json"), &theirs);
    if has_sheet {
        let with = [("schematic", json!(schematic)), ("kicad", json!(major))];
        let erc = bench.check("kicad/erc", &with);
        let theirs = in_place(place.path(), major, &home, &["sch", "erc"], &schematic).unwrap();
        assert_equal(&format!("{label} erc"), &read("erc.json"), &theirs);
        let placed = erc.findings.iter().flat_map(|f| &f.items).filter(|i| i.at_nm.is_some());
        let far = placed.filter_map(|i| i.at_nm).filter(|at| at.0 > 20_000_000).count();
        let all = erc.findings.iter().flat_map(|f| &f.items).count();
        assert!(all == 0 || far > 0, "{label}: positions are true ones");
    }
    let check = checked(drc);
    let named = check.findings.iter().filter(|f| f.items.iter().any(|i| i.part.is_some())).count();
    let (off, own): (Vec<_>, Vec<_>) = check
        .findings
        .iter()
        .filter(|f| f.rule.starts_with("pcbflow"))
        .partition(|f| f.rule == "pcbflow_check_off");
    note(&format!(
        "{label}: {:?}, {named} with parts, {} of the second reader, {} checks switched off",
        check.counts,
        own.len(),
        off.len()
    ));
    assert!(own.is_empty(), "{label}: {own:#?}");
    // What is said to be switched off is switched off in the engineer's own project file.
    let project = folder.join(Path::new(board).with_extension("kicad_pro"));
    let project: Value = std::fs::read(project)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default();
    for finding in off {
        let name = finding.id.rsplit(':').next().unwrap();
        let severity = &project["board"]["design_settings"]["rule_severities"][name];
        assert_eq!(severity, "ignore", "{label}: {name}");
    }
}

#[test]
fn corpus_boards() {
    if !heavy() {
        return;
    }
    for (folder, named, _) in BOARDS {
        let Some(path) = corpus(folder) else { return };
        let board = board_of(&path, named);
        for major in [9, 10] {
            if have(major) && !(major == 9 && folder.starts_with("v10")) {
                compare(folder, &path, &board, major);
            }
        }
    }
}

#[test]
fn demo_boards() {
    if !heavy() {
        return;
    }
    for (name, board) in [
        ("pic_programmer", "pic_programmer.kicad_pcb"),
        ("royalblue54L_feather", "RoyalBlue54L-Feather.kicad_pcb"),
        ("video", "video.kicad_pcb"),
        ("multichannel", "multichannel_mixer.kicad_pcb"),
    ] {
        for major in [9, 10] {
            let (Some(path), true) = (demo(major, name), have(major)) else { continue };
            compare(name, &path, board, major);
        }
    }
}
