//! The one trait that makes this crate a part of pcbflow.

use std::path::PathBuf;

use async_trait::async_trait;
use pcbflow_core::check::{CheckResult, Finding, FindingItem, FindingSeverity, Limits};
use pcbflow_core::event::Ended;
use pcbflow_core::evidence::{Evidence, Signal, Source, codes};
use pcbflow_core::manifest::{KindInfo, ManifestFault, Safety, StepDef, path_fault};
use pcbflow_core::ports::{
    Captured, Closure, Observation, Recovery, Services, SpawnEnded, SpawnRequest, SpawnResult,
    StepContext, StepResult, Subsystem,
};
use pcbflow_core::row::Row;
use serde_json::Value;

use crate::netlist::{self, read_whole};
use crate::report;
use crate::rows::{MODEL_MISSING, MODELS_THERE, RELAX_SETTINGS, ROWS};

/// Name of the check.
const CHECK: &str = "spice_limits";
/// Note by which the action tells the next attempts what to do.
const NOTE_SETTINGS: &str = "spice.settings";
/// Most bytes per stream before a run counts as an endless writer.
const OUTPUT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Runs ngspice.
#[derive(Debug, Clone)]
pub struct SpiceSubsystem {
    program: String,
}

impl Default for SpiceSubsystem {
    fn default() -> Self {
        SpiceSubsystem { program: "ngspice".to_owned() }
    }
}

impl SpiceSubsystem {
    /// Runs this program instead of the `ngspice` on PATH.
    #[must_use]
    pub fn with_program(program: &str) -> SpiceSubsystem {
        SpiceSubsystem { program: program.to_owned() }
    }
}

/// The step's own words.
struct Wanted {
    netlist: PathBuf,
    measure: String,
    at_least: Option<f64>,
    at_most: Option<f64>,
}

impl Wanted {
    fn of(context: &StepContext) -> Wanted {
        let number = |key| context.step.with.get(key).and_then(Value::as_f64);
        Wanted {
            netlist: context.root.join(context.step.arg_str("netlist").unwrap_or_default()),
            measure: context.step.arg_str("measure").unwrap_or_default().to_owned(),
            at_least: number("at_least"),
            at_most: number("at_most"),
        }
    }

    /// The limit that the value breaks, in words.
    fn broken(&self, value: f64) -> Option<String> {
        let low = self.at_least.filter(|least| value < *least).map(|l| format!("below {l}"));
        let high = self.at_most.filter(|most| value > *most).map(|m| format!("above {m}"));
        low.or(high)
    }

    /// Holds what was measured against the limits. A value that is not there is no pass.
    fn check(&self, value: Option<f64>) -> CheckResult {
        let Some(value) = value else {
            let why = format!("ngspice printed no value for '{}'", self.measure);
            return CheckResult::could_not_run(CHECK, &why);
        };
        let finding = self.broken(value).map(|how| Finding {
            // Stable: the same measurement out of its limits is the same finding next time.
            id: format!("spice:limit:{}", self.measure),
            engine: "spice".to_owned(),
            rule: "limit".to_owned(),
            severity: FindingSeverity::Error,
            message: format!("{} is {value}, {how}", self.measure),
            items: vec![FindingItem {
                text: self.measure.clone(),
                uuid: String::new(),
                at_nm: None,
                part: None,
                net: None,
            }],
            excluded: None,
            apart: false,
        });
        CheckResult::of_findings(CHECK, finding.into_iter().collect(), Limits::default())
    }
}

