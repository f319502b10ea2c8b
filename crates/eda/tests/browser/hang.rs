//! The hang ladder, one variant of a hang each.

use std::time::Duration;

use pcbflow_eda::cdp::{CallError, Session};
use pcbflow_eda::hang::{Climb, DialogAnswer, Freed, Usable, climb, replace_tab};
use pcbflow_eda::signals;
use serde_json::json;

use super::support::{PATIENT, SHORT, Signal, Site, World, body, renderer_of, signal, stop, value};

/// A page of the site with something in memory that is not saved.
async fn page(world: &World, site: &Site) -> Session {
    let tab = world.tab(&site.url("/editor#id=p1")).await;
    tab.evaluate(&body("window.unsaved = 'here';", PATIENT)).await.unwrap();
    tab
}

fn usable(site: &Site) -> Usable {
    Usable {
        url: site.url("/editor#id=p1"),
        ready: "window.kept === 1".into(),
        within: PATIENT,
        dialogs: DialogAnswer::Dismiss,
    }
}

/// Runs a script that misses its deadline and climbs.
async fn hang(tab: &Session, site: &Site, script: &str) -> Climb {
    let window = tab.window().unwrap();
    let missed = tab.evaluate(&body(script, SHORT)).await;
    assert!(matches!(missed, Err(CallError::DeadlinePassed { .. })), "{missed:?}");
    climb(tab, &window.close(), &usable(site)).await
}

fn rungs(climb: &Climb) -> Vec<&'static str> {
    climb.taken.iter().map(|t| t.rung).collect()
}

fn has(climb: &Climb, code: &str) -> bool {
    climb.signals.iter().any(|s| s.code == code)
}

/// Scripts whose loop can be stopped.
const STOPPABLE: &[(&str, &str)] = &[
    ("loop", "while (true);"),
    ("loop from a timer", "setTimeout(() => { while (true); }, 10); await new Promise(() => {});"),
    ("loop in a continuation", "await null; while (true);"),
    (
        "loop in an event",
        "const c = new MessageChannel(); c.port1.onmessage = () => { while (true); }; \
      c.port2.postMessage(1); await new Promise(() => {});",
    ),
];

#[tokio::test]
async fn a_loop_is_stopped_and_the_page_keeps_what_it_had() {
    let world = World::new().await;
    let site = Site::new().await;
    // On a machine that is busy otherwise, a loop may get too little time to be noticed.
    let mut busy = false;
    for (name, script) in STOPPABLE {
        let tab = page(&world, &site).await;
        let climb = hang(&tab, &site, script).await;
        assert!(matches!(climb.freed, Freed::Stopped), "{name}: {climb:?}");
        assert_eq!(rungs(&climb), ["look", "probe", "terminate"], "{name}");
        assert!(has(&climb, signals::PROBE_UNANSWERED), "{name}");
        busy |= has(&climb, signals::RENDERER_BUSY);
        assert_eq!(value(&tab, "window.unsaved").await, json!("here"), "{name}");
        world.client().close_tab(tab.target(), PATIENT).await.unwrap();
    }
    assert!(busy, "no loop was seen at work");
    world.end().await;
}

#[tokio::test]
async fn a_promise_that_never_settles_is_only_that_call() {
    let world = World::new().await;
    let site = Site::new().await;
    let tab = page(&world, &site).await;
    let climb = hang(&tab, &site, "await new Promise(() => {});").await;
    assert!(matches!(climb.freed, Freed::OnlyTheCall), "{climb:?}");
    assert_eq!(rungs(&climb), ["look", "probe"]);
    assert!(has(&climb, signals::PROBE_ANSWERED));
    assert_eq!(value(&tab, "window.unsaved").await, json!("here"));
    world.end().await;
}

#[tokio::test]
async fn a_dialog_is_answered_also_when_another_follows() {
    let world = World::new().await;
    let site = Site::new().await;
    let tab = page(&world, &site).await;
    let climb = hang(&tab, &site, "alert('one'); window.said = confirm('two');").await;
    assert!(matches!(climb.freed, Freed::DialogAnswered), "{climb:?}");
    assert_eq!(rungs(&climb), ["look", "dialog"]);
    assert!(has(&climb, signals::DIALOG_OPEN));
    assert_eq!(value(&tab, "[window.unsaved, window.said]").await, json!(["here", false]));
    world.end().await;
}

#[tokio::test]
async fn a_crashed_page_is_loaded_again() {
    let world = World::new().await;
    let site = Site::new().await;
    let tab = page(&world, &site).await;
    let window = tab.window().unwrap();
    let crash = tab.call("Page.crash", json!({}), PATIENT).await;
    assert!(matches!(crash, Err(CallError::Crashed { .. })), "{crash:?}");
    let climb = climb(&tab, &window.close(), &usable(&site)).await;
    assert!(matches!(climb.freed, Freed::Reloaded), "{climb:?}");
    assert_eq!(rungs(&climb), ["look", "reload"]);
    assert!(has(&climb, signals::TARGET_CRASHED));
    assert_eq!(value(&tab, "typeof window.unsaved").await, json!("undefined"));
    world.end().await;
}

