//! A message as five lines, as one or two lines, as a mirror line, as whole sentences, and as the
//! fields of JSON. Plain text only: colour is added by whoever prints.

use crate::lists;
use crate::message::{Ending, Message, Part, Text};
use crate::readability::word_count;
use crate::rubric::{SHORT_WORDS_MAX, lead_of};
use crate::slots::{Slot, Slots};
use crate::template::fill;

/// Columns of a terminal line when nothing else is known.
pub const COLUMNS: usize = 80;

/// The five parts as strings, for the `human` object of JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Human {
    /// What happened.
    pub what: String,
    /// Why.
    pub why: String,
    /// What I tried.
    pub tried: String,
    /// Did it work.
    pub worked: String,
    /// What you need to do.
    pub ask: String,
}

/// The five parts as strings.
#[must_use]
pub fn human(message: &Message) -> Human {
    let part = |p| message.part(p).as_str().to_owned();
    Human {
        what: part(Part::What),
        why: part(Part::Why),
        tried: part(Part::Tried),
        worked: part(Part::Worked),
        ask: part(Part::Ask),
    }
}

/// The heading: where we are, and how often it happened.
#[must_use]
pub fn heading(message: &Message) -> String {
    match message.count() {
        0 | 1 => message.place().as_str().to_owned(),
        n => format!("{} ({n} times in this run)", message.place()),
    }
}

/// Heading and five parts, each with its title, wrapped to `columns`.
#[must_use]
pub fn five_lines(message: &Message, columns: usize) -> String {
    let indent = Part::ALL.iter().map(|p| p.title().chars().count()).max().unwrap_or(0) + 2;
    let mut out = String::new();
    let head = heading(message);
    if !head.is_empty() {
        out.push_str(&head);
        out.push('\n');
    }
    for part in Part::ALL {
        let width = columns.saturating_sub(indent + 2).max(20);
        for (at, line) in wrap(message.part(part).as_str(), width).iter().enumerate() {
            let title = if at == 0 { part.title() } else { "" };
            out.push_str(format!("  {title:<indent$}{line}").trim_end());
            out.push('\n');
        }
    }
    out
}

/// Whole sentences without columns, for screen readers and for logs that are read aloud.
#[must_use]
pub fn narrated(message: &Message) -> String {
    let mut out = String::new();
    let head = heading(message);
    if !head.is_empty() {
        out.push_str(&format!("Place: {head}.\n"));
    }
    for part in Part::ALL {
        out.push_str(&format!("{}: {}\n", part.title(), message.part(part)));
    }
    out
}

/// One or two lines: what happened, what became of it, and the one action, as far as there is
/// room for it.
#[must_use]
pub fn short(message: &Message) -> Text {
    let what = message.part(Part::What);
    let ask = message.part(Part::Ask);
    let ask =
        if ask.as_str() == lists::NOTHING { Text::fixed(lists::NO_ACTION) } else { ask.clone() };
    let mut best = what.clone().then(&ask);
    let middle = middle(message);
    for take in 1..=middle.len() {
        let inner = middle.iter().take(take).fold(Text::default(), |text, s| text.then(s));
        let candidate = what.clone().then(&inner).then(&ask);
        if word_count(candidate.masked()) <= SHORT_WORDS_MAX {
            best = candidate;
        }
    }
    best
}

/// The sentences between what happened and the action: the result, lead word left out.
fn middle(message: &Message) -> Vec<Text> {
    let worked = message.part(Part::Worked);
    let lead = lead_of(worked.as_str()).unwrap_or("");
    let rest = worked.without_lead(lead);
    if rest.is_empty() { Vec::new() } else { rest.sentences() }
}

/// The body of a mirror line: what happened and what became of it, on one line, no action.
#[must_use]
pub fn mirror(message: &Message) -> Text {
    let what = message.part(Part::What);
    let first = middle(message).into_iter().next().filter(|m| !m.is_empty());
    let end = match message.ending() {
        Ending::Escalated | Ending::Waiting => Text::fixed("You are needed."),
        Ending::TryLater => Text::fixed("It needs another try later."),
        _ => first.unwrap_or_else(|| Text::fixed("It is settled.")),
    };
    let line = what.clone().then(&end);
    if message.count() < 2 {
        return line;
    }
    let slots = Slots::default().with(Slot::Times(u64::from(message.count())));
    let repeats = fill("It happened {times}.", &slots).unwrap_or_default();
    let longer = line.clone().then(&repeats);
    if word_count(longer.masked()) <= SHORT_WORDS_MAX { longer } else { line }
}

/// Breaks a text into lines of at most `width` characters, at blanks only.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let longer = line.chars().count() + 1 + word.chars().count();
        if !line.is_empty() && longer > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
