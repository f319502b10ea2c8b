//! The rows of family LG (ledger and storage).

pub mod actions;
mod ledger;
pub mod probes;

use pcbflow_core::row::Row;

/// Rows LG-1 to LG-5.
pub const ROWS: &[Row] = &[ledger::LG_1, ledger::LG_2, ledger::LG_3, ledger::LG_4, ledger::LG_5];

#[cfg(test)]
mod tests;
