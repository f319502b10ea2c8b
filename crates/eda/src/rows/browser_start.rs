//! Start, port and profile of the browser: BR-1, BR-2, BR-3, BR-4, BR-10.

use pcbflow_core::evidence::{Matcher, NumberTest, Pattern, Source, codes};
use pcbflow_core::row::{Available, BUDGET, Notify, Recheck, Resume, Row, Rung, Severity, Texts};

use super::{BROWSER, LATER, UNAUTHORIZED, diagnosis_only, real, stand_in};
use crate::signals;

const STARTING: Pattern = Pattern::own(signals::BROWSER_STARTING);
const WAS_UP: Pattern = Pattern::own(signals::BROWSER_WAS_UP);
const NO_LINE: Pattern = Pattern::own(signals::NO_LISTENING_LINE);
const NEITHER: Pattern = Pattern::own(signals::NEITHER_EXIT_NOR_PORT);
const EXIT_0: Pattern = Pattern::exit(0);
const EXIT_21: Pattern = Pattern::exit(21);
const EXIT_OTHER: Pattern = Pattern::is(Source::Exit, codes::STATUS).num(NumberTest::Not(0));
const EXIT_SIGNAL: Pattern = Pattern::is(Source::Exit, codes::SIGNAL);
const PORT_SILENT: Pattern = Pattern::cdp(signals::PORT_SILENT);
const ID_DIFFERS: Pattern = Pattern::cdp(signals::BROWSER_ID_DIFFERS);
const LISTENS_ELSEWHERE: Pattern = Pattern::cdp(signals::LISTENS_ELSEWHERE);
const LOCK_LINK: Pattern = Pattern::file(signals::LOCK_LINK);
const LOCK_OTHER_HOST: Pattern = Pattern::file(signals::LOCK_OTHER_HOST);
const LOCK_NOT_A_LINK: Pattern = Pattern::file(signals::LOCK_NOT_A_LINK);
const LOCK_OWNER_DEAD: Pattern = Pattern::file(signals::LOCK_OWNER_DEAD);
const LOCK_ABSENT: Pattern = Pattern::file(signals::LOCK_ABSENT);
const FIRST_LOAD: Pattern = Pattern::own(signals::FIRST_LOAD);
const SIGNED_IN_EARLIER: Pattern = Pattern::own(signals::SIGNED_IN_EARLIER);
const LOGIN_VISIBLE: Pattern = Pattern::dom(signals::LOGIN_VISIBLE);
const PAGE_LOADING: Pattern = Pattern::cdp(signals::PAGE_LOADING);
const CLONE_MISSING: Pattern = Pattern::file(signals::CLONE_MISSING);
const CLONE_MARKER_MISSING: Pattern = Pattern::file(signals::CLONE_MARKER_MISSING);
const CLONE_MOVED: Pattern = Pattern::file(signals::CLONE_MOVED);

/// Chrome does not start.
pub const BR_1: Row = Row {
    id: "BR-1",
    title: "Chrome does not start",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[NO_LINE]).unless(&[
            EXIT_0,
            EXIT_21,
            NEITHER,
            LOCK_LINK,
            LOCK_OTHER_HOST,
            LOCK_NOT_A_LINK,
        ]),
        Matcher::new(&[NEITHER, LOCK_ABSENT]),
        Matcher::new(&[STARTING, EXIT_OTHER]).unless(&[EXIT_21]),
        Matcher::new(&[STARTING, EXIT_SIGNAL]),
        Matcher::new(&[Pattern::is(Source::Exit, codes::SPAWN_FAILED)]).tools(BROWSER),
        Matcher::new(&[Pattern::is(Source::Exit, codes::SPAWN_DENIED)]).tools(BROWSER),
        Matcher::new(&[Pattern::words(&[
            "running as root without --no-sandbox is not supported",
            "no usable sandbox",
        ])])
        .confidence(60),
    ],
    not_this: "status 0 after handing the address to a running browser (BR-2), status 21 (BR-4), \
               noise of bus and shell on the error stream",
    ladder: &[
        Rung::act("known-flags", "once more with the known flags", "I started Chrome once more."),
        Rung::act(
            "other-browser",
            "another installed browser",
            "I tried the other browser on this computer.",
        ),
        Rung::act(
            "scratch-profile",
            "an empty scratch profile, to tell binary from profile",
            "I tried Chrome with an empty profile.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "the version address answers and its browser id equals the child's line",
        probe: Some("browser-up"),
    },
    texts: Texts {
        what: "Chrome does not start.",
        why: None,
        healed: "Chrome is running.",
        ask: "Reinstall Chrome",
        resume: Resume::Retry,
        ask_kind: "install_tool",
        tool: "Chrome",
    },
    recipe: real(
        "real Chromium as root without its flag; small programs that end at once or after 1 s",
    ),
    available: Available::Now,
    passing: false,
};

