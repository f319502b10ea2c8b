//! Evidence of parts that are in the schematic and not on the board (KI-2).

use std::collections::BTreeSet;

use pcbflow_core::evidence::{Evidence, Signal, Source};

use super::footprint_map::FootprintMap;
use super::stop::Session;
use crate::file::board::Board;
use crate::report::sheets::SheetIndex;
use crate::signals;

/// Most references that a signal and its slots name.
const REFERENCES_SHOWN_MAX: usize = 40;

/// The evidence, with the look-alikes of KI-2. What the person is asked for are the parts without
/// an entry in the footprint map; all of them when each has one.
pub(crate) fn evidence(
    session: &Session<'_>,
    missing: &[String],
    index: &SheetIndex,
    board: &Board,
) -> Evidence {
    let mut evidence = session.evidence();
    let count = i64::try_from(missing.len()).unwrap_or(i64::MAX);
    let all = listed(missing.iter().map(String::as_str));
    evidence
        .push(Signal::new(Source::Report, signals::FOOTPRINTS_DROPPED).number(count).text(&all));
    let paths: BTreeSet<&str> =
        board.footprints.iter().filter_map(|f| f.path.as_deref()?.rsplit('/').next()).collect();
    let symbols: Vec<_> = index.symbols.iter().filter(|s| missing.contains(&s.reference)).collect();
    if !symbols.is_empty() && symbols.iter().all(|s| paths.contains(s.uuid.as_str())) {
        let renumbered = Signal::new(Source::Report, signals::REFERENCES_RENUMBERED);
        evidence.push(renumbered.number(count).text(&all));
    }
    let map = FootprintMap::of_step(session.context).ok().flatten().unwrap_or_default();
    let shape = |reference: &str| {
        let symbol = symbols.iter().find(|s| s.reference == reference);
        symbol.map_or("", |s| s.footprint.as_str())
    };
    let unmapped: Vec<&str> =
        missing.iter().map(String::as_str).filter(|r| map.get(r, shape(r)).is_none()).collect();
    let parts = if unmapped.is_empty() { all } else { listed(unmapped.into_iter()) };
    evidence.test_ids = missing.to_vec();
    evidence.slots.insert("variant".to_owned(), "not_on_board".to_owned());
    evidence.slots.insert("count".to_owned(), missing.len().to_string());
    evidence.slots.insert("parts".to_owned(), parts);
    evidence
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let shown = names.get(..names.len().min(REFERENCES_SHOWN_MAX)).unwrap_or_default();
    let text = shown.join(", ");
    match names.len() - shown.len() {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}
