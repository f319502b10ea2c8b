//! The page: hangs, loading, injection and changed methods, EDA-7, 8, 9 and 11.

use pcbflow_core::evidence::{Matcher, NumberTest, Pattern};
use pcbflow_core::row::{
    Available, BUDGET, Notify, Recheck, Resume, Row, RowBudget, Rung, Severity, Texts,
};

use super::{
    DEADLINE, EDITOR, FORBIDDEN, LATER, NOT_FOUND, OF_THE_EDITOR, REQUEST_TIMEOUT, SERVER_FAULT,
    TOO_MANY, UNAUTHORIZED, diagnosis_only, stand_in,
};
use crate::signals;

const PROBE_UNANSWERED: Pattern = Pattern::cdp(signals::PROBE_UNANSWERED);
const PROBE_ANSWERED: Pattern = Pattern::cdp(signals::PROBE_ANSWERED);
const RENDERER_BUSY: Pattern = Pattern::cdp(signals::RENDERER_BUSY);
const DIALOG_OPEN: Pattern = Pattern::cdp(signals::DIALOG_OPEN);
const DETACHED: Pattern = Pattern::cdp(signals::TARGET_DETACHED);
const CRASHED: Pattern = Pattern::cdp(signals::TARGET_CRASHED);
const SOCKET_GONE: Pattern = Pattern::cdp(signals::SOCKET_GONE);
const LOADING_FAILED: Pattern = Pattern::cdp(signals::LOADING_FAILED);
const REQUESTS_PENDING: Pattern = Pattern::cdp(signals::REQUESTS_PENDING);
const LISTS_EMPTY: Pattern = Pattern::report(signals::LISTS_EMPTY);
const PROJECT_SET: Pattern = Pattern::report(signals::PROJECT_SET);
const PROJECT_NEW: Pattern = Pattern::report(signals::PROJECT_NEW);
const PROGRESS_STUCK: Pattern =
    Pattern::dom(signals::PROGRESS_STUCK).num(NumberTest::Between(30_000, i64::MAX));
const STARTING: Pattern = Pattern::own(signals::STARTING);
const BACKGROUND: Pattern = Pattern::own(signals::TAB_IN_BACKGROUND);
const SAVE_UNANSWERED: Pattern = Pattern::own(signals::SAVE_UNANSWERED);
const DONE_UNANSWERED: Pattern = Pattern::own(signals::DONE_UNANSWERED);
const PAGE_LOADING: Pattern = Pattern::cdp(signals::PAGE_LOADING);
const WRONG_PROJECT: Pattern = Pattern::cdp(signals::PROJECT_ID_DIFFERS);
const NOT_A_PAGE: Pattern = Pattern::cdp(signals::TARGET_NOT_PAGE);
const ROOT_MISSING: Pattern = Pattern::cdp(signals::ROOT_MISSING);
const ROOT_PRESENT: Pattern = Pattern::cdp(signals::ROOT_PRESENT);
const TYPE_ERROR: Pattern = Pattern::cdp(signals::TYPE_ERROR);

/// What else in the window makes a passed deadline something other than a hang: a status, a
/// crash, a broken transfer, a load that stands still, a save of its own row.
const NOT_A_HANG: &[Pattern] = &[
    UNAUTHORIZED,
    FORBIDDEN,
    NOT_FOUND,
    REQUEST_TIMEOUT,
    TOO_MANY,
    SERVER_FAULT,
    CRASHED,
    SOCKET_GONE,
    LOADING_FAILED,
    REQUESTS_PENDING,
    PROGRESS_STUCK,
    SAVE_UNANSWERED,
    DONE_UNANSWERED,
    DIALOG_OPEN,
    DETACHED,
    BACKGROUND,
];

/// The same where a probe or event says more than the deadline alone: only statuses and the end
/// of the page outrank it.
const OUTRANKS_HANG: &[Pattern] = &[
    UNAUTHORIZED,
    FORBIDDEN,
    NOT_FOUND,
    REQUEST_TIMEOUT,
    TOO_MANY,
    SERVER_FAULT,
    CRASHED,
    SOCKET_GONE,
    BACKGROUND,
];

