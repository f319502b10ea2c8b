//! The table of all rows: folded, unambiguous, and led by facts.
//!
//! Each row is found by each of its signals, each look-alike is kept apart, and no word decides
//! where it should not.

use std::collections::BTreeSet;

use pcbflow_checkpoint::signals as checkpoint;
use pcbflow_core::catalogue::{Catalogue, Diagnosis};
use pcbflow_core::evidence::{
    Evidence, Matcher, NumberTest, Pattern, Signal, Source, TextTest, codes,
};
use pcbflow_core::row::{RecipeKind, Row, RungKind};
use pcbflow_kicad::signals as kicad;
use pcbflow_process::signals as process;
use pcbflow_store::signals as store;

mod cases;
mod words;

/// Rows of the families that this suite holds to account one by one.
fn own_rows() -> Vec<Row> {
    [pcbflow_process::ROWS, pcbflow_checkpoint::ROWS, pcbflow_kicad::ROWS, pcbflow_store::ROWS]
        .concat()
}

/// Rows of all crates.
fn all_rows() -> Vec<Row> {
    [&own_rows(), pcbflow_eda::ROWS, pcbflow_agents::ROWS].concat()
}

fn table() -> Catalogue {
    Catalogue::fold(all_rows(), Vec::new()).expect("the rows fold")
}

fn seen(layer: &str, tool: &str, signals: &[Signal]) -> Evidence {
    let mut evidence = Evidence::new(layer, tool);
    for signal in signals {
        evidence.push(signal.clone());
    }
    evidence
}

fn diagnose(layer: &str, tool: &str, signals: &[Signal]) -> Diagnosis {
    table().diagnose(&seen(layer, tool, signals))
}

#[test]
fn the_table_holds_every_id_of_its_families() {
    let ids: BTreeSet<String> = own_rows().iter().map(|r| r.id.to_owned()).collect();
    let want: BTreeSet<String> =
        [("ENV", 9), ("SC", 8), ("ST", 5), ("GIT", 7), ("LG", 5), ("KI", 9)]
            .iter()
            .flat_map(|(family, n)| (1..=*n).map(move |at| format!("{family}-{at}")))
            .collect();
    assert_eq!(ids, want);
    assert_eq!(table().rows().len(), 43 + 14 + 10 + 14);
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

#[test]
fn each_matcher_leads_to_its_own_row() {
    let table = table();
    for row in all_rows() {
        for (at, matcher) in row.matchers.iter().enumerate() {
            let words = matcher.all.iter().map(words_of).max().unwrap_or(1);
            for nth in 0..words {
                for bound in
                    matcher.tools.iter().copied().chain(matcher.tools.is_empty().then_some(""))
                {
                    let signals: Vec<Signal> =
                        matcher.all.iter().map(|p| fitting(p, nth)).collect();
                    let evidence = seen(bound, "", &signals);
                    assert!(matcher.fits(&evidence), "{} signal {at} contradicts itself", row.id);
                    let found = table.diagnose(&evidence);
                    assert_eq!(found.class.as_str(), row.id, "signal {at}: {evidence:?}");
                    assert!(found.known);
                }
            }
        }
    }
}

#[test]
fn every_code_is_known_and_used_with_its_source() {
    let mut known: BTreeSet<(Source, &str)> = BTreeSet::new();
    for list in [process::ALL, checkpoint::ALL, kicad::ALL, store::ALL] {
        for pair in list {
            assert!(known.insert(*pair), "{pair:?} is listed twice");
        }
    }
    let shared: BTreeSet<&str> = [
        codes::STATUS,
        codes::SIGNAL,
        codes::SPAWN_NOT_FOUND,
        codes::SPAWN_DENIED,
        codes::SPAWN_FAILED,
        codes::DEADLINE_PASSED,
        codes::OUTPUT_ENDLESS,
        codes::LOOP_WITHOUT_END,
        codes::MEMORY_OVER_LIMIT,
        codes::DISK_FULL,
        codes::READ_ONLY,
        codes::RETRIES_USED_UP,
        codes::INTENT_WITHOUT_RESULT,
        codes::CLAIM_HELD,
        codes::WRONG_SYSTEM,
        codes::DEPENDENCY_MISSING,
        codes::OUTPUT_MISSING,
        codes::OUTPUT_EMPTY,
        codes::OUTPUT_STALE,
        codes::VERSION_TOO_OLD,
        codes::ENVELOPE_FAILED,
        codes::EXCEPTION,
        codes::MODULE_NOT_FOUND,
    ]
    .into();
    let mut used: BTreeSet<(Source, &str)> = BTreeSet::new();
    for row in own_rows() {
        for pattern in row.matchers.iter().flat_map(|m| m.all.iter().chain(m.none)) {
            let pair = (pattern.source, pattern.code);
            let any = pattern.code.is_empty();
            assert!(
                any || known.contains(&pair) || shared.contains(pattern.code),
                "{}: {pair:?} is no known signal",
                row.id
            );
            used.insert(pair);
        }
    }
    let unused: Vec<_> = known.iter().filter(|pair| !used.contains(*pair)).collect();
    assert!(unused.is_empty(), "no row looks at {unused:?}");
    let idle: Vec<_> = shared.iter().filter(|c| !used.iter().any(|(_, u)| u == *c)).collect();
    assert!(idle.is_empty(), "no row looks at {idle:?}");
}

#[test]
fn words_are_the_last_resort() {
    for row in own_rows() {
        for matcher in row.matchers {
            let words = matcher.all.iter().any(|p| p.source == Source::Text);
            assert!(!words || matcher.trust() == Source::Text, "{} mixes words and facts", row.id);
            assert!(!words || matcher.confidence <= 60, "{} is too sure of words", row.id);
        }
    }
}

#[test]
fn budgets_let_every_ladder_come_to_its_end() {
    for row in own_rows() {
        let runs: usize = row
            .ladder
            .iter()
            .filter(|r| !matches!(r.kind, RungKind::Ask | RungKind::GoOn))
            .map(pcbflow_core::row::Rung::times)
            .sum();
        assert!(row.budget.attempts_max as usize > runs, "{} stops before its end", row.id);
    }
}

#[test]
fn recipes_are_real_where_they_can_be() {
    let rows = own_rows();
    let of = |kind| rows.iter().filter(|r| r.recipe.kind == kind).map(|r| r.id).collect::<Vec<_>>();
    assert_eq!(of(RecipeKind::DiagnosisOnly), ["KI-1"]);
    assert_eq!(of(RecipeKind::SmallProgram), ["ST-3", "ST-4", "ST-5", "GIT-1"]);
    let passing: Vec<&str> = rows.iter().filter(|r| r.passing).map(|r| r.id).collect();
    assert_eq!(passing, ["GIT-5"]);
}

#[test]
fn no_matcher_excludes_what_it_asks_for() {
    for row in own_rows() {
        for Matcher { all, none, .. } in row.matchers {
            assert!(!all.iter().any(|p| none.contains(p)), "{} excludes itself", row.id);
        }
    }
}
