//! Git repositories in odd states. What passed is kept and said; nothing is forced.

use std::fs;

use pcbflow_core::event::Fact;
use pcbflow_tests::ledger::count;
use pcbflow_tests::manifest::Manifest;
use pcbflow_tests::{Ran, TestEnvironment, tools};

fn board() -> Manifest {
    Manifest::new("b").phase("05-schematic-audit").make("x", "out/x.txt", &[])
}

fn ready() -> TestEnvironment {
    let test = TestEnvironment::new();
    test.boards(&[&board()]);
    test.git(&["add", "-A"]);
    test.git(&["commit", "-q", "-m", "begin"]);
    test
}

/// The run asks, the step's own work is done and recorded, and a retry after the cure commits.
fn asks_then_commits(test: &TestEnvironment, class: &str, cure: impl FnOnce()) -> Ran {
    let ran = test.pcbflow(&["run", "b", "--json"]);
    let stopped = ran.exits(4).json();
    assert_eq!(stopped["class"], class, "{ran}\n{}", test.story("b"));
    assert!(test.board("b").join("out/x.txt").is_file());
    cure();
    let ask = stopped["ask"]["id"].as_str().expect("an ask").to_owned();
    test.pcbflow(&["answer", &ask, "retry"]).exits(0);
    let done = test.pcbflow(&["resume", "b", "--json"]);
    assert_eq!(done.exits(0).json()["verdict"], "pass", "{}", test.story("b"));
    assert!(!test.git(&["show", "HEAD:projects/b/out/x.txt"]).is_empty());
    let attempts = test.events("b").into_iter().filter(|e| {
        matches!(e.fact, Fact::AttemptStarted { .. })
            && e.step_key().is_some_and(|k| k.step.as_str() == "x")
    });
    assert_eq!(attempts.count(), 1, "the work was not done again\n{}", test.story("b"));
    test.pcbflow(&["replay", "b"]).exits(0);
    ran
}

#[test]
fn in_the_middle_of_a_rebase_nothing_is_committed() {
    let test = ready();
    fs::write(test.ws().join("note.txt"), "one\n").expect("a file");
    test.git(&["add", "note.txt"]);
    test.git(&["commit", "-q", "-m", "one"]);
    test.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    fs::write(test.ws().join("note.txt"), "two\n").expect("a file");
    test.git(&["add", "note.txt"]);
    test.git(&["commit", "-q", "-m", "two"]);
    let mut rebase = test.program("git");
    rebase.args(["rebase", "main"]);
    assert_ne!(pcbflow_tests::Running::start(rebase).wait().exit, Some(0), "a conflict");
    let head = test.git(&["rev-parse", "HEAD"]);
    asks_then_commits(&test, "GIT-4", || {
        assert_eq!(test.git(&["rev-parse", "HEAD"]), head, "nothing was committed into a rebase");
        test.git(&["rebase", "--abort"]);
    });
}

#[test]
fn a_merge_with_conflicts_is_left_to_the_person() {
    let test = ready();
    fs::write(test.ws().join("note.txt"), "one\n").expect("a file");
    test.git(&["add", "note.txt"]);
    test.git(&["commit", "-q", "-m", "one"]);
    test.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    fs::write(test.ws().join("note.txt"), "two\n").expect("a file");
    test.git(&["add", "note.txt"]);
    test.git(&["commit", "-q", "-m", "two"]);
    let mut merge = test.program("git");
    merge.args(["merge", "main"]);
    assert_ne!(pcbflow_tests::Running::start(merge).wait().exit, Some(0), "a conflict");
    asks_then_commits(&test, "GIT-4", || {
        test.git(&["merge", "--abort"]);
    });
}

#[test]
fn a_commit_hook_that_refuses_is_asked_about_and_never_bypassed() {
    let test = ready();
    let hook = test.ws().join(".git/hooks/pre-commit");
    fs::write(&hook, "#!/bin/sh\necho 'boards need a review' >&2\nexit 1\n").expect("a hook");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&hook, mode).expect("a hook that may run");
    let ran = asks_then_commits(&test, "GIT-6", || fs::remove_file(&hook).expect("the hook"));
    let events = ran.json()["events"].to_string();
    assert!(!events.is_empty());
}

