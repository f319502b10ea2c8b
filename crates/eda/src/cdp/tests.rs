//! What needs no browser: the reader of messages, addresses, and a browser that misbehaves.

use futures_util::{SinkExt, StreamExt};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::frame::{Frame, read, without_halves};
use super::*;

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
        Just(json!("Target.detachedFromTarget")),
    ];
    let keys = prop_oneof![
        Just("id"),
        Just("method"),
        Just("params"),
        Just("sessionId"),
        Just("error"),
        Just("result"),
        Just("code"),
        Just("message"),
        Just("targetInfo"),
        Just("requestId"),
        Just("statusCode"),
        Just("response"),
        Just("request"),
        Just("url"),
        Just("headers"),
    ];
    leaf.prop_recursive(4, 64, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(keys.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_text_is_some_frame(text in ".{0,400}") {
        let known = matches!(read(&text), Frame::Odd | Frame::Answer { .. } | Frame::Event { .. });
        prop_assert!(known);
    }

    #[test]
    fn any_json_is_some_frame_and_leaves_the_client_whole(
        frames in prop::collection::vec(any_json(), 0..20),
        events in prop::collection::vec((0..METHODS.len(), any_json()), 0..20),
    ) {
        let shared = shared::Shared::default();
        shared.follow("S", "T");
        let window = shared.open_window("S").unwrap();
        let (id, mut answer) = shared.open(Some("S"), "Runtime.evaluate").unwrap();
        for frame in frames {
            shared.take(read(&frame.to_string()));
        }
        for (method, params) in events {
            let event = json!({ "method": METHODS[method], "sessionId": "S", "params": params });
            shared.take(read(&event.to_string()));
        }
        let seen = shared.seen("S", window);
        prop_assert!(seen.refused.len() <= FACTS_MAX && seen.failed.len() <= FACTS_MAX);
        prop_assert!(seen.pending <= PENDING_MAX);
        // Whatever came, the call is answered once, or still waits and can be answered.
        if answer.try_recv().is_err() {
            let text = json!({ "id": id, "result": {} }).to_string();
            shared.take(read(&text));
            prop_assert!(answer.try_recv().is_ok());
        }
    }

    #[test]
    fn a_cut_message_is_no_panic(cut in 0..200_usize, noise in any::<u8>()) {
        let whole = json!({
            "id": 7, "sessionId": "S", "result": { "result": { "value": "v\"\\ud83d\\ude00é\"" } },
        })
        .to_string();
        let mut bytes = whole.into_bytes();
        let at = cut % bytes.len();
        bytes[at] = noise;
        bytes.truncate(at.max(1) + cut % 7);
        let text = String::from_utf8_lossy(&bytes);
        // A shorter text of the same message can't be the whole answer.
        let whole = matches!(read(&text), Frame::Answer { outcome: Ok(v), .. } if v["result"]["value"] == "v\"😀é\"");
        prop_assert!(!whole);
    }

    #[test]
    fn halves_of_characters_are_replaced_and_whole_ones_stay(text in "\\PC{0,30}", half in 0xD800_u32..0xE000) {
        let good = json!(text).to_string();
        prop_assert_eq!(&without_halves(&good), &good);
        let bad = format!("{{\"id\":1,\"result\":{{\"a\":{good},\"b\":\"\\u{half:04x}x\"}}}}");
        let Frame::Answer { outcome: Ok(value), .. } = read(&bad) else {
            return Err(TestCaseError::fail("not read"));
        };
        prop_assert_eq!(value["a"].as_str(), Some(text.as_str()));
        prop_assert_eq!(value["b"].as_str(), Some("\u{fffd}x"));
    }
}

/// Events that mean something to the client.
const METHODS: &[&str] = &[
    "Network.requestWillBeSent",
    "Network.responseReceivedExtraInfo",
    "Network.responseReceived",
    "Network.loadingFinished",
    "Network.loadingFailed",
    "Page.frameNavigated",
    "Page.javascriptDialogOpening",
    "Page.javascriptDialogClosed",
    "Inspector.targetReloadedAfterCrash",
    "Inspector.targetCrashed",
    "Inspector.detached",
];

#[test]
fn only_this_computer_is_an_address() {
    for text in ["127.0.0.1:9222", "http://127.0.0.1:9222/", " ws://127.0.0.1:9222 "] {
        assert_eq!(Address::parse(text), Ok(Address::port_of(9222)), "{text}");
    }
    let full = Address::parse("ws://127.0.0.1:9222/devtools/browser/a-b").unwrap();
    assert_eq!((full.port(), full.browser_id()), (9222, Some("a-b")));
    assert_eq!(full.to_string(), "ws://127.0.0.1:9222/devtools/browser/a-b");
    for text in [
        "localhost:9222",
        "0.0.0.0:9222",
        "10.0.0.7:9222",
        "ws://[::1]:9222/devtools/browser/a",
        "127.0.0.1.evil.example:9222",
        "user@127.0.0.1:9222",
        "https://127.0.0.1:9222",
        "127.0.0.10:9222",
    ] {
        let fault = Address::parse(text);
        assert!(matches!(fault, Err(AddressFault::NotThisComputer { .. })), "{text}: {fault:?}");
    }
    for text in ["", "9222", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:70000"] {
        assert!(matches!(Address::parse(text), Err(AddressFault::NoPort { .. })), "{text}");
    }
}

#[test]
fn an_answer_ends_where_its_length_says() {
    let whole = b"HTTP/1.1 200 OK\r\nX: 1\r\ncontent-LENGTH: 4\r\n\r\n{\"a\"and more";
    assert_eq!(http::parse(whole).unwrap(), Some((200, b"{\"a\"".to_vec())));
    assert_eq!(http::parse(&whole[..46]).unwrap(), None);
    assert_eq!(http::parse(b"HT").unwrap(), None);
    for bad in [
        &b"SSH-2.0-x\r\n"[..],
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        b"HTTP/1.1\r\nContent-Length: 1\r\n\r\nx",
    ] {
        assert!(http::parse(bad).is_err(), "{}", String::from_utf8_lossy(bad));
    }
}

/// A browser of our own making: whoever connects is handed to `play`.
async fn fake<F, P>(play: F) -> Address
where
    F: FnOnce(WebSocketStream<TcpStream>) -> P + Send + 'static,
    P: Future<Output = ()> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        play(tokio_tungstenite::accept_async(stream).await.unwrap()).await;
    });
    Address::parse(&format!("ws://127.0.0.1:{port}/devtools/browser/fake")).unwrap()
}

