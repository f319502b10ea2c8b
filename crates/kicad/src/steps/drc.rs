//! `kicad/drc`: the design-rule check, with proof that the board's own rules were in force.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pcbflow_core::check::{CheckResult, Finding, FindingSeverity};
use pcbflow_core::evidence::{Evidence, Signal, Source};
use serde_json::{Value, json};

use super::project::{self, Project};
use super::stop::{self, REPORT_CLEAN, Session, Stop, variant};
use super::{args, dropped as lost, holes, rulesets, tool, unlisted};
use crate::cli::call::{self, Called};
use crate::cli::find::FindEnv;
use crate::cli::mirror::Mirror;
use crate::file::board::Board;
use crate::file::header::{FileKind, Header};
use crate::file::rules::{self as own_rules, Canary, CanaryTarget, OddProperty, lint, with_canary};
use crate::file::schematic::Hierarchy;
use crate::report::index::BoardIndex;
use crate::report::proof::{self, Lists, Proven};
use crate::report::sheets::SheetIndex;
use crate::report::{Entry, findings, full, off, rules};
use crate::sexpr::Document;
use crate::signals;

/// Where the report goes when the step does not say.
pub const REPORT_DEFAULT: &str = "out/drc.json";

/// Since this major version a property that is not known stops all rules.
const STOPS_AT_UNKNOWN: u32 = 10;

/// A board that is ready to be checked.
struct Ready {
    project: Project,
    board: PathBuf,
    tool: crate::cli::find::Tool,
    sheets: Option<Hierarchy>,
    mirror: Mirror,
    rules: rulesets::InForce,
}

/// Runs the check.
///
/// # Errors
/// A failure or a refusal.
pub async fn run(env: &FindEnv, session: &mut Session<'_>) -> Result<CheckResult, Stop> {
    let ready = prepare(env, session).await?;
    let (doc, board) = read_board(session, &ready.mirror.file(&ready.project.name("kicad_pcb")))?;
    if board.footprints.is_empty() && board.tracks == 0 {
        let reason = "there are no parts and no tracks on the board";
        return Ok(CheckResult {
            empty: true,
            reason: reason.to_owned(),
            ..CheckResult::pass(REPORT_CLEAN)
        });
    }
    let Some(target) = CanaryTarget::for_board(&board) else {
        return Err(Stop::Refused("nothing on the board can prove that rules are in force".into()));
    };
    let canary = plant(session, &ready, &board, &target)?;
    let (called, proven) = call(session, &ready).await?;
    let parity = args::flag(&session.context.step, "parity", true);
    if parity {
        parity_ran(session, &called)?;
    }
    in_force(session, &ready, &canary, &proven)?;
    let found = collect(&ready, &doc, &canary, &proven);
    if parity {
        dropped(session, &ready, &board, &proven)?;
    }
    holes::compare(session, &ready.project, &board)?;
    conclude(session, &ready, &board, found, &canary, &proven)
}

async fn prepare(env: &FindEnv, session: &mut Session<'_>) -> Result<Ready, Stop> {
    let (project, board) = Project::of_arg(session, "board")?;
    let header = project::header(session, &board)?;
    let parity = args::flag(&session.context.step, "parity", true);
    let sheets = if parity { Some(schematic(session, &project)?) } else { None };
    let required = newest(header.as_ref(), sheets.as_ref());
    let file = newest_file(&board, header.as_ref(), sheets.as_ref());
    let tool =
        tool::choose(env, session, required, &file, Header::read(&file).ok().as_ref()).await?;
    let rules = rulesets::before(session, &project)?;
    let mirror = project.mirror(session, sheets.as_ref(), "project")?;
    rules.lay(session, &project, &mirror)?;
    Ok(Ready { project, board, tool, sheets, mirror, rules })
}

/// The schematic with the board's name; without it parity can't run, and its empty list would
/// look like "no difference".
fn schematic(session: &Session<'_>, project: &Project) -> Result<Hierarchy, Stop> {
    let root = project.beside("kicad_sch");
    if !root.exists() {
        if !project.beside("sch").exists() {
            return Err(project::missing(session, &root));
        }
        let mut evidence = session.evidence();
        let name = project.name("sch");
        evidence.push(Signal::new(Source::File, signals::FORMAT_TOO_OLD).text(&name));
        let why = format!("{} is not there", project.name("kicad_sch"));
        stop::push(&mut evidence, Signal::new(Source::Report, signals::PARITY_NOT_RUN).text(&why));
        return Err(Stop::Failed(evidence));
    }
    let sheets = Hierarchy::read(&root);
    project::sheets_sound(session, &sheets, &project.root)?;
    Ok(sheets)
}

