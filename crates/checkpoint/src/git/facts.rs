//! Why git did not do as asked, found by looking and asking again.
//!
//! Git answers 128 to almost everything, and its words change. So after a failed call each
//! possible cause is looked at by itself, and every fact that is there becomes a signal; the
//! words are kept as the last resort.

use std::io::{ErrorKind, Write as _};
use std::path::Path;

use pcbflow_core::evidence::{Evidence, Signal, Source, codes};
use pcbflow_core::projection::BESIDE_SLOT;

use super::lock::{Holder, locks};
use super::place::{PlaceFault, Repo};
use super::{Git, KIND_COMMIT, Out, evidence};
use crate::rows::variants;
use crate::signals;

/// Bytes of the file by which free space is probed.
const PROBE_BYTES: usize = 64 * 1024;
/// Most paths named in one signal.
const PATHS_SHOWN_MAX: usize = 20;

/// Evidence of a failed call: how it ended, its words, and every fact that explains it.
pub async fn why(git: &Git<'_>, repo: &Repo, layer: &str, out: &Out) -> Evidence {
    let mut found = evidence(layer, out, git.deadline_ms);
    if !matches!(out.ended, pcbflow_core::ports::SpawnEnded::Exited(_)) {
        return found;
    }
    let mut facts = storage(&[&repo.git_dir, &repo.top]);
    // Git works on a private index here: a lock of pcbflow's own is not what kept it.
    facts.extend(lock_signals(repo).into_iter().filter(|s| s.code != signals::LOCK_HELD));
    if let Some(who) = repo.other_owner().filter(|_| out.status() == Some(128)) {
        // Git answers this to every call; one small question proves it.
        if !git.run(&["rev-parse", "--git-dir"]).await.ok() {
            facts.push(Signal::new(Source::Report, signals::OTHER_OWNER).text(&who));
        }
    }
    facts.extend(conflicts(git, repo).await);
    if facts.is_empty() {
        facts.extend(identity(git).await);
    }
    if facts.is_empty() {
        facts.extend(damage(git, repo).await);
    }
    for fact in facts {
        found.push(fact);
    }
    slots(&mut found);
    found
}

/// Evidence that there is no repository to work with.
pub(super) fn no_place(layer: &str, fault: &PlaceFault) -> Evidence {
    let mut found = Evidence::new(layer, "git");
    let code = match fault {
        PlaceFault::Broken { .. } => signals::OBJECT_DAMAGED,
        _ => signals::NO_REPOSITORY,
    };
    found.push(Signal::new(Source::Report, code).text(&fault.to_string()));
    // An upload without a history has nothing to upload: making one would not help it.
    if matches!(fault, PlaceFault::None { .. }) && layer == KIND_COMMIT {
        found.slots.insert("variant".to_owned(), variants::NO_REPOSITORY.to_owned());
    }
    found
}

/// Whether a folder takes a new file: no space, read-only, or fine. Tried, not calculated.
pub(crate) fn storage(dirs: &[&Path]) -> Vec<Signal> {
    let mut found = Vec::new();
    for dir in dirs {
        let tried = tempfile::Builder::new().prefix(".pcbflow-probe-").tempfile_in(dir).and_then(
            |mut f| f.write_all(&[0; PROBE_BYTES]).and_then(|()| f.as_file().sync_data()),
        );
        if let Err(e) = tried {
            found.extend(storage_signal(dir, &e));
        }
    }
    found.dedup();
    found
}

/// The signal of an error of storage, if it is one of those that have a row.
pub(crate) fn storage_signal(path: &Path, error: &std::io::Error) -> Option<Signal> {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Some(Signal::new(Source::Own, codes::DISK_FULL).number(0))
        }
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => {
            Some(Signal::new(Source::Own, codes::READ_ONLY).text(&path.display().to_string()))
        }
        _ => None,
    }
}

/// Locks that are there, with what is known of their makers.
pub(super) fn lock_signals(repo: &Repo) -> Vec<Signal> {
    let mut found = Vec::new();
    for (path, holder) in locks(repo) {
        let text = path.display().to_string();
        found.push(match holder {
            Holder::OwnDead(_) => {
                Signal::new(Source::Own, signals::LOCK_OF_OWN_DEAD_CHILD).text(&text)
            }
            Holder::OwnAlive(pid) => {
                Signal::new(Source::Own, signals::LOCK_HELD).number(i64::from(pid)).text(&text)
            }
            Holder::Other => Signal::new(Source::File, signals::LOCK_FILE).text(&text),
        });
    }
    found
}

