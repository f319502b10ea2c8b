//! The agent itself: start, login, limit, answer, early end. AG-1 to AG-4 and AG-12.

use pcbflow_core::evidence::{Matcher, NumberTest, Pattern, Source, codes};
use pcbflow_core::row::{AT_ONCE, BUDGET, Notify, Recheck, Resume, Row, Rung, Severity, Texts};

use super::{AGENTS, LATER, LAYER, diagnosis_only};
use crate::signals;

const AUTH_ERROR: Pattern = Pattern::report(signals::AUTH_ERROR);
const LIMIT_ERROR: Pattern = Pattern::report(signals::LIMIT_ERROR);
const LOGGED_401: Pattern = Pattern::report(signals::LOG_STATUS).num(NumberTest::Is(401));
const LOGGED_429: Pattern = Pattern::report(signals::LOG_STATUS).num(NumberTest::Is(429));
const LOGGED_5XX: Pattern = Pattern::report(signals::LOG_STATUS).num(NumberTest::Between(500, 599));
const HTTP_401: Pattern = Pattern::http(401);
const HTTP_429: Pattern = Pattern::http(429);
const HTTP_5XX: Pattern = Pattern::http_between(500, 599);
const OVERLOADED: Pattern = Pattern::report(signals::OVERLOADED);
const BEFORE_FIRST: Pattern = Pattern::own(signals::ENDED_BEFORE_FIRST_EVENT);
const NO_FINAL_OBJECT: Pattern = Pattern::report(signals::NO_FINAL_OBJECT);
const TURNS_USED_UP: Pattern = Pattern::report(signals::TURNS_USED_UP);
const STREAM_BROKEN: Pattern = Pattern::report(signals::STREAM_BROKEN);
const DEADLINE: Pattern = Pattern::own(codes::DEADLINE_PASSED);
const ENDED_BADLY: Pattern = Pattern::is(Source::Exit, codes::STATUS).num(NumberTest::Not(0));
const SIGNALLED: Pattern = Pattern::is(Source::Exit, codes::SIGNAL);

/// A refusal that came after the start: its own rows, whatever the process did then.
const REFUSED: &[Pattern] = &[AUTH_ERROR, LIMIT_ERROR, LOGGED_401, LOGGED_429, HTTP_401, HTTP_429];

/// The same, and the end before the first event.
const REFUSED_OR_NOT_STARTED: &[Pattern] = &[
    AUTH_ERROR,
    LIMIT_ERROR,
    LOGGED_401,
    LOGGED_429,
    HTTP_401,
    HTTP_429,
    BEFORE_FIRST,
    Pattern::exit(126),
    Pattern::exit(127),
];

/// Every way to end early: then a missing or torn answer is no invalid answer.
const ENDED_EARLY: &[Pattern] = &[
    DEADLINE,
    ENDED_BADLY,
    SIGNALLED,
    TURNS_USED_UP,
    STREAM_BROKEN,
    OVERLOADED,
    AUTH_ERROR,
    LIMIT_ERROR,
    LOGGED_401,
    LOGGED_429,
    LOGGED_5XX,
];

/// An agent can't start.
pub const AG_1: Row = Row {
    id: "AG-1",
    title: "agent can't start",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::is(Source::Exit, codes::SPAWN_NOT_FOUND)]).tools(LAYER),
        Matcher::new(&[Pattern::is(Source::Exit, codes::SPAWN_DENIED)]).tools(AGENTS),
        Matcher::new(&[Pattern::is(Source::Exit, codes::SPAWN_FAILED)]).tools(AGENTS),
        Matcher::new(&[Pattern::exit(126)]).unless(REFUSED).tools(AGENTS),
        Matcher::new(&[Pattern::exit(127)]).unless(REFUSED).tools(AGENTS),
        Matcher::new(&[BEFORE_FIRST]).unless(REFUSED),
    ],
    not_this: "refused after the start (AG-2, AG-3), cut off later (AG-12), never set up (ENV-5)",
    ladder: &[
        Rung::act(
            "resolve-path",
            "resolve the path again, once",
            "I looked for the AI assistant again.",
        ),
        Rung::act(
            "other-agent",
            "another configured agent",
            "I tried the other AI assistant you have set up.",
        ),
        Rung::act(
            "rules-only",
            "recoveries that follow rules go on",
            "I went on with what I can do without it.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "a version probe plus one trivial answer that fits its schema",
        probe: Some("agent-answers"),
    },
    texts: Texts {
        what: "The AI assistant does not start.",
        why: None,
        healed: "The AI assistant answers.",
        ask: "Start the AI assistant once by hand",
        resume: Resume::Retry,
        ask_kind: "start_agent",
        tool: "the AI assistant",
    },
    recipe: diagnosis_only(
        "a small program in the agent's place: missing, no rights, ends at once",
    ),
    available: LATER,
    passing: false,
};

