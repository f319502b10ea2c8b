//! A step kind of these tests that looks at real files and reports what its look found.
//!
//! It stands where the steps of the editor will stand, and where the ledger itself is what fails:
//! a damaged ledger takes no events, so another, sound one records how its ladder is climbed. The
//! engine, the actions and the probes are the real ones; they run in a process of their own, so
//! that home and state folder are the test's.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use pcbflow_checkpoint::workspace::Workspace;
use pcbflow_cli::cancel::Stop;
use pcbflow_cli::compose::{self, NoProgress, Site};
use pcbflow_core::check::CheckResult;
use pcbflow_core::evidence::Evidence;
use pcbflow_core::ids::BoardName;
use pcbflow_core::manifest::{KindInfo, Safety};
use pcbflow_core::ports::{
    Closure, Ledger, Observation, Recovery, Services, StepContext, StepResult, Subsystem,
};
use pcbflow_core::row::Row;
use pcbflow_engine::{RunOptions, run_board};
use pcbflow_store::Mode;
use pcbflow_tests::{Ran, Running, TestEnvironment};

use crate::lab::{BOARD, PHASE};

/// Names the look, and tells the process of the engine from that of the tests.
const LOOK: &str = "PCBFLOW_MATRIX_LOOK";
/// Names the folder that the step's actions work on.
const STATE: &str = "PCBFLOW_MATRIX_STATE";

/// What a look gives: a pass with its observation, or the evidence of a failure.
pub type See = fn(&StepContext) -> Observation;

/// The looks by name.
const LOOKS: &[(&str, See)] = &[
    ("files", crate::st::files),
    ("note", crate::st::note),
    ("result", crate::st::result),
    ("ledger", crate::lg::ledger),
];

pub fn failed(evidence: Evidence) -> Observation {
    Observation::of(StepResult::Failed(evidence))
}

pub fn passed() -> Observation {
    Observation::of(StepResult::Checked(CheckResult::pass("look")))
}

struct Look(See);

#[async_trait]
impl Subsystem for Look {
    fn name(&self) -> &'static str {
        "look"
    }

    fn rows(&self) -> Vec<Row> {
        Vec::new()
    }

    fn kinds(&self) -> Vec<KindInfo> {
        vec![KindInfo {
            name: "look/look",
            about: "looks",
            safety: Safety::ReadOnly,
            timeout_ms: 60_000,
            args: &[],
            is_check: true,
            public: true,
        }]
    }

    async fn closure(&self, _: &StepContext, _: &Services) -> Result<Closure, Evidence> {
        Ok(Closure::default())
    }

    async fn run(&self, context: &StepContext, _: &Services) -> Observation {
        (self.0)(context)
    }

    async fn recover(&self, _: &StepContext, _: &Services, _: &str, _: &str) -> Recovery {
        Recovery::not_applicable("it only looks")
    }

    async fn probe(&self, _: &StepContext, _: &Services, probe: &str) -> CheckResult {
        CheckResult::could_not_run(probe, "it only looks")
    }
}

/// Runs the board's one look in the real engine.
pub fn look(test: &TestEnvironment, name: &str, state: Option<&Path>) -> Ran {
    let text = format!(
        "board: {BOARD}\nphases:\n  - id: {PHASE}\n    steps:\n      - id: look\n        uses: look/look\n"
    );
    std::fs::write(test.path("look.yaml"), text).expect("a manifest");
    let mut command = test.program(std::env::current_exe().expect("this test"));
    command.args(["--exact", "look::the_engine_of_a_case", "--nocapture"]);
    command.env(LOOK, name).env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR"));
    if let Some(state) = state {
        command.env(STATE, state);
    }
    let ran = Running::start(command).wait();
    assert!(ran.exit == Some(0), "{ran}");
    ran
}

/// The engine of [`look`]; in the tests' own process it has nothing to do.
#[test]
fn the_engine_of_a_case() {
    let Some(name) = std::env::var_os(LOOK) else { return };
    let (_, see) = LOOKS.iter().find(|(n, _)| name == *n).expect("a look");
    let here = std::env::current_dir().expect("the workspace");
    let site = Site::at(Workspace::at(&here).expect("a workspace")).expect("its settings");
    let name = BoardName::new(BOARD).expect("a name");
    let board = site.board(&name).expect("the board");
    let mut setup = site.setup(&board);
    let manifest = here.parent().expect("the place").join("look.yaml");
    setup.manifest = pcbflow_checkpoint::manifest::read(&manifest).expect("a manifest").manifest;
    if let Some(state) = std::env::var_os(STATE) {
        setup.state_dir = PathBuf::from(state);
    }
    let ledger = site.ledger(Mode::Write).expect("a ledger").ledger;
    let stop = Stop::default();
    let services = site.services(&stop, Arc::new(NoProgress));
    let mut parts = site.parts(Arc::clone(&ledger) as Arc<dyn Ledger>, services, &stop);
    parts.subsystems.push(Arc::new(Look(*see)));
    compose::ensure_stream(ledger.as_ref(), &name, Default::default(), || None).expect("a stream");
    let options = RunOptions {
        to: None,
        jobs: 1,
        wait_ms_max: 0,
        checks_only: false,
        only_kinds: Vec::new(),
        resume: false,
        commit_kind: None,
        seed: 7,
        run: compose::new_run_id().expect("an id"),
        force: true,
    };
    compose::block_on(run_board(&parts, &setup, &options)).expect("a runtime").expect("a run");
}
