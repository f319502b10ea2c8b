//! Synthetic rows: every kind of rung, autonomy and availability, passing or not.

use std::collections::BTreeMap;

use pcbflow_core::catalogue::Catalogue;
use pcbflow_core::evidence::{Matcher, Pattern};
use pcbflow_core::policy::{ClassSettings, Policy};
use pcbflow_core::row::{
    AT_ONCE, Autonomy, Available, BUDGET, COOL, Notify, Recheck, Recipe, RecipeKind, Resume, Row,
    RowBudget, Rung, RungKind, Severity, Texts, W3,
};

use crate::choices::Choices;

const WORDS: Texts = Texts {
    what: "Something failed.",
    why: None,
    healed: "It works again.",
    ask: "Look at it",
    resume: Resume::Retry,
    ask_kind: "look",
    tool: "the computer",
};

pub const PLAIN: Row = Row {
    id: "SC-1",
    title: "unknown",
    severity: Severity::S2,
    matchers: &[Matcher::new(&[Pattern::own("x")])],
    not_this: "",
    ladder: &[Rung::retry("once-more", AT_ONCE, "once more", "I did it again."), Rung::ask()],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck { what: "the check", probe: None },
    texts: WORDS,
    recipe: Recipe { kind: RecipeKind::Real, how: "here" },
    available: Available::Now,
    passing: false,
};

const SAID: &str = "I tried it.";

pub const PASSING: Row = Row {
    id: "SY-1",
    ladder: &[Rung::retry("w3", W3, "wait and repeat", SAID)],
    passing: true,
    ..PLAIN
};

/// Fixed rows, one for each thing that a ladder can hold.
pub const FIXED: [Row; 12] = [
    PASSING,
    Row {
        id: "SY-2",
        ladder: &[
            Rung::retry("w3", W3, "wait and repeat", SAID),
            Rung::retry("cool", COOL, "cool down", SAID),
            Rung::ask(),
        ],
        passing: true,
        ..PLAIN
    },
    Row {
        id: "SY-3",
        ladder: &[Rung::longer("longer", 4, 900_000, "with more time", SAID), Rung::ask()],
        ..PLAIN
    },
    Row {
        id: "SY-4",
        ladder: &[
            Rung::read_back("look for it", SAID),
            Rung::retry("the-rest", AT_ONCE, "the missing", SAID),
        ],
        texts: Texts { ask: "", resume: Resume::Nothing, ..WORDS },
        ..PLAIN
    },
    Row {
        id: "SY-5",
        ladder: &[Rung::act("mend", "mend it", SAID), Rung::ask()],
        recheck: Recheck { what: "a probe", probe: Some("mended") },
        ..PLAIN
    },
    Row {
        id: "SY-6",
        ladder: &[
            Rung::act("first", "first", SAID),
            Rung::act("second", "second", SAID),
            Rung::ask(),
        ],
        texts: Texts { resume: Resume::Watch("there"), ..WORDS },
        ..PLAIN
    },
    Row {
        id: "SY-7",
        ladder: &[Rung::act("later", "later", SAID), Rung::ask()],
        available: Available::Later("soon"),
        ..PLAIN
    },
    Row {
        id: "SY-8",
        ladder: &[
            Rung::retry("w3", W3, "wait and repeat", SAID),
            Rung::act_with_go_ahead("with-yes", "only with a yes", SAID),
            Rung::ask(),
        ],
        ..PLAIN
    },
    Row {
        id: "SY-9",
        ladder: &[
            Rung::act("mend", "mend it", SAID),
            Rung::go_on("without", "go on without", SAID),
        ],
        ..PLAIN
    },
    Row {
        id: "SY-10",
        ladder: &[
            Rung { autonomy: Autonomy::Person, ..Rung::act("person", "by a person", SAID) },
            Rung::ask(),
        ],
        ..PLAIN
    },
    PLAIN,
    Row { id: "SC-6", ladder: &[Rung::ask()], ..PLAIN },
];

/// The class that resume files a cut attempt under.
pub const CUT: &str = "SY-4";

/// A row with a ladder that nobody chose by hand. Leaks a few bytes, as rows are constants.
fn random(id: &'static str, c: &mut Choices) -> Row {
    const NAMES: [&str; 6] = ["r0", "r1", "r2", "r3", "r4", "r5"];
    let mut ladder = Vec::new();
    let mut go_ahead = false;
    for name in NAMES.iter().take(1 + c.pick(5)) {
        let mut rung = match c.pick(6) {
            0 => Rung::retry(name, W3, "wait", SAID),
            1 => Rung::retry(name, AT_ONCE, "at once", SAID),
            2 => Rung::longer(name, 2 + c.small() % 4, 3_600_000, "longer", SAID),
            3 => Rung { id: name, ..Rung::read_back("look", SAID) },
            4 => Rung::retry(name, COOL, "cool down", SAID),
            _ => Rung::act(name, "act", SAID),
        };
        rung.autonomy = match c.pick(4) {
            0 if rung.kind == RungKind::Act && !go_ahead => Autonomy::GoAhead,
            1 if rung.kind == RungKind::Act => Autonomy::Person,
            _ => Autonomy::Alone,
        };
        go_ahead |= rung.autonomy == Autonomy::GoAhead;
        ladder.push(rung);
    }
    match c.pick(3) {
        0 => ladder.push(Rung::ask()),
        1 => ladder.push(Rung::go_on("on", "go on", SAID)),
        _ => {}
    }
    Row {
        id,
        ladder: Vec::leak(ladder),
        budget: RowBudget { attempts_max: 1 + c.small() % 20, ladder_ms_max: 3_600_000 },
        recheck: Recheck { what: "it", probe: c.yes().then_some("probe") },
        available: if c.pick(5) == 1 { Available::Later("soon") } else { Available::Now },
        passing: c.yes(),
        ..PLAIN
    }
}

/// A policy over the fixed rows and three random ones, with a person's settings now and then.
pub fn policy(c: &mut Choices) -> Policy {
    let mut rows = FIXED.to_vec();
    rows.extend(["SZ-1", "SZ-2", "SZ-3"].map(|id| random(id, c)));
    let mut settings = BTreeMap::new();
    for row in &rows {
        if c.pick(6) == 1 {
            let set = ClassSettings {
                attempts_max: c.yes().then(|| c.small()),
                waits_ms: c.yes().then(|| (0..c.pick(8)).map(|_| c.number()).collect()),
                ladder_ms_max: c.yes().then(|| c.number()),
            };
            settings.insert(row.id.to_owned(), set);
        }
    }
    let mut longer = BTreeMap::new();
    if c.yes() {
        longer.insert(("kind".to_owned(), "SY-3".to_owned()), c.small());
    }
    Policy { catalogue: Catalogue::fold(rows, Vec::new()).unwrap(), settings, longer }
}

/// A policy over these rows and the two that are always needed.
pub fn of_rows(rows: &[Row]) -> Policy {
    let mut all = rows.to_vec();
    all.extend([FIXED[10], FIXED[11]]);
    Policy {
        catalogue: Catalogue::fold(all, Vec::new()).unwrap(),
        settings: BTreeMap::new(),
        longer: BTreeMap::new(),
    }
}
