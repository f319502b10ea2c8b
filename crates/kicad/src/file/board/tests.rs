//! Tests of the board reader.

use proptest::prelude::*;

use super::*;
use crate::testing::{corpus_files, kicad_cli, run};

const NEW: &str = r#"(kicad_pcb (version 20260206) (generator "pcbnew") (generator_version "10.0")
 (layers (0 "F.Cu" signal "top") (4 "In1.Cu" power) (2 "B.Cu" signal) (25 "Edge.Cuts" user))
 (footprint "R:R_0402" (layer "F.Cu") (uuid "u-1") (at 10 20 90)
  (property "Reference" "R1" (at 0 0)) (property "Value" "10k") (path "/a/b") (attr smd exclude_from_bom dnp)
  (pad "1" smd rect (at 1 0 90) (size 1 1) (layers "F.Cu" "F.Mask") (net "GND"))
  (pad "2" thru_hole circle (at -1 0.5) (size 2 2) (drill oval 1 1.5 (offset 0 1)) (layers "*.Cu") (net "1"))
  (pad "" np_thru_hole circle (at 0 0) (size 1 1) (drill 1) (layers "*.Cu"))
  (pad "" smd rect (at 0 0) (size 1 1) (layers "F.Paste")))
 (segment (start 1.000001 2) (end 3 4) (width 0.2) (layer "B.Cu") (net "GND"))
 (via blind (at 5 5) (size 0.6) (drill 0.3) (layers "F.Cu" "In1.Cu") (net "GND"))
 (gr_rect (start 0 0) (end 1 1) (layer "Edge.Cuts"))
 (zone (net "GND") (layers "F&B.Cu") (fill yes) (filled_polygon (layer "B.Cu") (pts)))
 (zone (layers "*.Cu") (keepout (tracks allowed)) (fill)))"#;

const OLD: &str = r"(kicad_pcb (version 20171130) (host pcbnew 5.0)
 (layers (0 F.Cu signal hide) (31 B.Cu signal))
 (net 0 ) (net 1 GND) (net 2 /1)
 (module R_0402 (layer B.Cu) (tedit 5) (tstamp 5A) (at -10 20)
  (fp_text reference R1 (at 0 0) (layer B.SilkS)) (fp_text value 10k (at 0 0) (layer B.Fab)) (attr virtual)
  (pad 1 smd rect (at 1.5 0) (size 1 1) (layers B.Cu) (net 2 /1)))
 (segment (start 1 2) (end 3 4) (width 0.2) (layer B.Cu) (net 1))
 (via (at 5 5) (size 0.6) (layers F.Cu B.Cu) (net 1)))";

fn board(text: &str) -> Board {
    Board::parse(text.as_bytes().to_vec()).unwrap()
}

#[test]
fn reads_the_newest_format() {
    let b = board(NEW);
    let names: Vec<_> = b.copper_layers().map(|l| l.name.as_str()).collect();
    assert_eq!(names, ["F.Cu", "In1.Cu", "B.Cu"]);
    assert_eq!(b.layers[0].user_name.as_deref(), Some("top"));
    let part = &b.footprints[0];
    assert_eq!(
        (part.reference.as_str(), part.value.as_str(), part.uuid.as_deref()),
        ("R1", "10k", Some("u-1"))
    );
    assert!(part.is_dnp() && part.is_excluded_from_bom() && !part.is_board_only());
    let nets: Vec<_> = part.pads.iter().map(|p| p.net.as_deref()).collect();
    assert_eq!(nets, [Some("GND"), Some("1"), None, None]);
    // A quarter turn: what was to the right is now up.
    assert_eq!(part.pads[0].place, Place { x: Nm(10_000_000), y: Nm(19_000_000) });
    assert_eq!(part.pads[1].drill, Some(Drill { width: Nm(1_000_000), height: Nm(1_500_000) }));
    assert!(!part.pads[3].on_copper);
    assert_eq!(b.first_track, Some(Place { x: Nm(1_000_001), y: Nm(2_000_000) }));
    assert_eq!(b.drill_count(), 3);
    assert_eq!(b.holes().iter().filter(|h| !h.plated).count(), 1);
    assert!(b.has_outline() && !b.is_empty());
    let counts: Vec<_> = ["F.Cu", "In1.Cu", "B.Cu"].iter().map(|l| b.copper[*l]).collect();
    assert_eq!(counts[0], LayerCopper { vias: 1, pads: 2, ..LayerCopper::default() });
    assert_eq!(counts[1], LayerCopper { vias: 1, pads: 1, ..LayerCopper::default() });
    assert_eq!(counts[2], LayerCopper { tracks: 1, pads: 1, fills: 1, ..LayerCopper::default() });
    assert_eq!(b.unfilled_zones().count(), 0);
    assert!(b.oddities.is_empty(), "{:?}", b.oddities);
}

