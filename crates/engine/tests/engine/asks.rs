//! Asks: answered between runs, from another process, or seen by a probe.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use pcbflow_core::event::{Actor, Event, Fact, NewEvent, StopCause};
use pcbflow_core::exit::Verdict;
use pcbflow_core::ports::{Expect, Ledger};

use crate::bench::{Bench, board, single, step, stream};
use crate::world::Act;

fn runs(bench: &Bench) -> (usize, usize) {
    (
        bench.count(|f| matches!(f, Fact::RunStarted { .. })),
        bench.count(|f| matches!(f, Fact::RunResumed { .. })),
    )
}

#[tokio::test]
async fn an_answered_ask_goes_on_with_the_same_run() {
    let bench = Bench::new();
    bench.world.script("s", &[Act::Fail("strange"), Act::Fail("strange"), Act::Pass]);
    let manifest = board(&[("01-p", vec![step("s", "read", &[]), step("t", "read", &["s"])])]);
    let report = bench.run(&manifest).await;
    assert_eq!(report.cause, StopCause::NeedsPerson);
    assert_eq!(report.asks.len(), 1);
    bench.answer(report.asks[0].id.as_str(), "retry");
    let report = bench.run(&manifest).await;
    assert_eq!((report.verdict, runs(&bench)), (Verdict::Pass, (1, 1)));
    assert_eq!(bench.world.called("run t"), 1);
    assert_eq!(report.steps[0].recovered, Some(("SC-1".into(), "ask".into())));
    assert_eq!(
        bench.count(|f| matches!(f, Fact::LessonLearned { worked: true, .. })),
        0,
        "what the person did is no lesson about a rung"
    );
    bench.assert_replays();
}

#[tokio::test]
async fn an_open_ask_starts_anew_unless_the_run_is_to_go_on() {
    let bench = Bench::new();
    bench.world.script("s", &[Act::Fail("strange")]);
    bench.run(&single("make")).await;
    let report = bench.run_with(&single("make"), |o| o.resume = true).await;
    assert_eq!((report.verdict, runs(&bench)), (Verdict::NeedsPerson, (1, 1)));
    assert_eq!(bench.world.called("run s"), 1, "nothing was answered, nothing is tried");
    let asked = report.asks[0].id.clone();
    let report = bench.run(&single("make")).await;
    assert_eq!((runs(&bench), bench.world.called("run s")), ((2, 1), 2));
    assert_eq!(bench.state().open_asks().count(), 1);
    assert_eq!(report.asks[0].id, asked, "the same question keeps its id");
    bench.answer(asked.as_str(), "retry");
    let report = bench.run(&single("make")).await;
    assert_eq!(runs(&bench), (2, 2), "the answer is of the run that asked last");
    assert_ne!(report.asks[0].id, asked, "what was answered is asked anew");
    bench.assert_replays();
}

#[tokio::test]
async fn after_findings_a_run_starts_anew() {
    let bench = Bench::new();
    bench.world.script("s", &[Act::Findings]);
    bench.run(&single("read")).await;
    bench.run(&single("read")).await;
    assert_eq!((runs(&bench), bench.world.called("run s")), ((2, 0), 2));
}

#[tokio::test]
async fn going_on_tries_again_what_was_left_for_later() {
    for (act, again) in [(Act::Fail("passing"), 5), (Act::CouldNotRun, 2), (Act::Findings, 1)] {
        let bench = Bench::new();
        bench.world.script("s", &[act]);
        bench.run(&single("read")).await;
        bench.run_with(&single("read"), |o| o.resume = true).await;
        assert_eq!(runs(&bench), (1, 1));
        assert_eq!(bench.world.called("run s"), again, "{:?}", bench.story("s"));
        bench.assert_replays();
    }
}

