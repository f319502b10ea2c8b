//! Cuts bytes into tokens the way KiCad's own reader does.
//!
//! Blanks are space, tab, carriage return, line feed and NUL. A line whose first non-blank byte is `#` is a comment.
//! A string runs from quote to quote on one line, with backslash escapes. Anything else up to a blank or a bracket
//! is a word. (Observed with KiCad 9.0.8 and 10.0.6: NUL and stray Latin-1 bytes load; so do CRLF line ends.)

use super::error::Reason;
use super::{MAX_ATOM_BYTES, Span};

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// `(`
    Open,
    /// `)`
    Close,
    /// A bare word.
    Word,
    /// A quoted string, quotes included.
    Quoted,
}

/// Whether KiCad takes this byte for a blank.
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0)
}

/// Whether a bare word ends before this byte.
pub(super) fn ends_word(byte: u8) -> bool {
    is_blank(byte) || byte == b'(' || byte == b')'
}

/// Length of a UTF-8 byte order mark in bytes.
pub(super) const BOM_BYTES: usize = 3;

/// Whether the bytes begin with a UTF-8 byte order mark.
pub(super) fn has_bom(src: &[u8]) -> bool {
    src.starts_with(b"\xef\xbb\xbf")
}

/// Tokens of a byte slice, in order.
pub(crate) struct Lexer<'a> {
    src: &'a [u8],
    pos: usize,
    /// Only blanks since the beginning of the line.
    fresh_line: bool,
    /// Whether the marks of a merge are refused.
    strict: bool,
}

impl<'a> Lexer<'a> {
    /// Starts at the first byte, after a byte order mark if there is one.
    pub(crate) fn new(src: &'a [u8], strict: bool) -> Self {
        let pos = if has_bom(src) { BOM_BYTES } else { 0 };
        Lexer { src, pos, fresh_line: true, strict }
    }

    /// The next token; `None` at the end. Sources must be at most `u32::MAX` bytes (the callers check).
    pub(crate) fn next_token(&mut self) -> Result<Option<(TokenKind, Span)>, (usize, Reason)> {
        while let Some(&byte) = self.src.get(self.pos) {
            match byte {
                b'\n' => {
                    self.fresh_line = true;
                    self.pos += 1;
                }
                b' ' | b'\t' | b'\r' | 0 => self.pos += 1,
                b'#' if self.fresh_line => self.skip_line(),
                _ => return self.token(byte).map(Some),
            }
        }
        Ok(None)
    }

    fn skip_line(&mut self) {
        let rest = &self.src[self.pos..];
        self.pos += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
    }

    fn token(&mut self, first: u8) -> Result<(TokenKind, Span), (usize, Reason)> {
        let start = self.pos;
        let (kind, end) = match first {
            b'(' => (TokenKind::Open, start + 1),
            b')' => (TokenKind::Close, start + 1),
            b'"' => (TokenKind::Quoted, self.string_end(start)?),
            _ => (TokenKind::Word, self.word_end(start)?),
        };
        if end - start > MAX_ATOM_BYTES {
            return Err((start, Reason::AtomTooLong { limit: MAX_ATOM_BYTES }));
        }
        self.pos = end;
        self.fresh_line = false;
        Ok((kind, Span::new(start, end)))
    }

    fn string_end(&self, start: usize) -> Result<usize, (usize, Reason)> {
        let mut pos = start + 1;
        while let Some(&byte) = self.src.get(pos) {
            match byte {
                b'"' => return Ok(pos + 1),
                b'\n' => break,
                b'\\' => match self.src.get(pos + 1) {
                    None | Some(b'\n') => break,
                    Some(_) => pos += 2,
                },
                _ => pos += 1,
            }
        }
        Err((start, Reason::OpenString))
    }

    fn word_end(&self, start: usize) -> Result<usize, (usize, Reason)> {
        let rest = &self.src[start..];
        let len = rest.iter().position(|b| ends_word(*b)).unwrap_or(rest.len());
        if self.strict && len == MARK_BYTES && is_mark(&rest[..len]) && self.at_line_start(start) {
            let mark = String::from_utf8_lossy(&rest[..len]).into_owned();
            return Err((start, Reason::MergeConflict { mark }));
        }
        Ok(start + len)
    }

    fn at_line_start(&self, start: usize) -> bool {
        start == 0 || self.src[start - 1] == b'\n'
    }
}

/// Length of a merge conflict mark in bytes.
const MARK_BYTES: usize = 7;

fn is_mark(word: &[u8]) -> bool {
    matches!(word[0], b'<' | b'=' | b'>' | b'|') && word.iter().all(|b| *b == word[0])
}
