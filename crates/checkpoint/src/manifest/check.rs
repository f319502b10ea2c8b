//! The forms of `check:`.

use pcbflow_core::check::Limit;
use pcbflow_core::manifest::{CheckSpec, nearest, path_fault};

use super::convert::{Faults, default_limits};
use crate::yaml::{Data, Entry, Node};

/// Keys of `check: { kind: report_clean }` beside `kind`.
pub const LIMIT_KEYS: &[&str] = &["kind", "errors", "warnings", "include_apart"];

const KINDS: &[&str] =
    &["own", "report_clean", "exit", "file_exists", "file_sha256", "regex_in_file"];

/// The check that a node describes; [`CheckSpec::Own`] after a fault.
pub(super) fn spec(node: &Node, path: &str, faults: &mut Faults) -> CheckSpec {
    let (kind_node, entries): (&Node, &[Entry]) = match &node.data {
        Data::Null => return CheckSpec::Own,
        Data::Text(_) => (node, &[]),
        _ => {
            let Some(entries) = faults.map(node, path) else { return CheckSpec::Own };
            let Some(kind) = node.get("kind") else {
                let remedy = format!("add 'kind:' with one of {}", KINDS.join(", "));
                faults.add(node.at, path, "this check has no 'kind'".to_owned(), remedy);
                return CheckSpec::Own;
            };
            (kind, entries)
        }
    };
    let Some(kind) = faults.text(kind_node, &format!("{path}.kind")) else {
        return CheckSpec::Own;
    };
    let keys = |faults: &mut Faults, known: &[&str]| faults.unknown_keys(entries, known, path);
    match kind {
        "own" => {
            keys(faults, &["kind"]);
            CheckSpec::Own
        }
        "report_clean" => {
            keys(faults, LIMIT_KEYS);
            limits(node, path, faults)
        }
        "exit" => {
            keys(faults, &["kind", "expect"]);
            CheckSpec::Exit { expect: statuses(node, path, faults) }
        }
        "file_exists" => {
            keys(faults, &["kind", "path"]);
            CheckSpec::FileExists { path: file(node, path, faults) }
        }
        "file_sha256" => {
            keys(faults, &["kind", "path", "expect"]);
            CheckSpec::FileSha256 {
                path: file(node, path, faults),
                expect: sha256(node, path, faults),
            }
        }
        "regex_in_file" => {
            keys(faults, &["kind", "path", "pattern"]);
            let pattern = needed(node, "pattern", path, faults);
            CheckSpec::RegexInFile { path: file(node, path, faults), pattern }
        }
        other => {
            let remedy = match nearest(other, KINDS.iter().copied()) {
                Some(best) => format!("did you mean '{best}'?"),
                None => format!("use one of {}", KINDS.join(", ")),
            };
            faults.add(kind_node.at, path, format!("there is no check '{other}'"), remedy);
            CheckSpec::Own
        }
    }
}

fn limits(node: &Node, path: &str, faults: &mut Faults) -> CheckSpec {
    let mut limits = default_limits();
    if let Some(n) = node.get("errors") {
        limits.errors = limit(n, &format!("{path}.errors"), faults).unwrap_or(limits.errors);
    }
    if let Some(n) = node.get("warnings") {
        limits.warnings = limit(n, &format!("{path}.warnings"), faults).unwrap_or(limits.warnings);
    }
    match node.get("include_apart").map(|n| (n, &n.data)) {
        None | Some((_, Data::Null)) => {}
        Some((_, Data::Bool(yes))) => limits.include_apart = *yes,
        Some((n, _)) => {
            let fault = format!("'include_apart' is {}", n.kind());
            faults.add(n.at, &format!("{path}.include_apart"), fault, "write true or false");
        }
    }
    CheckSpec::ReportClean(limits)
}

fn limit(node: &Node, path: &str, faults: &mut Faults) -> Option<Limit> {
    match &node.data {
        Data::Text(text) if text == "any" => return Some(Limit::Any),
        Data::Int(n) => {
            if let Ok(n) = u32::try_from(*n) {
                return Some(Limit::AtMost(n));
            }
        }
        _ => {}
    }
    let fault = "a limit is a whole number from 0 on, or 'any'".to_owned();
    faults.add(node.at, path, fault, "write 0 to allow none, 'any' to allow all");
    None
}

fn statuses(node: &Node, path: &str, faults: &mut Faults) -> Vec<i32> {
    let path = format!("{path}.expect");
    let one = |n: &Node| match n.data {
        Data::Int(status) => i32::try_from(status).ok().filter(|s| (0..=255).contains(s)),
        _ => None,
    };
    let Some(expect) = node.get("expect") else { return vec![0] };
    let found: Option<Vec<i32>> = match &expect.data {
        Data::List(list) if !list.is_empty() => list.iter().map(one).collect(),
        _ => one(expect).map(|s| vec![s]),
    };
    found.unwrap_or_else(|| {
        let fault = "'expect' is no exit status".to_owned();
        faults.add(expect.at, &path, fault, "write a number from 0 to 255, or a list of them");
        vec![0]
    })
}

fn needed(node: &Node, key: &str, path: &str, faults: &mut Faults) -> String {
    let at = format!("{path}.{key}");
    match node.get(key) {
        Some(n) => faults.text(n, &at).unwrap_or_default().to_owned(),
        None => {
            faults.add(node.at, &at, format!("this check has no '{key}'"), format!("add '{key}:'"));
            String::new()
        }
    }
}

fn file(node: &Node, path: &str, faults: &mut Faults) -> String {
    let text = needed(node, "path", path, faults);
    if let (Some(n), Some(fault)) = (node.get("path"), path_fault(&text)) {
        faults.add(
            n.at,
            &format!("{path}.path"),
            format!("{text:?} {fault}"),
            "use a path inside the board's folder, with '/'",
        );
    }
    text
}

fn sha256(node: &Node, path: &str, faults: &mut Faults) -> String {
    let text = needed(node, "expect", path, faults).to_lowercase();
    if let Some(n) = node.get("expect")
        && (text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()))
    {
        let fault = "'expect' is no SHA-256 digest".to_owned();
        faults.add(n.at, &format!("{path}.expect"), fault, "write its 64 hex digits");
    }
    text
}
