//! A failure and what came of it, told from facts: [`Story`] in, [`Message`] out.
//!
//! **Invariants.** No part is made from an error. What was tried is taken from the attempts that
//! really ran, the promise to go on from the decision that really makes it. A text whose slot has
//! no value gives way to a general one; braces are never shown.

use pcbflow_core::ids::Seq;
use pcbflow_core::row::{Resume, Row, Rung, RungKind};

use crate::lists;
use crate::message::{Ending, Message, MessageError, Part, Text};
use crate::readability::sentences;
use crate::rubric::{MESSAGE_WORDS_MAX, PART_SENTENCES_MAX, PART_WORDS_MAX};
use crate::slots::{Board, Items, PhaseName, Slot, Slots, StepName, Tool};
use crate::template::{TemplateError, fill};
use crate::variants;

/// Where we are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// The board; `None` for work on the whole workspace.
    pub board: Option<Board>,
    /// The phase.
    pub phase: Option<PhaseName>,
    /// The step.
    pub step: Option<StepName>,
}

impl Place {
    /// The place in plain words: "door-sensor, Phase 6, step 'place motor block'".
    #[must_use]
    pub fn text(&self) -> Text {
        let mut shown = Vec::new();
        if let Some(board) = &self.board {
            shown.push(board.to_string());
        }
        if let Some(phase) = &self.phase {
            shown.push(phase.as_str().to_owned());
        }
        if let Some(step) = &self.step {
            shown.push(format!("step '{step}'"));
        }
        if shown.is_empty() {
            return Text::fixed("the whole workspace");
        }
        Text::new(shown.join(", "), "board, phase, step".to_owned())
    }
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Healed, and the recheck proved it.
    Recovered,
    /// The ladder is at its end; the person is asked.
    Escalated,
    /// It could not be checked: nothing is known.
    CouldNotVerify,
    /// Healed in part.
    Partly {
        /// What is left, by name, if it has names.
        left: Option<Items>,
    },
    /// Waiting for something that the product watches for.
    Waiting,
    /// A passing fault did not pass in time.
    TryLater,
    /// The person fixed it.
    FixedByPerson,
}

impl Outcome {
    fn ending(&self) -> Ending {
        match self {
            Outcome::Recovered => Ending::Recovered,
            Outcome::Escalated => Ending::Escalated,
            Outcome::CouldNotVerify => Ending::CouldNotVerify,
            Outcome::Partly { .. } => Ending::Partly,
            Outcome::Waiting => Ending::Waiting,
            Outcome::TryLater => Ending::TryLater,
            Outcome::FixedByPerson => Ending::FixedByPerson,
        }
    }
}

/// What became of one rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TryResult {
    /// The recheck passed after it.
    Cured,
    /// It ran and the fault stayed.
    NotCured,
    /// It was planned and could not run; it is not told as tried.
    CouldNotRun,
}

/// One rung that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Try {
    /// Id of the rung in the row's ladder.
    pub rung: String,
    /// How often it ran.
    pub times: u64,
    /// What became of it.
    pub result: TryResult,
}

/// What became of the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// "No work is lost."
    Safe,
    /// "Your work is saved."
    Saved,
    /// "I will redo only the step '...'."
    WillRedo(StepName),
    /// "Unsaved changes in ... may be lost."
    AtRisk(Tool),
}

/// A failure and what came of it.
#[derive(Debug, Clone)]
pub struct Story<'a> {
    /// The row of its class.
    pub row: &'a Row,
    /// Where it happened.
    pub place: Place,
    /// What came of it.
    pub outcome: Outcome,
    /// The rungs that were taken, in order.
    pub tries: Vec<Try>,
    /// What became of the work.
    pub work: Work,
    /// How it goes on after the ask, as decided; normally `row.texts.resume`.
    pub resume: Resume,
    /// How often this failure was seen in the run; at least 1.
    pub count: u32,
    /// Values for the slots.
    pub slots: Slots,
    /// Which of the row's alternative texts fits, such as `looked_clean` of KI-6.
    pub variant: Option<String>,
    /// The event that leads to the technical record.
    pub event: Option<Seq>,
    /// The ask is for a yes or a no to what the next rung would do.
    pub go_ahead: bool,
}

