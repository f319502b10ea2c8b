//! The libraries that the tables of a project name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::names::Resolver;
use super::project::{Project, TABLES};
use super::seen::ProjectLibraries;
use crate::sexpr::Document;

/// Most files of libraries that are looked at one by one.
pub(crate) const LIBRARY_FILES_MAX: usize = 20_000;
/// Most library tables that are read for one step.
const TABLES_MAX: usize = 100;
/// Endings of the files of a library that is a folder: footprints, symbols (KiCad 10).
const ENDINGS: [&str; 2] = ["kicad_mod", "kicad_sym"];

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// Where the library is, as written.
    pub uri: String,
    /// It is a further table.
    is_table: bool,
}

/// All rows of the project's own tables, those of further tables included.
pub(crate) fn rows(project: &Project, resolver: &Resolver) -> Vec<Row> {
    let (mut rows, mut read) = (Vec::new(), BTreeSet::new());
    let mut waiting: Vec<PathBuf> = TABLES.map(|table| project.folder.join(table)).into();
    // Ends: each table is read once, and their number is limited.
    while let Some(path) = waiting.pop() {
        if read.len() >= TABLES_MAX || !read.insert(path.clone()) {
            continue;
        }
        let Ok(bytes) = crate::file::read_bounded(&path) else { continue };
        let Ok(doc) = Document::parse(bytes) else { continue };
        for lib in doc.root().children_named("lib") {
            let Some(uri) = lib.field("uri", 1) else { continue };
            let is_table = lib.field("type", 1).is_some_and(|kind| kind == "Table");
            if is_table {
                waiting.extend(resolver.paths(&uri));
            }
            rows.push(Row { uri, is_table });
        }
    }
    rows
}

/// What the rows lead to: symbol files, tables, and what is in folders file by file.
pub(crate) fn of(project: &Project, resolver: &Resolver) -> ProjectLibraries {
    let mut found = ProjectLibraries::default();
    for row in rows(project, resolver) {
        found.names_stock |= resolver.is_stock(&row.uri);
        for path in resolver.paths(&row.uri) {
            add(&path, row.is_table, &mut found);
        }
    }
    found
}

fn add(path: &Path, is_table: bool, found: &mut ProjectLibraries) {
    if !path.is_dir() {
        found.files.insert(path.to_owned());
        return;
    }
    if is_table {
        return;
    }
    found.folders.insert(path.to_owned());
    let Ok(entries) = std::fs::read_dir(path) else { return };
    for file in entries.flatten().map(|e| e.path()) {
        if !file.extension().is_some_and(|e| ENDINGS.iter().any(|ending| e == *ending)) {
            continue;
        }
        if found.files.len() >= LIBRARY_FILES_MAX {
            // Its files count by name, size and time.
            found.large.insert(path.to_owned());
            return;
        }
        found.files.insert(file);
    }
}
