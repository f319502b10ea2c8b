//! The ledger of pcbflow and what lies beside it.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

pub mod anchor;
pub mod blobs;
mod engine;
pub mod evidence;
pub mod export;
pub mod expunge;
mod fault;
mod frame;
mod group;
pub mod hash;
pub mod heads;
mod ledger;
mod mem;
pub mod mirror;
mod open;
#[doc(hidden)]
pub mod probe;
pub mod read;
mod reserve;
pub mod rows;
pub mod segment;
pub mod signals;
pub mod stats;
mod stored;
pub mod verify;

pub use anchor::{Anchor, adopt};
pub use blobs::{BLOB_BYTES_MAX, FileBlobs};
pub use engine::FORMAT_KNOWN;
pub use frame::{APPEND_EVENTS_MAX, EVENT_BYTES_MAX};
pub use heads::StateHome;
pub use ledger::{FOLD_BYTES_MAX, RedbLedger};
pub use mem::MemLedger;
pub use open::{LEDGER_FILE, Mode, OpenOptions, Opened, open};
pub use reserve::RESERVE_BYTES;
pub use rows::ROWS;
pub use stored::{UNKNOWN_EVENT_TOPIC, VERSION_KNOWN};

#[cfg(test)]
mod tests;
