//! KI-5 to KI-8: the command-line tool, its checks, board scripts, versions.

use pcbflow_core::evidence::{Matcher, NumberTest, Pattern, Source, codes};
use pcbflow_core::row::{
    AT_ONCE, Available, BUDGET, Notify, Recheck, Recipe, RecipeKind, Resume, Row, RowBudget, Rung,
    Severity, Texts,
};

use super::{KICAD_PROGRAMS, KICAD_TOOLS, actions, probes};
use crate::signals;

/// Three hours: the check of a board of 80 MB takes minutes, and its second deadline is four
/// times the first.
const BUDGET_LONG: RowBudget = RowBudget { attempts_max: 6, ladder_ms_max: 10_800_000 };

/// A killed or crashed process that a shell reports as 128 + signal.
const SHELL_SIGNALS: NumberTest = NumberTest::Between(129, 192);

pub(super) const KI_5: Row = Row {
    id: "KI-5",
    title: "KiCad's command-line tool missing mid-run or wrong version",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::not_found(KICAD_PROGRAMS)]),
        Matcher::new(&[Pattern::exit(127)]).tools(KICAD_TOOLS),
        Matcher::new(&[Pattern::is(Source::Exit, signals::VERSION_OUT_OF_RANGE)]),
        Matcher::new(&[Pattern::is(Source::Exit, codes::VERSION_TOO_OLD)]).tools(KICAD_TOOLS),
        Matcher::new(&[Pattern::exit(1), Pattern::report(signals::FLAGS_REFUSED)]),
        Matcher::new(&[Pattern::exit(255), Pattern::report(signals::INSTALL_BROKEN)]),
        Matcher::new(&[Pattern::report(signals::INSTALL_BROKEN)]),
        // Words that somebody pasted come from a run that called the tool, so they are this row
        // and not ENV-4, which the doctor finds before a run.
        Matcher::new(&[Pattern::words(&[
            "kicad-cli: command not found",
            "kicad-cli: not found",
            "'kicad-cli' is not recognized",
            "kicad-cli not found",
        ])])
        .confidence(60),
    ],
    not_this: "a board saved by a newer KiCad, exit 3 (KI-8); KiCad missing before any step needs it (ENV-4)",
    ladder: &[
        Rung::act(
            actions::FIND_IN_KNOWN_PLACES,
            "look in the known places of this system",
            "I looked in the usual places.",
        ),
        Rung::act(
            actions::USE_OTHER_VERSION,
            "take another installed version in range",
            "I looked for another KiCad version here.",
        ),
        Rung { what: "pause only the steps that need KiCad, go on elsewhere, ask", ..Rung::ask() },
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "version in range and the bundled sample gives its known report",
        probe: Some(probes::KICAD_USABLE),
    },
    texts: Texts {
        what: "I can't run KiCad for this step.",
        why: Some(
            "KiCad's command-line tool is not on this computer, or its version does not fit.",
        ),
        healed: "I found a KiCad that works.",
        ask: "Install KiCad (handbook step 2)",
        resume: Resume::Watch(probes::KICAD_USABLE),
        ask_kind: "install_tool",
        tool: "KiCad",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "a PATH without kicad-cli and a real one in a known place; a version that is not installed",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const KI_6: Row = Row {
    id: "KI-6",
    title: "Design-rule check ran without the board's rules",
    severity: Severity::S1,
    matchers: &[
        Matcher::new(&[Pattern::report(signals::CANARY_NOT_HIT)]),
        Matcher::new(&[Pattern::report(signals::PROBE_NOT_HIT)]),
        Matcher::new(&[Pattern::report(signals::DEFAULT_RULES_USED)]),
        Matcher::new(&[Pattern::report(signals::REPORT_MISSING)]),
        Matcher::new(&[Pattern::report(signals::REPORT_EMPTY)]),
        Matcher::new(&[Pattern::report(signals::REPORT_UNREADABLE)]),
        Matcher::new(&[Pattern::report(signals::REPORT_STALE)]),
        Matcher::new(&[Pattern::report(signals::REPORT_OTHER_BOARD)]),
        Matcher::new(&[Pattern::report(signals::REPORT_CONTRADICTS_EXIT)]),
        Matcher::new(&[Pattern::report(signals::REPORT_CUT)]),
        Matcher::new(&[Pattern::report(signals::PARITY_NOT_RUN)])
            .unless(&[Pattern::file(signals::FORMAT_TOO_OLD)]),
        Matcher::new(&[Pattern::file(signals::PRO_MISSING)]),
        Matcher::new(&[Pattern::file(signals::PRO_EMPTY)]),
        Matcher::new(&[Pattern::file(signals::PRO_UNREADABLE)]),
        Matcher::new(&[Pattern::file(signals::PRO_LINK_TEXT)]),
        Matcher::new(&[Pattern::file(signals::PRO_WITHOUT_RULES)]),
        Matcher::new(&[Pattern::file(signals::RULESET_CHANGED)]),
        Matcher::new(&[Pattern::file(signals::RULES_FILE_BROKEN)]),
    ],
    not_this: "a clean board; exit 0 or 5, for wrong rules give false faults as well as false all-clear; a full disk (LG-1) or read-only folder (LG-4) seen by our own probe",
    ladder: &[
        Rung::act(
            actions::COPY_WITH_RULES,
            "private copy of board, schematic, recorded rule set and rules file; probe run; real run with a canary",
            "I copied the rules in and ran the check again.",
        ),
        Rung::retry(
            "once-more",
            AT_ONCE,
            "the same once more in a new copy",
            "I ran the check once more.",
        ),
        Rung { what: "no rule set on record: could not verify, ask", ..Rung::ask() },
    ],
    budget: BUDGET_LONG,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "probe and canary both hit, the canary left out of the counts; rule set hash, tool version and report hash recorded",
        probe: Some(probes::RULES_IN_FORCE),
    },
    texts: Texts {
        what: "I could not trust the result of this check.",
        why: Some("KiCad did not show that it used this board's own rules."),
        healed: "The check has now used the board's own rules.",
        ask: "Choose the rule set for this board",
        resume: Resume::Retry,
        ask_kind: "choose_rules",
        tool: "KiCad",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "real kicad-cli on a real board whose project file is gone, with and without a recorded rule set",
    },
    available: Available::Now,
    passing: false,
};

