//! The lock on the person's index while a commit is made.
//!
//! It is git's own lock file, so that no other git works on the index meanwhile; but it holds a
//! line that names its maker. A lock that a dead process of ours left behind is so told from
//! everybody else's, by its content, and only such a one is ever moved aside.

use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::Git;
use super::history::RUN;
use super::place::{Repo, is_id};

/// First word of our lock's line.
const MARK: &str = "pcbflow-lock-v1";
/// Most bytes of a lock that are looked at.
const LOOK_BYTES_MAX: u64 = 512;
/// How long a commit holds the lock on the head at most, in seconds.
const MOMENT_S: u64 = 2;
/// Most locks kept aside.
const ASIDE_MAX: u32 = 1_000;

/// The lock; gone when dropped.
#[derive(Debug)]
pub(super) struct IndexLock {
    path: PathBuf,
    index: PathBuf,
}

impl IndexLock {
    /// Takes the lock for a run.
    pub(super) fn take(repo: &Repo, run: &str) -> Result<IndexLock, std::io::Error> {
        let index = repo.git_dir.join("index");
        let path = repo.git_dir.join("index.lock");
        // Made whole under another name first: a lock that exists always says whose it is.
        let mut temp =
            tempfile::Builder::new().prefix("pcbflow-lock-").tempfile_in(&repo.git_dir)?;
        let (host, pid, started) = me();
        writeln!(temp, "{MARK} {pid} {started} {host} {run}")?;
        temp.persist_noclobber(&path).map_err(|e| e.error)?;
        Ok(IndexLock { path, index })
    }

    /// Puts a whole new index in place, keeping the old one's mode.
    pub(super) fn replace_index(&self, new: &Path) -> Result<(), std::io::Error> {
        let bytes = std::fs::read(new)?;
        let dir = self.index.parent().unwrap_or(Path::new("."));
        let mut temp = tempfile::Builder::new().prefix("pcbflow-index-").tempfile_in(dir)?;
        temp.write_all(&bytes)?;
        if let Ok(old) = std::fs::metadata(&self.index) {
            temp.as_file().set_permissions(old.permissions())?;
        } else {
            readable(temp.as_file())?;
        }
        temp.as_file().sync_all()?;
        temp.persist(&self.index).map_err(|e| e.error)?;
        Ok(())
    }
}

#[cfg(unix)]
fn readable(file: &std::fs::File) -> Result<(), std::io::Error> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_file: &std::fs::File) -> Result<(), std::io::Error> {
    Ok(())
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        // Nobody else removes or replaces a lock that is held; if it is gone, that is all right.
        std::fs::remove_file(&self.path).ok();
    }
}

/// Host, process and its start in the system's own terms.
fn me() -> (String, u32, String) {
    let pid = std::process::id();
    (host(), pid, started(pid).unwrap_or_else(|| "-".to_owned()))
}

fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .or_else(|| std::env::var("HOSTNAME").ok())
        .map(|h| h.trim().replace(' ', "-"))
        .filter(|h| !h.is_empty())
        .unwrap_or_else(|| "-".to_owned())
}

/// Start of a process; `None` when there is no such process, or the system does not tell.
fn started(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Fields after the name in brackets, which may hold blanks; the start is field 22.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19).map(str::to_owned)
}

/// A lock file, and who made it as far as can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Holder {
    /// A process of ours that is gone, with the run it worked for.
    OwnDead(String),
    /// A process of ours that is alive, with its id.
    OwnAlive(u32),
    /// Somebody, or it can't be told.
    Other,
}

/// Locks that keep a commit from being made.
pub(super) fn locks(repo: &Repo) -> Vec<(PathBuf, Holder)> {
    let mut paths = vec![repo.git_dir.join("index.lock"), repo.git_dir.join("HEAD.lock")];
    if let Some(branch) = repo.head().and_then(|h| h.branch) {
        paths.push(repo.common_dir.join(format!("{branch}.lock")));
    }
    paths
        .into_iter()
        .filter(|p| p.symlink_metadata().is_ok())
        .map(|p| {
            let holder = holder(&p);
            (p, holder)
        })
        .collect()
}

