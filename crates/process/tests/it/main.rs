//! Real processes, real small programs.
#![cfg(unix)]

mod common;
mod killed;
mod spawn;
mod spawn_ends;
mod steps;
