//! The files that an `inputs:` entry of a step stands for.

use std::path::{Path, PathBuf};

/// Most files that one `inputs:` entry stands for.
const INPUT_FILES_MAX: usize = 10_000;
/// Deepest folder below an entry that is looked into.
const INPUT_FOLDERS_DEEP_MAX: usize = 32;

/// What an entry stands for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// The files, sorted.
    pub files: Vec<PathBuf>,
    /// At least one file is there, and all of them are listed.
    pub whole: bool,
}

/// The file itself; all files below a folder, but those of git; or all files and folders whose name
/// fits the last part when it holds `*`.
pub(crate) fn expand(root: &Path, input: &str) -> Found {
    let path = root.join(input);
    let mut walk = Walk { files: Vec::new(), whole: true };
    match (path.parent(), path.file_name()) {
        (Some(dir), Some(name)) if input.contains('*') => {
            let pattern = name.to_string_lossy().into_owned();
            walk.folder(dir, INPUT_FOLDERS_DEEP_MAX, |name| fits(&pattern, name));
        }
        _ => walk.place(path, INPUT_FOLDERS_DEEP_MAX),
    }
    walk.files.sort();
    let there = walk.files.iter().any(|f| f.exists());
    Found { files: walk.files, whole: walk.whole && there }
}

struct Walk {
    files: Vec<PathBuf>,
    whole: bool,
}

impl Walk {
    fn place(&mut self, path: PathBuf, deep: usize) {
        if path.is_dir() {
            self.folder(&path, deep, |name| name != ".git");
        } else if self.files.len() < INPUT_FILES_MAX {
            self.files.push(path);
        } else {
            self.whole = false;
        }
    }

    fn folder(&mut self, dir: &Path, deep: usize, wanted: impl Fn(&str) -> bool) {
        let Some(deeper) = deep.checked_sub(1) else {
            self.whole = false;
            return;
        };
        let Ok(entries) = std::fs::read_dir(dir) else {
            self.whole = false;
            return;
        };
        for entry in entries {
            let Ok(entry) = entry else {
                self.whole = false;
                continue;
            };
            if wanted(&entry.file_name().to_string_lossy()) {
                self.place(entry.path(), deeper);
            }
            if self.files.len() >= INPUT_FILES_MAX {
                self.whole = false;
                return;
            }
        }
    }
}

/// Whether `name` fits a pattern in which `*` stands for any characters.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    for (at, part) in parts.iter().enumerate() {
        if at + 1 == parts.len() {
            return rest.len() >= part.len() && rest.ends_with(part);
        }
        match rest.find(part) {
            Some(found) => rest = rest.get(found + part.len()..).unwrap_or(""),
            None => return false,
        }
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn stars() {
        assert!(fits("*.kicad_sch", "a.kicad_sch"));
        assert!(fits("a*b*c", "a1b2c") && fits("a*", "a") && fits("*", ""));
        assert!(!fits("*.kicad_sch", "a.kicad_pcb") && !fits("a*c", "b1c") && !fits("ab*b", "ab"));
    }

    #[test]
    fn files_folders_and_patterns() {
        let place = tempfile::tempdir().expect("a folder");
        let root = place.path();
        for file in ["a.csv", "b.csv", "lib/x/deep.txt", "lib/y.txt", "lib/.git/HEAD"] {
            let file = root.join(file);
            fs::create_dir_all(file.parent().expect("a parent")).expect("folders");
            fs::write(file, "x").expect("a file");
        }
        let found = |input: &str| expand(root, input);
        let files = |names: &[&str]| names.iter().map(|n| root.join(n)).collect::<Vec<_>>();
        assert_eq!(found("a.csv"), Found { files: files(&["a.csv"]), whole: true });
        assert_eq!(found("*.csv"), Found { files: files(&["a.csv", "b.csv"]), whole: true });
        let below = files(&["lib/x/deep.txt", "lib/y.txt"]);
        assert_eq!(found("lib"), Found { files: below.clone(), whole: true });
        assert_eq!(found("l*"), Found { files: below, whole: true });
    }

    #[test]
    fn what_can_not_be_listed_is_no_proof() {
        let place = tempfile::tempdir().expect("a folder");
        let root = place.path();
        assert!(!expand(root, "typo.csv").whole);
        assert_eq!(expand(root, "typo.csv").files, [root.join("typo.csv")], "it may appear");
        assert!(!expand(root, "*.csv").whole);
        fs::create_dir(root.join("empty")).expect("a folder");
        assert!(!expand(root, "empty").whole);
        let deep = ["d"; INPUT_FOLDERS_DEEP_MAX + 1].join("/");
        fs::create_dir_all(root.join(&deep)).expect("folders");
        fs::write(root.join(&deep).join("x"), "x").expect("a file");
        fs::write(root.join("d/x"), "x").expect("a file");
        assert!(!expand(root, "d").whole);
    }
}
