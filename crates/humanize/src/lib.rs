//! The `humanize` crate of pcbflow.
