//! Secrets that sentences, prompts and escaped addresses carry: `the password is X`,
//! `password for ann: X`, a name whose value stands in the next line, `client_secret%3DX`.

use super::keys::{self, KeyKind};
use super::scan::{Hit, Scan};

/// How far back the words of a prompt may stand before its colon, in bytes.
const PROMPT_BYTES_MAX: usize = 160;
/// Deepest indent of a value in the line after its name, in bytes.
const INDENT_BYTES_MAX: usize = 64;
/// Longest word looked at, in bytes.
const WORD_BYTES_MAX: usize = 24;

/// What is said of a password that does not tell it: `the password is wrong`.
const SAID_OF: &[&str] = &[
    "a",
    "about",
    "absent",
    "accepted",
    "already",
    "also",
    "always",
    "an",
    "as",
    "asked",
    "at",
    "bad",
    "being",
    "blank",
    "by",
    "changed",
    "checked",
    "correct",
    "created",
    "default",
    "deleted",
    "denied",
    "different",
    "disabled",
    "empty",
    "encrypted",
    "expected",
    "expired",
    "for",
    "from",
    "given",
    "good",
    "hashed",
    "hidden",
    "ignored",
    "in",
    "incorrect",
    "invalid",
    "it",
    "kept",
    "known",
    "listed",
    "long",
    "looked",
    "lost",
    "made",
    "malformed",
    "masked",
    "mandatory",
    "missing",
    "needed",
    "never",
    "new",
    "no",
    "not",
    "nowhere",
    "null",
    "of",
    "off",
    "ok",
    "old",
    "on",
    "one",
    "only",
    "optional",
    "out",
    "passed",
    "present",
    "protected",
    "read",
    "redacted",
    "refused",
    "rejected",
    "removed",
    "required",
    "right",
    "safe",
    "same",
    "saved",
    "sent",
    "set",
    "shorter",
    "shown",
    "still",
    "stored",
    "supplied",
    "taken",
    "that",
    "the",
    "their",
    "this",
    "to",
    "too",
    "typed",
    "unchanged",
    "unknown",
    "unset",
    "used",
    "valid",
    "visible",
    "weak",
    "what",
    "where",
    "without",
    "wrong",
    "yours",
];

impl Scan<'_> {
    /// What a name says where it stands: `key` alone says nothing, `API key` does.
    pub(super) fn kind_in_place(&self, name: &str, start: usize) -> Option<KeyKind> {
        let plain = name.trim_start_matches('-');
        let kind = keys::kind(plain);
        if kind.is_some_and(|k| k != KeyKind::Weak) || !keys::needs_a_word_before(plain) {
            return kind;
        }
        let gap = usize::from(self.back(start, 1) == Some(b' '));
        let end = start.checked_sub(gap).filter(|_| gap > 0)?;
        let mut from = end;
        while from > self.done && end - from < WORD_BYTES_MAX {
            match self.byte(from - 1) {
                Some(b) if b.is_ascii_alphanumeric() => from -= 1,
                _ => break,
            }
        }
        let before = self.text.get(from..end)?;
        keys::kind(&format!("{before}-{plain}")).or(kind)
    }

    /// `Password for 'ann': X`; the colon stands at `at`.
    pub(super) fn asked_for(&self, at: usize) -> Option<(KeyKind, usize)> {
        if !matches!(self.byte(at + 1), Some(b' ')) {
            return None;
        }
        let from = at.saturating_sub(PROMPT_BYTES_MAX).max(self.done);
        let before = self.bytes.get(from..at)?;
        let line = before.iter().rposition(|b| *b == b'\n').map_or(0, |p| p + 1);
        let prompt = before.get(line..)?;
        let found =
            |words: &[u8]| prompt.windows(words.len()).position(|w| w.eq_ignore_ascii_case(words));
        let start = [&b"password for "[..], b"passphrase for ", b"pin for ", b"password of "]
            .iter()
            .find_map(|words| found(words))?;
        Some((KeyKind::Line, from + line + start))
    }

    /// `password is X`; the `is` stands at `at`.
    pub(super) fn said(&self, at: usize) -> Option<Hit> {
        let alone = self.back(at, 1) == Some(b' ') && self.starts(at, "is");
        let colon = usize::from(self.byte(at + 2) == Some(b':'));
        let gap = self.count(at + 2 + colon, 4, |b| b == b' ');
        if !alone || gap == 0 {
            return None;
        }
        let (name, start, _) = self.name_before(at)?;
        let kind = self.kind_in_place(name, start).filter(|k| *k != KeyKind::List)?;
        let from = at + 2 + colon + gap;
        let len = self.count(from, WORD_BYTES_MAX, |b| b.is_ascii_alphabetic() || b == b'\'');
        let word = self.text.get(from..from + len)?;
        let ends = self.byte(from + len).is_none_or(|b| {
            b.is_ascii_whitespace() || matches!(b, b'.' | b',' | b';' | b':' | b')' | b'!' | b'"')
        });
        if ends && SAID_OF.iter().any(|w| w.eq_ignore_ascii_case(word)) {
            return None;
        }
        self.value(from, start, kind, true)
    }

    /// `name%3Dvalue`, `name%253Dvalue`, `name%3Avalue`: an address inside an address.
    pub(super) fn escaped(&self, at: usize) -> Option<Hit> {
        let twice = usize::from(self.starts(at, "%25")) * 2;
        let code = self.bytes.get(at + 1 + twice..at + 3 + twice)?;
        if !code.eq_ignore_ascii_case(b"3d") && !code.eq_ignore_ascii_case(b"3a") {
            return None;
        }
        let (name, start, _) = self.name_before(at)?;
        // `%26client_secret`: the digits of the escape before it are not part of the name.
        let escape = self.back(start, 1) == Some(b'%');
        let name = if escape { name.get(2..)? } else { name };
        let name = name.strip_prefix("26").filter(|_| escape).unwrap_or(name);
        let kind =
            keys::kind(name).or_else(|| keys::is_query_secret(name).then_some(KeyKind::Strong))?;
        let from = at + 3 + twice;
        let mut to = from;
        while let Some(b) = self.byte(to) {
            let separator = self.starts(to, "%26") || self.starts(to, "%2526");
            if b.is_ascii_whitespace() || b"&#\"'<>`\\".contains(&b) || separator {
                break;
            }
            to += 1;
        }
        self.judged(from, to, kind)
    }

    /// The start of a value in the line after its name: `password:` alone in its line, or with the
    /// mark of a YAML block, and an indented value below.
    pub(super) fn next_line(&self, from: usize, name: usize) -> Option<usize> {
        let mark = self.count(from, 3, |b| b"|>-+".contains(&b));
        let line_end = from + mark + self.count(from + mark, 2, |b| b == b'\r' || b == b' ');
        if self.byte(line_end) != Some(b'\n') {
            return None;
        }
        let indent = self.count(line_end + 1, INDENT_BYTES_MAX, |b| b == b' ' || b == b'\t');
        let value = line_end + 1 + indent;
        let mut column = 0;
        while column < INDENT_BYTES_MAX
            && name > column
            && self.back(name, column + 1) == Some(b' ')
        {
            column += 1;
        }
        let len = self.plain_end(value, true, super::scan::VALUE_LOOK_BYTES_MAX) - value;
        let word = self.bytes.get(value..value + len)?;
        let named =
            word.ends_with(b":") || word.windows(2).any(|w| w == b": ") || word.contains(&b'=');
        (indent > column && len > 0 && !named).then_some(value)
    }
}
