//! The connection: one socket, one task that reads and one that writes.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error as SocketError, Message};

use super::address::Address;
use super::error::{CallError, ConnectError};
use super::http;
use super::shared::Shared;
use super::targets::{Process, Target};
use super::{frame, ms};

/// Largest message that is taken from the browser, in bytes. Results have a cap of their own and
/// are kept in the page above it, so that only a broken browser reaches this one.
pub const MESSAGE_BYTES_MAX: usize = 128 * 1024 * 1024;
/// Longest wait for the socket to end after the browser was asked to close, in milliseconds.
pub const CLOSE_MS: u64 = 5_000;
/// Most calls that wait to be written.
const WRITES_MAX: usize = 64;

/// A connection to one browser. Clones share it; with the last one it ends, the browser does not.
#[derive(Debug, Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    writes: mpsc::Sender<String>,
    address: Address,
    tasks: [JoinHandle<()>; 2],
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// A call that is given up is forgotten, so that a late answer finds nobody.
struct Open<'a>(&'a Shared, u64);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.forget_call(self.1);
    }
}

impl Client {
    /// Connects to a browser and turns on what tells of its tabs. Without a path in the address
    /// the browser is asked for it.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect(address: &Address, within: Duration) -> Result<Client, ConnectError> {
        let address = match address.path() {
            Some(_) => address.clone(),
            None => http::version(address, within).await?.socket,
        };
        let silent = |why: String| ConnectError::PortSilent { port: address.port(), why };
        let socket = timeout(within, open(&address))
            .await
            .map_err(|_| silent("the socket was not opened in time".into()))??;
        let client = Client::over(socket, address);
        let discover = json!({ "discover": true });
        client
            .call(None, "Target.setDiscoverTargets", discover, within)
            .await
            .map_err(ConnectError::FirstCall)?;
        Ok(client)
    }

    fn over(socket: WebSocketStream<TcpStream>, address: Address) -> Client {
        let shared = Arc::new(Shared::default());
        let (mut sink, mut stream) = socket.split();
        let (writes, mut to_write) = mpsc::channel::<String>(WRITES_MAX);
        let of_writer = Arc::clone(&shared);
        let writer = tokio::spawn(async move {
            while let Some(text) = to_write.recv().await {
                if let Err(error) = sink.send(Message::text(text)).await {
                    return of_writer.lose(&words(&error));
                }
            }
        });
        let of_reader = Arc::clone(&shared);
        let reader = tokio::spawn(async move {
            let mut why = "the browser closed it".to_owned();
            while let Some(message) = stream.next().await {
                match message {
                    Ok(Message::Text(text)) => of_reader.take(frame::read(text.as_str())),
                    Ok(Message::Close(_)) => break,
                    // The protocol sends nothing else that matters; pings are answered below us.
                    Ok(_) => {}
                    Err(error) => {
                        why = words(&error);
                        break;
                    }
                }
            }
            of_reader.lose(&why);
        });
        Client { inner: Arc::new(Inner { shared, writes, address, tasks: [reader, writer] }) }
    }

    /// Where the browser listens, with its id.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.inner.address
    }

    /// Why the connection ended, if it did.
    #[must_use]
    pub fn lost(&self) -> Option<String> {
        self.inner.shared.lost()
    }

    /// Messages that the client could not understand, so far.
    #[must_use]
    pub fn odd_messages(&self) -> u64 {
        self.inner.shared.odd()
    }

    /// One call, on a session or on the browser itself.
    ///
    /// # Errors
    /// [`CallError`], at the latest when the deadline passes.
    pub(crate) async fn call(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
        within: Duration,
    ) -> Result<Value, CallError> {
        let (id, answer) = self.shared().open(session, method)?;
        let _open = Open(self.shared(), id);
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        let lost = || CallError::SocketLost { why: self.lost().unwrap_or_default() };
        let work = async {
            self.inner.writes.send(message.to_string()).await.map_err(|_| lost())?;
            answer.await.map_err(|_| lost())?
        };
        timeout(within, work).await.unwrap_or_else(|_| {
            let ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
            Err(CallError::DeadlinePassed { method: method.to_owned(), ms })
        })
    }

    /// Sends without waiting for the answer; for what is only tidying.
    pub(super) fn send_and_forget(&self, method: &str, params: &Value) {
        let message = json!({ "id": 0, "method": method, "params": params });
        if let Err(error) = self.inner.writes.try_send(message.to_string()) {
            tracing::trace!(%error, method, "a last word to the browser was not sent");
        }
    }

    /// What is open in the browser.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn targets(&self, within: Duration) -> Result<Vec<Target>, CallError> {
        let answer = self.call(None, "Target.getTargets", json!({}), within).await?;
        Ok(Target::list(&answer))
    }

    /// The browser's processes; answered also while a page hangs.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn processes(&self, within: Duration) -> Result<Vec<Process>, CallError> {
        let answer = self.call(None, "SystemInfo.getProcessInfo", json!({}), within).await?;
        Ok(Process::list(&answer))
    }

    /// Opens a tab and says its id. The page behind it may still be loading.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn create_tab(&self, url: &str, within: Duration) -> Result<String, CallError> {
        let method = "Target.createTarget";
        let answer = self.call(None, method, json!({ "url": url }), within).await?;
        id_in(&answer, "targetId", method)
    }

    /// Closes a tab, also one that hangs, and waits until it is gone. What it has not saved is lost without a word, so the
    /// caller has opened its successor first.
    ///
    /// # Errors
    /// [`CallError`]; [`CallError::DeadlinePassed`] also when the tab is still there three seconds later.
    pub async fn close_tab(&self, target: &str, within: Duration) -> Result<(), CallError> {
        /// Longest wait for the tab to be gone, in milliseconds; one that hung takes about 600.
        const GONE_MS: u64 = 3_000;
        /// Between two looks whether it is gone, in milliseconds.
        const LOOK_MS: u64 = 10;
        let method = "Target.closeTarget";
        self.call(None, method, json!({ "targetId": target }), within).await?;
        // The answer comes before the tab is gone, and until then the site sees two windows.
        let until = tokio::time::Instant::now() + ms(GONE_MS);
        loop {
            match self.targets(within).await {
                Ok(list) if list.iter().all(|listed| listed.id != target) => return Ok(()),
                // A browser with a window ends itself with its last tab.
                Err(CallError::SocketLost { .. }) => return Ok(()),
                Ok(_) if tokio::time::Instant::now() >= until => {
                    return Err(CallError::DeadlinePassed { method: method.into(), ms: GONE_MS });
                }
                Ok(_) => tokio::time::sleep(ms(LOOK_MS)).await,
                Err(error) => return Err(error),
            }
        }
    }

    /// Product and version over the socket itself.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn product(&self, within: Duration) -> Result<String, CallError> {
        let method = "Browser.getVersion";
        let answer = self.call(None, method, json!({}), within).await?;
        id_in(&answer, "product", method)
    }

    /// Asks the browser to end itself and waits until its socket is gone. Everything that a
    /// profile holds is on disk then.
    ///
    /// # Errors
    /// [`CallError::DeadlinePassed`] when it is still there.
    pub(crate) async fn close_browser(&self, within: Duration) -> Result<(), CallError> {
        /// Between two looks whether the socket is gone, in milliseconds.
        const LOOK_MS: u64 = 10;
        let method = "Browser.close";
        match self.call(None, method, json!({}), within).await {
            Ok(_) | Err(CallError::SocketLost { .. }) => {}
            Err(other) => return Err(other),
        }
        let gone = async {
            while self.lost().is_none() {
                tokio::time::sleep(ms(LOOK_MS)).await;
            }
        };
        timeout(within, gone).await.map_err(|_| CallError::DeadlinePassed {
            method: method.into(),
            ms: u64::try_from(within.as_millis()).unwrap_or(u64::MAX),
        })
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.inner.shared
    }
}

