//! What a step's result depends on.
//!
//! | what KiCad reads | how it counts here |
//! |---|---|
//! | board, project, custom rules, library tables, further root sheets (KiCad 10) and all sheets below a root | each file |
//! | libraries that the tables name, those of tables inside tables too: footprints and symbols in folders, symbol files | each file; beyond 20,000 of them, their folder by name, size and time of all files in it |
//! | drawing frames of the project and of a jobset | each file, wherever it is |
//! | 3D models of the board, and what may stand in for a VRML one | each file, for fabrication files |
//! | simulation models of symbols, and what they include | each file, for the electrical check and jobsets |
//! | KiCad's own libraries and 3D models, when a table or model names them or the step asks for them | name, size and time of all files |
//! | variables of the environment and text variables in a name | by the files that they lead to; of a variable of KiCad's own each version counts |
//! | libraries of the plugin manager | only where `KICAD9_3RD_PARTY` is set, then each file |
//! | the tool, our own settings of it, the recorded rule set | as settings |
//! | the last change in git, where a text shows it (KiCad 10); commands and copies of a jobset | the step is never up to date |
//!
//! Not read from a file, so not here: embedded files, pictures and fonts in a board or sheet are part
//! of it; `fp-info-cache` and `.kicad_prl` are left out of the private copy. Design blocks are opened
//! by no command that a step runs. Not followed: the fonts that the system has, and the date of today,
//! which a text can show: files bear the day on which they were made.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pcbflow_core::evidence::Evidence;
use pcbflow_core::ports::{Closure, Services, StepContext};

use super::names::{self, Resolver};
use super::project::Project;
use super::seen::Seen;
use super::stop::{Session, Stop};
use super::{args, drc, jobset, libraries, rulesets, tool, unsaved};
use crate::cli::call;
use crate::cli::find::{Choice, FindEnv};
use crate::cli::settings::Libraries;
use crate::cli::stock;
use crate::file::header::Header;

/// Most files that the files of a project may name by themselves.
const NAMED_MAX: usize = 20_000;
/// Most files that simulation models include.
const INCLUDED_MAX: usize = 500;
/// What stands in for a VRML model of the same name.
const INSTEAD_OF_VRML: [&str; 12] =
    ["step", "stp", "STEP", "STP", "Step", "Stp", "stpz", "stpZ", "STPZ", "igs", "iges", "IGS"];

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
    let mut closure = Closure { files: listed.files.into_iter().collect(), ..Closure::default() };
    let mut set = |name: &str, value: String| closure.settings.insert(name.to_owned(), value);
    match tools.choose(listed.required) {
        Choice::Use(tool) => {
            set("tool", tool.label());
            if listed.names_stock || args::libraries(&context.step) == Libraries::Stock {
                set("stock_libraries", seen.stock(&tool));
            }
            if listed.names_stock_models {
                set("stock_models", seen.stock_models(&tool));
            }
        }
        _ => drop(set("tool", format!("no {}", call::TOOL))),
    }
    set("libraries", args::libraries(&context.step).word().to_owned());
    if !listed.large.is_empty() {
        set("large_libraries", stock::of_folders(listed.large));
    }
    if listed.is_volatile || listed.has_vcs {
        let (now, run, attempt) = (services.clock.now().0, &context.run, context.attempt);
        set("never_up_to_date", format!("{now} {run} {attempt:?}"));
    }
    if let Some(note) = context.notes.get(rulesets::NOTE_RULESET) {
        set("ruleset", note.clone());
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

#[derive(Default)]
struct Listed {
    files: BTreeSet<PathBuf>,
    required: u32,
    /// A library table names KiCad's own libraries.
    names_stock: bool,
    /// A 3D model is one of KiCad's own.
    names_stock_models: bool,
    /// Folders whose files count by name, size and time.
    large: BTreeSet<PathBuf>,
    /// A text shows the last change in git.
    has_vcs: bool,
    /// What is read can't be told.
    is_volatile: bool,
}

impl Listed {
    /// Adds a file. What is there and no plain file is none that KiCad reads.
    fn add(&mut self, path: PathBuf) {
        if path.metadata().map_or(true, |meta| meta.is_file()) {
            self.files.insert(path);
        }
    }
}

async fn files(session: &Session<'_>, seen: &Seen) -> Result<Listed, Stop> {
    let step = &session.context.step;
    let uses = step.uses.as_str();
    let (mut listed, mut sheet_roots, mut resolvers) = (Listed::default(), Vec::new(), Vec::new());
    for arg in ["board", "schematic", "project"] {
        if step.arg_str(arg).is_none() {
            continue;
        }
        let (project, file) = Project::of_arg(session, arg)?;
        listed.files.insert(file.clone());
        listed.files.extend(project.own_files());
        // The electrical check never looks at the board.
        if uses == "kicad/erc" {
            listed.files.remove(&project.beside("kicad_pcb"));
        }
        let resolver = Resolver::new(session, &project);
        let with = WithProject { session, project: &project, resolver: &resolver, uses };
        with.named(seen, &mut listed);
        match arg {
            "board" => {
                let major = drc::newest(Header::read(&file).ok().as_ref(), None);
                listed.required = listed.required.max(major);
                if args::flag(step, "parity", true) {
                    sheet_roots.push(project.beside("kicad_sch"));
                }
            }
            "schematic" => sheet_roots.push(file),
            _ => sheet_roots.push(project.beside("kicad_sch")),
        }
        let more = names::in_file(session, &project.beside("kicad_pro")).roots;
        sheet_roots.extend(more.iter().map(|name| project.folder.join(name)));
        resolvers.push(resolver);
    }
    for arg in ["jobset", "footprint_map"] {
        if step.arg_str(arg).is_none() {
            continue;
        }
        let file = args::input(session.context, arg)?;
        if arg == "jobset" {
            let named = names::in_file(session, &file);
            let bytes = crate::file::read_bounded(&file).unwrap_or_default();
            listed.is_volatile = jobset::reads_anything(&bytes);
            let paths = resolvers.iter().flat_map(|r| named.files.iter().flat_map(|n| r.paths(n)));
            paths.for_each(|path| listed.add(path));
        }
        listed.files.insert(file);
    }
    sheet_roots.dedup();
    for root in sheet_roots {
        let sheets = seen.sheets(&root, || super::sheet_cache::sheets(session, &root));
        listed.required = listed.required.max(sheets.required);
        listed.has_vcs |= sheets.has_vcs;
        listed.files.extend(sheets.files);
        if names::reads_simulations(uses) {
            resolvers.iter().for_each(|r| simulations(session, r, &sheets.models, &mut listed));
        }
    }
    Ok(listed)
}

/// What one project names.
struct WithProject<'a> {
    session: &'a Session<'a>,
    project: &'a Project,
    resolver: &'a Resolver,
    uses: &'a str,
}