/// What KiCad says of a file that it can't load, whatever the reason.
const NOT_LOADED: &[&str] = &["failed to load board", "failed to load schematic"];

pub(super) const KI_7: Row = Row {
    id: "KI-7",
    title: "Board script crashes or uses stale handles",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::is(Source::Exit, codes::SIGNAL)])
            .unless(&[Pattern::is(Source::Own, "")])
            .tools(KICAD_TOOLS),
        Matcher::new(&[Pattern::is(Source::Exit, codes::STATUS).num(SHELL_SIGNALS)])
            .unless(&[Pattern::is(Source::Own, "")])
            .tools(KICAD_TOOLS),
        Matcher::new(&[Pattern::exit(2)]).tools(KICAD_TOOLS),
        Matcher::new(&[Pattern::exit(6)]).tools(KICAD_TOOLS),
        // The fatal status has reasons of its own; each of them is another row.
        Matcher::new(&[Pattern::exit(255)])
            .unless(&[
                Pattern::report(signals::PARITY_NOT_RUN),
                Pattern::report(signals::INSTALL_BROKEN),
                Pattern::file(signals::FORMAT_TOO_NEW),
                Pattern::file(signals::FORMAT_TOO_OLD),
            ])
            .tools(KICAD_TOOLS),
        Matcher::new(&[Pattern::exit(3), Pattern::file(signals::BOARD_DAMAGED)])
            .unless(&[Pattern::file(signals::FORMAT_TOO_NEW)]),
        Matcher::new(&[Pattern::report(codes::EXCEPTION)]).tools(KICAD_TOOLS),
        Matcher::new(&[Pattern::file(signals::BOARD_DAMAGED)])
            .unless(&[Pattern::file(signals::FORMAT_TOO_NEW)]),
        Matcher::new(&[Pattern::words(&["segmentation fault"])]).tools(KICAD_TOOLS).confidence(60),
        Matcher::new(&[
            Pattern::words(&["segmentation fault"]),
            Pattern::words(&["kicad", "pcbnew"]),
        ])
        .confidence(60),
        // Releases up to 9 say this of a missing, a damaged and a newer file alike.
        Matcher::new(&[Pattern::words(NOT_LOADED)])
            .unless(&[
                Pattern::words(&["recent version", "newer version"]),
                Pattern::file(signals::INPUT_MISSING),
                Pattern::file(signals::FORMAT_TOO_NEW),
                Pattern::file(signals::FORMAT_TOO_OLD),
            ])
            .confidence(60),
    ],
    not_this: "version gap (KI-8); passed deadline (SC-3); an input that is not there",
    ladder: &[
        Rung::act(
            actions::ONE_PROCESS_PER_CHANGE,
            "one process per change: load, change, save to temporary, check, rename",
            "I made each change by itself on a copy.",
        ),
        Rung::retry("once-more", AT_ONCE, "once more in a new process", "I ran it once more."),
        Rung::act(
            actions::OTHER_ROUTE,
            "command-line or parser route",
            "I tried another way to do the step.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET_LONG,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "second parser: only the intended items differ",
        probe: Some(probes::ONLY_INTENDED_CHANGES),
    },
    texts: Texts {
        what: "KiCad stopped in the middle of its work on this board.",
        why: None,
        healed: "KiCad finished its work.",
        ask: "Open the board in KiCad and save it",
        resume: Resume::Retry,
        ask_kind: "save_board",
        tool: "KiCad",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "a real board with merge conflict marks; for the cure a small program in place of one version, which ends with a segmentation fault",
    },
    available: Available::Now,
    passing: false,
};

