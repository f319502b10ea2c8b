//! Were the board's own rules in force? What the files say before a check, and what a report
//! betrays afterwards.

use std::collections::{BTreeMap, BTreeSet};

use pcbflow_core::evidence::{Signal, Source};
use pcbflow_core::ids::Digest;
use pcbflow_core::ports::Blobs;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Report;
use crate::file::Nm;
use crate::file::project::{ProjectRules, ProjectState};
use crate::file::rules::{RuleFault, lint};
use crate::signals;

/// First part of the name of the record that holds the digest of a [`RuleSetBlob`]; the project
/// follows, since one manifest may have several. Alone it is the name that older releases gave it.
pub const RULESET_RECORD: &str = "kicad.ruleset";
/// Name of the stored rule set, for people.
const RULESET_NAME: &str = "ruleset.json";
/// Form of the stored rule set.
const RULESET_FORM: u32 = 1;

/// A recorded rule set: the project file and the custom rules, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleSetBlob {
    /// Form of this record.
    pub form: u32,
    /// Text of the `.kicad_pro`.
    pub project: String,
    /// Text of the `.kicad_dru`, if there was one.
    pub rules: Option<String>,
}

impl RuleSetBlob {
    /// A rule set of these files; `None` if the project file is not sound.
    #[must_use]
    pub fn of(project: &[u8], rules: Option<&[u8]>) -> Option<RuleSetBlob> {
        if !ProjectState::of_bytes(project).is_ok() {
            return None;
        }
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        let rules = match rules {
            Some(bytes) => Some(text(bytes)?),
            None => None,
        };
        Some(RuleSetBlob { form: RULESET_FORM, project: text(project)?, rules })
    }

    /// The set without custom rules of which nothing shows that KiCad uses them: with a fault, or
    /// with a property that may be misspelt, which stops all rules in KiCad 10.
    #[must_use]
    pub fn without_doubtful_rules(mut self) -> RuleSetBlob {
        self.rules = self.rules.filter(|rules| {
            can_be_in_force(rules)
                && lint(rules.as_bytes(), u32::MAX, &[]).odd_properties.is_empty()
        });
        self
    }

    /// Stores it and gives the record of this name.
    #[must_use]
    pub fn record(&self, name: &str, blobs: &dyn Blobs) -> BTreeMap<String, String> {
        let stored = serde_json::to_vec(self)
            .map_err(|e| e.to_string())
            .and_then(|bytes| blobs.put(RULESET_NAME, &bytes).map_err(|e| e.to_string()));
        match stored {
            // A blob that the store cut can't be put back.
            Ok(blob) if blob.bytes == blob.true_bytes => {
                BTreeMap::from([(name.to_owned(), blob.digest.to_string())])
            }
            Ok(_) => BTreeMap::new(),
            Err(error) => {
                tracing::warn!(%error, "the rule set could not be recorded");
                BTreeMap::new()
            }
        }
    }

    /// Reads the rule set in the record of this name, if there is one and it is whole. Custom rules
    /// with a fault were never in force, so they are nothing to hold later rules against.
    #[must_use]
    pub fn recorded(
        records: &BTreeMap<String, String>,
        name: &str,
        blobs: &dyn Blobs,
    ) -> Option<RuleSetBlob> {
        let digest: Digest = records.get(name)?.parse().ok()?;
        let mut set: RuleSetBlob = serde_json::from_slice(&blobs.get(&digest).ok()?).ok()?;
        set.rules = set.rules.filter(|rules| can_be_in_force(rules));
        (set.form == RULESET_FORM && ProjectState::of_bytes(set.project.as_bytes()).is_ok())
            .then_some(set)
    }

    /// Whether the project file says that it is another project's. KiCad writes its name into it.
    #[must_use]
    pub fn is_of_another(&self, project_file: &str) -> bool {
        let json: Option<Value> = serde_json::from_str(&self.project).ok();
        let name = json.as_ref().and_then(|j| j.pointer("/meta/filename")?.as_str());
        name.is_some_and(|name| !name.is_empty() && name != project_file)
    }

    /// Whether other custom rules hold every rule of this set.
    #[must_use]
    pub fn rules_kept_in(&self, other: &str) -> bool {
        let kept = rule_texts(other);
        rule_texts(self.rules.as_deref().unwrap_or_default()).is_subset(&kept)
    }

    /// Whether this set may stand for `now`: it asks for no less in anything. A set that was changed
    /// both ways stands for neither.
    #[must_use]
    pub fn stands_for(&self, now: &RuleSetBlob) -> bool {
        now.loosened(self).is_empty()
    }

