//! Windows as the runner would record them, one and more for each id.

use super::*;
use crate::signals as s;

#[test]
fn sign_in() {
    let idle = own(s::IDLE_BEFORE).number(5_400_000);
    let before = own(s::SIGNED_IN_EARLIER);
    let first = own(s::FIRST_LOAD);
    for (want, signals) in [
        ("EDA-1", vec![http(401), dom(s::LOGIN_VISIBLE), before.clone(), idle.clone()]),
        ("EDA-1", vec![http(401), report(s::USER_WITHOUT_ID), before.clone(), idle.clone()]),
        ("EDA-1", vec![cdp(s::LOGIN_PAGE), dom(s::LOGIN_VISIBLE), before.clone()]),
        ("EDA-1", vec![deadline(), http(401), cdp(s::LOGIN_PAGE), before.clone(), idle]),
        ("EDA-2", vec![http(401), dom(s::LOGIN_VISIBLE), before.clone()]),
        ("EDA-2", vec![http(401), report(s::SAVE_FALSE)]),
        ("EDA-2", vec![http(401), report(s::USER_WITH_ID), before.clone()]),
        ("EDA-2", vec![http(401)]),
        ("EDA-2", vec![deadline(), http(401)]),
        ("BR-3", vec![http(401), first.clone()]),
        ("BR-3", vec![deadline(), http(401), first.clone()]),
        ("BR-3", vec![dom(s::LOGIN_VISIBLE), first.clone()]),
        ("BR-3", vec![http(401), dom(s::LOGIN_VISIBLE), report(s::USER_WITHOUT_ID), first]),
        ("BR-3", vec![cdp(s::NO_SESSION_COOKIE)]),
    ] {
        assert_eq!(class_of(&signals), want, "{signals:?}");
    }
}

#[test]
fn refusals_are_told_apart_by_scope_and_history() {
    let search = Signal::http(403, "/api/v2/eda/product/search");
    let answered = own(s::SEARCHES_ANSWERED).number(12);
    let fine = own(s::OTHER_CALLS_FINE);
    let wait = sig(Source::Http, s::RETRY_AFTER).number(30);
    for (want, signals) in [
        ("EDA-3", vec![http(403)]),
        ("EDA-3", vec![http(403), fine.clone()]),
        ("EDA-3", vec![http(403), fine.clone(), answered.clone()]),
        ("EDA-3", vec![search.clone(), own(s::REFUSED_FROM_START), report(s::SEARCH_EMPTY)]),
        ("EDA-3", vec![deadline(), http(403)]),
        ("EDA-5", vec![search.clone(), answered.clone()]),
        ("EDA-5", vec![search.clone(), answered.clone(), fine]),
        ("EDA-5", vec![search.clone(), report(s::SEARCH_EMPTY)]),
        ("EDA-5", vec![http(403), wait.clone()]),
        ("EDA-5", vec![http(429)]),
        ("EDA-5", vec![http(429), wait, report(s::SEARCH_EMPTY)]),
        ("EDA-5", vec![deadline(), http(429)]),
        ("EDA-5", vec![deadline(), search, answered]),
        ("EDA-5", vec![report(s::SEARCH_EMPTY), http(200), own(s::THROTTLE_SEEN)]),
    ] {
        assert_eq!(class_of(&signals), want, "{signals:?}");
    }
}

#[test]
fn server_and_ids() {
    for (want, signals) in [
        ("EDA-4", vec![http(404)]),
        ("EDA-4", vec![http(404), deadline()]),
        ("EDA-4", vec![report(s::OPEN_UNDEFINED), report(s::PROJECT_NOT_LISTED)]),
        ("EDA-6", vec![http(500)]),
        ("EDA-6", vec![http(503), sig(Source::Http, s::RETRY_AFTER).number(5)]),
        ("EDA-6", vec![http(408)]),
        ("EDA-6", vec![cdp(s::LOADING_FAILED).text("net::ERR_CONNECTION_RESET")]),
        ("EDA-6", vec![cdp(s::LOADING_FAILED).text("net::ERR_TIMED_OUT"), deadline()]),
        ("EDA-6", vec![http(502), report(s::SAVE_FALSE)]),
        ("EDA-10", vec![http(200), report(s::SEARCH_EMPTY)]),
        ("EDA-10", vec![http(404), report(s::PART_UNKNOWN).text("C1586860")]),
        ("EDA-10", vec![report(s::ONLY_ARRAYS), http(200)]),
        ("EDA-10", vec![report(s::NO_MODEL).text("C1586860")]),
        ("EDA-10", vec![report(s::PART_DIFFERS)]),
    ] {
        assert_eq!(class_of(&signals), want, "{signals:?}");
    }
}

