//! The stand-in for EasyEDA Pro: a server on the own computer and a page for a real browser.
//!
//! State lives in the server: what a page has not saved is lost with it. A second address, which neither
//! the page nor pcbflow ever sees, arms faults, shows the state and gives the log.
//!
//! - `world.rs` is the state, `routes.rs` the service, `page.rs` and `tests/editor/` the page.
//! - `variants.rs` lists the faults, `faults.rs` arms them and counts them down.
//! - `client.rs` is how a test speaks to both addresses.
//! - `live.rs` serves the websockets, `http.rs` everything else, `control.rs` the second address.

pub mod client;
mod control;
mod faults;
mod http;
mod journal;
mod live;
mod page;
mod parts;
mod routes;
mod settings;
mod variants;
mod world;

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use http::{Answer, Request, Response};
use world::World;

/// Most connections at a time, of both addresses.
const CONNECTIONS_MAX: usize = 512;
/// How long the server may take to be there.
const START_LIMIT: Duration = Duration::from_secs(10);

/// How to start.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name of the first project.
    pub project: String,
    /// Port of the editor; 0 for any.
    pub port: u16,
    /// Port of the control address; 0 for any.
    pub control_port: u16,
}

impl Default for Options {
    fn default() -> Options {
        Options { project: "door-sensor".into(), port: 0, control_port: 0 }
    }
}

/// A running stand-in. It ends when this is dropped, with all its connections.
#[derive(Debug)]
pub struct StandIn {
    editor: SocketAddr,
    control: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl StandIn {
    /// Starts a server in a thread of its own.
    ///
    /// # Errors
    /// When a port is taken or the server does not start in time.
    pub fn start(options: &Options) -> io::Result<StandIn> {
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = mpsc::sync_channel(1);
        let options = options.clone();
        let thread =
            std::thread::Builder::new().name("stand-in editor".into()).spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let outcome = runtime.and_then(|runtime| {
                    runtime.block_on(async {
                        let bound = bind(&options).await?;
                        let addresses = (bound.0.local_addr()?, bound.1.local_addr()?);
                        let _nobody_waits = tell.send(Ok(addresses)).err();
                        run(&options, bound, stopped).await;
                        Ok(())
                    })
                });
                if let Err(why) = outcome {
                    let _nobody_waits = tell.send(Err(why)).err();
                }
            })?;
        let (editor, control) =
            told.recv_timeout(START_LIMIT).map_err(|_| io::ErrorKind::TimedOut)??;
        Ok(StandIn { editor, control, stop: Some(stop), thread: Some(thread) })
    }

    /// Where the editor is: what a project's settings would name.
    #[must_use]
    pub fn editor_url(&self) -> String {
        format!("http://{}/editor", self.editor)
    }

    /// The editor with the first page of the first project open.
    ///
    /// # Panics
    /// When the control address does not answer.
    #[must_use]
    pub fn first_page_url(&self) -> String {
        let state = self.state();
        let project = &state["projects"][0];
        let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
        let page = text(&project["boards"][0]["schematic"]["page"][0]["uuid"]);
        let project = text(&project["uuid"]);
        format!("{}#id={project},tab=*{page}@{project}", self.editor_url())
    }

    /// The editor's address.
    #[must_use]
    pub fn editor(&self) -> SocketAddr {
        self.editor
    }

    /// The address of the control.
    #[must_use]
    pub fn control(&self) -> SocketAddr {
        self.control
    }
}

impl StandIn {
    /// Arms a fault; see `variants.rs` for what there is.
    ///
    /// # Panics
    /// When the fault is refused: a test that means it would prove nothing.
    pub fn arm(&self, fault: &Value) {
        self.tell("/fault", fault);
    }

    /// Changes settings.
    ///
    /// # Panics
    /// When a setting is refused.
    pub fn set(&self, settings: &Value) {
        self.tell("/settings", settings);
    }

    /// A call of the control address.
    ///
    /// # Panics
    /// When it is refused.
    pub fn tell(&self, path: &str, body: &Value) -> Value {
        let reply = client::request(self.control, "POST", path, &[], body);
        let reply = reply.expect("the control address answers");
        assert_eq!(reply.status, 200, "{path} {body}: {}", reply.text);
        reply.json()
    }

