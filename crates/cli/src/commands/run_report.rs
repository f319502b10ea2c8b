//! What a run's report is to a person and to a machine.

use pcbflow_core::check::{Finding, FindingSeverity, Gate};
use pcbflow_core::event::StopCause;
use pcbflow_core::exit::{Exit, Verdict};
use pcbflow_core::manifest::{COMMIT_STEP, SNAPSHOT_COMMIT};
use pcbflow_core::policy::PERSON_RUNG;
use pcbflow_core::projection::{AskState, BoardState};
use pcbflow_engine::{RunReport, StepReport};
use pcbflow_humanize::notice::RunEnd;
use serde_json::json;

use super::run::Drive;
use crate::App;
use crate::cancel::Stop;
use crate::compose::Site;
use crate::envelope::{Answer, Envelope};
use crate::story::{self, Extent};

/// Findings shown to a person; all are in the JSON.
const FINDINGS_SHOWN_MAX: usize = 12;

/// The answer about one board.
pub(super) fn board_answer(
    app: &App,
    site: &Site,
    drive: &Drive,
    stop: &Stop,
    report: &RunReport,
    state: &BoardState,
) -> Answer {
    let exit = match (report.verdict, stop.exit()) {
        (Verdict::Stopped, Some(exit)) => exit,
        _ => report.exit,
    };
    let mut envelope = Envelope::new(drive.command, exit).verdict(report.verdict);
    envelope.board = Some(report.board.to_string());
    envelope.conditional = report.conditional;
    envelope.head = report.head.map(|h| format!("blake3:{}", h.hash));
    envelope.asks = report.asks.iter().map(story::ask_out).collect();
    envelope.ask = envelope.asks.first().cloned();
    envelope.work = Some("safe".to_owned());
    if exit != Exit::Done {
        envelope.resume = Some(format!("pcbflow resume {}", report.board));
    }
    let mut lines = Vec::new();
    decide_failure(app, site, report, state, &mut envelope, &mut lines);
    finding_lines(app, drive.command, report, &mut lines);
    if report.steps.is_empty() {
        lines.push("No step ran: project.yaml names none, so nothing is known.".to_owned());
    } else if matches!(report.cause, StopCause::Finished | StopCause::NothingToDo) {
        lines.extend(unplanned(site, report));
    }
    let (steps, healed, checks_only) = (ran(report), healed(report), report.checks_only);
    let did = Extent { steps, healed, checks_only };
    let summary = story::run_message(&report.board, end(report), did);
    if let Some(message) = &summary {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(story::lines(&app.ui, message));
        if envelope.human.is_none() {
            envelope.human = Some(story::parts(message));
        }
    }
    ask_lines(app, site, report, state, &mut lines);
    let envelope = envelope
        .with("run", &report.run)
        .with("cause", &report.cause)
        .with("steps", steps_json(report))
        .with("phases", phases_json(report))
        .with("counts", total(report))
        .with("findings", all_findings(report));
    Answer::new(envelope, exit, lines)
}

/// A pass says nothing about phases without steps, so they are named beside it.
fn unplanned(site: &Site, report: &RunReport) -> Option<String> {
    let board = site.board(&report.board).ok()?;
    let phases = board.document.manifest.phases.iter().filter(|p| p.steps.is_empty());
    let names: Vec<&str> = phases.map(|p| p.id.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!("Not checked, because project.yaml has no steps there: {}", names.join(", "))
    })
}

/// The failure that decides: the one behind the oldest open ask, else the first open one.
fn decide_failure(
    app: &App,
    site: &Site,
    report: &RunReport,
    state: &BoardState,
    envelope: &mut Envelope,
    lines: &mut Vec<String>,
) {
    let asked = report.asks.first().and_then(|a| a.step.clone());
    let mut told: Vec<&AskState> = Vec::new();
    for step in &report.steps {
        let Some(known) = state.steps.get(&step.key) else { continue };
        let Some(failure) = &known.failure else { continue };
        let Some(message) =
            story::failure_message(&site.policy.catalogue, &report.board, state, &step.key)
        else {
            continue;
        };
        let healed = known.healed.is_some();
        let in_run = failure.seq.0 > 0 && (!step.skipped || !healed);
        if !in_run {
            continue;
        }
        if healed {
            lines.push(pcbflow_humanize::render::short(&message).as_str().to_owned());
        } else if !report.asks.iter().any(|a| a.also.contains(&step.key)) {
            // One cause, one message: what another step asks already is not told twice.
            if !lines.is_empty() {
                lines.push(String::new());
            }
            lines.extend(story::lines(&app.ui, &message));
        }
        for ask in report.asks.iter().filter(|a| a.step.as_ref() == Some(&step.key)) {
            if !ask.also.is_empty() {
                let names: Vec<&str> = ask.also.iter().map(|k| k.step.as_str()).collect();
                lines.push(format!("This holds up as well: {}", names.join(", ")));
            }
            lines.push(format!("When it is done: {}", answer_command(site, report, ask)));
            told.push(ask);
        }
        let decides = match &asked {
            Some(key) => *key == step.key,
            None => !healed && envelope.class.is_none(),
        };
        if decides {
            envelope.class = Some(failure.class.to_string());
            envelope.phase = Some(step.key.phase.to_string());
            envelope.step = Some(step.key.step.to_string());
            envelope.human = Some(story::parts(&message));
            envelope.attempts = Some(known.attempts);
        }
        envelope.events.push(failure.seq.to_string());
    }
    // Asked for another reason than a failure, or by an earlier run: told all the same.
    for ask in report.asks.iter().filter(|a| !told.iter().any(|t| t.id == a.id)) {
        let catalogue = &site.policy.catalogue;
        let Some(message) = story::ask_message(catalogue, &report.board, state, ask) else {
            continue;
        };
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(story::lines(&app.ui, &message));
        lines.push(format!("When it is done: {}", answer_command(site, report, ask)));
        if envelope.human.is_none() {
            envelope.class = Some(ask.class.to_string());
            envelope.phase = ask.step.as_ref().map(|k| k.phase.to_string());
            envelope.step = ask.step.as_ref().map(|k| k.step.to_string());
            envelope.human = Some(story::parts(&message));
            envelope.events.push(ask.seq.to_string());
        }
    }
}