#[test]
fn page() {
    for (want, signals) in [
        ("EDA-7", vec![deadline()]),
        ("EDA-7", vec![deadline(), cdp(s::PROBE_UNANSWERED), cdp(s::RENDERER_BUSY)]),
        ("EDA-7", vec![deadline(), cdp(s::PROBE_ANSWERED)]),
        ("EDA-7", vec![deadline(), cdp(s::PROBE_UNANSWERED), own(s::SAVE_UNANSWERED)]),
        ("EDA-7", vec![deadline(), report(s::SEARCH_EMPTY)]),
        ("EDA-8", vec![cdp(s::REQUESTS_PENDING).number(3)]),
        ("EDA-8", vec![deadline(), cdp(s::REQUESTS_PENDING).number(3)]),
        ("EDA-8", vec![report(s::LISTS_EMPTY), report(s::PROJECT_SET)]),
        ("EDA-8", vec![deadline(), dom(s::PROGRESS_STUCK).number(31_000)]),
        ("EDA-9", vec![cdp(s::ROOT_MISSING)]),
        ("EDA-9", vec![cdp(s::TYPE_ERROR).text("Cannot read properties of undefined")]),
        ("EDA-11", vec![report(s::METHOD_MISSING).text("sch_Document.save")]),
        (
            "EDA-11",
            vec![
                cdp(s::TYPE_ERROR).text("root.sch_Document.save is not a function"),
                cdp(s::ROOT_PRESENT),
            ],
        ),
        ("EDA-11", vec![report(s::SHAPE_DIFFERS)]),
    ] {
        assert_eq!(class_of(&signals), want, "{signals:?}");
    }
}

#[test]
fn saving() {
    for (want, signals) in [
        ("EDA-12", vec![own(s::SAVE_UNANSWERED)]),
        ("EDA-12", vec![own(s::SAVE_UNANSWERED), deadline()]),
        ("EDA-12", vec![own(s::DONE_UNANSWERED), deadline()]),
        ("EDA-12", vec![report(s::SAVE_FALSE)]),
        ("EDA-12", vec![report(s::SAVE_TRUE), report(s::REVISION_UNMOVED)]),
        ("EDA-12", vec![cdp(s::GONE_BEFORE_SAVE), cdp(s::SOCKET_GONE), own(s::BROWSER_WAS_UP)]),
        ("EDA-12", vec![own(s::FRESH_READS_AGREE), report(s::READ_DIFFERS)]),
        ("EDA-13", vec![report(s::PIN_NET_EMPTY).number(4), report(s::WIRE_ENDS_ON_PIN)]),
        ("EDA-14", vec![own(s::READ_IN_WRITE), report(s::READ_DIFFERS)]),
        (
            "EDA-14",
            vec![own(s::READ_TOO_EARLY), report(s::PIN_NET_EMPTY), report(s::WIRE_ENDS_ON_PIN)],
        ),
    ] {
        assert_eq!(class_of(&signals), want, "{signals:?}");
    }
}

