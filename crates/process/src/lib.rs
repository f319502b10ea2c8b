//! Commands and scripts: the [`Spawn`](pcbflow_core::ports::Spawn) port that every subsystem
//! starts its programs through, the `process/...` step kinds, the doctor's looks at the computer,
//! and the failure rows of families SC and ENV.
//!
//! **Invariants.** No shell is ever started by pcbflow itself. Nothing of a program's process
//! group outlives its deadline by more than a second. Output is redacted before it is stored.
//! Paths of a manifest stay in the board's folders, links included. Entry points:
//! [`ProcessSpawn`], [`ProcessSubsystem`], [`doctor`].

pub mod checks;
pub mod confine;
pub mod doctor;
pub mod install;
mod judge;
pub mod kinds;
mod lock;
mod observe;
mod outputs;
mod prepare;
mod probe;
mod recover;
pub mod rows;
mod sha256;
pub mod signals;
pub mod spawn;
pub mod spec;
mod subsystem;
pub mod words;

pub use rows::ROWS;
pub use sha256::sha256;
pub use spawn::{ProcessSpawn, end_all_leftovers, end_leftovers};
pub use subsystem::ProcessSubsystem;
