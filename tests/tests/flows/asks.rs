//! What a person is asked, and what an answer does.

use std::fs;

use pcbflow_core::event::Fact;
use pcbflow_tests::TestEnvironment;
use pcbflow_tests::ledger::count;
use pcbflow_tests::manifest::Manifest;

/// A step that passes only once a file is there.
fn wants_a_file(test: &TestEnvironment) -> String {
    let file = test.path("thing").display().to_string();
    let board = Manifest::new("b")
        .phase("05-schematic-audit")
        .act("check", "look", &["cat", &file], &[])
        .make("after", "out/after.txt", &["needs: [look]"]);
    test.boards(&[&board]);
    file
}

#[test]
fn one_ask_one_answer_and_on_it_goes() {
    let test = TestEnvironment::new();
    let file = wants_a_file(&test);
    let stopped = test.json(4, &["run", "b"]);
    assert!(stopped["ask"]["id"].is_string(), "{stopped:#}");
    assert_eq!(stopped["asks"].as_array().map(Vec::len), Some(1));
    for part in ["what", "why", "tried", "worked", "ask"] {
        assert!(stopped["human"][part].as_str().is_some_and(|t| !t.is_empty()), "{stopped:#}");
    }
    assert!(stopped["resume"].as_str().is_some_and(|r| r.starts_with("pcbflow ")));
    // A new run tries again; still there is one open ask, not two.
    let again = test.json(4, &["run", "b"]);
    assert_eq!(again["asks"].as_array().map(Vec::len), Some(1), "{again:#}");
    let ask = again["ask"]["id"].as_str().expect("an ask").to_owned();
    let status = test.json(0, &["status", "b"]);
    assert!(status.to_string().contains(&ask), "{status:#}");
    test.pcbflow(&["explain", &ask, "--board", "b"]).exits(0);
    fs::write(file, "here").expect("the thing");
    test.pcbflow(&["answer", &ask, "retry"]).exits(0);
    test.pcbflow(&["answer", &ask, "retry"]).exits_one_of(&[0, 11]);
    assert_eq!(count(&test.facts("b"), |f| matches!(f, Fact::AskAnswered { .. })), 1);
    let done = test.json(0, &["resume", "b"]);
    assert_eq!(done["verdict"], "pass", "{done:#}");
    assert!(test.board("b").join("out/after.txt").is_file());
    test.pcbflow(&["replay", "b"]).exits(0);
}

/// A person may have mended what was wrong, or accepted it: it is told as their help, and a pass names
/// what nothing was planned for.
#[test]
fn what_a_person_did_is_not_told_as_a_cure() {
    let test = TestEnvironment::new();
    let file = test.path("thing").display().to_string();
    let board = Manifest::new("b")
        .phase("05-schematic-audit")
        .act("check", "look", &["cat", &file], &[])
        .phase("12-final-verification");
    test.boards(&[&board]);
    let stopped = test.json(4, &["run", "b"]);
    let ask = stopped["ask"]["id"].as_str().expect("an ask").to_owned();
    fs::write(file, "here").expect("the thing");
    test.pcbflow(&["answer", &ask, "retry"]).exits(0);
    let done = test.pcbflow(&["resume", "b"]).exits(0).stdout.clone();
    assert!(done.contains("The step went on after your help."), "{done}");
    assert!(!done.contains("I fixed"), "{done}");
    let unplanned = "Not checked, because project.yaml has no steps there: 12-final-verification";
    assert!(done.contains(unplanned), "{done}");
}

