//! Failures of the editor and the browser, made to happen while a block is placed: the right row,
//! its rungs in their order, and the block there exactly once after them.

use std::path::Path;

use pcbflow_core::event::{Fact, RecoveryOutcome};
use pcbflow_tests::processes;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::place::{BOARD, Place};

/// Classes of the failures in their order.
fn classes(place: &Place) -> Vec<String> {
    let class = |fact: Fact| match fact {
        Fact::FailureDiagnosed { class, .. } => Some(class.to_string()),
        _ => None,
    };
    place.test.facts(BOARD).into_iter().filter_map(class).collect()
}

/// Rungs that were tried, with whether each says that it did its work.
fn rungs(place: &Place) -> Vec<(String, bool)> {
    let rung = |fact: Fact| match fact {
        Fact::RecoveryFinished { rung, outcome, .. } => {
            Some((rung, outcome == RecoveryOutcome::Done))
        }
        _ => None,
    };
    place.test.facts(BOARD).into_iter().filter_map(rung).collect()
}

/// Runs the board with a fault armed; it is healed, the failure has this class.
#[track_caller]
fn healed(fault: &Value, class: &str) -> Place {
    let place = Place::one_block();
    place.editor.arm(fault);
    let done = place.test.pcbflow(&["run", BOARD]);
    assert_eq!(done.exit, Some(0), "{fault}: {done}\n{}", place.story());
    assert!(classes(&place).iter().all(|c| c == class), "{fault}: {}", place.story());
    assert!(!classes(&place).is_empty(), "{fault} never struck: {}", place.story());
    place.assert_whole();
    place
}

fn hang(variant: &str, landed: bool) -> Value {
    json!({
        "id": "EDA-7", "variant": variant, "count": 1, "params": { "landed": landed },
        "scope": { "api": "sch_PrimitiveWire.create" },
    })
}

#[track_caller]
fn assert_rungs(place: &Place, wanted: &[(&str, bool)]) {
    let found = rungs(place);
    let found: Vec<(&str, bool)> = found.iter().map(|(r, d)| (r.as_str(), *d)).collect();
    assert_eq!(found, wanted, "{}", place.story());
}

/// Stops the processes of pages below a folder, as a busy system would; how many.
fn stop_pages_below(folder: &Path) -> usize {
    // A page's process has no environment to see; it is in the group of its browser.
    let text = |pid: u32, what: &str| {
        let bytes = std::fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let group = |pid: u32| {
        let stat = text(pid, "stat");
        let fields = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        fields.split(' ').nth(2).and_then(|g| g.parse::<u32>().ok())
    };
    let browsers = processes::of(folder);
    let all = std::fs::read_dir("/proc").expect("processes").flatten();
    let pages: Vec<u32> = all
        .filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| text(*pid, "cmdline").contains("--type=renderer"))
        .filter(|pid| group(*pid).is_some_and(|g| browsers.contains(&g)))
        .collect();
    for pid in &pages {
        let pid = i32::try_from(*pid).ok().and_then(Pid::from_raw).expect("a number");
        kill_process(pid, Signal::STOP).expect("it lives");
    }
    pages.len()
}

#[test]
fn eda_7_a_call_that_never_comes_back_costs_no_reset() {
    for landed in [false, true] {
        let place = healed(&hang("never", landed), "EDA-7");
        assert_rungs(&place, &[("read-events", false), ("probe-page", true)]);
        // One to find the project by its name, one to work in.
        assert_eq!(place.editor.events("window_loaded").len(), 2, "no tab was replaced");
    }
}

#[test]
fn eda_7_a_loop_is_stopped_and_what_was_drawn_stays() {
    for variant in ["loop", "promise_loop", "timer_loop"] {
        let place = healed(&hang(variant, false), "EDA-7");
        let rungs = [("read-events", false), ("probe-page", false), ("end-script", true)];
        assert_rungs(&place, &rungs);
        assert_eq!(place.calls("sch_PrimitiveComponent.create"), 3, "the first part stayed");
    }
}

