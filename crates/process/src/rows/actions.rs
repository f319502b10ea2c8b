//! Actions that the ladders of ENV and SC name. The subsystem carries them out; each answers done,
//! not possible here, or failed, and none of them judges its own success.

/// ENV-1 to ENV-4: try the path that `pcbflow.toml` configures for the tool.
pub const USE_CONFIGURED_PATH: &str = "use-configured-path";
/// ENV-1 to ENV-5, ENV-8: look in the known places of this system and under the tool's other
/// names (`python3`, `python`, `py`; Chromium for Chrome). When found, record path and version as
/// a note for the next attempts. Never installs, never changes PATH for others.
pub const FIND_IN_KNOWN_PLACES: &str = "find-in-known-places";
/// ENV-5: take another assistant that `pcbflow.toml` configures.
pub const USE_OTHER_ASSISTANT: &str = "use-other-assistant";
/// ENV-6: choose the step's recipe for this system, where it has one.
pub const USE_RECIPE_FOR_SYSTEM: &str = "use-recipe-for-system";
/// ENV-7: pass the arguments as a list, never through a shell.
pub const PASS_AS_LIST: &str = "pass-as-list";
/// ENV-7: expand the tilde and make the path absolute and canonical before it is passed.
pub const CANONICAL_PATH: &str = "canonical-path";
/// ENV-7: copy the input to the attempt's scratch folder under a short plain name and run there;
/// outputs are moved back. Only for steps that read their input.
pub const SHORT_PLAIN_COPY: &str = "short-plain-copy";
/// ENV-8: use the built-in replacement of the tool; not possible where there is none (git).
pub const BUILT_IN_REPLACEMENT: &str = "built-in-replacement";
/// ENV-9, SC-2: run the declared install once, pinned, in the project's own environment, with a
/// deadline of 10 minutes. Not possible without a declared install, or when it would write
/// outside the project. Fill the slot `items` with the exact command.
pub const INSTALL_DECLARED: &str = "install-declared";
/// ENV-9: the same again after a broken download, with the waits 1 s, 4 s, 16 s between at most
/// three tries, on the injected clock. Not possible when the first install failed otherwise.
pub const INSTALL_AFTER_BROKEN_DOWNLOAD: &str = "install-after-broken-download";
/// SC-1, SC-4: hand a script that is ours to change to the repair loop. Not possible without an
/// assistant, or for a program outside the project.
pub const REPAIR_SCRIPT: &str = "repair-script";
/// SC-5: start a new worker for the next block.
pub const FRESH_WORKER: &str = "fresh-worker";
/// SC-5: halve the batch of each block. Not possible for a step without batches.
pub const HALVE_BATCH: &str = "halve-batch";
/// SC-8: remove copies that this run made, known by their recorded ids, in batches of 50 or
/// fewer, and list again after each. Never an object that this run did not make.
pub const REMOVE_OWN_COPIES: &str = "remove-own-copies";

/// Every action, for the tests.
pub const ALL: &[&str] = &[
    USE_CONFIGURED_PATH,
    FIND_IN_KNOWN_PLACES,
    USE_OTHER_ASSISTANT,
    USE_RECIPE_FOR_SYSTEM,
    PASS_AS_LIST,
    CANONICAL_PATH,
    SHORT_PLAIN_COPY,
    BUILT_IN_REPLACEMENT,
    INSTALL_DECLARED,
    INSTALL_AFTER_BROKEN_DOWNLOAD,
    REPAIR_SCRIPT,
    FRESH_WORKER,
    HALVE_BATCH,
    REMOVE_OWN_COPIES,
];
