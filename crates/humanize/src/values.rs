//! The types of values that may stand in a message. Each cleans or refuses what it is given.
//!
//! Names that the person gave (board, phase, step) are shown as given, cleaned and cut. Values
//! that come from tools (parts, nets, items) must have a strict form.

use std::fmt;

use pcbflow_core::text::one_line;

use crate::lists::{TOOLS, ToolName};
use crate::patterns;
use crate::rubric::Rule;

/// Longest name of a board, phase or step in a message, in characters.
pub const NAME_CHARS_MAX: usize = 40;
/// Longest name of a net in a message, in characters.
pub const NET_CHARS_MAX: usize = 32;
/// Longest entry of a list in a message, in characters.
pub const ITEM_CHARS_MAX: usize = 32;
/// Most entries of a list that are named; the rest becomes a number.
pub const ITEMS_NAMED_MAX: usize = 3;
/// Most characters of a raw value that are looked at.
const RAW_CHARS_MAX: usize = 400;
/// Most entries of a raw list that are counted.
const ITEMS_MAX: usize = 10_000;

/// Why a value does not fit a slot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SlotError {
    /// Nothing readable is left of it.
    #[error("the value for {slot} is empty")]
    Empty {
        /// The slot.
        slot: &'static str,
    },
    /// It does not have the form of the slot.
    #[error("the value for {slot} is not {form}")]
    Form {
        /// The slot.
        slot: &'static str,
        /// The wanted form, in words.
        form: &'static str,
    },
    /// It holds something that a person should never read.
    #[error("the value for {slot} holds {what}")]
    Unfit {
        /// The slot.
        slot: &'static str,
        /// What it holds.
        what: String,
    },
    /// No slot has this name.
    #[error("there is no slot {0:?}")]
    NoSlot(String),
}

pub(crate) fn first_chars(text: &str, chars_max: usize) -> String {
    text.chars().take(chars_max).collect()
}

/// Signs of programs, and characters that nobody sees: zero width, byte order, tags, private use.
fn is_unfit(c: char) -> bool {
    matches!(c, '{' | '}' | '<' | '>' | '`' | '"' | '~' | '@' | '=' | '|' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..='\u{10ffff}')
}

/// One line, without path, quotes and braces, cut with a mark.
fn clean_name(raw: &str, chars_max: usize) -> String {
    let line = one_line(&first_chars(raw, RAW_CHARS_MAX));
    let last = line.rsplit(['/', '\\']).find(|p| !p.trim().is_empty()).unwrap_or("").trim();
    let mut kept = String::new();
    let mut chars = last.chars().filter(|c| !is_unfit(*c)).peekable();
    while let Some(c) = chars.next() {
        let ends = !chars.peek().is_some_and(|next| next.is_alphanumeric());
        match c {
            '\'' | '\u{2018}' => kept.push('\u{2019}'),
            // A sentence may not end inside a name.
            '.' | '!' | '?' if ends => kept.push(' '),
            other => kept.push(other),
        }
    }
    let kept = kept.split_whitespace().collect::<Vec<_>>().join(" ");
    if kept.chars().count() <= chars_max {
        return kept;
    }
    let cut = first_chars(&kept, chars_max - 1);
    format!("{}\u{2026}", cut.trim_end())
}

fn readable(slot: &'static str, text: String) -> Result<String, SlotError> {
    if !text.chars().any(char::is_alphanumeric) {
        return Err(SlotError::Empty { slot });
    }
    // Secrets and control codes may stand in no value, whoever gave it.
    let unfit = patterns::on_shown(&text).next();
    match unfit {
        Some((_, what)) => Err(SlotError::Unfit { slot, what }),
        None => Ok(text),
    }
}

