//! The two websockets of a page: `/channel`, over which it reports its calls and hears of faults,
//! and `/lease`, which holds a project for as long as it is open.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::Shared;
use super::http::Request;
use super::journal;
use super::variants::Place;

/// Pushes that wait for a window at most.
const PUSHES_MAX: usize = 256;
/// How often a lease is looked at: who holds it can change without a message.
const LEASE_LOOK: Duration = Duration::from_millis(20);

type Socket = WebSocketStream<TcpStream>;

/// Serves a websocket until it closes.
pub async fn serve(shared: &Arc<Shared>, request: &Request, mut socket: Socket) {
    let window = request.asked("win").to_owned();
    match request.path.as_str() {
        "/channel" => channel(shared, &window, &mut socket).await,
        "/lease" => lease(shared, &window, request.asked("project"), &mut socket).await,
        _ => {}
    }
    // The other side may be gone already; then there is nobody to take leave of.
    let _gone = socket.close(None).await.err();
}

async fn send(socket: &mut Socket, value: &Value) -> bool {
    socket.send(Message::text(value.to_string())).await.is_ok()
}

async fn channel(shared: &Arc<Shared>, window: &str, socket: &mut Socket) {
    let (way, mut pushes) = tokio::sync::mpsc::channel(PUSHES_MAX);
    {
        let mut world = shared.world();
        world.windows.insert(window.to_owned(), way);
        world.journal.add("window_connected", json!({ "window": window }));
    }
    loop {
        let reply = tokio::select! {
            message = socket.next() => match message {
                Some(Ok(Message::Text(text))) => heard(shared, window, text.as_str()),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => None,
                // Closed, broken, or something that no page of ours says: the channel ends.
                _ => break,
            },
            push = pushes.recv() => push,
        };
        if let Some(reply) = reply
            && !send(socket, &reply).await
        {
            break;
        }
    }
    let mut world = shared.world();
    world.windows.remove(window);
    world.journal.add("window_gone", json!({ "window": window }));
}

/// A message of the page; the reply.
fn heard(shared: &Arc<Shared>, window: &str, text: &str) -> Option<Value> {
    let message: Value = serde_json::from_str(text).unwrap_or_default();
    let mut world = shared.world();
    if let Some(api) = message["call"].as_str() {
        let fault = world.faults.at_call(Place::Call, api, window);
        let (hash, args) = journal::arguments(&message["args"]);
        let mut fields = json!({
            "window": window, "api": api, "call": message["n"], "hash": hash, "args": args,
        });
        if let Some(fault) = &fault {
            fields["fault"] = fault.told();
        }
        world.journal.add("call", fields);
        let told = fault.map_or(Value::Null, |f| f.told());
        return Some(json!({
            "n": message["n"], "fault": told, "ambient": world.ambient(window),
        }));
    }
    if let Some(what) = message["event"].as_str() {
        let mut fields = message["fields"].clone();
        if !fields.is_object() {
            fields = json!({});
        }
        fields["window"] = json!(window);
        world.journal.add(what, fields);
    }
    None
}

async fn lease(shared: &Arc<Shared>, window: &str, project: &str, socket: &mut Socket) {
    shared.world().lease_asked(project, window);
    let mut told = Value::Null;
    loop {
        let now = shared.world().lease_seen(project, window);
        if now != told {
            if !send(socket, &now).await {
                break;
            }
            told = now;
        }
        match tokio::time::timeout(LEASE_LOOK, socket.next()).await {
            // Time to look again.
            Err(_) => {}
            Ok(Some(Ok(message))) if !message.is_close() => {}
            // Closed or broken: the lease ends.
            Ok(_) => break,
        }
    }
    shared.world().lease_given_back(project, window);
}
