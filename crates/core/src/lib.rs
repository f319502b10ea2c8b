//! The pure middle of pcbflow.
//!
//! Ids, events, failure rows, evidence, fingerprint, redaction, check outcomes, the policy
//! (`decide`), projections and the ports that other crates implement.
//!
//! **Invariants.** No clock, no input or output, no threads, no async runtime, no container with
//! a random order: `clippy.toml` beside this crate refuses them. The same events give the same
//! state, the same state gives the same decision. Entry points: [`event`], [`row`], [`policy`].

pub mod catalogue;
pub mod check;
pub mod event;
pub mod evidence;
pub mod exit;
pub mod fingerprint;
pub mod ids;
pub mod manifest;
pub mod policy;
pub mod ports;
pub mod projection;
pub mod redact;
pub mod row;
pub mod text;
pub mod time;

/// Compiles and runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
