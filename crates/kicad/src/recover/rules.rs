//! KI-6: check with the rule set on record, in a private copy.

use pcbflow_core::ports::{Recovery, Services, StepContext};

use crate::file::board::Board;
use crate::file::rules::lint;
use crate::file::schematic::Hierarchy;
use crate::steps::project::Project;
use crate::steps::rulesets::{NOTE_RULESET, RECORDED};
use crate::steps::stop::{Session, Stop};

/// Arguments that name the project.
pub(super) const PROJECT_ARGS: [&str; 3] = ["board", "schematic", "project"];

/// The project of a step.
pub(super) fn project_of(session: &Session<'_>) -> Result<Project, Stop> {
    let named = |a: &&str| session.context.step.arg_str(a).is_some();
    let arg = PROJECT_ARGS.into_iter().find(named).unwrap_or("board");
    Project::of_arg(session, arg).map(|(project, _)| project)
}

/// Lets the next attempts check with the recorded rule set. The engineer's own project file is
/// not touched. Every attempt works on a fresh private copy, so for a report that could not be
/// trusted with sound rules a new attempt is all that is needed.
pub(super) fn copy_with_rules(context: &StepContext, services: &Services) -> Recovery {
    let session = Session::new(context, services);
    let Ok(project) = project_of(&session) else {
        return Recovery::not_applicable("the step names no project");
    };
    let sheet = project.beside("kicad_sch");
    if sheet.exists() && !Hierarchy::read(&sheet).problems.is_empty() {
        return Recovery::not_applicable("a sheet of the schematic is missing; rules do not help");
    }
    // A new rule with a typing error must not be checked away by rules from before it.
    let custom = project.custom_rules().ok().flatten();
    if !custom.as_ref().is_none_or(|bytes| is_sound(bytes, &project)) {
        return Recovery::not_applicable("the custom rules have a fault that a person must mend");
    }
    let recorded = project.recorded_rules(&context.records, services.blobs.as_ref());
    let now = project.rule_set();
    match (recorded, now) {
        (Some(was), Some(now)) if was.loosened(&now).is_empty() => {
            Recovery::done("the rules are sound; the check runs in a new private copy")
        }
        // Changed both ways, or in a way that can't be compared: the old set would hide what the new
        // one asks for.
        (Some(was), Some(now)) if !was.stands_for(&now) => Recovery::not_applicable(
            "the rules were changed, and the recorded ones ask for less in something",
        ),
        (Some(_), _) => {
            Recovery::done("the next check runs in a private copy with the recorded rule set")
                .note(NOTE_RULESET, RECORDED)
        }
        (None, Some(_)) if !sheet_missing(&session, &project) => {
            Recovery::done("the rules are sound; the check runs in a new private copy")
        }
        (None, _) => Recovery::not_applicable("no rule set is on record for this board"),
    }
}

/// Whether the schematic that parity needs is not there.
fn sheet_missing(session: &Session<'_>, project: &Project) -> bool {
    session.context.step.uses.as_str() == "kicad/drc"
        && crate::steps::args::flag(&session.context.step, "parity", true)
        && !project.beside("kicad_sch").exists()
}

/// Whether the custom rules are sound on this board, whose layers have names of their own.
fn is_sound(rules: &[u8], project: &Project) -> bool {
    let layers: Vec<String> = Board::read(&project.beside("kicad_pcb"))
        .map(|board| board.layers.into_iter().flat_map(|l| [Some(l.name), l.user_name]))
        .map(|names| names.flatten().collect())
        .unwrap_or_default();
    lint(rules, u32::MAX, &layers).is_sound()
}
