//! Ending a process group whole, also those members that left it.

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::Instant;

use super::proc_table;

/// Time to end by itself after the polite signal, in milliseconds.
const POLITE_MS: u64 = 400;
/// Between two looks whether all are gone, in milliseconds.
const LOOK_MS: u64 = 10;
/// Most rounds of the hard signal; each takes [`LOOK_MS`]. With [`POLITE_MS`] this stays below
/// the second that the port promises.
const HARD_ROUNDS_MAX: u32 = 25;

/// The polite and the hard signal.
#[derive(Clone, Copy)]
enum Signal {
    Polite,
    Hard,
}

/// What a group uses.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    /// Resident bytes.
    pub resident: u64,
    /// Time that it worked, in clock ticks.
    pub cpu_ticks: u64,
}

/// A running group. Dropped before [`Group::disarm`], it is ended hard: a caller that gives up
/// the future leaves nothing behind.
#[derive(Debug)]
pub(super) struct Group {
    leader: i32,
    tag: String,
    record: Option<PathBuf>,
    armed: bool,
}

impl Group {
    pub(super) fn new(leader: u32, tag: &str, record: Option<PathBuf>) -> Group {
        // A process id of the system fits its own signed type.
        let leader = i32::try_from(leader).unwrap_or(0);
        Group { leader, tag: tag.to_owned(), record, armed: true }
    }

    /// Whether anything of the group is alive. Elsewhere than on Linux, an ended leader that
    /// nobody waited for yet counts as alive.
    pub(super) fn alive(&self) -> bool {
        if cfg!(target_os = "linux") {
            !proc_table::members(self.leader, &self.tag).is_empty()
        } else {
            group_exists(self.leader)
        }
    }

    /// What the whole group uses.
    pub(super) fn usage(&self) -> Usage {
        let members = proc_table::members(self.leader, &self.tag);
        members.iter().fold(Usage::default(), |sum, e| Usage {
            resident: sum.resident.saturating_add(e.resident),
            cpu_ticks: sum.cpu_ticks.saturating_add(e.cpu_ticks),
        })
    }

    /// Ends the group: politely, then hard. Returns when nothing of it is left, at the latest
    /// after 650 ms.
    pub(super) async fn end(&self) {
        self.signal(Signal::Polite);
        let until = Instant::now() + Duration::from_millis(POLITE_MS);
        while Instant::now() < until {
            if !self.alive() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(LOOK_MS)).await;
        }
        for _ in 0..HARD_ROUNDS_MAX {
            self.signal(Signal::Hard);
            if !self.alive() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(LOOK_MS)).await;
        }
        tracing::warn!(group = self.leader, "a process group did not end");
    }

    /// The group ended and its record can go.
    pub(super) fn disarm(mut self) {
        self.armed = false;
    }

    fn signal(&self, signal: Signal) {
        signal_group(self.leader, signal);
        for entry in proc_table::members(self.leader, &self.tag) {
            if entry.group != self.leader {
                signal_one(entry.pid, signal);
            }
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.armed {
            self.signal(Signal::Hard);
        }
        if let Some(record) = &self.record
            && let Err(error) = std::fs::remove_file(record)
        {
            tracing::debug!(%error, "a record of a child can't be removed");
        }
    }
}

/// Ends one process hard. For those that were proven to be ours.
pub(super) fn kill_one(pid: i32) {
    signal_one(pid, Signal::Hard);
}

#[cfg(unix)]
fn signal_one(pid: i32, signal: Signal) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid).filter(|_| pid > 1) {
        said(rustix::process::kill_process(pid, signal.into()));
    }
}

#[cfg(unix)]
fn signal_group(leader: i32, signal: Signal) {
    if let Some(pid) = rustix::process::Pid::from_raw(leader).filter(|_| leader > 1) {
        said(rustix::process::kill_process_group(pid, signal.into()));
    }
}

/// A process may have ended by itself a moment ago, so a failed signal is only worth a trace.
#[cfg(unix)]
fn said(result: rustix::io::Result<()>) {
    if let Err(error) = result {
        tracing::trace!(%error, "a signal was not taken");
    }
}

#[cfg(unix)]
fn group_exists(leader: i32) -> bool {
    rustix::process::Pid::from_raw(leader)
        .filter(|_| leader > 1)
        .is_some_and(|pid| rustix::process::test_kill_process_group(pid).is_ok())
}

#[cfg(unix)]
impl From<Signal> for rustix::process::Signal {
    fn from(signal: Signal) -> Self {
        match signal {
            Signal::Polite => rustix::process::Signal::TERM,
            Signal::Hard => rustix::process::Signal::KILL,
        }
    }
}

// On Windows the job object ends all of them when the child is ended.
#[cfg(not(unix))]
fn signal_one(_pid: i32, _signal: Signal) {}
#[cfg(not(unix))]
fn signal_group(_leader: i32, _signal: Signal) {}
#[cfg(not(unix))]
fn group_exists(_leader: i32) -> bool {
    false
}
