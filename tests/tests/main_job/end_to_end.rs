//! StickHub, once through.

use std::collections::BTreeSet;
use std::fs;

use pcbflow_core::event::Fact;
use pcbflow_tests::ledger::count;
use pcbflow_tests::{TestEnvironment, files};
use serde_json::Value;

#[test]
fn a_real_board_from_its_project_file_to_the_fabrication_files() {
    let test = TestEnvironment::new();
    let Some(project) = test.demo(9, "stickhub") else { return };
    let before = files::tree(&project);
    if test.stickhub().is_none() {
        return;
    }
    // The second copy wrote the same bytes again: what counts begins here.
    let start = files::tree(&project);
    let contents = |tree: &std::collections::BTreeMap<_, files::Mark>| {
        tree.iter()
            .map(|(name, mark): (&std::path::PathBuf, _)| (name.clone(), mark.digest))
            .collect::<Vec<_>>()
    };
    assert_eq!(contents(&before), contents(&start));

    let done = test.json(0, &["run", "stickhub"]);
    the_verdict(&done);
    outputs_are_committed(&test);
    let events = test.events("stickhub").len();
    let again = test.json(0, &["run", "stickhub"]);
    assert_eq!(again["data"]["cause"], "nothing_to_do", "{again:#}");
    assert_eq!(test.events("stickhub").len(), events, "a run with nothing to do appends nothing");
    everything_can_be_asked(&test);
    the_record_moves_whole(&test);
    let checked = test.json(0, &["check", "stickhub"]);
    assert_eq!(checked["verdict"], "pass");
    assert_eq!(files::tree(&project), start, "the engineer's project: bytes, rights and times");
}

/// No errors; warnings that depend on the machine's libraries are told apart.
fn the_verdict(done: &Value) {
    assert_eq!(done["verdict"], "pass", "{done:#}");
    let counts = &done["data"]["counts"];
    assert_eq!(counts["errors"], 0, "{counts:#}");
    let findings = done["data"]["findings"].as_array().cloned().unwrap_or_default();
    for finding in &findings {
        let rule = finding["rule"].as_str().unwrap_or_default();
        let checked = finding["engine"] == "drc" || finding["engine"] == "erc";
        let library = rule.starts_with("lib_") || rule == "footprint_link_issues";
        if checked {
            assert_eq!(finding["apart"].as_bool(), Some(library), "{finding:#}");
        }
        assert_eq!(finding["severity"], "warning", "{finding:#}");
        assert!(finding["id"].is_string(), "{finding:#}");
    }
    let apart = findings.iter().filter(|f| f["apart"] == true).count();
    assert_eq!(counts["apart"].as_u64(), Some(apart as u64), "{counts:#}");
    assert!(apart > 0, "StickHub has library warnings");
    let ids: BTreeSet<String> = findings.iter().map(|f| f["id"].to_string()).collect();
    assert_eq!(ids.len(), findings.len(), "ids are unique");
    let phases: Vec<&str> = done["data"]["phases"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|p| p["phase"].as_str())
        .collect();
    assert_eq!(phases, ["05-schematic-audit", "10-export-to-kicad", "12-final-verification"]);
    assert!(
        done["data"]["phases"].as_array().into_iter().flatten().all(|p| p["commit"].is_string())
    );
}

