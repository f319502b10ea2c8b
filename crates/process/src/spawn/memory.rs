//! Looks at a running group: its memory, and whether it works without a word.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use pcbflow_core::ports::MemorySeen;
use tokio::time::{Instant, sleep};

use super::group::Group;

/// Between two looks at the group, in milliseconds.
const LOOK_MS: u64 = 500;
/// Looks in a row at each of which the memory had grown, for it to count as rising.
const RISING_LOOKS: usize = 5;
/// A group that rises counts from this share of its limit on; small ones may grow as they like.
const RISING_SHARE: u64 = 4;
/// Share of the machine's memory, in percent, that a group may take whose request names none.
const MACHINE_PERCENT: u64 = 75;

/// The limits of a group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Most resident bytes; 0 = not known and not held.
    pub bytes_max: u64,
    /// Longest work without output, in milliseconds; 0 = any.
    pub quiet_ms_max: u64,
}

impl Limits {
    /// With the share of the machine where no memory limit is named.
    pub(super) fn new(bytes_max: u64, quiet_ms_max: u64) -> Limits {
        let share = || machine_bytes().map_or(0, |all| all / 100 * MACHINE_PERCENT);
        Limits { bytes_max: if bytes_max == 0 { share() } else { bytes_max }, quiet_ms_max }
    }
}

/// What a group went over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    /// Resident bytes.
    Memory(u64),
    /// Milliseconds of work without output.
    Quiet(u64),
}

/// The last looks.
#[derive(Debug, Default)]
pub(super) struct Looks {
    recent: Vec<u64>,
}

impl Looks {
    fn push(&mut self, resident: u64) {
        // One more than the looks that rise: the first has to have something before it.
        if self.recent.len() > RISING_LOOKS {
            self.recent.remove(0);
        }
        self.recent.push(resident);
    }

    /// The last size, where it grew at each of the last looks and is large against the limit.
    fn rising_to(&self, bytes_max: u64) -> Option<u64> {
        let grew = self.recent.windows(2).filter(|two| two.first() < two.last()).count();
        let last = *self.recent.last()?;
        (grew >= RISING_LOOKS && last >= bytes_max / RISING_SHARE && bytes_max > 0).then_some(last)
    }

    /// All that was seen, with the system's count of ended processes before the program.
    pub(super) fn seen(&self, limits: Limits, ended_before: Option<u64>) -> MemorySeen {
        let more = |before: u64| ended_for_memory().is_some_and(|now| now > before);
        MemorySeen {
            rising_to: self.rising_to(limits.bytes_max),
            out_of_memory: ended_before.is_some_and(more),
        }
    }
}

/// Looks now and then until the group is over a limit. Ends with whoever polls it.
pub(super) async fn over(
    group: &Group,
    limits: Limits,
    looks: &mut Looks,
    written: impl Fn() -> u64,
) -> Over {
    let (mut at, mut since) = ((written(), 0), Instant::now());
    loop {
        sleep(Duration::from_millis(LOOK_MS)).await;
        let usage = group.usage();
        looks.push(usage.resident);
        if limits.bytes_max > 0 && usage.resident > limits.bytes_max {
            return Over::Memory(usage.resident);
        }
        // Whoever writes, or does not work, is not quietly busy.
        let now = (written(), usage.cpu_ticks);
        if now.0 != at.0 || now.1 <= at.1 {
            since = Instant::now();
        }
        at = now;
        let quiet = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        if limits.quiet_ms_max > 0 && quiet > limits.quiet_ms_max {
            return Over::Quiet(quiet);
        }
    }
}

/// Memory of the machine in bytes, or of the container that it is. Unknown elsewhere than on
/// Linux, where no group can be looked at either.
fn machine_bytes() -> Option<u64> {
    static BYTES: OnceLock<Option<u64>> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let info = std::fs::read_to_string("/proc/meminfo").ok()?;
        let line = info.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
        let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
        let all = kib.saturating_mul(1024);
        let limit = ["memory.max", "memory.limit_in_bytes"].iter().find_map(|name| {
            std::fs::read_to_string(own_cgroup()?.join(name)).ok()?.trim().parse::<u64>().ok()
        });
        Some(limit.map_or(all, |l| l.min(all)))
    })
}

/// The folder of the control group that this process is in.
fn own_cgroup() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOLDER
        .get_or_init(|| {
            let lines = std::fs::read_to_string("/proc/self/cgroup").ok()?;
            let place = |line: &str| {
                let mut parts = line.splitn(3, ':').skip(1);
                let (kind, path) = (parts.next()?, parts.next()?.trim_start_matches('/'));
                let base = match kind {
                    "" => Path::new("/sys/fs/cgroup"),
                    "memory" => Path::new("/sys/fs/cgroup/memory"),
                    _ => return None,
                };
                let full = base.join(path);
                let counts = ["memory.events", "memory.oom_control"];
                counts.iter().any(|c| full.join(c).is_file()).then_some(full)
            };
            lines.lines().find_map(place)
        })
        .as_deref()
}

/// How many processes the system has ended for lack of memory so far: in this control group, or
/// on the machine. Unknown where the system keeps no such count.
pub(super) fn ended_for_memory() -> Option<u64> {
    let group = own_cgroup().into_iter();
    let of_group = group.flat_map(|g| [g.join("memory.events"), g.join("memory.oom_control")]);
    of_group
        .chain([PathBuf::from("/proc/vmstat")])
        .find_map(|file| count_in(&std::fs::read_to_string(file).ok()?))
}

/// The line `oom_kill N` of such a file.
fn count_in(text: &str) -> Option<u64> {
    text.lines().find_map(|l| l.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_count_is_read() {
        assert_eq!(count_in("low 0\nhigh 0\noom 4\noom_kill 3\noom_group_kill 1\n"), Some(3));
        assert_eq!(count_in("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n"), Some(7));
        assert_eq!(count_in("oom_kill_disable 0\n"), None);
    }

    #[test]
    fn only_five_looks_in_a_row_and_a_large_size_count_as_rising() {
        let of = |sizes: &[u64]| {
            let mut looks = Looks::default();
            sizes.iter().for_each(|s| looks.push(*s));
            looks.rising_to(400)
        };
        assert_eq!(of(&[10, 60, 70, 80, 90, 100]), Some(100));
        assert_eq!(of(&[60, 70, 80, 90, 100]), None, "four rises");
        assert_eq!(of(&[10, 60, 70, 70, 90, 100]), None, "flat in between");
        assert_eq!(of(&[1, 2, 3, 4, 5, 99]), None, "small");
        assert_eq!(of(&[900, 10, 60, 70, 80, 90, 100]), Some(100), "older looks do not count");
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn a_limit_that_is_named_wins() {
        assert_eq!(Limits::new(5, 0).bytes_max, 5);
        if cfg!(target_os = "linux") {
            let share = Limits::new(0, 0).bytes_max;
            assert!(share > 0 && machine_bytes().is_some_and(|all| share < all));
        }
    }
}
