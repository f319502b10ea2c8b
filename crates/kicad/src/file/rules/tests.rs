//! Tests of the rules reader and of the canary, the latter with real kicad-cli where it is installed.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::file::board::Board;
use crate::file::project::{Probe, with_absurd_limit};
use crate::file::units::{Nm, Place};
use crate::sexpr::{Document, Edit};
use crate::testing::{corpus, drc, kicad_cli};

fn problems(text: &str, major: u32) -> Vec<(u32, String)> {
    lint(text.as_bytes(), major, &["Top".to_owned()])
        .problems
        .iter()
        .map(|p| (p.line, p.fault.to_string()))
        .collect()
}

/// One rule after a version line, with `part` inside.
fn with_part(part: &str) -> String {
    format!("(version 1)\n(rule x\n {part})")
}

#[test]
fn sound_rules_pass() {
    let text = "# c\n(version 1)\n(rule \"hv\" (layer outer) (severity warning)\n (condition \"A.hasNetclass('HV') && !B.isPlated()\")\n \
                (constraint clearance (min 2mm)) (constraint track_width (min 0.1mm) (opt 1mm+2mm) (max \"3mm\")))\n\
                (rule y (layer \"*.Cu\") (constraint disallow track via) (constraint zone_connection solid))\n\
                (rule z (layer Top) (constraint via_count (max 3)) (constraint min_resolved_spokes 2))\n\
                (rule s (constraint skew (max 1mm) (within_diff_pairs)) (constraint track_angle (min 45)))";
    assert_eq!(problems(text, 9), []);
    assert_eq!(lint(text.as_bytes(), 9, &["Top".into()]).rules, ["hv", "y", "z", "s"]);
    assert_eq!(problems("\n# nothing\n", 9), []);
}

/// Each of these was tried on kicad-cli: does the file still work in 9, in 10?
const TRIED: [(&str, bool, bool); 38] = [
    ("(constraint clearence (min 1mm))", false, false),
    ("(foo) (constraint clearance (min 1mm))", false, false),
    ("(comment \"x\")", false, false),
    ("(priority 3)", false, false),
    ("(severity fatal)", false, false),
    ("(severity info)", false, false),
    ("(severity exclusion)", true, true),
    ("(layer Nope)", false, false),
    ("(layer f.cu)", false, false),
    ("(layer \"outer\")", false, false),
    ("(layer outer)", true, true),
    ("(layer any)", false, false),
    ("(layer *)", true, true),
    ("(layer F.*)", true, true),
    ("(layer In5.Cu)", true, true),
    ("(layer F.Silkscreen)", true, true),
    ("(layer \"F.Cu\" \"B.Cu\")", false, false),
    ("(layer inner) (layer outer)", false, false),
    ("(constraint clearance (min 1))", false, false),
    ("(constraint clearance (min 0))", false, false),
    ("(constraint clearance (min 20um))", false, false),
    ("(constraint clearance (min 20mil))", true, true),
    ("(constraint clearance (min 20mils))", false, false),
    ("(constraint clearance (min 0.1 mm))", false, true),
    ("(constraint length (min 10ps))", false, true),
    ("(constraint clearance (foo 1mm))", false, false),
    ("(constraint clearance (min -1mm))", true, true),
    ("(constraint clearance)", true, true),
    ("(constraint min_resolved_spokes (min 2))", false, false),
    ("(constraint zone_connection foo)", false, false),
    ("(constraint assertion)", false, false),
    ("(constraint disallow blind_via)", false, true),
    ("(constraint disallow npth)", false, false),
    ("(constraint solder_mask_expansion (opt 1mm))", false, true),
    ("(constraint via_dangling)", false, true),
    ("(constraint clearance (min 0.1mm)) (constraint clearance (min 0.1mm))", false, false),
    ("(condition \"A.Type=='Pad'\") (condition \"A.Type=='Via'\")", true, true),
    ("(condition A.Type)", true, true),
];

