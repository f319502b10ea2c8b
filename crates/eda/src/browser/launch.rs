//! Starting a browser on pcbflow's own profile, and believing it.

use std::path::PathBuf;
use std::time::Duration;

use super::child::Child;
use super::fault::{StartFault, kept};
use super::lock::{Advice, Lock, look_at_lock};
use super::owner;
use super::profile::Profile;
use super::running::Browser;
use crate::cdp::{Address, Client, ConnectError, ms, version};

/// How long a browser may take to say where it listens, in milliseconds.
pub const START_MS: u64 = 10_000;
/// How long the rest of an ended browser's words may take, in milliseconds.
const WORDS_MS: u64 = 200;

/// Flags of every start: no question and no keyring in the way, and a tab in the background runs
/// at full speed. Without the last three its timers tick once a second.
const FLAGS: &[&str] = &[
    "--no-first-run",
    "--no-default-browser-check",
    "--password-store=basic",
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows",
];

/// Whether the browser shuts its pages into a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sandbox {
    /// Yes, except for the system's administrator, for whom it does not start with one.
    UnlessRoot,
    /// Yes.
    On,
    /// No; for machines whose kernel does not allow one.
    Off,
}

/// How a browser is started.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The program, such as [`super::find`] gives.
    pub program: PathBuf,
    /// The profile.
    pub profile: Profile,
    /// The port; 0 lets the browser choose a free one.
    pub port: u16,
    /// Without a window.
    pub headless: bool,
    /// Whether pages are shut in.
    pub sandbox: Sandbox,
    /// How long it may take until it says where it listens.
    pub within: Duration,
}

impl Launch {
    /// A browser with a window, on a free port.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>, profile: Profile) -> Launch {
        Launch {
            program: program.into(),
            profile,
            port: 0,
            headless: false,
            sandbox: Sandbox::UnlessRoot,
            within: ms(START_MS),
        }
    }

    /// The arguments.
    pub(super) fn flags(&self, root: bool) -> Vec<String> {
        let mut flags = vec![
            format!("--remote-debugging-port={}", self.port),
            format!("--user-data-dir={}", self.profile.folder().display()),
        ];
        flags.extend(FLAGS.iter().map(|f| (*f).to_owned()));
        if self.headless {
            flags.extend(["--headless".to_owned(), "--disable-gpu".to_owned()]);
        }
        if self.sandbox == Sandbox::Off || (self.sandbox == Sandbox::UnlessRoot && root) {
            flags.push("--no-sandbox".to_owned());
        }
        flags.push("about:blank".to_owned());
        flags
    }

    /// Starts the browser, waits until it says where it listens, and connects to exactly that one.
    ///
    /// # Errors
    /// [`StartFault`]; whatever was started has ended then.
    pub async fn start(&self) -> Result<Browser, StartFault> {
        let folder = self.profile.folder().to_owned();
        let lock = look_at_lock(&folder);
        if let Advice::InUse { .. } = lock.advice() {
            return Err(StartFault::InUse { lock });
        }
        self.profile.prepare().map_err(|e| StartFault::Folder { what: e.to_string() })?;
        owner::others_end(&folder).await;
        let until = tokio::time::Instant::now() + self.within;
        let started = Child::start(&self.program, &self.flags(is_root()), &folder);
        let mut child = started.map_err(|e| self.not_started(&e))?;
        match self.prove(&mut child, lock, until).await {
            Ok(client) => {
                let id = client.address().browser_id().unwrap_or("");
                if let Err(error) = self.profile.record_start(child.pid(), id) {
                    tracing::warn!(%error, "a later run will not know this browser as ours");
                }
                Ok(Browser::started(client, child, folder))
            }
            Err(fault) => {
                child.kill().await;
                owner::others_end(&folder).await;
                super::lock::remove_of_ended_child(&folder, child.pid());
                Err(fault)
            }
        }
    }

    fn not_started(&self, error: &std::io::Error) -> StartFault {
        match error.kind() {
            std::io::ErrorKind::NotFound => {
                StartFault::NotFound { program: self.program.display().to_string() }
            }
            std::io::ErrorKind::PermissionDenied => StartFault::Denied,
            _ => StartFault::Failed { what: error.to_string() },
        }
    }

    /// Connects to the child, once it is sure that it is the child.
    async fn prove(
        &self,
        child: &mut Child,
        lock: Lock,
        until: tokio::time::Instant,
    ) -> Result<Client, StartFault> {
        let said = self.first_word(child, until).await;
        let heard = child.heard();
        if let Some(line) = heard.listens {
            let address = Address::parse(&line).map_err(|_| StartFault::PortTaken { line })?;
            let left = until.saturating_duration_since(tokio::time::Instant::now());
            return Ok(reach(&address, left.max(ms(1_000))).await?);
        }
        let words = kept(&heard.words);
        match said {
            Some((status, signal)) => Err(StartFault::Ended { status, signal, words, lock }),
            None => Err(StartFault::NoPort {
                ms: u64::try_from(self.within.as_millis()).unwrap_or(u64::MAX),
                said_so: heard.no_server,
                words,
                lock,
            }),
        }
    }

    /// Waits for the first of: a word about the port, the end, the deadline. Gives status and
    /// signal if it was the end.
    async fn first_word(
        &self,
        child: &mut Child,
        until: tokio::time::Instant,
    ) -> Option<(Option<i32>, Option<i32>)> {
        let listener = child.listener();
        tokio::select! {
            ended = child.wait() => {
                child.heard_out(ms(WORDS_MS)).await;
                let ended = ended.ok();
                Some((ended.and_then(|e| e.status), ended.and_then(|e| e.signal)))
            }
            () = listener => None,
            () = tokio::time::sleep_until(until) => None,
        }
    }
}

/// Connects to the browser that wrote this address, after the one on the port has given the same
/// id.
async fn reach(address: &Address, within: Duration) -> Result<Client, ConnectError> {
    let found = version(address, within).await?.socket;
    if found.browser_id() != address.browser_id() {
        let id = |a: &Address| a.browser_id().unwrap_or("").to_owned();
        return Err(ConnectError::IdDiffers { wanted: id(address), found: id(&found) });
    }
    Client::connect(address, within).await
}

/// Connects to a running browser; an address with an id must lead to the browser with that id.
pub(super) async fn reach_running(
    address: &Address,
    within: Duration,
) -> Result<Client, ConnectError> {
    match address.browser_id() {
        Some(_) => reach(address, within).await,
        None => Client::connect(address, within).await,
    }
}

#[cfg(unix)]
pub(super) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(not(unix))]
pub(super) fn is_root() -> bool {
    false
}
