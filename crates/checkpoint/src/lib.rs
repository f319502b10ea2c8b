//! The `checkpoint` crate of pcbflow.

pub mod manifest;
pub mod paths;
pub mod workspace;
pub mod yaml;
