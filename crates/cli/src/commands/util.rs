//! `util`: man pages.

use std::path::Path;

use clap::CommandFactory;

use crate::App;
use crate::args::{Cli, UtilArgs, UtilCommand};
use crate::envelope::Answer;
use crate::error::{CommandError, Kind};

/// `pcbflow util`.
///
/// # Errors
/// A folder that can't be written.
pub fn util(_app: &App, args: &UtilArgs) -> Result<Answer, CommandError> {
    match &args.command {
        UtilCommand::InstallManPages { dir } => install(dir),
    }
}

fn install(dir: &Path) -> Result<Answer, CommandError> {
    let fault = |path: &Path, e: &std::io::Error| {
        CommandError::new(Kind::Config, format!("{} can't be written: {e}", path.display()))
            .hint("name a folder that you may write to")
    };
    std::fs::create_dir_all(dir).map_err(|e| fault(dir, &e))?;
    let mut lines = Vec::new();
    let mut pages = Vec::new();
    let mut root = Cli::command();
    root.build();
    let mut waiting = vec![root];
    while let Some(command) = waiting.pop() {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
        waiting.extend(command.get_subcommands().filter(|c| !c.is_hide_set()).cloned());
        let path = dir.join(format!("{name}.1"));
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).map_err(|e| fault(&path, &e))?;
        std::fs::write(&path, page).map_err(|e| fault(&path, &e))?;
        lines.push(path.display().to_string());
        pages.push(name);
    }
    lines.sort();
    pages.sort();
    Ok(Answer::done("util", lines).with("pages", pages).with("dir", dir.display().to_string()))
}
