//! The kinds as manifests name them.

use pcbflow_core::manifest::{KindInfo, Safety};

/// Deadline of a kind before the size of its files is known, in milliseconds.
const TIMEOUT_MS: u64 = crate::cli::call::DEADLINE_BASE_MS;

type Arg = (&'static str, bool, &'static str);

const BOARD: Arg = ("board", true, "the board file (.kicad_pcb), below the board's root");
const SCHEMATIC: Arg = ("schematic", true, "the root sheet (.kicad_sch), below the board's root");
const REPORT: Arg = ("report", false, "where the report goes, below the board's folder");
const LIBRARIES: Arg =
    ("stock_libraries", false, "true: also check against KiCad's own libraries (default false)");
const MAJOR: Arg = ("kicad", false, "major version of KiCad to use, such as 9");
const ACCEPT: Arg =
    ("accept_rules", false, "true: rules that are looser than the recorded ones are meant so");

/// The design-rule check.
pub const DRC: KindInfo = KindInfo {
    name: "kicad/drc",
    about: "checks a board against its own design rules and its schematic, and proves that these rules were in force",
    safety: Safety::ReadOnly,
    timeout_ms: TIMEOUT_MS,
    args: &[
        BOARD,
        ("parity", false, "false: do not compare with the schematic (default true)"),
        REPORT,
        LIBRARIES,
        MAJOR,
        ACCEPT,
        (
            "footprint_map",
            false,
            "file that maps references to footprints, for parts that were dropped",
        ),
    ],
    is_check: true,
    public: true,
};

/// The electrical check.
pub const ERC: KindInfo = KindInfo {
    name: "kicad/erc",
    about: "checks a schematic with all its sheets against the electrical rules",
    safety: Safety::ReadOnly,
    timeout_ms: TIMEOUT_MS,
    args: &[SCHEMATIC, REPORT, LIBRARIES, MAJOR, ACCEPT],
    is_check: true,
    public: true,
};

/// All of them.
pub const ALL: &[KindInfo] = &[DRC, ERC];
