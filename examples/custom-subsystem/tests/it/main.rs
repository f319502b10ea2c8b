//! Boards with a simulation, from start to end: engine, ledger and real processes.
//!
//! Every case runs with the stand-in program, and with the real ngspice where there is one; both
//! read the same netlists.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcbflow_core::check::{Gate, PhaseVerdict};
use pcbflow_core::event::{Event, Fact, StopCause};
use pcbflow_core::exit::{Exit, Verdict};
use pcbflow_core::ids::StepKey;
use pcbflow_core::ports::{Progress, Subsystem};
use pcbflow_example_spice::SpiceSubsystem;
use pcbflow_process::ProcessSubsystem;
use world::{Quiet, Ran, World};

mod world;

const DIVIDER: &str = include_str!("../../workspace/projects/rc-filter/divider.cir");
const PEAK: &str = include_str!("../../workspace/projects/rc-filter/peak.cir");
/// An equation without a solution.
const NEVER: &str = "No solution at all\n* stand-in: never\nB1 out 0 V = V(out) > 0.5 ? 0 : 1\n\
                     R1 out 0 1k\n.tran 10u 5m\n.meas tran vout FIND v(out) AT=4m\n.end\n";
/// A diode whose model nobody wrote.
const NO_MODEL: &str = "Missing model\n* stand-in: model d1n4148\nV1 in 0 5\nD1 in out D1N4148\n\
                        R1 out 0 1k\n.tran 10u 5m\n.meas tran vout FIND v(out) AT=4m\n.end\n";

/// The programs to run a case with.
fn programs() -> Vec<String> {
    let mut list = vec![env!("CARGO_BIN_EXE_stand-in-ngspice").to_owned()];
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|dir| dir.join("ngspice").is_file()) {
        list.push("ngspice".to_owned());
    } else {
        static SAID: std::sync::Once = std::sync::Once::new();
        // Not a print macro: those are hidden when a test passes.
        SAID.call_once(|| {
            writeln!(std::io::stderr(), "skipped: ngspice is not installed").expect("a stream");
        });
    }
    list
}

/// A workspace with one board of one step.
struct Bench {
    dir: tempfile::TempDir,
    program: String,
}

impl Bench {
    fn new(program: &str, netlist: &str, limits: &str) -> Bench {
        let dir = tempfile::tempdir().expect("a folder");
        let bench = Bench { dir, program: program.to_owned() };
        std::fs::create_dir_all(bench.board()).expect("a folder");
        std::fs::create_dir_all(bench.dir.path().join(".pcbflow")).expect("a folder");
        std::fs::write(bench.netlist(), netlist).expect("a netlist");
        let manifest = format!(
            "board: bench\nphases:\n  - id: 05-schematic-audit\n    steps:\n      - id: level\n        \
             uses: spice/run\n        with: {{ netlist: x.cir, measure: vout, {limits} }}\n"
        );
        std::fs::write(bench.board().join("project.yaml"), manifest).expect("a manifest");
        bench
    }

    fn board(&self) -> PathBuf {
        self.dir.path().join("projects/bench")
    }

    fn netlist(&self) -> PathBuf {
        self.board().join("x.cir")
    }

    fn open(&self, progress: Arc<dyn Progress>) -> World {
        let subsystems: Vec<Arc<dyn Subsystem>> = vec![
            Arc::new(ProcessSubsystem::new()),
            Arc::new(SpiceSubsystem::with_program(&self.program)),
        ];
        World::open(self.dir.path(), "bench", subsystems, progress).expect("the board opens")
    }
}

/// The lines of the events that tell how it went, in order.
fn story(ran: &Ran) -> Vec<String> {
    ran.events
        .iter()
        .filter(|e| {
            matches!(
                e.fact,
                Fact::AttemptStarted { .. }
                    | Fact::FailureDiagnosed { .. }
                    | Fact::RecoveryStarted { .. }
                    | Fact::RecoveryFinished { .. }
                    | Fact::StepPassed { .. }
                    | Fact::StepRecovered { .. }
                    | Fact::StepHeld { .. }
                    | Fact::StepSkipped { .. }
                    | Fact::AskRaised { .. }
                    | Fact::AskAnswered { .. }
            )
        })
        .map(|e| e.fact.to_string())
        .map(|line| if line.starts_with("attempt") { "attempt".to_owned() } else { line })
        .collect()
}

