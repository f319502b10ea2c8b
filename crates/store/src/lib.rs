//! The `store` crate of pcbflow.
