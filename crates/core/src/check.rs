//! Checks and what they saw: three outcomes, findings with stable ids, gates and verdicts.
//!
//! **Invariant.** A check that did not run is [`CheckOutcome::CouldNotRun`]; nothing turns that
//! into a pass. A gate with nothing to look at is [`Gate::Empty`], never [`Gate::Pass`].

use serde::{Deserialize, Serialize};

/// Most findings kept of one check; the counts are always complete.
pub const FINDINGS_MAX: usize = 20_000;

/// What a check saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// It ran and all is as wanted.
    Pass,
    /// It ran and something is not as wanted.
    Fail,
    /// It did not run, or its result can't be trusted. Nothing is known.
    CouldNotRun,
}

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingSeverity {
    /// Counts against the `errors` limit.
    Error,
    /// Counts against the `warnings` limit.
    Warning,
}

/// One thing that a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FindingItem {
    /// What the tool calls it, control codes removed.
    pub text: String,
    /// Id of the object in the design file, empty when the tool gives none.
    pub uuid: String,
    /// Place in nanometres, if known.
    pub at_nm: Option<(i64, i64)>,
    /// Part reference such as `U7`, if it belongs to a part.
    pub part: Option<String>,
    /// Net name, if it belongs to a net.
    pub net: Option<String>,
}

/// One finding of a check.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finding {
    /// Stable id: the same finding has the same id in the next run, whatever its position in the
    /// report. Made of engine, rule and items; a count is appended to equal ones.
    pub id: String,
    /// Who found it: `drc`, `erc`, `parity`, `compare`, `export`.
    pub engine: String,
    /// The rule's type, such as `clearance`.
    pub rule: String,
    /// How bad.
    pub severity: FindingSeverity,
    /// What the tool says, control codes removed.
    pub message: String,
    /// What it is about.
    pub items: Vec<FindingItem>,
    /// The person's own exclusion, with its comment.
    pub excluded: Option<String>,
    /// Depends on the machine's libraries (`lib_*`): listed apart, never decides a verdict unless
    /// asked to.
    pub apart: bool,
}

/// Numbers of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Errors that count.
    pub errors: u32,
    /// Warnings that count.
    pub warnings: u32,
    /// Findings that a person excluded.
    pub excluded: u32,
    /// Findings listed apart (`lib_*`).
    pub apart: u32,
}

impl Counts {
    /// Counts of a list of findings.
    #[must_use]
    pub fn of(findings: &[Finding]) -> Counts {
        let mut counts = Counts::default();
        for f in findings {
            let slot = match (&f.excluded, f.apart, f.severity) {
                (Some(_), _, _) => &mut counts.excluded,
                (None, true, _) => &mut counts.apart,
                (None, false, FindingSeverity::Error) => &mut counts.errors,
                (None, false, FindingSeverity::Warning) => &mut counts.warnings,
            };
            *slot = slot.saturating_add(1);
        }
        counts
    }

    /// The sum of two counts.
    #[must_use]
    pub fn plus(self, other: Counts) -> Counts {
        Counts {
            errors: self.errors.saturating_add(other.errors),
            warnings: self.warnings.saturating_add(other.warnings),
            excluded: self.excluded.saturating_add(other.excluded),
            apart: self.apart.saturating_add(other.apart),
        }
    }
}

/// Limit on a kind of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Any number is below the limit: they are listed and never fail the gate.
    Any,
    /// At most this many.
    AtMost(u32),
}

impl Limit {
    /// Whether `n` findings are within the limit.
    #[must_use]
    pub fn allows(self, n: u32) -> bool {
        match self {
            Limit::Any => true,
            Limit::AtMost(most) => n <= most,
        }
    }
}

/// Limits under which a step's gate lets the phase go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Limits {
    /// On errors; default none.
    pub errors: Limit,
    /// On warnings; default any.
    pub warnings: Limit,
    /// Findings listed apart count as well.
    pub include_apart: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { errors: Limit::AtMost(0), warnings: Limit::Any, include_apart: false }
    }
}

/// Result of one check of one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    /// Name of the check, such as `report_clean` or a probe's name.
    pub name: String,
    /// What it saw.
    pub outcome: CheckOutcome,
    /// In words: why it failed or could not run; empty on a plain pass.
    pub reason: String,
    /// Complete counts.
    pub counts: Counts,
    /// The findings, at most [`FINDINGS_MAX`].
    pub findings: Vec<Finding>,
    /// There was nothing to look at (no parts, no copper): the gate is EMPTY.
    pub empty: bool,
}

impl CheckResult {
    /// A pass without findings.
    #[must_use]
    pub fn pass(name: &str) -> CheckResult {
        CheckResult {
            name: name.to_owned(),
            outcome: CheckOutcome::Pass,
            reason: String::new(),
            counts: Counts::default(),
            findings: Vec::new(),
            empty: false,
        }
    }

    /// A fail, with the reason.
    #[must_use]
    pub fn fail(name: &str, reason: &str) -> CheckResult {
        CheckResult {
            outcome: CheckOutcome::Fail,
            reason: reason.to_owned(),
            ..CheckResult::pass(name)
        }
    }