#[tokio::test]
async fn a_value_within_its_limits_passes_and_is_not_measured_twice() {
    for program in programs() {
        let bench = Bench::new(&program, DIVIDER, "at_least: 2.4, at_most: 2.6");
        let world = bench.open(Arc::new(Quiet));
        let ran = world.run("one").await.expect("it runs");
        assert_eq!(ran.report.verdict, Verdict::Pass, "{program}: {:?}", ran.report);
        assert_eq!(story(&ran), ["attempt", "step passed: pass"], "{program}");
        let again = world.run("two").await.expect("it runs");
        assert_eq!(again.report.verdict, Verdict::Pass);
        assert_eq!(story(&again).iter().filter(|l| *l == "attempt").count(), 1, "{program}");
        // Another netlist is another result.
        std::fs::write(bench.netlist(), DIVIDER.replace("V1 in 0 5", "V1 in 0 5.1")).expect("it");
        let third = world.run("three").await.expect("it runs");
        assert_eq!(story(&third).iter().filter(|l| *l == "attempt").count(), 2, "{program}");
    }
}

#[tokio::test]
async fn a_value_outside_its_limits_is_a_finding() {
    for program in programs() {
        let bench = Bench::new(&program, DIVIDER, "at_most: 2.4");
        let ran = bench.open(Arc::new(Quiet)).run("one").await.expect("it runs");
        assert_eq!((ran.report.verdict, ran.report.exit), (Verdict::Findings, Exit::Findings));
        assert_eq!(ran.report.phases[0].1, PhaseVerdict::Fail);
        assert_eq!(ran.report.steps[0].findings[0].message, "vout is 2.5, above 2.4");
        assert_eq!(story(&ran), ["attempt", "step held: fail"], "{program}");
    }
}

#[tokio::test]
async fn a_value_that_was_not_printed_is_never_a_pass() {
    for program in programs() {
        let netlist = DIVIDER.replace("meas tran vout", "meas tran other");
        let bench = Bench::new(&program, &netlist, "at_least: 0");
        // The stand-in always prints its value under one name.
        if program != "ngspice" {
            let manifest = bench.board().join("project.yaml");
            let text = std::fs::read_to_string(&manifest).expect("a manifest");
            std::fs::write(&manifest, text.replace("measure: vout", "measure: other")).expect("it");
        }
        let ran = bench.open(Arc::new(Quiet)).run("one").await.expect("it runs");
        assert_eq!((ran.report.verdict, ran.report.exit), (Verdict::Unverified, Exit::Unverified));
        assert_eq!(ran.report.steps[0].gate, Some(Gate::Blocked), "{program}");
    }
}

#[tokio::test]
async fn spice_1_is_healed_by_less_strict_settings() {
    for program in programs() {
        let bench = Bench::new(&program, PEAK, "at_least: 2.0, at_most: 5.0");
        let ran = bench.open(Arc::new(Quiet)).run("one").await.expect("it runs");
        let expected = [
            "attempt",
            "failure SPICE-1, 95 %",
            "recovery relax-settings of SPICE-1 started",
            "recovery relax-settings: done",
            "attempt",
            "step passed: pass",
            "step recovered from SPICE-1 by relax-settings after 2 attempts",
        ];
        let mut got = story(&ran);
        let mut expected = expected.map(str::to_owned).to_vec();
        // Which of the last two comes first is the engine's business.
        got.sort();
        expected.sort();
        assert_eq!(got, expected, "{program}");
        assert_eq!(ran.report.verdict, Verdict::Pass);
        // The engineer's netlist was not touched.
        assert_eq!(std::fs::read_to_string(bench.netlist()).expect("it is there"), PEAK);
    }
}

#[tokio::test]
async fn spice_1_asks_when_nothing_helps() {
    for program in programs() {
        let bench = Bench::new(&program, NEVER, "at_least: 0");
        let world = bench.open(Arc::new(Quiet));
        let ran = world.run("one").await.expect("it runs");
        assert_eq!(
            (ran.report.cause.clone(), ran.report.exit),
            (StopCause::NeedsPerson, Exit::NeedsPerson)
        );
        assert_eq!(story(&ran).iter().filter(|l| *l == "attempt").count(), 2, "{program}");
        assert_eq!(ran.report.asks[0].kind, "check_circuit");
        assert_eq!(told(&world, &ran), include_str!("told_spice_1.txt"), "{program}");
    }
}

/// A person who adds the missing model as soon as it is asked for.
struct Helpful {
    netlist: PathBuf,
}

impl Progress for Helpful {
    fn doing(&self, _: &StepKey, _: &str) {}

    fn appended(&self, events: &[Event]) {
        if events.iter().any(|e| matches!(e.fact, Fact::AskRaised { .. })) {
            let text = NO_MODEL.replace(".end\n", ".model D1N4148 D(is=1e-14)\n.end\n");
            std::fs::write(&self.netlist, text).expect("the netlist");
        }
    }
}

