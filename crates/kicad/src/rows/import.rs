//! KI-1 to KI-4: from EasyEDA to KiCad.

use pcbflow_core::evidence::{Matcher, Pattern, codes};
use pcbflow_core::row::{
    Available, BUDGET, Notify, Recheck, Recipe, RecipeKind, Resume, Row, Rung, Severity, Texts,
};

use super::{actions, probes};
use crate::signals;

pub(super) const KI_1: Row = Row {
    id: "KI-1",
    title: "Board export from EasyEDA fails or is empty",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::report(signals::EXPORT_UNDEFINED)]),
        Matcher::new(&[Pattern::report(signals::EXPORT_INCOMPLETE)]),
        Matcher::new(&[Pattern::file(codes::OUTPUT_MISSING)]).tools(&[signals::LAYER_BOARD_EXPORT]),
        Matcher::new(&[Pattern::file(codes::OUTPUT_EMPTY)]).tools(&[signals::LAYER_BOARD_EXPORT]),
        Matcher::new(&[Pattern::file(codes::OUTPUT_STALE)]).tools(&[signals::LAYER_BOARD_EXPORT]),
    ],
    not_this: "another document in focus, which answers undefined (rung 1 tells); an earlier file left behind",
    ladder: &[
        Rung::act(
            actions::FOCUS_BOARD,
            "focus the board document, then a fresh evaluate",
            "I put the board in front and tried again.",
        ),
        Rung::act(
            actions::EXPORT_TO_NEW_NAME,
            "once more to a new name",
            "I saved it under a new name.",
        ),
        Rung::act(actions::EXPORT_OTHER_FORM, "the other export form", "I tried another way out."),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "parsed part and net sets equal a fresh read of the live board",
        probe: Some(probes::EXPORT_EQUALS_BOARD),
    },
    texts: Texts {
        what: "I could not get the board out of EasyEDA.",
        why: Some("EasyEDA gave me no board, or half of it."),
        healed: "The board came out whole.",
        ask: "Place the remaining parts on the board in EasyEDA",
        resume: Resume::Retry,
        ask_kind: "place_parts",
        tool: "EasyEDA",
    },
    recipe: Recipe {
        kind: RecipeKind::DiagnosisOnly,
        how: "typed evidence of an export that answers undefined, misses its net section, or leaves no file",
    },
    available: Available::Later("it comes with the editor"),
    passing: false,
};

pub(super) const KI_2: Row = Row {
    id: "KI-2",
    title: "Import drops footprints",
    severity: Severity::S2,
    matchers: &[Matcher::new(&[Pattern::report(signals::FOOTPRINTS_DROPPED)]).unless(&[
        Pattern::report(signals::REFERENCES_RENUMBERED),
        Pattern::report(signals::NOT_FITTED_ONLY),
    ])],
    not_this: "parts marked not-fitted; renumbered references. Equal counts with one lost and one extra are this row: sets are compared",
    ladder: &[
        Rung::act(
            actions::REMAP_FOOTPRINTS,
            "remap from the project's footprint map",
            "I matched the footprints that I know.",
        ),
        Rung::act(
            actions::RESTORE_HOLES,
            "put the mounting holes back as KI-3 does",
            "I put the mounting holes back.",
        ),
        Rung::act(
            actions::IMPORT_AGAIN,
            "import once more into a copy",
            "I read the board in once more.",
        ),
        Rung { what: "list the rest, save the place and ask", ..Rung::ask() },
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "reference set, pads per reference and net membership equal, read by a second parser",
        probe: Some(probes::FOOTPRINTS_EQUAL),
    },
    texts: Texts {
        what: "KiCad dropped {count:footprint|footprints} when it read the board.",
        why: Some("It does not know these EasyEDA shapes."),
        healed: "Each part has its footprint again.",
        ask: "Pick a footprint for {parts}",
        resume: Resume::Retry,
        ask_kind: "pick_footprint",
        tool: "KiCad",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "kicad-cli exports the netlist of a real schematic; the board beside it has lost three footprints, one in the footprint map and two not",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const KI_3: Row = Row {
    id: "KI-3",
    title: "Mounting holes lost on import",
    severity: Severity::S3,
    matchers: &[Matcher::new(&[Pattern::report(signals::HOLES_LOST)])
        .unless(&[Pattern::report(signals::HOLES_MOVED)])],
    not_this: "holes moved on purpose; the same hole within tolerance",
    ladder: &[
        Rung::act(
            actions::RESTORE_HOLES,
            "restore from the record on a copy, never twice; a design file of the engineer's is never written",
            "I put the mounting holes back on a copy.",
        ),
        Rung { what: "list the holes that are gone, save the place and ask", ..Rung::ask() },
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "fresh parse: same count, place, drill, plating; no pad overlap",
        probe: Some(probes::HOLES_EQUAL),
    },
    texts: Texts {
        what: "KiCad lost {count} mounting holes when it read the board.",
        why: Some("It does not take over holes that EasyEDA draws this way."),
        healed: "Each hole is back in its place, or you have said that it may go.",
        ask: "Put the mounting holes back on the board",
        resume: Resume::Retry,
        ask_kind: "restore_holes",
        tool: "KiCad",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "a real board is checked, then a footprint with a mounting hole is cut out of it and it is checked again",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const KI_4: Row = Row {
    id: "KI-4",
    title: "Netlist broken after import",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::report(signals::NET_PINS_DIFFER)])
            .unless(&[Pattern::report(signals::NETS_RENAMED)]),
        Matcher::new(&[Pattern::report(signals::NETLIST_EMPTY)])
            .unless(&[Pattern::file(signals::FORMAT_TOO_OLD)]),
    ],
    not_this: "net renamed with equal pins; unnamed nets, which are compared by pins; an old schematic format whose netlist comes out empty (KI-8)",
    ladder: &[
        Rung::act(actions::IMPORT_AGAIN, "import once more", "I read the board in once more."),
        Rung::act(
            actions::RENAME_NETS,
            "rename where the pins are equal; never rewire",
            "I gave the nets their names back.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "pin partition equal in both directions",
        probe: Some(probes::PINS_EQUAL),
    },
    texts: Texts {
        what: "Some nets are not the same on the board and in the schematic.",
        why: Some("The pins of these nets differ: {items}."),
        healed: "Each net has its own pins again.",
        ask: "Check the listed nets in the schematic",
        resume: Resume::Retry,
        ask_kind: "check_nets",
        tool: "KiCad",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "two pads of a real board change nets; kicad-cli exports the netlist of its schematic and the sets are compared",
    },
    available: Available::Now,
    passing: false,
};
