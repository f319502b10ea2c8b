use super::*;
use pcbflow_core::check::{Limit, Limits};
use pcbflow_core::manifest::{CheckSpec, Safety};

const GOOD: &str = "\
# a board
board: door-sensor
root: ../../hw
facts: { layers: 2, supply: \"3.3 V\" }
phases:
  - id: 01-requirement-analysis
  - id: 12-final-verification
    steps:
      - id: drc
        uses: kicad/drc
        with: { board: door-sensor.kicad_pcb }
        check: { kind: report_clean, errors: 0, warnings: any }
        safety: read_only
        timeout: 300s
        needs: [fill-zones]
        outputs: [out/drc.json]
      - id: fill-zones
        uses: process/command
        with:
          argv: [make, zones]
        check: { kind: exit, expect: [0, 2] }
        timeout: 5m
status:
  phase: 12-final-verification
";

fn of(text: &str) -> Result<Document, ManifestError> {
    parse(Path::new("project.yaml"), text.as_bytes().to_vec())
}

#[test]
fn a_good_manifest_is_read() {
    for text in [GOOD.to_owned(), format!("\u{feff}{}", GOOD.replace('\n', "\r\n"))] {
        let doc = of(&text).unwrap();
        assert_eq!(doc.manifest.board.as_str(), "door-sensor");
        assert_eq!(doc.manifest.root.as_deref(), Some("../../hw"));
        let drc = &doc.manifest.phases[1].steps[0];
        assert_eq!(drc.timeout_ms, Some(300_000));
        assert_eq!(drc.safety, Some(Safety::ReadOnly));
        assert_eq!(drc.check, CheckSpec::ReportClean(Limits::default()));
        let fill = &doc.manifest.phases[1].steps[1];
        assert_eq!(fill.check, CheckSpec::Exit { expect: vec![0, 2] });
        assert_eq!(fill.timeout_ms, Some(300_000));
        assert_eq!(doc.status.unwrap()["phase"], "12-final-verification");
    }
}

#[test]
fn status_is_no_part_of_a_definition() {
    let with = of(GOOD).unwrap();
    let without = of(GOOD.split("status:").next().unwrap()).unwrap();
    assert_eq!(with.manifest, without.manifest);
}

#[test]
fn limits_are_read() {
    let doc = of("board: b\nphases:\n  - id: 01-a\n    steps:\n      - id: s\n        uses: x/y\n        check: { kind: report_clean, errors: any, warnings: 3, include_apart: true }\n").unwrap();
    let want = Limits { errors: Limit::Any, warnings: Limit::AtMost(3), include_apart: true };
    assert_eq!(doc.manifest.phases[0].steps[0].check, CheckSpec::ReportClean(want));
}

fn shown(text: &str) -> String {
    match of(text) {
        Ok(_) => "no fault".to_owned(),
        Err(e) => e.to_string(),
    }
}

#[test]
fn all_faults_are_shown_with_their_place() {
    let text = "\
board: a/b
rot: ../x
phases:
  - id: 1
    step: []
  - 04
  - id: 03-x
    steps:
      - id: drc
        use: kicad/drc
        check: { kind: report_claen }
        timeout: 300
        safety: readonly
        needs: fill
        outputs: [1, {a: b}]
        systems: [linux, beos]
      - id: exit
        uses: process/command
        check: { kind: report_clean, errors: none, warning: 1 }
        timeout: 5 minutes
      - id: hash
        uses: process/command
        check: { kind: file_sha256, path: ../x, expect: abc }
";
    insta::assert_snapshot!(shown(text));
}

#[test]
fn other_shapes_are_refused_by_name() {
    let cases = [
        "board: b\ncurrent_phase: 4\nphases: []\n",
        "board: b\nphases:\n  04-schematic-generation: PASS\n  05-schematic-audit: FAIL\n",
        "board: b\nphases: [phase_04, Schematic Audit, 12]\n",
        "board: b\nphases:\n  - id: phase-5\n  - id: bom_planning\n  - id: 13\n",
        "{board: b, phases: []}\n",
        "- board: b\n",
        "phases\n",
    ];
    let seen: Vec<String> = cases.iter().map(|c| format!("{c}=> {}", shown(c))).collect();
    insta::assert_snapshot!(seen.join("\n"));
}

#[test]
fn faults_against_the_kinds_have_their_line() {
    let kinds = [KindInfo {
        name: "kicad/drc",
        about: "",
        safety: Safety::ReadOnly,
        timeout_ms: 1,
        args: &[("board", true, "the board file")],
        is_check: true,
        public: true,
    }];
    let text = "\
board: b
phases:
  - id: 12-x
    steps:
      - id: a
        uses: kicad/drcc
      - id: b
        uses: kicad/drc
        with: { bord: x }
        needs: [a,
          c, b]
        outputs: [../out]
";
    let doc = of(text).unwrap();
    insta::assert_snapshot!(doc.valid(&kinds, vec![]).unwrap_err().to_string());
}

#[test]
fn durations() {
    assert_eq!(convert::duration_ms("250ms"), Some(250));
    assert_eq!(convert::duration_ms("2h"), Some(7_200_000));
    for bad in
        ["", "s", "-1s", "1.5h", "1 h", "5min", "99999999999999999999s", "18446744073709551615h"]
    {
        assert_eq!(convert::duration_ms(bad), None, "{bad}");
    }
}

#[test]
fn what_is_no_file_is_said() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(read(&dir.path().join("none")), Err(ManifestError::Missing { .. })));
    assert!(matches!(read(dir.path()), Err(ManifestError::NotAFile { .. })));
}

