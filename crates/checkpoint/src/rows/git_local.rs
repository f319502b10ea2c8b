//! GIT-2, GIT-3, GIT-6, GIT-7: the history on this computer.

use pcbflow_core::evidence::{Matcher, Pattern, Source};
use pcbflow_core::row::{
    AT_ONCE, Available, BUDGET, Notify, Recheck, Recipe, RecipeKind, Resume, Row, Rung, Severity,
    Texts, W3,
};

use super::{GIT_TOOLS, actions, probes, variants};
use crate::signals;

pub(super) const GIT_2: Row = Row {
    id: "GIT-2",
    title: "No repository, no identity, or folder owned by someone else",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::report(signals::IDENTITY_MISSING)]),
        Matcher::new(&[Pattern::report(signals::NO_REPOSITORY)]),
        Matcher::new(&[Pattern::report(signals::OTHER_OWNER)]),
        Matcher::new(&[Pattern::words(&[
            "please tell me who you are",
            "unable to auto-detect email address",
            "not a git repository",
            "detected dubious ownership in repository",
        ])])
        .confidence(60),
    ],
    not_this: "missing sign-in for an upload (GIT-1)",
    ladder: &[
        Rung::act(
            actions::SNAPSHOT_OUTPUTS,
            "snapshots stand in for commits",
            "I kept a snapshot of the results.",
        ),
        Rung::act_with_go_ahead(
            actions::CREATE_REPOSITORY,
            "make a history, only after a recorded yes; identity never invented",
            "I made a history for this project.",
        )
        .only(&[variants::NO_REPOSITORY, variants::HISTORY_GONE]),
        Rung::retry(
            "without-history",
            AT_ONCE,
            "said no: the snapshot stands in for the commit, and the verdict says so",
            "I tried to save the results without a history.",
        )
        .only(&[variants::NO_REPOSITORY, variants::HISTORY_GONE]),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::Always,
    recheck: Recheck {
        what: "a commit on a scratch branch succeeds and is removed",
        probe: Some(probes::SCRATCH_COMMIT),
    },
    texts: Texts {
        what: "I can't save the results in the project's history.",
        why: Some("There is no history here, no name for you, or the folder is not yours."),
        healed: "The results are in the history now.",
        ask: "Check this project in git",
        resume: Resume::Retry,
        ask_kind: "run_commands",
        tool: "the history",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "real git: a home without a name; a folder without a history, and a yes or a no to make one",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const GIT_3: Row = Row {
    id: "GIT-3",
    title: "Repository locked",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::own(signals::LOCK_HELD)]),
        Matcher::new(&[Pattern::own(signals::LOCK_OF_OWN_DEAD_CHILD)]),
        Matcher::new(&[Pattern::file(signals::LOCK_FILE)]),
        Matcher::new(&[Pattern::words(&["index.lock': file exists", ".git/index.lock"])])
            .confidence(60),
    ],
    not_this: "editor's git at work, which is over in a moment (rung 1)",
    ladder: &[
        Rung::retry("wait-and-retry", W3, "wait 1 s, 4 s, 16 s", "I waited and tried {times}."),
        Rung::act(
            actions::MOVE_OWN_LOCK_ASIDE,
            "lock made by our own dead child: move aside; never another's lock",
            "I looked whether the lock was my own.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "status answers and the index parses",
        probe: Some(probes::INDEX_PARSES),
    },
    texts: Texts {
        what: "The project's history is locked.",
        why: Some("Another program works on it, or one that stopped left its lock behind."),
        healed: "The history is free again.",
        ask: "Close other programs that use this history, or remove the lock shown",
        resume: Resume::Retry,
        ask_kind: "close_programs",
        tool: "the history",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "a lock in a real history that goes away, one that stays, one that our own dead process left",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const GIT_6: Row = Row {
    id: "GIT-6",
    title: "Commit refused by a check, size or ignore rule",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::exit(1), Pattern::report(signals::HOOK_REFUSED)]),
        Matcher::new(&[Pattern::report(signals::HOOK_REFUSED)]),
        Matcher::new(&[Pattern::report(signals::PATH_IGNORED)]),
        Matcher::new(&[Pattern::report(signals::FILE_TOO_LARGE)]),
        Matcher::new(&[Pattern::words(&[
            "paths are ignored by one of your .gitignore files",
            "exceeds github's file size limit",
        ])])
        .confidence(60),
    ],
    not_this: "lock (GIT-3); identity (GIT-2)",
    ladder: &[
        Rung::act(
            actions::SNAPSHOT_OUTPUTS,
            "never bypass the check; snapshot the outputs",
            "I kept a snapshot of the results.",
        ),
        Rung { what: "save the place and ask, with the words of the check", ..Rung::ask() },
    ],
    budget: BUDGET,
    notify: Notify::Always,
    recheck: Recheck {
        what: "commit holds the recorded hashes",
        probe: Some(probes::COMMIT_HOLDS_OUTPUTS),
    },
    texts: Texts {
        what: "The project's history refused the results.",
        why: Some("A check of yours, a size limit or an ignore rule stopped them."),
        healed: "The results are in the history now.",
        ask: "Fix what your commit check reports",
        resume: Resume::Retry,
        ask_kind: "fix_commit_check",
        tool: "the history",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "real git with a hook that ends with 1; an ignore rule that covers an output; a signature that can't be made",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const GIT_7: Row = Row {
    id: "GIT-7",
    title: "Repository damaged",
    severity: Severity::S1,
    matchers: &[
        Matcher::new(&[Pattern::is(Source::Exit, signals::INTEGRITY_FAILED)])
            .unless(&[Pattern::report(signals::PARTIAL_CLONE)]),
        Matcher::new(&[Pattern::report(signals::OBJECT_DAMAGED)])
            .unless(&[Pattern::report(signals::PARTIAL_CLONE)]),
        Matcher::new(&[
            Pattern::words(&["loose object", "object file", "packfile", "sha1 file"]),
            Pattern::words(&[
                "is corrupt",
                "is empty",
                "cannot be accessed",
                "does not match index",
            ]),
        ])
        .unless(&[Pattern::report(signals::PARTIAL_CLONE)])
        .tools(GIT_TOOLS)
        .confidence(60),
        Matcher::new(&[
            Pattern::words(&[".git/objects/"]),
            Pattern::words(&["is corrupt", "is empty"]),
        ])
        .unless(&[Pattern::report(signals::PARTIAL_CLONE)])
        .confidence(60),
    ],
    not_this: "shallow or partial clone",
    ladder: &[
        Rung::act(
            actions::SNAPSHOT_ELSEWHERE,
            "stop writing; snapshot all outputs elsewhere",
            "I kept a snapshot of the results in another place.",
        ),
        Rung::act(
            actions::FETCH_INTO_COPY,
            "fetch objects from the remote into a copy",
            "I tried to fetch what is missing.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::Always,
    recheck: Recheck {
        what: "integrity check passes; recorded hashes found",
        probe: Some(probes::HISTORY_SOUND),
    },
    texts: Texts {
        what: "The project's history is damaged.",
        why: Some("Some of its files are missing or can't be read."),
        healed: "The history is whole again.",
        ask: "Restore the project folder's history from a backup",
        resume: Resume::Watch(probes::HISTORY_SOUND),
        ask_kind: "restore_backup",
        tool: "the history",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "real git with damaged object files, with and without a remote that still has them",
    },
    available: Available::Now,
    passing: false,
};
