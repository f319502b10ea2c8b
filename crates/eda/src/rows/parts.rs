//! Ids and parts that can't be found: EDA-4 and EDA-10.

use pcbflow_core::evidence::{Matcher, Pattern};
use pcbflow_core::row::{
    AT_ONCE, Available, BUDGET, Notify, Recheck, Resume, Row, Rung, Severity, Texts,
};

use super::{
    DEADLINE, EDITOR, ELSEWHERE, FORBIDDEN, NOT_FOUND, OF_THE_EDITOR, SERVER_FAULT, TOO_MANY,
    UNAUTHORIZED, stand_in,
};
use crate::signals;

const PART_UNKNOWN: Pattern = Pattern::report(signals::PART_UNKNOWN);
const SEARCH_EMPTY: Pattern = Pattern::report(signals::SEARCH_EMPTY);
const THROTTLE_SEEN: Pattern = Pattern::own(signals::THROTTLE_SEEN);
const USER_WITHOUT_ID: Pattern = Pattern::report(signals::USER_WITHOUT_ID);
const LOADING_FAILED: Pattern = Pattern::cdp(signals::LOADING_FAILED);
const REQUESTS_PENDING: Pattern = Pattern::cdp(signals::REQUESTS_PENDING);
const PROGRESS_STUCK: Pattern = Pattern::dom(signals::PROGRESS_STUCK);

/// What the same window may hold that explains an empty or odd search: not the part's fault.
const SEARCH_NOT_JUDGED: &[Pattern] = &[
    UNAUTHORIZED,
    FORBIDDEN,
    TOO_MANY,
    SERVER_FAULT,
    LOADING_FAILED,
    USER_WITHOUT_ID,
    THROTTLE_SEEN,
];

/// The id of a project, sheet or page is unknown.
pub const EDA_4: Row = Row {
    id: "EDA-4",
    title: "project, sheet or page id unknown",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[NOT_FOUND]).unless(&[PART_UNKNOWN, REQUESTS_PENDING, PROGRESS_STUCK]),
        Matcher::new(&[DEADLINE, NOT_FOUND])
            .unless(&[PART_UNKNOWN, REQUESTS_PENDING, PROGRESS_STUCK])
            .tools(EDITOR),
        Matcher::new(&[
            Pattern::report(signals::OPEN_UNDEFINED),
            Pattern::report(signals::PROJECT_NOT_LISTED),
        ])
        .unless(&[REQUESTS_PENDING, PROGRESS_STUCK]),
        Matcher::new(&[
            Pattern::words(&["404 not found", "http 404", "status code 404", "status code: 404"]),
            OF_THE_EDITOR,
        ])
        .unless(&[ELSEWHERE, Pattern::words(&["component not found"])])
        .confidence(60),
    ],
    not_this: "a part lookup that answers \"not found\" (EDA-10), a project that still loads \
               (EDA-8)",
    ladder: &[
        Rung::act(
            "resolve-by-name",
            "fresh project list, match by name",
            "I looked for it by name.",
        ),
        Rung::retry(
            "with-new-id",
            AT_ONCE,
            "exactly one match: note the new id, once more",
            "I tried once more with what I found.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "the current project uuid equals the resolved one",
        probe: Some("project-open"),
    },
    texts: Texts {
        what: "I could not find this board's project in EasyEDA.",
        why: Some("It may have been moved."),
        healed: "I found the project.",
        ask: "Pick this board's project from the list",
        resume: Resume::Watch("project-picked"),
        ask_kind: "pick_project",
        tool: "EasyEDA",
    },
    recipe: stand_in("the stand-in editor answers 404 for an unknown project or page"),
    available: Available::Now,
    passing: false,
};

/// A part is not found, or the wrong part was matched.
pub const EDA_10: Row = Row {
    id: "EDA-10",
    title: "part not found or wrong part matched",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::http(200), SEARCH_EMPTY]).unless(SEARCH_NOT_JUDGED),
        Matcher::new(&[NOT_FOUND, PART_UNKNOWN]).unless(SEARCH_NOT_JUDGED),
        Matcher::new(&[PART_UNKNOWN]).unless(SEARCH_NOT_JUDGED),
        Matcher::new(&[Pattern::report(signals::ONLY_ARRAYS)]).unless(SEARCH_NOT_JUDGED),
        Matcher::new(&[Pattern::report(signals::WRONG_VALUES)]).unless(SEARCH_NOT_JUDGED),
        Matcher::new(&[Pattern::report(signals::NO_MODEL)]).unless(SEARCH_NOT_JUDGED),
        Matcher::new(&[Pattern::report(signals::PART_DIFFERS)]),
        Matcher::new(&[Pattern::words(&[
            "component not found",
            "failed to get component uuid",
            "no part found for",
            "no such part",
            "part not found",
        ])])
        .unless(&[
            ELSEWHERE,
            Pattern::words(&["401", "403", "429", "too many", "react", "counterpart"]),
        ])
        .confidence(60),
    ],
    not_this: "throttle, lost login or server fault in the same window; a first hit taken as a \
               match; a net or footprint without a match",
    ladder: &[
        Rung::act(
            "broaden-search",
            "broaden the query, same maker number",
            "I searched with fewer words.",
        ),
        Rung::act(
            "supplier-number",
            "look up by the supplier's number",
            "I tried the part number.",
        ),
        Rung::act(
            "other-footprint",
            "another footprint that the parts list allows",
            "I tried the other footprints that you allow.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "the placed part's maker and supplier number, value and footprint, read back, \
               equal the parts list",
        probe: Some("part-read-back"),
    },
    texts: Texts {
        what: "I could not find the part for {part}.",
        why: Some("LCSC lists no part that fits your parts list."),
        healed: "I found a part that your parts list allows.",
        ask: "Pick a part for {part}",
        resume: Resume::Retry,
        ask_kind: "pick_part",
        tool: "EasyEDA",
    },
    recipe: stand_in(
        "the stand-in editor's search gives nothing, only arrays, or a part without a model",
    ),
    available: Available::Now,
    passing: false,
};
