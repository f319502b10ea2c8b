//! KI-9: a design file that a step reads is not in its place.

use pcbflow_core::evidence::{Matcher, Pattern};
use pcbflow_core::row::{
    Available, BUDGET, Notify, Recheck, Recipe, RecipeKind, Resume, Row, Rung, Severity, Texts,
};

use crate::signals;

pub(super) const KI_9: Row = Row {
    id: "KI-9",
    title: "A design file of the board is missing",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::file(signals::INPUT_MISSING)]),
        Matcher::new(&[Pattern::file(signals::SHEET_MISSING)]),
    ],
    not_this: "a damaged file (KI-7) or one of another version (KI-8); a project file that is gone (KI-6), for its rules are on record",
    ladder: &[Rung { what: "nothing can stand in for a design file: ask", ..Rung::ask() }],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck { what: "the step reads the file", probe: None },
    texts: Texts {
        what: "A design file of this board is missing.",
        why: Some("The step {step} needs it, and it is not in its place."),
        healed: "The file is there again.",
        ask: "Put the design file back in its place",
        resume: Resume::Retry,
        ask_kind: "restore_file",
        tool: "KiCad",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "a real board whose board file is gone, and one that lacks a sheet of its schematic",
    },
    available: Available::Now,
    passing: false,
};
