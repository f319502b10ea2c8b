//! Text as a terminal shows it: without the codes that a name or a secret could hide behind.

/// Longest escape sequence that is taken out as a whole, in bytes.
const ESCAPE_BYTES_MAX: usize = 64;

/// The text as a person sees it; `None` when nothing in it is hidden.
pub(super) fn as_seen(text: &str) -> Option<String> {
    let hidden = |c: char| {
        (c.is_control() && !matches!(c, '\t' | '\n' | '\r'))
            || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
    };
    if !text.contains(hidden) {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            // What a backspace wipes out; it stops at the start of its line.
            '\u{8}' => {
                if out.ends_with(|last| last != '\n') {
                    out.pop();
                }
            }
            '\u{1b}' => skip_escape(&mut rest),
            c if hidden(c) => {}
            c => out.push(c),
        }
    }
    Some(out)
}

/// Takes out what belongs to an escape: `[..m` and its kin, or one letter.
fn skip_escape(rest: &mut std::str::Chars<'_>) {
    let mut look = rest.clone();
    match look.next() {
        Some('[') => {
            for c in look.by_ref().take(ESCAPE_BYTES_MAX) {
                if !matches!(c, '0'..='9' | ';' | '?' | ':' | ' ') {
                    break;
                }
            }
            *rest = look;
        }
        Some(c) if c.is_ascii_alphabetic() => *rest = look,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_taken_out() {
        assert_eq!(as_seen("plain\n\ttext"), None);
        assert_eq!(
            as_seen("pax\u{8}ss\u{1b}[1;31mword\u{1b}[0m: a").as_deref(),
            Some("password: a")
        );
        assert_eq!(as_seen("p\u{200b}w").as_deref(), Some("pw"));
        assert_eq!(as_seen("a\n\u{8}b\u{1b}").as_deref(), Some("a\nb"));
    }
}
