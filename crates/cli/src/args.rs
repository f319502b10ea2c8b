//! The command line: every command, flag and help text.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::engine::ArgValueCandidates;

use crate::complete;
use crate::ui::ColorChoice;

/// Runs a PCB design flow step by step and heals it.
#[derive(Debug, Parser)]
#[command(name = "pcbflow", version, about, max_term_width = 100, disable_help_subcommand = true)]
pub struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub struct Global {
    /// One JSON document on standard output
    #[arg(long, global = true, conflicts_with = "events")]
    pub json: bool,
    /// JSON lines on standard output, one per event; the last one is the result
    #[arg(long, global = true)]
    pub events: bool,
    /// No progress; twice: nothing but the result
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub quiet: u8,
    /// Diagnostics on standard error; twice: more of them
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Use of colour
    #[arg(long, global = true, value_enum, default_value_t = ColorChoice::Auto)]
    pub color: ColorChoice,
    /// Whole sentences without columns, for screen readers
    #[arg(long, global = true, env = "PCBFLOW_NARRATED", hide_env_values = true, value_parser = clap::builder::FalseyValueParser::new(), action = clap::ArgAction::SetTrue)]
    pub narrated: bool,
    /// Folder of the workspace; found upward from the current folder without it
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "PCBFLOW_WORKSPACE",
        hide_env_values = true
    )]
    pub workspace: Option<PathBuf>,
    /// Say yes to what would be asked
    #[arg(long, global = true)]
    pub yes: bool,
    /// No pager
    #[arg(long, global = true)]
    pub no_pager: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a workspace and a board, new or from an existing KiCad project
    Init(InitArgs),
    /// Run a board, or go on with it, to the next stop
    Run(RunArgs),
    /// Go on with the last run of a board
    Resume(ResumeArgs),
    /// Where boards stand, and what is asked of you
    Status(StatusArgs),
    /// What happened, two lines an attempt
    Log(LogArgs),
    /// Explain an event or ask in five parts
    Explain(ExplainArgs),
    /// Answer what pcbflow asked
    Answer(AnswerArgs),
    /// Run a board's checks and nothing else
    Check(CheckArgs),
    /// Check the computer: tools, record, disk
    Doctor(DoctorArgs),
    /// Say what a pasted error is and what would be done about it
    Diagnose(DiagnoseArgs),
    /// The table of all failures
    Failures(FailuresArgs),
    /// What worked before, by failure
    Lessons(BoardArg),
    /// Events of a board
    History(HistoryArgs),
    /// Prove that the recorded decisions come out again
    Replay(BoardArg),
    /// Check the whole chain of events
    VerifyTrace(BoardArg),
    /// The record itself: export, import, verify, statistics, removal of words
    Ledger(LedgerArgs),
    /// Settings and where they come from
    Config(ConfigArgs),
    /// JSON schemas and lists
    Schema(SchemaArgs),
    /// Completions for a shell, with boards, phases and open asks
    Completions(CompletionsArgs),
    /// Man pages and other helpers
    Util(UtilArgs),
    /// Help on a topic or command
    Help(HelpArgs),
}

/// A board.
#[derive(Debug, Clone, Args)]
pub struct BoardArg {
    /// The board; the one of the current folder, or the only one, without it
    #[arg(add = ArgValueCandidates::new(complete::boards))]
    pub board: Option<String>,
}

/// `init`.
#[derive(Debug, Clone, Args)]
#[command(
    override_usage = "pcbflow init [OPTIONS] --from <BOARD.kicad_pro> [NAME]\n       pcbflow init [OPTIONS] <NAME>"
)]
pub struct InitArgs {
    /// Name of a new board
    #[arg(required_unless_present = "from")]
    pub name: Option<String>,
    /// Make the board from this KiCad project, which stays where it lies
    #[arg(long, value_name = "BOARD.kicad_pro")]
    pub from: Option<PathBuf>,
    /// Do not make a git repository when the workspace is in none
    #[arg(long)]
    pub no_git: bool,
}

