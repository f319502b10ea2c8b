//! Calls, results, and how calls in flight end.

use std::time::{Duration, Instant};

use pcbflow_eda::cdp::{Address, CallError, Client, Script, Transport};
use serde_json::{Value, json};

use super::support::{PATIENT, SHORT, Signal, Site, World, body, renderer_of, signal, value};

#[tokio::test]
async fn results_are_told_apart() {
    let world = World::new().await;
    let site = Site::new().await;
    let tab = world.tab(&site.url("/")).await;
    let run = async |text: &str| tab.evaluate(&body(text, PATIENT)).await;
    assert_eq!(
        run("return {a: [1, 'é😀'], b: null};").await,
        Ok(Some(json!({"a": [1, "é😀"], "b": null})))
    );
    assert_eq!(run("return undefined;").await, Ok(None));
    assert_eq!(run("return null;").await, Ok(Some(Value::Null)));
    assert_eq!(run("const x = 1; return x; // a comment at the end").await, Ok(Some(json!(1))));
    assert_eq!(run("const x = 2; return await Promise.resolve(x);").await, Ok(Some(json!(2))));
    let threw = |kind: &str, message: &str| {
        Err(CallError::Threw { kind: kind.into(), message: message.into() })
    };
    assert_eq!(run("throw new Error('数据不符合规范');").await, threw("Error", "数据不符合规范"));
    assert_eq!(run("await Promise.reject('plain');").await, threw("", "plain"));
    let Err(CallError::Threw { kind, message }) = run("window.nothing.sch_Document();").await
    else {
        panic!("no exception");
    };
    assert_eq!(kind, "TypeError");
    assert!(message.contains("sch_Document"), "{message}");
    let Err(CallError::Threw { kind, message }) = run("return ((;").await else {
        panic!("no exception");
    };
    assert!(kind == "SyntaxError" && !message.is_empty(), "{kind}: {message}");
    let cyclic = run("const a = {}; a.a = a; return a;").await;
    assert!(matches!(cyclic, Err(CallError::Unreadable { .. })), "{cyclic:?}");
    // Half a character crosses as the sign for one that can't be read.
    assert_eq!(run("return 'a\\ud800b';").await, Ok(Some(json!("a\u{fffd}b"))));
    world.end().await;
}

#[tokio::test]
async fn a_huge_result_stays_in_the_page_and_the_session_goes_on() {
    let world = World::new().await;
    let tab = world.tab("about:blank").await;
    let huge = tab.evaluate(&body("return 'x'.repeat(100e6);", PATIENT)).await;
    let Err(CallError::TooLarge { bytes, bytes_max }) = huge else { panic!("{huge:?}") };
    assert!(bytes > 100_000_000 && bytes_max == 16 * 1024 * 1024, "{bytes} {bytes_max}");
    let message = tab.evaluate(&body("throw new Error('x'.repeat(50e6));", PATIENT)).await;
    let Err(CallError::Threw { message, .. }) = message else { panic!("{message:?}") };
    assert!(message.len() <= 4_000, "{}", message.len());
    // The cap counts bytes, not characters.
    let small = body("return '€'.repeat(10);", PATIENT);
    assert_eq!(tab.evaluate(&small.clone().at_most(32)).await, Ok(Some(json!("€".repeat(10)))));
    let over = tab.evaluate(&small.at_most(31)).await;
    assert_eq!(over, Err(CallError::TooLarge { bytes: 32, bytes_max: 31 }));
    let large = tab.evaluate(&body("return 'y'.repeat(10e6);", PATIENT)).await;
    assert_eq!(large.unwrap().and_then(|v| v.as_str().map(str::len)), Some(10_000_000));
    world.end().await;
}

#[tokio::test]
async fn a_promise_that_never_settles_costs_its_deadline_and_nothing_else() {
    let world = World::new().await;
    let tab = world.tab("about:blank").await;
    let begun = Instant::now();
    let stuck = tab.evaluate(&body("await new Promise(() => {});", SHORT)).await;
    assert!(matches!(stuck, Err(CallError::DeadlinePassed { ms: 1_000, .. })), "{stuck:?}");
    assert!(begun.elapsed() >= SHORT);
    assert!(tab.answers(PATIENT).await);
    world.end().await;
}

