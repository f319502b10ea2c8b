//! Tells a person what happened, in five plain sentences.
//!
//! [`story::Story`] takes facts (a failure row, the rungs that ran, what became of the work) and
//! gives a [`message::Message`]: what happened, why, what I tried, did it work, what you need to
//! do. [`render`] writes it for terminals, logs, screen readers and JSON. [`rubric`] holds the
//! texts against the rules, [`lint_row`] does so for a whole failure row, [`lint_family`] for the rows of a crate.
//!
//! **Invariants.** No message is made from an error: texts are `&'static` templates, values are
//! typed slots that refuse paths, control codes and secrets. The same story gives the same bytes.
//! No clock, no input or output, no colours.

pub mod family;
pub mod lint;
pub mod lists;
pub mod message;
pub mod notice;
mod patterns;
pub mod readability;
pub mod render;
pub mod rubric;
#[cfg(test)]
mod samples;
pub mod slots;
pub mod story;
pub mod template;
pub mod values;
pub mod variants;
pub mod words;

pub use family::{lint_codes, lint_family, lint_matchers};
pub use lint::lint_row;
pub use message::{Ending, Message, Part, Text};
pub use rubric::{Fault, Form, Rule, check_message, check_short};
pub use story::{Outcome, Place, Story, Try, TryResult, Work};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
