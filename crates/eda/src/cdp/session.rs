//! The standing session of one tab: attached before any work, kept for as long as the tab is ours.

use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, id_in};
use super::error::CallError;
use super::ms;
use super::window::{Dialog, Window, cut};

/// Longest wait for a page to take the session, in milliseconds. A page that hangs already never
/// does.
pub const ATTACH_MS: u64 = 5_000;
/// Largest result of a script, in bytes, unless the script says less.
pub const RESULT_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Most characters that are kept of an exception.
const EXCEPTION_CHARS_MAX: usize = 4_000;

/// Why a tab could not be attached to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    /// The page hung before we came: a session attached now can't free it. Open a new tab and
    /// close this one.
    #[error("the page hangs already: {method} was not answered")]
    Hangs {
        /// What it did not answer.
        method: String,
    },
    /// Anything else.
    #[error("the tab could not be attached to")]
    Call(#[from] CallError),
}

/// A script for a page: the body of an async function, whose result comes back as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// The statements; `return` gives the result.
    pub body: String,
    /// How long we wait for the result.
    pub within: Duration,
    /// Largest result in bytes; a larger one stays in the page.
    pub result_bytes_max: u64,
}

impl Script {
    /// A script from the statements of an async function.
    #[must_use]
    pub fn body(body: &str, within: Duration) -> Script {
        Script { body: body.to_owned(), within, result_bytes_max: RESULT_BYTES_MAX }
    }

    /// A script that is one expression.
    #[must_use]
    pub fn expression(expression: &str, within: Duration) -> Script {
        Script::body(&format!("return (\n{expression}\n);"), within)
    }

    /// The same with a smaller cap on its result.
    #[must_use]
    pub fn at_most(mut self, bytes: u64) -> Script {
        self.result_bytes_max = bytes.min(RESULT_BYTES_MAX);
        self
    }

    /// What is really sent. The page makes the text itself, because the protocol turns files,
    /// maps and promises into empty objects without a word; and it measures the text, so that a
    /// huge one never crosses. The first letter says what the rest is.
    fn sent(&self) -> String {
        let Script { body, result_bytes_max: most, .. } = self;
        let chars = EXCEPTION_CHARS_MAX;
        format!(
            "(async () => {{ let __r; try {{ __r = await (async () => {{\n{body}\n}})(); }} \
             catch (e) {{ const o = e !== null && typeof e === 'object'; \
             const m = o && e.message !== undefined ? e.message : e; \
             return 'e' + JSON.stringify([String(o && e.name || '').slice(0, 100), \
             String(m).slice(0, {chars})]); }} \
             let t; try {{ t = JSON.stringify(__r); }} \
             catch (e) {{ return 'n' + String(e).slice(0, 200); }} \
             if (t === undefined) return 'u'; \
             let n = t.length; \
             if (n <= {most} && n * 3 > {most}) n = new TextEncoder().encode(t).length; \
             return n > {most} ? 'l' + n : 'v' + t; }})()"
        )
    }

    /// Reads what came back.
    fn result(&self, answer: &Value) -> Result<Option<Value>, CallError> {
        let unreadable = |what: &str| CallError::Unreadable {
            method: "Runtime.evaluate".into(),
            what: what.to_owned(),
        };
        if let Some(details) = answer.get("exceptionDetails") {
            return Err(thrown(details));
        }
        let text = answer.pointer("/result/value").and_then(Value::as_str);
        let text = text.ok_or_else(|| unreadable("it is no text"))?;
        let mut chars = text.chars();
        let (first, rest) = (chars.next(), chars.as_str());
        let json = |t: &str| {
            serde_json::from_str::<Value>(t)
                .or_else(|_| serde_json::from_str(&super::frame::without_halves(t)))
        };
        match first {
            Some('u') => Ok(None),
            Some('v') => json(rest).map(Some).map_err(|e| unreadable(&e.to_string())),
            Some('l') => Err(CallError::TooLarge {
                bytes: rest.parse().unwrap_or(u64::MAX),
                bytes_max: self.result_bytes_max,
            }),
            Some('n') => Err(unreadable(&format!("it can't be written as JSON: {rest}"))),
            Some('e') => {
                let pair = json(rest).unwrap_or(Value::Null);
                Err(CallError::Threw { kind: cut(pair.get(0)), message: long(pair.get(1)) })
            }
            _ => Err(unreadable("it is not of our own making")),
        }
    }
}

