//! Baselines for the benches: what the storage engine alone would cost. Not part of the API.

use std::path::Path;

use pcbflow_core::ports::LedgerError;
use redb::ReadableTable;

use crate::RedbLedger;
use crate::engine::{EVENTS, Handle};
use crate::fault;

/// Walks every stored value and hashes its bytes, nothing else. Gives the number of values, their
/// bytes and a digest that keeps the work from being left out.
///
/// # Errors
/// Storage faults.
pub fn bare_scan(ledger: &RedbLedger) -> Result<(u64, u64, u8), LedgerError> {
    let doing = "scanning";
    let txn = ledger.read_txn()?;
    let table = txn.open_table(EVENTS).map_err(|e| fault::engine(doing, e))?;
    let (mut values, mut bytes, mut mixed) = (0, 0, 0);
    for entry in table.iter().map_err(|e| fault::engine(doing, e))? {
        let (_, value) = entry.map_err(|e| fault::engine(doing, e))?;
        let value = value.value();
        mixed ^= blake3::hash(value).as_bytes()[0];
        values += 1;
        bytes += value.len() as u64;
    }
    Ok((values, bytes, mixed))
}

/// Makes the file look as if its last writer had been killed: copied while it is open.
///
/// # Errors
/// Storage faults.
pub fn leave_as_killed(path: &Path) -> Result<(), LedgerError> {
    let fail = |e: std::io::Error| fault::io("copying", &e);
    let open = Handle::open_writer(path)?;
    let image = path.with_extension("killed");
    std::fs::copy(path, &image).map_err(fail)?;
    drop(open);
    std::fs::rename(&image, path).map_err(fail)
}
