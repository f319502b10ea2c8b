//! `cargo run -p pcbflow-example-embed -- WORKSPACE BOARD`: runs a board, shows each event as it
//! is recorded, then the verdict and what is asked of a person. Ctrl-C stops at a safe point.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use pcbflow_core::event::Event;
use pcbflow_example_embed::{Fault, Session, Tell};

#[tokio::main]
async fn main() -> Result<ExitCode, Fault> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [workspace, board] = args.as_slice() else {
        return Err("usage: pcbflow-example-embed WORKSPACE BOARD".into());
    };
    let state = std::env::var_os("PCBFLOW_STATE_HOME");
    let session = Session::open(
        Path::new(workspace),
        board,
        state.as_deref().map(Path::new),
        Arc::new(Tell(show)),
    )?;
    let begin = session.next_seq()?;

    let stop = session.stop();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            stop.wish();
        }
    });
    let report = session.run().await?;

    let mut out = std::io::stdout();
    for (phase, verdict, commit) in &report.phases {
        let commit = commit.as_deref().unwrap_or("nothing committed");
        writeln!(out, "{phase}: {} ({commit})", verdict.word())?;
    }
    for finding in report.steps.iter().flat_map(|s| &s.findings).filter(|f| !f.apart) {
        writeln!(out, "finding {}: {}", finding.rule, finding.message)?;
    }
    for ask in &report.asks {
        let row = session.catalogue().row(&ask.class);
        writeln!(out, "asked {}: {}", ask.id, row.map_or(ask.kind.as_str(), |r| r.texts.ask))?;
    }
    let new = session.events(begin)?.len();
    writeln!(out, "{new} new events, verdict {:?}", report.verdict)?;
    Ok(ExitCode::from(report.exit.code()))
}

/// One line an event. Nobody to read it is no reason to stop the run.
fn show(event: &Event) {
    let step = event.scope.step.as_ref().map_or("", |s| s.as_str());
    if writeln!(std::io::stderr(), "{:>4}  {step:<12} {}", event.seq.0, event.fact).is_err() {}
}
