//! Probes that prove a cure of LG, and conditions that are watched while a person acts. Each is
//! other code than the action, reads fresh state, and answers pass, fail or could-not-run.

/// LG-1: reopened count and head equal the last acknowledged event, and one test event is
/// durable. Also watched while the person frees space (first the free bytes, then the rest).
pub const HEAD_IS_ACKNOWLEDGED: &str = "head-is-acknowledged";
/// LG-2, LG-5: full check from the first event, anchor match, and a read-only open works. Also
/// watched while the person chooses.
pub const CHAIN_AND_ANCHOR: &str = "chain-and-anchor";
/// LG-3: this build knows the version byte and every schema, and the head equals the anchor.
pub const FORMAT_KNOWN: &str = "format-known";
/// LG-4: opened for writing, and one test event is durable. Also watched.
pub const WRITABLE: &str = "writable";

/// Every probe, for the tests.
pub const ALL: &[&str] = &[HEAD_IS_ACKNOWLEDGED, CHAIN_AND_ANCHOR, FORMAT_KNOWN, WRITABLE];
