//! The tools: git with an identity, KiCad in the supported range.

use std::path::Path;
use std::sync::Arc;

use pcbflow_kicad::cli::find::{Choice, FindEnv, MAJOR_MIN, Tools, versions};
use pcbflow_store::{FORMAT_KNOWN, FileBlobs};

use super::Check;
use crate::cancel::Stop;
use crate::compose::Site;
use crate::error::CommandError;
use crate::tool::{self, Looked};

/// Program, stored format and catalogue, so that a report names what it speaks of.
pub(super) fn version(site: &Result<Site, CommandError>) -> Check {
    let rows = site.as_ref().map(|s| s.policy.catalogue.rows().len());
    let rows = rows.map_or(String::new(), |n| format!(", {n} failure classes"));
    Check::ok(
        "version",
        format!("pcbflow {}, record format {FORMAT_KNOWN}{rows}", env!("CARGO_PKG_VERSION")),
    )
}

pub(super) fn git(folder: Option<&Path>) -> Vec<Check> {
    let here = folder.unwrap_or(Path::new("."));
    let present = match tool::git(here, &["--version"]) {
        Looked::Ended { status: Some(0), stdout } => {
            Check::ok("git present", stdout.trim().trim_start_matches("git version ").to_owned())
        }
        Looked::NotFound => {
            return vec![
                Check::problem("git present", "git is not on this computer", "install git")
                    .missing(),
                Check::unknown("git identity", "git is not on this computer"),
            ];
        }
        Looked::Ended { .. } => {
            Check::problem("git present", "git does not answer", "install git again").missing()
        }
        Looked::Failed(why) => Check::unknown("git present", why),
    };
    let value = |key: &str| {
        let found = tool::git(here, &["config", "--get", key]).good().unwrap_or_default();
        found.trim().to_owned()
    };
    let set = |variable: &str| std::env::var(variable).is_ok_and(|v| !v.is_empty());
    let name =
        !value("user.name").is_empty() || set("GIT_AUTHOR_NAME") && set("GIT_COMMITTER_NAME");
    let mail =
        !value("user.email").is_empty() || set("GIT_AUTHOR_EMAIL") && set("GIT_COMMITTER_EMAIL");
    let identity = match (name, mail) {
        // The name and address themselves are nobody's business in a report.
        (true, true) => Check::ok("git identity", "a name and an address are set"),
        _ => Check::problem(
            "git identity",
            "git does not know who commits",
            "run 'git config --global user.name NAME' and 'git config --global user.email ADDRESS'",
        ),
    };
    let saves = folder.is_none() || in_history(here);
    vec![present, identity.unless_needed(saves, "this workspace is in no repository")]
}

/// Whether commits may be made here. What can't be told counts as yes.
fn in_history(folder: &Path) -> bool {
    let asked = tool::git(folder, &["rev-parse", "--is-inside-work-tree"]);
    !matches!(asked, Looked::Ended { status: Some(status), .. } if status != 0)
}

/// Whether KiCad is needed: unless every board is readable and none has a step of it.
pub(super) fn kicad_needed(site: &Site) -> bool {
    let Ok(boards) = site.workspace.boards() else { return true };
    let uses = |name| {
        site.board(name).map_or(true, |board| {
            let mut steps = board.document.manifest.phases.iter().flat_map(|p| &p.steps);
            steps.any(|s| s.uses.as_str().starts_with("kicad/"))
        })
    };
    boards.list.is_empty() || boards.list.iter().any(|b| uses(&b.name))
}

pub(super) fn kicad() -> Vec<Check> {
    let (found_name, answers_name) = ("KiCad found", "kicad-cli answers");
    let tools = match ask() {
        Ok(tools) => tools,
        Err(why) => {
            return vec![
                Check::unknown(found_name, why.clone()),
                Check::unknown(answers_name, why),
            ];
        }
    };
    let labels: Vec<String> =
        tools.list.iter().map(pcbflow_kicad::cli::find::Tool::label).collect();
    let found = match tools.choose(0) {
        Choice::None => {
            let problem = Check::problem(
                found_name,
                "KiCad is not on this computer",
                "install KiCad 9 or newer",
            );
            let unknown = Check::unknown(answers_name, "KiCad is not on this computer");
            return vec![problem.missing(), unknown];
        }
        Choice::Use(_) => Check::ok(found_name, labels.join(", ")),
        Choice::OutOfRange(tool) | Choice::TooOldForFile(tool) => Check::problem(
            found_name,
            format!("{} is not in the supported range, which begins at {MAJOR_MIN}", tool.label()),
            "install KiCad 9 or newer",
        )
        .missing(),
    };
    let answers = match tools.faults.first() {
        None => Check::ok(answers_name, format!("{} of {}", tools.list.len(), tools.list.len())),
        Some((path, why)) => Check::problem(
            answers_name,
            format!("{} gives no version: {why}", path.display()),
            "install KiCad again",
        )
        // One that works is used; another one that does not is in nobody's way.
        .unless_needed(!matches!(tools.choose(0), Choice::Use(_)), "the others do"),
    };
    vec![found, answers]
}

/// Asks every kicad-cli for its version now, with nothing remembered and nothing left behind.
fn ask() -> Result<Tools, String> {
    let scratch = tempfile::Builder::new()
        .prefix("pcbflow-doctor-")
        .tempdir()
        .map_err(|e| format!("no temporary folder: {e}"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|e| format!("no runtime: {e}"))?;
    let blobs = Arc::new(FileBlobs::new(scratch.path().join("blobs")));
    let spawn = pcbflow_process::ProcessSpawn::new(scratch.path().to_owned(), blobs);
    let env = FindEnv::of_system();
    let mut programs = env.on_path();
    programs.extend(env.in_known_places());
    let stop = Stop::default();
    Ok(runtime.block_on(versions(programs, scratch.path(), &spawn, &stop)))
}
