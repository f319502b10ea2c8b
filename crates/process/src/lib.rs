//! The `process` crate of pcbflow: commands and scripts (families SC, ENV).

pub mod rows;
pub mod signals;

pub use rows::ROWS;
