//! SC-6 to SC-8: what a step left behind.

use pcbflow_core::evidence::{Matcher, NumberTest, Pattern, Source, codes};
use pcbflow_core::row::{
    AT_ONCE, Available, BUDGET, Notify, Recheck, Recipe, RecipeKind, Resume, Row, Rung, Severity,
    Texts,
};

use super::{actions, probes};
use crate::signals;

pub(super) const SC_6: Row = Row {
    id: "SC-6",
    title: "Retries used up",
    severity: Severity::S2,
    matchers: &[Matcher::new(&[Pattern::own(codes::RETRIES_USED_UP)])
        .unless(&[Pattern::own(signals::STOPPED_BY_PERSON), Pattern::own(codes::DISK_FULL)])],
    not_this: "stop by a person; count of another fingerprint",
    ladder: &[Rung {
        what: "no retry: save and prove the place, explain each attempt, ask; a person's 'retry' grants one fresh budget, recorded",
        ..Rung::ask()
    }],
    budget: BUDGET,
    notify: Notify::Always,
    recheck: Recheck {
        what: "checkpoint verifies: outputs hash to the record, head recorded",
        probe: None,
    },
    texts: Texts {
        what: "I could not finish the step {step}.",
        why: None,
        healed: "The step went through after your retry.",
        ask: "Check {step} in {tool}",
        resume: Resume::Retry,
        ask_kind: "check_step",
        tool: "the step's own tool",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "a real script that fails in another way each time, until the attempts of the step are used up",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const SC_7: Row = Row {
    id: "SC-7",
    title: "Silent wrong result",
    severity: Severity::S1,
    matchers: &[
        // The report leads and not the status 0, so that a more exact report wins.
        Matcher::new(&[Pattern::report(codes::ENVELOPE_FAILED)]).unless(&[Pattern::is(
            Source::Exit,
            codes::STATUS,
        )
        .num(NumberTest::Not(0))]),
        Matcher::new(&[Pattern::report(signals::WRITE_NOT_TAKEN)]),
        Matcher::new(&[Pattern::report(signals::POST_CONDITION_UNMET)])
            .unless(&[Pattern::report(signals::EMPTY_CONFIRMED)]),
        Matcher::new(&[Pattern::file(codes::OUTPUT_MISSING)]),
        Matcher::new(&[Pattern::file(codes::OUTPUT_EMPTY)])
            .unless(&[Pattern::report(signals::EMPTY_CONFIRMED)]),
        Matcher::new(&[Pattern::file(codes::OUTPUT_STALE)]),
        Matcher::new(&[Pattern::file(signals::OUTPUT_UNCHANGED)]),
    ],
    not_this: "a true empty answer shown by a second, different query; EDA-14; a failure that the status tells as well",
    ladder: &[
        Rung::read_back(
            "counted as failed, classified from the window's statuses, then read back",
            "I looked whether the work was already there.",
        ),
        Rung::retry(
            "once-more-if-absent",
            AT_ONCE,
            "once more, only if read-only or absent",
            "I ran the step once more.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "a different reader (parser, server revision) sees the wanted content",
        probe: None,
    },
    texts: Texts {
        what: "The step {step} said it was done, but it was not.",
        why: Some("What it should have made is missing, empty or old."),
        healed: "Its result is there now.",
        ask: "Check {step} in {tool}",
        resume: Resume::Retry,
        ask_kind: "check_step",
        tool: "the step's own tool",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "real scripts that exit 0 and leave no output, an empty one, an old one, or a result that says it failed",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const SC_8: Row = Row {
    id: "SC-8",
    title: "Running again duplicates work",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::own(signals::WRITE_OUTCOME_UNKNOWN)]),
        // A step that may write once and lost its answer is settled by reading, not by more time.
        Matcher::new(&[
            Pattern::own(signals::WRITE_OUTCOME_UNKNOWN),
            Pattern::own(codes::DEADLINE_PASSED),
        ]),
        Matcher::new(&[Pattern::report(signals::MORE_THAN_PLANNED)])
            .unless(&[Pattern::report(signals::PLANNED_SEVERAL_TIMES)]),
    ],
    not_this: "equal parts that the plan wants several times",
    ladder: &[
        Rung::read_back(
            "absent: replay; there: mark done; part: the rest",
            "I looked what was already there.",
        ),
        Rung::act(
            actions::REMOVE_OWN_COPIES,
            "copies made by this run, by recorded id, in batches of 50 or fewer; list again",
            "I removed the copies that I had made.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "multiset of objects equals the plan",
        probe: Some(probes::OBJECTS_EQUAL_PLAN),
    },
    texts: Texts {
        what: "Some work of the step {step} may be there twice.",
        why: Some("The step was cut off, so I could not see how far it came."),
        healed: "Each thing is there once.",
        ask: "Delete the duplicates listed",
        resume: Resume::Retry,
        ask_kind: "delete_duplicates",
        tool: "the step's own tool",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "real scripts of class once that are ended at their deadline: after their write, before it, and with nothing that can tell",
    },
    available: Available::Now,
    passing: false,
};