/// The next call on a fake browser's socket.
async fn next_call(socket: &mut WebSocketStream<TcpStream>) -> Option<Value> {
    while let Some(Ok(message)) = socket.next().await {
        if let Message::Text(text) = message {
            return serde_json::from_str(text.as_str()).ok();
        }
    }
    None
}

async fn answer(socket: &mut WebSocketStream<TcpStream>, call: &Value, result: Value) {
    let text = json!({ "id": call["id"], "result": result }).to_string();
    socket.send(Message::text(text)).await.unwrap();
}

const WITHIN: std::time::Duration = ms(2_000);

#[tokio::test]
async fn hostile_frames_disturb_nobody() {
    let address = fake(|mut socket| async move {
        let noise = [
            Message::text("not json"),
            Message::text("{\"id\":\"x\"}"),
            Message::text("[1,2,3]"),
            Message::text("{\"id\":18446744073709551615,\"result\":1}"),
            Message::text("{\"method\":\"Target.detachedFromTarget\",\"params\":7}"),
            Message::text(format!("{{\"method\":\"{}\"}}", "m".repeat(100_000))),
            Message::text("[".repeat(50_000)),
            Message::binary(vec![0xff; 1000]),
            Message::Ping(vec![1].into()),
        ];
        while let Some(call) = next_call(&mut socket).await {
            for message in noise.clone() {
                socket.send(message).await.unwrap();
            }
            answer(&mut socket, &call, json!({ "product": "Fake/1" })).await;
        }
    })
    .await;
    let client = Client::connect(&address, WITHIN).await.unwrap();
    assert_eq!(client.product(WITHIN).await.unwrap(), "Fake/1");
    assert!(client.odd_messages() >= 8, "{}", client.odd_messages());
}

