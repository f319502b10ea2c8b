//! `lint_row` against a sample row, and against the same row with one text spoiled.

use super::*;
use crate::samples::{row_with, sample_rows};
use pcbflow_core::row::Texts;

fn list(faults: &[Fault]) -> String {
    faults.iter().map(|f| format!("{f}\n")).collect()
}

#[test]
fn sample_rows_pass() {
    for row in sample_rows() {
        let faults = lint_row(&row);
        assert!(faults.is_empty(), "{}", list(&faults));
    }
}

#[test]
fn every_spoiled_text_is_found() {
    type Spoil = fn(&mut Texts);
    let cases: [(Rule, Spoil); 14] = [
        (Rule::R05, |t| t.what = "The path {path} is gone."),
        (Rule::R05, |t| t.why = Some("The tool gave {count pieces.")),
        (Rule::R24, |t| {
            t.what = "The check of this board in KiCad did not end in the time that I gave to it."
        }),
        (Rule::R18, |t| t.why = Some("The mutex was poisoned.")),
        (Rule::R16, |t| t.why = Some("Something went wrong.")),
        (Rule::R08, |t| t.ask = "You should open KiCad"),
        (Rule::R08, |t| t.ask = "Open KiCad, then say 'retry'"),
        (Rule::R08, |t| t.ask = "Open KiCad."),
        (Rule::R09, |t| t.tool = "kicad-cli"),
        (Rule::R15, |t| t.why = Some("")),
        (Rule::R21, |t| t.ask = ""),
        (Rule::R17, |t| t.healed = "The board is CLEAN."),
        (Rule::R23, |t| t.healed = "The board is clean"),
        (Rule::R07, |t| t.healed = "It works. The board is clean. All is well."),
    ];
    for (rule, spoil) in cases {
        let mut row = row_with(|_| {});
        spoil(&mut row.texts);
        let faults = lint_row(&row);
        assert!(faults.iter().any(|f| f.rule == rule), "wants {rule:?}, got\n{}", list(&faults));
    }
}

#[test]
fn rungs_are_held_too() {
    use pcbflow_core::row::{Rung, W3};
    const NO_I: &[Rung] =
        &[Rung::retry("again", W3, "again", "Tried it again {times}."), Rung::ask()];
    const NO_SLOT: &[Rung] = &[Rung::act("mend", "mend", "I ran {script}."), Rung::ask()];
    const TWO: &[Rung] = &[Rung::act("mend", "mend", "I ran it. I looked at it."), Rung::ask()];
    const LONG: &[Rung] = &[
        Rung::act("one", "one", "I looked at the board and at all of its parts and holes again."),
        Rung::act("two", "two", "I looked at the rules and at all of the other files again."),
        Rung::ask(),
    ];
    let cases = [(Rule::R12, NO_I), (Rule::R05, NO_SLOT), (Rule::R07, TWO), (Rule::R07, LONG)];
    for (rule, ladder) in cases {
        let mut row = row_with(|_| {});
        row.ladder = ladder;
        let faults = lint_row(&row);
        assert!(faults.iter().any(|f| f.rule == rule), "wants {rule:?}, got\n{}", list(&faults));
    }
}