    /// The state.
    ///
    /// # Panics
    /// When the control address does not answer.
    #[must_use]
    pub fn state(&self) -> Value {
        let reply = client::request(self.control, "GET", "/state", &[], &Value::Null);
        reply.expect("the control address answers").json()
    }

    /// Events of a kind so far, in their order; all of them for an empty kind.
    ///
    /// # Panics
    /// When the control address does not answer, and when the log is full.
    #[must_use]
    pub fn events(&self, kind: &str) -> Vec<Value> {
        let reply = client::request(self.control, "GET", "/events?since=0", &[], &Value::Null);
        let log = reply.expect("the control address answers").json();
        assert_eq!(log["full"], false, "the log does not hold all of this test");
        let all = log["events"].as_array().cloned().unwrap_or_default();
        all.into_iter().filter(|e| kind.is_empty() || e["event"] == kind).collect()
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // A server that has ended by itself hears nothing.
            let _ended = stop.send(()).err();
        }
        if let Some(thread) = self.thread.take() {
            // A panic in there has been printed; here is no place for a second one.
            let _panicked = thread.join().err();
        }
    }
}

async fn bind(options: &Options) -> io::Result<(TcpListener, TcpListener)> {
    let editor = TcpListener::bind(("127.0.0.1", options.port)).await?;
    let control = TcpListener::bind(("127.0.0.1", options.control_port)).await?;
    Ok((editor, control))
}

/// The state, shared by all connections.
struct Shared {
    world: Mutex<World>,
}

impl Shared {
    /// The state. A panic while it was held leaves it as it was: a test sees the panic.
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Clone, Copy)]
enum Side {
    Editor,
    Control,
}

async fn run(
    options: &Options,
    (editor, control): (TcpListener, TcpListener),
    mut stopped: oneshot::Receiver<()>,
) {
    let shared = Arc::new(Shared { world: Mutex::new(World::new(&options.project)) });
    let mut connections = tokio::task::JoinSet::new();
    // Ends when the owner lets go.
    loop {
        let (accepted, side) = tokio::select! {
            _ = &mut stopped => break,
            accepted = editor.accept() => (accepted, Side::Editor),
            accepted = control.accept() => (accepted, Side::Control),
        };
        while connections.try_join_next().is_some() {}
        if let Ok((stream, _)) = accepted
            && connections.len() < CONNECTIONS_MAX
        {
            connections.spawn(connection(Arc::clone(&shared), stream, side));
        }
    }
}

async fn connection(shared: Arc<Shared>, mut stream: TcpStream, side: Side) {
    let mut buffer = Vec::new();
    // A delay of its own would spoil every measured time; without the option it is only slower.
    let _slower = stream.set_nodelay(true).err();
    while let Ok(Some(request)) = http::read(&mut stream, &mut buffer).await {
        let answer = match side {
            Side::Control => Answer::Reply(
                control::answer(&mut shared.world(), &request)
                    // The page's own test reports come from the editor's address.
                    .with("Access-Control-Allow-Origin", "*"),
            ),
            Side::Editor => {
                if let Some(key) = request.header("sec-websocket-key") {
                    let accept = derive_accept_key(key.as_bytes());
                    upgrade(&shared, &request, stream, buffer, &accept).await;
                    return;
                }
                routes::answer(&mut shared.world(), &request)
            }
        };
        if !matches!(http::give(&mut stream, answer).await, Ok(true)) {
            return;
        }
    }
}

async fn upgrade(
    shared: &Arc<Shared>,
    request: &Request,
    mut stream: TcpStream,
    early: Vec<u8>,
    accept: &str,
) {
    let head = Response { status: 101, headers: Vec::new(), body: Vec::new() }
        .with("Upgrade", "websocket")
        .with("Connection", "Upgrade")
        .with("Sec-WebSocket-Accept", accept);
    if http::switch(&mut stream, &head).await.is_ok() {
        let socket = WebSocketStream::from_partially_read(stream, early, Role::Server, None).await;
        live::serve(shared, request, socket).await;
    }
}
