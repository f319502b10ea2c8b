//! Proofs of a cure. Each reads fresh state and starts fresh processes.

use std::path::Path;

use pcbflow_core::check::CheckResult;
use pcbflow_core::ports::{Services, StepContext};

use super::rules::project_of;
use super::{sample, tools};
use crate::cli::call::Caller;
use crate::cli::find::{Choice, FindEnv, Tool, VERSION_DEADLINE_MS, Version};
use crate::cli::settings::Libraries;
use crate::file::board::Board;
use crate::file::compare::Comparison;
use crate::file::header::{FileKind, Header};
use crate::file::project::{Probe, with_absurd_limit};
use crate::file::rules::{CanaryTarget, with_canary};
use crate::report::Report;
use crate::report::proof::{self, Lists};
use crate::report::rules::RuleSetBlob;
use crate::rows::probes as names;
use crate::steps::drc::{judge_call, read_board};
use crate::steps::project::{Project, not_loaded};
use crate::steps::rulesets::{NOTE_RULESET, RECORDED, accepted};
use crate::steps::stop::{Session, Stop};
use crate::steps::{args, erc, netlist, tool};

/// The tool that the next attempt will use.
async fn chosen(env: &FindEnv, context: &StepContext, services: &Services) -> Result<Tool, String> {
    let required = tools::required(context, services);
    match tool::installed(env, context, services).await.choose(required) {
        Choice::Use(tool) => Ok(tool),
        Choice::None => Err("KiCad was not found".to_owned()),
        Choice::OutOfRange(tool) => Err(format!("{} is not in range", tool.label())),
        Choice::TooOldForFile(tool) => Err(format!("{} is too old for the file", tool.label())),
    }
}

fn answer(probe: &str, outcome: Result<String, Problem>) -> CheckResult {
    match outcome {
        Ok(_) => CheckResult::pass(probe),
        Err(Problem::No(why)) => CheckResult::fail(probe, &why),
        Err(Problem::Unknown(why)) => CheckResult::could_not_run(probe, &why),
    }
}

/// Why a probe does not pass.
enum Problem {
    /// It ran, and it is not so.
    No(String),
    /// It did not run.
    Unknown(String),
}

fn words(stop: Stop) -> String {
    match stop {
        Stop::Refused(why) => why,
        Stop::Failed(evidence) => {
            evidence.signals.first().map_or_else(String::new, |s| format!("{} {}", s.code, s.text))
        }
    }
}

/// A fresh `version`, past the cache, and the bundled sample board with its known report.
pub(super) async fn kicad_usable(
    env: &FindEnv,
    context: &StepContext,
    services: &Services,
) -> CheckResult {
    answer(names::KICAD_USABLE, usable(env, context, services).await)
}

async fn usable(
    env: &FindEnv,
    context: &StepContext,
    services: &Services,
) -> Result<String, Problem> {
    let tool = chosen(env, context, services).await.map_err(Problem::No)?;
    let mut session = Session::new(context, services);
    let caller =
        session.caller(tool.clone(), Libraries::Project).map_err(|s| Problem::Unknown(words(s)))?;
    let folder = fresh(&caller, "sample")?;
    let asked = run(&caller, &["version".to_owned()], &folder).await?;
    let version = Version::parse(&asked.result.stdout.text);
    if version.is_none() || asked.result.took_ms > VERSION_DEADLINE_MS {
        return Err(Problem::No("it does not answer with a version".to_owned()));
    }
    let board = folder.join(sample::BOARD);
    std::fs::write(&board, sample::TEXT).map_err(|e| Problem::Unknown(e.to_string()))?;
    let report = drc(&session, &caller, &board, &folder, "sample.json").await?;
    if report.entries().any(|e| e.kind == sample::FINDING) {
        Ok(tool.label())
    } else {
        Err(Problem::No("the sample board did not get its known report".to_owned()))
    }
}

fn fresh(caller: &Caller<'_>, name: &str) -> Result<std::path::PathBuf, Problem> {
    caller.fresh(name).map_err(|s| Problem::Unknown(s.code))
}

async fn run(
    caller: &Caller<'_>,
    args: &[String],
    folder: &Path,
) -> Result<crate::cli::call::Called, Problem> {
    caller.run(args, folder).await.map_err(|s| Problem::Unknown(s.code))
}