#[tokio::test]
async fn a_browser_that_says_nothing_costs_one_deadline() {
    let address = fake(|mut socket| async move { while next_call(&mut socket).await.is_some() {} });
    let error = Client::connect(&address.await, ms(100)).await.unwrap_err();
    let late = CallError::DeadlinePassed { method: "Target.setDiscoverTargets".into(), ms: 100 };
    assert_eq!(error, ConnectError::FirstCall(late));
}

#[tokio::test]
async fn calls_in_flight_fail_when_the_socket_goes() {
    let address = fake(|mut socket| async move {
        let call = next_call(&mut socket).await.unwrap();
        answer(&mut socket, &call, json!({})).await;
        // The next call is read, and the connection dropped without a word.
        next_call(&mut socket).await;
    })
    .await;
    let client = Client::connect(&address, WITHIN).await.unwrap();
    let error = client.product(ms(60_000)).await.unwrap_err();
    assert!(matches!(error, CallError::SocketLost { .. }), "{error:?}");
    assert!(matches!(client.targets(WITHIN).await, Err(CallError::SocketLost { .. })));
    assert!(client.lost().is_some());
}

#[tokio::test]
async fn a_message_past_the_cap_ends_the_connection_before_it_is_read() {
    let address = fake(|mut socket| async move {
        let call = next_call(&mut socket).await.unwrap();
        answer(&mut socket, &call, json!({})).await;
        next_call(&mut socket).await;
        // The head of a text of 16 GB.
        let head = [&[0x81, 127][..], &(16_u64 << 30).to_be_bytes()].concat();
        socket.get_mut().write_all(&head).await.unwrap();
        next_call(&mut socket).await;
    })
    .await;
    let client = Client::connect(&address, WITHIN).await.unwrap();
    let error = client.product(ms(60_000)).await.unwrap_err();
    assert!(matches!(error, CallError::SocketLost { .. }), "{error:?}");
}

#[tokio::test]
async fn an_answer_after_its_deadline_finds_nobody() {
    let address = fake(|mut socket| async move {
        let call = next_call(&mut socket).await.unwrap();
        answer(&mut socket, &call, json!({})).await;
        let late = next_call(&mut socket).await.unwrap();
        let next = next_call(&mut socket).await.unwrap();
        answer(&mut socket, &late, json!({ "product": "late" })).await;
        answer(&mut socket, &next, json!({ "product": "next" })).await;
        next_call(&mut socket).await;
    })
    .await;
    let client = Client::connect(&address, WITHIN).await.unwrap();
    let late = client.product(ms(50)).await.unwrap_err();
    assert!(matches!(late, CallError::DeadlinePassed { ms: 50, .. }), "{late:?}");
    assert_eq!(client.product(WITHIN).await.unwrap(), "next");
}

#[tokio::test]
async fn calls_that_wait_have_a_limit() {
    let address = fake(|mut socket| async move {
        let call = next_call(&mut socket).await.unwrap();
        answer(&mut socket, &call, json!({})).await;
        while next_call(&mut socket).await.is_some() {}
    })
    .await;
    let client = Client::connect(&address, WITHIN).await.unwrap();
    let calls = (0..300).map(|_| client.product(ms(500)));
    let errors = futures_util::future::join_all(calls).await;
    let refused = errors.iter().filter(|e| matches!(e, Err(CallError::TooMany { .. }))).count();
    assert_eq!(refused, 300 - 256);
    // Those that were given up make room again.
    let error = client.product(ms(50)).await.unwrap_err();
    assert!(matches!(error, CallError::DeadlinePassed { .. }), "{error:?}");
}

/// A port that answers whatever it is asked with these bytes; gives what it was asked.
async fn port(bytes: &'static [u8]) -> (u16, tokio::sync::oneshot::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, asked) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut question = vec![0; 4096];
        let n = stream.read(&mut question).await.unwrap();
        tell.send(String::from_utf8_lossy(&question[..n]).into_owned()).unwrap();
        stream.write_all(bytes).await.unwrap();
        // Open until the other side goes.
        while stream.read(&mut question).await.is_ok_and(|n| n > 0) {}
    });
    (port, asked)
}

