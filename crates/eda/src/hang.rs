//! What is done when a call missed its deadline: the mechanics of the hang ladder, rung by rung.
//!
//! Nothing here repeats a call: a write may have landed, so the caller reads back first. The
//! cheapest rung that works is taken: what only looks, then what keeps the page's memory, then
//! what loses it. A new tab is open and ready before the old one is closed.
//!
//! Start at [`climb`].

use std::time::Duration;

use pcbflow_core::evidence::{Signal, Source};
use serde_json::Value;

use crate::cdp::{AttachError, CallError, Process, Script, Seen, Session, Status, ms};
use crate::signals;

/// Longest wait for the list of tabs, in milliseconds.
pub const LOOK_MS: u64 = 1_000;
/// Longest wait for the probe that tells a stuck call from a page that hangs, in milliseconds.
pub const PROBE_MS: u64 = 1_000;
/// Longest wait for a script to be stopped, in milliseconds.
pub const TERMINATE_MS: u64 = 1_000;
/// Longest wait for the probe after it, in milliseconds. With the three above this makes the 5 s
/// that the first rungs may take together; the browser itself answers its own questions in
/// milliseconds.
pub const FREED_MS: u64 = 2_000;
/// Longest time for a new tab, from its opening to the end of the old one, in milliseconds.
pub const NEW_TAB_MS: u64 = 30_000;
/// How long a page must keep running after it was freed, in milliseconds: a loop that a timer
/// enters again comes back within it.
const SETTLE_MS: u64 = 150;
/// Most dialogs that are answered in a row; a page can open one after another.
const DIALOGS_MAX: u32 = 5;

/// How the next dialog is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialogAnswer {
    /// Yes.
    Accept,
    /// No; what it would have led to does not happen.
    Dismiss,
}

/// What must be true before a page counts as usable again.
#[derive(Debug, Clone)]
pub struct Usable {
    /// The full address of the page, its fragment included.
    pub url: String,
    /// A JavaScript expression that is true once the page is ready, such as
    /// `typeof window._EXTAPI_ROOT_ === 'object'`.
    pub ready: String,
    /// How long that may take.
    pub within: Duration,
    /// How dialogs in the way are answered.
    pub dialogs: DialogAnswer,
}

/// What the ladder found and did.
#[derive(Debug)]
pub enum Freed {
    /// A status in the call's window says what is wrong: no hang, and nothing was done.
    StatusSeen(Status),
    /// The page went to another address: wait until it is ready, read back.
    Navigated,
    /// The dialog in the way was answered and the page runs. Nothing was lost.
    DialogAnswered,
    /// The page answers; only that one call is stuck. Nothing was done.
    OnlyTheCall,
    /// The running script was stopped and the page runs. What it holds in memory is still there:
    /// read back, save at once.
    Stopped,
    /// The page had crashed and was loaded again. What was not saved is lost.
    Reloaded,
    /// A new tab is there and the old one is closed. What was not saved is lost.
    NewTab(Session),
    /// The browser itself is gone, or no tab of it can be used: start it again (BR-6).
    BrowserUnusable(CallError),
}

/// One rung and how it went, for the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The rung: `look`, `dialog`, `reload`, `probe`, `terminate`, `new-tab`.
    pub rung: &'static str,
    /// Whether the page could be used after it.
    pub worked: bool,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// What a climb came to.
#[derive(Debug)]
pub struct Climb {
    /// How it ended.
    pub freed: Freed,
    /// The rungs in their order.
    pub taken: Vec<Taken>,
    /// Facts that were seen on the way.
    pub signals: Vec<Signal>,
}

/// Climbs the ladder once for a call on `session` that missed its deadline. `seen` is what the
/// call's window saw.
pub async fn climb(session: &Session, seen: &Seen, usable: &Usable) -> Climb {
    let mut ladder = Ladder { session, usable, taken: Vec::new(), signals: seen.signals() };
    let freed = ladder.climb(seen).await;
    Climb { freed, taken: ladder.taken, signals: ladder.signals }
}