/// The major version that board and sheets need.
pub(crate) fn newest(header: Option<&Header>, sheets: Option<&Hierarchy>) -> u32 {
    let of_board = header.and_then(Header::required_major).unwrap_or(0);
    let of_sheets = sheets.and_then(Hierarchy::required_major).unwrap_or(0);
    of_board.max(of_sheets)
}

/// The file that needs the newest version, for the evidence.
fn newest_file(board: &Path, header: Option<&Header>, sheets: Option<&Hierarchy>) -> PathBuf {
    let of_board = header.and_then(Header::required_major).unwrap_or(0);
    sheets
        .and_then(|s| s.too_new_for(of_board).max_by_key(|(_, major)| *major))
        .map_or_else(|| board.to_owned(), |(path, _)| path.to_owned())
}

/// The board by our own parser. A file that it can't read is never called clean.
pub(crate) fn read_board(session: &Session<'_>, path: &Path) -> Result<(Document, Board), Stop> {
    let damaged = |why: String| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let signal = Signal::new(Source::File, signals::BOARD_DAMAGED);
        session.failed(signal.text(&format!("{name}: {why}")))
    };
    let bytes = crate::file::read_bounded(path).map_err(|e| damaged(e.to_string()))?;
    let doc = Document::parse(bytes).map_err(|e| damaged(e.to_string()))?;
    let board = Board::from_document(&doc).map_err(|e| damaged(e.to_string()))?;
    Ok((doc, board))
}

/// Lints the custom rules and puts a canary beside them in the private copy.
fn plant(
    session: &Session<'_>,
    ready: &Ready,
    board: &Board,
    target: &CanaryTarget,
) -> Result<Canary, Stop> {
    let own = ready.rules.custom.as_deref();
    let layers: Vec<String> = board
        .layers
        .iter()
        .flat_map(|l| [Some(l.name.clone()), l.user_name.clone()])
        .flatten()
        .collect();
    let set = own.map(|bytes| lint(bytes, ready.tool.major(), &layers)).unwrap_or_default();
    if let Some(problem) = set.problems.first() {
        let text =
            format!("{} line {}: {}", ready.project.name("kicad_dru"), problem.line, problem.fault);
        return Err(
            session.failed(Signal::new(Source::File, signals::RULES_FILE_BROKEN).text(&text))
        );
    }
    let mut canary = with_canary(own, target);
    // From 10 on an unknown property stops all rules, and the question would do so as well.
    if ready.tool.major() < STOPS_AT_UNKNOWN {
        canary.ask(&set.odd_properties, target, board);
    }
    let name = ready.project.name("kicad_dru");
    ready
        .mirror
        .write(&name, &canary.text)
        .map_err(|e| session.failed(crate::cli::space::signal_of(&ready.mirror.file(&name), &e)))?;
    Ok(canary)
}

async fn call(session: &mut Session<'_>, ready: &Ready) -> Result<(Called, Proven), Stop> {
    let step = &session.context.step;
    let (libraries, parity) = (args::libraries(step), args::flag(step, "parity", true));
    let caller = session.caller(ready.tool.clone(), libraries)?;
    let out = caller.fresh("report").map_err(|s| session.failed(s))?;
    let report = out.join("drc.json");
    let board = ready.project.name("kicad_pcb");
    let line = arguments(ready, "json", parity, &report);
    session.doing("checking the design rules");
    let called = caller.run(&line, &ready.mirror.folder).await.map_err(|s| session.failed(s))?;
    session.keep(&called);
    let mut proven = judge_call(
        session,
        &called,
        &caller,
        &out,
        |started| {
            let (status, said) = (called.result.status(), &called.result.stdout.text);
            // A comparison that did not run has no count, and is told as that afterwards.
            let lists = Lists::Drc { parity: parity && parity_fault(&called).is_none() };
            proof::prove(&report, lists, &board, started, status, said)
        },
        |major| project::not_loaded(&ready.board, major, FileKind::Board),
    )?;
    session.store("drc.json", &proven.bytes);
    if proven.unlisted > 0 {
        let file = out.join("drc.rpt");
        let again = arguments(ready, "report", parity, &file);
        let second =
            caller.run(&again, &ready.mirror.folder).await.map_err(|s| session.failed(s))?;
        let mut evidence = session.evidence();
        if call::push_ended(&mut evidence, &second) {
            return Err(Stop::Failed(evidence));
        }
        let bytes = crate::file::read_bounded(&file).unwrap_or_default();
        session.store("drc.rpt", &bytes);
        let text = String::from_utf8_lossy(&bytes);
        let more = unlisted::of_text(&text, &proven.report, proven.unlisted)
            .map_err(|signal| session.failed(signal))?;
        proven.report.violations.get_or_insert_default().extend(more);
    }
    Ok((called, proven))
}

