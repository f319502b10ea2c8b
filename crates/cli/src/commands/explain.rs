//! `explain`: the five parts of what an event belongs to, or its technical record.

use pcbflow_core::check::{CheckOutcome, PhaseVerdict};
use pcbflow_core::event::{CheckPurpose, Event, Fact, StopCause};
use pcbflow_core::ids::{BoardName, Seq, StepKey, StreamId};
use pcbflow_core::manifest::SNAPSHOT_COMMIT;
use pcbflow_core::policy::PERSON_RUNG;
use pcbflow_core::ports::Ledger;
use pcbflow_core::projection::BoardState;
use pcbflow_engine::fold_board;
use pcbflow_humanize::message::Message;
use pcbflow_humanize::notice::{CheckEnd, CheckSummary, RunEnd};
use pcbflow_humanize::slots::StepName;

use crate::App;
use crate::args::ExplainArgs;
use crate::compose::Site;
use crate::envelope::Answer;
use crate::error::{CommandError, Kind};
use crate::reading;
use crate::story::{self, Extent};

#[path = "explain_technical.rs"]
mod technical;

/// `pcbflow explain`.
///
/// # Errors
/// No such board, event or ask; a record that can't be read.
pub fn explain(app: &App, args: &ExplainArgs) -> Result<Answer, CommandError> {
    let site = Site::open(&app.global)?;
    let opened = reading::open_telling(app, &site.workspace)?;
    let ledger: &dyn Ledger = opened.ledger.as_ref();
    let Some((board, seq)) = target(&site, ledger, args)? else {
        let board = reading::board(&site.workspace, Some(ledger), args.board.as_deref())?;
        let line = format!("No failure is recorded for {board}.");
        let mut answer = Answer::done("explain", vec![line]);
        answer.envelope.board = Some(board.to_string());
        return Ok(answer);
    };
    let episode = Episode::of(ledger, &board, seq)?;
    let message = episode.message(&site, ledger)?;
    let mut answer = Answer::done("explain", Vec::new());
    answer.envelope.board = Some(board.to_string());
    answer.envelope.head = Some(format!("blake3:{}", episode.head.hash));
    answer.envelope.events = episode.telling();
    if let Some(key) = &episode.key {
        answer.envelope.phase = Some(key.phase.to_string());
        answer.envelope.step = Some(key.step.to_string());
    }
    answer.envelope.class = episode.class();
    answer.envelope.human = message.as_ref().map(story::parts);
    answer.envelope.asks = episode.asks(ledger)?;
    answer.envelope.ask = answer.envelope.asks.first().cloned();
    answer.envelope.attempts = episode.attempts();
    if !answer.envelope.asks.is_empty() {
        answer.envelope.resume = Some(format!("pcbflow resume {board}"));
    }
    answer = answer.with("event", super::history::row(&episode.event));
    if args.technical {
        let record = technical::Record::of(&episode, &site);
        answer.lines = record.lines(&app.ui);
        answer = answer.with("technical", record.json());
    } else {
        let (_, state) = fold_board(ledger, &board)?;
        answer.lines = lines(app, &site, &episode, message.as_ref(), &state);
    }
    Ok(answer)
}

fn lines(
    app: &App,
    site: &Site,
    episode: &Episode,
    message: Option<&Message>,
    state: &BoardState,
) -> Vec<String> {
    let mut lines = match message {
        Some(message) => story::lines(&app.ui, message),
        None => vec![format!(
            "Event {} of {}: {}. Nothing failed there.",
            episode.event.seq, episode.board, episode.event.fact
        )],
    };
    let named = Some(&episode.board).filter(|_| site.several_boards());
    if let Some(key) = &episode.key {
        lines.extend(story::beside_lines(state, key));
        for ask in state.open_asks().filter(|a| a.holds(key)) {
            lines.push(format!("When it is done: {}", story::answer_command(ask, named)));
        }
    }
    let board = named.map_or_else(String::new, |b| format!(" --board {b}"));
    let told = message.and_then(Message::event).unwrap_or(episode.event.seq);
    lines.push(String::new());
    lines.push(format!("The technical record: pcbflow explain {told} --technical{board}"));
    lines
}

