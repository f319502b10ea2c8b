//! Ladders: waits, actions, probes, lessons, and failures that change on the way.

use pcbflow_core::event::{Decision, Event, Fact};
use pcbflow_core::exit::Verdict;
use pcbflow_core::ids::{Seq, StreamId};
use pcbflow_core::ports::Ledger as _;

use crate::bench::{Bench, board, single, step};
use crate::world::Act;

const KINDS: [&str; 4] = ["read", "make", "guard", "once"];

#[tokio::test]
async fn a_passing_fault_gets_three_recorded_waits_and_nobody_sleeps_through_them() {
    for kind in KINDS {
        let bench = Bench::new();
        bench.world.script("s", &[Act::Fail("passing")]);
        let report = bench.run(&single(kind)).await;
        assert_eq!(report.verdict, Verdict::Failed, "{kind}");
        let waits = bench.waits();
        assert_eq!(waits.len(), 3, "{kind}: {:?}", bench.story("s"));
        for (wait, about) in waits.iter().zip([1000, 4000, 16_000]) {
            assert!(wait.abs_diff(about) <= about / 4, "{wait} is not near {about}");
        }
        assert_eq!(bench.world.called("run s"), 4, "{kind}");
        let slept: u64 = bench.clock.slept_ms.lock().unwrap().iter().sum();
        let waited: u64 = waits.iter().sum();
        assert!(slept.abs_diff(waited) < 10, "{slept} ms slept for waits of {waited} ms");
        bench.assert_replays();
    }
}

#[tokio::test]
async fn a_fault_that_passes_is_recovered_with_its_class_and_rung() {
    let bench = Bench::new();
    bench.world.script("s", &[Act::Fail("passing"), Act::Fail("passing"), Act::Pass]);
    let report = bench.run(&single("read")).await;
    assert_eq!(report.verdict, Verdict::Pass);
    assert_eq!(report.steps[0].recovered, Some(("SM-1".into(), "w3".into())));
    let healed = |f: &Fact| matches!(f, Fact::StepRecovered { attempts: 3, .. });
    assert_eq!(bench.count(healed), 1, "{:?}", bench.story("s"));
    let events = bench.events();
    let proof = events.iter().find_map(|e| match &e.fact {
        Fact::StepRecovered { proof, .. } => Some(*proof),
        _ => None,
    });
    let proof = &events[usize::try_from(proof.unwrap().0).unwrap()].fact;
    assert!(matches!(proof, Fact::CheckObserved { .. }), "{proof}");
}

#[tokio::test]
async fn what_the_other_side_asks_for_replaces_the_wait() {
    let bench = Bench::new();
    bench.world.script("s", &[Act::FailAfter("passing", 33), Act::Pass]);
    bench.run(&single("read")).await;
    assert_eq!(bench.waits(), [33_000]);
}

#[tokio::test]
async fn an_action_is_believed_only_after_its_probe() {
    let bench = Bench::new();
    bench.world.script("s", &[Act::Fail("broken"), Act::Pass]);
    bench.world.probes(&[false, true]);
    let report = bench.run(&single("read")).await;
    assert_eq!(report.verdict, Verdict::Pass);
    assert_eq!(
        bench.world.calls()[..6],
        ["run s", "recover first", "probe mended", "recover mend", "probe mended", "run s"]
    );
    assert_eq!(report.steps[0].recovered, Some(("SM-2".into(), "mend".into())));
    bench.assert_replays();
}

#[tokio::test]
async fn lessons_change_the_order_the_next_time() {
    let bench = Bench::new();
    bench.world.script("s", &[Act::Fail("broken"), Act::Pass, Act::Fail("broken"), Act::Pass]);
    bench.world.probes(&[false, true]);
    bench.run(&single("read")).await;
    bench.world.forget_calls();
    bench.run_with(&single("read"), |o| o.force = true).await;
    assert_eq!(bench.world.calls()[..4], ["run s", "recover mend", "probe mended", "run s"]);
    let lessons: Vec<_> = bench
        .events()
        .iter()
        .filter_map(|e| match &e.fact {
            Fact::LessonLearned { rung, worked, .. } => Some((rung.clone(), *worked)),
            _ => None,
        })
        .collect();
    let lesson = |rung: &str, worked| (rung.to_owned(), worked);
    assert_eq!(lessons, [lesson("first", false), lesson("mend", true), lesson("mend", true)]);
}

/// The same steps for another board of the workspace.
fn of_board(name: &str) -> pcbflow_core::manifest::Manifest {
    pcbflow_core::manifest::Manifest { board: name.parse().unwrap(), ..single("read") }
}

