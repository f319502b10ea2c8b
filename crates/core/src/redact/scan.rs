//! One pass over a text. Every test starts at a byte of a small table, looks back a bounded
//! number of bytes, and what it looks at ahead is either bounded or masked (so passed only once).

use super::keys::{self, KEY_BYTES_MAX, KeyKind};
use super::{MASK, MASK_MAIL, tokens};

/// Longest user-and-password part of an address, in bytes.
const USERINFO_BYTES_MAX: usize = 2048;
/// Longest local part of an e-mail address, in bytes.
const MAIL_LOCAL_BYTES_MAX: usize = 64;
/// Longest domain of an e-mail address, in bytes.
const MAIL_DOMAIN_BYTES_MAX: usize = 253;
/// Longest private key block, in bytes.
const KEY_BLOCK_BYTES_MAX: usize = 64 * 1024;
/// Longest list of cookies that is masked as a whole, in bytes.
const COOKIES_BYTES_MAX: usize = 4 * 1024 * 1024;
/// What is looked at of a value to judge whether it is a secret, in bytes.
pub(super) const VALUE_LOOK_BYTES_MAX: usize = 128;

/// A stretch to replace.
pub(super) struct Hit {
    from: usize,
    to: usize,
    with: &'static str,
}

impl Hit {
    pub(super) fn mask(from: usize, to: usize) -> Option<Hit> {
        (from < to).then_some(Hit { from, to, with: MASK })
    }
}

/// The ways in which the home folder may be written.
pub(super) fn home_forms(home: Option<&str>) -> Vec<String> {
    let Some(home) = home.map(|h| h.trim_end_matches(['/', '\\'])) else { return Vec::new() };
    let parts = home.split(['/', '\\']).filter(|p| !p.is_empty() && !p.ends_with(':')).count();
    if parts == 0 || home.contains('~') || home.contains('[') {
        return Vec::new();
    }
    let mut forms = vec![home.to_owned()];
    if home.contains('\\') {
        forms.push(home.replace('\\', "/"));
        // As in JSON and other escaped text; longest first.
        forms.insert(0, home.replace('\\', "\\\\"));
    }
    forms
}

/// The bytes at which a test may start.
fn table(homes: &[String]) -> [bool; 256] {
    let mut table = [false; 256];
    let first = homes.iter().filter_map(|h| h.as_bytes().first());
    for b in b"=:@-%i".iter().chain(tokens::FIRST).chain(first) {
        if let Some(cell) = table.get_mut(usize::from(*b)) {
            *cell = true;
        }
    }
    table
}

fn first_of_home(b: u8, homes: &[String]) -> bool {
    homes.iter().any(|h| h.as_bytes().first() == Some(&b))
}

/// One round; `None` when there is nothing to mask.
pub(super) fn once(text: &str, homes: &[String]) -> Option<String> {
    let bytes = text.as_bytes();
    let starts = table(homes);
    let mut scan = Scan { text, bytes, done: 0, no_jwt_before: 0 };
    let mut out = String::new();
    let mut at = 0;
    while let Some(&b) = bytes.get(at) {
        if !starts.get(usize::from(b)).copied().unwrap_or(false) {
            at += 1;
            continue;
        }
        // Most bytes of the table are letters in the middle of a word; only few pairs of them
        // start a token.
        let next = bytes.get(at + 1).copied().unwrap_or(0);
        let starts_is = b == b'i' && next == b's';
        let may_start = tokens::may_start(b, next) || starts_is;
        if b.is_ascii_alphabetic() && !may_start && !first_of_home(b, homes) {
            at += 1;
            continue;
        }
        let hit = scan.hit(at, b, homes).filter(|h| text.get(h.from..h.to) != Some(h.with));
        let Some(Hit { from, to, with }) = hit else {
            at += 1;
            continue;
        };
        // All borders stand beside ASCII bytes or at line ends, so both slices exist; if one did
        // not, nothing would be copied rather than too much.
        out.push_str(text.get(scan.done..from).unwrap_or(""));
        out.push_str(with);
        scan.done = to;
        at = to;
    }
    if scan.done == 0 {
        return None;
    }
    out.push_str(text.get(scan.done..).unwrap_or(""));
    Some(out)
}

