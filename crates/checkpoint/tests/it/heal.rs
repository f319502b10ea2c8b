//! Actions and probes of the ladders, and publishing.

use std::os::unix::fs::PermissionsExt as _;

use pcbflow_core::check::CheckOutcome;
use pcbflow_core::event::RecoveryOutcome;
use pcbflow_core::ids::KindName;

use crate::support::{World, codes};

/// A remote of the workspace's repository, and a second clone of it.
fn remote(w: &World) -> (std::path::PathBuf, std::path::PathBuf) {
    let base = w.context.workspace.parent().unwrap().to_owned();
    let (bare, clone) = (base.join("remote.git"), base.join("clone"));
    assert!(
        w.git_in(&base, &["init", "-q", "--bare", "-b", "main", "remote.git"]).status.success()
    );
    w.git(&["remote", "add", "origin", "../remote.git"]);
    w.git(&["push", "-q", "-u", "origin", "main"]);
    assert!(w.git_in(&base, &["clone", "-q", "remote.git", "clone"]).status.success());
    (bare, clone)
}

fn theirs(w: &World, clone: &std::path::Path, name: &str, text: &str) {
    std::fs::write(clone.join(name), text).unwrap();
    for args in [&["add", name][..], &["commit", "-qm", "theirs"], &["push", "-q"]] {
        assert!(w.git_in(clone, args).status.success());
    }
}

fn pushing(w: &mut World) {
    w.context.step.uses = KindName::new("checkpoint/push").unwrap();
}

#[tokio::test]
async fn push_and_a_branch_that_moved() {
    let mut w = World::new();
    let (_bare, clone) = remote(&w);
    w.committed().await;
    assert_eq!(w.probe("remote-equals-local").await, CheckOutcome::Fail);
    pushing(&mut w);
    let seen = w.run().await;
    assert_eq!(seen.records["pushed"], w.head(), "{seen:?}");
    assert_eq!(w.probe("remote-equals-local").await, CheckOutcome::Pass);
    // The others went on: rejected, fetched, moved forward.
    assert!(w.git_in(&clone, &["pull", "-q"]).status.success());
    theirs(&w, &clone, "notes.txt", "theirs\n");
    std::fs::write(w.context.workspace.join("mine.txt"), "mine\n").unwrap();
    w.git(&["add", "mine.txt"]);
    w.git(&["commit", "-qm", "mine"]);
    let (class, evidence) = w.class().await;
    assert_eq!(class, "GIT-4", "{evidence:?}");
    assert!(codes(&evidence).contains(&"git.push_rejected".to_owned()));
    assert_eq!(w.recover("fast-forward").await.outcome, RecoveryOutcome::NotApplicable);
    assert_eq!(w.probe("merge-whole").await, CheckOutcome::Fail);
    let merged = w.recover("merge-text-in-scratch").await;
    assert_eq!(merged.outcome, RecoveryOutcome::Done, "{merged:?}");
    assert_eq!(w.probe("merge-whole").await, CheckOutcome::Pass);
    assert_eq!(w.git(&["log", "-1", "--format=%P"]).split(' ').count(), 2, "both parents");
    assert!(w.run().await.records.contains_key("pushed"));
    // Only theirs: a plain move forward.
    assert!(w.git_in(&clone, &["pull", "-q"]).status.success());
    theirs(&w, &clone, "notes.txt", "more\n");
    assert_eq!(w.recover("fast-forward").await.outcome, RecoveryOutcome::Done);
    assert_eq!(w.probe("merge-whole").await, CheckOutcome::Pass);
}

#[tokio::test]
async fn a_design_file_on_both_sides_is_the_persons() {
    let w = World::new();
    let (_bare, clone) = remote(&w);
    theirs(&w, &clone, "x.kicad_pcb", "(a)\n");
    std::fs::write(w.context.workspace.join("x.kicad_pcb"), "(b)\n").unwrap();
    w.git(&["add", "x.kicad_pcb"]);
    w.git(&["commit", "-qm", "mine"]);
    let head = w.head();
    assert_eq!(w.recover("fast-forward").await.outcome, RecoveryOutcome::NotApplicable);
    let refused = w.recover("merge-text-in-scratch").await;
    assert_eq!(refused.outcome, RecoveryOutcome::NotApplicable);
    assert!(refused.summary.contains("x.kicad_pcb"));
    assert_eq!(w.head(), head);
}

#[tokio::test]
async fn nobody_listens() {
    let mut w = World::new();
    w.git(&["remote", "add", "origin", "http://127.0.0.1:9/x.git"]);
    pushing(&mut w);
    let (class, evidence) = w.class().await;
    assert_eq!(class, "GIT-5", "{evidence:?}");
    assert_eq!(w.recover("again-at-phase-end").await.outcome, RecoveryOutcome::Done);
    assert_eq!(w.probe("remote-equals-local").await, CheckOutcome::CouldNotRun);
}

