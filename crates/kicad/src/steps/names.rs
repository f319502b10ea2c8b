//! Files that a board and its project name: 3D models and drawing frames. Remembered by the digest
//! of the file that names them, so that a look at a finished board reads no board.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pcbflow_core::ids::Digest;

use super::cache;
use super::stop::Session;

/// The cache, below the state folder.
const CACHE_FILE: &str = "cache/kicad-names.json";
/// Most remembered files; beyond them the cache starts anew.
const CACHED_MAX: usize = 1_000;
/// What stands before a name: of a model in a board, of a drawing frame in a project file.
const BEFORE: [&str; 2] = ["(model", "\"page_layout_descr_file\":"];

/// The names in this file, as written. A file that can't be read names nothing.
pub(crate) fn in_file(session: &Session<'_>, file: &Path) -> BTreeSet<String> {
    let Ok(Some((digest, _))) = session.services.digests.digest(file) else {
        return BTreeSet::new();
    };
    let (path, key) = (session.context.state_dir.join(CACHE_FILE), digest.to_string());
    let mut known: BTreeMap<String, BTreeSet<String>> = cache::load(&path);
    if let Some(found) = known.remove(&key) {
        return found;
    }
    let Ok(bytes) = crate::file::read_bounded(file) else { return BTreeSet::new() };
    let text = String::from_utf8_lossy(&bytes);
    let found: BTreeSet<String> =
        BEFORE.iter().flat_map(|before| quoted_after(&text, before)).collect();
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

/// The text in quotes that follows each place of some words.
pub(crate) fn quoted_after(text: &str, before: &str) -> BTreeSet<String> {
    text.split(before)
        .skip(1)
        .filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_quotes_after_their_words() {
        let board = "(model \"${KIPRJMOD}/a.step\" (offset)) (model\n\t\"b.wrl\") (model c)";
        let found = quoted_after(board, BEFORE[0]);
        assert_eq!(found, BTreeSet::from(["${KIPRJMOD}/a.step".to_owned(), "b.wrl".to_owned()]));
        let project = "{\"page_layout_descr_file\": \"frame.kicad_wks\"}";
        assert_eq!(
            quoted_after(project, BEFORE[1]),
            BTreeSet::from(["frame.kicad_wks".to_owned()])
        );
    }
}