#[test]
fn eda_7_an_alert_is_answered() {
    let place = healed(&hang("alert", true), "EDA-7");
    assert_rungs(&place, &[("read-events", true)]);
}

#[test]
fn eda_7_a_block_that_takes_longer_than_its_step_is_not_run_twice_at_once() {
    let place = Place::one_block();
    place.editor.set(&json!({ "latency": { "create": 700 } }));
    // What is kept for reading back and saving leaves the script four seconds.
    place.with_timeout("34s");
    let done = place.test.pcbflow(&["run", BOARD]);
    assert_eq!(done.exit, Some(0), "{done}\n{}", place.story());
    assert!(classes(&place).iter().all(|c| c == "EDA-7"), "{}", place.story());
    assert!(!classes(&place).is_empty(), "{}", place.story());
    place.assert_whole();
    let made = place.calls("sch_PrimitiveComponent.create");
    assert_eq!(made, 3, "{}", place.story());
    assert_eq!(place.calls("sch_PrimitiveWire.create"), 6, "{}", place.story());
}

#[test]
fn eda_7_a_page_that_can_not_be_stopped_gets_a_new_tab_before_the_old_one_goes() {
    for variant in ["reenter", "sync_xhr"] {
        let place = healed(&hang(variant, false), "EDA-7");
        let rungs = [
            ("read-events", false),
            ("probe-page", false),
            ("end-script", false),
            ("fresh-tab", true),
        ];
        assert_rungs(&place, &rungs);
        let at = |kind: &str, n: usize| {
            place.editor.events(kind).get(n).map(|e| e["at_ms"].as_u64().unwrap_or(0))
        };
        let (second, gone) = (at("window_loaded", 2), at("window_gone", 1));
        assert!(second.is_some() && second < gone, "{variant}: {second:?} {gone:?}");
    }
}

#[test]
fn eda_12_a_save_that_did_not_happen_is_made_again() {
    for (variant, params) in
        [("save_false", json!({})), ("save_lies", json!({})), ("save_http", json!({}))]
    {
        let fault = json!({ "id": "EDA-12", "variant": variant, "count": 1, "params": params });
        let place = Place::one_block();
        place.editor.arm(&fault);
        let done = place.test.pcbflow(&["run", BOARD]);
        assert_eq!(done.exit, Some(0), "{variant}: {done}\n{}", place.story());
        place.assert_whole();
    }
    // Lies that last are found out by the load that follows.
    let place = healed(&json!({ "id": "EDA-12", "variant": "save_lies", "count": 2 }), "EDA-12");
    assert!(place.calls("sch_PrimitiveComponent.create") >= 3, "{}", place.story());
}

#[test]
fn eda_12_a_write_that_was_dropped_is_made_again() {
    let fault = json!({
        "id": "EDA-12", "variant": "dropped", "count": 1,
        "scope": { "api": "sch_PrimitiveComponent.createNetFlag" },
    });
    healed(&fault, "EDA-12");
}

#[test]
fn eda_14_a_read_that_is_behind_is_waited_for() {
    let fault = json!({
        "id": "EDA-14", "variant": "slow_reads", "ms": 20_000, "params": { "settle_ms": 1_200 },
    });
    let place = Place::one_block();
    place.editor.arm(&fault);
    let done = place.test.pcbflow(&["run", BOARD]);
    assert_eq!(done.exit, Some(0), "{done}\n{}", place.story());
    place.assert_whole();
    assert_eq!(place.calls("sch_PrimitiveComponent.create"), 3, "a late read is no lost write");
}

#[test]
fn br_6_a_browser_that_dies_in_the_middle_is_started_again() {
    let place = Place::one_block();
    place.editor.set(&json!({ "latency": { "create": 300 } }));
    let running = place.test.start(&["run", BOARD]);
    super::browser::until("some objects are there", &place.editor, |_| {
        place.calls("sch_PrimitiveWire.create") >= 3
    });
    super::blocks::kill_browsers_below(&place.test.path("home"));
    let done = running.wait();
    assert_eq!(done.exit, Some(0), "{done}\n{}", place.story());
    assert_eq!(classes(&place), ["BR-6"], "{}", place.story());
    assert_rungs(&place, &[("reload-tab", false), ("relaunch", true)]);
    place.assert_whole();
}

