//! The tool that a step uses.

use std::path::{Path, PathBuf};

use pcbflow_core::evidence::{Signal, Source};
use pcbflow_core::ports::{Services, StepContext};

use super::seen::Seen;
use super::stop::{Session, Stop};
use super::{args, project};
use crate::cli::call;
use crate::cli::find::{self, Choice, FindEnv, Tool, Tools};
use crate::file::header::Header;
use crate::signals;

/// Note of a recovery: the program to use.
pub const NOTE_PATH: &str = "kicad.path";

/// Tools in the order of preference: the one that a recovery chose, else those on `PATH`.
pub async fn installed(env: &FindEnv, context: &StepContext, services: &Services) -> Tools {
    installed_in(env, context, services, &Seen::default()).await
}

/// The same in a round of looks, in which the tools are looked for once.
pub(crate) async fn installed_in(
    env: &FindEnv,
    context: &StepContext,
    services: &Services,
    seen: &Seen,
) -> Tools {
    let (spawn, cancel) = (services.spawn.as_ref(), services.cancel.as_ref());
    let tools = match (context.notes.get(NOTE_PATH), seen.tools()) {
        (Some(path), _) => {
            find::versions(vec![PathBuf::from(path)], &context.state_dir, spawn, cancel).await
        }
        (None, Some(tools)) => tools,
        (None, None) => {
            let tools = find::versions(env.on_path(), &context.state_dir, spawn, cancel).await;
            seen.keep_tools(&tools);
            tools
        }
    };
    match args::pinned_major(&context.step) {
        Some(major) if !context.notes.contains_key(NOTE_PATH) => tools.only_major(major),
        _ => tools,
    }
}

/// Every tool that is installed anywhere: on `PATH` and in the usual places.
pub async fn everywhere(env: &FindEnv, context: &StepContext, services: &Services) -> Tools {
    let mut programs = env.on_path();
    programs.extend(env.in_known_places());
    let (spawn, cancel) = (services.spawn.as_ref(), services.cancel.as_ref());
    find::versions(programs, &context.state_dir, spawn, cancel).await
}

/// Chooses the tool for files of which the newest needs `required`.
///
/// # Errors
/// A failure: no tool, none in range, none that reads the file.
pub async fn choose(
    env: &FindEnv,
    session: &Session<'_>,
    required: u32,
    file: &Path,
    header: Option<&Header>,
) -> Result<Tool, Stop> {
    let tools = installed(env, session.context, session.services).await;
    match tools.choose(required) {
        Choice::Use(tool) => Ok(tool),
        Choice::None => {
            let mut evidence = session.evidence();
            evidence.push(Signal::spawn_not_found(call::TOOL));
            Err(Stop::Failed(evidence))
        }
        Choice::OutOfRange(tool) => {
            let label = tool.label();
            Err(session
                .failed(Signal::new(Source::Exit, signals::VERSION_OUT_OF_RANGE).text(&label)))
        }
        Choice::TooOldForFile(_) => {
            let mut evidence = session.evidence();
            evidence.push(project::too_new(file, header));
            Err(Stop::Failed(evidence))
        }
    }
}
