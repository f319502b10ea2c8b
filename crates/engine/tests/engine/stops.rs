//! Stops: Ctrl-C, a full disk, other writers, two runs at once, a clock that goes back.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pcbflow_core::event::{Ended, Event, Fact, StopCause};
use pcbflow_core::exit::{Exit, Verdict};
use pcbflow_core::ports::LedgerError;
use pcbflow_engine::{Claim, EngineError, fold_board};

use crate::bench::{Bench, board, single, step};
use crate::faulty::{Faulty, How};
use crate::flow::three_phases;
use crate::world::Act;

fn stop_when(bench: &Bench, when: impl Fn(&Event) -> bool + Send + 'static) {
    let wish = bench.wish.clone();
    bench.watcher.on(move |e| {
        if when(e) {
            wish.stop();
        }
    });
}

fn starts(step: &'static str) -> impl Fn(&Event) -> bool + Send {
    move |e| {
        let here = e.scope.step.as_ref().is_some_and(|s| s.as_str() == step);
        here && matches!(e.fact, Fact::AttemptStarted { .. })
    }
}

#[tokio::test]
async fn ctrl_c_in_the_middle_stops_and_the_next_run_goes_on() {
    for kind in ["read", "make", "guard", "once"] {
        let bench = Bench::new();
        bench.world.script("s", &[Act::UntilStopped, Act::Pass]);
        stop_when(&bench, starts("s"));
        let report = bench.run(&single(kind)).await;
        assert_eq!((report.verdict, report.exit), (Verdict::Stopped, Exit::Interrupted));
        assert_eq!(report.cause, StopCause::Interrupted);
        assert_eq!(bench.count(|f| matches!(f, Fact::FailureDiagnosed { .. })), 0);
        let stopped = |f: &Fact| matches!(f, Fact::AttemptFinished { ended: Ended::Stopped, .. });
        assert_eq!(bench.count(stopped), 1);
        assert_eq!(bench.host.statuses.lock().unwrap().len(), 1);

        bench.wish.clear();
        bench.watcher.on(|_| {});
        bench.world.forget_calls();
        let report = bench.run(&single(kind)).await;
        assert_eq!((report.verdict, bench.world.effect("s")), (Verdict::Pass, 1), "{kind}");
        assert_eq!(report.resumed_at.unwrap().step.as_str(), "s");
        let reads = usize::from(kind == "guard" || kind == "once");
        assert_eq!(bench.world.called("read s"), reads, "{kind}: settled before it is repeated");
        assert_eq!(bench.count(|f| matches!(f, Fact::RunStarted { .. })), 1);
        bench.assert_replays();
    }
}

#[tokio::test]
async fn a_termination_says_so() {
    let bench = Bench::new();
    *bench.host.terminated.lock().unwrap() = true;
    bench.world.script("draw", &[Act::UntilStopped]);
    stop_when(&bench, starts("draw"));
    let report = bench.run(&three_phases()).await;
    assert_eq!((report.verdict, report.exit), (Verdict::Stopped, Exit::Terminated));
    assert_eq!(bench.state().run.unwrap().stopped.as_deref(), Some("terminated"));
}

#[tokio::test(start_paused = true)]
async fn a_step_that_does_not_heed_the_stop_is_cut_off() {
    let bench = Bench::new();
    bench.world.script("s", &[Act::Hang]);
    stop_when(&bench, starts("s"));
    let before = tokio::time::Instant::now();
    let mut manifest = single("once");
    manifest.phases[0].steps[0].timeout_ms = Some(3_600_000);
    assert_eq!(bench.run(&manifest).await.cause, StopCause::Interrupted);
    assert!(before.elapsed().as_secs() < 20, "{:?}", before.elapsed());
}

#[tokio::test]
async fn a_stop_during_a_wait_does_not_wait_it_out_and_the_wait_is_not_drawn_again() {
    let bench = Bench::new();
    bench.world.script("s", &[Act::Fail("passing"), Act::Pass]);
    stop_when(&bench, |e| matches!(e.fact, Fact::FailureDiagnosed { .. }));
    bench.run(&single("read")).await;
    bench.wish.clear();
    bench.watcher.on(|_| {});
    assert_eq!(bench.run(&single("read")).await.verdict, Verdict::Pass);
    assert_eq!(bench.waits().len(), 1);
    bench.assert_replays();
}