/// The drawing window hangs.
pub const EDA_7: Row = Row {
    id: "EDA-7",
    title: "drawing window hangs",
    severity: Severity::S1,
    matchers: &[
        Matcher::new(&[DEADLINE]).unless(NOT_A_HANG).tools(EDITOR).confidence(85),
        Matcher::new(&[DEADLINE, PROBE_UNANSWERED]).unless(OUTRANKS_HANG),
        Matcher::new(&[DEADLINE, PROBE_ANSWERED]).unless(NOT_A_HANG).confidence(85),
        Matcher::new(&[DEADLINE, RENDERER_BUSY]).unless(OUTRANKS_HANG),
        Matcher::new(&[PROBE_UNANSWERED]).unless(OUTRANKS_HANG).confidence(85),
        // Not plain hangs: the first rung answers the dialog or leaves the lost tab.
        Matcher::new(&[DEADLINE, DIALOG_OPEN]).unless(OUTRANKS_HANG).tools(EDITOR).confidence(70),
        Matcher::new(&[DEADLINE, DETACHED]).unless(OUTRANKS_HANG).tools(EDITOR).confidence(70),
        Matcher::new(&[Pattern::words(&[
            "renderer eval timeout",
            "runtime.evaluate timed out",
            "runtime.callfunctionon timed out",
            "drawing window stopped responding",
            "easyeda stopped responding",
            "easyeda is not responding",
            "page unresponsive",
            "renderer is not responding",
        ])])
        .confidence(60),
    ],
    not_this: "a slow background tab, a crash (BR-6), a status in the window (its own row); an \
               open dialog or a detached tab is settled by the first rung",
    ladder: &[
        Rung::act(
            "read-events",
            "read buffered events and the target list: crashed, dialog, navigated, detached or \
             a status lead elsewhere; at most 5 s with the next two",
            "I looked for an open dialog or a closed window.",
        ),
        Rung::act(
            "probe-page",
            "probe for 1 s; an answer means no reset: read back and go on",
            "I checked whether the drawing window still answers.",
        ),
        Rung::act(
            "end-script",
            "end the script on the session that was attached before; probe for 2 s, read back, \
             save at once",
            "I stopped the stuck script and saved the drawing.",
        ),
        Rung::act(
            "fresh-tab",
            "open a fresh tab, wait for sign-in and project, only then close the old one; \
             replay what a read-back shows missing; at most 30 s",
            "I opened the drawing in a new window and redid the last step.",
        ),
        Rung::act(
            "restart-browser",
            "only where we started the browser: close it, relaunch on the same profile, replay \
             what is missing",
            "I restarted the browser and redid the last step.",
        ),
        Rung::ask(),
    ],
    budget: RowBudget { attempts_max: 7, ladder_ms_max: 900_000 },
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "a fresh evaluate answers in 2 s; planned objects are there exactly once; a save \
               moved the server's revision",
        probe: Some("page-answers"),
    },
    texts: Texts {
        what: "The EasyEDA drawing window stopped responding.",
        why: Some("This is a known fault in that window."),
        healed: "The drawing window came back.",
        ask: "Close and reopen EasyEDA",
        resume: Resume::Retry,
        ask_kind: "reopen_editor",
        tool: "EasyEDA",
    },
    recipe: stand_in(
        "the stand-in editor loops at once, from a timer, re-entering; waits for ever; shows an \
         alert; its process is stopped",
    ),
    available: Available::Now,
    passing: false,
};

/// The project does not finish loading.
pub const EDA_8: Row = Row {
    id: "EDA-8",
    title: "project does not finish loading",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[REQUESTS_PENDING]).unless(&[STARTING, PROBE_UNANSWERED]),
        Matcher::new(&[DEADLINE, REQUESTS_PENDING])
            .unless(&[STARTING, PROBE_UNANSWERED])
            .tools(EDITOR),
        Matcher::new(&[LISTS_EMPTY, PROJECT_SET]).unless(&[
            STARTING,
            PROJECT_NEW,
            PROBE_UNANSWERED,
        ]),
        Matcher::new(&[DEADLINE, LISTS_EMPTY, PROJECT_SET])
            .unless(&[STARTING, PROJECT_NEW, PROBE_UNANSWERED])
            .tools(EDITOR),
        Matcher::new(&[PROGRESS_STUCK]).unless(&[PROBE_UNANSWERED]),
        Matcher::new(&[DEADLINE, PROGRESS_STUCK]).unless(&[PROBE_UNANSWERED]).tools(EDITOR),
        Matcher::new(&[
            Pattern::words(&["does not finish loading", "stuck loading", "stuck at 20"]),
            OF_THE_EDITOR,
        ])
        .confidence(60),
    ],
    not_this: "a normal start (up to 30 s), an empty new project, a hang (EDA-7); an open dialog \
               blocks opening and is handled first",
    ladder: &[
        Rung::act("answer-dialog", "handle an open dialog", "I looked for an open dialog."),
        Rung::act(
            "wait-while-moving",
            "wait up to 60 s while the mark moves",
            "I waited for EasyEDA to finish loading.",
        ),
        Rung::act(
            "full-load",
            "drop a stuck service worker, one full load of the full address",
            "I loaded the project again.",
        ),
        Rung::act("fresh-tab", "open a fresh tab", "I opened the project in a new window."),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "project uuid as wanted; page and board counts as last recorded",
        probe: Some("project-open"),
    },
    texts: Texts {
        what: "The EasyEDA project does not finish loading.",
        why: None,
        healed: "The project is open again.",
        ask: "Open the project by hand in EasyEDA",
        resume: Resume::Retry,
        ask_kind: "open_project",
        tool: "EasyEDA",
    },
    recipe: stand_in("the stand-in editor stops loading at 20 %, cured by one full load or never"),
    available: Available::Now,
    passing: false,
};

