//! `doctor`: whether this computer and workspace are ready.

use pcbflow_core::exit::{Exit, Verdict};

use crate::App;
use crate::args::DoctorArgs;
use crate::doctor::{Check, Outcome, examine};
use crate::envelope::{Answer, Envelope};
use crate::error::CommandError;
use crate::ui::Label;

/// `pcbflow doctor`: 0 when nothing that is needed here is missing, 69 when a tool is missing, 3 for the rest.
///
/// # Errors
/// Never: what can't be looked at is a result of its own.
pub fn doctor(app: &App, args: &DoctorArgs) -> Result<Answer, CommandError> {
    let checks = examine(app, args.fix);
    let problem = |c: &&Check| c.result == Outcome::Problem;
    let exit = if checks.iter().filter(problem).any(|c| c.tool_missing) {
        Exit::ToolMissing
    } else if checks.iter().any(|c| c.result == Outcome::Problem) {
        Exit::Findings
    } else {
        Exit::Done
    };
    let verdict = match exit {
        Exit::Done => Verdict::Pass,
        Exit::Findings => Verdict::Findings,
        _ => Verdict::Failed,
    };
    let width = checks.iter().map(|c| c.name.chars().count()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for check in &checks {
        lines.extend(shown(app, check, width));
    }
    let mut envelope = Envelope::new("doctor", exit).verdict(verdict);
    envelope.hints =
        checks.iter().filter(problem).map(|c| c.action.clone()).filter(|a| !a.is_empty()).collect();
    Ok(Answer::new(envelope.with("checks", checks), exit, lines))
}

fn shown(app: &App, check: &Check, width: usize) -> Vec<String> {
    let fixed = if check.fixed { "fixed; " } else { "" };
    if app.ui.options.narrated {
        let mut line = format!("{}: {}. {fixed}{}.", check.name, check.result.word(), check.detail);
        if !check.action.is_empty() {
            line.push_str(&format!(" To do: {}.", check.action));
        }
        return vec![line];
    }
    let label = match check.result {
        Outcome::Ok => Label::Ok,
        Outcome::NotNeeded => Label::Dim,
        Outcome::Problem => Label::Failed,
        Outcome::CouldNotCheck => Label::Unverified,
    };
    let word = app.ui.paint(label, &format!("{:<15}", check.result.word()));
    let mut lines = vec![format!("{word}  {:<width$}  {fixed}{}", check.name, check.detail)];
    if !check.action.is_empty() {
        lines.push(format!("{:<15}  {:<width$}  {}", "", "", check.action));
    }
    lines
}
