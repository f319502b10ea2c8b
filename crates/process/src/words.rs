//! Splits a command that was given as one string, by the quoting rules of a shell and without a
//! shell: nothing is expanded, and what a shell would treat in a special way is refused.

/// Why a command line can't be split without guessing. The remedy is always the list form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WordsFault {
    /// Nothing but blanks.
    #[error("the command is empty")]
    Empty,
    /// A quote that is never closed.
    #[error("the quote {quote} is not closed")]
    OpenQuote {
        /// The quote.
        quote: char,
    },
    /// A character with a meaning of its own in a shell.
    #[error("{found:?} has a meaning in a shell, and no shell runs this")]
    Special {
        /// The character.
        found: char,
    },
    /// A backslash before an ordinary character: a path of Windows, or an escape?
    #[error("a backslash before {found:?} can be read in two ways")]
    Backslash {
        /// What follows it.
        found: char,
    },
    /// A backslash at the end.
    #[error("a backslash stands at the end")]
    LastBackslash,
    /// `NAME=value` in front of the program.
    #[error("{word:?} looks like a variable, not like a program")]
    Assignment {
        /// The word.
        word: String,
    },
}

/// What to write instead, whatever the fault.
pub const REMEDY: &str = "write it as a list: argv: [program, argument, argument]";

/// Characters that a shell does not take as they are.
const SPECIAL: &str = "$`|&;<>(){}*?[]#~!\n\r\0";

/// The words of a command.
///
/// # Errors
/// [`WordsFault`] for everything that a shell could read in another way.
pub fn split(line: &str) -> Result<Vec<String>, WordsFault> {
    let mut words = Vec::new();
    // `None`: between words; an empty quoted word is a word.
    let mut word: Option<String> = None;
    let mut chars = line.trim().chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => single(&mut chars, word.get_or_insert_default())?,
            '"' => double(&mut chars, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(escaped(&mut chars)?),
            '~' | '#' | '!' if harmless(c, word.as_deref()) => {
                word.get_or_insert_default().push(c);
            }
            c if SPECIAL.contains(c) => return Err(WordsFault::Special { found: c }),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match words.first() {
        None => Err(WordsFault::Empty),
        Some(first) if first.is_empty() => Err(WordsFault::Empty),
        Some(first) if is_assignment(first) => Err(WordsFault::Assignment { word: first.clone() }),
        Some(_) => Ok(words),
    }
}

/// `~` and `#` mean something only at the start of a word, `!` only alone.
fn harmless(c: char, before: Option<&str>) -> bool {
    matches!(c, '~' | '#' | '!') && before.is_some_and(|b| !b.is_empty())
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn single(chars: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), WordsFault> {
    for c in chars.by_ref() {
        if c == '\'' {
            return Ok(());
        }
        word.push(c);
    }
    Err(WordsFault::OpenQuote { quote: '\'' })
}

fn double(chars: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), WordsFault> {
    while let Some(c) = chars.next() {
        match c {
            '"' => return Ok(()),
            '$' | '`' => return Err(WordsFault::Special { found: c }),
            '\\' => match chars.next() {
                Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c),
                Some(found) => return Err(WordsFault::Backslash { found }),
                None => return Err(WordsFault::OpenQuote { quote: '"' }),
            },
            c => word.push(c),
        }
    }
    Err(WordsFault::OpenQuote { quote: '"' })
}

fn escaped(chars: &mut std::str::Chars<'_>) -> Result<char, WordsFault> {
    match chars.next() {
        None => Err(WordsFault::LastBackslash),
        Some(c) if c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '\n') => {
            Err(WordsFault::Backslash { found: c })
        }
        Some(c) => Ok(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_honoured() {
        let cases: &[(&str, &[&str])] = &[
            ("a b  c", &["a", "b", "c"]),
            ("a 'b c' \"d e\"", &["a", "b c", "d e"]),
            ("a 'x'\"y\"z", &["a", "xyz"]),
            (r#"a "" '' b"#, &["a", "", "", "b"]),
            (r"a b\ c \$HOME \\", &["a", "b c", "$HOME", "\\"]),
            (r#"a "q \" \\ \$" '$x `y` *'"#, &["a", "q \" \\ $", "$x `y` *"]),
            (
                "kicad-cli --define-var A=1 x#1 a~b",
                &["kicad-cli", "--define-var", "A=1", "x#1", "a~b"],
            ),
            ("prüfe 'ü é'", &["prüfe", "ü é"]),
        ];
        for (line, want) in cases {
            assert_eq!(split(line).unwrap(), *want, "{line}");
        }
    }

    #[test]
    fn what_a_shell_could_read_otherwise_is_refused() {
        let special = |found| Err(WordsFault::Special { found });
        assert_eq!(split("a $HOME"), special('$'));
        assert_eq!(split("a \"$HOME\""), special('$'));
        assert_eq!(split("a *.py"), special('*'));
        assert_eq!(split("a | b"), special('|'));
        assert_eq!(split("a > b"), special('>'));
        assert_eq!(split("a ~/x"), special('~'));
        assert_eq!(split("a\nb"), special('\n'));
        assert_eq!(split("a && b"), special('&'));
        assert_eq!(split("a {b,c}"), special('{'));
        assert_eq!(split(r"C:\tools\x.exe"), Err(WordsFault::Backslash { found: 't' }));
        assert_eq!(split("a 'b"), Err(WordsFault::OpenQuote { quote: '\'' }));
        assert_eq!(split("a \"b"), Err(WordsFault::OpenQuote { quote: '"' }));
        assert_eq!(split("a \\"), Err(WordsFault::LastBackslash));
        assert_eq!(split("  "), Err(WordsFault::Empty));
        assert_eq!(split("'' a"), Err(WordsFault::Empty));
        assert!(matches!(split("A=1 b"), Err(WordsFault::Assignment { .. })));
    }
}
