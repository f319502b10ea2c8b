//! Lists that KiCad ended at its own limit: there may be more findings than they hold, and worse ones.

use pcbflow_core::check::{CheckOutcome, CheckResult, Finding, FindingSeverity, Limit, Limits};

use super::rules::cap_of;

/// Rule of the findings.
pub const RULE: &str = "pcbflow_list_full";

/// One warning for each full list of which a person excluded everything that is in it: what did not
/// fit was never seen by anybody.
#[must_use]
pub fn of_hidden(full: &[String], found: &[Finding]) -> Vec<Finding> {
    let excluded =
        |kind: &&String| found.iter().filter(|f| f.rule == **kind).all(|f| f.excluded.is_some());
    let one = |kind: &String| Finding {
        id: format!("drc:{RULE}:{kind}"),
        engine: "drc".to_owned(),
        rule: RULE.to_owned(),
        severity: FindingSeverity::Warning,
        message: format!(
            "KiCad lists no more than {} findings of the type '{kind}'; all of them are excluded, \
             and there may be more",
            cap_of(kind)
        ),
        items: Vec::new(),
        excluded: None,
        apart: false,
    };
    full.iter().filter(excluded).map(one).collect()
}

/// Says which lists are full. A limit that counts what such a list holds is not shown to be kept.
pub fn judge(result: &mut CheckResult, limits: Limits, full: &[String]) {
    if full.is_empty() {
        return;
    }
    let counted = |severity, limit| {
        limit != Limit::Any
            && result.findings.iter().any(|f| {
                let counts = f.excluded.is_none() && (!f.apart || limits.include_apart);
                counts && f.severity == severity && full.contains(&f.rule)
            })
    };
    if counted(FindingSeverity::Error, limits.errors)
        || counted(FindingSeverity::Warning, limits.warnings)
    {
        result.outcome = CheckOutcome::Fail;
    }
    let note = format!("at least so many of: {}", full.join(", "));
    let parts = [std::mem::take(&mut result.reason), note];
    result.reason = parts.into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join("; ");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(rule: &str, excluded: bool) -> Finding {
        Finding {
            id: rule.to_owned(),
            engine: "drc".to_owned(),
            rule: rule.to_owned(),
            severity: FindingSeverity::Warning,
            message: String::new(),
            items: Vec::new(),
            excluded: excluded.then(String::new),
            apart: false,
        }
    }

    #[test]
    fn what_a_full_list_may_hide_is_never_clean() {
        let full = ["silk_overlap".to_owned()];
        let hidden = of_hidden(&full, &[finding("silk_overlap", true)]);
        assert_eq!(hidden[0].severity, FindingSeverity::Warning);
        let mixed = [finding("silk_overlap", true), finding("silk_overlap", false)];
        assert!(of_hidden(&full, &mixed).is_empty());
    }

    #[test]
    fn a_limit_is_not_kept_by_a_full_list() {
        let full = ["silk_overlap".to_owned()];
        let of = |warnings, full: &[String]| {
            let limits = Limits { warnings, ..Limits::default() };
            let found = vec![finding("silk_overlap", false)];
            let mut result = CheckResult::of_findings("x", found, limits);
            judge(&mut result, limits, full);
            result
        };
        assert_eq!(of(Limit::AtMost(500), &full).outcome, CheckOutcome::Fail);
        assert!(of(Limit::AtMost(500), &full).reason.contains("at least"));
        assert_eq!(of(Limit::AtMost(500), &[]).outcome, CheckOutcome::Pass);
        assert_eq!(of(Limit::Any, &full).outcome, CheckOutcome::Pass);
    }
}
