//! Killed from outside with SIGKILL, the release binary, at every event and at random moments.
//!
//! The oracle is what tools left behind and the journal that wrappers on `PATH` kept, not
//! pcbflow's own word: what may be done once is done once, nothing is lost, the chain verifies,
//! and the end is that of a run that was left alone.

mod at_events;
mod at_random;
mod kicad;
mod oracle;