pub(super) struct Scan<'t> {
    pub(super) text: &'t str,
    pub(super) bytes: &'t [u8],
    /// Everything before is settled; no test looks back past it.
    pub(super) done: usize,
    no_jwt_before: usize,
}

impl Scan<'_> {
    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    pub(super) fn back(&self, at: usize, n: usize) -> Option<u8> {
        at.checked_sub(n).and_then(|p| self.byte(p))
    }

    pub(super) fn starts(&self, at: usize, what: &str) -> bool {
        self.bytes.get(at..).is_some_and(|b| b.starts_with(what.as_bytes()))
    }

    pub(super) fn count(&self, from: usize, max: usize, ok: impl Fn(u8) -> bool) -> usize {
        self.bytes.get(from..).unwrap_or(&[]).iter().take(max).take_while(|b| ok(**b)).count()
    }

    fn hit(&mut self, at: usize, b: u8, homes: &[String]) -> Option<Hit> {
        let hit = match b {
            b'=' => self.assigned(at),
            b':' if self.starts(at, "://") => self.userinfo(at + 3),
            b':' => self.named(at),
            b'@' => self.mail(at),
            b'-' if self.starts(at, "-----BEGIN") => self.key_block(at),
            b'-' if self.starts(at, "--") && self.back(at, 1) != Some(b'-') => self.option(at),
            b'-' => self.short_option(at),
            b'%' => self.escaped(at),
            b'i' => self.said(at),
            _ => None,
        };
        hit.or_else(|| self.home(at, homes)).or_else(|| self.token(at))
    }

    /// Whether a word can start at `at`: start of text, no letter or digit before, or an escape
    /// (`\n`, `%3D`) before.
    fn word_start(&self, at: usize) -> bool {
        match self.back(at, 1) {
            Some(b) if b.is_ascii_alphanumeric() => {
                (self.back(at, 2) == Some(b'\\') && matches!(b, b'n' | b'r' | b't'))
                    || self.back(at, 3) == Some(b'%')
            }
            _ => true,
        }
    }

    fn token(&mut self, at: usize) -> Option<Hit> {
        let (first, second) = (self.byte(at)?, self.byte(at + 1)?);
        if !tokens::may_start(first, second) || !self.word_start(at) {
            return None;
        }
        let (len, keep) = tokens::at(self.bytes.get(at..)?, at, &mut self.no_jwt_before)?;
        Hit::mask(at + keep, at + len)
    }

    fn home(&self, at: usize, homes: &[String]) -> Option<Hit> {
        let form = homes.iter().find(|h| self.starts(at, h))?;
        let to = at + form.len();
        let name = |b: u8| b.is_ascii_alphanumeric() || b >= 0x80 || matches!(b, b'_' | b'-');
        let inside = self.byte(to).is_some_and(name)
            || (self.byte(to) == Some(b'.') && self.byte(to + 1).is_some_and(name));
        let before = self.back(at, 1).is_some_and(|b| name(b) || b == b'.');
        let escaped = self.back(at, 2) == Some(b'\\');
        (!inside && (!before || escaped)).then_some(Hit { from: at, to, with: "~" })
    }

    /// The name that ends before `at`, its start, and whether a quote closes it.
    pub(super) fn name_before(&self, at: usize) -> Option<(&str, usize, bool)> {
        let mut end = at;
        while end > self.done && at - end < 4 && matches!(self.byte(end - 1), Some(b' ' | b'\t')) {
            end -= 1;
        }
        let mut quoted = false;
        while end > self.done && matches!(self.byte(end - 1), Some(b'"' | b'\'' | b'\\' | b']')) {
            quoted = true;
            end -= 1;
            if at - end > 8 {
                return None;
            }
        }
        let mut start = end;
        let part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
        while start > self.done && end - start < KEY_BYTES_MAX {
            match self.byte(start - 1) {
                Some(b) if part(b) => start -= 1,
                _ => break,
            }
        }
        (start < end).then_some((self.text.get(start..end)?, start, quoted))
    }

    /// `name=value`, `name = value`, `name => value`.
    fn assigned(&self, at: usize) -> Option<Hit> {
        let operator = matches!(self.back(at, 1), Some(b'=' | b'!' | b'<' | b'>'));
        if operator || self.byte(at + 1) == Some(b'=') {
            return None;
        }
        let at_name = if self.back(at, 1) == Some(b':') { at - 1 } else { at };
        let (name, start, _) = self.name_before(at_name)?;
        let value = at + 1 + usize::from(self.byte(at + 1) == Some(b'>'));
        let query = matches!(self.back(start, 1), Some(b'?' | b'&' | b'#'))
            || name.eq_ignore_ascii_case("code")
            || (self.back(start, 1) == Some(b';') && self.starts(start.saturating_sub(5), "&amp;"));
        let name = name.trim_start_matches('-');
        if name.eq_ignore_ascii_case("code") {
            let bare = !matches!(self.back(start, 1), Some(b'?' | b'&' | b'#' | b';'));
            return self.code(value, bare);
        }
        if query && keys::is_query_secret(name) {
            let len = self.count(value, usize::MAX, |b| {
                !b.is_ascii_whitespace() && !b"&#\"'<>`\\".contains(&b)
            });
            return Hit::mask(value, value + len);
        }
        let kind = keys::kind(name).or_else(|| self.kind_in_place(name, start))?;
        self.value(value, start, kind, false)
    }

    /// `code=value`: the answer of a sign-in, but not the code of an exit or an error.
    fn code(&self, value: usize, bare: bool) -> Option<Hit> {
        let quote = usize::from(matches!(self.byte(value), Some(b'"' | b'\'')));
        let from = value + quote;
        let part = |b: u8| !b.is_ascii_whitespace() && !b"&#\"'<>`\\,;)]}".contains(&b);
        let len = self.count(from, VALUE_LOOK_BYTES_MAX, part);
        let seen = self.bytes.get(from..from + len)?;
        let digits = seen.iter().all(u8::is_ascii_digit);
        let machine =
            seen.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_')
                && seen.first().is_some_and(u8::is_ascii_uppercase)
                && len < 40;
        let hex = seen.starts_with(b"0x") && len <= 10;
        let mixed = seen.iter().any(u8::is_ascii_digit) && seen.iter().any(u8::is_ascii_lowercase);
        let hump = seen.iter().any(u8::is_ascii_uppercase)
            && seen.iter().any(u8::is_ascii_lowercase)
            && len >= 16;
        let harmless = if bare {
            (digits && len < 6) || machine || hex || (!digits && !mixed && !hump)
        } else {
            digits && len <= 3
        };
        if harmless || seen.starts_with(b"[redacted") {
            return None;
        }
        Hit::mask(from, from + self.count(from, usize::MAX, part))
    }

    /// `name: value`.
    fn named(&self, at: usize) -> Option<Hit> {
        if self.byte(at + 1) == Some(b'=') || self.byte(at + 1) == Some(b':') {
            return None;
        }
        let known = self
            .name_before(at)
            .and_then(|(name, start, _)| self.kind_in_place(name, start).map(|kind| (kind, start)));
        let (kind, start) = known.or_else(|| self.asked_for(at))?;
        self.value(at + 1, start, kind, true)
    }

    /// Bytes up to the closing quote or the end of the line, or `bytes_max`.
    pub(super) fn quoted(&self, from: usize, quote: u8, escaped: bool, bytes_max: usize) -> usize {
        let mut at = from;
        while let Some(b) = self.byte(at).filter(|_| at - from < bytes_max) {
            match b {
                b'\n' => break,
                b'\\' if escaped && self.byte(at + 1) == Some(quote) => break,
                b'\\' if self.byte(at + 1).is_some_and(|n| n.is_ascii() && n != b'\n') => at += 2,
                b if b == quote => break,
                _ => at += 1,
            }
        }
        at.min(self.bytes.len()) - from
    }

    /// The value that belongs to a name, if it is to be masked.
    pub(super) fn value(
        &self,
        from: usize,
        name: usize,
        kind: KeyKind,
        colon: bool,
    ) -> Option<Hit> {
        let from = from + self.count(from, 16, |b| b == b' ' || b == b'\t');
        let from = self.next_line(from, name).unwrap_or(from);
        let first = self.byte(from)?;
        if kind == KeyKind::List {
            return matches!(first, b'[' | b'{').then(|| self.list(from)).flatten();
        }
        let escaped = first == b'\\' && matches!(self.byte(from + 1), Some(b'"' | b'\''));
        let open = if escaped { self.byte(from + 1) } else { Some(first) };
        if let Some(quote @ (b'"' | b'\'' | b'`')) = open {
            let inner = from + 1 + usize::from(escaped);
            let to = inner + self.quoted(inner, quote, escaped, usize::MAX);
            return self.judged(inner, to, kind);
        }
        // A header inside a quoted argument ends with the quote.
        let around = self.back(name, 1).filter(|q| matches!(q, b'"' | b'\'' | b'`'));
        let to = if kind == KeyKind::Line {
            from + match around {
                Some(quote) => {
                    let escaped = self.back(name, 2) == Some(b'\\');
                    self.quoted(from, quote, escaped, usize::MAX)
                }
                None => self.count(from, usize::MAX, |b| b != b'\n' && b != b'\r'),
            }
        } else {
            // The front decides; only what is masked is passed to its end.
            let front = self.plain_end(from, colon, VALUE_LOOK_BYTES_MAX);
            self.judged(from, front, kind)?;
            self.plain_end(from, colon, usize::MAX)
        };
        self.judged(from, to, kind)
    }

    /// End of a value without quotes: white space, a quote, or a separator that another name
    /// follows. Closing marks at its end are not part of it.
    pub(super) fn plain_end(&self, from: usize, colon: bool, bytes_max: usize) -> usize {
        let mut at = from;
        while let Some(b) = self.byte(at).filter(|_| at - from < bytes_max) {
            let separates = matches!(b, b'&' | b',' | b';') && self.name_follows(at + 1);
            if b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'`' | b'<') || separates {
                break;
            }
            if b == b'\\' && matches!(self.byte(at + 1), Some(b'n' | b'r' | b'"')) {
                break;
            }
            at += 1;
        }
        let closing: &[u8] = if colon { b",;)]}." } else { b",;)]}" };
        while at > from + 1 && self.byte(at - 1).is_some_and(|b| closing.contains(&b)) {
            at -= 1;
        }
        at
    }

    fn name_follows(&self, from: usize) -> bool {
        let from = from + self.count(from, 4, |b| b == b' ' || b == b'"');
        let part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'"');
        let len = self.count(from, KEY_BYTES_MAX, part);
        len > 0 && matches!(self.byte(from + len), Some(b'=' | b':'))
    }

    /// Masks a value unless it is plainly none: empty, a word of the language, already masked.
    pub(super) fn judged(&self, from: usize, to: usize, kind: KeyKind) -> Option<Hit> {
        const NOTHING: &[&[u8]] =
            &[b"true", b"false", b"null", b"none", b"nil", b"undefined", b"yes", b"no", b"***"];
        let value = self.bytes.get(from..to)?;
        let seen = value.get(..value.len().min(VALUE_LOOK_BYTES_MAX))?;
        let short = value.len() < VALUE_LOOK_BYTES_MAX;
        let rest = seen.strip_prefix(MASK.as_bytes()).or(seen.strip_prefix(b"[redacted"));
        let masked = short && rest.is_some_and(|r| !r.iter().any(u8::is_ascii_alphanumeric));
        let bare = seen.strip_suffix(b",").unwrap_or(seen);
        let nothing = NOTHING.iter().any(|n| n.eq_ignore_ascii_case(bare));
        let marks = short && !seen.iter().any(|b| b.is_ascii_alphanumeric() || *b >= 0x80);
        if masked || nothing || marks {
            return None;
        }
        let digits = seen.iter().filter(|b| b.is_ascii_digit()).count();
        let weak = match kind {
            KeyKind::Weak => {
                value.len() < 6
                    || (digits == 0 && value.len() < 20)
                    || (short && seen.contains(&b'('))
            }
            _ => false,
        };
        if weak { None } else { Hit::mask(from, to) }
    }

    /// A list of cookies, brackets included.
    fn list(&self, from: usize) -> Option<Hit> {
        let front = self.bytes.get(from..self.bytes.len().min(from + VALUE_LOOK_BYTES_MAX))?;
        if !front.contains(&b'"') {
            return None;
        }
        let (mut depth, mut at, mut inside) = (0_usize, from, false);
        let end = self.bytes.len().min(from + COOKIES_BYTES_MAX);
        while at < end {
            match self.byte(at)? {
                b'\\' => at += 1,
                b'"' => inside = !inside,
                b'[' | b'{' if !inside => depth += 1,
                b']' | b'}' if !inside => depth = depth.saturating_sub(1),
                _ => {}
            }
            at += 1;
            if depth == 0 {
                break;
            }
        }
        let mut to = at.min(self.bytes.len());
        while !self.text.is_char_boundary(to) {
            to += 1;
        }
        let named = self.bytes.get(from..to)?.contains(&b'"');
        if named { Hit::mask(from, to) } else { None }
    }

    /// `user:password@` after `://`; a plain user of a few letters stays.
    fn userinfo(&self, from: usize) -> Option<Hit> {
        let len = self.count(from, USERINFO_BYTES_MAX, |b| {
            !b.is_ascii_whitespace() && !b"/?#\"'<>`\\".contains(&b)
        });
        let place = self.bytes.get(from..from + len)?;
        let end = place.iter().rposition(|b| *b == b'@')?;
        let info = place.get(..end)?;
        let password = info.iter().position(|b| *b == b':');
        let empty = password.is_some_and(|at| at + 1 == info.len()) && info.len() < 16;
        let user = password.is_none() && info.len() < 16;
        if info.is_empty() || user || empty || info.starts_with(MASK.as_bytes()) {
            return None;
        }
        Hit::mask(from, from + end)
    }

    fn mail(&self, at: usize) -> Option<Hit> {
        let local = |b: u8| b.is_ascii_alphanumeric() || b"._%+-".contains(&b);
        let mut from = at;
        while from > self.done && at - from <= MAIL_LOCAL_BYTES_MAX {
            match self.byte(from - 1) {
                Some(b) if local(b) => from -= 1,
                _ => break,
            }
        }
        while from < at && matches!(self.byte(from), Some(b'.' | b'-' | b'+')) {
            from += 1;
        }
        let part = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'.';
        let len = self.count(at + 1, MAIL_DOMAIN_BYTES_MAX, part);
        let domain = self.text.get(at + 1..at + 1 + len)?.trim_end_matches(['.', '-']);
        let (host, top) = domain.rsplit_once('.')?;
        let fits = from < at
            && !host.is_empty()
            && (2..=24).contains(&top.len())
            && top.bytes().all(|b| b.is_ascii_alphabetic())
            && !FILE_ENDINGS.iter().any(|e| e.eq_ignore_ascii_case(top));
        let git = self.text.get(from..at) == Some("git");
        (fits && !git).then_some(Hit { from, to: at + 1 + domain.len(), with: MASK_MAIL })
    }

    fn key_block(&self, at: usize) -> Option<Hit> {
        let line = self.count(at, 80, |b| b != b'\n' && b != b'\\');
        let head = self.text.as_bytes().get(at..at + line)?;
        let private = head.windows(11).any(|w| w == b"PRIVATE KEY");
        if !private {
            return None;
        }
        let limit = self.bytes.len().min(at + KEY_BLOCK_BYTES_MAX);
        let block = self.bytes.get(at..limit)?;
        let end = block.windows(8).position(|w| w == b"-----END");
        let to = match end {
            Some(end) => {
                let close = at + end + 8;
                let dashes = self.count(close, 64, |b| b != b'-' && b != b'\n');
                close + dashes + self.count(close + dashes, 5, |b| b == b'-')
            }
            // Cut off: everything that may be part of a key.
            None => {
                let key = |b: u8| {
                    b.is_ascii_alphanumeric() || b.is_ascii_whitespace() || b"+/=-\\:,".contains(&b)
                };
                at + self.count(at, KEY_BLOCK_BYTES_MAX, key)
            }
        };
        Hit::mask(at, to)
    }
}

/// Endings that look like the top of a domain and are files: `icon@2x.png`.
const FILE_ENDINGS: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "js", "mjs", "cjs", "ts", "json", "css",
    "html", "md", "txt", "lock", "toml", "yaml", "yml", "zip", "gz", "tgz", "service", "socket",
];
