//! One line of a mirror: the seed's fields, and the two-line form for people.

use pcbflow_core::ids::{Digest, Seq};
use serde::Serialize;

/// How an attempt stands. The seed's four words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It did what it should.
    Ok,
    /// It failed; recovery may follow in later attempts.
    Failed,
    /// The step is healed.
    Recovered,
    /// The ladder is at its end.
    Escalated,
}

impl Status {
    /// The word in the record.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Failed => "failed",
            Status::Recovered => "recovered",
            Status::Escalated => "escalated",
        }
    }

    fn sign(self) -> char {
        match self {
            Status::Ok | Status::Recovered => '✅',
            Status::Failed => '❌',
            Status::Escalated => '✋',
        }
    }
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordError {
    /// Class of the failure, or the word of the gate that held the step.
    pub class: String,
    /// HTTP status, if one was seen.
    pub http: Option<i64>,
    /// What was seen, in a line.
    pub message: String,
    /// Everything for the agent: signals and the tail of standard error.
    pub stack: String,
}

/// What was tried about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordRecovery {
    /// The rungs, in order, joined by " + ".
    pub attempted: String,
    /// How many.
    pub attempts: u32,
    /// `none`, `tried`, `success` or `exhausted`.
    pub result: String,
}

/// One attempt, with exactly the fields of the seed, and where it stands in the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Record {
    /// When it ended, RFC 3339 with seconds.
    pub ts: String,
    /// The board.
    pub project: String,
    /// The phase.
    pub phase: String,
    /// The step.
    pub step: String,
    /// What was executed.
    pub command: String,
    /// Generated script, empty when there was none.
    pub script: String,
    /// Tail of standard output.
    pub stdout_tail: String,
    /// How it stands.
    pub status: Status,
    /// Only on a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<RecordError>,
    /// What was tried.
    pub recovery: RecordRecovery,
    /// For the engineer.
    pub human_message: String,
    /// Position of the event.
    pub seq: Seq,
    /// Its hash.
    pub hash: Digest,
}

/// Column of the arrow in the second line.
const INDENT: &str = "          ";

impl Record {
    /// The record as one line of JSON, with its newline.
    pub(crate) fn json_line(&self) -> Vec<u8> {
        // A struct of texts and numbers always has a JSON form.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// The two lines for people, with their newlines.
    #[must_use]
    pub fn log_lines(&self) -> String {
        let clock = self.ts.get(11..19).unwrap_or("00:00:00");
        let phase = self.phase.trim_start_matches(|c: char| c.is_ascii_digit());
        let phase = phase.trim_start_matches('-');
        let phase = if phase.is_empty() { &self.phase } else { phase };
        let head = format!(
            "{clock}  {} · {phase} · {}   {} {}",
            self.project,
            self.step,
            self.status.sign(),
            self.status.word()
        );
        let message = self.human_message.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("{head}\n{INDENT}→ {message}\n")
    }
}
