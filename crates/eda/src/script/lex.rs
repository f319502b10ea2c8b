//! As much of JavaScript's words as is needed to find calls: names, signs, texts, numbers, lines.

/// Most tokens of one file.
pub const TOKENS_MAX: usize = 2_000_000;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A name or keyword.
    Name,
    /// A number.
    Number,
    /// A text in quotes, or a template without places in it.
    Text,
    /// A template with places in it: its value is not known.
    Template,
    /// A regular expression.
    Regex,
    /// One sign; `...`, `?.` and `=>` are one each.
    Sign,
}

/// One token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// What it is.
    pub kind: Kind,
    /// As written.
    pub text: &'a str,
    /// Where it begins, in bytes.
    pub at: usize,
    /// Its line, counted from 1.
    pub line: usize,
}

/// Splits a script into tokens; comments and blanks are left out. Whatever is odd becomes a sign:
/// the editor itself is the judge of what is no JavaScript.
#[must_use]
pub fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut lexer = Lexer { code, at: 0, line: 1, tokens: Vec::new(), places: Vec::new() };
    while lexer.at < code.len() && lexer.tokens.len() < TOKENS_MAX {
        lexer.one();
    }
    lexer.tokens
}

struct Lexer<'a> {
    code: &'a str,
    at: usize,
    line: usize,
    tokens: Vec<Token<'a>>,
    /// For each open `${` the depth of braces inside it.
    places: Vec<u32>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.code.get(self.at..).unwrap_or("")
    }

    /// Takes `len` bytes as a token, or as nothing.
    fn take(&mut self, len: usize, kind: Option<Kind>) {
        let (at, line) = (self.at, self.line);
        let end = self.code.len().min(at + len.max(1));
        // A character is never cut.
        let end = (end..=self.code.len()).find(|e| self.code.is_char_boundary(*e));
        let end = end.unwrap_or(self.code.len());
        let text = self.code.get(at..end).unwrap_or("");
        self.line += text.matches('\n').count();
        self.at = end;
        if let Some(kind) = kind {
            self.tokens.push(Token { kind, text, at, line });
        }
    }

    fn one(&mut self) {
        let rest = self.rest();
        let first = rest.chars().next().unwrap_or(' ');
        let starts = |s: &str| rest.starts_with(s);
        if first.is_whitespace() {
            self.take(first.len_utf8(), None);
        } else if starts("//") {
            self.take(rest.find('\n').unwrap_or(rest.len()), None);
        } else if starts("/*") {
            self.take(rest.find("*/").map_or(rest.len(), |n| n + 2), None);
        } else if first == '"' || first == '\'' {
            self.take(quoted(rest, first), Some(Kind::Text));
        } else if first == '`' {
            self.template(1);
        } else if first == '}' && self.places.last() == Some(&0) {
            self.places.pop();
            self.template(1);
        } else if first.is_ascii_digit() || (first == '.' && digit_second(rest)) {
            self.take(
                while_word(rest, |c| c.is_alphanumeric() || c == '.' || c == '_'),
                Some(Kind::Number),
            );
        } else if first.is_alphabetic() || matches!(first, '_' | '$' | '#' | '\\') {
            self.take(
                while_word(rest, |c| c.is_alphanumeric() || "_$#\\".contains(c)),
                Some(Kind::Name),
            );
        } else if first == '/' && self.regex_may_come() {
            self.take(regex(rest), Some(Kind::Regex));
        } else if starts("...") {
            self.take(3, Some(Kind::Sign));
        } else if starts("=>") || (starts("?.") && !digit_third(rest)) {
            self.take(2, Some(Kind::Sign));
        } else {
            match (first, self.places.last_mut()) {
                ('{', Some(depth)) => *depth += 1,
                ('}', Some(depth)) => *depth = depth.saturating_sub(1),
                _ => {}
            }
            self.take(first.len_utf8(), Some(Kind::Sign));
        }
    }

    /// A piece of a template, up to its end or to the next place in it.
    fn template(&mut self, skip: usize) {
        let rest = self.rest();
        let whole = rest.starts_with('`');
        let mut at = skip;
        while let Some(c) = rest.get(at..).and_then(|r| r.chars().next()) {
            if c == '\\' {
                at += 2;
            } else if c == '`' {
                let kind = if whole { Kind::Text } else { Kind::Template };
                return self.take(at + 1, Some(kind));
            } else if rest.get(at..).is_some_and(|r| r.starts_with("${")) {
                self.take(at + 2, Some(Kind::Template));
                return self.places.push(0);
            } else {
                at += c.len_utf8();
            }
        }
        self.take(rest.len(), Some(Kind::Template));
    }

    /// Whether a slash here begins an expression rather than a division.
    fn regex_may_come(&self) -> bool {
        let Some(last) = self.tokens.last() else { return true };
        match last.kind {
            Kind::Sign => !matches!(last.text, ")" | "]" | "}"),
            Kind::Name => matches!(
                last.text,
                "return" | "typeof" | "case" | "in" | "of" | "delete" | "void" | "await" | "else"
            ),
            Kind::Template => last.text.ends_with("${"),
            Kind::Number | Kind::Text | Kind::Regex => false,
        }
    }
}

fn while_word(rest: &str, fits: impl Fn(char) -> bool) -> usize {
    rest.find(|c| !fits(c)).unwrap_or(rest.len())
}

fn digit_second(rest: &str) -> bool {
    rest.chars().nth(1).is_some_and(|c| c.is_ascii_digit())
}

fn digit_third(rest: &str) -> bool {
    rest.chars().nth(2).is_some_and(|c| c.is_ascii_digit())
}

/// Length of a text in quotes, its end included; an open one ends with its line.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => return at,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Length of a regular expression with its flags.
fn regex(rest: &str) -> usize {
    let (mut escaped, mut class) = (false, false);
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => class = true,
            ']' => class = false,
            '\n' => return at,
            '/' if !class => {
                let flags = rest.get(at + 1..).unwrap_or("");
                return at + 1 + while_word(flags, |c| c.is_ascii_alphabetic());
            }
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(code: &str) -> Vec<&str> {
        tokens(code).iter().map(|t| t.text).collect()
    }

    #[test]
    fn words_texts_and_signs() {
        assert_eq!(
            texts("a.b('x, y', 2) // c('no')"),
            ["a", ".", "b", "(", "'x, y'", ",", "2", ")"]
        );
        assert_eq!(
            texts("x = /[/'\"]+/g.test(y) / 2"),
            ["x", "=", "/[/'\"]+/g", ".", "test", "(", "y", ")", "/", "2"]
        );
        assert_eq!(
            texts("`a ${b({c: `d`})} e`"),
            ["`a ${", "b", "(", "{", "c", ":", "`d`", "}", ")", "} e`"]
        );
        assert_eq!(texts("a?.b ?.5:1"), ["a", "?.", "b", "?", ".5", ":", "1"]);
    }

    #[test]
    fn lines_are_counted_over_comments_and_texts() {
        let code = "/* one\ntwo */\n`three\nfour`\nhere";
        assert_eq!(tokens(code).last().map(|t| (t.text, t.line)), Some(("here", 5)));
    }

    #[test]
    fn nothing_is_too_odd() {
        for odd in ["'", "`", "`${", "/", "é'ü", "}", "/*", "\\", "`\\", "a\u{2028}b"] {
            let all: usize = tokens(odd).iter().map(|t| t.text.len()).sum();
            assert!(all <= odd.len(), "{odd}");
        }
    }
}
