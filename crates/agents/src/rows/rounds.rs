//! Repair rounds and plans: AG-5, AG-6, AG-7, AG-13.

use pcbflow_core::evidence::{Matcher, NumberTest, Pattern};
use pcbflow_core::row::{
    AT_ONCE, BUDGET, Notify, Recheck, Resume, Row, Rung, Severity, Texts, Waits,
};

use super::{LATER, diagnosis_only};
use crate::signals;

const TREE_UNCHANGED: Pattern = Pattern::own(signals::TREE_UNCHANGED);
const PUSH_UNCHANGED: Pattern = Pattern::own(signals::PUSH_UNCHANGED);
const OUTSIDE_SCOPE: Pattern = Pattern::own(signals::PATHS_OUTSIDE_SCOPE);
const ONLY_GENERATED: Pattern = Pattern::own(signals::ONLY_GENERATED);
const PROTECTED_CHANGED: Pattern = Pattern::own(signals::PROTECTED_CHANGED);
const LEAVES_TREE: Pattern = Pattern::own(signals::LEAVES_TREE);
const CANNOT_BUILD: Pattern = Pattern::report(signals::CANNOT_BUILD);
const CONFLICT: Pattern = Pattern::report(signals::CRITERIA_CONFLICT);
const BOTH_FOUND: Pattern = Pattern::own(signals::BOTH_DEMANDS_FOUND);

/// Most replans of a run that no stall caused.
const UNPLANNED_REPLANS_MAX: i64 = 3;

/// Three new plans, one after the other, without a wait.
const THREE_PLANS: Waits = Waits { ms: &[0, 0, 0], jitter_percent: 0, honours_retry_after: false };

/// A round changed nothing.
pub const AG_5: Row = Row {
    id: "AG-5",
    title: "no change made",
    severity: Severity::S3,
    matchers: &[
        Matcher::new(&[TREE_UNCHANGED]).unless(&[
            OUTSIDE_SCOPE,
            PROTECTED_CHANGED,
            LEAVES_TREE,
            CANNOT_BUILD,
        ]),
        Matcher::new(&[PUSH_UNCHANGED]).unless(&[
            OUTSIDE_SCOPE,
            PROTECTED_CHANGED,
            LEAVES_TREE,
            CANNOT_BUILD,
        ]),
    ],
    not_this: "a change outside the scope (AG-6), an agent that says it can't build (AG-13)",
    ladder: &[
        Rung::retry(
            "told-so",
            AT_ONCE,
            "the next try is told so and shown the failure to fix",
            "I asked the AI assistant again and showed it the fault.",
        ),
        Rung::go_on(
            "stall-rule",
            "the same fingerprint again: the stall rule",
            "I counted this round as not done.",
        ),
    ],
    budget: BUDGET,
    notify: Notify::Never,
    recheck: Recheck { what: "the digest differs, inside the scope", probe: Some("tree-differs") },
    texts: Texts {
        what: "The AI assistant changed nothing.",
        why: None,
        healed: "The AI assistant made its change.",
        ask: "",
        resume: Resume::Nothing,
        ask_kind: "nothing",
        tool: "the AI assistant",
    },
    recipe: diagnosis_only("a small program in the agent's place that edits nothing"),
    available: LATER,
    passing: false,
};

/// An edit outside the scope, or of something protected.
pub const AG_6: Row = Row {
    id: "AG-6",
    title: "edit outside scope or of a protected file",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[OUTSIDE_SCOPE]).unless(&[ONLY_GENERATED]),
        Matcher::new(&[PROTECTED_CHANGED]),
        Matcher::new(&[LEAVES_TREE]),
    ],
    not_this: "declared generated files, the output of a formatter",
    ladder: &[
        Rung::act(
            "put-back",
            "put the whole attempt back, keep it as evidence; never take part of it",
            "I put back all that it had changed.",
        ),
        Rung::retry(
            "name-refused-paths",
            AT_ONCE,
            "once more, naming the refused paths",
            "I named those files and asked again.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "protected digests equal those before the attempt",
        probe: Some("protected-unchanged"),
    },
    texts: Texts {
        what: "The AI assistant wanted to change files it may not change.",
        why: Some("Its change needs more files than I allow."),
        healed: "It changed only the files it may change.",
        ask: "Decide whether the files listed may change",
        resume: Resume::Retry,
        ask_kind: "widen_scope",
        tool: "the AI assistant",
    },
    recipe: diagnosis_only(
        "a small program in the agent's place edits a test, follows a link, leaves the tree",
    ),
    available: LATER,
    passing: false,
};

/// Two demands can't both hold.
pub const AG_7: Row = Row {
    id: "AG-7",
    title: "criteria conflict",
    severity: Severity::S2,
    matchers: &[Matcher::new(&[CONFLICT, BOTH_FOUND]).unless(&[Pattern::own(signals::CHECK_FLAKY)])],
    not_this: "a flaky check, an unknown cause, an outdated test, demands that are not in the \
               inputs",
    ladder: &[Rung::ask()],
    budget: BUDGET,
    notify: Notify::Always,
    recheck: Recheck {
        what: "a decision event exists and the checks ran again under it",
        probe: Some("decision-recorded"),
    },
    texts: Texts {
        what: "Two demands on this board do not fit together.",
        why: Some("To meet one of them breaks the other."),
        healed: "The checks ran again with your choice.",
        ask: "Decide which of the two demands holds",
        resume: Resume::Watch("decision-recorded"),
        ask_kind: "choose_demand",
        tool: "the board",
    },
    recipe: diagnosis_only("two checks that exclude each other, and a diagnosis that names both"),
    available: LATER,
    passing: false,
};

/// The planner can't plan, or plans change without end.
pub const AG_13: Row = Row {
    id: "AG-13",
    title: "planner can't plan",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::own(signals::UNPLANNED_REPLANS)
            .num(NumberTest::Between(UNPLANNED_REPLANS_MAX + 1, i64::MAX))]),
        Matcher::new(&[CANNOT_BUILD]),
        Matcher::new(&[CANNOT_BUILD, TREE_UNCHANGED]),
    ],
    not_this: "replans caused by a stall, which are counted apart (AG-8)",
    ladder: &[
        Rung::retry(
            "replan",
            THREE_PLANS,
            "up to 3 replans in the run, with the agent's own reason",
            "I asked for a new plan {times}.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::Always,
    recheck: Recheck {
        what: "a person's decision event precedes the next plan",
        probe: Some("decision-recorded"),
    },
    texts: Texts {
        what: "The AI assistant found no way to do this.",
        why: Some("Each of its plans came to an end without a result."),
        healed: "The AI assistant found a plan that works.",
        ask: "Change the request or say how to build it",
        resume: Resume::Watch("decision-recorded"),
        ask_kind: "change_request",
        tool: "the AI assistant",
    },
    recipe: diagnosis_only("a small program in the agent's place that refuses to plan, four times"),
    available: LATER,
    passing: false,
};
