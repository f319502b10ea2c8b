//! Repositories in every state but the plain one.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use pcbflow_core::check::CheckOutcome;
use pcbflow_core::event::RecoveryOutcome;

use crate::support::{NAME, World, codes};

#[tokio::test]
async fn no_repository() {
    let w = World::bare();
    let (class, evidence) = w.class().await;
    assert_eq!(class, "GIT-2", "{evidence:?}");
    assert_eq!(codes(&evidence), ["git.no_repository"]);
    assert_eq!(w.probe("scratch-commit").await, CheckOutcome::Fail);
    assert_eq!(w.recover("snapshot-outputs").await.outcome, RecoveryOutcome::Done);
    assert_eq!(w.probe("outputs-kept").await, CheckOutcome::Pass);
    // With a recorded yes one is made; the first commit is on a branch without commits.
    assert_eq!(w.recover("create-repository").await.outcome, RecoveryOutcome::Done);
    assert_eq!(w.recover("create-repository").await.outcome, RecoveryOutcome::NotApplicable);
    assert_eq!(w.probe("scratch-commit").await, CheckOutcome::Pass);
    let commit = w.committed().await;
    assert_eq!(w.head(), commit);
    assert_eq!(w.count(), 1);
    assert_eq!(w.git(&["status", "--porcelain"]), "?? .gitignore");
}

#[tokio::test]
async fn a_branch_without_commits_and_something_staged() {
    let w = World::bare();
    w.git(&["init", "-q"]);
    w.git(&["add", ".gitignore"]);
    w.committed().await;
    assert_eq!(w.git(&["show", "--format=", "--name-only"]).lines().count(), 3);
    assert_eq!(w.git(&["status", "--porcelain"]), "A  .gitignore");
}

#[tokio::test]
async fn no_identity() {
    let w = World::new();
    let config = w.context.workspace.parent().unwrap().join(".gitconfig");
    std::fs::write(&config, "[init]\n\tdefaultBranch = main\n").unwrap();
    let (class, evidence) = w.class().await;
    assert_eq!(class, "GIT-2", "{evidence:?}");
    assert_eq!(codes(&evidence), ["git.identity_missing"]);
    assert_eq!(w.probe("scratch-commit").await, CheckOutcome::Fail);
    w.config("user.name", "Bo");
    w.config("user.email", "bo@example.org");
    w.committed().await;
}

#[tokio::test]
async fn a_bare_repository_and_broken_ones() {
    let w = World::bare();
    w.git(&["init", "-q", "--bare", "."]);
    let (class, evidence) = w.class().await;
    assert_eq!(class, "GIT-2", "{evidence:?}");
    let w = World::bare();
    std::fs::write(w.git_dir(), "gitdir: /nowhere\n").unwrap();
    assert_eq!(w.class().await.0, "GIT-7");
    let w = World::new();
    std::fs::remove_file(w.git_dir().join("HEAD")).unwrap();
    assert_eq!(w.class().await.0, "GIT-7");
    let w = World::new();
    std::fs::write(w.git_dir().join("index"), "no index").unwrap();
    assert_eq!(w.class().await.0, "GIT-7");
}

#[tokio::test]
async fn git_is_not_there() {
    let w = World::new();
    *w.spawn.path.lock().unwrap() = "/nowhere".into();
    let (_, evidence) = w.class().await;
    assert_eq!(codes(&evidence), ["spawn_not_found"]);
    assert_eq!(evidence.signals[0].text, "git");
}

#[tokio::test]
async fn work_of_others_under_way() {
    for (args, words) in
        [(&["merge", "side"][..], "f"), (&["rebase", "side"], "f"), (&["cherry-pick", "side"], "f")]
    {
        let w = World::new();
        conflict(&w);
        assert!(!w.try_git(args).status.success());
        let before = w.git(&["status", "--porcelain", "-uno"]);
        let (class, evidence) = w.class().await;
        assert_eq!(class, "GIT-4", "{args:?} {evidence:?}");
        assert_eq!(evidence.slots["items"], words);
        assert_eq!(w.git(&["status", "--porcelain", "-uno"]), before);
        assert_eq!(w.probe("merge-whole").await, CheckOutcome::Fail);
        assert_eq!(w.recover("fast-forward").await.outcome, RecoveryOutcome::NotApplicable);
        assert_eq!(
            w.recover("merge-text-in-scratch").await.outcome,
            RecoveryOutcome::NotApplicable
        );
        // Resolved but not finished yet: still theirs.
        std::fs::write(w.context.workspace.join("f"), "both").unwrap();
        w.git(&["add", "f"]);
        assert_eq!(w.class().await.0, "GIT-4");
        w.git(&[args[0], "--continue"]);
        assert_eq!(w.probe("merge-whole").await, CheckOutcome::Pass);
        w.committed().await;
    }
    let w = World::new();
    w.git(&["bisect", "start"]);
    let (class, evidence) = w.class().await;
    assert_eq!(class, "GIT-4");
    assert!(evidence.slots["items"].contains("bisect"));
}

