//! Why there is no browser, as facts for BR-1, BR-2 and BR-4.

use pcbflow_core::evidence::{Evidence, Signal, Source, codes};
use pcbflow_core::redact::redact;

use super::lock::Lock;
use crate::cdp::ConnectError;
use crate::signals;

/// Why a browser was not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartFault {
    /// There is no such program.
    #[error("no browser at {program}")]
    NotFound {
        /// The program.
        program: String,
    },
    /// The program may not be started.
    #[error("the browser may not be started")]
    Denied,
    /// Starting failed otherwise.
    #[error("the browser can't be started: {what}")]
    Failed {
        /// What the system said.
        what: String,
    },
    /// The profile's folder can't be used.
    #[error("the profile's folder can't be used: {what}")]
    Folder {
        /// What the system said.
        what: String,
    },
    /// The profile is in use; nothing was started.
    #[error("the profile is in use")]
    InUse {
        /// Its lock.
        lock: Lock,
    },
    /// It ended before it had a port.
    #[error("the browser ended at once (status {status:?}, signal {signal:?})")]
    Ended {
        /// Its exit status.
        status: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
        /// The end of its error stream, redacted.
        words: String,
        /// The profile's lock before the start.
        lock: Lock,
    },
    /// It runs and says of no port; it was ended.
    #[error("the browser opened no port within {ms} ms")]
    NoPort {
        /// How long was waited, in milliseconds.
        ms: u64,
        /// It said itself that no port could be had.
        said_so: bool,
        /// The end of its error stream, redacted.
        words: String,
        /// The profile's lock before the start.
        lock: Lock,
    },
    /// It listens on the other address family, because the port is somebody else's; it was ended.
    #[error("the port is taken: the browser listens on {line}")]
    PortTaken {
        /// Where it listens.
        line: String,
    },
    /// It could not be connected to, or another browser has the port; it was ended.
    #[error("the browser can't be reached")]
    Connect(#[from] ConnectError),
}

impl StartFault {
    /// The facts for the diagnosis.
    #[must_use]
    pub fn signals(&self) -> Vec<Signal> {
        let own = |code: &str| Signal::new(Source::Own, code);
        let exit = |code: &str| Signal::new(Source::Exit, code);
        let starting = own(signals::BROWSER_STARTING);
        match self {
            StartFault::NotFound { program } => vec![Signal::spawn_not_found(program)],
            StartFault::Denied => vec![exit(codes::SPAWN_DENIED)],
            StartFault::Failed { what } => vec![exit(codes::SPAWN_FAILED).text(what)],
            StartFault::Folder { what } => {
                vec![Signal::new(Source::File, codes::READ_ONLY).text(what)]
            }
            StartFault::InUse { lock } => lock.signals(),
            StartFault::Ended { status, signal, words, lock } => {
                let mut all = vec![starting];
                all.extend(status.map(Signal::exit_status));
                all.extend(signal.map(Signal::exit_signal));
                all.extend(lock.signals());
                all.push(Signal::words(codes::STDERR, words));
                all
            }
            StartFault::NoPort { ms, said_so, words, lock } => {
                let ms = i64::try_from(*ms).unwrap_or(i64::MAX);
                let mut all = vec![starting];
                if *said_so {
                    all.push(Signal::new(Source::Cdp, signals::PORT_SILENT));
                } else {
                    all.push(own(signals::NEITHER_EXIT_NOR_PORT).number(ms));
                    all.extend(lock.signals());
                }
                all.push(Signal::words(codes::STDERR, words));
                all
            }
            StartFault::PortTaken { line } => {
                let cdp = |code: &str| Signal::new(Source::Cdp, code);
                let elsewhere = cdp(signals::LISTENS_ELSEWHERE).text(line);
                vec![starting, cdp(signals::BROWSER_ID_DIFFERS), elsewhere]
            }
            StartFault::Connect(error) => {
                let mut all = vec![starting];
                all.extend(error.signals());
                all
            }
        }
    }

    /// The same as evidence of a browser's start.
    #[must_use]
    pub fn evidence(&self) -> Evidence {
        let mut evidence = Evidence::new("browser/start", "chrome");
        for signal in self.signals() {
            evidence.push(signal);
        }
        evidence
    }
}

/// The end of an error stream as it may be kept: without secrets and without the home folder.
pub(super) fn kept(words: &str) -> String {
    let home = std::env::var("HOME").or_else(|_| std::env::var("USERPROFILE")).ok();
    redact(words, home.as_deref()).into_owned()
}
