//! `kicad/export`: fabrication files, made side by side and checked for what is in them.
//!
//! Exit status 0 and "Plotted" prove nothing: on a full disk KiCad 9 leaves 21 empty Gerber files
//! behind and ends with 0. So every file is read back and compared with the board as our own parser
//! sees it, and nothing is put into the board's folder before all of it was proven.

mod content;
mod csv;
mod plan;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pcbflow_core::check::{CheckResult, Finding};
use pcbflow_core::evidence::{Signal, Source, codes};
use serde_json::Value;

use self::plan::{Job, What};
use super::names::Resolver;
use super::project::{self, Project};
use super::stop::{REPORT_CLEAN, Session, Stop};
use super::{args, drc, rulesets, tool};
use crate::cli::call::{self, Called, Caller};
use crate::cli::find::FindEnv;
use crate::cli::join::{Job as Task, side_by_side};
use crate::cli::mirror::Mirror;
use crate::file::board::Board;
use crate::file::header::{FileKind, Header};
use crate::file::schematic::Hierarchy;
use crate::report::sheets::SheetIndex;
use crate::signals;

/// Where the files go when the step does not say.
pub const FOLDER_DEFAULT: &str = "out/fab";
/// Most files of one export.
const FILES_MAX: usize = 2_000;

/// What the exports are compared with.
struct Truth {
    board: Board,
    /// The schematic, when a bill of materials is made.
    index: Option<SheetIndex>,
    /// Tells the project's own models from KiCad's.
    resolver: Resolver,
}

/// Makes the files.
///
/// # Errors
/// A failure or a refusal.
pub async fn run(env: &FindEnv, session: &mut Session<'_>) -> Result<CheckResult, Stop> {
    let (project, board_file) = Project::of_arg(session, "board")?;
    let header = project::header(session, &board_file)?;
    let (whats, sheets) = wanted(session, &project)?;
    let required = drc::newest(header.as_ref(), sheets.as_ref());
    let tool = tool::choose(env, session, required, &board_file, header.as_ref()).await?;
    // Without the project file, paths that begin at the project lead nowhere.
    let rules = rulesets::for_files(session, &project)?;
    let mirror = project.mirror(session, sheets.as_ref(), "project")?;
    if let Some(rules) = &rules {
        rules.lay(session, &project, &mirror)?;
        session.notes.push("made with the recorded project file".to_owned());
    }
    let (_, board) = drc::read_board(session, &mirror.file(&project.name("kicad_pcb")))?;
    if board.footprints.is_empty() && board.tracks == 0 && board.zones.is_empty() {
        let reason = "there is nothing on the board to export".to_owned();
        return Ok(CheckResult { empty: true, reason, ..CheckResult::pass(REPORT_CLEAN) });
    }
    let resolver = Resolver::new(session, &project);
    let truth = Truth { index: sheets.as_ref().map(SheetIndex::of), board, resolver };
    let caller = session.caller(tool, args::libraries(&session.context.step))?;
    let jobs = plan::jobs(session, &whats, &caller, &project, &truth.board, sheets.as_ref())?;
    session.doing("making the fabrication files");
    let called = call_all(session, &caller, &mirror, &jobs).await?;
    let mut found = general_findings(&truth.board, &whats);
    for (job, called) in jobs.iter().zip(&called) {
        found.extend(prove(session, &caller, job, called, &board_file, &truth)?);
    }
    place(session, &project, &jobs)?;
    for path in session.remove_earlier()? {
        let message = format!(
            "{path} is of an earlier export and was changed since, so it was left there; move it away"
        );
        found.push(content::warning("earlier_output", message, None));
    }
    crate::report::findings::give_ids(&mut found);
    let names: Vec<&str> = whats.iter().map(|w| w.word()).collect();
    session.notes.push(format!("exported {}", names.join(", ")));
    Ok(CheckResult::of_findings(REPORT_CLEAN, found, args::limits(&session.context.step)))
}

/// What is to be made, and the schematic if that needs one.
fn wanted(
    session: &Session<'_>,
    project: &Project,
) -> Result<(Vec<What>, Option<Hierarchy>), Stop> {
    let step = &session.context.step;
    let named = |value: &Value| -> Result<What, Stop> {
        let word = value.as_str().unwrap_or_default();
        What::of_word(word).ok_or_else(|| Stop::Refused(format!("there is no export {word:?}")))
    };
    let asked = match step.with.get("what") {
        None => None,
        Some(Value::Array(list)) => Some(list.iter().map(named).collect::<Result<Vec<_>, _>>()?),
        Some(one) => Some(vec![named(one)?]),
    };
    let sheet = match step.arg_str("schematic") {
        Some(_) => Project::of_arg(session, "schematic")?.1,
        None => project.beside("kicad_sch"),
    };
    let mut whats = asked.clone().unwrap_or_else(|| What::ALL.to_vec());
    if asked.is_none() && !sheet.exists() {
        whats.retain(|w| *w != What::Bom);
    }
    whats.sort();
    whats.dedup();
    if whats.is_empty() {
        return Err(Stop::Refused("the step asks for no file".to_owned()));
    }
    if !whats.contains(&What::Bom) {
        return Ok((whats, None));
    }
    let sheets = Hierarchy::read(&sheet);
    project::sheets_sound(session, &sheets, &project.root)?;
    Ok((whats, Some(sheets)))
}