#[test]
fn agrees_with_what_was_measured() {
    for (part, nine, ten) in TRIED {
        for (major, accepted) in [(9, nine), (10, ten)] {
            let found = problems(&with_part(part), major);
            assert_eq!(found.is_empty(), accepted, "{part} in {major}: {found:?}");
        }
    }
    for text in ["(rule x)", "(version)", "(version \"1\")", "(rule x)(version 1)"] {
        assert_eq!(problems(text, 9)[0].1, "the first line must be (version 1)", "{text}");
    }
    assert_eq!(
        problems("(version 1)\n(rule (constraint clearance))", 9)[0].1,
        "the name of the rule is missing"
    );
    assert_eq!(
        problems("(version 1)\n(foo 1)", 9),
        [(2, "\"foo\" is no known rule file entry".to_owned())]
    );
}

#[test]
fn names_the_line() {
    let text = with_part("(condition \"A.NetName == '/B'\"\n (constraint clearance (min 2mm))");
    let found = problems(&text, 9);
    assert!(found[0].1.contains("brackets are still open"), "{found:?}");
    assert_eq!(problems(&with_part("(condition \"A.nope()\")"), 10)[0].0, 3);
    assert_eq!(problems(&with_part("(condition \"A.isPlated( && 'x\")"), 9).len(), 1);
    assert_eq!(problems(&with_part("(condition \"A.ISPLATED()\")"), 9), []);
    assert_eq!(
        problems(&with_part("(condition \"A.isBlindVia()\")"), 9)[0].1,
        "\"isBlindVia\" needs KiCad 10 or later"
    );
}

fn target() -> CanaryTarget {
    CanaryTarget::Footprint { reference: "TP1".into() }
}

#[test]
fn plants_after_the_own_text() {
    let own = "(version 1)\n(rule a (condition \"A.Type == 'Via'\"))\n# end without line break";
    let canary = with_canary(Some(own.as_bytes()), &target());
    assert!(canary.text.starts_with(own.as_bytes()));
    let set = lint(&canary.text, 9, &[]);
    assert_eq!(set.rules, ["a", "pcbflow-canary", "pcbflow-canary-1"]);
    assert!(set.is_sound(), "{:?}", set.problems);
    assert_eq!(canary.planted[1].tries, [("a".to_owned(), 2)]);
    let fired = canary.rule_of("assertion_failure", "Assertion failure (rule 'pcbflow-canary')");
    assert_eq!(fired, Some("pcbflow-canary"));
    assert_eq!(canary.rule_of("clearance", "(rule 'pcbflow-canary')"), None);
    assert_eq!(canary.rule_of("assertion_failure", "(rule 'mine')"), None);
    assert_eq!(canary.silent(&[fired.unwrap()]).count(), 1);
}

#[test]
fn takes_a_name_that_is_free() {
    let own = "(version 1)\n(rule pcbflow-canaryx)\n(rule \"pcbflow-canary\")";
    let canary = with_canary(Some(own.as_bytes()), &target());
    assert_eq!(canary.planted[0].name, "pcbflow-canaryxx");
    assert_eq!(canary.rule_of("assertion_failure", "(rule 'pcbflow-canary')"), None);
}

#[test]
fn boards_without_rules_get_a_version_line() {
    for own in [None, Some(&b""[..]), Some(b"# only a comment")] {
        let canary = with_canary(own, &CanaryTarget::Outline);
        assert_eq!(lint(&canary.text, 9, &[]).problems, []);
    }
    let broken = with_canary(Some(b"(version 1"), &target());
    assert!(!lint(&broken.text, 9, &[]).is_sound());
}

#[test]
fn many_rules_share_probes() {
    let rules: String =
        (0..500).map(|n| format!("(rule r{n} (condition \"A.Type == 'Via'\"))\n")).collect();
    let canary = with_canary(Some(format!("(version 1)\n{rules}").as_bytes()), &target());
    assert!(canary.planted.len() <= MAX_RULE_PROBES + 1);
    assert_eq!(canary.planted.iter().map(|p| p.tries.len()).sum::<usize>(), 500);
}

#[test]
fn picks_a_target_that_is_alone() {
    let part = |r: &str| format!("(footprint x (at 0 0) (property \"Reference\" \"{r}\"))");
    let board = |inner: &str| {
        Board::parse(format!("(kicad_pcb (version 20241229) {inner})").into_bytes()).unwrap()
    };
    let parts = [part("REF**"), part("a1"), part("A1"), part(""), part("R2")].concat();
    let pick = |b: &Board| CanaryTarget::for_board(b);
    assert_eq!(pick(&board(&parts)), Some(CanaryTarget::Footprint { reference: "R2".into() }));
    let track = "(segment (start 1.5 -2) (end 3 4) (layer \"F.Cu\"))";
    let start = Place { x: Nm(1_500_000), y: Nm(-2_000_000) };
    assert_eq!(pick(&board(track)), Some(CanaryTarget::Track { start }));
    assert_eq!(pick(&board("(gr_line (layer \"Edge.Cuts\"))")), Some(CanaryTarget::Outline));
    assert_eq!(pick(&board("")), None);
}

