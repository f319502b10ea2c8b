//! Saving and reading back: EDA-12, EDA-13, EDA-14.

use pcbflow_core::evidence::{Matcher, Pattern, Source};
use pcbflow_core::row::{Available, BUDGET, Notify, Recheck, Resume, Row, Rung, Severity, Texts};

use super::{
    DEADLINE, EDITOR, FORBIDDEN, NOT_FOUND, OF_THE_EDITOR, REQUEST_TIMEOUT, SERVER_FAULT, TOO_MANY,
    UNAUTHORIZED, stand_in,
};
use crate::signals;

const SAVE_FALSE: Pattern = Pattern::report(signals::SAVE_FALSE);
const WRITE_LANDED: Pattern = Pattern::report(signals::WRITE_LANDED);
const READ_DIFFERS: Pattern = Pattern::report(signals::READ_DIFFERS);
const READ_IN_WRITE: Pattern = Pattern::own(signals::READ_IN_WRITE);
const READ_TOO_EARLY: Pattern = Pattern::own(signals::READ_TOO_EARLY);
const FRESH_READS_AGREE: Pattern = Pattern::own(signals::FRESH_READS_AGREE);
const PROBE_UNANSWERED: Pattern = Pattern::cdp(signals::PROBE_UNANSWERED);
const USER_WITHOUT_ID: Pattern = Pattern::report(signals::USER_WITHOUT_ID);

/// What explains a save without an answer better than a fault of saving: a status of the same
/// window, a hung page, a lost login, a late answer.
const SAVE_NOT_JUDGED: &[Pattern] = &[
    UNAUTHORIZED,
    FORBIDDEN,
    NOT_FOUND,
    REQUEST_TIMEOUT,
    TOO_MANY,
    SERVER_FAULT,
    PROBE_UNANSWERED,
    USER_WITHOUT_ID,
    WRITE_LANDED,
];

/// Words of a failed save, as the editor and its scripts say them.
const SAVE_FAILED: &[&str] =
    &["save failed", "failed to save", "save() returned false", "save失败", "保存失败"];

