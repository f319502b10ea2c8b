//! `check`: a board's checks and nothing else, all engines in one verdict.

use pcbflow_core::ids::BoardName;

use crate::App;
use crate::args::CheckArgs;
use crate::commands::run::{Drive, cores, drive_boards};
use crate::compose::{self, Site};
use crate::envelope::Answer;
use crate::error::{CommandError, Kind};

/// `pcbflow check`.
///
/// # Errors
/// No such board, busy, the record.
pub fn check(app: &App, args: &CheckArgs) -> Result<Answer, CommandError> {
    let site = Site::open(&app.global)?;
    let name = site.board_name(args.board.as_deref())?;
    each_kind_is_there(&site, &name, &args.kind)?;
    let drive = Drive {
        to: None,
        jobs: cores(),
        boards: 1,
        wait_ms_max: 0,
        force: args.force,
        checks: Some(args.kind.clone()),
        resume: false,
        command: "check",
    };
    drive_boards(app, &site, &[name], &drive)
}

/// A kind with a typing error, or one that no step of the board has, would check nothing while
/// the verdict of the other kinds looks as if it had.
fn each_kind_is_there(
    site: &Site,
    name: &BoardName,
    wanted: &[String],
) -> Result<(), CommandError> {
    let kinds = compose::kinds();
    let checks: Vec<(&str, &str)> =
        kinds.iter().filter(|k| k.is_check).map(|k| (k.name, last_part(k.name))).collect();
    let of_check = |text: &str| checks.iter().any(|(_, last)| *last == text);
    if let Some(unknown) = wanted.iter().find(|w| !of_check(w)) {
        let known: Vec<&str> = checks.iter().map(|(_, last)| *last).collect();
        let error = CommandError::new(Kind::Usage, format!("no check is of kind '{unknown}'"));
        return Err(error.hint(format!("kinds of checks: {}", known.join(", "))));
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let manifest = site.board(name)?.document.manifest;
    let steps = manifest.phases.iter().flat_map(|p| &p.steps).map(|s| s.uses.as_str());
    let used = |text: &str| {
        steps.clone().any(|u| last_part(u) == text && checks.iter().any(|(name, _)| *name == u))
    };
    match wanted.iter().find(|w| !used(w)) {
        None => Ok(()),
        Some(without) => Err(CommandError::new(
            Kind::Unverified,
            format!("'{name}' has no step of kind '{without}', so nothing is known about that"),
        )
        .hint(format!("add the step to projects/{name}/project.yaml, or leave the kind out"))),
    }
}

/// `drc` of `kicad/drc`.
fn last_part(kind: &str) -> &str {
    kind.rsplit('/').next().unwrap_or(kind)
}
