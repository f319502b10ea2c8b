//! Subsystem `checkpoint`: the manifest, git, files and snapshots (families ST and GIT).
//!
//! Entry points: [`workspace::Workspace`] finds boards, [`manifest::read`] reads one's manifest,
//! [`status::write`] puts pcbflow's state into it.
//!
//! **Invariants.** Nothing here stashes, resets, cleans, force-pushes or bypasses a commit check.
//! Of the manifest only the key `status:` is ever changed. A commit holds the paths it was made
//! for and nothing that a person had staged.

pub mod digests;
pub mod git;
pub mod kept;
pub mod manifest;
pub mod paths;
pub mod record;
pub mod rows;
pub mod scaffold;
pub mod signals;
pub mod snapshot;
pub mod status;
pub mod subsystem;
pub mod unrecorded;
pub mod workspace;
pub mod yaml;

pub use rows::ROWS;
pub use subsystem::CheckpointSubsystem;