#[tokio::test]
async fn what_changed_between_a_stop_and_the_resume_is_run_again() {
    let bench = Bench::new();
    bench.world.script("join", &[Act::UntilStopped, Act::Pass]);
    stop_when(&bench, starts("join"));
    let mut manifest = three_phases();
    manifest.phases[0].steps[0].inputs = Some(vec!["source".into()]);
    assert_eq!(bench.run(&manifest).await.cause, StopCause::Interrupted);
    bench.wish.clear();
    bench.watcher.on(|_| {});
    bench.world.forget_calls();
    // A source of a finished phase was edited, and a step of this one was written anew. What
    // needs the step of that source is looked at only after its output is there.
    std::fs::write(bench.dir.path().join("projects/b/source"), "edited").unwrap();
    manifest.phases[1].steps[0].timeout_ms = Some(7_000);
    *bench.world.content.lock().unwrap() = "new".into();
    let report = bench.run(&manifest).await;
    assert_eq!(report.verdict, Verdict::Pass);
    assert_eq!(bench.count(|f| matches!(f, Fact::RunStarted { .. })), 1);
    let ran = |what: &str| bench.world.called(&format!("run {what}"));
    assert_eq!((ran("draw"), ran("check"), ran("left"), ran("right")), (1, 1, 1, 0));
    assert_eq!((ran("join"), ran("commit outputs")), (1, 3), "{:?}", bench.world.calls());
    bench.assert_replays();
}

#[tokio::test]
async fn findings_that_were_mended_during_a_stop_are_looked_at_again() {
    let bench = Bench::new();
    bench.world.script("a", &[Act::Findings, Act::Pass]);
    bench.world.script("b", &[Act::UntilStopped, Act::Pass]);
    let manifest = board(&[("01-p", vec![step("a", "read", &[]), step("b", "make", &[])])]);
    stop_when(&bench, |e| matches!(e.fact, Fact::StepHeld { .. }));
    bench.run(&manifest).await;
    bench.wish.clear();
    bench.watcher.on(|_| {});
    *bench.world.version.lock().unwrap() = "2".into();
    assert_eq!(bench.run(&manifest).await.verdict, Verdict::Pass);
}

#[tokio::test]
async fn a_full_disk_stops_the_run_and_nothing_more_is_done() {
    let whole = {
        let bench = Bench::new();
        let counting = Faulty::new(&bench.mem, &bench.world, usize::MAX, How::Full);
        let bench = Bench { ledger: counting.clone(), ..bench };
        bench.run(&three_phases()).await;
        counting.appends.load(Ordering::SeqCst)
    };
    for at in 1..=whole {
        let bench = Bench::new();
        let ledger = Faulty::new(&bench.mem, &bench.world, at, How::Full);
        let bench = Bench { ledger, ..bench };
        match bench.try_run(&three_phases(), |_| {}).await {
            Err(EngineError::Ledger(LedgerError::DiskFull { .. })) => {}
            other => panic!("{at}: {other:?}"),
        }
        let intents = bench.count(|f| matches!(f, Fact::AttemptStarted { .. }));
        let acts = bench.world.calls().iter().filter(|c| c.starts_with("run")).count();
        assert!(acts <= intents, "{at}: an act without its intent");
        let bench = Bench { ledger: bench.mem.clone(), ..bench };
        assert_eq!(bench.run(&three_phases()).await.verdict, Verdict::Pass, "{at}");
        assert!(bench.world.effects().iter().all(|(s, n)| *n == 1 || s != "order"), "{at}");
        bench.assert_replays();
    }
}

#[tokio::test]
async fn another_writer_between_any_two_appends_changes_nothing() {
    let bench = Bench::new();
    bench.world.script("draw", &[Act::Fail("passing"), Act::Pass]);
    bench.world.script("order", &[Act::Fail("lost"), Act::Pass]);
    let ledger = Faulty::new(&bench.mem, &bench.world, 0, How::Contended);
    let bench = Bench { ledger, ..bench };
    assert_eq!(bench.run(&three_phases()).await.verdict, Verdict::Pass);
    assert!(bench.count(|f| matches!(f, Fact::Noted { .. })) > 10);
    assert_eq!(bench.world.effect("order"), 1);
    bench.assert_replays();
}