fn conflict(w: &World) {
    let file = w.context.workspace.join("f");
    std::fs::write(&file, "base").unwrap();
    w.git(&["add", "f"]);
    w.git(&["commit", "-qm", "base"]);
    w.git(&["switch", "-qc", "side"]);
    std::fs::write(&file, "side").unwrap();
    w.git(&["commit", "-qam", "side"]);
    w.git(&["switch", "-q", "main"]);
    std::fs::write(&file, "main").unwrap();
    w.git(&["commit", "-qam", "main"]);
}

#[tokio::test]
async fn a_detached_head_works_and_says_so() {
    let w = World::new();
    w.git(&["checkout", "-q", "--detach"]);
    let seen = w.run().await;
    assert!(seen.summary.contains("on no branch"), "{}", seen.summary);
    assert_eq!(seen.records["commit"], w.head());
}

#[tokio::test]
async fn locks_of_others_stay() {
    let w = World::new();
    for name in ["index.lock", "HEAD.lock", "refs/heads/main.lock"] {
        let lock = w.git_dir().join(name);
        std::fs::write(&lock, "").unwrap();
        let (class, evidence) = w.class().await;
        assert_eq!(class, "GIT-3", "{evidence:?}");
        assert_eq!(codes(&evidence), ["git.lock_file"]);
        let told = &evidence.slots["beside"];
        assert!(told.contains(name) && told.contains("seconds old"), "{told}");
        assert_eq!(w.recover("move-own-lock-aside").await.outcome, RecoveryOutcome::NotApplicable);
        assert_eq!(w.probe("index-parses").await, CheckOutcome::Fail);
        assert!(lock.exists());
        std::fs::remove_file(&lock).unwrap();
    }
    assert_eq!(w.probe("index-parses").await, CheckOutcome::Pass);
    w.committed().await;
}

/// A lock as a process of ours writes it, which is gone now.
fn dead_lock(w: &World, run: &str) -> PathBuf {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let pid = child.id();
    child.wait().unwrap();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let lock = w.git_dir().join("index.lock");
    std::fs::write(&lock, format!("pcbflow-lock-v1 {pid} 1 {} {run}\n", host.trim())).unwrap();
    lock
}

#[tokio::test]
async fn a_lock_of_our_own_dead_process_is_moved_aside() {
    use pcbflow_core::ports::Subsystem as _;
    let w = World::new();
    let lock = dead_lock(&w, "r-0");
    let (class, evidence) = w.class().await;
    assert_eq!(class, "GIT-3", "{evidence:?}");
    assert_eq!(codes(&evidence), ["git.lock_of_own_dead_child"]);
    // The guard cleans up after its own run only.
    w.subsystem.read_back(&w.context, &w.services).await;
    assert!(lock.exists());
    assert_eq!(w.recover("move-own-lock-aside").await.outcome, RecoveryOutcome::Done);
    assert_eq!(w.probe("index-parses").await, CheckOutcome::Pass);
    assert!(w.context.state_dir.join("moved-locks/index.lock.0").exists());
    dead_lock(&w, "r-1");
    w.subsystem.read_back(&w.context, &w.services).await;
    assert!(!lock.exists());
    w.committed().await;
    // One of another computer, or of a process that lives, is not ours to move.
    let me = std::process::id();
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let start = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().to_owned();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    for line in [
        "pcbflow-lock-v1 1 1 elsewhere r-1".to_owned(),
        format!("pcbflow-lock-v1 {me} {start} {} r-1", host.trim()),
        "pcbflow-lock-v1".to_owned(),
    ] {
        std::fs::write(&lock, line).unwrap();
        assert_eq!(w.recover("move-own-lock-aside").await.outcome, RecoveryOutcome::NotApplicable);
    }
}