#[tokio::test]
async fn boards_learn_from_each_other_and_unlearn_what_is_wrong() {
    let bench = Bench::new();
    let fails = || bench.world.script("s", &[Act::Fail("broken"), Act::Pass]);
    let tried = || {
        let calls = bench.world.calls();
        bench.world.forget_calls();
        calls.into_iter().filter(|c| c.starts_with("recover")).collect::<Vec<_>>()
    };
    fails();
    bench.world.probes(&[false, true]);
    bench.run(&of_board("a")).await;
    assert_eq!(tried(), ["recover first", "recover mend"]);
    // What worked for 'a' goes first for 'b'. There it does not help.
    fails();
    bench.world.probes(&[false, true]);
    let report = bench.run(&single("read")).await;
    assert_eq!(report.verdict, Verdict::Pass);
    assert_eq!(tried(), ["recover mend", "recover first"]);
    bench.assert_replays();
    let taken: Vec<_> = bench
        .events()
        .into_iter()
        .filter(|e| matches!(e.fact, Fact::LessonLearned { .. }) && e.scope.step.is_none())
        .collect();
    assert_eq!(taken.len(), 1, "{taken:?}");
    // So it is unlearned: 'c' goes by the row's own order, and 'b' by what helped it.
    fails();
    bench.world.probes(&[true]);
    bench.run(&of_board("c")).await;
    assert_eq!(tried(), ["recover first"]);
    fails();
    bench.world.probes(&[true]);
    bench.run_with(&single("read"), |o| o.force = true).await;
    assert_eq!(tried(), ["recover first"]);
    // Each lesson stands in the workspace's stream once, whatever was run again.
    let all = |stream: &StreamId| bench.mem.read(stream, Seq(0), usize::MAX, true).unwrap();
    let own = |name: &str| {
        let stream = StreamId::Board(name.parse().unwrap());
        let lesson =
            |e: &Event| matches!(e.fact, Fact::LessonLearned { .. }) && e.scope.step.is_some();
        all(&stream).iter().filter(|e| lesson(e)).count()
    };
    let told = all(&StreamId::Workspace);
    let told = told.iter().filter(|e| matches!(e.fact, Fact::LessonLearned { .. })).count();
    assert_eq!(told, own("a") + own("b") + own("c"));
    assert!(told >= 5, "{told}");
}

#[tokio::test]
async fn an_action_that_never_worked_is_left_out_after_three_tries() {
    let bench = Bench::new();
    bench.world.script("s", &[Act::Fail("broken")]);
    bench.world.probes(&[false; 100]);
    for run in 1..=5 {
        bench.world.forget_calls();
        assert_eq!(bench.run(&single("read")).await.verdict, Verdict::NeedsPerson);
        let tried = usize::from(run <= 3);
        assert_eq!(bench.world.called("recover first"), tried, "run {run}");
        assert_eq!(bench.world.called("recover mend"), tried, "run {run}");
    }
    bench.assert_replays();
}

