//! Small pure helpers on text: cuts that never split a character, tails, control codes.

/// The first `bytes_max` bytes of `text`, cut on a character border.
#[must_use]
pub fn cut_bytes(text: &str, bytes_max: usize) -> &str {
    if text.len() <= bytes_max {
        return text;
    }
    let mut end = bytes_max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or("")
}

/// Head and tail of `text` with a mark between them that says how much was left out. The result
/// has at most `bytes_max` bytes plus the mark. The tail gets two thirds, because that is where
/// tools say what went wrong.
#[must_use]
pub fn head_and_tail(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let head = cut_bytes(text, bytes_max / 3);
    let mut start = text.len() - (bytes_max - bytes_max / 3);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let tail = text.get(start..).unwrap_or("");
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n[... {left_out} bytes left out ...]\n{tail}")
}

/// The text without control codes (escape sequences included); line ends and tabs stay.
#[must_use]
pub fn without_control(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || is_direction_mark(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// Marks that reorder what a reader sees; they have no place in a message.
fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.peek() {
        // CSI: parameters, then one final byte.
        Some('[') => {
            chars.next();
            for c in chars.by_ref() {
                if ('\u{40}'..='\u{7e}').contains(&c) {
                    break;
                }
            }
        }
        // OSC: up to BEL or the string terminator.
        Some(']') => {
            chars.next();
            while let Some(c) = chars.next() {
                if c == '\u{7}' {
                    break;
                }
                if c == '\u{1b}' {
                    chars.next();
                    break;
                }
            }
        }
        Some(_) => {
            chars.next();
        }
        None => {}
    }
}

/// One line: control codes gone, line ends and runs of blanks folded to one blank.
#[must_use]
pub fn one_line(text: &str) -> String {
    without_control(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_never_split_a_character() {
        assert_eq!(cut_bytes("aäb", 2), "a");
        assert_eq!(cut_bytes("aäb", 3), "aä");
        let long = "ä".repeat(500);
        let short = head_and_tail(&long, 101);
        assert!(short.contains("bytes left out"));
        assert!(short.starts_with('ä') && short.ends_with('ä'));
    }

    #[test]
    fn control_codes_go_and_lines_stay() {
        assert_eq!(without_control("a\u{1b}[31mred\u{1b}[0m\nb\u{7}"), "ared\nb");
        assert_eq!(without_control("\u{1b}]0;title\u{7}x"), "x");
        assert_eq!(one_line(" a\r\n  b\t"), "a b");
        assert_eq!(without_control("a\u{202e}b"), "ab");
    }
}