    /// What may be looser in `now` than in this recorded set: limits and classes that ask for less,
    /// severities that were lowered, custom rules that are gone or can't be compared. Stricter
    /// limits, new rules and exclusions are the engineer's everyday work and are not listed.
    #[must_use]
    pub fn loosened(&self, now: &RuleSetBlob) -> Vec<String> {
        let (ProjectState::Ok(old), ProjectState::Ok(new)) = (
            ProjectState::of_bytes(self.project.as_bytes()),
            ProjectState::of_bytes(now.project.as_bytes()),
        ) else {
            return Vec::new();
        };
        let mut list = looser_limits(&old, &new);
        list.extend(looser_classes(&old, &new));
        list.extend(looser_severities(&old, &new));
        let text = |set: &'_ RuleSetBlob| set.rules.clone().unwrap_or_default();
        list.extend(super::strict::gone_or_changed(&text(self), &text(now)));
        list
    }
}

/// Whether KiCad can have used these custom rules. Names of layers are the board's own and are not
/// looked at.
fn can_be_in_force(rules: &str) -> bool {
    let of_layer =
        |fault: &RuleFault| matches!(fault, RuleFault::UnknownWord { place: "layer", .. });
    lint(rules.as_bytes(), u32::MAX, &[]).problems.iter().all(|p| of_layer(&p.fault))
}

fn looser_limits(old: &ProjectRules, new: &ProjectRules) -> Vec<String> {
    let lower = |(name, was): (&String, &Nm)| {
        let is = new.limits.get(name);
        let shown = is.map_or_else(|| "KiCad's own".to_owned(), ToString::to_string);
        (name.starts_with("min_") && is.is_none_or(|is| is < was))
            .then(|| format!("{name} {was} -> {shown}"))
    };
    old.limits.iter().filter_map(lower).collect()
}

fn looser_classes(old: &ProjectRules, new: &ProjectRules) -> Vec<String> {
    let mut list = Vec::new();
    for class in &old.classes {
        let Some(now) = new.classes.iter().find(|c| c.name == class.name) else {
            list.push(format!("net class {} is gone", class.name));
            continue;
        };
        for (what, was, is) in [("clearance", class.clearance, now.clearance)] {
            if is < was {
                let show = |nm: Option<Nm>| nm.map_or_else(|| "none".to_owned(), Nm::to_mm);
                list.push(format!("{} {what} {} -> {}", class.name, show(was), show(is)));
            }
        }
    }
    list
}

fn looser_severities(old: &ProjectRules, new: &ProjectRules) -> Vec<String> {
    let rank = |word: &String| match word.as_str() {
        "error" => 2,
        "warning" => 1,
        _ => 0,
    };
    let pairs = [(&old.severities, &new.severities), (&old.erc_severities, &new.erc_severities)];
    let lower = |(was, is): (&BTreeMap<String, String>, &BTreeMap<String, String>)| {
        was.iter()
            .filter_map(|(check, old)| {
                let now = is.get(check)?;
                (rank(now) < rank(old)).then(|| format!("{check} {old} -> {now}"))
            })
            .collect::<Vec<_>>()
    };
    pairs.into_iter().flat_map(lower).collect()
}

/// The rules of a `.kicad_dru`, blanks collapsed.
fn rule_texts(text: &str) -> BTreeSet<String> {
    let Ok(doc) = crate::sexpr::Document::parse(text.as_bytes().to_vec()) else {
        return BTreeSet::new();
    };
    doc.top()
        .filter(|n| n.head() == b"rule")
        .map(|n| {
            String::from_utf8_lossy(n.bytes()).split_whitespace().collect::<Vec<_>>().join(" ")
        })
        .collect()
}

/// The signal for a project file that would leave the check without rules; `None` when it is sound.
#[must_use]
pub fn project_signal(state: &ProjectState, name: &str) -> Option<Signal> {
    let code = match state {
        ProjectState::Ok(_) => return None,
        ProjectState::Missing => signals::PRO_MISSING,
        ProjectState::Empty => signals::PRO_EMPTY,
        ProjectState::LinkAsText { .. } => signals::PRO_LINK_TEXT,
        ProjectState::WithoutRules { .. } => signals::PRO_WITHOUT_RULES,
        _ => signals::PRO_UNREADABLE,
    };
    Some(Signal::new(Source::File, code).text(name))
}

/// KiCad's default numbers as findings repeat them, and the limit of the project that they would
/// come from: type of the finding, words before the number, name of the limit, default in
/// nanometres. Measured with 9.0.8 and 10.0.6.
const DEFAULTS: &[(&str, &str, &str, i64)] = &[
    ("clearance", "board setup constraints clearance ", "min_clearance", 0),
    ("via_diameter", "board setup constraints min diameter ", "min_via_diameter", 500_000),
    (
        "drill_out_of_range",
        "board setup constraints min hole ",
        "min_through_hole_diameter",
        300_000,
    ),
    (
        "annular_width",
        "board setup constraints min annular width ",
        "min_via_annular_width",
        100_000,
    ),
    ("hole_clearance", "board setup constraints hole clearance ", "min_hole_clearance", 250_000),
    (
        "copper_edge_clearance",
        "board setup constraints edge clearance ",
        "min_copper_edge_clearance",
        500_000,
    ),
    ("track_width", "board setup constraints min width ", "min_track_width", 200_000),
];
/// Words before the clearance of the default net class, whose name is left blank.
const DEFAULT_CLASS: &str = "Clearance violation ( clearance ";
/// Checks that are off without a project.
const OFF_BY_DEFAULT: &[&str] = &[
    "missing_courtyard",
    "track_not_centered_on_via",
    "tuning_profile_track_geometries",
    "footprint_filters_mismatch",
    "footprint_type_mismatch",
];