/// Every open ask with what it wants and the line that answers it, whichever run it is from.
fn ask_lines(
    app: &App,
    site: &Site,
    report: &RunReport,
    state: &BoardState,
    lines: &mut Vec<String>,
) {
    for ask in &report.asks {
        let says = story::asked(Some(&site.policy.catalogue), &report.board, state, ask);
        let command = answer_command(site, report, ask);
        let beside = ask.step.as_ref().map(|k| story::beside_lines(state, k)).unwrap_or_default();
        if app.ui.options.narrated {
            lines.push(format!("Ask {}: {says} Answer with: {command}", ask.id));
            lines.extend(beside);
            continue;
        }
        lines.push(format!(
            "  {}  {says}",
            app.ui.paint(crate::ui::Label::NeedsYou, ask.id.as_str())
        ));
        lines.extend(beside.iter().map(|line| format!("      {line}")));
        lines.push(format!("      {command}"));
    }
}

fn answer_command(site: &Site, report: &RunReport, ask: &AskState) -> String {
    story::answer_command(ask, Some(&report.board).filter(|_| site.several_boards()))
}

fn finding_lines(app: &App, command: &str, report: &RunReport, lines: &mut Vec<String>) {
    for step in &report.steps {
        if step.gate == Some(Gate::Blocked) && !step.reason.is_empty() {
            let why = pcbflow_core::text::one_line(&step.reason);
            lines.push(format!("{}: could not run: {why}", step.key.step));
        }
        // A step that fails on nothing else fails on those apart: its limits include them.
        let with_apart = fails_on_apart(step);
        let counted = |f: &&Finding| f.excluded.is_none() && (with_apart || !f.apart);
        let mut counted: Vec<&Finding> = step.findings.iter().filter(counted).collect();
        // What decides comes first, then kind by kind, for only some are shown.
        counted.sort_by(|a, b| {
            let rank = |f: &Finding| f.severity != FindingSeverity::Error;
            rank(a).cmp(&rank(b)).then_with(|| a.rule.cmp(&b.rule))
        });
        let c = step.counts;
        if counted.is_empty() && c.apart == 0 && c.excluded == 0 {
            continue;
        }
        let counted_words =
            format!("{}, {}", plural(c.errors, "error"), plural(c.warnings, "warning"));
        let mut head = format!("{}: {counted_words}", step.key.step);
        if c.excluded > 0 {
            head.push_str(&format!(", {} excluded by you", c.excluded));
        }
        if c.apart > 0 {
            head.push_str(&format!(
                "; listed apart: {}, depending on the libraries of this computer",
                plural(c.apart, "warning")
            ));
        }
        lines.push(head);
        for f in counted.iter().take(FINDINGS_SHOWN_MAX) {
            lines.push(format!("  {}", finding_line(app, f)));
        }
        if counted.len() > FINDINGS_SHOWN_MAX {
            lines.push(format!(
                "  and {} more; all {} are in the answer of: pcbflow {command} {} --json",
                counted.len() - FINDINGS_SHOWN_MAX,
                counted.len(),
                report.board
            ));
        }
    }
}

fn fails_on_apart(step: &StepReport) -> bool {
    let c = step.counts;
    step.gate == Some(Gate::Fail) && c.errors == 0 && c.warnings == 0 && c.apart > 0
}

/// Findings of the steps that fail.
fn failing(report: &RunReport) -> u64 {
    let of = |s: &StepReport| {
        let c = s.counts;
        if fails_on_apart(s) { c.apart } else { c.errors.saturating_add(c.warnings) }
    };
    report.steps.iter().filter(|s| s.gate == Some(Gate::Fail)).map(|s| u64::from(of(s))).sum()
}

