//! What can go wrong between us and the browser, and the signals that each fault is.

use pcbflow_core::evidence::{Signal, Source, codes};

use crate::signals;

/// Why a call got no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// No answer by our deadline. The page may hang, and a write may have landed.
    #[error("no answer to {method} within {ms} ms")]
    DeadlinePassed {
        /// The protocol's method.
        method: String,
        /// The deadline in milliseconds.
        ms: u64,
    },
    /// The page's process is gone.
    #[error("the page crashed ({status} {code})")]
    Crashed {
        /// What the browser calls it: `crashed`, `killed`, `oom`; empty when it did not say.
        status: String,
        /// Its error code; 0 when it did not say.
        code: i64,
    },
    /// The session was taken away: the tab was closed, by us or by somebody else.
    #[error("the tab was detached")]
    Detached,
    /// We stopped the page's script while this call ran in it.
    #[error("the script was stopped")]
    Terminated,
    /// The socket ended.
    #[error("the connection to the browser is gone ({why})")]
    SocketLost {
        /// What ended it.
        why: String,
    },
    /// The page went to another address during the call. Not a failure by itself.
    #[error("the page went elsewhere during the call")]
    Navigated,
    /// The browser does not know the session any more.
    #[error("the browser does not know the session")]
    SessionGone,
    /// The browser does not know the target.
    #[error("the browser does not know the tab")]
    TargetGone,
    /// The browser does not know the method.
    #[error("the browser does not know {method}")]
    MethodNotFound {
        /// The protocol's method.
        method: String,
    },
    /// The browser refused the call.
    #[error("{method} was refused: {message} ({code})")]
    Refused {
        /// The protocol's method.
        method: String,
        /// The protocol's error code.
        code: i64,
        /// The browser's words.
        message: String,
    },
    /// The script threw, or its promise was rejected.
    #[error("the script threw {kind}: {message}")]
    Threw {
        /// Name of the exception, such as `TypeError`.
        kind: String,
        /// Its message, cut.
        message: String,
    },
    /// The result is larger than its cap; it stayed in the page.
    #[error("the result has {bytes} bytes, at most {bytes_max} are taken")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The cap.
        bytes_max: u64,
    },
    /// The answer does not have the form that it should.
    #[error("the answer to {method} can't be read: {what}")]
    Unreadable {
        /// The protocol's method.
        method: String,
        /// What is wrong with it.
        what: String,
    },
    /// More calls are waiting than the client keeps.
    #[error("too many calls wait for an answer, at most {max}")]
    TooMany {
        /// The cap.
        max: usize,
    },
}

impl CallError {
    /// The facts for the diagnosis.
    #[must_use]
    pub fn signals(&self) -> Vec<Signal> {
        let cdp = |code: &str| Signal::new(Source::Cdp, code);
        let failed = |text: &str| {
            vec![
                Signal::new(Source::Report, codes::ENVELOPE_FAILED),
                Signal::words("message", text),
            ]
        };
        match self {
            CallError::DeadlinePassed { ms, .. } => {
                vec![Signal::new(Source::Own, codes::DEADLINE_PASSED).number(number(*ms))]
            }
            CallError::Crashed { status, code } => {
                vec![cdp(signals::TARGET_CRASHED).text(status).number(*code)]
            }
            CallError::Detached | CallError::SessionGone | CallError::TargetGone => {
                vec![cdp(signals::TARGET_DETACHED)]
            }
            // A script is only stopped after its page left the probe unanswered.
            CallError::Terminated => vec![cdp(signals::PROBE_UNANSWERED)],
            CallError::SocketLost { why } => vec![cdp(signals::SOCKET_GONE).text(why)],
            CallError::Navigated => vec![cdp(signals::PAGE_LOADING)],
            CallError::MethodNotFound { method } => {
                vec![cdp(signals::METHOD_NOT_FOUND).text(method)]
            }
            CallError::Threw { kind, message } if kind == "TypeError" => {
                vec![cdp(signals::TYPE_ERROR).text(message)]
            }
            CallError::Threw { kind, message } => failed(&format!("{kind}: {message}")),
            CallError::TooLarge { bytes, .. } => {
                vec![Signal::new(Source::Own, codes::OUTPUT_ENDLESS).number(number(*bytes))]
            }
            CallError::Refused { .. } | CallError::Unreadable { .. } => failed(&self.to_string()),
            CallError::TooMany { max } => {
                let max = i64::try_from(*max).unwrap_or(i64::MAX);
                vec![Signal::new(Source::Own, codes::LOOP_WITHOUT_END).number(max)]
            }
        }
    }

    /// Whether the page may have done what the call asked for although no result came: it must
    /// be read back, never repeated blindly.
    #[must_use]
    pub fn outcome_unknown(&self) -> bool {
        !matches!(
            self,
            CallError::SessionGone
                | CallError::TargetGone
                | CallError::MethodNotFound { .. }
                | CallError::TooMany { .. }
        )
    }
}

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// Nobody listens, or who listens says nothing.
    #[error("nothing answers on port {port} ({why})")]
    PortSilent {
        /// The port.
        port: u16,
        /// What was seen.
        why: String,
    },
    /// Somebody answers who is no browser with a debugging port.
    #[error("port {port} belongs to something else ({why})")]
    NotABrowser {
        /// The port.
        port: u16,
        /// What was seen.
        why: String,
    },
    /// The socket was refused.
    #[error("the browser refused the socket with status {status}")]
    SocketRefused {
        /// The HTTP status.
        status: u16,
    },
    /// The port belongs to another browser than the one that was started.
    #[error("the browser on the port is {found}, not {wanted}")]
    IdDiffers {
        /// Id that the started browser gave itself.
        wanted: String,
        /// Id of the browser on the port.
        found: String,
    },
    /// The first call failed.
    #[error("the browser did not answer the first call")]
    FirstCall(#[source] CallError),
}

impl ConnectError {
    /// The facts for the diagnosis.
    #[must_use]
    pub fn signals(&self) -> Vec<Signal> {
        let cdp = |code: &str| Signal::new(Source::Cdp, code);
        match self {
            ConnectError::PortSilent { port, .. } | ConnectError::NotABrowser { port, .. } => {
                vec![cdp(signals::PORT_SILENT).number(i64::from(*port)).text(&self.to_string())]
            }
            ConnectError::SocketRefused { status } => {
                let code = signals::ORIGIN_REFUSED;
                vec![Signal::new(Source::Http, code).number(i64::from(*status))]
            }
            ConnectError::IdDiffers { found, .. } => {
                vec![cdp(signals::BROWSER_ID_DIFFERS).text(found)]
            }
            ConnectError::FirstCall(error) => {
                let mut all = vec![cdp(signals::PORT_SILENT)];
                all.extend(error.signals());
                all
            }
        }
    }
}

/// A size or time as a signal's number.
pub(crate) fn number(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
