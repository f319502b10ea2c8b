//! Files that the files of a project name, and where KiCad looks for them.
//!
//! Measured with 9.0.8 and 10.0.6 by the system calls of both: `${NAME}`, `$(NAME)` and `$NAME` are
//! replaced alike, by the project's folder, by a text variable of the project or by a variable of the
//! environment; a backslash parts folders; a relative name counts from the project's folder, of a 3D
//! model from the folder of each footprint library as well. That holds for drawing frames, 3D models,
//! rows of library tables and simulation models. A row of a table inside a table counts from the
//! project's folder too.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use pcbflow_core::ids::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cache;
use super::project::Project;
use super::stop::Session;
use crate::cli::settings;
use crate::cli::stock::is_named_in;
use crate::file::project::lenient;

/// The cache, below the state folder.
const CACHE_FILE: &str = "cache/kicad-names-2.json";
/// Most remembered files; beyond them the cache starts anew.
const CACHED_MAX: usize = 1_000;
/// What stands before a name: of a model in a board, of a drawing frame in a project file and in a
/// jobset, of files that a jobset copies.
const BEFORE: [&str; 4] =
    ["(model", "\"page_layout_descr_file\":", "\"drawing_sheet\":", "\"source\":"];
/// First words of lines that name a further file of simulation models.
const INCLUDES: [&str; 3] = [".include", ".inc", ".lib"];
/// Most variables that are replaced in one name.
const VARIABLES_MAX: usize = 16;
/// The variable of the project's folder.
const PROJECT_FOLDER: &str = "KIPRJMOD";
/// Stands for the project's folder in a name whose variables were replaced.
const HERE: char = '\u{1}';

/// Whether steps of this kind show 3D models: only fabrication files do.
pub(crate) fn reads_models(uses: &str) -> bool {
    matches!(uses, "kicad/export" | "kicad/jobset")
}

/// Whether steps of this kind open the simulation models that symbols name.
pub(crate) fn reads_simulations(uses: &str) -> bool {
    matches!(uses, "kicad/erc" | "kicad/jobset")
}

/// What one file says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Named {
    /// Names of files, as written.
    pub files: BTreeSet<String>,
    /// Text variables of a project file.
    pub texts: BTreeMap<String, String>,
    /// Root sheets beside the one with the project's name (KiCad 10).
    pub roots: BTreeSet<String>,
    /// A text has the last change in git as its value (KiCad 10).
    pub has_vcs: bool,
}

impl Named {
    fn of(bytes: &[u8], is_project: bool) -> Named {
        let text = String::from_utf8_lossy(bytes);
        let mut named = Named {
            files: BEFORE.iter().flat_map(|before| quoted_after(&text, before)).collect(),
            has_vcs: shows_git(&text),
            ..Named::default()
        };
        named.files.extend(text.lines().filter_map(included));
        let json = is_project.then(|| lenient(bytes).ok()).flatten().unwrap_or_default();
        let texts = json.get("text_variables").and_then(Value::as_object);
        for (name, value) in texts.into_iter().flatten() {
            named.texts.extend(value.as_str().map(|value| (name.clone(), value.to_owned())));
        }
        let roots = json.pointer("/schematic/top_level_sheets").and_then(Value::as_array);
        let names = roots.into_iter().flatten().filter_map(|r| r.get("filename")?.as_str());
        named.roots.extend(names.map(str::to_owned));
        named
    }
}

/// What a file says; remembered by its digest, so that a look at a finished board reads no board. A
/// file that can't be read names nothing.
pub(crate) fn in_file(session: &Session<'_>, file: &Path) -> Named {
    let Ok(Some((digest, _))) = session.services.digests.digest(file) else {
        return Named::default();
    };
    let is_project = file.extension().is_some_and(|e| e == "kicad_pro");
    let (path, key) = (session.context.state_dir.join(CACHE_FILE), digest.to_string());
    let mut known: BTreeMap<String, Named> = cache::load(&path);
    if let Some(found) = known.remove(&key) {
        return found;
    }
    let Ok(bytes) = crate::file::read_bounded(file) else { return Named::default() };
    let found = Named::of(&bytes, is_project);
    // Saved between the two readings, it is not what the digest stands for.
    if Digest::of(&bytes) == digest {
        if known.len() >= CACHED_MAX {
            known.clear();
        }
        known.insert(key, found.clone());
        cache::store(&path, &known);
    }
    found
}

/// Whether a text shows the last change in git (KiCad 10).
pub(crate) fn shows_git(text: &str) -> bool {
    ["VCSHASH", "VCSSHORTHASH"].iter().any(|word| text.contains(word))
}

