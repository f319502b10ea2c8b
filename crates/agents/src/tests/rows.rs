//! The table as a whole.

use pcbflow_core::evidence::codes;
use pcbflow_core::row::{Available, Notify, RecipeKind, Resume, RungKind};

use super::catalogue;
use crate::{ROWS, signals};

#[test]
fn the_table_is_whole_and_folds() {
    let ids: Vec<String> = catalogue().rows().iter().map(|r| r.id.to_owned()).collect();
    let mut want: Vec<String> = (1..=14).map(|n| format!("AG-{n}")).collect();
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
        codes::SPAWN_NOT_FOUND,
        codes::CLAIM_HELD,
        codes::SPAWN_DENIED,
        codes::SPAWN_FAILED,
        codes::DEADLINE_PASSED,
        "",
    ];
    assert_eq!(pcbflow_humanize::lint_codes(ROWS, signals::ALL, &shared), Vec::<String>::new());
}

#[test]
fn ladders_and_texts_keep_together() {
    for row in ROWS {
        assert!(matches!(row.available, Available::Later(_)), "{}", row.id);
        assert_eq!(row.recipe.kind, RecipeKind::DiagnosisOnly, "{}", row.id);
        assert!(row.recheck.probe.is_some(), "{} has nothing to prove a cure with", row.id);
        let asks = row.ladder.iter().any(|r| r.kind == RungKind::Ask);
        assert_eq!(asks, row.texts.resume != Resume::Nothing, "{}", row.id);
        assert_eq!(asks, row.notify != Notify::Never, "{}", row.id);
        assert!(!row.passing, "{}: agents stop, they do not end in 'try later'", row.id);
    }
    let always: Vec<&str> =
        ROWS.iter().filter(|r| r.notify == Notify::Always).map(|r| r.id).collect();
    let want = ["AG-2", "AG-3", "AG-7", "AG-8", "AG-9", "AG-10", "AG-11", "AG-13", "AG-14"];
    assert_eq!(always, want);
}

#[test]
fn agents_ask_before_anything_else_where_only_a_person_can_help() {
    for id in ["AG-2", "AG-7", "AG-8", "AG-11"] {
        let row = ROWS.iter().find(|r| r.id == id).unwrap();
        assert_eq!(row.ladder.len(), 1, "{id} has no rung but the ask");
    }
}

#[test]
fn every_text_keeps_the_rules() {
    let faults: Vec<String> =
        ROWS.iter().flat_map(pcbflow_humanize::lint_row).map(|fault| fault.to_string()).collect();
    assert_eq!(faults, Vec::<String>::new());
}
