//! Tabs, windows and sessions of the browser: BR-5 to BR-9.

use pcbflow_core::evidence::{Matcher, NumberTest, Pattern, Source, codes};
use pcbflow_core::row::{
    Available, BUDGET, Notify, Recheck, Resume, Row, RowBudget, Rung, Severity, Texts, Waits,
};

use super::{
    BROWSER, DEADLINE, ELSEWHERE, FORBIDDEN, LATER, OF_THE_EDITOR, UNAUTHORIZED, diagnosis_only,
    real, stand_in,
};
use crate::signals;

const TWO_WINDOWS: Pattern =
    Pattern::cdp(signals::TWO_WINDOWS).num(NumberTest::Between(2, i64::MAX));
const OWN_TAB_JUST_CLOSED: Pattern = Pattern::own(signals::OWN_TAB_JUST_CLOSED);
const WRITES_REFUSED: Pattern = Pattern::report(signals::WRITES_REFUSED);
const READS_FINE: Pattern = Pattern::report(signals::READS_FINE);
const CALL_MALFORMED: Pattern = Pattern::report(signals::CALL_MALFORMED);
const USER_WITHOUT_ID: Pattern = Pattern::report(signals::USER_WITHOUT_ID);
const WAS_UP: Pattern = Pattern::own(signals::BROWSER_WAS_UP);
const SLEPT: Pattern = Pattern::own(signals::COMPUTER_SLEPT);
const CRASHED: Pattern = Pattern::cdp(signals::TARGET_CRASHED);
const SOCKET_GONE: Pattern = Pattern::cdp(signals::SOCKET_GONE);
const PORT_SILENT: Pattern = Pattern::cdp(signals::PORT_SILENT);
const GONE_BEFORE_SAVE: Pattern = Pattern::cdp(signals::GONE_BEFORE_SAVE);
const PAGE_LOADING: Pattern = Pattern::cdp(signals::PAGE_LOADING);
const ID_DIFFERS: Pattern = Pattern::cdp(signals::BROWSER_ID_DIFFERS);
const NO_EDITOR_TARGET: Pattern = Pattern::cdp(signals::NO_EDITOR_TARGET);
const OTHER_DATA_FOLDER: Pattern = Pattern::file(signals::OTHER_DATA_FOLDER);
const LISTENS_ELSEWHERE: Pattern = Pattern::cdp(signals::LISTENS_ELSEWHERE);
const OUT_OF_MEMORY: Pattern = CRASHED.has(&["oom", "out of memory", "out-of-memory"]);

/// Time that our own old tab needs to let go of the lock.
const TWO_SECONDS: Waits = Waits { ms: &[2_000], jitter_percent: 10, honours_retry_after: false };