#[tokio::test]
async fn spice_2_asks_and_goes_on_by_itself_when_the_model_is_there() {
    for program in programs() {
        let bench = Bench::new(&program, NO_MODEL, "at_least: 2.0");
        let ran = bench
            .open(Arc::new(Helpful { netlist: bench.netlist() }))
            .run("one")
            .await
            .expect("it runs");
        let expected = [
            "attempt",
            "failure SPICE-2, 95 %",
            "asked a1: add_model (SPICE-2)",
            "ask a1 answered: seen",
            "attempt",
            "step passed: pass",
        ];
        // The cure itself is recorded as well, in the words of the engine.
        let got: Vec<String> =
            story(&ran).into_iter().filter(|l| !l.starts_with("step recovered")).collect();
        assert_eq!(got, expected, "{program}");
        assert_eq!(ran.report.verdict, Verdict::Pass);
    }
}

#[tokio::test]
async fn spice_2_names_the_model() {
    for program in programs() {
        let bench = Bench::new(&program, NO_MODEL, "at_least: 2.0");
        let world = bench.open(Arc::new(Quiet));
        let ran = world.run("one").await.expect("it runs");
        assert_eq!(ran.report.exit, Exit::NeedsPerson, "{program}");
        assert_eq!(told(&world, &ran), include_str!("told_spice_2.txt"), "{program}");
    }
}

#[tokio::test]
async fn a_missing_ngspice_is_known_without_a_row_of_its_own() {
    let bench = Bench::new("ngspice-of-nobody", DIVIDER, "at_least: 0");
    let ran = bench.open(Arc::new(Quiet)).run("one").await.expect("it runs");
    assert_eq!(ran.report.exit, Exit::NeedsPerson);
    assert_eq!(ran.report.asks[0].class.as_str(), "SC-2");
}

#[test]
fn faults_of_the_manifest_have_a_remedy() {
    let bench = Bench::new("x", DIVIDER, "at_most: high");
    let subsystems: Vec<Arc<dyn Subsystem>> =
        vec![Arc::new(ProcessSubsystem::new()), Arc::new(SpiceSubsystem::default())];
    let error = World::open(bench.dir.path(), "bench", subsystems, Arc::new(Quiet));
    let text = error.err().map(|e| e.to_string()).unwrap_or_default();
    assert!(text.contains("number"), "{text}");
}

/// What the engineer reads about the step's failure.
fn told(world: &World, ran: &Ran) -> String {
    use pcbflow_humanize::slots::{Board, PhaseName, Slots, StepName};
    use pcbflow_humanize::story::{Outcome, Place, Story, Try, TryResult, Work};
    let (_, state) = pcbflow_engine::fold_board(world.ledger(), world.board()).expect("a state");
    let (key, step) = state.steps.iter().next().expect("a step");
    let failure = step.failure.as_ref().expect("a failure");
    let row = world.catalogue().row(&failure.class).expect("a row");
    let place = Place {
        board: Board::new(ran.report.board.as_str()).ok(),
        phase: PhaseName::new(key.phase.as_str()).ok(),
        step: StepName::new(key.step.as_str()).ok(),
    };
    let mut story = Story::new(row, place, Outcome::Escalated);
    story.slots = Slots::from_evidence(&failure.slots).0;
    story.work = Work::Saved;
    story.tries = failure
        .tried
        .iter()
        .map(|t| Try {
            rung: t.rung.clone(),
            times: u64::from(t.times),
            result: TryResult::NotCured,
        })
        .collect();
    let message = story.message().expect("a message");
    pcbflow_humanize::render::five_lines(&message, 80)
}

#[tokio::test]
async fn the_board_of_the_readme_runs() {
    let dir = tempfile::tempdir().expect("a folder");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("workspace");
    copy(&from, dir.path());
    for program in programs() {
        let subsystems: Vec<Arc<dyn Subsystem>> = vec![
            Arc::new(ProcessSubsystem::new()),
            Arc::new(SpiceSubsystem::with_program(&program)),
        ];
        let world = World::open(dir.path(), "rc-filter", subsystems, Arc::new(Quiet));
        let ran = world.expect("the board opens").run("one").await.expect("it runs");
        assert_eq!(ran.report.verdict, Verdict::Pass, "{program}");
        assert_eq!(
            ran.report.steps[1].recovered,
            Some(("SPICE-1".into(), "relax-settings".into()))
        );
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("a copy");
        }
    }
}
