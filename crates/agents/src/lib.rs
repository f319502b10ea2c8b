//! The `agents` crate of pcbflow.
