//! Trees of files: copies, and what tells two of them apart.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use pcbflow_core::ids::Digest;

/// What a file is, so that any change shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Digest of its content, or of a link's target.
    pub digest: Digest,
    /// Size in bytes.
    pub bytes: u64,
    /// Type and rights.
    pub mode: u32,
    /// Time of the last change of its content, in nanoseconds.
    pub mtime_ns: i128,
}

/// Every file, folder and link below `folder`, by its path from there. Times of folders are in
/// it, too: a file that was made and removed again shows.
///
/// # Panics
/// When something can't be read.
#[must_use]
pub fn tree(folder: &Path) -> BTreeMap<PathBuf, Mark> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(dir) = folders.pop() {
        mark(folder, &dir, &mut found);
        for entry in fs::read_dir(&dir).expect("a folder that can be read") {
            let path = entry.expect("an entry").path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else {
                mark(folder, &path, &mut found);
            }
        }
    }
    found
}

fn mark(root: &Path, path: &Path, found: &mut BTreeMap<PathBuf, Mark>) {
    let meta = fs::symlink_metadata(path).expect("a file");
    let digest = if meta.is_symlink() {
        Digest::of(fs::read_link(path).expect("a link").as_os_str().as_encoded_bytes())
    } else if meta.is_dir() {
        Digest::ZERO
    } else {
        Digest::of(&fs::read(path).expect("a file that can be read"))
    };
    let name = path.strip_prefix(root).expect("below the root").to_owned();
    let bytes = if meta.is_dir() { 0 } else { meta.len() };
    let mtime_ns = i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec());
    found.insert(name, Mark { digest, bytes, mode: meta.mode(), mtime_ns });
}

/// Every file below `folder` with its content, by its path from there.
///
/// # Panics
/// When something can't be read.
#[must_use]
pub fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = tree(folder);
    files
        .keys()
        .filter(|name| {
            let path = folder.join(name);
            path.is_file() && !path.is_symlink()
        })
        .map(|name| (name.clone(), fs::read(folder.join(name)).expect("a file")))
        .collect()
}

/// Copies a folder with all that lies below it; the copies can be written.
///
/// # Panics
/// When something can't be read or written.
pub fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder to copy to");
    for entry in fs::read_dir(from).expect("a folder to copy") {
        let entry = entry.expect("an entry");
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_tree(&path, &target);
        } else {
            fs::write(&target, fs::read(&path).expect("a file to copy")).expect("a copy");
        }
    }
}

/// Replaces text in a file.
///
/// # Panics
/// When the text is not in it.
pub fn replace(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).expect("a text file");
    assert!(text.contains(from), "{} does not hold {from:?}", path.display());
    fs::write(path, text.replacen(from, to, 1)).expect("a file to write");
}
