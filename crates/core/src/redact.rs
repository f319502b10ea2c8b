//! Redaction of text before it is recorded: an append-only chain makes a leaked secret permanent.
//!
//! [`redact`] masks credentials wherever they stand (headers, addresses, query strings, variables,
//! options, bare vendor tokens, private keys), e-mail addresses, and the home folder. Fields that
//! only sound like secrets (`tokenCount`, `nextPageToken`, `cookieConsent`) stay: masking them
//! destroys proof.
//!
//! **Invariants.** Time is linear in the text. Text without anything to mask is borrowed, not
//! copied. Redacting twice changes nothing more. A character is never split.

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};

mod arguments;
mod controls;
mod keys;
mod options;
mod prose;
mod scan;
#[cfg(test)]
mod tests;
mod tokens;

pub use arguments::{Arguments, SECRET_BYTES_MIN, arguments};
pub use keys::is_secret_key;

/// What stands in place of a secret.
pub const MASK: &str = "[redacted]";
/// What stands in place of an e-mail address.
pub const MASK_MAIL: &str = "[e-mail]";
/// Most rounds over one text: a mask can make a neighbour recognisable, which the next round finds.
const ROUNDS_MAX: usize = 6;

/// The text without secrets, e-mail addresses and the name of the home folder.
#[must_use]
pub fn redact<'a>(text: &'a str, home: Option<&str>) -> Cow<'a, str> {
    let homes = scan::home_forms(home);
    // A name cut by a backspace or a colour is read as a person sees it.
    let seen = controls::as_seen(text).filter(|seen| scan::once(seen, &homes).is_some());
    let mut text = seen.map_or(Cow::Borrowed(text), Cow::Owned);
    for _ in 0..ROUNDS_MAX {
        match scan::once(&text, &homes) {
            None => break,
            Some(next) => text = Cow::Owned(next),
        }
    }
    text
}

/// A value that is never shown: `Display`, `Debug` and `Serialize` give [`MASK`].
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Hides a value.
    #[must_use]
    pub fn new(value: T) -> Secret<T> {
        Secret(value)
    }

    /// The value itself. Every call is a place to look at in review.
    #[must_use]
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Display for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl<T> Serialize for Secret<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(MASK)
    }
}
