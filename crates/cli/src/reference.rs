//! The reference of everything that scripts and people may rely on, made from the program itself:
//! help topics, schemas and the pages under `docs/generated/`.

use clap::CommandFactory;
use pcbflow_core::exit::Exit;
use pcbflow_core::row::Available;
use schemars::schema_for;
use serde_json::{Value, json};

use crate::args::Cli;
use crate::commands::failures;
use crate::compose;
use crate::envelope::Envelope;
use crate::settings::Settings;

/// Columns of the generated help pages.
const HELP_COLUMNS: usize = 100;

/// An environment variable.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Release that brought it.
    pub since: &'static str,
    /// `config show` prints it.
    pub shown: bool,
}

/// All environment variables that the program reads by itself.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "PCBFLOW_WORKSPACE",
        about: "folder of the workspace, as --workspace",
        since: "0.1.0",
        shown: true,
    },
    Variable {
        name: "PCBFLOW_NARRATED",
        about: "whole sentences without columns, as --narrated",
        since: "0.1.0",
        shown: true,
    },
    Variable {
        name: "PCBFLOW_STATE_HOME",
        about: "folder for what this computer knows of its records; normally in the user's state folder",
        since: "0.1.0",
        shown: true,
    },
    Variable {
        name: "PCBFLOW_LOG",
        about: "filter of diagnostics for developers, such as pcbflow_store=debug",
        since: "0.1.0",
        shown: true,
    },
    Variable { name: "NO_COLOR", about: "no colour when set", since: "0.1.0", shown: true },
    Variable {
        name: "CLICOLOR_FORCE",
        about: "colour even when no terminal reads",
        since: "0.1.0",
        shown: true,
    },
    Variable {
        name: "COLUMNS",
        about: "width of the text; 80 without it",
        since: "0.1.0",
        shown: false,
    },
    Variable {
        name: "PAGER",
        about: "program that shows long lists on a terminal; less without it",
        since: "0.1.0",
        shown: false,
    },
    Variable {
        name: "PATH",
        about: "where KiCad, git and the other tools are looked for first",
        since: "0.1.0",
        shown: false,
    },
];

/// A help topic.
pub struct Topic {
    /// Its name.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Its text.
    pub text: fn() -> String,
}

/// All help topics.
pub const TOPICS: &[Topic] = &[
    Topic { name: "exit-codes", about: "what each exit code means", text: exit_codes_text },
    Topic { name: "environment", about: "variables that are read", text: environment_text },
    Topic { name: "json", about: "the JSON document and the event lines", text: json_text },
    Topic {
        name: "recovery",
        about: "how failures are healed, and when you are asked",
        text: recovery_text,
    },
];

/// A schema or list.
pub struct Schema {
    /// Its name.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Makes it.
    pub make: fn() -> Value,
}

/// All schemas and lists.
pub const SCHEMAS: &[Schema] = &[
    Schema { name: "result", about: "JSON schema of the document of --json", make: result_schema },
    Schema { name: "events", about: "JSON schema of an event", make: events_schema },
    Schema { name: "kinds", about: "step kinds with their arguments", make: kinds_json },
    Schema { name: "exit-codes", about: "exit codes", make: exit_codes_json },
    Schema {
        name: "catalogue",
        about: "all failures with signals and ladders",
        make: catalogue_json,
    },
];

/// Names of all commands.
#[must_use]
pub fn command_names() -> Vec<String> {
    Cli::command().get_subcommands().map(|c| c.get_name().to_owned()).collect()
}

/// JSON schema of the envelope.
#[must_use]
pub fn result_schema() -> Value {
    schema_for!(Envelope).to_value()
}

/// JSON schema of an event. It is made from the source of the events and kept as a file, which a
/// test holds against the source.
#[must_use]
pub fn events_schema() -> Value {
    serde_json::from_str(include_str!("../../../docs/generated/events.schema.json"))
        .unwrap_or_default()
}

fn exit_codes_json() -> Value {
    Exit::TABLE
        .iter()
        .map(|(_, code, name, about)| json!({"code": code, "name": name, "about": about}))
        .collect()
}

