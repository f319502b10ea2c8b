//! What a commit holds, and what it leaves alone.

use pcbflow_core::check::CheckOutcome;
use pcbflow_core::event::ReadBack;
use pcbflow_core::ports::{StepResult, Subsystem as _};

use crate::support::{NAME, PHASE, World, codes};

#[tokio::test]
async fn exactly_the_outputs_and_the_manifest() {
    let w = World::new();
    w.write("mine.txt", "not an output");
    let commit = w.committed().await;
    assert_eq!(commit, w.head());
    let names = w.git(&["-c", "core.quotePath=false", "show", "-z", "--format=", "--name-only"]);
    let mut names: Vec<&str> = names.split('\0').filter(|n| !n.is_empty()).collect();
    names.sort_unstable();
    let base = format!("projects/{NAME}");
    let want = ["out/drc.json", "out/sub dir/ä \"q\".gbr", "project.yaml"];
    assert_eq!(names, want.map(|n| format!("{base}/{n}")));
    let message = w.git(&["log", "-1", "--format=%B"]);
    for line in [
        format!("Pcbflow-Board: {NAME}"),
        format!("Pcbflow-Phase: {PHASE}"),
        "Pcbflow-Run: r-1".to_owned(),
        format!("Pcbflow-Ledger: l-1:{NAME}:7:"),
    ] {
        assert!(message.contains(&line), "{message}");
    }
    let manifest = w.git(&["show", &format!("HEAD:{base}/project.yaml")]);
    assert!(manifest.starts_with("# mine\n") && manifest.contains("PASS"), "{manifest}");
    // Clean but for the person's own file.
    assert_eq!(
        w.git(&["-c", "core.quotePath=false", "status", "--porcelain"]),
        format!("?? {base}/mine.txt")
    );
    assert_eq!(w.probe("commit-holds-outputs").await, CheckOutcome::Pass);
    assert_eq!(w.probe("outputs-kept").await, CheckOutcome::Pass);
    let leftovers: Vec<_> = std::fs::read_dir(w.git_dir())
        .unwrap()
        .filter_map(|e| e.ok()?.file_name().into_string().ok())
        .filter(|n| n.contains("pcbflow") || n.ends_with(".lock"))
        .collect();
    assert!(leftovers.is_empty(), "{leftovers:?}");
}

#[tokio::test]
async fn what_a_person_staged_stays_staged_and_out() {
    let w = World::new();
    let ws = &w.context.workspace;
    std::fs::write(ws.join("a"), "one\ntwo\n").unwrap();
    std::fs::write(ws.join("old"), "x\n".repeat(50)).unwrap();
    w.git(&["add", "a", "old"]);
    w.git(&["commit", "-qm", "theirs"]);
    // Half of a file staged, a rename, a deletion to be, an intent to add.
    std::fs::write(ws.join("a"), "one\nstaged\n").unwrap();
    w.git(&["add", "a"]);
    std::fs::write(ws.join("a"), "one\nstaged\nnot staged\n").unwrap();
    w.git(&["mv", "old", "new"]);
    std::fs::write(ws.join("later"), "").unwrap();
    w.git(&["add", "-N", "later"]);
    let before = w.git(&["status", "--porcelain", "--", "a", "old", "new", "later"]);
    let staged = w.git(&["diff", "--cached", "--", "a", "old", "new"]);
    w.committed().await;
    assert_eq!(w.git(&["status", "--porcelain", "--", "a", "old", "new", "later"]), before);
    assert_eq!(w.git(&["diff", "--cached", "--", "a", "old", "new"]), staged);
    let names = w.git(&["show", "--format=", "--name-only"]);
    assert_eq!(names.lines().count(), 3, "{names}");
}

#[tokio::test]
async fn a_second_run_makes_no_second_commit() {
    let w = World::new();
    let first = w.committed().await;
    assert_eq!(w.committed().await, first);
    let mut again = World::new();
    let first = again.committed().await;
    again.context.run = "r-2".into();
    assert_eq!(again.committed().await, first, "nothing to commit is the commit that is there");
    assert_eq!(again.count(), 2);
}

