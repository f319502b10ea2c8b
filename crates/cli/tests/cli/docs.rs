//! Holds `docs/generated/` against the program. `PCBFLOW_UPDATE_DOCS=1 cargo test -p pcbflow-cli
//! docs` writes the pages anew.

use std::path::{Path, PathBuf};

use pcbflow_cli::reference::{self, Page};

use crate::events_schema;

/// Variable that asks for the pages to be written.
const UPDATE_VAR: &str = "PCBFLOW_UPDATE_DOCS";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated")
}

fn pages() -> Vec<Page> {
    let mut pages = reference::pages();
    pages.push(Page { file: "events.md", text: events_schema::page() });
    pages.push(Page { file: "events.schema.json", text: events_schema::schema() });
    pages
}

#[test]
fn generated_pages_are_current() {
    let update = std::env::var_os(UPDATE_VAR).is_some();
    let mut old = Vec::new();
    for page in pages() {
        let path = folder().join(page.file);
        if update {
            std::fs::create_dir_all(folder()).unwrap();
            std::fs::write(&path, &page.text).unwrap();
        } else if std::fs::read_to_string(&path).unwrap_or_default() != page.text {
            old.push(page.file);
        }
    }
    assert!(
        old.is_empty(),
        "{old:?} differ from the program; run '{UPDATE_VAR}=1 cargo test -p pcbflow-cli docs'"
    );
}

#[test]
fn no_page_is_left_over() {
    let known: Vec<&str> = pages().iter().map(|p| p.file).collect();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(known.contains(&name.as_str()), "{name} is made by nothing");
    }
}

#[test]
fn the_reference_names_everything() {
    let text = pages().into_iter().find(|p| p.file == "cli.md").unwrap().text;
    for name in reference::command_names() {
        assert!(text.contains(&format!("\n## pcbflow {name}\n")), "{name}");
    }
    let failures = pages().into_iter().find(|p| p.file == "failures.md").unwrap().text;
    for row in pcbflow_cli::compose::rows() {
        assert!(failures.contains(&format!("| {} |", row.id)), "{}", row.id);
    }
}