#[tokio::test]
async fn a_stream_that_never_rests_ends_the_run() {
    let bench = Bench::new();
    let ledger = Faulty::new(&bench.mem, &bench.world, 0, How::AlwaysContended);
    let bench = Bench { ledger, ..bench };
    let result = bench.try_run(&single("once"), |_| {}).await;
    assert!(matches!(result, Err(EngineError::Contended { .. })), "{result:?}");
    assert_eq!(bench.world.effect("s"), 0);
}

#[tokio::test]
async fn two_runs_at_once_are_busy_and_a_dropped_run_frees_the_board() {
    let bench = Bench::new();
    bench.world.script("s", &[Act::Hang]);
    let manifest = single("once");
    {
        let first = bench.run(&manifest);
        tokio::pin!(first);
        let hung = async {
            while bench.world.called("run s") == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            _ = &mut first => panic!("it hangs"),
            () = hung => {}
        }
        let second = bench.try_run(&manifest, |_| {}).await;
        assert!(matches!(second, Err(EngineError::Busy { pid: 7, .. })), "{second:?}");
        assert_eq!(bench.count(|f| matches!(f, Fact::RunStarted { .. })), 1);
    }
    let (state_dir, board) = (bench.setup(&manifest).state_dir, manifest.board.clone());
    let owner = bench.parts().owner;
    Claim::take(&state_dir, &board, &owner, Default::default()).unwrap();
}

#[tokio::test]
async fn a_clock_that_goes_back_is_noted_and_makes_no_wait_longer() {
    let bench = Bench::new();
    bench.run(&single("read")).await;
    bench.clock.jump_ms(-86_400_000);
    bench.world.script("s", &[Act::Fail("passing"), Act::Pass]);
    let clock = bench.clock.clone();
    bench.watcher.on(move |e| {
        // Just when a wait was decided, the clock goes back by a day.
        let wait = |f: &Fact| f.to_string().contains("after");
        if wait(&e.fact) {
            clock.jump_ms(-86_400_000);
        }
    });
    let report = bench.run_with(&single("read"), |o| o.force = true).await;
    assert_eq!(report.verdict, Verdict::Pass);
    assert!(report.notes.contains_key("clock_went_back"));
    let slept: u64 = bench.clock.slept_ms.lock().unwrap().iter().sum();
    assert!(slept <= 600_000, "{slept} ms");
    bench.assert_replays();
}

#[tokio::test]
async fn a_stored_fold_and_a_fold_from_nothing_agree() {
    let bench = Bench::new();
    for act in [Act::Findings, Act::Fail("strange"), Act::Pass] {
        bench.world.script("check", &[act]);
        bench.run(&three_phases()).await;
        let (_, cached) = fold_board(bench.mem.as_ref(), &"b".parse().unwrap()).unwrap();
        assert_eq!(cached, bench.state());
    }
}

#[tokio::test]
async fn private_folders_go_with_their_job_or_with_the_next_run() {
    let bench = Bench::new();
    let tmp = bench.dir.path().join(".pcbflow/tmp");
    for left in ["b-99-1", "b-7-3", "other-99-1", "b-2-99-1"] {
        std::fs::create_dir_all(tmp.join(left)).unwrap();
    }
    bench.run(&three_phases()).await;
    let mut left: Vec<_> = std::fs::read_dir(&tmp)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["b-2-99-1", "other-99-1"]);
}

#[tokio::test]
async fn a_look_at_checks_after_a_kill_leaves_the_open_step_to_be_settled() {
    let bench = Bench::new();
    bench.world.script("order", &[Act::DieAfter, Act::Pass]);
    let bench = Arc::new(bench);
    let manifest = three_phases();
    tokio::select! {
        _ = bench.run(&manifest) => panic!("it dies"),
        () = bench.world.died.notified() => {}
    }
    bench.world.reborn();
    bench.run_with(&manifest, |o| o.checks_only = true).await;
    assert!(!bench.host.ended.lock().unwrap().is_empty(), "its processes are ended first");
    let cut = |f: &Fact| matches!(f, Fact::AttemptFinished { ended: Ended::CutShort, .. });
    assert_eq!(bench.count(cut), 1);
    assert_eq!(bench.run(&manifest).await.verdict, Verdict::Pass);
    assert_eq!(bench.world.effect("order"), 1);
    bench.assert_replays();
}
