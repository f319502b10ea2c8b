//! Probes that prove a cure of KI, and conditions that are watched while a person acts. Each is
//! other code than the action, reads fresh state, and answers pass, fail or could-not-run.

/// KI-1: part and net sets of the exported file equal a fresh read of the live board.
pub const EXPORT_EQUALS_BOARD: &str = "export-equals-board";
/// KI-2: references, pads per reference and net membership of netlist and board are equal, read
/// by the second parser.
pub const FOOTPRINTS_EQUAL: &str = "footprints-equal";
/// KI-3: a fresh parse finds each recorded hole once (place, drill, plating) and no pad over it.
pub const HOLES_EQUAL: &str = "holes-equal";
/// KI-4: each pin set of the netlist is one of the board and the other way round.
pub const PINS_EQUAL: &str = "pins-equal";
/// KI-5: a fresh start of the recorded path prints a version in range, and the bundled sample
/// board gives its known report. Also watched while the person installs KiCad.
pub const KICAD_USABLE: &str = "kicad-usable";
/// KI-6: a probe run with one project limit made absurd, and a canary in the rules file: both
/// must fire. The canary is left out of all counts.
pub const RULES_IN_FORCE: &str = "rules-in-force";
/// KI-7: the second parser sees only the intended items differ from the board before the step.
pub const ONLY_INTENDED_CHANGES: &str = "only-intended-changes";
/// KI-8: the chosen version loads the file, and the item counts are those from before. Also
/// watched while the person installs another version.
pub const FORMAT_READABLE: &str = "format-readable";

/// Every probe, for the tests.
pub const ALL: &[&str] = &[
    EXPORT_EQUALS_BOARD,
    FOOTPRINTS_EQUAL,
    HOLES_EQUAL,
    PINS_EQUAL,
    KICAD_USABLE,
    RULES_IN_FORCE,
    ONLY_INTENDED_CHANGES,
    FORMAT_READABLE,
];
