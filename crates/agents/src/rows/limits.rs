//! Stalls, claims, ceilings and acceptance: AG-8, AG-9, AG-10, AG-11, AG-14.

use pcbflow_core::evidence::{Matcher, NumberTest, Pattern, codes};
use pcbflow_core::row::{AT_ONCE, BUDGET, Notify, Recheck, Resume, Row, Rung, Severity, Texts};

use super::{LATER, diagnosis_only};
use crate::signals;

const REPLANS_USED: Pattern = Pattern::own(signals::REPLANS_USED);
const UNENDED: Pattern = Pattern::own(signals::ACCEPTANCE_UNENDED);
const NOTHING_PROVEN: Pattern = Pattern::report(signals::NOTHING_PROVEN);

/// Stalled after two replans.
pub const AG_8: Row = Row {
    id: "AG-8",
    title: "stalled after two replans",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[REPLANS_USED, Pattern::own(signals::FINGERPRINT_BACK)]),
        Matcher::new(&[REPLANS_USED, Pattern::own(signals::FINGERPRINT_STALLED)]),
    ],
    not_this: "another failure for the first time, replans that no stall caused (AG-13)",
    ladder: &[Rung::ask()],
    budget: BUDGET,
    notify: Notify::Always,
    recheck: Recheck {
        what: "a person's decision event precedes the next cycle",
        probe: Some("decision-recorded"),
    },
    texts: Texts {
        what: "The same fault came back on this board after two new plans.",
        why: None,
        healed: "The fault is gone.",
        ask: "Decide how to go on with the failure shown",
        resume: Resume::Retry,
        ask_kind: "decide",
        tool: "the board",
    },
    recipe: diagnosis_only("a check that no change can satisfy, up to its fifth sighting"),
    available: LATER,
    passing: false,
};

/// Acceptance can't run, twice in a row.
pub const AG_9: Row = Row {
    id: "AG-9",
    title: "acceptance can't run twice in a row",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[UNENDED.num(NumberTest::Between(2, i64::MAX))]),
        // The first time: the ladder's first rung is for it, and nobody is asked yet.
        Matcher::new(&[UNENDED.num(NumberTest::Is(1))]).confidence(70),
    ],
    not_this: "single items that could not be verified, a failed item",
    ladder: &[
        Rung::retry(
            "after-first",
            AT_ONCE,
            "after the first: the ladder of the tool's own family, then the run again",
            "I ran the last check of the board again.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::Always,
    recheck: Recheck {
        what: "acceptance ends by itself with at least one proven pass",
        probe: Some("acceptance-ended"),
    },
    texts: Texts {
        what: "I could not finish the last check of the board, twice.",
        why: Some("{tool} gave no answer in time."),
        healed: "The last check of the board ran to its end.",
        ask: "Check that {tool} opens",
        resume: Resume::Retry,
        ask_kind: "check_tool",
        tool: "the board",
    },
    recipe: diagnosis_only("a small program in the tool's place that never answers, two runs long"),
    available: LATER,
    passing: false,
};

/// The claim is held by another live process.
pub const AG_10: Row = Row {
    id: "AG-10",
    title: "claim held by another live process",
    severity: Severity::S2,
    matchers: &[Matcher::new(&[Pattern::own(codes::CLAIM_HELD)])
        .unless(&[Pattern::own(signals::OTHER_BOARD)])],
    not_this: "a dead owner on this computer (taken over once), another board's run that writes \
               to the same record",
    ladder: &[
        Rung::act(
            "look-at-owner",
            "leave claim and work alone, answer busy; look whether the owner lives",
            "I left the other run alone.",
        ),
        Rung::act(
            "take-over-dead",
            "owner dead on this computer: take over once; another computer, no sign of life for \
             10 min: ask",
            "I checked whether the other run is still at work.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::Always,
    recheck: Recheck {
        what: "compare-and-swap, read back: one live owner",
        probe: Some("one-owner"),
    },
    texts: Texts {
        what: "Another run is at work on this board.",
        why: Some("Two runs at once would spoil each other's work."),
        healed: "The other run has ended.",
        ask: "Wait until the other run ends",
        resume: Resume::Retry,
        ask_kind: "wait_for_run",
        tool: "the board",
    },
    recipe: diagnosis_only("two real processes on one board; one of them ended by signal 9"),
    available: LATER,
    passing: false,
};

/// A ceiling of the run is reached.
pub const AG_11: Row = Row {
    id: "AG-11",
    title: "ceiling of cycles or hours reached",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::own(signals::CYCLES_USED_UP)]),
        Matcher::new(&[Pattern::own(signals::HOURS_USED_UP)]),
    ],
    not_this: "a stall (AG-8)",
    ladder: &[Rung::ask()],
    budget: BUDGET,
    notify: Notify::Always,
    recheck: Recheck {
        what: "an extension event precedes the next cycle",
        probe: Some("decision-recorded"),
    },
    texts: Texts {
        what: "The run on this board has reached its limit.",
        why: Some("Each run may take only so many rounds and hours."),
        healed: "The run goes on with your word.",
        ask: "Decide whether the run may go on",
        resume: Resume::Watch("decision-recorded"),
        ask_kind: "extend_run",
        tool: "the board",
    },
    recipe: diagnosis_only("a run with a ceiling of two cycles, and one with a driven clock"),
    available: LATER,
    passing: false,
};

/// Nothing could be verified.
pub const AG_14: Row = Row {
    id: "AG-14",
    title: "nothing could be verified",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[NOTHING_PROVEN]).unless(&[UNENDED, Pattern::report(signals::ITEM_FAILED)])
    ],
    not_this: "an acceptance that could not run (AG-9), a failed item",
    ladder: &[
        Rung::act(
            "second-look",
            "one second look by another method; the phase stays unverified, nothing merges",
            "I looked a second time in another way.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::Always,
    recheck: Recheck {
        what: "the owner's event with name, items and head",
        probe: Some("decision-recorded"),
    },
    texts: Texts {
        what: "I could not prove any item of the last check.",
        why: Some("What I can see of the board is not enough."),
        healed: "I could prove it in another way.",
        ask: "Check the items listed and say 'accept' or 'reject'",
        resume: Resume::Watch("decision-recorded"),
        ask_kind: "accept_items",
        tool: "the board",
    },
    recipe: diagnosis_only("an acceptance whose every item answers that it could not verify"),
    available: LATER,
    passing: false,
};
