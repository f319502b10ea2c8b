//! The `checkpoint` crate of pcbflow.
