//! Children that outlive a killed pcbflow: who they are is written down before they are waited
//! for, and the next start ends them before it reads any output.
//!
//! **Invariant.** A process id alone proves nothing: it may belong to somebody else by now. Only
//! a process that carries the marker of the record is ended, and only when the pcbflow that
//! wrote the record is gone.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::{group, proc_table};

/// Folder of the records below the state folder.
const FOLDER: &str = "children";
/// Most looks until the ended ones are gone.
const LOOKS_MAX: u32 = 50;
/// Between two looks, in milliseconds.
const LOOK_MS: u64 = 10;
/// Longest record that is read, in bytes.
const RECORD_BYTES_MAX: u64 = 64 * 1024;

static COUNT: AtomicU64 = AtomicU64::new(0);

/// The marker for a program whose caller gave none.
pub(super) fn own_tag() -> String {
    format!("pcbflow-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The marker of one child of an attempt. Children of one attempt may run side by side, and the
/// end of one must not end the others.
pub(super) fn child_tag(attempt: &str) -> String {
    format!("{attempt}.{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The attempt that a child's marker belongs to.
fn attempt_of(tag: &str) -> &str {
    tag.rsplit_once('.').map_or(tag, |(attempt, _)| attempt)
}

/// Writes the record of a child that is about to start (`pid` none) or has started.
pub(super) fn record(path: &Path, tag: &str, pid: Option<u32>) -> io::Result<()> {
    let own = std::process::id();
    let text = json!({
        "tag": tag,
        "pid": pid,
        "group": pid,
        "started": pid.and_then(proc_table::started),
        "owner": own,
        "owner_started": proc_table::started(own),
    });
    // Written beside and renamed, so that a killed writer leaves the old or the new content.
    let beside = path.with_extension("new");
    std::fs::write(&beside, text.to_string())?;
    std::fs::rename(&beside, path)
}

/// A fresh place for a record.
pub(super) fn place(state_dir: &Path, tag: &str) -> io::Result<PathBuf> {
    let folder = state_dir.join(FOLDER);
    std::fs::create_dir_all(&folder)?;
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = tag.chars().take(80).map(plain).collect();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    Ok(folder.join(format!("{name}.{}-{count}.json", std::process::id())))
}

/// Ends what is left of the programs with this marker that an earlier pcbflow started and could
/// not end. Returns how many processes were ended.
///
/// Where the system shows no environment of other processes (anything but Linux), nothing is
/// ended, because nothing can be proven; the records are removed.
pub async fn end_leftovers(state_dir: &Path, tag: &str) -> usize {
    end_recorded(state_dir, Some(tag)).await
}

/// The same for every marker whose pcbflow is gone.
pub async fn end_all_leftovers(state_dir: &Path) -> usize {
    end_recorded(state_dir, None).await
}

async fn end_recorded(state_dir: &Path, only: Option<&str>) -> usize {
    let folder = match std::fs::read_dir(state_dir.join(FOLDER)) {
        Ok(folder) => folder,
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(%error, "records of children can't be listed");
            }
            return 0;
        }
    };
    let mut ended = 0;
    for path in folder.flatten().map(|e| e.path()) {
        let Some(record) = read(&path) else { continue };
        let Some(tag) = record.get("tag").and_then(Value::as_str) else { continue };
        if only.is_some_and(|o| o != attempt_of(tag)) || owner_lives(&record) {
            continue;
        }
        ended += end_tagged(tag).await;
        if let Err(error) = std::fs::remove_file(&path) {
            tracing::debug!(%error, "a record of a child can't be removed");
        }
    }
    ended
}

fn read(path: &Path) -> Option<Value> {
    let small = std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.len() <= RECORD_BYTES_MAX);
    let json = path.extension().is_some_and(|e| e == "json");
    if !small || !json {
        return None;
    }
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// Whether the pcbflow that wrote the record still runs; it ends its own children.
fn owner_lives(record: &Value) -> bool {
    let owner = record.get("owner").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
    let since = record.get("owner_started").and_then(Value::as_u64);
    match (owner.and_then(proc_table::started), since) {
        (Some(now), Some(then)) => now == then,
        _ => false,
    }
}

async fn end_tagged(tag: &str) -> usize {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let alive = || -> Vec<i32> {
        proc_table::pids()
            .into_iter()
            .filter(|p| *p != own && proc_table::carries(*p, tag))
            .filter(|p| proc_table::entry(*p).is_some_and(|e| !e.zombie))
            .collect()
    };
    let mut first = None;
    for _ in 0..LOOKS_MAX {
        let pids = alive();
        first.get_or_insert(pids.len());
        if pids.is_empty() {
            break;
        }
        pids.into_iter().for_each(group::kill_one);
        tokio::time::sleep(Duration::from_millis(LOOK_MS)).await;
    }
    first.unwrap_or(0)
}
