//! The words a person is expected to know: plain words, domain words, and words to avoid.
//!
//! Both lists are reviewed data: `words/plain.txt` beside this crate and `docs/glossary.md` of the
//! workspace. This module only reads them and knows the simple inflections of English.

use std::collections::BTreeSet;
use std::sync::LazyLock;

const PLAIN: &str = include_str!("../words/plain.txt");
const GLOSSARY: &str = include_str!("../../../docs/glossary.md");

/// Shortest stem that an inflected form may have, in letters; "is" is no plural of "i".
const STEM_LETTERS_MIN: usize = 2;

/// A word or phrase to avoid and the one to say instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Synonym {
    /// What to say.
    pub say: &'static str,
    /// What not to say, in lower case.
    pub not: &'static str,
}

/// The lists, parsed once.
#[derive(Debug)]
pub struct Words {
    known: BTreeSet<String>,
    synonyms: Vec<Synonym>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| Words::parse(PLAIN, GLOSSARY));

/// The lists of this build.
#[must_use]
pub fn words() -> &'static Words {
    &WORDS
}

impl Words {
    fn parse(plain: &'static str, glossary: &'static str) -> Words {
        let mut known = BTreeSet::new();
        for line in plain.lines().filter(|l| !l.starts_with('#')) {
            known.extend(line.split_whitespace().map(str::to_lowercase));
        }
        let mut synonyms = Vec::new();
        let mut section = "";
        for line in glossary.lines() {
            if let Some(title) = line.strip_prefix("## ") {
                section = title;
            }
            let Some((first, second)) = cells(line) else { continue };
            if section.starts_with("Domain") {
                for entry in first.split(',') {
                    known.extend(entry.split_whitespace().map(str::to_lowercase));
                }
            } else if section.starts_with("Say this") {
                synonyms
                    .extend(second.split(',').map(|not| Synonym { say: first, not: not.trim() }));
            }
        }
        Words { known, synonyms }
    }

    /// How many words are known, inflected forms not counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether the lists are empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Whether a reader is expected to know this word. Hyphenated words count by their parts.
    #[must_use]
    pub fn knows(&self, word: &str) -> bool {
        let word = word.to_lowercase().replace('\u{2019}', "'");
        let word = word.trim_matches('\'');
        if word.is_empty() || self.has(word) {
            return true;
        }
        word.contains('-') && word.split('-').all(|part| part.is_empty() || self.has(part))
    }

    fn has(&self, word: &str) -> bool {
        self.known.contains(word) || stems(word).iter().any(|stem| self.known.contains(stem))
    }

    /// The first word or phrase of `text` that has a preferred one.
    #[must_use]
    pub fn avoided(&self, text: &str) -> Option<Synonym> {
        let bare: Vec<String> = tokens(text).map(str::to_lowercase).collect();
        let line = format!(" {} ", bare.join(" "));
        self.synonyms.iter().copied().find(|s| line.contains(&format!(" {} ", s.not)))
    }

    /// The table of preferred words.
    #[must_use]
    pub fn synonyms(&self) -> &[Synonym] {
        &self.synonyms
    }
}

fn cells(line: &'static str) -> Option<(&'static str, &'static str)> {
    let inner = line.strip_prefix('|')?.strip_suffix('|')?;
    let (first, second) = inner.split_once('|')?;
    let heading = matches!(first.trim(), "Word" | "Say") || first.contains("---");
    (!heading).then(|| (first.trim(), second.trim()))
}

/// The words of a text: runs of letters, digits, hyphens and apostrophes that hold a letter.
pub fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '\'' | '\u{2019}')))
        .map(|t| t.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|t| t.chars().any(char::is_alphabetic))
}

fn stems(word: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut push = |stem: &str, tail: &str| {
        if stem.chars().count() >= STEM_LETTERS_MIN {
            found.push(format!("{stem}{tail}"));
        }
    };
    if let Some(stem) = word.strip_suffix("'s").or_else(|| word.strip_suffix("s'")) {
        push(stem, "");
        push(stem, "s");
    }
    if let Some(stem) = word.strip_suffix("ies").or_else(|| word.strip_suffix("ied")) {
        push(stem, "y");
    }
    if let Some(stem) = word.strip_suffix("es") {
        push(stem, "");
    }
    if let Some(stem) = word.strip_suffix('s') {
        push(stem, "");
    }
    for ending in ["ed", "ing"] {
        if let Some(stem) = word.strip_suffix(ending) {
            push(stem, "");
            push(stem, "e");
            push(undoubled(stem), "");
        }
    }
    found
}

fn undoubled(stem: &str) -> &str {
    let mut back = stem.chars().rev();
    match (back.next(), back.next()) {
        (Some(a), Some(b)) if a == b => stem.get(..stem.len() - a.len_utf8()).unwrap_or(stem),
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inflected_forms_are_found_and_others_are_not() {
        for word in [
            "stopped",
            "placing",
            "tries",
            "footprints",
            "board's",
            "read-only",
            "KiCad's",
            "don\u{2019}t",
            "design-rule",
            "copied",
            "switches",
        ] {
            assert!(words().knows(word), "{word}");
        }
        for word in ["eval", "renderer", "timeout", "kicad-cli", "econnrefused", "mutex"] {
            assert!(!words().knows(word), "{word}");
        }
    }

    #[test]
    fn preferred_words_are_named() {
        assert_eq!(words().avoided("The package of U7").map(|s| s.say), Some("footprint"));
        assert_eq!(words().avoided("a land pattern.").map(|s| s.say), Some("footprint"));
        assert_eq!(words().avoided("The renderer stopped").map(|s| s.say), Some("drawing window"));
        assert_eq!(words().avoided("The footprint of U7"), None);
    }

    #[test]
    fn preferred_words_are_known_and_the_lists_are_read() {
        assert!(words().len() > 1_200);
        assert!(words().synonyms().len() > 30);
        for s in words().synonyms() {
            assert!(tokens(s.say).all(|w| words().knows(w)), "{}", s.say);
        }
    }
}