#[tokio::test]
async fn publishing_needs_a_yes_and_a_no_ends_it() {
    let manifest =
        board(&[("01-p", vec![step("push", "publish", &[]), step("other", "read", &[])])]);
    let bench = Bench::new();
    let report = bench.run(&manifest).await;
    assert_eq!(report.verdict, Verdict::NeedsPerson);
    assert_eq!(report.asks[0].kind, "go_ahead");
    assert_eq!((bench.world.called("run push"), bench.world.called("run other")), (0, 1));
    bench.answer("a1", "no");
    let report = bench.run(&manifest).await;
    assert_eq!((report.verdict, report.asks.len()), (Verdict::Unverified, 0));
    assert_eq!(bench.world.called("run push"), 0);

    let report = bench.run(&manifest).await;
    bench.answer(report.asks[0].id.as_str(), "yes");
    assert_eq!(bench.run(&manifest).await.verdict, Verdict::Pass);
    assert_eq!(bench.world.effect("push"), 1);
    // Published once; another run finds it up to date and does not ask.
    assert_eq!(bench.run(&manifest).await.cause, StopCause::NothingToDo);
}

#[tokio::test]
async fn a_yes_leads_to_the_action_and_a_no_past_it() {
    for (answer, recovers) in [("yes", 1), ("no", 0)] {
        let bench = Bench::new();
        bench.world.script("s", &[Act::Fail("other"), Act::Fail("other"), Act::Pass]);
        let report = bench.run(&single("read")).await;
        assert_eq!(report.asks[0].kind, "go_ahead");
        bench.answer("a1", answer);
        let report = bench.run(&single("read")).await;
        assert_eq!(bench.world.called("recover with-yes"), recovers, "{:?}", bench.story("s"));
        let want = if answer == "yes" { Verdict::Pass } else { Verdict::NeedsPerson };
        assert_eq!(report.verdict, want);
        bench.assert_replays();
    }
}

/// A board of three checks side by side and one that needs the first.
fn three() -> pcbflow_core::manifest::Manifest {
    let steps = ["a", "b", "c"].map(|id| step(id, "read", &[]));
    let mut steps = steps.to_vec();
    steps.push(step("last", "make", &["a"]));
    board(&[("01-p", steps)])
}

#[tokio::test]
async fn one_cause_is_asked_once_and_its_answer_frees_all_that_wait() {
    let bench = Bench::new();
    for id in ["a", "b", "c"] {
        let lost = Act::FailOn("lost", "sub.sheet");
        bench.world.script(id, &[lost.clone(), lost, Act::Pass]);
    }
    let report = bench.run(&three()).await;
    assert_eq!((report.verdict, report.asks.len()), (Verdict::NeedsPerson, 1));
    let mut names: Vec<String> = report.asks[0].steps().map(|k| k.step.to_string()).collect();
    // Which of three steps side by side fails first is chance.
    names.sort();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(bench.state().asks_raised, 1);
    // Going on without an answer asks nothing new and runs nothing.
    let again = bench.run_with(&three(), |o| o.resume = true).await;
    assert_eq!((again.asks.len(), bench.world.called("run b")), (1, 2));
    bench.answer("a1", "retry");
    let report = bench.run(&three()).await;
    assert_eq!((report.verdict, report.asks.len(), runs(&bench)), (Verdict::Pass, 0, (1, 2)));
    for id in ["a", "b", "c"] {
        assert_eq!(bench.world.called(&format!("run {id}")), 3);
    }
    bench.assert_replays();
}

#[tokio::test]
async fn other_causes_rows_and_kinds_of_asks_are_asked_apart() {
    let bench = Bench::new();
    bench.world.script("a", &[Act::FailOn("lost", "one.sheet")]);
    bench.world.script("b", &[Act::FailOn("lost", "two.sheet")]);
    bench.world.script("c", &[Act::FailOn("strange", "one.sheet")]);
    assert_eq!(bench.run(&three()).await.asks.len(), 3, "two names, and what no row knows");
    // A go-ahead is one step's own, whatever is behind it.
    let bench = Bench::new();
    for id in ["a", "b", "c"] {
        bench.world.script(id, &[Act::FailOn("other", "one.sheet")]);
    }
    assert_eq!(bench.run(&three()).await.asks.len(), 3);
    bench.assert_replays();
}