#[tokio::test]
async fn a_second_different_failure_is_the_one_acted_on() {
    let bench = Bench::new();
    let acts = [Act::Fail("broken"), Act::Fail("passing"), Act::Pass];
    bench.world.script("s", &acts);
    let report = bench.run(&single("read")).await;
    assert_eq!(report.verdict, Verdict::Pass);
    assert_eq!(report.steps[0].recovered, Some(("SM-1".into(), "w3".into())));
    let classes: Vec<_> = bench
        .events()
        .iter()
        .filter_map(|e| match &e.fact {
            Fact::FailureDiagnosed { class, .. } => Some(class.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(classes, ["SM-2", "SM-1"], "both stay, in order");
}

#[tokio::test]
async fn actions_that_nobody_knows_are_passed_over_to_the_end() {
    let bench = Bench::new();
    bench.world.script("s", &[Act::Fail("nobody")]);
    let report = bench.run(&single("read")).await;
    assert_eq!(report.verdict, Verdict::NeedsPerson, "{:?}", bench.story("s"));
    assert_eq!(bench.count(|f| matches!(f, Fact::RecoveryFinished { .. })), 3);
    assert_eq!(report.asks.len(), 1);
    bench.assert_replays();
}

#[tokio::test]
async fn an_action_that_panics_is_a_failed_action_and_the_ladder_goes_on() {
    let bench = Bench::new();
    bench.world.script("s", &[Act::Fail("without")]);
    let steps = vec![step("s", "read", &[]), step("t", "read", &[]), step("u", "read", &["s"])];
    let report = bench.run(&board(&[("01-p", steps)])).await;
    assert_eq!(report.verdict, Verdict::Unverified);
    assert_eq!(bench.world.called("run t"), 1, "what does not depend on it goes on");
    assert_eq!(bench.world.called("run u"), 0);
    let story = bench.story("s");
    assert!(story.contains(&"recovery useless: not applicable".to_owned()), "{story:?}");
    assert!(story.contains(&"recovery panics: failed".to_owned()), "{story:?}");
    assert!(story.contains(&"step held: blocked".to_owned()), "{story:?}");
}

#[tokio::test]
async fn a_probe_that_panics_proves_nothing() {
    let bench = Bench::new();
    bench.world.script("s", &[Act::Fail("panicky")]);
    let report = bench.run(&single("read")).await;
    assert_eq!(report.verdict, Verdict::NeedsPerson, "{:?}", bench.story("s"));
    assert_eq!(bench.world.called("run s"), 1);
}

#[tokio::test]
async fn a_step_that_panics_is_a_recorded_failure_and_the_run_ends_honestly() {
    for kind in KINDS {
        let bench = Bench::new();
        bench.world.script("s", &[Act::Panic]);
        let report = bench.run(&single(kind)).await;
        assert_eq!(report.verdict, Verdict::NeedsPerson, "{kind}");
        let most = if kind == "read" { 2 } else { 1 };
        assert_eq!(bench.world.called("run s"), most, "unknown: {:?}", bench.story("s"));
        assert!(bench.count(|f| matches!(f, Fact::FailureDiagnosed { known: false, .. })) >= 1);
        assert_eq!(bench.state().run.unwrap().stopped.as_deref(), Some("needs_person"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_that_never_comes_back_is_cut_off_and_tried_with_more_time() {
    let bench = Bench::new();
    bench.world.script("s", &[Act::Hang, Act::Pass]);
    let report = bench.run(&single("make")).await;
    assert_eq!(report.verdict, Verdict::Pass);
    assert_eq!(report.steps[0].recovered, Some(("SM-5".into(), "longer".into())));
    let deadlines: Vec<u64> = bench
        .events()
        .iter()
        .filter(|e| e.scope.step.as_ref().is_some_and(|s| s.as_str() == "s"))
        .filter_map(|e| match &e.fact {
            Fact::AttemptStarted { deadline_ms, .. } => Some(*deadline_ms),
            _ => None,
        })
        .collect();
    assert_eq!(deadlines, [60_000, 180_000]);
}

#[tokio::test(start_paused = true)]
async fn a_once_step_that_hangs_is_read_back_and_its_longer_deadline_kept() {
    let bench = Bench::new();
    bench.world.script("s", &[Act::Hang, Act::Pass]);
    let report = bench.run(&single("once")).await;
    assert_eq!(report.verdict, Verdict::Pass);
    assert_eq!(bench.world.calls()[..3], ["run s", "read s", "run s"]);
    let events = bench.events();
    let longest = events.iter().filter_map(|e| match &e.fact {
        Fact::DecisionTaken { decision: Decision::Attempt { deadline_ms, .. }, .. } => {
            Some(*deadline_ms)
        }
        _ => None,
    });
    assert_eq!(longest.max(), Some(180_000));
}

#[tokio::test]
async fn a_lost_connection_is_settled_by_reading_back() {
    for (act, runs) in [(Act::LandThenFail("lost"), 1), (Act::Fail("lost"), 2)] {
        for kind in ["guard", "once"] {
            let bench = Bench::new();
            bench.world.script("s", &[act.clone(), Act::Pass]);
            let report = bench.run(&single(kind)).await;
            assert_eq!(report.verdict, Verdict::Pass, "{:?}", bench.story("s"));
            assert_eq!((bench.world.effect("s"), bench.world.called("run s")), (1, runs));
            bench.assert_replays();
            // What was found counts with the inputs it was found for.
            bench.run(&single(kind)).await;
            assert_eq!(bench.world.effect("s"), 1);
        }
    }
}

#[tokio::test]
async fn half_of_an_effect_is_completed_by_a_guarded_step_and_asked_about_by_a_once_step() {
    let bench = Bench::new();
    bench.world.script("s", &[Act::PartThenFail("lost"), Act::Pass]);
    assert_eq!(bench.run(&single("guard")).await.verdict, Verdict::Pass);
    let bench = Bench::new();
    bench.world.script("s", &[Act::PartThenFail("lost"), Act::Pass]);
    assert_eq!(bench.run(&single("once")).await.verdict, Verdict::NeedsPerson);
    // Reading still finds the half: the person's 'retry' is no proof.
    bench.answer("a1", "retry");
    assert_eq!(bench.run(&single("once")).await.verdict, Verdict::NeedsPerson);
    assert_eq!(bench.world.called("run s"), 1);
}

#[tokio::test]
async fn where_reading_can_not_tell_the_word_of_the_person_counts_once() {
    let bench = Bench::new();
    bench.world.blind.store(true, std::sync::atomic::Ordering::SeqCst);
    bench.world.script("s", &[Act::Fail("lost"), Act::Fail("lost"), Act::Pass]);
    bench.run(&single("once")).await;
    let mut report = bench.run(&single("once")).await;
    for runs in [1, 2] {
        assert_eq!(report.verdict, Verdict::NeedsPerson);
        assert_eq!(bench.world.called("run s"), runs, "{:?}", bench.story("s"));
        bench.answer(report.asks[0].id.as_str(), "retry");
        report = bench.run(&single("once")).await;
    }
    assert_eq!(bench.world.called("run s"), 3, "{:?}", bench.story("s"));
    assert_eq!(bench.story("s").last().unwrap(), "step passed: pass");
    bench.assert_replays();
}

#[tokio::test]
async fn what_cant_be_told_is_asked() {
    let bench = Bench::new();
    bench.world.blind.store(true, std::sync::atomic::Ordering::SeqCst);
    bench.world.script("s", &[Act::LandThenFail("lost"), Act::Pass]);
    let report = bench.run(&single("once")).await;
    assert_eq!(report.verdict, Verdict::NeedsPerson);
    assert_eq!((bench.world.effect("s"), bench.world.called("run s")), (1, 1));
}
