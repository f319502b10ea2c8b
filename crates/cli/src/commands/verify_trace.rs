//! `verify-trace` and `ledger verify`: checks the whole chain, the heads and commits outside it,
//! and the stored evidence.

use std::collections::BTreeSet;
use std::path::PathBuf;

use pcbflow_checkpoint::workspace::Workspace;
use pcbflow_core::exit::{Exit, Verdict};
use pcbflow_core::ids::{BoardName, StreamId};
use pcbflow_core::ports::{Ledger, LedgerError};
use pcbflow_store::anchor::{Anchor, TRAILER_KEY};
use pcbflow_store::heads::KnownHeads;
use pcbflow_store::verify::{StreamReport, VerifyOptions, VerifyReport, verify};
use pcbflow_store::{FileBlobs, RedbLedger};
use serde_json::json;

use crate::App;
use crate::args::BoardArg;
use crate::compose;
use crate::envelope::{Answer, Envelope};
use crate::error::{CommandError, Kind};
use crate::reading;
use crate::tool;
use crate::ui::Label;

/// Most commits that are looked through for anchors.
const COMMITS_MAX: &str = "5000";
/// Most anchors that are checked.
const ANCHORS_MAX: usize = 10_000;

/// `pcbflow verify-trace`.
///
/// # Errors
/// No such board; a record that can't be opened, a broken one included.
pub fn verify_trace(app: &App, args: &BoardArg) -> Result<Answer, CommandError> {
    let workspace = reading::workspace(&app.global)?;
    let opened = reading::open_telling(app, &workspace)?;
    let board = match &args.board {
        Some(_) => Some(reading::board(
            &workspace,
            Some(opened.ledger.as_ref() as &dyn Ledger),
            args.board.as_deref(),
        )?),
        None => None,
    };
    if let Some(board) = &board {
        reading::head(opened.ledger.as_ref(), board)?;
    }
    let report = report(&workspace, opened.ledger.as_ref(), false)?;
    Ok(answer(app, "verify-trace", &report, board.as_ref()))
}

/// Checks everything; `deep` also unpacks every stored file.
///
/// # Errors
/// The record can't be read at all.
pub fn report(
    workspace: &Workspace,
    ledger: &RedbLedger,
    deep: bool,
) -> Result<VerifyReport, CommandError> {
    let blobs = FileBlobs::new(workspace.state_dir().join("blobs"));
    let known = compose::state_home().map(|home| KnownHeads::of(&home, &workspace.root));
    let anchors = anchors(workspace);
    let options = VerifyOptions {
        anchors: &anchors,
        known: known.as_ref(),
        blobs: Some(&blobs),
        unpack_blobs: deep,
    };
    match verify(ledger, &options) {
        Ok(report) => Ok(report),
        Err(LedgerError::Damaged { what }) => {
            Err(CommandError::new(Kind::HistoryBroken, format!("the record is damaged: {what}"))
                .class("LG-2"))
        }
        Err(e) => Err(e.into()),
    }
}

/// Anchors in the commits of the repositories that hold the workspace and its boards. Without
/// git, or where there is no repository, there are none.
fn anchors(workspace: &Workspace) -> Vec<Anchor> {
    let mut folders: BTreeSet<PathBuf> = BTreeSet::from([workspace.root.clone()]);
    if let Ok(boards) = workspace.boards() {
        folders.extend(boards.list.into_iter().map(|b| b.dir));
    }
    let mut tops = BTreeSet::new();
    let mut found: Vec<Anchor> = Vec::new();
    for folder in folders {
        let top = tool::git(&folder, &["rev-parse", "--show-toplevel"]);
        let Some(top) = top.good() else { continue };
        if !tops.insert(top.trim().to_owned()) {
            continue;
        }
        let grep = format!("--grep=^{TRAILER_KEY}:");
        let log = ["log", "--all", "--format=%B", "-n", COMMITS_MAX, &grep];
        let text = tool::git(&folder, &log).good();
        found.extend(text.map(|t| Anchor::all_in(&t)).unwrap_or_default());
    }
    found.truncate(ANCHORS_MAX);
    found
}

