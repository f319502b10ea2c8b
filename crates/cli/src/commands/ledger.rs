//! `ledger`: the record itself.

use std::fs::File;
use std::path::{Path, PathBuf};

use pcbflow_checkpoint::workspace::Workspace;
use pcbflow_core::event::Actor;
use pcbflow_core::ids::{BoardName, Seq, StreamId};
use pcbflow_core::ports::{Clock, Ledger, LedgerError};
use pcbflow_engine::SystemClock;
use pcbflow_store::export::{Moved, export, import};
use pcbflow_store::expunge::{Expunge, Expunged, expunge};
use pcbflow_store::segment::start_over;
use pcbflow_store::stats::{StreamStats, stats};
use pcbflow_store::{FileBlobs, Mode, OpenOptions};

use super::verify_trace;
use crate::App;
use crate::args::{LedgerArgs, LedgerCommand};
use crate::compose::{self, Site};
use crate::envelope::{Answer, Envelope};
use crate::error::{CommandError, Kind};
use crate::reading;

/// `pcbflow ledger`.
///
/// # Errors
/// No workspace, board, file or event; a record that can't be read or written.
pub fn ledger(app: &App, args: &LedgerArgs) -> Result<Answer, CommandError> {
    match &args.command {
        LedgerCommand::Export { file, board, without_evidence } => {
            export_to(app, file, board.as_deref(), !without_evidence)
        }
        LedgerCommand::Import { file } => import_from(app, file),
        LedgerCommand::Verify => {
            let workspace = reading::workspace(&app.global)?;
            let opened = reading::open_telling(app, &workspace)?;
            let report = verify_trace::report(&workspace, opened.ledger.as_ref(), true)?;
            Ok(verify_trace::answer(app, "ledger", &report, None))
        }
        LedgerCommand::Stats => numbers(app),
        LedgerCommand::Expunge { board, seq } => remove_words(app, board, *seq),
        LedgerCommand::RebuildMirrors { board } => rebuild(app, board.as_deref()),
        LedgerCommand::StartOver => begin_again(app),
    }
}

/// Goes on without a record that is damaged, cut or gone. A sound one stays.
fn begin_again(app: &App) -> Result<Answer, CommandError> {
    let workspace = reading::workspace(&app.global)?;
    match reading::open(&workspace) {
        Err(e) if e.kind == Kind::HistoryBroken => {}
        Err(e) => return Err(e),
        Ok(_) => {
            let why = "the record here can be read, so there is nothing to start over";
            return Err(CommandError::new(Kind::Usage, why)
                .hint("'pcbflow ledger verify' checks all of it"));
        }
    }
    let question = "Put the record aside and begin a new one? Every step is then run again.";
    if !(app.global.yes || (app.ui.may_ask() && app.ui.ask_yes(question))) {
        let why = "going on without the old record needs a person's yes";
        return Err(CommandError::new(Kind::NeedsPerson, why)
            .hint("better: put the folder .pcbflow back from a backup")
            .hint("to go on without it: pcbflow ledger start-over --yes"));
    }
    let begun = start_over(&options(&workspace, Mode::Write), SystemClock.now())?;
    let mut lines = Vec::new();
    if let Some(aside) = &begun.aside {
        lines.push(format!("the old record is kept as {}", aside.display()));
    }
    lines.push(format!(
        "a new record begins and names the last known event of {} streams; no verdict was taken \
         over: the next run checks everything again",
        begun.adopted.len()
    ));
    let aside = begun.aside.as_ref().map(|p| p.display().to_string());
    Ok(Answer::done("ledger", lines).with("aside", aside).with("adopted", begun.adopted.len()))
}

fn options(workspace: &Workspace, mode: Mode) -> OpenOptions {
    OpenOptions::of_workspace(&workspace.root, compose::state_home(), mode)
}

/// What a refused file or event is to the shell.
fn refused(e: LedgerError, kind: Kind) -> CommandError {
    match e {
        LedgerError::Refused { why } => CommandError::new(kind, why),
        other => other.into(),
    }
}