#[tokio::test]
async fn what_is_seen_for_one_step_is_seen_for_all_that_wait_for_it() {
    let bench = Bench::new();
    for id in ["a", "b", "c"] {
        bench.world.script(id, &[Act::FailOn("broken", "tool"), Act::Pass]);
    }
    // Both actions of each step are not believed; then the watch sees it.
    bench.world.probes(&[false; 6]);
    let report = bench.run_with(&three(), |o| o.wait_ms_max = 3_600_000).await;
    assert_eq!((report.verdict, bench.state().asks_raised), (Verdict::Pass, 1));
    assert_eq!(bench.count(|f| matches!(f, Fact::AskAnswered { .. })), 1);
    for id in ["a", "b", "c"] {
        assert_eq!(bench.world.called(&format!("run {id}")), 2);
    }
    bench.assert_replays();
}

/// Answers the first ask as another process would, when this event shows up.
fn answers(bench: &Bench, answer: &'static str, when: impl Fn(&Event) -> bool + Send + 'static) {
    let (mem, clock) = (bench.mem.clone(), bench.clock.clone());
    let asked = AtomicBool::new(false);
    let done = AtomicBool::new(false);
    bench.watcher.on(move |event| {
        asked.fetch_or(matches!(event.fact, Fact::AskRaised { .. }), Ordering::SeqCst);
        if asked.load(Ordering::SeqCst) && when(event) && !done.swap(true, Ordering::SeqCst) {
            let fact = Fact::AskAnswered { ask: "a1".parse().unwrap(), answer: answer.into() };
            let at = pcbflow_core::ports::Clock::now(clock.as_ref());
            let (scope, words) = Default::default();
            let event = NewEvent { at, scope, actor: Actor::Person, fact, words };
            mem.append(&stream(), Expect::Any, &[event]).unwrap();
        }
    });
}

#[tokio::test]
async fn an_answer_from_another_process_is_noticed_while_waiting() {
    let bench = Bench::new();
    bench.world.script("s", &[Act::Fail("strange"), Act::Fail("strange"), Act::Pass]);
    answers(&bench, "retry", |e| matches!(e.fact, Fact::AskRaised { .. }));
    let steps = vec![step("s", "read", &[]), step("t", "make", &["s"]), step("u", "make", &[])];
    let manifest = board(&[("01-p", steps), ("02-q", vec![step("v", "read", &[])])]);
    let report = bench.run_with(&manifest, |o| o.wait_ms_max = 3_600_000).await;
    assert_eq!((report.verdict, runs(&bench)), (Verdict::Pass, (1, 0)));
    assert_eq!(bench.world.called("run t"), 1, "what waited for the step goes on as well");
    bench.assert_replays();
}

#[tokio::test]
async fn a_watched_condition_is_seen_and_the_step_runs_again() {
    let bench = Bench::new();
    // Both actions fail their probe, the person is asked, and the third look sees it.
    bench.world.script("s", &[Act::Fail("broken"), Act::Pass]);
    bench.world.probes(&[false, false, false, false, true]);
    let steps = vec![step("s", "read", &[]), step("t", "read", &["s"]), step("u", "read", &[])];
    let manifest = board(&[("01-p", steps)]);
    let report = bench
        .run_with(&manifest, |o| {
            o.wait_ms_max = 3_600_000;
            o.jobs = 1;
        })
        .await;
    assert_eq!(report.verdict, Verdict::Pass, "{:?}", bench.story("s"));
    let seen = |f: &Fact| matches!(f, Fact::AskAnswered { answer, .. } if answer == "seen");
    assert_eq!(bench.count(seen), 1);
    bench.assert_replays();
}

