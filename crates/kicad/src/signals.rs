//! Codes of the facts that this subsystem sees, beside those of [`pcbflow_core::evidence::codes`].
//!
//! A code means one thing and has one source; [`ALL`] pairs the two, and a row matches on both.
//! Facts that other crates share keep their shared code: a missing program is
//! `exit:spawn_not_found`, a passed deadline `own:deadline_passed`, a full disk `own:disk_full`, a
//! folder that can't be written `own:read_only`. Emit those two whenever our own probe saw them,
//! also when the tool said "saved": they outrank everything below.
//!
//! Exit status 5 and the status 0 are never failures by themselves and no row looks at them.

use pcbflow_core::evidence::Source;

/// Layer of a step that gets the board out of EasyEDA for KiCad; binds KI-1.
pub const LAYER_BOARD_EXPORT: &str = "eda/export";

macro_rules! codes {
    ($($(#[$doc:meta])* $source:ident $name:ident = $code:literal;)*) => {
        $($(#[$doc])* pub const $name: &str = $code;)*

        /// Every code of this crate with the source that reports it.
        pub const ALL: &[(Source, &str)] = &[$((Source::$source, $name)),*];
    };
}

codes! {
    /// The editor's export call answered undefined, or a file of another document.
    Report EXPORT_UNDEFINED = "kicad.export_undefined";
    /// The exported file lacks its part or net section, or its counts differ from the live
    /// board; the text says which.
    Report EXPORT_INCOMPLETE = "kicad.export_incomplete";

    /// References of the netlist that are not on the board after an import. The number is
    /// their count, the text the references, joined by ", ". Compare sets, never counts. Fill the
    /// slots `count` (all of them) and `parts` (those without an entry in the footprint map).
    Report FOOTPRINTS_DROPPED = "kicad.footprints_dropped";
    /// The missing references are there under new names; look-alike of KI-2.
    Report REFERENCES_RENUMBERED = "kicad.references_renumbered";
    /// Every missing reference is marked not-fitted or not-on-board; look-alike of KI-2.
    Report NOT_FITTED_ONLY = "kicad.not_fitted_only";
    /// Holes of the record made before the export that are not on the board (place within
    /// 0.01 mm, drill, plating). The number is their count. Fill the slot `count`.
    Report HOLES_LOST = "kicad.holes_lost";
    /// The holes were moved by a recorded change; look-alike of KI-3.
    Report HOLES_MOVED = "kicad.holes_moved";
    /// The pin sets of some nets differ between netlist and board. The number is how many,
    /// the text their names. Fill the slot `items` with them.
    Report NET_PINS_DIFFER = "kicad.net_pins_differ";
    /// A netlist without components, though the board has footprints. The tool exits 0.
    Report NETLIST_EMPTY = "kicad.netlist_empty";
    /// Nets have other names and the same pins; look-alike of KI-4.
    Report NETS_RENAMED = "kicad.nets_renamed";

    /// The tool ran and printed a version outside the step's range; the text has the version.
    Exit VERSION_OUT_OF_RANGE = "kicad.version_out_of_range";
    /// The tool refused flags that every version of the range knows (with status 1).
    Report FLAGS_REFUSED = "kicad.flags_refused";
    /// The tool answers `version` but can't load the parts that do the work (status 255
    /// and a library that could not be loaded), or its wrapper is not complete.
    Report INSTALL_BROKEN = "kicad.install_broken";

    /// No project file of the board's stem beside the board (other letter case is missing).
    File PRO_MISSING = "kicad.pro_missing";
    /// The project file is empty, or holds an empty object.
    File PRO_EMPTY = "kicad.pro_empty";
    /// The project file is cut off, is no JSON, or may not be read.
    File PRO_UNREADABLE = "kicad.pro_unreadable";
    /// The project file is the text of a link (a checkout without links), not a project.
    File PRO_LINK_TEXT = "kicad.pro_link_text";
    /// The project file is JSON but has no design rules or no net classes.
    File PRO_WITHOUT_RULES = "kicad.pro_without_rules";
    /// The rules in the project file have another hash than the recorded rule set.
    File RULESET_CHANGED = "kicad.ruleset_changed";
    /// The custom rules file does not parse by our own parser; KiCad then drops all of it.
    File RULES_FILE_BROKEN = "kicad.rules_file_broken";
    /// A sheet that the schematic names is not there; the rule check of the schematic then
    /// finds less and says nothing. The text names the sheet.
    File SHEET_MISSING = "kicad.sheet_missing";

    /// The canary in the private copy's rules file did not fire.
    Report CANARY_NOT_HIT = "kicad.canary_not_hit";
    /// The absurd project limit of the probe run did not fire.
    Report PROBE_NOT_HIT = "kicad.probe_not_hit";
    /// Findings carry default numbers where the project has others, or the list of ignored
    /// checks is not the project's.
    Report DEFAULT_RULES_USED = "kicad.default_rules_used";
    /// The tool ended and there is no report in the fresh folder.
    Report REPORT_MISSING = "kicad.report_missing";
    /// The report has no bytes.
    Report REPORT_EMPTY = "kicad.report_empty";
    /// The report does not parse, or lacks one of its lists.
    Report REPORT_UNREADABLE = "kicad.report_unreadable";
    /// The report's date lies before the start of the attempt.
    Report REPORT_STALE = "kicad.report_stale";
    /// The report's source is another file; the text names it.
    Report REPORT_OTHER_BOARD = "kicad.report_other_board";
    /// Status and report disagree (5 with no finding, 0 with findings).
    Report REPORT_CONTRADICTS_EXIT = "kicad.report_contradicts_exit";
    /// A list of the report has another length than the tool said; the text has both.
    Report REPORT_CUT = "kicad.report_cut";
    /// The comparison with the schematic was asked for and could not run; the empty list
    /// in the report then means nothing. The text says why.
    Report PARITY_NOT_RUN = "kicad.parity_not_run";

    /// What a script or tool left behind does not parse, or the board that a step reads is
    /// damaged although its header is fine. The text names the file.
    File BOARD_DAMAGED = "kicad.board_damaged";
    /// The board, schematic or jobset that a step reads is not there; the text names it, from the
    /// board's root on. Look-alike of KI-7 and KI-8.
    File INPUT_MISSING = "kicad.input_missing";
    /// The format date in a header is newer than the chosen tool reads. The number is the
    /// date (20260206), the text the file.
    File FORMAT_TOO_NEW = "kicad.format_too_new";
    /// A format that the chosen tool no longer reads whole (a `.sch` of KiCad 5 and before:
    /// the netlist comes out empty). The text names the file.
    File FORMAT_TOO_OLD = "kicad.format_too_old";
}
