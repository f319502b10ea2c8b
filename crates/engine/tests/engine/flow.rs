//! Phases, gates, verdicts, what is up to date and what is run again.

use std::sync::Arc;

use pcbflow_core::check::{Gate, PhaseVerdict};
use pcbflow_core::event::{Fact, StopCause};
use pcbflow_core::exit::{Exit, Verdict};
use pcbflow_core::manifest::Manifest;
use tokio::sync::Barrier;

use crate::bench::{Bench, board, key, single, step};
use crate::world::Act;

pub fn three_phases() -> Manifest {
    board(&[
        ("01-a", vec![step("draw", "make", &[]), step("check", "read", &["draw"])]),
        (
            "02-b",
            vec![
                step("left", "make", &[]),
                step("right", "make", &[]),
                step("join", "guard", &["left", "right"]),
            ],
        ),
        ("03-c", vec![step("order", "once", &[]), step("look", "read", &["order"])]),
    ])
}

#[tokio::test]
async fn three_phases_pass_in_order_and_each_is_committed() {
    let bench = Bench::new();
    let report = bench.run(&three_phases()).await;
    assert_eq!((report.verdict, report.exit), (Verdict::Pass, Exit::Done));
    assert_eq!(report.cause, StopCause::Finished);
    assert!(!report.conditional && report.asks.is_empty() && report.notes.is_empty());
    assert_eq!(report.phases.len(), 3);
    assert!(report.phases.iter().all(|(_, v, c)| *v == PhaseVerdict::Pass && c.is_some()));
    let runs: Vec<_> = bench.world.calls().into_iter().filter(|c| c.starts_with("run")).collect();
    let at = |what: &str| runs.iter().position(|c| c == &format!("run {what}")).unwrap();
    assert!(at("draw") < at("check") && at("check") < at("left"));
    assert!(at("left") < at("join") && at("right") < at("join") && at("join") < at("order"));
    assert_eq!(bench.world.commits().len(), 3);
    assert!(bench.world.commits().values().all(|n| *n == 1));
    assert!(bench.host.statuses.lock().unwrap().is_empty(), "no pause, no note");
    bench.assert_replays();
}