/// A call of the check with a report of this form.
fn arguments(ready: &Ready, form: &str, parity: bool, report: &Path) -> Vec<String> {
    let mut line: Vec<String> = ["pcb", "drc", "--format", form, "--units", "mm", "--severity-all"]
        .map(String::from)
        .into();
    line.extend(parity.then(|| "--schematic-parity".to_owned()));
    line.extend(["--exit-code-violations".to_owned(), "-o".to_owned()]);
    line.push(report.to_string_lossy().into_owned());
    // In the copy's folder, so that a name that begins with '-' is no option.
    let board = ready.mirror.file(&ready.project.name("kicad_pcb"));
    line.push(board.to_string_lossy().into_owned());
    line
}

/// What a call was worth: its end, our own probes of disk and rights, then the proof.
pub(crate) fn judge_call<T>(
    session: &Session<'_>,
    called: &Called,
    caller: &call::Caller<'_>,
    out: &Path,
    prove: impl FnOnce(i64) -> Result<T, Signal>,
    not_loaded: impl FnOnce(u32) -> Signal,
) -> Result<T, Stop> {
    let mut evidence = session.evidence();
    if let Err(signal) = caller.probe_after(out) {
        evidence.push(signal);
    }
    let bad = call::push_ended(&mut evidence, called);
    match called.result.status() {
        Some(3) => evidence.push(not_loaded(caller.tool.major())),
        Some(255) => push_parity_fault(&mut evidence, called),
        _ => {}
    }
    if bad {
        return Err(Stop::Failed(evidence));
    }
    prove(call::whole_seconds(called.started)).map_err(|signal| {
        stop::push(&mut evidence, signal);
        Stop::Failed(evidence)
    })
}

/// Status 255 with a schematic that can't be parsed.
fn push_parity_fault(evidence: &mut Evidence, called: &Called) {
    let said = &called.result.stderr.text;
    let line = said.lines().find(|l| l.contains("Expecting") && l.contains(".kicad_sch"));
    if let Some(line) = line {
        stop::push(evidence, Signal::new(Source::Report, signals::PARITY_NOT_RUN).text(line));
    }
}

/// The empty parity list means nothing when the tool says that it could not look.
fn parity_ran(session: &Session<'_>, called: &Called) -> Result<(), Stop> {
    match parity_fault(called) {
        Some(line) => {
            Err(session.failed(Signal::new(Source::Report, signals::PARITY_NOT_RUN).text(line)))
        }
        None => Ok(()),
    }
}

/// The line with which the tool says that it could not compare with the schematic.
fn parity_fault(called: &Called) -> Option<&str> {
    let words = ["Failed to fetch schematic netlist", "fully annotated schematic"];
    let said = [&called.result.stderr.text, &called.result.stdout.text];
    said.into_iter().flat_map(|s| s.lines()).find(|l| words.iter().any(|w| l.contains(w)))
}

/// Proof after the run: every planted rule fired, and no number is KiCad's default.
fn in_force(
    session: &Session<'_>,
    ready: &Ready,
    canary: &Canary,
    proven: &Proven,
) -> Result<(), Stop> {
    let entries = || proven.report.violations.iter().flatten();
    let fired = fired(canary, proven);
    let silent: Vec<String> = canary.silent(&fired).map(|p| p.name.clone()).collect();
    // Below the cap each planted rule is listed. At the cap the board's own assertions may have
    // taken the place, and then their names are the proof.
    let assertions = entries().filter(|e| e.kind == "assertion_failure").count();
    let crowded_out = assertions >= rules::cap_of("assertion_failure")
        && entries().any(|e| is_own_rule(e, canary));
    if !silent.is_empty() && !crowded_out {
        let mut evidence = session.evidence();
        let count = i64::try_from(silent.len()).unwrap_or(i64::MAX);
        let signal = Signal::new(Source::Report, signals::CANARY_NOT_HIT).number(count);
        evidence.push(signal.text(&silent.join(", ")));
        stopped_by(&mut evidence, ready);
        return Err(Stop::Failed(evidence));
    }
    match rules::betrayed_defaults(&proven.report, &ready.rules.project) {
        Some(signal) => Err(session.failed(signal)),
        None => Ok(()),
    }
}

