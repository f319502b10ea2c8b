//! Pages: links lead somewhere, commands exist, nothing of a machine stands in them.

use std::collections::BTreeSet;

use super::{expect_none, files};

/// Pages without code blocks, as lines with their numbers.
fn prose(file: &str) -> Vec<(usize, String)> {
    let mut inside = false;
    let mut lines = Vec::new();
    for (at, line) in files::text(file).lines().enumerate() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if !inside {
            lines.push((at + 1, line.to_owned()));
        }
    }
    lines
}

/// Targets of the links of a line.
fn links(line: &str) -> Vec<String> {
    line.match_indices("](")
        .filter_map(|(at, _)| line[at + 2..].split(')').next())
        .map(|t| t.split_whitespace().next().unwrap_or("").to_owned())
        .collect()
}

/// The name by which a heading is linked to.
fn anchor(heading: &str) -> String {
    heading
        .trim_start_matches('#')
        .trim()
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

fn anchors(file: &str) -> BTreeSet<String> {
    prose(file).iter().filter(|(_, l)| l.starts_with('#')).map(|(_, l)| anchor(l)).collect()
}

/// `folder/../x` without the detour.
fn tidy(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[test]
fn links_lead_somewhere() {
    let mut faults = Vec::new();
    for page in files::ending(".md") {
        let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (number, line) in prose(&page) {
            for link in links(&line).iter().filter(|l| !l.contains("://") && !l.starts_with('<')) {
                let (path, place) = link.split_once('#').unwrap_or((link, ""));
                let target =
                    if path.is_empty() { page.clone() } else { tidy(&format!("{folder}/{path}")) };
                if !files::root().join(&target).exists() {
                    faults.push(format!("{page}:{number}: {link}: no such file"));
                } else if !place.is_empty() && !anchors(&target).contains(place) {
                    faults.push(format!("{page}:{number}: {link}: no such heading"));
                }
            }
        }
    }
    expect_none("links that lead nowhere", &faults);
}

/// Words after `pcbflow` or `cargo xtask` where a page shows a command: at the start of a line
/// of a code block, with or without a prompt, and at the start of code in a sentence.
fn commands(page: &str, start: &str) -> Vec<(usize, String)> {
    let mut block = false;
    let mut found = Vec::new();
    for (at, line) in files::text(page).lines().enumerate() {
        if line.trim_start().starts_with("```") {
            block = !block;
            continue;
        }
        for (i, _) in line.match_indices(start) {
            let before = line[..i].trim();
            let shown = match block {
                true => before.is_empty() || before == "$" || before == "-",
                false => line[..i].ends_with('`'),
            };
            let word: String = line[i + start.len()..]
                .chars()
                .take_while(|c| c.is_ascii_lowercase() || *c == '-')
                .collect();
            if shown && !word.is_empty() && !word.starts_with('-') {
                found.push((at + 1, word));
            }
        }
    }
    found
}

fn pages_for_people() -> Vec<String> {
    files::ending(".md").into_iter().filter(|f| !f.starts_with("docs/generated/")).collect()
}

#[test]
fn tasks_that_pages_name_exist() {
    let args = files::text("xtask/src/args.rs");
    let mut faults = Vec::new();
    for page in pages_for_people() {
        for (number, word) in commands(&page, "cargo xtask ") {
            if !args.contains(&format!("\ncargo xtask {word}")) {
                faults.push(format!("{page}:{number}: cargo xtask {word}"));
            }
        }
    }
    expect_none("tasks that `cargo xtask help` does not know", &faults);
    let readme = files::text("README.md");
    for command in ["cargo xtask demo", "cargo xtask test"] {
        assert!(readme.contains(command), "README.md does not name `{command}`");
    }
    assert!(files::text(".ci/run").contains("cargo xtask test"), ".ci/run runs something else");
}

#[test]
fn commands_that_pages_name_exist() {
    let args = files::text("crates/cli/src/args.rs");
    let list = args.split("pub enum Command {").nth(1).and_then(|t| t.split("\n}").next());
    let known: BTreeSet<String> = list
        .unwrap_or("")
        .lines()
        .map(str::trim)
        .filter(|l| !l.starts_with('/') && !l.starts_with('#'))
        .map(|l| l.split(['(', ',']).next().unwrap_or("").to_owned())
        .filter(|w| !w.is_empty())
        .map(|w| kebab(&w))
        .collect();
    assert!(known.contains("run") && known.contains("verify-trace"), "{known:?}");
    let mut faults = Vec::new();
    for page in pages_for_people() {
        for (number, word) in commands(&page, "pcbflow ") {
            if !known.contains(&word) {
                faults.push(format!("{page}:{number}: pcbflow {word}"));
            }
        }
    }
    expect_none("commands that the program does not have", &faults);
}

fn kebab(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// The hosts of the addresses in a line.
fn hosts_of(line: &str) -> impl Iterator<Item = &str> {
    line.split("://").skip(1).filter_map(|rest| rest.split(['/', ':', '\'', '"', ' ', ')']).next())
}

#[test]
fn nothing_of_a_machine_stands_in_the_files() {
    let root = files::root().to_string_lossy().into_owned();
    let home = std::env::var("HOME").unwrap_or_default();
    // Put together here, so that this file does not find itself.
    let hosts = [["crates", "io"].join("."), ["pypi", "org"].join("."), ["npmjs", "com"].join(".")];
    let registries = ["crates", "pypi", "npmjs", "debian"].map(|name| format!("{name}."));
    let mut faults = Vec::new();
    for file in files::all().iter().filter(|f| *f != "Cargo.lock") {
        for (at, line) in files::text(file).lines().enumerate() {
            // A short home such as that of root is part of too many honest paths.
            let path = |p: &str| p.matches('/').count() > 1 && begins_path(line, &format!("{p}/"));
            // As an address; a word in a list of what tools say is data.
            let host = hosts.iter().find(|h| {
                line.contains(&format!("://{h}")) || line.contains(&format!("index.{h}"))
            });
            let registry = hosts_of(line).any(|host| {
                registries.iter().any(|r| host.starts_with(r) || host.contains(&format!(".{r}")))
            });
            if path(&root) || path(&home) || host.is_some() || registry {
                faults.push(format!("{file}:{}", at + 1));
            }
        }
    }
    expect_none("paths of this machine, or hosts of registries", &faults);
}

/// Whether a path stands in the line by itself, not inside a longer one.
fn begins_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        !line[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || "._-/".contains(c))
    })
}

#[test]
fn changes_have_a_fragment_in_the_right_form() {
    let mut faults = Vec::new();
    for file in files::all().iter().filter(|f| f.starts_with("changelog/unreleased/")) {
        let text = files::text(file);
        let first = text.lines().next().unwrap_or("");
        let kind = ["Bugfix: ", "Enhancement: ", "Change: "].iter().any(|k| first.starts_with(k));
        if !kind || !file.ends_with(".md") || text.trim().lines().count() < 2 {
            faults.push(format!("{file}: {first}"));
        }
    }
    expect_none(
        "fragments that do not start with Bugfix, Enhancement or Change and say more",
        &faults,
    );
}
