//! Why a step ends before its result, and the record of what it did so far.

use std::collections::BTreeMap;
use std::time::Instant;

use pcbflow_core::check::CheckResult;
use pcbflow_core::event::{BlobRef, Ended, OutputRef};
use pcbflow_core::evidence::{Evidence, Signal};
use pcbflow_core::ports::{Captured, Observation, Services, SpawnEnded, StepContext, StepResult};

use crate::cli::call::{self, Called, Caller};
use crate::cli::find::Tool;
use crate::cli::settings::Libraries;
use crate::signals;

/// Name of the checks that hold a report against limits.
pub const REPORT_CLEAN: &str = "report_clean";

/// Why a step has no result.
#[derive(Debug)]
pub enum Stop {
    /// A failure to be diagnosed.
    Failed(Evidence),
    /// It may not or can't be run as asked; nothing is known, and no ladder helps.
    Refused(String),
}

/// One attempt in progress.
pub struct Session<'a> {
    /// What the attempt is about.
    pub context: &'a StepContext,
    /// Services.
    pub services: &'a Services,
    /// When it began.
    pub started: Instant,
    /// How the last call ended.
    pub ended: Ended,
    /// Last call: what was executed.
    pub argv: Vec<String>,
    /// Tool and version.
    pub tool: String,
    /// Exit status of the last call.
    pub exit: Option<i32>,
    /// Ending signal of the last call.
    pub signal: Option<i32>,
    /// Standard output of the last call.
    pub stdout: Captured,
    /// Standard error of the last call.
    pub stderr: Captured,
    /// Files made.
    pub outputs: Vec<OutputRef>,
    /// Stored evidence.
    pub blobs: Vec<BlobRef>,
    /// Named records.
    pub records: BTreeMap<String, String>,
    /// Lines for the person.
    pub notes: Vec<String>,
}

/// The text variant that tells a person what was seen, where the class's own text is too general.
pub(super) fn variant(signal: &Signal) -> Option<&'static str> {
    match signal.code.as_str() {
        signals::PRO_MISSING => Some("project_missing"),
        signals::PRO_EMPTY
        | signals::PRO_UNREADABLE
        | signals::PRO_LINK_TEXT
        | signals::PRO_WITHOUT_RULES => Some("project_unfit"),
        signals::RULESET_CHANGED => Some("rules_loosened"),
        signals::RULES_FILE_BROKEN => Some("rules_file_broken"),
        signals::SHEET_MISSING => Some("sheet_missing"),
        signals::BOARD_DAMAGED => Some("file_damaged"),
        signals::REPORT_STALE => Some("report_stale"),
        signals::REPORT_OTHER_BOARD => Some("report_of_another"),
        signals::REPORT_MISSING | signals::REPORT_EMPTY => Some("report_missing"),
        signals::REPORT_UNREADABLE | signals::REPORT_CUT | signals::REPORT_CONTRADICTS_EXIT => {
            Some("report_not_whole")
        }
        signals::PARITY_NOT_RUN => Some("parity_not_run"),
        _ => None,
    }
}

/// Adds a signal, with the text variant that tells what was seen.
pub(super) fn push(evidence: &mut Evidence, signal: Signal) {
    if let Some(variant) = variant(&signal) {
        evidence.slots.insert("variant".to_owned(), variant.to_owned());
    }
    evidence.push(signal);
}

impl<'a> Session<'a> {
    /// An attempt that has done nothing yet.
    #[must_use]
    pub fn new(context: &'a StepContext, services: &'a Services) -> Session<'a> {
        Session {
            context,
            services,
            started: Instant::now(),
            ended: Ended::Returned,
            argv: Vec::new(),
            tool: String::new(),
            exit: None,
            signal: None,
            stdout: Captured::default(),
            stderr: Captured::default(),
            outputs: Vec::new(),
            blobs: Vec::new(),
            records: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    /// Evidence of this step without signals.
    #[must_use]
    pub fn evidence(&self) -> Evidence {
        Evidence::new(self.context.step.uses.as_str(), call::TOOL)
    }

    /// A failure with one signal.
    #[must_use]
    pub fn failed(&self, signal: Signal) -> Stop {
        let mut evidence = self.evidence();
        push(&mut evidence, signal);
        Stop::Failed(evidence)
    }

    /// Tells the person what goes on.
    pub fn doing(&self, text: &str) {
        self.services.progress.doing(&self.context.key, text);
    }

    /// Makes calls of `tool` possible.
    ///
    /// # Errors
    /// A full disk or a folder that can't be written.
    pub fn caller(&mut self, tool: Tool, libraries: Libraries) -> Result<Caller<'a>, Stop> {
        self.tool = tool.label();
        Caller::new(self.context, self.services, tool, libraries, self.started)
            .map_err(|signal| self.failed(signal))
    }

    /// Keeps what a call did as the last one.
    pub fn keep(&mut self, called: &Called) {
        self.argv.clone_from(&called.argv);
        self.stdout.clone_from(&called.result.stdout);
        self.stderr.clone_from(&called.result.stderr);
        (self.exit, self.signal, self.ended) = match called.result.ended {
            SpawnEnded::Exited(status) => (Some(status), None, Ended::Returned),
            SpawnEnded::Signalled(signal) => (None, Some(signal), Ended::Returned),
            SpawnEnded::DeadlinePassed
            | SpawnEnded::OutputEndless
            | SpawnEnded::BusyWithoutOutput(_)
            | SpawnEnded::MemoryOverLimit(_) => (None, None, Ended::DeadlinePassed),
            SpawnEnded::Cancelled => (None, None, Ended::Stopped),
            _ => (None, None, Ended::Returned),
        };
    }

    /// Stores evidence; a store that refuses is a line in the log, the step's result stands.
    pub fn store(&mut self, name: &str, bytes: &[u8]) {
        match self.services.blobs.put(name, bytes) {
            Ok(blob) => self.blobs.push(blob),
            Err(error) => tracing::warn!(%error, name, "evidence could not be stored"),
        }
    }

    /// The observation with this end.
    #[must_use]
    pub fn finish(self, end: Result<CheckResult, Stop>) -> Observation {
        let result = match end {
            Ok(check) => StepResult::Checked(check),
            Err(Stop::Failed(evidence)) => StepResult::Failed(evidence),
            Err(Stop::Refused(reason)) => {
                StepResult::Checked(CheckResult::could_not_run(REPORT_CLEAN, &reason))
            }
        };
        Observation {
            ended: self.ended,
            result,
            argv: self.argv,
            tool: self.tool,
            exit: self.exit,
            signal: self.signal,
            stdout: self.stdout,
            stderr: self.stderr,
            outputs: self.outputs,
            blobs: self.blobs,
            records: self.records,
            summary: self.notes.join("; "),
        }
    }
}
