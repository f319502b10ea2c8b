//! `lessons`: what worked before, by class and rung.

use std::collections::BTreeMap;

use pcbflow_core::event::Fact;
use pcbflow_core::ids::{ClassId, Seq};
use pcbflow_core::policy::LESSON_FAILURES_MAX;
use pcbflow_core::ports::Ledger;
use serde::Serialize;

use crate::App;
use crate::args::BoardArg;
use crate::compose::Site;
use crate::envelope::Answer;
use crate::error::CommandError;
use crate::reading;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
struct Row {
    class: String,
    title: String,
    rung: String,
    what: String,
    worked: u64,
    failed: u64,
    /// Different failures of that class.
    fingerprints: usize,
}

/// `pcbflow lessons`.
///
/// # Errors
/// No such board, a record that can't be read.
pub fn lessons(app: &App, args: &BoardArg) -> Result<Answer, CommandError> {
    let site = Site::open(&app.global)?;
    let opened = reading::open_telling(app, &site.workspace)?;
    let ledger: &dyn Ledger = opened.ledger.as_ref();
    let board = reading::board(&site.workspace, Some(ledger), args.board.as_deref())?;
    let head = reading::head(ledger, &board)?;
    let mut seen: BTreeMap<(String, String), (Row, std::collections::BTreeSet<String>)> =
        BTreeMap::new();
    reading::each(ledger, &board, Seq(0), head.seq, false, &mut |event| {
        let Fact::LessonLearned { fingerprint, class, rung, worked } = &event.fact else { return };
        let (row, prints) = seen.entry((class.to_string(), rung.clone())).or_default();
        if *worked {
            row.worked += 1;
        } else {
            row.failed += 1;
        }
        prints.insert(fingerprint.to_string());
    })?;
    let mut rows: Vec<Row> = seen
        .into_iter()
        .map(|((class, rung), (row, prints))| {
            let known = ClassId::new(class.clone())
                .ok()
                .and_then(|c| site.policy.catalogue.row(&c).copied());
            let what = known.and_then(|r| r.ladder.iter().find(|l| l.id == rung));
            Row {
                title: known.map_or_else(String::new, |r| r.title.to_owned()),
                what: what.map_or_else(String::new, |l| l.what.to_owned()),
                fingerprints: prints.len(),
                class,
                rung,
                ..row
            }
        })
        .collect();
    rows.sort_by(|a, b| {
        let key = |r: &Row| ClassId::new(r.class.clone()).ok();
        let (a_key, b_key) = (key(a), key(b));
        let order =
            |c: &Option<ClassId>| c.as_ref().map(|c| (c.family().to_owned(), c.sort_key().1));
        order(&a_key).cmp(&order(&b_key)).then(b.worked.cmp(&a.worked)).then(a.rung.cmp(&b.rung))
    });
    let lines = lines(app, &rows);
    let mut answer = Answer::done("lessons", lines)
        .with("lessons", rows)
        .with("skipped_after_failures", LESSON_FAILURES_MAX);
    answer.envelope.board = Some(board.to_string());
    Ok(answer)
}

fn lines(app: &App, rows: &[Row]) -> Vec<String> {
    if rows.is_empty() {
        return vec!["Nothing was learned yet: no failure has met a second try.".to_owned()];
    }
    let width = rows.iter().map(|r| r.rung.chars().count()).max().unwrap_or(0);
    rows.iter()
        .map(|r| {
            if app.ui.options.narrated {
                return format!(
                    "For {} ({}): {} worked {} and failed {}.",
                    r.class,
                    r.title,
                    r.rung,
                    times(r.worked),
                    times(r.failed)
                );
            }
            format!(
                "{:<8}  {:<width$}  worked {:>3}  failed {:>3}  {}",
                r.class, r.rung, r.worked, r.failed, r.title
            )
        })
        .collect()
}

fn times(n: u64) -> String {
    match n {
        0 => "never".to_owned(),
        n => pcbflow_humanize::slots::times_word(n),
    }
}
