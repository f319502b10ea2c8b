//! Subsystem for the EasyEDA Pro editor and the browser that shows it (families EDA and BR).
//!
//! The crate holds the rows of both families (how each failure is recognised, what its ladder is,
//! what proves the cure, what the person is told), a client of the browser's debugging port, the
//! browser's start and end, and the mechanics of the hang ladder. No step kind uses them yet, so
//! every row says that its actions come later.
//!
//! Start at [`rows::ROWS`] for the failures, at [`browser::Launch`] for a browser, and at
//! [`hang::climb`] for what is done when a page no longer answers. The codes of all facts stand
//! in [`signals`].

mod block;
pub mod browser;
mod cadence;
pub mod cdp;
mod desk;
mod files;
pub mod hang;
mod probe;
mod recover;
pub mod rows;
pub mod script;
pub mod settings;
mod sheet;
pub mod signals;
mod steps;
mod subsystem;
mod trouble;

pub use rows::ROWS;
pub use settings::EditorSettings;
pub use subsystem::Eda;

#[cfg(test)]
mod tests;
