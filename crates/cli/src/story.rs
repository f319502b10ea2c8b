//! From the folded state of a board to what a person is told.

use pcbflow_core::catalogue::Catalogue;
use pcbflow_core::ids::{BoardName, StepKey};
use pcbflow_core::policy::{DONE_ANSWER, GO_AHEAD_ASK, PERSON_RUNG, answers_about};
use pcbflow_core::projection::{AskState, BESIDE_SLOT, BoardState, INSTALL_SLOT, Stage, StepState};
use pcbflow_core::row::{Resume, Row, RungKind};
use pcbflow_humanize::message::{Message, Part};
use pcbflow_humanize::notice::{RunEnd, RunSummary};
use pcbflow_humanize::render;
use pcbflow_humanize::slots::{Board, PhaseName, Slots, StepName};
use pcbflow_humanize::story::{Outcome, Place, Story, Try, TryResult, Work};

use crate::envelope::{AskOut, HumanParts};
use crate::ui::Ui;

/// Where a step stands, for a message.
#[must_use]
pub fn place(board: &BoardName, key: Option<&StepKey>) -> Place {
    Place {
        board: Board::new(board.as_str()).ok(),
        phase: key.and_then(|k| PhaseName::new(k.phase.as_str()).ok()),
        step: key.and_then(|k| StepName::new(k.step.as_str()).ok()),
    }
}

/// The message about a step's failure, healed or not; `None` when it had none.
#[must_use]
pub fn failure_message(
    catalogue: &Catalogue,
    board: &BoardName,
    state: &BoardState,
    key: &StepKey,
) -> Option<Message> {
    let step = state.steps.get(key)?;
    let failure = step.failure.as_ref()?;
    let ask = state.asks.iter().rev().find(|a| step.ask.as_ref() == Some(&a.id));
    let row = row_to_tell(catalogue, step, ask)?;
    let goes_on = row.ladder.iter().any(|r| r.kind == RungKind::GoOn);
    let outcome = match outcome(step, ask) {
        // Left out on purpose, with everything else gone on.
        Outcome::CouldNotVerify if goes_on => Outcome::Partly { left: None },
        other => other,
    };
    let mut story = Story::new(row, place(board, Some(key)), outcome);
    story.tries = tries(step);
    story.work = if step.healed.is_some() { Work::Safe } else { Work::Saved };
    // A run that ended goes on with nothing by itself: the person says so.
    story.resume = match row.texts.resume {
        Resume::Nothing => Resume::Nothing,
        Resume::Retry | Resume::Watch(_) => Resume::Retry,
    };
    let (slots, refused) = Slots::from_evidence(&failure.slots);
    for fault in refused {
        tracing::debug!("a slot was left out: {fault}");
    }
    story.slots = slots;
    story.variant = failure.slots.get("variant").cloned();
    story.event = Some(failure.seq);
    story.go_ahead = ask.is_some_and(|a| a.answer.is_none() && a.kind == GO_AHEAD_ASK);
    match story.message() {
        Ok(message) => Some(message),
        Err(e) => {
            // A row that passed the lint always renders.
            tracing::error!("the message of {} does not render: {e}", row.id);
            None
        }
    }
}

/// The row in whose words it is told: the failure's own, unless only the ask's can ask.
fn row_to_tell<'c>(
    catalogue: &'c Catalogue,
    step: &StepState,
    ask: Option<&AskState>,
) -> Option<&'c Row> {
    let own = step.failure.as_ref().and_then(|f| catalogue.row(&f.class));
    let asked = ask.and_then(|a| catalogue.row(&a.class));
    match (own, asked) {
        (Some(own), Some(asked)) if matches!(own.texts.resume, Resume::Nothing) => Some(asked),
        (Some(own), _) => Some(own),
        (None, asked) => asked,
    }
}

fn outcome(step: &StepState, ask: Option<&AskState>) -> Outcome {
    let open = ask.filter(|a| a.answer.is_none());
    match (&step.stage, open) {
        // What a row says when healed is about its own remedies; a person may have accepted things as
        // they are.
        _ if step.healed.as_ref().is_some_and(|(rung, _)| rung == PERSON_RUNG) => {
            Outcome::FixedByPerson
        }
        _ if step.healed.is_some() => Outcome::Recovered,
        (_, Some(_)) => Outcome::Escalated,
        (Stage::Done { .. }, _) => Outcome::FixedByPerson,
        (Stage::Escalated { try_later: true }, _) => Outcome::TryLater,
        (Stage::Held { .. }, _) => Outcome::CouldNotVerify,
        _ => Outcome::Escalated,
    }
}

fn tries(step: &StepState) -> Vec<Try> {
    let Some(failure) = &step.failure else { return Vec::new() };
    let last = failure.tried.len().saturating_sub(1);
    failure
        .tried
        .iter()
        .enumerate()
        .map(|(at, t)| Try {
            rung: t.rung.clone(),
            times: u64::from(t.times),
            result: if step.healed.is_some() && at == last {
                TryResult::Cured
            } else {
                TryResult::NotCured
            },
        })
        .collect()
}

/// The message about a loose failure of a class, with nothing tried: for `diagnose`.
#[must_use]
pub fn class_message(row: &Row, slots: Slots, variant: Option<&str>) -> Option<Message> {
    let mut story = Story::new(row, Place::default(), Outcome::Escalated);
    if !matches!(row.texts.resume, Resume::Nothing) {
        // Nothing runs that could go on by itself.
        story.resume = Resume::Retry;
    }
    story.slots = slots;
    story.variant = variant.map(str::to_owned);
    story.message().ok()
}

