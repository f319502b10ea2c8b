//! Habits of the code, as far as a look at its lines can tell.

use super::{expect_none, files};

/// Longest file without a reason in `long-files.txt`.
const LINES_MAX: usize = 500;
/// Lines above a loop in which its comment may stand.
const COMMENT_LINES_MAX: usize = 4;
/// Lines of a loop in which its limit may stand.
const LIMIT_LINES_MAX: usize = 12;

/// The lines of a file that are not test code: up to the first test module. Numbers start at 1.
pub fn code(file: &str) -> Vec<(usize, String)> {
    let text = files::text(file);
    let lines: Vec<&str> = text.lines().collect();
    let tests = (0..lines.len()).find(|at| {
        let next = lines[at + 1..].iter().find(|l| !l.trim().starts_with("#["));
        let begins = lines[*at].starts_with("#[cfg(") && lines[*at].contains("test");
        begins
            && next.is_some_and(|l| l.trim_start_matches("pub ").starts_with("mod "))
            // A module in the middle (`#[cfg(test)] mod samples;`) ends nothing.
            && (next.is_some_and(|l| l.ends_with('{')) || at + 4 >= lines.len())
    });
    let end = tests.unwrap_or(lines.len());
    lines[..end].iter().enumerate().map(|(at, l)| (at + 1, (*l).to_owned())).collect()
}

/// Sources that are part of the product, not of its tests.
pub fn product() -> Vec<String> {
    files::ending(".rs")
        .into_iter()
        .filter(|f| f.starts_with("crates/") && f.contains("/src/") && !is_test(f))
        .collect()
}

/// A file of test code: by its folder, its name, or because its module is only built for tests.
fn is_test(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let module = name.trim_end_matches(".rs");
    let by_name = file.contains("/tests/") || module == "tests" || module.ends_with("_tests");
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let parents = ["mod.rs", "lib.rs", "main.rs"].map(|p| format!("{folder}/{p}"));
    let parents = parents.into_iter().chain([format!("{folder}.rs")]);
    let declared = parents.map(|p| files::text(&p)).any(|text| {
        ["mod", "pub mod", "pub(crate) mod"]
            .iter()
            .any(|m| text.contains(&format!("#[cfg(test)]\n{m} {module};")))
    });
    by_name || declared
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

#[test]
fn every_loop_says_where_it_ends() {
    let mut faults = Vec::new();
    for file in product().iter().chain(&files::ending(".rs")).filter(|f| {
        !is_test(f) && (f.starts_with("crates/") || f.starts_with("xtask/")) && f.contains("/src/")
    }) {
        let lines = code(file);
        for (at, (number, line)) in lines.iter().enumerate() {
            if is_comment(line) || !line.trim_end().ends_with("loop {") {
                continue;
            }
            let above = &lines[at.saturating_sub(COMMENT_LINES_MAX)..at];
            let body = &lines[at..(at + LIMIT_LINES_MAX).min(lines.len())];
            let says = |l: &str| is_comment(l) && l.to_lowercase().contains("end");
            let said = above.iter().chain(body.iter().take(3)).any(|(_, l)| says(l));
            let named = |l: &str| ["_MAX", "_max", "_MS", "limit"].iter().any(|n| l.contains(n));
            let limit = above.iter().chain(body).any(|(_, l)| named(l));
            if !said && !limit {
                faults.push(format!("{file}:{number}"));
            }
        }
    }
    faults.sort();
    faults.dedup();
    expect_none(
        "loops without a named limit (.._MAX) or a comment that says where they end",
        &faults,
    );
}

#[test]
fn every_queue_has_a_limit() {
    let mut faults = Vec::new();
    for file in product() {
        let lines = code(&file);
        for (at, (number, line)) in lines.iter().enumerate() {
            let endless = line.contains("unbounded") || line.contains("mpsc::channel()");
            let near = &lines[at.saturating_sub(2)..(at + 3).min(lines.len())];
            let says = |l: &str| is_comment(l) && (l.contains("bounded") || l.contains("at most"));
            if endless && !is_comment(line) && !near.iter().any(|(_, l)| says(l)) {
                faults.push(format!("{file}:{number}: {}", line.trim()));
            }
        }
    }
    expect_none("queues without a limit", &faults);
}

#[test]
fn only_the_ui_prints() {
    let mut faults = Vec::new();
    for file in product().iter().filter(|f| *f != "crates/cli/src/ui.rs") {
        for (number, line) in code(file) {
            let prints = ["println!", "print!("].iter().any(|p| line.contains(p));
            if prints && !is_comment(&line) {
                faults.push(format!("{file}:{number}: {}", line.trim()));
            }
        }
    }
    expect_none("prints outside cli/src/ui.rs", &faults);
}

#[test]
fn long_files_have_a_reason() {
    let reasons = files::list("long-files.txt");
    let mut faults = Vec::new();
    let long: Vec<(String, usize)> = files::ending(".rs")
        .into_iter()
        .map(|f| (files::text(&f).lines().count(), f))
        .filter(|(lines, _)| *lines > LINES_MAX)
        .map(|(lines, f)| (f, lines))
        .collect();
    for (file, lines) in &long {
        if !reasons.iter().any(|(name, _)| name == file) {
            faults.push(format!("{file}: {lines} lines, at most {LINES_MAX} without a reason"));
        }
    }
    for (name, _) in &reasons {
        if !long.iter().any(|(file, _)| file == name) {
            faults.push(format!("{name}: has a reason and needs none any more"));
        }
    }
    expect_none("long files (reasons go to tests/tests/house/long-files.txt)", &faults);
}

#[test]
fn nothing_is_unwrapped_without_a_word() {
    let mut faults = Vec::new();
    for file in product() {
        let lines = code(&file);
        for (at, (number, line)) in lines.iter().enumerate() {
            let unwraps = line.contains(".unwrap()") || line.contains(".expect(");
            let above = at.checked_sub(1).and_then(|a| lines.get(a));
            let said = line.contains(" // ") || above.is_some_and(|(_, l)| is_comment(l));
            if unwraps && !is_comment(line) && !said {
                faults.push(format!("{file}:{number}: {}", line.trim()));
            }
        }
    }
    expect_none("unwrap or expect without a comment that names the invariant", &faults);
}

#[test]
fn errors_are_fragments() {
    let mut faults = Vec::new();
    for file in product() {
        let text = files::text(&file);
        for (at, _) in text.match_indices("#[error(") {
            let number = text[..at].lines().count().max(1);
            let rest = text[at + "#[error(".len()..].trim_start();
            let Some(message) = rest.strip_prefix('"') else { continue };
            // Up to the closing quote; escaped ones are part of the message.
            let end = message
                .match_indices('"')
                .map(|(i, _)| i)
                .find(|i| !message[..*i].ends_with('\\'))
                .unwrap_or(message.len());
            let message = &message[..end];
            let first = message.chars().next().unwrap_or(' ');
            // Names of our own and of programs keep their spelling.
            let capital = first.is_uppercase() && !message.starts_with("KiCad");
            if capital || message.ends_with('.') || message.is_empty() {
                faults.push(format!("{file}:{number}: {message:?}"));
            }
        }
    }
    expect_none("errors that start with a capital or end with a full stop", &faults);
}
