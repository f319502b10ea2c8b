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

const HOLES: Arg = (
    "accept_holes",
    false,
    "true: the mounting holes that you were asked about are meant to be gone; for a later loss, take it out, run, and set it anew",
);
const FOOTPRINTS: Arg = (
    "footprint_map",
    false,
    "file that maps references to footprints, for parts that were dropped",
);

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
        HOLES,
        FOOTPRINTS,
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

/// The netlist.
pub const NETLIST: KindInfo = KindInfo {
    name: "kicad/netlist",
    about: "exports the netlist of a schematic and proves that all its parts are in it",
    safety: Safety::Idempotent,
    timeout_ms: TIMEOUT_MS,
    args: &[
        SCHEMATIC,
        ("output", false, "where the netlist goes (default out/netlist.xml)"),
        LIBRARIES,
        MAJOR,
    ],
    is_check: false,
    public: true,
};

/// Netlist against board.
pub const COMPARE: KindInfo = KindInfo {
    name: "kicad/compare",
    about: "compares the netlist of the schematic with the board by part, pad and net",
    safety: Safety::ReadOnly,
    timeout_ms: TIMEOUT_MS,
    args: &[
        BOARD,
        ("schematic", false, "the root sheet, when it has another name than the board"),
        REPORT,
        LIBRARIES,
        MAJOR,
        FOOTPRINTS,
    ],
    is_check: true,
    public: true,
};

/// Fabrication outputs.
pub const EXPORT: KindInfo = KindInfo {
    name: "kicad/export",
    about: "makes fabrication files side by side and checks what is in them",
    safety: Safety::Idempotent,
    timeout_ms: TIMEOUT_MS,
    args: &[
        BOARD,
        (
            "what",
            false,
            "list of gerbers, drill, position, bom, pdf, svg, step, ipc2581, odb (default all)",
        ),
        ("to", false, "folder for the files, below the board's folder (default out/fab)"),
        ("jobs", false, "how many at once (default: as many as there are cores)"),
        ("board_only", false, "true: the STEP file has no parts (default false)"),
        ("schematic", false, "the root sheet for the BOM, when it has another name than the board"),
        LIBRARIES,
        MAJOR,
    ],
    is_check: false,
    public: true,
};

/// A jobset.
pub const JOBSET: KindInfo = KindInfo {
    name: "kicad/jobset",
    about: "runs a jobset of the project on a private copy and keeps the files it makes",
    safety: Safety::Idempotent,
    timeout_ms: TIMEOUT_MS,
    args: &[
        ("project", true, "the project file (.kicad_pro), below the board's root"),
        ("jobset", true, "the jobset file (.kicad_jobset), below the board's root"),
        ("to", false, "folder for the files, below the board's folder (default out/jobset)"),
        LIBRARIES,
        MAJOR,
    ],
    is_check: false,
    public: true,
};

/// All of them.
pub const ALL: &[KindInfo] = &[DRC, ERC, NETLIST, COMPARE, EXPORT, JOBSET];

/// Whether a kind lists findings that limits can be held against.
#[must_use]
pub fn counts_findings(kind: &str) -> bool {
    [&DRC, &ERC, &COMPARE, &EXPORT].iter().any(|k| k.name == kind)
}
