//! Runs a board that has a simulation, and tells what came of it:
//! `cargo run -p pcbflow-example-spice --example run_board -- WORKSPACE BOARD [PROGRAM]`.
//!
//! The record lives in memory, so each start begins anew; `examples/embed` keeps it on disk.

use std::path::Path;
use std::sync::Arc;

use pcbflow_core::event::Fact;
use pcbflow_core::ports::Subsystem;
use pcbflow_example_spice::SpiceSubsystem;
use pcbflow_process::ProcessSubsystem;

#[path = "../tests/it/world.rs"]
mod world;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(workspace), Some(board)) = (args.next(), args.next()) else {
        return Err("usage: run_board WORKSPACE BOARD [PROGRAM]".into());
    };
    let spice =
        args.next().map_or_else(SpiceSubsystem::default, |p| SpiceSubsystem::with_program(&p));
    // The one place where a subsystem is named.
    let subsystems: Vec<Arc<dyn Subsystem>> =
        vec![Arc::new(ProcessSubsystem::new()), Arc::new(spice)];
    let world =
        world::World::open(Path::new(&workspace), &board, subsystems, Arc::new(world::Quiet))?;
    let ran = world.run("example").await?;
    let rows = world.catalogue().rows().len();
    show(&format!("{} with {rows} failure rows, record {}", world.board(), world.ledger().id()))?;
    for event in ran.events.iter().filter(|e| !matches!(e.fact, Fact::DecisionTaken { .. })) {
        let step = event.scope.step.as_ref().map_or("", |s| s.as_str());
        show(&format!("{:>4}  {step:<14} {}", event.seq.0, event.fact))?;
    }
    show(&format!("{:?}, exit {}", ran.report.verdict, ran.report.exit.code()))
}

fn show(line: &str) -> Result<(), Box<dyn std::error::Error>> {
    use std::io::Write as _;
    Ok(writeln!(std::io::stdout(), "{line}")?)
}