/// Looks for numbers in a report that are KiCad's defaults where the project has others, and for
/// a list of ignored checks that is not the project's.
#[must_use]
pub fn betrayed_defaults(report: &Report, rules: &ProjectRules) -> Option<Signal> {
    let said =
        |what: String| Some(Signal::new(Source::Report, signals::DEFAULT_RULES_USED).text(&what));
    for entry in report.entries() {
        for (kind, words, limit, default) in DEFAULTS {
            let Some(number) = number_after(&entry.description, words) else { continue };
            let own = rules.limits.get(*limit).map(|nm| nm.0);
            if entry.kind == *kind && number == *default && own.is_some_and(|n| n != *default) {
                return said(format!("{limit}: {}", entry.description));
            }
        }
        let class = rules.classes.iter().find(|c| c.name == "Default").and_then(|c| c.clearance);
        if let (Some(number), Some(class)) =
            (number_after(&entry.description, DEFAULT_CLASS), class)
            && number == 200_000
            && class.0 != number
        {
            return said(format!("clearance of the default class: {}", entry.description));
        }
    }
    let off: BTreeSet<&str> = report.ignored_checks.iter().map(|c| c.key.as_str()).collect();
    let wanted: BTreeSet<&str> = rules.ignored_checks().collect();
    let telling = wanted.iter().any(|c| !OFF_BY_DEFAULT.contains(c));
    if !off.is_empty() && telling && off.is_disjoint(&wanted) {
        return said("the checks that are switched off are not the project's".to_owned());
    }
    None
}

/// The number in millimetres after some words, in nanometres.
fn number_after(text: &str, words: &str) -> Option<i64> {
    let rest = text.split_once(words)?.1;
    let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
    Nm::from_mm(rest.get(..end)?.as_bytes()).map(|nm| nm.0)
}

/// Most findings of one type in a report; the count of a type that reaches it is "at least".
#[must_use]
pub fn cap_of(kind: &str) -> usize {
    if kind == "clearance" { 499 } else { 199 }
}

/// Types whose count reached the cap.
#[must_use]
pub fn capped(report: &Report) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in report.entries() {
        *counts.entry(entry.kind.as_str()).or_default() += 1;
    }
    counts.into_iter().filter(|(k, n)| *n >= cap_of(k)).map(|(k, _)| k.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(clearance: &str, limit: &str, severity: &str) -> String {
        format!(
            r#"{{"board":{{"design_settings":{{"rules":{{"min_track_width":{limit}}},"rule_severities":{{"courtyards_overlap":"{severity}"}}}}}},
            "net_settings":{{"classes":[{{"name":"Default","clearance":{clearance}}}]}}}}"#
        )
    }

    #[test]
    fn only_what_asks_for_less_counts_as_loosened() {
        let set = |text: &str, rules: Option<&str>| {
            RuleSetBlob::of(text.as_bytes(), rules.map(str::as_bytes)).unwrap()
        };
        let rule = "(version 1)\n(rule hv (constraint clearance (min 2mm)))";
        let old = set(&project("0.2", "0.15", "error"), Some(rule));
        assert!(old.loosened(&old).is_empty());
        let stricter = set(&project("0.3", "0.2", "error"), Some(&format!("{rule}\n(rule x)")));
        assert!(old.loosened(&stricter).is_empty());
        let looser = set(&project("0.1", "0.1", "ignore"), None);
        assert_eq!(
            old.loosened(&looser),
            [
                "min_track_width 0.15 mm -> 0.1 mm",
                "Default clearance 0.2 -> 0.1",
                "courtyards_overlap error -> ignore",
                "custom rule hv is gone"
            ]
        );
        assert!(old.stands_for(&looser) && !old.stands_for(&stricter) && old.stands_for(&old));
        let mixed = set(&project("0.3", "0.1", "error"), Some(rule));
        assert!(!old.loosened(&mixed).is_empty() && !old.stands_for(&mixed));
    }

    #[test]
    fn numbers_in_descriptions() {
        let text = "Clearance violation ( clearance 0.2000 mm; actual 0.1500 mm)";
        assert_eq!(number_after(text, DEFAULT_CLASS), Some(200_000));
        assert_eq!(number_after("x", DEFAULT_CLASS), None);
    }
}