/// Edit lock: two windows on one project.
pub const BR_5: Row = Row {
    id: "BR-5",
    title: "edit lock, two windows on one project",
    severity: Severity::S1,
    matchers: &[
        Matcher::new(&[TWO_WINDOWS]).unless(&[OWN_TAB_JUST_CLOSED]),
        Matcher::new(&[WRITES_REFUSED, READS_FINE]).unless(&[
            OWN_TAB_JUST_CLOSED,
            FORBIDDEN,
            UNAUTHORIZED,
            USER_WITHOUT_ID,
            CALL_MALFORMED,
        ]),
        Matcher::new(&[Pattern::dom(signals::LOCK_BANNER)]).unless(&[OWN_TAB_JUST_CLOSED]),
        // Our own old tab lets go within a second: the first rung waits that out.
        Matcher::new(&[OWN_TAB_JUST_CLOSED, Pattern::dom(signals::LOCK_BANNER)]).confidence(60),
        Matcher::new(&[Pattern::words(&["edit lock", "edit-lock", "lock banner"])])
            .unless(&[ELSEWHERE])
            .confidence(50),
        Matcher::new(&[
            Pattern::words(&["open in another window", "opened in another window"]),
            OF_THE_EDITOR,
        ])
        .confidence(60),
    ],
    not_this: "our own old tab for about 0.6 s after a hang recovery, forbidden (EDA-3), wrong \
               arguments",
    ladder: &[
        Rung::retry(
            "wait-for-lock",
            TWO_SECONDS,
            "wait 2 s, read back",
            "I waited for the other window to let go.",
        ),
        Rung::act(
            "close-own-duplicates",
            "save and close duplicates that we opened, once more; a person's or another user's \
             window is never closed",
            "I saved and closed the windows that I had opened twice.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "one target with that id; a written value survives a fresh read",
        probe: Some("one-window"),
    },
    texts: Texts {
        what: "EasyEDA does not let me change this board.",
        why: Some("The board is open in another EasyEDA window."),
        healed: "I can change the board again.",
        ask: "Close the other EasyEDA window for this board",
        resume: Resume::Retry,
        ask_kind: "close_window",
        tool: "EasyEDA",
    },
    recipe: stand_in(
        "a second tab, a second browser or another user holds the stand-in editor's lease",
    ),
    available: Available::Now,
    passing: false,
};

/// The session is lost mid-run.
pub const BR_6: Row = Row {
    id: "BR-6",
    title: "session lost mid-run",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[WAS_UP, Pattern::is(Source::Exit, codes::STATUS)])
            .unless(&[SLEPT, GONE_BEFORE_SAVE]),
        Matcher::new(&[WAS_UP, Pattern::is(Source::Exit, codes::SIGNAL)])
            .unless(&[SLEPT, GONE_BEFORE_SAVE]),
        Matcher::new(&[WAS_UP, PORT_SILENT]).unless(&[SLEPT, GONE_BEFORE_SAVE]),
        Matcher::new(&[SOCKET_GONE]).unless(&[SLEPT, GONE_BEFORE_SAVE]),
        Matcher::new(&[DEADLINE, SOCKET_GONE]).unless(&[SLEPT, GONE_BEFORE_SAVE]).tools(BROWSER),
        Matcher::new(&[CRASHED]).unless(&[OUT_OF_MEMORY, GONE_BEFORE_SAVE]),
        Matcher::new(&[DEADLINE, CRASHED])
            .unless(&[OUT_OF_MEMORY, GONE_BEFORE_SAVE])
            .tools(BROWSER),
        Matcher::new(&[Pattern::words(&[
            "target crashed",
            "inspector.targetcrashed",
            "page crashed",
            "target closed",
            "target page, context or browser has been closed",
        ])])
        .unless(&[Pattern::words(&["out of memory", "out-of-memory"])])
        .confidence(60),
    ],
    not_this: "a hang (EDA-7), one tab detached, sleep of the computer, a crash out of memory \
               (SC-5), the end between done and save (EDA-12)",
    ladder: &[
        Rung::act("reload-tab", "crashed tab: reload", "I loaded the EasyEDA window again."),
        Rung::act(
            "relaunch",
            "browser gone: relaunch the same profile, no lock cleaning",
            "I started the browser again.",
        ),
        Rung::read_back(
            "sign-in check, read back, replay the missing; at most 2 a step and 3 an hour, then \
             SC-5",
            "I checked what the last step had left behind.",
        ),
        Rung::ask(),
    ],
    budget: RowBudget { attempts_max: 4, ladder_ms_max: 3_600_000 },
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "a fresh evaluate answers in 2 s; planned objects are there exactly once; a save \
               moved the server's revision",
        probe: Some("page-answers"),
    },
    texts: Texts {
        what: "The EasyEDA window closed during the work.",
        why: Some("The browser or its tab has crashed."),
        healed: "The EasyEDA window is open again.",
        ask: "Open EasyEDA again",
        resume: Resume::Retry,
        ask_kind: "open_editor",
        tool: "EasyEDA",
    },
    recipe: real("real Chromium, ended by signal 9 while idle, during a create, during a save"),
    available: Available::Now,
    passing: false,
};

