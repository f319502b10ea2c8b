//! The files that belong to a board, found without calling the tool.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use pcbflow_core::evidence::{Signal, Source};
use pcbflow_core::ports::Blobs;

use super::names::{self, Resolver};
use super::stop::{self, Session, Stop};
use super::{args, libraries, rulesets, sheet_cache};
use crate::cli::mirror::{LEVELS_UP_MAX, Mirror};
use crate::file::header::{FileKind, Header};
use crate::file::project::ProjectState;
use crate::file::schematic::{Hierarchy, SheetFault};
use crate::report::rules::{RULESET_RECORD, RuleSetBlob};
use crate::signals;

/// Library tables of a project.
pub const TABLES: [&str; 3] = ["fp-lib-table", "sym-lib-table", "design-block-lib-table"];

/// What a private copy is made for, beside the project's own files.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// Folders that are not linked, because the tool will write into them.
    pub unlinked: BTreeSet<PathBuf>,
    /// Names that the tool will resolve.
    pub names: BTreeSet<String>,
}

/// A board or schematic with what lies beside it.
#[derive(Debug, Clone)]
pub struct Project {
    /// The board's root, links resolved.
    pub root: PathBuf,
    /// Folder of the project, links resolved.
    pub folder: PathBuf,
    /// Common name of its files, without extension.
    pub stem: String,
}

impl Project {
    /// The project of the file that an argument names.
    ///
    /// # Errors
    /// Refused when the file leads out of the root.
    pub fn of_arg(session: &Session<'_>, arg: &str) -> Result<(Project, PathBuf), Stop> {
        let root = args::root(session.context)?;
        let file = args::input(session.context, arg)?;
        let folder = file.parent().unwrap_or(&root).to_owned();
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok((Project { root, folder, stem }, file))
    }

    /// Name of what is on record about this project: one manifest may have several, also of one
    /// name in different folders.
    #[must_use]
    pub fn record_name(&self, what: &str) -> String {
        let below = self.folder.strip_prefix(&self.root).unwrap_or(&self.folder);
        let folders = below.iter().map(|part| format!("{}/", part.to_string_lossy()));
        format!("{what}:{}{}", folders.collect::<String>(), self.stem)
    }

    /// The recorded rule set of this project. One of an older release, which kept a single one for
    /// a manifest, counts unless it says that it is another project's.
    #[must_use]
    pub fn recorded_rules(
        &self,
        records: &BTreeMap<String, String>,
        blobs: &dyn Blobs,
    ) -> Option<RuleSetBlob> {
        RuleSetBlob::recorded(records, &self.record_name(RULESET_RECORD), blobs).or_else(|| {
            let old = RuleSetBlob::recorded(records, RULESET_RECORD, blobs)?;
            (!old.is_of_another(&self.name("kicad_pro"))).then_some(old)
        })
    }

