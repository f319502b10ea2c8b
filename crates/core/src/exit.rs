//! Exit codes and verdict words of the command line: one table for docs, help, skill and tests.

use serde::{Deserialize, Serialize};

/// How a command ended. The number is public API; an unknown number means failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// Finished, "recovered" and conditional included.
    Done,
    /// Wrong arguments.
    Usage,
    /// The check ran and the design has violations.
    Findings,
    /// Waiting for one action by a person.
    NeedsPerson,
    /// The check could not be run; nothing is known.
    Unverified,
    /// Another process is running this board.
    Busy,
    /// No such board, run or event.
    NotFound,
    /// The event chain does not verify.
    HistoryBroken,
    /// A tool is not there.
    ToolMissing,
    /// Our own fault.
    Bug,
    /// Attempts used up on a passing fault; safe to repeat.
    TryLater,
    /// The project file or the settings are wrong.
    Config,
    /// Ctrl-C; state saved.
    Interrupted,
    /// Terminated; state saved.
    Terminated,
}

impl Exit {
    /// Every code with its number, name and meaning.
    pub const TABLE: [(Exit, u8, &'static str, &'static str); 14] = [
        (Exit::Done, 0, "done", "finished, including recovered and conditional (listed)"),
        (Exit::Usage, 2, "usage", "wrong arguments; do not retry"),
        (Exit::Findings, 3, "findings", "the check ran and the design has violations"),
        (
            Exit::NeedsPerson,
            4,
            "needs-person",
            "waiting for one action by a person; the ask is in the output",
        ),
        (Exit::Unverified, 5, "unverified", "the check could not be run, so nothing is known"),
        (Exit::Busy, 10, "busy", "another process is running this board"),
        (Exit::NotFound, 11, "not-found", "no such board, run or event"),
        (Exit::HistoryBroken, 12, "history-broken", "the event chain does not verify"),
        (Exit::ToolMissing, 69, "tool-missing", "KiCad, EasyEDA or the browser is not there"),
        (Exit::Bug, 70, "bug", "our fault; a report was written"),
        (Exit::TryLater, 75, "try-later", "attempts used up on a passing fault; safe to repeat"),
        (Exit::Config, 78, "config", "the project file or settings are wrong"),
        (Exit::Interrupted, 130, "stopped", "Ctrl-C, state saved"),
        (Exit::Terminated, 143, "stopped", "terminated, state saved"),
    ];

    fn entry(self) -> (Exit, u8, &'static str, &'static str) {
        Exit::TABLE.into_iter().find(|(exit, ..)| *exit == self).unwrap_or((
            Exit::Bug,
            70,
            "bug",
            "our fault",
        ))
    }

    /// The number.
    #[must_use]
    pub fn code(self) -> u8 {
        self.entry().1
    }

    /// The name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.entry().2
    }
}

/// The `verdict` of the envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// All gates passed or only had findings below the limits.
    Pass,
    /// Findings at or above a limit.
    Findings,
    /// Something could not be checked.
    Unverified,
    /// An ask is open.
    NeedsPerson,
    /// Stopped by a signal.
    Stopped,
    /// Failed otherwise.
    Failed,
}

impl Verdict {
    /// Exit code that belongs to the verdict ([`Verdict::Failed`]: of a passing fault).
    #[must_use]
    pub fn exit(self) -> Exit {
        match self {
            Verdict::Pass => Exit::Done,
            Verdict::Findings => Exit::Findings,
            Verdict::Unverified => Exit::Unverified,
            Verdict::NeedsPerson => Exit::NeedsPerson,
            Verdict::Stopped => Exit::Interrupted,
            Verdict::Failed => Exit::TryLater,
        }
    }

    /// The worse of two, in the order needs person, unverified, findings, failed, stopped, pass.
    #[must_use]
    pub fn worse(self, other: Verdict) -> Verdict {
        fn rank(v: Verdict) -> u8 {
            match v {
                Verdict::Pass => 0,
                Verdict::Findings => 1,
                Verdict::Failed => 2,
                Verdict::Unverified => 3,
                Verdict::NeedsPerson => 4,
                Verdict::Stopped => 5,
            }
        }
        if rank(other) > rank(self) { other } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exit_has_its_own_number() {
        let mut codes: Vec<u8> = Exit::TABLE.iter().map(|t| t.1).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), Exit::TABLE.len());
        assert_eq!(Exit::TryLater.code(), 75);
    }

    #[test]
    fn the_worst_verdict_wins() {
        use Verdict::*;
        assert_eq!(Findings.worse(NeedsPerson), NeedsPerson);
        assert_eq!(Unverified.worse(Findings), Unverified);
        assert_eq!(Pass.worse(Pass), Pass);
    }
}