#[tokio::test]
async fn locks_of_references_that_our_own_git_left() {
    use pcbflow_core::ports::Subsystem as _;
    let w = World::new();
    let commit = |run: &str| {
        let message = format!("x\n\nPcbflow-Run: {run}\n");
        w.git(&["commit-tree", "-p", "HEAD", "-m", &message, "HEAD^{tree}"])
    };
    let (on_head, on_branch) =
        (w.git_dir().join("HEAD.lock"), w.git_dir().join("refs/heads/main.lock"));
    for (run, ours) in [("r-other", false), ("r-1", true)] {
        std::fs::write(&on_head, "").unwrap();
        std::fs::write(&on_branch, format!("{}\n", commit(run))).unwrap();
        let (class, evidence) = w.class().await;
        assert_eq!(class, "GIT-3");
        let code = if ours { "git.lock_of_own_dead_child" } else { "git.lock_file" };
        assert_eq!(codes(&evidence), [code, code], "{run}");
        w.subsystem.read_back(&w.context, &w.services).await;
        assert_eq!((on_head.exists(), on_branch.exists()), (!ours, !ours), "{run}");
    }
    w.committed().await;
    // The branch was moved and only the lock on the head is left.
    std::fs::write(&on_head, "").unwrap();
    w.subsystem.read_back(&w.context, &w.services).await;
    assert!(on_head.exists(), "young enough to be in use");
    let file = std::fs::File::options().write(true).open(&on_head).unwrap();
    let ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    file.set_modified(ago).unwrap();
    w.subsystem.read_back(&w.context, &w.services).await;
    assert!(on_head.exists(), "of another moment");
}

#[tokio::test]
async fn a_folder_of_another_user() {
    let w = World::new();
    let ws = &w.context.workspace;
    let done = std::process::Command::new("chown").args(["-R", "12345"]).arg(ws).status();
    if !done.is_ok_and(|s| s.success()) {
        return;
    }
    let (class, evidence) = w.class().await;
    assert_eq!(class, "GIT-2", "{evidence:?}");
    assert!(codes(&evidence).contains(&"git.other_owner".to_owned()), "{evidence:?}");
}

#[tokio::test]
async fn a_worktree() {
    let mut w = World::new();
    let tree = w.context.workspace.parent().unwrap().join("tree ü");
    w.git(&["worktree", "add", "-q", "-b", "side", tree.to_str().unwrap()]);
    let board_dir = tree.join("projects").join(NAME);
    copy(&w.context.board_dir, &board_dir);
    w.context.board_dir = board_dir;
    // The workspace is the one in the other tree.
    let main = std::mem::replace(&mut w.context.workspace, tree.clone());
    let commit = w.committed().await;
    w.context.workspace = main;
    assert_eq!(w.git(&["rev-parse", "side"]), commit);
    assert_ne!(w.head(), commit);
    let status = w.git_in(&tree, &["status", "--porcelain"]);
    assert_eq!(String::from_utf8(status.stdout).unwrap(), "");
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    let above = to.parent().unwrap();
    std::fs::create_dir_all(above).unwrap();
    let done = std::process::Command::new("cp").arg("-r").arg(from).arg(above).status();
    assert!(done.unwrap().success());
}

#[tokio::test]
async fn a_submodule_and_a_nested_repository() {
    // The board lies in a submodule: the commit goes there.
    let mut w = World::new();
    let lib = w.context.workspace.parent().unwrap().join("lib");
    std::fs::create_dir_all(&lib).unwrap();
    for args in [&["init", "-q"][..], &["commit", "-q", "--allow-empty", "-m", "lib"]] {
        assert!(w.git_in(&lib, args).status.success());
    }
    w.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../lib", "sub"]);
    w.git(&["commit", "-qm", "sub"]);
    let here = w.head();
    let board_dir = w.context.workspace.join("sub/projects").join(NAME);
    copy(&w.context.board_dir, &board_dir);
    w.context.board_dir = board_dir.clone();
    let commit = w.committed().await;
    assert_eq!(w.head(), here);
    let sub = w.git_in(&board_dir, &["rev-parse", "HEAD"]);
    assert_eq!(String::from_utf8(sub.stdout).unwrap().trim(), commit);
    // An output lies in a repository below the board: it can't be committed here.
    let w = World::new();
    let inner = w.context.board_dir.join("out/sub dir");
    assert!(w.git_in(&inner, &["init", "-q"]).status.success());
    let (class, evidence) = w.class().await;
    assert_eq!(class, "GIT-6", "{evidence:?}");
    assert_eq!(codes(&evidence), ["git.path_ignored"]);
}

#[tokio::test]
async fn a_sparse_checkout_and_flags_on_entries() {
    let mut w = World::new();
    w.committed().await;
    w.git(&["sparse-checkout", "set", "--cone", "elsewhere"]);
    std::fs::create_dir_all(w.context.board_dir.join("out/sub dir")).unwrap();
    w.write("project.yaml", "board: tür-1\nphases: []\n");
    w.write("out/drc.json", "{\"n\": 2}\n");
    w.outputs(&["out/drc.json"]);
    w.committed().await;
    assert_eq!(w.probe("commit-holds-outputs").await, CheckOutcome::Pass);
    let mut w = World::new();
    w.committed().await;
    let path = format!("projects/{NAME}/out/drc.json");
    w.git(&["update-index", "--skip-worktree", &path]);
    w.git(&["update-index", "--assume-unchanged", &format!("projects/{NAME}/project.yaml")]);
    w.write("out/drc.json", "{\"n\": 3}\n");
    w.outputs(&["out/drc.json"]);
    w.committed().await;
    assert_eq!(w.git(&["show", &format!("HEAD:{path}")]), "{\"n\": 3}");
}