#[tokio::test]
async fn killed_between_commit_and_event() {
    let w = World::new();
    let subsystem = &w.subsystem;
    assert_eq!(subsystem.read_back(&w.context, &w.services).await, ReadBack::Absent);
    let before = std::fs::read(w.git_dir().join("index")).unwrap();
    let commit = w.committed().await;
    // The person's index as it was when the process died right after the commit.
    std::fs::write(w.git_dir().join("index"), before).unwrap();
    assert!(w.git(&["status", "--porcelain"]).contains("D "), "stale");
    assert_eq!(subsystem.read_back(&w.context, &w.services).await, ReadBack::Partial);
    assert_eq!(w.committed().await, commit);
    assert_eq!(w.git(&["status", "--porcelain"]), "");
    assert_eq!(w.count(), 2);
}

#[tokio::test]
async fn a_landed_commit_with_other_content_is_not_taken() {
    let mut w = World::new();
    w.committed().await;
    w.write("out/drc.json", "{\"new\": 1}\n");
    assert_eq!(w.subsystem.read_back(&w.context, &w.services).await, ReadBack::Absent);
    w.outputs(&["out/drc.json"]);
    w.committed().await;
    assert_eq!(w.count(), 3);
}

#[tokio::test]
async fn an_output_that_changed_since_its_check_is_never_committed() {
    let w = World::new();
    w.write("out/drc.json", "edited by hand");
    let seen = w.run().await;
    match seen.result {
        StepResult::Checked(check) => assert_eq!(check.outcome, CheckOutcome::CouldNotRun),
        StepResult::Failed(e) => panic!("{e:?}"),
    }
    assert_eq!(w.count(), 1);
    assert!(
        !std::fs::read_to_string(w.context.board_dir.join("project.yaml"))
            .unwrap()
            .contains("status:")
    );
}

#[tokio::test]
async fn finished_costs_no_process() {
    let w = World::new();
    w.committed().await;
    w.forget_calls();
    let first = w.subsystem.closure(&w.context, &w.services).await.unwrap();
    assert_eq!(w.calls(), 0);
    // The person goes on: looked at once, then remembered.
    std::fs::write(w.context.workspace.join("a"), "x").unwrap();
    w.git(&["add", "a"]);
    w.git(&["commit", "-qm", "theirs"]);
    w.git(&["pack-refs", "--all"]);
    assert_eq!(w.subsystem.closure(&w.context, &w.services).await.unwrap(), first);
    assert_eq!(w.calls(), 2);
    assert_eq!(w.subsystem.closure(&w.context, &w.services).await.unwrap(), first);
    assert_eq!(w.calls(), 2);
    // The commit is taken out of the history: that is seen.
    w.git(&["reset", "-q", "--soft", "HEAD~2"]);
    assert_ne!(w.subsystem.closure(&w.context, &w.services).await.unwrap(), first);
    w.committed().await;
    assert_eq!(w.subsystem.closure(&w.context, &w.services).await.unwrap(), first);
}

#[tokio::test]
async fn many_outputs_and_cut_output() {
    let mut w = World::new();
    let names: Vec<String> = (0..400).map(|n| format!("out/layer {n}.gbr")).collect();
    for (n, name) in names.iter().enumerate() {
        w.write(name, &format!("layer {n}"));
    }
    w.outputs(&names.iter().map(String::as_str).collect::<Vec<_>>());
    w.committed().await;
    assert_eq!(w.probe("commit-holds-outputs").await, CheckOutcome::Pass);
    w.git(&["rm", "-q", "--cached", &format!("projects/{NAME}/out/layer 399.gbr")]);
    w.git(&["commit", "-qm", "theirs"]);
    assert_eq!(w.probe("commit-holds-outputs").await, CheckOutcome::Fail);
}

