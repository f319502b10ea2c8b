//! `completions`: the script that a shell loads. The script asks the program itself for words, so
//! that boards, phases and open asks are offered as they are.

use clap_complete::env::Shells;

use crate::App;
use crate::args::CompletionsArgs;
use crate::complete::COMPLETE_VAR;
use crate::envelope::Answer;
use crate::error::{CommandError, Kind};

/// `pcbflow completions`.
///
/// # Errors
/// Never in practice: the script is text, and every shell of the list has one.
pub fn completions(_app: &App, args: &CompletionsArgs) -> Result<Answer, CommandError> {
    let name = args.shell.to_string();
    let bug = |what: &str| CommandError::new(Kind::Bug, format!("no script for {name}: {what}"));
    let shells = Shells::builtins();
    let shell = shells.completer(&name).ok_or_else(|| bug("the shell is not known"))?;
    let mut bytes = Vec::new();
    shell
        .write_registration(COMPLETE_VAR, "pcbflow", "pcbflow", "pcbflow", &mut bytes)
        .map_err(|e| bug(&e.to_string()))?;
    let script = String::from_utf8(bytes).map_err(|_| bug("it is not UTF-8"))?;
    let lines = script.lines().map(str::to_owned).collect();
    Ok(Answer::done("completions", lines).with("shell", name).with("script", script))
}
