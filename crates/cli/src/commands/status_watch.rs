//! `status --watch`: looks twice a second and shows what changed.

use std::time::Duration;

use pcbflow_checkpoint::workspace::Workspace;
use pcbflow_core::exit::Exit;
use pcbflow_core::ports::{Cancel, Clock};
use pcbflow_engine::SystemClock;
use serde_json::json;

use super::Look;
use crate::App;
use crate::args::StatusArgs;
use crate::cancel::Stop;
use crate::envelope::{Answer, Envelope};
use crate::error::{CommandError, Kind};

/// How often the record is looked at, in milliseconds.
pub(super) const POLL_MS: u64 = 500;
/// Clears the terminal and goes to its first line.
const CLEAR: &str = "\u{1b}[H\u{1b}[2J";

pub(super) fn watch(
    app: &App,
    workspace: &Workspace,
    args: &StatusArgs,
) -> Result<Answer, CommandError> {
    if app.ui.options.json {
        return Err(CommandError::new(
            Kind::Usage,
            "--watch goes on and on, --json is one document",
        )
        .hint("use --events for one line per change"));
    }
    if args.at.is_some() {
        return Err(CommandError::new(Kind::Usage, "--at shows the past, which does not change"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| CommandError::new(Kind::Bug, format!("no runtime: {e}")))?;
    let stop = Stop::default();
    runtime.block_on(async {
        stop.listen();
        let mut shown = None;
        while !stop.is_cancelled() {
            let look = Look::take(workspace, args.board.as_deref(), None)?;
            let marks: Vec<_> = look.boards.iter().map(|b| (b.name.clone(), b.mark())).collect();
            if shown.as_ref() != Some(&marks) {
                show(app, &look, shown.as_deref());
                shown = Some(marks);
            }
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(POLL_MS)) => {}
                () = stop.cancelled() => {}
            }
        }
        let exit = stop.exit().unwrap_or(Exit::Interrupted);
        Ok(Answer::new(Envelope::new("status", exit), exit, Vec::new()))
    })
}

type Mark = (pcbflow_core::ids::BoardName, (Option<u64>, bool));

fn show(app: &App, look: &Look, before: Option<&[Mark]>) {
    if app.ui.shows_on_terminal() {
        app.ui.out(CLEAR);
        for line in look.lines(app) {
            app.ui.out(&line);
        }
        return;
    }
    let clock = SystemClock.now();
    for board in &look.boards {
        let mark = (board.name.clone(), board.mark());
        if before.is_some_and(|b| b.contains(&mark)) {
            continue;
        }
        if app.ui.options.events {
            let mut value = json!({"type": "status", "at": clock.to_string()});
            if let (Some(map), Some(more)) = (value.as_object_mut(), board.json().as_object()) {
                map.extend(more.clone());
            }
            app.ui.raw(&value.to_string());
        } else {
            let first = board.short(&app.ui, 0).into_iter().next().unwrap_or_default();
            app.ui.out(&format!("{}  {first}", clock.clock_text()));
        }
    }
}
