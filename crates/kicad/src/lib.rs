//! The `kicad` crate of pcbflow.
