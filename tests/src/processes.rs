//! Processes of this machine, by what they carry in their environment.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a process that was ended may take to be gone.
const GONE_LIMIT: Duration = Duration::from_secs(10);

/// Processes whose environment names this folder: what a test's pcbflow has started, and what
/// that has started. This process is none of them.
#[must_use]
pub fn of(folder: &Path) -> Vec<u32> {
    let needle = folder.as_os_str().as_encoded_bytes();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| *pid != std::process::id() && lives(*pid))
        .filter(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.windows(needle.len()).any(|part| part == needle)
        })
        .collect()
}

/// Whether a process lives; one that only waits to be waited for does not.
#[must_use]
pub fn lives(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Waits until no process of a folder is left; those that stay.
#[must_use]
pub fn left_of(folder: &Path) -> Vec<u32> {
    let start = Instant::now();
    loop {
        let left = of(folder);
        if left.is_empty() || start.elapsed() > GONE_LIMIT {
            return left;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
