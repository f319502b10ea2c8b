//! Shared parts of the end-to-end suites.