    /// A file of the project's stem.
    #[must_use]
    pub fn beside(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.stem))
    }

    /// Name of a file of the project's stem.
    #[must_use]
    pub fn name(&self, extension: &str) -> String {
        format!("{}.{extension}", self.stem)
    }

    /// State of the project file. Other letter case counts as missing, because on other systems
    /// it is.
    #[must_use]
    pub fn state(&self) -> ProjectState {
        let wanted = self.name("kicad_pro");
        let listed = std::fs::read_dir(&self.folder).is_ok_and(|entries| {
            entries.flatten().any(|e| e.file_name().to_string_lossy() == wanted)
        });
        if listed { ProjectState::read(&self.beside("kicad_pro")) } else { ProjectState::Missing }
    }

    /// Bytes of the custom rules, if there is a file of them.
    ///
    /// # Errors
    /// What the system says when it is there and can't be read.
    pub fn custom_rules(&self) -> std::io::Result<Option<Vec<u8>>> {
        match crate::file::read_bounded(&self.beside("kicad_dru")) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The rule set as it is now; `None` when the project file is not sound.
    #[must_use]
    pub fn rule_set(&self) -> Option<RuleSetBlob> {
        // A pipe or a folder in its place must not be waited for.
        let project = crate::file::read_bounded(&self.beside("kicad_pro")).ok()?;
        RuleSetBlob::of(&project, self.custom_rules().ok()?.as_deref())
    }

    /// Files of the project itself, those that may be missing included.
    #[must_use]
    pub fn own_files(&self) -> BTreeSet<PathBuf> {
        let beside = ["kicad_pcb", "kicad_pro", "kicad_dru"].map(|e| self.beside(e));
        let tables = TABLES.map(|t| self.folder.join(t));
        beside.into_iter().chain(tables).collect()
    }

    /// How many levels above the project's folder its files refer to: sheets, library tables, drawing
    /// frames, 3D models, simulation models, and `more` names.
    fn levels_up(
        &self,
        session: &Session<'_>,
        sheets: Option<&Hierarchy>,
        more: &BTreeSet<String>,
    ) -> usize {
        let resolver = Resolver::new(session, self);
        let mut names = more.clone();
        names.extend(libraries::rows(self, &resolver).into_iter().map(|row| row.uri));
        names.extend(names::in_file(session, &self.beside("kicad_pro")).files);
        let uses = session.context.step.uses.as_str();
        if names::reads_models(uses) {
            names.extend(names::in_file(session, &self.beside("kicad_pcb")).files);
        }
        let mut levels = 0;
        for path in sheets.iter().flat_map(|h| h.files()) {
            let above = self.folder.ancestors().position(|a| path.starts_with(a));
            levels = levels.max(above.unwrap_or(LEVELS_UP_MAX));
            if names::reads_simulations(uses) {
                names.extend(sheet_cache::models_of(path));
            }
        }
        let levels = names.iter().map(|name| resolver.levels_up(name)).fold(levels, usize::max);
        // Above the first folder of the system there is nothing.
        levels.min(self.folder.ancestors().count().saturating_sub(1))
    }

    /// A private copy below the attempt's scratch folder.
    ///
    /// # Errors
    /// A full disk; refused when a file of the project leads out of the root.
    pub fn mirror(
        &self,
        session: &Session<'_>,
        sheets: Option<&Hierarchy>,
        name: &str,
    ) -> Result<Mirror, Stop> {
        self.mirror_for(session, sheets, name, &Surroundings::default())
    }

    /// A private copy with other surroundings than those of the project's own files.
    ///
    /// # Errors
    /// As [`Project::mirror`].
    pub fn mirror_for(
        &self,
        session: &Session<'_>,
        sheets: Option<&Hierarchy>,
        name: &str,
        around: &Surroundings,
    ) -> Result<Mirror, Stop> {
        let mut files = self.own_files();
        if rulesets::are_laid(session, self) {
            // What stands in their place is a folder, a pipe or a loop; the recorded ones are laid.
            let rules = ["kicad_pro", "kicad_dru"].map(|e| self.beside(e));
            files.retain(|f| !rules.contains(f) || crate::file::open_plain(f).is_ok());
        }
        files.extend(sheets.iter().flat_map(|h| h.files()).map(Path::to_owned));
        for file in &files {
            args::confined(&self.root, file)?;
        }
        let into = session.context.scratch.join(name);
        let levels = self.levels_up(session, sheets, &around.names);
        if levels > LEVELS_UP_MAX {
            let text = format!(
                "{} names a file {levels} folders above its own, and {LEVELS_UP_MAX} are the most",
                self.stem
            );
            return Err(Stop::Refused(text));
        }
        Mirror::make(&self.folder, &files, levels, &around.unlinked, &into)
            .map_err(|error| self.mirror_stop(session, error))
    }

    fn mirror_stop(&self, session: &Session<'_>, error: crate::cli::mirror::MirrorError) -> Stop {
        match error {
            crate::cli::mirror::MirrorError::Io { path, source } => {
                let full = matches!(
                    source.kind(),
                    std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
                );
                let unfit = |code: &str, ending: &str| {
                    let text = format!("{}: {source}", self.name(ending));
                    session.failed(Signal::new(Source::File, code).text(&text))
                };
                if full || path.starts_with(&session.context.scratch) {
                    session.failed(crate::cli::space::signal_of(&path, &source))
                } else if path == self.beside("kicad_pro") {
                    unfit(signals::PRO_UNREADABLE, "kicad_pro")
                } else if path == self.beside("kicad_dru") {
                    unfit(signals::RULES_FILE_BROKEN, "kicad_dru")
                } else {
                    Stop::Refused(format!("{} can't be read: {source}", path.display()))
                }
            }
            other => Stop::Refused(other.to_string()),
        }
    }
}

