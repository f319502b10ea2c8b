//! What a step's result depends on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use pcbflow_core::evidence::Evidence;
use pcbflow_core::ports::{Closure, Services, StepContext};

use super::project::{Project, TABLES};
use super::seen::{ProjectLibraries, Seen};
use super::stop::{Session, Stop};
use super::{args, drc, names, rulesets, tool, unsaved};
use crate::cli::call;
use crate::cli::find::{Choice, FindEnv};
use crate::cli::settings::Libraries;
use crate::cli::stock;
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
    let (label, stock) = match tools.choose(listed.required) {
        Choice::Use(tool) => {
            let counts = listed.names_stock || args::libraries(&context.step) == Libraries::Stock;
            (tool.label(), counts.then(|| seen.stock(&tool)))
        }
        _ => (format!("no {}", call::TOOL), None),
    };
    let mut closure = Closure { files: listed.files.into_iter().collect(), ..Closure::default() };
    closure.settings.insert("tool".to_owned(), label);
    closure.settings.extend(stock.map(|digest| ("stock_libraries".to_owned(), digest)));
    closure
        .settings
        .insert("libraries".to_owned(), args::libraries(&context.step).word().to_owned());
    if let Some(note) = context.notes.get(rulesets::NOTE_RULESET) {
        closure.settings.insert("ruleset".to_owned(), note.clone());
    }
    let newer = unsaved::beside(&session, |root| {
        seen.sheets(root, || super::sheet_cache::sheets(&session, root))
    })
    .newer;
    if !newer.is_empty() {
        closure.settings.insert("unsaved".to_owned(), newer.join("\n"));
    }
    Ok(closure)
}

struct Listed {
    files: BTreeSet<PathBuf>,
    required: u32,
    /// A library table names KiCad's own libraries.
    names_stock: bool,
}

async fn files(session: &Session<'_>, seen: &Seen) -> Result<Listed, Stop> {
    let step = &session.context.step;
    let mut files = BTreeSet::new();
    let (mut required, mut sheet_roots, mut names_stock) = (0, Vec::new(), false);
    let (uses, mut folders) = (step.uses.as_str(), Vec::new());
    for arg in ["board", "schematic", "project"] {
        if step.arg_str(arg).is_none() {
            continue;
        }
        let (project, file) = Project::of_arg(session, arg)?;
        files.insert(file.clone());
        files.extend(project.own_files());
        // The electrical check never looks at the board.
        if uses == "kicad/erc" {
            files.remove(&project.beside("kicad_pcb"));
        }
        let libraries = seen.libraries(&project.folder, || libraries_of(&project));
        files.extend(libraries.files);
        names_stock |= libraries.names_stock;
        // What a drawing frame says is checked too (measured: a text variable without a value).
        named_with(session, &project, "kicad_pro", &mut files);
        if matches!(uses, "kicad/export" | "kicad/jobset") {
            named_with(session, &project, "kicad_pcb", &mut files);
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
        folders.push(project.folder);
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
        // The electrical check opens the simulation models that symbols name.
        let models = sheets.models.iter().filter(|_| matches!(uses, "kicad/erc" | "kicad/jobset"));
        for model in models {
            folders.iter().for_each(|folder| add_named(folder, model, &mut files));
        }
    }
    Ok(Listed { files, required, names_stock })
}

/// Libraries that the project's own tables name: symbol files, and footprints one by one. A table
/// may name further tables.
fn libraries_of(project: &Project) -> ProjectLibraries {
    let (mut files, mut tables) = (BTreeSet::new(), BTreeMap::new());
    let mut waiting: Vec<PathBuf> = TABLES.map(|table| project.folder.join(table)).into();
    // Ends: each table is read once, and their number is limited.
    while let Some(path) = waiting.pop() {
        if tables.len() >= TABLES_MAX || tables.contains_key(&path) {
            continue;
        }
        let Ok(bytes) = crate::file::read_bounded(&path) else { continue };
        tables.insert(path, bytes.clone());
        let Ok(doc) = Document::parse(bytes) else { continue };
        for lib in doc.root().children_named("lib") {
            let Some(uri) = lib.field("uri", 1) else { continue };
            let rest = uri.strip_prefix("${KIPRJMOD}/").unwrap_or(&uri);
            // What other variables stand for is not known here; KiCad's own are looked at apart.
            if rest.contains("${") || (rest == uri && !Path::new(rest).is_absolute()) {
                continue;
            }
            let library = project.folder.join(rest);
            if lib.field("type", 1).is_some_and(|kind| kind == "Table") {
                waiting.push(library.clone());
            }
            add_library(&library, &mut files);
        }
    }
    ProjectLibraries { files, names_stock: stock::is_named_in(&tables) }
}

/// Most library tables that are read for one step.
const TABLES_MAX: usize = 100;

/// Files that a file of the project names, as far as they lie with the project: its drawing frame,
/// 3D models, which only the fabrication files show. One that is gone counts as changed.
fn named_with(
    session: &Session<'_>,
    project: &Project,
    ending: &str,
    files: &mut BTreeSet<PathBuf>,
) {
    for path in names::in_file(session, &project.beside(ending)) {
        add_named(&project.folder, &path, files);
    }
}

fn add_named(folder: &Path, path: &str, files: &mut BTreeSet<PathBuf>) {
    let path = path.strip_prefix("${KIPRJMOD}/").unwrap_or(path);
    let elsewhere = path.is_empty() || path.contains("${") || path.contains("://");
    if !elsewhere && !Path::new(path).is_absolute() && files.len() < LIBRARY_FILES_MAX {
        files.insert(folder.join(path));
    }
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
