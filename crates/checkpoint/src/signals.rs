//! Codes of the facts that this subsystem sees, beside those of [`pcbflow_core::evidence::codes`].
//!
//! A code means one thing and has one source; [`ALL`] pairs the two, and a row matches on both.
//!
//! Git answers 128 to almost everything: emit the status as `exit:status` for the record, and
//! after every failed call find the fact by asking again (settings, top level, lock file, index,
//! the push's machine-readable lines, a connection probe). No row of GIT looks at 128. The shared
//! codes used here are `own:intent_without_result`, `own:claim_held`, and, seen by our own probe,
//! `own:disk_full` and `own:read_only`, which outrank everything below. Run git with prompts off
//! and with `LC_ALL=C`, so that words can still serve as the last resort.
//!
//! What nobody emits yet stands in `tests/tests/house/signals.rs` with the family that brings it.

use pcbflow_core::evidence::Source;

macro_rules! codes {
    ($($(#[$doc:meta])* $source:ident $name:ident = $code:literal;)*) => {
        $($(#[$doc])* pub const $name: &str = $code;)*

        /// Every code of this crate with the source that reports it.
        pub const ALL: &[(Source, &str)] = &[$((Source::$source, $name)),*];
    };
}

codes! {
    // State and resume.

    /// At the end of a phase, the recorded hash of an output is in no commit; the text names it.
    Own OUTPUT_NOT_COMMITTED = "state.output_not_committed";
    /// The status of the phase's output paths is not clean; the text names them.
    Report OUTPUT_PATHS_DIRTY = "state.output_paths_dirty";
    /// Only side files of tools or a person's own edits are open; look-alike of ST-1.
    Report ONLY_SIDE_FILES = "state.only_side_files";
    /// The process that owned the run (host, pid, start time) is gone; the number is its pid.
    Own OWNER_GONE = "state.owner_gone";
    /// Two fresh reads agree and their revision or hash differs from the manifest; the text says
    /// what differs.
    Report MANIFEST_DIFFERS = "state.manifest_differs";
    /// The editor holds changes that are not saved; look-alike of ST-3.
    Report UNSAVED_CHANGES = "state.unsaved_changes";
    /// The two reads do not agree yet; look-alike of ST-3 (EDA-14).
    Report READS_DISAGREE = "state.reads_disagree";
    /// Only layout differs (blanks, order of keys); look-alike of ST-3.
    Report LAYOUT_ONLY = "state.layout_only";
    /// A session note names a head or revision that is not the current one, or none.
    Own NOTE_OUTDATED = "state.note_outdated";
    /// What the note holds is a decision of the engineer, which holds until changed; look-alike
    /// of ST-4.
    Own NOTE_IS_DECISION = "state.note_is_decision";
    /// The step's key and input hash have a result already, and it was about to run again.
    Own RESULT_ON_RECORD = "state.result_on_record";
    /// The inputs have changed since that result; look-alike of ST-5.
    Own INPUTS_CHANGED = "state.inputs_changed";
    /// A person asked for the step to run again; look-alike of ST-5.
    Own ASKED_BY_PERSON = "state.asked_by_person";

    // History and publishing.

    /// A push wanted a sign-in and no credential helper gave one; only when the host answers.
    Report CREDENTIAL_MISSING = "git.credential_missing";
    /// The host refused the sign-in that was given.
    Report CREDENTIAL_REFUSED = "git.credential_refused";
    /// The connection probe to the remote's host failed; the text names the host.
    Own HOST_UNREACHABLE = "git.host_unreachable";
    /// Push or fetch ended without reaching the remote; beside the exit status.
    Report REMOTE_NOT_REACHED = "git.remote_not_reached";
    /// The remote was reached and refused what was sent; look-alike of GIT-5.
    Report CONTENT_REFUSED = "git.content_refused";
    /// The name or e-mail setting is empty.
    Report IDENTITY_MISSING = "git.identity_missing";
    /// The query for the top level fails: no history here.
    Report NO_REPOSITORY = "git.no_repository";
    /// The folder belongs to someone else, and git refuses to work in it.
    Report OTHER_OWNER = "git.other_owner";
    /// The process that made a lock is alive, or belongs to this run; the number is its pid.
    Own LOCK_HELD = "git.lock_held";
    /// The lock was made by a child of ours that is dead; the text names the lock file.
    Own LOCK_OF_OWN_DEAD_CHILD = "git.lock_of_own_dead_child";
    /// A lock file lies in the history's folder (`index.lock`, a reference's lock); the text
    /// names it.
    File LOCK_FILE = "git.lock_file";
    /// The index has entries that are not merged; the text lists the paths. Fill the slot `items`.
    Report UNMERGED = "git.unmerged";
    /// The machine-readable output of a push has the rejected flag.
    Report PUSH_REJECTED = "git.push_rejected";
    /// A commit check (hook) ran and refused; the text is the tail of its words. Exit status 1.
    Report HOOK_REFUSED = "git.hook_refused";
    /// An output path is ignored by a rule; the text names path and rule.
    Report PATH_IGNORED = "git.path_ignored";
    /// A file is over a size limit of the history or its host; the text names it.
    Report FILE_TOO_LARGE = "git.file_too_large";
    /// The integrity check ended with this status.
    Exit INTEGRITY_FAILED = "git.integrity_failed";
    /// An object is missing or corrupt; the text names it.
    Report OBJECT_DAMAGED = "git.object_damaged";
    /// The clone is shallow or partial, so absent objects are normal; look-alike of GIT-7.
    Report PARTIAL_CLONE = "git.partial_clone";
}
