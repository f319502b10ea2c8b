//! Each rule of a family, broken once.

use pcbflow_core::evidence::{Matcher, Pattern};
use pcbflow_core::row::Rung;

use super::*;
use crate::samples::sample_rows;

fn part_row() -> Row {
    sample_rows().into_iter().find(|r| r.id == "EDA-10").unwrap()
}

#[test]
fn actions_and_probes_are_the_listed_ones() {
    let rows = [part_row()];
    let good = ["broaden", "number", "other"];
    let probes: Vec<&str> = rows.iter().filter_map(|r| r.recheck.probe).collect();
    assert_eq!(lint_family(&rows, &good, &probes), Vec::<String>::new());
    let faults = lint_family(&rows, &["broaden", "broaden", "number", "spare"], &["odd"]);
    for fault in
        ["a action is listed twice", "no such action: other", "no row names the action spare"]
    {
        assert!(faults.iter().any(|f| f == fault), "{fault}: {faults:?}");
    }
    assert!(faults.iter().any(|f| f == "no row names the probe odd"), "{faults:?}");
}

#[test]
fn matchers_lead_home_and_words_stay_humble() {
    const FACTS: &[Matcher] = &[Matcher::new(&[Pattern::own("part.none")])];
    const WORDS: &[Matcher] = &[Matcher::new(&[Pattern::words(&["no such part"])])];
    const ASKS: &[Rung] = &[Rung::ask()];
    const OTHER: &[Matcher] = &[Matcher::new(&[Pattern::own("other")])];
    let unknown = sample_rows().into_iter().find(|r| r.id == "SC-1").unwrap();
    let table = |part: Row| {
        Catalogue::fold([part, Row { matchers: OTHER, ..unknown }], Vec::new()).unwrap()
    };
    let good = Row { matchers: FACTS, ..part_row() };
    assert_eq!(lint_matchers(&[good], &table(good)), Vec::<String>::new());
    let stray = Row { matchers: OTHER, ..part_row() };
    let faults = lint_matchers(&[stray], &table(good));
    assert_eq!(faults, ["EDA-10 matcher 1, word 1: leads to SC-1"]);
    let sure = Row { matchers: WORDS, ladder: ASKS, ..part_row() };
    let faults = lint_matchers(&[sure], &table(sure));
    assert!(faults.iter().any(|f| f.ends_with("is too sure of words")), "{faults:?}");
}

#[test]
fn codes_are_listed_and_used() {
    const FACTS: &[Matcher] = &[Matcher::new(&[Pattern::own("part.none")])];
    let row = Row { matchers: FACTS, ..part_row() };
    let listed = [(Source::Own, "part.none")];
    assert_eq!(lint_codes(&[row], &listed, &[]), Vec::<String>::new());
    assert_eq!(lint_codes(&[row], &[], &["part.none"]), Vec::<String>::new());
    assert_eq!(lint_codes(&[row], &[], &[]).len(), 1);
    let spare = [(Source::Own, "part.none"), (Source::Http, "part.none")];
    assert_eq!(lint_codes(&[row], &spare, &[]).len(), 1);
}
