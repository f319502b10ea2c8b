//! Probes: each reads fresh state and is other code than the action that it judges.

use std::path::Path;

use pcbflow_core::check::CheckResult;
use pcbflow_core::event::OutputRef;
use pcbflow_core::ports::Services;

use super::place::{PlaceFault, Repo, is_id};
use super::{Git, lock};
use crate::rows::probes;

/// Deadline of an integrity check, in milliseconds.
const FSCK_MS: u64 = 240_000;
/// Deadline of a question to the remote, in milliseconds.
const REMOTE_MS: u64 = 60_000;
/// The reference under which the scratch commit is kept for a moment.
const SCRATCH_REF: &str = "refs/pcbflow/scratch";

fn located(probe: &str, dir: &Path) -> Result<Repo, CheckResult> {
    Repo::locate(dir).map_err(|fault| match fault {
        PlaceFault::Io { .. } => CheckResult::could_not_run(probe, &fault.to_string()),
        _ => CheckResult::fail(probe, &fault.to_string()),
    })
}

/// Whether the head's commit holds each output as recorded, and the files are the recorded ones.
/// Content is compared as git stores it, so filters (line ends, large files) don't matter.
pub async fn holds(
    services: &Services,
    tag: &str,
    probe: &str,
    board_dir: &Path,
    outputs: &[OutputRef],
) -> CheckResult {
    if outputs.is_empty() {
        return CheckResult { empty: true, ..CheckResult::fail(probe, "no outputs are recorded") };
    }
    for output in outputs {
        let path = board_dir.join(&output.path);
        match services.digests.digest(&path) {
            Ok(Some((digest, _))) if digest == output.digest => {}
            Ok(_) => {
                let reason = format!("{} is not what was recorded", output.path);
                return CheckResult::fail(probe, &reason);
            }
            Err(e) => {
                let reason = format!("{} can't be read: {e}", output.path);
                return CheckResult::could_not_run(probe, &reason);
            }
        }
    }
    let repo = match located(probe, board_dir) {
        Ok(repo) => repo,
        Err(result) => return result,
    };
    let Some(folder) = crate::paths::relative(&repo.top, board_dir) else {
        return CheckResult::could_not_run(probe, "the board's folder is not in the history");
    };
    let from_top = |o: &OutputRef| {
        if folder.is_empty() { o.path.clone() } else { format!("{folder}/{}", o.path) }
    };
    let paths: Vec<String> = outputs.iter().map(from_top).collect();
    let git = Git::new(services, &repo.top, tag);
    let files = git
        .feed(&["hash-object", "--stdin-paths"], Some(format!("{}\n", paths.join("\n")).into()))
        .await;
    let names: Vec<String> = paths.iter().map(|p| format!("HEAD:{p}")).collect();
    let args = ["cat-file", "--batch-check=%(objectname)"];
    let held = git.feed(&args, Some(format!("{}\n", names.join("\n")).into())).await;
    if !files.ok() || !held.ok() {
        return CheckResult::could_not_run(probe, "git does not answer");
    }
    let pairs = paths.iter().zip(files.stdout.lines().zip(held.stdout.lines()));
    match pairs.into_iter().find(|(_, (file, held))| file != held) {
        Some((path, _)) => CheckResult::fail(probe, &format!("{path} is not in the history")),
        None if held.stdout.lines().count() == paths.len() => CheckResult::pass(probe),
        None => CheckResult::could_not_run(probe, "git answered only in part"),
    }
}

/// Whether a commit on a scratch reference succeeds; it is removed again.
pub async fn scratch_commit(services: &Services, tag: &str, board_dir: &Path) -> CheckResult {
    let probe = probes::SCRATCH_COMMIT;
    let repo = match located(probe, board_dir) {
        Ok(repo) => repo,
        Err(result) => return result,
    };
    let git = Git::new(services, &repo.top, tag);
    for who in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
        if !git.run(&["var", who]).await.ok() {
            return CheckResult::fail(probe, "no name or e-mail address is set");
        }
    }
    let tree = git.feed(&["mktree"], Some(Vec::new())).await;
    let commit = git.run(&["commit-tree", "-m", "scratch", tree.word()]).await;
    if !tree.ok() || !commit.ok() || !is_id(commit.word()) {
        return CheckResult::fail(probe, "a commit can't be made here");
    }
    let set = git.run(&["update-ref", SCRATCH_REF, commit.word()]).await;
    let read = git.run(&["rev-parse", "--verify", "-q", SCRATCH_REF]).await;
    let gone = git.run(&["update-ref", "-d", SCRATCH_REF]).await;
    if set.ok() && gone.ok() && read.word() == commit.word() {
        CheckResult::pass(probe)
    } else {
        CheckResult::fail(probe, "a reference can't be written here")
    }
}

