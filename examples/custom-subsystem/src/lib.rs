//! A subsystem of its own: circuit simulation with ngspice as a step of a board's flow.
//!
//! One step kind (`spice/run`), two failure rows (`SPICE-1`, `SPICE-2`), one action, one probe.
//! `README.md` walks through it line by line.
//!
//! **Invariants.** Depends on `pcbflow-core` alone. Starts programs only through the `Spawn`
//! port. Never changes the netlist: other settings go into a private copy. A value that ngspice
//! did not print is never taken for one that is within its limits.

mod netlist;
mod report;
pub mod rows;
mod subsystem;

pub use rows::ROWS;
pub use subsystem::SpiceSubsystem;
