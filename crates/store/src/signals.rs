//! Codes of the facts that the store sees, beside those of [`pcbflow_core::evidence::codes`].
//!
//! A code means one thing and has one source; [`ALL`] pairs the two, and a row matches on both.
//! Shared codes used here: `own:disk_full` (free space below the reserve before a step; the number
//! is the free bytes) and `own:read_only` (our probe file in the folder was refused; the text
//! names the folder), also by every other subsystem that probes a folder it writes. Both outrank
//! what a tool says. `own:claim_held` is the look-alike of a dead writer.
//!
//! Read the version byte before anything else: the storage engine calls a newer format corrupted.
//!
//! What nobody emits yet stands in `tests/tests/house/signals.rs` with the family that brings it.

use pcbflow_core::evidence::Source;

macro_rules! codes {
    ($($(#[$doc:meta])* $source:ident $name:ident = $code:literal;)*) => {
        $($(#[$doc])* pub const $name: &str = $code;)*

        /// Every code of this crate with the source that reports it.
        pub const ALL: &[(Source, &str)] = &[$((Source::$source, $name)),*];
    };
}

codes! {
    /// A commit or blob write failed with the storage-full or quota kind.
    Report STORAGE_FULL = "ledger.storage_full";
    /// The handle refuses every call because of an earlier I/O error. The store remembers the
    /// first cause and emits that beside this code.
    Report PREVIOUS_IO_ERROR = "ledger.previous_io_error";
    /// A write failed because the file is at the system's limit for one file; look-alike of LG-1.
    Report FILE_SIZE_LIMIT = "ledger.file_size_limit";
    /// The chain check breaks; the number is the first bad position, the text the last good one.
    Own CHAIN_BROKEN = "ledger.chain_broken";
    /// Count or head fall short of what the state folder or a phase commit knows; the number is
    /// how many events are missing at least.
    Own BEHIND_ANCHOR = "ledger.behind_anchor";
    /// Truncated or corrupted on opening for writing, or an unexpected end on a read.
    Report CUT_SHORT = "ledger.cut_short";
    /// The file is empty, though this machine's state folder knows that ledger id.
    File EMPTY_BUT_KNOWN = "ledger.empty_but_known";
    /// The file is gone, though this machine's state folder knows that ledger id. Never for a
    /// fresh clone, which is adopted from its anchor.
    File ABSENT_BUT_KNOWN = "ledger.absent_but_known";
    /// The version byte of the file is above what this build knows; the number is the version.
    File FORMAT_NEWER = "ledger.format_newer";
    /// An event's schema number is above what this build knows; the number is that schema.
    File SCHEMA_NEWER = "ledger.schema_newer";
    /// Opening for writing failed with the read-only or not-permitted kind.
    Report OPEN_REFUSED = "ledger.open_refused";
    /// Opening failed because a handle is open in another mode; look-alike of LG-4.
    Report ALREADY_OPEN = "ledger.already_open";
    /// A read-only open says that the file needs repair.
    Report REPAIR_NEEDED = "ledger.repair_needed";
    /// The process that wrote last is gone and did not close the file; the number is its pid.
    Own WRITER_GONE = "ledger.writer_gone";
}