/// Whether nothing is locked, status answers and the index parses.
pub async fn index_parses(services: &Services, tag: &str, board_dir: &Path) -> CheckResult {
    let probe = probes::INDEX_PARSES;
    let repo = match located(probe, board_dir) {
        Ok(repo) => repo,
        Err(result) => return result,
    };
    if let Some((path, _)) = lock::locks(&repo).first() {
        return CheckResult::fail(probe, &format!("{} is there", path.display()));
    }
    let git = Git::new(services, &repo.top, tag);
    let status = git.run(&["status", "--porcelain", "--untracked-files=no"]).await;
    let index = git.run(&["ls-files", "--stage"]).await;
    if status.ok() && index.ok() {
        CheckResult::pass(probe)
    } else {
        CheckResult::fail(probe, "the index can't be read")
    }
}

/// Whether nothing is unmerged or under way, and the branch has what its upstream has.
pub async fn merge_whole(services: &Services, tag: &str, board_dir: &Path) -> CheckResult {
    let probe = probes::MERGE_WHOLE;
    let repo = match located(probe, board_dir) {
        Ok(repo) => repo,
        Err(result) => return result,
    };
    let git = Git::new(services, &repo.top, tag);
    if let Some(words) = repo.under_way() {
        return CheckResult::fail(probe, words);
    }
    let unmerged = git.run(&["ls-files", "--unmerged"]).await;
    if !unmerged.ok() {
        return CheckResult::could_not_run(probe, "git does not answer");
    }
    if !unmerged.word().is_empty() {
        return CheckResult::fail(probe, "files are not merged yet");
    }
    if !git.run(&["rev-parse", "--verify", "-q", "@{upstream}"]).await.ok() {
        return CheckResult::pass(probe);
    }
    let args = ["merge-base", "--is-ancestor", "@{upstream}", "HEAD"];
    match git.run(&args).await.status() {
        Some(0) => CheckResult::pass(probe),
        Some(1) => CheckResult::fail(probe, "the branch lacks what was published"),
        _ => CheckResult::could_not_run(probe, "git does not answer"),
    }
}

/// Whether the branch on the remote is the local commit.
pub async fn remote_equals_local(
    services: &Services,
    tag: &str,
    board_dir: &Path,
    remote: Option<&str>,
) -> CheckResult {
    let probe = probes::REMOTE_EQUALS_LOCAL;
    let repo = match located(probe, board_dir) {
        Ok(repo) => repo,
        Err(result) => return result,
    };
    let head = repo.head();
    let Some((branch, commit)) = head.and_then(|h| h.branch.zip(h.commit)) else {
        return CheckResult::could_not_run(probe, "the head is on no branch with commits");
    };
    let git = super::push::networked(Git::new(services, &repo.top, tag)).await.within(REMOTE_MS);
    let remote = match remote {
        Some(remote) => remote.to_owned(),
        None => super::push::remote_of(&git, &branch).await,
    };
    let out = git.run(&["ls-remote", "--exit-code", "--", &remote, &branch]).await;
    let id = out.stdout.split_whitespace().next().unwrap_or_default();
    match out.status() {
        Some(0) if id == commit => CheckResult::pass(probe),
        Some(0 | 2) => CheckResult::fail(probe, "the remote does not have the commit yet"),
        _ => CheckResult::could_not_run(probe, "the remote does not answer"),
    }
}

/// Whether the integrity check passes.
pub async fn history_sound(services: &Services, tag: &str, board_dir: &Path) -> CheckResult {
    let probe = probes::HISTORY_SOUND;
    let repo = match located(probe, board_dir) {
        Ok(repo) => repo,
        Err(result) => return result,
    };
    let git = Git::new(services, &repo.top, tag).within(FSCK_MS);
    let out = git.run(&["fsck", "--no-dangling", "--no-progress", "--no-reflogs"]).await;
    match out.status() {
        Some(0) => CheckResult::pass(probe),
        Some(_) => CheckResult::fail(probe, "the integrity check finds damage"),
        None => CheckResult::could_not_run(probe, "the integrity check did not end"),
    }
}
