//! What the looks of one round have in common: the installed tools, and the files that a project
//! names. Each is read once a round; the next round reads it anew.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pcbflow_core::ports::Round;

use super::sheet_cache::SheetFiles;
use crate::cli::find::{Tool, Tools};
use crate::cli::stock;

/// What the library tables of a project name.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProjectLibraries {
    /// Their files.
    pub files: BTreeSet<PathBuf>,
    /// Folders of libraries.
    pub folders: BTreeSet<PathBuf>,
    /// Folders with more files than are looked at one by one.
    pub large: BTreeSet<PathBuf>,
    /// KiCad's own libraries are named too.
    pub names_stock: bool,
}

/// What was read in one round.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    tools: Mutex<Option<Tools>>,
    libraries: Mutex<BTreeMap<PathBuf, ProjectLibraries>>,
    stock: Mutex<BTreeMap<PathBuf, String>>,
    stock_models: Mutex<BTreeMap<PathBuf, String>>,
    sheets: Mutex<BTreeMap<PathBuf, SheetFiles>>,
}

/// The newest round.
#[derive(Debug, Default)]
pub(crate) struct Rounds(Mutex<Option<(Round, Arc<Seen>)>>);

/// A panic elsewhere leaves nothing half done: each change is one insert.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Rounds {
    /// What was read in this round so far; nothing, where a look is alone.
    pub(crate) fn seen(&self, round: Option<Round>) -> Arc<Seen> {
        let Some(round) = round else { return Arc::default() };
        let mut last = locked(&self.0);
        match last.as_ref() {
            Some((at, seen)) if *at == round => Arc::clone(seen),
            _ => {
                let seen = Arc::<Seen>::default();
                *last = Some((round, Arc::clone(&seen)));
                seen
            }
        }
    }
}

impl Seen {
    /// The tools, if they were looked for.
    pub(crate) fn tools(&self) -> Option<Tools> {
        locked(&self.tools).clone()
    }

    /// Keeps the tools.
    pub(crate) fn keep_tools(&self, tools: &Tools) {
        *locked(&self.tools) = Some(tools.clone());
    }

    /// The libraries that the tables in a project's folder name.
    pub(crate) fn libraries(
        &self,
        folder: &Path,
        read: impl FnOnce() -> ProjectLibraries,
    ) -> ProjectLibraries {
        kept(&self.libraries, folder, read)
    }

    /// Digest of the stock libraries that a tool sees.
    pub(crate) fn stock(&self, tool: &Tool) -> String {
        kept(&self.stock, &tool.path, || stock::digest(tool))
    }

    /// Digest of the stock 3D models that a tool sees.
    pub(crate) fn stock_models(&self, tool: &Tool) -> String {
        kept(&self.stock_models, &tool.path, || stock::models_digest(tool))
    }

    /// The sheets below a root.
    pub(crate) fn sheets(&self, root: &Path, read: impl FnOnce() -> SheetFiles) -> SheetFiles {
        kept(&self.sheets, root, read)
    }
}

/// What is kept for a path, read where it is not yet.
fn kept<T: Clone>(map: &Mutex<BTreeMap<PathBuf, T>>, path: &Path, read: impl FnOnce() -> T) -> T {
    if let Some(known) = locked(map).get(path) {
        return known.clone();
    }
    let found = read();
    locked(map).insert(path.to_owned(), found.clone());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_reads_once_and_the_next_one_anew() {
        let rounds = Rounds::default();
        let read = |round, name: &str| {
            let files = BTreeSet::from([PathBuf::from(name)]);
            let libraries = || ProjectLibraries { files, ..ProjectLibraries::default() };
            let found = rounds.seen(round).libraries(Path::new("/b"), libraries).files;
            found.first().unwrap().to_string_lossy().into_owned()
        };
        assert_eq!(read(Some(Round(1)), "a"), "a");
        assert_eq!(read(Some(Round(1)), "b"), "a");
        assert_eq!(read(Some(Round(2)), "c"), "c");
        assert_eq!(read(None, "d"), "d", "a look that is alone reads for itself");
        assert_eq!(read(None, "e"), "e");
    }
}
