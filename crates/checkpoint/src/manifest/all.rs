//! All faults of a file at once: those of its form, and with them those of its content that do
//! not follow from the first ones.

use std::path::Path;

use pcbflow_core::ids::BoardName;
use pcbflow_core::manifest::{KindInfo, Manifest, ManifestFault, faults};

use super::convert::{self, Partial, STEP_KEYS};
use super::{ManifestError, PlacedFault, bounded, parsed_doubled};
use crate::paths::{self, PathError};

/// What the subsystems see in the arguments of steps.
pub type More<'m> = dyn Fn(&Manifest) -> Vec<ManifestFault> + 'm;

/// Keys of a step that are judged together: a fault in one may be the cause of one in another.
const TOGETHER: &[&str] = &["with", "check", "outputs", "install"];

/// All faults of a manifest that can be read, in the order of the file.
///
/// # Errors
/// [`ManifestError`] when it can't be read, or its text is no YAML.
pub fn all_faults(
    path: &Path,
    board: &BoardName,
    kinds: &[KindInfo],
    more: &More<'_>,
) -> Result<Vec<PlacedFault>, ManifestError> {
    let bytes = bounded(path)
        .map_err(|source| ManifestError::Unreadable { path: path.to_owned(), source })?;
    let (tree, doubled) = parsed_doubled(path, &bytes)?;
    let (partial, mut list) = convert::partial(&tree);
    if let Some(partial) = partial {
        let manifest = &partial.manifest;
        let mut found = faults(manifest, kinds);
        found.extend(more(manifest));
        found.retain_mut(|fault| {
            fault.path = partial.real_path(&fault.path);
            independent(&fault.path, &list)
        });
        if manifest.board != *board && independent("board", &list) {
            found.push(other_name(&manifest.board, board));
        }
        if let Some(fault) = no_root(path, manifest.root.as_deref()) {
            found.push(fault);
        }
        list.extend(found.into_iter().map(|f| PlacedFault {
            at: tree.place_of(&f.path),
            path: f.path,
            fault: f.fault,
            remedy: f.remedy,
        }));
    }
    list.extend(doubled);
    list.sort_by_key(|f| f.at);
    Ok(list)
}

/// The fault of a board that is called otherwise than its folder.
pub(crate) fn other_name(written: &BoardName, folder: &BoardName) -> ManifestFault {
    ManifestFault {
        path: "board".to_owned(),
        fault: format!("the board is called '{written}' here and '{folder}' by its folder"),
        remedy: format!("write 'board: {folder}', or rename the folder"),
    }
}

/// The fault of a root that is not there.
pub(crate) fn root_fault(error: &PathError) -> ManifestFault {
    ManifestFault {
        path: "root".to_owned(),
        fault: error.to_string(),
        remedy: "write where the design files lie, relative to this manifest".to_owned(),
    }
}

fn no_root(manifest: &Path, root: Option<&str>) -> Option<ManifestFault> {
    let folder = std::fs::canonicalize(manifest.parent()?).ok()?;
    paths::resolve_root(&folder, root).err().as_ref().map(root_fault)
}

/// Whether a fault at this path says something that faults of the form do not already explain.
fn independent(path: &str, form: &[PlacedFault]) -> bool {
    let same = |f: &PlacedFault| below(path, &f.path) || below(&f.path, path) && !is_step(path);
    if form.iter().any(same) {
        return false;
    }
    let Some((phase, step, key)) = parts(path) else { return true };
    let of_phase = form.iter().filter_map(|f| parts(&f.path)).filter(|(p, ..)| *p == phase);
    for (_, other, k) in of_phase {
        // A step that was not understood may be the one that another needs.
        let lost = k.is_empty() || ["id", "uses", "needs"].contains(&k);
        if lost && (key == "needs" || step.is_empty()) {
            return false;
        }
        let touched = TOGETHER.contains(&k) || !STEP_KEYS.contains(&k);
        if other == step && touched && TOGETHER.contains(&key) {
            return false;
        }
    }
    true
}

fn below(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn is_step(path: &str) -> bool {
    path.ends_with(']') || path.ends_with(".steps")
}

/// Phase, step and key of a path such as `phases[1].steps[0].needs[2]`; the step is empty for
/// the list of steps itself.
fn parts(path: &str) -> Option<(&str, &str, &str)> {
    let (phase, rest) = path.strip_prefix("phases[")?.split_once("].steps")?;
    let Some((step, rest)) = rest.strip_prefix('[').and_then(|r| r.split_once(']')) else {
        return Some((phase, "", ""));
    };
    let key = rest.trim_start_matches('.').split(['.', '[']).next().unwrap_or("");
    Some((phase, step, key))
}

impl Partial {
    /// The path in the file of a path in the part of it that was understood.
    fn real_path(&self, path: &str) -> String {
        let index = |text: &str| text.parse::<usize>().ok();
        let Some((phase, rest)) = path.strip_prefix("phases[").and_then(|r| r.split_once(']'))
        else {
            return path.to_owned();
        };
        let Some((at, steps)) = index(phase).and_then(|p| self.origin.get(p)) else {
            return path.to_owned();
        };
        let step = rest.strip_prefix(".steps[").and_then(|r| r.split_once(']'));
        match step.and_then(|(s, after)| Some((steps.get(index(s)?)?, after))) {
            Some((step, after)) => format!("phases[{at}].steps[{step}]{after}"),
            None => format!("phases[{at}]{rest}"),
        }
    }
}
