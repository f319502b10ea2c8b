//! The finished message: five parts that can't be empty, where we are, and how it ended.
//!
//! **Invariant.** Nothing here is made from an error. A [`Text`] comes from a template that is
//! part of the program, with typed values in its slots.

use std::fmt;

use pcbflow_core::ids::Seq;

use crate::readability;

/// One of the five parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// What happened.
    What,
    /// Why.
    Why,
    /// What I tried.
    Tried,
    /// Did it work.
    Worked,
    /// What you need to do.
    Ask,
}

impl Part {
    /// All five, in their order.
    pub const ALL: [Part; 5] = [Part::What, Part::Why, Part::Tried, Part::Worked, Part::Ask];

    /// Heading of the part.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Part::What => "What happened",
            Part::Why => "Why",
            Part::Tried => "What I tried",
            Part::Worked => "Did it work",
            Part::Ask => "What you need to do",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}

/// How the story ended, as far as the rules of the message care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ending {
    /// Healed; nothing to do.
    Recovered,
    /// A person fixed it; nothing more to do.
    FixedByPerson,
    /// Not healed; one action.
    Escalated,
    /// Waiting for one action; the product watches for it.
    Waiting,
    /// Healed in part.
    Partly,
    /// It could not be checked, so nothing is known.
    CouldNotVerify,
    /// A passing fault did not pass in time.
    TryLater,
    /// No failure at all: a summary or a place.
    Note,
}

/// A text as shown, and the same text with its values replaced by plain words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    shown: String,
    literal: String,
    masked: String,
}

impl Text {
    /// A text without slots. Only words that are part of the program can come in this way.
    #[must_use]
    pub fn fixed(text: &'static str) -> Text {
        Text::new(text.to_owned(), text.to_owned())
    }

    pub(crate) fn new(shown: String, literal: String) -> Text {
        let masked = readability::masked(&literal);
        Text { shown, literal, masked }
    }

    /// The text as the person reads it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.shown
    }

    /// The text of the template, with a plain word in place of each slot's value.
    #[must_use]
    pub fn literal(&self) -> &str {
        &self.literal
    }

    /// The same with names, numbers and quoted words masked too, for rules that count words.
    #[must_use]
    pub fn masked(&self) -> &str {
        &self.masked
    }

    /// Number of words; the value of a slot counts as one.
    #[must_use]
    pub fn words(&self) -> usize {
        readability::word_count(&self.masked)
    }

    /// Whether nothing can be read in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shown.trim().is_empty()
    }

    /// Adds a whole sentence after a blank.
    #[must_use]
    pub fn then(mut self, next: &Text) -> Text {
        let pairs = [
            (&mut self.shown, &next.shown),
            (&mut self.literal, &next.literal),
            (&mut self.masked, &next.masked),
        ];
        for (mine, theirs) in pairs {
            if !mine.is_empty() && !theirs.is_empty() {
                mine.push(' ');
            }
            mine.push_str(theirs);
        }
        self
    }

    /// Adds the end of the sentence: a full stop, or how it goes on.
    #[must_use]
    pub(crate) fn ended(mut self, end: &'static str) -> Text {
        self.shown.push_str(end);
        self.literal.push_str(end);
        self.masked = readability::masked(&self.literal);
        self
    }

    /// The text after its first `bytes` bytes, which all three forms share.
    pub(crate) fn without_lead(&self, lead: &str) -> Text {
        let cut = |t: &String| t.strip_prefix(lead).unwrap_or(t).trim_start().to_owned();
        Text { shown: cut(&self.shown), literal: cut(&self.literal), masked: cut(&self.masked) }
    }

    /// The sentences, each a text of its own.
    pub(crate) fn sentences(&self) -> Vec<Text> {
        let own =
            |t: &str| readability::sentences(t).into_iter().map(str::to_owned).collect::<Vec<_>>();
        let (shown, literal) = (own(&self.shown), own(&self.literal));
        if shown.len() != literal.len() {
            return vec![self.clone()];
        }
        shown.into_iter().zip(literal).map(|(s, l)| Text::new(s, l)).collect()
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// Why five texts are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// A part says nothing.
    #[error("the part '{0}' is empty")]
    Empty(Part),
}

/// The five-part message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    place: Text,
    parts: [Text; 5],
    ending: Ending,
    count: u32,
    event: Option<Seq>,
}

impl Message {
    pub(crate) fn new(
        place: Text,
        parts: [Text; 5],
        ending: Ending,
        count: u32,
        event: Option<Seq>,
    ) -> Result<Message, MessageError> {
        for (part, text) in Part::ALL.iter().zip(&parts) {
            if text.is_empty() {
                return Err(MessageError::Empty(*part));
            }
        }
        Ok(Message { place, parts, ending, count, event })
    }

    /// A message of fixed words, for fixtures and tests. What is only known at run time has no
    /// way in here; it goes through a story.
    ///
    /// # Errors
    /// [`MessageError::Empty`] names an empty part.
    pub fn fixture(
        place: &'static str,
        parts: [&'static str; 5],
        ending: Ending,
    ) -> Result<Message, MessageError> {
        Message::new(Text::fixed(place), parts.map(Text::fixed), ending, 1, None)
    }

    /// Where we are: board, phase and step in plain words.
    #[must_use]
    pub fn place(&self) -> &Text {
        &self.place
    }

    /// One part.
    #[must_use]
    pub fn part(&self, part: Part) -> &Text {
        let [what, why, tried, worked, ask] = &self.parts;
        match part {
            Part::What => what,
            Part::Why => why,
            Part::Tried => tried,
            Part::Worked => worked,
            Part::Ask => ask,
        }
    }

    /// How it ended.
    #[must_use]
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// How often this happened in the run; one message stands for all of them.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The event that leads to the technical record.
    #[must_use]
    pub fn event(&self) -> Option<Seq> {
        self.event
    }

    /// All parts one after another.
    #[must_use]
    pub fn all(&self) -> Text {
        Part::ALL.iter().fold(Text::default(), |text, part| text.then(self.part(*part)))
    }
}