#[tokio::test]
async fn signing_that_fails() {
    let w = World::new();
    w.config("commit.gpgSign", "true");
    w.config("gpg.program", "false");
    let (class, evidence) = w.class().await;
    assert_eq!(class, "GIT-6", "{evidence:?}");
    assert_eq!(w.count(), 1);
}

#[tokio::test]
async fn a_commit_that_takes_too_long() {
    let mut w = World::new();
    w.context.deadline_ms = 300;
    w.hook("pre-commit", "sleep 5");
    let seen = w.run().await;
    assert_eq!(seen.ended, pcbflow_core::event::Ended::DeadlinePassed);
    assert_eq!(w.count(), 1);
    assert!(!w.git_dir().join("index.lock").exists());
}

#[tokio::test]
async fn objects_are_damaged() {
    let w = World::new();
    let tree = w.git(&["rev-parse", "HEAD^{tree}"]);
    let object = w.git_dir().join("objects").join(&tree[..2]).join(&tree[2..]);
    std::fs::set_permissions(&object, std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::write(&object, "garbage").unwrap();
    let (class, evidence) = w.class().await;
    assert_eq!(class, "GIT-7", "{evidence:?}");
    assert!(codes(&evidence).contains(&"git.object_damaged".to_owned()));
    assert_eq!(w.probe("history-sound").await, CheckOutcome::Fail);
    assert_eq!(w.recover("snapshot-elsewhere").await.outcome, RecoveryOutcome::Done);
    assert_eq!(w.recover("fetch-into-copy").await.outcome, RecoveryOutcome::NotApplicable);
}

#[tokio::test]
async fn another_format_of_references() {
    let w = World::bare();
    w.git(&["init", "-q", "--ref-format=reftable"]);
    w.git(&["add", ".gitignore"]);
    w.git(&["commit", "-qm", "start"]);
    let commit = w.committed().await;
    assert_eq!(commit, w.head());
    assert_eq!(w.committed().await, commit);
    assert_eq!(w.count(), 2);
}

#[tokio::test]
async fn longer_ids_and_a_split_index() {
    let w = World::bare();
    w.git(&["init", "-q", "--object-format=sha256"]);
    w.config("core.splitIndex", "true");
    w.git(&["add", ".gitignore"]);
    w.git(&["commit", "-qm", "start"]);
    std::fs::write(w.context.workspace.join("a"), "x").unwrap();
    w.git(&["add", "a"]);
    assert_eq!(w.committed().await.len(), 64);
    assert_eq!(w.git(&["status", "--porcelain"]), "A  a");
}

#[tokio::test]
async fn a_full_disk_and_a_read_only_one() {
    use std::process::Command;
    let w = World::new();
    // A small file system of its own, where the test may mount one.
    let objects = w.git_dir();
    let mount = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=400k", "tmpfs"])
        .arg(&objects)
        .output();
    if !mount.is_ok_and(|o| o.status.success()) {
        return;
    }
    w.git(&["init", "-q"]);
    w.git(&["add", ".gitignore"]);
    w.git(&["commit", "-qm", "start"]);
    std::fs::write(objects.join("filler"), vec![0; 400 * 1024]).unwrap_err();
    let seen = w.run().await;
    std::fs::remove_file(objects.join("filler")).unwrap();
    let read_only = |yes: &str| {
        let option = format!("remount,{yes}");
        let done = Command::new("mount").args(["-o", &option]).arg(&objects).status();
        assert!(done.unwrap().success());
    };
    read_only("ro");
    let (_, refused) = w.class().await;
    read_only("rw");
    assert!(codes(&refused).contains(&"read_only".to_owned()), "{refused:?}");
    let again = w.run().await;
    let unmounted = Command::new("umount").arg("-l").arg(&objects).status();
    assert!(unmounted.is_ok_and(|s| s.success()));
    match seen.result {
        pcbflow_core::ports::StepResult::Failed(evidence) => {
            assert!(codes(&evidence).contains(&"disk_full".to_owned()), "{evidence:?}");
        }
        pcbflow_core::ports::StepResult::Checked(check) => panic!("{check:?}"),
    }
    assert!(again.records.contains_key("commit"), "{again:?}");
}