fn export_to(
    app: &App,
    file: &Path,
    board: Option<&str>,
    evidence: bool,
) -> Result<Answer, CommandError> {
    let workspace = reading::workspace(&app.global)?;
    let opened = reading::open_telling(app, &workspace)?;
    let only = match board {
        Some(_) => {
            let ledger = opened.ledger.as_ref();
            let name = reading::board(&workspace, Some(ledger), board)?;
            reading::head(ledger, &name)?;
            vec![StreamId::Board(name)]
        }
        None => Vec::new(),
    };
    let out = File::create_new(file).map_err(|e| {
        let error =
            CommandError::new(Kind::Usage, format!("{} can't be made: {e}", file.display()));
        error.hint("name a file that does not exist yet")
    })?;
    let blobs = stored(&workspace);
    let written =
        export(opened.ledger.as_ref(), &only, evidence.then_some(&blobs), &out).and_then(|moved| {
            match out.sync_all() {
                Ok(()) => Ok(moved),
                Err(e) => Err(LedgerError::Storage {
                    doing: "writing the export",
                    message: e.to_string(),
                }),
            }
        });
    let moved = match written {
        Ok(moved) => moved,
        Err(e) => {
            drop(out);
            // Half an export is worse than none.
            if let Err(e) = std::fs::remove_file(file) {
                app.ui.warn(&format!(
                    "{} is not whole and could not be removed: {e}",
                    file.display()
                ));
            }
            return Err(refused(e, Kind::Config));
        }
    };
    let mut lines = moved_lines(&moved);
    if moved.evidence_left_out > 0 {
        app.ui.warn(&format!(
            "{} pieces of evidence are gone or damaged here and are not in the file; \
             'pcbflow ledger verify' names them",
            moved.evidence_left_out
        ));
    }
    if evidence {
        lines.push(format!("stored evidence: {} pieces", moved.evidence));
    }
    lines.push(format!("written to {}", file.display()));
    Ok(Answer::done("ledger", lines).with("moved", moved).with("file", file.display().to_string()))
}

/// The stored evidence of a workspace.
fn stored(workspace: &Workspace) -> FileBlobs {
    FileBlobs::new(workspace.state_dir().join("blobs"))
}

fn moved_lines(moved: &Moved) -> Vec<String> {
    moved.streams.iter().map(|(stream, events)| format!("{stream}: {events} events")).collect()
}

fn import_from(app: &App, file: &Path) -> Result<Answer, CommandError> {
    let workspace = reading::workspace(&app.global)?;
    let shown = file.display();
    let usage = |words: String| CommandError::new(Kind::Usage, words);
    match std::fs::metadata(file) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Err(usage(format!("there is no file {shown}")));
        }
        Err(e) => return Err(usage(format!("{shown} can't be looked at: {e}"))),
        Ok(meta) if meta.is_dir() => return Err(usage(format!("{shown} is a folder, no export"))),
        Ok(meta) if !meta.is_file() => {
            let error = usage(format!("{shown} is a pipe or a device, and an export is a file"));
            return Err(error.hint("save what it gives to a file, and import that"));
        }
        Ok(_) => {}
    }
    let moved = import(&options(&workspace, Mode::Write), Some(&stored(&workspace)), file)
        .map_err(|e| match e {
            LedgerError::Refused { why } => usage(format!("{shown} can't be imported: {why}"))
                .hint("nothing was changed here; use another copy of the export"),
            other => other.into(),
        })?;
    let mut lines = moved_lines(&moved);
    lines.push(format!("{} events are new here", moved.fresh));
    lines.push(format!("{} pieces of evidence are new here", moved.evidence_fresh));
    Ok(Answer::done("ledger", lines).with("moved", moved))
}

fn numbers(app: &App) -> Result<Answer, CommandError> {
    let workspace = reading::workspace(&app.global)?;
    let opened = reading::open_telling(app, &workspace)?;
    let blobs = stored(&workspace);
    let file = options(&workspace, Mode::Read).path;
    let stats = stats(opened.ledger.as_ref(), Some(&file), Some(&blobs))?;
    let mut lines = vec![
        format!("record {}, file of {} bytes", stats.ledger, stats.file_bytes),
        format!("stored evidence: {} files of {} bytes", stats.blobs.files, stats.blobs.bytes),
    ];
    stats.streams.iter().for_each(|s| lines.extend(stream_lines(s)));
    Ok(Answer::done("ledger", lines).with("stats", stats))
}

fn stream_lines(s: &StreamStats) -> Vec<String> {
    let (first, last) = (s.first.as_deref().unwrap_or("?"), s.last.as_deref().unwrap_or("?"));
    let mut lines = vec![format!(
        "{}: {} events of {} bytes, from {first} to {last}",
        s.stream, s.events, s.bytes
    )];
    let mut names: Vec<(&String, &u64)> = s.by_event.iter().collect();
    names.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    lines.extend(names.into_iter().map(|(name, n)| format!("  {n:>8}  {name}")));
    lines
}