/// A copy of a board with its project, without the items whose first word is in `without`.
fn copy_without(source: &Path, folder: &Path, without: &[&str]) -> Board {
    let doc = Document::parse(std::fs::read(source.with_extension("kicad_pcb")).unwrap()).unwrap();
    let mut edit = Edit::new(&doc);
    for node in doc.root().children() {
        if without.iter().any(|word| word.as_bytes() == node.head()) {
            edit.remove(node).unwrap();
        }
    }
    let bytes = edit.finish().unwrap();
    std::fs::write(folder.join("b.kicad_pcb"), &bytes).unwrap();
    std::fs::copy(source.with_extension("kicad_pro"), folder.join("b.kicad_pro")).unwrap();
    Board::parse(bytes).unwrap()
}

/// Boards that the canary and the probes are measured on, and what is taken away from them.
fn measured() -> Option<Vec<(std::path::PathBuf, &'static [&'static str])>> {
    let corpus = corpus()?;
    let (pair, stick) =
        (corpus.join("pairs/dru/absent/board"), corpus.join("v9-stickhub/StickHub"));
    Some(vec![
        (pair.clone(), &[]),
        (pair.clone(), &["segment"]),
        (pair.clone(), &["footprint"]),
        (pair, &["footprint", "segment"]),
        (stick.clone(), &[]),
        (stick.clone(), &["segment", "arc", "zone"]),
        (stick, &["footprint", "zone"]),
    ])
}

#[test]
fn the_canary_fires_on_real_kicad() {
    let Some(boards) = measured() else { return };
    for (major, program) in [9, 10].into_iter().filter_map(|m| Some((m, kicad_cli(m)?))) {
        for (source, without) in &boards {
            let folder = tempfile::tempdir().unwrap();
            let board = copy_without(source, folder.path(), without);
            let target = CanaryTarget::for_board(&board).unwrap();
            let own = "(version 1)\n(rule dead (condition \"A.nope()\") (constraint clearance (min 0.1mm)))\n\
                       (rule live (condition \"A.NetName == '/B' || AB.isCoupledDiffPair()\") (constraint clearance (min 0.1mm)))";
            let all = own.replace("A.nope()", "A.isPlated()");
            let canary = with_canary(Some(all.as_bytes()), &target);
            std::fs::write(folder.path().join("b.kicad_dru"), &canary.text).unwrap();
            let fired = fired(&canary, &program, folder.path());
            assert!(!fired.is_empty() && fired.len() <= 20, "{major} {target:?}: {fired:?}");
            let names: Vec<&str> = fired.iter().map(String::as_str).collect();
            assert_eq!(canary.silent(&names).count(), 0, "{major} {source:?} {without:?}");
            // A rule that is not in force: all silent in 10, its own probe silent in 9.
            if matches!(target, CanaryTarget::Footprint { .. } | CanaryTarget::Track { .. }) {
                let canary = with_canary(Some(own.as_bytes()), &target);
                std::fs::write(folder.path().join("b.kicad_dru"), &canary.text).unwrap();
                let fired = self::fired(&canary, &program, folder.path());
                let names: Vec<&str> = fired.iter().map(String::as_str).collect();
                let silent: Vec<&str> = canary.silent(&names).map(|p| p.name.as_str()).collect();
                assert_eq!(silent.contains(&"pcbflow-canary"), major == 10, "{silent:?}");
                assert!(silent.contains(&"pcbflow-canary-1"), "{silent:?}");
            }
        }
    }
}

fn fired(canary: &Canary, program: &str, folder: &Path) -> Vec<String> {
    let findings = drc(program, folder, &folder.join("b.kicad_pcb"));
    findings
        .iter()
        .filter_map(|(kind, text)| canary.rule_of(kind, text))
        .map(str::to_owned)
        .collect()
}

