//! Drives boards: attempts with deadlines, ladders, rechecks, parallel steps, claims and resume.
//!
//! The engine sees only the ports of `core`; ledger, clock and subsystems reach it as trait
//! objects. It carries out what `core::policy::decide` says and records everything before and
//! after. Entry point: [`run_board`].
//!
//! **Invariants.** No attempt starts before its intent is durable. No sleep goes past a recorded
//! wake time. No cure is believed without a check that is not the action. A waiting result is
//! lost in a crash only if its step may be repeated freely.

mod act;
mod claim;
mod clock;
mod closure;
mod dispatcher;
mod following;
mod inputs;
mod jobs;
mod journal;
mod look;
pub mod plan;
mod record;
mod report;
mod run;
mod scratch;
mod setup;
mod shared;
mod start;
pub mod status;
mod watch;

pub use claim::Claim;
pub use clock::SystemClock;
pub use journal::{Journal, fold_board};
pub use run::{idle_board, run_board};
pub use setup::{BoardSetup, EngineError, Host, Parts, RunOptions, RunReport, StepReport};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