fn remove_words(app: &App, board: &str, seq: u64) -> Result<Answer, CommandError> {
    let site = Site::open(&app.global)?;
    let name = {
        let opened = reading::open_telling(app, &site.workspace)?;
        let ledger = opened.ledger.as_ref();
        let name = reading::board(&site.workspace, Some(ledger), Some(board))?;
        let head = reading::head(ledger, &name)?;
        if seq > head.seq.0 {
            let error =
                CommandError::new(Kind::NotFound, format!("board {name} has no event {seq}"));
            return Err(error.hint(format!("its events go from 0 to {}", head.seq)));
        }
        // The handle is closed here: rewriting the file needs it alone.
        name
    };
    let question =
        format!("Remove the words and stored evidence of event {seq} of {name} for good?");
    let yes = app.global.yes || (app.ui.may_ask() && app.ui.ask_yes(&question));
    if !yes {
        return Err(CommandError::new(
            Kind::NeedsPerson,
            format!(
                "removing the words of event {seq} can't be undone, so it needs a person's yes"
            ),
        )
        .hint(format!("say it with: pcbflow ledger expunge {name} {seq} --yes")));
    }
    let stream = StreamId::Board(name.clone());
    let logs: Vec<PathBuf> = site
        .workspace
        .boards()?
        .list
        .into_iter()
        .map(|b| b.dir.join(".logs"))
        .filter(|p| p.is_dir())
        .collect();
    let wanted = Expunge {
        stream: &stream,
        seq: Seq(seq),
        blobs: true,
        needles: &[],
        actor: Actor::Person,
        at: SystemClock.now(),
        reason: "a person asked for it",
        search: &logs,
    };
    let mirrors = crate::mirror::mirrors(&site);
    let mut warnings = Vec::new();
    let gone = expunge(&options(&site.workspace, Mode::Write), &wanted, &mut |options| {
        let opened = pcbflow_store::open(options)?;
        warnings.extend(mirrors.rebuild(opened.ledger.as_ref(), &name)?);
        Ok(())
    })
    .map_err(|e| match e {
        LedgerError::Refused { why } if why.contains("open") => CommandError::new(Kind::Busy, why),
        other => refused(other, Kind::Usage),
    })?;
    for w in &warnings {
        app.ui.warn(&format!("{} could not be written: {}", w.path.display(), w.message));
    }
    Ok(expunged(&name, seq, &gone))
}

fn expunged(board: &BoardName, seq: u64, gone: &Expunged) -> Answer {
    let mut lines = vec![if gone.body_removed {
        format!(
            "The words of event {seq} are gone; {} stored files went with them.",
            gone.blobs_removed
        )
    } else {
        format!("The words of event {seq} were gone already.")
    }];
    let exit = if gone.is_proven() {
        lines
            .push(format!("{} files were searched; nothing of them is left.", gone.files_searched));
        pcbflow_core::exit::Exit::Done
    } else {
        lines.push("Not proven. Something of them may still be in:".to_owned());
        lines.extend(gone.still_found.iter().map(|f| format!("  {f}")));
        pcbflow_core::exit::Exit::Unverified
    };
    let mut envelope = Envelope::new("ledger", exit);
    envelope.board = Some(board.to_string());
    Answer::new(envelope.with("expunged", gone).with("proven", gone.is_proven()), exit, lines)
}

fn rebuild(app: &App, board: Option<&str>) -> Result<Answer, CommandError> {
    let site = Site::open(&app.global)?;
    // Stored folds go with the mirrors, so the record is opened for writing.
    reading::open_telling(app, &site.workspace)?;
    let opened = site.ledger(Mode::Write)?;
    let ledger = opened.ledger.as_ref();
    let names: Vec<BoardName> = match board {
        Some(_) => {
            let name = reading::board(&site.workspace, Some(ledger), board)?;
            reading::head(ledger, &name)?;
            vec![name]
        }
        None => ledger.streams()?.iter().filter_map(StreamId::board).cloned().collect(),
    };
    let mirrors = crate::mirror::mirrors(&site);
    let mut lines = Vec::new();
    let mut faults = Vec::new();
    for name in &names {
        let warnings = mirrors.rebuild(ledger, name)?;
        lines.push(format!("{name}: {}", mirrors.folder(name).display()));
        faults.extend(
            warnings
                .into_iter()
                .map(|w| format!("{} could not be written: {}", w.path.display(), w.message)),
        );
    }
    if let Some(first) = faults.first() {
        return Err(CommandError::new(Kind::Config, first.clone())
            .class("LG-4")
            .hint("make the project folder writable"));
    }
    Ok(Answer::done("ledger", lines).with("boards", names))
}
