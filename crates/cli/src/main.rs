//! The `pcbflow` binary; everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(pcbflow_cli::main())
}