#[test]
fn one_missing_program_is_asked_for_once_and_one_answer_frees_all_steps() {
    let test = TestEnvironment::new();
    let (one, two) = (test.path("one-tool"), test.path("two-tool"));
    let (one, two) = (one.display().to_string(), two.display().to_string());
    let board = Manifest::new("b")
        .phase("12-final-verification")
        .command("check", "erc", &[&one, "say", "fine"], &[])
        .command("check", "drc", &[&one, "say", "fine"], &[])
        .command("check", "netlist", &[&one, "say", "fine"], &[])
        .command("check", "parity", &[&two, "say", "fine"], &[]);
    test.boards(&[&board]);
    let stopped = test.json(4, &["run", "b"]);
    let asks = stopped["asks"].as_array().expect("asks").clone();
    assert_eq!(asks.len(), 2, "one for each program: {stopped:#}\n{}", test.story("b"));
    let first = asks.iter().find(|a| !a["also"].to_string().contains("[]")).expect("a shared ask");
    let mut waiting = vec![first["step"].to_string()];
    waiting.extend(first["also"].as_array().expect("steps").iter().map(ToString::to_string));
    assert_eq!(waiting.len(), 3, "{stopped:#}");
    assert!(!waiting.iter().any(|s| s.contains("parity")), "{stopped:#}");
    let act = pcbflow_tests::program::own("act");
    for tool in [&one, &two] {
        fs::copy(&act, tool).expect("the program");
    }
    for ask in &asks {
        test.pcbflow(&["answer", ask["id"].as_str().expect("an id"), "retry"]).exits(0);
    }
    let done = test.json(0, &["resume", "b"]);
    assert_eq!(done["verdict"], "pass", "{done:#}");
    assert_eq!(count(&test.facts("b"), |f| matches!(f, Fact::AskAnswered { .. })), 2);
    test.pcbflow(&["replay", "b"]).exits(0);
}

#[test]
fn a_retry_without_a_change_asks_again_and_never_spins() {
    let test = TestEnvironment::new();
    let _file = wants_a_file(&test);
    let ask = test.json(4, &["run", "b"])["ask"]["id"].as_str().expect("an ask").to_owned();
    let attempts = || count(&test.facts("b"), |f| matches!(f, Fact::AttemptStarted { .. }));
    let first = attempts();
    test.pcbflow(&["answer", &ask, "retry"]).exits(0);
    let stopped = test.json(4, &["resume", "b"]);
    assert_ne!(stopped["ask"]["id"], ask.as_str(), "a new ask\n{}", test.story("b"));
    assert!(attempts() <= 2 * first + 1, "{}", test.story("b"));
}

/// A command whose effect nobody can read back: each go is one line in a file, and it fails until
/// another file is there.
fn unclear(test: &TestEnvironment) -> (String, String) {
    let (goes, wanted) = (test.path("goes"), test.path("wanted"));
    let (goes, wanted) = (goes.display().to_string(), wanted.display().to_string());
    let work = format!("echo go >> '{goes}'; cat '{wanted}'");
    let board = Manifest::new("b").phase("05-schematic-audit").command(
        "command",
        "order",
        &["sh", "-c", &work],
        &[],
    );
    test.boards(&[&board]);
    (goes, wanted)
}

#[test]
fn a_command_of_unknown_effect_runs_once_for_each_word_of_the_person() {
    let test = TestEnvironment::new();
    let (goes, wanted) = unclear(&test);
    let times = || fs::read_to_string(&goes).expect("goes").lines().count();
    test.json(4, &["run", "b"]);
    // Nobody looked: however often it is started, it stays at one.
    test.json(4, &["resume", "b"]);
    let ask = test.json(4, &["run", "b"])["ask"]["id"].as_str().expect("an ask").to_owned();
    assert_eq!(times(), 1, "{}", test.story("b"));
    test.pcbflow(&["answer", &ask, "retry"]).exits(0);
    test.json(4, &["run", "b"]);
    let ask = test.json(4, &["run", "b"])["ask"]["id"].as_str().expect("an ask").to_owned();
    assert_eq!(times(), 2, "one word, one go\n{}", test.story("b"));
    fs::write(&wanted, "here").expect("what it wants");
    test.pcbflow(&["answer", &ask, "retry"]).exits(0);
    test.json(0, &["run", "b"]);
    test.json(0, &["run", "b"]);
    assert_eq!(times(), 3, "{}", test.story("b"));
    test.pcbflow(&["replay", "b"]).exits(0);
}

