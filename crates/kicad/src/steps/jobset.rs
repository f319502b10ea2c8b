//! `kicad/jobset`: runs a jobset on a private copy and keeps what it makes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use pcbflow_core::check::CheckResult;
use pcbflow_core::evidence::{Signal, Source, codes};
use serde_json::Value;

use super::project::{self, Project, Surroundings};
use super::stop::{Session, Stop};
use super::{args, drc, names, rulesets, tool};
use crate::cli::call;
use crate::cli::find::FindEnv;
use crate::file::header::Header;
use crate::file::schematic::Hierarchy;
use crate::signals;

/// Where the files go when the step does not say.
pub const FOLDER_DEFAULT: &str = "out/jobset";
/// Name of the step's check.
const CHECK: &str = "jobset_made_files";
/// Most files that are kept.
const FILES_MAX: usize = 5_000;
/// Largest jobset file, in bytes.
const JOBSET_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Runs the jobset.
///
/// # Errors
/// A failure or a refusal.
pub async fn run(env: &FindEnv, session: &mut Session<'_>) -> Result<CheckResult, Stop> {
    let (project, file) = Project::of_arg(session, "project")?;
    project::header(session, &file)?;
    let jobset = args::input(session.context, "jobset")?;
    let destinations = destinations(session, &jobset)?;
    let board = project.beside("kicad_pcb");
    let root_sheet = project.beside("kicad_sch");
    let sheets = root_sheet.exists().then(|| Hierarchy::read(&root_sheet));
    if let Some(sheets) = &sheets {
        project::sheets_sound(session, sheets, &project.root)?;
    }
    let header = Header::read(&board).ok();
    let required = drc::newest(header.as_ref(), sheets.as_ref());
    let tool = tool::choose(env, session, required, &board, header.as_ref()).await?;
    // Its jobs would use KiCad's defaults, and what they make would take the place of good files.
    let rules = rulesets::for_files(session, &project)?;
    let unlinked: BTreeSet<PathBuf> = destinations.iter().map(|d| project.folder.join(d)).collect();
    let around = Surroundings { unlinked, names: names::in_file(session, &jobset).files };
    let mirror = project.mirror_for(session, sheets.as_ref(), "project", &around)?;
    if let Some(rules) = &rules {
        rules.lay(session, &project, &mirror)?;
        session.notes.push("made with the recorded project file".to_owned());
    }
    let name = "pcbflow-run.kicad_jobset";
    let bytes = crate::file::read_bounded(&jobset).unwrap_or_default();
    mirror
        .write(name, &bytes)
        .map_err(|e| session.failed(crate::cli::space::signal_of(&mirror.file(name), &e)))?;
    let before = listing(&mirror.folder);
    let caller = session.caller(tool, args::libraries(&session.context.step))?;
    let mut line: Vec<String> = ["jobset", "run", "-f"].map(String::from).into();
    line.push(mirror.file(name).to_string_lossy().into_owned());
    line.push(mirror.file(&project.name("kicad_pro")).to_string_lossy().into_owned());
    session.doing("running the jobset");
    let called = caller.run(&line, &mirror.folder).await.map_err(|s| session.failed(s))?;
    session.keep(&called);
    let mut evidence = session.evidence();
    if let Err(signal) = caller.probe_after(&mirror.folder) {
        evidence.push(signal);
    }
    if call::push_ended(&mut evidence, &called) {
        return Err(Stop::Failed(evidence));
    }
    let made = made(&mirror.folder, &before);
    if made.is_empty() {
        evidence.push(Signal::new(Source::File, codes::OUTPUT_MISSING).text("jobset"));
        return Err(Stop::Failed(evidence));
    }
    if let Some(empty) =
        made.iter().find(|f| mirror.folder.join(f).metadata().map_or(0, |m| m.len()) == 0)
    {
        let text = empty.to_string_lossy();
        evidence.push(Signal::new(Source::File, codes::OUTPUT_EMPTY).text(&text));
        return Err(Stop::Failed(evidence));
    }
    let to = args::output(session.context.step.arg_str("to").unwrap_or(FOLDER_DEFAULT))?;
    for relative in &made {
        session.move_output(&mirror.folder.join(relative), &to.join(relative))?;
    }
    session.notes.push(format!("the jobset made {} files", made.len()));
    Ok(CheckResult::pass(CHECK))
}

/// Reads the jobset and gives the first part of each destination. The tool ends with 0 and does
/// nothing where the file is missing, is no JSON or has no outputs, so that is found here.
fn destinations(session: &Session<'_>, jobset: &Path) -> Result<BTreeSet<String>, Stop> {
    let name = jobset.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let damaged = |why: &str| {
        let signal = Signal::new(Source::File, signals::BOARD_DAMAGED);
        session.failed(signal.text(&format!("{name}: {why}")))
    };
    let bytes = match crate::file::read_bounded(jobset) {
        Ok(bytes) if bytes.len() <= JOBSET_BYTES_MAX => bytes,
        Ok(_) => return Err(damaged("it is too large")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(project::missing(session, jobset));
        }
        Err(error) => return Err(damaged(&error.to_string())),
    };
    let json: Value = serde_json::from_slice(&bytes).map_err(|e| damaged(&e.to_string()))?;
    let list = |key: &str| json.get(key).and_then(Value::as_array).filter(|l| !l.is_empty());
    if list("jobs").is_none() {
        return Err(damaged("it has no jobs"));
    }
    let Some(outputs) = list("outputs") else { return Err(damaged("it has no outputs")) };
    let mut parts = BTreeSet::new();
    for output in outputs {
        let path = output.pointer("/settings/output_path").and_then(Value::as_str).unwrap_or("");
        if path.is_empty() {
            continue;
        }
        args::output(path.trim_start_matches("./"))?;
        let first = path.trim_start_matches("./").split('/').next().unwrap_or_default();
        parts.insert(first.to_owned());
    }
    Ok(parts)
}

/// Whether a jobset does what may read any file: runs commands, or copies by pattern. Its result is
/// never known to be up to date.
pub(crate) fn reads_anything(bytes: &[u8]) -> bool {
    let Ok(json) = serde_json::from_slice::<Value>(bytes) else { return false };
    let jobs = json.get("jobs").and_then(Value::as_array);
    let kinds = jobs.into_iter().flatten().filter_map(|job| job.get("type")?.as_str());
    kinds.into_iter().any(|kind| kind.starts_with("special_"))
}

/// Files below a folder with size and time of change; links are not followed.
fn listing(folder: &Path) -> BTreeMap<PathBuf, (u64, Option<std::time::SystemTime>)> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(current) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&current) else { continue };
        for path in entries.flatten().map(|e| e.path()) {
            let Ok(meta) = path.symlink_metadata() else { continue };
            if meta.is_dir() {
                folders.push(path);
            } else if meta.is_file() && found.len() < FILES_MAX {
                let relative = path.strip_prefix(folder).unwrap_or(&path).to_owned();
                found.insert(relative, (meta.len(), meta.modified().ok()));
            }
        }
    }
    found
}

/// Files that are new; what KiCad writes for itself is none of them.
fn made(
    folder: &Path,
    before: &BTreeMap<PathBuf, (u64, Option<std::time::SystemTime>)>,
) -> Vec<PathBuf> {
    let own = |p: &Path| {
        let name = p.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.ends_with(".kicad_prl")
            || name.ends_with(".kicad_jobset")
            || name.ends_with(".kicad_pro")
            || name.starts_with('~')
            || name == "fp-info-cache"
    };
    let now = listing(folder);
    now.into_keys().filter(|p| !own(p) && !before.contains_key(p)).collect()
}
