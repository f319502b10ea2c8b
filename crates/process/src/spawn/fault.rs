//! Why a program could not be started.

use std::io;
use std::path::Path;

use pcbflow_core::ports::SpawnEnded;

/// A start that failed. The texts name what the rows look for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnFault {
    /// The argument list is empty, or its program is.
    #[error("no program is named")]
    NoProgram,
    /// An argument holds a NUL, which no system passes on.
    #[error("argument {at} holds a NUL byte")]
    NulByte {
        /// Its position; 0 is the program.
        at: usize,
    },
    /// No such program.
    #[error("program not found")]
    NotFound,
    /// It is there and may not be started.
    #[error("permission denied")]
    Denied,
    /// Somebody has it open for writing.
    #[error("text file busy")]
    TextBusy,
    /// It is no program of this system.
    #[error("exec format error")]
    BadFormat,
    /// It is a script whose interpreter is not there.
    #[error("bad interpreter: the script names a program that is not there")]
    BadInterpreter,
    /// The folder to run in is not there.
    #[error("the folder to run in is not there")]
    FolderMissing,
    /// Arguments and environment are longer than the system takes.
    #[error("argument list too long")]
    TooLong,
    /// The system has no room for another process.
    #[error("no room for another process")]
    OutOfProcesses,
    /// Anything else.
    #[error("{message}")]
    Other {
        /// What the system said.
        message: String,
    },
}

impl SpawnFault {
    /// The fault behind an error of the system, for a program that lies at `program`.
    pub(super) fn of(error: &io::Error, program: &Path) -> SpawnFault {
        match error.kind() {
            // It was resolved a moment ago, so what is missing is its interpreter.
            io::ErrorKind::NotFound if program.exists() => SpawnFault::BadInterpreter,
            io::ErrorKind::NotFound => SpawnFault::NotFound,
            io::ErrorKind::PermissionDenied => SpawnFault::Denied,
            io::ErrorKind::ExecutableFileBusy => SpawnFault::TextBusy,
            io::ErrorKind::ArgumentListTooLong => SpawnFault::TooLong,
            io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => SpawnFault::OutOfProcesses,
            _ if is_format_error(error) => SpawnFault::BadFormat,
            _ => SpawnFault::Other { message: error.to_string() },
        }
    }

    /// The same as an ending of the port.
    #[must_use]
    pub fn ended(&self) -> SpawnEnded {
        match self {
            SpawnFault::NotFound => SpawnEnded::NotFound,
            SpawnFault::Denied => SpawnEnded::Denied,
            other => SpawnEnded::Failed(other.to_string()),
        }
    }
}

fn is_format_error(error: &io::Error) -> bool {
    // ENOEXEC is 8 on every Unix; ERROR_BAD_EXE_FORMAT on Windows is 193.
    error.raw_os_error() == Some(if cfg!(windows) { 193 } else { 8 })
}
