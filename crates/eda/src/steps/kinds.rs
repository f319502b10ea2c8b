//! The kinds as manifests name them.

use pcbflow_core::manifest::{KindInfo, Safety};

type Arg = (&'static str, bool, &'static str);

const PROJECT: Arg =
    ("project", false, "the project in EasyEDA, by name or id (default: that of eda/open)");
const PAGE: Arg = ("page", false, "the schematic page, by name or id (default: the first)");

const LAYOUT: Arg = ("layout", false, "the layout, by name or id (default: the first)");

/// Opens a project.
pub const OPEN: KindInfo = KindInfo {
    name: "eda/open",
    about: "opens a project in EasyEDA, signed in, and proves that it is the wanted one",
    safety: Safety::Idempotent,
    timeout_ms: 120_000,
    args: &[("project", true, "the project in EasyEDA, by name or id"), PAGE],
    is_check: false,
    public: true,
};

/// Runs a block.
pub const SCRIPT: KindInfo = KindInfo {
    name: "eda/script",
    about: "runs a script in EasyEDA that places one block, exactly once, and proves that it is saved",
    safety: Safety::Guarded,
    timeout_ms: 180_000,
    args: &[
        ("script", true, "the block's script, below the board's root"),
        ("engine", false, "a script that is put before it, below the board's root"),
        ("block", false, "name of the block (default: the step's id)"),
        ("call_seconds", false, "longest time for one call of EasyEDA, in seconds (default 20)"),
        PROJECT,
        PAGE,
    ],
    is_check: false,
    public: true,
};

/// Saves.
pub const SAVE: KindInfo = KindInfo {
    name: "eda/save",
    about: "saves the drawing and proves with a fresh load that EasyEDA has it",
    safety: Safety::Idempotent,
    timeout_ms: 120_000,
    args: &[PROJECT, PAGE],
    is_check: false,
    public: true,
};

/// Reads back.
pub const READ_BACK: KindInfo = KindInfo {
    name: "eda/read-back",
    about: "reads the drawing afresh and checks that each planned object is there exactly once",
    safety: Safety::ReadOnly,
    timeout_ms: 120_000,
    args: &[
        ("blocks", false, "names of the blocks to look at (default: all of this page)"),
        ("report", false, "where the list of objects goes (default out/<step>.json)"),
        PROJECT,
        PAGE,
    ],
    is_check: true,
    public: true,
};

/// Looks a part up.
pub const FIND_PART: KindInfo = KindInfo {
    name: "eda/find-part",
    about: "finds one part of the parts list in EasyEDA's library and writes down which it is",
    safety: Safety::Idempotent,
    timeout_ms: 120_000,
    args: &[
        ("part", false, "its place in the design, such as R5 (default: the step's id)"),
        ("search", false, "words to search by, such as '10k 0603'"),
        ("supplier", false, "the supplier's number, such as C25804"),
        ("maker", false, "the maker's number"),
        ("package", false, "the footprint; in a list, those after the first are allowed too"),
        ("to", false, "where the part is written down (default parts/<part>.json)"),
        PROJECT,
        PAGE,
    ],
    is_check: false,
    public: true,
};

/// The editor's own check.
pub const DRC: KindInfo = KindInfo {
    name: "eda/drc",
    about: "runs EasyEDA's own check of a schematic page or a layout",
    safety: Safety::ReadOnly,
    timeout_ms: 180_000,
    args: &[("of", false, "schematic or layout (default schematic)"), PROJECT, PAGE, LAYOUT],
    is_check: true,
    public: true,
};

/// Files.
pub const EXPORT: KindInfo = KindInfo {
    name: "eda/export",
    about: "exports a file from EasyEDA and checks that all parts of the live document are in it",
    safety: Safety::Idempotent,
    timeout_ms: 180_000,
    args: &[
        ("what", true, "netlist, bom, pads, pick-and-place or gerber"),
        ("to", false, "where the file goes, below the board's folder"),
        PROJECT,
        PAGE,
        LAYOUT,
    ],
    is_check: false,
    public: true,
};

/// All of them.
pub const ALL: &[KindInfo] = &[OPEN, SCRIPT, SAVE, READ_BACK, FIND_PART, DRC, EXPORT];
