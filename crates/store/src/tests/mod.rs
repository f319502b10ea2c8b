//! Suites of the store. Shared pieces first: events from a seed, opened ledgers.

pub(crate) mod arb;
mod basic;
