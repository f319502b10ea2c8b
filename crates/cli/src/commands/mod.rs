//! One file a command. Each takes the options and gives an [`Answer`](crate::envelope::Answer)
//! or a [`CommandError`](crate::error::CommandError); none of them decides an exit code twice.

pub mod answer;
pub mod check;
pub mod completions;
pub mod config;
pub mod diagnose;
pub mod doctor;
pub mod explain;
pub mod failures;
pub mod help;
pub mod history;
pub mod init;
pub mod ledger;
pub mod lessons;
pub mod log;
pub mod replay;
pub mod run;
mod run_report;
pub mod schema;
pub mod status;
pub mod util;
pub mod verify_trace;
