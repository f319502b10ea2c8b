//! The record itself: checked, moved, its words removed.

use crate::env::TestEnvironment;
use crate::scenes;

#[test]
fn a_changed_byte_is_found_and_named() {
    let env = TestEnvironment::new();
    scenes::full(&env, "door").close();
    assert_eq!(env.run(&["verify-trace"]).code, 0);
    let path = env.workspace.join(".pcbflow/ledger.redb");
    let mut bytes = std::fs::read(&path).unwrap();
    let needle = b"first attempt";
    let at = bytes.windows(needle.len()).position(|w| w == needle).unwrap();
    bytes[at] = b'F';
    std::fs::write(&path, bytes).unwrap();
    for args in [&["verify-trace", "--json"][..], &["ledger", "verify", "--json"]] {
        let ran = env.run(args);
        assert_eq!(ran.code, 12, "{ran:?}");
        let json = ran.json();
        assert_eq!(json["class"], "LG-2");
        assert_eq!(json["ok"], false);
    }
    let json = env.run(&["verify-trace", "--json"]).json();
    assert!(json["data"]["broken_at"].as_u64().unwrap() > 0, "{json}");
    assert_eq!(
        json["data"]["last_good"].as_u64().unwrap() + 1,
        json["data"]["broken_at"].as_u64().unwrap()
    );
    let doctor = env.run(&["doctor"]);
    assert!(doctor.out.contains("problem          chain verifies"), "{}", doctor.out);
}

#[test]
fn a_record_that_is_gone_is_not_taken_for_a_new_one() {
    let env = TestEnvironment::new();
    scenes::full(&env, "door").close();
    assert_eq!(env.run(&["status"]).code, 0);
    std::fs::remove_file(env.workspace.join(".pcbflow/ledger.redb")).unwrap();
    let ran = env.run(&["status"]);
    assert_eq!(ran.code, 12, "{ran:?}");
    std::fs::write(env.workspace.join(".pcbflow/ledger.redb"), "not a record").unwrap();
    assert_eq!(env.run(&["verify-trace"]).code, 12);
}

