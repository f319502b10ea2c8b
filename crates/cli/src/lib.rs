//! The `cli` crate of pcbflow.
