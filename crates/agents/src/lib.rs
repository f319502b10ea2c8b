//! Diagnosis, repair and plan loops over external agents (family AG).
//!
//! In this release the crate holds the rows of the family as data: how each failure is
//! recognised, what its ladder is, what proves the cure and what the person is told. The loops
//! themselves come later; every row says so.
//!
//! Start at [`rows::ROWS`]; the codes that its matchers look for stand in [`signals`].

pub mod rows;
pub mod signals;

pub use rows::ROWS;

#[cfg(test)]
mod tests;
