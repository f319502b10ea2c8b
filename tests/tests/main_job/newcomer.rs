//! Somebody who clones the project and types what the README says.

#[cfg(feature = "heavy")]
#[test]
fn the_demo_runs_in_a_clean_clone() {
    use pcbflow_tests::{Running, program, tools};
    use std::process::Command;
    use std::time::Duration;

    let Some(git) = tools::find("git") else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let clone = folder.path().join("pcbflow");
    let root = program::source_root();
    let mut command = Command::new(git);
    command.args(["clone", "--quiet", "--no-hardlinks"]).arg(&root).arg(&clone);
    let cloned = Running::start(command).wait();
    if cloned.exit != Some(0) {
        // A release archive has no history to clone from.
        pcbflow_tests::note(&format!("skipped: no clean clone can be made: {}", cloned.stderr));
        return;
    }
    let readme = std::fs::read_to_string(clone.join("README.md")).unwrap_or_default();
    assert!(readme.contains("cargo xtask demo"), "the README names the demo");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    let target = std::env::current_exe().expect("this test");
    let target = target.ancestors().nth(3).expect("the target folder");
    command.args(["xtask", "demo"]).current_dir(&clone).env("CARGO_TARGET_DIR", target);
    let ran = Running::start(command).wait_at_most(Duration::from_secs(20 * 60));
    assert_eq!(ran.exit, Some(0), "{ran}");
    assert!(ran.stdout.contains("6 passed, 0 failed") || ran.stdout.contains("skipped"), "{ran}");
}
