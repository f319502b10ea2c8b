//! Typed evidence as the subsystems report it, with its noise; and what only looks like it.

use std::collections::BTreeSet;

use pcbflow_checkpoint::signals as checkpoint;
use pcbflow_core::evidence::{Signal, Source, codes};
use pcbflow_core::ids::ClassId;
use pcbflow_kicad::signals as kicad;
use pcbflow_process::signals as process;
use pcbflow_process::signals::LAYER_DOCTOR;
use pcbflow_store::signals as store;

use super::{diagnose, own_rows};

pub(super) fn own(code: &str) -> Signal {
    Signal::new(Source::Own, code)
}
pub(super) fn report(code: &str) -> Signal {
    Signal::new(Source::Report, code)
}
pub(super) fn file(code: &str) -> Signal {
    Signal::new(Source::File, code)
}
pub(super) fn exit(status: i32) -> Signal {
    Signal::exit_status(status)
}
pub(super) fn said(words: &str) -> Signal {
    Signal::words(codes::STDERR, words)
}
pub(super) fn not_found(program: &str) -> Signal {
    Signal::spawn_not_found(program)
}

/// One case of typed evidence as a subsystem would report it, with its noise.
type Case = (&'static str, &'static str, &'static str, Vec<Signal>);

fn cases_of_computer_and_scripts() -> Vec<Case> {
    let old = |text| Signal::new(Source::Exit, codes::VERSION_TOO_OLD).text(text);
    let script = "process/script";
    vec![
        ("ENV-1", script, "node", vec![not_found("node")]),
        ("ENV-1", LAYER_DOCTOR, "node", vec![exit(0), old("node 16.2.0")]),
        (
            "ENV-2",
            script,
            "python3",
            vec![exit(127), not_found("python3"), said("python3: not found")],
        ),
        ("ENV-3", LAYER_DOCTOR, "", vec![file(process::TOOL_ABSENT).text("chrome")]),
        (
            "ENV-4",
            LAYER_DOCTOR,
            "",
            vec![not_found("kicad-cli"), file(process::TOOL_ABSENT).text("kicad-cli")],
        ),
        ("ENV-5", LAYER_DOCTOR, "claude", vec![report(process::ASSISTANT_NO_ACCOUNT)]),
        ("ENV-6", script, "", vec![own(codes::WRONG_SYSTEM).text("linux")]),
        ("ENV-6", script, "", vec![not_found("powershell.exe")]),
        (
            "ENV-7",
            script,
            "sh",
            vec![
                exit(1),
                file(process::PATH_AWKWARD).text("a b/c"),
                said("cat: a: No such file or directory"),
            ],
        ),
        ("ENV-8", "checkpoint/commit", "git", vec![not_found("/usr/bin/git")]),
        ("ENV-8", LAYER_DOCTOR, "", vec![own(process::TOOL_MISSING_FOR_PHASE).text("rsync")]),
        ("ENV-1", LAYER_DOCTOR, "", vec![own(process::TOOL_MISSING_FOR_PHASE).text("node")]),
        ("ENV-9", script, "", vec![own(codes::DEPENDENCY_MISSING).text("pyyaml")]),
        (
            "SC-1",
            script,
            "python3",
            vec![
                exit(1),
                report(codes::EXCEPTION).text("ZeroDivisionError"),
                said("ZeroDivisionError"),
            ],
        ),
        ("SC-1", script, "", vec![Signal::exit_signal(11), said("Segmentation fault")]),
        (
            "SC-2",
            script,
            "sh",
            vec![exit(127), not_found("freerouting"), said("sh: freerouting: not found")],
        ),
        (
            "SC-2",
            script,
            "python3",
            vec![exit(1), report(codes::MODULE_NOT_FOUND).text("yaml"), report(codes::EXCEPTION)],
        ),
        (
            "SC-3",
            script,
            "",
            vec![own(codes::DEADLINE_PASSED).number(60_000), Signal::exit_signal(9)],
        ),
        (
            "SC-4",
            script,
            "",
            vec![own(codes::OUTPUT_ENDLESS).number(1 << 30), Signal::exit_signal(9)],
        ),
        ("SC-4", script, "", vec![own(process::STATE_REPEATED).number(3)]),
        ("SC-5", script, "", vec![own(codes::MEMORY_OVER_LIMIT), Signal::exit_signal(9)]),
        (
            "SC-5",
            "kicad/drc",
            "kicad-cli",
            vec![Signal::exit_signal(9), Signal::new(Source::Exit, process::OUT_OF_MEMORY_RECORD)],
        ),
        (
            "SC-6",
            script,
            "",
            vec![own(codes::RETRIES_USED_UP).number(4), own(codes::DEADLINE_PASSED)],
        ),
        ("SC-7", script, "", vec![exit(0), report(codes::ENVELOPE_FAILED)]),
        ("SC-7", script, "", vec![exit(0), file(codes::OUTPUT_STALE).text("out/drc.json")]),
        (
            "SC-8",
            script,
            "",
            vec![own(process::WRITE_OUTCOME_UNKNOWN), own(codes::DEADLINE_PASSED)],
        ),
    ]
}

fn cases_of_history_and_record() -> Vec<Case> {
    let (commit, push) = ("checkpoint/commit", "checkpoint/push");
    vec![
        ("ST-1", commit, "git", vec![own(checkpoint::OUTPUT_NOT_COMMITTED).text("out/drc.json")]),
        (
            "ST-2",
            "engine",
            "",
            vec![own(codes::INTENT_WITHOUT_RESULT), own(checkpoint::OWNER_GONE)],
        ),
        ("ST-3", commit, "", vec![report(checkpoint::MANIFEST_DIFFERS)]),
        ("ST-4", commit, "", vec![own(checkpoint::NOTE_OUTDATED)]),
        ("ST-5", "engine", "", vec![own(checkpoint::RESULT_ON_RECORD)]),
        (
            "GIT-1",
            push,
            "git",
            vec![
                exit(128),
                report(checkpoint::CREDENTIAL_MISSING),
                said("fatal: could not read Username"),
            ],
        ),
        (
            "GIT-2",
            commit,
            "git",
            vec![
                exit(128),
                report(checkpoint::IDENTITY_MISSING),
                said("*** Please tell me who you are."),
            ],
        ),
        (
            "GIT-3",
            commit,
            "git",
            vec![exit(128), file(checkpoint::LOCK_FILE).text(".git/index.lock")],
        ),
        (
            "GIT-4",
            push,
            "git",
            vec![exit(1), report(checkpoint::PUSH_REJECTED), said("Updates were rejected because")],
        ),
        (
            "GIT-5",
            push,
            "git",
            vec![
                exit(128),
                own(checkpoint::HOST_UNREACHABLE).text("github.com"),
                report(checkpoint::CREDENTIAL_MISSING),
            ],
        ),
        (
            "GIT-6",
            commit,
            "git",
            vec![exit(1), report(checkpoint::HOOK_REFUSED).text("trailing blanks")],
        ),
        (
            "GIT-7",
            commit,
            "git",
            vec![
                Signal::new(Source::Exit, checkpoint::INTEGRITY_FAILED).number(2),
                report(checkpoint::OBJECT_DAMAGED),
            ],
        ),
        (
            "LG-1",
            "kicad/drc",
            "kicad-cli",
            vec![
                exit(0),
                said("Saved DRC Report"),
                report(kicad::REPORT_EMPTY),
                own(codes::DISK_FULL).number(0),
            ],
        ),
        (
            "LG-1",
            "kicad/gerbers",
            "kicad-cli",
            vec![
                exit(134),
                Signal::exit_signal(6),
                own(codes::DISK_FULL),
                own(codes::DEADLINE_PASSED),
            ],
        ),
        ("LG-2", "store", "", vec![own(store::CHAIN_BROKEN).number(17)]),
        ("LG-2", "store", "", vec![report(store::CUT_SHORT)]),
        ("LG-3", "store", "", vec![report(store::CUT_SHORT), file(store::FORMAT_NEWER).number(9)]),
        ("LG-4", "kicad/gerbers", "kicad-cli", vec![exit(4), own(codes::READ_ONLY).text("out")]),
        ("LG-5", "store", "", vec![own(store::WRITER_GONE), report(store::REPAIR_NEEDED)]),
    ]
}

fn cases_of_kicad() -> Vec<Case> {
    let (drc, tool) = ("kicad/drc", "kicad-cli");
    vec![
        ("KI-1", kicad::LAYER_BOARD_EXPORT, "", vec![file(codes::OUTPUT_EMPTY).text("board.json")]),
        (
            "KI-2",
            "kicad/import",
            tool,
            vec![exit(0), report(kicad::FOOTPRINTS_DROPPED).number(3).text("U7, U9, R12")],
        ),
        ("KI-3", "kicad/import", tool, vec![report(kicad::HOLES_LOST).number(4)]),
        ("KI-4", "kicad/import", tool, vec![report(kicad::NET_PINS_DIFFER).text("GND")]),
        ("KI-5", drc, tool, vec![not_found("kicad-cli")]),
        (
            "KI-5",
            "process/script",
            "sh",
            vec![exit(127), not_found("kicad-cli"), said("kicad-cli: command not found")],
        ),
        (
            "KI-5",
            drc,
            tool,
            vec![exit(255), report(kicad::INSTALL_BROKEN), report(kicad::REPORT_MISSING)],
        ),
        ("KI-6", drc, tool, vec![exit(5), file(kicad::PRO_MISSING)]),
        ("KI-6", drc, tool, vec![exit(0), said("Saved DRC Report"), report(kicad::REPORT_MISSING)]),
        (
            "KI-6",
            drc,
            tool,
            vec![exit(255), report(kicad::PARITY_NOT_RUN), report(kicad::REPORT_MISSING)],
        ),
        (
            "KI-7",
            "kicad/jobset",
            tool,
            vec![Signal::exit_signal(11), report(kicad::REPORT_MISSING)],
        ),
        ("KI-7", "kicad/jobset", "kicad-cli", vec![exit(139), said("Segmentation fault")]),
        (
            "KI-7",
            drc,
            tool,
            vec![exit(3), file(kicad::BOARD_DAMAGED), said("Failed to load board")],
        ),
        ("KI-9", drc, tool, vec![exit(3), file(kicad::INPUT_MISSING).text("b.kicad_pcb")]),
        ("KI-9", "kicad/erc", tool, vec![file(kicad::SHEET_MISSING).text("power.kicad_sch")]),
        (
            "KI-8",
            drc,
            tool,
            vec![
                exit(3),
                file(kicad::FORMAT_TOO_NEW).number(20_260_206),
                said("Failed to load board"),
            ],
        ),
        (
            "KI-8",
            drc,
            tool,
            vec![exit(255), file(kicad::FORMAT_TOO_OLD), report(kicad::PARITY_NOT_RUN)],
        ),
        (
            "SC-3",
            drc,
            tool,
            vec![
                own(codes::DEADLINE_PASSED),
                Signal::exit_signal(9),
                report(kicad::REPORT_MISSING),
            ],
        ),
    ]
}

#[test]
fn one_typed_case_for_each_id_gives_exactly_that_id() {
    let mut cases = cases_of_computer_and_scripts();
    cases.extend(cases_of_history_and_record());
    cases.extend(cases_of_kicad());
    let covered: BTreeSet<&str> = cases.iter().map(|c| c.0).collect();
    let all: BTreeSet<&str> = own_rows().iter().map(|r| r.id).collect();
    assert_eq!(covered, all);
    for (want, layer, tool, signals) in cases {
        let found = diagnose(layer, tool, &signals);
        assert_eq!(found.class.as_str(), want, "{signals:?} was taken by {}", found.rule);
        assert!(found.known);
    }
}

#[test]
fn look_alikes_stay_unknown() {
    let silent: Vec<Case> = vec![
        // A status says nothing by itself, whatever the words around it.
        ("exit 1", "process/script", "sh", vec![exit(1), said("it did not work")]),
        ("git 128", "checkpoint/commit", "git", vec![exit(128), said("fatal: bad revision")]),
        ("input missing", "process/script", "sh", vec![exit(2), file(process::INPUT_MISSING)]),
        (
            "no right to run",
            "process/script",
            "sh",
            vec![exit(126), said("./x: Permission denied")],
        ),
        (
            "renumbered",
            "kicad/import",
            "",
            vec![report(kicad::FOOTPRINTS_DROPPED), report(kicad::REFERENCES_RENUMBERED)],
        ),
        (
            "not fitted",
            "kicad/import",
            "",
            vec![report(kicad::FOOTPRINTS_DROPPED), report(kicad::NOT_FITTED_ONLY)],
        ),
        (
            "moved holes",
            "kicad/import",
            "",
            vec![report(kicad::HOLES_LOST), report(kicad::HOLES_MOVED)],
        ),
        (
            "renamed nets",
            "kicad/import",
            "",
            vec![report(kicad::NET_PINS_DIFFER), report(kicad::NETS_RENAMED)],
        ),
        (
            "side files",
            "checkpoint/commit",
            "git",
            vec![report(checkpoint::OUTPUT_PATHS_DIRTY), report(checkpoint::ONLY_SIDE_FILES)],
        ),
        (
            "unsaved",
            "checkpoint/compare",
            "",
            vec![report(checkpoint::MANIFEST_DIFFERS), report(checkpoint::UNSAVED_CHANGES)],
        ),
        (
            "decision",
            "engine",
            "",
            vec![own(checkpoint::NOTE_OUTDATED), own(checkpoint::NOTE_IS_DECISION)],
        ),
        (
            "inputs changed",
            "engine",
            "",
            vec![own(checkpoint::RESULT_ON_RECORD), own(checkpoint::INPUTS_CHANGED)],
        ),
        (
            "shallow clone",
            "checkpoint/commit",
            "git",
            vec![report(checkpoint::OBJECT_DAMAGED), report(checkpoint::PARTIAL_CLONE)],
        ),
        (
            "true empty answer",
            "process/script",
            "",
            vec![file(codes::OUTPUT_EMPTY), report(process::EMPTY_CONFIRMED)],
        ),
        (
            "equal parts",
            "process/script",
            "",
            vec![report(process::MORE_THAN_PLANNED), report(process::PLANNED_SEVERAL_TIMES)],
        ),
        (
            "ended by a person",
            "process/script",
            "",
            vec![own(process::STOPPED_BY_PERSON), Signal::exit_signal(15)],
        ),
        ("state seen twice", "process/script", "", vec![own(process::STATE_REPEATED).number(2)]),
        (
            "other handle",
            "store",
            "",
            vec![report(store::OPEN_REFUSED), report(store::ALREADY_OPEN)],
        ),
        ("file size limit", "store", "", vec![report(store::FILE_SIZE_LIMIT)]),
    ];
    for (name, layer, tool, signals) in silent {
        let found = diagnose(layer, tool, &signals);
        assert!(!found.known, "{name} was taken for {}", found.rule);
        assert_eq!(found.class, ClassId::new("SC-1").expect("an id"), "{name}");
    }
}