#[tokio::test]
async fn an_intent_stands_before_its_act_and_a_verdict_before_its_commit() {
    let bench = Bench::new();
    bench.run(&single("once")).await;
    let facts: Vec<String> = bench.events().iter().map(|e| e.fact.to_string()).collect();
    let at = |what: &str| facts.iter().position(|f| f.starts_with(what)).unwrap();
    assert!(at("attempt started") < at("attempt finished"));
    let verdict = at("phase verdict PASS");
    let commit: Vec<usize> = (0..facts.len())
        .filter(|n| bench.events()[*n].step_key() == Some(key("01-p", "commit outputs")))
        .filter(|n| facts[*n].starts_with("attempt started"))
        .collect();
    assert!(verdict < commit[0] && commit[0] < at("outputs committed"));
    assert_eq!(facts.iter().filter(|f| f.starts_with("phase verdict")).count(), 1);
    assert_eq!(facts.last().unwrap(), "run stopped: finished");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn independent_steps_run_side_by_side() {
    let bench = Bench::new();
    let meet = Act::Meet(Arc::new(Barrier::new(2)));
    for step in ["left", "right"] {
        bench.world.script(step, std::slice::from_ref(&meet));
    }
    // Each waits for the other's start: one after the other would never end.
    assert_eq!(bench.run(&three_phases()).await.verdict, Verdict::Pass);
}

#[tokio::test]
async fn jobs_bound_what_runs_at_once() {
    let bench = Bench::new();
    let steps = ["a", "b", "c", "d"].map(|id| step(id, "make", &[])).to_vec();
    let report = bench.run_with(&board(&[("01-p", steps)]), |o| o.jobs = 1).await;
    assert_eq!(report.verdict, Verdict::Pass);
    let mut running = 0;
    for event in bench.events() {
        match event.fact {
            Fact::AttemptStarted { .. } => running += 1,
            Fact::AttemptFinished { .. } => running -= 1,
            _ => {}
        }
        assert!(running <= 1);
    }
}

/// One row of the table of verdicts: what the step does, and what follows.
type Row = (Act, PhaseVerdict, Verdict, Exit, StopCause, bool);

#[tokio::test]
async fn the_table_of_verdicts() {
    use PhaseVerdict::{Conditional, Fail, Pass, Pending};
    let table: Vec<Row> = vec![
        (Act::Pass, Pass, Verdict::Pass, Exit::Done, StopCause::Finished, true),
        (Act::Warn, Conditional, Verdict::Pass, Exit::Done, StopCause::Finished, true),
        (Act::Findings, Fail, Verdict::Findings, Exit::Findings, StopCause::Findings, false),
        (Act::Empty, Pending, Verdict::Unverified, Exit::Unverified, StopCause::Unverified, false),
        (
            Act::CouldNotRun,
            Pending,
            Verdict::Unverified,
            Exit::Unverified,
            StopCause::Unverified,
            false,
        ),
        (
            Act::Fail("strange"),
            Pending,
            Verdict::NeedsPerson,
            Exit::NeedsPerson,
            StopCause::NeedsPerson,
            false,
        ),
        (
            Act::Fail("passing"),
            Pending,
            Verdict::Failed,
            Exit::TryLater,
            StopCause::TryLater,
            false,
        ),
        (
            Act::Fail("without"),
            Pending,
            Verdict::Unverified,
            Exit::Unverified,
            StopCause::Unverified,
            false,
        ),
    ];
    for (act, phase, verdict, exit, cause, advances) in table {
        let bench = Bench::new();
        bench.world.script("s", &[act]);
        let manifest = board(&[
            ("01-p", vec![step("s", "read", &[])]),
            ("02-q", vec![step("t", "read", &[])]),
        ]);
        let report = bench.run(&manifest).await;
        assert_eq!(report.phases[0].1, phase);
        assert_eq!((report.verdict, report.exit), (verdict, exit), "{phase:?}");
        assert_eq!(report.cause, cause);
        assert_eq!(report.conditional, phase == Conditional);
        assert_eq!(report.phases[0].2.is_some(), advances, "committed");
        assert_eq!(bench.world.called("run t") > 0, advances, "the next phase");
        // A pause writes the note, a finished run wrote it with its commit.
        assert_eq!(bench.host.statuses.lock().unwrap().len(), usize::from(!advances));
        bench.assert_replays();
    }
}

#[tokio::test]
async fn the_worst_step_decides_wherever_it_stands() {
    for (first, second, verdict) in [
        (Act::Findings, Act::Fail("strange"), Verdict::NeedsPerson),
        (Act::Fail("without"), Act::Fail("strange"), Verdict::NeedsPerson),
        (Act::Findings, Act::Empty, Verdict::Unverified),
        (Act::Findings, Act::Fail("passing"), Verdict::Failed),
        (Act::Warn, Act::Findings, Verdict::Findings),
    ] {
        for turned in [false, true] {
            let bench = Bench::new();
            let ids = if turned { ["y", "x"] } else { ["x", "y"] };
            bench.world.script(ids[0], std::slice::from_ref(&first));
            bench.world.script(ids[1], std::slice::from_ref(&second));
            let steps = vec![step("x", "read", &[]), step("y", "read", &[])];
            assert_eq!(bench.run(&board(&[("01-p", steps)])).await.verdict, verdict);
        }
    }
    // A step that waits for one with findings stands before it in the file.
    let bench = Bench::new();
    bench.world.script("x", &[Act::Findings]);
    let steps = vec![step("y", "read", &["x"]), step("x", "read", &[]), step("z", "read", &["y"])];
    let report = bench.run(&board(&[("01-p", steps)])).await;
    assert_eq!(report.verdict, Verdict::Findings);
    assert_eq!(report.steps[0].reason, "waits for 'x'");
    assert_eq!(report.steps[2].reason, "waits for 'y'");
    assert_eq!(bench.world.called("run y") + bench.world.called("run z"), 0);
}

#[tokio::test]
async fn a_finished_board_has_nothing_to_do_and_nothing_is_written() {
    let bench = Bench::new();
    bench.world.script("check", &[Act::Warn]);
    bench.run(&three_phases()).await;
    let before = bench.mem.bytes_digest();
    bench.world.forget_calls();
    let report = bench.run(&three_phases()).await;
    assert_eq!(report.cause, StopCause::NothingToDo);
    assert_eq!((report.verdict, report.exit), (Verdict::Pass, Exit::Done));
    assert!(report.conditional && report.run.is_none());
    assert!(report.steps.iter().all(|s| s.skipped));
    assert_eq!(bench.mem.bytes_digest(), before);
    assert_eq!(bench.world.calls(), Vec::<String>::new());
}

async fn rerun(bench: &Bench, manifest: &Manifest) -> Vec<String> {
    bench.world.forget_calls();
    let report = bench.run(manifest).await;
    assert_eq!(report.verdict, Verdict::Pass);
    bench.assert_replays();
    let calls = bench.world.calls();
    calls.into_iter().filter(|c| c.starts_with("run")).map(|c| c[4..].to_owned()).collect()
}

#[tokio::test]
async fn a_lost_or_changed_output_is_made_again_and_nothing_else() {
    let bench = Bench::new();
    bench.run(&three_phases()).await;
    let file = bench.dir.path().join("projects/b/out/left");
    std::fs::remove_file(&file).unwrap();
    // The output comes out the same, so that those that need it are up to date.
    assert_eq!(rerun(&bench, &three_phases()).await, ["left"]);
    std::fs::write(&file, "edited").unwrap();
    assert_eq!(rerun(&bench, &three_phases()).await, ["left"]);
    assert_eq!(bench.run(&three_phases()).await.cause, StopCause::NothingToDo);
}

#[tokio::test]
async fn a_changed_definition_runs_that_step_and_what_its_output_changes() {
    let bench = Bench::new();
    bench.run(&three_phases()).await;
    let mut manifest = three_phases();
    manifest.phases[0].steps[0].timeout_ms = Some(5_000);
    assert_eq!(rerun(&bench, &manifest).await, ["draw"]);
    manifest.phases[0].steps[0].timeout_ms = Some(6_000);
    *bench.world.content.lock().unwrap() = "new".into();
    // Its output is another one: what needs it runs, and the phase is committed anew.
    assert_eq!(rerun(&bench, &manifest).await, ["draw", "check", "commit outputs"]);
}

#[tokio::test]
async fn another_tool_version_runs_everything_again() {
    let bench = Bench::new();
    let manifest = board(&[("01-p", vec![step("a", "read", &[]), step("b", "make", &["a"])])]);
    bench.run(&manifest).await;
    *bench.world.version.lock().unwrap() = "2".into();
    assert_eq!(rerun(&bench, &manifest).await, ["a", "b"]);
}

#[tokio::test]
async fn force_runs_what_is_up_to_date() {
    let bench = Bench::new();
    let manifest = single("make");
    bench.run(&manifest).await;
    bench.world.forget_calls();
    bench.run_with(&manifest, |o| o.force = true).await;
    assert_eq!(bench.world.called("run s"), 1);
}

#[tokio::test]
async fn a_pass_does_not_outlive_a_later_failure_of_the_same_inputs() {
    let bench = Bench::new();
    let manifest = single("read");
    bench.run(&manifest).await;
    bench.world.script("s", &[Act::Findings]);
    let report = bench.run_with(&manifest, |o| o.force = true).await;
    assert_eq!(report.verdict, Verdict::Findings);
    let report = bench.run(&manifest).await;
    assert_eq!(report.verdict, Verdict::Findings, "the older pass is no proof any more");
}

#[tokio::test]
async fn checks_only_looks_at_checks_and_commits_nothing() {
    let bench = Bench::new();
    let manifest = board(&[
        ("01-a", vec![step("draw", "make", &[]), step("check", "read", &[])]),
        ("02-b", vec![step("look", "read", &[])]),
    ]);
    bench.world.script("check", &[Act::Findings]);
    let report = bench.run_with(&manifest, |o| o.checks_only = true).await;
    assert_eq!(report.verdict, Verdict::Findings);
    assert_eq!(bench.world.calls(), ["run check", "run look"], "a finding stops no other check");
    assert!(bench.world.commits().is_empty());
    assert_eq!(bench.count(|f| matches!(f, Fact::PhaseVerdictGiven { .. })), 0);
    let report = bench
        .run_with(&manifest, |o| {
            o.checks_only = true;
            o.only_kinds = vec!["drc".into()];
        })
        .await;
    assert_eq!(report.verdict, Verdict::Unverified, "nothing was looked at");
}

#[tokio::test]
async fn a_check_proves_nothing_while_what_it_needs_is_not_up_to_date() {
    let bench = Bench::new();
    let manifest = board(&[(
        "01-a",
        vec![
            step("draw", "make", &[]),
            step("check", "read", &["draw"]),
            step("after", "read", &["check"]),
        ],
    )]);
    let unproven = |report: &pcbflow_engine::RunReport| {
        assert_eq!(report.verdict, Verdict::Unverified);
        for step in &report.steps {
            assert_eq!(step.reason, "'draw' has to run first: pcbflow run", "{}", step.key);
            assert_eq!(step.gate, Some(Gate::Blocked), "{}", step.key);
        }
        assert_eq!(report.steps.len(), 2);
    };
    unproven(&bench.run_with(&manifest, |o| o.checks_only = true).await);
    assert!(!bench.world.calls().iter().any(|c| c.starts_with("run")), "it never passed");

    assert_eq!(bench.run(&manifest).await.verdict, Verdict::Pass);
    let report = bench.run_with(&manifest, |o| o.checks_only = true).await;
    assert_eq!(report.verdict, Verdict::Pass, "all is as it was made");

    *bench.world.version.lock().unwrap() = "2".into();
    unproven(&bench.run_with(&manifest, |o| o.checks_only = true).await);
    bench.world.script("draw", &[Act::Findings]);
    assert_ne!(bench.run(&manifest).await.verdict, Verdict::Pass);
    unproven(&bench.run_with(&manifest, |o| o.checks_only = true).await);
    bench.assert_replays();
}

#[tokio::test]
async fn a_run_to_a_phase_ends_there() {
    let bench = Bench::new();
    let to = |o: &mut pcbflow_engine::RunOptions| o.to = Some("02-b".parse().unwrap());
    let report = bench.run_with(&three_phases(), to).await;
    assert_eq!((report.verdict, report.phases.len()), (Verdict::Pass, 2));
    assert_eq!(bench.world.called("run order"), 0);
    assert_eq!(bench.run_with(&three_phases(), to).await.cause, StopCause::NothingToDo);
    assert_eq!(bench.run(&three_phases()).await.phases.len(), 3);
    assert_eq!(bench.world.called("run order"), 1);
    let none = |o: &mut pcbflow_engine::RunOptions| o.to = Some("09-x".parse().unwrap());
    assert!(bench.try_run(&three_phases(), none).await.is_err());
}

#[tokio::test]
async fn a_verdict_is_not_given_twice_without_a_step_that_ran() {
    let bench = Bench::new();
    bench.world.script("s", &[Act::Findings]);
    let manifest = single("read");
    bench.run(&manifest).await;
    let verdicts = || bench.count(|f| matches!(f, Fact::PhaseVerdictGiven { .. }));
    assert_eq!(verdicts(), 1);
    // Gone on with: nothing changed, nothing is run, nothing is said again.
    bench.run_with(&manifest, |o| o.resume = true).await;
    assert_eq!((verdicts(), bench.world.called("run s")), (1, 1));
    // A new run looks again.
    bench.run(&manifest).await;
    assert_eq!((verdicts(), bench.world.called("run s")), (2, 2));
}

#[tokio::test]
async fn without_commits_a_verdict_makes_a_phase_done() {
    let bench = Bench::new();
    let manifest = single("read");
    for cause in [StopCause::Finished, StopCause::NothingToDo] {
        let report = bench.run_with(&manifest, |o| o.commit_kind = None).await;
        assert_eq!(report.cause, cause);
    }
}