#[tokio::test]
async fn hooks_run_on_what_is_committed() {
    let w = World::new();
    w.hook("pre-commit", "git diff --cached --name-only > .git/seen");
    w.committed().await;
    assert_eq!(std::fs::read_to_string(w.git_dir().join("seen")).unwrap().lines().count(), 3);
    // One that puts more in is noticed, not hidden.
    let mut w = World::new();
    w.hook("pre-commit", "echo x > more; git add more");
    let seen = w.run().await;
    assert!(seen.summary.contains("1 more files"), "{}", seen.summary);
    // One that changes an output makes the commit not hold what was checked.
    w.write("out/drc.json", "{\"b\": 2}\n");
    w.outputs(&["out/drc.json"]);
    w.hook("pre-commit", "echo changed | git hash-object -w --stdin | xargs -I@ git update-index --cacheinfo 100644,@,\"$(git diff --cached --name-only | grep drc)\"");
    w.config("core.quotePath", "false");
    let (class, evidence) = w.class().await;
    assert_eq!(class, "ST-1", "{evidence:?}");
}

#[tokio::test]
async fn a_refusing_hook() {
    let w = World::new();
    for (hook, script) in [
        ("pre-commit", "echo 'no ticket number' >&2; exit 1"),
        ("commit-msg", "echo 'no ticket number' >&2; exit 3"),
    ] {
        w.hook(hook, script);
        let (class, evidence) = w.class().await;
        assert_eq!(class, "GIT-6", "{evidence:?}");
        assert!(
            evidence
                .signals
                .iter()
                .any(|s| s.code == "git.hook_refused" && s.text.contains("no ticket number"))
        );
        assert_eq!(w.git(&["diff", "--cached", "--name-only"]), "", "nothing is staged");
        std::fs::remove_file(w.git_dir().join("hooks").join(hook)).unwrap();
    }
    assert_eq!(w.probe("outputs-kept").await, CheckOutcome::Fail);
    assert_eq!(
        w.recover("snapshot-outputs").await.outcome,
        pcbflow_core::event::RecoveryOutcome::Done
    );
    assert_eq!(w.probe("outputs-kept").await, CheckOutcome::Pass, "a snapshot stands in");
    assert_eq!(w.probe("commit-holds-outputs").await, CheckOutcome::Fail);
}

#[tokio::test]
async fn ignored_outputs() {
    let w = World::new();
    std::fs::write(w.context.workspace.join(".gitignore"), "*.gbr\n").unwrap();
    let (class, evidence) = w.class().await;
    assert_eq!(class, "GIT-6", "{evidence:?}");
    assert_eq!(codes(&evidence), ["git.path_ignored"]);
    assert!(
        !std::fs::read_to_string(w.context.board_dir.join("project.yaml"))
            .unwrap()
            .contains("status:"),
        "not written before"
    );
    // One that is in the history already is not kept out by the rule.
    w.git(&["add", "-f", "."]);
    w.git(&["commit", "-qm", "theirs"]);
    w.committed().await;
}

#[tokio::test]
async fn filters_don_t_count_as_changes() {
    let mut w = World::new();
    std::fs::write(w.context.workspace.join(".gitattributes"), "*.json text eol=crlf\n").unwrap();
    w.write("out/drc.json", "{\r\n}\r\n");
    w.outputs(&["out/drc.json"]);
    w.committed().await;
    assert_eq!(w.git(&["status", "--porcelain", "-uno"]), "");
    assert_eq!(w.probe("commit-holds-outputs").await, CheckOutcome::Pass);
}

#[tokio::test]
async fn the_history_answers() {
    use pcbflow_checkpoint::git::{Git, anchor, committed};
    let mut w = World::new();
    let first = w.committed().await;
    w.context.key.phase = pcbflow_core::ids::PhaseId::new("13-more").unwrap();
    w.context.head.as_mut().unwrap().1.seq = pcbflow_core::ids::Seq(99);
    w.context.status = serde_json::json!({"phase": "13-more"});
    let second = w.committed().await;
    let git = Git::new(&w.services, &w.context.workspace, "t");
    let phase = pcbflow_core::ids::PhaseId::new(PHASE).unwrap();
    assert_eq!(committed(&git, &w.context.board, &phase).await.unwrap().commit, first);
    assert_eq!(
        committed(&git, &w.context.board, &w.context.key.phase).await.unwrap().commit,
        second
    );
    assert_eq!(anchor(&git, &w.context.board).await.unwrap().seq.0, 99);
    let other = pcbflow_core::ids::BoardName::new("other").unwrap();
    assert!(anchor(&git, &other).await.is_none());
    // Joined commits keep both.
    w.git(&["reset", "-q", "--soft", "HEAD~2"]);
    let both = format!(
        "joined\n\nPcbflow-Board: {NAME}\nPcbflow-Phase: {PHASE}\nPcbflow-Phase: 13-more\nPcbflow-Run: r-1\n"
    );
    w.git(&["commit", "-qm", &both]);
    assert_eq!(committed(&git, &w.context.board, &phase).await.unwrap().commit, w.head());
}

