//! `history`: the events of a board, and why what was tried was tried.

use pcbflow_core::event::{Decision, Event, Fact};
use pcbflow_core::ids::{BoardName, Seq};
use pcbflow_core::ports::Ledger;
use pcbflow_core::text::one_line;
use serde_json::{Value, json};

use crate::App;
use crate::args::HistoryArgs;
use crate::envelope::Answer;
use crate::error::{CommandError, Kind};
use crate::reading;
use crate::ui::Label;

/// Most events of one answer.
const LIMIT_MAX: usize = 100_000;

/// `pcbflow history`.
///
/// # Errors
/// No such board or event, a record that can't be read.
pub fn history(app: &App, args: &HistoryArgs) -> Result<Answer, CommandError> {
    let workspace = reading::workspace(&app.global)?;
    let opened = reading::open_telling(app, &workspace)?;
    let ledger: &dyn Ledger = opened.ledger.as_ref();
    let board = reading::board(&workspace, Some(ledger), args.board.as_deref())?;
    let head = reading::head(ledger, &board)?;
    if args.limit == 0 || args.limit > LIMIT_MAX {
        return Err(CommandError::new(
            Kind::Usage,
            format!("--limit must be from 1 to {LIMIT_MAX}"),
        ));
    }
    if args.from.is_some_and(|from| from > head.seq.0) {
        return Err(CommandError::new(
            Kind::NotFound,
            format!("board {board} has no event {}", args.from.unwrap_or(0)),
        )
        .hint(format!("its events go from 0 to {}", head.seq)));
    }
    let (events, from) = match (args.decisions, args.from) {
        (true, from) => {
            (decision_events(ledger, &board, from.unwrap_or(0), head.seq, args.limit)?, from)
        }
        (false, Some(from)) => {
            let to = Seq(from.saturating_add(args.limit as u64 - 1).min(head.seq.0));
            (reading::events(ledger, &board, Seq(from), to, true)?, Some(from))
        }
        (false, None) => {
            let from = head.seq.0.saturating_sub(args.limit as u64 - 1);
            (reading::events(ledger, &board, Seq(from), head.seq, true)?, Some(from))
        }
    };
    let lines =
        if args.decisions { decision_lines(app, &events) } else { event_lines(app, &events) };
    let rows: Vec<Value> = events.iter().map(row).collect();
    let last = events.last().map_or(0, |e| e.seq.0);
    let mut answer = Answer::done("history", Vec::new())
        .with("history", rows)
        .with("from", from)
        .with("next", (last < head.seq.0).then_some(last + 1))
        .with("last", head.seq);
    answer.envelope.board = Some(board.to_string());
    answer.envelope.head = Some(format!("blake3:{}", head.hash));
    let paged = !app.global.no_pager && app.ui.page(&lines);
    answer.lines = if paged { Vec::new() } else { lines };
    Ok(answer)
}

/// A row of the JSON, the same for every kind of event.
#[must_use]
pub fn row(event: &Event) -> Value {
    let words = event.words.as_ref();
    json!({
        "seq": event.seq,
        "hash": event.hash,
        "at": event.at.to_string(),
        "actor": event.actor,
        "run": event.scope.run,
        "phase": event.scope.phase,
        "step": event.scope.step,
        "attempt": event.scope.attempt,
        "event": pcbflow_core::projection::fact_name(&event.fact),
        "line": event.fact.to_string(),
        "fact": event.fact,
        "summary": words.map(|w| &w.summary),
        "words_kept": words.is_some(),
    })
}

/// The place of an event: phase and step, or nothing.
fn place(event: &Event) -> String {
    match (event.phase(), &event.scope.step) {
        (Some(phase), Some(step)) => format!("{phase}/{step}"),
        (Some(phase), None) => phase.to_string(),
        _ => String::new(),
    }
}

