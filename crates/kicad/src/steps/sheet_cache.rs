//! Names of the sheets below a root, remembered by the digest of each file, so that a look at a
//! finished board parses nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::cache;
use super::names;
use super::stop::Session;
use crate::file::header::Header;
use crate::file::schematic::{Hierarchy, MAX_SHEET_FILES, SubSheet};

/// The cache, below the state folder.
const CACHE_FILE: &str = "cache/kicad-sheets-3.json";
/// Most remembered files; beyond them the cache starts anew.
const CACHED_MAX: usize = 5_000;

/// What is remembered of one sheet's content.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Cached {
    /// Files as written in it.
    children: Vec<String>,
    /// Major version that reads it.
    required: u32,
    /// Files of simulation models, as written in it.
    models: Vec<String>,
    /// A text of it shows the last change in git.
    has_vcs: bool,
}

/// All sheet files below a root.
#[derive(Debug, Clone, Default)]
pub struct SheetFiles {
    /// Files, missing ones included.
    pub files: BTreeSet<PathBuf>,
    /// Major version that reads all of them.
    pub required: u32,
    /// Files of simulation models that their symbols name, as written.
    pub models: BTreeSet<String>,
    /// A text of them shows the last change in git.
    pub has_vcs: bool,
}

/// Lists the sheets below `root`.
#[must_use]
pub fn sheets(session: &Session<'_>, root: &Path) -> SheetFiles {
    let cache_path = session.context.state_dir.join(CACHE_FILE);
    let mut cache: BTreeMap<String, Cached> = cache::load(&cache_path);
    let (mut out, mut waiting) = (SheetFiles::default(), vec![root.to_owned()]);
    let mut learned = false;
    while let Some(path) = waiting.pop() {
        if out.files.len() >= MAX_SHEET_FILES || !out.files.insert(path.clone()) {
            continue;
        }
        let Ok(Some((digest, _))) = session.services.digests.digest(&path) else { continue };
        let key = digest.to_string();
        let sheet = match cache.get(&key) {
            Some(known) => known.clone(),
            None => {
                let read = read(&path);
                if cache.len() >= CACHED_MAX {
                    cache.clear();
                }
                // Saved between the two readings: what was read is not what the digest stands for.
                let still = session.services.digests.digest(&path);
                if matches!(still, Ok(Some((now, _))) if now == digest) {
                    cache.insert(key, read.clone());
                    learned = true;
                }
                read
            }
        };
        out.required = out.required.max(sheet.required);
        out.models.extend(sheet.models.iter().cloned());
        out.has_vcs |= sheet.has_vcs;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        waiting.extend(sheet.children.iter().map(|c| join(&folder, c)));
    }
    if learned {
        cache::store(&cache_path, &cache);
    }
    out
}

/// `..` is resolved in the text, so that one file has one name.
fn join(folder: &Path, child: &str) -> PathBuf {
    let mut out = PathBuf::new();
    for part in folder.join(child).components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

fn read(path: &Path) -> Cached {
    let required = Header::read(path).ok().and_then(|h| h.required_major()).unwrap_or(0);
    // Only this file is read: the walk's reader refuses every other one.
    let alone = Hierarchy::walk(path, |file| match file == path {
        true => crate::file::read_bounded(file),
        false => Err(std::io::ErrorKind::NotFound.into()),
    });
    let named = |c: &SubSheet| c.path.is_some().then(|| c.file.replace('\\', "/"));
    let children = alone.sheets.get(path).map(|s| s.children.as_slice()).unwrap_or_default();
    let bytes = crate::file::read_bounded(path).unwrap_or_default();
    Cached {
        children: children.iter().filter_map(named).collect(),
        required,
        models: models_in(&bytes).into_iter().collect(),
        has_vcs: names::shows_git(&String::from_utf8_lossy(&bytes)),
    }
}

/// The files of simulation models that the symbols of one sheet name.
pub(crate) fn models_of(sheet: &Path) -> BTreeSet<String> {
    crate::file::read_bounded(sheet).map(|bytes| models_in(&bytes)).unwrap_or_default()
}

fn models_in(bytes: &[u8]) -> BTreeSet<String> {
    names::quoted_after(&String::from_utf8_lossy(bytes), "\"Sim.Library\"")
}