/// The agent's login ran out.
pub const AG_2: Row = Row {
    id: "AG-2",
    title: "agent login ran out",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[AUTH_ERROR]),
        Matcher::new(&[ENDED_BADLY, AUTH_ERROR]),
        Matcher::new(&[LOGGED_401]).unless(&[LIMIT_ERROR]),
        Matcher::new(&[ENDED_BADLY, LOGGED_401]).unless(&[LIMIT_ERROR]),
        Matcher::new(&[HTTP_401]).unless(&[LIMIT_ERROR]).tools(AGENTS),
        Matcher::new(&[Pattern::words(&[
            "please run /login",
            "claude login",
            "claude auth login",
            "codex login",
            "oauth token has expired",
            "authentication_error",
        ])])
        .confidence(60),
    ],
    not_this: "the login of EasyEDA (EDA-1), a usage limit (AG-3), a login that never was (ENV-5)",
    ladder: &[Rung::ask()],
    budget: BUDGET,
    notify: Notify::Always,
    recheck: Recheck {
        what: "a status probe says signed in and a trivial answer arrives",
        probe: Some("agent-answers"),
    },
    texts: Texts {
        what: "The AI assistant is signed out.",
        why: Some("Its sign-in ended after a while."),
        healed: "The AI assistant is signed in again.",
        ask: "Sign in to the AI assistant again",
        resume: Resume::Watch("agent-answers"),
        ask_kind: "log_in",
        tool: "the AI assistant",
    },
    recipe: diagnosis_only("a small program in the agent's place reports its authentication error"),
    available: LATER,
    passing: false,
};