/// The board and event that are meant; `None` when nothing was named and nothing ever failed.
fn target(
    site: &Site,
    ledger: &dyn Ledger,
    args: &ExplainArgs,
) -> Result<Option<(BoardName, Seq)>, CommandError> {
    let named = args.event.as_deref().map(|t| t.trim_start_matches('#'));
    let Some(text) = named else {
        let board = reading::board(&site.workspace, Some(ledger), args.board.as_deref())?;
        let head = reading::head(ledger, &board)?;
        let failed = |e: &Event| matches!(e.fact, Fact::FailureDiagnosed { .. });
        let found = reading::newest(ledger, &board, head.seq, &failed)?;
        return Ok(found.map(|e| (board, e.seq)));
    };
    if let Ok(seq) = text.parse::<u64>() {
        let board = reading::board(&site.workspace, Some(ledger), args.board.as_deref())?;
        let head = reading::head(ledger, &board)?;
        if seq > head.seq.0 {
            let error =
                CommandError::new(Kind::NotFound, format!("board {board} has no event {seq}"));
            return Err(error.hint(format!("its events go from 0 to {}", head.seq)));
        }
        return Ok(Some((board, Seq(seq))));
    }
    find_ask(site, ledger, args.board.as_deref(), text).map(Some)
}

/// The newest event that raised an ask of this id.
fn find_ask(
    site: &Site,
    ledger: &dyn Ledger,
    board: Option<&str>,
    id: &str,
) -> Result<(BoardName, Seq), CommandError> {
    let names: Vec<BoardName> = match board {
        Some(_) => vec![reading::board(&site.workspace, Some(ledger), board)?],
        None => ledger.streams()?.iter().filter_map(StreamId::board).cloned().collect(),
    };
    let mut found: Vec<(bool, pcbflow_core::time::Timestamp, BoardName, Seq)> = Vec::new();
    for name in names {
        let (_, state) = fold_board(ledger, &name)?;
        found.extend(
            state
                .asks
                .iter()
                .filter(|a| a.id.as_str() == id)
                .map(|a| (a.answer.is_none(), a.raised, name.clone(), a.seq)),
        );
    }
    let open: Vec<&str> = found.iter().filter(|f| f.0).map(|f| f.2.as_str()).collect();
    if open.len() > 1 {
        // To tell of one of them would be to pass over the others.
        let error = CommandError::new(Kind::Usage, format!("{id} is open on several boards"));
        return Err(error.hint(format!("add --board, one of: {}", open.join(", "))));
    }
    // An open one first, then the newest.
    found.sort();
    match found.pop() {
        Some((_, _, board, seq)) => Ok((board, seq)),
        None => Err(CommandError::new(Kind::NotFound, format!("there is no event or ask '{id}'"))
            .hint(
                "name the number of an event of 'pcbflow history', or an ask of 'pcbflow status'",
            )),
    }
}

/// Everything that belongs together with an event: the tries of its step for one failure, or
/// its run.
pub(super) struct Episode {
    pub(super) board: BoardName,
    pub(super) event: Event,
    pub(super) key: Option<StepKey>,
    /// The events, words included, oldest first; of other steps only those of the run itself.
    pub(super) events: Vec<Event>,
    pub(super) head: pcbflow_core::ports::Head,
    end: Seq,
}

/// Most events of an episode that are looked at.
const EPISODE_EVENTS_MAX: usize = 20_000;

