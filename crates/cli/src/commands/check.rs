//! `check`: a board's checks and nothing else, all engines in one verdict.

use crate::App;
use crate::args::CheckArgs;
use crate::commands::run::{Drive, cores, drive_boards};
use crate::compose::Site;
use crate::envelope::Answer;
use crate::error::CommandError;

/// `pcbflow check`.
///
/// # Errors
/// No such board, busy, the record.
pub fn check(app: &App, args: &CheckArgs) -> Result<Answer, CommandError> {
    let site = Site::open(&app.global)?;
    let name = site.board_name(args.board.as_deref())?;
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
