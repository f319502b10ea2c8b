//! A kicad-cli that hangs, floods, forks, crashes and lies. Never a clean verdict.

use std::fs;

use pcbflow_core::event::Fact;
use pcbflow_tests::TestEnvironment;
use pcbflow_tests::files::replace;
use pcbflow_tests::ledger::count;
use serde_json::{Value, json};

/// A board with nothing but its design-rule check, which may take three seconds.
fn ready() -> Option<TestEnvironment> {
    let test = TestEnvironment::new();
    test.tracks("tracks")?;
    let file = test.board("tracks").join("project.yaml");
    let text = fs::read_to_string(&file).expect("a manifest");
    let end = text.find("      - id: fabrication").expect("the second step");
    fs::write(&file, &text[..end]).expect("a manifest");
    replace(&file, "uses: kicad/drc\n", "uses: kicad/drc\n        timeout: 3s\n");
    Some(test)
}

/// Every call of the check misbehaves: the run must not end well; then it is put right.
fn never_clean(orders: &Value, classes: &[&str]) {
    let Some(test) = ready() else { return };
    test.fake_kicad(orders);
    let ran = test.pcbflow(&["run", "tracks", "--json"]);
    let stopped = ran.exits_one_of(&[4, 5, 75]).json();
    assert_ne!(stopped["verdict"], "pass", "{ran}");
    let class = stopped["class"].as_str().unwrap_or("none").to_owned();
    assert!(
        classes.contains(&class.as_str()),
        "{class} is not of {classes:?}\n{}",
        test.story("tracks")
    );
    let facts = test.facts("tracks");
    assert_eq!(count(&facts, |f| matches!(f, Fact::StepPassed { .. })), 0);
    assert_eq!(count(&facts, |f| matches!(f, Fact::OutputsCommitted { .. })), 0);
    assert!(count(&facts, |f| matches!(f, Fact::FailureDiagnosed { .. })) > 0);
    test.pcbflow(&["ledger", "verify"]).exits(0);
    test.pcbflow(&["replay", "tracks"]).exits(0);
    assert!(test.no_fakes(), "the stand-in was not used");
    if let Some(ask) = stopped["ask"]["id"].as_str() {
        test.pcbflow(&["answer", ask, "retry"]).exits(0);
    }
    let done = test.json(0, &["run", "tracks"]);
    assert_eq!(done["verdict"], "pass", "{done:#}");
}

fn always(mode: &str) -> Value {
    json!({"when": "pcb drc", "mode": mode})
}

#[test]
fn it_hangs_once_and_is_healed() {
    let Some(test) = ready() else { return };
    test.fake_kicad(&json!({"when": "pcb drc", "mode": "hang", "times": 1}));
    let done = test.json(0, &["run", "tracks"]);
    assert_eq!(done["verdict"], "pass");
    let facts = test.facts("tracks");
    let healed = count(
        &facts,
        |f| matches!(f, Fact::StepRecovered { class, .. } if class.as_str() == "SC-3"),
    );
    assert_eq!(healed, 1, "{}", test.story("tracks"));
    assert!(test.no_fakes());
    test.pcbflow(&["replay", "tracks"]).exits(0);
}

#[test]
fn it_hangs_for_ever() {
    never_clean(&always("hang"), &["SC-3"]);
}

#[test]
fn it_prints_and_writes_nothing() {
    never_clean(&always("nothing"), &["KI-6", "SC-7"]);
}

#[test]
fn it_prints_a_gigabyte() {
    never_clean(&always("flood"), &["KI-6", "SC-4", "SC-7", "SC-3"]);
}

#[test]
fn it_forks_a_child_that_holds_the_pipe() {
    never_clean(&always("fork"), &["KI-6", "SC-3", "SC-7"]);
}

#[test]
fn it_crashes() {
    never_clean(&always("segfault"), &["SC-1", "KI-7"]);
    never_clean(&always("abort"), &["SC-1", "KI-7"]);
}

#[test]
fn it_says_saved_and_writes_nothing() {
    never_clean(&always("saved"), &["KI-6", "SC-7"]);
    never_clean(&always("empty"), &["KI-6", "SC-7"]);
}

#[test]
fn it_writes_half_a_report() {
    never_clean(&always("half"), &["KI-6", "SC-7"]);
}

#[test]
fn it_serves_a_report_of_yesterday_or_of_another_board() {
    let Some(test) = ready() else { return };
    let report = test.path("report.json");
    let of = |source: &str, date: &str| {
        json!({"$schema": "https://schemas.kicad.org/drc.v1.json", "coordinate_units": "mm",
            "date": date, "included_severities": ["error", "warning", "exclusion"],
            "kicad_version": "9.0.8", "source": source, "violations": [],
            "unconnected_items": [], "schematic_parity": []})
        .to_string()
    };
    fs::write(&report, of("tracks.kicad_pcb", "2020-01-01T00:00:00+0000")).expect("a report");
    let orders = |mode: &str| json!({"when": "pcb drc", "mode": mode, "report": report});
    never_clean(&orders("stale"), &["KI-6", "SC-7"]);
    fs::write(&report, of("other.kicad_pcb", "2099-01-01T00:00:00+0000")).expect("a report");
    never_clean(&orders("other_board"), &["KI-6", "SC-7"]);
}

#[test]
fn it_finds_nothing_whatever_there_is() {
    never_clean(&always("clean"), &["KI-6"]);
}
