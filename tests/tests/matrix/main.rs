//! The fault matrix: each row of ENV, SC, ST, GIT, LG and KI is made to happen, and what pcbflow
//! did about it is read from the ledger.
//!
//! The folded table drives it: a row without a recipe fails the test, and so does one whose own
//! words say another thing than the recipe here does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use pcbflow_core::row::{RecipeKind, Row};

mod env;
mod git;
mod ki;
mod lab;
mod lg;
mod look;
mod peers;
mod proof;
mod sc;
mod st;

/// One way to make a row's failure happen, with everything that is asserted about it.
type Case = fn();

/// How a row is tested.
struct Recipe {
    /// The row.
    id: &'static str,
    /// With what.
    kind: RecipeKind,
    /// Why only the diagnosis is tested, where it is so.
    why: &'static str,
    /// The cases by name: healed ones and those that end with the person.
    cases: &'static [(&'static str, Case)],
}

const fn real(id: &'static str, cases: &'static [(&'static str, Case)]) -> Recipe {
    Recipe { id, kind: RecipeKind::Real, why: "", cases }
}

const fn small(id: &'static str, cases: &'static [(&'static str, Case)]) -> Recipe {
    Recipe { id, kind: RecipeKind::SmallProgram, why: "", cases }
}

const fn diagnosis(
    id: &'static str,
    why: &'static str,
    cases: &'static [(&'static str, Case)],
) -> Recipe {
    Recipe { id, kind: RecipeKind::DiagnosisOnly, why, cases }
}

const FAMILIES: &[(&str, &[Recipe])] = &[
    ("ENV", env::RECIPES),
    ("SC", sc::RECIPES),
    ("ST", st::RECIPES),
    ("GIT", git::RECIPES),
    ("LG", lg::RECIPES),
    ("KI", ki::RECIPES),
];

fn rows() -> Vec<Row> {
    [pcbflow_process::ROWS, pcbflow_checkpoint::ROWS, pcbflow_kicad::ROWS, pcbflow_store::ROWS]
        .concat()
}

/// Runs every case of a family; one that fails keeps no other from running.
fn family(name: &str) {
    let (_, recipes) = FAMILIES.iter().find(|(n, _)| *n == name).expect("a family");
    let mut failed = Vec::new();
    // Names one row, for a look at it alone.
    let only = std::env::var("PCBFLOW_MATRIX_ROW").ok();
    for recipe in recipes.iter().filter(|r| only.as_deref().is_none_or(|o| o == r.id)) {
        for (case, run) in recipe.cases {
            let start = Instant::now();
            let passed = catch_unwind(AssertUnwindSafe(run)).is_ok();
            let word = if passed { "ok" } else { "FAILED" };
            let seconds = start.elapsed().as_secs_f32();
            pcbflow_tests::note(&format!("{} {case}: {word} ({seconds:.1} s)", recipe.id));
            if !passed {
                failed.push(format!("{} {case}", recipe.id));
            }
        }
    }
    assert!(failed.is_empty(), "failed: {}", failed.join(", "));
}

#[test]
fn every_row_has_a_recipe_that_agrees_with_its_own_words() {
    let recipes: Vec<&Recipe> = FAMILIES.iter().flat_map(|(_, recipes)| *recipes).collect();
    let mut faults = Vec::new();
    for row in rows() {
        match recipes.iter().filter(|r| r.id == row.id).count() {
            1 => {}
            n => faults.push(format!("{} has {n} recipes", row.id)),
        }
    }
    for recipe in &recipes {
        let Some(row) = rows().into_iter().find(|r| r.id == recipe.id) else {
            faults.push(format!("{} is no row", recipe.id));
            continue;
        };
        if row.recipe.kind != recipe.kind {
            faults.push(format!(
                "{}: the row says {:?}, the matrix does {:?}",
                row.id, row.recipe.kind, recipe.kind
            ));
        }
        if recipe.cases.is_empty() {
            faults.push(format!("{}: nothing is done", row.id));
        }
        if (recipe.kind == RecipeKind::DiagnosisOnly) == recipe.why.is_empty() {
            faults.push(format!("{}: only the diagnosis, and why?", row.id));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let count = |kind| recipes.iter().filter(|r| r.kind == kind).count();
    let cases: usize = recipes.iter().map(|r| r.cases.len()).sum();
    pcbflow_tests::note(&format!(
        "matrix: {} rows in {cases} cases: {} for real, {} by small programs, {} by diagnosis only",
        recipes.len(),
        count(RecipeKind::Real),
        count(RecipeKind::SmallProgram),
        count(RecipeKind::DiagnosisOnly),
    ));
    for recipe in recipes.iter().filter(|r| !r.why.is_empty()) {
        pcbflow_tests::note(&format!("matrix: {} by diagnosis only: {}", recipe.id, recipe.why));
    }
}

#[test]
fn the_computer() {
    family("ENV");
}

#[test]
fn scripts_and_steps() {
    family("SC");
}

#[test]
fn state_and_resume() {
    family("ST");
}

#[test]
fn history_and_publishing() {
    family("GIT");
}

#[test]
fn ledger_and_storage() {
    family("LG");
}

#[test]
fn kicad() {
    family("KI");
}