/// A call that would wait for a minute, and the script that it waits in.
async fn waits(tab: &pcbflow_eda::cdp::Session) -> Result<Option<Value>, CallError> {
    tab.evaluate(&body("await new Promise(() => {});", Duration::from_secs(60))).await
}

#[tokio::test]
async fn calls_in_flight_fail_at_once_when_the_page_crashes_and_it_can_be_loaded_again() {
    let world = World::new().await;
    let site = Site::new().await;
    let tab = world.tab(&site.url("/")).await;
    let window = tab.window().unwrap();
    let (stuck, crash) =
        tokio::join!(waits(&tab), tab.call("Page.crash", json!({}), Duration::from_secs(60)));
    for error in [stuck.map(drop), crash.map(drop)] {
        assert!(matches!(error, Err(CallError::Crashed { .. })), "{error:?}");
    }
    let next = tab.evaluate(&body("return 1;", Duration::from_secs(60))).await;
    assert!(matches!(next, Err(CallError::Crashed { .. })), "{next:?}");
    assert!(window.close().crashed.is_some());
    tab.reload(PATIENT).await.unwrap();
    tab.wait_ready(&site.url("/"), "window.kept === 1", PATIENT).await.unwrap();
    assert_eq!(tab.crashed(), None);
    world.end().await;
}

#[tokio::test]
async fn a_killed_renderer_is_a_crash_with_its_status() {
    let world = World::new().await;
    let site = Site::new().await;
    let tab = world.tab(&site.url("/")).await;
    let renderer = renderer_of(&tab).await;
    let (stuck, ()) = tokio::join!(waits(&tab), async { signal(Signal::KILL, renderer) });
    assert!(matches!(stuck, Err(CallError::Crashed { .. })), "{stuck:?}");
    let until = Instant::now() + PATIENT;
    while tab.crashed().is_none_or(|(status, _)| status.is_empty()) && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(tab.crashed(), Some(("killed".to_owned(), 9)));
    world.end().await;
}

#[tokio::test]
async fn calls_in_flight_fail_at_once_when_the_tab_is_closed() {
    let world = World::new().await;
    let tab = world.tab("about:blank").await;
    let (stuck, closed) =
        tokio::join!(waits(&tab), world.client().close_tab(tab.target(), PATIENT));
    assert_eq!((stuck, closed), (Err(CallError::Detached), Ok(())));
    let next = tab.evaluate(&body("return 1;", Duration::from_secs(60))).await;
    assert_eq!(next, Err(CallError::Detached));
    let gone = world.client().close_tab(tab.target(), PATIENT).await;
    assert_eq!(gone, Err(CallError::TargetGone));
    world.end().await;
}

#[tokio::test]
async fn calls_in_flight_fail_at_once_when_the_script_is_stopped() {
    let world = World::new().await;
    let tab = world.tab("about:blank").await;
    let (stuck, stopped) = tokio::join!(waits(&tab), tab.terminate(PATIENT));
    assert_eq!((stuck, stopped), (Err(CallError::Terminated), Ok(())));
    assert!(tab.answers(PATIENT).await);
    world.end().await;
}

