//! The subsystem against real git, in repositories of its own.
#![expect(clippy::unwrap_used, reason = "tests")]

mod commit;
mod crash;
mod heal;
mod odd_repos;
mod support;
