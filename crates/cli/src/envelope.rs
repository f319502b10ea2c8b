//! The JSON document that every command gives with `--json`. Public API: fields are only added.

use std::collections::BTreeMap;

use pcbflow_core::exit::{Exit, Verdict};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::error::CommandError;

/// Name and version of the envelope.
pub const SCHEMA: &str = "pcbflow.result/1";

/// The five parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HumanParts {
    /// What happened.
    pub what: String,
    /// Why.
    pub why: String,
    /// What I tried.
    pub tried: String,
    /// Did it work.
    pub worked: String,
    /// What you need to do.
    pub ask: String,
}

/// An open ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AskOut {
    /// Its id.
    pub id: String,
    /// Kind, such as `install_tool`.
    pub kind: String,
    /// Tool or place.
    pub tool: String,
    /// Class of the failure behind it.
    pub class: String,
    /// Step that waits, as `phase/step`.
    pub step: Option<String>,
    /// Further steps with the same cause, which wait for the same answer.
    pub also: Vec<String>,
    /// Whether pcbflow sees by itself that it was done.
    pub watched: bool,
}

/// The document.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Envelope {
    /// `pcbflow.result/1`.
    pub schema: &'static str,
    /// True only for exit 0.
    pub ok: bool,
    /// The exit code.
    pub exit: u8,
    /// The command.
    pub command: String,
    /// The board, if one was meant.
    pub board: Option<String>,
    /// `pass`, `findings`, `unverified`, `needs_person`, `stopped` or `failed`.
    pub verdict: Option<String>,
    /// Only findings below the limits.
    pub conditional: bool,
    /// Safe to repeat without a change.
    pub retryable: bool,
    /// Class of the failure that decides.
    pub class: Option<String>,
    /// Phase of that failure.
    pub phase: Option<String>,
    /// Step of that failure.
    pub step: Option<String>,
    /// The five parts.
    pub human: Option<HumanParts>,
    /// The oldest open ask.
    pub ask: Option<AskOut>,
    /// All open asks.
    pub asks: Vec<AskOut>,
    /// What became of the work: `safe`, `saved`, `will_redo`, `at_risk`.
    pub work: Option<String>,
    /// Attempts made.
    pub attempts: Option<u32>,
    /// Literal command that goes on.
    pub resume: Option<String>,
    /// Events to look at.
    pub events: Vec<String>,
    /// Ledger head after the command.
    pub head: Option<String>,
    /// What went wrong with the command itself.
    pub error: Option<String>,
    /// What to do about it.
    pub hints: Vec<String>,
    /// Everything of this command's own.
    pub data: BTreeMap<String, Value>,
}

impl Envelope {
    /// An envelope with an exit code and nothing else.
    #[must_use]
    pub fn new(command: &str, exit: Exit) -> Envelope {
        Envelope {
            schema: SCHEMA,
            ok: exit == Exit::Done,
            exit: exit.code(),
            command: command.to_owned(),
            board: None,
            verdict: None,
            conditional: false,
            retryable: exit == Exit::TryLater,
            class: None,
            phase: None,
            step: None,
            human: None,
            ask: None,
            asks: Vec::new(),
            work: None,
            attempts: None,
            resume: None,
            events: Vec::new(),
            head: None,
            error: None,
            hints: Vec::new(),
            data: BTreeMap::new(),
        }
    }

    /// The envelope of a failed command.
    #[must_use]
    pub fn failed(command: &str, error: &CommandError) -> Envelope {
        let mut envelope = Envelope::new(command, error.kind.exit());
        envelope.error = Some(error.message.clone());
        envelope.hints.clone_from(&error.hints);
        envelope.class = error.class.map(str::to_owned);
        envelope
    }

    /// Sets the verdict.
    #[must_use]
    pub fn verdict(mut self, verdict: Verdict) -> Envelope {
        self.verdict = Some(word(&verdict));
        self
    }

    /// Adds something of the command's own.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Serialize) -> Envelope {
        // What can't be shown as JSON (a map with odd keys) is a bug that a test would see.
        let value = serde_json::to_value(value).unwrap_or(Value::Null);
        self.data.insert(key.to_owned(), value);
        self
    }
}

fn word(verdict: &Verdict) -> String {
    match serde_json::to_value(verdict) {
        Ok(Value::String(text)) => text,
        _ => String::new(),
    }
}

/// What a command gives back: the document, and what was or is to be printed for people.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Exit code.
    pub exit: Exit,
    /// The document for `--json`.
    pub envelope: Envelope,
    /// Lines for people on standard output.
    pub lines: Vec<String>,
}

impl Answer {
    /// An answer with lines.
    #[must_use]
    pub fn new(envelope: Envelope, exit: Exit, lines: Vec<String>) -> Answer {
        Answer { exit, envelope, lines }
    }

    /// A plain success.
    #[must_use]
    pub fn done(command: &str, lines: Vec<String>) -> Answer {
        Answer::new(Envelope::new(command, Exit::Done), Exit::Done, lines)
    }

    /// Adds something to the document's data.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Serialize) -> Answer {
        self.envelope = self.envelope.with(key, value);
        self
    }
}
