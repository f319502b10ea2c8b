//! Tasks of the project: set-up, demo, test, the stand-in editor. `cargo xtask help` lists them.
//!
//! - `setup.rs` puts the tools on the machine and says where they are.
//! - `suites.rs` is the table of what `test` runs, with budgets; `test.rs` runs it.
//! - `scenes.rs` is the table of what `demo` shows; `demo.rs` runs it; `board.rs` edits the files.
//! - `args.rs` reads the command line, `run.rs` starts programs.

mod args;
mod board;
mod demo;
mod editor;
mod run;
mod scenes;
mod setup;
mod suites;
mod test;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let task = match args::parse(&words) {
        Ok(task) => task,
        Err(why) => {
            eprintln!("xtask: {why}\n\n{}", args::HELP);
            return ExitCode::from(2);
        }
    };
    let done = match task {
        args::Task::Help => {
            println!("{}", args::HELP);
            Ok(true)
        }
        args::Task::Setup => setup::setup().map(|_| true),
        args::Task::Demo(options) => demo::demo(&options),
        args::Task::Test(options) => test::test(&options),
        args::Task::Editor(words) => editor::editor(&words),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}
