//! The `kicad` crate of pcbflow: KiCad's files and, later, its command line.

pub mod file;
pub mod sexpr;
#[cfg(test)]
mod testing;
