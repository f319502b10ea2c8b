//! No forgotten file: a source that no module names is never built, and its tests never run.

use std::collections::BTreeSet;

use super::{expect_none, files};

/// Files that cargo finds by itself: roots of crates, programs, tests, benches, examples.
fn is_root(file: &str) -> bool {
    let parts: Vec<&str> = file.split('/').collect();
    let name = parts.last().copied().unwrap_or("");
    let folder = |back: usize| parts.len().checked_sub(back).and_then(|i| parts.get(i)).copied();
    let direct = matches!(folder(2), Some("tests" | "benches" | "examples" | "bin"))
        && folder(3) != Some("src");
    let program = folder(2) == Some("bin") && folder(3) == Some("src");
    let in_folder =
        name == "main.rs" && matches!(folder(3), Some("tests" | "benches" | "examples" | "bin"));
    let crate_root = matches!(name, "lib.rs" | "main.rs") && folder(2) == Some("src");
    direct || program || in_folder || crate_root || name == "build.rs"
}

/// Files whose `mod` lines may name `file`, with the name that they use.
fn parents(file: &str) -> (Vec<String>, String) {
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    let (folder, module) = match name {
        "mod.rs" => folder.rsplit_once('/').unwrap_or(("", folder)),
        _ => (folder, name.trim_end_matches(".rs")),
    };
    let list = ["mod.rs", "lib.rs", "main.rs"].map(|p| format!("{folder}/{p}"));
    (list.into_iter().chain([format!("{folder}.rs")]).collect(), module.to_owned())
}

#[test]
fn every_source_is_part_of_something() {
    let sources = files::ending(".rs");
    let known: BTreeSet<&String> = sources.iter().collect();
    let mut faults = Vec::new();
    for file in sources.iter().filter(|f| !is_root(f)) {
        let (parents, module) = parents(file);
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        let above = folder.rsplit_once('/').map_or("", |(above, _)| above);
        // Programs of a folder name the modules that lie beside them.
        let programs = sources.iter().filter(|s| {
            is_root(s) && s.rsplit_once('/').is_some_and(|(d, _)| d == folder || d == above)
        });
        let parents: Vec<&String> = parents.iter().chain(programs).collect();
        let named = parents.iter().filter(|p| known.contains(*p)).any(|p| {
            files::text(p).lines().any(|l| {
                let l = l.trim();
                let l = l.strip_prefix("pub(crate) ").or(l.strip_prefix("pub ")).unwrap_or(l);
                let rest = l.strip_prefix("mod ").and_then(|l| l.strip_prefix(&module));
                rest.is_some_and(|r| r == ";")
            })
        });
        let name = file.rsplit('/').next().unwrap_or(file);
        let by_path = || {
            // `#[path = "x.rs"] mod tests;` in a file nearby.
            sources.iter().any(|s| {
                let near = s.starts_with(folder) || folder.starts_with(s.trim_end_matches(".rs"));
                let text = if near { files::text(s) } else { String::new() };
                text.lines().any(|l| l.contains("#[path = ") && l.contains(name))
            })
        };
        if !named && !by_path() {
            faults.push(file.clone());
        }
    }
    expect_none("sources that no module names", &faults);
}

#[test]
fn every_test_program_is_found() {
    // A folder below tests/ without main.rs holds modules of the programs beside it, or data.
    let mut faults = Vec::new();
    for file in files::ending(".rs") {
        let Some((folder, _)) = file.rsplit_once('/') else { continue };
        let in_tests = folder.rsplit_once('/').is_some_and(|(above, _)| above.ends_with("/tests"));
        if !in_tests || !file.starts_with("crates/") && !file.starts_with("tests/") {
            continue;
        }
        let main = format!("{folder}/main.rs");
        let name = folder.rsplit('/').next().unwrap_or("");
        let above = folder.trim_end_matches(name).trim_end_matches('/');
        let used = files::ending(".rs").iter().any(|f| {
            f.rsplit_once('/').is_some_and(|(d, _)| d == above)
                && files::text(f).contains(&format!("mod {name};"))
        });
        if !files::root().join(&main).is_file() && !used {
            faults.push(format!("{file}: {folder} has no main.rs and nobody names it"));
        }
    }
    expect_none("test files that no test program holds", &faults);
}
