//! Codes of the facts that this subsystem sees, beside those of [`pcbflow_core::evidence::codes`].
//!
//! A code means one thing and has one source; [`ALL`] pairs the two, and a row matches on both.
//!
//! How the shared codes are used here:
//!
//! - `exit:status` and `exit:signal` always, with the child's own number. A status alone is no
//!   class: it stays unknown (SC-1), unless it is 127, or 126 with a reason.
//! - `exit:spawn_not_found` when starting failed with "not found", and beside status 127 when a
//!   shell names the missing program. The text is the program as it was asked for. The doctor
//!   emits it only after every name of the tool has failed.
//! - `exit:version_too_old` when the tool ran and printed a version below the range; the text is
//!   the tool and the version: `node 16.2.0`.
//! - `own:deadline_passed` for our own deadline only, never for words in output.
//! - `report:module_not_found`, `report:exception` from a parsed trace of an interpreter that we
//!   started: type and module name, not words found anywhere.
//! - `own:disk_full`, `own:read_only` when our own probe of a folder that the step writes saw it.
//! - `own:dependency_missing` when the lock list names what the installed list lacks (before the
//!   step); `own:wrong_system` when the step's systems lack this one.
//! - `file:output_missing`, `file:output_empty`, `file:output_stale` of declared outputs.
//!
//! Slots to fill: `tool` (plain name), `items` (what is missing), `install` (the install command).
//!
//! What nobody emits yet stands in `tests/tests/house/signals.rs` with the family that brings it.

use pcbflow_core::evidence::Source;

/// Layer of everything that the doctor looks at before a phase.
pub const LAYER_DOCTOR: &str = "doctor";

macro_rules! codes {
    ($($(#[$doc:meta])* $source:ident $name:ident = $code:literal;)*) => {
        $($(#[$doc])* pub const $name: &str = $code;)*

        /// Every code of this crate with the source that reports it.
        pub const ALL: &[(Source, &str)] = &[$((Source::$source, $name)),*];
    };
}

codes! {
    // The computer.

    /// The doctor's list for the coming phase names a tool that is not there; the text is the
    /// tool's program name.
    Own TOOL_MISSING_FOR_PHASE = "process.tool_missing_for_phase";
    /// None of the places where this system keeps the tool holds it; the text is its program
    /// name (`chrome`, `kicad-cli`).
    File TOOL_ABSENT = "process.tool_absent";
    /// The interpreter that ran is not the recorded one; the text is the one that ran.
    Own WRONG_INTERPRETER = "process.wrong_interpreter";
    /// The assistant's status probe answered "no account", and it was never signed in here.
    Report ASSISTANT_NO_ACCOUNT = "process.assistant_no_account";
    /// The assistant had been signed in before; look-alike of ENV-5 (AG-2).
    Report ASSISTANT_SIGNED_IN_EARLIER = "process.assistant_signed_in_earlier";
    /// Status 126 or 127, and the shell says that the program or its interpreter is made for
    /// another system (format error, bad interpreter); the text is the program. Never for a
    /// script that only lacks the right to run.
    Exit FORMAT_OF_OTHER_SYSTEM = "process.format_of_other_system";
    /// The file that a tool says it opened is not the argument we gave it; the text is the name
    /// the tool used.
    Own ARGUMENT_DIFFERS = "process.argument_differs";
    /// The argument is there as given, its path has a space, a tilde, a backslash, non-ASCII
    /// letters or is too long, and the tool could not open a piece or another spelling of it.
    /// Never for an awkward path alone. The text is the path.
    File PATH_AWKWARD = "process.path_awkward";
    /// A file that the step reads is not there, with an intact argument; the text names it.
    /// Look-alike of ENV-7 and SC-2; by itself it stays with the unknown (SC-1).
    File INPUT_MISSING = "process.input_missing";
    /// The folder that holds the project's installed packages is not there; the text names it.
    File ENVIRONMENT_MISSING = "process.environment_missing";

    // Scripts and steps.

    /// The child ended by the signal that we sent at its deadline; the number is the signal.
    Exit ENDED_BY_US = "process.ended_by_us";
    /// A person stopped the step or the run.
    Own STOPPED_BY_PERSON = "process.stopped_by_person";
    /// The same state hash was seen again; the number is how often in all. Counts from 3 on.
    Own STATE_REPEATED = "process.state_repeated";
    /// No event, no output and growing CPU time for longer than the step's quiet limit; the
    /// number is milliseconds.
    Own BUSY_WITHOUT_EVENT = "process.busy_without_event";
    /// Resident size rose in five samples in a row; the number is bytes.
    Own MEMORY_RISING = "process.memory_rising";
    /// The system's record says that it ended the child for lack of memory; beside the signal.
    Exit OUT_OF_MEMORY_RECORD = "process.out_of_memory_record";
    /// A page crashed; the text is the status that came with it. Emitted by whoever drives the
    /// page, under the name it has there.
    Cdp TARGET_CRASHED = "cdp.target_crashed";
    /// A write of a step answered undefined or false.
    Report WRITE_NOT_TAKEN = "process.write_not_taken";
    /// The step's condition does not hold on a fresh read; the text names it.
    Report POST_CONDITION_UNMET = "process.post_condition_unmet";
    /// A second, different query gave the same empty answer; look-alike of SC-7.
    Report EMPTY_CONFIRMED = "process.empty_confirmed";
    /// A declared output has the hash and time it had before the step; the text names it.
    File OUTPUT_UNCHANGED = "process.output_unchanged";
    /// The step may write only once and nobody knows whether its write landed.
    Own WRITE_OUTCOME_UNKNOWN = "process.write_outcome_unknown";
    /// More objects than the plan has, by identity; the number is how many more, the text lists
    /// them. Fill the slot `items`.
    Report MORE_THAN_PLANNED = "process.more_than_planned";
    /// The plan wants several equal objects; look-alike of SC-8.
    Report PLANNED_SEVERAL_TIMES = "process.planned_several_times";
}

/// Variant of a missing program, named in `items`.
pub(crate) const PROGRAM_MISSING: &str = "program_missing";
/// Variant of a missing package of Python or Node, named in `items`.
pub(crate) const PACKAGE_MISSING: &str = "package_missing";
