//! `replay`: feeds the recorded observations to `decide` and compares the decisions.

use pcbflow_core::exit::{Exit, Verdict};
use pcbflow_core::ids::Seq;
use pcbflow_core::policy::{self, Replay};
use pcbflow_core::ports::Ledger;
use serde_json::json;

use crate::App;
use crate::args::BoardArg;
use crate::compose::Site;
use crate::envelope::{Answer, Envelope};
use crate::error::CommandError;
use crate::reading;

/// `pcbflow replay`: 0 when every decision comes out again, 3 when one does not, 5 when decisions
/// were taken under another policy, so that nothing can be said about them.
///
/// # Errors
/// No such board, a record that can't be read.
pub fn replay(app: &App, args: &BoardArg) -> Result<Answer, CommandError> {
    let site = Site::open(&app.global)?;
    let opened = reading::open_telling(app, &site.workspace)?;
    let ledger: &dyn Ledger = opened.ledger.as_ref();
    let board = reading::board(&site.workspace, Some(ledger), args.board.as_deref())?;
    let head = reading::head(ledger, &board)?;
    let events = reading::events(ledger, &board, Seq(0), head.seq, false)?;
    let found = policy::replay(&events, &site.policy);
    let (exit, verdict, outcome, line, data) = match found {
        Replay::Same { decisions } => (
            Exit::Done,
            Verdict::Pass,
            "pass",
            format!("The same decisions come out again: {decisions} of {decisions}."),
            json!({"compared": decisions}),
        ),
        Replay::Different { seq, recorded, now, reason } => (
            Exit::Findings,
            Verdict::Findings,
            "fail",
            format!(
                "Event {seq} is the first that comes out differently: recorded '{}', now '{}' ({reason}).",
                recorded.line(),
                now.line()
            ),
            json!({"first_different": seq, "recorded": recorded, "now": now, "reason": reason}),
        ),
        Replay::OtherPolicy { seq, recorded, now, compared } => (
            Exit::Unverified,
            Verdict::Unverified,
            "could_not_run",
            format!(
                "could_not_run: recorded under another policy. Event {seq} was decided under {}, the policy now is {}; {compared} decisions could be compared and are the same.",
                recorded.short(),
                now.short()
            ),
            json!({"first_other_policy": seq, "recorded_policy": recorded, "policy": now,
                "compared": compared}),
        ),
    };
    let mut envelope = Envelope::new("replay", exit).verdict(verdict);
    envelope.board = Some(board.to_string());
    envelope.head = Some(format!("blake3:{}", head.hash));
    let envelope =
        envelope.with("outcome", outcome).with("replay", data).with("events", events.len());
    Ok(Answer::new(envelope, exit, vec![line]))
}
