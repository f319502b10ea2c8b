//! Sign-in and rights: EDA-1, EDA-2, EDA-3.

use pcbflow_core::evidence::{Matcher, Pattern, Source};
use pcbflow_core::row::{
    Available, BUDGET, COOL_ONCE, Notify, Recheck, Resume, Row, Rung, Severity, Texts, Waits,
};

use super::{DEADLINE, EDITOR, ELSEWHERE, FORBIDDEN, UNAUTHORIZED, stand_in};
use crate::signals;

const LOGIN_PAGE: Pattern = Pattern::cdp(signals::LOGIN_PAGE);
const USER_WITHOUT_ID: Pattern = Pattern::report(signals::USER_WITHOUT_ID);
const LOGIN_VISIBLE: Pattern = Pattern::dom(signals::LOGIN_VISIBLE);
const SIGNED_IN_EARLIER: Pattern = Pattern::own(signals::SIGNED_IN_EARLIER);
const IDLE_BEFORE: Pattern = Pattern::own(signals::IDLE_BEFORE);
const FIRST_LOAD: Pattern = Pattern::own(signals::FIRST_LOAD);

/// One repetition after a second.
const AFTER_ONE_SECOND: Waits =
    Waits { ms: &[1_000], jitter_percent: 25, honours_retry_after: true };

const CLICK_LOGIN: Rung = Rung::act(
    "click-login",
    "where the stored login mark is there: click Login once and wait 3 s",
    "I tried the login that EasyEDA had stored.",
);
const COPY_PROFILE: Rung = Rung::act(
    "copy-profile",
    "where the profile clone is older than its source: close gracefully, copy again, once",
    "I copied the browser profile that is signed in.",
);

