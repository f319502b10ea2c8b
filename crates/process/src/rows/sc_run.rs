//! SC-1 to SC-5: how a script or step ended.

use pcbflow_core::evidence::{Matcher, NumberTest, Pattern, Source, codes};
use pcbflow_core::row::{
    AT_ONCE, Available, BUDGET, Notify, Recheck, Recipe, RecipeKind, Resume, Row, RowBudget, Rung,
    Severity, Texts,
};

use super::{ASSISTANTS, CHROME, HELPERS, KICAD, NODE, PYTHON, SHELLS, actions, probes};
use crate::signals;

/// Longest second deadline: 30 minutes.
const DEADLINE_MS_MAX: u64 = 1_800_000;

/// The browser's words in the status of a crash.
const OUT_OF_MEMORY: &[&str] = &["oom", "out of memory", "out-of-memory"];

const REPAIR: Rung = Rung::act(
    actions::REPAIR_SCRIPT,
    "script ours to change: repair loop",
    "I tried to mend the script on a copy.",
);

pub(super) const SC_1: Row = Row {
    id: "SC-1",
    title: "Unhandled exception, and home of what no rule fits",
    severity: Severity::S2,
    // A status means nothing by itself, and `exit` outranks reports, files and words. So a status
    // is this row only when nothing else at all was seen; with anything else to go by, the other
    // rows and a person's own rules choose first, and what none of them takes comes back here as
    // unknown.
    matchers: &[
        Matcher::new(&[Pattern::is(Source::Exit, codes::SIGNAL)]).unless(&[
            Pattern::is(Source::Own, ""),
            Pattern::is(Source::Cdp, ""),
            Pattern::is(Source::Report, ""),
            Pattern::is(Source::Dom, ""),
            Pattern::is(Source::File, ""),
        ]),
        Matcher::new(&[Pattern::is(Source::Exit, codes::STATUS).num(NumberTest::Not(0))])
            .unless(&[
                Pattern::is(Source::Own, ""),
                Pattern::is(Source::Http, ""),
                Pattern::is(Source::Cdp, ""),
                Pattern::is(Source::Report, ""),
                Pattern::is(Source::Dom, ""),
                Pattern::is(Source::File, ""),
                Pattern::is(Source::Text, ""),
                Pattern::exit(127),
            ])
            .confidence(50),
        Matcher::new(&[Pattern::is(Source::Exit, codes::SPAWN_DENIED)]),
        Matcher::new(&[Pattern::is(Source::Exit, codes::SPAWN_FAILED)]),
        Matcher::new(&[Pattern::report(codes::EXCEPTION)])
            .unless(&[Pattern::report(codes::MODULE_NOT_FOUND)]),
    ],
    not_this: "any id with a typed signal; a panic of pcbflow itself, which is reported as a bug",
    ladder: &[
        Rung::retry(
            "once-more-if-read-only",
            AT_ONCE,
            "keep the evidence; a read-only step runs once more",
            "I ran the step once more.",
        ),
        REPAIR,
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck { what: "the step's own post-condition, read fresh", probe: None },
    texts: Texts {
        what: "The step {step} stopped with a fault.",
        why: None,
        healed: "The step went through.",
        ask: "Check {step} in {tool}",
        resume: Resume::Retry,
        ask_kind: "check_step",
        tool: "the step's own tool",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "real scripts that raise an exception, end with status 1 and no words, and end themselves by a signal",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const SC_2: Row = Row {
    id: "SC-2",
    title: "Missing dependency",
    severity: Severity::S2,
    matchers: &[
        // Programs that have a row of their own are taken by it.
        Matcher::new(&[Pattern::exit(127)]).unless(&[
            Pattern::not_found(NODE),
            Pattern::not_found(PYTHON),
            Pattern::not_found(CHROME),
            Pattern::not_found(KICAD),
            Pattern::not_found(SHELLS),
            Pattern::not_found(HELPERS),
            Pattern::not_found(ASSISTANTS),
            Pattern::file(signals::INPUT_MISSING),
        ]),
        Matcher::new(&[Pattern::is(Source::Exit, codes::SPAWN_NOT_FOUND)])
            .unless(&[Pattern::file(signals::INPUT_MISSING)]),
        Matcher::new(&[Pattern::report(codes::MODULE_NOT_FOUND)])
            .unless(&[Pattern::own(signals::WRONG_INTERPRETER)]),
        Matcher::new(&[Pattern::words(&[
            "modulenotfounderror: no module named",
            "importerror: no module named",
            "error: cannot find module '",
            "err_module_not_found",
        ])])
        .confidence(60),
    ],
    not_this: "missing input file; KiCad (KI-5); wrong interpreter (ENV-2)",
    ladder: &[
        Rung::act(
            actions::INSTALL_DECLARED,
            "declared install once, pinned, project only, 10 min; then the step once more",
            "I ran the install of this project once.",
        ),
        Rung { what: "save the place and ask with the exact command", ..Rung::ask() },
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "import or spawn in a fresh process",
        probe: Some(probes::DEPENDENCY_LOADS),
    },
    texts: Texts {
        what: "I can't run the step {step}.",
        why: Some("Something that it needs is not on this computer."),
        healed: "What was missing is installed now.",
        ask: "Install what this step needs",
        resume: Resume::Retry,
        ask_kind: "run_install",
        tool: "the step's own tool",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "a real Python script that imports a package the project declares and lacks",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const SC_3: Row = Row {
    id: "SC-3",
    title: "Deadline passed without a result",
    severity: Severity::S2,
    // Only our own clock says so; words in output never do.
    matchers: &[
        Matcher::new(&[Pattern::own(codes::DEADLINE_PASSED)]).unless(&[
            Pattern::own(codes::DISK_FULL),
            Pattern::own(codes::RETRIES_USED_UP),
            Pattern::own(signals::STOPPED_BY_PERSON),
        ]),
        Matcher::new(&[Pattern::is(Source::Exit, signals::ENDED_BY_US)])
            .unless(&[Pattern::own(signals::STOPPED_BY_PERSON)]),
    ],
    not_this: "the word 'timeout' in output, an assertion or a key; hang of the page (EDA-7); a failing exit",
    ladder: &[
        Rung::read_back(
            "a step that writes is read back first; the whole group was ended at the deadline",
            "I looked whether its work was already there.",
        ),
        Rung::longer(
            "twice-the-time",
            2,
            DEADLINE_MS_MAX,
            "once more with twice the time, 30 min at most",
            "I gave it twice the time.",
        ),
        Rung::ask(),
    ],
    budget: RowBudget { attempts_max: 4, ladder_ms_max: 7_200_000 },
    notify: Notify::IfExhausted,
    recheck: Recheck { what: "post-condition holds; no child of the group alive", probe: None },
    texts: Texts {
        what: "The step {step} did not end in its time.",
        why: Some("{tool} gave no answer within the time limit."),
        healed: "It ended with more time.",
        ask: "Check that {tool} responds",
        resume: Resume::Retry,
        ask_kind: "check_tool",
        tool: "the step's own tool",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "a real script that sleeps past its deadline, with a grandchild that holds the pipe",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const SC_4: Row = Row {
    id: "SC-4",
    title: "Loop that never ends",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::own(codes::LOOP_WITHOUT_END)]),
        Matcher::new(
            &[Pattern::own(signals::STATE_REPEATED).num(NumberTest::Between(3, i64::MAX))],
        ),
        Matcher::new(&[Pattern::own(signals::BUSY_WITHOUT_EVENT)]),
        Matcher::new(&[Pattern::own(codes::OUTPUT_ENDLESS)]),
    ],
    not_this: "a slow step that still reports progress",
    ladder: &[
        Rung::act(
            actions::REPAIR_SCRIPT,
            "the group was ended, the tail kept; no retry with the same input; repair loop if ours",
            "I tried to mend the script on a copy.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::Always,
    recheck: Recheck {
        what: "step ends inside its limit with changed input; nothing left running",
        probe: None,
    },
    texts: Texts {
        what: "The step {step} went round in circles, so I stopped it.",
        why: Some("It did the same thing again and again without an end."),
        healed: "The step now comes to its end.",
        ask: "Check {step} in {tool}",
        resume: Resume::Retry,
        ask_kind: "check_step",
        tool: "the step's own tool",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "a real program that prints without end; one that works without a word",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const SC_5: Row = Row {
    id: "SC-5",
    title: "Memory keeps growing",
    severity: Severity::S3,
    matchers: &[
        Matcher::new(&[Pattern::own(codes::MEMORY_OVER_LIMIT)])
            .unless(&[Pattern::own(signals::STOPPED_BY_PERSON)]),
        Matcher::new(&[Pattern::own(signals::MEMORY_RISING)])
            .unless(&[Pattern::own(signals::STOPPED_BY_PERSON)]),
        Matcher::new(&[
            Pattern::is(Source::Exit, codes::SIGNAL).num(NumberTest::Is(9)),
            Pattern::is(Source::Exit, signals::OUT_OF_MEMORY_RECORD),
        ])
        .unless(&[Pattern::own(signals::STOPPED_BY_PERSON)]),
        // The same, told by a shell.
        Matcher::new(&[
            Pattern::exit(137),
            Pattern::is(Source::Exit, signals::OUT_OF_MEMORY_RECORD),
        ])
        .unless(&[Pattern::own(signals::STOPPED_BY_PERSON)]),
        Matcher::new(&[Pattern::cdp(signals::TARGET_CRASHED).has(OUT_OF_MEMORY)]),
    ],
    not_this: "end by a person; large but flat",
    ladder: &[
        Rung::act(
            actions::FRESH_WORKER,
            "save; new worker or tab between blocks",
            "I started the step from a clean state.",
        ),
        Rung::act(actions::HALVE_BATCH, "half the batch", "I did the work in smaller pieces."),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck { what: "peak below limit for the next three blocks", probe: None },
    texts: Texts {
        what: "The step {step} used too much memory, so it was stopped.",
        why: Some("It took more and more memory while it ran."),
        healed: "The step now stays within its memory.",
        ask: "Close other programs",
        resume: Resume::Retry,
        ask_kind: "free_memory",
        tool: "the computer",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "a real script that fills memory past the limit of its step",
    },
    available: Available::Now,
    passing: false,
};