    /// It could not run, with the reason.
    #[must_use]
    pub fn could_not_run(name: &str, reason: &str) -> CheckResult {
        CheckResult {
            outcome: CheckOutcome::CouldNotRun,
            reason: reason.to_owned(),
            ..CheckResult::pass(name)
        }
    }

    /// A check that ran and whose findings are held against the limits.
    #[must_use]
    pub fn of_findings(name: &str, mut findings: Vec<Finding>, limits: Limits) -> CheckResult {
        let counts = Counts::of(&findings);
        findings.truncate(FINDINGS_MAX);
        let mut result = CheckResult { counts, findings, ..CheckResult::pass(name) };
        if result.over(limits) {
            result.outcome = CheckOutcome::Fail;
            result.reason = format!("{} errors, {} warnings", counts.errors, counts.warnings);
        }
        result
    }

    fn over(&self, limits: Limits) -> bool {
        let apart = if limits.include_apart { self.counts.apart } else { 0 };
        !limits.errors.allows(self.counts.errors)
            || !limits.warnings.allows(self.counts.warnings.saturating_add(apart))
    }

    /// The gate that follows.
    #[must_use]
    pub fn gate(&self) -> Gate {
        match self.outcome {
            CheckOutcome::CouldNotRun => Gate::Blocked,
            _ if self.empty => Gate::Empty,
            CheckOutcome::Fail => Gate::Fail,
            CheckOutcome::Pass if self.counts.errors + self.counts.warnings > 0 => Gate::Warn,
            CheckOutcome::Pass => Gate::Pass,
        }
    }
}

/// Result of a step's gate, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// All as wanted.
    Pass,
    /// Only findings below the step's limits.
    Warn,
    /// Findings at or above a limit.
    Fail,
    /// Nothing to look at.
    Empty,
    /// Could not run.
    Blocked,
}

impl Gate {
    /// Whether the phase may go on.
    #[must_use]
    pub fn advances(self) -> bool {
        matches!(self, Gate::Pass | Gate::Warn)
    }
}

/// Verdict on a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PhaseVerdict {
    /// Every gate passed.
    Pass,
    /// Only findings below the limits; they are listed.
    Conditional,
    /// Findings at or above a limit.
    Fail,
    /// Nothing is known yet: something could not run, an ask is open, a budget is used up.
    Pending,
}

impl PhaseVerdict {
    /// The verdict that follows from the gates of all steps of a phase. No gate at all is
    /// [`PhaseVerdict::Pending`]: a phase that looked at nothing has passed nothing.
    #[must_use]
    pub fn of(gates: impl IntoIterator<Item = Gate>) -> PhaseVerdict {
        match gates.into_iter().max() {
            None | Some(Gate::Empty | Gate::Blocked) => PhaseVerdict::Pending,
            Some(Gate::Fail) => PhaseVerdict::Fail,
            Some(Gate::Warn) => PhaseVerdict::Conditional,
            Some(Gate::Pass) => PhaseVerdict::Pass,
        }
    }

    /// Whether the next phase may start.
    #[must_use]
    pub fn advances(self) -> bool {
        matches!(self, PhaseVerdict::Pass | PhaseVerdict::Conditional)
    }

    /// The word in events, `status:` and output.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            PhaseVerdict::Pass => "PASS",
            PhaseVerdict::Conditional => "CONDITIONAL",
            PhaseVerdict::Fail => "FAIL",
            PhaseVerdict::Pending => "PENDING",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(severity: FindingSeverity, apart: bool, excluded: bool) -> Finding {
        Finding {
            id: "x".into(),
            engine: "drc".into(),
            rule: "r".into(),
            severity,
            message: String::new(),
            items: Vec::new(),
            excluded: excluded.then(String::new),
            apart,
        }
    }

    #[test]
    fn what_did_not_run_is_never_a_pass() {
        assert_eq!(CheckResult::could_not_run("c", "why").gate(), Gate::Blocked);
        let empty = CheckResult { empty: true, ..CheckResult::pass("c") };
        assert_eq!(empty.gate(), Gate::Empty);
        assert_eq!(PhaseVerdict::of([]), PhaseVerdict::Pending);
        assert_eq!(PhaseVerdict::of([Gate::Pass, Gate::Blocked]), PhaseVerdict::Pending);
        assert_eq!(PhaseVerdict::of([Gate::Fail, Gate::Empty]), PhaseVerdict::Pending);
    }

    #[test]
    fn findings_against_limits() {
        use FindingSeverity::{Error, Warning};
        let limits = Limits::default();
        let gate = |list: Vec<Finding>, l| CheckResult::of_findings("c", list, l).gate();
        assert_eq!(gate(vec![], limits), Gate::Pass);
        assert_eq!(gate(vec![finding(Warning, false, false)], limits), Gate::Warn);
        assert_eq!(gate(vec![finding(Error, false, false)], limits), Gate::Fail);
        assert_eq!(gate(vec![finding(Error, false, true)], limits), Gate::Pass, "excluded");
        assert_eq!(gate(vec![finding(Warning, true, false)], limits), Gate::Pass, "apart");
        let strict = Limits { warnings: Limit::AtMost(0), include_apart: true, ..limits };
        assert_eq!(gate(vec![finding(Warning, true, false)], strict), Gate::Fail);
        assert_eq!(PhaseVerdict::of([Gate::Pass, Gate::Warn]), PhaseVerdict::Conditional);
    }
}