fn holder(path: &Path) -> Holder {
    let mut text = String::new();
    let read =
        std::fs::File::open(path).and_then(|f| f.take(LOOK_BYTES_MAX).read_to_string(&mut text));
    if read.is_err() {
        return Holder::Other;
    }
    let mut words = text.split_whitespace();
    if words.next() != Some(MARK) {
        return Holder::Other;
    }
    let pid = words.next().and_then(|w| w.parse::<u32>().ok());
    let (Some(pid), Some(start), Some(on)) = (pid, words.next(), words.next()) else {
        return Holder::Other;
    };
    // Of a process on another computer, or where the system does not tell, nothing is known.
    if on != host() || start == "-" {
        return Holder::Other;
    }
    match started(pid) {
        Some(now) if now == start => Holder::OwnAlive(pid),
        _ if Path::new("/proc/self/stat").exists() => {
            Holder::OwnDead(words.next().unwrap_or_default().to_owned())
        }
        _ => Holder::Other,
    }
}

/// Locks that a dead process of ours left; with `run`, only those of that run.
#[must_use]
pub fn own_dead(repo: &Repo, run: Option<&str>) -> Vec<PathBuf> {
    let ours = |h: &Holder| match h {
        Holder::OwnDead(of) => run.is_none_or(|r| r == of),
        _ => false,
    };
    locks(repo).into_iter().filter(|(_, h)| ours(h)).map(|(p, _)| p).collect()
}

/// Locks on references that a git of ours left behind when it was ended in the middle of the
/// commit of `run`. Told by content: the branch's lock holds the id of the commit to be, and that
/// commit names the run. Only the run's owner may ask, after the earlier owner's processes ended.
pub async fn own_ref_locks(git: &Git<'_>, repo: &Repo, run: &str) -> Vec<PathBuf> {
    let on_head = repo.git_dir.join("HEAD.lock");
    let head_locked = std::fs::metadata(&on_head).is_ok_and(|m| m.len() == 0);
    let head = repo.head();
    let branch = head.as_ref().and_then(|h| h.branch.as_ref());
    let on_branch = branch.map(|b| repo.common_dir.join(format!("{b}.lock")));
    let mut found = Vec::new();
    match on_branch.filter(|p| p.exists()) {
        Some(path) => {
            let id = std::fs::read_to_string(&path).unwrap_or_default();
            if commit_time(git, id.trim(), run).await.is_some() {
                found.push(path);
                // Both are taken in one go; the head's holds nothing.
                found.extend(head_locked.then_some(on_head));
            }
        }
        // The branch was moved already, the head's lock not yet removed.
        None if head_locked => {
            let id = head.and_then(|h| h.commit).unwrap_or_default();
            let made_s = commit_time(git, &id, run).await;
            if made_s.is_some_and(|at| left_then(&on_head, at)) {
                found.push(on_head);
            }
        }
        None => {}
    }
    found
}

/// When a commit of the run was made, in seconds; `None` when it is not one.
async fn commit_time(git: &Git<'_>, id: &str, run: &str) -> Option<u64> {
    if !is_id(id) {
        return None;
    }
    let out = git.run(&["cat-file", "commit", id]).await;
    let trailer = format!("{RUN}: {run}");
    if !out.ok() || !out.stdout.lines().any(|l| l == trailer) {
        return None;
    }
    let line = out.stdout.lines().find(|l| l.starts_with("committer "))?;
    line.rsplit(' ').nth(1)?.parse().ok()
}

/// Whether a lock was made in the moment of the commit and is too old to be in use.
fn left_then(path: &Path, made_s: u64) -> bool {
    let Ok(modified) = std::fs::metadata(path).and_then(|m| m.modified()) else { return false };
    let at = modified.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let age = SystemTime::now().duration_since(modified).map_or(0, |d| d.as_secs());
    at.abs_diff(made_s) <= MOMENT_S && age >= MOMENT_S
}

/// Moves the locks that a dead process of ours left into `aside`; with `run`, only those of that
/// run. `more` are locks on references that were proven ours. Returns how many; all others stay.
///
/// # Errors
/// The system refused.
pub fn move_own_aside(
    repo: &Repo,
    aside: &Path,
    run: Option<&str>,
    more: &[PathBuf],
) -> Result<usize, std::io::Error> {
    let mut moved = 0;
    for path in own_dead(repo, run).iter().chain(more) {
        std::fs::create_dir_all(aside)?;
        let name = path.file_name().map_or_else(|| "lock".into(), |n| n.to_os_string());
        let to = (0..ASIDE_MAX)
            .map(|n| aside.join(format!("{}.{n}", name.display())))
            .find(|p| !p.exists())
            .ok_or_else(|| std::io::Error::from(ErrorKind::AlreadyExists))?;
        std::fs::copy(path, &to)?;
        // Looked at again right before: it may have been taken over meanwhile.
        if more.contains(path) || matches!(holder(path), Holder::OwnDead(_)) {
            std::fs::remove_file(path)?;
            moved += 1;
        }
    }
    Ok(moved)
}