/// The agent's usage limit is reached.
pub const AG_3: Row = Row {
    id: "AG-3",
    title: "agent usage limit",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[LIMIT_ERROR]).unless(&[OVERLOADED]),
        Matcher::new(&[ENDED_BADLY, LIMIT_ERROR]).unless(&[OVERLOADED]),
        Matcher::new(&[LOGGED_429]).unless(&[OVERLOADED, AUTH_ERROR]).confidence(85),
        Matcher::new(&[ENDED_BADLY, LOGGED_429]).unless(&[OVERLOADED, AUTH_ERROR]).confidence(85),
        Matcher::new(&[HTTP_429]).unless(&[OVERLOADED, AUTH_ERROR]).tools(AGENTS).confidence(85),
        Matcher::new(&[Pattern::words(&[
            "usage limit was reached",
            "usage limit reached",
            "claude usage limit",
            "codex usage limit",
            "hit your usage limit",
            "reached your usage limit",
            "5-hour limit reached",
            "weekly limit reached",
        ])])
        .unless(&[Pattern::words(&["github", "disk", "memory", "storage"])])
        .confidence(60),
    ],
    not_this: "a short overload of the provider, a throttle of EasyEDA (EDA-5)",
    ladder: &[
        Rung::act(
            "resume-after-reset",
            "reset time known and inside the run's ceiling: resume once after it, up to 5 min \
             jitter",
            "I waited for the limit to reset and tried once more.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::Always,
    recheck: Recheck { what: "a trivial answer arrives", probe: Some("agent-answers") },
    texts: Texts {
        what: "The AI assistant has reached its usage limit.",
        why: Some("Its plan allows only so much work at a time."),
        healed: "The AI assistant answers again.",
        ask: "Wait for the usage limit to reset",
        resume: Resume::Retry,
        ask_kind: "wait_for_limit",
        tool: "the AI assistant",
    },
    recipe: diagnosis_only("a small program in the agent's place reports a limit and its reset"),
    available: LATER,
    passing: false,
};

/// A structured answer is invalid.
pub const AG_4: Row = Row {
    id: "AG-4",
    title: "structured answer invalid",
    severity: Severity::S3,
    matchers: &[
        Matcher::new(&[Pattern::report(signals::SCHEMA_ERROR)]).unless(ENDED_EARLY),
        Matcher::new(&[NO_FINAL_OBJECT]).unless(ENDED_EARLY),
        Matcher::new(&[Pattern::report(signals::UNKNOWN_SPELLING)]).unless(ENDED_EARLY),
        Matcher::new(&[Pattern::report(signals::EVIDENCE_NOT_FOUND)]).unless(ENDED_EARLY),
    ],
    not_this: "an agent that ended early (AG-12)",
    ladder: &[
        Rung::retry(
            "same-session",
            AT_ONCE,
            "the same session once, with the validator's words",
            "I asked the AI assistant again.",
        ),
        Rung::act(
            "new-session",
            "a new session, once",
            "I asked the AI assistant again in a new session.",
        ),
        Rung::go_on(
            "without-answer",
            "a diagnosis: the raw failure goes on as unknown; else a failed cycle",
            "I went on without its answer.",
        ),
    ],
    budget: BUDGET,
    notify: Notify::Never,
    recheck: Recheck {
        what: "the runner's own validation and its check of the evidence",
        probe: Some("answer-valid"),
    },
    texts: Texts {
        what: "The AI assistant gave an answer that I could not use.",
        why: Some("The answer did not have the form I asked for."),
        healed: "The AI assistant gave an answer that I can use.",
        ask: "",
        resume: Resume::Nothing,
        ask_kind: "nothing",
        tool: "the AI assistant",
    },
    recipe: diagnosis_only("a small program in the agent's place breaks its schema in each way"),
    available: LATER,
    passing: false,
};

/// An agent was cut off.
pub const AG_12: Row = Row {
    id: "AG-12",
    title: "agent cut off",
    severity: Severity::S3,
    matchers: &[
        Matcher::new(&[DEADLINE]).unless(REFUSED_OR_NOT_STARTED).tools(AGENTS),
        Matcher::new(&[DEADLINE, SIGNALLED]).unless(REFUSED_OR_NOT_STARTED).tools(AGENTS),
        Matcher::new(&[SIGNALLED]).unless(REFUSED_OR_NOT_STARTED).tools(AGENTS),
        Matcher::new(&[ENDED_BADLY]).unless(REFUSED_OR_NOT_STARTED).tools(AGENTS),
        Matcher::new(&[ENDED_BADLY, NO_FINAL_OBJECT]).unless(REFUSED_OR_NOT_STARTED),
        Matcher::new(&[TURNS_USED_UP]).unless(REFUSED),
        Matcher::new(&[STREAM_BROKEN]).unless(REFUSED),
        // The provider's own fault or overload ends the answer as well.
        Matcher::new(&[OVERLOADED]).confidence(70),
        Matcher::new(&[LOGGED_5XX]).unless(REFUSED).confidence(70),
        Matcher::new(&[HTTP_5XX]).unless(REFUSED).tools(AGENTS).confidence(70),
    ],
    not_this: "success: an ended turn budget never is; an end before the first event (AG-1); a \
               refusal (AG-2, AG-3)",
    ladder: &[
        Rung::act(
            "end-group",
            "end the process group, keep the tree as evidence",
            "I stopped the AI assistant and kept what it had done.",
        ),
        Rung::act(
            "new-session",
            "a new session once, told what happened",
            "I asked the AI assistant again in a new session.",
        ),
        Rung::go_on(
            "failed-cycle",
            "a failed cycle with its own fingerprint",
            "I counted this round as not done.",
        ),
    ],
    budget: BUDGET,
    notify: Notify::Never,
    recheck: Recheck { what: "as for AG-4 and AG-5", probe: Some("answer-valid") },
    texts: Texts {
        what: "The AI assistant stopped before it was done.",
        why: None,
        healed: "The AI assistant finished its work.",
        ask: "",
        resume: Resume::Nothing,
        ask_kind: "nothing",
        tool: "the AI assistant",
    },
    recipe: diagnosis_only(
        "a small program in the agent's place: ended by a signal, hangs, breaks its stream",
    ),
    available: LATER,
    passing: false,
};
