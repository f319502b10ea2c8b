//! A browser that we started: its process group ends whole.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use pcbflow_core::redact::is_secret_key;
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::stderr::{self, Heard};
use crate::cdp::ms;

/// Longest wait for an ended group to be collected, in milliseconds.
const COLLECT_MS: u64 = 2_000;

/// How a browser ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ended {
    pub status: Option<i32>,
    pub signal: Option<i32>,
}

/// The child. Dropped, its whole group is ended.
#[derive(Debug)]
pub(super) struct Child {
    child: Box<dyn ChildWrapper>,
    pid: u32,
    heard: watch::Receiver<Heard>,
    reader: JoinHandle<()>,
    /// The leader was collected and its group ended: the number may belong to others soon.
    done: bool,
}

impl Child {
    /// Starts a program in a group of its own. Variables with a secret's name stay here.
    pub(super) fn start(
        program: &Path,
        flags: &[String],
        profile: &Path,
    ) -> std::io::Result<Child> {
        let mut command = CommandWrap::with_new(program, |command| {
            command.args(flags);
            for (name, _) in std::env::vars_os() {
                if name.to_str().is_some_and(is_secret_key) {
                    command.env_remove(&name);
                }
            }
            // Reports of crashes stay out of the person's own profile.
            command.env("BREAKPAD_DUMP_LOCATION", profile.join("Crashpad"));
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        });
        command.wrap(KillOnDrop);
        #[cfg(unix)]
        command.wrap(process_wrap::tokio::ProcessGroup::leader());
        #[cfg(windows)]
        command.wrap(process_wrap::tokio::JobObject);
        let mut child = command.spawn()?;
        let pid = child.id().unwrap_or(0);
        let stream = child.stderr().take().ok_or(std::io::ErrorKind::BrokenPipe)?;
        let (heard, reader) = stderr::listen(stream);
        Ok(Child { child, pid, heard, reader, done: false })
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) fn heard(&self) -> Heard {
        self.heard.borrow().clone()
    }

    /// Returns when the browser said where it listens, or that it listens nowhere. A browser that
    /// only closed its error stream is waited for.
    pub(super) fn listener(&self) -> impl Future<Output = ()> + use<> {
        let mut heard = self.heard.clone();
        async move {
            if heard.wait_for(|h| h.listens.is_some() || h.no_server).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits for its end; then nothing of its group is left.
    pub(super) async fn wait(&mut self) -> std::io::Result<Ended> {
        let status = self.child.wait().await?;
        self.signal();
        self.done = true;
        Ok(ended(status))
    }

    /// How it ended, if it did.
    pub(super) fn ended(&mut self) -> Option<Ended> {
        let status = self.child.try_wait().ok().flatten()?;
        self.signal();
        self.done = true;
        Some(ended(status))
    }

    /// Waits until all that it wrote is read, which others may keep from ending.
    pub(super) async fn heard_out(&self, within: Duration) {
        let mut heard = self.heard.clone();
        drop(timeout(within, heard.wait_for(|h| h.ended)).await);
    }

    /// Ends the whole group hard and collects it.
    pub(super) async fn kill(&mut self) {
        self.signal();
        match timeout(ms(COLLECT_MS), self.child.wait()).await {
            Ok(_) => self.done = true,
            Err(_) => tracing::warn!(pid = self.pid, "a browser did not end"),
        }
    }

    fn signal(&mut self) {
        if self.done {
            return;
        }
        if let Err(error) = self.child.start_kill() {
            tracing::trace!(%error, "a browser could not be ended; it may be gone");
        }
        // Others of the group may outlive an ended leader, which the wrapper then knows no more.
        #[cfg(unix)]
        if let Some(group) =
            i32::try_from(self.pid).ok().filter(|p| *p > 1).and_then(rustix::process::Pid::from_raw)
            && let Err(error) =
                rustix::process::kill_process_group(group, rustix::process::Signal::KILL)
        {
            tracing::trace!(%error, "the group of a browser is gone");
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.signal();
        self.reader.abort();
    }
}

fn ended(status: ExitStatus) -> Ended {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal = None;
    Ended { status: status.code(), signal }
}