#[tokio::test]
async fn the_socket_is_asked_for_without_an_origin() {
    let (port, asked) = port(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n").await;
    let address = Address::parse(&format!("ws://127.0.0.1:{port}/devtools/browser/a")).unwrap();
    let error = Client::connect(&address, WITHIN).await.unwrap_err();
    assert_eq!(error, ConnectError::SocketRefused { status: 403 });
    let asked = asked.await.unwrap().to_lowercase();
    assert!(asked.contains("get /devtools/browser/a") && !asked.contains("origin:"), "{asked}");
    let host = format!("host: 127.0.0.1:{port}");
    assert!(asked.contains(&host), "{asked}");
}

#[tokio::test]
async fn who_is_no_browser_is_told_apart_from_nobody() {
    let not = |e: &ConnectError| matches!(e, ConnectError::NotABrowser { .. });
    for bytes in [
        &b"SSH-2.0-OpenSSH_9.2\r\n"[..],
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    ] {
        let (port, _asked) = port(bytes).await;
        let error = version(&Address::port_of(port), WITHIN).await.unwrap_err();
        assert!(not(&error), "{error:?}");
    }
    let (silent, _asked) = port(b"").await;
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    for port in [silent, free] {
        let error = version(&Address::port_of(port), ms(200)).await.unwrap_err();
        assert!(matches!(error, ConnectError::PortSilent { .. }), "{error:?}");
    }
}

#[test]
fn one_answer_is_one_fact_whichever_of_its_events_comes_first() {
    let events = [
        json!({ "method": "Network.responseReceivedExtraInfo", "sessionId": "S",
            "params": { "requestId": "1", "statusCode": 429, "headers": { "Retry-AFTER": "7" } } }),
        json!({ "method": "Network.responseReceived", "sessionId": "S", "params": {
            "requestId": "1", "response": {
                "status": 429, "url": "http://x/p?q", "headers": { "retry-after": "7" } } } }),
    ];
    for order in [[0, 1], [1, 0]] {
        let shared = shared::Shared::default();
        shared.follow("S", "T");
        let window = shared.open_window("S").unwrap();
        let begin = json!({ "method": "Network.requestWillBeSent", "sessionId": "S",
            "params": { "requestId": "1", "request": { "url": "http://x/p?q" } } });
        shared.take(read(&begin.to_string()));
        assert_eq!(shared.seen("S", window).pending, 1);
        for at in order {
            shared.take(read(&events[at].to_string()));
        }
        let seen = shared.seen("S", window);
        let after = Some("7".to_owned());
        let one = Status { status: 429, place: "/p".into(), retry_after: after };
        assert_eq!((seen.refused, seen.pending), (vec![one], 0));
    }
}

#[test]
fn a_refusal_behind_a_redirect_is_not_taken_for_the_redirect() {
    let shared = shared::Shared::default();
    shared.follow("S", "T");
    let window = shared.open_window("S").unwrap();
    let begin = |url: &str| ("Network.requestWillBeSent", json!({ "request": { "url": url } }));
    for (method, mut params) in [
        begin("http://x/one"),
        begin("http://x/two"),
        // The redirect's own status, late.
        ("Network.responseReceivedExtraInfo", json!({ "statusCode": 302, "headers": {} })),
        (
            "Network.responseReceived",
            json!({ "response": { "status": 401, "url": "http://x/two" } }),
        ),
        ("Network.responseReceivedExtraInfo", json!({ "statusCode": 401, "headers": {} })),
    ] {
        params["requestId"] = json!("1");
        let event = json!({ "method": method, "sessionId": "S", "params": params });
        shared.take(read(&event.to_string()));
    }
    let refused = shared.seen("S", window).refused;
    assert_eq!(refused, [Status { status: 401, place: "/two".into(), retry_after: None }]);
}
