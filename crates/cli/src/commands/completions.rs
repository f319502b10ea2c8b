//! `completions`: the script that a shell loads. It is static: names of boards and phases are
//! not in it.

use clap::CommandFactory;

use crate::App;
use crate::args::{Cli, CompletionsArgs};
use crate::envelope::Answer;
use crate::error::{CommandError, Kind};

/// `pcbflow completions`.
///
/// # Errors
/// Never in practice: the script is text.
pub fn completions(_app: &App, args: &CompletionsArgs) -> Result<Answer, CommandError> {
    let mut bytes = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "pcbflow", &mut bytes);
    let script = String::from_utf8(bytes)
        .map_err(|_| CommandError::new(Kind::Bug, "the script is not UTF-8"))?;
    let lines = script.lines().map(str::to_owned).collect();
    Ok(Answer::done("completions", lines)
        .with("shell", args.shell.to_string())
        .with("script", script))
}
