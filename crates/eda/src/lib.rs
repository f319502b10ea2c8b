//! Subsystem for the EasyEDA Pro editor and the browser that shows it (families EDA and BR).
//!
//! In this release the crate holds the rows of both families as data: how each failure is
//! recognised, what its ladder is, what proves the cure and what the person is told. The code
//! that drives the editor and carries out the rungs comes later; every row says so.
//!
//! Start at [`rows::ROWS`]; the codes that its matchers look for stand in [`signals`].

pub mod browser;
pub mod cdp;
pub mod hang;
pub mod rows;
pub mod signals;

pub use rows::ROWS;

#[cfg(test)]
mod tests;
