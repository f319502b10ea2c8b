//! What people read about a board that was healed once and then needs them.

use pcbflow_core::event::{Decision, Fact};
use pcbflow_core::ids::{Digest, StepKey};
use pcbflow_core::ids::{PhaseId, StepId};

use crate::env::TestEnvironment;
use crate::scenes::{self, Scene};

#[test]
fn status_names_the_place_the_ask_and_the_literal_answer() {
    let env = TestEnvironment::new();
    scenes::full(&env, "door").close();
    let ran = env.run(&["status"]);
    assert!(ran.out.starts_with("door  needs you\n"), "{}", ran.out);
    assert!(ran.out.contains("05-schematic-audit        PASS         committed 0123456789"));
    assert!(ran.out.contains("pcbflow answer a1 retry\n"), "{}", ran.out);
    assert!(ran.out.contains("Last good step: 12-final-verification/drc"), "{}", ran.out);
    let json = env.run(&["status", "--json"]).json();
    assert_eq!(json["ask"]["id"], "a1");
    let board = &json["data"]["boards"][0];
    assert_eq!(board["standing"], "needs_you");
    assert_eq!(board["phases"][0]["done"], true);
    assert_eq!(board["asks"][0]["answer"], "pcbflow answer a1 retry");
    assert_eq!(board["running"], serde_json::Value::Null);
    let past = env.run(&["status", "door", "--at", "3"]);
    assert!(!past.out.contains("needs you"), "{}", past.out);
}

