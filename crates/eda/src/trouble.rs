//! What kept a step from its result, as facts for the diagnosis.

use std::collections::BTreeMap;

use pcbflow_core::event::Ended;
use pcbflow_core::evidence::{Evidence, Signal, Source, codes};
use pcbflow_core::ports::{Observation, StepResult};

use crate::browser::StartFault;
use crate::cdp::{CallError, ConnectError, Reply};

/// Name of the tool in evidence.
pub(crate) const TOOL: &str = "easyeda";

/// Why a step has no result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Trouble {
    /// How the attempt ended.
    pub ended: Ended,
    /// The facts, the most telling first.
    pub signals: Vec<Signal>,
    /// One line about it, for the record.
    pub what: String,
    /// Values for the slots of the message.
    pub slots: BTreeMap<String, String>,
}

impl Trouble {
    /// The attempt came to an end and these facts speak against its result.
    pub fn seen(what: &str, signals: Vec<Signal>) -> Trouble {
        Trouble { ended: Ended::Returned, signals, what: what.to_owned(), slots: BTreeMap::new() }
    }

    /// The attempt did not begin.
    pub fn before(what: &str, signals: Vec<Signal>) -> Trouble {
        Trouble { ended: Ended::NotStarted, ..Trouble::seen(what, signals) }
    }

    /// The script or the step itself says that it failed.
    pub fn failed(what: &str) -> Trouble {
        let envelope = Signal::new(Source::Report, codes::ENVELOPE_FAILED);
        Trouble::seen(what, vec![envelope, Signal::words(codes::MESSAGE, what)])
    }

    /// Our own deadline passed before the step could be carried out.
    pub fn late(what: &str, ms: u64) -> Trouble {
        let ms = i64::try_from(ms).unwrap_or(i64::MAX);
        let signal = Signal::new(Source::Own, codes::DEADLINE_PASSED).number(ms).text(what);
        Trouble { ended: Ended::DeadlinePassed, ..Trouble::seen(what, vec![signal]) }
    }

    /// A call did not give a result.
    pub fn of_call(what: &str, error: &CallError) -> Trouble {
        let ended = match error {
            CallError::DeadlinePassed { .. } | CallError::Terminated => Ended::DeadlinePassed,
            CallError::SocketLost { .. }
            | CallError::Crashed { .. }
            | CallError::Detached
            | CallError::Navigated => Ended::ConnectionLost,
            _ => Ended::Returned,
        };
        Trouble { ended, ..Trouble::seen(&format!("{what}: {error}"), error.signals()) }
    }

    /// The same for a call with its window, which comes first.
    pub fn of_reply(what: &str, reply: &Reply) -> Trouble {
        let mut trouble = match &reply.result {
            Err(error) => Trouble::of_call(what, error),
            Ok(_) => Trouble::seen(what, Vec::new()),
        };
        trouble.signals = reply.signals();
        trouble
    }

    /// Whether a fact is among these.
    pub fn is(&self, code: &str) -> bool {
        self.signals.iter().any(|s| s.code == code)
    }

    /// Whether the site answered with this status.
    pub fn status(&self, status: i64) -> bool {
        let fits = |s: &Signal| {
            s.source == Source::Http && s.code == codes::STATUS && s.number == Some(status)
        };
        self.signals.iter().any(fits)
    }

    /// More facts.
    pub fn with(mut self, more: Vec<Signal>) -> Trouble {
        for signal in more {
            if !self.signals.contains(&signal) {
                self.signals.push(signal);
            }
        }
        self
    }

    /// A value for the message.
    pub fn slot(mut self, name: &str, value: &str) -> Trouble {
        self.slots.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The observation of an attempt of this kind.
    pub fn observation(self, kind: &str) -> Observation {
        let mut evidence = Evidence::new(kind, TOOL);
        evidence.slots = self.slots;
        for signal in self.signals {
            evidence.push(signal);
        }
        Observation {
            ended: self.ended,
            tool: TOOL.to_owned(),
            summary: self.what,
            ..Observation::of(StepResult::Failed(evidence))
        }
    }
}

impl From<StartFault> for Trouble {
    fn from(fault: StartFault) -> Trouble {
        Trouble::before(&fault.to_string(), fault.signals())
    }
}

impl From<ConnectError> for Trouble {
    fn from(error: ConnectError) -> Trouble {
        Trouble::before(&error.to_string(), error.signals())
    }
}