#[tokio::test]
async fn a_sign_in_is_wanted() {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(20) {
            let mut stream = stream.unwrap();
            let mut bytes = [0; 2048];
            assert!(stream.read(&mut bytes).unwrap() > 0);
            stream
                .write_all(b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                .ok();
        }
    });
    let mut w = World::new();
    w.git(&["remote", "add", "origin", &format!("http://127.0.0.1:{port}/x.git")]);
    pushing(&mut w);
    let (class, evidence) = w.class().await;
    assert_eq!(class, "GIT-1", "{evidence:?}");
    assert!(codes(&evidence).contains(&"git.credential_missing".to_owned()), "{evidence:?}");
}

#[tokio::test]
async fn a_damaged_history_heals_from_its_remote() {
    let w = World::new();
    w.committed().await;
    remote(&w);
    let ids = ["HEAD^{tree}", "HEAD:.gitignore"].map(|what| w.git(&["rev-parse", what]));
    for id in ids {
        let object = w.git_dir().join("objects").join(&id[..2]).join(&id[2..]);
        std::fs::set_permissions(&object, std::fs::Permissions::from_mode(0o644)).unwrap();
        std::fs::write(&object, "garbage").unwrap();
    }
    assert_eq!(w.probe("history-sound").await, CheckOutcome::Fail);
    let done = w.recover("fetch-into-copy").await;
    assert_eq!(done.outcome, RecoveryOutcome::Done, "{done:?}");
    assert_eq!(w.probe("history-sound").await, CheckOutcome::Pass);
    assert_eq!(w.probe("commit-holds-outputs").await, CheckOutcome::Pass);
}

#[tokio::test]
async fn the_record_is_corrected_from_the_board() {
    let mut w = World::new();
    w.write("b.kicad_pcb", "(board (layers 2))");
    let record = pcbflow_checkpoint::record::of(b"(board (layers 2))");
    w.context.records.insert("file.b.kicad_pcb".into(), record);
    assert_eq!(pcbflow_checkpoint::record::evidence(&w.context), None);
    assert_eq!(w.probe("manifest-equals-live").await, CheckOutcome::Pass);
    w.write("b.kicad_pcb", "(board\n  (layers 2))");
    let layout = pcbflow_checkpoint::record::evidence(&w.context).unwrap();
    assert_eq!(crate::support::diagnose(&layout), "none", "layout only");
    w.write("b.kicad_pcb", "(board (layers 4))");
    let facts = pcbflow_checkpoint::record::evidence(&w.context).unwrap();
    assert_eq!(crate::support::diagnose(&facts), "ST-3");
    assert_eq!(w.probe("manifest-equals-live").await, CheckOutcome::Fail);
    let done = w.recover("correct-record").await;
    assert_eq!(done.outcome, RecoveryOutcome::Done);
    w.context.notes.extend(done.notes);
    assert_eq!(w.probe("manifest-equals-live").await, CheckOutcome::Pass);
    assert_eq!(w.recover("unverify-affected").await.outcome, RecoveryOutcome::Done);
    std::fs::remove_file(w.context.board_dir.join("b.kicad_pcb")).unwrap();
    assert_eq!(w.recover("correct-record").await.outcome, RecoveryOutcome::NotApplicable);
    assert_eq!(w.probe("manifest-equals-live").await, CheckOutcome::Fail);
}

#[tokio::test]
async fn notes_and_recorded_results() {
    let mut w = World::new();
    assert_eq!(w.recover("take-recorded-result").await.outcome, RecoveryOutcome::Done);
    assert_eq!(w.probe("output-equals-record").await, CheckOutcome::Pass);
    assert_eq!(w.probe("finished-unchanged").await, CheckOutcome::Pass);
    std::fs::remove_file(w.context.board_dir.join("out/drc.json")).unwrap();
    assert_eq!(w.recover("take-recorded-result").await.outcome, RecoveryOutcome::NotApplicable);
    assert_eq!(w.probe("output-equals-record").await, CheckOutcome::Fail);
    w.context.notes.insert("note.head".into(), "3:old".into());
    assert_eq!(w.probe("value-is-newest").await, CheckOutcome::Fail);
    let done = w.recover("read-live").await;
    w.context.notes.extend(done.notes);
    assert_eq!(w.probe("value-is-newest").await, CheckOutcome::Pass);
    assert_eq!(w.recover("supersede-note").await.outcome, RecoveryOutcome::Done);
}

#[tokio::test]
async fn every_action_and_probe_of_the_rows_is_known() {
    use pcbflow_checkpoint::rows::{actions, probes};
    let w = World::bare();
    for action in actions::ALL {
        let done = w.recover(action).await;
        assert!(!done.summary.contains("no such action"), "{action}");
    }
    use pcbflow_core::ports::Subsystem as _;
    for probe in probes::ALL {
        let seen = w.subsystem.probe(&w.context, &w.services, probe).await;
        assert!(!seen.reason.contains("no such probe"), "{probe}");
        assert_eq!(seen.name, *probe);
    }
}
