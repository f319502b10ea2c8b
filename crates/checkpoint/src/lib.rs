//! The `checkpoint` crate of pcbflow.

pub mod rows;
pub mod signals;

pub use rows::ROWS;
