//! Whether the outputs of a phase are still in the history, without asking git each time.
//!
//! After each commit and each look, the head is remembered beside a digest of what it holds. As
//! long as the head stands there nothing has to be asked; the head is read from git's own files.
//! What is remembered is a cache: lost or damaged it costs one look.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use pcbflow_core::check::CheckOutcome;
use pcbflow_core::event::OutputRef;
use pcbflow_core::ids::{BoardName, Digest, PhaseId};
use pcbflow_core::ports::{Services, StepContext};
use serde::{Deserialize, Serialize};

use crate::git::{self, Repo};

/// Most bytes of the cache file.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Record of the newest commit of the board.
pub const COMMIT_RECORD: &str = "commit";

/// What is known of one phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    /// The head that was looked at.
    head: String,
    /// Digest of the outputs that it holds.
    outputs: Digest,
}

/// Heads that were looked at, by phase.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Memory {
    phases: BTreeMap<PhaseId, Known>,
}

fn path_of(state_dir: &Path, board: &BoardName) -> PathBuf {
    state_dir.join("cache").join(format!("commits-{board}.json"))
}

fn load(path: &Path) -> Memory {
    let small = std::fs::metadata(path).is_ok_and(|m| m.len() <= FILE_BYTES_MAX);
    let bytes = if small { std::fs::read(path).unwrap_or_default() } else { Vec::new() };
    serde_json::from_slice(&bytes).unwrap_or_default()
}

fn save(path: &Path, memory: &Memory) {
    let saved = || -> Result<(), std::io::Error> {
        let dir = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(dir)?;
        let mut temp = tempfile::NamedTempFile::new_in(dir)?;
        temp.write_all(&serde_json::to_vec(memory)?)?;
        temp.persist(path).map_err(|e| e.error)?;
        Ok(())
    };
    if let Err(error) = saved() {
        tracing::debug!(%error, "the cache of commits was not written");
    }
}

fn digest_of(outputs: &[OutputRef]) -> Digest {
    let mut lines: Vec<String> =
        outputs.iter().map(|o| format!("{} {} {}\n", o.digest, o.path.len(), o.path)).collect();
    lines.sort();
    Digest::of(lines.concat().as_bytes())
}

/// Remembers that the head holds the outputs of the phase. `follows` is the head before, if the
/// commit changed nothing else: what was known of it for other phases holds on.
pub fn remember(context: &StepContext, head: &str, follows: Option<&str>) {
    let path = path_of(&context.state_dir, &context.board);
    let mut memory = load(&path);
    for known in memory.phases.values_mut() {
        if Some(known.head.as_str()) == follows {
            known.head = head.to_owned();
        }
    }
    let outputs = digest_of(&context.phase_outputs);
    memory.phases.insert(context.key.phase.clone(), Known { head: head.to_owned(), outputs });
    save(&path, &memory);
}

/// Since which head outputs that were in the history once are not in it any more; `None` while they
/// are in it. No process while the head stands where it was looked at, two small ones otherwise.
///
/// The answer differs from loss to loss: a commit that is made again answers one loss and never a
/// later one.
pub async fn lost(context: &StepContext, services: &Services) -> Option<String> {
    let path = path_of(&context.state_dir, &context.board);
    let memory = load(&path);
    let known = memory.phases.get(&context.key.phase)?;
    if known.outputs != digest_of(&context.phase_outputs) {
        return None;
    }
    let commit = context.records.get(COMMIT_RECORD).map_or("", String::as_str);
    let since = format!("{} {commit}", known.head);
    let Ok(repo) = Repo::locate(&context.board_dir) else { return Some(since) };
    let head = repo.head().and_then(|h| h.commit);
    if head.as_deref() == Some(known.head.as_str()) {
        return None;
    }
    let (dir, outputs) = (&context.board_dir, &context.phase_outputs);
    if outputs.is_empty() {
        return None;
    }
    let seen = git::holds(services, &context.tag, "outputs-kept", dir, outputs).await;
    if seen.outcome == CheckOutcome::Pass
        && let Some(head) = head
    {
        remember(context, &head, None);
    }
    (seen.outcome == CheckOutcome::Fail).then_some(since)
}