fn event_lines(app: &App, events: &[Event]) -> Vec<String> {
    let seq_width = events.last().map_or(1, |e| e.seq.to_string().len());
    let place_width = events.iter().map(|e| place(e).chars().count()).max().unwrap_or(0);
    let mut lines = Vec::new();
    let mut day = String::new();
    for event in events {
        let at = event.at.to_string();
        let today = at.get(..10).unwrap_or("").to_owned();
        if today != day && !app.ui.options.narrated {
            lines.push(app.ui.paint(Label::Dim, &today));
        }
        day = today;
        let line = app.ui.paint(label(&event.fact), &event.fact.to_string());
        lines.push(if app.ui.options.narrated {
            let place = place(event);
            let place = if place.is_empty() { place } else { format!(", {place}") };
            format!("Event {} at {at}{place}: {}.", event.seq, event.fact)
        } else {
            format!(
                "{:>seq_width$}  {}  {:<place_width$}  {line}",
                event.seq.to_string(),
                event.at.clock_text(),
                place(event)
            )
        });
    }
    lines
}

fn label(fact: &Fact) -> Label {
    match fact {
        Fact::FailureDiagnosed { .. } | Fact::StallDetected { .. } => Label::Failed,
        Fact::StepRecovered { .. } => Label::Recovered,
        Fact::StepPassed { .. } | Fact::OutputsCommitted { .. } => Label::Ok,
        Fact::AskRaised { .. } | Fact::StepEscalated { .. } => Label::NeedsYou,
        Fact::StepHeld { .. } => Label::Unverified,
        Fact::RunStarted { .. } | Fact::RunResumed { .. } | Fact::RunStopped { .. } => {
            Label::Heading
        }
        _ => Label::Dim,
    }
}

/// Whether an event tells something about a decision: what was seen, decided, or came of it.
fn tells(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::FailureDiagnosed { .. }
            | Fact::DecisionTaken { .. }
            | Fact::RecoveryFinished { .. }
            | Fact::EffectReadBack { .. }
            | Fact::StepRecovered { .. }
            | Fact::StepEscalated { .. }
            | Fact::AskAnswered { .. }
    )
}

/// The newest `limit` telling events from `from` on.
fn decision_events(
    ledger: &dyn Ledger,
    board: &BoardName,
    from: u64,
    to: Seq,
    limit: usize,
) -> Result<Vec<Event>, CommandError> {
    let mut kept = std::collections::VecDeque::new();
    reading::each(ledger, board, Seq(from), to, true, &mut |event| {
        if tells(&event.fact) {
            kept.push_back(event);
            if kept.len() > limit {
                kept.pop_front();
            }
        }
    })?;
    Ok(kept.into())
}

fn decision_lines(app: &App, events: &[Event]) -> Vec<String> {
    let mut lines = Vec::new();
    for event in events {
        let summary = event.words.as_ref().map(|w| one_line(&w.summary)).unwrap_or_default();
        let head = format!("{}  {}  {}", event.seq, event.at.clock_text(), place(event));
        match &event.fact {
            Fact::FailureDiagnosed { .. } => {
                lines.push(format!(
                    "{head}  {}",
                    app.ui.paint(Label::Failed, &event.fact.to_string())
                ));
                if !summary.is_empty() {
                    lines.push(format!("    rule that matched: {summary}"));
                }
                if let Some(hint) = event.words.as_ref().and_then(|w| w.more.get("hint")) {
                    lines.push(format!("    hint of knowledge/rules.toml: {}", one_line(hint)));
                }
            }
            Fact::DecisionTaken { decision, based_on, now, seed, policy } => {
                lines.push(format!("{head}  decided: {}", decision.line()));
                if !summary.is_empty() {
                    lines.push(format!("    because: {summary}"));
                }
                lines.push(format!(
                    "    based on event {based_on} at {now}{}, policy {}",
                    drawn(decision, *seed),
                    policy.short()
                ));
            }
            fact => lines.push(format!("{head}  {}", app.ui.paint(label(fact), &fact.to_string()))),
        }
    }
    if lines.is_empty() {
        lines.push("No decision is recorded there.".to_owned());
    }
    lines
}

/// The wait that was drawn, its seed, and when it wakes.
fn drawn(decision: &Decision, seed: u64) -> String {
    match decision {
        Decision::Attempt { wait_ms, wake, .. } if *wait_ms > 0 => {
            format!(", wait of {wait_ms} ms drawn from seed {seed:016x}, wakes at {wake}")
        }
        _ => String::new(),
    }
}