#[tokio::test]
async fn a_resumed_run_looks_once_whether_it_was_done() {
    for (seen, verdict, ran) in [(true, Verdict::Pass, 2), (false, Verdict::NeedsPerson, 1)] {
        let bench = Bench::new();
        bench.world.script("s", &[Act::Fail("broken"), Act::Pass]);
        bench.world.probes(&[false, false, seen, seen]);
        bench.run(&single("read")).await;
        let before = bench.world.called("probe mended");
        let report = bench.run_with(&single("read"), |o| o.resume = true).await;
        assert_eq!((report.verdict, bench.world.called("run s")), (verdict, ran));
        assert_eq!(bench.world.called("probe mended"), before + 1, "one look, and no more");
        bench.assert_replays();
    }
}

#[tokio::test]
async fn a_step_that_waits_for_findings_does_not_hide_them() {
    let bench = Bench::new();
    bench.world.script("s", &[Act::Findings]);
    let manifest = board(&[("01-p", vec![step("s", "read", &[]), step("t", "read", &["s"])])]);
    let report = bench.run(&manifest).await;
    assert_eq!(report.verdict, Verdict::Findings);
    let fail =
        |f: &Fact| matches!(f, Fact::PhaseVerdictGiven { verdict, .. } if verdict.word() == "FAIL");
    assert_eq!(bench.count(fail), 1);
    assert_eq!(bench.world.called("run t"), 0);
}

#[tokio::test]
async fn a_wait_for_the_person_ends() {
    let bench = Bench::new();
    bench.world.script("s", &[Act::Fail("broken")]);
    bench.world.probes(&[false; 200]);
    let report = bench.run_with(&single("read"), |o| o.wait_ms_max = 60_000).await;
    assert_eq!((report.verdict, report.asks.len()), (Verdict::NeedsPerson, 1));
    let looks = bench.world.called("probe mended") - 2;
    assert!((5..=7).contains(&looks), "{looks} looks in a minute");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_of_the_phase_go_on_beside_an_open_ask_with_one_job() {
    let bench = Bench::new();
    bench.world.script("a", &[Act::Fail("strange")]);
    let order = Arc::new(Mutex::new(Vec::new()));
    let seen = order.clone();
    bench.watcher.on(move |e| {
        if let Some(step) = &e.scope.step {
            seen.lock().unwrap().push(format!("{step}: {}", e.fact));
        }
    });
    let steps = ["a", "b", "c", "d"].map(|id| step(id, "make", &[])).to_vec();
    let report = bench
        .run_with(&board(&[("01-p", steps)]), |o| {
            o.jobs = 1;
            o.wait_ms_max = 30_000;
        })
        .await;
    assert_eq!(report.verdict, Verdict::NeedsPerson);
    for id in ["b", "c", "d"] {
        assert_eq!(bench.world.called(&format!("run {id}")), 1);
    }
}

#[tokio::test]
async fn a_look_at_checks_alone_closes_no_ask_and_ends_no_run() {
    let bench = Bench::new();
    bench.world.script("s", &[Act::Fail("strange"), Act::Fail("strange"), Act::Pass]);
    let manifest = board(&[("01-p", vec![step("s", "make", &[]), step("t", "read", &[])])]);
    let asked = bench.run(&manifest).await.asks[0].id.clone();
    let before = bench.state();
    bench.run_with(&manifest, |o| o.checks_only = true).await;
    let after = bench.state();
    let open: Vec<_> = after.open_asks().map(|a| a.id.clone()).collect();
    assert_eq!(open, std::slice::from_ref(&asked), "nobody answered it");
    assert_eq!(after.run.map(|r| r.id), before.run.map(|r| r.id), "the run that waits");
    bench.answer(asked.as_str(), "retry");
    bench.run(&manifest).await;
    assert_eq!(runs(&bench), (2, 1), "the run that asked is gone on with");
    bench.assert_replays();
}
