//! Tests of the project reader.

use proptest::prelude::*;

use super::*;
use crate::testing::{corpus, corpus_files};

const WHOLE: &str = r#"{"board": {"design_settings": {"rules": {"min_clearance": 0.049999999999999996,
  "min_resolved_spokes": 2, "allow_microvias": false, "min_track_width": "0.2"},
  "rule_severities": {"clearance": "error", "silk_overlap": "ignore"},
  "drc_exclusions": ["a|1|2|u|v", ["b|1", "because // not a comment"]]}},
  "net_settings": {"classes": [{"name": "Default", "clearance": 0.1, "track_width": 0.15}]}}"#;

fn state(text: &str) -> ProjectState {
    ProjectState::of_bytes(text.as_bytes())
}

#[test]
fn reads_rules() {
    let ProjectState::Ok(rules) = state(WHOLE) else { panic!("{:?}", state(WHOLE)) };
    assert_eq!(rules.limits["min_clearance"], Nm(50_000));
    assert_eq!(rules.limits["min_track_width"], Nm(200_000));
    assert_eq!(rules.limits.len(), 2);
    assert_eq!(rules.classes[0].clearance, Some(Nm(100_000)));
    assert_eq!(rules.ignored_checks().collect::<Vec<_>>(), ["silk_overlap"]);
    assert_eq!(rules.exclusions[1].comment, "because // not a comment");
}

#[test]
fn tells_the_states_apart() {
    assert_eq!(state(""), ProjectState::Empty);
    assert_eq!(state(" \r\n\0"), ProjectState::Empty);
    assert_eq!(state("{}"), ProjectState::WithoutRules { missing: "board.design_settings.rules" });
    let no_classes =
        r#"{"board": {"design_settings": {"rules": {}}}, "net_settings": {"classes": []}}"#;
    assert_eq!(state(no_classes), ProjectState::WithoutRules { missing: "net_settings.classes" });
    assert!(matches!(
        state(&WHOLE[..WHOLE.len() - 9]),
        ProjectState::NotJson { cut_off: true, .. }
    ));
    assert!(matches!(state("{,}"), ProjectState::NotJson { cut_off: false, line: 1, .. }));
    assert_eq!(
        state("../other/x.kicad_pro"),
        ProjectState::LinkAsText { target: "../other/x.kicad_pro".into() }
    );
    assert_eq!(state("{\n<<<<<<< HEAD\n}"), ProjectState::MergeConflict { line: 2 });
    assert_eq!(state("[]"), ProjectState::WithoutRules { missing: "board.design_settings.rules" });
}

#[test]
fn accepts_what_kicad_accepts() {
    let commented = WHOLE.replacen('{', "{ // {\n /* \" */ ", 1);
    for text in
        [commented, format!("\u{feff}{WHOLE}"), format!("{WHOLE}\0"), WHOLE.replace('\n', "\r\n")]
    {
        assert!(state(&text).is_ok(), "{text}");
    }
    assert!(!state(&format!("{WHOLE}\nfoo")).is_ok());
}

#[test]
fn looks_at_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b.kicad_pro");
    assert_eq!(ProjectState::read(&path), ProjectState::Missing);
    std::fs::create_dir(&path).unwrap();
    assert_eq!(ProjectState::read(&path), ProjectState::NotPlainFile);
    std::fs::remove_dir(&path).unwrap();
    std::fs::write(&path, WHOLE).unwrap();
    assert!(ProjectState::read(&path).is_ok());
    #[cfg(unix)]
    {
        let link = folder.path().join("l.kicad_pro");
        std::os::unix::fs::symlink("b.kicad_pro", &link).unwrap();
        assert!(ProjectState::read(&link).is_ok());
        std::fs::remove_file(&path).unwrap();
        assert_eq!(ProjectState::read(&link), ProjectState::NotPlainFile);
    }
}

#[test]
fn absurd_limits_change_three_things_only() {
    let out = with_absurd_limit(WHOLE.as_bytes(), Probe::TrackWidth).unwrap();
    let (old, new): (Value, Value) =
        (serde_json::from_str(WHOLE).unwrap(), serde_json::from_slice(&out).unwrap());
    assert_eq!(new["net_settings"], old["net_settings"]);
    let settings = &new["board"]["design_settings"];
    assert_eq!(settings["rules"]["min_track_width"], 24.683);
    assert_eq!(settings["rule_severities"]["track_width"], "error");
    assert_eq!(settings["rule_severities"]["silk_overlap"], "ignore");
    assert!(with_absurd_limit(b"{}", Probe::HoleSize).is_err());
    assert!(
        Probe::TrackWidth
            .is_hit("track_width", "Track width (… min width 24.6830 mm; actual 0.3000 mm)")
    );
    assert!(!Probe::HoleSize.is_hit("track_width", "24.6830"));
}

#[test]
fn reads_every_project_of_the_corpus() {
    let Some(files) = corpus_files("", |p| p.extension().is_some_and(|e| e == "kicad_pro")) else {
        return;
    };
    for path in files {
        let state = ProjectState::read(&path);
        let name = path.to_string_lossy();
        if name.contains("truncated-pro/cut") {
            assert!(
                matches!(state, ProjectState::NotJson { cut_off: true, .. }),
                "{name}: {state:?}"
            );
        } else {
            assert!(state.is_ok(), "{name}: {state:?}");
        }
    }
    let Some(corpus) = corpus() else { return };
    let knob = corpus.join("v6-smartknob-view-base/electronics/view_base/view_base.kicad_pro");
    let ProjectState::Ok(rules) = ProjectState::read(&knob) else { panic!("the project is whole") };
    assert_eq!(rules.exclusions.len(), 4);
    assert_eq!(rules.limits["min_track_width"], Nm(127_000));
}

proptest! {
    #[test]
    fn any_bytes_have_a_state(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _state = ProjectState::of_bytes(&bytes);
    }

    #[test]
    fn comments_never_panic(text in r#"[/*"\\a\n{]{0,40}"#) {
        prop_assert_eq!(without_comments(text.as_bytes()).len(), text.len());
        let _state = state(&text);
    }

    #[test]
    fn cut_projects_are_never_ok(cut in 1_usize..480) {
        prop_assume!(cut < WHOLE.len());
        prop_assert!(!state(&WHOLE[..cut]).is_ok());
    }
}