/// A plain rule check with a proven report.
async fn drc(
    session: &Session<'_>,
    caller: &Caller<'_>,
    board: &Path,
    folder: &Path,
    report: &str,
) -> Result<Report, Problem> {
    let path = folder.join(report);
    let mut line: Vec<String> =
        ["pcb", "drc", "--format", "json", "--units", "mm", "--severity-all", "-o"]
            .map(String::from)
            .into();
    line.push(path.to_string_lossy().into_owned());
    line.push(board.to_string_lossy().into_owned());
    let called = run(caller, &line, folder).await?;
    let name = board.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let proven = judge_call(
        session,
        &called,
        caller,
        folder,
        |started| {
            let (lists, said) = (Lists::Drc { parity: false }, &called.result.stdout.text);
            proof::prove(&path, lists, &name, started, None, said)
        },
        |major| not_loaded(board, major, FileKind::Board),
    );
    proven.map(|p| p.report).map_err(|stop| Problem::No(words(stop)))
}

/// One run with an absurd limit in the project and a canary in the rules: both must fire. The
/// board's own rules stay out of this copy, because they would win over the limit; the attempt
/// that follows has them, with a canary of its own.
pub(super) async fn rules_in_force(
    env: &FindEnv,
    context: &StepContext,
    services: &Services,
) -> CheckResult {
    answer(names::RULES_IN_FORCE, in_force(env, context, services).await)
}

async fn in_force(
    env: &FindEnv,
    context: &StepContext,
    services: &Services,
) -> Result<String, Problem> {
    let unknown = |stop: Stop| Problem::Unknown(words(stop));
    let mut session = Session::new(context, services);
    let project = project_of(&session).map_err(unknown)?;
    let set = rule_set(&session, &project)
        .ok_or_else(|| Problem::No("there is no sound rule set".to_owned()))?;
    if !project.beside("kicad_pcb").exists() {
        return Err(Problem::Unknown("there is no board to prove the rules on".to_owned()));
    }
    let tool = chosen(env, context, services).await.map_err(Problem::Unknown)?;
    let mirror = project.mirror(&session, None, "probe").map_err(unknown)?;
    let board_path = mirror.file(&project.name("kicad_pcb"));
    let (_, board) = read_board(&session, &board_path).map_err(unknown)?;
    let probe = Probe::for_board(&board)
        .ok_or_else(|| Problem::Unknown("nothing on the board can be probed".to_owned()))?;
    let target = CanaryTarget::for_board(&board)
        .ok_or_else(|| Problem::Unknown("nothing on the board can be probed".to_owned()))?;
    let absurd =
        with_absurd_limit(set.project.as_bytes(), probe).map_err(|e| Problem::No(e.to_string()))?;
    let canary = with_canary(None, &target);
    for (extension, bytes) in [("kicad_pro", &absurd), ("kicad_dru", &canary.text)] {
        mirror
            .write(&project.name(extension), bytes)
            .map_err(|e| Problem::Unknown(e.to_string()))?;
    }
    let caller = session.caller(tool, Libraries::Project).map_err(unknown)?;
    let out = fresh(&caller, "probe-report")?;
    let report = drc(&session, &caller, &board_path, &out, "probe.json").await?;
    let hit = report.entries().any(|e| probe.is_hit(&e.kind, &e.description));
    let fired: Vec<&str> =
        report.entries().filter_map(|e| canary.rule_of(&e.kind, &e.description)).collect();
    match (hit, canary.silent(&fired).next().is_none()) {
        (true, true) => Ok(probe.limit().to_owned()),
        (false, _) => Err(Problem::No(format!("the absurd {} did not fire", probe.limit()))),
        (true, false) => Err(Problem::No("the canary did not fire".to_owned())),
    }
}

/// The rule set that the next attempt will use.
fn rule_set(session: &Session<'_>, project: &Project) -> Option<RuleSetBlob> {
    let context = session.context;
    if context.notes.get(NOTE_RULESET).is_some_and(|v| v == RECORDED) && !accepted(session, project)
    {
        return project.recorded_rules(&context.records, session.services.blobs.as_ref());
    }
    project.rule_set()
}

/// The chosen version loads the file, and its position file or netlist has the parts that our own
/// parser counts.
pub(super) async fn format_readable(
    env: &FindEnv,
    context: &StepContext,
    services: &Services,
) -> CheckResult {
    answer(names::FORMAT_READABLE, readable(env, context, services).await)
}

