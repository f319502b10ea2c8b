//! Entries of a report as findings with ids that stay the same from run to run.

use std::collections::BTreeMap;

use pcbflow_core::check::{Finding, FindingItem, FindingSeverity};
use pcbflow_core::ids::Digest;
use pcbflow_core::text::{cut_bytes, without_control};

use super::{Entry, Item};

/// Longest message or item text of a finding, in bytes.
const TEXT_BYTES_MAX: usize = 2_000;
/// Hex digits of an id.
const ID_DIGITS: usize = 16;
/// Where the names of parts and nets come from.
pub trait Names {
    /// Part and net of the object, `None` if the file has no such id.
    fn of(&self, item: &Item) -> Option<super::index::Known>;
    /// Factor on the report's positions; `None` when they can't be trusted.
    fn factor(&self) -> Option<i64> {
        Some(1)
    }
}

impl Names for super::index::BoardIndex {
    fn of(&self, item: &Item) -> Option<super::index::Known> {
        self.get(&item.uuid.to_lowercase()).cloned()
    }
}

/// Findings listed apart: they depend on the libraries of the machine.
#[must_use]
pub fn is_apart(kind: &str) -> bool {
    matches!(
        kind,
        "lib_footprint_issues"
            | "lib_footprint_mismatch"
            | "lib_symbol_issues"
            | "lib_symbol_mismatch"
            | "footprint_link_issues"
    )
}

/// Turns entries into findings of `engine`.
pub fn of_entries<'a>(
    engine: &str,
    entries: impl IntoIterator<Item = &'a Entry>,
    names: &dyn Names,
) -> Vec<Finding> {
    entries.into_iter().map(|e| one(engine, e, names)).collect()
}

/// Gives every finding its id; equal ones are counted, so the list must be complete.
pub fn give_ids(findings: &mut Vec<Finding>) {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    findings.sort_by(|a, b| (&a.engine, &a.rule, &a.id, a).cmp(&(&b.engine, &b.rule, &b.id, b)));
    for finding in findings {
        let count = seen.entry(finding.id.clone()).or_default();
        *count += 1;
        if *count > 1 {
            finding.id = format!("{}#{count}", finding.id);
        }
    }
}

fn clean(text: &str) -> String {
    cut_bytes(&without_control(text), TEXT_BYTES_MAX).to_owned()
}

fn one(engine: &str, entry: &Entry, names: &dyn Names) -> Finding {
    let mut keys = Vec::with_capacity(entry.items.len());
    let items: Vec<FindingItem> = entry
        .items
        .iter()
        .map(|item| {
            let known = names.of(item);
            let at_nm = names.factor().and_then(|f| item.pos.as_ref().and_then(|p| p.nm(f)));
            keys.push(key(entry, item, known.is_some()));
            let known = known.unwrap_or_default();
            FindingItem {
                text: clean(&item.description),
                uuid: clean(&item.uuid),
                at_nm,
                part: known.part,
                net: known.net,
            }
        })
        .collect();
    keys.sort();
    if keys.is_empty() {
        keys.push(entry.description.clone());
    }
    let digest = Digest::of(keys.join("\n").as_bytes()).to_string();
    let short = digest.get(..ID_DIGITS).unwrap_or_default();
    Finding {
        id: format!("{engine}:{}:{short}", entry.kind),
        engine: engine.to_owned(),
        rule: clean(&entry.kind),
        severity: match entry.severity.as_str() {
            "warning" => FindingSeverity::Warning,
            // Whatever a later version calls it counts as the worse one.
            _ => FindingSeverity::Error,
        },
        message: clean(&entry.description),
        items,
        excluded: entry.excluded.then(|| clean(&entry.comment)),
        apart: is_apart(&entry.kind),
    }
}

/// Rules for which KiCad names any one of several pins of a net, another one in each run (measured
/// with 9.0.8: unit A or C of one part); only the pin's name stays.
const ANY_PIN: &[&str] = &["power_pin_not_driven"];

/// What makes an item the same in the next run: its id where the file holds it, and its place.
/// Files of old formats hold no ids for some objects; KiCad then makes up new ones at each run.
fn key(entry: &Entry, item: &Item, in_file: bool) -> String {
    if ANY_PIN.contains(&entry.kind.as_str()) {
        return item.description.clone();
    }
    let place = match &item.pos {
        Some(pos) => format!("{} {}", pos.x, pos.y),
        None => String::new(),
    };
    let name = if in_file { item.uuid.to_lowercase() } else { item.description.clone() };
    format!("{name} {place}")
}