/// `run`.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// The board; the one of the current folder, or the only one, without it
    #[arg(add = ArgValueCandidates::new(complete::boards))]
    pub board: Option<String>,
    /// Last phase to run
    #[arg(add = ArgValueCandidates::new(complete::phases), long, value_name = "PHASE")]
    pub to: Option<String>,
    /// All boards of the workspace
    #[arg(long, conflicts_with = "board")]
    pub all: bool,
    /// Steps or boards at once; the number of cores without it
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: Option<u16>,
    /// Wait up to this long for open asks (such as 30s, 10m, 12h); on a terminal 12h
    #[arg(long, value_name = "TIME")]
    pub wait: Option<String>,
    /// Run steps even if they are up to date
    #[arg(long)]
    pub force: bool,
    /// Show what would be run and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// `resume`.
#[derive(Debug, Clone, Args)]
pub struct ResumeArgs {
    /// The board; the one of the current folder, or the only one, without it
    #[arg(add = ArgValueCandidates::new(complete::boards))]
    pub board: Option<String>,
    /// Wait up to this long for open asks (such as 30s, 10m, 12h); on a terminal 12h
    #[arg(long, value_name = "TIME")]
    pub wait: Option<String>,
}

/// `status`.
#[derive(Debug, Clone, Args)]
pub struct StatusArgs {
    /// The board; all boards without it
    #[arg(add = ArgValueCandidates::new(complete::boards))]
    pub board: Option<String>,
    /// Show it again whenever something changes
    #[arg(long)]
    pub watch: bool,
    /// The state as it was after this event
    #[arg(long, value_name = "SEQ", requires = "board")]
    pub at: Option<u64>,
}

/// `log`.
#[derive(Debug, Clone, Args)]
pub struct LogArgs {
    /// The board; the one of the current folder, or the only one, without it
    #[arg(add = ArgValueCandidates::new(complete::boards))]
    pub board: Option<String>,
    /// Go on showing what happens
    #[arg(short, long)]
    pub follow: bool,
    /// Only this phase
    #[arg(add = ArgValueCandidates::new(complete::phases), long, value_name = "PHASE")]
    pub phase: Option<String>,
    /// Only the last N attempts
    #[arg(short, long, value_name = "N")]
    pub last: Option<usize>,
}

/// `explain`.
#[derive(Debug, Clone, Args)]
pub struct ExplainArgs {
    /// Number of an event, or id of an ask such as a7; the newest failure without it
    pub event: Option<String>,
    /// The board; the one of the current folder, or the only one, without it
    #[arg(add = ArgValueCandidates::new(complete::boards), long)]
    pub board: Option<String>,
    /// The technical record: class, statuses, outputs, attempts
    #[arg(long)]
    pub technical: bool,
}

/// `answer`.
#[derive(Debug, Clone, Args)]
pub struct AnswerArgs {
    /// Id of the ask, such as a7
    #[arg(add = ArgValueCandidates::new(complete::asks))]
    pub ask: String,
    /// The answer: retry, yes, no, or the value that was asked for
    pub answer: String,
    /// The board; found by the ask's id without it
    #[arg(add = ArgValueCandidates::new(complete::boards), long)]
    pub board: Option<String>,
}

/// `check`.
#[derive(Debug, Clone, Args)]
pub struct CheckArgs {
    /// The board; the one of the current folder, or the only one, without it
    #[arg(add = ArgValueCandidates::new(complete::boards))]
    pub board: Option<String>,
    /// Only checks of these kinds, such as drc, erc, compare
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub kind: Vec<String>,
    /// Run checks even if they are up to date
    #[arg(long)]
    pub force: bool,
}

/// `doctor`.
#[derive(Debug, Clone, Args)]
pub struct DoctorArgs {
    /// Mend what can be mended safely; each mend is checked again
    #[arg(long)]
    pub fix: bool,
}

