//! Custom design rules (`.kicad_dru`): are they in force?
//!
//! One wrong bracket, one misspelt word or one unknown layer switches off *every* custom rule, and neither KiCad 9 nor
//! 10 says so on the command line. Two answers, which complete each other: [`lint`] reads the file as KiCad does and
//! names the line; [`with_canary`] adds a rule that must fire, so that a report without it proves that the rules were
//! not read.

mod canary;
mod lint;
mod names;
mod properties;
#[cfg(test)]
mod tests;
mod words;

pub use canary::{Canary, CanaryTarget, MAX_RULE_PROBES, Planted, with_canary};
pub use lint::{MAX_FAULTS, MAX_RULES_BYTES, RuleFault, RuleProblem, RuleSet, lint};
pub use names::{MAX_NAMES, Named, NamedThing, absent};
pub use properties::{MAX_PROPERTIES_ASKED, OddProperty};
pub use words::{CONSTRAINTS, FUNCTIONS};
