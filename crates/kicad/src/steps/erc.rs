//! `kicad/erc`: the electrical check, after all sheets were found and read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pcbflow_core::check::CheckResult;
use pcbflow_core::evidence::{Signal, Source};
use serde_json::Value;

use super::project::{self, Project};
use super::stop::{REPORT_CLEAN, Session, Stop};
use super::{args, drc, names, rulesets, tool};
use crate::cli::find::FindEnv;
use crate::cli::mirror::Mirror;
use crate::file::header::{FileKind, Header};
use crate::file::schematic::Hierarchy;
use crate::file::sheet_canary::SheetCanary;
use crate::report::proof::{self, Lists};
use crate::report::sheets::SheetIndex;
use crate::report::{Report, findings, off};
use crate::sexpr::Document;
use crate::signals;

/// Where the report goes when the step does not say.
pub const REPORT_DEFAULT: &str = "out/erc.json";

/// Runs the check.
///
/// # Errors
/// A failure or a refusal.
pub async fn run(env: &FindEnv, session: &mut Session<'_>) -> Result<CheckResult, Stop> {
    let (project, root_sheet, sheets) = sheets(session, "schematic")?;
    let required = sheets.required_major().unwrap_or(0);
    let (newest, header) = newest_sheet(&sheets, &root_sheet);
    let tool = tool::choose(env, session, required, &newest, header.as_ref()).await?;
    let rules = rulesets::before(session, &project)?;
    let mut index = SheetIndex::of(&sheets);
    if index.symbols_total == 0 {
        let reason = "there are no symbols in the schematic".to_owned();
        return Ok(CheckResult { empty: true, reason, ..CheckResult::pass(REPORT_CLEAN) });
    }
    let mirror = project.mirror(session, Some(&sheets), "project")?;
    rules.lay(session, &project, &mirror)?;
    let canary = plant(session, &mirror, &root_sheet, &rules)?;
    let caller = session.caller(tool, args::libraries(&session.context.step))?;
    let out = caller.fresh("report").map_err(|s| session.failed(s))?;
    let report = out.join("erc.json");
    let name = root_sheet.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut line: Vec<String> =
        ["sch", "erc", "--format", "json", "--units", "mm", "--severity-all"]
            .map(String::from)
            .into();
    line.extend(["--exit-code-violations".to_owned(), "-o".to_owned()]);
    line.push(report.to_string_lossy().into_owned());
    line.push(mirror.file(&name).to_string_lossy().into_owned());
    session.doing("checking the schematic");
    let called = caller.run(&line, &mirror.folder).await.map_err(|s| session.failed(s))?;
    session.keep(&called);
    let mut proven = drc::judge_call(
        session,
        &called,
        &caller,
        &out,
        |started| {
            let (status, said) = (called.result.status(), &called.result.stdout.text);
            proof::prove(&report, Lists::Erc, &name, started, status, said)
        },
        |major| project::not_loaded(&root_sheet, major, FileKind::Schematic),
    )?;
    session.store("erc.json", &proven.bytes);
    all_sheets(session, &sheets, proven.report.sheets.as_ref().map_or(0, Vec::len))?;
    heard(session, canary.as_ref(), &proven.report)?;
    if let Some(canary) = &canary {
        proven.report.drop_entries(|entry| canary.owns(entry));
    }
    index.judge_positions(&proven.report);
    let mut found = findings::of_entries("erc", proven.report.entries(), &index);
    found.extend(off::of_schematic(&rules.project.erc_severities));
    found.extend(off::of_roots(further_roots(session, &project, &sheets)));
    findings::give_ids(&mut found);
    let step = &session.context.step;
    let result = CheckResult::of_findings(REPORT_CLEAN, found, args::limits(step));
    session.write_output(
        &args::report_path(step, REPORT_DEFAULT)?,
        &without(canary.as_ref(), &proven.bytes),
    )?;
    if canary.is_none() {
        return Err(Stop::Refused(off::NOTHING_PROVES_ERC.to_owned()));
    }
    let counts = result.counts;
    session.notes.push(format!(
        "electrical rules: {} errors, {} warnings, {} excluded, {} about libraries apart",
        counts.errors, counts.warnings, counts.excluded, counts.apart
    ));
    session.notes.extend(rules.notes.iter().cloned());
    session.records.extend(rules.record_but_custom(session.services.blobs.as_ref()));
    Ok(result)
}

/// Root sheets of the project that are not below the one that is checked.
fn further_roots(session: &Session<'_>, project: &Project, sheets: &Hierarchy) -> Vec<String> {
    let roots = names::in_file(session, &project.beside("kicad_pro")).roots;
    let seen: BTreeSet<&Path> = sheets.files().collect();
    roots.into_iter().filter(|name| !seen.contains(project.folder.join(name).as_path())).collect()
}

