//! The command line of pcbflow: puts the crates together and speaks to people and machines.
//!
//! **Invariants.** Only [`ui`] prints. Every command honours `--json` with one document, also
//! when it fails. Exit codes come from `pcbflow_core::exit` through [`error::Kind`] or a verdict.

pub mod args;
pub mod cancel;
pub mod commands;
pub mod complete;
pub mod compose;
pub mod doctor;
pub mod envelope;
pub mod error;
pub mod mirror;
pub mod progress;
pub mod reading;
pub mod reference;
mod rows_only;
pub mod settings;
pub mod storage;
pub mod story;
pub mod tool;
pub mod ui;

use clap::Parser;
use pcbflow_core::exit::Exit;

use args::{Cli, Command, Global};
use envelope::{Answer, Envelope};
use error::CommandError;
use ui::{Ui, UiOptions};

/// What every command gets.
pub struct App {
    /// Options of every command.
    pub global: Global,
    /// The way to print.
    pub ui: Ui,
}

/// Runs the program with the arguments of the process and gives its exit code.
#[must_use]
pub fn main() -> u8 {
    if complete::answered() {
        return Exit::Done.code();
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => return usage(&e),
    };
    diagnostics(cli.global.verbose);
    let options = UiOptions {
        json: cli.global.json,
        events: cli.global.events,
        quiet: cli.global.quiet,
        narrated: cli.global.narrated,
        color: cli.global.color,
    };
    let app = App { global: cli.global, ui: Ui::new(options) };
    let name = command_name(&cli.command);
    let result = dispatch(&app, cli.command);
    finish(&app, name, result).code()
}

/// Wrong arguments: clap's own words, or a document when one was asked for.
fn usage(error: &clap::Error) -> u8 {
    let json = std::env::args_os().any(|a| a == "--json" || a == "--events");
    let asked = matches!(
        error.kind(),
        clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion
    );
    if json && !asked {
        let ui = Ui::new(UiOptions { json: true, ..UiOptions::default() });
        let error = CommandError::new(error::Kind::Usage, error.render().to_string().trim());
        print_document(&ui, &Envelope::failed("pcbflow", &error));
        return Exit::Usage.code();
    }
    match error.print() {
        Ok(()) => {}
        // Nobody reads: the exit code still says it.
        Err(e) => tracing::debug!("the usage could not be printed: {e}"),
    }
    if asked { Exit::Done.code() } else { Exit::Usage.code() }
}

fn diagnostics(verbose: u8) {
    let level = match verbose {
        0 => "error",
        1 => "info",
        _ => "debug",
    };
    let filter = tracing_subscriber::EnvFilter::try_from_env("PCBFLOW_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(level));
    let set = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .try_init();
    if set.is_err() {
        // Somebody who embeds us has set up diagnostics already.
        tracing::debug!("diagnostics were set up before");
    }
}

fn command_name(command: &Command) -> &'static str {
    match command {
        Command::Init(_) => "init",
        Command::Run(_) => "run",
        Command::Resume(_) => "resume",
        Command::Status(_) => "status",
        Command::Log(_) => "log",
        Command::Explain(_) => "explain",
        Command::Answer(_) => "answer",
        Command::Check(_) => "check",
        Command::Doctor(_) => "doctor",
        Command::Diagnose(_) => "diagnose",
        Command::Failures(_) => "failures",
        Command::Lessons(_) => "lessons",
        Command::History(_) => "history",
        Command::Replay(_) => "replay",
        Command::VerifyTrace(_) => "verify-trace",
        Command::Ledger(_) => "ledger",
        Command::Config(_) => "config",
        Command::Schema(_) => "schema",
        Command::Completions(_) => "completions",
        Command::Util(_) => "util",
        Command::Help(_) => "help",
    }
}

fn dispatch(app: &App, command: Command) -> Result<Answer, CommandError> {
    match command {
        Command::Init(a) => commands::init::init(app, &a),
        Command::Run(a) => commands::run::run(app, &a),
        Command::Resume(a) => commands::run::resume(app, &a),
        Command::Status(a) => commands::status::status(app, &a),
        Command::Log(a) => commands::log::log(app, &a),
        Command::Explain(a) => commands::explain::explain(app, &a),
        Command::Answer(a) => commands::answer::answer(app, &a),
        Command::Check(a) => commands::check::check(app, &a),
        Command::Doctor(a) => commands::doctor::doctor(app, &a),
        Command::Diagnose(a) => commands::diagnose::diagnose(app, &a),
        Command::Failures(a) => commands::failures::failures(app, &a),
        Command::Lessons(a) => commands::lessons::lessons(app, &a),
        Command::History(a) => commands::history::history(app, &a),
        Command::Replay(a) => commands::replay::replay(app, &a),
        Command::VerifyTrace(a) => commands::verify_trace::verify_trace(app, &a),
        Command::Ledger(a) => commands::ledger::ledger(app, &a),
        Command::Config(a) => commands::config::config(app, &a),
        Command::Schema(a) => commands::schema::schema(app, &a),
        Command::Completions(a) => commands::completions::completions(app, &a),
        Command::Util(a) => commands::util::util(app, &a),
        Command::Help(a) => commands::help::help(app, &a),
    }
}

fn finish(app: &App, name: &str, result: Result<Answer, CommandError>) -> Exit {
    match result {
        Ok(answer) => {
            for line in &answer.lines {
                app.ui.out(line);
            }
            if app.ui.machine() {
                print_document(&app.ui, &answer.envelope);
            }
            answer.exit
        }
        Err(error) => {
            if app.ui.machine() {
                print_document(&app.ui, &Envelope::failed(name, &error));
            } else {
                app.ui.error(&error.message, &error.hints);
                for line in told(app, &error) {
                    app.ui.out(&line);
                }
            }
            error.kind.exit()
        }
    }
}

/// The five parts of an error that is a known kind of failure.
fn told(app: &App, error: &CommandError) -> Vec<String> {
    let class = error.class.and_then(|c| pcbflow_core::ids::ClassId::new(c).ok());
    let row = class.and_then(|c| compose::rows().into_iter().find(|r| r.id == c.as_str()));
    let message = row.and_then(|row| story::loose_message(&row));
    message.map_or_else(Vec::new, |m| story::lines(&app.ui, &m))
}

/// The one document of `--json`, or the last line of `--events`.
fn print_document(ui: &Ui, envelope: &Envelope) {
    let mut value = serde_json::to_value(envelope).unwrap_or_default();
    if ui.options.events {
        if let Some(map) = value.as_object_mut() {
            map.insert("type".to_owned(), "result".into());
        }
        ui.raw(&value.to_string());
    } else {
        ui.raw(&serde_json::to_string_pretty(&value).unwrap_or_default());
    }
}
