//! `status`: where boards stand, what is asked, and who is at work. Reads only; the project file
//! is looked at for the order of the phases, and need not be valid.

use std::sync::Arc;

use pcbflow_checkpoint::workspace::Workspace;
use pcbflow_core::exit::Exit;
use pcbflow_core::ids::{BoardName, Seq};
use pcbflow_core::ports::Ledger;
use pcbflow_core::projection::BoardState;
use pcbflow_engine::fold_board;
use pcbflow_humanize::notice::record_repaired;

use crate::App;
use crate::args::StatusArgs;
use crate::envelope::{Answer, Envelope};
use crate::error::{CommandError, Kind};
use crate::reading;
use crate::story;

#[path = "status_view.rs"]
mod view;
#[path = "status_watch.rs"]
mod watch;

use view::BoardView;

/// `pcbflow status`.
///
/// # Errors
/// No workspace, no such board or event, a record that can't be read.
pub fn status(app: &App, args: &StatusArgs) -> Result<Answer, CommandError> {
    let workspace = reading::workspace(&app.global)?;
    if args.watch {
        return watch::watch(app, &workspace, args);
    }
    let look = Look::take(&workspace, args.board.as_deref(), args.at)?;
    for note in &look.notes {
        app.ui.warn(note);
    }
    Ok(look.answer(app))
}

/// Everything that one look saw.
struct Look {
    boards: Vec<BoardView>,
    repaired: bool,
    notes: Vec<String>,
    /// One board was asked for, or there is only one: it is shown in full.
    full: bool,
    /// The state of an earlier event is shown.
    past: bool,
}

impl Look {
    fn take(
        workspace: &Workspace,
        board: Option<&str>,
        at: Option<u64>,
    ) -> Result<Look, CommandError> {
        let opened = reading::open(workspace)?;
        let ledger: Option<Arc<dyn Ledger>> =
            opened.as_ref().map(|o| Arc::clone(&o.ledger) as Arc<dyn Ledger>);
        let ledger = ledger.as_deref();
        let mut notes = Vec::new();
        let mut told = Vec::new();
        let all = all_boards(workspace, ledger, &mut told)?;
        // Ids of asks are a board's own: with several boards each command names its board.
        let alone = all.len() == 1;
        let names = match board {
            Some(_) => vec![reading::board(workspace, ledger, board)?],
            None => {
                notes.append(&mut told);
                all
            }
        };
        if let Some(found) = opened.as_ref().and_then(|o| o.newer) {
            notes.push(format!("the record has format {found} of a newer release"));
        }
        let mut boards = Vec::new();
        for name in names {
            let state = match (ledger, at) {
                (Some(ledger), Some(at)) => past_state(ledger, &name, at)?,
                (Some(ledger), None) => fold_board(ledger, &name)?.1,
                (None, Some(at)) => return Err(no_event(&name, at, None)),
                (None, None) => BoardState::default(),
            };
            boards.push(BoardView::of(workspace, name, state, at.is_some(), alone));
        }
        Ok(Look {
            full: boards.len() == 1,
            boards,
            repaired: opened.is_some_and(|o| o.repaired),
            notes,
            past: at.is_some(),
        })
    }

    fn lines(&self, app: &App) -> Vec<String> {
        let mut lines = Vec::new();
        if self.repaired {
            lines.push(record_repaired().as_str().to_owned());
        }
        if self.boards.is_empty() {
            lines.push(
                "There is no board yet. 'pcbflow init --from BOARD.kicad_pro' makes one."
                    .to_owned(),
            );
        }
        let width = self.boards.iter().map(|b| b.name.as_str().chars().count()).max().unwrap_or(0);
        for board in &self.boards {
            if self.full {
                lines.extend(board.full(&app.ui));
            } else {
                lines.extend(board.short(&app.ui, width));
            }
        }
        lines
    }

    fn answer(&self, app: &App) -> Answer {
        let mut envelope = Envelope::new("status", Exit::Done);
        envelope.asks =
            self.boards.iter().flat_map(|b| b.state.open_asks().map(story::ask_out)).collect();
        envelope.ask = envelope.asks.first().cloned();
        if let [one] = self.boards.as_slice() {
            envelope.board = Some(one.name.to_string());
            envelope.phase = one.current.clone();
            envelope.head = one.state.head.map(|(_, hash)| format!("blake3:{hash}"));
            envelope.resume = one.resume();
        }
        let boards: Vec<serde_json::Value> = self.boards.iter().map(BoardView::json).collect();
        let envelope = envelope
            .with("boards", boards)
            .with("repaired", self.repaired)
            .with("past", self.past)
            .with("notes", &self.notes);
        Answer::new(envelope, Exit::Done, self.lines(app))
    }
}

fn past_state(ledger: &dyn Ledger, board: &BoardName, at: u64) -> Result<BoardState, CommandError> {
    let head = reading::head(ledger, board)?;
    if at > head.seq.0 {
        return Err(no_event(board, at, Some(head.seq)));
    }
    reading::state_at(ledger, board, Seq(at))
}

fn no_event(board: &BoardName, at: u64, last: Option<Seq>) -> CommandError {
    let error = CommandError::new(Kind::NotFound, format!("board {board} has no event {at}"));
    match last {
        Some(last) => error.hint(format!("its events go from 0 to {last}")),
        None => error.hint("nothing is recorded yet"),
    }
}

/// Boards that have a folder or events.
fn all_boards(
    workspace: &Workspace,
    ledger: Option<&dyn Ledger>,
    notes: &mut Vec<String>,
) -> Result<Vec<BoardName>, CommandError> {
    let found = workspace.boards()?;
    notes.extend(found.oddities);
    let mut names: Vec<BoardName> = found.list.into_iter().map(|b| b.name).collect();
    if let Some(ledger) = ledger {
        for stream in ledger.streams()? {
            if let Some(name) = stream.board()
                && !names.contains(name)
            {
                notes.push(format!("board {name} is recorded, but its folder is gone"));
                names.push(name.clone());
            }
        }
    }
    names.sort();
    Ok(names)
}
