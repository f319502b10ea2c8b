//! The rows of family KI: KiCad, its command-line tool, its files.

pub mod actions;
mod check;
mod import;
mod missing;
pub mod probes;

use pcbflow_core::row::Row;

/// Rows KI-1 to KI-9.
pub const ROWS: &[Row] = &[
    import::KI_1,
    import::KI_2,
    import::KI_3,
    import::KI_4,
    check::KI_5,
    check::KI_6,
    check::KI_7,
    check::KI_8,
    missing::KI_9,
];

/// Names under which KiCad's command-line tool is started.
const KICAD_PROGRAMS: &[&str] = &["kicad-cli", "kicad-cli-nightly", "kicad.kicad-cli"];

/// Tools and layers that are KiCad's.
const KICAD_TOOLS: &[&str] = &["kicad", "kicad-cli", "kicad-cli-nightly", "pcbnew"];

#[cfg(test)]
mod tests;
