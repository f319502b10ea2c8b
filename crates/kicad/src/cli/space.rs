//! Own look at a folder: can it be written, is there space? The tool's word is no proof.

use std::io::{self, Write as _};
use std::path::Path;

use pcbflow_core::evidence::{Signal, Source, codes};

/// Bytes that must fit into a folder before and after a call. Reports of large boards have some
/// megabytes.
pub const PROBE_BYTES: usize = 1024 * 1024;

/// Writes and removes a file of [`PROBE_BYTES`]; the signal says what was refused.
///
/// # Errors
/// [`codes::DISK_FULL`] or [`codes::READ_ONLY`] as a signal of our own, with the folder.
pub fn probe(folder: &Path) -> Result<(), Signal> {
    try_write(folder).map_err(|error| signal_of(folder, &error))
}

fn try_write(folder: &Path) -> io::Result<()> {
    let mut file = tempfile::Builder::new().prefix(".pcbflow-probe").tempfile_in(folder)?;
    let block = vec![0u8; PROBE_BYTES];
    file.write_all(&block)?;
    file.flush()
}

/// The signal for a refused write.
#[must_use]
pub fn signal_of(path: &Path, error: &io::Error) -> Signal {
    let text = path.to_string_lossy();
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Signal::new(Source::Own, codes::DISK_FULL).number(0).text(&text)
        }
        _ => Signal::new(Source::Own, codes::READ_ONLY).text(&format!("{text}: {error}")),
    }
}