/// What a go-ahead is asked for, by the class of its row; the general one stands last.
const GO_AHEADS: [(&str, &str); 5] = [
    ("GIT-2", "Decide if I may make a git history here: say 'yes' or 'no'."),
    ("KI-8", "Decide if I may convert a copy of the board: say 'yes' or 'no'."),
    ("EDA-11", "Decide if I may test a new script on a copy: say 'yes' or 'no'."),
    ("SC-6", "Decide if I may publish with the step {step}: say 'yes' or 'no'."),
    ("", "Decide if I may go on with the next remedy: say 'yes' or 'no'."),
];

/// The question of a go-ahead.
#[must_use]
pub fn go_ahead_question(class: &str, slots: &Slots) -> Text {
    let general = "Decide if I may go on here: say 'yes' or 'no'.";
    let own = GO_AHEADS.iter().find(|(of, _)| *of == class || of.is_empty());
    own.and_then(|(_, text)| fill(text, slots).ok()).unwrap_or_else(|| Text::fixed(general))
}

/// A text that could not be filled, and was replaced by a general one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the text for '{part}' does not render: {error}")]
pub struct Gap {
    /// The part.
    pub part: Part,
    /// Why.
    pub error: TemplateError,
}

/// Why a story has no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoryError {
    /// Texts without a value for their slots; only strict rendering says so.
    #[error("{} text(s) do not render", .0.len())]
    Gaps(Vec<Gap>),
    /// A part came out empty, which a checked row can't do.
    #[error(transparent)]
    Message(#[from] MessageError),
}

impl<'a> Story<'a> {
    /// A story with the row's own resume condition, no tries, seen once, work safe.
    #[must_use]
    pub fn new(row: &'a Row, place: Place, outcome: Outcome) -> Story<'a> {
        Story {
            row,
            place,
            outcome,
            tries: Vec::new(),
            work: Work::Safe,
            resume: row.texts.resume,
            count: 1,
            slots: Slots::default(),
            variant: None,
            event: None,
            go_ahead: false,
        }
    }

    /// The message. A text whose slot has no value is replaced by a general one.
    ///
    /// # Errors
    /// [`StoryError::Message`] when a template of the row is empty.
    pub fn message(&self) -> Result<Message, StoryError> {
        self.tell().0
    }

    /// The message, or the texts that have an unfilled slot.
    ///
    /// # Errors
    /// [`StoryError::Gaps`] names every text that would need a general one.
    pub fn message_strict(&self) -> Result<Message, StoryError> {
        match self.tell() {
            (message, gaps) if gaps.is_empty() => message,
            (_, gaps) => Err(StoryError::Gaps(gaps)),
        }
    }

    fn tell(&self) -> (Result<Message, StoryError>, Vec<Gap>) {
        let teller = Teller { story: self, slots: self.all_slots() };
        let mut gaps = Vec::new();
        let what = teller.what(&mut gaps);
        let why = teller.why(&mut gaps);
        let tried = teller.tried(&mut gaps);
        let worked = teller.worked(&mut gaps);
        let ask = teller.ask(&mut gaps);
        let rest = [&what, &worked, &ask].iter().map(|t| t.words()).sum::<usize>();
        let (why, tried) = teller.fitted(why, tried, rest);
        let parts = [what, why, tried, worked, ask];
        let place = self.place.text();
        let message =
            Message::new(place, parts, self.outcome.ending(), self.count.max(1), self.event);
        (message.map_err(StoryError::from), gaps)
    }

    /// The values of the story, with those that it knows anyway.
    fn all_slots(&self) -> Slots {
        let mut slots = self.slots.clone();
        // "Install the computer" would be nonsense: a place stands for no tool.
        if let Ok(tool) = Tool::find(self.row.texts.tool)
            && !tool.is_place()
        {
            slots = slots.or(Slot::Tool(tool));
        }
        if let Some(step) = &self.place.step {
            slots = slots.or(Slot::Step(step.clone()));
        }
        if let Some(phase) = &self.place.phase {
            slots = slots.or(Slot::Phase(phase.clone()));
        }
        slots
    }

    /// The rungs that really ran, with their number of runs.
    fn ran(&self) -> Vec<(Option<&'a Rung>, u64)> {
        self.tries
            .iter()
            .filter(|t| t.result != TryResult::CouldNotRun && t.times > 0)
            .map(|t| (self.row.ladder.iter().find(|r| r.id == t.rung), t.times))
            .filter(|(rung, _)| rung.is_none_or(|r| r.kind != RungKind::Ask))
            .collect()
    }
}

struct Teller<'s, 'a> {
    story: &'s Story<'a>,
    slots: Slots,
}

impl Teller<'_, '_> {
    fn fill(
        &self,
        part: Part,
        template: &'static str,
        general: &'static str,
        gaps: &mut Vec<Gap>,
    ) -> Text {
        fill(template, &self.slots).unwrap_or_else(|error| {
            gaps.push(Gap { part, error });
            self.general(general)
        })
    }

