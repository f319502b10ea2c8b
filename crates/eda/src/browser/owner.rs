//! Who a process is, as far as that can be seen from outside.

use std::path::Path;

use crate::cdp::ms;

/// Words in the name of a browser's program.
#[cfg(target_os = "linux")]
const BROWSERS: &[&str] = &["chrom", "headless_shell", "msedge", "brave", "vivaldi", "opera"];
/// The flag that names a profile folder.
#[cfg(target_os = "linux")]
const FOLDER_FLAG: &str = "--user-data-dir=";

/// The process that a profile's lock names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// There is none with this number any more.
    Dead,
    /// The number was given to something that is no browser.
    NotABrowser,
    /// The number was given to a browser with another profile.
    OtherFolder,
    /// A browser that has, or may have, this profile.
    Alive {
        /// It is stopped and answers nothing.
        frozen: bool,
    },
}

/// Who the process is, seen from the profile in `folder`. What can't be told counts as alive.
#[cfg(target_os = "linux")]
pub(super) fn who(pid: u32, folder: &Path) -> Owner {
    let Some(state) = state(pid) else { return Owner::Dead };
    if state == 'Z' || state == 'X' {
        return Owner::Dead;
    }
    let alive = Owner::Alive { frozen: state == 'T' || state == 't' };
    let Some(words) = words(pid) else { return alive };
    if names_folder(&words, folder) {
        return alive;
    }
    let program = words.first().map_or("", String::as_str);
    let program = program.rsplit('/').next().unwrap_or("").to_lowercase();
    if !BROWSERS.iter().any(|b| program.contains(b)) {
        return Owner::NotABrowser;
    }
    if words.iter().any(|w| w.starts_with(FOLDER_FLAG)) { Owner::OtherFolder } else { alive }
}

/// Who the process is, as far as a signal that does nothing can tell: alive or not.
#[cfg(all(unix, not(target_os = "linux")))]
pub(super) fn who(pid: u32, _folder: &Path) -> Owner {
    let pid = i32::try_from(pid).ok().filter(|p| *p > 1).and_then(rustix::process::Pid::from_raw);
    let gone = |p| rustix::process::test_kill_process(p) == Err(rustix::io::Errno::SRCH);
    if pid.is_none_or(gone) { Owner::Dead } else { Owner::Alive { frozen: false } }
}

/// On Windows a profile's lock is no link and names nobody.
#[cfg(not(unix))]
pub(super) fn who(_pid: u32, _folder: &Path) -> Owner {
    Owner::Dead
}

/// Browsers of this computer that were started with this profile, without what they started.
pub(super) fn users_of(folder: &Path) -> Vec<u32> {
    processes_on(folder, |words| !words.iter().any(|w| w.contains("--type=")))
}

/// Everything on this computer that was started with this profile.
pub(super) fn anybody_on(folder: &Path) -> bool {
    !processes_on(folder, |_| true).is_empty()
}

#[cfg(target_os = "linux")]
fn processes_on(folder: &Path, wanted: impl Fn(&[String]) -> bool) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| state(*pid).is_some_and(|s| s != 'Z' && s != 'X'))
        .filter(|pid| words(*pid).is_some_and(|w| wanted(&w) && names_folder(&w, folder)))
        .collect()
}

/// Elsewhere nobody can be named; what the lock says has to do.
#[cfg(not(target_os = "linux"))]
fn processes_on(_folder: &Path, _wanted: impl Fn(&[String]) -> bool) -> Vec<u32> {
    Vec::new()
}

/// Longest wait for what a browser started to end after it, in milliseconds.
const OTHERS_MS: u64 = 3_000;
/// Between two looks at that, in milliseconds.
const LOOK_MS: u64 = 20;

/// Waits for what an ended browser started; that ends a moment after it and holds files open.
pub(super) async fn others_end(folder: &Path) {
    let until = tokio::time::Instant::now() + ms(OTHERS_MS);
    while tokio::time::Instant::now() < until {
        if !anybody_on(folder) {
            return;
        }
        tokio::time::sleep(ms(LOOK_MS)).await;
    }
    tracing::warn!("something that a browser started is still there");
}

/// Whether [`users_of`] sees everybody here.
pub(super) const SEES_USERS: bool = cfg!(target_os = "linux");

#[cfg(target_os = "linux")]
fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything, so what follows the last bracket counts.
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

#[cfg(target_os = "linux")]
fn words(pid: u32) -> Option<Vec<String>> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok().filter(|b| !b.is_empty())?;
    let words = bytes.split(|b| *b == 0).filter(|w| !w.is_empty());
    Some(words.map(|w| String::from_utf8_lossy(w).into_owned()).collect())
}

#[cfg(target_os = "linux")]
fn names_folder(words: &[String], folder: &Path) -> bool {
    let real = |p: &Path| std::fs::canonicalize(p).unwrap_or_else(|_| p.to_owned());
    let wanted = real(folder);
    words
        .iter()
        // A child of a browser may have all its words in one.
        .flat_map(|w| w.split(" --").map(|w| w.trim_start_matches("--")))
        .filter_map(|w| w.strip_prefix(FOLDER_FLAG.trim_start_matches("--")))
        .any(|f| Path::new(f) == folder || real(Path::new(f)) == wanted)
}

/// Ends the browser with this number hard, with its group, if it still is one with this profile.
#[cfg(target_os = "linux")]
pub(super) fn kill(pid: u32, folder: &Path) {
    let number = i32::try_from(pid).ok().filter(|p| *p > 1);
    let number = number.and_then(rustix::process::Pid::from_raw);
    let ours = users_of(folder).contains(&pid);
    let Some(number) = number.filter(|_| ours) else { return };
    let hard = rustix::process::Signal::KILL;
    // A browser of ours leads a group of its own.
    let group = rustix::process::getpgid(Some(number)).is_ok_and(|g| g == number);
    let sent = if group {
        rustix::process::kill_process_group(number, hard)
    } else {
        rustix::process::kill_process(number, hard)
    };
    if let Err(error) = sent {
        tracing::debug!(%error, pid, "a browser that was left over could not be ended");
    }
}

/// Elsewhere it can't be proven that the number still is the browser's, so nobody is ended.
#[cfg(not(target_os = "linux"))]
pub(super) fn kill(_pid: u32, _folder: &Path) {}
