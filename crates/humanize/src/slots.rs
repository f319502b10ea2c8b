//! The slots of a template: which value has which name, and how it is shown.
//!
//! The values clean or refuse what they are given ([`crate::values`]), so that a finished message
//! holds no path, control code, secret or program token.

use std::collections::BTreeMap;

use crate::values::first_chars;
pub use crate::values::{
    Board, Duration, Items, NAME_CHARS_MAX, NetName, PartRef, PhaseName, SlotError, StepName, Tool,
    times_word,
};

/// A value for one slot.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Slot {
    /// `{times}`
    Times(u64),
    /// `{count}`
    Count(u64),
    /// `{part}`
    Part(PartRef),
    /// `{parts}`
    Parts(Items),
    /// `{tool}`
    Tool(Tool),
    /// `{step}`
    Step(StepName),
    /// `{previous}`: the step before, without quotes.
    Previous(StepName),
    /// `{board}`
    Board(Board),
    /// `{phase}`
    Phase(PhaseName),
    /// `{net}`
    Net(NetName),
    /// `{items}`
    Items(Items),
    /// `{duration}`
    Duration(Duration),
}

/// Names of all slots.
pub const SLOT_NAMES: &[&str] = &[
    "times", "count", "part", "parts", "tool", "step", "previous", "board", "phase", "net",
    "items", "duration",
];

impl Slot {
    /// Reads a value for the slot of this name.
    ///
    /// # Errors
    /// [`SlotError`] when there is no such slot or the value does not fit it.
    pub fn read(name: &str, raw: &str) -> Result<Slot, SlotError> {
        let number = |slot| {
            raw.trim().parse::<u64>().map_err(|_| SlotError::Form { slot, form: "a number" })
        };
        Ok(match name {
            "times" => Slot::Times(number("times")?),
            "count" => Slot::Count(number("count")?),
            "part" => Slot::Part(PartRef::new(raw.trim())?),
            "parts" => {
                let list = Items::new(raw)?;
                for entry in list.entries() {
                    PartRef::new(entry)?;
                }
                Slot::Parts(list)
            }
            "tool" => Slot::Tool(Tool::find(raw)?),
            "step" => Slot::Step(StepName::new(raw)?),
            "previous" => Slot::Previous(StepName::new(raw)?),
            "board" => Slot::Board(Board::new(raw)?),
            "phase" => Slot::Phase(PhaseName::new(raw)?),
            "net" => Slot::Net(NetName::new(raw)?),
            "items" => Slot::Items(Items::new(raw)?),
            "duration" => Slot::Duration(Duration { ms: number("duration")? }),
            other => return Err(SlotError::NoSlot(first_chars(other, NAME_CHARS_MAX))),
        })
    }

    /// The name of its slot.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Slot::Times(_) => "times",
            Slot::Count(_) => "count",
            Slot::Part(_) => "part",
            Slot::Parts(_) => "parts",
            Slot::Tool(_) => "tool",
            Slot::Step(_) => "step",
            Slot::Previous(_) => "previous",
            Slot::Board(_) => "board",
            Slot::Phase(_) => "phase",
            Slot::Net(_) => "net",
            Slot::Items(_) => "items",
            Slot::Duration(_) => "duration",
        }
    }

    /// As shown, and the words that stand for it when words are counted.
    pub(crate) fn words(&self) -> (String, String) {
        let same = |text: String| (text.clone(), text);
        match self {
            Slot::Times(n) => (times_word(*n), times_word(2)),
            Slot::Count(n) => (n.to_string(), "two".to_owned()),
            Slot::Part(p) => (p.as_str().to_owned(), "part".to_owned()),
            Slot::Parts(list) => (list.shown(), "parts".to_owned()),
            Slot::Tool(t) => (t.as_str().to_owned(), t.masked().to_owned()),
            Slot::Step(s) => (format!("'{s}'"), "step".to_owned()),
            Slot::Previous(s) => (s.to_string(), "step".to_owned()),
            Slot::Board(b) => (b.to_string(), "board".to_owned()),
            Slot::Phase(p) => (p.as_str().to_owned(), "phase two".to_owned()),
            Slot::Net(n) => (n.as_str().to_owned(), "net".to_owned()),
            Slot::Items(list) => (list.shown(), "items".to_owned()),
            Slot::Duration(d) => same(d.shown()),
        }
    }

    /// Whether it may be written with a capital at the start of a sentence; names may not.
    pub(crate) fn is_prose(&self) -> bool {
        matches!(self, Slot::Times(_) | Slot::Tool(_) | Slot::Duration(_))
    }

    /// Whether the noun after it is in the singular.
    pub(crate) fn is_one(&self) -> bool {
        match self {
            Slot::Times(n) | Slot::Count(n) => *n == 1,
            Slot::Parts(list) | Slot::Items(list) => list.entries().len() == 1,
            _ => true,
        }
    }
}

/// The values that a story has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Slots {
    values: BTreeMap<&'static str, Slot>,
}

impl Slots {
    /// Adds or replaces a value.
    #[must_use]
    pub fn with(mut self, value: Slot) -> Slots {
        self.values.insert(value.name(), value);
        self
    }

    /// Adds a value unless its slot has one.
    #[must_use]
    pub(crate) fn or(mut self, value: Slot) -> Slots {
        self.values.entry(value.name()).or_insert(value);
        self
    }

    /// Reads the slots that evidence carries. What does not fit is left out and returned: the
    /// text then says less, never something unreadable. Names without a slot are passed over.
    #[must_use]
    pub fn from_evidence(raw: &BTreeMap<String, String>) -> (Slots, Vec<SlotError>) {
        let mut slots = Slots::default();
        let mut refused = Vec::new();
        for (name, value) in raw {
            match Slot::read(name, value) {
                Ok(slot) => slots = slots.with(slot),
                Err(SlotError::NoSlot(_)) => {}
                Err(error) => refused.push(error),
            }
        }
        (slots, refused)
    }

    /// The value of a slot.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Slot> {
        self.values.get(name)
    }
}

#[cfg(test)]
#[path = "slots_tests.rs"]
mod tests;
