//! What KiCad's ladders do, and the probes that prove a cure. No action judges its own success:
//! the probes read everything anew.

mod holes;
mod probes;
mod remap;
mod rules;
mod sample;
mod tools;

use pcbflow_core::check::CheckResult;
use pcbflow_core::ports::{Recovery, Services, StepContext};

use crate::cli::find::FindEnv;
use crate::rows::{actions, probes as names};

/// Class whose look-ups this crate carries out for its own steps: KiCad missing.
const KICAD_MISSING: &str = "ENV-4";

/// Whether an action or probe of another family is carried out here for KiCad's steps.
#[must_use]
pub fn handles(class: &str, action: &str) -> bool {
    class == KICAD_MISSING && [actions::FIND_IN_KNOWN_PLACES, names::KICAD_USABLE].contains(&action)
}

/// Carries out the action of a rung.
pub async fn recover(
    env: &FindEnv,
    context: &StepContext,
    services: &Services,
    action: &str,
) -> Recovery {
    match action {
        actions::FIND_IN_KNOWN_PLACES => tools::find(env, context, services).await,
        actions::USE_OTHER_VERSION => tools::other_version(env, context, services).await,
        actions::COPY_WITH_RULES => rules::copy_with_rules(context, services),
        actions::ONE_PROCESS_PER_CHANGE => Recovery::not_applicable("the step changes nothing"),
        actions::OTHER_ROUTE => tools::other_route(env, context, services).await,
        actions::REMAP_FOOTPRINTS => remap::remap(env, context, services).await,
        actions::RESTORE_HOLES => holes::restore(context, services),
        actions::IMPORT_AGAIN => Recovery::not_applicable("it comes with the import from EasyEDA"),
        actions::RENAME_NETS => Recovery::not_applicable(
            "the pins differ, not the names; connections are a person's matter",
        ),
        actions::CONVERT_COPY => Recovery::not_applicable(
            "no installed version reads the file, and none writes it in an older format",
        ),
        other => Recovery::not_applicable(&format!("{other} needs the editor")),
    }
}

/// Runs a probe.
pub async fn probe(
    env: &FindEnv,
    context: &StepContext,
    services: &Services,
    probe: &str,
) -> CheckResult {
    match probe {
        names::KICAD_USABLE => probes::kicad_usable(env, context, services).await,
        names::RULES_IN_FORCE => probes::rules_in_force(env, context, services).await,
        names::FORMAT_READABLE => probes::format_readable(env, context, services).await,
        names::ONLY_INTENDED_CHANGES => probes::only_intended_changes(context, services),
        names::FOOTPRINTS_EQUAL | names::PINS_EQUAL => {
            probes::board_equals_netlist(env, context, services, probe).await
        }
        names::HOLES_EQUAL => holes::holes_equal(context, services),
        other => CheckResult::could_not_run(other, "it needs the editor"),
    }
}