/// The fresh tab is usable and is the only one on the page.
async fn assert_moved(world: &World, old: &Session, climb: &Climb, name: &str) {
    let Freed::NewTab(fresh) = &climb.freed else { panic!("{name}: {climb:?}") };
    assert_eq!(value(fresh, "window.kept").await, json!(1), "{name}");
    assert!(old.detached(), "{name}");
    let list = world.client().targets(PATIENT).await.unwrap();
    let on_page: Vec<&str> =
        list.iter().filter(|t| t.url.contains("/editor#id=p1")).map(|t| t.id.as_str()).collect();
    assert_eq!(on_page, [fresh.target()], "{name}");
    world.client().close_tab(fresh.target(), PATIENT).await.unwrap();
}

#[tokio::test]
async fn what_can_not_be_stopped_gets_a_new_tab() {
    let world = World::new().await;
    let site = Site::new().await;
    let again = "setInterval(() => { while (true); }, 1); await new Promise(() => {});";
    let wait = format!(
        "const x = new XMLHttpRequest(); x.open('GET', '{}', false); x.send();",
        site.url("/wait")
    );
    for (name, script) in [("a loop that comes back", again), ("a synchronous request", &wait)] {
        let tab = page(&world, &site).await;
        let climb = hang(&tab, &site, script).await;
        assert_eq!(rungs(&climb), ["look", "probe", "terminate", "new-tab"], "{name}");
        assert_moved(&world, &tab, &climb, name).await;
    }
    world.end().await;
}

#[tokio::test]
async fn a_stopped_process_gets_a_new_tab() {
    let world = World::new().await;
    let site = Site::new().await;
    let tab = page(&world, &site).await;
    let renderer = renderer_of(&tab).await;
    stop(renderer).await;
    let climb = hang(&tab, &site, "return 1;").await;
    assert_eq!(rungs(&climb), ["look", "probe", "terminate", "new-tab"]);
    assert!(!has(&climb, signals::RENDERER_BUSY), "a process that stands still does no work");
    assert_moved(&world, &tab, &climb, "stopped").await;
    world.end().await;
}

#[tokio::test]
async fn a_tab_that_was_closed_gets_a_new_one() {
    let world = World::new().await;
    let site = Site::new().await;
    let tab = page(&world, &site).await;
    let window = tab.window().unwrap();
    world.client().close_tab(tab.target(), PATIENT).await.unwrap();
    while !tab.detached() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let climb = climb(&tab, &window.close(), &usable(&site)).await;
    assert_eq!(rungs(&climb), ["look", "new-tab"]);
    assert_moved(&world, &tab, &climb, "closed").await;
    world.end().await;
}

#[tokio::test]
async fn the_old_tab_stays_until_the_new_one_is_usable() {
    let world = World::new().await;
    let site = Site::new().await;
    let tab = page(&world, &site).await;
    let never = Usable { ready: "false".into(), within: SHORT, ..usable(&site) };
    let error = replace_tab(&tab, &never).await.unwrap_err();
    assert!(matches!(error, CallError::DeadlinePassed { .. }), "{error:?}");
    assert_eq!(value(&tab, "window.unsaved").await, json!("here"));
    let list = world.client().targets(PATIENT).await.unwrap();
    assert_eq!(list.iter().filter(|t| t.url.contains("/editor")).count(), 1, "{list:?}");
    world.end().await;
}

#[tokio::test]
async fn a_status_in_the_window_outranks_a_hang_and_a_missing_picture_does_not() {
    let world = World::new().await;
    let site = Site::new().await;
    let tab = page(&world, &site).await;
    let refused = "await fetch('/status/401/api'); await new Promise(() => {});";
    let climb = hang(&tab, &site, refused).await;
    let Freed::StatusSeen(status) = &climb.freed else { panic!("{climb:?}") };
    assert_eq!((status.status, status.place.as_str()), (401, "/status/401/api"));
    assert_eq!(rungs(&climb), ["look"]);
    let missing = "await fetch('/status/404/icon'); while (true);";
    let climb = hang(&tab, &site, missing).await;
    assert!(matches!(climb.freed, Freed::Stopped), "{climb:?}");
    world.end().await;
}

#[tokio::test]
async fn a_page_that_went_elsewhere_is_left_alone() {
    let world = World::new().await;
    let site = Site::new().await;
    let tab = page(&world, &site).await;
    let window = tab.window().unwrap();
    let go = format!("location.href = '{}'; await new Promise(() => {{}});", site.url("/login"));
    assert_eq!(tab.evaluate(&body(&go, PATIENT)).await, Err(CallError::Navigated));
    tab.wait_ready(&site.url("/login"), "true", PATIENT).await.unwrap();
    let climb = climb(&tab, &window.close(), &usable(&site)).await;
    assert!(matches!(climb.freed, Freed::Navigated), "{climb:?}");
    world.end().await;
}

#[tokio::test]
async fn a_browser_that_is_gone_is_said_at_once() {
    let world = World::new().await;
    let site = Site::new().await;
    let tab = page(&world, &site).await;
    signal(Signal::KILL, world.browser.pid().unwrap());
    let stuck = tab.evaluate(&body("await new Promise(() => {});", PATIENT)).await;
    assert!(matches!(stuck, Err(CallError::SocketLost { .. })), "{stuck:?}");
    let window = tab.window().unwrap().close();
    let climb = climb(&tab, &window, &usable(&site)).await;
    assert!(matches!(climb.freed, Freed::BrowserUnusable(CallError::SocketLost { .. })));
    let closed = world.browser.close_within(Duration::from_secs(5)).await;
    assert_eq!(closed, pcbflow_eda::browser::Closed::WasGone);
    world.place.assert_clean();
}
