//! A clock that jumps back.

use pcbflow_core::event::Fact;
use pcbflow_tests::manifest::Manifest;
use pcbflow_tests::{Running, TestEnvironment, tools};

#[test]
fn a_clock_that_jumps_back_two_days_changes_no_order_and_no_outcome() {
    let Some(faketime) = tools::find("faketime") else {
        pcbflow_tests::note("skipped: faketime is not here (Debian: package faketime)");
        return;
    };
    let test = TestEnvironment::new();
    let thing = test.path("thing").display().to_string();
    let board = Manifest::new("b").phase("05-schematic-audit").make("one", "out/1.txt", &[]).act(
        "check",
        "look",
        &["cat", &thing],
        &["needs: [one]", "inputs: []"],
    );
    test.boards(&[&board]);
    let ask = test.json(4, &["run", "b"])["ask"]["id"].as_str().expect("an ask").to_owned();
    let before = test.events("b");
    std::fs::write(&thing, "here").expect("the thing");
    for words in [&["answer", ask.as_str(), "retry"][..], &["resume", "b"]] {
        let mut command = test.program(&faketime);
        command.args(["-f", "-2d"]).arg(pcbflow_tests::program::pcbflow()).args(words);
        Running::start(command).wait().exits(0);
    }
    let after = test.events("b");
    assert_eq!(&after[..before.len()], &before[..]);
    assert!(after[before.len()..].iter().any(|e| e.at < before[0].at), "the clock did jump");
    assert!(after.iter().zip(1..).all(|(e, n)| e.seq.0 == n), "{}", test.story("b"));
    assert!(after.iter().any(|e| matches!(e.fact, Fact::OutputsCommitted { .. })));
    test.pcbflow(&["ledger", "verify"]).exits(0);
    test.pcbflow(&["replay", "b"]).exits(0);
    let again = test.json(0, &["run", "b"]);
    assert_eq!(again["data"]["cause"], "nothing_to_do");
}