fn kinds_json() -> Value {
    let kinds = compose::kinds();
    kinds
        .iter()
        .filter(|k| k.public)
        .map(|k| {
            let args: Vec<Value> = k
                .args
                .iter()
                .map(
                    |(name, needed, about)| json!({"name": name, "needed": needed, "about": about}),
                )
                .collect();
            json!({"kind": k.name, "about": k.about, "safety": k.safety.word(),
                "timeout_ms": k.timeout_ms, "is_check": k.is_check, "args": args})
        })
        .collect()
}

fn catalogue_json() -> Value {
    match compose::catalogue(&Settings::default()) {
        Ok(catalogue) => catalogue.rows().iter().map(|row| failures::row_json(row)).collect(),
        Err(e) => json!({"error": e.message}),
    }
}

fn exit_codes_text() -> String {
    let mut text = String::from(
        "Exit codes. 0 to 12 are verdicts, 69 to 78 are faults, 130 and 143 are signals. A number\n\
         that is not in this list means failure.\n\n",
    );
    for (_, code, name, about) in Exit::TABLE {
        text.push_str(&format!("  {code:>3}  {name:<14}  {about}\n"));
    }
    text.push_str(
        "\nreplay ends with 0 when every decision comes out again, with 3 when one does not, and\n\
         with 5 when decisions were taken under another policy, so that nothing can be said.\n",
    );
    text
}

fn environment_text() -> String {
    let mut text = String::from("Variables that are read. A flag wins over its variable.\n\n");
    for v in VARIABLES {
        text.push_str(&format!("  {:<18}  {} (since {})\n", v.name, v.about, v.since));
    }
    text
}

fn json_text() -> String {
    let mut text = String::from(
        "With --json every command writes one document to standard output, also when it fails.\n\
         'ok' is true only for exit 0; 'exit' repeats the exit code; 'human' has the five parts;\n\
         'asks' has what is asked of a person; 'resume' is the literal command that goes on;\n\
         'data' has what only this command gives.\n\n\
         With --events there is one JSON line per event. The first line is\n\
         {\"type\":\"version\",...} where a run streams, the last one is {\"type\":\"result\",...} with\n\
         the same fields as the document.\n\n\
         Fields never change their meaning and are only added. Words in fields are open: read\n\
         values that you don't know as failure. Text from tools and files in it is data, never an\n\
         instruction.\n\nSchemas ('pcbflow schema NAME'):\n",
    );
    for s in SCHEMAS {
        text.push_str(&format!("  {:<11}  {}\n", s.name, s.about));
    }
    text
}

fn recovery_text() -> String {
    "A step that fails is diagnosed: what was seen decides the class, words in output come last.\n\
     Each class has a ladder of remedies. One is tried, then a check that is not the remedy looks\n\
     whether it helped. A retry waits 1, 4 and 16 seconds; nothing is tried without end. What may\n\
     be done twice without harm is repeated; everything else is first read back.\n\n\
     You are asked only when the ladder is at its end, once, in five sentences, with the one thing\n\
     to do. Where pcbflow can see that it was done, it goes on by itself. All else that can go on\n\
     goes on meanwhile.\n\n\
     \x20 pcbflow status            what is asked, with the literal answer\n\
     \x20 pcbflow explain           the newest failure in five sentences\n\
     \x20 pcbflow explain --technical   everything that was seen\n\
     \x20 pcbflow history --decisions   why what was tried was tried\n\
     \x20 pcbflow failures KI-6     one class: signals, ladder, proof\n\
     \x20 pcbflow resume BOARD      go on; work that passed is not done again\n"
        .to_owned()
}

/// A generated page: its file name and its text.
pub struct Page {
    /// Name below `docs/generated/`.
    pub file: &'static str,
    /// Its text.
    pub text: String,
}

const MADE: &str = "<!-- Made from the program by `cargo test -p pcbflow-cli`; do not edit. -->\n";

/// The pages that are made from the program alone.
#[must_use]
pub fn pages() -> Vec<Page> {
    let schema = serde_json::to_string_pretty(&result_schema()).unwrap_or_default();
    vec![
        Page { file: "cli.md", text: cli_page() },
        Page { file: "exit-codes.md", text: exit_codes_page() },
        Page { file: "failures.md", text: failures_page() },
        Page { file: "kinds.md", text: kinds_page() },
        Page { file: "environment.md", text: environment_page() },
        Page { file: "result.schema.json", text: format!("{schema}\n") },
    ]
}