/// The script can't be injected.
pub const EDA_9: Row = Row {
    id: "EDA-9",
    title: "script can't be injected",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[ROOT_MISSING]).unless(&[PAGE_LOADING, WRONG_PROJECT, NOT_A_PAGE]),
        Matcher::new(&[DEADLINE, ROOT_MISSING])
            .unless(&[PAGE_LOADING, WRONG_PROJECT, NOT_A_PAGE, PROBE_UNANSWERED])
            .tools(EDITOR),
        Matcher::new(&[TYPE_ERROR.has(&["of undefined", "is undefined", "undefined is not"])])
            .unless(&[PAGE_LOADING, WRONG_PROJECT, NOT_A_PAGE, ROOT_PRESENT])
            .confidence(85),
        Matcher::new(&[Pattern::words(&[
            "(reading 'sch_",
            "(reading 'pcb_",
            "(reading 'dmt_",
            "(reading 'lib_",
            "(reading 'sys_",
            "_extapi_root_ is undefined",
            "_extapi_root_ is not defined",
        ])])
        .confidence(60),
    ],
    not_this: "a page that is blank or loading, the wrong tab (BR-7), a root whose method is \
               gone (EDA-11)",
    ladder: &[
        Rung::act(
            "wait-for-root",
            "look every 250 ms for up to 30 s",
            "I waited for the drawing to be ready.",
        ),
        Rung::act(
            "select-target",
            "select the target again by project id",
            "I looked for the window with this board.",
        ),
        Rung::act("reload", "one reload if nothing is unsaved", "I loaded the drawing again."),
        Rung::act("fresh-tab", "open a fresh tab", "I opened the drawing in a new window."),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "a probe finds every method in the step's table",
        probe: Some("capabilities"),
    },
    texts: Texts {
        what: "I could not get into the EasyEDA drawing window.",
        why: Some("The drawing of this board is not open or not ready."),
        healed: "The drawing is ready again.",
        ask: "Open the board's drawing in EasyEDA",
        resume: Resume::Retry,
        ask_kind: "open_project",
        tool: "EasyEDA",
    },
    recipe: stand_in("the stand-in editor shows its API root late, never, or in a frame only"),
    available: Available::Now,
    passing: false,
};

/// An update of the editor changed methods or page.
pub const EDA_11: Row = Row {
    id: "EDA-11",
    title: "editor update changed methods or page",
    severity: Severity::S1,
    matchers: &[
        Matcher::new(&[Pattern::report(signals::METHOD_MISSING)]).unless(&[ROOT_MISSING]),
        Matcher::new(&[Pattern::report(signals::ARGUMENTS_DIFFER)]).unless(&[ROOT_MISSING]),
        Matcher::new(&[Pattern::report(signals::SHAPE_DIFFERS)]).unless(&[ROOT_MISSING]),
        Matcher::new(&[Pattern::report(signals::EDITOR_VERSION_DIFFERS)])
            .unless(&[ROOT_MISSING])
            .confidence(70),
        Matcher::new(&[TYPE_ERROR.has(&["is not a function"]), ROOT_PRESENT]),
        Matcher::new(&[Pattern::words(&["no easyeda api implementation found for"])])
            .confidence(60),
    ],
    not_this: "an absent root (EDA-9), an optional method that this build never had, missing \
               enum names (literals are used)",
    ladder: &[
        Rung::act("stop-writing", "stop before any write", "I stopped before any change."),
        Rung::act(
            "known-alternates",
            "known alternates from the signature table",
            "I tried other ways that I know.",
        ),
        Rung::act(
            "other-transport",
            "another configured way to reach the editor",
            "I tried another way in.",
        ),
        Rung::act_with_go_ahead(
            "repair-on-copy",
            "repair the script on a copy, prove it read-only first",
            "I tested a new script on a copy.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::Always,
    recheck: Recheck {
        what: "the whole table passes; the first written block, read back, equals the plan",
        probe: Some("capabilities"),
    },
    texts: Texts {
        what: "EasyEDA has changed and I don't know its new version yet.",
        why: Some("An update changed how it works with me."),
        healed: "I found a way that works with the new version.",
        ask: "Install the newest release of this tool",
        resume: Resume::Retry,
        ask_kind: "install_tool",
        tool: "EasyEDA",
    },
    recipe: diagnosis_only(
        "the stand-in editor renames a method, swaps arguments, answers in another shape",
    ),
    available: LATER,
    passing: false,
};