fn plural(n: u32, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

fn finding_line(app: &App, f: &Finding) -> String {
    let (label, word) = match f.severity {
        FindingSeverity::Error => (crate::ui::Label::Failed, "error"),
        FindingSeverity::Warning => (crate::ui::Label::NeedsYou, "warning"),
    };
    let place = f
        .items
        .iter()
        .find_map(|i| i.at_nm)
        .map_or_else(String::new, |(x, y)| format!(" at {} mm, {} mm", mm(x), mm(y)));
    let items: Vec<String> =
        f.items.iter().map(|i| pcbflow_core::text::one_line(&i.text)).collect();
    let items = if items.is_empty() { String::new() } else { format!(" ({})", items.join("; ")) };
    format!(
        "{} {}: {}{items}{place}",
        app.ui.paint(label, word),
        f.rule,
        pcbflow_core::text::one_line(&f.message)
    )
}

/// Millimetres with three places, rounded towards zero.
fn mm(nm: i64) -> String {
    let (sign, um) = (if nm <= -1000 { "-" } else { "" }, nm.unsigned_abs() / 1000);
    format!("{sign}{}.{:03}", um / 1000, um % 1000)
}

fn ran(report: &RunReport) -> u64 {
    report.steps.iter().filter(|s| !s.skipped && s.gate.is_some()).count() as u64
}

fn healed(report: &RunReport) -> u64 {
    let ours = |s: &&StepReport| {
        !s.skipped && s.recovered.as_ref().is_some_and(|(_, rung)| rung != PERSON_RUNG)
    };
    report.steps.iter().filter(ours).count() as u64
}

fn total(report: &RunReport) -> pcbflow_core::check::Counts {
    report.steps.iter().fold(pcbflow_core::check::Counts::default(), |c, s| c.plus(s.counts))
}

/// Steps of the engineer's that ran and could not be verified, or that nothing got to.
fn unverified(report: &RunReport) -> u64 {
    let own = || report.steps.iter().filter(|s| s.key.step.as_str() != COMMIT_STEP);
    let stands = |s: &&StepReport| s.gate.is_some_and(|g| !g.advances() && g != Gate::Fail);
    let held = own().filter(stands).count();
    let undecided = own().filter(|s| s.gate.is_none()).count();
    // Where the steps all ran, it is the commit that could not be made.
    let commits = report.steps.iter().filter(stands).count();
    [held, undecided, commits].into_iter().find(|n| *n > 0).unwrap_or(0) as u64
}

fn end(report: &RunReport) -> RunEnd {
    let counts = total(report);
    let findings = u64::from(counts.errors) + u64::from(counts.warnings);
    match report.verdict {
        Verdict::Pass if report.cause == StopCause::NothingToDo => RunEnd::NothingToDo,
        Verdict::Pass if report.conditional => {
            RunEnd::Conditional { findings, unsaved: unsaved(report) }
        }
        Verdict::Pass => RunEnd::Pass,
        Verdict::Findings => RunEnd::Findings { findings: failing(report) },
        Verdict::Unverified => RunEnd::Unverified { checks: unverified(report) },
        Verdict::NeedsPerson => RunEnd::NeedsPerson { asks: report.asks.len().max(1) as u64 },
        Verdict::Failed => RunEnd::TryLater,
        Verdict::Stopped => RunEnd::Stopped,
    }
}

/// Whether the results of a phase are in no history.
fn unsaved(report: &RunReport) -> bool {
    let snapshot = |commit: &String| commit.starts_with(SNAPSHOT_COMMIT);
    report.phases.iter().any(|(_, _, commit)| commit.as_ref().is_some_and(snapshot))
}

fn steps_json(report: &RunReport) -> Vec<serde_json::Value> {
    report
        .steps
        .iter()
        .map(|s| {
            json!({
                "phase": s.key.phase, "step": s.key.step, "gate": s.gate, "skipped": s.skipped,
                "recovered": s.recovered.as_ref().map(|(class, rung)| json!({"class": class, "rung": rung})),
                "counts": s.counts, "reason": s.reason,
            })
        })
        .collect()
}

fn phases_json(report: &RunReport) -> Vec<serde_json::Value> {
    report
        .phases
        .iter()
        .map(|(id, verdict, commit)| json!({"phase": id, "verdict": verdict.word(), "commit": commit}))
        .collect()
}

fn all_findings(report: &RunReport) -> Vec<serde_json::Value> {
    report
        .steps
        .iter()
        .flat_map(|s| {
            s.findings.iter().map(|f| {
                let mut value = serde_json::to_value(f).unwrap_or_default();
                if let Some(map) = value.as_object_mut() {
                    map.insert("step".to_owned(), json!(s.key.to_string()));
                }
                value
            })
        })
        .collect()
}