/// Names of the planted rules that fired.
fn fired<'a>(canary: &Canary, proven: &'a Proven) -> Vec<&'a str> {
    let entries = proven.report.violations.iter().flatten();
    entries.filter_map(|e| canary.rule_of(&e.kind, &e.description)).collect()
}

fn odd_properties(ready: &Ready) -> Vec<OddProperty> {
    let set = ready.rules.custom.as_ref().map(|own| lint(own, ready.tool.major(), &[]));
    set.map(|set| set.odd_properties).unwrap_or_default()
}

/// Names the property that most likely stopped the rules.
fn stopped_by(evidence: &mut Evidence, ready: &Ready) {
    if ready.tool.major() < STOPS_AT_UNKNOWN {
        return;
    }
    let Some(odd) = odd_properties(ready).into_iter().next() else { return };
    let (file, OddProperty { name, line, rule }) = (ready.project.name("kicad_dru"), odd);
    let text = format!("{file} line {line}: rule '{rule}' names the unknown property '{name}'");
    let signal = Signal::new(Source::File, signals::RULES_FILE_BROKEN).text(&text);
    evidence.slots.extend(variant(&signal).map(|v| ("variant".to_owned(), v.to_owned())));
    evidence.push(signal);
}

/// Properties of the board's own rules that are not among those measured and that this run has not
/// shown to exist: by an item that has it, or because all rules ran in a version that would have
/// stopped at it.
fn unproven_properties(ready: &Ready, canary: &Canary, proven: &Proven) -> Vec<OddProperty> {
    let fired = fired(canary, proven);
    let stops = ready.tool.major() >= STOPS_AT_UNKNOWN;
    let all_ran = stops && canary.planted.len() > 1 && canary.silent(&fired).next().is_none();
    let unproven = |p: &OddProperty| !all_ran && !canary.answered(&p.name, &fired);
    odd_properties(ready).into_iter().filter(unproven).collect()
}

/// Names in the board's own rules that fit nothing on the board.
fn absent_names(ready: &Ready, board: &Board) -> Vec<Finding> {
    let Some(own) = &ready.rules.custom else { return Vec::new() };
    let names = lint(own, ready.tool.major(), &[]).names;
    let classes: Vec<&str> = ready.rules.project.classes.iter().map(|c| c.name.as_str()).collect();
    off::of_names(own_rules::absent(&names, board, &classes))
}

fn is_own_rule(entry: &Entry, canary: &Canary) -> bool {
    entry.description.contains("(rule '")
        && canary.rule_of(&entry.kind, &entry.description).is_none()
}

fn collect(ready: &Ready, doc: &Document, canary: &Canary, proven: &Proven) -> Vec<Finding> {
    let wanted: BTreeSet<String> =
        proven.report.entries().flat_map(|e| &e.items).map(|i| i.uuid.to_lowercase()).collect();
    let index = BoardIndex::of(doc, &wanted);
    let own = |e: &&Entry| canary.rule_of(&e.kind, &e.description).is_none();
    let list = |l: &Option<Vec<Entry>>| l.clone().unwrap_or_default();
    let report = &proven.report;
    let (violations, open) = (list(&report.violations), list(&report.unconnected_items));
    let parity = list(&report.schematic_parity);
    let mut found = findings::of_entries("drc", violations.iter().filter(own), &index);
    found.extend(findings::of_entries("drc", &open, &index));
    if ready.sheets.is_some() {
        found.extend(findings::of_entries("parity", &parity, &index));
    }
    findings::give_ids(&mut found);
    found
}

