//! Sample rows for the tests of this crate; the real ones live in the crates of their families.

use pcbflow_core::evidence::{Matcher, Pattern};
use pcbflow_core::row::{
    Autonomy, Available, BUDGET, Notify, Recheck, Recipe, RecipeKind, Resume, Row, Rung, RungKind,
    Severity, Texts, W3,
};

const CHECK: Row = Row {
    id: "KI-6",
    title: "check ran without the board's rules",
    severity: Severity::S2,
    matchers: &[Matcher::new(&[Pattern::own("sample")])],
    not_this: "nothing",
    ladder: &[
        Rung::act(
            "copy-rules",
            "copy the rules in",
            "I copied the rules in and ran the check again.",
        ),
        Rung::retry("again", W3, "run it again", "I ran the check again {times}."),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck { what: "canary hit", probe: None },
    texts: Texts {
        what: "The design-rule check reported faults that are not real.",
        why: Some("KiCad ran without this board's own rules."),
        healed: "The board is clean.",
        ask: "Choose the rule set for this board",
        resume: Resume::Retry,
        ask_kind: "choose_rules",
        tool: "KiCad",
    },
    recipe: Recipe { kind: RecipeKind::Real, how: "sample" },
    available: Available::Now,
    passing: false,
};

const LOGIN: Row = Row {
    id: "EDA-1",
    title: "signed out",
    ladder: &[
        Rung::act("login-once", "press Login once", "I tried the stored sign-in once."),
        Rung::ask(),
    ],
    notify: Notify::Always,
    texts: Texts {
        what: "Your EasyEDA session expired.",
        why: Some("EasyEDA signs you out after a while."),
        healed: "EasyEDA let me in again.",
        ask: "Log back in to EasyEDA",
        resume: Resume::Watch("signed-in"),
        ask_kind: "log_in",
        tool: "EasyEDA",
    },
    ..CHECK
};

const PART: Row = Row {
    id: "EDA-10",
    title: "part not found",
    ladder: &[
        Rung::act("broaden", "broaden the query", "I searched for {part} with fewer words."),
        Rung::act("number", "supplier number", "I tried the supplier's number."),
        Rung::act("other", "other footprint", "I tried {count:other size|other sizes}."),
        Rung::ask(),
    ],
    texts: Texts {
        what: "I could not find the part for {part}.",
        why: Some("LCSC lists no such part in that size."),
        healed: "I found {part} and checked it.",
        ask: "Pick a part for {part}",
        resume: Resume::Retry,
        ask_kind: "pick_part",
        tool: "LCSC",
    },
    ..CHECK
};

const UNKNOWN: Row = Row {
    id: "SC-1",
    title: "unknown",
    ladder: &[
        Rung::read_back("look whether it landed", "I looked whether the step had done its work."),
        Rung {
            kind: RungKind::RetryLonger { factor: 2, ms_max: 60_000 },
            ..Rung::act("longer", "longer", "I gave it twice the time.")
        },
        Rung { autonomy: Autonomy::Alone, ..Rung::ask() },
    ],
    texts: Texts {
        what: "The step {step} did not finish.",
        why: None,
        healed: "The step works again.",
        ask: "Check the step {step} in {tool}",
        resume: Resume::Retry,
        ask_kind: "retry",
        tool: "the step's own tool",
    },
    ..CHECK
};

const LATER: Row = Row {
    id: "GIT-5",
    title: "remote away",
    ladder: &[
        Rung::retry("again", W3, "again", "I tried to reach GitHub again {times}."),
        Rung::go_on("later", "leave it for later", "I put the upload on the list of open work."),
    ],
    notify: Notify::Never,
    texts: Texts {
        what: "I could not reach GitHub.",
        why: Some("The internet connection looks down."),
        healed: "The upload went through.",
        ask: "",
        resume: Resume::Nothing,
        ask_kind: "",
        tool: "GitHub",
    },
    passing: true,
    ..CHECK
};

/// One row of each sort: act, watch, parts, unknown, go on.
pub(crate) fn sample_rows() -> Vec<Row> {
    vec![CHECK, LOGIN, PART, UNKNOWN, LATER]
}

/// The first sample row, changed.
pub(crate) fn row_with(change: fn(&mut Row)) -> Row {
    let mut row = CHECK;
    change(&mut row);
    row
}
