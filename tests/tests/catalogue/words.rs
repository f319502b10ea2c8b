//! Words: the last resort, with low confidence, and never where they mean nothing.

use pcbflow_checkpoint::signals as checkpoint;
use pcbflow_core::catalogue::Diagnosis;
use pcbflow_core::evidence::{Signal, codes};
use pcbflow_kicad::signals as kicad;

use super::cases::{exit, file, report, said};
use super::diagnose;

/// What somebody pasted: words, and nothing else.
fn pasted(words: &str) -> Diagnosis {
    diagnose("", "", &[Signal::words(codes::MESSAGE, words)])
}

#[test]
fn pasted_words_find_their_row_with_low_confidence() {
    for (want, words) in [
        ("KI-5", "bash: kicad-cli: command not found"),
        ("SC-2", "ModuleNotFoundError: No module named 'yaml'"),
        ("LG-1", "cp: error writing 'x': No space left on device"),
        ("LG-4", "touch: cannot touch 'x': Read-only file system"),
        ("GIT-2", "*** Please tell me who you are."),
        ("GIT-2", "fatal: not a git repository (or any of the parent directories): .git"),
        ("GIT-3", "fatal: Unable to create '/w/.git/index.lock': File exists."),
        ("GIT-4", "CONFLICT (content): Merge conflict in door-sensor.kicad_pcb"),
        ("GIT-1", "fatal: Authentication failed for 'https://github.com/a/b.git/'"),
        ("GIT-1", "$ git push\nremote: Invalid username.\nfatal: Authentication failed"),
        (
            "GIT-5",
            "fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com",
        ),
        (
            "KI-8",
            "Failed to load board: created with a more recent version than the one you are running.",
        ),
        ("KI-8", "This file was created by a newer version of KiCad."),
        ("KI-7", "Failed to load board"),
        ("KI-7", "Failed to load schematic\n"),
        ("GIT-4", "error: failed to push some refs to 'origin'"),
        ("KI-7", "kicad-cli jobset run: Segmentation fault (core dumped)"),
        ("ENV-7", "open: File name too long"),
        ("ENV-6", "./tool: cannot execute binary file: Exec format error"),
    ] {
        let found = pasted(words);
        assert_eq!((found.class.as_str(), found.confidence), (want, 60), "{words}");
    }
    let found = diagnose("checkpoint/push", "git", &[said("ssh: Could not resolve hostname x")]);
    assert_eq!(found.class.as_str(), "GIT-5");
}

#[test]
fn words_that_mean_nothing_by_themselves_stay_unknown() {
    for words in [
        "Permission denied",
        "rm: cannot remove 'out/x': Permission denied",
        "FATAL: password authentication failed for user \"ci\"",
        "AssertionError: expected key 'timeout' to be 30",
        "TimeoutError: waited 30000ms for selector",
        "KeyError: 'timeout_ms'",
        "No match for net GND",
        "curl: (6) Could not resolve host: example.org",
        "Segmentation fault (core dumped)",
        "! [remote rejected] main (pre-receive hook declined)\nerror: failed to push some refs to 'o'",
        "Killed",
        "module found, lock taken, disk checked",
        "error: expected '}' at end of input",
    ] {
        let found = pasted(words);
        assert!(!found.known, "{words:?} was taken for {}", found.rule);
        assert_eq!(found.class.as_str(), "SC-1");
    }
}

#[test]
fn a_fact_outranks_any_words() {
    let words = said("No space left on device; timeout; Please tell me who you are");
    for (want, fact) in [
        ("GIT-3", file(checkpoint::LOCK_FILE)),
        ("KI-6", report(kicad::CANARY_NOT_HIT)),
        ("SC-7", file(codes::OUTPUT_STALE)),
    ] {
        assert_eq!(
            diagnose("process/script", "", &[words.clone(), exit(1), fact]).class.as_str(),
            want
        );
    }
}
