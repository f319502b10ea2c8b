//! ENV-6 to ENV-9: the system, paths, helper tools, declared packages.

use pcbflow_core::evidence::{Matcher, NumberTest, Pattern, Source, codes};
use pcbflow_core::row::{
    Available, BUDGET, Notify, Recheck, Recipe, RecipeKind, Resume, Row, Rung, Severity, Texts,
};

use super::{ASSISTANTS, CHROME, HELPERS, KICAD, NODE, PYTHON, SHELLS, actions, probes};
use crate::signals;

/// A program made for another system, in the words of the systems themselves.
const OTHER_FORMAT: &[&str] =
    &["exec format error", "cannot execute binary file", "bad cpu type in executable"];

pub(super) const ENV_6: Row = Row {
    id: "ENV-6",
    title: "Step written for another operating system",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::own(codes::WRONG_SYSTEM)]),
        Matcher::new(&[Pattern::not_found(SHELLS)]),
        Matcher::new(&[
            Pattern::exit(126),
            Pattern::is(Source::Exit, signals::FORMAT_OF_OTHER_SYSTEM),
        ]),
        Matcher::new(&[
            Pattern::exit(127),
            Pattern::is(Source::Exit, signals::FORMAT_OF_OTHER_SYSTEM),
        ]),
        Matcher::new(&[Pattern::is(Source::Exit, codes::SPAWN_FAILED).has(OTHER_FORMAT)]),
        Matcher::new(&[Pattern::words(OTHER_FORMAT)]).confidence(60),
    ],
    not_this: "missing package (SC-2); bad path (ENV-7); a script without the right to run, which ends with 126 as well",
    ladder: &[
        Rung::act(
            actions::USE_RECIPE_FOR_SYSTEM,
            "choose the recipe for this system; without one the step is refused before it starts",
            "I looked for a form of this step that runs here.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "recipe's self-test on this system",
        probe: Some(probes::RECIPE_SELF_TEST),
    },
    texts: Texts {
        what: "This step does not run on this computer.",
        why: Some("It was written for another operating system."),
        healed: "I found a form of it that runs here.",
        ask: "Run this phase on a supported system",
        resume: Resume::Retry,
        ask_kind: "change_computer",
        tool: "the computer",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "a step that declares another system only, with and without a form for this one",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const ENV_7: Row = Row {
    id: "ENV-7",
    title: "Path or quoting broken",
    severity: Severity::S3,
    matchers: &[
        Matcher::new(&[Pattern::own(signals::ARGUMENT_DIFFERS)])
            .unless(&[Pattern::file(signals::INPUT_MISSING)]),
        Matcher::new(&[
            Pattern::is(Source::Exit, codes::STATUS).num(NumberTest::Not(0)),
            Pattern::file(signals::PATH_AWKWARD),
        ])
        .unless(&[Pattern::file(signals::INPUT_MISSING)]),
        Matcher::new(&[Pattern::words(&[
            "file name too long",
            "filename too long",
            "the filename, directory name, or volume label syntax is incorrect",
        ])])
        .confidence(60),
    ],
    not_this: "a file that is really absent with an intact argument; 404 (EDA-4); an awkward path in a failure of another kind",
    ladder: &[
        Rung::act(
            actions::PASS_AS_LIST,
            "argument vector, no shell",
            "I passed each name by itself.",
        ),
        Rung::act(actions::CANONICAL_PATH, "expand and canonicalise", "I gave the whole name."),
        Rung::act(
            actions::SHORT_PLAIN_COPY,
            "once more from a short plain copy",
            "I tried a copy with a short name.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck { what: "tool's own report names the file that was asked for", probe: None },
    texts: Texts {
        what: "A tool could not find this project's folder.",
        why: Some("Its name is too long or has odd letters."),
        healed: "The tool found its files.",
        ask: "Move the project to a folder with a short plain name",
        resume: Resume::Retry,
        ask_kind: "move_project",
        tool: "the project folder",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "a real shell script without quotes around its argument, and a file in a folder with a space; a step that writes, which may not use a copy",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const ENV_8: Row = Row {
    id: "ENV-8",
    title: "Command-line tool missing (git, copy tool)",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::own(signals::TOOL_MISSING_FOR_PHASE)]).unless(&[
            Pattern::own(signals::TOOL_MISSING_FOR_PHASE).names(NODE),
            Pattern::own(signals::TOOL_MISSING_FOR_PHASE).names(PYTHON),
            Pattern::own(signals::TOOL_MISSING_FOR_PHASE).names(CHROME),
            Pattern::own(signals::TOOL_MISSING_FOR_PHASE).names(KICAD),
            Pattern::own(signals::TOOL_MISSING_FOR_PHASE).names(ASSISTANTS),
        ]),
        Matcher::new(&[Pattern::not_found(HELPERS)]),
        Matcher::new(&[Pattern::is(Source::Exit, codes::VERSION_TOO_OLD).has(&["git "])]),
        Matcher::new(&[Pattern::file(signals::TOOL_ABSENT).names(HELPERS)]),
    ],
    not_this: "tool present but failing",
    ladder: &[
        Rung::act(actions::FIND_IN_KNOWN_PLACES, "known places", "I looked in the usual places."),
        Rung::act(
            actions::BUILT_IN_REPLACEMENT,
            "built-in replacement, where there is one",
            "I tried to do its work without it.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "fresh spawn prints a version in range",
        probe: Some(probes::TOOL_USABLE),
    },
    texts: Texts {
        what: "I can't run this step without {tool}.",
        why: Some("It is not on this computer, or it is too old."),
        healed: "I found a tool that does this work.",
        ask: "Install {tool}",
        resume: Resume::Watch(probes::TOOL_USABLE),
        ask_kind: "install_tool",
        tool: "the computer",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "a PATH without git and a real git at a known place, for a step and for the commit; a real one, asked for a version that no git has",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const ENV_9: Row = Row {
    id: "ENV-9",
    title: "Declared dependencies not installed",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::own(codes::DEPENDENCY_MISSING)]),
        Matcher::new(&[Pattern::file(signals::ENVIRONMENT_MISSING)]),
    ],
    not_this: "one package missing mid-step (SC-2)",
    ladder: &[
        Rung::act(
            actions::INSTALL_DECLARED,
            "the declared install once, pinned, project environment only, 10 min",
            "I ran the install of this project once.",
        ),
        Rung::act(
            actions::INSTALL_AFTER_BROKEN_DOWNLOAD,
            "three more downloads after 1 s, 4 s and 16 s, if a download broke",
            "I tried the broken download again.",
        ),
        Rung { what: "save the place and ask with the exact command", ..Rung::ask() },
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "lock list equals installed list in a fresh process",
        probe: Some(probes::LOCK_EQUALS_INSTALLED),
    },
    texts: Texts {
        what: "Programs that this project needs are not installed.",
        why: Some("The project's list names more than this computer has."),
        healed: "All of them are installed now.",
        ask: "Install what the project's list names",
        resume: Resume::Retry,
        ask_kind: "run_install",
        tool: "the project folder",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "a real Python environment and lock list whose package is missing, with an install that copies it from a local folder, one whose download breaks once, and one that does nothing",
    },
    available: Available::Now,
    passing: false,
};