struct Ladder<'a> {
    session: &'a Session,
    usable: &'a Usable,
    taken: Vec<Taken>,
    signals: Vec<Signal>,
}

/// What the look shows.
enum Look {
    Status(Status),
    Crashed,
    Navigated,
    Dialog,
    Detached,
    Nothing,
    Lost(CallError),
}

impl Ladder<'_> {
    async fn climb(&mut self, seen: &Seen) -> Freed {
        let begun = now();
        let look = self.look(seen).await;
        self.took("look", begun, false);
        match look {
            Look::Lost(error) => return Freed::BrowserUnusable(error),
            Look::Status(status) => return Freed::StatusSeen(status),
            Look::Navigated => return Freed::Navigated,
            Look::Crashed if self.reload().await => return Freed::Reloaded,
            Look::Crashed | Look::Detached => return self.new_tab().await,
            Look::Dialog if self.answer_dialogs().await => return Freed::DialogAnswered,
            Look::Dialog | Look::Nothing => {}
        }
        if self.probe().await {
            return Freed::OnlyTheCall;
        }
        if self.terminate().await {
            return Freed::Stopped;
        }
        self.new_tab().await
    }

    /// Reads what is known already and asks the browser, which answers also while a page hangs.
    async fn look(&self, seen: &Seen) -> Look {
        let session = self.session;
        if let Some(status) = seen.refused.iter().find(|s| decides(s.status)) {
            return Look::Status(status.clone());
        }
        let targets = match session.client().targets(ms(LOOK_MS)).await {
            Ok(targets) => targets,
            Err(error) => return Look::Lost(error),
        };
        let listed = targets.iter().any(|t| t.id == session.target());
        if session.detached() || !listed {
            Look::Detached
        } else if session.crashed().is_some() {
            Look::Crashed
        } else if session.dialog().is_some() {
            Look::Dialog
        } else if seen.navigated {
            Look::Navigated
        } else {
            Look::Nothing
        }
    }

    /// Answers the open dialog, and those that come right after it.
    async fn answer_dialogs(&mut self) -> bool {
        let begun = now();
        let accept = self.usable.dialogs == DialogAnswer::Accept;
        for _ in 0..DIALOGS_MAX {
            if self.session.dialog().is_none() {
                break;
            }
            // A dialog that is gone meanwhile needs no answer.
            let answered = self.session.answer_dialog(accept, ms(PROBE_MS)).await;
            tracing::debug!(?answered, "a dialog was in the way");
            if self.settles(ms(PROBE_MS)).await {
                break;
            }
        }
        let worked = self.session.dialog().is_none() && self.settles(ms(PROBE_MS)).await;
        self.took("dialog", begun, worked);
        worked
    }

    async fn reload(&mut self) -> bool {
        let begun = now();
        let reloaded = self.session.reload(ms(LOOK_MS)).await.is_ok();
        let within = self.usable.within;
        let worked = reloaded
            && self.session.wait_ready(&self.usable.url, &self.usable.ready, within).await.is_ok();
        self.took("reload", begun, worked);
        worked
    }

    /// The probe; while it waits, the processor time of the browser's pages is looked at.
    async fn probe(&mut self) -> bool {
        let begun = now();
        let before = self.session.client().processes(ms(LOOK_MS)).await.unwrap_or_default();
        let worked = self.session.answers(ms(PROBE_MS)).await;
        let code = if worked { signals::PROBE_ANSWERED } else { signals::PROBE_UNANSWERED };
        self.signals.push(Signal::new(Source::Cdp, code));
        if !worked {
            let after = self.session.client().processes(ms(LOOK_MS)).await.unwrap_or_default();
            if busy(&before, &after) {
                self.signals.push(Signal::new(Source::Cdp, signals::RENDERER_BUSY));
            }
        }
        self.took("probe", begun, worked);
        worked
    }

    async fn terminate(&mut self) -> bool {
        let begun = now();
        let stopped = self.session.terminate(ms(TERMINATE_MS)).await.is_ok();
        let worked = stopped && self.settles(ms(FREED_MS)).await;
        self.took("terminate", begun, worked);
        worked
    }

    /// Whether the page answers and goes on to: its timers run, and nothing starts again that
    /// blocks it.
    async fn settles(&self, within: Duration) -> bool {
        let wait = format!("return await new Promise(r => setTimeout(() => r(2), {SETTLE_MS}));");
        let answer = self.session.evaluate(&Script::body(&wait, within)).await;
        answer == Ok(Some(Value::from(2)))
    }

    async fn new_tab(&mut self) -> Freed {
        let begun = now();
        let result = tokio::time::timeout(
            ms(NEW_TAB_MS).max(self.usable.within),
            replace_tab(self.session, self.usable),
        );
        let result = result.await.unwrap_or_else(|_| {
            let method = "open a new tab".to_owned();
            Err(CallError::DeadlinePassed { method, ms: NEW_TAB_MS })
        });
        self.took("new-tab", begun, result.is_ok());
        result.map_or_else(Freed::BrowserUnusable, Freed::NewTab)
    }

    fn took(&mut self, rung: &'static str, begun: tokio::time::Instant, worked: bool) {
        let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.taken.push(Taken { rung, worked, took_ms });
    }
}