/// Can't attach to the debugging port.
pub const BR_2: Row = Row {
    id: "BR-2",
    title: "can't attach to the debugging port",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[STARTING, EXIT_0]),
        Matcher::new(&[Pattern::is(Source::Http, signals::ORIGIN_REFUSED)]),
        Matcher::new(&[PORT_SILENT]).unless(&[WAS_UP, LOCK_LINK, LOCK_OTHER_HOST, LOCK_NOT_A_LINK]),
        Matcher::new(&[ID_DIFFERS]),
        Matcher::new(&[ID_DIFFERS, LISTENS_ELSEWHERE]),
        Matcher::new(&[
            Pattern::words(&[":9222"]),
            Pattern::words(&["econnrefused", "connection refused", "refused to connect"]),
        ])
        .confidence(60),
        Matcher::new(&[Pattern::words(&[
            "devtools remote debugging requires a non-default data directory",
            "opening in existing browser session",
            "rejected an incoming websocket connection",
            "cannot start http server for devtools",
        ])])
        .confidence(60),
    ],
    not_this: "a name that resolves to the other address family, another wedged tab that delays \
               attaching to all, a profile lock (BR-4), a browser that was up (BR-6)",
    ladder: &[
        Rung::act(
            "poll-port",
            "poll for 10 s: the local address, no Origin, the wanted tab only",
            "I waited for the browser to answer.",
        ),
        Rung::act(
            "relaunch",
            "relaunch with debug flags on our own data folder and a free port",
            "I started the browser again.",
        ),
        Rung::act("relaunch-again", "the same a second time", "I started the browser again."),
        Rung::act(
            "copy-profile",
            "close gracefully, clone the profile again, relaunch",
            "I copied the browser profile and started the browser again.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "as for BR-1, plus the version over the socket",
        probe: Some("browser-up"),
    },
    texts: Texts {
        what: "I could not reach the EasyEDA window.",
        why: Some("It looks closed, or you are signed out."),
        healed: "I can reach the EasyEDA window again.",
        ask: "Open EasyEDA and check that you are signed in",
        resume: Resume::Retry,
        ask_kind: "open_editor",
        tool: "EasyEDA",
    },
    recipe: real(
        "real Chromium on a taken port, on a profile in use, behind a socket that is refused",
    ),
    available: Available::Now,
    passing: false,
};

