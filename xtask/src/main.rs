//! Tasks of the project: set-up, demo, test.
fn main() {}
