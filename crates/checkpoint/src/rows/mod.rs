//! The rows of families ST (state and resume) and GIT (history and publishing).

pub mod actions;
mod git_local;
mod git_remote;
pub mod probes;
mod state;

/// Forms in which GIT-2 shows itself.
pub mod variants {
    /// Git does not know the person's name and address.
    pub const NO_IDENTITY: &str = "no_identity";
    /// There is no history where a phase is to be committed.
    pub const NO_REPOSITORY: &str = "no_repository";
    /// There was a history, with commits of this board, and it is not there any more.
    pub const HISTORY_GONE: &str = "history_gone";
    /// The folder belongs to someone else.
    pub const OTHER_OWNER: &str = "other_owner";
}

use pcbflow_core::row::Row;

/// Rows ST-1 to ST-5 and GIT-1 to GIT-7.
pub const ROWS: &[Row] = &[
    state::ST_1,
    state::ST_2,
    state::ST_3,
    state::ST_4,
    state::ST_5,
    git_remote::GIT_1,
    git_local::GIT_2,
    git_local::GIT_3,
    git_remote::GIT_4,
    git_remote::GIT_5,
    git_local::GIT_6,
    git_local::GIT_7,
];

/// Tools and layers that are git's.
const GIT_TOOLS: &[&str] = &["git"];

#[cfg(test)]
mod tests;