/// Unsaved work is lost, or saving failed.
pub const EDA_12: Row = Row {
    id: "EDA-12",
    title: "unsaved work lost or save failed",
    severity: Severity::S1,
    matchers: &[
        Matcher::new(&[Pattern::own(signals::SAVE_UNANSWERED)]).unless(SAVE_NOT_JUDGED),
        Matcher::new(&[DEADLINE, Pattern::own(signals::SAVE_UNANSWERED)])
            .unless(SAVE_NOT_JUDGED)
            .tools(EDITOR),
        Matcher::new(&[Pattern::own(signals::DONE_UNANSWERED)]).unless(SAVE_NOT_JUDGED),
        Matcher::new(&[DEADLINE, Pattern::own(signals::DONE_UNANSWERED)])
            .unless(SAVE_NOT_JUDGED)
            .tools(EDITOR),
        Matcher::new(&[Pattern::cdp(signals::GONE_BEFORE_SAVE)]).unless(&[WRITE_LANDED]),
        // The end of the page or browser between `done` and save is first of all lost work.
        Matcher::new(&[
            Pattern::cdp(signals::GONE_BEFORE_SAVE),
            Pattern::own(signals::BROWSER_WAS_UP),
        ])
        .unless(&[WRITE_LANDED]),
        Matcher::new(&[SAVE_FALSE]).unless(SAVE_NOT_JUDGED),
        Matcher::new(&[
            Pattern::report(signals::SAVE_TRUE),
            Pattern::report(signals::REVISION_UNMOVED),
        ])
        .unless(SAVE_NOT_JUDGED),
        Matcher::new(&[FRESH_READS_AGREE, READ_DIFFERS]).unless(&[READ_IN_WRITE, READ_TOO_EARLY]),
        Matcher::new(&[Pattern::is(Source::Text, signals::TOAST).has(SAVE_FAILED)]).confidence(70),
        Matcher::new(&[Pattern::words(SAVE_FAILED), OF_THE_EDITOR]).confidence(60),
        Matcher::new(&[Pattern::words(&["save失败"])]).confidence(60),
    ],
    not_this: "a late answer whose write landed, a stale read (EDA-14), a save refused by a lost \
               login (EDA-1), a file that another program can't save",
    ladder: &[
        Rung::act("save-now", "save at once", "I saved the drawing again."),
        Rung::act(
            "compare",
            "load fresh, compare revision and objects",
            "I compared the saved drawing with what I had done.",
        ),
        Rung::read_back(
            "by id difference, then place and part identity; only the absent block runs, once",
            "I checked which of my changes are there.",
        ),
        Rung::act(
            "replay-from-checkpoint",
            "replay from the last checkpoint",
            "I redid the work since the last good step.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "after a reload the revision is newer and every planned object is there exactly \
               once",
        probe: Some("saved"),
    },
    texts: Texts {
        what: "EasyEDA did not save my last changes.",
        why: None,
        healed: "All changes are saved now.",
        ask: "Save the board in EasyEDA",
        resume: Resume::Retry,
        ask_kind: "save_board",
        tool: "EasyEDA",
    },
    recipe: stand_in(
        "the stand-in editor's save answers false, never, or true without a new revision; the \
         tab goes between done and save",
    ),
    available: Available::Now,
    passing: false,
};

/// Nets lag after a bulk create.
pub const EDA_13: Row = Row {
    id: "EDA-13",
    title: "nets lag after bulk create",
    severity: Severity::S3,
    matchers: &[Matcher::new(&[
        Pattern::report(signals::PIN_NET_EMPTY),
        Pattern::report(signals::WIRE_ENDS_ON_PIN),
    ])
    .unless(&[READ_IN_WRITE, READ_TOO_EARLY])],
    not_this: "a pin with no wire (a real finding), a stale snapshot (EDA-14)",
    ladder: &[
        Rung::act(
            "read-again-soon",
            "wait 0.5 s, fresh evaluate",
            "I waited and read the nets again.",
        ),
        Rung::act(
            "read-again-later",
            "wait 2 s, fresh evaluate",
            "I waited longer and read the nets again.",
        ),
        Rung::act(
            "save-and-reload",
            "save, reload once; never the netlist call that blocks on a floating pin",
            "I saved and loaded the drawing again.",
        ),
        Rung::go_on(
            "report-finding",
            "report what is still empty as a finding",
            "I listed the pins that still have no net.",
        ),
    ],
    budget: BUDGET,
    notify: Notify::Never,
    recheck: Recheck {
        what: "pin nets, rebuilt from coordinates, equal the wires, net by net, twice",
        probe: Some("pin-nets"),
    },
    texts: Texts {
        what: "EasyEDA had not yet worked out all nets.",
        why: Some("It needs a moment after many new parts."),
        healed: "All nets are there now.",
        ask: "",
        resume: Resume::Nothing,
        ask_kind: "nothing",
        tool: "EasyEDA",
    },
    recipe: stand_in("the stand-in editor settles nets late, or only after a reload"),
    available: Available::Now,
    passing: false,
};

/// An old snapshot was read in the evaluate that wrote.
pub const EDA_14: Row = Row {
    id: "EDA-14",
    title: "old snapshot read back",
    severity: Severity::S3,
    matchers: &[
        Matcher::new(&[READ_IN_WRITE, READ_DIFFERS]),
        Matcher::new(&[READ_TOO_EARLY, READ_DIFFERS]),
        // The same pins read empty because they were read too soon, not because nets lag.
        Matcher::new(&[READ_IN_WRITE, Pattern::report(signals::PIN_NET_EMPTY)]),
        Matcher::new(&[READ_TOO_EARLY, Pattern::report(signals::PIN_NET_EMPTY)]),
        Matcher::new(&[READ_DIFFERS])
            .unless(&[FRESH_READS_AGREE, Pattern::report(signals::REVISION_UNMOVED)])
            .confidence(60),
    ],
    not_this: "a write that was really lost (EDA-12)",
    ladder: &[
        Rung::act(
            "read-again-soon",
            "fresh evaluate after 250 ms",
            "I waited and read the drawing again.",
        ),
        Rung::act(
            "read-again-later",
            "again after 1 s",
            "I waited longer and read the drawing again.",
        ),
        Rung::act(
            "save-and-reload",
            "save, reload once; if two fresh reads still differ from the plan it is EDA-12",
            "I saved and loaded the drawing again.",
        ),
    ],
    budget: BUDGET,
    notify: Notify::Never,
    recheck: Recheck {
        what: "two fresh reads agree with each other and with the plan",
        probe: Some("two-reads"),
    },
    texts: Texts {
        what: "EasyEDA showed me an old state of the drawing.",
        why: Some("I read it before EasyEDA was ready."),
        healed: "The drawing is as planned.",
        ask: "",
        resume: Resume::Nothing,
        ask_kind: "nothing",
        tool: "EasyEDA",
    },
    recipe: stand_in("the stand-in editor keeps its snapshot until a fresh evaluate"),
    available: Available::Now,
    passing: false,
};
