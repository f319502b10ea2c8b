//! LG-1 to LG-5: no durable event, no action.

use pcbflow_core::evidence::{Matcher, Pattern, codes};
use pcbflow_core::row::{
    Available, BUDGET, Notify, Recheck, Recipe, RecipeKind, Resume, Row, Rung, Severity, Texts,
};

use super::{actions, probes};
use crate::signals;

/// A newer format is no damage, whatever the engine calls it.
const NEWER: &[Pattern] =
    &[Pattern::file(signals::FORMAT_NEWER), Pattern::file(signals::SCHEMA_NEWER)];

/// A live owner, or damage that a check has proven: then it is not just a killed writer.
const MORE_THAN_KILLED: &[Pattern] = &[
    Pattern::own(codes::CLAIM_HELD),
    Pattern::own(signals::CHAIN_BROKEN),
    Pattern::own(signals::BEHIND_ANCHOR),
    Pattern::report(signals::CUT_SHORT),
];

pub(super) const LG_1: Row = Row {
    id: "LG-1",
    title: "Disk full",
    severity: Severity::S1,
    matchers: &[
        Matcher::new(&[Pattern::own(codes::DISK_FULL)]),
        Matcher::new(&[Pattern::report(signals::STORAGE_FULL)]),
        Matcher::new(&[
            Pattern::report(signals::PREVIOUS_IO_ERROR),
            Pattern::report(signals::STORAGE_FULL),
        ]),
        Matcher::new(&[Pattern::words(&[
            "no space left on device",
            "disk quota exceeded",
            "there is not enough space on the disk",
        ])])
        .unless(&[Pattern::own(codes::READ_ONLY), Pattern::report(signals::FILE_SIZE_LIMIT)])
        .confidence(60),
    ],
    not_this: "read-only (LG-4); file-size limit; damage (LG-2)",
    ladder: &[
        Rung::act(
            actions::DROP_HANDLE,
            "start no step; drop the handle, which refuses everything even once space is back",
            "I closed the record.",
        ),
        Rung::act(
            actions::FREE_OWN_SPACE,
            "give up the reserved block and our own caches, nothing else",
            "I gave back the space that I had kept.",
        ),
        Rung::act(
            actions::REOPEN_AND_CHECK,
            "reopen, check the chain, record what was missed",
            "I opened the record again and checked it.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "reopened count and head equal the last acknowledged event; one test event is durable",
        probe: Some(probes::HEAD_IS_ACKNOWLEDGED),
    },
    texts: Texts {
        what: "The disk is full.",
        why: Some("There is no space left to write down what I do."),
        healed: "There is enough space again.",
        ask: "Free some disk space",
        resume: Resume::Watch(probes::HEAD_IS_ACKNOWLEDGED),
        ask_kind: "free_disk_space",
        tool: "the computer",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "a small real file system in memory that is filled, for the board and for the ledger; real kicad-cli, which says saved and writes nothing",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const LG_2: Row = Row {
    id: "LG-2",
    title: "Ledger tampered with or cut short",
    severity: Severity::S1,
    matchers: &[
        Matcher::new(&[Pattern::own(signals::CHAIN_BROKEN)]).unless(NEWER),
        Matcher::new(&[Pattern::own(signals::BEHIND_ANCHOR)]).unless(NEWER),
        Matcher::new(&[Pattern::report(signals::CUT_SHORT)]).unless(&[
            Pattern::file(signals::FORMAT_NEWER),
            Pattern::file(signals::SCHEMA_NEWER),
            Pattern::report(signals::REPAIR_NEEDED),
        ]),
        Matcher::new(&[Pattern::file(signals::EMPTY_BUT_KNOWN)]),
        Matcher::new(&[Pattern::file(signals::ABSENT_BUT_KNOWN)]),
    ],
    not_this: "newer format, which the storage engine also calls corrupted (read the version byte first: LG-3); killed writer (LG-5); a fresh clone",
    ladder: &[
        Rung::act(
            actions::COPY_ASIDE,
            "stop all writing; copy the file aside with its hash",
            "I kept a copy.",
        ),
        Rung::act(
            actions::FIND_BREAK,
            "report first bad and last good event",
            "I looked for the last good step.",
        ),
        Rung {
            what: "ask; going on opens a new segment that names the old head; nothing is repaired in place",
            ..Rung::ask()
        },
    ],
    budget: BUDGET,
    notify: Notify::Always,
    recheck: Recheck {
        what: "full check from the first event and anchor match",
        probe: Some(probes::CHAIN_AND_ANCHOR),
    },
    texts: Texts {
        what: "The project record was changed or cut short.",
        why: Some("It does not match my notes."),
        healed: "The record is whole again.",
        ask: "Choose: restore the record from a backup, or go on from the last good step",
        resume: Resume::Watch(probes::CHAIN_AND_ANCHOR),
        ask_kind: "choose_record",
        tool: "the record",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "bytes of a real ledger file are changed and its tail is cut; a sound ledger beside it records the ladder, for a damaged one takes no events",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const LG_3: Row = Row {
    id: "LG-3",
    title: "Ledger written by a newer release",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::file(signals::FORMAT_NEWER)]),
        Matcher::new(&[Pattern::file(signals::SCHEMA_NEWER)]),
        // The engine's word for a newer format; the version byte tells it from damage.
        Matcher::new(&[Pattern::report(signals::CUT_SHORT), Pattern::file(signals::FORMAT_NEWER)]),
    ],
    not_this: "damage (LG-2); older format (convert a copy, check, swap, keep the old)",
    ladder: &[Rung { what: "write nothing; no downgrade; ask", ..Rung::ask() }],
    budget: BUDGET,
    notify: Notify::Always,
    recheck: Recheck {
        what: "newer build opens it; head equals the anchor",
        probe: Some(probes::FORMAT_KNOWN),
    },
    texts: Texts {
        what: "The record was written by a newer release of this tool.",
        why: Some("This release of pcbflow can't write in it."),
        healed: "This release can read and write the record.",
        ask: "Install the newest release of this tool",
        resume: Resume::Retry,
        ask_kind: "install_tool",
        tool: "pcbflow",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "a real ledger file with the format number and bytes of a later release",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const LG_4: Row = Row {
    id: "LG-4",
    title: "Ledger or folder read-only",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::own(codes::READ_ONLY)]).unless(&[Pattern::own(codes::DISK_FULL)]),
        Matcher::new(&[Pattern::report(signals::OPEN_REFUSED)])
            .unless(&[Pattern::own(codes::DISK_FULL), Pattern::report(signals::ALREADY_OPEN)]),
        Matcher::new(&[Pattern::words(&["read-only file system"])]).confidence(60),
    ],
    not_this: "disk full (LG-1); already-open error (a handle opened in another mode)",
    ladder: &[Rung {
        what: "reading commands go on; no run starts; ask; rights are never changed",
        ..Rung::ask()
    }],
    budget: BUDGET,
    notify: Notify::Always,
    recheck: Recheck {
        what: "opened for writing; one test event is durable",
        probe: Some(probes::WRITABLE),
    },
    texts: Texts {
        what: "I can't write in the project folder.",
        why: Some("The folder, or the disk that holds it, can only be read."),
        healed: "I can write in the project folder again.",
        ask: "Make the project folder writable",
        resume: Resume::Watch(probes::WRITABLE),
        ask_kind: "make_writable",
        tool: "the project folder",
    },
    recipe: Recipe { kind: RecipeKind::Real, how: "a real folder mounted read-only" },
    available: Available::Now,
    passing: false,
};

pub(super) const LG_5: Row = Row {
    id: "LG-5",
    title: "Last writer was killed",
    severity: Severity::S3,
    matchers: &[
        Matcher::new(&[
            Pattern::own(signals::WRITER_GONE),
            Pattern::report(signals::REPAIR_NEEDED),
        ])
        .unless(MORE_THAN_KILLED),
        Matcher::new(&[Pattern::own(signals::WRITER_GONE)]).unless(MORE_THAN_KILLED),
        Matcher::new(&[Pattern::report(signals::REPAIR_NEEDED)]).unless(MORE_THAN_KILLED),
    ],
    not_this: "live owner (AG-10); damage (LG-2)",
    ladder: &[Rung::act(
        actions::OPEN_FOR_WRITING_ONCE,
        "make sure no owner lives; open for writing once, the engine repairs; chain check; then ST-2",
        "I opened the record once to mend it.",
    )],
    budget: BUDGET,
    notify: Notify::Never,
    recheck: Recheck {
        what: "chain check and anchor match; read-only open works",
        probe: Some(probes::CHAIN_AND_ANCHOR),
    },
    texts: Texts {
        what: "The last run ended before it could close the record.",
        why: Some("It was stopped from outside, or the computer went off."),
        healed: "The record is whole.",
        ask: "",
        resume: Resume::Nothing,
        ask_kind: "nothing",
        tool: "the record",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "a real writer process is ended in the middle of a step; a reader opens the file before any writer does",
    },
    available: Available::Now,
    passing: false,
};