#[test]
fn eda_2_one_refused_call_is_tried_again_in_silence() {
    let fault = json!({
        "id": "EDA-2", "variant": "unauthorized", "count": 1, "scope": { "path": "/api/v2/devices" },
    });
    let place = healed(&fault, "EDA-2");
    assert_rungs(&place, &[("second-sign", true)]);
}

#[test]
fn eda_1_a_login_that_one_click_restores_needs_nobody() {
    let place = Place::one_block();
    place.editor.set(&json!({ "latency": { "create": 300 } }));
    let running = place.test.start(&["run", BOARD]);
    super::browser::until("it is being placed", &place.editor, |_| {
        place.calls("sch_PrimitiveWire.create") >= 1
    });
    place.editor.arm(&json!({
        "id": "EDA-1", "variant": "expired", "params": { "silent_restore": true },
    }));
    let done = running.wait();
    assert_eq!(done.exit, Some(0), "{done}\n{}", place.story());
    assert!(rungs(&place).contains(&("click-login".into(), true)), "{}", place.story());
    place.assert_whole();
}

#[test]
fn br_3_a_profile_without_a_login_waits_for_the_person_and_goes_on_untold() {
    let place = Place::one_block();
    place.editor.set(&json!({ "signed_in": false }));
    let running = place.test.start(&["run", BOARD, "--wait", "60s"]);
    super::browser::until("somebody is asked", &place.editor, |_| {
        place.editor.events("window_loaded").len() >= 2
    });
    std::thread::sleep(std::time::Duration::from_secs(6));
    place.editor.set(&json!({ "signed_in": true }));
    let done = running.wait();
    assert_eq!(done.exit, Some(0), "{done}\n{}", place.story());
    assert!(classes(&place).iter().all(|c| c == "BR-3"), "{}", place.story());
    place.assert_whole();
}

#[test]
fn eda_3_a_forbidden_project_goes_to_the_person_without_a_pause() {
    let place = Place::one_block();
    place.editor.arm(&json!({
        "id": "EDA-3", "variant": "forbidden", "scope": { "path": "PUT /api/projects/" },
    }));
    let done = place.test.pcbflow(&["run", BOARD]);
    assert_eq!(done.exit, Some(4), "{done}\n{}", place.story());
    assert_eq!(classes(&place), ["EDA-3"], "{}", place.story());
    assert_eq!(place.saved(), Vec::<String>::new());
}

#[test]
fn eda_6_a_server_fault_is_waited_out() {
    let fault = json!({
        "id": "EDA-6", "variant": "error", "count": 1, "scope": { "path": "/api/v2/devices" },
    });
    let place = healed(&fault, "EDA-6");
    assert_eq!(place.calls("sch_PrimitiveComponent.create"), 3);
}

#[test]
fn eda_8_and_9_a_page_that_does_not_come_is_loaded_again() {
    for (id, variant) in [("EDA-8", "no_boards"), ("EDA-8", "stuck"), ("EDA-9", "absent")] {
        let place = Place::one_block();
        // The first load lists the projects; the second one is the board's own.
        place.editor.arm(&json!({ "id": id, "variant": variant, "count": 2 }));
        let done = place.test.pcbflow(&["run", BOARD]);
        assert_eq!(done.exit, Some(0), "{id} {variant}: {done}\n{}", place.story());
        assert!(classes(&place).contains(&id.to_owned()), "{id} {variant}: {}", place.story());
        place.assert_whole();
    }
}

