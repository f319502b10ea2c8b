//! What the service promises, without a browser.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use pcbflow_tests::editor::client::{self, Reply};
use pcbflow_tests::editor::{Options, StandIn};
use serde_json::{Value, json};

/// A stand-in and a login.
struct Desk {
    editor: StandIn,
    cookie: String,
}

impl Desk {
    fn new() -> Desk {
        let editor = StandIn::start(&Options::default()).expect("starts");
        let reply = client::request(editor.editor(), "POST", "/login", &[], &json!({}));
        let reply = reply.expect("answers");
        let cookie = reply.header("set-cookie").and_then(|c| c.split(';').next());
        let cookie = cookie.expect("a cookie").to_owned();
        Desk { editor, cookie }
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> std::io::Result<Reply> {
        let headers = [("Cookie", self.cookie.as_str())];
        client::request(self.editor.editor(), method, path, &headers, body)
    }

    fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, &Value::Null).expect("answers")
    }

    fn search(&self, key: &str) -> Reply {
        let path = "/api/v2/eda/product/search";
        self.ask("POST", path, &json!({ "keyword": key })).expect("answers")
    }

    /// Project and first page.
    fn page(&self) -> (String, String) {
        let state = self.editor.state();
        let text = |value: &Value| value.as_str().expect("a uuid").to_owned();
        let project = &state["projects"][0];
        (text(&project["uuid"]), text(&project["boards"][0]["schematic"]["page"][0]["uuid"]))
    }
}