impl Episode {
    fn of(ledger: &dyn Ledger, board: &BoardName, seq: Seq) -> Result<Episode, CommandError> {
        let head = reading::head(ledger, board)?;
        let mut event = one(ledger, board, seq)?;
        if let Fact::AskAnswered { ask, .. } = &event.fact {
            let raised = |e: &Event| matches!(&e.fact, Fact::AskRaised { ask: a, .. } if a == ask);
            if let Some(asked) = reading::newest(ledger, board, seq, &raised)? {
                event = one(ledger, board, asked.seq)?;
            }
        }
        let key = event.step_key();
        let begins = |e: &Event| matches!(e.fact, Fact::RunStarted { .. });
        let ends = |e: &Event| match &key {
            Some(key) => {
                e.step_key().as_ref() == Some(key)
                    && matches!(
                        e.fact,
                        Fact::StepPassed { .. } | Fact::StepSkipped { .. } | Fact::StepHeld { .. }
                    )
            }
            None => matches!(e.fact, Fact::RunStopped { .. }),
        };
        let at = event.seq;
        let before = |e: &Event| e.seq < at && (begins(e) || (key.is_some() && ends(e)));
        let start = match reading::newest(ledger, board, at, &before)? {
            Some(e) if key.is_none() => e.seq,
            Some(e) => e.seq.next(),
            None => Seq(0),
        };
        let start = if begins(&event) { at } else { start };
        let end = Self::end(ledger, board, at, head.seq, &|e| begins(e) && e.seq > at, &ends)?;
        let mut events = Vec::new();
        reading::each(ledger, board, start, end, true, &mut |e| {
            let same = key.is_none() || e.step_key() == key;
            if same && events.len() < EPISODE_EVENTS_MAX {
                events.push(e);
            }
        })?;
        Ok(Episode { board: board.clone(), event, key, events, head, end })
    }

    /// The last event of the episode: one that ends it, or the one before a new run.
    fn end(
        ledger: &dyn Ledger,
        board: &BoardName,
        at: Seq,
        head: Seq,
        before: &dyn Fn(&Event) -> bool,
        ends: &dyn Fn(&Event) -> bool,
    ) -> Result<Seq, CommandError> {
        let mut from = at;
        while from <= head {
            let to = Seq(head.0.min(from.0 + reading::CHUNK_EVENTS as u64 - 1));
            for event in reading::events(ledger, board, from, to, false)? {
                if before(&event) {
                    return Ok(Seq(event.seq.0.saturating_sub(1)));
                }
                if ends(&event) {
                    return Ok(event.seq);
                }
            }
            from = to.next();
        }
        Ok(head)
    }

    /// Class of the newest failure in it.
    pub(super) fn class(&self) -> Option<String> {
        self.events.iter().rev().find_map(|e| match &e.fact {
            Fact::FailureDiagnosed { class, .. } => Some(class.to_string()),
            _ => None,
        })
    }

    /// Attempts of the step in it.
    fn attempts(&self) -> Option<u32> {
        self.key.as_ref()?;
        let started = |e: &&Event| matches!(e.fact, Fact::AttemptStarted { .. });
        u32::try_from(self.events.iter().filter(started).count()).ok()
    }

    /// Events that a reader wants to look at.
    fn telling(&self) -> Vec<String> {
        let wanted = |e: &&Event| {
            matches!(
                e.fact,
                Fact::FailureDiagnosed { .. }
                    | Fact::AttemptFinished { .. }
                    | Fact::CheckObserved { .. }
                    | Fact::AskRaised { .. }
            )
        };
        self.events.iter().filter(wanted).map(|e| e.seq.to_string()).collect()
    }

    fn asks(&self, ledger: &dyn Ledger) -> Result<Vec<crate::envelope::AskOut>, CommandError> {
        let Some(key) = &self.key else { return Ok(Vec::new()) };
        let (_, state) = fold_board(ledger, &self.board)?;
        Ok(state.open_asks().filter(|a| a.holds(key)).map(story::ask_out).collect())
    }