#[test]
fn eda_12_a_save_that_never_answers_is_settled_by_looking() {
    for landed in [false, true] {
        let place = Place::one_block();
        place.editor.arm(&json!({
            "id": "EDA-12", "variant": "save_never", "count": 1, "params": { "landed": landed },
        }));
        let done = place.test.pcbflow(&["run", BOARD]);
        assert_eq!(done.exit, Some(0), "{landed}: {done}\n{}", place.story());
        assert_eq!(
            classes(&place).first().map(String::as_str),
            Some("EDA-12"),
            "{}",
            place.story()
        );
        place.assert_whole();
        assert_eq!(place.calls("sch_PrimitiveComponent.create"), 3, "{}", place.story());
    }
}

#[test]
fn eda_7_a_page_that_the_system_has_stopped_gets_a_new_tab() {
    let place = Place::one_block();
    place.editor.set(&json!({ "latency": { "create": 300 } }));
    let running = place.test.start(&["run", BOARD]);
    super::browser::until("it is being placed", &place.editor, |_| {
        place.calls("sch_PrimitiveWire.create") >= 2
    });
    let stopped = stop_pages_below(&place.test.path("home"));
    assert!(stopped > 0, "a page's process was found");
    let done = running.wait();
    assert_eq!(done.exit, Some(0), "{done}\n{}", place.story());
    assert_eq!(classes(&place), ["EDA-7"], "{}", place.story());
    place.assert_whole();
}

#[test]
fn br_1_and_env_3_no_browser_is_told_plainly() {
    for (script, class) in [(None, "ENV-3"), (Some("exit 1"), "BR-1")] {
        let place = Place::one_block();
        let file = place.test.path("fake-chrome");
        if let Some(script) = script {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("a program");
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&file, mode).expect("it may be started");
        }
        place.settings(&format!("browser = \"{}\"\n", file.display()));
        let done = place.test.pcbflow(&["run", BOARD]);
        assert_eq!(done.exit, Some(4), "{done}\n{}", place.story());
        assert!(classes(&place).iter().all(|c| c == class), "{class}: {}", place.story());
        assert_eq!(place.editor.events("window_loaded").len(), 0);
    }
}

#[test]
fn br_4_a_lock_of_another_computer_is_moved_aside_and_a_live_one_is_not() {
    let place = Place::one_block();
    let profile = place.test.path("home/.data/pcbflow/browser/editor");
    std::fs::create_dir_all(&profile).expect("a profile");
    let lock = profile.join("SingletonLock");
    std::os::unix::fs::symlink("another-computer-4242", &lock).expect("a lock");
    let done = place.test.pcbflow(&["run", BOARD]);
    assert_eq!(done.exit, Some(0), "{done}\n{}", place.story());
    assert!(classes(&place).iter().all(|c| c == "BR-4"), "{}", place.story());
    assert!(rungs(&place).contains(&("move-links-aside".into(), true)), "{}", place.story());
    place.assert_whole();
}

#[test]
fn two_boards_of_two_processes_share_one_browser() {
    let place = Place::one_block();
    let other = place.editor.tell("/project", &json!({ "name": "second" }));
    let other = other["uuid"].as_str().expect("an id").to_owned();
    place.more_board("second", &other);
    let first = place.test.start(&["run", BOARD]);
    let second = place.test.start(&["run", "second"]);
    let (first, second) = (first.wait(), second.wait());
    assert_eq!(first.exit, Some(0), "{first}\n{}", place.story());
    assert_eq!(second.exit, Some(0), "{second}\n{}", place.test.story("second"));
    place.assert_whole();
}

#[test]
fn br_5_a_foreign_lock_is_never_broken() {
    let place = Place::one_block();
    place.editor.arm(&json!({ "id": "BR-5", "variant": "foreign", "params": { "holder": "Ada" } }));
    let done = place.test.pcbflow(&["run", BOARD]);
    assert_eq!(done.exit, Some(4), "{done}\n{}", place.story());
    assert!(classes(&place).iter().all(|c| c == "BR-5"), "{}", place.story());
    assert_eq!(place.calls("sch_PrimitiveComponent.create"), 0);
    // Ada is gone; the person says so.
    place.editor.tell("/clear", &json!({}));
    let ask = place.test.json(0, &["status", BOARD]);
    assert!(ask.to_string().contains("close_window"), "{ask:#}");
    place.test.pcbflow(&["answer", "a1", "retry"]).exits(0);
    let done = place.test.pcbflow(&["run", BOARD]);
    assert_eq!(done.exit, Some(0), "{done}\n{}", place.story());
    place.assert_whole();
}

