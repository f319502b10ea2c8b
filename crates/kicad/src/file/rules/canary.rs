//! A rule that must fire, planted in a private copy.
//!
//! An `assertion` that is false for one named item of the board, with a severity of its own. Measured with kicad-cli
//! 9.0.8 and 10.0.6 on the hand-made pairs, on StickHub, and on both without tracks, without vias, without footprints:
//!
//! * It fires once, as `assertion_failure` with the description "Assertion failure (rule 'pcbflow-canary')"; the name
//!   stays in every language.
//! * It can't be overridden: of other constraints the last rule that fits wins, assertions are all carried out. Rules of
//!   the board that follow it, with the same condition or none, with `(severity ignore)`, change nothing.
//! * The project can't silence it: it fires as an error even where `rule_severities` has `assertion_failure` as `ignore`
//!   or `warning`, because the severity stands in the rule.
//! * Without a condition it would fire on every item (27 on the smallest pair) up to the cap of 199 and so hide
//!   assertions of the board; hence the named item.
//! * It does *not* fire if anything in the file is refused: brackets, words, layers, units.
//! * An unknown function or property in a condition stops all rules in 10. In 9 the canary still fires: `A.nope()` stops
//!   its own rule, `A.nope('x')` and an unknown property are taken for values that never fit. So each rule gets a probe:
//!   its condition, inside one that must hold. Probes of such rules stay silent in 10 and, for the first kind, in 9; the
//!   second kind is left to [`lint`](super::lint), the third is asked of items of the board.
//! * Other constraints are worse: in 9 the description of `track_width` does not name its rule.

use super::lint::{MAX_RULES_BYTES, lint};
use crate::file::board::{Board, Footprint};
use crate::file::units::Place;
use crate::sexpr::{Document, Node, quote};

/// Most probes besides the canary itself. Each is one finding, and KiCad lists at most 199 of one type; with more rules
/// than this, several share a probe.
pub const MAX_RULE_PROBES: usize = 60;

/// Name of the canary, and beginning of the names of its probes.
const NAME: &str = "pcbflow-canary";

/// What must be true of a footprint's reference so that a condition can name it: KiCad compares without regard to case
/// and takes `*` and `?` for patterns.
fn is_nameable(reference: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.';
    !reference.is_empty() && reference.chars().all(plain)
}

/// The item of a board that the canary speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CanaryTarget {
    /// The one footprint with this reference.
    Footprint {
        /// Its reference.
        reference: String,
    },
    /// Tracks that begin here; most often one.
    Track {
        /// Where they begin.
        start: Place,
    },
    /// Everything on `Edge.Cuts`.
    Outline,
    /// Every item there is.
    Anything,
}

impl CanaryTarget {
    /// The best target on a board; `None` if the board is empty, so that nothing can fire.
    #[must_use]
    pub fn for_board(board: &Board) -> Option<Self> {
        if let Some(footprint) = named_footprint(&board.footprints) {
            return Some(CanaryTarget::Footprint { reference: footprint.reference.clone() });
        }
        match board.first_track {
            Some(start) => Some(CanaryTarget::Track { start }),
            None if board.has_outline() => Some(CanaryTarget::Outline),
            None if board.is_empty() => None,
            None => Some(CanaryTarget::Anything),
        }
    }

    /// The condition that picks the item, and a part of it that is true by itself.
    pub(super) fn condition(&self) -> Option<String> {
        Some(match self {
            CanaryTarget::Footprint { reference } => {
                format!("A.Type == 'Footprint' && A.Reference == '{reference}'")
            }
            CanaryTarget::Track { start } => {
                let (x, y) = (start.x.to_mm(), start.y.to_mm());
                format!("A.Type == 'Track' && A.Start_X == {x}mm && A.Start_Y == {y}mm")
            }
            CanaryTarget::Outline => "A.Layer == 'Edge.Cuts'".to_owned(),
            CanaryTarget::Anything => return None,
        })
    }

    /// What is true of the item, or `None` if it may be several, so that probes would flood.
    fn truth(&self) -> Option<&'static str> {
        match self {
            CanaryTarget::Footprint { .. } => Some("A.Type == 'Footprint'"),
            CanaryTarget::Track { .. } => Some("A.Type == 'Track'"),
            _ => None,
        }
    }
}

/// The first footprint whose reference is plain and, without regard to case, its own.
fn named_footprint(footprints: &[Footprint]) -> Option<&Footprint> {
    let mut counts = std::collections::BTreeMap::new();
    for footprint in footprints {
        *counts.entry(footprint.reference.to_ascii_uppercase()).or_insert(0_usize) += 1;
    }
    let alone = |f: &&Footprint| counts.get(&f.reference.to_ascii_uppercase()) == Some(&1);
    footprints.iter().filter(|f| is_nameable(&f.reference)).find(alone)
}

