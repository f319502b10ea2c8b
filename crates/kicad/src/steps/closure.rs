//! What a step's result depends on.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pcbflow_core::evidence::Evidence;
use pcbflow_core::ports::{Closure, Services, StepContext};

use super::project::{Project, TABLES};
use super::seen::Seen;
use super::stop::{Session, Stop};
use super::{args, drc, names, rulesets, tool};
use crate::cli::call;
use crate::cli::find::{Choice, FindEnv};
use crate::file::header::Header;
use crate::sexpr::Document;

/// Most files of libraries in one closure.
const LIBRARY_FILES_MAX: usize = 20_000;

/// Lists the files and settings of a step without running it.
///
/// # Errors
/// Evidence when the inputs can't be listed.
pub(crate) async fn of(
    env: &FindEnv,
    context: &StepContext,
    services: &Services,
    seen: &Seen,
) -> Result<Closure, Evidence> {
    let session = Session::new(context, services);
    let listed = files(&session, seen).await.map_err(|stop| match stop {
        Stop::Failed(evidence) => evidence,
        Stop::Refused(_) => session.evidence(),
    })?;
    let tools = tool::installed_in(env, context, services, seen).await;
    let label = match tools.choose(listed.required) {
        Choice::Use(tool) => tool.label(),
        _ => format!("no {}", call::TOOL),
    };
    let mut closure = Closure { files: listed.files.into_iter().collect(), ..Closure::default() };
    closure.settings.insert("tool".to_owned(), label);
    closure
        .settings
        .insert("libraries".to_owned(), args::libraries(&context.step).word().to_owned());
    if let Some(note) = context.notes.get(rulesets::NOTE_RULESET) {
        closure.settings.insert("ruleset".to_owned(), note.clone());
    }
    Ok(closure)
}

struct Listed {
    files: BTreeSet<PathBuf>,
    required: u32,
}

async fn files(session: &Session<'_>, seen: &Seen) -> Result<Listed, Stop> {
    let step = &session.context.step;
    let mut files = BTreeSet::new();
    let (mut required, mut sheet_roots) = (0, Vec::new());
    for arg in ["board", "schematic", "project"] {
        if step.arg_str(arg).is_none() {
            continue;
        }
        let (project, file) = Project::of_arg(session, arg)?;
        files.insert(file.clone());
        files.extend(project.own_files());
        files.extend(seen.files("libraries", &project.folder, || libraries_of(&project)));
        if matches!(step.uses.as_str(), "kicad/export" | "kicad/jobset") {
            let named = || models_and_frames_of(session, &project);
            files.extend(seen.files("models", &project.beside("kicad_pcb"), named));
        }
        match arg {
            "board" => {
                required = drc::newest(Header::read(&file).ok().as_ref(), None).max(required);
                if args::flag(step, "parity", true) {
                    sheet_roots.push(project.beside("kicad_sch"));
                }
            }
            "schematic" => sheet_roots.push(file),
            _ => sheet_roots.push(project.beside("kicad_sch")),
        }
    }
    for arg in ["jobset", "footprint_map"] {
        if step.arg_str(arg).is_some() {
            files.insert(args::input(session.context, arg)?);
        }
    }
    for root in sheet_roots {
        let sheets = seen.sheets(&root, || super::sheet_cache::sheets(session, &root));
        required = required.max(sheets.required);
        files.extend(sheets.files);
    }
    Ok(Listed { files, required })
}

/// Libraries that the project's own tables name: symbol files, and footprints one by one.
fn libraries_of(project: &Project) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    for table in TABLES {
        let path = project.folder.join(table);
        let Ok(bytes) = crate::file::read_bounded(&path) else { continue };
        let Ok(doc) = Document::parse(bytes) else { continue };
        let uris = doc.root().children_named("lib").filter_map(|lib| lib.field("uri", 1));
        for uri in uris {
            let Some(rest) = uri.strip_prefix("${KIPRJMOD}/") else { continue };
            add_library(&project.folder.join(rest), &mut files);
        }
    }
    files
}

/// What only the fabrication files show: the 3D models of the board's parts and the drawing frames
/// of the project, as far as they lie with the project. One that is gone counts as changed.
fn models_and_frames_of(session: &Session<'_>, project: &Project) -> BTreeSet<PathBuf> {
    names::in_files(session, &[project.beside("kicad_pcb"), project.beside("kicad_pro")])
        .into_iter()
        .filter_map(|path| {
            let path = path.strip_prefix("${KIPRJMOD}/").unwrap_or(&path);
            let elsewhere = path.is_empty() || path.contains("${") || path.contains("://");
            let lies_here = !elsewhere && !Path::new(path).is_absolute();
            lies_here.then(|| project.folder.join(path))
        })
        .take(LIBRARY_FILES_MAX)
        .collect()
}

fn add_library(path: &Path, files: &mut BTreeSet<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(path) else {
        files.insert(path.to_owned());
        return;
    };
    let footprints = entries
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "kicad_mod"));
    let left = LIBRARY_FILES_MAX.saturating_sub(files.len());
    files.extend(footprints.take(left));
}

/// The sheets below a root, from the cache where their content is known.
pub(crate) fn sheet_files(session: &Session<'_>, root: &Path) -> super::sheet_cache::SheetFiles {
    super::sheet_cache::sheets(session, root)
}
