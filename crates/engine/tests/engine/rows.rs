//! Failure rows of the simulated subsystem.

use pcbflow_core::evidence::{Matcher, Pattern, codes};
use pcbflow_core::row::{
    AT_ONCE, Available, BUDGET, Notify, Recheck, Recipe, RecipeKind, Resume, Row, Rung, Severity,
    Texts, W3,
};

const SAID: &str = "I tried it.";

const WORDS: Texts = Texts {
    what: "Something failed.",
    why: None,
    healed: "It works again.",
    ask: "Look at it",
    resume: Resume::Retry,
    ask_kind: "look",
    tool: "the computer",
};

const BASE: Row = Row {
    id: "SC-1",
    title: "row of a test",
    severity: Severity::S2,
    matchers: &[Matcher::new(&[Pattern::own("never")])],
    not_this: "",
    ladder: &[Rung::retry("once-more", AT_ONCE, "once more", SAID), Rung::ask()],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck { what: "the check", probe: None },
    texts: WORDS,
    recipe: Recipe { kind: RecipeKind::Real, how: "here" },
    available: Available::Now,
    passing: false,
};

/// Rows of the subsystem.
pub const OWN: [Row; 9] = [
    BASE,
    Row {
        id: "SC-6",
        ladder: &[Rung::ask()],
        matchers: &[Matcher::new(&[Pattern::own("used-up")])],
        ..BASE
    },
    Row {
        id: "SM-1",
        matchers: &[Matcher::new(&[Pattern::own("passing")])],
        ladder: &[Rung::retry("w3", W3, "wait and repeat", SAID)],
        passing: true,
        ..BASE
    },
    Row {
        id: "SM-2",
        matchers: &[Matcher::new(&[Pattern::own("broken")])],
        ladder: &[Rung::act("first", "first", SAID), Rung::act("mend", "mend", SAID), Rung::ask()],
        recheck: Recheck { what: "a probe", probe: Some("mended") },
        texts: Texts { resume: Resume::Watch("mended"), ..WORDS },
        ..BASE
    },
    Row {
        id: "SM-3",
        matchers: &[Matcher::new(&[Pattern::own(codes::INTENT_WITHOUT_RESULT)])],
        ladder: &[
            Rung::read_back("look for it", SAID),
            Rung::retry("the-missing", AT_ONCE, "only the missing", SAID),
        ],
        texts: Texts { ask: "", resume: Resume::Nothing, ..WORDS },
        ..BASE
    },
    Row {
        id: "SM-4",
        matchers: &[Matcher::new(&[Pattern::own("other")])],
        ladder: &[
            Rung::retry("at-once", AT_ONCE, "once more", SAID),
            Rung::act_with_go_ahead("with-yes", "only with a yes", SAID),
            Rung::ask(),
        ],
        ..BASE
    },
    Row {
        id: "SM-5",
        matchers: &[Matcher::new(&[Pattern::own(codes::DEADLINE_PASSED)])],
        ladder: &[Rung::longer("longer", 3, 900_000, "with more time", SAID), Rung::ask()],
        ..BASE
    },
    Row {
        id: "SM-6",
        matchers: &[Matcher::new(&[Pattern::own("without")])],
        ladder: &[
            Rung::act("useless", "does not apply", SAID),
            Rung::act("panics", "panics", SAID),
            Rung::go_on("on", "go on without", SAID),
        ],
        ..BASE
    },
    Row {
        id: "SM-7",
        matchers: &[Matcher::new(&[Pattern::own("lost")])],
        ladder: &[
            Rung::read_back("look for it", SAID),
            Rung::retry("again", AT_ONCE, "again", SAID),
            Rung::ask(),
        ],
        ..BASE
    },
];

/// A row that belongs to no subsystem: nobody knows its actions.
pub const NOBODYS: Row = Row {
    id: "XX-1",
    matchers: &[Matcher::new(&[Pattern::own("nobody")])],
    ladder: &[
        Rung::act("one", "one", SAID),
        Rung::act("two", "two", SAID),
        Rung::act("three", "three", SAID),
        Rung::ask(),
    ],
    ..BASE
};

/// A row whose probe panics.
pub const PANICKY: Row = Row {
    id: "SM-8",
    matchers: &[Matcher::new(&[Pattern::own("panicky")])],
    ladder: &[Rung::act("mend", "mend", SAID), Rung::ask()],
    recheck: Recheck { what: "a probe", probe: Some("panics") },
    ..BASE
};
