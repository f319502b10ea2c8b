//! Reports of the tool's checks: proven before they are believed, then turned into findings.

pub mod findings;
pub mod full;
pub mod index;
pub mod off;
pub mod proof;
pub mod rules;
pub mod sheets;
mod strict;

use serde::Deserialize;
use serde_json::Number;

/// Largest report that is read, in bytes (256 MiB).
pub const REPORT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// A report of `pcb drc` or `sch erc`.
#[derive(Debug, Clone, Deserialize)]
pub struct Report {
    /// Name of the checked file, without its folder.
    pub source: String,
    /// When it was written.
    pub date: String,
    /// Version of the tool.
    #[serde(default)]
    pub kicad_version: String,
    /// `mm`, because we ask for it.
    #[serde(default)]
    pub coordinate_units: String,
    /// Violations of the design rules (`pcb drc`).
    pub violations: Option<Vec<Entry>>,
    /// Unconnected items (`pcb drc`).
    pub unconnected_items: Option<Vec<Entry>>,
    /// Differences to the schematic (`pcb drc`).
    pub schematic_parity: Option<Vec<Entry>>,
    /// Sheets with their violations (`sch erc`).
    pub sheets: Option<Vec<SheetEntry>>,
    /// Checks whose severity is "ignore"; KiCad 10 and later.
    #[serde(default)]
    pub ignored_checks: Vec<IgnoredCheck>,
}

/// A sheet of an ERC report.
#[derive(Debug, Clone, Deserialize)]
pub struct SheetEntry {
    /// `/power/`.
    #[serde(default)]
    pub path: String,
    /// The same as ids.
    #[serde(default)]
    pub uuid_path: String,
    /// What was found on it.
    pub violations: Vec<Entry>,
}

/// A check that is switched off.
#[derive(Debug, Clone, Deserialize)]
pub struct IgnoredCheck {
    /// Its type.
    pub key: String,
}

/// One violation.
#[derive(Debug, Clone, Deserialize)]
pub struct Entry {
    /// Its type, such as `clearance`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `error` or `warning`.
    pub severity: String,
    /// In words.
    #[serde(default)]
    pub description: String,
    /// What it is about.
    #[serde(default)]
    pub items: Vec<Item>,
    /// The person's own exclusion.
    #[serde(default)]
    pub excluded: bool,
    /// Its comment.
    #[serde(default)]
    pub comment: String,
}

/// One thing that a violation is about.
#[derive(Debug, Clone, Deserialize)]
pub struct Item {
    /// In words.
    #[serde(default)]
    pub description: String,
    /// Its id.
    #[serde(default)]
    pub uuid: String,
    /// Its place in millimetres.
    pub pos: Option<Position>,
}

/// A place as the report writes it.
#[derive(Debug, Clone, Deserialize)]
pub struct Position {
    /// To the right, in millimetres.
    pub x: Number,
    /// Down, in millimetres.
    pub y: Number,
}

impl Position {
    /// In nanometres, times `factor`.
    #[must_use]
    pub fn nm(&self, factor: i64) -> Option<(i64, i64)> {
        let nm = |n: &Number| {
            crate::file::Nm::from_mm(n.to_string().as_bytes())
                .and_then(|nm| nm.0.checked_mul(factor))
        };
        Some((nm(&self.x)?, nm(&self.y)?))
    }
}

impl Report {
    /// All entries of a DRC report, or of all sheets of an ERC report.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        let lists = [&self.violations, &self.unconnected_items, &self.schematic_parity];
        let of_sheets = self.sheets.iter().flatten().flat_map(|s| &s.violations);
        lists.into_iter().flatten().flatten().chain(of_sheets)
    }

    /// Takes out the entries of all sheets for which `which` says yes.
    pub fn drop_entries(&mut self, which: impl Fn(&Entry) -> bool) {
        for sheet in self.sheets.iter_mut().flatten() {
            sheet.violations.retain(|entry| !which(entry));
        }
    }
}