/// Every fault that does not follow from another one, in the order of the lines, whatever kind of
/// fault it is.
#[test]
fn faults_of_form_and_of_content_are_told_together() {
    let kinds = [KindInfo {
        name: "kicad/drc",
        about: "",
        safety: Safety::Guarded,
        timeout_ms: 1,
        args: &[("board", true, "the board file")],
        is_check: true,
        public: true,
    }];
    let text = "\
bord: b
phases:
  - id: 1-x
    steps:
      - id: a
        uses: kicad/drcc
        timout: 5m
      - id: b
        uses: kicad/drc
        with: { bord: x }
        timeout: 300
        safety: read_only
  - id: 12-y
    steps:
      - use: kicad/drc
      - id: d
        uses: kicad/drc
        with: { board: x }
        needs: [c]
        inputs: [../x]
      - id: e
        uses: kicad/drc
        wiht: { board: x }
      - id: e
        uses: kicad/drc
        with: { board: x }
  - id: 12-y
";
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(MANIFEST_NAME);
    std::fs::write(&path, text).unwrap();
    let name = pcbflow_core::ids::BoardName::new("b").unwrap();
    let more = |m: &Manifest| {
        let (p, s) = (m.phases.len() - 2, m.phases[1].steps.len() - 1);
        let path = format!("phases[{p}].steps[{s}].with.board");
        vec![ManifestFault { path, fault: "no board".into(), remedy: "name it".into() }]
    };
    let list = all_faults(&path, &name, &kinds, &more).unwrap();
    let lines: Vec<String> = list.iter().map(|f| format!("{}: {}", f.at.line, f.fault)).collect();
    let want = [
        "1: there is no key 'bord' here",
        "1: the key 'board' is missing",
        "3: the phase id '1-x' is not of the form NN-name",
        "6: there is no step kind 'kicad/drcc'",
        "7: there is no key 'timout' here",
        "10: 'kicad/drc' needs 'board'",
        "10: 'kicad/drc' knows no 'bord'",
        "11: a time needs a number and a unit",
        "12: kicad/drc is guarded, a manifest may only make it stricter",
        "15: there is no key 'use' here",
        "15: this step has no 'id'",
        "15: this step has no 'uses'",
        // Whether 'd' needs a step that is not there can't be told: one has no name.
        "20: \"../x\" leaves the board's folder",
        // 'e' lacks its arguments only because of the key that is written wrong.
        "23: there is no key 'wiht' here",
        "24: step 'e' is there twice in its phase",
        "26: no board",
        "27: phase 12-y is there twice",
    ];
    assert_eq!(lines, want, "{lines:#?}");
    assert!(list.iter().all(|f| !f.remedy.is_empty()));
    // A good file has none, and the strict reading agrees.
    std::fs::write(&path, "board: b\nphases:\n  - id: 01-a\n").unwrap();
    assert_eq!(all_faults(&path, &name, &kinds, &|_| Vec::new()).unwrap(), Vec::new());
    std::fs::write(&path, "board: c\nphases:\n  - id: 01-a\n").unwrap();
    let other = all_faults(&path, &name, &kinds, &|_| Vec::new()).unwrap();
    assert!(other.len() == 1 && other[0].fault.contains("by its folder"), "{other:?}");
}

#[test]
fn a_key_that_is_there_twice_hides_no_other_fault() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("project.yaml");
    let text = "board: b\nboard: b\nphases:\n  - id: 01-x\n    stepz: []\n    id: 02-x\nextra: 1\n";
    std::fs::write(&path, text).unwrap();
    let board = pcbflow_core::ids::BoardName::new("b").unwrap();
    let list = all_faults(&path, &board, &[], &|_| Vec::new()).unwrap();
    let told: Vec<String> = list.iter().map(|f| format!("{}: {}", f.at.line, f.fault)).collect();
    for want in
        ["2: the key 'board' is there twice", "6: the key 'id' is there twice", "5: ", "7: "]
    {
        assert!(told.iter().any(|t| t.starts_with(want)), "{want}: {told:#?}");
    }
    // Read for a run it is refused as before.
    assert!(read(&path).is_err());
}

#[test]
fn a_file_that_is_too_large_is_told_without_a_number_that_nobody_counted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("project.yaml");
    std::fs::write(&path, vec![b'#'; yaml::MANIFEST_BYTES_MAX * 3]).unwrap();
    let error = read(&path).unwrap_err().to_string();
    assert!(error.contains("more than 1048576 bytes"), "{error}");
}
