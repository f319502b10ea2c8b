//! Shared pieces of the benches: rounds, medians, the table of results, a board's events.
//!
//! Every figure is a ratio of two things measured side by side in the same run, in paired
//! rounds, or a plain number where the target is one. Nothing here is a test.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pcbflow_core::check::{CheckOutcome, Counts, Gate};
use pcbflow_core::event::{
    Actor, CheckPurpose, Decision, Ended, Fact, NewEvent, OutputRef, Owner, StopCause, Words,
};
use pcbflow_core::ids::{AttemptNo, Digest, Scope, Seq};
use pcbflow_core::manifest::Safety;
use pcbflow_core::time::Timestamp;

/// Middle value.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// How long `f` takes.
pub fn timed<T>(f: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let value = f();
    (start.elapsed(), value)
}

/// Seconds that `f` takes.
pub fn seconds<T>(f: impl FnOnce() -> T) -> f64 {
    timed(f).0.as_secs_f64()
}

/// Seconds of processor time that `f` takes on this thread: what one core does, whoever else
/// uses the machine. Wall time where the system does not tell.
pub fn core_seconds<T>(f: impl FnOnce() -> T) -> f64 {
    let used = || -> Option<f64> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        let ns: f64 = text.split_whitespace().next()?.parse().ok()?;
        Some(ns / 1e9)
    };
    let before = used();
    let wall = seconds(f);
    match (before, used()) {
        (Some(before), Some(after)) if after > before => after - before,
        _ => wall,
    }
}

/// One line of the table.
#[derive(Debug)]
pub struct Row {
    /// What was measured.
    pub what: String,
    /// The figure, with its unit.
    pub figure: String,
    /// The target, in words.
    pub target: String,
    /// Whether it is reached.
    pub reached: bool,
}

/// Rows in the form of a Markdown table.
#[must_use]
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from("| What | Measured | Target | |\n|---|---|---|---|\n");
    for row in rows {
        let mark = if row.reached { "reached" } else { "MISSED" };
        text.push_str(&format!("| {} | {} | {} | {mark} |\n", row.what, row.figure, row.target));
    }
    text
}

/// Phases of the board that the benches run.
const PHASES: [&str; 4] =
    ["05-schematic-audit", "09-automated-placement", "10-export-to-kicad", "12-final-verification"];

/// Events of one step: planned, decided, started, finished, checked, passed.
pub const STEP_EVENTS: u64 = 6;

/// Steps of one run.
pub const RUN_STEPS: u64 = 40;

fn output(n: u64) -> OutputRef {
    OutputRef {
        path: format!("out/fab/door-sensor-{}.gbr", n % 12),
        digest: Digest::of(&n.to_le_bytes()),
        bytes: 48_211,
    }
}

/// The `n`th event of a busy board: runs of [`RUN_STEPS`] steps, [`STEP_EVENTS`] events each,
/// with a start and a stop.
#[must_use]
pub fn board_event(n: u64) -> NewEvent {
    let run_events = RUN_STEPS * STEP_EVENTS + 2;
    let (run, place) = (n / run_events, n % run_events);
    let at = Timestamp(1_783_965_852_000_000 + n as i64 * 1_700);
    let mut scope =
        Scope { run: Some(id(&format!("0198f2c4-7a10-7000-8000-{run:012}"))), ..Scope::default() };
    let digest = Digest::of(b"policy");
    if place == 0 || place == run_events - 1 {
        let owner = Owner { host: "bench".into(), pid: 4242, started: "118273".into() };
        let fact = match place {
            0 => Fact::RunStarted {
                seed: run,
                policy: digest,
                owner,
                checks_only: false,
                to: None,
                only_kinds: Vec::new(),
            },
            _ => Fact::RunStopped { cause: StopCause::Finished },
        };
        return NewEvent { at, scope, actor: Actor::Engine, fact, words: Words::say("a run") };
    }
    let step = (place - 1) / STEP_EVENTS;
    scope.phase = Some(id(PHASES[(step % 4) as usize]));
    scope.step = Some(id(&format!("place block {}", step / 4)));
    scope.attempt = Some(AttemptNo(1));
    let (fact, words) = step_event((place - 1) % STEP_EVENTS, n, digest, at);
    NewEvent { at, scope, actor: Actor::Engine, fact, words }
}

fn id<T: TryFrom<String>>(text: &str) -> T
where
    T::Error: std::fmt::Debug,
{
    match T::try_from(text.to_owned()) {
        Ok(id) => id,
        // The texts above are all valid ids.
        Err(e) => unreachable!("{text}: {e:?}"),
    }
}

fn step_event(which: u64, n: u64, policy: Digest, at: Timestamp) -> (Fact, Words) {
    let argv: Vec<String> =
        ["kicad-cli", "pcb", "drc", "--format", "json", "--output", "/tmp/x/drc.json"]
            .map(String::from)
            .to_vec();
    let said = |text: &str| {
        Words::say(format!(
            "{text}; board door-sensor, phase and step as planned, tool kicad-cli 9.0.8 found on \
             the path, own settings folder, fixed locale, fresh output folder"
        ))
    };
    match which {
        0 => (
            Fact::StepPlanned {
                uses: id("kicad/drc"),
                safety: Safety::ReadOnly,
                definition: policy,
                deadline_ms: 300_000,
            },
            said("planned from projects/door-sensor/project.yaml"),
        ),
        1 => {
            let decision = Decision::Attempt {
                no: AttemptNo(1),
                deadline_ms: 300_000,
                wake: at,
                wait_ms: 0,
                rung: None,
            };
            let fact = Fact::DecisionTaken { decision, based_on: Seq(n), now: at, seed: n, policy };
            (fact, said("first attempt of the step in this run"))
        }
        2 => {
            let fact = Fact::AttemptStarted {
                what: policy,
                safety: Safety::ReadOnly,
                deadline_ms: 300_000,
                tag: format!("door-sensor-{n}"),
            };
            (fact, Words { argv, ..said("kicad-cli pcb drc") })
        }
        3 => {
            let fact = Fact::AttemptFinished {
                ended: Ended::Returned,
                exit: Some(0),
                signal: None,
                took_ms: 1_250,
                tool: "kicad-cli 9.0.8".into(),
                closure: Digest::of(&n.to_le_bytes()),
                outputs: vec![output(n)],
                blobs: Vec::new(),
                records: BTreeMap::new(),
            };
            let line = "Found 0 violations\nFound 0 unconnected items\nSaved DRC Report\n";
            let words = Words {
                argv,
                stdout_tail: line.repeat(6),
                stderr_tail: "loading board\n".repeat(4),
                ..said("kicad-cli ended by itself with status 0")
            };
            (fact, words)
        }
        4 => {
            let fact = Fact::CheckObserved {
                check: "report_clean".into(),
                purpose: CheckPurpose::Step,
                outcome: CheckOutcome::Pass,
                gate: Gate::Pass,
                counts: Counts::default(),
                findings: Some(Digest::of(&n.to_be_bytes())),
            };
            (fact, said("report exists, is whole, is ours and is newer than the attempt"))
        }
        _ => {
            let fact = Fact::StepPassed {
                gate: Gate::Pass,
                definition: policy,
                closure: Digest::of(&n.to_le_bytes()),
                outputs: vec![output(n)],
            };
            (fact, said("0 errors, 0 warnings"))
        }
    }
}
