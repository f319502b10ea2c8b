//! Does KiCad know a property that a rule names?
//!
//! A condition with a property that does not exist is false for every item, without a word: its rule is dead. In 10 it stops
//! all rules, so the probes of [`with_canary`](super::with_canary) stay silent. In 9 only an item that has the property can
//! tell: `A.P == A.P` holds for it, and for no item when there is no such property. So each property that is not among those
//! measured is asked of one item of each kind on the board, with an assertion that fails; one answer proves it.
//!
//! Each selector needs brackets of its own: `a && b || c && d` is never true in 9.0.8 (measured).

use super::canary::{Canary, CanaryTarget, Planted, rule};
use crate::file::board::Board;

/// Most properties that are asked about in one run; others are left to the list of those measured.
pub const MAX_PROPERTIES_ASKED: usize = 10;
/// Most zones of a board that are all asked, since a zone can't be picked by its place. Each answer is a finding, and KiCad
/// lists at most 199 of one type: ten properties, four items and eight zones are 120, beside 61 planted rules.
const ZONES_ASKED_MAX: usize = 8;

/// A property that a condition names and that is not among those measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OddProperty {
    /// Its name, as written.
    pub name: String,
    /// Line of the condition, from 1.
    pub line: u32,
    /// Name of the rule.
    pub rule: String,
}

impl Canary {
    /// Adds a rule for each property, which fires when an item of the board has it.
    pub fn ask(&mut self, odd: &[OddProperty], target: &CanaryTarget, board: &Board) {
        let items = witnesses(target, board);
        if items.is_empty() {
            return;
        }
        let items: Vec<String> = items.into_iter().map(|item| format!("({item})")).collect();
        for (number, property) in odd.iter().take(MAX_PROPERTIES_ASKED).enumerate() {
            let (prefix, name) = (&self.planted[0].name, &property.name);
            let asked = format!("{prefix}-property-{}", number + 1);
            let condition = format!("({}) && A.{name} == A.{name}", items.join(" || "));
            self.text.extend_from_slice(rule(&asked, Some(&condition)).as_bytes());
            self.asked.push(Planted { name: asked, tries: vec![(name.clone(), property.line)] });
        }
    }

    /// Whether one of the items had the property, given the names of the rules that fired.
    #[must_use]
    pub fn answered(&self, property: &str, fired: &[&str]) -> bool {
        let about = |asked: &&Planted| asked.tries.iter().any(|(name, _)| name == property);
        self.asked.iter().filter(about).any(|asked| fired.contains(&asked.name.as_str()))
    }
}

/// Conditions that each pick one item, or few.
fn witnesses(target: &CanaryTarget, board: &Board) -> Vec<String> {
    let mut items = Vec::new();
    if let (CanaryTarget::Footprint { reference }, Some(picks)) = (target, target.condition()) {
        items.push(picks);
        let footprint = board.footprints.iter().find(|f| f.reference == *reference);
        let plain = |c: char| c.is_ascii_alphanumeric();
        let number = footprint
            .into_iter()
            .flat_map(|f| f.pads.iter().map(|p| p.number.as_str()))
            .find(|n| !n.is_empty() && n.chars().all(plain));
        items.extend(number.map(|n| {
            format!("A.Type == 'Pad' && A.Parent == '{reference}' && A.Pad_Number == '{n}'")
        }));
    }
    items.extend(board.first_track.and_then(|start| CanaryTarget::Track { start }.condition()));
    items.extend(board.vias.first().map(|via| {
        let (x, y) = (via.place.x.to_mm(), via.place.y.to_mm());
        format!("A.Type == 'Via' && A.Position_X == {x}mm && A.Position_Y == {y}mm")
    }));
    if (1..=ZONES_ASKED_MAX).contains(&board.zones.len()) {
        items.push("A.Type == 'Zone'".to_owned());
    }
    items
}
