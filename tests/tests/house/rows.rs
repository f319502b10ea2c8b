//! Failure rows: complete, and every id that the code speaks of is one of them.

use std::collections::BTreeSet;

use pcbflow_core::row::{Resume, Row};

use super::sources::code;
use super::{expect_none, files};

fn rows() -> Vec<Row> {
    [
        pcbflow_process::ROWS,
        pcbflow_checkpoint::ROWS,
        pcbflow_kicad::ROWS,
        pcbflow_store::ROWS,
        pcbflow_eda::ROWS,
        pcbflow_agents::ROWS,
    ]
    .concat()
}

#[test]
fn every_row_is_complete() {
    let mut faults = Vec::new();
    for row in rows() {
        let texts = row.texts;
        let asks = !matches!(texts.resume, Resume::Nothing);
        let gaps = [
            (row.title.is_empty(), "title"),
            (row.matchers.is_empty(), "signals"),
            (row.ladder.is_empty(), "ladder"),
            (row.recheck.what.is_empty(), "recheck"),
            (row.recipe.how.len() < 20, "test recipe"),
            (texts.what.is_empty(), "what happened"),
            (texts.healed.is_empty(), "healed"),
            (asks && texts.ask.is_empty(), "what to do"),
            (texts.ask_kind.is_empty() && asks, "kind of the ask"),
            (texts.tool.is_empty(), "tool"),
        ];
        faults.extend(gaps.iter().filter(|g| g.0).map(|g| format!("{}: no {}", row.id, g.1)));
    }
    expect_none("rows with gaps", &faults);
}

/// Ids in a text: two to five capitals, a hyphen, one or two digits, not part of a longer word.
fn ids(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    for part in text.split(|c| !word(c)) {
        let Some((family, number)) = part.split_once('-') else { continue };
        let capitals =
            (2..=5).contains(&family.len()) && family.bytes().all(|b| b.is_ascii_uppercase());
        let digits = (1..=2).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
        if capitals && digits {
            found.insert(part.to_owned());
        }
    }
    found
}

#[test]
fn every_class_that_is_spoken_of_exists() {
    let rows = rows();
    let known: BTreeSet<&str> = rows.iter().map(|r| r.id).collect();
    let families: BTreeSet<&str> =
        known.iter().map(|id| id.split('-').next().unwrap_or("")).collect();
    let mut faults = Vec::new();
    for file in files::all() {
        let source = file.starts_with("crates/") && file.ends_with(".rs");
        let page = file.ends_with(".md") && !file.starts_with("docs/decisions/");
        // Tests try ids that nobody has, and `ids.rs` speaks of ids in general.
        if !(source || page) || file.contains("tests") || file == "crates/core/src/ids.rs" {
            continue;
        }
        for (number, line) in code(&file) {
            for id in ids(&line) {
                let ours = id.split('-').next().is_some_and(|f| families.contains(f));
                if ours && !known.contains(id.as_str()) {
                    faults.push(format!("{file}:{number}: {id}"));
                }
            }
        }
    }
    expect_none("class ids without a row", &faults);
}