/// What is not merged, or under way.
pub(super) async fn conflicts(git: &Git<'_>, repo: &Repo) -> Vec<Signal> {
    let mut paths: Vec<String> = git
        .run(&["ls-files", "--unmerged", "--full-name", "--", ":/"])
        .await
        .stdout
        .lines()
        .filter_map(|l| l.split_once('\t'))
        .map(|(_, path)| path.to_owned())
        .collect();
    paths.dedup();
    paths.truncate(PATHS_SHOWN_MAX);
    let text = match (repo.under_way(), paths.is_empty()) {
        (None, true) => return Vec::new(),
        (Some(words), true) => words.to_owned(),
        (_, false) => paths.join(", "),
    };
    let number = i64::try_from(paths.len()).unwrap_or(i64::MAX);
    vec![Signal::new(Source::Report, signals::UNMERGED).number(number).text(&text)]
}

/// Whether a name and an e-mail address are set.
pub(super) async fn identity(git: &Git<'_>) -> Vec<Signal> {
    for who in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
        let out = git.run(&["var", who]).await;
        if out.status().is_some_and(|s| s != 0) {
            return vec![Signal::new(Source::Report, signals::IDENTITY_MISSING).text(who)];
        }
    }
    Vec::new()
}

/// Whether what the head needs is there and whole.
pub(super) async fn damage(git: &Git<'_>, repo: &Repo) -> Vec<Signal> {
    let head = repo.head();
    let commit = match &head {
        Some(head) => match &head.commit {
            Some(id) => id.as_str(),
            None => return Vec::new(),
        },
        None => "HEAD",
    };
    let mut found = Vec::new();
    // The type alone is read from the first bytes; the tree's listing needs the whole object.
    for (what, args) in [
        ("commit", ["cat-file", "-e", &format!("{commit}^{{commit}}")]),
        ("tree", ["ls-tree", "-r", commit]),
    ] {
        let out = git.run(&args).await;
        if let Some(status) = out.status().filter(|s| *s != 0) {
            let failed = Signal::new(Source::Exit, signals::INTEGRITY_FAILED);
            found.push(failed.number(i64::from(status)));
            let text = format!("{what} of {commit}");
            found.push(Signal::new(Source::Report, signals::OBJECT_DAMAGED).text(&text));
            break;
        }
    }
    if found.is_empty() {
        let out = git.run(&["ls-files", "--stage", "--", ":/"]).await;
        if out.status().is_some_and(|s| s != 0) {
            found.push(Signal::new(Source::Report, signals::OBJECT_DAMAGED).text("index"));
        }
    }
    if !found.is_empty() && repo.is_partial() {
        found.push(Signal::new(Source::Report, signals::PARTIAL_CLONE));
    }
    found
}

/// The lock file of somebody else, how old it is, and when it may go.
fn lock_line(path: &str) -> String {
    let modified = std::fs::metadata(path).and_then(|m| m.modified()).ok();
    let age = modified.and_then(|at| at.elapsed().ok()).map(|d| d.as_secs());
    let old = age.map_or_else(String::new, |s| match s {
        0..=119 => format!(", {s} seconds old"),
        120..=7199 => format!(", {} minutes old", s / 60),
        7200..=172_799 => format!(", {} hours old", s / 3600),
        _ => format!(", {} days old", s / 86_400),
    });
    format!(
        "Lock file: {path}{old}. A git that works is done with it in seconds. When none works \
         here, it was left behind and it is safe to remove it: rm '{path}'"
    )
}

/// Fills the slot `items` of GIT-4, the `variant` of GIT-2, and the lock file of GIT-3.
pub(super) fn slots(evidence: &mut Evidence) {
    let seen = |code: &str| evidence.signals.iter().find(|s| s.code == code);
    let items = seen(signals::UNMERGED).map(|s| s.text.clone());
    let lock = seen(signals::LOCK_FILE).map(|s| lock_line(&s.text));
    let variant = match (seen(signals::IDENTITY_MISSING), seen(signals::OTHER_OWNER)) {
        (_, Some(_)) => Some(variants::OTHER_OWNER),
        (Some(_), None) => Some(variants::NO_IDENTITY),
        (None, None) => None,
    };
    if let Some(lock) = lock {
        evidence.slots.insert(BESIDE_SLOT.to_owned(), lock);
    }
    if let Some(items) = items {
        evidence.slots.insert("items".to_owned(), items);
    }
    if let Some(variant) = variant {
        evidence.slots.insert("variant".to_owned(), variant.to_owned());
    }
}
