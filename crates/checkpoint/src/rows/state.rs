//! ST-1 to ST-5: what was done, and where the work stands.

use pcbflow_core::evidence::{Matcher, Pattern, codes};
use pcbflow_core::row::{
    AT_ONCE, Available, BUDGET, Notify, Recheck, Recipe, RecipeKind, Resume, Row, Rung, Severity,
    Texts,
};

use super::{actions, probes};
use crate::signals;

pub(super) const ST_1: Row = Row {
    id: "ST-1",
    title: "Phase output not committed",
    severity: Severity::S1,
    matchers: &[
        Matcher::new(&[Pattern::own(signals::OUTPUT_NOT_COMMITTED)]),
        Matcher::new(&[Pattern::report(signals::OUTPUT_PATHS_DIRTY)])
            .unless(&[Pattern::report(signals::ONLY_SIDE_FILES)]),
    ],
    not_this: "side files of tools (KiCad writes a local-settings file beside the board); the person's own edits",
    ladder: &[
        Rung::act(
            actions::COMMIT_OUTPUTS,
            "commit the named paths once, with phase and record head; refused: a row of GIT",
            "I saved the results in the history.",
        ),
        Rung::act(
            actions::SNAPSHOT_OUTPUTS,
            "no git: content-addressed snapshot; never stash, reset or clean",
            "I kept a snapshot of the results.",
        ),
    ],
    budget: BUDGET,
    notify: Notify::Never,
    recheck: Recheck {
        what: "commit holds the recorded hashes; paths clean",
        probe: Some(probes::OUTPUTS_KEPT),
    },
    texts: Texts {
        what: "The results of this phase were not in the history yet.",
        why: Some("The work stopped before they were saved there."),
        healed: "The results are saved now.",
        ask: "",
        resume: Resume::Nothing,
        ask_kind: "nothing",
        tool: "the history",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "real git with a commit check that puts other words into an output, once and each time",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const ST_2: Row = Row {
    id: "ST-2",
    title: "Run was cut short",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::own(codes::INTENT_WITHOUT_RESULT)])
            .unless(&[Pattern::own(codes::CLAIM_HELD)]),
        Matcher::new(&[
            Pattern::own(codes::INTENT_WITHOUT_RESULT),
            Pattern::own(signals::OWNER_GONE),
        ])
        .unless(&[Pattern::own(codes::CLAIM_HELD)]),
    ],
    not_this: "owner alive (AG-10); a finished step without a verdict",
    ladder: &[
        Rung::read_back(
            "fold the record; compare live board and committed files; read back the open step",
            "I checked the board project against the last good step.",
        ),
        Rung::retry(
            "replay-the-missing",
            AT_ONCE,
            "replay only the missing; say where it resumed",
            "I did only the missing step again.",
        ),
    ],
    budget: BUDGET,
    notify: Notify::Never,
    recheck: Recheck {
        what: "finished steps unchanged in count and hash; none ran twice",
        probe: Some(probes::FINISHED_UNCHANGED),
    },
    texts: Texts {
        what: "Work on this board was cut short.",
        why: Some("The computer stopped during the step {step}."),
        healed: "I will redo only that step.",
        ask: "",
        resume: Resume::Nothing,
        ask_kind: "nothing",
        tool: "the project folder",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "the release binary is ended from outside in the middle of a real step and started again",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const ST_3: Row = Row {
    id: "ST-3",
    title: "Manifest does not match the live board",
    severity: Severity::S2,
    matchers: &[Matcher::new(&[Pattern::report(signals::MANIFEST_DIFFERS)]).unless(&[
        Pattern::report(signals::UNSAVED_CHANGES),
        Pattern::report(signals::READS_DISAGREE),
        Pattern::report(signals::LAYOUT_ONLY),
    ])],
    not_this: "unsaved editor changes; stale read (EDA-14); layout-only difference",
    ladder: &[
        Rung::act(
            actions::CORRECT_RECORD,
            "read twice; live wins for facts, the record for what was done: correction event, machine keys only",
            "I took over the facts from the board.",
        ),
        Rung::act(
            actions::UNVERIFY_AFFECTED,
            "affected verdicts become unverified, check again",
            "I set those checks to run again.",
        ),
        Rung { what: "live is behind or a passed phase is contradicted: ask", ..Rung::ask() },
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck { what: "second comparison equal", probe: Some(probes::MANIFEST_EQUALS_LIVE) },
    texts: Texts {
        what: "The board and the project record differ.",
        why: Some("One was changed without the other."),
        healed: "Both say the same again.",
        ask: "Choose which to keep: the board in EasyEDA or the project record",
        resume: Resume::Watch(probes::MANIFEST_EQUALS_LIVE),
        ask_kind: "choose_version",
        tool: "EasyEDA",
    },
    recipe: Recipe {
        kind: RecipeKind::SmallProgram,
        how: "a real board file is edited, or removed, after it was recorded; a small step looks at it, for the steps of the editor come later",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const ST_4: Row = Row {
    id: "ST-4",
    title: "Old session note taken as truth",
    severity: Severity::S3,
    matchers: &[Matcher::new(&[Pattern::own(signals::NOTE_OUTDATED)])
        .unless(&[Pattern::own(signals::NOTE_IS_DECISION)])],
    not_this: "the engineer's decisions, which hold until changed",
    ladder: &[
        Rung::act(
            actions::READ_LIVE,
            "ignore the note, read live",
            "I read the board itself, not the old note.",
        ),
        Rung::act(
            actions::SUPERSEDE_NOTE,
            "mark the note superseded",
            "I marked the old note as out of date.",
        ),
    ],
    budget: BUDGET,
    notify: Notify::Never,
    recheck: Recheck {
        what: "the acting value comes from an event newer than the last change",
        probe: Some(probes::VALUE_IS_NEWEST),
    },
    texts: Texts {
        what: "A note from an earlier session was out of date.",
        why: Some("The board has changed since the note was written."),
        healed: "I work with what the board says now.",
        ask: "",
        resume: Resume::Nothing,
        ask_kind: "nothing",
        tool: "the project folder",
    },
    recipe: Recipe {
        kind: RecipeKind::SmallProgram,
        how: "a note that names an older head lies in a real workspace; a small step acts on it, for no step of this release reads notes",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const ST_5: Row = Row {
    id: "ST-5",
    title: "Finished work would be redone",
    severity: Severity::S3,
    matchers: &[Matcher::new(&[Pattern::own(signals::RESULT_ON_RECORD)])
        .unless(&[Pattern::own(signals::INPUTS_CHANGED), Pattern::own(signals::ASKED_BY_PERSON)])],
    not_this: "inputs changed; the person asked for it",
    ladder: &[
        Rung::act(
            actions::TAKE_RECORDED_RESULT,
            "skip and say so",
            "I kept the result that was there.",
        ),
        Rung::retry(
            "replay-that-step",
            AT_ONCE,
            "output absent or other hash: replay that step only",
            "I did that one step again.",
        ),
    ],
    budget: BUDGET,
    notify: Notify::Never,
    recheck: Recheck {
        what: "output hash equals the record",
        probe: Some(probes::OUTPUT_EQUALS_RECORD),
    },
    texts: Texts {
        what: "The step {step} was done already.",
        why: Some("Nothing that it depends on has changed."),
        healed: "Its result is there and was not made twice.",
        ask: "",
        resume: Resume::Nothing,
        ask_kind: "nothing",
        tool: "the project folder",
    },
    recipe: Recipe {
        kind: RecipeKind::SmallProgram,
        how: "a small step that is about to make what is on record; in a flow the engine looks first, and a finished board is not run again",
    },
    available: Available::Now,
    passing: false,
};
