//! Secrets that a command line carries: `--name value`, `-u user:password`, `mysql -pPASSWORD`.

use super::keys::{self, KEY_BYTES_MAX, KeyKind};
use super::scan::{Hit, Scan, VALUE_LOOK_BYTES_MAX};

/// How far back the program's name may stand before its option, in bytes.
const PROGRAM_BYTES_MAX: usize = 128;

/// Programs, an option of theirs that takes a password, and whether the value may be glued to it.
const PASSWORD_OPTIONS: &[(&str, u8, bool)] = &[
    ("mysql", b'p', true),
    ("mariadb", b'p', true),
    ("sshpass", b'p', true),
    ("docker", b'p', false),
    ("podman", b'p', false),
    ("plink", b'w', false),
    ("7z", b'p', true),
    ("unrar", b'p', true),
    ("unzip", b'P', true),
    ("zip", b'P', true),
    ("sqlcmd", b'P', true),
    ("redis-cli", b'a', false),
    ("ldapsearch", b'w', true),
    ("ldapmodify", b'w', true),
    ("smbclient", b'U', true),
    ("ipmitool", b'P', true),
];

/// What may stand between an option and its value: a space, or the border of two strings of a list.
const GAP: &[u8] = b" \"',\n";
/// Longest such stretch, in bytes.
const GAP_BYTES_MAX: usize = 12;

impl Scan<'_> {
    /// `--name value`.
    pub(super) fn option(&self, at: usize) -> Option<Hit> {
        let part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
        let len = self.count(at + 2, KEY_BYTES_MAX, part);
        let name = self.text.get(at + 2..at + 2 + len)?;
        let (value, end, gap) = self.argument(at + 2 + len)?;
        if name == "user" || name == "proxy-user" {
            return self.user_and_password(value, end, gap);
        }
        let kind = keys::kind(name).filter(|k| *k != KeyKind::List)?;
        if gap == 0 || self.byte(value) == Some(b'-') {
            return None;
        }
        self.secret_argument(value, end, gap, value, kind)
    }

    /// `-u user:password`, and options that are a password's in the programs of the table.
    pub(super) fn short_option(&self, at: usize) -> Option<Hit> {
        if !matches!(
            self.back(at, 1),
            None | Some(b' ' | b'\t' | b'\n' | b'"' | b'\'' | b'[' | b',')
        ) {
            return None;
        }
        let letter = self.byte(at + 1)?;
        if !matches!(letter, b'u' | b'U') && !PASSWORD_OPTIONS.iter().any(|o| o.1 == letter) {
            return None;
        }
        let (value, end, gap) = self.argument(at + 2)?;
        if matches!(letter, b'u' | b'U')
            && let Some(hit) = self.user_and_password(value, end, gap)
        {
            return Some(hit);
        }
        let fits = self.program_before(at, |name| {
            PASSWORD_OPTIONS.iter().any(|(program, option, glued)| {
                *option == letter && (gap > 0 || *glued) && program.as_bytes() == name
            })
        });
        if !fits {
            return None;
        }
        // `mysql -p` asks for its password: the word after it is a database. `docker run -p`
        // publishes a port.
        let asks = gap > 0
            && letter == b'p'
            && self.program_before(at, |name| matches!(name, b"mysql" | b"mariadb"));
        let port = self.bytes.get(value..end)?.iter().all(|b| b.is_ascii_digit() || *b == b':');
        let publishes = port && self.program_before(at, |name| matches!(name, b"run" | b"create"));
        if asks || publishes || self.byte(value) == Some(b'-') {
            return None;
        }
        if letter == b'U' {
            let percent = self.bytes.get(value..end)?.iter().position(|b| *b == b'%')?;
            return self.secret_argument(value, end, gap, value + percent + 1, KeyKind::Strong);
        }
        self.secret_argument(value, end, gap, value, KeyKind::Strong)
    }

    /// The password of `user:password`; a pair of numbers is a user and a group.
    fn user_and_password(&self, from: usize, end: usize, gap: usize) -> Option<Hit> {
        let pair = self.bytes.get(from..end)?;
        let colon = pair.iter().position(|b| *b == b':')?;
        let ids = pair.iter().all(|b| b.is_ascii_digit() || *b == b':');
        let place = pair.get(colon..)?.starts_with(b"://") || pair.contains(&b'/') && colon == 1;
        if ids || place || colon == 0 {
            return None;
        }
        self.secret_argument(from, end, gap, from + colon + 1, KeyKind::Strong)
    }

    /// The argument after an option that ends at `end`: its start, the end of its front (enough to
    /// judge it), and the gap before it, in bytes.
    fn argument(&self, end: usize) -> Option<(usize, usize, usize)> {
        let equals = usize::from(self.byte(end) == Some(b'='));
        let gap = self.count(end + equals, GAP_BYTES_MAX, |b| GAP.contains(&b));
        let value = end + equals + gap;
        self.byte(value)?;
        Some((value, self.argument_end(value, equals + gap, VALUE_LOOK_BYTES_MAX), equals + gap))
    }

    /// Where an argument ends, or where its front of `bytes_max` does.
    fn argument_end(&self, value: usize, gap: usize, bytes_max: usize) -> usize {
        match self.back(value, 1).filter(|q| gap > 0 && matches!(q, b'"' | b'\'')) {
            Some(quote) => value + self.quoted(value, quote, false, bytes_max),
            None => self.plain_end(value, false, bytes_max),
        }
    }

    /// The argument is a secret from `from` on; only now it is passed to its end.
    fn secret_argument(
        &self,
        value: usize,
        front: usize,
        gap: usize,
        from: usize,
        kind: KeyKind,
    ) -> Option<Hit> {
        self.judged(from, front, kind)?;
        self.judged(from, self.argument_end(value, gap, usize::MAX), kind)
    }

    /// Whether a program of one of these names stands before `at` in the same command.
    fn program_before(&self, at: usize, is: impl Fn(&[u8]) -> bool) -> bool {
        let from = at.saturating_sub(PROGRAM_BYTES_MAX).max(self.done);
        let Some(before) = self.bytes.get(from..at) else { return false };
        let line = before.iter().rposition(|b| matches!(b, b'|' | b'\n')).map_or(0, |p| p + 1);
        let name = |b: &u8| b.is_ascii_alphanumeric() || *b == b'-';
        before.get(line..).unwrap_or(&[]).split(|b| !name(b)).any(is)
    }
}
