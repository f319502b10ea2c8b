//! Signals: each is emitted by the product, or stands in a list with who will bring it.

use std::collections::{BTreeMap, BTreeSet};

use super::sources::{code, product};
use super::{expect_none, files};

/// Crates whose families have rows and diagnosis only in this release.
const ROWS_ONLY: &[&str] = &["crates/agents/"];

/// Signals of the other crates that nobody emits yet, with the family that brings them.
const LATER: &[(&str, &str)] = &[
    ("ARGUMENTS_DIFFER", "EDA-11: a probe of the arguments, once the editor shows their number"),
    ("EDITOR_VERSION_DIFFERS", "EDA-11: versions of the editor that were proven"),
    ("BROWSER_VERSION_DIFFERS", "BR-8: versions of the browser that were proven"),
    ("SELF_TEST_FAILED", "BR-8: the self-test at attach"),
    ("OTHER_DATA_FOLDER", "BR-9: a browser that another tool started"),
    ("CLONE_MOVED", "BR-10: a profile that a person moved"),
    ("NO_SESSION_COOKIE", "BR-3: the cookies of a profile; today the page itself says it"),
    ("LOGIN_PAGE", "EDA-1: an editor that leads to a page of its own; today seen by the control"),
    ("CALL_MALFORMED", "EDA: wrong calls are findings with their line and never sent"),
    ("NO_LISTENING_LINE", "BR-1: told apart by what the child says instead"),
    ("COMPUTER_SLEPT", "BR-6: a clock that jumps during a call"),
    ("TARGET_NOT_PAGE", "BR-7: only pages are ever attached to"),
    ("TAB_IN_BACKGROUND", "EDA-7: the browser is started so that it slows no tab"),
    ("STARTING", "EDA-8: a start is waited for inside the step"),
    ("PROJECT_NEW", "EDA-8: projects are not made by steps"),
    ("PART_DIFFERS", "EDA-10: placed parts against a parts list"),
    ("PART_UNKNOWN", "EDA-10: a supplier's own answer code"),
    ("READ_IN_WRITE", "EDA-14: reads never share an evaluate with a write"),
    ("REFUSED_FROM_START", "EDA-3: told by a read of other projects instead"),
    ("ROOT_PRESENT", "EDA-11: a missing method is named by the guard instead"),
    ("TOAST", "EDA-12: words of short notices"),
    ("WRITE_LANDED", "EDA-12: a late answer; the next try finds the object instead"),
    ("ASSISTANT_NO_ACCOUNT", "AG: the status probe of an assistant"),
    ("ASSISTANT_SIGNED_IN_EARLIER", "AG: the status probe of an assistant"),
    ("STATE_REPEATED", "AG: the repair loop hashes its states"),
    ("CLAIM_HELD", "AG: a second agent on a board; a command is refused before its first event"),
    ("WRITE_NOT_TAKEN", "EDA: writes of the editor"),
    ("EMPTY_CONFIRMED", "EDA: searches of the editor"),
    ("MORE_THAN_PLANNED", "EDA: objects of the editor against the plan"),
    ("PLANNED_SEVERAL_TIMES", "EDA: objects of the editor against the plan"),
    ("NOT_FITTED_ONLY", "EDA: the export of the editor"),
    ("HOLES_MOVED", "EDA: the import of a board of the editor"),
    ("NETS_RENAMED", "EDA: the import of a board of the editor"),
    ("PROBE_NOT_HIT", "EDA: the import of a board of the editor"),
    ("UNSAVED_CHANGES", "EDA: the editor's own state"),
    ("NOTE_OUTDATED", "AG: notes of a session"),
    ("NOTE_IS_DECISION", "AG: notes of a session"),
    ("RESULT_ON_RECORD", "EDA: steps that make objects; for files the engine looks first"),
    ("INPUTS_CHANGED", "EDA: steps that make objects; for files the engine looks first"),
    ("ASKED_BY_PERSON", "EDA: steps that make objects; for files the engine looks first"),
    ("OUTPUT_PATHS_DIRTY", "AG: trees of an agent; a commit holds its outputs by their hashes"),
    ("ONLY_SIDE_FILES", "AG: trees of an agent; a commit holds its outputs by their hashes"),
    ("FILE_TOO_LARGE", "AG: a host's limit, read from a push; today told by its hook's words"),
    ("SCHEMA_NEWER", "LG: an event's own schema number, once there is a second one"),
    ("WRITER_GONE", "LG: told by the claim as ST-2 when the run is taken up again"),
    ("RETRIES_USED_UP", "AG: loops of an agent; the engine escalates as SC-6 by its own fold"),
];

/// Name of the constant that a line defines, when it defines a code.
fn defined(line: &str) -> Option<String> {
    let line = line.trim();
    let sources = ["Own", "Exit", "Http", "Cdp", "Report", "Dom", "File", "Text"];
    let rest = match line.strip_prefix("pub const ") {
        Some(rest) => rest.split_once(": &str = ")?.0,
        None => {
            let (source, rest) = line.split_once(' ')?;
            sources.contains(&source).then_some(())?;
            rest.split_once(" = ")?.0
        }
    };
    let plain = rest.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    // A layer says where something was seen, not what.
    (plain && !rest.is_empty() && !rest.starts_with("LAYER_")).then(|| rest.to_owned())
}

fn codes() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let of_crates = files::ending("/src/signals.rs");
    for file in of_crates.iter().map(String::as_str).chain(["crates/core/src/evidence.rs"]) {
        if ROWS_ONLY.iter().any(|c| file.starts_with(c)) {
            continue;
        }
        for (_, line) in code(file) {
            found.extend(defined(&line).map(|name| (name, file.to_owned())));
        }
    }
    found
}

/// Every word in capitals that stands in the code of the product, rows and definitions left out.
fn spoken() -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for file in product() {
        if file.contains("/rows/") || file.ends_with("/signals.rs") {
            continue;
        }
        for (_, line) in code(&file) {
            if line.trim_start().starts_with("//") || defined(&line).is_some() {
                continue;
            }
            let parts = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            words.extend(parts.filter(|p| p.len() > 2).map(str::to_owned));
        }
    }
    words
}

#[test]
fn every_signal_is_emitted_or_has_a_family_that_brings_it() {
    let (codes, spoken) = (codes(), spoken());
    assert!(codes.len() > 80, "the definitions were found: {}", codes.len());
    let later: BTreeMap<&str, &str> = LATER.iter().copied().collect();
    assert_eq!(later.len(), LATER.len(), "a name stands twice");
    let mut faults = Vec::new();
    for (name, file) in &codes {
        match (spoken.contains(name), later.get(name.as_str())) {
            (false, None) => faults.push(format!("{file}: nobody emits {name}")),
            (true, Some(_)) => faults.push(format!("{file}: {name} is emitted now: off the list")),
            _ => {}
        }
    }
    faults.extend(
        LATER.iter().filter(|(n, _)| !codes.contains_key(*n)).map(|(n, _)| format!("no code {n}")),
    );
    expect_none("signals without an emitter", &faults);
}
