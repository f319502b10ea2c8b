//! What the page promises, in a real browser: its good habits and its bad ones.

use std::process::Command;

use serde_json::{Value, json};

use super::browser::{desk, saw};

/// Kinds of what was saved last in the first page.
fn saved_kinds(state: &Value) -> Vec<String> {
    let page = &state["projects"][0]["boards"][0]["schematic"]["page"][0]["uuid"];
    let doc = &state["docs"][page.as_str().expect("a page")];
    let list = doc["primitives"].as_array().expect("primitives");
    list.iter().map(|p| p["kind"].as_str().unwrap_or("").to_owned()).collect()
}

#[test]
fn a_circuit_is_placed_wired_read_back_and_saved() {
    let editor = desk();
    // Wide gaps, so that a slow machine does not close them.
    editor.set(&json!({ "latency": { "settle": 700, "net_settle": 4000 } }));
    let saw = saw(&editor, "draw");
    assert_eq!(saw["keys"], json!(["e1", "R1", 0, "R1"]));
    assert_eq!((&saw["stale"], &saw["settled"]), (&json!(0), &json!(1)));
    assert_eq!(saw["pinsEarly"], json!(["", ""]), "nets come after reads");
    assert_eq!(saw["pinsLate"], json!(["VCC", "LED_K"]));
    assert_eq!(saw["wireNetAtOnce"], "VCC", "a wire takes the net that it touches");
    assert_eq!(saw["nets"], json!(["GND", "LED_K", "VCC"]));
    assert_eq!(saw["short"], "undefined", "no wire joins two nets");
    assert_eq!(saw["renamed"], "R77");
    assert_eq!(
        (&saw["drc"], &saw["saved"], &saw["inked"]),
        (&json!(true), &json!(true), &json!(true))
    );
    assert!(saw["picture"].as_str().is_some_and(|p| p.starts_with("iVBORw0KGgo")), "a PNG");
    assert_eq!(saw["title"], "door-sensor | EasyEDA Pro - V3.2.149 (stand-in)");
    let kinds = saved_kinds(&editor.state());
    let count = |kind: &str| kinds.iter().filter(|k| *k == kind).count();
    assert_eq!((count("part"), count("wire"), count("netflag")), (3, 4, 2), "{kinds:?}");
    let creates = editor.events("call");
    let creates: Vec<&Value> =
        creates.iter().filter(|c| c["api"] == "sch_PrimitiveComponent.create").collect();
    assert_eq!(creates.len(), 4);
    assert_ne!(creates[1]["hash"], creates[2]["hash"]);
    let saves = editor.events("saved");
    assert_eq!((saves.len(), &saves[0]["revision"]), (1, &json!(1)));
}

#[test]
fn wrong_calls_fail_as_the_real_editor_does() {
    let editor = desk();
    let saw = saw(&editor, "lies");
    assert_eq!(saw["bareUuid"], "throw: 数据不符合规范");
    assert_eq!(saw["pairs"], "throw: create failed!");
    assert_eq!(saw["noDevice"], "undefined");
    assert_eq!((&saw["local"], &saw["landed"]), (&json!("silent"), &json!("R1")));
    assert_eq!(saw["properties"], 0, "modify without them empties the properties");
    assert_eq!((&saw["deleteMany"], &saw["left"]), (&json!(true), &json!(1)));
    assert_eq!(saw["netlist"], "silent", "a pin floats");
    assert_eq!(saw["wrongDocument"], json!([[], false]));
    assert_eq!(saw["global"], json!(["undefined", "undefined"]));
    assert!(saw["noMethod"].as_str().is_some_and(|t| t.contains("is not a function")));
}

#[test]
fn without_quirks_the_page_is_honest() {
    let editor = desk();
    editor.set(&json!({ "quirks": false }));
    let saw = saw(&editor, "draw");
    assert_eq!(saw["stale"], 1);
    assert_eq!(saw["pinsEarly"], json!(["VCC", "LED_K"]));
    assert_eq!(saw["saved"], true);
}

#[test]
fn what_was_not_saved_is_gone_after_a_reload() {
    let editor = desk();
    let saw = saw(&editor, "reload");
    assert_eq!(saw["parts"], 1);
    assert_eq!(saved_kinds(&editor.state()), ["part"]);
    let leases = editor.events("lease_granted");
    assert_eq!(leases.len(), 2, "the lease went from the old page to the new one: {leases:?}");
}

#[test]
fn the_layout_comes_from_the_schematic_and_gives_files() {
    let editor = desk();
    let saw = saw(&editor, "layout");
    assert_eq!((&saw["import"], &saw["before"]), (&json!(true), &json!(0)), "only a window opens");
    assert_eq!(saw["buttons"], json!(["Export Report", "Apply Changes", "Cancel"]));
    assert_eq!(saw["after"], 3);
    assert_eq!((&saw["modified"], &saw["moved"]), (&json!(0), &json!(1234)));
    assert_eq!(saw["nets"], json!(["GND", "LED_K", "VCC"]));
    assert_eq!(saw["saved"], true);
    assert_eq!(saw["bom"], 5, "a heading, three parts and the end");
    let head = |get: &str| saw["files"][get]["head"].as_str().unwrap_or("").to_owned();
    assert_eq!(saw["projectFile"], "PK");
    assert!(head("getGerberFile").starts_with("PK"));
    assert!(head("getPickAndPlaceFile").starts_with("Designator"));
    assert!(head("getPadsFile").starts_with("PADSPOWER"));
    assert_eq!(head("getDsnFile"), "pcbboard");
    kicad_reads(saw["pads"].as_str().expect("a text"));
}

/// The PADS text is one that KiCad takes: parts, pads with nets, tracks and the outline.
fn kicad_reads(pads: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let (text, board) = (folder.path().join("b.asc"), folder.path().join("b.kicad_pcb"));
    std::fs::write(&text, pads).expect("a file");
    let import = Command::new("kicad-cli-10")
        .args(["pcb", "import", "--format", "pads", "--output"])
        .args([&board, &text])
        .env("HOME", folder.path())
        .output()
        .expect("`kicad-cli-10` is on PATH: `cargo xtask setup` installs it");
    assert!(import.status.success(), "{}", String::from_utf8_lossy(&import.stderr));
    let board = std::fs::read_to_string(board).expect("a board");
    let count = |what: &str| board.matches(what).count();
    assert_eq!((count("(footprint "), count("(pad "), count("(gr_line")), (3, 6, 4));
    // Two pads and the track.
    assert_eq!((count("(net \"VCC\")"), count("(net \"LED_K\")")), (3, 2));
    assert_eq!(count("(segment"), 1);
}