#[tokio::test]
async fn calls_in_flight_fail_at_once_when_the_browser_is_killed() {
    let mut world = World::new().await;
    let tab = world.tab("about:blank").await;
    let pid = world.browser.pid().unwrap();
    let (stuck, ()) = tokio::join!(waits(&tab), async { signal(Signal::KILL, pid) });
    assert!(matches!(stuck, Err(CallError::SocketLost { .. })), "{stuck:?}");
    let until = Instant::now() + PATIENT;
    while !world.browser.end_signals().iter().any(|s| s.number == Some(9)) {
        assert!(Instant::now() < until, "{:?}", world.browser.end_signals());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(super::support::class_of(&world.browser.end_signals()), "BR-6");
    // The next start on the same profile needs no help with the lock.
    let folder = world.place.folder();
    drop((tab, world.browser));
    assert!(folder.join("SingletonLock").is_symlink());
    let again = super::support::launch(super::support::chromium(), &folder).start().await.unwrap();
    World { place: world.place, browser: again }.end().await;
}

#[tokio::test]
async fn a_page_that_goes_elsewhere_is_not_a_failure_of_its_own() {
    let world = World::new().await;
    let site = Site::new().await;
    let tab = world.tab(&site.url("/")).await;
    let window = tab.window().unwrap();
    let go = format!("location.href = '{}'; await new Promise(() => {{}});", site.url("/other"));
    assert_eq!(tab.evaluate(&body(&go, PATIENT)).await, Err(CallError::Navigated));
    tab.wait_ready(&site.url("/other"), "true", PATIENT).await.unwrap();
    assert!(window.close().navigated);
    world.end().await;
}

#[tokio::test]
async fn tabs_are_listed_with_their_whole_address_and_made_and_closed() {
    let world = World::new().await;
    let site = Site::new().await;
    let url = site.url("/editor#id=p1,tab=*s1@p1");
    let tab = world.tab(&url).await;
    let list = world.client().targets(PATIENT).await.unwrap();
    let own = list.iter().find(|t| t.id == tab.target()).unwrap();
    assert!(own.is_page() && own.url == url && own.title == "page", "{own:?}");
    let unknown = tab.call("Page.noSuchMethod", json!({}), PATIENT).await;
    assert_eq!(unknown, Err(CallError::MethodNotFound { method: "Page.noSuchMethod".into() }));
    let nobody = world.client().attach("no-such-target", PATIENT).await;
    assert!(nobody.is_err());
    world.client().close_tab(tab.target(), PATIENT).await.unwrap();
    let until = Instant::now() + PATIENT;
    let listed = async || world.client().targets(PATIENT).await.unwrap();
    while listed().await.iter().any(|t| t.id == tab.target()) {
        assert!(Instant::now() < until, "the closed tab is still listed");
    }
    world.end().await;
}

#[tokio::test]
async fn a_page_that_hung_before_we_came_is_told_as_such() {
    let world = World::new().await;
    let site = Site::new().await;
    let tab = world.tab(&site.url("/")).await;
    let hang = tab.evaluate(&body("while (true);", SHORT)).await;
    assert!(matches!(hang, Err(CallError::DeadlinePassed { .. })), "{hang:?}");
    let late = Client::connect(world.client().address(), PATIENT).await.unwrap();
    let error = late.attach(tab.target(), SHORT).await.unwrap_err();
    assert!(matches!(error, pcbflow_eda::cdp::AttachError::Hangs { .. }), "{error:?}");
    // The session that was there before frees it, and a late one can attach then.
    tab.terminate(PATIENT).await.unwrap();
    let session = late.attach(tab.target(), PATIENT).await.unwrap();
    assert_eq!(value(&session, "window.kept").await, json!(1));
    drop((session, late));
    world.end().await;
}

#[tokio::test]
async fn a_script_goes_through_any_transport() {
    let world = World::new().await;
    let tab: Box<dyn Transport> = Box::new(world.tab("about:blank").await);
    assert!(tab.answers(PATIENT).await);
    let reply = tab.run(&Script::expression("[1, 2].map(x => x * 2)", PATIENT)).await;
    assert_eq!(reply.result, Ok(Some(json!([2, 4]))));
    let reply = tab.run(&Script::expression("missing.method()", PATIENT)).await;
    assert!(matches!(reply.result, Err(CallError::Threw { .. })), "{reply:?}");
    assert!(reply.signals().iter().any(|s| s.text.contains("missing")), "{:?}", reply.signals());
    drop(tab);
    assert_eq!(Address::parse("localhost:1").ok(), None);
    world.end().await;
}
