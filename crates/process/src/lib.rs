//! The `process` crate of pcbflow: commands and scripts (families SC, ENV).

pub mod rows;
pub mod signals;
pub mod spawn;

pub use rows::ROWS;
pub use spawn::{ProcessSpawn, end_leftovers};
