//! The `process` crate of pcbflow.