/// An exception that the page reported itself: the script could not even be read, or the page
/// broke what the script stands on.
fn thrown(details: &Value) -> CallError {
    let exception = details.get("exception");
    let of = |key: &str| exception.and_then(|e| e.get(key));
    let message = of("description").or(of("value")).or(details.get("text"));
    let message = long(message);
    let message = message.lines().next().unwrap_or("").to_owned();
    let kind = cut(of("className"));
    let plain = message.strip_prefix(&kind).and_then(|m| m.strip_prefix(": "));
    CallError::Threw { message: plain.unwrap_or(&message).to_owned(), kind }
}

fn long(value: Option<&Value>) -> String {
    let text = value.and_then(Value::as_str).unwrap_or("");
    pcbflow_core::text::cut_bytes(text, EXCEPTION_CHARS_MAX).to_owned()
}

/// The session of one tab. Dropped, it is detached; the tab stays.
#[derive(Debug)]
pub struct Session {
    client: Client,
    id: String,
    target: String,
}

impl Client {
    /// Attaches to a tab and turns on everything that a later hang is judged by.
    ///
    /// # Errors
    /// [`AttachError::Hangs`] when the page does not answer: then no session can free it.
    pub async fn attach(&self, target: &str, within: Duration) -> Result<Session, AttachError> {
        let params = json!({ "targetId": target, "flatten": true });
        let method = "Target.attachToTarget";
        let answer = self.call(None, method, params, within).await?;
        let id = id_in(&answer, "sessionId", method)?;
        self.shared().follow(&id, target);
        let session = Session { client: self.clone(), id, target: target.to_owned() };
        // Bodies are never read over the protocol; what is kept of them in the browser is small.
        let small = json!({ "maxTotalBufferSize": 1_000_000, "maxResourceBufferSize": 500_000 });
        // All at once, so that a page that hangs costs one deadline and not four.
        let enable = |method: &'static str, params: Value| {
            let session = &session;
            async move {
                session.call(method, params, within).await.map_err(|error| match error {
                    CallError::DeadlinePassed { .. } => {
                        AttachError::Hangs { method: method.into() }
                    }
                    other => AttachError::Call(other),
                })
            }
        };
        tokio::try_join!(
            enable("Inspector.enable", json!({})),
            enable("Page.enable", json!({})),
            enable("Network.enable", small),
            enable("Runtime.enable", json!({})),
        )?;
        Ok(session)
    }
}

