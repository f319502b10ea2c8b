//! What the reader of the socket and the callers share: calls in flight, sessions, windows.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::oneshot;

use super::error::CallError;
use super::frame::{Frame, Refusal};
use super::window::{Dialog, Facts, Seen, cut};

/// Most calls that wait for an answer at a time.
const CALLS_MAX: usize = 256;
/// Most sessions that are followed.
const SESSIONS_MAX: usize = 64;
/// Most open windows of a session.
const WINDOWS_MAX: usize = 16;

/// The call that runs a script.
const EVALUATE: &str = "Runtime.evaluate";

/// What a call comes to.
pub(super) type Outcome = Result<Value, CallError>;

/// State behind a lock that is never held across a wait.
#[derive(Debug, Default)]
pub(super) struct Shared {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    calls: BTreeMap<u64, Call>,
    sessions: BTreeMap<String, Tab>,
    /// Why the socket ended.
    lost: Option<String>,
    last_id: u64,
    odd: u64,
}

#[derive(Debug)]
struct Call {
    session: Option<String>,
    method: String,
    answer: oneshot::Sender<Outcome>,
}

/// One session.
#[derive(Debug, Default)]
struct Tab {
    target: String,
    crashed: Option<(String, i64)>,
    detached: bool,
    /// Its script is being stopped; the browser has several words for what that does to a call.
    stopping: bool,
    dialog: Option<Dialog>,
    windows: BTreeMap<u64, Facts>,
}

/// How a session stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Standing {
    pub crashed: Option<(String, i64)>,
    pub detached: bool,
    pub dialog: Option<Dialog>,
}

impl Shared {
    /// Nothing in here panics while it holds the lock; if it did, the state is whole all the same.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a call: its number, and where its answer comes.
    pub(super) fn open(
        &self,
        session: Option<&str>,
        method: &str,
    ) -> Result<(u64, oneshot::Receiver<Outcome>), CallError> {
        let mut state = self.state();
        if let Some(why) = &state.lost {
            return Err(CallError::SocketLost { why: why.clone() });
        }
        if let Some(session) = session {
            let tab = state.sessions.get(session).ok_or(CallError::SessionGone)?;
            if tab.detached {
                return Err(CallError::Detached);
            }
            // A crashed page answers nothing but what brings it back.
            if let Some((status, code)) = &tab.crashed
                && method != "Page.reload"
            {
                return Err(CallError::Crashed { status: status.clone(), code: *code });
            }
        }
        if state.calls.len() >= CALLS_MAX {
            return Err(CallError::TooMany { max: CALLS_MAX });
        }
        state.last_id += 1;
        let id = state.last_id;
        let (answer, waits) = oneshot::channel();
        let call = Call { session: session.map(str::to_owned), method: method.to_owned(), answer };
        state.calls.insert(id, call);
        Ok((id, waits))
    }

    /// Nobody waits for this call any more.
    pub(super) fn forget_call(&self, id: u64) {
        self.state().calls.remove(&id);
    }

    /// Starts to follow a session.
    pub(super) fn follow(&self, session: &str, target: &str) {
        let mut state = self.state();
        if state.sessions.len() < SESSIONS_MAX || state.sessions.contains_key(session) {
            let tab = state.sessions.entry(session.to_owned()).or_default();
            target.clone_into(&mut tab.target);
        }
    }

    /// Stops to follow a session.
    pub(super) fn forget_session(&self, session: &str) {
        self.state().sessions.remove(session);
    }

    /// How a session stands; one that is not known counts as detached.
    pub(super) fn standing(&self, session: &str) -> Standing {
        let state = self.state();
        state.sessions.get(session).map_or(
            Standing { detached: true, ..Standing::default() },
            |t| Standing {
                crashed: t.crashed.clone(),
                detached: t.detached || state.lost.is_some(),
                dialog: t.dialog.clone(),
            },
        )
    }

    /// Why the socket ended, if it did.
    pub(super) fn lost(&self) -> Option<String> {
        self.state().lost.clone()
    }

    /// Messages that could not be understood.
    pub(super) fn odd(&self) -> u64 {
        self.state().odd
    }

    /// Opens a window on a session; what already holds (a dialog, a crash) is in it.
    pub(super) fn open_window(&self, session: &str) -> Result<u64, CallError> {
        let mut state = self.state();
        state.last_id += 1;
        let id = state.last_id;
        let tab = state.sessions.get_mut(session).ok_or(CallError::SessionGone)?;
        if tab.windows.len() >= WINDOWS_MAX {
            return Err(CallError::TooMany { max: WINDOWS_MAX });
        }
        let mut facts = Facts::default();
        facts.seen.dialog = tab.dialog.clone();
        facts.seen.crashed = tab.crashed.clone();
        facts.seen.detached = tab.detached;
        tab.windows.insert(id, facts);
        Ok(id)
    }

    pub(super) fn seen(&self, session: &str, window: u64) -> Seen {
        let state = self.state();
        let facts = state.sessions.get(session).and_then(|t| t.windows.get(&window));
        facts.map_or(Seen { detached: true, ..Seen::default() }, Facts::seen)
    }

    pub(super) fn close_window(&self, session: &str, window: u64) {
        if let Some(tab) = self.state().sessions.get_mut(session) {
            tab.windows.remove(&window);
        }
    }

