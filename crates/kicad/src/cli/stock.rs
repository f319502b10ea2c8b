//! KiCad's own libraries as part of what a result depends on.
//!
//! They are ten thousand files and more, so not their content is digested but name, size and time of
//! each: an update of the library packages changes all three.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use pcbflow_core::ids::Digest;

use super::find::Tool;

/// Folders of libraries, below the stock folder, with the middle of the variable that names each.
const FOLDERS: [(&str, &str); 3] =
    [("symbols", "SYMBOL"), ("footprints", "FOOTPRINT"), ("template", "TEMPLATE")];
/// The folder of 3D models, which only fabrication files show.
const MODELS: (&str, &str) = ("3dmodels", "3DMODEL");
/// Where the stock folder lies, seen from a folder above the program.
const BELOW: [&str; 3] = ["share/kicad", "root/usr/share/kicad", "SharedSupport"];
/// The stock folder that is compiled into the packages of most systems.
const COMPILED_IN: &str = "/usr/share/kicad";
/// Levels above the program that are looked at.
const LEVELS_UP_MAX: usize = 4;
/// Most files that are looked at; what is beyond counts as its number only.
const FILES_MAX: usize = 200_000;

/// A digest over the stock libraries that a tool will see.
#[must_use]
pub fn digest(tool: &Tool) -> String {
    of_folders(FOLDERS.iter().filter_map(|(name, middle)| folder(tool, name, middle)))
}

/// A digest over the stock 3D models that a tool will see.
#[must_use]
pub fn models_digest(tool: &Tool) -> String {
    of_folders(folder(tool, MODELS.0, MODELS.1))
}

/// A digest over name, size and time of all files below some folders.
#[must_use]
pub fn of_folders(folders: impl IntoIterator<Item = PathBuf>) -> String {
    let (mut lines, mut count) = (Vec::new(), 0);
    for found in folders {
        list(&found, &mut lines, &mut count);
    }
    if lines.is_empty() {
        return "none found".to_owned();
    }
    lines.sort_unstable();
    let short = Digest::of(lines.join("\n").as_bytes()).to_string();
    format!("{count} files, {short}")
}

fn folder(tool: &Tool, name: &str, middle: &str) -> Option<PathBuf> {
    let variable = format!("KICAD{}_{middle}_DIR", tool.major());
    if let Some(named) = std::env::var_os(variable).map(PathBuf::from).filter(|p| p.is_dir()) {
        return Some(named);
    }
    let program = tool.path.canonicalize().unwrap_or_else(|_| tool.path.clone());
    let above = program.ancestors().skip(1).take(LEVELS_UP_MAX);
    let near = above.flat_map(|a| BELOW.map(|below| a.join(below).join(name)));
    near.chain([Path::new(COMPILED_IN).join(name)]).find(|p| p.is_dir())
}

fn list(folder: &Path, lines: &mut Vec<String>, count: &mut usize) {
    let mut waiting = vec![folder.to_owned()];
    // Ends: links to folders are not followed, and the number of files is limited.
    while let Some(next) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(&next) else { continue };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                waiting.push(entry.path());
                continue;
            }
            *count += 1;
            let Ok(meta) = entry.path().metadata() else { continue };
            let seconds = meta.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
            if lines.len() < FILES_MAX {
                let seconds = seconds.map_or(0, |s| s.as_secs());
                lines.push(format!("{} {} {seconds}", entry.path().display(), meta.len()));
            }
        }
    }
}

/// Whether a name has a variable of KiCad's own, so that the stock libraries count without being
/// asked for.
#[must_use]
pub fn is_named_in(name: &str) -> bool {
    ["${", "$(", "$"]
        .iter()
        .any(|sign| ["KICAD", "KISYS"].iter().any(|word| name.contains(&format!("{sign}{word}"))))
}

#[cfg(test)]
mod tests {
    use super::super::find::Version;
    use super::*;

    #[test]
    fn a_library_that_changes_changes_the_digest() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("share/kicad/footprints/x.pretty");
        std::fs::create_dir_all(&library).unwrap();
        std::fs::create_dir_all(folder.path().join("bin")).unwrap();
        let path = folder.path().join("bin/kicad-cli");
        std::fs::write(&path, "").unwrap();
        let tool = Tool { path, version: Some(Version { major: 77, minor: 0, patch: 0 }) };
        std::fs::write(library.join("a.kicad_mod"), "(a)").unwrap();
        let first = digest(&tool);
        assert_eq!(digest(&tool), first);
        std::fs::write(library.join("a.kicad_mod"), "(a b)").unwrap();
        assert_ne!(digest(&tool), first);
        std::fs::remove_file(library.join("a.kicad_mod")).unwrap();
        std::fs::write(library.join("b.kicad_mod"), "(a)").unwrap();
        assert_ne!(digest(&tool), first);
    }

    #[test]
    fn variables_of_kicad_count() {
        for name in
            ["${KICAD9_FOOTPRINT_DIR}/a.pretty", "$(KICAD7_X)/a", "$KICAD_X/a", "${KISYSMOD}/a"]
        {
            assert!(is_named_in(name), "{name}");
        }
        assert!(!is_named_in("${KIPRJMOD}/KICAD.pretty"));
    }
}