#[test]
fn several_boards_are_a_list_and_equal_asks_name_their_board() {
    let env = TestEnvironment::new();
    scenes::full(&env, "door").close();
    scenes::full(&env, "lamp").close();
    env.board("new", "board: new\nphases: []\n");
    env.board("broken", "board: [\n");
    let ran = env.run(&["status"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("pcbflow answer a1 retry --board door\n"), "{}", ran.out);
    assert!(ran.out.contains("pcbflow answer a1 retry --board lamp\n"), "{}", ran.out);
    assert!(ran.out.contains("no steps yet"), "{}", ran.out);
    let which = env.run(&["log"]);
    assert_eq!(which.code, 2);
    assert!(which.err.contains("door, lamp"), "{}", which.err);
}

#[test]
fn a_running_board_shows_its_owner() {
    let env = TestEnvironment::new();
    let scene = scenes::full(&env, "door");
    let state_dir = env.workspace.join(".pcbflow");
    let owner = pcbflow_cli::compose::owner();
    let at = pcbflow_core::time::Timestamp(0);
    let claim = pcbflow_engine::Claim::take(&state_dir, &scene.board, &owner, at).unwrap();
    let ran = env.run(&["status"]);
    assert!(ran.out.starts_with("door  running\n"), "{}", ran.out);
    assert!(ran.out.contains(&format!("Process {}", std::process::id())), "{}", ran.out);
    drop(claim);
    // Another test of this process may be between fork and exec of a child, which holds the lock
    // until then.
    let freed = (0..50).any(|_| {
        let free = env.run(&["status"]).out.starts_with("door  needs you\n");
        if !free {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        free
    });
    assert!(freed, "{:?}", env.run(&["status"]));
}

#[test]
fn the_log_has_two_lines_an_attempt() {
    let env = TestEnvironment::new();
    scenes::full(&env, "door").close();
    let ran = env.run(&["log"]);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(lines.len() >= 6 && lines.len().is_multiple_of(2), "{}", ran.out);
    for pair in lines.chunks(2) {
        assert!(pair[0].get(2..3) == Some(":") && pair[0].contains("door · "), "{}", pair[0]);
        assert!(pair[1].starts_with("          → "), "{}", pair[1]);
        assert!(pair[1].trim().chars().count() > 4, "{}", pair[1]);
    }
    assert!(ran.out.contains("schematic-audit · erc   ✅ ok"), "{}", ran.out);
    assert!(ran.out.contains("✅ recovered") && ran.out.contains("❌ failed"), "{}", ran.out);
    assert!(ran.out.contains("✋ escalated"), "{}", ran.out);
    let last = env.run(&["log", "--last", "1", "--json"]).json();
    let attempts = last["data"]["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 1);
    assert_eq!(attempts[0]["status"], "escalated");
    let phase = env.run(&["log", "--phase", "schematic-audit", "--json"]).json();
    assert_eq!(phase["data"]["attempts"].as_array().unwrap().len(), 2, "a pass and findings");
}

#[test]
fn explain_tells_five_parts_and_keeps_machine_detail_for_the_record() {
    let env = TestEnvironment::new();
    let scene = scenes::full(&env, "door");
    let drc = first_failure(&env, "KI-6");
    let last = scene.head();
    scene.close();
    let newest = env.run(&["explain"]);
    for title in ["What happened", "Why", "What I tried", "Did it work", "What you need to do"] {
        assert!(newest.out.contains(title), "{}", newest.out);
    }
    let healed = env.run(&["explain", &drc.to_string()]);
    assert!(healed.out.contains("Yes."), "{}", healed.out);
    for word in ["KI-6", "kicad-cli", "exit 0", "blake3", "kicad.pro_missing"] {
        assert!(!healed.out.contains(word), "{word}: {}", healed.out);
    }
    let technical = env.run(&["explain", &drc.to_string(), "--technical"]);
    for word in
        ["KI-6", "kicad-cli 9.0.8", "'door one.kicad_pcb'", "kicad.pro_missing", "zstd -dc <"]
    {
        assert!(technical.out.contains(word), "{word}: {}", technical.out);
    }
    let ask = env.run(&["explain", "a1", "--json"]).json();
    assert_eq!(ask["class"], "SC-2");
    assert_eq!(ask["ask"]["id"], "a1");
    assert_eq!(ask["resume"], "pcbflow resume door");
    assert!(ask["attempts"].as_u64().unwrap() >= 1);
    let run = env.run(&["explain", &last.to_string(), "--json"]).json();
    assert!(run["human"]["what"].as_str().unwrap().contains("needs you"), "{run}");
    let check = env.run(&["explain", "6", "--json"]).json();
    assert_eq!(check["human"]["worked"], "Yes. The check is clean and no work is lost.");
    let opened = env.run(&["explain", "0"]);
    assert!(opened.out.contains("Nothing failed there"), "{}", opened.out);
}

/// Position of the first failure of a class.
fn first_failure(env: &TestEnvironment, class: &str) -> u64 {
    let history = env.run(&["history", "--json"]).json();
    let rows = history["data"]["history"].as_array().unwrap().clone();
    let row =
        rows.iter().find(|r| r["fact"]["class"] == class && r["event"] == "failure_diagnosed");
    row.unwrap()["seq"].as_u64().unwrap()
}

#[test]
fn history_rows_are_stable_and_decisions_say_why() {
    let env = TestEnvironment::new();
    let scene = scenes::full(&env, "door");
    let head = scene.head();
    scene.close();
    let json = env.run(&["history", "--json"]).json();
    let rows = json["data"]["history"].as_array().unwrap();
    assert_eq!(rows.len() as u64, head + 1);
    let mut keys: Vec<&str> = rows[0].as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(
        keys.join(" "),
        "actor at attempt event fact hash line phase run seq step summary words_kept"
    );
    let some = env.run(&["history", "--from", "3", "--limit", "2", "--json"]).json();
    assert_eq!(some["data"]["history"][0]["seq"], 3);
    assert_eq!(some["data"]["next"], 5);
    let why = env.run(&["history", "--decisions"]);
    for word in
        ["failure KI-6", "rule that matched: KI-6 by KI-6 signal 1", "because: ", "based on event"]
    {
        assert!(why.out.contains(word), "{word}: {}", why.out);
    }
    let lessons = env.run(&["lessons", "--json"]).json();
    assert_eq!(lessons["data"]["lessons"][0]["class"], "KI-6");
    assert_eq!(lessons["data"]["lessons"][0]["worked"], 1);
}

fn decided(scene: &mut Scene, policy: Digest) {
    let key = StepKey {
        phase: PhaseId::new("12-final-verification").unwrap(),
        step: StepId::new("another").unwrap(),
    };
    let fact = Fact::DecisionTaken {
        decision: Decision::TryLater,
        based_on: pcbflow_core::ids::Seq(scene.head()),
        now: pcbflow_core::time::Timestamp(1_783_965_952_000_000),
        seed: 7,
        policy,
    };
    scene.put(Some(&key), fact, "made up");
}

#[test]
fn replay_proves_the_decisions_or_says_that_it_can_not() {
    let env = TestEnvironment::new();
    let mut scene = scenes::full(&env, "door");
    let same = env.run(&["replay", "--json"]);
    assert_eq!(same.code, 0, "{same:?}");
    assert!(same.json()["data"]["replay"]["compared"].as_u64().unwrap() > 5);
    decided(&mut scene, Digest::ZERO);
    let other = env.run(&["replay"]);
    assert_eq!(other.code, 5, "{other:?}");
    assert!(other.out.contains("could_not_run: recorded under another policy"), "{other:?}");
    let policy = scene.site.policy.digest();
    decided(&mut scene, policy);
    let different = env.run(&["replay", "--json"]);
    assert_eq!(different.code, 3, "{different:?}");
    assert_eq!(different.json()["data"]["replay"]["first_different"], scene.head());
}

#[test]
fn a_stopped_run_is_no_done_board() {
    let env = TestEnvironment::new();
    let mut scene = Scene::new(&env, "door");
    scene.start();
    scene.step("05-schematic-audit", "erc", "kicad/erc", &[scenes::Meets::Pass]);
    scene.judge("05-schematic-audit", pcbflow_core::check::PhaseVerdict::Pass);
    scene.stop(pcbflow_core::event::StopCause::Interrupted);
    scene.close();
    let ran = env.run(&["status"]);
    assert!(ran.out.starts_with("door  stopped\n"), "{}", ran.out);
    assert!(ran.out.contains("Go on with: pcbflow resume door"), "{}", ran.out);
}

#[test]
fn an_ask_takes_only_words_that_mean_something() {
    let env = TestEnvironment::new();
    scenes::full(&env, "door").close();
    for odd in ["banana", "yes", "no"] {
        let refused = env.run(&["answer", "a1", odd]);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.err.contains("say retry"), "{}", refused.err);
    }
    let taken = env.run(&["answer", "a1", "  Retry "]);
    assert_eq!(taken.code, 0, "{taken:?}");
    assert_eq!(env.run(&["answer", "a1", "retry"]).code, 0, "the same once more");
}

#[test]
fn explain_of_an_ask_names_its_line_and_never_picks_a_board() {
    let env = TestEnvironment::new();
    scenes::full(&env, "door").close();
    let one = env.run(&["explain", "a1"]);
    assert!(one.out.contains("When it is done: pcbflow answer a1 retry\n"), "{}", one.out);
    scenes::full(&env, "lamp").close();
    let which = env.run(&["explain", "a1"]);
    assert_eq!(which.code, 2, "{which:?}");
    assert!(which.err.contains("door, lamp"), "{}", which.err);
}
