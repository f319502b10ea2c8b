//! The step kinds of this crate. Safety belongs to the kind, and a manifest may only make it
//! stricter; so there is one kind for each promise that an engineer can make about a command.

use pcbflow_core::manifest::{KindInfo, Safety};

/// Deadline when the manifest names none, in milliseconds (60 s, as for every check).
const TIMEOUT_MS: u64 = 60_000;

const ARGS: &[(&str, bool, &str)] = &[
    ("argv", false, "program and arguments as a list"),
    ("run", false, "the same as one string, split by quoting rules, without a shell"),
    ("script", false, "script in the board's root; its ending names the interpreter"),
    ("args", false, "arguments of the script"),
    ("cwd", false, "folder to run in, below the board's root"),
    ("env", false, "variables as NAME: value"),
    ("expect", false, "exit statuses that count as pass, 0 without it"),
    ("findings", false, "exit statuses that mean findings (process/check only)"),
    ("envelope", false, "true: the last line of output is a result {\"ok\": ..}"),
    ("requires", false, "tools with versions, lock list and folder of installed packages"),
    ("guard", false, "command that tells whether the effect is there: 0 yes, 1 no"),
    ("recipes", false, "the command for each system: linux, macos, windows"),
    (
        "memory_mb",
        false,
        "most memory of the whole group in MiB, 75 % of the computer's without it",
    ),
    (
        "quiet_s",
        false,
        "longest work without a byte of output, in seconds, before it counts as a loop",
    ),
    ("output_mb", false, "most output per stream in MiB"),
    ("batch", false, "size of a batch, given to the program as PCBFLOW_BATCH"),
];

/// All kinds.
pub const KINDS: &[KindInfo] = &[
    KindInfo {
        name: "process/command",
        about: "Runs a command whose effects nobody promises anything about; never repeated without proof.",
        safety: Safety::Once,
        timeout_ms: TIMEOUT_MS,
        args: ARGS,
        is_check: false,
        public: true,
    },
    KindInfo {
        name: "process/generate",
        about: "Runs a command that only makes the files it declares, the same ones each time.",
        safety: Safety::Idempotent,
        timeout_ms: TIMEOUT_MS,
        args: ARGS,
        is_check: false,
        public: true,
    },
    KindInfo {
        name: "process/check",
        about: "Runs a command that only looks.",
        safety: Safety::ReadOnly,
        timeout_ms: TIMEOUT_MS,
        args: ARGS,
        is_check: true,
        public: true,
    },
];
