//! Faults as a script in the page meets them, in a real browser.

use std::time::Duration;

use pcbflow_tests::editor::StandIn;
use serde_json::{Value, json};

use super::browser::{Browser, address, desk, saw, until};

/// How long a pulse is watched: several beats of a page that is well.
const PULSE_LOOK: Duration = Duration::from_millis(600);

/// A fault's two words and parameters, and what it shows.
type Case<'a> = (&'a str, &'a str, Value, &'a [(&'a str, Value)]);

/// One browser that loads the page again for each fault.
struct Tour {
    editor: StandIn,
    _browser: Browser,
    reports: usize,
}

impl Tour {
    /// Opens the page; what is to be seen of it without a fault.
    fn start() -> Tour {
        let editor = desk();
        let browser = Browser::open(&address(&editor, "look"));
        let mut tour = Tour { editor, _browser: browser, reports: 0 };
        let well = tour.report();
        for (key, value) in [
            ("root", json!("object")),
            ("user", json!("engineer")),
            ("loginButton", json!(false)),
            ("banner", json!("")),
            ("isLogin", json!(true)),
            ("progress", json!("100")),
            ("version", json!("3.2.149")),
            ("boards", json!(1)),
            ("search", json!(2)),
            ("shape", json!("list")),
            ("create", json!("object")),
            ("wire", json!("object")),
            ("readInOneGo", json!(1)),
            ("read", json!(1)),
            ("nets", json!(["A"])),
        ] {
            assert_eq!(well[key], value, "{key}: {well}");
        }
        tour
    }

    fn report(&mut self) -> Value {
        let reports = self.reports;
        until("the page reports", &self.editor, |e| e.events("selftest").len() > reports);
        self.reports += 1;
        let report = self.editor.events("selftest").remove(reports);
        assert_eq!(report["error"], Value::Null);
        report["saw"].clone()
    }

    /// What a load with a fault shows. The fault is cleared afterwards.
    fn with(&mut self, id: &str, variant: &str, params: Value) -> Value {
        self.editor.arm(&json!({ "id": id, "variant": variant, "params": params }));
        self.editor.tell("/human", &json!({ "do": "reload" }));
        let seen = self.report();
        self.editor.tell("/clear", &json!({}));
        seen
    }

    /// Holds what a load with a fault shows against what it should.
    fn expect(&mut self, cases: &[Case<'_>]) {
        for (id, variant, params, expected) in cases {
            let seen = self.with(id, variant, params.clone());
            for (key, value) in *expected {
                assert_eq!(&seen[*key], value, "{id} {variant}: {key} in {seen}");
            }
        }
    }
}

#[test]
fn loads_fail_as_armed() {
    let mut tour = Tour::start();
    let none = || json!({});
    let create = || json!({ "api": "sch_PrimitiveComponent.create", "to": "place" });
    let search = || json!({ "api": "lib_Device.search" });
    let refused = json!("throw: 数据不符合规范");
    tour.expect(&[
        ("EDA-8", "stuck", none(), &[("progress", json!("20"))]),
        ("EDA-8", "no_boards", none(), &[("boards", json!(0))]),
        ("EDA-8", "rejects", none(), &[("read", json!("throw: 获取失败"))]),
        ("EDA-9", "late", json!({ "delay_ms": 60_000 }), &[("root", json!("undefined"))]),
        ("EDA-9", "absent", none(), &[("root", json!("undefined")), ("frame", json!(false))]),
        ("EDA-9", "iframe", none(), &[("root", json!("undefined")), ("frame", json!(true))]),
        ("EDA-11", "version", json!({ "version": "4.0.1" }), &[("version", json!("4.0.1"))]),
        ("EDA-11", "shape", search(), &[("shape", json!("object")), ("search", json!(2))]),
        ("EDA-11", "order", create(), &[("create", refused)]),
    ]);
    let renamed = tour.with("EDA-11", "renamed", create());
    let methods = renamed["methods"].as_array().cloned().unwrap_or_default();
    assert!(methods.contains(&json!("place")) && !methods.contains(&json!("create")));
    let removed = tour.with("EDA-11", "removed", create());
    assert!(removed["create"].as_str().is_some_and(|t| t.contains("is not a function")));
    assert_eq!(removed["wire"], "object", "only the one that was named");
}

#[test]
fn reads_parts_and_leases_fail_as_armed() {
    let mut tour = Tour::start();
    let none = || json!({});
    let refused = json!("throw: 数据不符合规范");
    tour.expect(&[
        (
            "EDA-13",
            "slow_nets",
            json!({ "net_settle_ms": 60_000 }),
            &[("nets", json!([])), ("read", json!(1))],
        ),
        ("EDA-13", "never", none(), &[("nets", json!([])), ("read", json!(1))]),
        (
            "EDA-14",
            "slow_reads",
            json!({ "settle_ms": 60_000 }),
            &[("read", json!(0)), ("nets", json!(["A"]))],
        ),
        ("EDA-14", "next_call", none(), &[("readInOneGo", json!(0)), ("read", json!(1))]),
        ("EDA-14", "until_load", none(), &[("read", json!(0))]),
        ("EDA-10", "empty", none(), &[("search", json!(0)), ("create", refused.clone())]),
        ("EDA-10", "arrays_only", none(), &[("search", json!(1)), ("create", json!("object"))]),
        ("EDA-10", "no_model", none(), &[("search", json!(2)), ("create", refused)]),
        ("EDA-10", "many", none(), &[("search", json!(4))]),
        ("EDA-3", "throttle", none(), &[("search", json!(0)), ("user", json!("engineer"))]),
    ]);
    let locked = tour.with("BR-5", "foreign", json!({ "holder": "Ada", "writes": "throw" }));
    assert_eq!(locked["create"], "throw: create failed!");
    assert!(locked["banner"].as_str().is_some_and(|text| text.contains("Ada")));
    let quiet = tour.with("BR-5", "foreign", json!({ "banner": false }));
    assert_eq!((&quiet["create"], &quiet["banner"]), (&json!("undefined"), &json!("")));

    tour.editor.arm(&json!({ "id": "EDA-3", "variant": "throttle" }));
    let thrown = tour.with("EDA-5", "search_throws", none());
    assert_eq!(thrown["search"], "throw: Request failed with status code 403");
}

#[test]
fn a_login_that_ends_shows_in_the_page_and_comes_back() {
    let mut tour = Tour::start();
    let out = tour.with("EDA-1", "expired", json!({}));
    assert_eq!((&out["loginButton"], &out["user"]), (&json!(true), &json!("nobody")));
    assert_eq!(out["isLogin"], true, "what the browser remembers stays, as it does in the wild");
    assert_eq!(out["search"], 0);
    tour.editor.tell("/human", &json!({ "do": "login" }));
    until("the page is signed in again", &tour.editor, |e| {
        e.events("lease_granted").len() == 2 && e.events("document_opened").len() == 2
    });
    let new = tour.with("BR-3", "logged_out", json!({}));
    assert_eq!((&new["loginButton"], &new["isLogin"]), (&json!(true), &json!(false)));
}

#[test]
fn a_click_or_the_form_brings_a_login_back() {
    for (test, form) in [("restore", Value::Null), ("form", json!(true))] {
        let editor = desk();
        let saw = saw(&editor, test);
        assert_eq!(saw["before"], json!([true, ""]), "{test}");
        assert_eq!(saw["form"], form, "{test}");
        assert_eq!((&saw["button"], &saw["formAfter"]), (&json!(false), &json!(false)), "{test}");
        assert_eq!(saw["project"], "door-sensor", "{test}: what the address names is opened");
    }
}

#[test]
fn the_second_window_only_looks_until_the_first_is_gone() {
    let editor = desk();
    let mut first = Browser::open(&editor.first_page_url());
    until("the first window is there", &editor, |e| e.events("document_opened").len() == 1);
    let locked = saw(&editor, "look");
    assert_eq!((&locked["create"], &locked["read"]), (&json!("undefined"), &json!(0)));
    assert!(locked["banner"].as_str().is_some_and(|text| text.contains("another window")));
    first.kill();
    until("the lease is free", &editor, |e| !e.events("lease_free").is_empty());
    assert_eq!(saw(&editor, "look")["create"], "object");
}

#[test]
fn writes_and_saves_lie_as_armed() {
    let editor = desk();
    let once = |id: &str, variant: &str, landed: bool| {
        let params = json!({ "landed": landed });
        editor.arm(&json!({ "id": id, "variant": variant, "count": 1, "params": params }));
    };
    for (id, variant, landed) in [
        ("EDA-7", "never", false),
        ("EDA-7", "never", true),
        ("EDA-12", "dropped", false),
        ("EDA-12", "done_dropped", false),
        ("EDA-12", "done_never", true),
        ("EDA-12", "save_false", false),
        ("EDA-12", "save_lies", false),
        ("EDA-12", "save_never", false),
        ("EDA-12", "save_http", false),
    ] {
        once(id, variant, landed);
    }
    let saw = saw(&editor, "writes");
    assert_eq!(
        (&saw["never"], &saw["landed"], &saw["dropped"]),
        (&json!("silent"), &json!("silent"), &json!("object"))
    );
    assert_eq!(saw["count"], 1, "one of three writes has landed");
    assert_eq!((&saw["doneDropped"], &saw["x"]), (&json!("object"), &json!(0)));
    assert_eq!((&saw["doneNever"], &saw["xAfter"]), (&json!("silent"), &json!(600)));
    assert_eq!(saw["saves"], json!([false, true, "silent", false, true]));
    assert_eq!(editor.events("saved").len(), 1, "only the last save is true");
}

/// Whether the page's pulse goes on.
fn beats(editor: &StandIn) -> bool {
    let before = editor.events("pulse").len();
    std::thread::sleep(PULSE_LOOK);
    editor.events("pulse").len() > before + 3
}

/// Arms a fault of a write, and waits until it has struck in a browser.
fn struck(fault: &Value) -> (StandIn, Browser) {
    let editor = desk();
    editor.arm(fault);
    // A small heap, so that memory runs out before the machine does.
    let flags = ["--js-flags=--max-old-space-size=200"];
    let browser = Browser::open_with(&address(&editor, "hang"), &flags);
    until("the fault strikes", &editor, |e| {
        e.state()["faults"][0]["left"] == 0 && !e.events("pulse").is_empty()
    });
    std::thread::sleep(PULSE_LOOK);
    (editor, browser)
}

#[test]
fn a_page_that_hangs_has_no_pulse_and_keeps_its_lease_until_its_browser_dies() {
    for fault in [
        json!({ "id": "EDA-7", "variant": "loop", "count": 1 }),
        json!({ "id": "EDA-7", "variant": "promise_loop", "count": 1 }),
        json!({ "id": "EDA-7", "variant": "timer_loop", "count": 1 }),
        json!({ "id": "EDA-7", "variant": "reenter", "count": 1 }),
        json!({ "id": "EDA-7", "variant": "sync_xhr", "count": 1 }),
        json!({ "id": "EDA-7", "variant": "alert", "count": 1 }),
    ] {
        let (editor, mut browser) = struck(&fault);
        assert!(!beats(&editor), "{fault}");
        assert_eq!(editor.events("lease_free").len(), 0, "{fault}");
        browser.kill();
        until("the lease is free", &editor, |e| e.events("lease_free").len() == 1);
        assert_eq!(editor.events("window_gone").len(), 1, "{fault}");
        assert_eq!(editor.events("selftest").len(), 0, "{fault}: the call came back");
    }
}

#[test]
fn a_call_that_waits_leaves_the_page_alive() {
    let (editor, _browser) = struck(&json!({ "id": "EDA-7", "variant": "modal", "count": 1 }));
    assert!(beats(&editor));
    assert_eq!(editor.events("selftest").len(), 0, "nobody has closed the window in the page");
}

#[test]
fn a_root_that_is_late_is_whole_when_it_comes() {
    let editor = desk();
    let params = json!({ "delay_ms": 700 });
    editor.arm(&json!({ "id": "EDA-9", "variant": "late", "params": params }));
    assert_eq!(saw(&editor, "reload")["parts"], 1);
}

#[test]
fn a_page_without_memory_is_gone() {
    let (editor, _browser) = struck(&json!({ "id": "EDA-7", "variant": "memory", "count": 1 }));
    until("the page is gone", &editor, |e| e.events("window_gone").len() == 1);
    until("the lease is free", &editor, |e| e.events("lease_free").len() == 1);
}

#[test]
fn the_fatal_arc_ends_the_page_without_any_fault_armed() {
    let editor = desk();
    let _browser = Browser::open(&address(&editor, "arc"));
    until("the call is made", &editor, |e| {
        e.events("call").iter().any(|c| c["api"] == "pcb_PrimitiveArc.create")
    });
    std::thread::sleep(PULSE_LOOK);
    assert!(!beats(&editor));
}

#[test]
fn a_policy_against_scripts_leaves_a_page_without_any() {
    let editor = desk();
    editor.arm(&json!({ "id": "EDA-9", "variant": "csp" }));
    let _browser = Browser::open(&address(&editor, "look"));
    until("the page is loaded", &editor, |e| !e.events("window_loaded").is_empty());
    std::thread::sleep(PULSE_LOOK);
    assert_eq!(editor.events("window_connected").len(), 0);
}