/// One that passed is not run again because something about it is new: the person decides.
#[test]
fn a_command_that_was_done_is_not_done_again_without_a_word() {
    let test = TestEnvironment::new();
    let goes = test.path("goes").display().to_string();
    let work = format!("echo go >> '{goes}'");
    let times = || fs::read_to_string(&goes).expect("goes").lines().count();
    let board = |more: &[&str]| {
        Manifest::new("b").phase("05-schematic-audit").command(
            "command",
            "order",
            &["sh", "-c", &work],
            more,
        )
    };
    test.boards(&[&board(&["inputs: [parts.csv]", "outputs: []"])]);
    let parts = test.board("b").join("parts.csv");
    fs::write(&parts, "R1").expect("parts");
    test.json(0, &["run", "b"]);
    test.json(4, &["run", "b", "--force"]);
    assert_eq!(times(), 1);
    fs::write(&parts, "R2").expect("parts");
    let ask = |ran: &serde_json::Value| ran["ask"]["id"].as_str().expect("an ask").to_owned();
    let asked = test.json(4, &["run", "b"]);
    test.json(2, &["answer", &ask(&asked), "yes"]);
    test.pcbflow(&["answer", &ask(&asked), "done"]).exits(0);
    assert_eq!(test.json(0, &["run", "b"])["verdict"], "pass");
    test.json(0, &["run", "b"]);
    assert_eq!(times(), 1, "the person said that it is done\n{}", test.story("b"));
    fs::write(&parts, "R3").expect("parts");
    let asked = test.json(4, &["run", "b"]);
    test.pcbflow(&["answer", &ask(&asked), "retry"]).exits(0);
    test.json(0, &["run", "b"]);
    test.json(0, &["run", "b"]);
    assert_eq!(times(), 2, "one word, one go\n{}", test.story("b"));
    test.pcbflow(&["replay", "b"]).exits(0);
}

#[test]
fn a_command_that_never_began_needs_no_word() {
    let test = TestEnvironment::new();
    let tool = test.path("tool").display().to_string();
    let board = Manifest::new("b").phase("05-schematic-audit").command(
        "command",
        "order",
        &[&tool, "say", "fine"],
        &[],
    );
    test.boards(&[&board]);
    test.json(4, &["run", "b"]);
    fs::copy(pcbflow_tests::program::own("act"), &tool).expect("the program");
    test.json(0, &["run", "b"]);
}

#[test]
fn odd_answers_are_refused_and_change_nothing() {
    let test = TestEnvironment::new();
    let _file = wants_a_file(&test);
    let ask = test.json(4, &["run", "b"])["ask"]["id"].as_str().expect("an ask").to_owned();
    let before = test.events("b").len();
    test.json(11, &["answer", "a99", "retry"]);
    test.pcbflow(&["answer", "nonsense", "retry", "--json"]).exits_one_of(&[2, 11]);
    test.json(2, &["answer", &ask, ""]);
    assert_eq!(test.events("b").len(), before, "{}", test.story("b"));
}

#[test]
fn publishing_waits_for_a_word_and_happens_once() {
    let test = TestEnvironment::new();
    let effect = test.path("published").display().to_string();
    let board = Manifest::new("b").phase("12-final-verification").land("order", &effect, &[], &[]);
    let text = board.text().replace("safety: once", "safety: publish");
    test.boards(&[&Manifest::new("b").phase("x")]);
    fs::write(test.board("b").join("project.yaml"), text).expect("a manifest");
    let told = test.json(4, &["run", "b"]);
    let ask = told["ask"]["id"].as_str().expect("an ask").to_owned();
    let wants = told["human"]["ask"].as_str().expect("a question");
    assert!(wants.ends_with("say 'yes' or 'no'."), "{told}");
    assert!(!test.path("published").exists(), "published without a word");
    // Asked again, it is the same question, told in full with the line that answers it.
    let again = test.pcbflow(&["run", "b"]);
    again.exits(4);
    assert!(again.stdout.contains(wants) || again.stdout.contains("'yes'"), "{again}");
    assert!(again.stdout.contains(&format!("pcbflow answer {ask} yes")), "{again}");
    test.pcbflow(&["answer", &ask, "no"]).exits(0);
    // Declined is neither done nor proven.
    test.pcbflow(&["resume", "b"]).exits_one_of(&[4, 5]);
    assert!(!test.path("published").exists(), "published against a word");
    let ask = test.json(4, &["run", "b"])["ask"]["id"].as_str().expect("an ask").to_owned();
    test.pcbflow(&["answer", &ask, "yes"]).exits(0);
    test.pcbflow(&["resume", "b"]).exits(0);
    test.pcbflow(&["run", "b"]).exits(0);
    let landed = fs::read_to_string(test.path("published")).expect("the effect");
    assert_eq!(landed.lines().count(), 1, "{}", test.story("b"));
}