/// `diagnose`.
#[derive(Debug, Clone, Args)]
pub struct DiagnoseArgs {
    /// The words of the error; '-' reads standard input
    #[arg(long, value_name = "TEXT")]
    pub text: Option<String>,
    /// HTTP status that was seen
    #[arg(long, value_name = "N")]
    pub http: Option<u16>,
    /// Exit status of the tool
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub exit: Option<i32>,
    /// Signal that ended the tool
    #[arg(long, value_name = "S")]
    pub signal: Option<String>,
    /// Name of the tool
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
}

/// `failures`.
#[derive(Debug, Clone, Args)]
pub struct FailuresArgs {
    /// One class, such as KI-6, or a family, such as KI
    #[arg(add = ArgValueCandidates::new(complete::classes))]
    pub class: Option<String>,
}

/// `history`.
#[derive(Debug, Clone, Args)]
pub struct HistoryArgs {
    /// The board; the one of the current folder, or the only one, without it
    #[arg(add = ArgValueCandidates::new(complete::boards))]
    pub board: Option<String>,
    /// Why what was tried was tried
    #[arg(long)]
    pub decisions: bool,
    /// First event to show
    #[arg(long, value_name = "SEQ")]
    pub from: Option<u64>,
    /// Most events to show; the newest ones
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub limit: usize,
}

/// `ledger`.
#[derive(Debug, Clone, Args)]
pub struct LedgerArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: LedgerCommand,
}

/// What to do with the record.
#[derive(Debug, Clone, Subcommand)]
pub enum LedgerCommand {
    /// Write whole streams to a file, with the evidence that they name
    Export {
        /// File to write; it must not exist
        file: PathBuf,
        /// Only this board; all streams without it
        #[arg(add = ArgValueCandidates::new(complete::boards), long)]
        board: Option<String>,
        /// Leave the stored evidence out (outputs of tools, reports)
        #[arg(long)]
        without_evidence: bool,
    },
    /// Take over whole streams, and their evidence, from a file
    Import {
        /// File to read
        file: PathBuf,
    },
    /// Check every chain from its first event
    Verify,
    /// Numbers about the record
    Stats,
    /// Remove the words of an event for good; the chain still verifies
    Expunge {
        /// The board
        #[arg(add = ArgValueCandidates::new(complete::boards))]
        board: String,
        /// Number of the event
        seq: u64,
    },
    /// Write the readable mirrors anew
    RebuildMirrors {
        /// The board; all boards without it
        #[arg(add = ArgValueCandidates::new(complete::boards))]
        board: Option<String>,
    },
    /// Go on without a record that is damaged or gone; it is put aside and nothing is taken over
    StartOver,
}

/// `config`.
#[derive(Debug, Clone, Args)]
pub struct ConfigArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: ConfigCommand,
}

/// What to do with settings.
#[derive(Debug, Clone, Subcommand)]
pub enum ConfigCommand {
    /// Show every setting
    Show {
        /// And where it comes from
        #[arg(long)]
        origin: bool,
    },
}

/// `schema`.
#[derive(Debug, Clone, Args)]
pub struct SchemaArgs {
    /// result, events, kinds, exit-codes, catalogue; the list of names without it
    pub name: Option<String>,
}

/// `completions`.
#[derive(Debug, Clone, Args)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// `util`.
#[derive(Debug, Clone, Args)]
pub struct UtilArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: UtilCommand,
}

/// Helpers.
#[derive(Debug, Clone, Subcommand)]
pub enum UtilCommand {
    /// Write the man pages into a folder
    InstallManPages {
        /// The folder, normally a man1 folder
        dir: PathBuf,
    },
}

/// `help`.
#[derive(Debug, Clone, Args)]
pub struct HelpArgs {
    /// exit-codes, environment, json, recovery, or a command
    pub topic: Option<String>,
}
