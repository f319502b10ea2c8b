//! Names and numbers of things. Every id is a newtype that can only hold a valid value.
//!
//! Invariant: an id that exists is printable, has no control codes and no path separators, so it
//! may be used in file names, messages and JSON without further thought.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Longest id of any kind, in bytes.
pub const ID_BYTES_MAX: usize = 120;

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdError {
    /// The text is empty.
    #[error("{kind} is empty")]
    Empty {
        /// What was to be named.
        kind: &'static str,
    },
    /// The text is longer than [`ID_BYTES_MAX`].
    #[error("{kind} has {bytes} bytes, at most {ID_BYTES_MAX} are allowed")]
    TooLong {
        /// What was to be named.
        kind: &'static str,
        /// Its length in bytes.
        bytes: usize,
    },
    /// The text has a character that this kind of id does not allow.
    #[error("{kind} {text:?} has the character {found:?}, allowed are {allowed}")]
    Character {
        /// What was to be named.
        kind: &'static str,
        /// The text as given, cut to a printable length.
        text: String,
        /// The first character that is not allowed.
        found: char,
        /// What is allowed, in words.
        allowed: &'static str,
    },
    /// The text does not have the form of this kind of id.
    #[error("{kind} {text:?} is not of the form {form}")]
    Form {
        /// What was to be named.
        kind: &'static str,
        /// The text as given, cut to a printable length.
        text: String,
        /// The wanted form, in words.
        form: &'static str,
    },
}

fn cut(text: &str) -> String {
    text.chars().take(60).collect()
}

fn checked(
    kind: &'static str,
    text: &str,
    allowed: &'static str,
    ok: fn(char) -> bool,
) -> Result<(), IdError> {
    if text.is_empty() {
        return Err(IdError::Empty { kind });
    }
    if text.len() > ID_BYTES_MAX {
        return Err(IdError::TooLong { kind, bytes: text.len() });
    }
    match text.chars().find(|c| !ok(*c)) {
        Some(found) => Err(IdError::Character { kind, text: cut(text), found, allowed }),
        None => Ok(()),
    }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $allowed:literal, $ok:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks `text` and makes the id of it.
            ///
            /// # Errors
            /// [`IdError`] names the fault.
            pub fn new(text: impl Into<String>) -> Result<Self, IdError> {
                let text = text.into();
                checked($kind, &text, $allowed, $ok)?;
                if text.starts_with('.') || text.starts_with('-') {
                    return Err(IdError::Form {
                        kind: $kind,
                        text: cut(&text),
                        form: "a text that starts with a letter or digit",
                    });
                }
                Ok(Self(text))
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }
    };
}

fn slug(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn wordy(c: char) -> bool {
    !c.is_control() && !matches!(c, '/' | '\\')
}

text_id!(
    /// Name of a board, also the name of its folder under `projects/`.
    BoardName, "board name", "letters, digits, '-', '_' and '.'", slug
);
text_id!(
    /// Name of a phase such as `12-final-verification`.
    PhaseId, "phase id", "letters, digits, '-', '_' and '.'", slug
);
text_id!(
    /// Name of a step inside its phase. May hold spaces ("place motor block").
    StepId, "step id", "anything but control codes, '/' and '\\'", wordy
);
text_id!(
    /// Name of a step kind such as `kicad/drc`: subsystem, slash, verb.
    KindName, "step kind", "letters, digits, '-', '_', '.' and '/'", |c| slug(c) || c == '/'
);
text_id!(
    /// Name of an action that a subsystem can carry out for a rung.
    ActionName, "action name", "letters, digits, '-', '_' and '.'", slug
);
text_id!(
    /// One run of a board, sortable by time of start.
    RunId, "run id", "letters, digits and '-'", |c: char| c.is_ascii_alphanumeric() || c == '-'
);
text_id!(
    /// One ask, such as `a7`; unique within its board.
    AskId, "ask id", "letters, digits and '-'", |c: char| c.is_ascii_alphanumeric() || c == '-'
);
text_id!(
    /// The random id of a ledger, drawn at its genesis.
    LedgerId, "ledger id", "letters, digits and '-'", |c: char| c.is_ascii_alphanumeric() || c == '-'
);

/// A failure class such as `KI-6`. A validated text, so that outside crates can add rows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ClassId(String);

impl ClassId {
    /// Checks `text`: two to eight capital letters, a hyphen, one to four digits.
    ///
    /// # Errors
    /// [`IdError::Form`] when the text has another form.
    pub fn new(text: impl Into<String>) -> Result<Self, IdError> {
        let text = text.into();
        let ok = text.split_once('-').is_some_and(|(family, number)| {
            (2..=8).contains(&family.len())
                && family.bytes().all(|b| b.is_ascii_uppercase())
                && (1..=4).contains(&number.len())
                && number.bytes().all(|b| b.is_ascii_digit())
        });
        if ok {
            Ok(Self(text))
        } else {
            Err(IdError::Form {
                kind: "class id",
                text: cut(&text),
                form: "FAMILY-NUMBER, such as KI-6",
            })
        }
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The family: the part before the hyphen.
    #[must_use]
    pub fn family(&self) -> &str {
        self.0.split('-').next().unwrap_or(&self.0)
    }

    /// Family and number, for an order in which `KI-9` comes before `KI-10`.
    #[must_use]
    pub fn sort_key(&self) -> (&str, u32) {
        let number = self.0.split('-').nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
        (self.family(), number)
    }
}

impl fmt::Display for ClassId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for ClassId {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        Self::new(text)
    }
}

impl From<ClassId> for String {
    fn from(id: ClassId) -> String {
        id.0
    }
}

impl FromStr for ClassId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        Self::new(text)
    }
}

