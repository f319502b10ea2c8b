//! A browser that pcbflow started and could not close, because pcbflow itself was killed.
//!
//! It is ours only when everything agrees: the lock names the process that we wrote down, that
//! process runs with this profile, and the id on its port is the one that we wrote down.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::lock::{Advice, LockKind, look_at_lock, owner_address, remove_of_ended_child};
use super::owner::{self, Owner};
use super::profile::Profile;
use super::running::{Browser, Closed};
use crate::cdp::{Client, ms};

/// Between two looks whether it is gone, in milliseconds.
const LOOK_MS: u64 = 20;
/// Longest wait for one that was ended hard, in milliseconds.
const KILLED_MS: u64 = 3_000;

/// A browser of an earlier run.
#[derive(Debug)]
pub(super) struct LeftOver {
    pub pid: u32,
    pub folder: PathBuf,
}

impl LeftOver {
    /// The left-over browser of this profile.
    fn of(folder: &Path) -> Option<(LeftOver, String)> {
        let (pid, id) = Profile::at(folder).last_start()?;
        let lock = look_at_lock(folder);
        let holds = matches!(lock.kind, LockKind::Here { pid: named, owner: Owner::Alive { .. } }
            if named == pid);
        let in_use = matches!(lock.advice(), Advice::InUse { pid: user, .. } if user == pid);
        (holds && in_use).then(|| (LeftOver { pid, folder: folder.to_owned() }, id))
    }

    fn alive(&self) -> bool {
        matches!(owner::who(self.pid, &self.folder), Owner::Alive { .. })
    }

    async fn gone_within(&self, within: Duration) -> bool {
        let until = tokio::time::Instant::now() + within;
        while self.alive() {
            if tokio::time::Instant::now() >= until {
                return false;
            }
            tokio::time::sleep(ms(LOOK_MS)).await;
        }
        true
    }

    /// Has it closed, and ends it when it does not.
    pub(super) async fn close(&self, client: Option<&Client>, within: Duration) -> Closed {
        let until = tokio::time::Instant::now() + within;
        if let Some(client) = client {
            let asked = client.close_browser(within).await;
            let left = until.saturating_duration_since(tokio::time::Instant::now());
            if asked.is_ok() && self.gone_within(left.max(ms(LOOK_MS))).await {
                owner::others_end(&self.folder).await;
                return Closed::Gracefully;
            }
        }
        owner::kill(self.pid, &self.folder);
        if !self.gone_within(ms(KILLED_MS)).await {
            return Closed::LeftAlone;
        }
        owner::others_end(&self.folder).await;
        remove_of_ended_child(&self.folder, self.pid);
        Closed::Killed
    }
}

impl Browser {
    /// Takes over the browser that an earlier run of pcbflow started on this profile, if it is
    /// there and answers; then it is ours to close. `None`: there is none, or it is somebody
    /// else's.
    pub async fn take_over(folder: &Path, within: Duration) -> Option<Browser> {
        let (left_over, id) = LeftOver::of(folder)?;
        let address = owner_address(folder).filter(|a| a.browser_id() == Some(id.as_str()))?;
        let browser = Browser::attach(&address, within).await.ok()?;
        Some(browser.taken_over(left_over))
    }

    /// Ends the browser that an earlier run of pcbflow started on this profile and that does not
    /// answer. Nothing happens to any other: then [`Closed::LeftAlone`] comes back.
    pub async fn end_left_over(folder: &Path) -> Closed {
        match LeftOver::of(folder) {
            Some((left_over, _)) => left_over.close(None, ms(LOOK_MS)).await,
            None => Closed::LeftAlone,
        }
    }
}
