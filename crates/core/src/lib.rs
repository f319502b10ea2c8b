//! The `core` crate of pcbflow.