#[test]
fn reads_the_oldest_format() {
    let b = board(OLD);
    let part = &b.footprints[0];
    assert_eq!(
        (part.reference.as_str(), part.value.as_str(), part.uuid.as_deref()),
        ("R1", "10k", Some("5A"))
    );
    assert_eq!(part.pads[0].net.as_deref(), Some("/1"));
    assert_eq!(part.pads[0].place, Place { x: Nm(-8_500_000), y: Nm(20_000_000) });
    assert_eq!(b.vias[0].net.as_deref(), Some("GND"));
    assert_eq!(b.vias[0].drill, None);
    assert_eq!(b.nets.iter().map(String::as_str).collect::<Vec<_>>(), ["/1", "GND"]);
    assert_eq!(b.layers[0].user_name, None);
}

#[test]
fn says_what_is_no_board() {
    let error = Board::parse(b"(kicad_sch (version 20250114))".to_vec()).unwrap_err();
    assert_eq!(error.to_string(), "the file is not a board but a schematic");
    let odd = board("(kicad_pcb (version 20241229) (via) (footprint x (pad 1 smd (at a b))))");
    let what: Vec<_> = odd.oddities.iter().map(|o| o.what).collect();
    let expected =
        ["via without a place", "footprint without a place", "place that is no pair of numbers"];
    assert_eq!(what[..3], expected);
    assert!(board("(kicad_pcb (version 20241229))").is_empty());
}

#[test]
fn counts_footprints_of_the_corpus() {
    let Some(files) = corpus_files("", |p| p.extension().is_some_and(|e| e == "kicad_pcb")) else {
        return;
    };
    let expected = [
        ("v10-pic", 63),
        ("tomu-fpga.", 55),
        ("view_base.", 107),
        ("ESP32-EVB", 170),
        ("kicad_ci_test.", 4),
        ("UPduino", 113),
        ("bitaxe", 147),
        ("StickHub", 94),
    ];
    let mut seen = 0;
    for path in files {
        let b = Board::read(&path).unwrap();
        let name = path.to_string_lossy();
        assert!(b.oddities.is_empty() && !b.is_empty(), "{name}: {:?}", b.oddities);
        assert!(b.copper_layers().count() >= 2, "{name}");
        if let Some((_, count)) = expected.iter().find(|(part, _)| name.contains(part)) {
            assert_eq!(b.footprints.len(), *count, "{name}");
            seen += 1;
        }
    }
    assert_eq!(seen, expected.len());
}

/// Hits of a drill in Excellon text: lines that begin with X, after the header; a slot is one hit.
fn excellon_hits(text: &str) -> usize {
    let body = text.split_once("\n%\n").map_or("", |(_, body)| body);
    let (slots, lines) =
        (body.matches("G85").count(), body.lines().filter(|l| l.starts_with('X')).count());
    // A slot may also be routed: G00X…Y… then M15, G01X…Y…, M16.
    lines.max(slots) + body.lines().filter(|l| l.starts_with("G00X")).count()
}

/// The place of a round hole: `X12.5Y-3.25`, y upwards.
fn excellon_place(line: &str) -> Option<Place> {
    let (x, y) = line.strip_prefix('X')?.split_once('Y')?;
    let (x, y) = (Nm::from_mm(x.as_bytes())?, Nm::from_mm(y.as_bytes())?);
    Some(Place { x, y: Nm(-y.0) })
}

#[test]
fn holes_add_up_to_the_drill_files() {
    let Some(files) = corpus_files("", |p| p.extension().is_some_and(|e| e == "kicad_pcb")) else {
        return;
    };
    let (Some(nine), Some(ten)) = (kicad_cli(9), kicad_cli(10)) else { return };
    for path in files.iter().filter(|p| !p.to_string_lossy().contains("pairs")) {
        let b = Board::read(path).unwrap();
        let program = if b.header.required_major() == Some(10) { &ten } else { &nine };
        let out = tempfile::tempdir().unwrap();
        let folder = format!("{}/", out.path().display());
        let (code, _, _) = run(
            program,
            out.path(),
            &["pcb", "export", "drill", "-o", &folder, &path.to_string_lossy()],
        );
        assert_eq!(code, Some(0), "{}", path.display());
        let (mut hits, mut places) = (0, Vec::new());
        for entry in std::fs::read_dir(out.path()).unwrap() {
            let file = entry.unwrap().path();
            if file.extension().is_some_and(|e| e == "drl") {
                let text = std::fs::read_to_string(file).unwrap();
                hits += excellon_hits(&text);
                places.extend(text.lines().filter_map(excellon_place));
            }
        }
        assert_eq!(hits, b.drill_count(), "{}", path.display());
        // Each round hole is where the drill file has it, turned footprints included; it has three decimals.
        for hole in b.holes() {
            let round = hole.drill.is_none_or(|drill| drill.width == drill.height);
            let found = places.iter().any(|at| at.is_near(hole.place, Nm(1_001)));
            assert!(found || !round, "{}: {hole:?}", path.display());
        }
    }
}

proptest! {
    #[test]
    fn damaged_boards_never_panic(cut in 0_usize..2000, swap in 0_usize..2000, byte: u8, old: bool) {
        let mut bytes = if old { OLD.as_bytes().to_vec() } else { NEW.as_bytes().to_vec() };
        bytes.truncate(bytes.len().saturating_sub(cut % 3 * cut));
        let at = swap % bytes.len().max(1);
        if let Some(b) = bytes.get_mut(at) { *b = byte; }
        let _result = Board::parse(bytes);
    }
}
