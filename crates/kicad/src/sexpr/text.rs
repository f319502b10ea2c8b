//! Strings as KiCad writes and reads them.

use std::borrow::Cow;

/// Writes a value as a quoted string, the way KiCad 6 and later do: quote, backslash, line feed and carriage return are
/// escaped, every other byte stays.
#[must_use]
pub fn quote(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 2);
    out.push('"');
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The value of an atom as it stands in a file: the bytes of a bare word, or those between the quotes with the escapes
/// `\" \\ \a \b \f \n \r \t \v`, `\x` with one or two hexadecimal digits and one to three octal digits undone.
///
/// An unknown escape keeps the byte that follows the backslash.
#[must_use]
pub fn unquote(raw: &[u8]) -> Cow<'_, [u8]> {
    let Some(inner) = raw.strip_prefix(b"\"").map(|rest| rest.strip_suffix(b"\"").unwrap_or(rest))
    else {
        return Cow::Borrowed(raw);
    };
    if !inner.contains(&b'\\') {
        return Cow::Borrowed(inner);
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut pos = 0;
    while let Some(&byte) = inner.get(pos) {
        pos += 1;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let (value, used) = escape(&inner[pos..]);
        out.extend(value);
        pos += used;
    }
    Cow::Owned(out)
}

/// Value and length of the escape whose bytes after the backslash are given.
fn escape(rest: &[u8]) -> (Option<u8>, usize) {
    let Some(&first) = rest.first() else { return (None, 0) };
    let value = match first {
        b'a' => 0x07,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        b'x' => {
            let (value, digits) = number(&rest[1..], 2, 16);
            return (Some(if digits == 0 { b'x' } else { value }), 1 + digits);
        }
        b'0'..=b'7' => {
            let (value, digits) = number(rest, 3, 8);
            return (Some(value), digits);
        }
        other => other,
    };
    (Some(value), 1)
}

fn number(digits: &[u8], most: usize, radix: u32) -> (u8, usize) {
    let mut value = 0_u32;
    let mut used = 0;
    while let Some(digit) = digits.get(used).and_then(|b| char::from(*b).to_digit(radix)) {
        if used == most {
            break;
        }
        value = value * radix + digit;
        used += 1;
    }
    // Three octal digits reach 511; like KiCad's reader, only the low eight bits are kept.
    (value.to_le_bytes()[0], used)
}