impl Session {
    /// Id of the tab.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The connection.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// One call of the protocol.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn call(
        &self,
        method: &str,
        params: Value,
        within: Duration,
    ) -> Result<Value, CallError> {
        self.client.call(Some(&self.id), method, params, within).await
    }

    /// Runs a script in the page and gives its result; `None` is JavaScript's `undefined`.
    ///
    /// # Errors
    /// [`CallError`]. After [`CallError::DeadlinePassed`] a write may have landed: read back, do
    /// not repeat.
    pub async fn evaluate(&self, script: &Script) -> Result<Option<Value>, CallError> {
        let params = json!({
            "expression": script.sent(), "awaitPromise": true, "returnByValue": true,
        });
        script.result(&self.call("Runtime.evaluate", params, script.within).await?)
    }

    /// Opens a window: what happens in the page from now on.
    ///
    /// # Errors
    /// [`CallError`] when the session is gone or has too many windows.
    pub fn window(&self) -> Result<Window, CallError> {
        let shared = self.client.shared();
        let id = shared.open_window(&self.id)?;
        Ok(Window { shared: shared.clone(), session: self.id.clone(), id })
    }

    /// Whether the page answers at all.
    pub async fn answers(&self, within: Duration) -> bool {
        let params = json!({ "expression": "1+1", "returnByValue": true });
        let answer = self.call("Runtime.evaluate", params, within).await;
        answer.is_ok_and(|a| a.pointer("/result/value").and_then(Value::as_i64) == Some(2))
    }

    /// Stops the script that runs in the page. What the page holds in memory stays. Scripts in
    /// flight are failed, for the browser will not answer them.
    ///
    /// # Errors
    /// [`CallError::DeadlinePassed`] when the page can't be stopped in this way.
    pub async fn terminate(&self, within: Duration) -> Result<(), CallError> {
        self.client.shared().stopping(&self.id);
        // Also a caller that gives up leaves the session as it was.
        let mut stopping = Stopping { session: self, worked: false };
        let stopped = self.call("Runtime.terminateExecution", json!({}), within).await;
        stopping.worked = stopped.is_ok();
        stopped.map(drop)
    }

    /// Loads the page again; what it has not saved is lost. Brings a crashed page back.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn reload(&self, within: Duration) -> Result<(), CallError> {
        self.call("Page.reload", json!({}), within).await.map(drop)
    }

    /// The dialog that is open in the page.
    #[must_use]
    pub fn dialog(&self) -> Option<Dialog> {
        self.client.shared().standing(&self.id).dialog
    }

    /// Status and error code of the page's end, while it has ended.
    #[must_use]
    pub fn crashed(&self) -> Option<(String, i64)> {
        self.client.shared().standing(&self.id).crashed
    }

    /// Whether the tab or the whole connection was taken away.
    #[must_use]
    pub fn detached(&self) -> bool {
        self.client.shared().standing(&self.id).detached
    }

    /// Answers the open dialog.
    ///
    /// # Errors
    /// [`CallError`], also when none is open.
    pub async fn answer_dialog(&self, accept: bool, within: Duration) -> Result<(), CallError> {
        let params = json!({ "accept": accept });
        self.call("Page.handleJavaScriptDialog", params, within).await.map(drop)
    }

    /// Waits until the page of this address is loaded and `ready` is true in it. A tab begins with
    /// an empty page, which is loaded too, so the address is part of it; its fragment is not, for
    /// pages change that themselves.
    ///
    /// # Errors
    /// [`CallError::DeadlinePassed`] when it is not by then; what ended the page before.
    pub async fn wait_ready(
        &self,
        url: &str,
        ready: &str,
        within: Duration,
    ) -> Result<(), CallError> {
        /// Between two looks, in milliseconds.
        const LOOK_MS: u64 = 25;
        /// Longest wait for one look, in milliseconds.
        const ONE_MS: u64 = 2_000;
        let late = || CallError::DeadlinePassed {
            method: "wait until the page is ready".into(),
            ms: u64::try_from(within.as_millis()).unwrap_or(u64::MAX),
        };
        let url = json!(url.split('#').next().unwrap_or(""));
        let look = format!(
            "return document.readyState === 'complete' && location.href.split('#')[0] === {url} \
             && Boolean({ready});"
        );
        let script = Script::body(&look, ms(ONE_MS));
        let until = tokio::time::Instant::now() + within;
        while tokio::time::Instant::now() < until {
            match self.evaluate(&script).await {
                Ok(Some(Value::Bool(true))) => return Ok(()),
                Ok(_)
                | Err(
                    CallError::Threw { .. }
                    | CallError::Navigated
                    | CallError::DeadlinePassed { .. }
                    | CallError::Refused { .. },
                ) => {}
                Err(other) => return Err(other),
            }
            tokio::time::sleep(ms(LOOK_MS)).await;
        }
        Err(late())
    }
}

/// A stop under way.
struct Stopping<'a> {
    session: &'a Session,
    worked: bool,
}

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.session.client.shared().stopped(&self.session.id, self.worked);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.detached() {
            let params = json!({ "sessionId": self.id });
            self.client.send_and_forget("Target.detachFromTarget", &params);
        }
        self.client.shared().forget_session(&self.id);
    }
}
