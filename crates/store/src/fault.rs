//! What the storage engine says, in the ledger's own words.

use std::io::ErrorKind;

use pcbflow_core::ports::LedgerError;

/// Translates a fault of the engine.
pub(crate) fn engine(doing: &'static str, e: impl Into<redb::Error>) -> LedgerError {
    match e.into() {
        redb::Error::Io(e) => io(doing, &e),
        redb::Error::Backend(e) => match e.downcast::<std::io::Error>() {
            Ok(e) => io(doing, &e),
            Err(e) => LedgerError::Storage { doing, message: e.to_string() },
        },
        redb::Error::Corrupted(what) => LedgerError::Damaged { what },
        redb::Error::TableDoesNotExist(table) => {
            LedgerError::Damaged { what: format!("its table {table:?} is gone") }
        }
        e @ (redb::Error::TableTypeMismatch { .. }
        | redb::Error::TypeDefinitionChanged { .. }
        | redb::Error::TableIsMultimap(_)) => LedgerError::Damaged { what: e.to_string() },
        e => LedgerError::Storage { doing, message: e.to_string() },
    }
}

/// Translates a fault of the system.
pub(crate) fn io(doing: &'static str, e: &std::io::Error) -> LedgerError {
    match e.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => LedgerError::DiskFull { doing },
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => {
            LedgerError::ReadOnly { what: format!("{doing}: {e}") }
        }
        ErrorKind::UnexpectedEof | ErrorKind::InvalidData => {
            LedgerError::Damaged { what: format!("{doing}: {e}") }
        }
        _ => LedgerError::Storage { doing, message: e.to_string() },
    }
}

/// The same error once more, for each of several callers of one failed commit.
pub(crate) fn again(e: &LedgerError) -> LedgerError {
    match e {
        LedgerError::DiskFull { doing } => LedgerError::DiskFull { doing },
        LedgerError::Damaged { what } => LedgerError::Damaged { what: what.clone() },
        LedgerError::ReadOnly { what } => LedgerError::ReadOnly { what: what.clone() },
        LedgerError::Newer { found, known } => LedgerError::Newer { found: *found, known: *known },
        LedgerError::Storage { doing, message } => {
            LedgerError::Storage { doing, message: message.clone() }
        }
        other => LedgerError::Storage { doing: "committing events", message: other.to_string() },
    }
}

/// Runs engine code over a file that anybody may have changed. The engine trusts its pages once
/// their headers are right and panics on some that are not; that is damage, not a bug of ours.
pub(crate) fn guarded<T>(f: impl FnOnce() -> Result<T, LedgerError>) -> Result<T, LedgerError> {
    // Nothing of ours is changed inside; what the engine holds is dropped with its handle.
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_or_else(|_| {
        Err(LedgerError::Damaged { what: "a page of it can't be read".to_owned() })
    })
}
