//! A thin client of the browser's debugging protocol: one socket, many sessions.
//!
//! **Invariants.** Only the own computer is spoken to, by number (`127.0.0.1`), and no `Origin`
//! is sent. Every call has a deadline of the client's own, because a page that hangs never
//! answers. Calls in flight fail at once when their page crashes, is detached or terminated, and
//! when the socket goes. Nothing that the other side sends makes the client panic or grow without
//! a limit: a message, a result, a window of a call and the number of calls are all capped.
//!
//! Start at [`Client::connect`], then [`Client::attach`]: the [`Session`] of a tab is attached
//! before any work and kept, for only such a session can free a page that hangs later.

mod address;
mod client;
mod error;
mod frame;
mod http;
mod session;
mod shared;
mod targets;
mod transport;
mod window;

#[cfg(test)]
mod tests;

pub use address::{Address, AddressFault};
pub use client::{CLOSE_MS, Client, MESSAGE_BYTES_MAX};
pub use error::{CallError, ConnectError};
pub use http::{Version, version};
pub use session::{ATTACH_MS, AttachError, RESULT_BYTES_MAX, Script, Session};
pub use targets::{Process, TARGETS_MAX, Target};
pub use transport::{Reply, Transport};
pub use window::{Dialog, FACT_BYTES_MAX, FACTS_MAX, PENDING_MAX, Seen, Status, Window};

/// Milliseconds as a duration.
pub(crate) const fn ms(ms: u64) -> std::time::Duration {
    std::time::Duration::from_millis(ms)
}
