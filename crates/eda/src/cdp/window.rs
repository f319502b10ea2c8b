//! What happened in a page while one call ran: statuses, failed transfers, dialogs, its end.
//!
//! Facts are kept, not events, so that a page that loads a thousand pictures does not push the one
//! refusal out. Addresses are kept without their query: it may hold a sign-in.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pcbflow_core::evidence::{Signal, Source};
use pcbflow_core::text::cut_bytes;
use serde_json::Value;

use super::error::number;
use super::shared::Shared;
use crate::signals;

/// Most facts of one sort that a window keeps; further ones are counted.
pub const FACTS_MAX: usize = 64;
/// Most bytes of one address or name in a fact.
pub const FACT_BYTES_MAX: usize = 512;
/// Most requests that a window follows at a time.
pub const PENDING_MAX: usize = 1024;

/// A status that the site answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The HTTP status.
    pub status: u16,
    /// The path that was asked for, without the query.
    pub place: String,
    /// The `Retry-After` header as sent.
    pub retry_after: Option<String>,
}

/// A dialog of the page: until it is answered, nothing of the page runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialog {
    /// `alert`, `confirm`, `prompt` or `beforeunload`.
    pub kind: String,
    /// Its words, cut.
    pub message: String,
}

/// Everything that a window saw.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seen {
    /// Statuses of 400 and more.
    pub refused: Vec<Status>,
    /// Statuses below 400 with their paths, each pair once.
    pub answered: BTreeSet<(u16, String)>,
    /// Requests that change something (PUT, POST, PATCH, DELETE) and were answered below 400: the
    /// status with its path, each pair once.
    pub written: BTreeSet<(u16, String)>,
    /// Transfers that failed without a status: the browser's name of the fault, and the path.
    pub failed: Vec<(String, String)>,
    /// Requests that have no answer yet.
    pub pending: usize,
    /// The dialog that is open.
    pub dialog: Option<Dialog>,
    /// The page's process ended: status and error code.
    pub crashed: Option<(String, i64)>,
    /// The tab was taken away.
    pub detached: bool,
    /// The page went to another address.
    pub navigated: bool,
    /// Facts that were left out, because there were too many.
    pub left_out: u64,
}

impl Seen {
    /// The facts for the diagnosis, the most telling first.
    #[must_use]
    pub fn signals(&self) -> Vec<Signal> {
        let cdp = |code: &str| Signal::new(Source::Cdp, code);
        let mut all = Vec::new();
        for refused in &self.refused {
            all.push(Signal::http(refused.status, &refused.place));
            if let Some(after) = &refused.retry_after {
                let signal = Signal::new(Source::Http, signals::RETRY_AFTER).text(after);
                let seconds = after.trim().parse::<i64>().ok().filter(|s| *s >= 0);
                all.push(seconds.map_or(signal.clone(), |s| signal.number(s)));
            }
        }
        if let Some((status, code)) = &self.crashed {
            all.push(cdp(signals::TARGET_CRASHED).text(status).number(*code));
        }
        if self.detached {
            all.push(cdp(signals::TARGET_DETACHED));
        }
        if let Some(dialog) = &self.dialog {
            all.push(cdp(signals::DIALOG_OPEN).text(&dialog.kind));
        }
        for (name, _) in &self.failed {
            all.push(cdp(signals::LOADING_FAILED).text(name));
        }
        if self.pending > 0 {
            let pending = u64::try_from(self.pending).unwrap_or(u64::MAX);
            all.push(cdp(signals::REQUESTS_PENDING).number(number(pending)));
        }
        if self.navigated {
            all.push(cdp(signals::PAGE_LOADING));
        }
        all.extend(self.answered.iter().map(|(status, place)| Signal::http(*status, place)));
        all
    }
}

/// An open window on one session. Dropped, it is forgotten.
#[derive(Debug)]
pub struct Window {
    pub(super) shared: Arc<Shared>,
    pub(super) session: String,
    pub(super) id: u64,
}

impl Window {
    /// What was seen so far.
    #[must_use]
    pub fn so_far(&self) -> Seen {
        self.shared.seen(&self.session, self.id)
    }

    /// What was seen from the opening up to now.
    #[must_use]
    pub fn close(self) -> Seen {
        self.so_far()
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        self.shared.close_window(&self.session, self.id);
    }
}

/// A request under way.
#[derive(Debug, Default)]
struct Request {
    place: String,
    /// Its method changes something at the other side.
    writes: bool,
    /// The status that is recorded; the same answer comes in two events, in either order.
    told: Option<u16>,
}

/// The facts of one window, as events come in.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub seen: Seen,
    requests: BTreeMap<String, Request>,
}

