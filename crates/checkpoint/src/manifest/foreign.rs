//! Other known shapes of phase and state. They are refused by name: none of them is ever read as
//! phase 1, and none is guessed at.

use super::convert::Faults;
use crate::yaml::{Data, Entry, Node};

/// Names of the twelve phases of the flow.
pub const PHASE_NAMES: [&str; 12] = [
    "01-requirement-analysis",
    "02-bom-planning",
    "03-easyeda-initialization",
    "04-schematic-generation",
    "05-schematic-audit",
    "06-placement-planning",
    "07-placement-knowledge-graph",
    "08-visual-placement",
    "09-automated-placement",
    "10-export-to-kicad",
    "11-ai-routing",
    "12-final-verification",
];

/// Keys under which other records keep their state.
const STATE_KEYS: [&str; 12] = [
    "phase",
    "current_phase",
    "currentPhase",
    "current-phase",
    "state",
    "verdict",
    "verdicts",
    "phase_status",
    "phase_verdicts",
    "gates",
    "workflow",
    "workflow_state",
];

/// Whether the whole file is of another shape; the faults say which.
pub(super) fn refused(entries: &[Entry], faults: &mut Faults) -> bool {
    let mut found = false;
    for entry in entries.iter().filter(|e| STATE_KEYS.contains(&e.key.as_str())) {
        found = true;
        faults.add(
            entry.at,
            &entry.key,
            format!("'{}' is where another project record keeps its state", entry.key),
            "remove the key: pcbflow finds out by itself what is done",
        );
    }
    for entry in entries.iter().filter(|e| e.key == "phases") {
        if let Data::Map(phases) = &entry.node.data {
            found = true;
            let first = phases.first().map_or("NN-name", |e| e.key.as_str());
            faults.add(
                entry.at,
                "phases",
                "'phases' has the shape of another project record, keys instead of a list".into(),
                format!("write a list: '- id: {}' and below it 'steps:'", suggestion(first)),
            );
        }
    }
    found
}

/// Whether a phase is written as a bare name or number instead of a mapping.
pub(super) fn bare_phase(node: &Node, path: &str, faults: &mut Faults) -> bool {
    let text = match &node.data {
        Data::Text(text) => text.clone(),
        Data::Int(n) => n.to_string(),
        _ => return false,
    };
    faults.add(
        node.at,
        path,
        format!("the phase '{text}' is written without 'id'"),
        format!("write '- id: {}'", suggestion(&text)),
    );
    true
}

/// The id of a phase, if it has the form `NN-name`.
pub(super) fn phase_text(node: &Node, path: &str, faults: &mut Faults) -> Option<String> {
    let text = match &node.data {
        Data::Int(n) => n.to_string(),
        _ => faults.text(node, path)?.to_owned(),
    };
    if is_id(&text) {
        return Some(text);
    }
    faults.add(
        node.at,
        path,
        format!("the phase id '{text}' is not of the form NN-name"),
        format!("write '{}'", suggestion(&text)),
    );
    None
}

fn is_id(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_digit())
        && chars.next().is_some_and(|c| c.is_ascii_digit())
        && chars.next() == Some('-')
        && chars.next().is_some_and(char::is_alphanumeric)
}

/// What the person most likely means: by its number, or by its name.
fn suggestion(text: &str) -> String {
    let digits: String =
        text.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    let by_number = digits.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
    if let Some(name) = by_number.and_then(|n| PHASE_NAMES.get(n)) {
        return (*name).to_owned();
    }
    let plain = text.to_lowercase().replace(['_', ' '], "-");
    PHASE_NAMES
        .iter()
        .find(|name| name.split_once('-').is_some_and(|(_, rest)| rest == plain))
        .map_or_else(|| "NN-name".to_owned(), |name| (*name).to_owned())
}
