//! The lints that keep the core pure are in force.

use std::process::Command;

use super::files;

/// One call of each kind that the core must not make, with the type that no order has.
const FORBIDDEN: &str = "//! Tries what it must not.\n\
    /// The time.\npub fn now() -> std::time::SystemTime { std::time::SystemTime::now() }\n\
    /// A file.\npub fn file() -> bool { std::fs::read(\"x\").is_ok() }\n\
    /// A variable.\npub fn variable() -> bool { std::env::var(\"X\").is_ok() }\n\
    /// A program.\npub fn program() { let _p = std::process::Command::new(\"x\"); }\n\
    /// A map.\npub type Map = std::collections::HashMap<u8, u8>;\n";

#[test]
fn a_crate_with_the_settings_of_core_can_not_look_at_the_world() {
    let clippy = Command::new(env!("CARGO")).args(["clippy", "--version"]).output();
    if !clippy.is_ok_and(|o| o.status.success()) {
        pcbflow_tests::note("skipped: clippy is not installed");
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &str| {
        std::fs::write(dir.path().join(name), text).expect("a file");
    };
    std::fs::create_dir(dir.path().join("src")).expect("a folder");
    put("Cargo.toml", "[package]\nname = \"tries\"\nedition = \"2024\"\n[workspace]\n");
    put("clippy.toml", &files::text("crates/core/clippy.toml"));
    put("src/lib.rs", FORBIDDEN);
    let output = Command::new(env!("CARGO"))
        .args(["clippy", "--offline", "--quiet"])
        .env("CARGO_TARGET_DIR", dir.path().join("target"))
        .env("CLIPPY_CONF_DIR", dir.path())
        .env_remove("RUSTFLAGS")
        .current_dir(dir.path())
        .output()
        .expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stderr);
    for reason in [
        "core takes `now` as an argument",
        "core does no input or output",
        "core reads no environment",
        "core starts no processes",
        "its order is random; use BTreeMap",
    ] {
        assert!(said.contains(reason), "clippy lets it pass: {reason}\n{said}");
    }
}

#[test]
fn the_lints_are_on_in_every_crate() {
    let mut faults = Vec::new();
    for file in files::ending("Cargo.toml").iter().filter(|f| f.contains('/')) {
        // A tool for people may print, so it has a list of its own.
        let text = files::text(file);
        if !text.contains("[lints]\nworkspace = true") && !text.contains("[lints.clippy]\n") {
            faults.push(file.clone());
        }
    }
    super::expect_none("crates without the workspace's lints", &faults);
    assert!(files::root().join("crates/core/clippy.toml").is_file());
}
