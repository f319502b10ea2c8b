//! The command-line tool: which one, how it is called, where it works.
//!
//! Exit status and output of `kicad-cli` prove nothing by themselves (a full disk gives status 0
//! and "Saved"), so everything here only brings a call about; [`crate::report`] and the steps
//! decide what it was worth.

pub mod call;
pub mod find;
pub mod join;
pub mod mirror;
pub mod settings;
pub mod space;
pub mod stock;

pub use find::{Choice, FindEnv, Tool, Tools, Version};