/// Opens a websocket by hand and leaves it open.
fn open(desk: &Desk, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(desk.editor.editor()).expect("connects");
    stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a limit");
    let key = "dGhlIHNhbXBsZSBub25jZQ==";
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("writes");
    let mut bytes = [0; 129];
    stream.read_exact(&mut bytes).expect("an answer");
    let text = String::from_utf8_lossy(&bytes).into_owned();
    assert!(text.starts_with("HTTP/1.1 101") && text.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    stream
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(5), "in time: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_login_opens_the_service_and_its_end_closes_it() {
    let desk = Desk::new();
    let nobody = client::request(desk.editor.editor(), "GET", "/api/user", &[], &Value::Null)
        .expect("answers");
    assert_eq!(nobody.status, 401);
    assert_eq!(desk.get("/api/user").json()["result"]["username"], "engineer");
    assert_eq!(desk.get("/api/projects").json()["result"]["lists"][0]["name"], "door-sensor");

    desk.editor.arm(&json!({ "id": "EDA-1", "variant": "expired" }));
    assert_eq!(desk.get("/api/user").status, 401);
    let restore = json!({ "restore": true });
    assert_eq!(desk.ask("POST", "/login", &restore).expect("answers").status, 401);
    desk.editor.tell("/human", &json!({ "do": "login" }));
    assert_eq!(desk.get("/api/user").status, 200);

    let silent = json!({ "silent_restore": true });
    desk.editor.arm(&json!({ "id": "EDA-1", "variant": "expired", "params": silent }));
    assert_eq!(desk.get("/api/user").status, 401);
    assert_eq!(desk.ask("POST", "/login", &restore).expect("answers").status, 200);
    assert_eq!(desk.get("/api/user").status, 200);
}

#[test]
fn only_the_window_with_the_lease_saves() {
    let desk = Desk::new();
    let (project, page) = desk.page();
    let doc = format!("/api/projects/{project}/docs/{page}");
    let body = json!({ "next": 2, "primitives": [{ "id": "e1" }] });
    let put =
        |win: &str| desk.ask("PUT", &format!("{doc}?win={win}"), &body).expect("answers").status;
    assert_eq!(put("w1"), 409, "nobody holds the project");
    let first = open(&desk, &format!("/lease?win=w1&project={project}"));
    until("the first window holds it", || put("w1") == 200);
    let _second = open(&desk, &format!("/lease?win=w2&project={project}"));
    until("the second waits", || {
        desk.editor.state()["leases"][&project]["waiting"] == json!(["w2"])
    });
    assert_eq!(put("w2"), 409);
    drop(first);
    until("the second gets it when the first is gone", || put("w2") == 200);
    assert_eq!(desk.get(&doc).json()["result"]["body"], body);
    let saves = desk.editor.events("saved");
    let by: Vec<&Value> = saves.iter().map(|s| &s["window"]).collect();
    assert_eq!(by, ["w1", "w2"]);
    assert_eq!(saves[1]["revision"], 2);
}

#[test]
fn a_foreign_lease_lasts_as_long_as_it_was_armed_for() {
    let desk = Desk::new();
    let (project, page) = desk.page();
    let _mine = open(&desk, &format!("/lease?win=w1&project={project}"));
    let path = format!("/api/projects/{project}/docs/{page}?win=w1");
    let put = || desk.ask("PUT", &path, &json!({ "primitives": [] })).expect("answers").status;
    until("the window holds it", || put() == 200);
    desk.editor.arm(&json!({ "id": "BR-5", "variant": "foreign", "ms": 300 }));
    assert_eq!(put(), 409);
    until("the other has left", || put() == 200);
}

#[test]
fn unknown_uuids_are_404_and_wrong_documents_400() {
    let desk = Desk::new();
    let (project, page) = desk.page();
    let none = "0".repeat(32);
    for path in [
        format!("/api/projects/{none}"),
        format!("/api/projects/{none}/docs/{page}"),
        format!("/api/projects/{project}/docs/{none}"),
        "/api/nothing".to_owned(),
        "/nothing".to_owned(),
    ] {
        assert_eq!(desk.get(&path).status, 404, "{path}");
    }
    let _mine = open(&desk, &format!("/lease?win=w1&project={project}"));
    until("held", || desk.editor.state()["leases"][&project]["holder"] == "w1");
    let path = format!("/api/projects/{project}/docs/{page}?win=w1");
    assert_eq!(desk.ask("PUT", &path, &json!({})).expect("answers").status, 400);
    assert_eq!(desk.editor.events("saved").len(), 0);
}

#[test]
fn throttles_say_what_they_were_told_to() {
    let desk = Desk::new();
    assert_eq!(desk.search("100nF").json()["result"]["lists"][0]["supplierId"], "C14663");

    let arm = |fault: Value| desk.editor.arm(&fault);
    arm(
        json!({ "id": "EDA-5", "variant": "too_many", "count": 1, "params": { "retry_after": 7 } }),
    );
    let reply = desk.search("100nF");
    assert_eq!((reply.status, reply.header("Retry-After")), (429, Some("7")));
    arm(json!({ "id": "EDA-5", "variant": "too_many", "count": 1, "params": { "retry_date": 7 } }));
    assert!(desk.search("100nF").header("retry-after").is_some_and(|h| h.ends_with(" GMT")));
    arm(json!({ "id": "EDA-3", "variant": "throttle", "ms": 250 }));
    let reply = desk.search("100nF");
    assert_eq!((reply.status, reply.header("retry-after")), (403, None));
    assert_eq!(desk.get("/api/user").status, 200, "only searches are throttled");
    until("the throttle is over", || desk.search("100nF").status == 200);
    let params = json!({ "per_s": 3, "cooldown_ms": 200, "status": 429 });
    arm(json!({ "id": "EDA-5", "variant": "burst", "params": params }));
    let burst: Vec<u16> = (0..5).map(|_| desk.search("100nF").status).collect();
    assert_eq!(burst, [200, 200, 200, 429, 429]);
    until("the burst is forgiven", || desk.search("100nF").status == 200);
}

#[test]
fn a_server_that_fails_below_http_fails_so() {
    let desk = Desk::new();
    for (fault, expected) in [
        (json!({ "id": "EDA-6", "variant": "reset" }), std::io::ErrorKind::ConnectionReset),
        (json!({ "id": "EDA-6", "variant": "empty" }), std::io::ErrorKind::UnexpectedEof),
    ] {
        let mut once = fault.clone();
        once["count"] = json!(1);
        desk.editor.arm(&once);
        let kind = desk.ask("GET", "/api/user", &Value::Null).expect_err("no reply").kind();
        assert_eq!(kind, expected, "{fault}");
        assert_eq!(desk.get("/api/user").status, 200, "{fault} strikes once");
    }
    desk.editor.arm(&json!({ "id": "EDA-6", "variant": "html", "count": 1 }));
    let reply = desk.get("/api/user");
    assert!(reply.status == 200 && reply.json().is_null() && reply.text.contains("<p>"));
    let params = json!({ "status": 503, "retry_after": 2 });
    desk.editor.arm(&json!({ "id": "EDA-6", "variant": "error", "count": 1, "params": params }));
    let reply = desk.get("/api/user");
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("2")));

    desk.editor.arm(&json!({ "id": "EDA-6", "variant": "hang", "count": 1 }));
    let mut stream = TcpStream::connect(desk.editor.editor()).expect("connects");
    stream.set_read_timeout(Some(Duration::from_millis(300))).expect("a limit");
    stream.write_all(b"GET /api/user HTTP/1.1\r\n\r\n").expect("writes");
    let silent = stream.read(&mut [0; 8]).expect_err("silence").kind();
    assert_eq!(silent, std::io::ErrorKind::WouldBlock);
    let statuses: Vec<Value> = desk
        .editor
        .events("request")
        .into_iter()
        .filter(|e| !e["fault"].is_null())
        .map(|e| e["status"].clone())
        .collect();
    assert_eq!(statuses, [json!("reset"), json!("empty"), json!(200), json!(503), json!("hang")]);
}

