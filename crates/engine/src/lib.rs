//! The `engine` crate of pcbflow.