/// The profile starts logged out.
pub const BR_3: Row = Row {
    id: "BR-3",
    title: "profile starts logged out",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[UNAUTHORIZED, FIRST_LOAD]),
        Matcher::new(&[Pattern::cdp(signals::NO_SESSION_COOKIE)]).unless(&[
            SIGNED_IN_EARLIER,
            CLONE_MISSING,
            CLONE_MARKER_MISSING,
        ]),
        Matcher::new(&[LOGIN_VISIBLE, FIRST_LOAD]).unless(&[PAGE_LOADING]),
        Matcher::new(&[LOGIN_VISIBLE])
            .unless(&[SIGNED_IN_EARLIER, PAGE_LOADING, UNAUTHORIZED])
            .confidence(60),
    ],
    not_this: "a login that ran out mid-run (EDA-1), a stored login that one click restores, a \
               page that still loads",
    ladder: &[
        Rung::act("click-login", "click Login once", "I tried the login that EasyEDA had stored."),
        Rung::act(
            "copy-profile",
            "close gracefully, copy the signed-in profile without caches and lock links, \
             relaunch, once",
            "I copied the browser profile that is signed in.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::Always,
    recheck: Recheck {
        what: "a uuid is there, and still there after a graceful close and relaunch",
        probe: Some("signed-in"),
    },
    texts: Texts {
        what: "EasyEDA opened without a login.",
        why: Some("The browser profile I use is not signed in."),
        healed: "You are signed in again.",
        ask: "Sign in to EasyEDA in the window I opened",
        resume: Resume::Watch("signed-in"),
        ask_kind: "log_in",
        tool: "EasyEDA",
    },
    recipe: stand_in(
        "real Chromium on an empty profile and on a clone without cookies, against the stand-in",
    ),
    available: Available::Now,
    passing: false,
};

/// A lock on the profile blocks the start.
pub const BR_4: Row = Row {
    id: "BR-4",
    title: "profile lock blocks the start",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[NEITHER]).unless(&[LOCK_ABSENT]).confidence(80),
        Matcher::new(&[NEITHER, LOCK_LINK]),
        Matcher::new(&[NO_LINE, LOCK_LINK]).unless(&[EXIT_0, LOCK_OWNER_DEAD]),
        Matcher::new(&[NO_LINE, LOCK_OTHER_HOST]).unless(&[EXIT_0]),
        Matcher::new(&[NO_LINE, LOCK_NOT_A_LINK]).unless(&[EXIT_0]),
        Matcher::new(&[STARTING, EXIT_21]),
        Matcher::new(&[EXIT_21]).tools(BROWSER),
        Matcher::new(&[LOCK_LINK]).unless(&[WAS_UP, LOCK_OWNER_DEAD]).confidence(80),
        Matcher::new(&[LOCK_OTHER_HOST]).unless(&[WAS_UP]),
        Matcher::new(&[LOCK_NOT_A_LINK]).unless(&[WAS_UP]),
        Matcher::new(&[Pattern::words(&[
            "singletonlock",
            "profile appears to be in use",
            "failed to create a processsingleton",
        ])])
        .confidence(60),
    ],
    not_this: "the lock of a dead process on this computer (Chrome replaces it: just relaunch), \
               status 0 after handing the address over (BR-2); a live owner keeps its lock",
    ladder: &[
        Rung::act(
            "parse-lock",
            "read which computer and process the lock names",
            "I looked who holds the profile.",
        ),
        Rung::act(
            "attach-to-owner",
            "owner alive here: attach if its port answers, else close it only if we started it",
            "I tried the browser that is open.",
        ),
        Rung::act(
            "move-links-aside",
            "other computer or not a link, and no process here uses the folder: move the three \
             links aside, relaunch once",
            "I moved the old lock aside and tried again.",
        ),
        Rung::act("relaunch", "else relaunch once", "I started the browser again."),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "the port is up, the lock's process is our child, the list of other browsers is \
               unchanged",
        probe: Some("browser-up"),
    },
    texts: Texts {
        what: "Chrome could not open the profile for EasyEDA.",
        why: Some("Another Chrome window seems to use that profile."),
        healed: "Chrome is running with that profile.",
        ask: "Close the other Chrome window that uses this profile",
        resume: Resume::Retry,
        ask_kind: "close_window",
        tool: "Chrome",
    },
    recipe: real(
        "real Chromium on a profile whose lock names another computer, is a plain file, or has a \
         live owner with and without a port",
    ),
    available: Available::Now,
    passing: false,
};

/// The profile clone is gone after a restart.
pub const BR_10: Row = Row {
    id: "BR-10",
    title: "profile clone gone after a restart",
    severity: Severity::S3,
    matchers: &[
        Matcher::new(&[CLONE_MISSING]).unless(&[CLONE_MOVED]),
        Matcher::new(&[CLONE_MARKER_MISSING]).unless(&[CLONE_MOVED]),
    ],
    not_this: "a folder that is there and signed out (BR-3), a folder that the person moved",
    ladder: &[
        Rung::act(
            "copy-profile",
            "copy again, source closed gracefully",
            "I copied the browser profile that is signed in.",
        ),
        Rung::act(
            "lasting-folder",
            "keep it in the lasting application folder",
            "I put the copy in a lasting folder.",
        ),
        Rung::act("click-login", "as BR-3", "I tried the login that EasyEDA had stored."),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck { what: "the marker is there and signed in", probe: Some("signed-in") },
    texts: Texts {
        what: "The browser profile for EasyEDA is gone.",
        why: Some("It was lost when the computer started again."),
        healed: "The profile is back and you are signed in.",
        ask: "Sign in to EasyEDA in the window I opened",
        resume: Resume::Watch("signed-in"),
        ask_kind: "log_in",
        tool: "EasyEDA",
    },
    recipe: diagnosis_only("the clone's folder, or its marker alone, is removed before a start"),
    available: LATER,
    passing: false,
};
