//! Violations that the tool counts and does not list.
//!
//! Measured with kicad-cli 9.0.8 and 10.0.6: a text variable of the drawing frame that has no value is counted on standard
//! output and in the text report ("[unresolved_variable]", an error), and is not in the JSON report of the same run. A
//! board with such a frame would look clean. So when more was counted than is listed, a text report is asked for, and
//! what it has more, type by type, is listed here. Where that does not add up, the report is cut.

use std::collections::BTreeMap;

use pcbflow_core::evidence::{Signal, Source};

use crate::report::{Entry, Report};
use crate::signals;

/// Largest number of violations that a text report may add; more is no slip of the tool's.
const UNLISTED_MAX: usize = 1_000;

/// The violations of a text report: from its first heading that counts to the next.
fn entries(text: &str) -> Option<(usize, Vec<Entry>)> {
    let mut lines = text.lines();
    let said = lines.by_ref().find_map(|line| {
        let rest = line.strip_prefix("** Found ")?.strip_suffix(" DRC violations **")?;
        rest.parse().ok()
    })?;
    let mut found: Vec<Entry> = Vec::new();
    for line in lines.take_while(|line| !line.starts_with("** ")) {
        let heading = line.strip_prefix('[').and_then(|rest| rest.split_once("]: "));
        if let Some((kind, description)) = heading {
            found.push(Entry {
                kind: kind.to_owned(),
                // Until its own line says so: the worse one.
                severity: "error".to_owned(),
                description: description.to_owned(),
                items: Vec::new(),
                excluded: false,
                comment: String::new(),
            });
        } else if let (Some((_, severity)), Some(last)) =
            (line.strip_prefix("    ").and_then(|rest| rest.split_once("; ")), found.last_mut())
            && !line.trim_start().starts_with('@')
        {
            last.excluded = severity.contains("excluded");
            if severity.starts_with("warning") {
                last.severity = "warning".to_owned();
            }
        }
    }
    Some((said, found))
}

/// What a text report of the same check has more than the JSON report, which lacks `missing` of them.
///
/// # Errors
/// The signal of a cut report, when the two do not add up.
pub(crate) fn of_text(text: &str, report: &Report, missing: usize) -> Result<Vec<Entry>, Signal> {
    let cut = |what: &str| Signal::new(Source::Report, signals::REPORT_CUT).text(what);
    let (said, all) = entries(text).ok_or_else(|| cut("the text report counts nothing"))?;
    let listed = report.violations.as_ref().map_or(0, Vec::len);
    if said != all.len() || said != listed + missing || missing > UNLISTED_MAX {
        let what = format!("{said} violations in the text report, {listed} in the other");
        return Err(cut(&what));
    }
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in report.violations.iter().flatten() {
        *left.entry(&entry.kind).or_default() += 1;
    }
    // Of one type, those that come last are taken for the ones that are not listed; what stands in
    // both has its items from the other report.
    let mut more = Vec::new();
    for entry in all {
        match left.get_mut(entry.kind.as_str()) {
            Some(count) if *count > 0 => *count -= 1,
            _ => more.push(entry),
        }
    }
    match more.len() == missing {
        true => Ok(more),
        false => Err(cut("the two reports have other types of violations")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "** Drc report for b.kicad_pcb **\n** Report includes: Errors, Warnings **\n\n** Found 3 DRC violations **\n[unresolved_variable]: Unresolved text variable\n    Local override; error\n[silk_overlap]: Silk; here\n    Local override; warning\n    @(1.0 mm, 2.0 mm): Text; x\n[silk_overlap]: Silk\n    Rule: x; warning (excluded)\n\n** Found 0 unconnected pads **\n[not_ours]: x\n";

    fn report(kinds: &[&str]) -> Report {
        let entries: Vec<String> = kinds
            .iter()
            .map(|kind| format!(r#"{{"type":"{kind}","severity":"warning"}}"#))
            .collect();
        let list = entries.join(",");
        serde_json::from_str(&format!(r#"{{"source":"","date":"","violations":[{list}]}}"#))
            .unwrap()
    }

    #[test]
    fn what_is_counted_and_not_listed_is_found() {
        let more = of_text(TEXT, &report(&["silk_overlap", "silk_overlap"]), 1).unwrap();
        assert_eq!(
            (more[0].kind.as_str(), more[0].severity.as_str()),
            ("unresolved_variable", "error")
        );
        let more = of_text(TEXT, &report(&["unresolved_variable", "silk_overlap"]), 1).unwrap();
        assert_eq!((more[0].severity.as_str(), more[0].excluded), ("warning", true));
    }

    #[test]
    fn what_does_not_add_up_is_cut() {
        let fault = |text: &str, kinds: &[&str], missing| {
            of_text(text, &report(kinds), missing).unwrap_err().code
        };
        let cut = signals::REPORT_CUT;
        assert_eq!(fault("", &[], 1), cut);
        assert_eq!(fault(TEXT, &["silk_overlap"], 1), cut);
        assert_eq!(fault(TEXT, &["clearance", "clearance"], 1), cut);
        assert_eq!(fault(&TEXT.replace("[silk_overlap]: Silk\n", ""), &["silk_overlap"], 1), cut);
    }
}
