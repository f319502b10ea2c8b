//! The table as a whole.

use std::collections::BTreeSet;

use pcbflow_core::evidence::{
    Evidence, Matcher, NumberTest, Pattern, Signal, Source, TextTest, codes,
};
use pcbflow_core::row::{Available, Notify, RecipeKind, Resume, RungKind};

use super::{catalogue, seen};
use crate::{ROWS, signals};

#[test]
fn the_table_is_whole_and_folds() {
    let ids: Vec<String> = catalogue().rows().iter().map(|r| r.id.to_owned()).collect();
    let mut want: Vec<String> = (1..=14).map(|n| format!("AG-{n}")).collect();
    want.push("SC-1".to_owned());
    assert_eq!(ids, want);
}

/// A signal that fits the pattern, with the nth of its words.
fn fitting(pattern: &Pattern, nth: usize) -> Signal {
    let code = if pattern.code.is_empty() { codes::MESSAGE } else { pattern.code };
    let mut signal = Signal::new(pattern.source, code);
    signal.number = match pattern.number {
        NumberTest::Any => None,
        NumberTest::Is(n) | NumberTest::Between(n, _) => Some(n),
        NumberTest::Not(n) => Some(n + 1),
    };
    match pattern.text {
        TextTest::Any => signal,
        TextTest::HasAny(words) | TextTest::NamesAny(words) => {
            signal.text(words[nth.min(words.len() - 1)])
        }
    }
}

fn words_of(pattern: &Pattern) -> usize {
    match pattern.text {
        TextTest::Any => 1,
        TextTest::HasAny(words) | TextTest::NamesAny(words) => words.len(),
    }
}

fn minimal(matcher: &Matcher, nth: usize) -> Evidence {
    let layer = matcher.tools.first().copied().unwrap_or("elsewhere/step");
    let list: Vec<Signal> = matcher.all.iter().map(|p| fitting(p, nth)).collect();
    seen(layer, &list)
}

#[test]
fn each_matcher_leads_to_its_own_row() {
    let table = catalogue();
    for row in ROWS {
        for (at, matcher) in row.matchers.iter().enumerate() {
            let words = matcher.all.iter().map(words_of).max().unwrap_or(1);
            for nth in 0..words {
                let evidence = minimal(matcher, nth);
                assert!(matcher.fits(&evidence), "{} #{at} word {nth} contradicts itself", row.id);
                let found = table.diagnose(&evidence);
                assert_eq!(
                    found.class.as_str(),
                    row.id,
                    "{} #{at} word {nth}: {evidence:?}",
                    row.id
                );
            }
        }
    }
}

#[test]
fn every_code_is_known_and_used_with_its_source() {
    let shared: BTreeSet<&str> = [
        codes::STATUS,
        codes::SIGNAL,
        codes::SPAWN_NOT_FOUND,
        codes::CLAIM_HELD,
        codes::SPAWN_DENIED,
        codes::SPAWN_FAILED,
        codes::DEADLINE_PASSED,
        "",
    ]
    .into();
    let known: BTreeSet<(Source, &str)> = signals::ALL.iter().copied().collect();
    assert_eq!(known.len(), signals::ALL.len(), "a code is listed twice");
    let mut used = BTreeSet::new();
    for row in ROWS {
        for pattern in row.matchers.iter().flat_map(|m| m.all.iter().chain(m.none)) {
            let pair = (pattern.source, pattern.code);
            assert!(
                known.contains(&pair) || shared.contains(pattern.code),
                "{}: {pair:?} is no known signal",
                row.id
            );
            used.insert(pair);
        }
    }
    for pair in known {
        assert!(used.contains(&pair), "no row looks at {pair:?}");
    }
}

#[test]
fn words_are_the_last_resort() {
    for row in ROWS {
        for matcher in row.matchers.iter().filter(|m| m.trust() == Source::Text) {
            assert!(matcher.confidence <= 70, "{} is too sure of words", row.id);
        }
        for matcher in row.matchers {
            let mixed = matcher.all.iter().any(|p| p.source == Source::Text);
            assert!(!mixed || matcher.trust() == Source::Text, "{} mixes words with facts", row.id);
        }
    }
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
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
