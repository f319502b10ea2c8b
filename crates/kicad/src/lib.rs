//! The `kicad` crate of pcbflow: KiCad's files and its command line.

pub mod cli;
pub mod file;
pub mod recover;
pub mod report;
pub mod rows;
pub mod sexpr;
pub mod signals;
pub mod steps;
#[cfg(test)]
mod testing;

pub use rows::ROWS;
pub use steps::{Kicad, record_ruleset};
