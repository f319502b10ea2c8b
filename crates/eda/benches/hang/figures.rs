//! The figures; the pages and the browser are those of the tests.

use pcbflow_eda::cdp::{CallError, Session};
use pcbflow_eda::hang::{Climb, DialogAnswer, Usable, climb};
use serde_json::json;

use self::support::{PATIENT, SHORT, Site, World, body, value};

#[expect(dead_code, reason = "the tests use the rest of it")]
#[path = "../../tests/browser/support.rs"]
mod support;

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

async fn page(world: &World, site: &Site) -> Session {
    world.tab(&site.url("/editor#id=p1")).await
}

async fn hang(tab: &Session, site: &Site, script: &str) -> Climb {
    let usable = Usable {
        url: site.url("/editor#id=p1"),
        ready: "window.kept === 1".into(),
        within: PATIENT,
        dialogs: DialogAnswer::Dismiss,
    };
    let window = tab.window().unwrap();
    let missed = tab.evaluate(&body(script, SHORT)).await;
    assert!(matches!(missed, Err(CallError::DeadlinePassed { .. })), "{missed:?}");
    climb(tab, &window.close(), &usable).await
}

/// Prints them all.
#[tokio::main]
pub async fn print() {
    let world = World::new().await;
    let site = Site::new().await;
    let note = |text: String| println!("{text}");
    let begun = std::time::Instant::now();
    let tab = page(&world, &site).await;
    note(format!("new tab, attached, ready: {} ms", begun.elapsed().as_millis()));
    let begun = std::time::Instant::now();
    for _ in 0..1_000 {
        assert_eq!(value(&tab, "1").await, json!(1));
    }
    note(format!("evaluate, round trip: {} us", begun.elapsed().as_micros() / 1_000));
    let again = "setInterval(() => { while (true); }, 1); await new Promise(() => {});";
    let wait = format!(
        "const x = new XMLHttpRequest(); x.open('GET', '{}', false); x.send();",
        site.url("/wait")
    );
    let more = [
        ("promise that never settles", "await new Promise(() => {});"),
        ("dialog", "alert('one');"),
        ("loop that comes back", again),
        ("synchronous request", &wait),
    ];
    for (name, script) in STOPPABLE.iter().copied().chain(more) {
        let tab = page(&world, &site).await;
        let climb = hang(&tab, &site, script).await;
        let all: u64 = climb.taken.iter().map(|t| t.took_ms).sum();
        let rungs: Vec<String> =
            climb.taken.iter().map(|t| format!("{} {}", t.rung, t.took_ms)).collect();
        note(format!("{name}: {all} ms ({})", rungs.join(", ")));
    }
    world.end().await;
}
