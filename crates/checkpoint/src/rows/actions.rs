//! Actions that the ladders of ST and GIT name. The subsystem carries them out; each answers done,
//! not possible here, or failed, and none of them judges its own success. None of them stashes,
//! resets, cleans, force-pushes or rewrites, and none bypasses a commit check.

/// ST-1: commit exactly the named output paths, once, with phase and record head in the trailer.
/// A refusal is a new failure of GIT.
pub const COMMIT_OUTPUTS: &str = "commit-outputs";
/// ST-1, GIT-2, GIT-6: keep the outputs in a content-addressed snapshot in place of a commit.
pub const SNAPSHOT_OUTPUTS: &str = "snapshot-outputs";
/// ST-3: append a correction event: live wins for facts, the record for what was done; only
/// machine keys change. Not possible when live is behind or contradicts a passed phase.
pub const CORRECT_RECORD: &str = "correct-record";
/// ST-3: mark the verdicts that rest on the corrected facts as unverified, so that their checks
/// run again.
pub const UNVERIFY_AFFECTED: &str = "unverify-affected";
/// ST-4: ignore the note, read the live value.
pub const READ_LIVE: &str = "read-live";
/// ST-4: mark the note as superseded.
pub const SUPERSEDE_NOTE: &str = "supersede-note";
/// ST-5: take the recorded result and say so.
pub const TAKE_RECORDED_RESULT: &str = "take-recorded-result";
/// GIT-2: make a history in the project folder. Needs a recorded yes. Never invents an identity.
pub const CREATE_REPOSITORY: &str = "create-repository";
/// GIT-3: move a lock aside whose maker was our own child and is dead. Not possible for any other
/// lock.
pub const MOVE_OWN_LOCK_ASIDE: &str = "move-own-lock-aside";
/// GIT-4: fetch, and fast-forward if the tree is clean and no own commit is in the way.
pub const FAST_FORWARD: &str = "fast-forward";
/// GIT-4: merge text files in a scratch tree, run all checks again there, then take the merge.
/// Not possible when a board or schematic is among the conflicts.
pub const MERGE_TEXT_IN_SCRATCH: &str = "merge-text-in-scratch";
/// GIT-5: put the push on the list for the end of the phase.
pub const AGAIN_AT_PHASE_END: &str = "again-at-phase-end";
/// GIT-7: stop writing to the history and snapshot all outputs elsewhere.
pub const SNAPSHOT_ELSEWHERE: &str = "snapshot-elsewhere";
/// GIT-7: fetch the objects from the remote into a copy of the history; swap nothing in before
/// the probe has passed on the copy.
pub const FETCH_INTO_COPY: &str = "fetch-into-copy";

/// Every action, for the tests.
pub const ALL: &[&str] = &[
    COMMIT_OUTPUTS,
    SNAPSHOT_OUTPUTS,
    CORRECT_RECORD,
    UNVERIFY_AFFECTED,
    READ_LIVE,
    SUPERSEDE_NOTE,
    TAKE_RECORDED_RESULT,
    CREATE_REPOSITORY,
    MOVE_OWN_LOCK_ASIDE,
    FAST_FORWARD,
    MERGE_TEXT_IN_SCRATCH,
    AGAIN_AT_PHASE_END,
    SNAPSHOT_ELSEWHERE,
    FETCH_INTO_COPY,
];
