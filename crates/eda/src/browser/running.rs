//! A browser that is there: ours, or one that we only visit.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pcbflow_core::evidence::{Signal, Source};

use super::child::Child;
use super::left_over::LeftOver;
use super::{launch, lock, owner};
use crate::cdp::{Address, CLOSE_MS, Client, ConnectError, ms};
use crate::signals;

/// A connected browser. One that was started by us and is dropped without [`Browser::close`] is
/// ended hard; one that was not, or was by an earlier run, is left alone then.
#[derive(Debug)]
pub struct Browser {
    client: Client,
    ours: Option<Ours>,
    left_over: Option<LeftOver>,
}

#[derive(Debug)]
struct Ours {
    child: Child,
    folder: PathBuf,
}

/// How a browser was let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// It ended by itself; all that it held is on disk.
    Gracefully,
    /// It had to be ended; what it had not written is lost (up to half a minute of it).
    Killed,
    /// It had ended before or in another way, by itself or by somebody else's hand.
    WasGone,
    /// It is not ours and runs on.
    LeftAlone,
}

impl Browser {
    pub(super) fn started(client: Client, child: Child, folder: PathBuf) -> Browser {
        Browser { client, ours: Some(Ours { child, folder }), left_over: None }
    }

    /// The same browser, which an earlier run of ours had started.
    pub(super) fn taken_over(mut self, left_over: LeftOver) -> Browser {
        self.left_over = Some(left_over);
        self
    }

    /// Attaches to a browser that runs already. It is never ended by us.
    ///
    /// # Errors
    /// [`ConnectError`], also when the address names an id and another browser has the port.
    pub async fn attach(address: &Address, within: Duration) -> Result<Browser, ConnectError> {
        let client = launch::reach_running(address, within).await?;
        Ok(Browser { client, ours: None, left_over: None })
    }

    /// The connection.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Number of its process, if we started it.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        let child = self.ours.as_ref().map(|o| o.child.pid());
        child.or_else(|| self.left_over.as_ref().map(|l| l.pid))
    }

    /// Folder of its profile, if we started it.
    #[must_use]
    pub fn profile(&self) -> Option<&Path> {
        let folder = self.ours.as_ref().map(|o| o.folder.as_path());
        folder.or_else(|| self.left_over.as_ref().map(|l| l.folder.as_path()))
    }

    /// What is known of its end, for the diagnosis (BR-6); empty while it lives.
    pub fn end_signals(&mut self) -> Vec<Signal> {
        let mut all = Vec::new();
        if let Some(ended) = self.ours.as_mut().and_then(|o| o.child.ended()) {
            all.extend(ended.status.map(Signal::exit_status));
            all.extend(ended.signal.map(Signal::exit_signal));
        }
        if let Some(why) = self.client.lost() {
            all.push(Signal::new(Source::Cdp, signals::SOCKET_GONE).text(&why));
        }
        if !all.is_empty() {
            all.push(Signal::new(Source::Own, signals::BROWSER_WAS_UP));
        }
        all
    }

    /// Lets it go: one of ours is asked to end, and ended when it does not; another is left.
    pub async fn close(self) -> Closed {
        self.close_within(ms(CLOSE_MS)).await
    }

    /// The same with another deadline for the polite way.
    pub async fn close_within(mut self, within: Duration) -> Closed {
        if let Some(left_over) = &self.left_over {
            return left_over.close(Some(&self.client), within).await;
        }
        let Some(mut ours) = self.ours.take() else { return Closed::LeftAlone };
        // A browser that dies loses its socket a moment before it can be collected.
        let lost = self.client.lost().is_some();
        let until = tokio::time::Instant::now() + within;
        let asked = self.client.close_browser(within).await;
        let ended = tokio::time::timeout_at(until, ours.child.wait()).await;
        let closed = match (asked, ended) {
            (Ok(()), Ok(Ok(how))) if !lost && how.status == Some(0) => Closed::Gracefully,
            (_, Ok(Ok(_))) => Closed::WasGone,
            (asked, _) => {
                tracing::debug!(?asked, "the browser did not end when it was asked");
                ours.child.kill().await;
                Closed::Killed
            }
        };
        owner::others_end(&ours.folder).await;
        if closed != Closed::Gracefully {
            lock::remove_of_ended_child(&ours.folder, ours.child.pid());
        }
        closed
    }
}
