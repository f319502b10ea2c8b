//! The workspace: its record, disk, project files.

use std::io::Write;
use std::path::Path;

use super::Check;
use crate::commands::verify_trace;
use crate::compose::Site;
use crate::reading;
use crate::tool;

/// Free space below which a run may not end, in bytes (256 MiB).
const FREE_BYTES_MIN: u64 = 256 << 20;
/// Folders that belong to this computer and to no commit.
const IGNORED: &[&str] = &[".pcbflow/", ".logs/"];

pub(super) fn record(site: &Site) -> Check {
    let name = "record opens";
    match reading::open(&site.workspace) {
        Ok(None) => Check::ok(name, "nothing is recorded yet"),
        Ok(Some(opened)) => {
            let mut detail =
                format!("record {}", pcbflow_core::ports::Ledger::id(opened.ledger.as_ref()));
            if opened.repaired {
                detail.push_str(
                    ", repaired after a run that stopped without closing; nothing was lost",
                );
            }
            if opened.private_copy {
                detail.push_str(", read from a copy because the disk is read-only");
            }
            match opened.newer {
                Some(format) => Check::problem(
                    name,
                    format!("{detail}, in format {format} of a newer release"),
                    "install the newest release of pcbflow",
                ),
                None => Check::ok(name, detail),
            }
        }
        Err(e) => {
            let action = e.hints.first().map_or("see 'pcbflow ledger verify'", String::as_str);
            Check::problem(name, e.message.clone(), action)
        }
    }
}

pub(super) fn chain(site: &Site) -> Check {
    let name = "chain verifies";
    let opened = match reading::open(&site.workspace) {
        Ok(None) => return Check::ok(name, "nothing is recorded yet"),
        Ok(Some(opened)) => opened,
        Err(e) => return Check::unknown(name, e.message),
    };
    match verify_trace::report(&site.workspace, opened.ledger.as_ref(), false) {
        Ok(report) if report.is_good() => {
            let events: u64 = report.streams.iter().map(|s| s.events).sum();
            Check::ok(
                name,
                format!("{events} events, {} anchors outside the record hold", report.anchors_held),
            )
        }
        Ok(report) => {
            let what = verify_trace::first_fault(&report).unwrap_or_default();
            Check::problem(name, what, "run 'pcbflow ledger verify' and keep this record as it is")
        }
        Err(e) => Check::unknown(name, e.message),
    }
}

pub(super) fn disk(folder: &Path) -> Check {
    let name = "disk space";
    match free_bytes(folder) {
        Ok(free) if free < FREE_BYTES_MIN => Check::problem(
            name,
            format!("{} MiB are free", free >> 20),
            "free at least 256 MiB on this disk",
        ),
        Ok(free) => Check::ok(name, format!("{} MiB are free", free >> 20)),
        Err(why) => Check::unknown(name, why),
    }
}

#[cfg(unix)]
fn free_bytes(folder: &Path) -> Result<u64, String> {
    let stat = rustix::fs::statvfs(folder).map_err(|e| e.to_string())?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(not(unix))]
fn free_bytes(_folder: &Path) -> Result<u64, String> {
    Err("this system is not asked for its free space".to_owned())
}

pub(super) fn projects(site: &Site) -> Check {
    let name = "project files valid";
    let boards = match site.workspace.boards() {
        Ok(boards) => boards,
        Err(e) => return Check::unknown(name, e.to_string()),
    };
    for entry in &boards.list {
        if let Err(e) = site.board(&entry.name) {
            let action = e.hints.first().map_or("correct the file", String::as_str);
            return Check::problem(name, format!("{}: {}", entry.name, e.message), action);
        }
    }
    if let Some(oddity) = boards.oddities.first() {
        return Check::problem(name, oddity.clone(), "rename the folder or its project file");
    }
    match boards.list.len() {
        0 => Check::ok(name, "there is no board yet"),
        n => Check::ok(name, format!("{n} of {n}")),
    }
}

/// What belongs to this computer must not get into commits.
pub(super) fn ignored(site: &Site, fix: bool) -> Check {
    let first = is_ignored(site);
    if !fix || first.result != super::Outcome::Problem {
        return first;
    }
    match ignore(site) {
        Ok(()) => {
            let again = is_ignored(site);
            let fixed = again.result == super::Outcome::Ok;
            Check { fixed, ..again }
        }
        Err(e) => {
            Check { detail: format!("{}; .gitignore can't be written: {e}", first.detail), ..first }
        }
    }
}

fn is_ignored(site: &Site) -> Check {
    let name = "record kept out of git";
    let root = &site.workspace.root;
    match tool::git(root, &["rev-parse", "--is-inside-work-tree"]) {
        tool::Looked::Ended { status: Some(0), .. } => {}
        tool::Looked::NotFound => return Check::unknown(name, "git is not on this computer"),
        tool::Looked::Failed(why) => return Check::unknown(name, why),
        tool::Looked::Ended { .. } => return Check::ok(name, "the workspace is in no repository"),
    }
    for folder in IGNORED {
        let probe = format!("{folder}x");
        match tool::git(root, &["check-ignore", "-q", "--", &probe]) {
            tool::Looked::Ended { status: Some(0), .. } => {}
            tool::Looked::Ended { status: Some(1), .. } => {
                return Check::problem(
                    name,
                    format!("git does not ignore {folder}"),
                    "run 'pcbflow doctor --fix', which adds it to .gitignore",
                );
            }
            tool::Looked::Ended { .. } => return Check::unknown(name, "git could not tell"),
            tool::Looked::NotFound => return Check::unknown(name, "git is not on this computer"),
            tool::Looked::Failed(why) => return Check::unknown(name, why),
        }
    }
    Check::ok(name, IGNORED.join(" and "))
}

/// Adds the lines that are missing at the end; what stands there stays.
fn ignore(site: &Site) -> std::io::Result<()> {
    let path = site.workspace.root.join(".gitignore");
    let old = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(e) => return Err(e),
    };
    let mut more = String::new();
    if !old.is_empty() && !old.ends_with('\n') {
        more.push('\n');
    }
    for folder in IGNORED.iter().filter(|f| !old.lines().any(|line| line.trim() == **f)) {
        more.push_str(folder);
        more.push('\n');
    }
    std::fs::File::options().create(true).append(true).open(&path)?.write_all(more.as_bytes())
}