#[test]
fn streams_move_whole_and_only_once() {
    let env = TestEnvironment::new();
    scenes::full(&env, "door").close();
    let file = env.workspace.join("door.export");
    let file = file.to_str().unwrap();
    let ran = env.run(&["ledger", "export", file, "--board", "door"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(env.run(&["ledger", "export", file]).code, 2, "never written over");
    let other = TestEnvironment::new();
    let ran = other.run(&["ledger", "import", file, "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.json()["data"]["moved"]["fresh"].as_u64().unwrap() > 10);
    let again = other.run(&["ledger", "import", file, "--json"]).json();
    assert_eq!(again["data"]["moved"]["fresh"], 0);
    let heads = |e: &TestEnvironment| e.run(&["history", "door", "--json"]).json()["head"].clone();
    assert_eq!(heads(&env), heads(&other));
    let mut bytes = std::fs::read(file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let bad = env.workspace.join("bad.export");
    std::fs::write(&bad, bytes).unwrap();
    let ran = TestEnvironment::new().run(&["ledger", "import", bad.to_str().unwrap()]);
    assert_eq!(ran.code, 2, "it is the file that is bad, not the record: {ran:?}");
    assert!(ran.err.contains("bad.export can't be imported"), "{}", ran.err);
    let folder = other.run(&["ledger", "import", "projects"]);
    assert!(folder.code == 2 && folder.err.contains("is a folder"), "{folder:?}");
    let device = other.run(&["ledger", "import", "/dev/null"]);
    assert!(device.code == 2 && device.err.contains("a pipe or a device"), "{device:?}");
}

#[test]
fn a_lost_record_has_a_way_on_and_a_sound_one_stays() {
    let env = TestEnvironment::new();
    scenes::full(&env, "door").close();
    let sound = env.run(&["ledger", "start-over", "--yes"]);
    assert_eq!(sound.code, 2, "{sound:?}");
    std::fs::remove_dir_all(env.workspace.join(".pcbflow")).unwrap();
    let lost = env.run(&["ledger", "export", "x.export"]);
    assert_eq!(lost.code, 12, "{lost:?}");
    assert!(lost.err.contains("pcbflow ledger start-over"), "{}", lost.err);
    assert!(!lost.out.contains("say 'retry'"), "no ask is open: {}", lost.out);
    assert_eq!(env.run(&["ledger", "start-over"]).code, 4, "only with a yes");
    assert_eq!(env.run(&["ledger", "start-over", "--yes"]).code, 0);
    assert_eq!(env.run(&["ledger", "export", "x.export"]).code, 0);
}

#[test]
fn words_are_removed_only_with_a_yes_and_the_chain_holds() {
    let env = TestEnvironment::new();
    scenes::full(&env, "door").close();
    let history = env.run(&["history", "--json"]).json();
    let rows = history["data"]["history"].as_array().unwrap();
    let row = rows.iter().find(|r| r["event"] == "failure_diagnosed").unwrap();
    let seq = row["seq"].to_string();
    let asked = env.run(&["ledger", "expunge", "door", &seq]);
    assert_eq!(asked.code, 4, "{asked:?}");
    assert!(asked.err.contains("--yes"), "{asked:?}");
    let ran = env.run(&["ledger", "expunge", "door", &seq, "--yes", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.json()["data"]["proven"], true);
    assert_eq!(env.run(&["ledger", "verify"]).code, 0);
    let after = env.run(&["history", "--from", &seq, "--limit", "1", "--json"]).json();
    assert_eq!(after["data"]["history"][0]["words_kept"], false);
    let told = env.run(&["explain", &seq, "--technical"]);
    assert!(told.out.contains("its words were removed"), "{}", told.out);
}

#[test]
fn mirrors_come_back() {
    let env = TestEnvironment::new();
    scenes::full(&env, "door").close();
    assert_eq!(env.run(&["ledger", "rebuild-mirrors", "door"]).code, 0);
    let logs = env.workspace.join("projects/door/.logs");
    let path = logs.join("12-final-verification.jsonl");
    let first = std::fs::read(&path).unwrap();
    let text = std::fs::read_to_string(logs.join("12-final-verification.log")).unwrap();
    std::fs::remove_dir_all(&logs).unwrap();
    assert_eq!(env.run(&["ledger", "rebuild-mirrors"]).code, 0);
    assert_eq!(std::fs::read(&path).unwrap(), first);
    let log = env.run(&["log", "--phase", "12-final-verification"]);
    assert_eq!(log.out, text, "the log and its mirror say the same");
}

#[test]
fn doctor_fixes_only_what_it_checks_again() {
    let env = TestEnvironment::new();
    let git = |args: &[&str]| {
        std::process::Command::new("git").args(args).current_dir(&env.workspace).output().unwrap()
    };
    assert!(git(&["init", "-q", "."]).status.success());
    std::fs::write(env.workspace.join(".gitignore"), "*.bak").unwrap();
    let named = |json: &serde_json::Value| {
        let checks = json["data"]["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|c| c["name"] == "record kept out of git").unwrap()
    };
    let before = named(&env.run(&["doctor", "--json"]).json());
    assert_eq!(before["result"], "problem");
    let fixed = named(&env.run(&["doctor", "--fix", "--json"]).json());
    assert_eq!((&fixed["result"], &fixed["fixed"]), (&"ok".into(), &true.into()));
    let text = std::fs::read_to_string(env.workspace.join(".gitignore")).unwrap();
    assert_eq!(text, "*.bak\n.pcbflow/\n.logs/\n");
    let again = named(&env.run(&["doctor", "--fix", "--json"]).json());
    assert_eq!((&again["result"], &again["fixed"]), (&"ok".into(), &false.into()));
}

#[test]
fn doctor_lets_pass_what_nothing_here_needs() {
    let env = TestEnvironment::new();
    let steps = "[{ id: a, uses: process/command, with: { argv: [\"true\"] } }]";
    env.board("a", &format!("board: a\nphases:\n  - id: 01-a\n    steps: {steps}\n"));
    let ran = env.run(&["doctor", "--json"]);
    let json = ran.json();
    let checks = json["data"]["checks"].as_array().unwrap();
    let result = |name: &str| {
        let found = checks.iter().find(|c| c["name"] == name);
        found.unwrap_or_else(|| panic!("no {name}: {ran:?}"))["result"].clone()
    };
    // No name for commits, in a workspace that commits nothing.
    assert_eq!(result("git identity"), "not_needed", "{ran:?}");
    assert_ne!(result("KiCad found"), "problem", "{ran:?}");
    assert_eq!(ran.code, 0, "{ran:?}");
}
