//! A board of two commands, run from Rust, on disk.

use std::path::Path;
use std::sync::{Arc, Mutex};

use pcbflow_core::event::Fact;
use pcbflow_core::exit::Verdict;
use pcbflow_core::ids::Seq;
use pcbflow_example_embed::{Session, Tell};

const MANIFEST: &str = "board: door-sensor
phases:
  - id: 02-bom-planning
    steps:
      - id: list
        uses: process/command
        with: { argv: [sh, -c, 'echo R1,10k > out.csv'] }
        outputs: [out.csv]
      - id: count
        uses: process/command
        with: { argv: [grep, -c, R1, out.csv] }
        needs: [list]
";

fn workspace(dir: &Path) {
    let board = dir.join("projects/door-sensor");
    std::fs::create_dir_all(&board).expect("a folder");
    std::fs::write(dir.join("pcbflow.toml"), "").expect("a file");
    std::fs::write(dir.join(".gitignore"), ".pcbflow/\n.logs/\n").expect("a file");
    std::fs::write(board.join("project.yaml"), MANIFEST).expect("a file");
    for args in [
        &["init", "-q"][..],
        &["config", "user.name", "Ann"],
        &["config", "user.email", "ann@example.com"],
    ] {
        let done = std::process::Command::new("git").args(args).current_dir(dir).status();
        assert!(done.expect("git runs").success());
    }
}

#[tokio::test]
async fn a_board_runs_and_its_record_stays() {
    let dir = tempfile::tempdir().expect("a folder");
    let state = tempfile::tempdir().expect("a folder");
    workspace(dir.path());
    let live = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&live);
    let tell = Arc::new(Tell(move |e: &pcbflow_core::event::Event| {
        seen.lock().expect("nobody panics").push(e.seq);
    }));
    let session = Session::open(dir.path(), "door-sensor", Some(state.path()), tell)
        .expect("the board opens");
    let report = session.run().await.expect("it runs");
    assert_eq!(report.verdict, Verdict::Pass, "{report:?}");
    assert!(report.phases[0].2.is_some(), "its outputs are committed: {report:?}");

    // What was told live is what is on disk, after the two events that opened the stream.
    let events = session.events(Seq(0)).expect("a record");
    let on_disk: Vec<Seq> = events.iter().skip(2).map(|e| e.seq).collect();
    assert_eq!(*live.lock().expect("nobody panics"), on_disk);

    // Another session goes on with the same record, and has nothing to do.
    drop(session);
    let quiet = Arc::new(Tell(|_: &pcbflow_core::event::Event| {}));
    let session = Session::open(dir.path(), "door-sensor", Some(state.path()), quiet)
        .expect("it opens again");
    let report = session.run().await.expect("it runs");
    assert_eq!(report.verdict, Verdict::Pass);
    let attempts = |e: &&pcbflow_core::event::Event| matches!(e.fact, Fact::AttemptStarted { .. });
    let again = session.events(Seq(0)).expect("a record");
    assert_eq!(again.iter().filter(attempts).count(), events.iter().filter(attempts).count());
}
