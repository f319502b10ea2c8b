//! How long it takes from a missed deadline to a usable page, for each variant of a hang, in real
//! headless Chromium; and what a new tab and an evaluate cost. Prints; asserts nothing about time.
//!
//! `cargo bench -p pcbflow-eda --bench hang`

#![expect(clippy::print_stdout, reason = "figures are for people")]

// The pages and signals of the tests are for Unix.
#[cfg(unix)]
mod figures;

fn main() {
    #[cfg(unix)]
    figures::print();
}
