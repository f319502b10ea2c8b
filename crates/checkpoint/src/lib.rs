//! The `checkpoint` crate of pcbflow.

pub mod manifest;
pub mod paths;
pub mod rows;
pub mod signals;
pub mod workspace;
pub mod yaml;

pub use rows::ROWS;
