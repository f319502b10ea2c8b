//! Codes of the signals that this crate makes, with the source that may report each.
//!
//! Codes that every subsystem shares (`status`, `deadline_passed`, `claim_held` ...) stand in
//! [`pcbflow_core::evidence::codes`]. A code means one thing and has one source; [`ALL`] pairs
//! the two, and a test holds the rows to it.

use pcbflow_core::evidence::Source;

macro_rules! codes {
    ($($(#[$doc:meta])* $source:ident $name:ident = $code:literal;)*) => {
        $($(#[$doc])* pub const $name: &str = $code;)*

        /// Every code of this crate with the source that reports it.
        pub const ALL: &[(Source, &str)] = &[$((Source::$source, $name)),*];
    };
}

codes! {
    // Facts that the runner recorded itself.

    /// The agent ended before its first typed event.
    Own ENDED_BEFORE_FIRST_EVENT = "agents.ended_before_first_event";
    /// The tree's digest is the same before and after the round.
    Own TREE_UNCHANGED = "agents.tree_unchanged";
    /// What would be pushed equals the last push.
    Own PUSH_UNCHANGED = "agents.push_unchanged";
    /// Changed paths lie outside the allowed set; the text lists them.
    Own PATHS_OUTSIDE_SCOPE = "agents.paths_outside_scope";
    /// The only paths outside the set are declared generated files or a formatter's output.
    Own ONLY_GENERATED = "agents.only_generated";
    /// A protected digest moved: a test, check, ruleset or ledger; the text names it.
    Own PROTECTED_CHANGED = "agents.protected_changed";
    /// A link or parent step leads out of the tree; the text names it.
    Own LEAVES_TREE = "agents.leaves_tree";
    /// Both demands of a named conflict were found in the inputs.
    Own BOTH_DEMANDS_FOUND = "agents.both_demands_found";
    /// The check flips on an unchanged tree.
    Own CHECK_FLAKY = "agents.check_flaky";
    /// Both stall replans of the run are used.
    Own REPLANS_USED = "agents.replans_used";
    /// A fingerprint that caused a replan is back.
    Own FINGERPRINT_BACK = "agents.fingerprint_back";
    /// Another fingerprint stalls.
    Own FINGERPRINT_STALLED = "agents.fingerprint_stalled";
    /// An acceptance did not end by itself; the number says how many in a row.
    Own ACCEPTANCE_UNENDED = "agents.acceptance_unended";
    /// The claim that is held belongs to another board's run.
    Own OTHER_BOARD = "agents.other_board";
    /// The cycles of the run reached its ceiling; the number is the count.
    Own CYCLES_USED_UP = "agents.cycles_used_up";
    /// The clock of the run reached its ceiling; the number is milliseconds.
    Own HOURS_USED_UP = "agents.hours_used_up";
    /// Replans of the run that no stall caused; the number counts the one now asked for.
    Own UNPLANNED_REPLANS = "agents.unplanned_replans";

    // Typed results and logs of the agent, checked by the runner.

    /// A typed authentication error.
    Report AUTH_ERROR = "agents.auth_error";
    /// A typed limit error; the number is the reset time in seconds since 1970, if known.
    Report LIMIT_ERROR = "agents.limit_error";
    /// A status in the agent's typed log; the number is the status.
    Report LOG_STATUS = "agents.log_status";
    /// A short overload at the agent's provider, told apart from a usage limit by its type.
    Report OVERLOADED = "agents.overloaded";
    /// The answer breaks its schema; the text has the validator's words.
    Report SCHEMA_ERROR = "agents.schema_error";
    /// The agent ended without a final object.
    Report NO_FINAL_OBJECT = "agents.no_final_object";
    /// A spelling that the closed list does not have; the text has it.
    Report UNKNOWN_SPELLING = "agents.unknown_spelling";
    /// The answer cites evidence that its inputs do not hold; the text has it.
    Report EVIDENCE_NOT_FOUND = "agents.evidence_not_found";
    /// A valid diagnosis names two demands that can't both hold.
    Report CRITERIA_CONFLICT = "agents.criteria_conflict";
    /// The agent used up its turns; the number says how many.
    Report TURNS_USED_UP = "agents.turns_used_up";
    /// The stream of typed events broke off.
    Report STREAM_BROKEN = "agents.stream_broken";
    /// A typed refusal of the planner; the text has its reason.
    Report CANNOT_BUILD = "agents.cannot_build";
    /// An acceptance ended and no item has a proven pass; the number counts the open items.
    Report NOTHING_PROVEN = "agents.nothing_proven";
    /// An item of the acceptance failed.
    Report ITEM_FAILED = "agents.item_failed";
}