/// Parts of the schematic that are not on the board (KI-2): what parity says, confirmed by our
/// own reading of the board. References are compared as sets, never counted.
fn dropped(
    session: &Session<'_>,
    ready: &Ready,
    board: &Board,
    proven: &Proven,
) -> Result<(), Stop> {
    let on_board: BTreeSet<&str> = board.footprints.iter().map(|f| f.reference.as_str()).collect();
    let said: BTreeSet<&str> = proven
        .report
        .schematic_parity
        .iter()
        .flatten()
        .filter(|e| e.kind == "missing_footprint" && !e.excluded)
        .filter_map(|e| e.description.strip_prefix("Missing footprint ")?.split(' ').next())
        .filter(|reference| !on_board.contains(reference))
        .collect();
    if said.is_empty() {
        return Ok(());
    }
    let missing: Vec<String> = said.iter().map(|r| (*r).to_owned()).collect();
    let index = ready.sheets.as_ref().map(SheetIndex::of).unwrap_or_default();
    Err(Stop::Failed(lost::evidence(session, &missing, &index, board)))
}

fn conclude(
    session: &mut Session<'_>,
    ready: &Ready,
    board: &Board,
    mut found: Vec<Finding>,
    canary: &Canary,
    proven: &Proven,
) -> Result<CheckResult, Stop> {
    found.extend(off::of_board(&ready.rules.project.severities));
    found.extend(off::of_properties(&unproven_properties(ready, canary, proven)));
    found.extend(absent_names(ready, board));
    if ready.sheets.is_none() && !ready.project.beside("kicad_sch").exists() {
        found.push(off::no_schematic(&ready.project.name("kicad_sch")));
    }
    let capped = rules::capped(&proven.report);
    found.extend(full::of_hidden(&capped, &found));
    if let Some(sheets) = &ready.sheets {
        found.extend(second_reader(sheets, board, &found));
    }
    findings::give_ids(&mut found);
    let step = &session.context.step;
    let limits = args::limits(step);
    let mut result = CheckResult::of_findings(REPORT_CLEAN, found, limits);
    full::judge(&mut result, limits, &capped);
    let path = args::report_path(step, REPORT_DEFAULT)?;
    let text = without_canary(proven, canary);
    session.write_output(&path, &text)?;
    let counts = result.counts;
    session.notes.push(format!(
        "design rules: {} errors, {} warnings, {} excluded, {} about libraries apart",
        counts.errors, counts.warnings, counts.excluded, counts.apart
    ));
    session.notes.extend(ready.rules.notes.iter().cloned());
    session.records.extend(ready.rules.record(session.services.blobs.as_ref()));
    Ok(result)
}

/// References that our own readers of schematic and board miss on the board although the tool's
/// parity list does not: the two must agree, so a difference is shown.
fn second_reader(sheets: &Hierarchy, board: &Board, found: &[Finding]) -> Vec<Finding> {
    let index = SheetIndex::of(sheets);
    let on_board: BTreeSet<&str> = board.footprints.iter().map(|f| f.reference.as_str()).collect();
    let listed = |reference: &str| {
        found.iter().any(|f| {
            f.engine == "parity" && f.message.split([' ', ',']).any(|word| word == reference)
        })
    };
    let missing = index.on_board().into_iter().filter(|r| !on_board.contains(r) && !listed(r));
    let one = |reference: &str| Finding {
        id: format!("parity:pcbflow_missing_part:{reference}"),
        engine: "parity".to_owned(),
        rule: "pcbflow_missing_part".to_owned(),
        severity: FindingSeverity::Warning,
        message: format!("{reference} is in the schematic and not on the board"),
        items: Vec::new(),
        excluded: None,
        apart: false,
    };
    // A part that has no footprint assigned can't be on the board.
    missing.filter(|r| !r.ends_with('?')).map(one).collect()
}

/// The report without our planted rules, and with what the tool counted and did not list.
fn without_canary(proven: &Proven, canary: &Canary) -> Vec<u8> {
    let bytes = &proven.bytes;
    let Ok(mut json) = serde_json::from_slice::<Value>(bytes) else { return bytes.clone() };
    if let Some(list) = json.get_mut("violations").and_then(Value::as_array_mut) {
        list.retain(|entry| {
            let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
            canary.rule_of(text("type"), text("description")).is_none()
        });
        let all = proven.report.violations.iter().flatten();
        list.extend(all.rev().take(proven.unlisted).map(|e| {
            json!({"type": e.kind, "severity": e.severity, "description": e.description, "items": []})
        }));
    }
    let mut text = serde_json::to_vec_pretty(&json).unwrap_or_else(|_| bytes.clone());
    text.push(b'\n');
    text
}