/// The wrong tab.
pub const BR_7: Row = Row {
    id: "BR-7",
    title: "wrong tab",
    severity: Severity::S3,
    matchers: &[
        Matcher::new(&[Pattern::cdp(signals::TARGET_NOT_PAGE)]).unless(&[PAGE_LOADING]),
        Matcher::new(&[Pattern::cdp(signals::PROJECT_ID_DIFFERS)]).unless(&[PAGE_LOADING]),
        Matcher::new(&[Pattern::report(signals::DOCUMENT_DIFFERS)]).unless(&[PAGE_LOADING]),
    ],
    not_this: "a tab that still loads; equal titles prove nothing",
    ladder: &[
        Rung::act(
            "select-target",
            "the only page target with the id; never the first page",
            "I looked for the window with this board.",
        ),
        Rung::act(
            "activate-document",
            "activate the document, check again",
            "I brought the right drawing to the front.",
        ),
        Rung::act(
            "open-address",
            "none: open the full address; two are BR-5",
            "I opened this board in a new window.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "the document uuid is equal right before and right after the write",
        probe: Some("document-in-focus"),
    },
    texts: Texts {
        what: "I could not find the window with this board.",
        why: Some("Other EasyEDA tabs are in front of it."),
        healed: "I found the window with this board.",
        ask: "Close the other EasyEDA tabs",
        resume: Resume::Retry,
        ask_kind: "close_window",
        tool: "EasyEDA",
    },
    recipe: real("real Chromium with several editor tabs, a popup and a service worker"),
    available: Available::Now,
    passing: false,
};

/// Chrome changed its protocol.
pub const BR_8: Row = Row {
    id: "BR-8",
    title: "Chrome changed its protocol",
    severity: Severity::S3,
    matchers: &[
        Matcher::new(&[Pattern::cdp(signals::METHOD_NOT_FOUND)]).unless(&[PORT_SILENT]),
        Matcher::new(&[Pattern::cdp(signals::SELF_TEST_FAILED)]).unless(&[PORT_SILENT]),
        Matcher::new(&[Pattern::report(signals::BROWSER_VERSION_DIFFERS)])
            .unless(&[PORT_SILENT])
            .confidence(60),
        Matcher::new(&[
            Pattern::words(&["wasn't found"]),
            Pattern::words(&["protocol error", "-32601"]),
        ])
        .confidence(60),
    ],
    not_this: "one unreadable event (counted and ignored), a port that can't be attached (BR-2)",
    ladder: &[
        Rung::act(
            "tolerate",
            "tolerate unknown messages",
            "I left out what I don't know and tried again.",
        ),
        Rung::act(
            "self-test",
            "evaluate, network event, create, close",
            "I checked what this version of Chrome can do.",
        ),
        Rung::act(
            "other-browser",
            "another installed browser",
            "I tried the other browser on this computer.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck { what: "the self-test passes", probe: Some("self-test") },
    texts: Texts {
        what: "I can't work with this version of Chrome.",
        why: Some("An update of Chrome changed how it works with me."),
        healed: "I can work with Chrome again.",
        ask: "Install the newest release of this tool",
        resume: Resume::Retry,
        ask_kind: "install_tool",
        tool: "Chrome",
    },
    recipe: diagnosis_only("a small program that answers with the method-not-found code"),
    available: LATER,
    passing: false,
};

/// A generic browser tool started its own browser.
pub const BR_9: Row = Row {
    id: "BR-9",
    title: "generic browser tool started its own browser",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[ID_DIFFERS, NO_EDITOR_TARGET]).unless(&[LISTENS_ELSEWHERE]),
        Matcher::new(&[ID_DIFFERS, OTHER_DATA_FOLDER]).unless(&[LISTENS_ELSEWHERE]),
        Matcher::new(&[NO_EDITOR_TARGET, OTHER_DATA_FOLDER]).unless(&[LISTENS_ELSEWHERE]),
    ],
    not_this: "the person's own Chrome, which is left alone",
    ladder: &[
        Rung::act("detach", "detach", "I left the other browser alone."),
        Rung::act(
            "attach-own",
            "attach over our own socket to the launched browser",
            "I went back to the browser that I had started.",
        ),
        Rung::act(
            "relaunch",
            "relaunch; the other one is never ended",
            "I started the browser again.",
        ),
    ],
    budget: BUDGET,
    notify: Notify::Never,
    recheck: Recheck {
        what: "the browser id equals the launched one and holds the editor tab",
        probe: Some("browser-up"),
    },
    texts: Texts {
        what: "I was in the wrong browser window.",
        why: Some("Another program had started its own browser."),
        healed: "I am back in the EasyEDA window.",
        ask: "",
        resume: Resume::Nothing,
        ask_kind: "nothing",
        tool: "Chrome",
    },
    recipe: diagnosis_only("a second real Chromium with its own data folder on another port"),
    available: LATER,
    passing: false,
};
