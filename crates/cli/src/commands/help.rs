//! `help`: topics, and the help of each command.

use clap::CommandFactory;

use crate::App;
use crate::args::{Cli, HelpArgs};
use crate::envelope::Answer;
use crate::error::{CommandError, Kind};
use crate::reference::{self, TOPICS};

/// `pcbflow help`.
///
/// # Errors
/// No such topic or command.
pub fn help(_app: &App, args: &HelpArgs) -> Result<Answer, CommandError> {
    let text = match args.topic.as_deref() {
        None => {
            let mut text = Cli::command().render_long_help().to_string();
            text.push_str("\nTopics:\n");
            for topic in TOPICS {
                text.push_str(&format!("  {:<13}  {}\n", topic.name, topic.about));
            }
            text
        }
        Some(name) => match TOPICS.iter().find(|t| t.name == name) {
            Some(topic) => (topic.text)(),
            None => of_command(name)?,
        },
    };
    let lines = text.trim_end().lines().map(str::to_owned).collect();
    Ok(Answer::done("help", lines).with("topic", &args.topic).with("text", text.trim_end()))
}

fn of_command(name: &str) -> Result<String, CommandError> {
    let mut root = Cli::command();
    root.build();
    if let Some(found) = root.find_subcommand_mut(name) {
        return Ok(found.render_long_help().to_string());
    }
    let names: Vec<String> =
        TOPICS.iter().map(|t| t.name.to_owned()).chain(reference::command_names()).collect();
    let error = CommandError::new(Kind::NotFound, format!("there is no topic or command '{name}'"));
    Err(match pcbflow_core::manifest::nearest(name, names.iter().map(String::as_str)) {
        Some(near) => error.hint(format!("did you mean '{near}'?")),
        None => error.hint("'pcbflow help' lists them"),
    })
}