macro_rules! name_slot {
    ($(#[$doc:meta])* $name:ident, $slot:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Cleans and cuts a name that the person gave.
            ///
            /// # Errors
            /// [`SlotError`] when nothing readable is left, or a secret is in it.
            pub fn new(raw: &str) -> Result<Self, SlotError> {
                readable($slot, clean_name(raw, NAME_CHARS_MAX)).map(Self)
            }

            /// The name as shown.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name_slot!(
    /// Name of a board.
    Board, "board"
);
name_slot!(
    /// Name of a step, as it stands in the project file.
    StepName, "step"
);

/// A phase, shown as "Phase 6" or by its name when it has no number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhaseName(String);

impl PhaseName {
    /// Reads an id such as `06-schematic`.
    ///
    /// # Errors
    /// [`SlotError`] when nothing readable is left.
    pub fn new(raw: &str) -> Result<Self, SlotError> {
        let name = readable("phase", clean_name(raw, NAME_CHARS_MAX))?;
        let digits: String = name.chars().take_while(char::is_ascii_digit).collect();
        let shown = match digits.parse::<u16>() {
            Ok(number) => format!("Phase {number}"),
            Err(_) => format!("phase '{name}'"),
        };
        Ok(PhaseName(shown))
    }

    /// The phase as shown.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A tool or place of the closed list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tool(&'static ToolName);

impl Tool {
    /// Finds a tool by its name, another name, or its program.
    ///
    /// # Errors
    /// [`SlotError::Form`] when the closed list has no such tool.
    pub fn find(raw: &str) -> Result<Tool, SlotError> {
        let line = one_line(&first_chars(raw, RAW_CHARS_MAX)).to_lowercase();
        let program = line.rsplit(['/', '\\']).next().unwrap_or("");
        let program = program.strip_suffix(".exe").unwrap_or(program);
        TOOLS
            .iter()
            .find(|t| {
                [line.as_str(), program]
                    .iter()
                    .any(|w| t.name.to_lowercase() == *w || t.also.contains(w))
            })
            .map(Tool)
            .ok_or(SlotError::Form { slot: "tool", form: "a tool or place of the closed list" })
    }

    /// The name as shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.0.name
    }

    /// Whether it is a place such as the project folder, which nobody can install or open.
    #[must_use]
    pub fn is_place(self) -> bool {
        self.0.place
    }

    /// A plain word for the name of a product.
    pub(crate) fn masked(self) -> &'static str {
        if self.0.name.starts_with("the ") { self.0.name } else { "tool" }
    }
}

/// Reference of a part such as `R12`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartRef(String);

impl PartRef {
    /// Most letters and most digits of a reference.
    const SIDE_CHARS_MAX: usize = 6;

    /// Checks the form: letters, then digits, perhaps one more letter.
    ///
    /// # Errors
    /// [`SlotError::Form`] when it has another form.
    pub fn new(raw: &str) -> Result<PartRef, SlotError> {
        let letters = raw.chars().take_while(char::is_ascii_alphabetic).count();
        let rest = raw.get(letters..).unwrap_or("");
        let digits = rest.chars().take_while(char::is_ascii_digit).count();
        let tail = rest.get(digits..).unwrap_or("?");
        let fits = (1..=Self::SIDE_CHARS_MAX).contains(&letters)
            && (1..=Self::SIDE_CHARS_MAX).contains(&digits)
            && (tail.is_empty()
                || (tail.len() == 1 && tail.chars().all(|c| c.is_ascii_alphabetic())));
        if fits {
            Ok(PartRef(raw.to_owned()))
        } else {
            Err(SlotError::Form { slot: "part", form: "letters and digits, such as R12" })
        }
    }

    /// The reference as shown.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Name of a net.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetName(String);

impl NetName {
    /// Strips control codes and sheet names, and cuts.
    ///
    /// # Errors
    /// [`SlotError`] when it has a sign that no net has.
    pub fn new(raw: &str) -> Result<NetName, SlotError> {
        let name = readable("net", clean_name(raw, NET_CHARS_MAX))?;
        let fits = |c: char| c.is_alphanumeric() || "_+-()#$*:\u{2026}".contains(c);
        if name.chars().all(fits) {
            Ok(NetName(name))
        } else {
            Err(SlotError::Form { slot: "net", form: "the name of a net" })
        }
    }

    /// The name as shown.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A list of short names that a tool gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Items(Vec<String>);

impl Items {
    /// Takes entries apart at commas and line ends, cleans each and drops none.
    ///
    /// # Errors
    /// [`SlotError`] when an entry holds what a person should never read, or none is left.
    pub fn new(raw: &str) -> Result<Items, SlotError> {
        Items::of(raw.split([',', '\n', ';']))
    }

    /// The same from separate entries.
    ///
    /// # Errors
    /// As [`Items::new`].
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Items, SlotError> {
        let mut kept = Vec::new();
        for entry in entries.into_iter().filter(|e| !e.trim().is_empty()).take(ITEMS_MAX) {
            let name = readable("items", clean_name(entry, ITEM_CHARS_MAX))?;
            let seen = first_chars(entry, RAW_CHARS_MAX);
            let spoken = patterns::on_words(&seen).find(|(rule, what)| {
                matches!(rule, Rule::R02 | Rule::R03 | Rule::R04 | Rule::R05)
                    && !what.contains("_case")
            });
            if let Some((_, what)) = spoken {
                return Err(SlotError::Unfit { slot: "items", what });
            }
            kept.push(name);
        }
        if kept.is_empty() { Err(SlotError::Empty { slot: "items" }) } else { Ok(Items(kept)) }
    }

    /// The cleaned entries.
    #[must_use]
    pub fn entries(&self) -> &[String] {
        &self.0
    }

    pub(crate) fn shown(&self) -> String {
        let named =
            if self.0.len() == ITEMS_NAMED_MAX + 1 { ITEMS_NAMED_MAX - 1 } else { ITEMS_NAMED_MAX };
        let rest = self.0.len().saturating_sub(named);
        let first: Vec<&str> = self.0.iter().take(named).map(String::as_str).collect();
        match (rest, first.split_last()) {
            (0, Some((last, []))) => (*last).to_owned(),
            (0, Some((last, before))) => format!("{} and {last}", before.join(", ")),
            (rest, _) => format!("{} and {rest} more", first.join(", ")),
        }
    }
}

/// A span of time, shown with one unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration {
    /// Its length in milliseconds.
    pub ms: u64,
}

impl Duration {
    pub(crate) fn shown(self) -> String {
        const SECOND: u64 = 1_000;
        const MINUTE: u64 = 60 * SECOND;
        const HOUR: u64 = 60 * MINUTE;
        let some = |n: u64, unit: &str| format!("{n} {unit}{}", if n == 1 { "" } else { "s" });
        match self.ms {
            ms if ms < SECOND => "less than a second".to_owned(),
            ms if ms < 2 * MINUTE => some(ms / SECOND, "second"),
            ms if ms < 2 * HOUR => some(ms / MINUTE, "minute"),
            ms => some(ms / HOUR, "hour"),
        }
    }
}

/// "once", "twice", "3 times".
#[must_use]
pub fn times_word(times: u64) -> String {
    match times {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{n} times"),
    }
}
