//! Who may know whom, and that everybody is introduced.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use super::{expect_none, files};

/// What each member may use when it is built. `None`: everything.
const ARROWS: &[(&str, Option<&[&str]>)] = &[
    ("pcbflow-core", Some(&[])),
    ("pcbflow-store", Some(&["pcbflow-core"])),
    ("pcbflow-engine", Some(&["pcbflow-core"])),
    ("pcbflow-process", Some(&["pcbflow-core"])),
    ("pcbflow-checkpoint", Some(&["pcbflow-core"])),
    ("pcbflow-eda", Some(&["pcbflow-core"])),
    ("pcbflow-kicad", Some(&["pcbflow-core"])),
    ("pcbflow-humanize", Some(&["pcbflow-core"])),
    ("pcbflow-agents", Some(&["pcbflow-core", "pcbflow-engine"])),
    ("pcbflow-cli", None),
    ("pcbflow-tests", None),
    ("pcbflow-benches", None),
    ("pcbflow-example-spice", Some(&["pcbflow-core"])),
    ("pcbflow-example-embed", None),
    ("xtask", Some(&[])),
];

/// What tests of a crate may use besides.
const FOR_TESTS: &[&str] = &["pcbflow-store", "pcbflow-process", "pcbflow-humanize"];
/// Members whose tests may use everything.
const FREE_TESTS: &[&str] = &["pcbflow-cli", "pcbflow-tests", "pcbflow-example-spice"];
/// Crates that nobody may use but those that put the parts together.
const TOP: &[&str] = &["pcbflow-cli", "pcbflow-tests", "xtask"];

struct Member {
    name: String,
    folder: String,
    /// Kind (`normal`, `dev`, `build`) and name of each of our own crates it depends on.
    uses: Vec<(String, String)>,
}

fn members() -> Vec<Member> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(files::root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = |v: &Value, key: &str| v[key].as_str().unwrap_or("").to_owned();
    let packages = all["packages"].as_array().cloned().unwrap_or_default();
    let own = |name: &str| packages.iter().any(|p| p["name"] == name);
    packages
        .iter()
        .map(|p| {
            let manifest = text(p, "manifest_path");
            let root = files::root();
            let folder = std::path::Path::new(&manifest).parent().unwrap_or(&root);
            let uses = p["dependencies"].as_array().into_iter().flatten();
            Member {
                name: text(p, "name"),
                folder: folder.strip_prefix(&root).unwrap_or(folder).to_string_lossy().into_owned(),
                uses: uses
                    .map(|d| {
                        let kind = d["kind"].as_str().unwrap_or("normal");
                        (kind.to_owned(), text(d, "name"))
                    })
                    .filter(|(_, name)| own(name))
                    .collect(),
            }
        })
        .collect()
}

#[test]
fn arrows_point_one_way() {
    let table: BTreeMap<&str, Option<&[&str]>> = ARROWS.iter().copied().collect();
    let mut faults = Vec::new();
    for member in members() {
        let Some(allowed) = table.get(member.name.as_str()) else {
            faults.push(format!("{}: say in ARROWS what it may use", member.name));
            continue;
        };
        for (kind, used) in &member.uses {
            let fine = match kind.as_str() {
                "dev" => {
                    FREE_TESTS.contains(&member.name.as_str())
                        || FOR_TESTS.contains(&used.as_str())
                        || allowed.is_some_and(|a| a.contains(&used.as_str()))
                }
                _ => allowed.is_none_or(|a| a.contains(&used.as_str())),
            };
            let of_top = TOP.contains(&used.as_str()) && allowed.is_some();
            if !fine || of_top {
                faults.push(format!("{} -> {used} ({kind})", member.name));
            }
        }
    }
    expect_none("arrows that the design does not have", &faults);
}

#[test]
fn the_arrow_table_names_no_ghosts() {
    let members = members();
    let ghosts: Vec<String> = ARROWS
        .iter()
        .filter(|(name, _)| !members.iter().any(|m| m.name == *name))
        .map(|(name, _)| (*name).to_owned())
        .collect();
    expect_none("members of the table that are not there", &ghosts);
}

#[test]
fn everybody_is_introduced() {
    let pages = ["ARCHITECTURE.md", "crates/README.md"].map(|f| (f, files::text(f)));
    let mut faults = Vec::new();
    for member in members() {
        for (page, text) in &pages {
            if !text.contains(&format!("`{}`", member.folder)) {
                faults.push(format!("{page} does not name `{}`", member.folder));
            }
        }
        let readme = format!("{}/README.md", member.folder);
        if files::text(&readme).trim().len() < 100 {
            faults.push(format!("{readme} is missing or empty"));
        }
    }
    expect_none("members that a newcomer can't find", &faults);
}
