//! GIT-1, GIT-4, GIT-5: the history and its copy elsewhere.

use pcbflow_core::evidence::{Matcher, NumberTest, Pattern, Source, codes};
use pcbflow_core::row::{
    Available, BUDGET, Notify, Recheck, Recipe, RecipeKind, Resume, Row, Rung, Severity, Texts, W3,
};

use super::{GIT_TOOLS, actions, probes};
use crate::signals;

/// Any status but 0: never enough by itself.
const FAILED: Pattern = Pattern::is(Source::Exit, codes::STATUS).num(NumberTest::Not(0));

/// Look-alikes of a missing sign-in.
const NO_SIGN_IN_FAULT: &[Pattern] =
    &[Pattern::own(signals::HOST_UNREACHABLE), Pattern::report(signals::PUSH_REJECTED)];

pub(super) const GIT_1: Row = Row {
    id: "GIT-1",
    title: "Publishing needs a sign-in (also GIT-AUTH)",
    severity: Severity::S3,
    matchers: &[
        Matcher::new(&[FAILED, Pattern::report(signals::CREDENTIAL_MISSING)])
            .unless(NO_SIGN_IN_FAULT),
        Matcher::new(&[FAILED, Pattern::report(signals::CREDENTIAL_REFUSED)])
            .unless(NO_SIGN_IN_FAULT),
        Matcher::new(&[Pattern::report(signals::CREDENTIAL_MISSING)]).unless(NO_SIGN_IN_FAULT),
        Matcher::new(&[Pattern::report(signals::CREDENTIAL_REFUSED)]).unless(NO_SIGN_IN_FAULT),
        Matcher::new(&[Pattern::words(&["authentication failed"])])
            .unless(NO_SIGN_IN_FAULT)
            .tools(GIT_TOOLS)
            .confidence(60),
        // Git's own wording with the address behind it. Nothing shorter: a denied local file or a
        // data base that refuses a login is not this row.
        Matcher::new(&[Pattern::words(&[
            "authentication failed for 'http",
            "could not read username for 'http",
            "could not read password for 'http",
            "permission denied (publickey",
            "support for password authentication was removed",
        ])])
        .unless(NO_SIGN_IN_FAULT)
        .confidence(60),
        Matcher::new(&[
            Pattern::words(&["authentication failed"]),
            Pattern::words(&["git push", "remote:"]),
        ])
        .unless(NO_SIGN_IN_FAULT)
        .confidence(60),
    ],
    not_this: "local file or folder not permitted (ENV, LG-4); host unreachable (GIT-5); branch moved (GIT-4)",
    ladder: &[Rung {
        what: "no retry, no prompt; all other work goes on; ask once a run",
        ..Rung::ask()
    }],
    budget: BUDGET,
    notify: Notify::Always,
    recheck: Recheck {
        what: "remote branch id equals the local commit",
        probe: Some(probes::REMOTE_EQUALS_LOCAL),
    },
    texts: Texts {
        what: "I could not upload the history to GitHub.",
        why: Some("You are not signed in to GitHub on this computer."),
        healed: "The history is on GitHub now.",
        ask: "Sign in to GitHub",
        resume: Resume::Retry,
        ask_kind: "sign_in",
        tool: "GitHub",
    },
    recipe: Recipe {
        kind: RecipeKind::SmallProgram,
        how: "real git pushes to a small local web server that answers every call with a sign-in wanted, for a real host would need an account",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const GIT_4: Row = Row {
    id: "GIT-4",
    title: "Branch moved or files conflict",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::report(signals::UNMERGED)]),
        Matcher::new(&[Pattern::report(signals::PUSH_REJECTED)]),
        Matcher::new(&[Pattern::words(&[
            "conflict (content)",
            "conflict (add/add)",
            "conflict (modify/delete)",
            "automatic merge failed; fix conflicts",
            "updates were rejected because",
            "! [rejected]",
        ])])
        .confidence(60),
        // Git's last line after each upload that was not taken; the lines before it say more.
        Matcher::new(&[Pattern::words(&["failed to push some refs"])])
            .unless(&[Pattern::words(&[
                "remote rejected",
                "hook declined",
                "authentication failed",
                "permission denied",
                "src refspec",
                "could not read",
                "could not resolve",
            ])])
            .confidence(60),
    ],
    not_this: "sign-in (GIT-1)",
    ladder: &[
        Rung::act(
            actions::FAST_FORWARD,
            "fetch; fast-forward if clean",
            "I fetched the newest history.",
        ),
        Rung::act(
            actions::MERGE_TEXT_IN_SCRATCH,
            "text only: merge in a scratch tree, all checks again; never force, never rewrite",
            "I tried to join both on a copy.",
        ),
        Rung { what: "boards and schematics: save the place and ask", ..Rung::ask() },
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "both parents there; checks pass on the merged tree",
        probe: Some(probes::MERGE_WHOLE),
    },
    texts: Texts {
        what: "The history holds two versions that do not fit together.",
        why: Some("Someone else changed the same files."),
        healed: "Both versions are joined and checked.",
        ask: "Choose which version of the board to keep",
        resume: Resume::Watch(probes::MERGE_WHOLE),
        ask_kind: "choose_version",
        tool: "the history",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "real git: a remote that others moved on, alone and beside own commits; a merge with conflicts under way",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const GIT_5: Row = Row {
    id: "GIT-5",
    title: "Remote unreachable",
    severity: Severity::S3,
    matchers: &[
        Matcher::new(&[Pattern::own(signals::HOST_UNREACHABLE)])
            .unless(&[Pattern::report(signals::CONTENT_REFUSED)]),
        Matcher::new(&[FAILED, Pattern::report(signals::REMOTE_NOT_REACHED)]).unless(&[
            Pattern::report(signals::CREDENTIAL_MISSING),
            Pattern::report(signals::CREDENTIAL_REFUSED),
            Pattern::report(signals::CONTENT_REFUSED),
        ]),
        Matcher::new(&[Pattern::words(&[
            "could not resolve host",
            "failed to connect to",
            "network is unreachable",
        ])])
        .unless(&[Pattern::report(signals::CONTENT_REFUSED)])
        .tools(GIT_TOOLS)
        .confidence(60),
        Matcher::new(&[
            Pattern::words(&["could not resolve host", "failed to connect to"]),
            Pattern::words(&["unable to access 'http", "could not read from remote repository"]),
        ])
        .confidence(60),
    ],
    not_this: "sign-in (GIT-1); server refusal of content",
    ladder: &[
        Rung::retry("wait-and-retry", W3, "wait 1 s, 4 s, 16 s", "I waited and tried {times}."),
        Rung::act(
            actions::AGAIN_AT_PHASE_END,
            "again at the end of the phase",
            "I put it off to the end of the phase.",
        ),
        Rung::go_on(
            "keep-on-open-list",
            "keep it on the open list",
            "I put the upload on the list of open work.",
        ),
    ],
    budget: BUDGET,
    notify: Notify::Never,
    recheck: Recheck {
        what: "remote branch id equals the local commit",
        probe: Some(probes::REMOTE_EQUALS_LOCAL),
    },
    texts: Texts {
        what: "I could not reach the server that holds the history.",
        why: Some("The network or the server gives no answer."),
        healed: "The upload went through.",
        ask: "",
        resume: Resume::Nothing,
        ask_kind: "nothing",
        tool: "GitHub",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "real git pushes to a local port on which nothing listens, or on which a real server starts meanwhile",
    },
    available: Available::Now,
    passing: true,
};
