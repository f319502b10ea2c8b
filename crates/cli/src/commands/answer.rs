//! `answer`: what the person says to an ask. The same ask answered twice is one answer.

use pcbflow_core::event::{Actor, Fact, NewEvent, Words};
use pcbflow_core::ids::{AskId, BoardName, Scope, StreamId};
use pcbflow_core::policy;
use pcbflow_core::ports::{Clock, Expect, Ledger};
use pcbflow_core::projection::NEW_RUN;
use pcbflow_engine::{SystemClock, fold_board};
use pcbflow_store::Mode;

use crate::App;
use crate::args::AnswerArgs;
use crate::compose::Site;
use crate::envelope::Answer;
use crate::error::{CommandError, Kind};
use crate::story;

/// Longest answer in bytes.
const ANSWER_BYTES_MAX: usize = 1000;

/// `pcbflow answer`.
///
/// # Errors
/// No such ask; the record.
pub fn answer(app: &App, args: &AnswerArgs) -> Result<Answer, CommandError> {
    let site = Site::open(&app.global)?;
    let ask =
        AskId::new(args.ask.clone()).map_err(|e| CommandError::new(Kind::Usage, e.to_string()))?;
    let text = pcbflow_core::text::one_line(&args.answer).trim().to_lowercase();
    if text.is_empty() || text.len() > ANSWER_BYTES_MAX {
        return Err(CommandError::new(Kind::Usage, "the answer is empty or too long")
            .hint("say retry, or yes or no where one of these is asked for"));
    }
    let opened = site.ledger(Mode::Write)?;
    let ledger = opened.ledger.as_ref();
    fits(ledger, &site, args, &ask, &text)?;
    let (board, answered) = find(&site, ledger, args.board.as_deref(), &ask)?;
    let resume = format!("pcbflow resume {board}");
    let lines = if let Some(before) = answered {
        if before == NEW_RUN {
            let why = format!("{ask} is not open: a later run began and has not asked it again");
            return Err(CommandError::new(Kind::Usage, why)
                .hint("'pcbflow run' asks again under the same id if it still must"));
        }
        if before != text {
            return Err(CommandError::new(
                Kind::Usage,
                format!("{ask} was answered already: {before}"),
            )
            .hint("an answer can't be taken back; go on with the run"));
        }
        vec![format!("{ask} was answered already: {before}")]
    } else {
        let event = NewEvent {
            at: SystemClock.now(),
            scope: Scope::default(),
            actor: Actor::Person,
            fact: Fact::AskAnswered { ask: ask.clone(), answer: text.clone() },
            words: Words::default(),
        };
        ledger.append(&StreamId::Board(board.clone()), Expect::Any, &[event])?;
        vec![format!("{ask}: {text}. Go on with: {resume}")]
    };
    let (head, state) = fold_board(ledger, &board)?;
    let mut answer = Answer::done("answer", lines);
    answer.envelope.board = Some(board.to_string());
    answer.envelope.resume = Some(resume);
    answer.envelope.head = head.map(|h| format!("blake3:{}", h.hash));
    answer.envelope.asks = state.open_asks().map(story::ask_out).collect();
    answer.envelope.ask = answer.envelope.asks.first().cloned();
    Ok(answer)
}

/// Refuses a word that says nothing about this ask, so that a slip is no answer.
fn fits(
    ledger: &dyn Ledger,
    site: &Site,
    args: &AnswerArgs,
    ask: &AskId,
    text: &str,
) -> Result<(), CommandError> {
    let (board, _) = find(site, ledger, args.board.as_deref(), ask)?;
    let (_, state) = fold_board(ledger, &board)?;
    let asked = state.asks.iter().find(|a| a.id == *ask);
    let step = asked.and_then(|a| a.step.as_ref()).and_then(|key| state.steps.get(key));
    let words = policy::answers_about(asked.map_or("", |a| a.kind.as_str()), step);
    if words.contains(&text) {
        return Ok(());
    }
    Err(CommandError::new(Kind::Usage, format!("'{text}' is no answer to {ask}"))
        .hint(format!("say {}", words.join(" or "))))
}

/// The board whose ask it is, and its answer if it has one already.
fn find(
    site: &Site,
    ledger: &dyn Ledger,
    board: Option<&str>,
    ask: &AskId,
) -> Result<(BoardName, Option<String>), CommandError> {
    let names: Vec<BoardName> = match board {
        Some(_) => vec![site.board_name(board)?],
        None => ledger.streams()?.iter().filter_map(|s| s.board().cloned()).collect(),
    };
    let mut open = Vec::new();
    let mut closed = Vec::new();
    for name in names {
        let (_, state) = fold_board(ledger, &name)?;
        if let Some(found) = state.asks.iter().find(|a| a.id == *ask) {
            match &found.answer {
                None => open.push((name, None)),
                Some(text) => closed.push((name, Some(text.clone()))),
            }
        }
    }
    match (open.as_slice(), closed.as_slice()) {
        ([one], _) => Ok(one.clone()),
        ([], [.., last]) => Ok(last.clone()),
        ([], []) => Err(CommandError::new(Kind::NotFound, format!("there is no ask {ask}"))
            .hint("'pcbflow status' lists what is open")),
        (many, _) => {
            let names: Vec<String> = many.iter().map(|(n, _)| n.to_string()).collect();
            Err(CommandError::new(Kind::Usage, format!("{ask} is open on several boards"))
                .hint(format!("add --board, one of: {}", names.join(", "))))
        }
    }
}
