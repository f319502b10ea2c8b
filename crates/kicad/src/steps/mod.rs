//! The step kinds of KiCad.

pub mod args;
pub(crate) mod cache;
pub mod closure;
pub mod compare;
pub mod drc;
mod dropped;
pub mod erc;
pub mod export;
pub mod footprint_map;
pub(crate) mod holes;
pub mod jobset;
pub mod kinds;
mod libraries;
mod names;
pub mod netlist;
mod place;
pub mod project;
pub mod rulesets;
mod seen;
mod sheet_cache;
pub mod stop;
mod subsystem;
pub mod tool;
mod unlisted;
mod unsaved;

pub use rulesets::record_ruleset;
pub use subsystem::Kicad;
