//! What must not be taken for a row, although it looks like it.

use super::*;
use crate::signals as s;

const UNKNOWN_ID: &str = "SC-1";

#[test]
fn a_status_outranks_words() {
    for (want, status, words) in [
        ("EDA-6", 500, "session expired"),
        ("EDA-6", 503, "429 Too Many Requests"),
        ("EDA-5", 429, "session expired, log in again"),
        ("EDA-2", 401, "500 Internal Server Error"),
    ] {
        assert_eq!(class_of(&[http(status), Signal::words("stdout", words)]), want, "{words}");
    }
}

#[test]
fn a_status_outranks_a_hang_and_an_empty_result() {
    for (want, status) in [
        ("EDA-2", 401),
        ("EDA-3", 403),
        ("EDA-4", 404),
        ("EDA-6", 408),
        ("EDA-5", 429),
        ("EDA-6", 500),
    ] {
        let plain = class_of(&[deadline(), http(status)]);
        assert_eq!(plain, want, "deadline and {status}");
        let probed = class_of(&[deadline(), cdp(s::PROBE_UNANSWERED), http(status)]);
        assert_eq!(probed, want, "hung page and {status}");
        let empty = class_of(&[http(status), report(s::SEARCH_EMPTY)]);
        assert_eq!(empty, want, "empty search and {status}");
    }
}

#[test]
fn words_about_time_are_no_hang() {
    for words in [
        "AssertionError: timeout must be 30",
        "KeyError: 'timeout'",
        "expected timeout to equal 5000",
        "test_timeout_is_honoured FAILED",
        "error: operation timed out after reading 0 of 12 rows",
    ] {
        assert_eq!(class_of_words(words), UNKNOWN_ID, "{words}");
        assert_eq!(class_of(&[Signal::words("stderr", words)]), UNKNOWN_ID, "{words}");
    }
}

#[test]
fn nets_and_footprints_without_a_match_are_no_parts() {
    for words in [
        "No match for net GND",
        "No match for footprint R_0402",
        "net VCC not found",
        "symbol not found in library",
        "footprint not found",
        "counterpart not found",
        "part of the net was not found",
        "ReactError: Component not found",
    ] {
        assert_eq!(class_of_words(words), UNKNOWN_ID, "{words}");
    }
}

#[test]
fn files_and_other_programs_need_no_easyeda_login() {
    for words in [
        "Permission denied",
        "cp: cannot open 'board.kicad_pcb' for reading: Permission denied",
        "error: EACCES: permission denied, open '/hw/out/drc.json'",
        "fatal: Authentication failed for 'https://github.com/a/b.git'",
        "remote: HTTP 401 from github.com",
        "npm ERR! 401 Unauthorized - GET https://packages.example.org/x",
        "npm ERR! 429 Too Many Requests",
        "API Error: 401 {\"type\":\"authentication_error\"} from api.anthropic.com",
        "fatal: unable to access: The requested URL returned error: 403 Forbidden",
        "docker: 500 Internal Server Error",
        "kex_exchange: Connection reset by peer from ssh",
        "Part R401 and R429 are missing",
    ] {
        assert_eq!(class_of_words(words), UNKNOWN_ID, "{words}");
    }
}

#[test]
fn other_refused_connections_are_not_the_browser() {
    for words in [
        "connect ECONNREFUSED 127.0.0.1:5432",
        "connection refused",
        "listening on 127.0.0.1:9222",
        "Failed to save board.kicad_pcb",
        "save failed: disk quota",
        "page not found",
        "bus error: failed to connect to the bus",
    ] {
        assert_eq!(class_of_words(words), UNKNOWN_ID, "{words}");
    }
}

#[test]
fn sign_in_look_alikes() {
    let before = own(s::SIGNED_IN_EARLIER);
    for signals in [
        // A page drawn signed-out while nothing else says so.
        vec![dom(s::LOGIN_VISIBLE), before.clone()],
        vec![dom(s::LOGIN_VISIBLE), cdp(s::PAGE_LOADING)],
        vec![cdp(s::NO_SESSION_COOKIE), before],
    ] {
        assert_eq!(class_of(&signals), UNKNOWN_ID, "{signals:?}");
    }
}

#[test]
fn search_look_alikes() {
    // An empty list proves nothing without a good answer on the wire.
    assert_eq!(class_of(&[report(s::SEARCH_EMPTY)]), UNKNOWN_ID);
    let logged_out = [http(200), report(s::SEARCH_EMPTY), report(s::USER_WITHOUT_ID)];
    assert_ne!(class_of(&logged_out), "EDA-10");
    let broken = [http(200), report(s::SEARCH_EMPTY), cdp(s::LOADING_FAILED)];
    assert_eq!(class_of(&broken), "EDA-6");
    let slow = [http(404), cdp(s::REQUESTS_PENDING)];
    assert_eq!(class_of(&slow), "EDA-8", "a project that still loads is not unknown");
}

