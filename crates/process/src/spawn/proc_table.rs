//! Reads of `/proc` on Linux: who belongs to a group, who carries a marker, how much memory they
//! hold. Elsewhere the table is empty and the process group alone decides.

/// One live process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its id.
    pub pid: i32,
    /// Its process group.
    pub group: i32,
    /// Its start, in clock ticks since boot; with the id it names one process.
    pub started: u64,
    /// Resident memory in bytes.
    pub resident: u64,
    /// Time that it and its ended children worked, in clock ticks.
    pub cpu_ticks: u64,
    /// Ended, and not yet waited for.
    pub zombie: bool,
}

#[cfg(target_os = "linux")]
mod table {
    use super::Entry;
    use crate::spawn::env::ATTEMPT_VARIABLE;

    /// Bytes of a page in the `stat` file. Larger pages make the sum too small by their factor,
    /// so it is asked for once.
    fn page_bytes() -> u64 {
        rustix::param::page_size() as u64
    }

    pub(crate) fn entry(pid: i32) -> Option<Entry> {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        // The name may hold anything, a closing bracket included: fields start after the last one.
        let (_, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at).and_then(|f| f.parse::<u64>().ok());
        Some(Entry {
            pid,
            group: fields.get(2)?.parse().ok()?,
            started: number(19)?,
            resident: number(21)?.saturating_mul(page_bytes()),
            cpu_ticks: (11..15).filter_map(number).sum(),
            zombie: matches!(*fields.first()?, "Z" | "X"),
        })
    }

    pub(crate) fn carries(pid: i32, tag: &str) -> bool {
        let Ok(environ) = std::fs::read(format!("/proc/{pid}/environ")) else { return false };
        let wanted = format!("{ATTEMPT_VARIABLE}={tag}");
        environ.split(|b| *b == 0).any(|v| v == wanted.as_bytes())
    }

    pub(crate) fn pids() -> Vec<i32> {
        let Ok(folder) = std::fs::read_dir("/proc") else { return Vec::new() };
        folder.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect()
    }

    /// Ids that may have been given out since `pid` was: all children of `pid` are among them.
    pub(crate) fn since(pid: i32) -> Vec<i32> {
        /// Up to this many ids are looked at one by one instead of listing the folder.
        const FEW: i32 = 48;
        let last = std::fs::read_to_string("/proc/loadavg")
            .ok()
            .and_then(|l| l.split_ascii_whitespace().next_back()?.parse::<i32>().ok());
        match last {
            Some(last) if last >= pid && last - pid <= FEW => (pid..=last).collect(),
            Some(last) if last >= pid => {
                pids().into_iter().filter(|p| (pid..=last).contains(p)).collect()
            }
            // The count of ids started again from the front.
            Some(last) => pids().into_iter().filter(|p| *p >= pid || *p <= last).collect(),
            None => pids(),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod table {
    use super::Entry;

    pub(crate) fn entry(_pid: i32) -> Option<Entry> {
        None
    }

    pub(crate) fn carries(_pid: i32, _tag: &str) -> bool {
        false
    }

    pub(crate) fn pids() -> Vec<i32> {
        Vec::new()
    }

    pub(crate) fn since(_pid: i32) -> Vec<i32> {
        Vec::new()
    }
}

pub(crate) use table::{carries, entry, pids};

/// Live members of the group that `leader` leads, and live processes born after it that carry
/// `tag` (they left the group).
pub(crate) fn members(leader: i32, tag: &str) -> Vec<Entry> {
    table::since(leader)
        .into_iter()
        .filter_map(entry)
        .filter(|e| !e.zombie && (e.group == leader || carries(e.pid, tag)))
        .collect()
}

/// Start of a process in the system's own terms, if it is there.
pub(crate) fn started(pid: u32) -> Option<u64> {
    entry(i32::try_from(pid).ok()?).filter(|e| !e.zombie).map(|e| e.started)
}
