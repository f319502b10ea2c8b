//! `cargo xtask editor`: starts the stand-in editor for a person to look at.

use crate::run::{self, Place};

/// Runs it until it is ended from the terminal; whether it ended well.
pub fn editor(words: &[String]) -> Result<bool, String> {
    let place = Place { folder: run::root()?, env: Vec::new() };
    let mut argv = vec!["cargo", "run", "--quiet", "--package", "pcbflow-tests", "--bin", "editor"];
    argv.push("--");
    argv.extend(words.iter().map(String::as_str));
    println!("$ {}", run::shown(&argv));
    let status = place.command(&argv).status();
    status.map(|status| status.success()).map_err(|why| format!("cargo: {why}"))
}