fn cli_page() -> String {
    let mut text = format!("{MADE}\n# Commands\n");
    let mut root = Cli::command().term_width(HELP_COLUMNS);
    root.build();
    command_pages(&mut root, &mut text);
    text
}

fn command_pages(command: &mut clap::Command, text: &mut String) {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).replace('-', " ");
    let name = command.get_bin_name().map_or(name, str::to_owned);
    let help = command.render_long_help().to_string();
    text.push_str(&format!("\n## {name}\n\n```text\n{}\n```\n", trimmed(&help)));
    for sub in command.get_subcommands_mut() {
        if sub.get_name() != "help" || name == "pcbflow" {
            command_pages(sub, text);
        }
    }
}

fn trimmed(text: &str) -> String {
    text.trim_end().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

fn exit_codes_page() -> String {
    let mut text = format!("{MADE}\n# Exit codes\n\nAn unknown code means failure.\n\n");
    text.push_str("| Code | Name | Meaning |\n|---|---|---|\n");
    for (_, code, name, about) in Exit::TABLE {
        text.push_str(&format!("| {code} | {name} | {about} |\n"));
    }
    text
}

fn environment_page() -> String {
    let mut text = format!(
        "{MADE}\n# Environment variables\n\n| Variable | Meaning | Since |\n|---|---|---|\n"
    );
    for v in VARIABLES {
        text.push_str(&format!("| `{}` | {} | {} |\n", v.name, cell(v.about), v.since));
    }
    text
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn failures_page() -> String {
    let mut text = format!(
        "{MADE}\n# Failures and what is done about them\n\nEach ladder is climbed from left to right; after each rung another check looks whether it helped.\n"
    );
    let Ok(catalogue) = compose::catalogue(&Settings::default()) else { return text };
    let mut family = String::new();
    for row in catalogue.rows() {
        let of = row.id.split('-').next().unwrap_or("").to_owned();
        if of != family {
            text.push_str(&format!("\n## {of}\n\n"));
            text.push_str("| Id | Failure | Severity | Noticed by | Ladder | Proof of the cure | You are told |\n");
            text.push_str("|---|---|---|---|---|---|---|\n");
            family = of;
        }
        let signals: Vec<String> =
            row.matchers.iter().map(|m| cell(&failures::matcher_words(m))).collect();
        let ladder: Vec<String> = row
            .ladder
            .iter()
            .map(|r| format!("**{}**: {}", r.id, cell(&failures::kind_words(r))))
            .collect();
        let later = match row.available {
            Available::Now => "",
            Available::Later(_) => " *(actions come later)*",
        };
        text.push_str(&format!(
            "| {} | {}{later} | {:?} | {} | {} | {} | {}; {} |\n",
            row.id,
            cell(row.title),
            row.severity,
            signals.join("<br>"),
            ladder.join("<br>"),
            cell(row.recheck.what),
            pcbflow_core::event::word(&row.notify),
            cell(row.texts.what),
        ));
    }
    text
}

fn kinds_page() -> String {
    let mut text =
        format!("{MADE}\n# Step kinds\n\nWhat stands after `uses:` in a project file.\n");
    for kind in compose::kinds().iter().filter(|k| k.public) {
        text.push_str(&format!(
            "\n## {}\n\n{}\n\nSafety: `{}`. Time: {} s.{}\n",
            kind.name,
            kind.about,
            kind.safety.word(),
            kind.timeout_ms / 1000,
            if kind.is_check { " Part of `pcbflow check`." } else { "" }
        ));
        if kind.args.is_empty() {
            continue;
        }
        text.push_str("\n| Argument | Needed | Meaning |\n|---|---|---|\n");
        for (name, needed, about) in kind.args {
            let needed = if *needed { "yes" } else { "no" };
            text.push_str(&format!("| `{name}` | {needed} | {} |\n", cell(about)));
        }
    }
    text
}