/// The answer of both commands: exit 12 when anything is not as it was written.
#[must_use]
pub fn answer(
    app: &App,
    command: &str,
    report: &VerifyReport,
    board: Option<&BoardName>,
) -> Answer {
    let wanted = |s: &&StreamReport| board.is_none_or(|b| s.stream == StreamId::Board(b.clone()));
    let streams: Vec<&StreamReport> = report.streams.iter().filter(wanted).collect();
    let good = report.is_good();
    let exit = if good { Exit::Done } else { Exit::HistoryBroken };
    let mut envelope = Envelope::new(command, exit);
    envelope = envelope.verdict(if good { Verdict::Pass } else { Verdict::Failed });
    envelope.board = board.map(ToString::to_string);
    if let [one] = streams.as_slice() {
        envelope.head = one.head.map(|h| format!("blake3:{h}"));
    }
    if !good {
        envelope.class = Some("LG-2".to_owned());
        envelope.error = first_fault(report);
        envelope.hints.push(
            "nothing was changed; keep this record and ask whoever changed the files".to_owned(),
        );
    }
    let broken = streams.iter().find_map(|s| s.broken.as_ref());
    let envelope = envelope
        .with("ok", good)
        .with("rows", streams.iter().map(|s| s.events).sum::<u64>())
        .with("head_hash", streams.first().and_then(|s| s.head))
        .with("broken_at", broken.map(|b| b.first_bad))
        .with("last_good", broken.and_then(|b| b.last_good))
        .with("anchored", report.anchors_held > 0 && report.anchors_broken.is_empty())
        .with("report", json!(report));
    Answer::new(envelope, exit, lines(app, report, &streams))
}

/// The first thing that is not as it was written, in words.
#[must_use]
pub fn first_fault(report: &VerifyReport) -> Option<String> {
    let broken = report.streams.iter().find_map(|s| {
        let b = s.broken.as_ref()?;
        let good = b.last_good.map_or("none".to_owned(), |g| g.to_string());
        Some(format!(
            "{}: event {} is bad, the last good one is {good}: {}",
            s.stream, b.first_bad, b.what
        ))
    });
    broken
        .or_else(|| report.anchors_broken.first().cloned())
        .or_else(|| report.blobs_bad.first().cloned())
}

fn lines(app: &App, report: &VerifyReport, streams: &[&StreamReport]) -> Vec<String> {
    let ui = &app.ui;
    let mut lines = Vec::new();
    for s in streams {
        let mut more = String::new();
        if s.expunged > 0 {
            more.push_str(&format!(", words of {} removed", s.expunged));
        }
        if s.unknown > 0 {
            more.push_str(&format!(", {} of a newer release", s.unknown));
        }
        match &s.broken {
            None => {
                let head = s.head.map(|h| h.short()).unwrap_or_default();
                let word = ui.paint(Label::Ok, "ok");
                lines.push(format!("{word}  {}: {} events, head {head}{more}", s.stream, s.events));
            }
            Some(b) => {
                let good = b.last_good.map_or("there is none".to_owned(), |g| format!("event {g}"));
                let word = ui.paint(Label::Failed, "broken");
                lines.push(format!(
                    "{word}  {}: first bad event {}, last good: {good}{more}",
                    s.stream, b.first_bad
                ));
                lines.push(format!("        {}", b.what));
            }
        }
    }
    let word = ui.paint(Label::Failed, "broken");
    lines.extend(report.anchors_broken.iter().map(|line| format!("{word}  {line}")));
    lines.extend(report.blobs_bad.iter().map(|line| format!("{word}  {line}")));
    lines.push(format!(
        "{} anchors outside the record hold, {} belong to other records; {} stored files are there",
        report.anchors_held,
        report.anchors_foreign,
        report.blobs.saturating_sub(report.blobs_bad.len() as u64)
    ));
    lines
}