/// How much a run did.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Steps that ran.
    pub steps: u64,
    /// Failures healed on the way.
    pub healed: u64,
    /// Only checks were asked for.
    pub checks_only: bool,
}

/// The message about what keeps a command from its work. No ask is open, so nothing is to be said
/// afterwards: the command is given again.
#[must_use]
pub fn loose_message(row: &Row) -> Option<Message> {
    let mut story = Story::new(row, Place::default(), Outcome::Escalated);
    story.resume = Resume::Nothing;
    story.message().ok()
}

/// The summary of a run.
#[must_use]
pub fn run_message(board: &BoardName, end: RunEnd, did: Extent) -> Option<Message> {
    let board = Board::new(board.as_str()).ok()?;
    let Extent { steps, healed, checks_only } = did;
    RunSummary { board, end, steps, healed, checks_only, event: None }.message().ok()
}

/// The five parts for JSON.
#[must_use]
pub fn parts(message: &Message) -> HumanParts {
    let h = render::human(message);
    HumanParts { what: h.what, why: h.why, tried: h.tried, worked: h.worked, ask: h.ask }
}

/// The message as lines for the person, in the form that was asked for.
#[must_use]
pub fn lines(ui: &Ui, message: &Message) -> Vec<String> {
    let text = if ui.options.narrated {
        render::narrated(message)
    } else {
        render::five_lines(message, ui.columns())
    };
    text.lines().map(str::to_owned).collect()
}

/// An ask for JSON.
#[must_use]
pub fn ask_out(ask: &AskState) -> AskOut {
    AskOut {
        id: ask.id.to_string(),
        kind: ask.kind.clone(),
        tool: ask.tool.clone(),
        class: ask.class.to_string(),
        step: ask.step.as_ref().map(ToString::to_string),
        also: ask.also.iter().map(ToString::to_string).collect(),
        watched: ask.watch.is_some(),
    }
}

/// The literal command by which an ask is answered. Ids are a board's own: `board` is named where
/// the workspace has more than one.
#[must_use]
pub fn answer_command(ask: &AskState, board: Option<&BoardName>) -> String {
    let value = if ask.kind == GO_AHEAD_ASK { "yes" } else { "retry" };
    let board = board.map_or_else(String::new, |b| format!(" --board {b}"));
    format!("pcbflow answer {} {value}{board}", ask.id)
}

/// The message behind an ask: about its step's failure, or, where the step met none, about what
/// its row says of the step.
#[must_use]
pub fn ask_message(
    catalogue: &Catalogue,
    board: &BoardName,
    state: &BoardState,
    ask: &AskState,
) -> Option<Message> {
    let key = ask.step.as_ref();
    if let Some(told) = key.and_then(|key| failure_message(catalogue, board, state, key)) {
        return Some(told);
    }
    let row = catalogue.row(&ask.class)?;
    let mut story = Story::new(row, place(board, key), Outcome::Escalated);
    story.work = Work::Saved;
    story.go_ahead = ask.kind == GO_AHEAD_ASK;
    let step = key.and_then(|key| state.steps.get(key));
    let left = match step {
        Some(step) if step.unsettled => Some(UNSETTLED),
        Some(step) if step.done_once => Some(DONE_BEFORE),
        _ => None,
    };
    // Without a failure a go-ahead is about what the step itself does: it publishes.
    let form = if story.go_ahead { Some(PUBLISHES) } else { left };
    story.variant = form.map(str::to_owned);
    if !matches!(row.texts.resume, Resume::Nothing) {
        story.resume = Resume::Retry;
    }
    story.message().ok()
}

/// Form of an ask about a step that publishes.
const PUBLISHES: &str = "publishes";
/// Form of an ask about a step that may run only once and was done before.
const DONE_BEFORE: &str = "done_before";
/// Form of an ask about a step that may run only once and may have done its work.
const UNSETTLED: &str = "unsettled";

/// What an ask wants of the person, in the words of its row.
#[must_use]
pub fn asked(
    catalogue: Option<&Catalogue>,
    board: &BoardName,
    state: &BoardState,
    ask: &AskState,
) -> String {
    let message = catalogue.and_then(|c| ask_message(c, board, state, ask));
    message.map_or_else(
        || format!("{} is needed for {}.", ask.kind, ask.tool),
        |m| m.part(Part::Ask).as_str().to_owned(),
    )
}

/// What a message may not hold and the person needs for an open failure: a file by its path, or
/// the install that the step declares. Shown beside the message, as it is.
#[must_use]
pub fn beside_lines(state: &BoardState, key: &StepKey) -> Vec<String> {
    let Some(step) = state.steps.get(key) else { return Vec::new() };
    let asked = state.open_asks().find(|a| a.holds(key));
    let done = asked.filter(|a| answers_about(&a.kind, Some(step)).contains(&DONE_ANSWER));
    let done = done.map(|a| {
        format!("When its work is there and counts as done: pcbflow answer {} {DONE_ANSWER}", a.id)
    });
    let Some(failure) = step.failure.as_ref().filter(|_| step.has_open_failure()) else {
        return done.into_iter().collect();
    };
    let installs = INSTALLED_CLASSES.contains(&failure.class.as_str());
    let install = failure.slots.get(INSTALL_SLOT).filter(|_| installs);
    let install = install.map(|command| format!("Install command: {command}"));
    install
        .into_iter()
        .chain(failure.slots.get(BESIDE_SLOT).cloned())
        .chain(done)
        .map(|line| pcbflow_core::text::one_line(&line))
        .collect()
}

/// Classes that the install of a step mends.
const INSTALLED_CLASSES: [&str; 2] = ["SC-2", "ENV-9"];
