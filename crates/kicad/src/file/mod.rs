//! What KiCad's files say, read without KiCad.
//!
//! Everything here is pure on bytes; reading from disk is left to thin functions. Facts about formats come from
//! measurements with KiCad 9.0.8 and 10.0.6 and from the files of eight public projects of the formats 5 to 10.

pub mod board;
pub mod compare;
pub mod header;
pub mod netlist;
pub mod project;
pub mod rules;
pub mod schematic;
mod units;

pub use units::{Angle, Nm, Place};
