//! Actions that the ladders of KI name. The subsystem carries them out; each answers done, not
//! possible here, or failed, and none of them judges its own success.

/// KI-1: bring the board document to the front in EasyEDA; the export then runs in a fresh call.
pub const FOCUS_BOARD: &str = "focus-board";
/// KI-1: export again into a file of a new name, so that no earlier file is taken for this one.
pub const EXPORT_TO_NEW_NAME: &str = "export-to-new-name";
/// KI-1: use the other form of export that the editor knows.
pub const EXPORT_OTHER_FORM: &str = "export-other-form";
/// KI-2: give the dropped references their footprints from the project's footprint map, on a copy
/// that is swapped in by rename. Not possible when none of them is in the map.
pub const REMAP_FOOTPRINTS: &str = "remap-footprints";
/// KI-2, KI-3: put mounting holes back from the record made before the export, on a copy; check
/// the copy with a fresh parse; swap it in by rename. Never twice for one import: a hole within
/// 0.01 mm of a recorded place counts as there.
pub const RESTORE_HOLES: &str = "restore-holes";
/// KI-2, KI-4: import once more, into a copy of a new name.
pub const IMPORT_AGAIN: &str = "import-again";
/// KI-4: give nets the netlist's names where the pins are equal. Never moves a pin.
pub const RENAME_NETS: &str = "rename-nets";
/// KI-5: look for the command-line tool at the configured path and in the usual places of this
/// system (bundle, installer folder, snap's name for it); record path and version when found.
pub const FIND_IN_KNOWN_PLACES: &str = "find-in-known-places";
/// KI-5, KI-8: choose another installed version that is in range and, for KI-8, reads the file.
pub const USE_OTHER_VERSION: &str = "use-other-version";
/// KI-6: make a private copy of board, schematic with all sheets, library tables, the recorded
/// rule set as project file, and the rules file with a canary; the next attempt runs on it. Not
/// possible without a recorded rule set. The person's project file is never written.
pub const COPY_WITH_RULES: &str = "copy-with-rules";
/// KI-7: make each change in a process of its own: load, change, save to a temporary file, parse
/// it, rename. Not possible for a step that changes nothing.
pub const ONE_PROCESS_PER_CHANGE: &str = "one-process-per-change";
/// KI-7: take the route without the script: the command-line tool, or our own parser.
pub const OTHER_ROUTE: &str = "other-route";
/// KI-8: convert a private copy with a version that reads the file; the stored file keeps its
/// format. Needs a recorded yes.
pub const CONVERT_COPY: &str = "convert-copy";

/// Every action, for the tests.
pub const ALL: &[&str] = &[
    FOCUS_BOARD,
    EXPORT_TO_NEW_NAME,
    EXPORT_OTHER_FORM,
    REMAP_FOOTPRINTS,
    RESTORE_HOLES,
    IMPORT_AGAIN,
    RENAME_NETS,
    FIND_IN_KNOWN_PLACES,
    USE_OTHER_VERSION,
    COPY_WITH_RULES,
    ONE_PROCESS_PER_CHANGE,
    OTHER_ROUTE,
    CONVERT_COPY,
];