    /// A text that every story can fill.
    fn general(&self, template: &'static str) -> Text {
        fill(template, &self.general_slots())
            .unwrap_or_else(|_| Text::fixed("A step did not work."))
    }

    /// General texts may name the row's place too.
    fn general_slots(&self) -> Slots {
        let tool = Tool::find(self.story.row.texts.tool).or_else(|_| Tool::find("pcbflow"));
        let tool = tool.map(Slot::Tool);
        tool.into_iter().fold(self.slots.clone(), Slots::or)
    }

    /// The first text where the tool has a name of its own, else the second: "the step's own tool"
    /// says nothing where no step is named.
    fn of_tool(&self, texts: (&'static str, &'static str)) -> &'static str {
        let slots = self.general_slots();
        let named = |slot: &Slot| !slot.words().0.starts_with("the step's own");
        if slots.get("tool").is_some_and(named) { texts.0 } else { texts.1 }
    }

    fn what(&self, gaps: &mut Vec<Gap>) -> Text {
        let row = self.story.row;
        let what = self
            .story
            .variant
            .as_deref()
            .and_then(|v| variants::find(row.id, v))
            .map_or(row.texts.what, |v| v.what);
        self.fill(Part::What, what, self.of_tool(GENERAL_WHAT), gaps)
    }

    fn why(&self, gaps: &mut Vec<Gap>) -> Text {
        let row = self.story.row;
        let variant = self.story.variant.as_deref().and_then(|v| variants::find(row.id, v));
        let why = variant.map_or(row.texts.why, |v| v.why);
        self.fill(Part::Why, why.unwrap_or(UNKNOWN_WHY), "The record holds the details.", gaps)
    }

    /// Adds how often it happened where there is room for it (the heading always says it), and
    /// shortens what was tried to its number where there is no room for more.
    fn fitted(&self, why: Text, tried: Text, rest: usize) -> (Text, Text) {
        let room = MESSAGE_WORDS_MAX.saturating_sub(rest + why.words());
        let ways = u64::try_from(self.story.ran().len()).unwrap_or(u64::MAX);
        let tried = if tried.words() > room && ways > 0 { ways_tried(ways) } else { tried };
        let room = room.saturating_sub(tried.words());
        if self.story.count < 2 {
            return (why, tried);
        }
        let times = Slots::default().with(Slot::Times(u64::from(self.story.count)));
        let Ok(repeats) = fill("It happened {times} in this run.", &times) else {
            return (why, tried);
        };
        let fits = sentences(why.masked()).len() < PART_SENTENCES_MAX
            && repeats.words() <= room
            && why.words() + repeats.words() <= PART_WORDS_MAX;
        if fits { (why.then(&repeats), tried) } else { (why, tried) }
    }

    fn tried(&self, gaps: &mut Vec<Gap>) -> Text {
        let ran = self.story.ran();
        let mut said = |(rung, times): (Option<&Rung>, u64)| {
            let slots = self.slots.clone().with(Slot::Times(times));
            let general = "I tried a known remedy {times}.";
            match rung.filter(|r| !r.said.is_empty()) {
                Some(rung) => {
                    Teller { story: self.story, slots }.fill(Part::Tried, rung.said, general, gaps)
                }
                None => fill(general, &slots).unwrap_or_default(),
            }
        };
        match ran.as_slice() {
            [] => Text::fixed(self.nothing_tried()),
            [one] => said(*one),
            [first, second] => said(*first).then(&said(*second)),
            [.., last] => {
                let ways = u64::try_from(ran.len()).unwrap_or(u64::MAX);
                ways_tried(ways).then(&said(*last))
            }
        }
    }