    /// The socket ended: nothing that waits will be answered.
    pub(super) fn lose(&self, why: &str) {
        let mut state = self.state();
        state.lost.get_or_insert_with(|| why.to_owned());
        for (_, call) in std::mem::take(&mut state.calls) {
            tell(call, Err(CallError::SocketLost { why: why.to_owned() }));
        }
    }

    /// The script of a page is about to be stopped.
    pub(super) fn stopping(&self, session: &str) {
        if let Some(tab) = self.state().sessions.get_mut(session) {
            tab.stopping = true;
        }
    }

    /// It was, or could not be. If it was, evaluates in flight will not be answered.
    pub(super) fn stopped(&self, session: &str, worked: bool) {
        let mut state = self.state();
        if worked {
            state.fail(session, EVALUATE, &CallError::Terminated);
        }
        if let Some(tab) = state.sessions.get_mut(session) {
            tab.stopping = false;
        }
    }

    /// Takes a message of the socket.
    pub(super) fn take(&self, frame: Frame) {
        let mut state = self.state();
        match frame {
            Frame::Answer { id, outcome } => {
                // An answer after its deadline has nobody who waits.
                if let Some(call) = state.calls.remove(&id) {
                    let tab = call.session.as_ref().and_then(|s| state.sessions.get(s));
                    let stopping = call.method == EVALUATE && tab.is_some_and(|t| t.stopping);
                    let outcome = outcome.map_err(|refusal| match stopping {
                        true => CallError::Terminated,
                        false => refused(&call.method, refusal),
                    });
                    tell(call, outcome);
                }
            }
            Frame::Event { session, method, params } => {
                state.event(session.as_deref(), &method, &params);
            }
            Frame::Odd => state.odd += 1,
        }
    }
}

/// A caller that went away is told nothing.
fn tell(call: Call, outcome: Outcome) {
    drop(call.answer.send(outcome));
}

fn refused(method: &str, refusal: Refusal) -> CallError {
    let Refusal { code, message } = refusal;
    let method = method.to_owned();
    match code {
        -32601 => CallError::MethodNotFound { method },
        -32001 => CallError::SessionGone,
        -32000 if message.contains("navigated or closed") => CallError::Navigated,
        -32000 if message.contains("Execution was terminated") => CallError::Terminated,
        -32602 if message.contains("No target with given id") => CallError::TargetGone,
        _ => CallError::Refused { method, code, message },
    }
}

impl State {
    /// Fails the calls of a session; an empty method stands for all of them.
    fn fail(&mut self, session: &str, method: &str, error: &CallError) {
        let ids: Vec<u64> = self
            .calls
            .iter()
            .filter(|(_, c)| c.session.as_deref() == Some(session))
            .filter(|(_, c)| method.is_empty() || c.method == method)
            .map(|(id, _)| *id)
            .collect();
        for call in ids.iter().filter_map(|id| self.calls.remove(id)).collect::<Vec<_>>() {
            tell(call, Err(error.clone()));
        }
    }

    fn event(&mut self, session: Option<&str>, method: &str, params: &Value) {
        let text = |key: &str| params.get(key).and_then(Value::as_str).unwrap_or("");
        match (session, method) {
            (_, "Target.detachedFromTarget") => self.detached(text("sessionId")),
            (None, "Target.targetCrashed") => {
                let code = params.get("errorCode").and_then(Value::as_i64).unwrap_or(0);
                let target = text("targetId");
                let of_it = self.sessions.iter().filter(|(_, t)| t.target == target);
                for session in of_it.map(|(s, _)| s.clone()).collect::<Vec<_>>() {
                    self.crashed(&session, &cut(params.get("status")), code);
                }
            }
            (Some(session), "Inspector.targetCrashed") => self.crashed(session, "", 0),
            (Some(session), "Inspector.detached") => self.detached(session),
            (Some(session), _) => self.of_page(session, method, params),
            _ => {}
        }
    }

    fn of_page(&mut self, session: &str, method: &str, params: &Value) {
        let Some(tab) = self.sessions.get_mut(session) else { return };
        let dialog = match method {
            "Inspector.targetReloadedAfterCrash" => {
                tab.crashed = None;
                return;
            }
            "Page.javascriptDialogOpening" => {
                Some(Dialog { kind: cut(params.get("type")), message: cut(params.get("message")) })
            }
            "Page.javascriptDialogClosed" => None,
            _ => {
                for facts in tab.windows.values_mut() {
                    facts.take(method, params);
                }
                return;
            }
        };
        tab.dialog.clone_from(&dialog);
        for facts in tab.windows.values_mut() {
            facts.seen.dialog.clone_from(&dialog);
        }
    }

    fn detached(&mut self, session: &str) {
        if let Some(tab) = self.sessions.get_mut(session) {
            tab.detached = true;
            tab.windows.values_mut().for_each(|f| f.seen.detached = true);
        }
        self.fail(session, "", &CallError::Detached);
    }

    /// Two events tell of one crash: the first fails what is in flight, the second may only say
    /// more of it, for by then somebody may bring the page back.
    fn crashed(&mut self, session: &str, status: &str, code: i64) {
        let Some(tab) = self.sessions.get_mut(session) else { return };
        let first = tab.crashed.is_none();
        if first || tab.crashed.as_ref().is_some_and(|(known, _)| known.is_empty()) {
            tab.crashed = Some((status.to_owned(), code));
            tab.dialog = None;
        }
        for facts in tab.windows.values_mut() {
            facts.seen.crashed.clone_from(&tab.crashed);
        }
        if first {
            self.fail(session, "", &CallError::Crashed { status: status.to_owned(), code });
        }
    }
}
