//! What a command's failure is to the shell: a kind that decides the exit code, words, hints.

use pcbflow_checkpoint::workspace::WorkspaceError;
use pcbflow_core::exit::Exit;
use pcbflow_core::ports::LedgerError;
use pcbflow_engine::EngineError;

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Wrong arguments.
    Usage,
    /// The project file or settings are wrong, or the record is of a newer release.
    Config,
    /// No such board, run or event.
    NotFound,
    /// Another process runs this board.
    Busy,
    /// The chain does not verify.
    HistoryBroken,
    /// Waiting for the person: disk full and the like.
    NeedsPerson,
    /// A tool is missing.
    ToolMissing,
    /// It could not be checked.
    Unverified,
    /// Safe to repeat later.
    TryLater,
    /// Our own fault.
    Bug,
}

impl Kind {
    /// The exit code.
    #[must_use]
    pub fn exit(self) -> Exit {
        match self {
            Kind::Usage => Exit::Usage,
            Kind::Config => Exit::Config,
            Kind::NotFound => Exit::NotFound,
            Kind::Busy => Exit::Busy,
            Kind::HistoryBroken => Exit::HistoryBroken,
            Kind::NeedsPerson => Exit::NeedsPerson,
            Kind::ToolMissing => Exit::ToolMissing,
            Kind::Unverified => Exit::Unverified,
            Kind::TryLater => Exit::TryLater,
            Kind::Bug => Exit::Bug,
        }
    }
}

/// A command's failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandError {
    /// Its kind.
    pub kind: Kind,
    /// What is wrong, in words.
    pub message: String,
    /// What to do.
    pub hints: Vec<String>,
    /// Class of the failure table, where one fits.
    pub class: Option<&'static str>,
}

impl CommandError {
    /// An error of a kind.
    #[must_use]
    pub fn new(kind: Kind, message: impl Into<String>) -> CommandError {
        CommandError { kind, message: message.into(), hints: Vec::new(), class: None }
    }

    /// The same with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> CommandError {
        self.hints.push(hint.into());
        self
    }

    /// The same with a class.
    #[must_use]
    pub fn class(mut self, class: &'static str) -> CommandError {
        self.class = Some(class);
        self
    }
}

/// Error with all its sources in one line.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let words = inner.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        source = inner.source();
    }
    text
}

impl From<LedgerError> for CommandError {
    fn from(e: LedgerError) -> CommandError {
        let text = chain(&e);
        match e {
            LedgerError::DiskFull { .. } => CommandError::new(Kind::NeedsPerson, text)
                .class("LG-1")
                .hint("free some disk space; nothing that was recorded is lost"),
            LedgerError::Damaged { .. } => CommandError::new(Kind::HistoryBroken, text)
                .class("LG-2")
                .hint("'pcbflow ledger verify' names the last good event; nothing was changed")
                .hint(
                    "to go on: put the folder .pcbflow back from a backup, or say \
                     'pcbflow ledger start-over'",
                ),
            LedgerError::Newer { .. } => CommandError::new(Kind::Config, text)
                .class("LG-3")
                .hint("install the newest release of pcbflow"),
            LedgerError::ReadOnly { .. } => CommandError::new(Kind::Config, text)
                .class("LG-4")
                .hint("make the project folder writable"),
            LedgerError::NotFound { .. } => CommandError::new(Kind::NotFound, text),
            LedgerError::MovedOn { .. } => CommandError::new(Kind::TryLater, text),
            _ => CommandError::new(Kind::Bug, text),
        }
    }
}

impl From<EngineError> for CommandError {
    fn from(e: EngineError) -> CommandError {
        let text = chain(&e);
        match e {
            EngineError::Ledger(inner) => inner.into(),
            EngineError::Busy { .. } => CommandError::new(Kind::Busy, text)
                .class("AG-10")
                .hint("wait until the other run ends; 'pcbflow status' shows where it is"),
            EngineError::NoPhase(_) => CommandError::new(Kind::Usage, text),
            EngineError::Contended { .. } => CommandError::new(Kind::TryLater, text),
            EngineError::Claim { .. } | EngineError::Scratch { .. } => {
                CommandError::new(Kind::Config, text)
                    .class("LG-4")
                    .hint("make the project folder writable")
            }
            _ => CommandError::new(Kind::Bug, text),
        }
    }
}

impl From<WorkspaceError> for CommandError {
    fn from(e: WorkspaceError) -> CommandError {
        let text = chain(&e);
        match e {
            WorkspaceError::NotFound { .. } => CommandError::new(Kind::NotFound, text)
                .hint("'pcbflow init --from BOARD.kicad_pro' makes one from a KiCad project"),
            WorkspaceError::NoBoard { nearest, .. } => {
                let error = CommandError::new(Kind::NotFound, text);
                match nearest {
                    Some(name) => error.hint(format!("did you mean '{name}'?")),
                    None => error.hint("'pcbflow status' lists the boards"),
                }
            }
            WorkspaceError::Outside { .. } => CommandError::new(Kind::Config, text).hint(
                "keep the board's folder in the workspace, and name the folder of its design \
                 files with 'root:'",
            ),
            WorkspaceError::Manifest(inner) => {
                // Each fault's line says what to write instead already.
                let remedy = if inner.faults().is_empty() {
                    inner.remedy().to_owned()
                } else {
                    "correct the file; 'pcbflow run --dry-run' checks it without running".to_owned()
                };
                CommandError::new(Kind::Config, text).hint(remedy)
            }
            _ => CommandError::new(Kind::Config, text),
        }
    }
}
