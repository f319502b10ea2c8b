//! `failures`: the table of all failures, one of them, or a family.

use pcbflow_core::catalogue::Catalogue;
use pcbflow_core::evidence::{Matcher, NumberTest, Pattern, TextTest};
use pcbflow_core::ids::ClassId;
use pcbflow_core::manifest::nearest;
use pcbflow_core::row::{Available, Resume, Row, Rung, RungKind};
use serde_json::{Value, json};

use crate::App;
use crate::args::FailuresArgs;
use crate::compose::{self, Site};
use crate::envelope::Answer;
use crate::error::{CommandError, Kind};
use crate::settings::Settings;
use crate::ui::{Label, Ui};

/// `pcbflow failures`.
///
/// # Errors
/// No such class or family.
pub fn failures(app: &App, args: &FailuresArgs) -> Result<Answer, CommandError> {
    let catalogue = catalogue(app)?;
    let all = catalogue.rows();
    let picked = match &args.class {
        None => all.clone(),
        Some(text) => pick(&all, text)?,
    };
    let lines = match picked.as_slice() {
        [one] if args.class.is_some() => details(&app.ui, one),
        rows => rows.iter().map(|row| line(&app.ui, row)).collect(),
    };
    let rows: Vec<Value> = picked.iter().map(|row| row_json(row)).collect();
    Ok(Answer::done("failures", lines).with("failures", rows))
}

/// The table, with a person's rules where there is a workspace. A look at the table must work
/// anywhere, so a workspace that is not there is no fault.
///
/// # Errors
/// Settings of a workspace that can't be used.
pub fn catalogue(app: &App) -> Result<Catalogue, CommandError> {
    match Site::open(&app.global) {
        Ok(site) => Ok(site.policy.catalogue.clone()),
        Err(e) if e.kind == Kind::NotFound && app.global.workspace.is_none() => {
            compose::catalogue(&Settings::default())
        }
        Err(e) => Err(e),
    }
}

fn pick<'r>(all: &[&'r Row], text: &str) -> Result<Vec<&'r Row>, CommandError> {
    let wanted = text.to_uppercase();
    let family = |r: &Row| r.id.split('-').next().unwrap_or("").to_owned();
    let found: Vec<&Row> =
        all.iter().filter(|r| r.id == wanted || family(r) == wanted).copied().collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let error = CommandError::new(Kind::NotFound, format!("there is no failure class '{text}'"));
    Err(match nearest(&wanted, all.iter().map(|r| r.id)) {
        Some(near) => error.hint(format!("did you mean '{near}'?")),
        None => {
            let mut families: Vec<String> = all.iter().map(|r| family(r)).collect();
            families.dedup();
            error.hint(format!("families: {}", families.join(", ")))
        }
    })
}

fn severity(row: &Row) -> String {
    format!("{:?}", row.severity)
}

fn line(ui: &Ui, row: &Row) -> String {
    if ui.options.narrated {
        return format!("{}, severity {}: {}.", row.id, severity(row), row.title);
    }
    let later = match row.available {
        Available::Now => String::new(),
        Available::Later(_) => "  (actions come later)".to_owned(),
    };
    let ladder: Vec<&str> = row.ladder.iter().map(|r| r.id).collect();
    format!("{:<7} {}  {}: {}{later}", row.id, severity(row), row.title, ladder.join(" > "))
}

fn details(ui: &Ui, row: &Row) -> Vec<String> {
    let heading = |text: &str| ui.paint(Label::Heading, text);
    let mut lines = vec![
        format!("{}  {}", heading(row.id), row.title),
        format!("  severity {}, told {}", severity(row), pcbflow_core::event::word(&row.notify)),
    ];
    if let Available::Later(when) = row.available {
        lines.push(format!(
            "  its actions come with {when}; until then the ladder leads to the ask"
        ));
    }
    lines.push(heading("Noticed by"));
    for m in row.matchers {
        let tools =
            if m.tools.is_empty() { String::new() } else { format!(" of {}", m.tools.join(", ")) };
        lines.push(format!("  {}{tools}  ({} %)", matcher_words(m), m.confidence));
    }
    if !row.not_this.is_empty() {
        lines.push(format!("  not to be taken for: {}", row.not_this));
    }
    lines.push(heading("What is tried"));
    for (at, rung) in row.ladder.iter().enumerate() {
        lines.push(format!("  {}. {} ({}): {}", at + 1, rung.id, kind_words(rung), rung.what));
    }
    lines.push(format!("  proof of the cure: {}", row.recheck.what));
    lines.push(format!(
        "  at most {} attempts in {} s{}",
        row.budget.attempts_max,
        row.budget.ladder_ms_max / 1000,
        if row.passing { "; a passing fault, so it ends in 'try later'" } else { "" }
    ));
    lines.push(heading("What you are told"));
    lines.push(format!("  {}", row.texts.what));
    lines.push(format!("  {}", row.texts.why.unwrap_or("I don't know yet why.")));
    if !row.texts.ask.is_empty() {
        let on = match row.texts.resume {
            Resume::Retry => ", then say 'retry'.",
            Resume::Watch(_) => ". I will continue on my own.",
            Resume::Nothing => ".",
        };
        lines.push(format!("  {}{on}", row.texts.ask));
    }
    lines
}

