//! Tests of the rows: that the table folds, that each matcher leads to its own row and no other,
//! that look-alikes do not, and that the texts keep the rules.

mod look_alikes;
mod rows;
mod typed;

use pcbflow_core::catalogue::Catalogue;
use pcbflow_core::evidence::{Evidence, Matcher, Pattern, Signal, Source};
use pcbflow_core::row::{
    Available, BUDGET, Notify, Recheck, Recipe, RecipeKind, Resume, Row, Rung, Severity, Texts,
};

/// The home of unknown failures, without which no table folds.
const UNKNOWN: Row = Row {
    id: "SC-1",
    title: "unknown",
    severity: Severity::S2,
    matchers: &[Matcher::new(&[Pattern::own("test.no_rule_fits")])],
    not_this: "anything with a rule",
    ladder: &[Rung::ask()],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck { what: "the step's own check", probe: None },
    texts: Texts {
        what: "A step stopped.",
        why: None,
        healed: "The step passed.",
        ask: "Check the step",
        resume: Resume::Retry,
        ask_kind: "retry",
        tool: "the step's own tool",
    },
    recipe: Recipe { kind: RecipeKind::Real, how: "a failing command" },
    available: Available::Now,
    passing: false,
};

fn catalogue() -> Catalogue {
    let rows = crate::ROWS.iter().copied().chain([UNKNOWN]);
    Catalogue::fold(rows, Vec::new()).unwrap()
}

fn seen(layer: &str, signals: &[Signal]) -> Evidence {
    let mut evidence = Evidence::new(layer, "");
    for signal in signals {
        evidence.push(signal.clone());
    }
    evidence
}

/// Class of these signals, seen while an agent was driven.
fn class_of(signals: &[Signal]) -> String {
    catalogue().diagnose(&seen("agents/repair", signals)).class.to_string()
}

/// Class of loose words that a person pasted.
fn class_of_words(words: &str) -> String {
    catalogue().diagnose(&seen("", &[Signal::words("message", words)])).class.to_string()
}

fn own(code: &str) -> Signal {
    Signal::new(Source::Own, code)
}
fn report(code: &str) -> Signal {
    Signal::new(Source::Report, code)
}
fn deadline() -> Signal {
    own("deadline_passed").number(1_500_000)
}
