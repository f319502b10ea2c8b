use std::collections::BTreeSet;

use pcbflow_core::row::{Resume, RungKind};

use super::{ROWS, actions, probes};

#[test]
fn every_text_passes_the_rubric() {
    let faults: Vec<String> =
        ROWS.iter().flat_map(pcbflow_humanize::lint_row).map(|f| f.to_string()).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn ladders_name_exactly_the_actions_of_the_list() {
    let named: BTreeSet<&str> = ROWS
        .iter()
        .flat_map(|row| row.ladder)
        .filter(|rung| rung.kind == RungKind::Act)
        .map(|rung| rung.id)
        .collect();
    assert_eq!(named, actions::ALL.iter().copied().collect());
    assert_eq!(named.len(), actions::ALL.len());
}

#[test]
fn rows_name_exactly_the_probes_of_the_list() {
    let mut named: BTreeSet<&str> = ROWS.iter().filter_map(|row| row.recheck.probe).collect();
    named.extend(ROWS.iter().filter_map(|row| match row.texts.resume {
        Resume::Watch(probe) => Some(probe),
        _ => None,
    }));
    assert_eq!(named, probes::ALL.iter().copied().collect());
    assert_eq!(named.len(), probes::ALL.len());
}
