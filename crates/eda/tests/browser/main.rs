//! The client, the start and the hang ladder against real headless Chromium.
//!
//! Every test ends its browsers and proves that no process and no lock of theirs is left.

#![cfg(unix)]

mod client;
mod hang;
mod lock;
mod profile;
mod start;
mod support;
mod window;