/// The head of a board or schematic, with the signals for what makes it unfit.
///
/// # Errors
/// A failure: the file is not there. A head that can't be read is no failure yet: the tool says
/// what it thinks of the file first.
pub fn header(session: &Session<'_>, file: &Path) -> Result<Option<Header>, Stop> {
    if !file.exists() {
        return Err(missing(session, file));
    }
    if file.is_dir() {
        let text = format!("{}: it is a folder", file.to_string_lossy());
        return Err(session.failed(Signal::new(Source::File, signals::BOARD_DAMAGED).text(&text)));
    }
    Ok(Header::read(file).ok())
}

/// A design file that is not there: the same evidence whichever step needs it.
#[must_use]
pub fn missing(session: &Session<'_>, file: &Path) -> Stop {
    let root = session.context.root.canonicalize().unwrap_or_else(|_| session.context.root.clone());
    let name = file.strip_prefix(&root).unwrap_or(file).to_string_lossy().into_owned();
    let mut evidence = session.evidence();
    evidence.push(Signal::new(Source::File, signals::INPUT_MISSING).text(&name));
    evidence.slots.insert("items".to_owned(), sheet_name(&name));
    evidence.test_ids.push(name);
    Stop::Failed(evidence)
}

/// What is wrong with the sheets, before the tool is called: it would drop them without a word.
///
/// # Errors
/// A failure or refusal for the first fault.
pub fn sheets_sound(session: &Session<'_>, sheets: &Hierarchy, root: &Path) -> Result<(), Stop> {
    for file in sheets.files() {
        args::confined(root, file)?;
    }
    let mut evidence = session.evidence();
    let mut gone = BTreeSet::new();
    for problem in &sheets.problems {
        let of = |code| Signal::new(Source::File, code).text(&problem.file);
        let signal = match (&problem.fault, &problem.parent) {
            (SheetFault::Missing, None) => return Err(missing(session, &sheets.root)),
            (SheetFault::Missing, Some(_)) => {
                gone.insert(sheet_name(&problem.file));
                evidence.test_ids.push(problem.file.clone());
                of(signals::SHEET_MISSING)
            }
            (SheetFault::Legacy, _) => of(signals::FORMAT_TOO_OLD),
            (
                SheetFault::Unreadable { .. } | SheetFault::Broken(_) | SheetFault::NotASchematic,
                _,
            ) => of(signals::BOARD_DAMAGED),
            (fault, _) => {
                return Err(Stop::Refused(format!("sheet {:?}: {fault}", problem.file)));
            }
        };
        evidence.push(signal);
    }
    let Some(first) = evidence.signals.first() else { return Ok(()) };
    if let Some(variant) = stop::variant(first) {
        evidence.slots.insert("variant".to_owned(), variant.to_owned());
    }
    if !gone.is_empty() {
        let names: Vec<String> = gone.into_iter().collect();
        evidence.slots.insert("items".to_owned(), names.join(", "));
    }
    Err(Stop::Failed(evidence))
}

/// A sheet as a person calls it: its file's name without folder and ending.
fn sheet_name(file: &str) -> String {
    Path::new(file).file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned())
}

/// The date in a header as a signal that it is too new for every tool.
#[must_use]
pub fn too_new(file: &Path, header: Option<&Header>) -> Signal {
    let version = header.and_then(|h| h.version).map_or(0, i64::from);
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    Signal::new(Source::File, signals::FORMAT_TOO_NEW).number(version).text(&name)
}

/// Looks at a file that the tool could not load (status 3) and says why: gone, too new, damaged,
/// or of another kind.
#[must_use]
pub fn not_loaded(file: &Path, major: u32, kind: FileKind) -> Signal {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let damaged = |why: &str| {
        Signal::new(Source::File, signals::BOARD_DAMAGED).text(&format!("{name}: {why}"))
    };
    if !file.exists() {
        return Signal::new(Source::File, signals::INPUT_MISSING).text(&name);
    }
    let header = match Header::read(file) {
        Ok(header) => header,
        Err(error) => return damaged(&error.to_string()),
    };
    if header.kind != kind {
        return damaged(&format!("it is a {}", header.kind));
    }
    if header.required_major().is_some_and(|needed| needed > major) {
        return too_new(file, Some(&header));
    }
    let parsed = crate::file::read_bounded(file)
        .map_err(|e| e.to_string())
        .and_then(|bytes| crate::sexpr::Document::parse(bytes).map_err(|e| e.to_string()));
    match parsed {
        Err(error) => damaged(&error),
        Ok(_) => damaged("KiCad refuses what is in it"),
    }
}