#[test]
fn hang_look_alikes() {
    let busy = [deadline(), own(s::TAB_IN_BACKGROUND)];
    assert_eq!(class_of(&busy), UNKNOWN_ID, "a slow background tab");
    let crash = [deadline(), cdp(s::TARGET_CRASHED), cdp(s::PROBE_UNANSWERED)];
    assert_eq!(class_of(&crash), "BR-6");
    let start = [deadline(), cdp(s::REQUESTS_PENDING), own(s::STARTING)];
    assert_eq!(class_of(&start), UNKNOWN_ID, "a normal start");
    let new = [report(s::LISTS_EMPTY), report(s::PROJECT_SET), report(s::PROJECT_NEW)];
    assert_eq!(class_of(&new), UNKNOWN_ID, "a new project is empty");
    assert_eq!(class_of(&[dom(s::PROGRESS_STUCK).number(9_000)]), UNKNOWN_ID);
    // The same deadline in another layer is no hang of the page.
    let script = catalogue().diagnose(&seen("process/command", &[deadline()]));
    assert_eq!(script.class.as_str(), UNKNOWN_ID);
    // The first rung settles these two, on the same ladder.
    for event in [s::DIALOG_OPEN, s::TARGET_DETACHED] {
        let found = catalogue().diagnose(&seen("eda/step", &[deadline(), cdp(event)]));
        assert_eq!(found.class.as_str(), "EDA-7");
        assert!(found.confidence <= 70, "{event} is no plain hang");
    }
}

#[test]
fn injection_look_alikes() {
    let loading = [cdp(s::ROOT_MISSING), cdp(s::PAGE_LOADING)];
    assert_eq!(class_of(&loading), UNKNOWN_ID);
    let no_root = [cdp(s::ROOT_MISSING), report(s::METHOD_MISSING)];
    assert_eq!(class_of(&no_root), "EDA-9");
    assert_eq!(class_of_words("ReferenceError: eda is not defined"), UNKNOWN_ID);
    assert_eq!(class_of_words("TypeError: x is not a function"), UNKNOWN_ID);
}

#[test]
fn save_look_alikes() {
    for signals in [
        vec![own(s::SAVE_UNANSWERED), report(s::WRITE_LANDED)],
        vec![cdp(s::GONE_BEFORE_SAVE), report(s::WRITE_LANDED)],
        vec![report(s::PIN_NET_EMPTY)],
    ] {
        assert_eq!(class_of(&signals), UNKNOWN_ID, "{signals:?}");
    }
    assert_eq!(class_of(&[report(s::SAVE_FALSE), http(401)]), "EDA-2");
    assert_eq!(class_of(&[own(s::SAVE_UNANSWERED), http(500)]), "EDA-6");
}

#[test]
fn browser_look_alikes() {
    let up = own(s::BROWSER_WAS_UP);
    for signals in [
        vec![file(s::LOCK_LINK), file(s::LOCK_OWNER_DEAD)],
        vec![file(s::LOCK_LINK), up.clone()],
        vec![dom(s::LOCK_BANNER), own(s::OWN_TAB_JUST_CLOSED), cdp(s::PAGE_LOADING)],
        vec![cdp(s::SOCKET_GONE), own(s::COMPUTER_SLEPT)],
        vec![cdp(s::TARGET_DETACHED)],
        vec![cdp(s::TARGET_CRASHED).text("oom")],
        vec![cdp(s::PROJECT_ID_DIFFERS), cdp(s::PAGE_LOADING)],
        vec![file(s::CLONE_MISSING), file(s::CLONE_MOVED)],
        vec![report(s::WRITES_REFUSED), report(s::READS_FINE), report(s::CALL_MALFORMED)],
        vec![cdp(s::TWO_WINDOWS).number(1)],
    ] {
        let found = catalogue().diagnose(&seen("eda/step", &signals));
        let sure = found.known && found.confidence > 60;
        assert!(!sure, "{signals:?} is taken for {}", found.class);
    }
    assert_eq!(class_of(&[report(s::WRITES_REFUSED), report(s::READS_FINE), http(403)]), "EDA-3");
    assert_eq!(class_of(&[cdp(s::PORT_SILENT), up]), "BR-6");
    let curl = catalogue().diagnose(&seen("process/command", &[Signal::exit_status(21)]));
    assert_eq!(curl.class.as_str(), UNKNOWN_ID, "another program's status 21");
}