/// The text in quotes that follows each place of some words.
pub(crate) fn quoted_after(text: &str, before: &str) -> BTreeSet<String> {
    text.split(before)
        .skip(1)
        .filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next())
        .map(str::to_owned)
        .collect()
}

/// The file of a line `.include "more.lib"`.
fn included(line: &str) -> Option<String> {
    let (word, rest) = line.trim_start().split_once(char::is_whitespace)?;
    if !INCLUDES.iter().any(|w| w.eq_ignore_ascii_case(word)) {
        return None;
    }
    let rest = rest.trim();
    let quoted = rest.strip_prefix('"').and_then(|r| r.split('"').next());
    quoted.or_else(|| rest.split_whitespace().next()).map(str::to_owned)
}

/// Where a name leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// From the project's folder on; in a private copy from the copy's.
    Beside(String),
    /// The same for every copy.
    Fixed(PathBuf),
}

/// Finds the files that names lead to.
#[derive(Debug, Clone)]
pub(crate) struct Resolver {
    folder: PathBuf,
    texts: BTreeMap<String, String>,
    /// Variables of pcbflow's own environment, replaced by those that every call of the tool gets.
    environment: BTreeMap<String, String>,
}

impl Resolver {
    /// For the names in files of a project.
    pub(crate) fn new(session: &Session<'_>, project: &Project) -> Resolver {
        let texts = in_file(session, &project.beside("kicad_pro")).texts;
        let home = settings::home(&session.context.state_dir);
        let text = |text: OsString| text.to_string_lossy().into_owned();
        let mut environment: BTreeMap<String, String> =
            std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect();
        let (settings_folder, tmp) = (&home, &session.context.scratch);
        environment.extend(settings::whole_environment(&home, settings_folder, tmp));
        Resolver { folder: project.folder.clone(), texts, environment }
    }

    /// The places that a name stands for; none when it is no file, or nobody knows a variable of it.
    /// More than one when a variable has a value in the project and another one in the environment.
    pub(crate) fn places(&self, name: &str) -> Vec<Place> {
        if name.is_empty() || name.contains(HERE) || name.contains("://") {
            return Vec::new();
        }
        let (mut open, mut places) = (vec![name.replace('\\', "/")], Vec::new());
        for _ in 0..VARIABLES_MAX {
            let Some(text) = open.pop() else { break };
            let Some((before, variable, after)) = variable(&text) else {
                places.push(match text.strip_prefix(HERE) {
                    Some(rest) => Place::Beside(rest.trim_start_matches('/').to_owned()),
                    None if Path::new(&text).is_absolute() => Place::Fixed(PathBuf::from(text)),
                    None => Place::Beside(text),
                });
                continue;
            };
            let values = self.values(variable);
            open.extend(values.iter().map(|value| format!("{before}{value}{after}")));
        }
        places
    }

    fn values(&self, variable: &str) -> Vec<String> {
        if variable == PROJECT_FOLDER {
            return vec![HERE.to_string()];
        }
        let mut values: Vec<String> = self.texts.get(variable).cloned().into_iter().collect();
        let fits = |name: &str| match (of_version(name), of_version(variable)) {
            (Some(one), Some(other)) => one == other,
            _ => name == variable,
        };
        let passed = self.environment.iter().filter(|(name, _)| fits(name));
        for (_, value) in passed {
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
        values
    }

    /// The paths that a name stands for.
    pub(crate) fn paths(&self, name: &str) -> Vec<PathBuf> {
        let path = |place| match place {
            Place::Beside(rest) => self.folder.join(rest),
            Place::Fixed(path) => path,
        };
        self.places(name).into_iter().map(path).collect()
    }

    /// Whether a name leads into KiCad's own libraries.
    pub(crate) fn is_stock(&self, name: &str) -> bool {
        let by_text = |(text, value): (&String, &String)| name.contains(text) && is_named_in(value);
        is_named_in(name) || name.contains('$') && self.texts.iter().any(by_text)
    }

    /// Whether a 3D model is one of KiCad's: by its variable, or by the old form of their names,
    /// which has neither variable nor folder of the project (`Capacitors_SMD.3dshapes/C_0805.wrl`).
    pub(crate) fn is_of_kicad(&self, model: &str) -> bool {
        let first = model.split('/').next().unwrap_or_default();
        let is_old = first.ends_with(".3dshapes") && !self.folder.join(first).is_dir();
        self.is_stock(model) || is_old
    }

    /// How many levels above the project's folder a name leads.
    pub(crate) fn levels_up(&self, name: &str) -> usize {
        let climbs = |place: &Place| match place {
            Place::Beside(rest) => climbs(rest),
            Place::Fixed(_) => 0,
        };
        self.places(name).iter().map(climbs).max().unwrap_or(0)
    }
}

/// What `KICAD9_3DMODEL_DIR` has in common with the same variable of other versions, each of which the
/// tool takes for its own.
fn of_version(variable: &str) -> Option<&str> {
    let rest = variable.strip_prefix("KICAD")?.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.starts_with('_').then_some(rest)
}

/// `../../x` climbs two levels, and so does `lib/../../../x`.
fn climbs(path: &str) -> usize {
    let (mut below, mut above) = (0usize, 0);
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if below == 0 => above += 1,
            ".." => below -= 1,
            _ => below += 1,
        }
    }
    above
}

