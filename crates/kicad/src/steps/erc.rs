//! `kicad/erc`: the electrical check, after all sheets were found and read.

use std::path::{Path, PathBuf};

use pcbflow_core::check::CheckResult;
use pcbflow_core::evidence::{Signal, Source};

use super::project::{self, Project};
use super::stop::{REPORT_CLEAN, Session, Stop};
use super::{args, drc, rulesets, tool};
use crate::cli::find::FindEnv;
use crate::file::header::{FileKind, Header};
use crate::file::schematic::Hierarchy;
use crate::report::proof::{self, Lists};
use crate::report::sheets::SheetIndex;
use crate::report::{findings, off};
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
    let proven = drc::judge_call(
        session,
        &called,
        &caller,
        &out,
        |started| proof::prove(&report, Lists::Erc, &name, started, called.result.status()),
        |major| project::not_loaded(&root_sheet, major, FileKind::Schematic),
    )?;
    session.store("erc.json", &proven.bytes);
    all_sheets(session, &sheets, proven.report.sheets.as_ref().map_or(0, Vec::len))?;
    index.judge_positions(&proven.report);
    let entries = proven.report.sheets.iter().flatten().flat_map(|s| &s.violations);
    let mut found = findings::of_entries("erc", entries, &index);
    found.extend(off::of_schematic(&rules.project.erc_severities));
    findings::give_ids(&mut found);
    let step = &session.context.step;
    let result = CheckResult::of_findings(REPORT_CLEAN, found, args::limits(step));
    session.write_output(&args::report_path(step, REPORT_DEFAULT)?, &proven.bytes)?;
    let counts = result.counts;
    session.notes.push(format!(
        "electrical rules: {} errors, {} warnings, {} excluded, {} about libraries apart",
        counts.errors, counts.warnings, counts.excluded, counts.apart
    ));
    session.notes.extend(rules.notes.iter().cloned());
    session.records.extend(rules.record(session.services.blobs.as_ref()));
    Ok(result)
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
