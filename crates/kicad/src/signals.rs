//! Codes of the facts that this subsystem sees, beside those of [`pcbflow_core::evidence::codes`].
//!
//! The source of each code is fixed and stands in its comment; a row matches on both. Facts that
//! other crates share keep their shared code: a missing program is `exit:spawn_not_found`, a
//! passed deadline `own:deadline_passed`, a full disk `own:disk_full`, a folder that can't be
//! written `own:read_only`. Emit those two whenever our own probe saw them, also when the tool
//! said "saved": they outrank everything below.
//!
//! Exit status 5 and the status 0 are never failures by themselves and no row looks at them.

/// Layer of a step that gets the board out of EasyEDA for KiCad; binds KI-1.
pub const LAYER_BOARD_EXPORT: &str = "eda/export";

/// `report`: the editor's export call answered undefined, or a file of another document.
pub const EXPORT_UNDEFINED: &str = "kicad.export_undefined";
/// `report`: the exported file lacks its part or net section, or its counts differ from the live
/// board; the text says which.
pub const EXPORT_INCOMPLETE: &str = "kicad.export_incomplete";

/// `report`: references of the netlist that are not on the board after an import. The number is
/// their count, the text the references, joined by ", ". Compare sets, never counts. Fill the
/// slots `count` (all of them) and `parts` (those without an entry in the footprint map).
pub const FOOTPRINTS_DROPPED: &str = "kicad.footprints_dropped";
/// `report`: the missing references are there under new names; look-alike of KI-2.
pub const REFERENCES_RENUMBERED: &str = "kicad.references_renumbered";
/// `report`: every missing reference is marked not-fitted or not-on-board; look-alike of KI-2.
pub const NOT_FITTED_ONLY: &str = "kicad.not_fitted_only";
/// `report`: holes of the record made before the export that are not on the board (place within
/// 0.01 mm, drill, plating). The number is their count. Fill the slot `count`.
pub const HOLES_LOST: &str = "kicad.holes_lost";
/// `report`: the holes were moved by a recorded change; look-alike of KI-3.
pub const HOLES_MOVED: &str = "kicad.holes_moved";
/// `report`: the pin sets of some nets differ between netlist and board. The number is how many,
/// the text their names. Fill the slot `items` with them.
pub const NET_PINS_DIFFER: &str = "kicad.net_pins_differ";
/// `report`: a netlist without components, though the board has footprints. The tool exits 0.
pub const NETLIST_EMPTY: &str = "kicad.netlist_empty";
/// `report`: nets have other names and the same pins; look-alike of KI-4.
pub const NETS_RENAMED: &str = "kicad.nets_renamed";

/// `exit`: the tool ran and printed a version outside the step's range; the text has the version.
pub const VERSION_OUT_OF_RANGE: &str = "kicad.version_out_of_range";
/// `report`: the tool refused flags that every version of the range knows (with status 1).
pub const FLAGS_REFUSED: &str = "kicad.flags_refused";
/// `report`: the tool answers `version` but can't load the parts that do the work (status 255
/// and a library that could not be loaded), or its wrapper is not complete.
pub const INSTALL_BROKEN: &str = "kicad.install_broken";

/// `file`: no project file of the board's stem beside the board (other letter case is missing).
pub const PRO_MISSING: &str = "kicad.pro_missing";
/// `file`: the project file is empty, or holds an empty object.
pub const PRO_EMPTY: &str = "kicad.pro_empty";
/// `file`: the project file is cut off, is no JSON, or may not be read.
pub const PRO_UNREADABLE: &str = "kicad.pro_unreadable";
/// `file`: the project file is the text of a link (a checkout without links), not a project.
pub const PRO_LINK_TEXT: &str = "kicad.pro_link_text";
/// `file`: the project file is JSON but has no design rules or no net classes.
pub const PRO_WITHOUT_RULES: &str = "kicad.pro_without_rules";
/// `file`: the rules in the project file have another hash than the recorded rule set.
pub const RULESET_CHANGED: &str = "kicad.ruleset_changed";
/// `file`: the custom rules file does not parse by our own parser; KiCad then drops all of it.
pub const RULES_FILE_BROKEN: &str = "kicad.rules_file_broken";
/// `file`: a sheet that the schematic names is not there; the rule check of the schematic then
/// finds less and says nothing. The text names the sheet.
pub const SHEET_MISSING: &str = "kicad.sheet_missing";

