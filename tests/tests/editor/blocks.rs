//! Blocks are placed exactly once, whatever happens on the way.

use std::path::Path;

use pcbflow_tests::processes;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::browser::until;
use super::place::{BLOCK, BOARD, Place};

#[test]
fn a_block_is_placed_saved_read_back_and_not_placed_again() {
    let place = Place::one_block();
    let done = place.test.pcbflow(&["run", BOARD, "--json"]);
    assert_eq!(done.exit, Some(0), "{done}\n{}", place.story());
    assert_eq!(done.json()["verdict"], "pass");
    place.assert_whole();
    assert_eq!(place.calls("sch_PrimitiveComponent.create"), 3);
    let report = place.test.board(BOARD).join("out/read.json");
    let report = std::fs::read_to_string(report).expect("a report");
    assert!(report.contains("\"designator\": \"R1\""), "{report}");
    // A finished board is not driven again.
    let before = place.editor.events("").len();
    place.test.pcbflow(&["run", BOARD]).exits(0);
    assert_eq!(place.editor.events("").len(), before);
}

/// Waits until something holds in the stand-in, then kills pcbflow hard.
pub fn killed_when(place: &Place, what: &str, holds: impl Fn(&Place) -> bool) {
    let mut running = place.test.command(&["run", BOARD]).spawn().expect("pcbflow");
    until(what, &place.editor, |_| holds(place));
    running.kill().expect("a kill");
    running.wait().expect("its end");
}

/// Ends every browser whose profile lies below a folder, as a crash would.
pub fn kill_browsers_below(folder: &Path) {
    let browser = |pid: &u32| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains("--user-data-dir")
    };
    for pid in processes::of(folder).into_iter().filter(browser) {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a number");
        // It may have ended with its parent.
        let _gone = kill_process(pid, Signal::KILL).err();
    }
}

fn kill_browsers(place: &Place) {
    kill_browsers_below(&place.test.path("home"));
}

#[test]
fn a_kill_in_the_middle_of_a_block_doubles_nothing() {
    for (n, with_browser) in [(2, false), (5, false), (5, true)] {
        let place = Place::one_block();
        place.editor.set(&json!({ "latency": { "create": 400 } }));
        killed_when(&place, "some objects are there", |p| {
            p.calls("sch_PrimitiveWire.create") + p.calls("sch_PrimitiveComponent.create") >= n
        });
        if with_browser {
            kill_browsers(&place);
        }
        let done = place.test.pcbflow(&["run", BOARD]);
        assert_eq!(done.exit, Some(0), "{n} {with_browser}: {done}\n{}", place.story());
        place.assert_whole();
        let made = place.calls("sch_PrimitiveComponent.create");
        let most = if with_browser { 6 } else { 3 };
        assert!((3..=most).contains(&made), "{made} parts were made");
        place.test.pcbflow(&["ledger", "verify"]).exits(0);
        place.test.pcbflow(&["replay", BOARD]).exits(0);
    }
}

#[test]
fn a_kill_after_the_save_places_nothing_again() {
    let place = Place::one_block();
    killed_when(&place, "it is saved", |p| !p.editor.events("saved").is_empty());
    kill_browsers(&place);
    let done = place.test.pcbflow(&["run", BOARD]);
    assert_eq!(done.exit, Some(0), "{done}\n{}", place.story());
    place.assert_whole();
    assert_eq!(place.calls("sch_PrimitiveComponent.create"), 3, "{}", place.story());
}

#[test]
fn a_changed_block_keeps_what_stays_and_removes_what_goes() {
    let place = Place::one_block();
    place.test.pcbflow(&["run", BOARD]).exits(0);
    let flag = "createNetFlag('Ground', 'GND', 100, 100)";
    assert!(BLOCK.contains(flag));
    place.script("sensor.js", &BLOCK.replace(flag, "createNetFlag('Power', 'VCC', 100, 300)"));
    let done = place.test.pcbflow(&["run", BOARD]);
    assert_eq!(done.exit, Some(0), "{done}\n{}", place.story());
    place.assert_whole();
    assert_eq!(place.calls("sch_PrimitiveComponent.create"), 3, "the parts stay");
    let objects = place.saved_objects();
    let flags: Vec<&Value> = objects.iter().filter(|o| o["kind"] == "netflag").collect();
    assert_eq!((flags.len(), &flags[0]["net"]), (1, &json!("VCC")));
}

#[test]
fn a_wrong_call_is_not_sent_and_has_its_line() {
    let place = Place::one_block();
    let wrong = BLOCK.replace("create(found, ", "create(found.uuid, ");
    place.script("sensor.js", &wrong);
    let done = place.test.json(3, &["run", BOARD]);
    let text = done.to_string();
    assert!(text.contains("sensor.js:7") && text.contains("not a bare uuid"), "{done:#}");
    assert_eq!(place.calls("sch_PrimitiveComponent.create"), 0);
    // The same call with a value that only the page knows.
    let hidden = BLOCK.replace("create(found, ", "create(((p) => p.uuid)(found), ");
    place.script("sensor.js", &hidden);
    let done = place.test.json(3, &["run", BOARD]);
    assert!(done.to_string().contains("not a bare uuid"), "{done:#}");
    assert_eq!(place.calls("sch_PrimitiveComponent.create"), 0);
}

#[test]
fn what_nobody_waits_for_is_waited_for_and_its_failure_counts() {
    // Two that are not waited for; the first one fails late.
    let place = Place::one_block();
    let script = "(async () => { await sleep(300); await eda.lib_Device.search('10k'); \
                  throw new Error('broken off late'); })();\n(async () => { await sleep(10); })();\n";
    place.script("sensor.js", script);
    let done = place.test.pcbflow(&["run", BOARD]);
    assert_eq!(done.exit, Some(4), "{done}\n{}", place.story());
    assert!(place.story().contains("broken off late"), "{}", place.story());
    // What the page itself fails at is not the script's.
    let place = Place::one_block();
    let alien = "setTimeout('Promise.reject(new Error(1))', 5);\n".to_owned() + BLOCK;
    place.script("sensor.js", &alien);
    place.test.pcbflow(&["run", BOARD]).exits(0);
    place.assert_whole();
}

#[test]
fn a_script_that_says_no_is_no_success() {
    for (script, words) in [
        ("return { ok: false, err: 'nothing fits' };", "nothing fits"),
        ("(async () => { throw new Error('broken off'); })();", "broken off"),
        ("(async () => { await eda.lib_Device.search(7); })();", "argument 1"),
        ("const x = ;", "Unexpected token"),
    ] {
        let place = Place::one_block();
        place.script("sensor.js", script);
        let done = place.test.pcbflow(&["run", BOARD, "--json"]);
        assert!(matches!(done.exit, Some(3..=5)), "{script}: {done}");
        assert!(place.story().contains(words) || done.stdout.contains(words), "{}", place.story());
        assert_eq!(place.editor.events("saved").len(), 0, "{script}");
    }
}
