//! ENV-1 to ENV-5: programs that must be on this computer.

use pcbflow_core::evidence::{Matcher, Pattern, Source, codes};
use pcbflow_core::row::{
    Available, BUDGET, Notify, Recheck, Recipe, RecipeKind, Resume, Row, Rung, Severity, Texts,
};

use super::{ASSISTANTS, CHROME, KICAD, NODE, PYTHON, actions, probes};
use crate::signals;

const CONFIGURED: Rung = Rung::act(
    actions::USE_CONFIGURED_PATH,
    "try the configured path",
    "I tried the place that is set for it.",
);

const KNOWN_PLACES: Rung = Rung::act(
    actions::FIND_IN_KNOWN_PLACES,
    "known places and other names; record path and version",
    "I looked in the usual places.",
);

const TOO_OLD: Pattern = Pattern::is(Source::Exit, codes::VERSION_TOO_OLD);

pub(super) const ENV_1: Row = Row {
    id: "ENV-1",
    title: "Node missing or older than 18",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::own(signals::TOOL_MISSING_FOR_PHASE).names(NODE)]),
        Matcher::new(&[Pattern::not_found(NODE)]),
        Matcher::new(&[TOO_OLD.has(&["node ", "nodejs "])]),
    ],
    not_this: "a version-manager shim that prints and fails; a missing package (SC-2)",
    ladder: &[CONFIGURED, KNOWN_PLACES, Rung::ask()],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "fresh spawn of the recorded path prints 18 or more",
        probe: Some(probes::NODE_USABLE),
    },
    texts: Texts {
        what: "I can't run this step without Node.",
        why: Some("Node is not on this computer, or it is too old."),
        healed: "I found a Node that is new enough.",
        ask: "Install Node 18 or newer",
        resume: Resume::Watch(probes::NODE_USABLE),
        ask_kind: "install_tool",
        tool: "Node",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "a PATH without node and a real one in a known place; a real one, asked for a version that no Node has",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const ENV_2: Row = Row {
    id: "ENV-2",
    title: "Python missing or older than 3.9",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::own(signals::TOOL_MISSING_FOR_PHASE).names(PYTHON)]),
        Matcher::new(&[Pattern::own(signals::WRONG_INTERPRETER)]),
        Matcher::new(&[Pattern::not_found(PYTHON)]),
        Matcher::new(&[TOO_OLD.has(&["python ", "python3 ", "py "])]),
    ],
    not_this: "only the other name exists (rung 2 finds it); a store stub that exits without a version",
    ladder: &[CONFIGURED, KNOWN_PLACES, Rung::ask()],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck { what: "fresh spawn prints 3.9 or more", probe: Some(probes::PYTHON_USABLE) },
    texts: Texts {
        what: "I can't run this step without Python.",
        why: Some("Python is not on this computer, or it is too old."),
        healed: "I found a Python that is new enough.",
        ask: "Install Python 3.9 or newer",
        resume: Resume::Watch(probes::PYTHON_USABLE),
        ask_kind: "install_tool",
        tool: "Python",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "a PATH without any Python and a real one in a known place; one asked for a version that no Python has; a package in the project's own environment",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const ENV_3: Row = Row {
    id: "ENV-3",
    title: "Chrome missing",
    severity: Severity::S1,
    matchers: &[
        Matcher::new(&[Pattern::own(signals::TOOL_MISSING_FOR_PHASE).names(CHROME)]),
        Matcher::new(&[Pattern::not_found(CHROME)]),
        Matcher::new(&[Pattern::file(signals::TOOL_ABSENT).names(CHROME)]),
    ],
    not_this: "Chrome present but exiting (BR-1)",
    ladder: &[CONFIGURED, KNOWN_PLACES, Rung::ask()],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "binary prints a version and starts on an empty profile",
        probe: Some(probes::CHROME_USABLE),
    },
    texts: Texts {
        what: "I can't open EasyEDA without Chrome.",
        why: Some("Chrome is not on this computer."),
        healed: "I found a browser that works.",
        ask: "Install Chrome",
        resume: Resume::Watch(probes::CHROME_USABLE),
        ask_kind: "install_tool",
        tool: "Chrome",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "a PATH and known places without any browser; for the cure a small program at the configured place",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const ENV_4: Row = Row {
    id: "ENV-4",
    title: "KiCad missing",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::own(signals::TOOL_MISSING_FOR_PHASE).names(KICAD)]),
        // Before a phase it is the doctor who looks; in the middle of a run it is KI-5.
        Matcher::new(&[Pattern::not_found(KICAD)]).tools(&[signals::LAYER_DOCTOR]),
        Matcher::new(&[Pattern::file(signals::TOOL_ABSENT).names(KICAD)]),
    ],
    not_this: "present, wrong version, or gone mid-run (KI-5); needed only from phase 10",
    ladder: &[
        KNOWN_PLACES,
        Rung { what: "go on with all phases before 10, save the place and ask", ..Rung::ask() },
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "tool prints a version and checks the bundled sample board",
        probe: Some(probes::KICAD_USABLE),
    },
    texts: Texts {
        what: "I can't check this board without KiCad.",
        why: Some("KiCad is not on this computer."),
        healed: "I found KiCad.",
        ask: "Install KiCad as in handbook step 2",
        resume: Resume::Watch(probes::KICAD_USABLE),
        ask_kind: "install_tool",
        tool: "KiCad",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "a step that declares kicad-cli on a PATH without it; a real one at a known place for the cure; the known places hidden without cure",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const ENV_5: Row = Row {
    id: "ENV-5",
    title: "Editor or AI assistant missing or never signed in",
    severity: Severity::S1,
    matchers: &[
        Matcher::new(&[Pattern::own(signals::TOOL_MISSING_FOR_PHASE).names(ASSISTANTS)]),
        Matcher::new(&[Pattern::not_found(ASSISTANTS)]).tools(&[signals::LAYER_DOCTOR]),
        Matcher::new(&[Pattern::report(signals::ASSISTANT_NO_ACCOUNT)])
            .unless(&[Pattern::report(signals::ASSISTANT_SIGNED_IN_EARLIER)]),
    ],
    not_this: "a login that ran out (AG-2); a usage limit (AG-3); gone mid-run (AG-1)",
    ladder: &[
        KNOWN_PLACES,
        Rung::act(
            actions::USE_OTHER_ASSISTANT,
            "other configured assistant",
            "I tried the other assistant.",
        ),
        Rung { what: "go on with all work that needs no assistant, and ask", ..Rung::ask() },
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "version probe plus one trivial schema-checked answer",
        probe: Some(probes::ASSISTANT_USABLE),
    },
    texts: Texts {
        what: "I can't reach the AI assistant.",
        why: Some("It is not here, or nobody signed in to it yet."),
        healed: "An assistant answers now.",
        ask: "Install the AI assistant and sign in to it",
        resume: Resume::Watch(probes::ASSISTANT_USABLE),
        ask_kind: "install_tool",
        tool: "the AI assistant",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "a step that declares an assistant on a computer without one",
    },
    available: Available::Later("the assistants come with the repair loop"),
    passing: false,
};