#[test]
fn browser() {
    let starting = own(s::BROWSER_STARTING);
    let up = own(s::BROWSER_WAS_UP);
    let line = own(s::NO_LISTENING_LINE).number(10_000);
    let lock = file(s::LOCK_LINK).text("laptop-4242");
    for (want, signals) in [
        ("BR-1", vec![starting.clone(), Signal::exit_status(1)]),
        ("BR-1", vec![starting.clone(), Signal::exit_signal(11), line.clone()]),
        ("BR-1", vec![line.clone()]),
        ("BR-2", vec![starting.clone(), Signal::exit_status(0), line.clone()]),
        ("BR-2", vec![sig(Source::Http, s::ORIGIN_REFUSED).number(403)]),
        ("BR-2", vec![cdp(s::PORT_SILENT)]),
        ("BR-2", vec![cdp(s::BROWSER_ID_DIFFERS), cdp(s::LISTENS_ELSEWHERE)]),
        ("BR-4", vec![starting.clone(), Signal::exit_status(21), lock.clone()]),
        ("BR-4", vec![starting, Signal::exit_status(21), line.clone()]),
        ("BR-4", vec![line, lock.clone()]),
        ("BR-4", vec![own(s::NEITHER_EXIT_NOR_PORT), file(s::LOCK_OTHER_HOST)]),
        ("BR-4", vec![lock, cdp(s::PORT_SILENT)]),
        ("BR-5", vec![cdp(s::TWO_WINDOWS).number(2)]),
        ("BR-5", vec![report(s::WRITES_REFUSED), report(s::READS_FINE)]),
        ("BR-5", vec![dom(s::LOCK_BANNER)]),
        ("BR-6", vec![up.clone(), Signal::exit_signal(9), cdp(s::SOCKET_GONE)]),
        ("BR-6", vec![cdp(s::TARGET_CRASHED).text("crashed").number(5)]),
        ("BR-6", vec![deadline(), cdp(s::TARGET_CRASHED).text("killed").number(9)]),
        ("BR-6", vec![up, cdp(s::SOCKET_GONE), cdp(s::PORT_SILENT)]),
        ("BR-7", vec![cdp(s::PROJECT_ID_DIFFERS), cdp(s::ROOT_MISSING)]),
        ("BR-7", vec![cdp(s::TARGET_NOT_PAGE).text("browser_ui")]),
        ("BR-8", vec![cdp(s::METHOD_NOT_FOUND).number(-32_601)]),
        ("BR-9", vec![cdp(s::BROWSER_ID_DIFFERS), cdp(s::NO_EDITOR_TARGET)]),
        ("BR-9", vec![cdp(s::BROWSER_ID_DIFFERS), file(s::OTHER_DATA_FOLDER)]),
        ("BR-10", vec![file(s::CLONE_MISSING)]),
        ("BR-10", vec![file(s::CLONE_MARKER_MISSING)]),
    ] {
        assert_eq!(class_of(&signals), want, "{signals:?}");
    }
}

#[test]
fn pasted_words() {
    for (want, words) in [
        ("EDA-1", "HTTP 401 Unauthorized"),
        ("EDA-1", "Error: 401 Unauthorized"),
        ("EDA-1", "Your session expired, log in again"),
        ("EDA-3", "403 Client Error: HTTP 403 for url"),
        ("EDA-4", "HTTP 404 for https://pro.easyeda.com/api/projects/1"),
        ("EDA-5", "429 Too Many Requests"),
        ("EDA-5", "HTTP 403: Failed to search for the component C25804"),
        ("EDA-6", "500 Internal Server Error"),
        ("EDA-6", "GET /api/user net::ERR_CONNECTION_RESET"),
        ("EDA-7", "renderer eval timeout"),
        ("EDA-7", "Runtime.callFunctionOn timed out. Increase the 'protocolTimeout'"),
        ("EDA-9", "TypeError: Cannot read properties of undefined (reading 'sch_Document')"),
        ("EDA-10", "{'success': False, 'code': 404, 'message': 'Component not found'}"),
        ("EDA-11", "No EasyEDA API implementation found for pcb_Document.autoRouting"),
        ("EDA-12", "EasyEDA: save failed"),
        ("BR-1", "Running as root without --no-sandbox is not supported."),
        ("BR-2", "connect ECONNREFUSED 127.0.0.1:9222"),
        ("BR-2", "ECONNREFUSED :9222"),
        ("BR-2", "DevTools remote debugging requires a non-default data directory."),
        ("BR-4", "Failed to create /p/SingletonLock: File exists (17)"),
        ("BR-4", "The profile appears to be in use by another Chromium process (42)"),
        ("BR-5", "edit lock: two windows"),
        ("BR-5", "This EasyEDA project is open in another window"),
        ("EDA-10", "Part not found: C12345"),
        ("BR-6", "Target crashed"),
        ("BR-8", "Protocol error (Page.foo): 'Page.foo' wasn't found"),
    ] {
        let found = catalogue().diagnose(&seen("", &[Signal::words("message", words)]));
        assert_eq!(found.class.as_str(), want, "{words}");
        assert!(found.confidence <= 60, "{words}");
        assert_eq!(found.trust, Source::Text);
    }
}