#[async_trait]
impl Subsystem for SpiceSubsystem {
    fn name(&self) -> &'static str {
        "spice"
    }

    fn rows(&self) -> Vec<Row> {
        ROWS.to_vec()
    }

    fn kinds(&self) -> Vec<KindInfo> {
        vec![KindInfo {
            name: "spice/run",
            about: "Simulates a netlist with ngspice and holds a measured value against limits",
            safety: Safety::ReadOnly,
            timeout_ms: 60_000,
            args: &[
                ("netlist", true, "netlist file, relative to the board's root"),
                ("measure", true, "name of a .meas line of the netlist"),
                ("at_least", false, "smallest value that is good"),
                ("at_most", false, "largest value that is good"),
            ],
            is_check: true,
            public: true,
        }]
    }

    fn step_faults(&self, step: &StepDef) -> Vec<ManifestFault> {
        let fault = |key: &str, fault: &str, remedy: &str| ManifestFault {
            path: format!("with.{key}"),
            fault: fault.to_owned(),
            remedy: remedy.to_owned(),
        };
        let mut found = Vec::new();
        if let Some(why) = step.arg_str("netlist").and_then(path_fault) {
            found.push(fault("netlist", &format!("the path {why}"), "use a path inside the root"));
        }
        for key in ["at_least", "at_most"] {
            if step.with.get(key).is_some_and(|v| !v.is_number()) {
                found.push(fault(key, "is not a number", "write a number, such as 2.4"));
            }
        }
        if !step.with.contains_key("at_least") && !step.with.contains_key("at_most") {
            let remedy = "add at_least, at_most or both";
            found.push(fault("measure", "has no limit to be held against", remedy));
        }
        found
    }

    async fn closure(&self, context: &StepContext, _: &Services) -> Result<Closure, Evidence> {
        // The step runs again when any of these changes: the netlist, what it includes, the
        // program. Asking the program for its version would start it on every look.
        let mut closure =
            Closure { files: read_whole(&Wanted::of(context).netlist).files, ..Closure::default() };
        closure.settings.insert("program".to_owned(), self.program.clone());
        Ok(closure)
    }

    async fn run(&self, context: &StepContext, services: &Services) -> Observation {
        let wanted = Wanted::of(context);
        let netlist = match self.netlist_to_run(context, &wanted) {
            Ok(path) => path,
            Err(why) => {
                let check = CheckResult::could_not_run(CHECK, &why);
                return Observation::of(StepResult::Checked(check));
            }
        };
        let request = SpawnRequest {
            argv: vec![
                self.program.clone(),
                // No settings of the user: the same netlist gives the same answer anywhere.
                "-n".to_owned(),
                "-b".to_owned(),
                netlist.to_string_lossy().into_owned(),
            ],
            // Includes are looked for here, also by a copy that lies elsewhere.
            cwd: wanted.netlist.parent().unwrap_or(&context.root).to_owned(),
            deadline_ms: context.deadline_ms,
            output_bytes_max: OUTPUT_BYTES_MAX,
            tag: context.tag.clone(),
            ..SpawnRequest::default()
        };
        let argv = request.argv.clone();
        let result = services.spawn.run(request, services.cancel.as_ref()).await;
        observation(context, services, &wanted, argv, result)
    }

    async fn recover(&self, _: &StepContext, _: &Services, class: &str, action: &str) -> Recovery {
        match action {
            // The note stays with the step for the rest of this failure; the next attempt reads
            // it. Whether that helped is for its measured value to say.
            RELAX_SETTINGS => Recovery::done("the next run uses less strict settings")
                .note(NOTE_SETTINGS, "relaxed"),
            _ => Recovery::not_applicable(&format!("{class}: no such action '{action}'")),
        }
    }

    async fn probe(&self, context: &StepContext, services: &Services, probe: &str) -> CheckResult {
        match probe {
            MODELS_THERE => self.models_there(context, services).await,
            _ => CheckResult::could_not_run(probe, "no such probe"),
        }
    }
}

impl SpiceSubsystem {
    /// The netlist itself, or a private copy with other settings after the action said so.
    fn netlist_to_run(&self, context: &StepContext, wanted: &Wanted) -> Result<PathBuf, String> {
        let text = netlist::read(&wanted.netlist).ok_or("the netlist can't be read")?;
        if !context.notes.contains_key(NOTE_SETTINGS) {
            return Ok(wanted.netlist.clone());
        }
        let copy = context.scratch.join("relaxed.cir");
        std::fs::write(&copy, netlist::relaxed(&text))
            .map_err(|e| format!("the private copy can't be written: {e}"))?;
        Ok(copy)
    }

    /// Looks whether everything that was missing is there, without starting the program: files
    /// that are included exist, and every model that the last report missed is described.
    async fn models_there(&self, context: &StepContext, services: &Services) -> CheckResult {
        let whole = read_whole(&Wanted::of(context).netlist);
        if let Some(file) = whole.missing.first() {
            return CheckResult::fail(MODELS_THERE, &format!("{file} is not there"));
        }
        // The only judge of the rest is ngspice: the same call as an attempt, with its result
        // read for nothing but missing models.
        let seen = self.run(context, services).await;
        match seen.result {
            StepResult::Failed(evidence) => {
                let missing = evidence.signals.iter().find(|s| s.code == MODEL_MISSING);
                match missing {
                    Some(signal) => CheckResult::fail(MODELS_THERE, &signal.text),
                    None if evidence.signals.iter().any(|s| s.source == Source::Own) => {
                        CheckResult::could_not_run(MODELS_THERE, "the run did not end")
                    }
                    // It fails in another way now: the next attempt will say how.
                    None => CheckResult::pass(MODELS_THERE),
                }
            }
            StepResult::Checked(_) => CheckResult::pass(MODELS_THERE),
        }
    }
}

