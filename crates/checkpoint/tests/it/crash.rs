//! A process that is killed at every call of git while it commits, and what the next one finds.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use pcbflow_core::event::ReadBack;
use pcbflow_core::ports::Subsystem as _;

use crate::support::World;

const BASE: &str = "PCBFLOW_TEST_CRASH_BASE";
const AT: &str = "PCBFLOW_TEST_CRASH_AT";
/// More calls than a commit makes.
const CALLS_MAX: usize = 60;

/// Not a test of its own: the process that is killed.
#[tokio::test]
async fn the_one_that_dies() {
    let (Ok(base), Ok(at)) = (std::env::var(BASE), std::env::var(AT)) else { return };
    let mut w = World::open(PathBuf::from(base), None);
    let spawn = Arc::new(w.spawn.again(Some(at.parse().unwrap())));
    w.services.spawn = spawn;
    w.committed().await;
}

#[tokio::test]
async fn killed_at_every_call() {
    let mut survived = None;
    for at in 0..CALLS_MAX {
        let w = World::new();
        std::fs::write(w.context.workspace.join("staged"), "x").unwrap();
        w.git(&["add", "staged"]);
        let ended = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::the_one_that_dies"])
            .env(BASE, &w.base)
            .env(AT, at.to_string())
            .output()
            .unwrap();
        if ended.status.success() {
            survived = Some(at);
        }
        // The run is resumed: the guard first, then the attempt.
        let found = w.subsystem.read_back(&w.context, &w.services).await;
        let before = w.count();
        assert_eq!(found == ReadBack::Partial, before == 2, "killed at call {at}");
        let commit = w.committed().await;
        assert_eq!(w.count(), 2, "killed at call {at}: exactly one commit");
        assert_eq!(w.head(), commit);
        assert_eq!(w.git(&["status", "--porcelain"]), "A  staged", "killed at call {at}");
        if survived.is_some() {
            break;
        }
    }
    assert!(survived.is_some_and(|n| n > 10), "{survived:?}");
}
