//! The `store` crate of pcbflow: the ledger, its storage and its failures (family LG).

pub mod rows;
pub mod signals;

pub use rows::ROWS;
