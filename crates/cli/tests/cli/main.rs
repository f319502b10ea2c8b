//! Tests of the `pcbflow` program as people and machines meet it: one binary, all through
//! [`env::TestEnvironment`].

mod basics;
mod docs;
mod env;
mod events_schema;
mod ledgers;
mod scenes;
mod stories;
mod watching;

/// Every file of this folder is part of the suite.
#[test]
fn no_forgotten_test_file() {
    let main = include_str!("main.rs");
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli");
    for entry in std::fs::read_dir(dir).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let stem = name.strip_suffix(".rs").unwrap();
        assert!(stem == "main" || main.contains(&format!("mod {stem};")), "{name}");
    }
}