/// Which chain of events: the workspace's own or one board's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum StreamId {
    /// Throttle, cadence, lessons, loose observations.
    Workspace,
    /// Everything that happens to one board.
    Board(BoardName),
}

impl StreamId {
    /// The board, if this is a board's stream.
    #[must_use]
    pub fn board(&self) -> Option<&BoardName> {
        match self {
            StreamId::Workspace => None,
            StreamId::Board(name) => Some(name),
        }
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StreamId::Workspace => f.write_str("workspace"),
            StreamId::Board(name) => write!(f, "board/{name}"),
        }
    }
}

impl TryFrom<String> for StreamId {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<StreamId> for String {
    fn from(id: StreamId) -> String {
        id.to_string()
    }
}

impl FromStr for StreamId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        match text.strip_prefix("board/") {
            Some(name) => Ok(StreamId::Board(BoardName::new(name)?)),
            None if text == "workspace" => Ok(StreamId::Workspace),
            None => Err(IdError::Form {
                kind: "stream id",
                text: cut(text),
                form: "'workspace' or 'board/NAME'",
            }),
        }
    }
}

/// Position of an event in its stream. The genesis event has 0.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Seq(pub u64);

impl Seq {
    /// The position after this one.
    #[must_use]
    pub fn next(self) -> Seq {
        Seq(self.0.saturating_add(1))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Number of an attempt of one step within one run, starting at 1.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct AttemptNo(pub u32);

impl fmt::Display for AttemptNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A BLAKE3 digest, shown as 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Digest of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(*blake3::hash(bytes).as_bytes())
    }

    /// All zero: the hash before the first event of a chain.
    pub const ZERO: Digest = Digest([0; 32]);

    /// The first twelve hex digits, enough for people.
    #[must_use]
    pub fn short(&self) -> String {
        self.to_string().chars().take(12).collect()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let fault = || IdError::Form { kind: "digest", text: cut(text), form: "64 hex digits" };
        if text.len() != 64 || !text.is_ascii() {
            return Err(fault());
        }
        let mut bytes = [0u8; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            let pair = text.get(at * 2..at * 2 + 2).ok_or_else(fault)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| fault())?;
        }
        Ok(Digest(bytes))
    }
}

impl TryFrom<String> for Digest {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(d: Digest) -> String {
        d.to_string()
    }
}

/// Where the work stands: run, phase, step and attempt, as far as they apply.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Scope {
    /// The run.
    pub run: Option<RunId>,
    /// The phase.
    pub phase: Option<PhaseId>,
    /// The step.
    pub step: Option<StepId>,
    /// The attempt of that step in that run.
    pub attempt: Option<AttemptNo>,
}

/// A step, named by its phase and id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StepKey {
    /// The phase.
    pub phase: PhaseId,
    /// The step in it.
    pub step: StepId,
}

impl fmt::Display for StepKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.phase, self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_ids_have_one_form() {
        assert!(ClassId::new("KI-6").is_ok());
        for bad in ["", "KI6", "ki-6", "KI-", "-6", "KI-66666", "K-1", "KI-6 "] {
            assert!(ClassId::new(bad).is_err(), "{bad:?}");
        }
        let ten = ClassId::new("KI-10").unwrap();
        assert!(ClassId::new("KI-9").unwrap().sort_key() < ten.sort_key());
    }

    #[test]
    fn names_keep_paths_and_control_codes_out() {
        for bad in ["", ".", "..", "a/b", "a\\b", "a\nb", "-rf", ".hidden"] {
            assert!(BoardName::new(bad).is_err(), "{bad:?}");
        }
        assert!(BoardName::new("tür-sensor_2.1").is_ok());
        assert!(StepId::new("place motor block").is_ok());
        assert!(StepId::new("x\u{1b}[0m").is_err());
        assert!(BoardName::new("x".repeat(121)).is_err());
    }

    #[test]
    fn digest_and_stream_round_trip() {
        let d = Digest::of(b"x");
        assert_eq!(d.to_string().parse::<Digest>().unwrap(), d);
        assert!("zz".repeat(32).parse::<Digest>().is_err());
        let s: StreamId = "board/door-sensor".parse().unwrap();
        assert_eq!(s.to_string(), "board/door-sensor");
        assert!("board/..".parse::<StreamId>().is_err());
    }
}