async fn call_all(
    session: &mut Session<'_>,
    caller: &Caller<'_>,
    mirror: &Mirror,
    jobs: &[Job],
) -> Result<Vec<Called>, Stop> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let asked = session.context.step.with.get("jobs").and_then(Value::as_u64);
    let width = asked.and_then(|n| usize::try_from(n).ok()).unwrap_or(cores);
    let tasks: Vec<Task<'_, Result<Called, Signal>>> = jobs
        .iter()
        .map(|job| -> Task<'_, _> { Box::pin(caller.run(&job.args, &mirror.folder)) })
        .collect();
    let mut all = Vec::with_capacity(jobs.len());
    for called in side_by_side(tasks, width).await {
        let called = called.map_err(|signal| session.failed(signal))?;
        // The record shows the first call that went wrong, else the last one.
        if matches!(session.exit, None | Some(0)) && session.signal.is_none() {
            session.keep(&called);
        }
        all.push(called);
    }
    Ok(all)
}

/// Reads back what one call made; what is wrong with it beyond repair is a failure, what the
/// engineer should know is a finding.
fn prove(
    session: &Session<'_>,
    caller: &Caller<'_>,
    job: &Job,
    called: &Called,
    board_file: &Path,
    truth: &Truth,
) -> Result<Vec<Finding>, Stop> {
    let mut evidence = session.evidence();
    if let Err(signal) = caller.probe_after(&job.folder) {
        evidence.push(signal);
    }
    // STEP ends with 2 when a model is VRML although a good file without it is written; the file
    // itself is judged below.
    let vrml = job.what == What::Step
        && called.result.status() == Some(2)
        && format!("{}{}", called.result.stdout.text, called.result.stderr.text).contains("VRML");
    let bad = !vrml && call::push_ended(&mut evidence, called);
    if called.result.status() == Some(3) {
        let (file, kind) = match job.what {
            What::Bom => (board_file.with_extension("kicad_sch"), FileKind::Schematic),
            _ => (board_file.to_owned(), FileKind::Board),
        };
        evidence.push(project::not_loaded(&file, caller.tool.major(), kind));
    }
    if bad {
        evidence.test_ids.push(job.what.word().to_owned());
        return Err(Stop::Failed(evidence));
    }
    let files = files_in(&job.folder);
    let missing = |code: &str, text: &str| {
        Signal::new(Source::File, code).text(&format!("{}: {text}", job.what.word()))
    };
    if files.is_empty() {
        evidence.push(missing(codes::OUTPUT_MISSING, "no file was made"));
        return Err(Stop::Failed(evidence));
    }
    let judged = content::judge(job.what, &files, called, truth);
    judged.map_err(|fault| {
        match fault {
            content::Fault::Empty(name) => evidence.push(missing(codes::OUTPUT_EMPTY, &name)),
            content::Fault::Cut(name) => {
                evidence.slots.insert("variant".to_owned(), "file_not_whole".to_owned());
                let signal = Signal::new(Source::Report, signals::REPORT_UNREADABLE);
                evidence.push(signal.text(&name));
            }
        }
        evidence.test_ids.push(job.what.word().to_owned());
        Stop::Failed(evidence)
    })
}

/// Findings that do not depend on one file.
fn general_findings(board: &Board, whats: &[What]) -> Vec<Finding> {
    let mut found = Vec::new();
    if !whats.contains(&What::Gerbers) {
        return found;
    }
    let wanting = board.zones.iter().filter(|z| !z.keepout && z.wants_fill).count();
    let unfilled = board.unfilled_zones().count();
    if unfilled > 0 {
        let message = format!("{unfilled} of {wanting} zones are not filled: they are no copper");
        found.push(if unfilled == wanting {
            content::error("unfilled_zones", message)
        } else {
            content::warning("unfilled_zones", message, None)
        });
    }
    found
}

/// Files below a folder, with their paths relative to it.
fn files_in(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(current) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&current) else { continue };
        for path in entries.flatten().map(|e| e.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if found.len() < FILES_MAX {
                let relative = path.strip_prefix(folder).unwrap_or(&path).to_owned();
                found.push((path, relative));
            }
        }
    }
    found.sort();
    found
}

/// Moves all files into the board's folder, and removes those of this project that an earlier
/// export left there and this one did not make (a layer that is gone).
fn place(session: &mut Session<'_>, project: &Project, jobs: &[Job]) -> Result<(), Stop> {
    let to = args::output(session.context.step.arg_str("to").unwrap_or(FOLDER_DEFAULT))?;
    for job in jobs {
        let folder = to.join(job.what.word());
        let mut made = BTreeSet::new();
        for (path, relative) in files_in(&job.folder) {
            session.move_output(&path, &folder.join(&relative))?;
            made.insert(relative);
        }
        let there = session.context.board_dir.join(&folder);
        for (path, relative) in files_in(&there) {
            let name = relative.to_string_lossy();
            let ours = name.starts_with(&format!("{}-", project.stem))
                || name.starts_with(&format!("{}.", project.stem));
            if ours && !made.contains(&relative) {
                std::fs::remove_file(&path)
                    .map_err(|e| session.failed(crate::cli::space::signal_of(&path, &e)))?;
            }
        }
    }
    Ok(())
}

/// The head of the board, for the closure.
#[must_use]
pub fn required(board: &Path) -> u32 {
    Header::read(board).ok().and_then(|h| h.required_major()).unwrap_or(0)
}
