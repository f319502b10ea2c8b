//! The server: throttling and broken transfers, EDA-5 and EDA-6.

use pcbflow_core::evidence::{Matcher, Pattern, Source};
use pcbflow_core::row::{
    Available, BUDGET, COOL, COOL_ONCE, Notify, Recheck, Resume, Row, Rung, Severity, Texts, W3,
};

use super::{
    DEADLINE, EDITOR, ELSEWHERE, FORBIDDEN, REQUEST_TIMEOUT, SEARCH_PATHS, SERVER_FAULT, TOO_MANY,
    stand_in,
};
use crate::signals;

const SEARCH_REFUSED: Pattern = FORBIDDEN.has(SEARCH_PATHS);
const RETRY_AFTER: Pattern = Pattern::is(Source::Http, signals::RETRY_AFTER);
const SEARCH_EMPTY: Pattern = Pattern::report(signals::SEARCH_EMPTY);
const LOADING_FAILED: Pattern = Pattern::cdp(signals::LOADING_FAILED);
const REQUESTS_PENDING: Pattern = Pattern::cdp(signals::REQUESTS_PENDING);

/// Throttled.
pub const EDA_5: Row = Row {
    id: "EDA-5",
    title: "throttled",
    severity: Severity::S3,
    matchers: &[
        Matcher::new(&[TOO_MANY]),
        Matcher::new(&[TOO_MANY, RETRY_AFTER]),
        Matcher::new(&[DEADLINE, TOO_MANY]).tools(EDITOR),
        // A refusal is a throttle when it meets the part search after that had worked.
        Matcher::new(&[SEARCH_REFUSED, Pattern::own(signals::SEARCHES_ANSWERED)])
            .unless(&[Pattern::own(signals::REFUSED_FROM_START)]),
        Matcher::new(&[DEADLINE, SEARCH_REFUSED, Pattern::own(signals::SEARCHES_ANSWERED)])
            .unless(&[Pattern::own(signals::REFUSED_FROM_START)])
            .tools(EDITOR),
        Matcher::new(&[SEARCH_REFUSED, SEARCH_EMPTY])
            .unless(&[Pattern::own(signals::REFUSED_FROM_START)])
            .confidence(85),
        Matcher::new(&[FORBIDDEN, RETRY_AFTER]).confidence(85),
        Matcher::new(&[DEADLINE, FORBIDDEN, RETRY_AFTER]).tools(EDITOR).confidence(85),
        Matcher::new(&[SEARCH_EMPTY, Pattern::own(signals::THROTTLE_SEEN)]).confidence(85),
        Matcher::new(&[Pattern::words(&[
            "429 too many requests",
            "too many requests",
            "http 429",
            "http/1.1 429",
            "status code 429",
            "status code: 429",
        ])])
        .unless(&[ELSEWHERE])
        .confidence(60),
        // The public tools say "not found" for every part of a batch while they are throttled.
        Matcher::new(&[
            Pattern::words(&["failed to search for the component"]),
            Pattern::words(&["403", "429"]),
        ])
        .confidence(60),
    ],
    not_this: "a true no-match with 200 (EDA-10), forbidden (EDA-3), the assistant's own limit \
               (AG-3)",
    ladder: &[
        Rung::retry(
            "wait-and-retry",
            W3,
            "three retries with growing waits",
            "I waited and tried again {times}.",
        ),
        Rung::retry(
            "cool-down",
            COOL,
            "one pause for all part searches, then a longer one",
            "I paused all part searches and tried again {times}.",
        ),
        Rung::act(
            "slow-searches",
            "at least 3 s between part searches for the rest of the run",
            "I slowed the part search down.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "looking up a part that is known to exist returns it, at the new pace",
        probe: Some("known-part"),
    },
    texts: Texts {
        what: "EasyEDA asked me to slow down.",
        why: Some("I looked up parts faster than it allows."),
        healed: "The part search is moving again.",
        ask: "Wait ten minutes",
        resume: Resume::Retry,
        ask_kind: "retry",
        tool: "EasyEDA",
    },
    recipe: stand_in(
        "the stand-in editor answers 429 with and without Retry-After, and 403 on its search \
         paths after a burst",
    ),
    available: Available::Now,
    passing: true,
};

/// A server fault or broken transfer.
pub const EDA_6: Row = Row {
    id: "EDA-6",
    title: "server fault or broken transfer",
    severity: Severity::S3,
    matchers: &[
        Matcher::new(&[SERVER_FAULT]),
        Matcher::new(&[DEADLINE, SERVER_FAULT]).tools(EDITOR),
        Matcher::new(&[REQUEST_TIMEOUT]).confidence(85),
        Matcher::new(&[DEADLINE, REQUEST_TIMEOUT]).tools(EDITOR).confidence(85),
        Matcher::new(&[LOADING_FAILED]).unless(&[TOO_MANY, REQUESTS_PENDING]),
        Matcher::new(&[DEADLINE, LOADING_FAILED])
            .unless(&[TOO_MANY, REQUESTS_PENDING])
            .tools(EDITOR),
        Matcher::new(&[Pattern::words(&[
            "500 internal server error",
            "502 bad gateway",
            "503 service unavailable",
            "504 gateway time",
            "http 500",
            "http 502",
            "http 503",
            "http 504",
            "408 request timeout",
        ])])
        .unless(&[ELSEWHERE])
        .confidence(60),
        Matcher::new(&[Pattern::words(&[
            "net::err_connection_reset",
            "net::err_connection_closed",
            "net::err_connection_timed_out",
            "net::err_timed_out",
            "net::err_empty_response",
            "net::err_internet_disconnected",
            "net::err_network_changed",
            "typeerror: failed to fetch",
            "connection reset by peer",
            "econnreset",
            "etimedout",
            "socket hang up",
        ])])
        .unless(&[ELSEWHERE, Pattern::words(&[":9222", "ssh", "git@"])])
        .confidence(50),
    ],
    not_this: "a throttle (EDA-5), a service worker that holds every fetch (EDA-8), a computer \
               that is offline",
    ladder: &[
        Rung::retry(
            "wait-and-retry",
            W3,
            "reads: three retries with growing waits",
            "I waited and tried again {times}.",
        ),
        Rung::read_back(
            "writes: read back, then replay what is absent",
            "I checked what the last step had left behind.",
        ),
        Rung::retry(
            "cool-down",
            COOL_ONCE,
            "one shared pause, then one try",
            "I paused and tried again {times}.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "a fresh read is answered; for writes the set of objects equals the plan",
        probe: Some("fresh-read"),
    },
    texts: Texts {
        what: "EasyEDA did not answer properly.",
        why: Some("Its server or the network has a fault right now."),
        healed: "EasyEDA answers again.",
        ask: "Check that EasyEDA opens in another browser",
        resume: Resume::Retry,
        ask_kind: "retry",
        tool: "EasyEDA",
    },
    recipe: stand_in(
        "the stand-in editor answers 500, 502 and 503, resets the connection, sends nothing",
    ),
    available: Available::Now,
    passing: true,
};
