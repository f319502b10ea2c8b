//! [`ProcessSpawn`]: runs one program to its end, its deadline or the wish to stop.
//!
//! **Invariants.** No shell is involved. When [`Spawn::run`] returns, no member of the process
//! group is alive, at most one second after the deadline, whoever holds the pipes. Both streams
//! are kept up to then, redacted before they are stored. Memory is bounded whatever the program
//! writes. A killed pcbflow leaves a record by which [`end_leftovers`] ends its children.

mod capture;
pub mod env;
mod fault;
mod find;
mod group;
mod leftovers;
mod memory;
mod proc_table;
mod run;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use pcbflow_core::ports::{Blobs, Cancel, Spawn, SpawnEnded, SpawnRequest, SpawnResult};

pub use capture::{STORED_BYTES_MAX, TEXT_BYTES_MAX};
pub use fault::SpawnFault;
pub use find::find_program;
pub use leftovers::{end_all_leftovers, end_leftovers};

/// Deadline of a program whose request names none, in milliseconds.
pub const DEADLINE_MS_DEFAULT: u64 = 60_000;
/// Most bytes per stream when the request names no cap.
pub const OUTPUT_BYTES_MAX_DEFAULT: u64 = 256 * 1024 * 1024;

/// Starts programs in process groups of their own.
///
/// What a caller gets of a stream is redacted like what is stored: secrets and e-mail addresses
/// are masks, the home folder is `~`. Who needs a path from a tool asks for it in another way.
#[derive(Clone)]
pub struct ProcessSpawn {
    blobs: Arc<dyn Blobs>,
    state_dir: PathBuf,
    home: Option<String>,
    more_names: Vec<String>,
}

impl ProcessSpawn {
    /// Records children below `state_dir` (`.pcbflow`); stores output in `blobs`.
    #[must_use]
    pub fn new(state_dir: impl Into<PathBuf>, blobs: Arc<dyn Blobs>) -> ProcessSpawn {
        let home = std::env::var("HOME").or_else(|_| std::env::var("USERPROFILE")).ok();
        ProcessSpawn { blobs, state_dir: state_dir.into(), home, more_names: Vec::new() }
    }

    /// Passes these variables of the own environment on, too. Secret-like names never pass.
    #[must_use]
    pub fn pass_on(mut self, names: impl IntoIterator<Item = String>) -> ProcessSpawn {
        self.more_names.extend(names);
        self
    }
}

#[async_trait]
impl Spawn for ProcessSpawn {
    async fn run(&self, request: SpawnRequest, cancel: &dyn Cancel) -> SpawnResult {
        let begun = tokio::time::Instant::now();
        let mut result = if cancel.is_cancelled() {
            run::empty(SpawnEnded::Cancelled)
        } else {
            match run::start(self, &request).await {
                Ok(running) => running.finish(self, &request, cancel).await,
                Err(fault) => run::empty(fault.ended()),
            }
        };
        result.took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        result
    }
}