#[test]
fn absurd_limits_hit_on_real_kicad() {
    let Some(boards) = measured() else { return };
    for program in [9, 10].into_iter().filter_map(kicad_cli) {
        for (source, without) in &boards {
            let folder = tempfile::tempdir().unwrap();
            let board = copy_without(source, folder.path(), without);
            let Some(probe) = Probe::for_board(&board) else {
                assert_eq!(*without, ["footprint", "segment"]);
                continue;
            };
            let project = folder.path().join("b.kicad_pro");
            let hit = || {
                let findings = drc(&program, folder.path(), &folder.path().join("b.kicad_pcb"));
                findings.iter().any(|(kind, text)| probe.is_hit(kind, text))
            };
            let own = std::fs::read(&project).unwrap();
            assert!(!hit(), "{program} {source:?} {without:?} {probe:?}");
            std::fs::write(&project, with_absurd_limit(&own, probe).unwrap()).unwrap();
            assert!(hit(), "{program} {source:?} {without:?} {probe:?}");
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _set = lint(&bytes, 9, &[]);
        let canary = with_canary(Some(&bytes), &target());
        prop_assert!(canary.text.starts_with(&bytes));
    }

    #[test]
    fn near_rules_never_panic(part in "[()a-z'\". 1*?]{0,40}") {
        let _set = lint(with_part(&part).as_bytes(), 9, &[]);
    }

    #[test]
    fn sound_rules_stay_sound(condition in "[A-Za-z=&|!. ]{0,20}", names in prop::collection::vec("[a-z-]{1,20}", 0..5)) {
        let rules: String = names.iter().map(|n| format!("(rule \"{n}\" (condition \"{condition}\"))\n")).collect();
        let canary = with_canary(Some(format!("(version 1)\n{rules}").as_bytes()), &target());
        prop_assert!(lint(&canary.text, 9, &[]).is_sound());
    }
}

#[test]
fn names_that_the_board_does_not_have_are_found() {
    let board = Board::parse(
        br#"(kicad_pcb (version 20240108) (generator "pcbnew")
            (net 0 "") (net 1 "GND") (net 2 "/USB_P") (net 3 "/USB_N") (net 4 "/A{slash}B")
            (footprint "Lib:R" (layer "F.Cu") (at 1 1) (property "Reference" "R1" (at 0 0)))
            (zone (net 1) (net_name "GND") (layer "F.Cu") (name "Quiet") (polygon (pts (xy 0 0)))))"#
            .to_vec(),
    )
    .unwrap();
    let absent = |condition: &str| -> Vec<String> {
        let text = format!("(version 1)\n(rule x (condition \"{condition}\"))");
        let names = lint(text.as_bytes(), 9, &[]).names;
        let found = super::absent(&names, &board, &["Default", "HV"]);
        found.into_iter().map(|t| format!("{} {}", t.kind.word(), t.name)).collect()
    };
    for there in [
        "A.NetName == 'gnd' && A.NetClass == 'hv' || A.Reference=='r?'",
        "'/A/B' == A.NetName && A.Net_Class == '*' && A.hasNetclass('Default')",
        "A.inDiffPair('/USB') && A.insideArea('Qui*') && A.memberOfFootprint('Lib:*')",
        "A.intersectsCourtyard('A') && A.Parent == '11111111-1111-4111-8111-111111111111'",
        "A.NetName != 'NONE' && A.Value == 'NONE' && A.NetName == '' && A.NetName == B.NetName",
        "A.Type == 'Pad' && A.fromTo('U1-*', 'U2-*') && A.Layer == 'F.Cu'",
    ] {
        assert_eq!(absent(there), Vec::<String>::new(), "{there}");
    }
    for (gone, said) in [
        ("A.Type == 'Via' && (A.NetName=='GNDX')", "net GNDX"),
        ("'GNDX' == A.netname", "net GNDX"),
        ("A.NetClass == 'H'", "net class H"),
        ("!A.hasNetclass('hv')", "net class hv"),
        ("A.memberOfFootprint('r1')", "part r1"),
        ("A.Reference == 'R2?'", "part R2?"),
        ("A.inDiffPair('/USB_P')", "differential pair /USB_P"),
        ("A.intersectsArea('Loud')", "area Loud"),
    ] {
        assert_eq!(absent(gone), [said], "{gone}");
    }
    assert_eq!(absent("A.NetName == 'x' || B.NetName == 'x'").len(), 1, "each once");
}