#[test]
fn refusals_have_the_status_and_the_scope_that_was_armed() {
    let desk = Desk::new();
    let (project, _) = desk.page();
    let tree = format!("/api/projects/{project}");
    let html = json!({ "body": "html" });
    for (fault, path, status) in [
        (json!({ "id": "EDA-2", "variant": "unauthorized", "params": html }), "/api/user", 401),
        (json!({ "id": "EDA-2", "variant": "document" }), "/editor", 401),
        (json!({ "id": "EDA-3", "variant": "forbidden" }), tree.as_str(), 403),
        (json!({ "id": "EDA-4", "variant": "missing" }), tree.as_str(), 404),
    ] {
        let mut once = fault.clone();
        once["count"] = json!(1);
        desk.editor.arm(&once);
        assert_eq!(desk.get("/favicon.ico").status, 200);
        assert_eq!(desk.get(path).status, status, "{fault}");
        assert_eq!(desk.get(path).status, 200, "{fault} strikes once");
    }
    let one = json!({ "path": "/api/teams" });
    desk.editor.arm(&json!({ "id": "EDA-2", "variant": "unauthorized", "scope": one }));
    assert_eq!((desk.get("/api/teams").status, desk.get("/api/user").status), (401, 200));
    desk.editor.tell("/clear", &json!({}));
    assert_eq!(desk.get("/api/teams").status, 200);
    let delay = json!({ "delay_ms": 150 });
    desk.editor.arm(&json!({ "id": "EDA-6", "variant": "slow", "count": 1, "params": delay }));
    let start = Instant::now();
    assert_eq!(desk.get("/api/user").status, 200);
    assert!(start.elapsed() >= Duration::from_millis(150));
    desk.editor.arm(&json!({ "id": "EDA-9", "variant": "csp", "count": 1 }));
    assert_eq!(desk.get("/editor").header("content-security-policy"), Some("script-src 'none'"));
    assert_eq!(desk.get("/editor").header("content-security-policy"), None);
}

#[test]
fn a_lease_can_outlive_its_window() {
    let desk = Desk::new();
    let (project, page) = desk.page();
    let put = |win: &str| {
        let path = format!("/api/projects/{project}/docs/{page}?win={win}");
        desk.ask("PUT", &path, &json!({ "primitives": [] })).expect("answers").status
    };
    let params = json!({ "release_ms": 400 });
    desk.editor.arm(&json!({ "id": "BR-5", "variant": "slow_release", "params": params }));
    let first = open(&desk, &format!("/lease?win=w1&project={project}"));
    until("the first window holds it", || put("w1") == 200);
    let _second = open(&desk, &format!("/lease?win=w2&project={project}"));
    let start = Instant::now();
    drop(first);
    until("the second gets it", || put("w2") == 200);
    assert!(start.elapsed() >= Duration::from_millis(400));
}

#[test]
fn the_control_refuses_what_it_does_not_know() {
    let desk = Desk::new();
    for (path, body) in [
        ("/fault", json!({ "id": "EDA-7", "variant": "lop" })),
        ("/settings", json!({ "quirk": true })),
        ("/human", json!({ "do": "sleep" })),
    ] {
        let reply = client::request(desk.editor.control(), "POST", path, &[], &body);
        assert_eq!(reply.expect("answers").status, 400, "{path}");
    }
    let seen = client::request(desk.editor.editor(), "GET", "/state", &[], &Value::Null);
    assert_eq!(seen.expect("answers").status, 404, "the editor's address tells no state");
}

#[test]
fn broken_requests_end_one_connection_and_no_server() {
    let desk = Desk::new();
    for bytes in [
        &b"\x16\x03\x01\x02\x00"[..],
        b"GET\r\n\r\n",
        b"POST /login HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
    ] {
        let mut stream = TcpStream::connect(desk.editor.editor()).expect("connects");
        stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a limit");
        stream.write_all(bytes).expect("writes");
        let mut rest = Vec::new();
        // Closed or reset, but not kept.
        let ended = stream.read_to_end(&mut rest);
        assert!(
            ended.is_ok() || ended.is_err_and(|e| e.kind() == std::io::ErrorKind::ConnectionReset)
        );
        assert!(rest.is_empty());
    }
    assert_eq!(desk.get("/api/user").status, 200);
}
