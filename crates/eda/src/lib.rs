//! The `eda` crate of pcbflow.