pub(super) const KI_8: Row = Row {
    id: "KI-8",
    title: "KiCad versions do not fit",
    severity: Severity::S2,
    matchers: &[
        Matcher::new(&[Pattern::exit(3), Pattern::file(signals::FORMAT_TOO_NEW)])
            .unless(&[Pattern::file(signals::INPUT_MISSING)]),
        Matcher::new(&[Pattern::exit(255), Pattern::file(signals::FORMAT_TOO_OLD)]),
        Matcher::new(&[Pattern::file(signals::FORMAT_TOO_NEW)])
            .unless(&[Pattern::file(signals::INPUT_MISSING)]),
        Matcher::new(&[Pattern::file(signals::FORMAT_TOO_OLD)]),
        Matcher::new(&[Pattern::words(&[
            "created with a more recent version",
            "created by a more recent version",
            "created by a newer version of kicad",
            "created with a newer version of kicad",
            "unknown token 'generator_version'",
        ])])
        .confidence(60),
    ],
    not_this: "damaged file (header fine, parse fails); missing file: older releases print the same line for all three",
    ladder: &[
        Rung::act(
            actions::USE_OTHER_VERSION,
            "choose an installed version that reads it",
            "I looked for another KiCad version here.",
        ),
        Rung::act_with_go_ahead(
            actions::CONVERT_COPY,
            "convert a copy only; the stored format is never raised unasked",
            "I converted a copy of the board.",
        ),
        Rung::ask(),
    ],
    budget: BUDGET,
    notify: Notify::IfExhausted,
    recheck: Recheck {
        what: "loads; item counts equal before and after",
        probe: Some(probes::FORMAT_READABLE),
    },
    texts: Texts {
        what: "This KiCad version can't open the board.",
        why: Some("The board was saved by another KiCad version."),
        healed: "I found a KiCad version that can open it.",
        ask: "Install the KiCad version this board was saved with",
        resume: Resume::Watch(probes::FORMAT_READABLE),
        ask_kind: "install_tool",
        tool: "KiCad",
    },
    recipe: Recipe {
        kind: RecipeKind::Real,
        how: "real kicad-cli 9 on a board of the format of KiCad 10, which is in a known place for the cure; a format that no version reads",
    },
    available: Available::Now,
    passing: false,
};
