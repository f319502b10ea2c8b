//! What goes where: one document, JSON lines, nothing but data on standard output.

use pcbflow_tests::TestEnvironment;
use pcbflow_tests::manifest::Manifest;

fn board() -> Manifest {
    Manifest::new("b").phase("05-schematic-audit").make("one", "out/1.txt", &[]).act(
        "check",
        "two",
        &["say", "\u{1b}[31mred\u{1b}[0m \u{7}bell"],
        &[],
    )
}

#[test]
fn events_begin_with_the_version_and_end_with_the_result() {
    let test = TestEnvironment::new();
    test.boards(&[&board()]);
    let ran = test.pcbflow(&["run", "b", "--events"]);
    let lines = ran.exits(0).events();
    assert_eq!(lines[0]["type"], "version");
    assert_eq!(lines[0]["schema"], 1);
    assert!(lines.iter().all(|l| l["type"].is_string()), "{ran}");
    assert_eq!(lines.iter().filter(|l| l["type"] == "result").count(), 1);
    // Every event of the record, in its order.
    let told: Vec<u64> = lines.iter().filter_map(|l| l["seq"].as_u64()).collect();
    let recorded = test.events("b").len() as u64;
    assert!(told.is_sorted() && told.last() == Some(&recorded), "{told:?} of {recorded}");
}

#[test]
fn every_command_answers_with_one_document() {
    let test = TestEnvironment::new();
    test.boards(&[&board()]);
    test.pcbflow(&["run", "b"]).exits(0);
    let commands: &[(&[i32], &[&str])] = &[
        (&[0], &["status"]),
        (&[0], &["status", "b"]),
        (&[0], &["status", "b", "--at", "3"]),
        (&[0], &["log", "b"]),
        (&[0], &["history", "b"]),
        (&[0], &["history", "b", "--decisions"]),
        (&[0, 11], &["explain", "--board", "b"]),
        (&[0], &["explain", "4", "--board", "b"]),
        (&[0], &["explain", "4", "--board", "b", "--technical"]),
        (&[0], &["check", "b"]),
        (&[0], &["lessons", "b"]),
        (&[0], &["replay", "b"]),
        (&[0], &["verify-trace", "b"]),
        (&[0], &["ledger", "verify"]),
        (&[0], &["ledger", "stats"]),
        (&[0], &["ledger", "rebuild-mirrors"]),
        (&[0], &["failures"]),
        (&[0], &["failures", "KI-6"]),
        (&[0], &["diagnose", "--text", "Segmentation fault", "--signal", "SEGV"]),
        (&[0], &["config", "show"]),
        (&[0], &["schema"]),
        (&[0, 3, 69], &["doctor"]),
        (&[2], &["run", "--no-such-flag"]),
        (&[2], &["no-such-command"]),
        (&[11], &["status", "nobody"]),
        (&[11], &["explain", "999999", "--board", "b"]),
        (&[11], &["failures", "XX-1"]),
        (&[11], &["history", "nobody"]),
    ];
    for (codes, words) in commands {
        let arguments = [*words, &["--json"]].concat();
        let ran = test.pcbflow(&arguments);
        let document = ran.exits_one_of(codes).json();
        assert!(!ran.stdout.contains('\u{1b}'), "{ran}");
        assert!(document["command"].is_string(), "{ran}");
    }
}

#[test]
fn piped_output_has_no_control_codes_and_progress_is_on_standard_error() {
    let test = TestEnvironment::new();
    test.boards(&[&board()]);
    let ran = test.pcbflow(&["run", "b"]);
    ran.exits(0);
    for text in [&ran.stdout, &ran.stderr] {
        assert!(!text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{text:?}");
    }
    assert!(ran.stderr.contains("one"), "a line a step\n{ran}");
    let quiet = test.pcbflow(&["run", "b", "--force", "-qq"]);
    assert_eq!(quiet.exits(0).stderr, "", "{quiet}");
    let log = test.pcbflow(&["log", "b"]);
    assert!(!log.exits(0).stdout.contains(['\u{1b}', '\u{7}']), "{log}");
}

#[test]
fn a_reader_that_goes_away_does_not_stop_a_run() {
    let test = TestEnvironment::new();
    test.boards(&[&board()]);
    let mut command = test.command(&["run", "b", "--events"]);
    command.stdin(std::process::Stdio::null());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().expect("pcbflow");
    drop(child.stdout.take());
    drop(child.stderr.take());
    let status = child.wait().expect("its end");
    assert_eq!(status.code(), Some(0), "{}", test.story("b"));
    assert!(test.board("b").join("out/1.txt").is_file());
}

/// The record of a real run goes to another workspace, and is whole there.
#[test]
fn a_record_that_moved_verifies_on_the_other_side() {
    let test = TestEnvironment::new();
    test.boards(&[&board()]);
    test.pcbflow(&["run", "b"]).exits(0);
    let (whole, bare) = (test.path("whole.export"), test.path("bare.export"));
    let (whole, bare) = (whole.display().to_string(), bare.display().to_string());
    test.pcbflow(&["ledger", "export", &whole, "--board", "b"]).exits(0);
    test.pcbflow(&["ledger", "export", &bare, "--board", "b", "--without-evidence"]).exits(0);

    let other = TestEnvironment::new();
    other.pcbflow(&["init", "somebody-else"]).exits(0);
    let moved = other.json(0, &["ledger", "import", &whole])["data"]["moved"].clone();
    assert!(moved["evidence_fresh"].as_u64().is_some_and(|n| n > 0), "{moved}");
    other.pcbflow(&["ledger", "verify"]).exits(0);
    let back = other.path("back.export").display().to_string();
    other.pcbflow(&["ledger", "export", &back, "--board", "b"]).exits(0);
    let bytes = |path: &str| std::fs::read(path).expect("an export");
    assert!(bytes(&whole) == bytes(&back), "byte for byte");

    // Without evidence the chain is whole, and what it names is not there: that is not clean.
    let third = TestEnvironment::new();
    third.pcbflow(&["init", "somebody-else"]).exits(0);
    third.pcbflow(&["ledger", "import", &bare]).exits(0);
    third.pcbflow(&["ledger", "verify"]).exits(12);
    third.pcbflow(&["ledger", "import", &whole]).exits(0);
    third.pcbflow(&["ledger", "verify"]).exits(0);
}
