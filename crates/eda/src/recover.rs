//! What the rungs of the ladders do, and the probes that prove them.

use pcbflow_core::check::CheckResult;
use pcbflow_core::ports::Recovery;

use crate::steps::Step;

/// Carries out the action of a rung.
pub(crate) async fn act(_step: &mut Step<'_>, class: &str, action: &str) -> Recovery {
    Recovery::not_applicable(&format!("{class} has no action {action} in this release"))
}

/// Runs a probe.
pub(crate) async fn look(_step: &mut Step<'_>, probe: &str) -> CheckResult {
    CheckResult::could_not_run(probe, "this probe comes with a later release")
}
