//! `kicad/compare`: the netlist of the schematic against the board, by reference, pad and net.

use pcbflow_core::check::{CheckResult, Finding, FindingItem, FindingSeverity};
use pcbflow_core::evidence::{Evidence, Signal, Source};

use super::project::{self, Project};
use super::stop::{REPORT_CLEAN, Session, Stop};
use super::{args, drc, dropped, netlist};
use crate::cli::find::FindEnv;
use crate::file::board::Board;
use crate::file::compare::{Comparison, ExtraKind, Rewired};
use crate::file::schematic::Hierarchy;
use crate::report::sheets::SheetIndex;
use crate::signals;

/// Where the list of differences goes when the step does not say.
pub const REPORT_DEFAULT: &str = "out/compare.json";
/// Most nets that a message names.
const NETS_SHOWN_MAX: usize = 10;

/// Runs the comparison.
///
/// # Errors
/// A failure or a refusal.
pub async fn run(env: &FindEnv, session: &mut Session<'_>) -> Result<CheckResult, Stop> {
    let (project, board_file) = Project::of_arg(session, "board")?;
    project::header(session, &board_file)?;
    let (project, root_sheet) = match session.context.step.arg_str("schematic") {
        Some(_) => Project::of_arg(session, "schematic")?,
        None => {
            let sheet = project.beside("kicad_sch");
            (project, sheet)
        }
    };
    if !root_sheet.exists() && project.beside("sch").exists() {
        let name = project.name("sch");
        return Err(session.failed(Signal::new(Source::File, signals::FORMAT_TOO_OLD).text(&name)));
    }
    let sheets = Hierarchy::read(&root_sheet);
    project::sheets_sound(session, &sheets, &project.root)?;
    let (_, board) = drc::read_board(session, &board_file)?;
    let made = netlist::export(env, session, &project, &root_sheet, &sheets).await?;
    let differences = Comparison::new(&made.netlist, &board);
    if differences.is_netlist_empty() {
        return Err(netlist::empty(session, &made.index));
    }
    if differences.components == 0 {
        let reason = "there are no parts to compare".to_owned();
        return Ok(CheckResult { empty: true, reason, ..CheckResult::pass(REPORT_CLEAN) });
    }
    if let Some(evidence) = failure(session, &differences, &made.index, &board) {
        return Err(Stop::Failed(evidence));
    }
    let found = findings(&differences);
    let step = &session.context.step;
    let result = CheckResult::of_findings(REPORT_CLEAN, found, args::limits(step));
    let text = serde_json::to_vec_pretty(&result.findings).unwrap_or_default();
    session.write_output(&args::report_path(step, REPORT_DEFAULT)?, &text)?;
    session.notes.push(format!(
        "compared {} parts of the schematic with {} on the board",
        differences.components, differences.footprints
    ));
    Ok(result)
}

/// Parts that were dropped (KI-2) and nets whose pins differ (KI-4) are failures with a ladder.
pub(crate) fn failure(
    session: &Session<'_>,
    differences: &Comparison,
    index: &SheetIndex,
    board: &Board,
) -> Option<Evidence> {
    if !differences.missing.is_empty() {
        return Some(dropped::evidence(session, &differences.missing, index, board));
    }
    if differences.rewired.is_empty() {
        return None;
    }
    let mut evidence = session.evidence();
    let names: Vec<&str> = differences.rewired.iter().map(|r| r.netlist.as_str()).collect();
    let mut items = names.iter().take(NETS_SHOWN_MAX).copied().collect::<Vec<_>>().join(", ");
    if names.len() > NETS_SHOWN_MAX {
        items.push_str(&format!(" and {} more", names.len() - NETS_SHOWN_MAX));
    }
    let count = i64::try_from(names.len()).unwrap_or(i64::MAX);
    evidence.push(Signal::new(Source::Report, signals::NET_PINS_DIFFER).number(count).text(&items));
    evidence.test_ids = differences.rewired.iter().map(|r| r.netlist.clone()).collect();
    evidence.slots.insert("items".to_owned(), items);
    evidence.slots.insert("count".to_owned(), names.len().to_string());
    Some(evidence)
}

fn finding(rule: &str, severity: FindingSeverity, key: &str, message: String) -> Finding {
    Finding {
        id: format!("compare:{rule}:{key}"),
        engine: "compare".to_owned(),
        rule: rule.to_owned(),
        severity,
        message: pcbflow_core::text::without_control(&message),
        items: Vec::new(),
        excluded: None,
        apart: false,
    }
}

fn of_part(mut finding: Finding, part: &str) -> Finding {
    finding.items.push(FindingItem {
        text: part.to_owned(),
        uuid: String::new(),
        at_nm: None,
        part: Some(part.to_owned()),
        net: None,
    });
    finding
}

/// Differences that are findings: what only the board has, pads, names of nets.
#[must_use]
pub fn findings(differences: &Comparison) -> Vec<Finding> {
    use FindingSeverity::{Error, Warning};
    let mut found = Vec::new();
    for (reference, count) in &differences.duplicated {
        let message = format!("{reference} is on the board {count} times");
        found.push(of_part(finding("duplicate_part", Error, reference, message), reference));
    }
    for (reference, count) in &differences.duplicated_in_schematic {
        let message = format!("{reference} is in the schematic {count} times");
        found.push(of_part(finding("duplicate_symbol", Error, reference, message), reference));
    }
    for pads in &differences.pads {
        let list = |set: &std::collections::BTreeSet<String>| {
            set.iter().cloned().collect::<Vec<_>>().join(", ")
        };
        let part = &pads.reference;
        let sets = [
            ("missing_pad", Error, &pads.missing, "has no pad for pin"),
            ("torn_pad", Error, &pads.torn, "is on several nets at pad"),
            ("extra_pad", Warning, &pads.extra, "has a connected pad that is no pin:"),
        ];
        for (rule, severity, set, words) in sets {
            if !set.is_empty() {
                let message = format!("{part} {words} {}", list(set));
                found.push(of_part(finding(rule, severity, part, message), part));
            }
        }
    }
    for extra in differences.extra.iter().filter(|e| e.kind == ExtraKind::Part) {
        let part = &extra.reference;
        let message = format!("{part} is on the board and not in the schematic");
        found.push(of_part(finding("extra_part", Warning, part, message), part));
    }
    for part in &differences.excluded_on_board {
        let message = format!("{part} is on the board although the schematic keeps it off");
        found.push(of_part(finding("excluded_part", Warning, part, message), part));
    }
    for net in &differences.renamed {
        let message = format!("net {} is called {} on the board", net.netlist, net.board);
        found.push(finding("renamed_net", Warning, &net.netlist, message));
    }
    found.extend(differences.rewired.iter().map(rewired));
    found.sort();
    found
}

fn rewired(net: &Rewired) -> Finding {
    let pins = |list: Vec<String>| list.into_iter().take(NETS_SHOWN_MAX).collect::<Vec<_>>();
    let lost = pins(net.lost.iter().map(|(pin, _)| pin.to_string()).collect());
    let gained = pins(net.gained.iter().map(|(pin, _)| pin.to_string()).collect());
    let message = format!(
        "net {} has other pins on the board: without {}; with {}",
        net.netlist,
        lost.join(" "),
        gained.join(" ")
    );
    finding("net_pins_differ", FindingSeverity::Error, &net.netlist, message)
}