#[test]
fn without_an_identity_nobody_is_invented() {
    let test = ready();
    let config = test.path("home/.gitconfig");
    let old = fs::read_to_string(&config).expect("the identity");
    fs::write(&config, "[user]\n\tuseConfigOnly = true\n").expect("no identity");
    asks_then_commits(&test, "GIT-2", || fs::write(&config, &old).expect("the identity"));
    let author = test.git(&["log", "-1", "--format=%an <%ae>"]);
    assert_eq!(author.trim(), "Test Engineer <engineer@example.org>");
}

#[test]
fn a_foreign_lock_is_never_removed() {
    let test = ready();
    let lock = test.ws().join(".git/index.lock");
    fs::write(&lock, "").expect("a lock");
    // The waits of this ladder are real: 1 s, 4 s and 16 s, each with a jitter.
    asks_then_commits(&test, "GIT-3", || {
        assert!(lock.exists(), "the lock is another's");
        fs::remove_file(&lock).expect("the lock");
    });
}

#[test]
fn a_detached_head_takes_the_commit_and_says_so() {
    let test = ready();
    test.git(&["checkout", "-q", "--detach"]);
    let ran = test.pcbflow(&["run", "b", "--json"]);
    ran.exits_one_of(&[0, 4]);
    if ran.exit == Some(0) {
        assert!(!test.git(&["show", "HEAD:projects/b/out/x.txt"]).is_empty());
    }
}

#[test]
fn a_damaged_repository_loses_no_output() {
    let test = ready();
    let objects = test.ws().join(".git/objects");
    let head = test.git(&["rev-parse", "HEAD^{tree}"]);
    let (dir, name) = head.trim().split_at(2);
    fs::remove_file(objects.join(dir).join(name)).expect("an object");
    let ran = test.pcbflow(&["run", "b", "--json"]);
    ran.exits_one_of(&[4, 5]);
    assert_ne!(ran.json()["verdict"], "pass");
    assert!(test.board("b").join("out/x.txt").is_file());
    test.pcbflow(&["ledger", "verify"]).exits(0);
}

#[test]
fn without_git_the_work_is_kept_and_the_verdict_says_what_is_missing() {
    let mut test = TestEnvironment::new();
    let path = tools::only(&test.path("few"), &["sh", "env", "true", "ln"]);
    test.set_path(&path);
    let made = test.pcbflow(&["init", "b", "--json"]);
    made.exits_one_of(&[0, 69]);
    if made.exit == Some(69) {
        test.pcbflow(&["init", "b", "--no-git"]).exits(0);
    }
    board().write(&test.board("b"));
    let ran = test.pcbflow(&["run", "b", "--json"]);
    // git in a usual place outside PATH may be found (ENV-8): then the phase is committed.
    ran.exits_one_of(&[0, 4]);
    assert!(test.board("b").join("out/x.txt").is_file());
    let committed = count(&test.facts("b"), |f| matches!(f, Fact::OutputsCommitted { .. }));
    if committed == 0 {
        assert_eq!(ran.exit, Some(4), "not committed and done?\n{ran}");
        assert!(
            ran.json()["class"].as_str().is_some_and(|c| ["ENV-8", "GIT-2"].contains(&c)),
            "{ran}"
        );
    }
}

#[test]
fn what_the_person_has_staged_or_changed_is_not_swept_into_the_commit() {
    let test = ready();
    fs::write(test.ws().join("mine.txt"), "staged").expect("a file");
    test.git(&["add", "mine.txt"]);
    fs::write(test.board("b").join("notes.txt"), "not an output").expect("a file");
    test.pcbflow(&["run", "b"]).exits(0);
    let files = test.git(&["show", "--name-only", "--format=", "HEAD"]);
    assert!(files.contains("projects/b/out/x.txt") && !files.contains("mine.txt"), "{files}");
    assert!(!files.contains("notes.txt"), "{files}");
    assert!(test.git(&["status", "--porcelain"]).contains("A  mine.txt"), "still staged");
}