async fn readable(
    env: &FindEnv,
    context: &StepContext,
    services: &Services,
) -> Result<String, Problem> {
    let unknown = |stop: Stop| Problem::Unknown(words(stop));
    let tool = chosen(env, context, services).await.map_err(Problem::No)?;
    let mut session = Session::new(context, services);
    if context.step.arg_str("board").is_none() {
        let (project, root_sheet, sheets) = erc::sheets(&session, "schematic").map_err(unknown)?;
        let made = netlist::export(env, &mut session, &project, &root_sheet, &sheets)
            .await
            .map_err(|stop| Problem::No(words(stop)))?;
        let (have, want) = (made.netlist.components.len(), made.index.symbols.len());
        return match (have, want) {
            (0, 1..) => Err(Problem::No("it reads no parts from the schematic".to_owned())),
            _ => Ok(tool.label()),
        };
    }
    let project = project_of(&session).map_err(unknown)?;
    let mirror = project.mirror(&session, None, "readable").map_err(unknown)?;
    let path = mirror.file(&project.name("kicad_pcb"));
    let (_, board) = read_board(&session, &path).map_err(unknown)?;
    let caller = session.caller(tool.clone(), Libraries::Project).map_err(unknown)?;
    let out = fresh(&caller, "readable-out")?;
    let csv = out.join("positions.csv");
    let mut line: Vec<String> =
        ["pcb", "export", "pos", "--format", "csv", "--units", "mm", "-o"].map(String::from).into();
    line.push(csv.to_string_lossy().into_owned());
    line.push(path.to_string_lossy().into_owned());
    let called = run(&caller, &line, &mirror.folder).await?;
    if called.result.status() != Some(0) {
        return Err(Problem::No(format!("{} does not load it", tool.label())));
    }
    let text = std::fs::read_to_string(&csv).unwrap_or_default();
    let lines = text.lines().filter(|l| !l.trim().is_empty()).count();
    let left_out = |f: &&crate::file::board::Footprint| {
        !f.attributes.contains("exclude_from_pos_files") && !f.attributes.contains("virtual")
    };
    let want = board.footprints.iter().filter(left_out).count();
    if lines == want + 1 {
        Ok(tool.label())
    } else {
        Err(Problem::No(format!("it lists {} parts, the file has {want}", lines.saturating_sub(1))))
    }
}

/// KiCad's steps change nothing of the engineer's, so all that must hold is that the second
/// parser reads the files.
pub(super) fn only_intended_changes(context: &StepContext, _services: &Services) -> CheckResult {
    for name in ["board", "schematic"] {
        let Ok(file) = args::input(context, name) else { continue };
        let read = match Header::read(&file).map(|h| h.kind) {
            Ok(FileKind::Board) => Board::read(&file).map(|_| ()).map_err(|e| e.to_string()),
            Ok(_) => crate::file::read_bounded(&file).map_err(|e| e.to_string()).and_then(|b| {
                crate::sexpr::Document::parse(b).map(|_| ()).map_err(|e| e.to_string())
            }),
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = read {
            return CheckResult::fail(names::ONLY_INTENDED_CHANGES, &error);
        }
    }
    CheckResult::pass(names::ONLY_INTENDED_CHANGES)
}

/// Netlist and board anew, compared by the second parser.
pub(super) async fn board_equals_netlist(
    env: &FindEnv,
    context: &StepContext,
    services: &Services,
    probe: &str,
) -> CheckResult {
    let compared = compared(env, context, services).await;
    answer(
        probe,
        compared.and_then(|c| {
            let lost = c.missing.len();
            match probe {
                names::FOOTPRINTS_EQUAL if lost > 0 => {
                    Err(Problem::No(format!("{lost} parts are still missing")))
                }
                names::FOOTPRINTS_EQUAL if !c.pads.is_empty() => {
                    Err(Problem::No(format!("pads of {} parts do not fit", c.pads.len())))
                }
                _ if !c.rewired.is_empty() => {
                    Err(Problem::No(format!("the pins of {} nets differ", c.rewired.len())))
                }
                _ => Ok(String::new()),
            }
        }),
    )
}

async fn compared(
    env: &FindEnv,
    context: &StepContext,
    services: &Services,
) -> Result<Comparison, Problem> {
    let unknown = |stop: Stop| Problem::Unknown(words(stop));
    let mut session = Session::new(context, services);
    let project = project_of(&session).map_err(unknown)?;
    let sheet = project.beside("kicad_sch");
    let sheets = crate::file::schematic::Hierarchy::read(&sheet);
    let made =
        netlist::export(env, &mut session, &project, &sheet, &sheets).await.map_err(unknown)?;
    let (_, board) = read_board(&session, &project.beside("kicad_pcb")).map_err(unknown)?;
    Ok(Comparison::new(&made.netlist, &board))
}
