//! pcbflow itself is killed: its children are found and ended by the next one.
#![cfg(target_os = "linux")]

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use pcbflow_core::ports::{Spawn, SpawnRequest};
use pcbflow_process::{ProcessSpawn, end_leftovers};

use crate::common::{MemoryBlobs, Place, Stop, tag, tagged_alive};

/// Names the state folder for [`the_one_that_is_killed`]; without it that test does nothing.
const STATE: &str = "IT_STATE_OF_THE_KILLED";
/// Its marker.
const TAG: &str = "IT_TAG_OF_THE_KILLED";

/// Not a test by itself: the test below starts this binary again to have somebody to kill.
#[tokio::test]
async fn the_one_that_is_killed() {
    let (Some(state), Ok(tag)) = (std::env::var_os(STATE), std::env::var(TAG)) else { return };
    let spawn =
        ProcessSpawn::new(PathBuf::from(state), std::sync::Arc::new(MemoryBlobs::default()));
    let line = "setsid sleep 60 & (sleep 60 & wait) & trap '' TERM; sleep 60";
    let request = SpawnRequest {
        argv: ["sh", "-c", line].map(str::to_owned).to_vec(),
        cwd: std::env::temp_dir(),
        deadline_ms: 60_000,
        tag,
        ..SpawnRequest::default()
    };
    spawn.run(request, &Stop::never()).await;
}

#[tokio::test]
async fn children_of_a_killed_pcbflow_are_ended_by_the_next() {
    let place = Place::new();
    let tag = tag();
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::the_one_that_is_killed"])
        .env(STATE, place.state())
        .env(TAG, &tag)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    for _ in 0..500 {
        if tagged_alive(&tag) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(tagged_alive(&tag));
    assert_eq!(end_leftovers(&place.state(), &tag).await, 0, "its owner is alive");
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert!(tagged_alive(&tag), "a kill of the owner does not reach them");
    assert!(end_leftovers(&place.state(), &tag).await >= 4);
    assert!(!tagged_alive(&tag));
    assert_eq!(end_leftovers(&place.state(), &tag).await, 0);
    let records = std::fs::read_dir(place.state().join("children")).unwrap();
    assert_eq!(records.count(), 0);
}
