//! Probes that prove a cure of ST and GIT, and conditions that are watched while a person acts.
//! Each is other code than the action, reads fresh state, and answers pass, fail or
//! could-not-run.

/// ST-1: a commit holds the recorded hashes and the paths are clean; without git, the snapshot
/// holds them.
pub const OUTPUTS_KEPT: &str = "outputs-kept";
/// GIT-6: a commit holds the recorded hashes; a snapshot is not enough.
pub const COMMIT_HOLDS_OUTPUTS: &str = "commit-holds-outputs";
/// ST-2: finished steps are unchanged in count and hash, and none ran twice.
pub const FINISHED_UNCHANGED: &str = "finished-unchanged";
/// ST-3: a second comparison of two fresh reads with the manifest is equal. Also watched while
/// the person chooses.
pub const MANIFEST_EQUALS_LIVE: &str = "manifest-equals-live";
/// ST-4: the acting value comes from an event newer than the last change.
pub const VALUE_IS_NEWEST: &str = "value-is-newest";
/// ST-5: the output's hash equals the record.
pub const OUTPUT_EQUALS_RECORD: &str = "output-equals-record";
/// GIT-2: a commit on a scratch branch succeeds and is removed.
pub const SCRATCH_COMMIT: &str = "scratch-commit";
/// GIT-3: status answers and the index parses.
pub const INDEX_PARSES: &str = "index-parses";
/// GIT-4: both parents are there, nothing is unmerged, and the checks pass on the merged tree.
/// Also watched while the person chooses.
pub const MERGE_WHOLE: &str = "merge-whole";
/// GIT-1, GIT-5: the remote branch's id equals the local commit.
pub const REMOTE_EQUALS_LOCAL: &str = "remote-equals-local";
/// GIT-7: the integrity check passes and the recorded hashes are found. Also watched while the
/// person restores a backup.
pub const HISTORY_SOUND: &str = "history-sound";

/// Every probe, for the tests.
pub const ALL: &[&str] = &[
    OUTPUTS_KEPT,
    COMMIT_HOLDS_OUTPUTS,
    FINISHED_UNCHANGED,
    MANIFEST_EQUALS_LIVE,
    VALUE_IS_NEWEST,
    OUTPUT_EQUALS_RECORD,
    SCRATCH_COMMIT,
    INDEX_PARSES,
    MERGE_WHOLE,
    REMOTE_EQUALS_LOCAL,
    HISTORY_SOUND,
];
