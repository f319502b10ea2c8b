//! Shared parts of the end-to-end suites.
//!
//! Every suite goes through [`TestEnvironment`]: a folder of its own with home, state, workspace
//! and the engineer's project in it, and an environment that holds nothing of this machine's user.
//! Stand-ins for tools are real programs (`src/bin`), put on `PATH` by [`tools`]; nothing in
//! pcbflow knows of them.

#![cfg(unix)]

pub mod editor;
pub mod environment;
pub mod files;
pub mod ledger;
pub mod manifest;
pub mod processes;
pub mod program;
pub mod ran;
pub mod rng;
pub mod small_disk;
pub mod tools;

pub use environment::TestEnvironment;
pub use ran::{Ran, Running};

/// Writes a line to standard error, past the test harness, so that a skipped test and a seed are
/// seen in every log.
pub fn note(text: &str) {
    use std::io::Write as _;
    // Without a standard error there is nobody to tell.
    let _unread = writeln!(std::io::stderr(), "note: {text}").err();
}
