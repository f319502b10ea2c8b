//! Suites of the store.

mod basic;
