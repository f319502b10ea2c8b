//! House checks: what the design says about the shape of the project, held against its files.
//!
//! Each check gives a list of faults; a fault names its file and line and says what is wanted.

mod arrows;
mod docs;
mod facts;
mod files;
mod lints;
mod modules;
mod rows;
mod signals;
mod sources;

/// Fails with all faults, one a line.
fn expect_none(what: &str, faults: &[String]) {
    assert!(faults.is_empty(), "{what}:\n  {}\n", faults.join("\n  "));
}
