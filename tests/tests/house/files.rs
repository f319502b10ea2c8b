//! The project's files: what git knows, and what it would take in.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The project's folder.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// All files, relative to the project's folder, with '/'.
pub fn all() -> Vec<String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(root())
        .output()
        .expect("git runs");
    assert!(output.status.success(), "git ls-files: {}", output.status);
    let mut files: Vec<String> = String::from_utf8_lossy(&output.stdout)
        .split('\0')
        .filter(|f| !f.is_empty() && root().join(f).is_file())
        .map(str::to_owned)
        .collect();
    files.sort();
    files.dedup();
    files
}

/// Files with this ending.
pub fn ending(ending: &str) -> Vec<String> {
    all().into_iter().filter(|f| f.ends_with(ending)).collect()
}

/// A file's text; of a file that is no text, what can be read.
pub fn text(file: &str) -> String {
    let bytes = std::fs::read(root().join(file)).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A file of this test's own folder, one entry a line: a name, two blanks or more, a reason.
/// Lines that begin with '#' are for readers.
pub fn list(name: &str) -> Vec<(String, String)> {
    let file = format!("tests/tests/house/{name}");
    text(&file)
        .lines()
        .filter(|l| !l.trim().is_empty() && !l.starts_with('#'))
        .map(|l| {
            let (name, reason) = l.split_once("  ").unwrap_or((l, ""));
            assert!(!reason.trim().is_empty(), "{file}: {name} has no reason");
            (name.trim().to_owned(), reason.trim().to_owned())
        })
        .collect()
}