    /// A true sentence when no rung ran.
    fn nothing_tried(&self) -> &'static str {
        match self.story.outcome {
            Outcome::Recovered => "I checked the step again.",
            Outcome::FixedByPerson => "I waited for you and ran the step again.",
            Outcome::CouldNotVerify => "I stopped there and kept what I have.",
            _ => "I stopped there and saved your place.",
        }
    }

    fn worked(&self, gaps: &mut Vec<Gap>) -> Text {
        let row = self.story.row;
        let lead = match &self.story.outcome {
            Outcome::Recovered => {
                let variant = self.story.variant.as_deref().and_then(|v| variants::find(row.id, v));
                let healed = variant.map_or(row.texts.healed, |v| v.healed);
                Text::fixed("Yes.").then(&self.fill(
                    Part::Worked,
                    healed,
                    "The step works again.",
                    gaps,
                ))
            }
            Outcome::FixedByPerson => Text::fixed("Yes. The step went on after your help."),
            Outcome::Escalated if self.story.place.step.is_some() => {
                Text::fixed("No. This step is paused.")
            }
            Outcome::Escalated => Text::fixed("No. I stopped there."),
            Outcome::Waiting => Text::fixed("Not yet."),
            Outcome::CouldNotVerify => Text::fixed("Not yet. The result could not be checked."),
            Outcome::TryLater => Text::fixed("Not yet. The trouble did not pass in time."),
            Outcome::Partly { left: None } => {
                Text::fixed("Partly. I left out what I could not do.")
            }
            Outcome::Partly { left: Some(items) } => {
                let slots = Slots::default().with(Slot::Items(items.clone()));
                fill("Partly. Still open: {items}.", &slots).unwrap_or_default()
            }
        };
        lead.then(&self.work())
    }

    fn work(&self) -> Text {
        match &self.story.work {
            Work::Safe => Text::fixed("No work is lost."),
            Work::Saved => Text::fixed("Your work is saved."),
            Work::WillRedo(step) => {
                let slots = Slots::default().with(Slot::Step(step.clone()));
                fill("I will redo only the step {step}.", &slots).unwrap_or_default()
            }
            Work::AtRisk(tool) => {
                let slots = Slots::default().with(Slot::Tool(*tool));
                fill("Unsaved changes in {tool} may be lost.", &slots).unwrap_or_default()
            }
        }
    }

    fn ask(&self, gaps: &mut Vec<Gap>) -> Text {
        let texts = &self.story.row.texts;
        let needs_person =
            matches!(self.story.outcome, Outcome::Escalated | Outcome::Waiting | Outcome::TryLater);
        let variant = self.story.variant.as_deref();
        let variant = variant.and_then(|v| variants::find(self.story.row.id, v));
        let action = variant.and_then(|v| v.ask).unwrap_or(texts.ask);
        let asks = !action.is_empty();
        let general = if self.slots.get("step").is_some() {
            "Check the step {step}"
        } else {
            self.of_tool(GENERAL_ASK)
        };
        match self.story.outcome {
            Outcome::Recovered | Outcome::FixedByPerson => Text::fixed(lists::NOTHING),
            _ if self.story.go_ahead => go_ahead_question(self.story.row.id, &self.slots),
            _ if asks => self.going_on(self.fill(Part::Ask, action, general, gaps)),
            Outcome::TryLater => Text::fixed("Run this board again in ten minutes."),
            _ if needs_person => {
                let ask = fill(general, &self.general_slots())
                    .unwrap_or_else(|_| Text::fixed("Check the computer"));
                ask.ended(lists::THEN_RETRY)
            }
            _ => Text::fixed(lists::NOTHING),
        }
    }

    /// Ends the action with what the decision promised.
    fn going_on(&self, ask: Text) -> Text {
        match self.story.resume {
            Resume::Retry => ask.ended(lists::THEN_RETRY),
            Resume::Watch(_) => ask.ended(".").then(&Text::fixed(lists::WATCHES)),
            Resume::Nothing => ask.ended("."),
        }
    }
}

fn ways_tried(ways: u64) -> Text {
    let count = Slots::default().with(Slot::Count(ways));
    fill("I tried {count:way|ways}.", &count).unwrap_or_default()
}

/// Said when nobody knows why.
/// Said of a failure whose own text can't be filled: with the tool's name, and without.
const GENERAL_WHAT: (&str, &str) =
    ("A step that uses {tool} did not work.", "A step of the flow did not work.");
/// Asked for where no step is named: with the tool's name, and without.
const GENERAL_ASK: (&str, &str) = ("Check {tool}", "Check the step that failed");
const UNKNOWN_WHY: &str = "I don't know yet why.";

#[cfg(test)]
#[path = "story_tests.rs"]
mod tests;
