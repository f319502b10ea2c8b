//! Other places, other versions, another route.

use std::path::PathBuf;

use pcbflow_core::ports::{Recovery, Services, StepContext};

use crate::cli::find::{Choice, FindEnv, MAJOR_MIN, Tool, Tools, versions};
use crate::file::header::Header;
use crate::steps::closure::sheet_files;
use crate::steps::stop::Session;
use crate::steps::tool::{self, NOTE_PATH};
use crate::steps::{args, drc};

/// The major version that the step's files need.
pub(super) fn required(context: &StepContext, services: &Services) -> u32 {
    let session = Session::new(context, services);
    let mut required = 0;
    for name in ["board", "schematic", "project"] {
        let Ok(file) = args::input(context, name) else { continue };
        required = required.max(drc::newest(Header::read(&file).ok().as_ref(), None));
        for sheet in [file.clone(), file.with_extension("kicad_sch")] {
            if sheet.extension().is_some_and(|e| e == "kicad_sch") {
                required = required.max(sheet_files(&session, &sheet).required);
            }
        }
        let board = file.with_extension("kicad_pcb");
        required = required.max(drc::newest(Header::read(&board).ok().as_ref(), None));
    }
    required
}

fn found(tool: &Tool, how: &str) -> Recovery {
    let path = tool.path.to_string_lossy().into_owned();
    Recovery::done(&format!("{how}: {} at {path}", tool.label())).note(NOTE_PATH, &path)
}

/// Looks in the usual places of this system.
pub(super) async fn find(env: &FindEnv, context: &StepContext, services: &Services) -> Recovery {
    let programs: Vec<PathBuf> = env.in_known_places();
    let (spawn, cancel) = (services.spawn.as_ref(), services.cancel.as_ref());
    let mut tools = versions(programs, &context.state_dir, spawn, cancel).await;
    if let Some(major) = args::pinned_major(&context.step) {
        tools = tools.only_major(major);
    }
    tools.list.retain(|t| t.major() >= MAJOR_MIN);
    match tools.choose(required(context, services)) {
        Choice::Use(tool) => found(&tool, "found in a usual place"),
        _ => Recovery::not_applicable("KiCad is in none of the usual places"),
    }
}

/// The tools that are installed anywhere, without the one that the step used.
async fn others(env: &FindEnv, context: &StepContext, services: &Services) -> Tools {
    let used =
        match tool::installed(env, context, services).await.choose(required(context, services)) {
            Choice::Use(t) | Choice::OutOfRange(t) | Choice::TooOldForFile(t) => {
                t.path.canonicalize().ok()
            }
            Choice::None => None,
        };
    let mut tools = tool::everywhere(env, context, services).await;
    tools.list.retain(|t| t.major() >= MAJOR_MIN && t.path.canonicalize().ok() != used);
    match args::pinned_major(&context.step) {
        Some(major) => tools.only_major(major),
        None => tools,
    }
}

/// Takes another installed version that is in range and reads the file.
pub(super) async fn other_version(
    env: &FindEnv,
    context: &StepContext,
    services: &Services,
) -> Recovery {
    match others(env, context, services).await.choose(required(context, services)) {
        Choice::Use(tool) => found(&tool, "another installed version reads it"),
        _ => Recovery::not_applicable("no other installed version reads it"),
    }
}

/// After a crash: the same work by another version. Files that KiCad refuses are none of its
/// business, another version refuses them as well.
pub(super) async fn other_route(
    env: &FindEnv,
    context: &StepContext,
    services: &Services,
) -> Recovery {
    for name in ["board", "schematic"] {
        let Ok(file) = args::input(context, name) else { continue };
        let parsed = crate::file::read_bounded(&file)
            .map_err(|e| e.to_string())
            .and_then(|b| crate::sexpr::Document::parse(b).map_err(|e| e.to_string()));
        if let Err(error) = parsed {
            return Recovery::not_applicable(&format!("the file is damaged: {error}"));
        }
    }
    match others(env, context, services).await.choose(required(context, services)) {
        Choice::Use(tool) => found(&tool, "another installed version does the step"),
        _ => Recovery::not_applicable("there is no other version that could do the step"),
    }
}
