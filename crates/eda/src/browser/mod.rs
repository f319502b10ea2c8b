//! The browser: found, started on a profile of pcbflow's own, proven, closed.
//!
//! **Invariants.** A browser is only believed when its id on the port equals the one that the
//! child wrote on its error stream. A browser that pcbflow did not start is never ended. Nothing
//! is started on a profile whose owner lives, and a live owner never loses its lock. A child of
//! ours ends with everything that it started.
//!
//! Start at [`Launch`]; [`Browser::attach`] is the way to a browser that runs already.

mod child;
mod copy;
mod fault;
mod find;
mod launch;
mod left_over;
mod lock;
mod owner;
mod profile;
mod running;
mod stderr;

#[cfg(test)]
mod tests;

pub use copy::{COPY_BYTES_MAX, COPY_FILES_MAX, Copied, CopyFault, copy_profile};
pub use fault::StartFault;
pub use find::{System, find, places};
pub use launch::{Launch, START_MS, Sandbox};
pub use lock::{Advice, Lock, LockKind, MovedAside, look_at_lock, move_lock_aside, owner_address};
pub use owner::Owner;
pub use profile::{Profile, lasting_folder};
pub use running::{Browser, Closed};
