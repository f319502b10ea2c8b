//! The `process` crate of pcbflow: commands and scripts (families SC, ENV).

pub mod checks;
pub mod confine;
pub mod rows;
mod sha256;
pub mod signals;
pub mod spawn;
pub mod words;

pub use rows::ROWS;
pub use spawn::{ProcessSpawn, end_all_leftovers, end_leftovers};
