//! What the record says of the board's own files, against what is there now (ST-3).
//!
//! A record named `file.<path>` holds two digests of a file below the board's root: of its bytes,
//! and of its words, in which layout does not count. They tell a change of facts from a change of
//! layout.

use std::collections::BTreeMap;
use std::path::Path;

use pcbflow_core::check::CheckResult;
use pcbflow_core::evidence::{Evidence, Signal, Source};
use pcbflow_core::ids::Digest;
use pcbflow_core::ports::{Recovery, StepContext};

use crate::paths;
use crate::rows::probes;
use crate::signals;

/// First part of the names of such records.
pub const PREFIX: &str = "file.";

/// The record of a file's content.
#[must_use]
pub fn of(bytes: &[u8]) -> String {
    format!("{}:{}", Digest::of(bytes), words(bytes))
}

/// Digest of the words of a text: runs of blanks outside quotes count as one.
fn words(bytes: &[u8]) -> Digest {
    let mut out = Vec::with_capacity(bytes.len());
    let (mut quoted, mut escaped) = (false, false);
    for &b in bytes {
        if !quoted && b.is_ascii_whitespace() {
            if out.last() != Some(&b' ') {
                out.push(b' ');
            }
            continue;
        }
        if b == b'"' && !escaped {
            quoted = !quoted;
        }
        escaped = quoted && b == b'\\' && !escaped;
        out.push(b);
    }
    Digest::of(&out)
}

/// What two fresh reads found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// Files whose facts differ from the record, with what would be their record now.
    pub facts: BTreeMap<String, String>,
    /// Files of which only the layout differs.
    pub layout: Vec<String>,
    /// Files that the record has and that are not there.
    pub gone: Vec<String>,
    /// Files of which the two reads do not agree.
    pub unsteady: Vec<String>,
}

fn known(context: &StepContext) -> BTreeMap<&str, &str> {
    // A correction that an earlier rung made stands in the notes and is newer.
    let all = context.records.iter().chain(&context.notes);
    all.filter_map(|(k, v)| Some((k.strip_prefix(PREFIX)?, v.as_str()))).collect()
}

fn read(root: &Path, path: &str) -> Option<String> {
    let real = paths::confined(root, path).ok()?;
    std::fs::read(real).ok().map(|bytes| of(&bytes))
}

/// Reads every recorded file twice and compares.
#[must_use]
pub fn differences(context: &StepContext) -> Difference {
    let mut found = Difference::default();
    let known = known(context);
    let first: Vec<Option<String>> = known.keys().map(|p| read(&context.root, p)).collect();
    for ((path, recorded), first) in known.iter().zip(first) {
        let second = read(&context.root, path);
        let path = (*path).to_owned();
        match (first, second) {
            (a, b) if a != b => found.unsteady.push(path),
            (None, _) => found.gone.push(path),
            (Some(now), _) if now == *recorded => {}
            (Some(now), _) => {
                let same_words =
                    now.split_once(':').map(|n| n.1) == recorded.split_once(':').map(|r| r.1);
                if same_words {
                    found.layout.push(path);
                } else {
                    found.facts.insert(path, now);
                }
            }
        }
    }
    found
}

/// Evidence of a difference, look-alikes included; `None` when all is as recorded.
#[must_use]
pub fn evidence(context: &StepContext) -> Option<Evidence> {
    let found = differences(context);
    let report = |code, list: &[String]| Signal::new(Source::Report, code).text(&list.join(", "));
    let mut differ: Vec<String> = found.facts.keys().cloned().collect();
    differ.extend(found.gone.iter().cloned());
    let mut evidence = Evidence::new(context.step.uses.as_str(), "");
    if !found.unsteady.is_empty() {
        evidence.push(report(signals::MANIFEST_DIFFERS, &found.unsteady));
        evidence.push(report(signals::READS_DISAGREE, &found.unsteady));
    } else if !differ.is_empty() {
        evidence.push(report(signals::MANIFEST_DIFFERS, &differ));
    } else if !found.layout.is_empty() {
        evidence.push(report(signals::MANIFEST_DIFFERS, &found.layout));
        evidence.push(report(signals::LAYOUT_ONLY, &found.layout));
    }
    (!evidence.signals.is_empty()).then_some(evidence)
}

/// Takes the facts over from the board: the corrections are notes of the recovery, and with it
/// in the record.
#[must_use]
pub fn correct(context: &StepContext) -> Recovery {
    let found = differences(context);
    if !found.unsteady.is_empty() {
        return Recovery::not_applicable("two reads of the board do not agree yet");
    }
    if !found.gone.is_empty() {
        return Recovery::not_applicable("the record has files that are not there");
    }
    let mut recovery = Recovery::done(&format!(
        "took over {} from the board",
        found.facts.keys().cloned().collect::<Vec<_>>().join(", ")
    ));
    for (path, now) in &found.facts {
        recovery = recovery.note(&format!("{PREFIX}{path}"), now);
    }
    recovery
}

/// Whether two fresh reads equal the record.
#[must_use]
pub fn equals_live(context: &StepContext) -> CheckResult {
    let probe = probes::MANIFEST_EQUALS_LIVE;
    let found = differences(context);
    if !found.unsteady.is_empty() {
        return CheckResult::could_not_run(probe, "two reads of the board do not agree");
    }
    let mut differ: Vec<String> = found.facts.into_keys().collect();
    differ.extend(found.gone);
    if differ.is_empty() {
        CheckResult::pass(probe)
    } else {
        CheckResult::fail(probe, &format!("{} differ", differ.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_is_told_from_facts() {
        let a = of(b"(a  (b \"x  y\")\n\t(c 1))");
        let same = of(b"(a (b \"x  y\") (c 1))");
        let other = of(b"(a (b \"x y\") (c 1))");
        let half = |r: &str| r.split_once(':').unwrap().1.to_owned();
        assert_ne!(a, same);
        assert_eq!(half(&a), half(&same));
        assert_ne!(half(&a), half(&other), "blanks in quotes count");
        assert_ne!(half(&of(b"\"\\\"  \"")), half(&of(b"\"\\\" \"")), "an escaped quote");
    }
}