/// One planted rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planted {
    /// Its name, as it stands in the finding's description.
    pub name: String,
    /// Rules of the board whose conditions it tries, with their lines; empty for the canary itself.
    pub tries: Vec<(String, u32)>,
}

/// Rules with a canary in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canary {
    /// The whole text of the private `.kicad_dru`: the board's own bytes, then the planted rules.
    pub text: Vec<u8>,
    /// All planted rules, the canary first. Each must appear in the report.
    pub planted: Vec<Planted>,
    /// Rules that fire when KiCad knows a property, each with its name.
    pub(super) asked: Vec<Planted>,
    prefix: String,
}

impl Canary {
    /// The planted rule that a finding comes from, by its type and description; `None` for a finding of the board's own,
    /// which counts.
    #[must_use]
    pub fn rule_of<'t>(&self, finding_type: &str, description: &'t str) -> Option<&'t str> {
        if finding_type != "assertion_failure" {
            return None;
        }
        let at = description.find(&format!("'{}", self.prefix))?;
        description[at + 1..].split('\'').next()
    }

    /// Planted rules that did not fire, given the names that did. If the first is among them, the rules file was not
    /// read at all; others name rules that are not in force.
    pub fn silent<'a>(&'a self, fired: &'a [&str]) -> impl Iterator<Item = &'a Planted> {
        self.planted.iter().filter(|planted| !fired.contains(&planted.name.as_str()))
    }
}

/// Adds a canary to the rules of a board. `own` is the content of its `.kicad_dru`, `None` or blank if it has none; its
/// bytes are kept. Where the own text is too damaged to be read, only the canary itself is added, and will not fire.
#[must_use]
pub fn with_canary(own: Option<&[u8]>, target: &CanaryTarget) -> Canary {
    let own = own.unwrap_or_default();
    let prefix = free_name(own);
    let mut planted = vec![Planted { name: prefix.clone(), tries: Vec::new() }];
    let mut text = own.to_vec();
    let blank = own.len() <= MAX_RULES_BYTES && {
        let set = lint(own, u32::MAX, &[]);
        set.is_sound() && set.rules.is_empty() && !own.windows(8).any(|w| w == b"(version")
    };
    // The line break ends a comment that the own text may end with.
    text.extend_from_slice(if blank { b"\n(version 1)\n" } else { b"\n" });
    text.extend_from_slice(rule(&prefix, target.condition().as_deref()).as_bytes());
    if let (Some(truth), Some(picks)) = (target.truth(), target.condition()) {
        let tried = expressions(own);
        let share = tried.len().div_ceil(MAX_RULE_PROBES).max(1);
        for (number, group) in tried.chunks(share).enumerate() {
            let name = format!("{prefix}-{}", number + 1);
            let all: Vec<String> = group.iter().map(|(text, _)| format!("({text})")).collect();
            let condition = format!("{picks} && ({} || {truth})", all.join(" || "));
            text.extend_from_slice(rule(&name, Some(&condition)).as_bytes());
            planted.push(Planted {
                name,
                tries: group.iter().map(|(_, rule)| rule.clone()).collect(),
            });
        }
    }
    Canary { text, planted, asked: Vec::new(), prefix }
}

pub(super) fn rule(name: &str, condition: Option<&str>) -> String {
    let condition =
        condition.map(|text| format!("\n  (condition {})", quote(text))).unwrap_or_default();
    format!(
        "(rule \"{name}\"\n  (severity error){condition}\n  (constraint assertion \"A.Type == 'pcbflow'\"))\n"
    )
}

/// A name that nothing in the board's own rules begins with.
fn free_name(own: &[u8]) -> String {
    let mut name = NAME.to_owned();
    // Ends: each turn makes the name longer, and no text holds a name longer than itself.
    while own.windows(name.len()).any(|w| w == name.as_bytes()) {
        name.push('x');
    }
    name
}

/// Conditions and assertions of the own rules, each with the name and line of its rule.
fn expressions(own: &[u8]) -> Vec<(String, (String, u32))> {
    if own.len() > MAX_RULES_BYTES {
        return Vec::new();
    }
    let Ok(doc) = Document::parse(own.to_vec()) else { return Vec::new() };
    let mut found = Vec::new();
    for rule in doc.top().filter(|node| node.head() == b"rule") {
        let name = rule.atom(1).map(Node::text).unwrap_or_default();
        let conditions = rule.children_named("condition").filter_map(|node| node.atom(1));
        let is_assertion =
            |node: &Node<'_>| node.atom(1).is_some_and(|kind| kind.bytes() == b"assertion");
        let assertions =
            rule.children_named("constraint").filter(is_assertion).filter_map(|node| node.atom(2));
        for node in conditions.chain(assertions) {
            // Bytes that are no UTF-8 can't be repeated faithfully; blank conditions say nothing.
            let text = String::from_utf8(node.value().into_owned()).unwrap_or_default();
            if !text.trim().is_empty() {
                found.push((text, (name.clone(), rule.line())));
            }
        }
    }
    found
}