/// Plants faults in the private copy of the root sheet, which the check must find.
fn plant(
    session: &Session<'_>,
    mirror: &Mirror,
    root_sheet: &Path,
    rules: &rulesets::InForce,
) -> Result<Option<SheetCanary>, Stop> {
    let name = root_sheet.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let damaged = |why: String| {
        let signal = Signal::new(Source::File, signals::BOARD_DAMAGED);
        session.failed(signal.text(&format!("{name}: {why}")))
    };
    let path = mirror.file(&name);
    let bytes = crate::file::read_bounded(&path).map_err(|e| damaged(e.to_string()))?;
    let sheet = Document::parse(bytes).map_err(|e| damaged(e.to_string()))?;
    let context = session.context;
    let now = session.services.clock.now();
    let seed = format!("{:?} {} {:?} {}", context.key, context.run, context.attempt, now.0);
    let canary = SheetCanary::plant(&sheet, &rules.project.erc_severities, &seed)
        .map_err(|e| damaged(e.to_string()))?;
    if let Some(canary) = &canary {
        mirror
            .write(&name, &canary.text)
            .map_err(|e| session.failed(crate::cli::space::signal_of(&path, &e)))?;
    }
    Ok(canary)
}

/// A report that lacks a planted fault is not that of a check which looked at this schematic.
fn heard(session: &Session<'_>, canary: Option<&SheetCanary>, report: &Report) -> Result<(), Stop> {
    let silent = canary.map(|c| c.silent(report.entries())).unwrap_or_default();
    if silent.is_empty() {
        return Ok(());
    }
    let count = i64::try_from(silent.len()).unwrap_or(i64::MAX);
    let signal = Signal::new(Source::Report, signals::CANARY_NOT_HIT).number(count);
    let mut evidence = session.evidence();
    evidence.slots.insert("variant".to_owned(), "planted_fault_missed".to_owned());
    evidence.push(signal.text(&silent.join(", ")));
    Err(Stop::Failed(evidence))
}

/// The report without the planted faults.
fn without(canary: Option<&SheetCanary>, bytes: &[u8]) -> Vec<u8> {
    let parsed = canary.and_then(|c| Some((c, serde_json::from_slice::<Value>(bytes).ok()?)));
    let Some((canary, mut json)) = parsed else { return bytes.to_vec() };
    let sheets = json.get_mut("sheets").and_then(Value::as_array_mut);
    for sheet in sheets.into_iter().flatten() {
        let Some(list) = sheet.get_mut("violations").and_then(Value::as_array_mut) else {
            continue;
        };
        list.retain(|entry| {
            let items = entry.get("items").and_then(Value::as_array).into_iter().flatten();
            !canary.owns_ids(items.filter_map(|i| i.get("uuid").and_then(Value::as_str)))
        });
    }
    let mut text = serde_json::to_vec_pretty(&json).unwrap_or_else(|_| bytes.to_vec());
    text.push(b'\n');
    text
}

/// The report has an entry for each sheet, clean ones included; fewer of them than our own reading
/// finds mean that the check has not seen the whole schematic.
fn all_sheets(session: &Session<'_>, sheets: &Hierarchy, reported: usize) -> Result<(), Stop> {
    let ours: usize = sheets.sheets.values().map(|sheet| sheet.instances).sum();
    if reported >= ours {
        return Ok(());
    }
    let text = format!("{reported} sheets are in it, {ours} are in the schematic");
    Err(session.failed(Signal::new(Source::Report, signals::REPORT_UNREADABLE).text(&text)))
}

/// The schematic that an argument names, with sound sheets.
///
/// # Errors
/// A failure or refusal for what is wrong with it.
pub(crate) fn sheets(
    session: &Session<'_>,
    arg: &str,
) -> Result<(Project, PathBuf, Hierarchy), Stop> {
    let (project, root_sheet) = Project::of_arg(session, arg)?;
    if root_sheet.extension().is_some_and(|e| e == "sch") && root_sheet.exists() {
        let name = project.name("sch");
        let signal = Signal::new(Source::File, signals::FORMAT_TOO_OLD).text(&name);
        return Err(session.failed(signal));
    }
    let sheets = Hierarchy::read(&root_sheet);
    project::sheets_sound(session, &sheets, &project.root)?;
    Ok((project, root_sheet, sheets))
}

/// The sheet that needs the newest version.
pub(super) fn newest_sheet(sheets: &Hierarchy, root: &Path) -> (PathBuf, Option<Header>) {
    sheets
        .sheets
        .iter()
        .max_by_key(|(_, sheet)| sheet.header.required_major())
        .map_or_else(|| (root.to_owned(), None), |(path, s)| (path.clone(), Some(s.header.clone())))
}
