//! Tests of the comparison.

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::file::board::footprint_nodes;
use crate::file::netlist::{Component, Net};
use crate::sexpr::{Document, Edit};
use crate::testing::{corpus, kicad_cli, run};

fn netlist(parts: &[&str], nets: &[(&str, &str)]) -> Netlist {
    let component = |r: &&str| Component {
        reference: r.trim_start_matches('!').to_owned(),
        value: String::new(),
        footprint: String::new(),
        excluded_from_board: r.starts_with('!'),
        excluded_from_bom: false,
        dnp: false,
    };
    let pin = |text: &str| {
        let (reference, number) = text.split_once('.').unwrap();
        Pin { reference: reference.to_owned(), number: number.to_owned() }
    };
    let net = |(name, pins): &(&str, &str)| Net {
        name: (*name).to_owned(),
        pins: pins.split_whitespace().map(pin).collect(),
    };
    Netlist {
        components: parts.iter().map(component).collect(),
        nets: nets.iter().map(net).collect(),
        ..Netlist::default()
    }
}

/// A board from `R1: 1=A 2=B 3= ; …`; `!` marks board-only parts.
fn board(text: &str) -> Board {
    let mut out = String::from("(kicad_pcb (version 20260206) (layers (0 \"F.Cu\" signal))");
    for part in text.split(';').filter(|p| !p.trim().is_empty()) {
        let (name, pads) = part.trim().split_once(':').unwrap();
        let attr = if name.starts_with('!') { "(attr board_only)" } else { "" };
        let name = name.trim_start_matches('!');
        out += &format!("(footprint x (at 0 0) (property \"Reference\" \"{name}\") {attr}");
        for pad in pads.split_whitespace() {
            let (number, net) = pad.split_once('=').unwrap();
            let net = if net.is_empty() { String::new() } else { format!("(net \"{net}\")") };
            out += &format!("(pad \"{number}\" smd rect (at 0 0) (layers \"F.Cu\") {net})");
        }
        out += ")";
    }
    Board::parse((out + ")").into_bytes()).unwrap()
}

const NETS: [(&str, &str); 4] =
    [("A", "R1.1 R2.1"), ("B", "R1.2 R3.1"), ("C", "R2.2 R3.2"), ("unconnected-(R3-Pad3)", "R3.3")];

fn compare(text: &str) -> Comparison {
    Comparison::new(&netlist(&["R1", "R2", "R3"], &NETS), &board(text))
}

#[test]
fn equal_boards_are_equal() {
    let c = compare("R1: 1=A 2=B; R2: 1=A 2=C; R3: 1=B 2=C 3=unconnected-(R3-Pad3)");
    assert!(c.is_equal() && c.renamed.is_empty() && c.extra.is_empty(), "{c:?}");
    // No net, or a net of its own, is the same for a pin alone; mounting tabs and unnumbered pads do not matter.
    let c = compare("R1: 1=A 2=B MP= =; R2: 1=A 1=A 2=C; R3: 1=B 2=C 3=");
    assert!(c.is_equal() && c.renamed.is_empty(), "{c:?}");
}

#[test]
fn an_escaped_name_is_the_same_name() {
    let list = netlist(&["R1", "R2"], &[("/A/B", "R1.1 R2.1"), ("{brace}x}", "R1.2 R2.2")]);
    let c = Comparison::new(&list, &board("R1: 1=/A{slash}B 2={x}; R2: 1=/A{slash}B 2={x}"));
    assert!(c.is_equal() && c.renamed.is_empty(), "{c:?}");
}

#[test]
fn a_pin_without_a_number_has_no_pad_to_miss() {
    let list =
        netlist(&["R1", "R2", "H1"], &[("A", "R1.1 R2.1"), ("unconnected-(H1-1-Pad)", "H1.")]);
    let c = Comparison::new(&list, &board("R1: 1=A; R2: 1=A; H1: ="));
    assert!(c.pads.is_empty() && c.is_equal(), "{c:?}");
}

#[test]
fn other_names_are_no_other_wires() {
    let c = compare("R1: 1=X 2=B; R2: 1=X 2=C; R3: 1=B 2=C 3=N3");
    assert!(c.is_equal());
    assert_eq!(c.renamed, [Renamed { netlist: "A".into(), board: "X".into() }]);
    // Two names swapped: still the same partition.
    let c = compare("R1: 1=B 2=A; R2: 1=B 2=C; R3: 1=A 2=C 3=");
    assert!(c.is_equal());
    assert_eq!(c.renamed.len(), 2);
}