/// `report`: the canary in the private copy's rules file did not fire.
pub const CANARY_NOT_HIT: &str = "kicad.canary_not_hit";
/// `report`: the absurd project limit of the probe run did not fire.
pub const PROBE_NOT_HIT: &str = "kicad.probe_not_hit";
/// `report`: findings carry default numbers where the project has others, or the list of ignored
/// checks is not the project's.
pub const DEFAULT_RULES_USED: &str = "kicad.default_rules_used";
/// `report`: the tool ended and there is no report in the fresh folder.
pub const REPORT_MISSING: &str = "kicad.report_missing";
/// `report`: the report has no bytes.
pub const REPORT_EMPTY: &str = "kicad.report_empty";
/// `report`: the report does not parse, or lacks one of its lists.
pub const REPORT_UNREADABLE: &str = "kicad.report_unreadable";
/// `report`: the report's date lies before the start of the attempt.
pub const REPORT_STALE: &str = "kicad.report_stale";
/// `report`: the report's source is another file; the text names it.
pub const REPORT_OTHER_BOARD: &str = "kicad.report_other_board";
/// `report`: status and report disagree (5 with no finding, 0 with findings).
pub const REPORT_CONTRADICTS_EXIT: &str = "kicad.report_contradicts_exit";
/// `report`: the comparison with the schematic was asked for and could not run; the empty list
/// in the report then means nothing. The text says why.
pub const PARITY_NOT_RUN: &str = "kicad.parity_not_run";

/// `file`: what a script or tool left behind does not parse, or the board that a step reads is
/// damaged although its header is fine. The text names the file.
pub const BOARD_DAMAGED: &str = "kicad.board_damaged";
/// `file`: the board or schematic that a step reads is not there; the text names it. A fact for
/// the record and look-alike of KI-7 and KI-8; by itself it stays with the unknown (SC-1).
pub const INPUT_MISSING: &str = "kicad.input_missing";
/// `file`: the format date in a header is newer than the chosen tool reads. The number is the
/// date (20260206), the text the file.
pub const FORMAT_TOO_NEW: &str = "kicad.format_too_new";
/// `file`: a format that the chosen tool no longer reads whole (a `.sch` of KiCad 5 and before:
/// the netlist comes out empty). The text names the file.
pub const FORMAT_TOO_OLD: &str = "kicad.format_too_old";

/// Every code above that is not a layer, for the tests.
pub const ALL: &[&str] = &[
    EXPORT_UNDEFINED,
    EXPORT_INCOMPLETE,
    FOOTPRINTS_DROPPED,
    REFERENCES_RENUMBERED,
    NOT_FITTED_ONLY,
    HOLES_LOST,
    HOLES_MOVED,
    NET_PINS_DIFFER,
    NETLIST_EMPTY,
    NETS_RENAMED,
    VERSION_OUT_OF_RANGE,
    FLAGS_REFUSED,
    INSTALL_BROKEN,
    PRO_MISSING,
    PRO_EMPTY,
    PRO_UNREADABLE,
    PRO_LINK_TEXT,
    PRO_WITHOUT_RULES,
    RULESET_CHANGED,
    RULES_FILE_BROKEN,
    SHEET_MISSING,
    CANARY_NOT_HIT,
    PROBE_NOT_HIT,
    DEFAULT_RULES_USED,
    REPORT_MISSING,
    REPORT_EMPTY,
    REPORT_UNREADABLE,
    REPORT_STALE,
    REPORT_OTHER_BOARD,
    REPORT_CONTRADICTS_EXIT,
    PARITY_NOT_RUN,
    BOARD_DAMAGED,
    INPUT_MISSING,
    FORMAT_TOO_NEW,
    FORMAT_TOO_OLD,
];