/// A text of an answer that must be there.
pub(super) fn id_in(answer: &Value, key: &str, method: &str) -> Result<String, CallError> {
    let text = answer.get(key).and_then(Value::as_str).filter(|t| !t.is_empty());
    text.map(str::to_owned).ok_or_else(|| CallError::Unreadable {
        method: method.to_owned(),
        what: format!("it has no {key}"),
    })
}

/// Opens the socket. The request carries no `Origin`: with one the browser refuses it.
async fn open(address: &Address) -> Result<WebSocketStream<TcpStream>, ConnectError> {
    let port = address.port();
    let stream = TcpStream::connect(address.socket())
        .await
        .map_err(|e| ConnectError::PortSilent { port, why: e.to_string() })?;
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "small messages may wait a little");
    }
    let limits = WebSocketConfig::default()
        .max_message_size(Some(MESSAGE_BYTES_MAX))
        .max_frame_size(Some(MESSAGE_BYTES_MAX));
    let url = address.to_string();
    let opened = tokio_tungstenite::client_async_with_config(url, stream, Some(limits)).await;
    opened.map(|(socket, _)| socket).map_err(|error| match error {
        SocketError::Http(answer) => {
            ConnectError::SocketRefused { status: answer.status().as_u16() }
        }
        error => ConnectError::NotABrowser { port, why: words(&error) },
    })
}

/// An error of the socket in few words.
fn words(error: &SocketError) -> String {
    pcbflow_core::text::one_line(&error.to_string())
}