/// Each phase is a commit with its trailers; all files that a fab house wants are in it.
fn outputs_are_committed(test: &TestEnvironment) {
    let log = test.git(&["log", "--format=%B", "--", "projects/stickhub"]);
    for trailer in ["Pcbflow-Ledger: ", "Pcbflow-Run: ", "Pcbflow-Phase: "] {
        assert_eq!(log.matches(trailer).count(), 3, "{trailer}\n{log}");
    }
    let listed = test.git(&["ls-tree", "-r", "-l", "HEAD", "--", "projects/stickhub"]);
    let names: Vec<&str> = listed.lines().filter_map(|l| l.split('\t').nth(1)).collect();
    for line in listed.lines() {
        assert!(!line.contains(" 0\t"), "an empty output: {line}");
    }
    let has = |part: &str| names.iter().any(|n| n.to_lowercase().contains(part));
    for part in
        ["f_cu", "b_cu", "edge_cuts", ".drl", ".pdf", ".step", "pos", "bom", "drc", "erc", "net"]
    {
        assert!(has(part), "no {part} in {names:#?}");
    }
    assert_eq!(
        test.git(&["status", "--porcelain"]).lines().filter(|l| l.contains("projects/")).count(),
        0
    );
    let facts = test.facts("stickhub");
    assert_eq!(count(&facts, |f| matches!(f, Fact::OutputsCommitted { .. })), 3);
    assert_eq!(
        count(&facts, |f| matches!(f, Fact::FailureDiagnosed { .. })),
        0,
        "{}",
        test.story("stickhub")
    );
}

fn everything_can_be_asked(test: &TestEnvironment) {
    let status = test.json(0, &["status", "stickhub"]);
    assert!(status.to_string().contains("PASS"), "{status:#}");
    for words in [
        &["log", "stickhub"][..],
        &["history", "stickhub"],
        &["history", "stickhub", "--decisions"],
        &["explain", "5", "--board", "stickhub"],
        &["explain", "5", "--board", "stickhub", "--technical"],
        &["replay", "stickhub"],
        &["verify-trace", "stickhub"],
        &["status", "stickhub", "--at", "7"],
        &["ledger", "stats"],
    ] {
        test.json(0, words);
        let told = test.pcbflow(words);
        assert!(!told.exits(0).stdout.trim().is_empty(), "{told}");
    }
    // The readable mirrors come back when they were deleted.
    let logs = test.board("stickhub").join(".logs");
    let before = files::contents(&logs);
    assert!(!before.is_empty());
    fs::remove_dir_all(&logs).expect("the mirrors");
    test.pcbflow(&["ledger", "rebuild-mirrors"]).exits(0);
    let after = files::contents(&logs);
    for (name, text) in before {
        let again = after.get(&name).map(|t| String::from_utf8_lossy(t).into_owned());
        assert_eq!(again.as_deref(), Some(&*String::from_utf8_lossy(&text)), "{}", name.display());
    }
}

/// A board's chain goes to another workspace and comes out of it byte for byte.
fn the_record_moves_whole(test: &TestEnvironment) {
    let export = test.path("board.export");
    let file = |path: &std::path::Path| path.display().to_string();
    test.pcbflow(&["ledger", "export", &file(&export), "--board", "stickhub"]).exits(0);
    test.pcbflow(&["ledger", "export", &file(&export)]).exits_one_of(&[2, 78]);
    let other = TestEnvironment::new();
    other.pcbflow(&["init", "somebody-else"]).exits(0);
    other.pcbflow(&["ledger", "import", &file(&export)]).exits(0);
    other.pcbflow(&["ledger", "import", &file(&export)]).exits(0);
    other.pcbflow(&["verify-trace", "stickhub"]).exits(0);
    other.pcbflow(&["ledger", "verify"]).exits(0);
    let back = other.path("back.export");
    other.pcbflow(&["ledger", "export", &file(&back), "--board", "stickhub"]).exits(0);
    assert!(
        fs::read(&export).expect("an export") == fs::read(&back).expect("an export"),
        "byte for byte"
    );
    assert_eq!(other.events("stickhub"), test.events("stickhub"));
    // One changed byte is noticed, and nothing of it is taken.
    let mut bytes = fs::read(&export).expect("an export");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(other.path("bad.export"), &bytes).expect("a file");
    let third = TestEnvironment::new();
    third.pcbflow(&["init", "x"]).exits(0);
    third.pcbflow(&["ledger", "import", &file(&other.path("bad.export"))]).exits(2);
    third.pcbflow(&["ledger", "verify"]).exits(0);
}
