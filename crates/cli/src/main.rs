//! The `pcbflow` binary.
fn main() {}