#[tokio::test]
async fn two_boards_at_once() {
    let w = World::new();
    let mut other = World::bare();
    // A second board of the same workspace, with its own scratch folder.
    let dir = w.context.workspace.join("projects/second");
    std::fs::create_dir_all(dir.join("out")).unwrap();
    std::fs::write(dir.join("project.yaml"), "board: second\nphases: []\n").unwrap();
    std::fs::write(dir.join("out/x"), "x").unwrap();
    let scratch = other.context.scratch.clone();
    other.context = w.context.clone();
    other.context.scratch = scratch;
    other.context.board = pcbflow_core::ids::BoardName::new("second").unwrap();
    other.context.board_dir = dir;
    other.outputs(&["out/x"]);
    let (a, b) = std::thread::scope(|s| {
        let run = |w: &World| {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(w.committed())
        };
        let (w, other) = (&w, &other);
        let a = s.spawn(move || run(w));
        let b = s.spawn(move || run(other));
        (a.join().unwrap(), b.join().unwrap())
    });
    assert_ne!(a, b);
    assert_eq!(w.count(), 3);
    assert_eq!(w.git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn by_the_ports_of_the_program() {
    use pcbflow_process::ProcessSpawn;
    use std::sync::Arc;
    let mut w = World::new();
    w.config("user.name", "Ann");
    w.config("user.email", "ann@example.org");
    let blobs = w.services.blobs.clone();
    w.services.spawn = Arc::new(ProcessSpawn::new(w.context.state_dir.clone(), blobs));
    let mut names = Vec::new();
    for n in 0..1500 {
        names.push(format!("out/a rather long name of a layer, to fill the output {n}.gbr"));
        w.write(&names[n], &format!("layer {n}"));
    }
    w.outputs(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let commit = w.committed().await;
    assert_eq!(w.head(), commit);
    assert_eq!(w.probe("commit-holds-outputs").await, CheckOutcome::Pass);
    assert_eq!(w.committed().await, commit);
    w.hook("pre-commit", "echo 'no ticket' >&2; exit 1");
    w.write("out/drc.json", "{\"n\": 9}\n");
    w.outputs(&["out/drc.json"]);
    assert_eq!(w.class().await.0, "GIT-6");
}

#[tokio::test]
async fn settings_of_a_person_don_t_change_what_is_read() {
    let mut w = World::new();
    for (key, value) in [
        ("grep.patternType", "fixed"),
        ("trailer.separators", "="),
        ("log.showSignature", "true"),
        ("commit.verbose", "true"),
        ("commit.cleanup", "strip"),
        ("core.commentChar", "P"),
        ("diff.noprefix", "true"),
        ("color.ui", "always"),
        ("core.quotePath", "true"),
        ("core.editor", "false"),
        ("commit.template", "nowhere"),
        ("status.short", "true"),
    ] {
        w.config(key, value);
    }
    let commit = w.committed().await;
    assert_eq!(w.committed().await, commit);
    // A lost event: the same run finds its commit although other work came on top of it.
    w.git(&["rm", "-q", "--cached", &format!("projects/{NAME}/out/drc.json")]);
    w.git(&["commit", "-qm", "theirs"]);
    assert_eq!(w.committed().await, commit);
    w.context.run = "r-2".into();
    assert_ne!(w.committed().await, commit);
}
