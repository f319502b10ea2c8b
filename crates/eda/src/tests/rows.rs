//! The table as a whole.

use pcbflow_core::evidence::codes;
use pcbflow_core::row::{Available, Notify, RecipeKind, Resume, RungKind};

use super::catalogue;
use crate::{ROWS, signals};

#[test]
fn the_table_is_whole_and_folds() {
    let ids: Vec<String> = catalogue().rows().iter().map(|r| r.id.to_owned()).collect();
    let mut want: Vec<String> = (1..=10).map(|n| format!("BR-{n}")).collect();
    want.extend((1..=14).map(|n| format!("EDA-{n}")));
    want.push("SC-1".to_owned());
    assert_eq!(ids, want);
}

#[test]
fn each_matcher_leads_to_its_own_row_and_words_are_the_last_resort() {
    assert_eq!(pcbflow_humanize::lint_matchers(ROWS, &catalogue()), Vec::<String>::new());
}

#[test]
fn every_code_is_known_and_used_with_its_source() {
    let shared = [
        codes::STATUS,
        codes::SIGNAL,
        codes::SPAWN_DENIED,
        codes::SPAWN_FAILED,
        codes::DEADLINE_PASSED,
        "",
    ];
    assert_eq!(pcbflow_humanize::lint_codes(ROWS, signals::ALL, &shared), Vec::<String>::new());
}

/// Rows whose ladders lead to the ask: their actions need another way into the editor, another
/// protocol of the browser, or a profile to copy from.
const LATER: &[&str] = &["EDA-11", "BR-8", "BR-9", "BR-10"];

#[test]
fn ladders_and_texts_keep_together() {
    for row in ROWS {
        // Actions that do not exist yet, and only those, are said to come later.
        let later = matches!(row.available, Available::Later(_));
        assert_eq!(later, LATER.contains(&row.id), "{}", row.id);
        assert_eq!(later, row.recipe.kind == RecipeKind::DiagnosisOnly, "{}", row.id);
        assert!(row.recheck.probe.is_some(), "{} has nothing to prove a cure with", row.id);
        let asks = row.ladder.iter().any(|r| r.kind == RungKind::Ask);
        assert_eq!(asks, row.texts.resume != Resume::Nothing, "{}", row.id);
        assert_eq!(asks, row.notify != Notify::Never, "{}", row.id);
        assert_eq!(row.passing, matches!(row.id, "EDA-5" | "EDA-6"), "{}", row.id);
    }
    for id in ["EDA-1", "EDA-2", "EDA-3", "EDA-11", "BR-3"] {
        let row = ROWS.iter().find(|r| r.id == id).unwrap();
        assert_eq!(row.notify, Notify::Always, "{id}");
    }
}

#[test]
fn every_text_keeps_the_rules() {
    let faults: Vec<String> =
        ROWS.iter().flat_map(pcbflow_humanize::lint_row).map(|fault| fault.to_string()).collect();
    assert_eq!(faults, Vec::<String>::new());
}
