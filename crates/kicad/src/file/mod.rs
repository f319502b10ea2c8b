//! What KiCad's files say, read without KiCad.
//!
//! Everything here is pure on bytes; reading from disk is left to thin functions. Facts about formats come from
//! measurements with KiCad 9.0.8 and 10.0.6 and from the files of eight public projects of the formats 5 to 10.

pub mod board;
pub mod compare;
pub mod header;
pub mod netlist;
pub mod project;
pub mod rules;
pub mod schematic;
mod units;

use std::io::Read as _;

pub use units::{Angle, Nm, Place};

/// Reads a whole file of at most [`MAX_FILE_BYTES`](crate::sexpr::MAX_FILE_BYTES), and no more than that even if it
/// grows while it is read.
pub(crate) fn read_bounded(path: &std::path::Path) -> std::io::Result<Vec<u8>> {
    let limit = crate::sexpr::MAX_FILE_BYTES as u64;
    let file = std::fs::File::open(path)?;
    let size = usize::try_from(file.metadata()?.len().min(limit)).unwrap_or(0);
    let mut bytes = Vec::with_capacity(size + 1);
    // One byte more than allowed, so that the parser sees that the limit is passed and says so.
    file.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod demo_tests;
