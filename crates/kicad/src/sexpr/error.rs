//! Why a file could not be read, told apart finely enough to name a remedy.

use std::fmt;

/// What a file that is no s-expression looks like instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Foreign {
    /// A pointer left by git's large-file storage; the real file was never fetched.
    LargeFilePointer,
    /// JSON.
    Json,
    /// XML or HTML.
    Xml,
    /// Text in two bytes a character (UTF-16).
    WideText,
    /// A schematic of KiCad 5 or older (`.sch`).
    LegacySchematic,
    /// A symbol library or board of KiCad 5 or older, not written as lists.
    LegacyOther,
    /// A zip or gzip archive.
    Archive,
    /// Some other text.
    Text,
    /// Bytes that are no text.
    Binary,
}

impl Foreign {
    /// Guesses from the first bytes of a file.
    #[must_use]
    pub fn guess(head: &[u8]) -> Self {
        const SIGNS: [(&[u8], Foreign); 11] = [
            (b"version https://git-lfs", Foreign::LargeFilePointer),
            (b"EESchema Schematic", Foreign::LegacySchematic),
            (b"EESchema", Foreign::LegacyOther),
            (b"PCBNEW", Foreign::LegacyOther),
            (b"{", Foreign::Json),
            (b"[", Foreign::Json),
            (b"<", Foreign::Xml),
            (b"\xff\xfe", Foreign::WideText),
            (b"\xfe\xff", Foreign::WideText),
            (b"PK\x03\x04", Foreign::Archive),
            (b"\x1f\x8b", Foreign::Archive),
        ];
        let blank = |b: &u8| matches!(b, b' ' | b'\t' | b'\r' | b'\n');
        let start = head.iter().position(|b| !blank(b)).unwrap_or(head.len());
        let head = &head[start..];
        for (sign, what) in SIGNS {
            if head.starts_with(sign) {
                return what;
            }
        }
        let control = |b: &u8| *b < 0x20 && !blank(b);
        if head.iter().take(512).any(control) { Foreign::Binary } else { Foreign::Text }
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Foreign::LargeFilePointer => "a pointer of git's large-file storage",
            Foreign::Json => "JSON",
            Foreign::Xml => "XML",
            Foreign::WideText => "UTF-16 text",
            Foreign::LegacySchematic => "a schematic of KiCad 5 or older",
            Foreign::LegacyOther => "a file of KiCad 5 or older",
            Foreign::Archive => "a compressed archive",
            Foreign::Text => "other text",
            Foreign::Binary => "binary data",
        })
    }
}

/// The reason why reading stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// No byte, or nothing but blanks and comments.
    #[error("the file is empty")]
    Empty,
    /// More than [`MAX_FILE_BYTES`](super::MAX_FILE_BYTES).
    #[error("the file has {bytes} bytes, more than the limit of {limit}")]
    TooLarge {
        /// Size of the file in bytes.
        bytes: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The file does not begin with a bracket.
    #[error("the file is not an s-expression but {found}")]
    NotSexpr {
        /// What it looks like.
        found: Foreign,
    },
    /// A line of a merge that was not finished, such as `<<<<<<< HEAD`.
    #[error("unresolved merge conflict mark {mark:?}")]
    MergeConflict {
        /// The seven characters of the mark.
        mark: String,
    },
    /// The file begins with the three bytes of a byte order mark; KiCad refuses it.
    #[error("the file begins with a byte order mark, which KiCad does not accept")]
    ByteOrderMark,
    /// The end came while lists were still open.
    #[error(
        "the file is cut off: {open} brackets are still open, the last one from line {opened_line}"
    )]
    CutOff {
        /// Lists still open.
        open: usize,
        /// Line on which the innermost of them was opened, from 1.
        opened_line: u32,
    },
    /// A string has no closing quote on its line.
    #[error("a string is not closed on its line")]
    OpenString,
    /// A closing bracket without an opening one.
    #[error("a closing bracket has no opening one")]
    ExtraClose,
    /// A word outside all brackets, after the beginning.
    #[error("text outside all brackets")]
    StrayText,
    /// Deeper than [`MAX_DEPTH_LEVELS`](super::MAX_DEPTH_LEVELS).
    #[error("lists are nested deeper than {limit} levels")]
    TooDeep {
        /// The limit in levels.
        limit: usize,
    },
    /// More than [`MAX_NODES`](super::MAX_NODES).
    #[error("the file has more than {limit} parts")]
    TooManyNodes {
        /// The limit.
        limit: usize,
    },
    /// Longer than [`MAX_ATOM_BYTES`](super::MAX_ATOM_BYTES).
    #[error("a word or string is longer than {limit} bytes")]
    AtomTooLong {
        /// The limit in bytes.
        limit: usize,
    },
}

/// A file that could not be read, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} (line {line}, column {column}, byte {offset})")]
pub struct SexprError {
    /// Why.
    pub reason: Reason,
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
    /// Offset in bytes, from 0.
    pub offset: usize,
}

impl SexprError {
    pub(crate) fn at(src: &[u8], offset: usize, reason: Reason) -> Self {
        let (line, column) = line_column(src, offset);
        SexprError { reason, line, column, offset }
    }
}

/// Line and column (both from 1, column in bytes) of a byte offset.
pub(crate) fn line_column(src: &[u8], offset: usize) -> (u32, u32) {
    let before = &src[..offset.min(src.len())];
    let lines = before.iter().filter(|b| **b == b'\n').count();
    let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let number = |n: usize| u32::try_from(n + 1).unwrap_or(u32::MAX);
    (number(lines), number(before.len() - start))
}
