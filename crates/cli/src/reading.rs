//! Looks at the record that several commands share. Nothing here appends.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use pcbflow_checkpoint::workspace::Workspace;
use pcbflow_core::event::Event;
use pcbflow_core::ids::{BoardName, Seq, StreamId};
use pcbflow_core::ports::{Head, Ledger, LedgerError};
use pcbflow_core::projection::BoardState;
use pcbflow_engine::Claim;
use pcbflow_humanize::notice::record_repaired;
use pcbflow_store::{Mode, OpenOptions, Opened};
use serde::Serialize;

use crate::App;
use crate::args::Global;
use crate::compose;
use crate::error::{CommandError, Kind};

/// Events read at a time.
pub const CHUNK_EVENTS: usize = 4096;
/// Most bytes of a claim that are read.
const CLAIM_BYTES_MAX: u64 = 4096;

/// The workspace that the options or the current folder name.
///
/// # Errors
/// There is none.
pub fn workspace(global: &Global) -> Result<Workspace, CommandError> {
    Ok(match &global.workspace {
        Some(dir) => Workspace::at(dir)?,
        None => Workspace::find(&compose::current_dir()?)?,
    })
}

/// Opens the record for reading; `None` when the workspace has none yet.
///
/// # Errors
/// Damaged, newer, unreadable.
pub fn open(workspace: &Workspace) -> Result<Option<Opened>, CommandError> {
    let options = OpenOptions::of_workspace(&workspace.root, compose::state_home(), Mode::Read);
    match pcbflow_store::open(&options) {
        Ok(opened) => Ok(Some(opened)),
        Err(LedgerError::NotFound { .. }) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// Opens the record and says on standard error what happened on the way.
///
/// # Errors
/// As [`open`]; and when there is no record yet.
pub fn open_telling(app: &App, workspace: &Workspace) -> Result<Opened, CommandError> {
    let opened = open(workspace)?.ok_or_else(|| {
        CommandError::new(Kind::NotFound, "nothing is recorded in this workspace yet")
            .hint("'pcbflow run' makes the first record")
    })?;
    if opened.repaired {
        app.ui.say(record_repaired().as_str());
    }
    if let Some(found) = opened.newer {
        app.ui.warn(&format!(
            "the record has format {found} of a newer release; it is shown as far as it is known"
        ));
    }
    Ok(opened)
}

/// The board that an argument means; one that has a folder or events.
///
/// # Errors
/// No such board, or several to choose from.
pub fn board(
    workspace: &Workspace,
    ledger: Option<&dyn Ledger>,
    arg: Option<&str>,
) -> Result<BoardName, CommandError> {
    let Some(text) = arg else { return compose::board_name(workspace, None) };
    let name = BoardName::new(text).map_err(|e| CommandError::new(Kind::Usage, e.to_string()))?;
    if workspace.board_dir(&name).join("project.yaml").is_file() {
        return Ok(name);
    }
    let recorded = match ledger {
        Some(ledger) => ledger.head(&StreamId::Board(name.clone()))?.is_some(),
        None => false,
    };
    if recorded {
        return Ok(name);
    }
    match workspace.board(&name) {
        // It came into being at this moment.
        Ok(_) => Ok(name),
        Err(e) => Err(e.into()),
    }
}

/// Head of a board's stream.
///
/// # Errors
/// It has no events, or the record can't be read.
pub fn head(ledger: &dyn Ledger, board: &BoardName) -> Result<Head, CommandError> {
    ledger.head(&StreamId::Board(board.clone()))?.ok_or_else(|| {
        CommandError::new(Kind::NotFound, format!("board {board} has no events yet"))
            .hint(format!("'pcbflow run {board}' makes the first ones"))
    })
}

/// Events `from..=to` of a board, with words when asked for.
///
/// # Errors
/// What the ledger says.
pub fn events(
    ledger: &dyn Ledger,
    board: &BoardName,
    from: Seq,
    to: Seq,
    words: bool,
) -> Result<Vec<Event>, CommandError> {
    let mut all = Vec::new();
    each(ledger, board, from, to, words, &mut |event| all.push(event))?;
    Ok(all)
}

/// Hands out the events `from..=to` of a board one at a time.
///
/// # Errors
/// What the ledger says.
pub fn each(
    ledger: &dyn Ledger,
    board: &BoardName,
    from: Seq,
    to: Seq,
    words: bool,
    visit: &mut dyn FnMut(Event),
) -> Result<(), CommandError> {
    let stream = StreamId::Board(board.clone());
    let mut next = from;
    while next <= to {
        let wanted = to.0.saturating_sub(next.0).saturating_add(1);
        let limit = usize::try_from(wanted).unwrap_or(usize::MAX).min(CHUNK_EVENTS);
        let chunk = ledger.read(&stream, next, limit, words)?;
        let Some(last) = chunk.last() else { break };
        next = last.seq.next();
        chunk.into_iter().for_each(&mut *visit);
    }
    Ok(())
}

/// The newest event up to `to` for which `wanted` holds, headers only.
///
/// # Errors
/// What the ledger says.
pub fn newest(
    ledger: &dyn Ledger,
    board: &BoardName,
    to: Seq,
    wanted: &dyn Fn(&Event) -> bool,
) -> Result<Option<Event>, CommandError> {
    let mut end = to;
    // Ends at the first event: each round reads one chunk further back.
    loop {
        let from = Seq(end.0.saturating_sub(CHUNK_EVENTS as u64 - 1));
        let chunk = events(ledger, board, from, end, false)?;
        if let Some(found) = chunk.into_iter().rev().find(|e| wanted(e)) {
            return Ok(Some(found));
        }
        if from.0 == 0 {
            return Ok(None);
        }
        end = Seq(from.0 - 1);
    }
}

/// State of a board as it was after the event `at`.
///
/// # Errors
/// What the ledger says.
pub fn state_at(
    ledger: &dyn Ledger,
    board: &BoardName,
    at: Seq,
) -> Result<BoardState, CommandError> {
    let mut state = BoardState::default();
    each(ledger, board, Seq(0), at, false, &mut |event| state.apply(&event))?;
    Ok(state)
}

/// The process that runs a board right now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Running {
    /// Its host.
    pub host: String,
    /// Its id.
    pub pid: u64,
    /// Since when, as it wrote.
    pub since: String,
}

/// Who runs a board right now. A live owner is asked for its lock, a dead one is not: so a look
/// never stands in the way of a run that is just starting.
#[must_use]
pub fn running(state_dir: &Path, board: &BoardName) -> Option<Running> {
    let file = File::open(Claim::path(state_dir, board)).ok()?;
    let mut text = String::new();
    (&file).take(CLAIM_BYTES_MAX).read_to_string(&mut text).ok()?;
    let json: serde_json::Value = serde_json::from_str(&text).ok()?;
    let field = |key: &str| json.get(key).and_then(|v| v.as_str()).unwrap_or("?").to_owned();
    let pid = json.get("pid").and_then(serde_json::Value::as_u64).unwrap_or(0);
    let here = compose::owner();
    let started = u32::try_from(pid).ok().and_then(compose::started_of);
    if field("host") == here.host && started != Some(field("started")) && cfg!(target_os = "linux")
    {
        return None;
    }
    match file.try_lock_shared() {
        Err(std::fs::TryLockError::WouldBlock) => {
            Some(Running { host: field("host"), pid, since: field("since") })
        }
        // Nobody holds it, or the system can't tell: nothing is claimed to be running.
        Ok(()) | Err(std::fs::TryLockError::Error(_)) => None,
    }
}
