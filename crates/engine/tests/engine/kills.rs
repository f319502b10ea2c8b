//! Kills: at every append, before and after it is on disk, and in every call of a subsystem,
//! before and after what it does. Whatever the place, the resumed run comes to the same end, and
//! every effect that may land once has landed once.

use std::sync::atomic::Ordering;

use pcbflow_core::check::PhaseVerdict;
use pcbflow_core::event::Fact;
use pcbflow_core::exit::Verdict;
use pcbflow_core::ids::AttemptNo;
use pcbflow_core::manifest::Manifest;

use crate::bench::{Bench, board, step};
use crate::faulty::{Faulty, How};
use crate::world::Act;

/// Most starts until a board is finished after one kill.
const STARTS_MAX: usize = 4;

fn manifest() -> Manifest {
    board(&[
        ("01-a", vec![step("draw", "make", &[]), step("check", "read", &["draw"])]),
        ("02-b", vec![step("place", "guard", &[]), step("order", "once", &["place"])]),
        ("03-c", vec![step("last", "once", &[])]),
    ])
}

/// A world in which some steps need their ladders.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.world.script("draw", &[Act::Fail("passing"), Act::Pass]);
    bench.world.script("check", &[Act::Warn]);
    bench.world.script("place", &[Act::Fail("broken"), Act::Pass]);
    bench.world.script("order", &[Act::Fail("lost"), Act::LandThenFail("lost")]);
    bench
}

/// Runs until the run ends by itself or the process dies.
async fn live(bench: &Bench) -> Option<Verdict> {
    let manifest = manifest();
    tokio::select! {
        biased;
        result = bench.try_run(&manifest, |_| {}) => result.ok().map(|r| r.verdict),
        () = bench.world.died.notified() => None,
    }
}

/// Starts again until it is finished.
async fn survive(bench: Bench, what: &str) -> Bench {
    let mut bench = bench;
    let mut verdict = live(&bench).await;
    for _ in 0..STARTS_MAX {
        if let Some(verdict) = verdict {
            assert_eq!(verdict, Verdict::Pass, "{what}");
            break;
        }
        bench = Bench { ledger: bench.mem.clone(), ..bench };
        bench.world.reborn();
        verdict = live(&bench).await;
    }
    assert_eq!(verdict, Some(Verdict::Pass), "{what}");
    bench
}

fn assert_whole(bench: &Bench, what: &str) {
    for once in ["place", "order", "last"] {
        assert_eq!(bench.world.effect(once), 1, "{what}: {once} {:?}", bench.story(once));
    }
    let commits = bench.world.commits();
    assert_eq!(commits.len(), 3, "{what}: {commits:?}");
    assert!(commits.values().all(|n| *n == 1), "{what}: {commits:?}");
    let state = bench.state();
    let verdicts: Vec<_> = state.phases.values().map(|p| p.verdict.unwrap().0).collect();
    use PhaseVerdict::{Conditional, Pass};
    assert_eq!(verdicts, [Conditional, Pass, Pass], "{what}");
    assert!(state.phases.values().all(|p| p.is_done()), "{what}");
    assert_eq!(bench.count(|f| matches!(f, Fact::RunStarted { .. })), 1, "{what}: one run");
    bench.assert_replays();
}

#[tokio::test]
async fn a_kill_at_every_append() {
    let counting = bench();
    let ledger = Faulty::new(&counting.mem, &counting.world, usize::MAX, How::DiesAfter);
    let counting = Bench { ledger: ledger.clone(), ..counting };
    assert_eq!(live(&counting).await, Some(Verdict::Pass));
    assert_whole(&counting, "uninterrupted");
    let appends = ledger.appends.load(Ordering::SeqCst);
    assert!(appends > 30, "{appends}");
    for how in [How::DiesAfter, How::DiesBefore] {
        for at in 1..=appends {
            let what = format!("{how:?} append {at}");
            let fresh = bench();
            let ledger = Faulty::new(&fresh.mem, &fresh.world, at, how);
            let bench = survive(Bench { ledger, ..fresh }, &what).await;
            // Killed before anything was recorded, the second start is the first.
            assert_whole(&bench, &what);
        }
    }
}

#[tokio::test]
async fn a_kill_in_every_call() {
    let counting = bench();
    assert_eq!(live(&counting).await, Some(Verdict::Pass));
    let calls = counting.world.calls_counted();
    assert!(calls > 10, "{calls}");
    for after in [false, true] {
        for at in 1..=calls {
            let what = format!("in call {at}, after it: {after}");
            let fresh = bench();
            fresh.world.die_at.store(at, Ordering::SeqCst);
            fresh.world.die_after.store(after, Ordering::SeqCst);
            let bench = survive(fresh, &what).await;
            assert_whole(&bench, &what);
        }
    }
}

#[tokio::test]
async fn two_kills_in_a_row() {
    for first in (1..24).step_by(3) {
        for second in 1..8 {
            let what = format!("append {first}, then append {second}");
            let fresh = bench();
            let ledger = Faulty::new(&fresh.mem, &fresh.world, first, How::DiesAfter);
            let bench = Bench { ledger, ..fresh };
            if live(&bench).await.is_none() {
                bench.world.reborn();
            }
            let ledger = Faulty::new(&bench.mem, &bench.world, second, How::DiesAfter);
            let bench = survive(Bench { ledger, ..bench }, &what).await;
            assert_whole(&bench, &what);
        }
    }
}

#[tokio::test]
async fn a_once_step_that_dies_in_the_act_is_read_back() {
    for (act, runs) in [(Act::DieBefore, 2), (Act::DieAfter, 1)] {
        let bench = Bench::new();
        bench.world.script("last", &[act, Act::Pass]);
        let bench = survive(bench, "in the act").await;
        assert_eq!((bench.world.called("run last"), bench.world.effect("last")), (runs, 1));
        let tags = bench.host.ended.lock().unwrap().clone();
        assert_eq!(tags.len(), 1, "its processes are ended before anything is read");
        let events = bench.events();
        let first = events.iter().rev().find_map(|e| match &e.fact {
            Fact::AttemptStarted { tag, .. } if e.scope.attempt == Some(AttemptNo(1)) => {
                e.step_key().filter(|k| k.step.as_str() == "last").map(|_| tag.clone())
            }
            _ => None,
        });
        assert_eq!(Some(&tags[0]), first.as_ref());
        // What was found landed is up to date the next time.
        bench.run_with(&manifest(), |o| o.jobs = 1).await;
        assert_eq!(bench.world.effect("last"), 1);
    }
}
