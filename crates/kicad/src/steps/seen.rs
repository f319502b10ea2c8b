//! What the looks of one round have in common: the installed tools, and the files that a project
//! names. Each is read once a round; the next round reads it anew.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pcbflow_core::ports::Round;

use super::sheet_cache::SheetFiles;
use crate::cli::find::Tools;

/// What was read in one round.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    tools: Mutex<Option<Tools>>,
    files: Mutex<BTreeMap<(&'static str, PathBuf), BTreeSet<PathBuf>>>,
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

    /// The files of a sort that lie with a project.
    pub(crate) fn files(
        &self,
        sort: &'static str,
        of: &Path,
        read: impl FnOnce() -> BTreeSet<PathBuf>,
    ) -> BTreeSet<PathBuf> {
        let key = (sort, of.to_owned());
        if let Some(files) = locked(&self.files).get(&key) {
            return files.clone();
        }
        let files = read();
        locked(&self.files).insert(key, files.clone());
        files
    }

    /// The sheets below a root.
    pub(crate) fn sheets(&self, root: &Path, read: impl FnOnce() -> SheetFiles) -> SheetFiles {
        if let Some(sheets) = locked(&self.sheets).get(root) {
            return sheets.clone();
        }
        let sheets = read();
        locked(&self.sheets).insert(root.to_owned(), sheets.clone());
        sheets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_reads_once_and_the_next_one_anew() {
        let rounds = Rounds::default();
        let read = |round, name: &str| {
            let files = || BTreeSet::from([PathBuf::from(name)]);
            rounds.seen(round).files("models", Path::new("/b"), files)
        };
        let has = |name: &str| BTreeSet::from([PathBuf::from(name)]);
        assert_eq!(read(Some(Round(1)), "a"), has("a"));
        assert_eq!(read(Some(Round(1)), "b"), has("a"));
        assert_eq!(read(Some(Round(2)), "c"), has("c"));
        assert_eq!(read(None, "d"), has("d"), "a look that is alone reads for itself");
        assert_eq!(read(None, "e"), has("e"));
    }
}
