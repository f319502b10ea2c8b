//! What a call's window sees.

use pcbflow_core::evidence::Signal;
use pcbflow_eda::cdp::{CallError, Seen};
use pcbflow_eda::signals;
use serde_json::json;

use super::support::{PATIENT, SHORT, Site, World, body};

/// What is seen while a script runs in a page of the site.
async fn seen_in(world: &World, site: &Site, script: &str) -> Seen {
    let tab = world.tab(&site.url("/")).await;
    let window = tab.window().unwrap();
    tab.evaluate(&body(script, PATIENT)).await.unwrap();
    window.close()
}

#[tokio::test]
async fn statuses_are_there_before_the_answer_and_addresses_without_their_query() {
    let world = World::new().await;
    let site = Site::new().await;
    for status in [401, 403, 404, 429, 500, 503] {
        let script = format!("await fetch('/status/{status}/api?token=secret'); return 1;");
        let seen = seen_in(&world, &site, &script).await;
        let [refused] = seen.refused.as_slice() else { panic!("{seen:?}") };
        assert_eq!(refused.status, status);
        assert_eq!(refused.place, format!("/status/{status}/api"));
        let after = (status == 429).then_some("7");
        assert_eq!(refused.retry_after.as_deref(), after);
        let all = seen.signals();
        assert!(all.contains(&Signal::http(status, &refused.place)), "{all:?}");
        let wait = all.iter().find(|s| s.code == signals::RETRY_AFTER);
        assert_eq!(wait.and_then(|s| s.number), after.map(|_| 7));
    }
    world.end().await;
}

#[tokio::test]
async fn a_window_sees_nothing_from_before_and_a_flood_does_not_hide_a_refusal() {
    let world = World::new().await;
    let site = Site::new().await;
    let tab = world.tab(&site.url("/")).await;
    tab.evaluate(&body("await fetch('/status/503'); return 1;", PATIENT)).await.unwrap();
    let window = tab.window().unwrap();
    let flood = "for (let i = 0; i < 20; i++) \
                 await Promise.all([...Array(10)].map((_, j) => fetch('/ok/' + i + '/' + j)));\
                 await fetch('/status/403/search'); return 1;";
    tab.evaluate(&body(flood, PATIENT)).await.unwrap();
    let seen = window.close();
    assert_eq!(seen.refused.len(), 1, "{:?}", seen.refused);
    assert_eq!(seen.refused[0].place, "/status/403/search");
    assert_eq!(seen.answered.len(), 64);
    // The browser may ask some of them twice.
    assert!(seen.left_out >= 200 - 64, "{}", seen.left_out);
    world.end().await;
}

#[tokio::test]
async fn failed_and_unanswered_transfers_are_seen() {
    let world = World::new().await;
    let site = Site::new().await;
    let script = "fetch('/wait'); try { await fetch('/reset'); } catch (e) { return String(e); }";
    let seen = seen_in(&world, &site, script).await;
    assert_eq!(seen.failed, [("net::ERR_EMPTY_RESPONSE".to_owned(), "/reset".to_owned())]);
    assert_eq!(seen.pending, 1);
    let all = seen.signals();
    let first: Vec<&str> = all.iter().take(2).map(|s| s.code.as_str()).collect();
    assert_eq!(first, [signals::LOADING_FAILED, signals::REQUESTS_PENDING], "{all:?}");
    world.end().await;
}

#[tokio::test]
async fn a_dialog_is_seen_and_answered() {
    let world = World::new().await;
    let site = Site::new().await;
    let tab = world.tab(&site.url("/")).await;
    let window = tab.window().unwrap();
    let asks = tab.evaluate(&body("return confirm('sure?');", SHORT)).await;
    assert!(matches!(asks, Err(CallError::DeadlinePassed { .. })), "{asks:?}");
    let dialog = window.so_far().dialog.unwrap();
    assert_eq!((dialog.kind.as_str(), dialog.message.as_str()), ("confirm", "sure?"));
    tab.answer_dialog(true, PATIENT).await.unwrap();
    assert!(tab.answers(PATIENT).await);
    assert_eq!((tab.dialog(), window.close().dialog), (None, None));
    let script = body("return confirm('again?');", PATIENT);
    let (answer, ()) = tokio::join!(tab.evaluate(&script), async {
        while tab.dialog().is_none() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        tab.answer_dialog(false, PATIENT).await.unwrap();
    });
    assert_eq!(answer, Ok(Some(json!(false))));
    assert!(tab.answer_dialog(true, PATIENT).await.is_err(), "there is none");
    world.end().await;
}