#[test]
fn finds_rewiring() {
    // A short of A and B.
    let c = compare("R1: 1=A 2=A; R2: 1=A 2=C; R3: 1=A 2=C 3=");
    assert!(!c.is_equal());
    assert_eq!(c.rewired.len(), 2);
    assert_eq!(c.rewired[0].gained.len(), 2);
    assert!(c.rewired[0].lost.is_empty());
    // An open pin.
    let c = compare("R1: 1=A 2=B; R2: 1=A 2=C; R3: 1= 2=C 3=");
    assert_eq!(c.rewired.len(), 1);
    assert_eq!(c.rewired[0].lost[0].0.to_string(), "R3.1");
    // A pin that should be alone is connected.
    let c = compare("R1: 1=A 2=B; R2: 1=A 2=C; R3: 1=B 2=C 3=B");
    assert!(c.rewired.iter().any(|r| r.netlist.starts_with("unconnected")), "{:?}", c.rewired);
    // A net on none of whose pins there is a net.
    let c = compare("R1: 1= 2=B; R2: 1= 2=C; R3: 1=B 2=C 3=");
    assert_eq!(
        (c.rewired.len(), c.rewired[0].board.clone(), c.rewired[0].lost.len()),
        (1, None, 2)
    );
}

#[test]
fn finds_parts_and_pads() {
    let list = netlist(&["R1", "R2", "R3", "!TP1", "!TP2"], &NETS);
    let b = board(
        "R1: 1=A 2=B; R3: 1=B 1=C 2=C 3= 9=A; TP1: ; REF**: ; G***: ; LOGO: ; !H1: ; H2: ; J9: 1=A; R3x: ; R1: 1=A",
    );
    let c = Comparison::new(&list, &b);
    assert_eq!(c.missing, ["R2"]);
    assert_eq!(c.excluded_on_board, ["TP1"]);
    assert_eq!(c.duplicated, [("R1".to_owned(), 2)]);
    let kinds = |kind| {
        c.extra
            .iter()
            .filter(move |e| e.kind == kind)
            .map(|e| e.reference.as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds(ExtraKind::BoardOnly), ["H1"]);
    assert_eq!(kinds(ExtraKind::Filler), ["G***", "LOGO", "REF**"]);
    assert_eq!(kinds(ExtraKind::Unlinked), ["H2", "R3x"]);
    assert_eq!(kinds(ExtraKind::Part), ["J9"]);
    assert_eq!(c.pads.len(), 1);
    let r3 = &c.pads[0];
    assert_eq!(
        (r3.reference.as_str(), r3.missing.len(), r3.extra.len(), r3.torn.len()),
        ("R3", 0, 1, 1)
    );
    let c = compare("R1: 1=A; R2: 1=A 2=C; R3: 1=B 2=C 3=");
    assert_eq!(c.pads[0].missing.iter().collect::<Vec<_>>(), ["2"]);
    assert!(Comparison::new(&Netlist::default(), &b).is_netlist_empty());
}

/// Project, footprints on the board, components, references only on the board that are no board-only parts.
const TABLE: [(&str, usize, usize, usize); 8] = [
    ("v10-pic-programmer/pic_programmer", 63, 63, 0),
    ("v5-fomu-pvt/archive/pvt/pcb/tomu-fpga", 55, 0, 55),
    ("v6-smartknob-view-base/electronics/view_base/view_base", 107, 107, 0),
    ("v7-olimex-esp32-evb/HARDWARE/REV-L/ESP32-EVB_Rev_L", 170, 161, 9),
    ("v8-kicad-ci-test/kicad_ci_test", 4, 4, 0),
    ("v8-upduino/Board/v3.01/UPduino_v3.01", 113, 111, 2),
    ("v9-bitaxe-gamma/bitaxeGamma", 147, 145, 0),
    ("v9-stickhub/StickHub", 94, 94, 0),
];

fn exported(program: &str, schematic: &Path) -> Netlist {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("n.xml");
    let (out_text, in_text) = (out.to_string_lossy(), schematic.to_string_lossy());
    let args = ["sch", "export", "netlist", "--format", "kicadxml", "-o", &out_text, &in_text];
    let (code, _, stderr) = run(program, folder.path(), &args);
    assert_eq!(code, Some(0), "{stderr}");
    Netlist::read(&out).unwrap()
}

fn sheet_of(project: &Path) -> PathBuf {
    let new = project.with_extension("kicad_sch");
    if new.is_file() { new } else { project.with_extension("sch") }
}

#[test]
fn real_boards_fit_their_schematics() {
    let Some(corpus) = corpus() else { return };
    let (Some(nine), Some(ten)) = (kicad_cli(9), kicad_cli(10)) else { return };
    for (name, footprints, components, only_on_board) in TABLE {
        // "UPduino_v3.01" has a dot that is no extension.
        let project = corpus.join(format!("{name}.x"));
        let board = Board::read(&project.with_extension("kicad_pcb")).unwrap();
        let program = if name.starts_with("v10") { &ten } else { &nine };
        let netlist = exported(program, &sheet_of(&project));
        let c = Comparison::new(&netlist, &board);
        assert_eq!((c.footprints, c.components), (footprints, components), "{name}");
        assert_eq!(c.missing, [""; 0], "{name}");
        let on_board_only = c.extra.iter().filter(|e| e.kind != ExtraKind::BoardOnly);
        assert_eq!(
            on_board_only.map(|e| &e.reference).collect::<BTreeSet<_>>().len(),
            only_on_board,
            "{name}"
        );
        assert_eq!(c.is_netlist_empty(), name.starts_with("v5"), "{name}");
        // Older boards name nets otherwise (up to 37 of them), none is wired otherwise.
        assert!(
            c.rewired.is_empty() && c.pads.is_empty() && c.duplicated.is_empty(),
            "{name}: {c:?}"
        );
        assert!(c.renamed.len() <= 37, "{name}: {:?}", c.renamed);
    }
}

#[test]
fn removing_one_footprint_changes_its_span_alone_and_both_versions_load_it() {
    let Some(corpus) = corpus() else { return };
    let source = std::fs::read(corpus.join("v9-stickhub/StickHub.kicad_pcb")).unwrap();
    let doc = Document::parse(source.clone()).unwrap();
    let (node, reference) = footprint_nodes(&doc).nth(10).unwrap();
    let span = node.span();
    let mut edit = Edit::new(&doc);
    edit.remove(node).unwrap();
    let bytes = edit.finish().unwrap();
    assert_eq!(bytes[..span.start()], source[..span.start()]);
    assert_eq!(bytes[span.start()..], source[span.end()..]);
    let (before, after) = (Board::parse(source).unwrap(), Board::parse(bytes.clone()).unwrap());
    assert_eq!(after.footprints.len() + 1, before.footprints.len());
    for program in [9, 10].into_iter().filter_map(kicad_cli) {
        let folder = tempfile::tempdir().unwrap();
        let board = folder.path().join("b.kicad_pcb");
        std::fs::write(&board, &bytes).unwrap();
        let (out, input) = (folder.path().join("p.csv"), board.to_string_lossy().into_owned());
        let out_text = out.to_string_lossy().into_owned();
        let args =
            ["pcb", "export", "pos", "--format", "csv", "--units", "mm", "-o", &out_text, &input];
        let (code, _, stderr) = run(&program, folder.path(), &args);
        assert_eq!(code, Some(0), "{program}: {stderr}");
        let csv = std::fs::read_to_string(&out).unwrap();
        assert!(!csv.contains(&format!("\"{reference}\",")), "{reference}");
        assert!(csv.lines().count() > 50, "{csv}");
        let netlist = exported(&program, &corpus.join("v9-stickhub/StickHub.kicad_sch"));
        assert_eq!(Comparison::new(&netlist, &after).missing, std::slice::from_ref(&reference));
    }
}

proptest! {
    /// Names do not matter: any renaming of the nets of an equal board gives an equal board.
    #[test]
    fn renaming_is_never_rewiring(names in prop::collection::btree_set("[a-z]{1,6}", 3)) {
        let n: Vec<&String> = names.iter().collect();
        let c = compare(&format!("R1: 1={a} 2={b}; R2: 1={a} 2={c}; R3: 1={b} 2={c} 3=", a = n[0], b = n[1], c = n[2]));
        prop_assert!(c.is_equal());
    }

    /// The comparison says equal exactly if the partition of the pins is the same.
    #[test]
    fn rewired_if_and_only_if_the_partition_differs(nets in prop::collection::vec(0_usize..5, 7)) {
        let names = ["", "A", "B", "C", "D"];
        let pins = ["R1.1", "R2.1", "R1.2", "R3.1", "R2.2", "R3.2", "R3.3"];
        let group = [0, 0, 1, 1, 2, 2, 3];
        let pad = |pin: usize| format!("{}={}", pins[pin].split_once('.').unwrap().1, names[nets[pin]]);
        let text = format!(
            "R1: {} {}; R2: {} {}; R3: {} {} {}",
            pad(0), pad(2), pad(1), pad(4), pad(3), pad(5), pad(6)
        );
        let joined = |a: usize, b: usize| nets[a] != 0 && nets[a] == nets[b];
        let same = (0..7).all(|a| (0..7).all(|b| a == b || joined(a, b) == (group[a] == group[b])));
        prop_assert_eq!(compare(&text).is_equal(), same);
    }
}
