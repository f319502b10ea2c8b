//! A phase whose results are kept without a history, because the person said no to making one.
//!
//! Snapshots stand in for commits. The phase passes under a condition that its verdict names, and
//! nobody is asked again; a history that the person makes takes the results in at the next run.

use pcbflow_core::check::{CheckResult, Finding, FindingSeverity, Limits};
use pcbflow_core::event::RecoveryOutcome;
use pcbflow_core::evidence::Evidence;
use pcbflow_core::manifest::SNAPSHOT_COMMIT;
use pcbflow_core::policy::go_ahead_note;
use pcbflow_core::ports::{Observation, Services, StepContext, StepResult};

use crate::git::{self, PlaceFault, Repo};
use crate::rows::variants;
use crate::subsystem::{keep, snapshots};

/// Record of the board that holds what the person said to a history.
pub const RECORD: &str = "history";
/// Its value after a no.
const DECLINED: &str = "declined";
/// The row whose go-ahead was declined.
const CLASS: &str = "GIT-2";
/// Rule of the finding that makes the verdict conditional.
const RULE: &str = "not_in_a_history";

/// Whether there is no history to commit to.
pub(crate) fn no_repository(context: &StepContext) -> bool {
    matches!(Repo::locate(&context.board_dir), Err(PlaceFault::None { .. }))
}

fn declined(context: &StepContext) -> bool {
    let said = context.notes.get(&go_ahead_note(CLASS)).map(String::as_str);
    let before = context.records.get(RECORD).map(String::as_str);
    match said {
        Some("yes") => false,
        Some("no") => true,
        _ => before == Some(DECLINED),
    }
}

/// Tells a history that was lost from one that nobody ever made: commits of this board are on
/// record.
pub(crate) fn tell_lost(context: &StepContext, evidence: &mut Evidence) {
    let none = evidence.slots.get("variant").is_some_and(|v| v == variants::NO_REPOSITORY);
    let committed = context.records.get("commit").is_some_and(|c| !c.starts_with(SNAPSHOT_COMMIT));
    if none && committed {
        evidence.slots.insert("variant".to_owned(), variants::HISTORY_GONE.to_owned());
    }
}

/// The pass under a condition, where a history was declined and that is what is missing. `None`
/// where something else failed, or the results can't be kept: then the failure stands.
pub(crate) fn pass(
    context: &StepContext,
    services: &Services,
    evidence: &Evidence,
) -> Option<Observation> {
    let missing = evidence.slots.get("variant").map(String::as_str);
    let none = matches!(missing, Some(variants::NO_REPOSITORY | variants::HISTORY_GONE));
    if !none || !declined(context) {
        return None;
    }
    let snapshot = if context.phase_outputs.is_empty() {
        "empty".to_owned()
    } else {
        let kept = keep(context, services, &snapshots(&context.state_dir));
        let id = kept.notes.get("snapshot").filter(|_| kept.outcome == RecoveryOutcome::Done)?;
        id.chars().take(12).collect()
    };
    git::write_status(&git::wanted(context)).ok()?;
    let finding = Finding {
        id: RULE.to_owned(),
        engine: "history".to_owned(),
        rule: RULE.to_owned(),
        severity: FindingSeverity::Warning,
        message: "the results are kept as a snapshot and not in a history: you said no to making \
                  one; 'git init' makes one, and the next run saves them there"
            .to_owned(),
        items: Vec::new(),
        excluded: None,
        apart: false,
    };
    let check = CheckResult::of_findings("outputs kept", vec![finding], Limits::default());
    let mut observation = Observation::of(StepResult::Checked(check));
    observation.summary = "kept as a snapshot, without a history".to_owned();
    observation.records.insert("commit".to_owned(), format!("{SNAPSHOT_COMMIT}{snapshot}"));
    observation.records.insert(RECORD.to_owned(), DECLINED.to_owned());
    Some(observation)
}
