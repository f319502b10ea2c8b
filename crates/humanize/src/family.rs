//! Rules that a whole family of rows keeps: what the tests of a crate with rows call.

use std::collections::BTreeSet;

use pcbflow_core::catalogue::Catalogue;
use pcbflow_core::evidence::{
    Evidence, Matcher, NumberTest, Pattern, Signal, Source, TextTest, codes,
};
use pcbflow_core::row::{Resume, Row, RungKind};

/// Layer of evidence for a matcher that names none.
const ANY_LAYER: &str = "elsewhere/step";
/// Most confidence, in percent, that words alone may give.
const WORDS_CONFIDENCE_MAX: u8 = 70;

/// Holds a family against the rubric and against the lists of what its crate carries out: every
/// text is readable, ladders name exactly `actions`, rechecks and watches exactly `probes`. An
/// empty answer means that the family may be registered.
#[must_use]
pub fn lint_family(rows: &[Row], actions: &[&str], probes: &[&str]) -> Vec<String> {
    let mut faults: Vec<String> =
        rows.iter().flat_map(crate::lint_row).map(|fault| fault.to_string()).collect();
    let acts = rows.iter().flat_map(|r| r.ladder).filter(|rung| rung.kind == RungKind::Act);
    faults.extend(differences("action", acts.map(|rung| rung.id).collect(), actions));
    let watched = rows.iter().filter_map(|row| match row.texts.resume {
        Resume::Watch(probe) => Some(probe),
        _ => None,
    });
    let looked = rows.iter().filter_map(|row| row.recheck.probe).chain(watched).collect();
    faults.extend(differences("probe", looked, probes));
    faults
}

fn differences(what: &str, named: BTreeSet<&str>, listed: &[&str]) -> Vec<String> {
    let known: BTreeSet<&str> = listed.iter().copied().collect();
    let mut faults = Vec::new();
    if known.len() != listed.len() {
        faults.push(format!("a {what} is listed twice"));
    }
    faults.extend(named.difference(&known).map(|n| format!("no such {what}: {n}")));
    faults.extend(known.difference(&named).map(|n| format!("no row names the {what} {n}")));
    faults
}

/// Feeds each matcher the least that fits it, once for each of its words, and says where the
/// table finds another row; and where words are trusted more than words may be.
#[must_use]
pub fn lint_matchers(rows: &[Row], table: &Catalogue) -> Vec<String> {
    let mut faults = Vec::new();
    for row in rows {
        for (at, matcher) in row.matchers.iter().enumerate() {
            let place = format!("{} matcher {}", row.id, at + 1);
            let words = matcher.all.iter().map(words_of).max().unwrap_or(1);
            for nth in 0..words {
                let evidence = least(matcher, nth);
                if !matcher.fits(&evidence) {
                    faults.push(format!("{place}, word {}: contradicts itself", nth + 1));
                }
                let found = table.diagnose(&evidence).class;
                if found.as_str() != row.id {
                    faults.push(format!("{place}, word {}: leads to {found}", nth + 1));
                }
            }
            if matcher.all.iter().any(|p| p.source == Source::Text) {
                if matcher.trust() != Source::Text {
                    faults.push(format!("{place}: mixes words with facts"));
                } else if matcher.confidence > WORDS_CONFIDENCE_MAX {
                    faults.push(format!("{place}: is too sure of words"));
                }
            }
        }
    }
    faults
}

/// Holds the codes that the matchers look at against the list of those that the crate knows:
/// each is listed with its source (or is one of `shared`), once, and looked at by some row.
#[must_use]
pub fn lint_codes(rows: &[Row], listed: &[(Source, &str)], shared: &[&str]) -> Vec<String> {
    let known: BTreeSet<(Source, &str)> = listed.iter().copied().collect();
    let mut faults = Vec::new();
    if known.len() != listed.len() {
        faults.push("a code is listed twice".to_owned());
    }
    let mut used = BTreeSet::new();
    for row in rows {
        for pattern in row.matchers.iter().flat_map(|m| m.all.iter().chain(m.none)) {
            let pair = (pattern.source, pattern.code);
            if !known.contains(&pair) && !shared.contains(&pattern.code) {
                faults.push(format!("{}: {} {} is no known signal", row.id, pair.0.word(), pair.1));
            }
            used.insert(pair);
        }
    }
    let idle = known.difference(&used);
    faults.extend(idle.map(|(source, code)| format!("no row looks at {} {code}", source.word())));
    faults
}

fn words_of(pattern: &Pattern) -> usize {
    match pattern.text {
        TextTest::Any => 1,
        TextTest::HasAny(words) | TextTest::NamesAny(words) => words.len(),
    }
}

/// The least evidence that fits, with the nth of the words.
fn least(matcher: &Matcher, nth: usize) -> Evidence {
    let layer = matcher.tools.first().copied().unwrap_or(ANY_LAYER);
    let mut evidence = Evidence::new(layer, "");
    matcher.all.iter().for_each(|pattern| evidence.push(fitting(pattern, nth)));
    evidence
}

fn fitting(pattern: &Pattern, nth: usize) -> Signal {
    let code = if pattern.code.is_empty() { codes::MESSAGE } else { pattern.code };
    let mut signal = Signal::new(pattern.source, code);
    signal.number = match pattern.number {
        NumberTest::Any => None,
        NumberTest::Is(n) | NumberTest::Between(n, _) => Some(n),
        NumberTest::Not(n) => Some(n.saturating_add(1)),
    };
    match pattern.text {
        TextTest::Any => signal,
        TextTest::HasAny(words) | TextTest::NamesAny(words) => {
            let last = words.len().saturating_sub(1);
            match words.get(nth.min(last)) {
                Some(word) => signal.text(word),
                None => signal,
            }
        }
    }
}

#[cfg(test)]
#[path = "family_tests.rs"]
mod tests;