/// The login ran out after long or idle use.
pub const EDA_1: Row = Row {
    id: "EDA-1",
    title: "login ran out",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[UNAUTHORIZED, LOGIN_PAGE, SIGNED_IN_EARLIER, IDLE_BEFORE])
            .unless(&[FIRST_LOAD]),
        Matcher::new(&[UNAUTHORIZED, USER_WITHOUT_ID, SIGNED_IN_EARLIER, IDLE_BEFORE])
            .unless(&[FIRST_LOAD]),
        Matcher::new(&[UNAUTHORIZED, LOGIN_VISIBLE, SIGNED_IN_EARLIER, IDLE_BEFORE])
            .unless(&[FIRST_LOAD]),
        Matcher::new(&[LOGIN_PAGE, USER_WITHOUT_ID, SIGNED_IN_EARLIER])
            .unless(&[FIRST_LOAD, UNAUTHORIZED]),
        Matcher::new(&[LOGIN_PAGE, LOGIN_VISIBLE, SIGNED_IN_EARLIER])
            .unless(&[FIRST_LOAD, UNAUTHORIZED]),
        Matcher::new(&[USER_WITHOUT_ID, LOGIN_VISIBLE, SIGNED_IN_EARLIER])
            .unless(&[FIRST_LOAD, UNAUTHORIZED]),
        Matcher::new(&[Pattern::words(&[
            "session expired",
            "session has expired",
            "session had expired",
            "401 unauthorized",
            "http 401",
            "http/1.1 401",
            "status 401",
            "status code 401",
            "status code: 401",
        ])])
        .unless(&[ELSEWHERE])
        .confidence(60),
    ],
    not_this: "one refused call with a live login, a page drawn signed-out while the stored \
               login is good, signed out at first load (BR-3), an empty search, a hang",
    ladder: &[
        CLICK_LOGIN,
        COPY_PROFILE,
        Rung::read_back(
            "after the sign-in: read back, then replay the step once",
            "I checked what the last step had left behind.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::Always,
    recheck: Recheck {
        what: "a fresh evaluate has a uuid, the login control is gone, one signed-in read is \
               answered",
        probe: Some("signed-in"),
    },
    texts: Texts {
        what: "Your EasyEDA session expired.",
        why: Some("EasyEDA signs you out after a while."),
        healed: "You are signed in again.",
        ask: "Log back in to EasyEDA",
        resume: Resume::Watch("signed-in"),
        ask_kind: "log_in",
        tool: "EasyEDA",
    },
    recipe: stand_in("the stand-in editor drops the login on its server side after idle time"),
    available: Available::Now,
    passing: false,
};

/// Requests are refused as not signed in, without idle time before.
pub const EDA_2: Row = Row {
    id: "EDA-2",
    title: "requests refused as not signed in",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[UNAUTHORIZED, LOGIN_PAGE]),
        Matcher::new(&[UNAUTHORIZED, USER_WITHOUT_ID]),
        Matcher::new(&[UNAUTHORIZED, LOGIN_VISIBLE]),
        Matcher::new(&[UNAUTHORIZED, Pattern::report(signals::SAVE_FALSE)]),
        Matcher::new(&[DEADLINE, UNAUTHORIZED]).unless(&[FIRST_LOAD]).tools(EDITOR).confidence(80),
        // A second sign that the login lives: the rung after it tries once more, in silence.
        Matcher::new(&[UNAUTHORIZED, Pattern::report(signals::USER_WITH_ID)]).confidence(60),
        Matcher::new(&[UNAUTHORIZED]).confidence(70),
    ],
    not_this: "one refused call while a second sign says signed in (one retry, no message), \
               permission (EDA-3), idle time before (EDA-1), first load (BR-3)",
    ladder: &[
        Rung::act(
            "second-sign",
            "look for the second sign of a lost login in a fresh evaluate",
            "I checked whether you are still signed in.",
        ),
        Rung::retry(
            "once-more",
            AFTER_ONE_SECOND,
            "the login lives: read back if it wrote, then once more after 1 s",
            "I tried once more.",
        ),
        CLICK_LOGIN,
        COPY_PROFILE,
        Rung::read_back(
            "after the sign-in: read back, then replay the step once",
            "I checked what the last step had left behind.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::Always,
    recheck: Recheck {
        what: "the same request is answered, and as for EDA-1",
        probe: Some("signed-in"),
    },
    texts: Texts {
        what: "Your EasyEDA session expired.",
        why: Some("EasyEDA no longer takes your login."),
        healed: "You are signed in again.",
        ask: "Log back in to EasyEDA",
        resume: Resume::Watch("signed-in"),
        ask_kind: "log_in",
        tool: "EasyEDA",
    },
    recipe: stand_in(
        "the stand-in editor answers 401 once, on one path, on all, on the document itself",
    ),
    available: Available::Now,
    passing: false,
};

/// Access to a project or action is forbidden.
pub const EDA_3: Row = Row {
    id: "EDA-3",
    title: "access forbidden",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[FORBIDDEN, Pattern::own(signals::OTHER_CALLS_FINE)]),
        Matcher::new(&[FORBIDDEN, Pattern::own(signals::REFUSED_FROM_START)])
            .unless(&[Pattern::own(signals::SEARCHES_ANSWERED)]),
        Matcher::new(&[DEADLINE, FORBIDDEN])
            .unless(&[Pattern::is(Source::Http, signals::RETRY_AFTER)])
            .tools(EDITOR)
            .confidence(60),
        // Scope and history unknown: the ladder pauses once before it says forbidden.
        Matcher::new(&[FORBIDDEN]).confidence(60),
        Matcher::new(&[Pattern::words(&[
            "403 forbidden",
            "http 403",
            "http/1.1 403",
            "status code 403",
            "status code: 403",
        ])])
        .unless(&[ELSEWHERE, Pattern::words(&["websocket", "remote-allow-origins"])])
        .confidence(50),
    ],
    not_this: "throttle: refused on search paths after successes (EDA-5), lost login (EDA-1)",
    ladder: &[
        Rung::act(
            "read-elsewhere",
            "one other signed-in read; a clear refusal leaves the pause out",
            "I checked that other EasyEDA projects still open.",
        ),
        Rung::retry(
            "pause-once",
            COOL_ONCE,
            "unclear: one shared pause, then once more",
            "I waited and tried again {times}.",
        )
        .only(&["unclear"]),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::Always,
    recheck: Recheck {
        what: "the same request is answered after access was given",
        probe: Some("same-request"),
    },
    texts: Texts {
        what: "EasyEDA does not let me work on this project.",
        why: Some("Your login may not have the right to edit it."),
        healed: "EasyEDA lets me work on this project again.",
        ask: "Check in EasyEDA that you may edit this project",
        resume: Resume::Retry,
        ask_kind: "grant_access",
        tool: "EasyEDA",
    },
    recipe: stand_in("the stand-in editor forbids one project for good"),
    available: Available::Now,
    passing: false,
};