/// The first variable of a text, with what stands before and after it.
fn variable(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('$')?;
    let closed = |rest: &'_ str, end: char| rest.find(end).filter(|at| *at > 0);
    for (open, end) in [('{', '}'), ('(', ')')] {
        if let Some(inner) = rest.strip_prefix(open) {
            let at = closed(inner, end)?;
            return Some((before, inner.get(..at)?, inner.get(at + 1..)?));
        }
    }
    let at = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    (at > 0).then(|| Some((before, rest.get(..at)?, rest.get(at..)?)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_quotes_after_their_words() {
        let board = "(model \"${KIPRJMOD}/a.step\" (offset)) (model\n\t\"b.wrl\") (model c)";
        let found = quoted_after(board, BEFORE[0]);
        assert_eq!(found, BTreeSet::from(["${KIPRJMOD}/a.step".to_owned(), "b.wrl".to_owned()]));
        let project = "{\"page_layout_descr_file\": \"frame.kicad_wks\", // a note
            \"text_variables\": {\"LIB\": \"/l\"},
            \"schematic\": {\"top_level_sheets\": [{\"filename\": \"two.kicad_sch\"}]}}";
        let named = Named::of(project.as_bytes(), true);
        assert_eq!(named.files, BTreeSet::from(["frame.kicad_wks".to_owned()]));
        assert_eq!(named.texts["LIB"], "/l");
        assert_eq!(named.roots, BTreeSet::from(["two.kicad_sch".to_owned()]));
        assert!(Named::of(b"(title \"${VCSHASH}\")", false).has_vcs);
        let spice =
            "* a\n.INC more.lib\n  .include \"a b.lib\"\n.lib x.lib fast\n.incx no\n.model d";
        let named = Named::of(spice.as_bytes(), false).files;
        assert_eq!(named, BTreeSet::from(["a b.lib", "more.lib", "x.lib"].map(str::to_owned)));
    }

    #[test]
    fn names_lead_where_the_tool_looks() {
        let resolver = Resolver {
            folder: PathBuf::from("/p/hw"),
            texts: BTreeMap::from([
                ("LIB".to_owned(), "${KIPRJMOD}/../lib".to_owned()),
                ("LOOP".to_owned(), "${LOOP}".to_owned()),
            ]),
            environment: BTreeMap::from(
                [("HOME", "/h"), ("KICAD9_MINE", "/nine"), ("KICADX", "/x")]
                    .map(|(name, value)| (name.to_owned(), value.to_owned())),
            ),
        };
        for (name, path, levels) in [
            ("${KIPRJMOD}/a.step", "/p/hw/a.step", 0),
            ("$(KIPRJMOD)/a.step", "/p/hw/a.step", 0),
            ("$KIPRJMOD/a.step", "/p/hw/a.step", 0),
            ("${KIPRJMOD}\\..\\a.step", "/p/hw/../a.step", 1),
            ("../../a.step", "/p/hw/../../a.step", 2),
            ("lib/../../a.step", "/p/hw/lib/../../a.step", 1),
            ("${LIB}/a.step", "/p/hw/../lib/a.step", 1),
            ("/abs/../a.step", "/abs/../a.step", 0),
            ("${HOME}/a.step", "/h/a.step", 0),
            ("${KICAD7_MINE}/a.step", "/nine/a.step", 0),
            ("${KICADX}/a.step", "/x/a.step", 0),
        ] {
            assert_eq!(resolver.paths(name), [PathBuf::from(path)], "{name}");
            assert_eq!(resolver.levels_up(name), levels, "{name}");
        }
        for name in ["", "kicad-embed://a.step", "${NOBODY_HAS_THIS}/a", "${LOOP}/a"] {
            assert!(resolver.paths(name).is_empty(), "{name}");
        }
        // What is no variable is part of the name.
        for name in ["${}/a", "$/a", "${x"] {
            assert_eq!(resolver.paths(name), [PathBuf::from("/p/hw").join(name)]);
        }
    }
}