impl WithProject<'_> {
    fn named(&self, seen: &Seen, listed: &mut Listed) {
        let read = || libraries::of(self.project, self.resolver);
        let libraries = seen.libraries(&self.project.folder, read);
        libraries.files.into_iter().for_each(|file| listed.add(file));
        listed.large.extend(libraries.large);
        listed.names_stock |= libraries.names_stock;
        // What a drawing frame says is checked too (measured: a text variable without a value).
        let of_project = names::in_file(self.session, &self.project.beside("kicad_pro"));
        listed.has_vcs |= of_project.has_vcs;
        for frame in of_project.files.iter().flat_map(|name| self.resolver.paths(name)) {
            listed.has_vcs |= frame.is_file() && names::in_file(self.session, &frame).has_vcs;
            listed.add(frame);
        }
        if !names::reads_models(self.uses) {
            return;
        }
        let of_board = names::in_file(self.session, &self.project.beside("kicad_pcb"));
        listed.has_vcs |= of_board.has_vcs;
        for name in of_board.files.iter().take(NAMED_MAX) {
            let is_relative = !name.contains('$') && Path::new(name).is_relative();
            listed.names_stock_models |= is_relative || self.resolver.is_stock(name);
            for path in self.resolver.paths(name) {
                if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("wrl")) && path.is_file()
                {
                    INSTEAD_OF_VRML.iter().for_each(|e| listed.add(path.with_extension(e)));
                }
                listed.add(path);
            }
            if is_relative {
                libraries.folders.iter().for_each(|folder| listed.add(folder.join(name)));
            }
        }
    }
}

/// Simulation models, with what they include: a name counts from the project's folder or from the
/// folder of the file that includes it.
fn simulations(
    session: &Session<'_>,
    resolver: &Resolver,
    models: &BTreeSet<String>,
    listed: &mut Listed,
) {
    let mut waiting: Vec<PathBuf> = models.iter().flat_map(|name| resolver.paths(name)).collect();
    let mut read = BTreeSet::new();
    // Ends: each file is read once, and their number is limited.
    while let Some(path) = waiting.pop() {
        if read.len() >= INCLUDED_MAX || !read.insert(path.clone()) {
            continue;
        }
        let named =
            if path.is_file() { names::in_file(session, &path).files } else { BTreeSet::new() };
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        waiting.extend(named.iter().flat_map(|name| resolver.paths(name)));
        waiting.extend(named.iter().filter(|n| !n.contains('$')).map(|name| folder.join(name)));
        listed.add(path);
    }
}

/// The sheets below a root, from the cache where their content is known.
pub(crate) fn sheet_files(session: &Session<'_>, root: &Path) -> super::sheet_cache::SheetFiles {
    super::sheet_cache::sheets(session, root)
}