impl Facts {
    /// The facts with the count of requests that wait.
    pub(super) fn seen(&self) -> Seen {
        let pending = self.requests.values().filter(|r| r.told.is_none()).count();
        Seen { pending, ..self.seen.clone() }
    }

    /// Takes an event of the session.
    pub(super) fn take(&mut self, method: &str, params: &Value) {
        let id = || cut(params.get("requestId"));
        match method {
            "Network.requestWillBeSent" => {
                let place = place(params.pointer("/request/url"));
                let method = params.pointer("/request/method").and_then(Value::as_str);
                let writes = method.is_some_and(|m| !matches!(m, "GET" | "HEAD" | "OPTIONS"));
                if self.requests.len() < PENDING_MAX {
                    self.requests.insert(id(), Request { place, writes, told: None });
                } else {
                    self.seen.left_out += 1;
                }
            }
            "Network.responseReceivedExtraInfo" => {
                if let Some(request) = self.requests.get_mut(&id()) {
                    let place = request.place.clone();
                    let status = params.get("statusCode");
                    self.seen.write(request.writes, status, &place);
                    request.told =
                        self.seen.answer(request.told, status, place, params.get("headers"));
                }
            }
            "Network.responseReceived" => {
                let place = place(params.pointer("/response/url"));
                let (status, headers) =
                    (params.pointer("/response/status"), params.pointer("/response/headers"));
                let request = self.requests.get_mut(&id());
                let told = request.as_ref().and_then(|r| r.told);
                self.seen.write(request.as_ref().is_some_and(|r| r.writes), status, &place);
                let now = self.seen.answer(told, status, place, headers);
                if let Some(request) = request {
                    request.told = now.or(Some(0));
                }
            }
            "Network.loadingFinished" => drop(self.requests.remove(&id())),
            "Network.loadingFailed" => self.failed(&id(), params),
            "Page.frameNavigated" if params.pointer("/frame/parentId").is_none() => {
                self.seen.navigated = true;
            }
            _ => {}
        }
    }

    fn failed(&mut self, id: &str, params: &Value) {
        let request = self.requests.remove(id).unwrap_or_default();
        // The page itself took it back: it navigated or closed a stream.
        if params.get("canceled").and_then(Value::as_bool) == Some(true) {
            return;
        }
        if self.seen.failed.len() < FACTS_MAX {
            self.seen.failed.push((cut(params.get("errorText")), request.place));
        } else {
            self.seen.left_out += 1;
        }
    }
}

impl Seen {
    /// Records the answer to a request that changes something.
    fn write(&mut self, writes: bool, status: Option<&Value>, place: &str) {
        let status = status.and_then(Value::as_u64).and_then(|s| u16::try_from(s).ok());
        let Some(status) = status.filter(|s| writes && (100..400).contains(s)) else { return };
        if self.written.len() < FACTS_MAX {
            self.written.insert((status, place.to_owned()));
        } else {
            self.left_out += 1;
        }
    }

    /// Records an answer, unless it is the one that was told already: one request has several
    /// when it is led elsewhere. Gives the status that is told now.
    fn answer(
        &mut self,
        told: Option<u16>,
        status: Option<&Value>,
        place: String,
        headers: Option<&Value>,
    ) -> Option<u16> {
        let status = status.and_then(Value::as_u64).and_then(|s| u16::try_from(s).ok());
        let status = status.filter(|s| *s >= 100);
        let Some(status) = status.filter(|s| told != Some(*s)) else { return told.or(status) };
        if status < 400 {
            if self.answered.len() < FACTS_MAX {
                self.answered.insert((status, place));
            } else {
                self.left_out += 1;
            }
        } else if self.refused.len() < FACTS_MAX {
            self.refused.push(Status { status, place, retry_after: retry_after(headers) });
        } else {
            self.left_out += 1;
        }
        Some(status)
    }
}

fn retry_after(headers: Option<&Value>) -> Option<String> {
    let headers = headers.and_then(Value::as_object)?;
    let named = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("retry-after"));
    named.map(|(_, value)| cut(Some(value)))
}

/// A text of the other side, cut.
pub(super) fn cut(value: Option<&Value>) -> String {
    cut_bytes(value.and_then(Value::as_str).unwrap_or(""), FACT_BYTES_MAX).to_owned()
}

/// Path of an address, without query and fragment. Addresses that hold their content are named
/// by their scheme.
fn place(url: Option<&Value>) -> String {
    let url = url.and_then(Value::as_str).unwrap_or("");
    let url = url.split(['?', '#']).next().unwrap_or("");
    let path = match url.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |at| rest.get(at..).unwrap_or("/")),
        None => url.split(':').next().unwrap_or(""),
    };
    cut_bytes(path, FACT_BYTES_MAX).to_owned()
}