/// Opens a new tab, waits until it is usable, and only then closes the old one. When the new tab
/// can't be used it is closed again and the old one stays.
///
/// # Errors
/// [`CallError`].
pub async fn replace_tab(old: &Session, usable: &Usable) -> Result<Session, CallError> {
    let client = old.client();
    let target = client.create_tab(&usable.url, ms(LOOK_MS)).await?;
    let fresh = async {
        let session = client.attach(&target, usable.within).await.map_err(|error| match error {
            AttachError::Call(error) => error,
            AttachError::Hangs { method } => CallError::DeadlinePassed { method, ms: LOOK_MS },
        })?;
        session.wait_ready(&usable.url, &usable.ready, usable.within).await?;
        Ok(session)
    };
    let session = match fresh.await {
        Ok(session) => session,
        Err(error) => {
            let closed = client.close_tab(&target, ms(LOOK_MS)).await;
            tracing::debug!(?closed, "a new tab that could not be used was closed");
            return Err(error);
        }
    };
    match client.close_tab(old.target(), ms(LOOK_MS)).await {
        // It may be gone already; that is what was wanted.
        Ok(()) | Err(CallError::TargetGone | CallError::Refused { .. }) => {}
        Err(error) => return Err(error),
    }
    wait_detached(old).await;
    Ok(session)
}

/// Longest wait for a closed tab to be gone, in milliseconds; a tab that hung takes about 600.
const GONE_MS: u64 = 3_000;
/// Between two looks whether it is gone, in milliseconds.
const EACH_MS: u64 = 10;

/// Waits until the old tab is really gone: only then does the site let go of it.
async fn wait_detached(old: &Session) {
    let until = now() + ms(GONE_MS);
    while now() < until && !old.detached() {
        tokio::time::sleep(ms(EACH_MS)).await;
    }
}

/// Whether a page's process worked between two looks; on a busy machine it gets little to do so.
fn busy(before: &[Process], after: &[Process]) -> bool {
    /// Processor time that counts as work, in seconds.
    const BUSY_SECONDS_MIN: f64 = 0.1;
    after.iter().filter(|p| p.kind == "renderer").any(|p| {
        let old = before.iter().find(|b| b.pid == p.pid);
        old.is_some_and(|b| p.cpu_seconds - b.cpu_seconds >= BUSY_SECONDS_MIN)
    })
}

/// Whether a status says what is wrong with the site. A missing picture does not.
fn decides(status: u16) -> bool {
    matches!(status, 401 | 403 | 429 | 500..=599)
}

fn now() -> tokio::time::Instant {
    tokio::time::Instant::now()
}