    fn message(&self, site: &Site, ledger: &dyn Ledger) -> Result<Option<Message>, CommandError> {
        let Some(key) = &self.key else { return Ok(self.run_message()) };
        let state = if self.end == self.head.seq {
            fold_board(ledger, &self.board)?.1
        } else {
            reading::state_at(ledger, &self.board, self.end)?
        };
        let told = story::failure_message(&site.policy.catalogue, &self.board, &state, key);
        Ok(told.or_else(|| self.check_message(key)))
    }

    /// What the step's own check saw, when nothing failed.
    fn check_message(&self, key: &StepKey) -> Option<Message> {
        let (event, outcome, counts) = self.events.iter().rev().find_map(|e| match &e.fact {
            Fact::CheckObserved { purpose: CheckPurpose::Step, outcome, counts, .. } => {
                Some((e.seq, *outcome, *counts))
            }
            _ => None,
        })?;
        let (errors, warnings) = (u64::from(counts.errors), u64::from(counts.warnings));
        let end = match outcome {
            CheckOutcome::CouldNotRun => CheckEnd::CouldNotRun,
            CheckOutcome::Pass if errors + warnings == 0 => CheckEnd::Clean,
            CheckOutcome::Fail | CheckOutcome::Pass => CheckEnd::Findings { errors, warnings },
        };
        let check = StepName::new(key.step.as_str()).ok()?;
        let place = story::place(&self.board, Some(key));
        CheckSummary { place, check, end, event: Some(event) }.message().ok()
    }

    /// How the run ended.
    fn run_message(&self) -> Option<Message> {
        let cause = self.events.iter().rev().find_map(|e| match &e.fact {
            Fact::RunStopped { cause } => Some(cause.clone()),
            _ => None,
        })?;
        let count = |wanted: &dyn Fn(&Fact) -> bool| {
            self.events.iter().filter(|e| wanted(&e.fact)).count() as u64
        };
        let mut errors = 0;
        let mut warnings = 0;
        let mut conditional = false;
        let mut unsaved = false;
        let mut checks_only = false;
        for event in &self.events {
            match &event.fact {
                Fact::PhaseVerdictGiven { verdict, counts } => {
                    errors += u64::from(counts.errors);
                    warnings += u64::from(counts.warnings);
                    conditional |= *verdict == PhaseVerdict::Conditional;
                }
                Fact::OutputsCommitted { commit } => unsaved |= commit.starts_with(SNAPSHOT_COMMIT),
                Fact::RunStarted { checks_only: only, .. } => checks_only = *only,
                _ => {}
            }
        }
        let end = match cause {
            StopCause::Finished if conditional => {
                RunEnd::Conditional { findings: warnings + errors, unsaved }
            }
            StopCause::Finished => RunEnd::Pass,
            StopCause::NothingToDo => RunEnd::NothingToDo,
            StopCause::Findings => RunEnd::Findings { findings: errors + warnings },
            StopCause::Unverified => RunEnd::Unverified {
                checks: count(&|f| matches!(f, Fact::StepHeld { gate } if *gate > pcbflow_core::check::Gate::Fail)).max(1),
            },
            StopCause::NeedsPerson => RunEnd::NeedsPerson {
                asks: count(&|f| matches!(f, Fact::AskRaised { .. })).max(1),
            },
            StopCause::TryLater => RunEnd::TryLater,
            StopCause::Interrupted | StopCause::Terminated | StopCause::Storage => RunEnd::Stopped,
        };
        let steps = count(&|f| matches!(f, Fact::AttemptFinished { .. }));
        let healed =
            count(&|f| matches!(f, Fact::StepRecovered { rung, .. } if rung != PERSON_RUNG));
        story::run_message(&self.board, end, Extent { steps, healed, checks_only })
    }
}

fn one(ledger: &dyn Ledger, board: &BoardName, seq: Seq) -> Result<Event, CommandError> {
    reading::events(ledger, board, seq, seq, true)?.pop().ok_or_else(|| {
        CommandError::new(Kind::NotFound, format!("board {board} has no event {seq}"))
    })
}