/// Everything that was seen, and what came of it.
fn observation(
    context: &StepContext,
    services: &Services,
    wanted: &Wanted,
    argv: Vec<String>,
    result: SpawnResult,
) -> Observation {
    let stdout = whole_text(&result.stdout, services);
    let stderr = whole_text(&result.stderr, services);
    let mut evidence = Evidence::new(context.step.uses.as_str(), "ngspice");
    for signal in
        ended_signal(&result.ended, context).into_iter().chain(report::signals(&stdout, &stderr))
    {
        evidence.push(signal);
    }
    let missing: Vec<&str> = evidence
        .signals
        .iter()
        .filter(|s| s.code == MODEL_MISSING)
        .map(|s| s.text.as_str())
        .collect();
    let items = missing.join(", ");
    if !items.is_empty() {
        evidence.slots.insert("items".to_owned(), items);
    }
    let value = report::measured(&stdout, &wanted.measure);
    let failed = !evidence.signals.is_empty();
    let outcome = match failed {
        true => StepResult::Failed(evidence),
        false => StepResult::Checked(wanted.check(value)),
    };
    let relaxed = context.notes.contains_key(NOTE_SETTINGS);
    Observation {
        ended: match result.ended {
            SpawnEnded::DeadlinePassed => Ended::DeadlinePassed,
            SpawnEnded::Cancelled => Ended::Stopped,
            _ => Ended::Returned,
        },
        argv,
        tool: "ngspice".to_owned(),
        exit: result.status(),
        signal: match result.ended {
            SpawnEnded::Signalled(n) => Some(n),
            _ => None,
        },
        summary: match (value, relaxed) {
            (Some(v), false) => format!("{} = {v}", wanted.measure),
            (Some(v), true) => format!("{} = {v}, with less strict settings", wanted.measure),
            (None, _) => format!("no value for {}", wanted.measure),
        },
        stdout: result.stdout,
        stderr: result.stderr,
        ..Observation::of(outcome)
    }
}

/// The typed fact behind the way the program ended; `None` for a plain exit with 0.
fn ended_signal(ended: &SpawnEnded, context: &StepContext) -> Option<Signal> {
    let own = |code| Signal::new(Source::Own, code);
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    Some(match ended {
        SpawnEnded::Exited(0) | SpawnEnded::Cancelled => return None,
        SpawnEnded::Exited(status) => Signal::exit_status(*status),
        SpawnEnded::Signalled(signal) => Signal::exit_signal(*signal),
        SpawnEnded::DeadlinePassed | SpawnEnded::BusyWithoutOutput(_) => {
            own(codes::DEADLINE_PASSED).number(number(context.deadline_ms))
        }
        SpawnEnded::OutputEndless => own(codes::OUTPUT_ENDLESS).number(number(OUTPUT_BYTES_MAX)),
        SpawnEnded::MemoryOverLimit(bytes) => own(codes::MEMORY_OVER_LIMIT).number(number(*bytes)),
        SpawnEnded::NotFound => Signal::spawn_not_found("ngspice"),
        SpawnEnded::Denied => Signal::new(Source::Exit, codes::SPAWN_DENIED).text("ngspice"),
        SpawnEnded::Failed(why) => Signal::new(Source::Exit, codes::SPAWN_FAILED).text(why),
    })
}

/// The whole stream where the bounded text is not all of it.
fn whole_text(captured: &Captured, services: &Services) -> String {
    let cut = captured.total_bytes > captured.text.len() as u64;
    let stored = captured.blob.as_ref().filter(|_| cut);
    match stored.map(|blob| services.blobs.get(&blob.digest)) {
        Some(Ok(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        // Head and tail are still true words of the program.
        Some(Err(_)) | None => captured.text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use pcbflow_core::check::{CheckOutcome, Gate};

    use super::*;

    fn wanted() -> Wanted {
        Wanted {
            netlist: PathBuf::new(),
            measure: "vout".to_owned(),
            at_least: Some(2.4),
            at_most: Some(2.6),
        }
    }

    #[test]
    fn three_results_and_no_fourth() {
        assert_eq!(wanted().check(Some(2.5)).gate(), Gate::Pass);
        let over = wanted().check(Some(2.7));
        assert_eq!(over.gate(), Gate::Fail);
        assert_eq!(over.findings[0].message, "vout is 2.7, above 2.6");
        assert_eq!(wanted().check(Some(2.3)).findings[0].message, "vout is 2.3, below 2.4");
        let none = wanted().check(None);
        assert_eq!((none.outcome, none.gate()), (CheckOutcome::CouldNotRun, Gate::Blocked));
    }

    #[test]
    fn findings_keep_their_id() {
        let id = |value| wanted().check(Some(value)).findings[0].id.clone();
        assert_eq!(id(2.7), id(3.1));
    }
}