fn pattern_words(p: &Pattern) -> String {
    let mut text = p.source.word().to_owned();
    if !p.code.is_empty() {
        text.push(' ');
        text.push_str(p.code);
    }
    match p.number {
        NumberTest::Any => {}
        NumberTest::Is(n) => text.push_str(&format!(" {n}")),
        NumberTest::Between(low, high) => text.push_str(&format!(" {low} to {high}")),
        NumberTest::Not(n) => text.push_str(&format!(" other than {n}")),
    }
    match p.text {
        TextTest::Any => {}
        TextTest::HasAny(words) => text.push_str(&format!(" with '{}'", words.join("' or '"))),
        TextTest::NamesAny(names) => text.push_str(&format!(" of {}", names.join(" or "))),
    }
    text
}

/// A matcher in words.
#[must_use]
pub fn matcher_words(m: &Matcher) -> String {
    let all: Vec<String> = m.all.iter().map(pattern_words).collect();
    let mut text = all.join(" and ");
    if !m.none.is_empty() {
        let none: Vec<String> = m.none.iter().map(pattern_words).collect();
        text.push_str(&format!(", unless {}", none.join(" or ")));
    }
    text
}

/// What a rung does, in words, with its waits.
#[must_use]
pub fn kind_words(rung: &Rung) -> String {
    match rung.kind {
        RungKind::Retry(waits) if waits.ms == [0] => "again at once".to_owned(),
        RungKind::Retry(waits) => {
            let list: Vec<String> = waits.ms.iter().map(|ms| seconds(*ms)).collect();
            format!("wait {} and again", list.join(", "))
        }
        RungKind::RetryLonger { factor, .. } => format!("again with {factor} times the time"),
        RungKind::ReadBack => "read back".to_owned(),
        RungKind::Act => match rung.autonomy {
            pcbflow_core::row::Autonomy::GoAhead => "action, after your yes".to_owned(),
            pcbflow_core::row::Autonomy::Person => "your action".to_owned(),
            pcbflow_core::row::Autonomy::Alone => "action".to_owned(),
        },
        RungKind::GoOn => "go on without it, unverified".to_owned(),
        RungKind::Ask => "ask you".to_owned(),
    }
}

fn seconds(ms: u64) -> String {
    if ms.is_multiple_of(1000) { format!("{} s", ms / 1000) } else { format!("{ms} ms") }
}

/// A row as JSON; what the table, the docs and tests are made from.
#[must_use]
pub fn row_json(row: &Row) -> Value {
    let signals: Vec<Value> = row
        .matchers
        .iter()
        .map(|m| {
            json!({"words": matcher_words(m), "trust": m.trust().word(), "tools": m.tools,
                "confidence": m.confidence})
        })
        .collect();
    let family = ClassId::new(row.id).map(|c| c.family().to_owned()).unwrap_or_default();
    let (available, later) = match row.available {
        Available::Now => (true, None),
        Available::Later(when) => (false, Some(when)),
    };
    let resume = match row.texts.resume {
        Resume::Retry => json!("retry"),
        Resume::Watch(probe) => json!({"watch": probe}),
        Resume::Nothing => json!("nothing"),
    };
    json!({
        "id": row.id, "family": family, "title": row.title, "severity": severity(row),
        "notify": row.notify, "available": available, "later": later, "passing": row.passing,
        "signals": signals, "not_this": row.not_this, "ladder": ladder_json(row),
        "recheck": {"what": row.recheck.what, "probe": row.recheck.probe},
        "budget": {"attempts_max": row.budget.attempts_max, "ladder_ms_max": row.budget.ladder_ms_max},
        "texts": {"what": row.texts.what, "why": row.texts.why, "healed": row.texts.healed,
            "ask": row.texts.ask, "resume": resume, "ask_kind": row.texts.ask_kind,
            "tool": row.texts.tool},
        "recipe": {"kind": format!("{:?}", row.recipe.kind), "how": row.recipe.how},
    })
}

/// The ladder of a row as JSON.
#[must_use]
pub fn ladder_json(row: &Row) -> Vec<Value> {
    row.ladder
        .iter()
        .map(|r| {
            let waits = match r.kind {
                RungKind::Retry(w) => w.ms.to_vec(),
                _ => Vec::new(),
            };
            json!({"rung": r.id, "does": kind_words(r), "what": r.what, "autonomy": r.autonomy,
                "times": r.times(), "waits_ms": waits})
        })
        .collect()
}