#[test]
fn eda_4_a_project_that_is_not_there_is_asked_for() {
    let place = Place::new(
        "      - id: open\n        uses: eda/open\n        with: { project: no-such-project }\n",
    );
    let done = place.test.pcbflow(&["run", BOARD]);
    assert_eq!(done.exit, Some(4), "{done}\n{}", place.story());
    assert!(classes(&place).iter().all(|c| c == "EDA-4"), "{}", place.story());
    assert!(place.editor.events("request").len() < 60, "no storm of retries");
}

#[test]
fn eda_13_nets_that_come_late_are_waited_for() {
    let place = Place::one_block();
    place.editor.set(&json!({ "latency": { "net_settle": 3_000 } }));
    let done = place.test.pcbflow(&["run", BOARD]);
    assert_eq!(done.exit, Some(0), "{done}\n{}", place.story());
    place.assert_whole();
}

#[test]
fn eda_13_nets_that_never_come_are_there_after_a_load() {
    let place = Place::one_block();
    place.editor.arm(&json!({ "id": "EDA-13", "variant": "never" }));
    place.editor.set(&json!({ "latency": { "create": 200 } }));
    super::blocks::killed_when(&place, "wires are there", |p| {
        p.calls("sch_PrimitiveWire.create") >= 4
    });
    // The page of the killed run still stands, with what it never saved.
    place.only_reads();
    let done = place.test.pcbflow(&["run", BOARD]);
    assert_eq!(done.exit, Some(0), "{done}\n{}", place.story());
    assert_eq!(classes(&place), ["ST-2", "EDA-13"], "{}", place.story());
    let rungs_wanted =
        [("read-again-soon", true), ("read-again-later", true), ("save-and-reload", true)];
    assert_rungs(&place, &rungs_wanted);
}

#[test]
fn eda_7_a_window_in_the_page_and_a_page_out_of_memory() {
    for (variant, class) in [("modal", "EDA-7"), ("memory", "BR-6")] {
        let place = Place::one_block();
        place.editor.arm(&hang(variant, false));
        let done = place.test.pcbflow(&["run", BOARD]);
        assert_eq!(done.exit, Some(0), "{variant}: {done}\n{}", place.story());
        assert!(!classes(&place).is_empty(), "{variant} {class}: {}", place.story());
        place.assert_whole();
    }
}

#[test]
fn br_2_a_browser_that_is_not_to_be_reached() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::one_block();
    let file = place.test.path("fake-chrome");
    let line = "DevTools listening on ws://127.0.0.1:1/devtools/browser/abc";
    std::fs::write(&file, format!("#!/bin/sh\necho '{line}' >&2\nexec sleep 60\n"))
        .expect("a program");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("it may start");
    place.settings(&format!("browser = \"{}\"\n", file.display()));
    let done = place.test.pcbflow(&["run", BOARD]);
    assert_eq!(done.exit, Some(4), "{done}\n{}", place.story());
    assert!(classes(&place).iter().all(|c| c == "BR-2"), "{}", place.story());
}

#[test]
fn br_7_a_script_that_turns_to_another_document_saves_nothing() {
    let place = Place::one_block();
    place.script(
        "sensor.js",
        "const all = await eda.dmt_Pcb.getAllPcbsInfo();\n\
         await eda.dmt_EditorControl.openDocument(all[0].uuid);\nreturn 1;\n",
    );
    let done = place.test.pcbflow(&["run", BOARD]);
    assert_eq!(done.exit, Some(4), "{done}\n{}", place.story());
    assert!(classes(&place).iter().all(|c| c == "BR-7"), "{}", place.story());
    assert_eq!(place.editor.events("saved").len(), 0);
}
