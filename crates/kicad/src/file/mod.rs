//! What KiCad's files say, read without KiCad.
//!
//! Everything here is pure on bytes; reading from disk is left to thin functions. Facts about formats come from
//! measurements with KiCad 9.0.8 and 10.0.6 and from the files of eight public projects of the formats 5 to 10.

pub mod board;
pub mod compare;
pub mod header;
pub mod holes;
pub mod netlist;
pub mod project;
pub mod rules;
pub mod schematic;
pub mod sheet_canary;
mod units;

use std::io::Read as _;

pub use units::{Angle, Nm, Place};

/// Opens a plain file. A folder is an error, and so is a pipe, which would otherwise block for ever.
pub(crate) fn open_plain(path: &std::path::Path) -> std::io::Result<std::fs::File> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_dir() {
        return Err(std::io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "not a plain file"));
    }
    std::fs::File::open(path)
}

/// Reads a whole file of at most [`MAX_FILE_BYTES`](crate::sexpr::MAX_FILE_BYTES), and no more than that even if it
/// grows while it is read.
pub(crate) fn read_bounded(path: &std::path::Path) -> std::io::Result<Vec<u8>> {
    let limit = crate::sexpr::MAX_FILE_BYTES as u64;
    let file = open_plain(path)?;
    let size = usize::try_from(file.metadata()?.len().min(limit)).unwrap_or(0);
    let mut bytes = Vec::with_capacity(size + 1);
    // One byte more than allowed, so that the parser sees that the limit is passed and says so.
    file.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod demo_tests;
