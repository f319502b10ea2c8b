//! Actions of the ladders of ENV and SC. Each answers done, not applicable or failed, and leaves
//! notes for the next attempts; none of them judges its own success.

use std::path::PathBuf;

use pcbflow_core::evidence::program_name;
use pcbflow_core::manifest::Safety;
use pcbflow_core::ports::{Recovery, Services, StepContext};

use crate::doctor::{self, Least, Tool};
use crate::install;
use crate::kinds::KINDS;
use crate::prepare::{self, notes};
use crate::rows::actions;
use crate::spec::CommandSpec;
use crate::subsystem::ProcessSubsystem;

/// Carries out an action.
pub async fn act(
    own: &ProcessSubsystem,
    context: &StepContext,
    services: &Services,
    action: &str,
) -> Recovery {
    match action {
        actions::INSTALL_DECLARED => install::once(context, services).await,
        actions::INSTALL_AFTER_BROKEN_DOWNLOAD => {
            install::after_broken_download(context, services).await
        }
        actions::USE_CONFIGURED_PATH => {
            let configured = |tool: &str| own.configured.get(tool).cloned().into_iter().collect();
            find(context, services, configured, "no place is configured for it").await
        }
        actions::FIND_IN_KNOWN_PLACES => {
            let search = std::env::var_os("PATH");
            let own = prepare::environment_python(context);
            let known = |name: &str| {
                doctor::tool(name).map_or(Vec::new(), |tool| {
                    // That of the project's own packages, before any of the computer.
                    let first = own.as_deref().filter(|_| tool.name == doctor::PYTHON.name);
                    doctor::candidates(tool, first, search.as_deref(), true)
                })
            };
            find(context, services, known, "it is in none of the known places").await
        }
        _ => plain(context, action),
    }
}

/// Actions that need no program.
fn plain(context: &StepContext, action: &str) -> Recovery {
    let not = Recovery::not_applicable;
    let Ok(spec) = CommandSpec::parse(&context.step) else {
        return not("this step is no command");
    };
    match action {
        actions::USE_RECIPE_FOR_SYSTEM => match spec.recipes.get(doctor::system()) {
            Some(_) => Recovery::done("the step's command for this system is taken")
                .note(notes::RECIPE, doctor::system()),
            None => not("the step has no command for this system"),
        },
        actions::PASS_AS_LIST => not("arguments are always passed as a list"),
        actions::CANONICAL_PATH => canonical(&spec, context),
        actions::SHORT_PLAIN_COPY => short_copy(&spec, context),
        actions::FRESH_WORKER => Recovery::done("each attempt is a process of its own"),
        actions::HALVE_BATCH => match prepare::batch(&spec, context) {
            Some(n) if n > 1 => {
                let half = n.div_ceil(2).to_string();
                Recovery::done(&format!("batches of {half}")).note(notes::BATCH, &half)
            }
            _ => not("the step does not work in batches"),
        },
        actions::BUILT_IN_REPLACEMENT => not("nothing built in does the work of this tool"),
        actions::USE_OTHER_ASSISTANT => not("a command needs no assistant"),
        actions::REPAIR_SCRIPT => not("the repair loop comes with a later release"),
        actions::REMOVE_OWN_COPIES => not("what a command made can't be listed"),
        other => not(&format!("there is no action {other}")),
    }
}

fn canonical(spec: &CommandSpec, context: &StepContext) -> Recovery {
    if context.notes.contains_key(notes::CANONICAL) {
        return Recovery::not_applicable("the paths are canonical already");
    }
    let (argv, cwd) = (prepare::argv(spec, context), prepare::folder(spec, context));
    let changes = match (argv, cwd) {
        (Ok(argv), Ok(cwd)) => argv.iter().skip(1).any(|a| {
            prepare::file_argument(a, &cwd).is_some_and(|f| f.to_string_lossy() != a.as_str())
        }),
        _ => false,
    };
    if changes {
        Recovery::done("files are passed by their whole path").note(notes::CANONICAL, "1")
    } else {
        Recovery::not_applicable("no argument would change")
    }
}

fn short_copy(spec: &CommandSpec, context: &StepContext) -> Recovery {
    let kind = KINDS.iter().find(|k| k.name == context.step.uses.as_str());
    if kind.is_none_or(|k| k.safety != Safety::ReadOnly) {
        return Recovery::not_applicable("only a step that looks may look at a copy");
    }
    let (argv, cwd) = (prepare::argv(spec, context), prepare::folder(spec, context));
    let any = match (argv, cwd) {
        (Ok(argv), Ok(cwd)) => {
            argv.iter().skip(1).any(|a| prepare::file_argument(a, &cwd).is_some())
        }
        _ => false,
    };
    if any {
        Recovery::done("files are passed as copies with short plain names")
            .note(notes::SHORT_COPY, "1")
    } else {
        Recovery::not_applicable("no argument is a file")
    }
}

/// The tool that a failure is about: the program of its evidence, or the step's own.
pub fn tool_of(context: &StepContext) -> Option<&'static Tool> {
    let by_class = match context.notes.get("class").map(String::as_str) {
        Some("ENV-1") => Some(&doctor::NODE),
        Some("ENV-2") => Some(&doctor::PYTHON),
        Some("ENV-3") => Some(&doctor::CHROME),
        Some("ENV-4") => Some(&doctor::KICAD),
        _ => None,
    };
    by_class.or_else(|| doctor::tool(&program_of(context)?))
}

/// Plain name of the program that a failure is about.
pub fn program_of(context: &StepContext) -> Option<String> {
    let noted = ["slot:program", "slot:tool"].iter().find_map(|k| context.notes.get(*k)).cloned();
    noted.filter(|n| !n.is_empty()).or_else(|| {
        let spec = CommandSpec::parse(&context.step).ok()?;
        let argv = prepare::argv(&spec, context).ok()?;
        argv.first().map(|p| program_name(p).to_owned())
    })
}

/// The lowest version that the step asks of a tool, or the table's.
pub fn least_of(context: &StepContext, tool: &Tool) -> Option<Least> {
    let spec = CommandSpec::parse(&context.step).ok();
    let asked = spec.and_then(|s| s.requires.tools.into_iter().find(|(n, _)| tool.is_named(n)));
    asked.and_then(|(_, least)| least).or(tool.least)
}

async fn find(
    context: &StepContext,
    services: &Services,
    places: impl Fn(&str) -> Vec<PathBuf>,
    otherwise: &str,
) -> Recovery {
    let Some(tool) = tool_of(context) else {
        return Recovery::not_applicable("no places are known for it");
    };
    let paths = places(tool.name);
    if paths.is_empty() {
        return Recovery::not_applicable(otherwise);
    }
    let (spawn, cancel) = (&*services.spawn, &*services.cancel);
    let least = least_of(context, tool);
    match doctor::usable(spawn, cancel, tool, &paths, &context.root, least).await {
        Ok(found) => {
            let path = found.path.to_string_lossy().into_owned();
            Recovery::done(&format!("{} {} at {path}", tool.name, found.version))
                .note(&format!("{}{}", notes::TOOL, tool.name), &path)
        }
        Err(fault) => Recovery::failed(&fault.to_string()),
    }
}
