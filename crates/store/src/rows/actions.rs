//! Actions that the ladders of LG name. The store carries them out; each answers done, not
//! possible here, or failed, and none of them judges its own success. None of them changes rights,
//! repairs in place, or deletes a file of the project.

/// LG-1: close the handle, which refuses everything even once space is back.
pub const DROP_HANDLE: &str = "drop-handle";
/// LG-1: give up the reserved block and our own caches under `.pcbflow`, nothing else.
pub const FREE_OWN_SPACE: &str = "free-own-space";
/// LG-1: open again, check the chain, and append what could not be recorded.
pub const REOPEN_AND_CHECK: &str = "reopen-and-check";
/// LG-2: stop all writing and copy the file aside, with its hash in the name.
pub const COPY_ASIDE: &str = "copy-aside";
/// LG-2: find the first bad and the last good event; fill the slot `items` with them.
pub const FIND_BREAK: &str = "find-break";
/// LG-5: make sure that no owner lives, then open for writing once; the engine repairs.
pub const OPEN_FOR_WRITING_ONCE: &str = "open-for-writing-once";

/// Every action, for the tests.
pub const ALL: &[&str] =
    &[DROP_HANDLE, FREE_OWN_SPACE, REOPEN_AND_CHECK, COPY_ASIDE, FIND_BREAK, OPEN_FOR_WRITING_ONCE];
