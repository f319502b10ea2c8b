//! How hard a text is to read: sentences, words, syllables, grade. Values are masked first, so
//! that product names, references and numbers do not distort the count.

use std::sync::LazyLock;

use regex_lite::Regex;

use crate::words::tokens;

/// Texts below this number of words have no grade: the formula is noise there.
pub const GRADE_WORDS_MIN: usize = 20;

static MASKS: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    MASK_PATTERNS.iter().filter_map(|(p, to)| Regex::new(p).ok().map(|r| (r, *to))).collect()
});

/// What is masked, in this order, and by which word.
const MASK_PATTERNS: &[(&str, &str)] = &[
    // Words between quotes: step names, words that the person is to say.
    (r"(^|[\s(])'([^'\n]{1,80})'", "${1}step"),
    // Board files by their bare name.
    (r"\b[A-Za-z0-9][\w.-]*\.kicad_(pcb|sch|pro|dru|sym|mod)\b", "file"),
    // Products and suppliers.
    (
        r"\b(EasyEDA Pro|EasyEDA|KiCad|Chrome|Chromium|GitHub|Git|git|Node|Python|LCSC|JLCPCB|pcbflow|Java|Freerouting|OpenSCAD|ngspice|rsync|curl)\b",
        "tool",
    ),
    // Part references, one or more letters with digits.
    (r"\b[A-Z]{1,3}[0-9]{1,5}\b", "part"),
    // Numbers with an optional unit.
    (
        r"\b[0-9]+([.,:][0-9]+)*(\s?(mm|mil|mV|V|mA|A|ms|s|kHz|MHz|k|M|R|nF|uF|pF|MB|GB)\b)?%?",
        "two",
    ),
];

/// The text with its values replaced by plain words.
#[must_use]
pub fn masked(text: &str) -> String {
    let mut out = text.replace('\u{2019}', "'");
    for (pattern, to) in MASKS.iter() {
        out = pattern.replace_all(&out, *to).into_owned();
    }
    out
}

/// The sentences of a text. One ends at `.`, `!` or `?` before a blank or the end of the text,
/// closing quotes and brackets included; `;` and dashes end none.
#[must_use]
pub fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((_, c)) = chars.next() {
        if !matches!(c, '.' | '!' | '?') {
            continue;
        }
        while chars
            .next_if(|(_, c)| matches!(c, '.' | '!' | '?' | '\'' | '"' | ')' | '\u{2019}'))
            .is_some()
        {}
        let end = chars.peek().map_or(text.len(), |(at, _)| *at);
        if chars.peek().is_none_or(|(_, c)| c.is_whitespace()) {
            found.push(text.get(start..end).unwrap_or("").trim());
            start = end;
        }
    }
    found.push(text.get(start..).unwrap_or("").trim());
    found.retain(|s| s.chars().any(char::is_alphanumeric));
    found
}

/// Number of words: runs of letters, digits, hyphens and apostrophes.
#[must_use]
pub fn word_count(text: &str) -> usize {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '\'' | '\u{2019}')))
        .filter(|t| t.chars().any(char::is_alphanumeric))
        .count()
}

/// Syllables of a word, at least one; hyphenated words by part.
#[must_use]
pub fn syllables(word: &str) -> usize {
    word.split('-').filter(|p| !p.is_empty()).map(part_syllables).sum::<usize>().max(1)
}

fn part_syllables(word: &str) -> usize {
    let word: Vec<char> = word.to_lowercase().chars().filter(|c| c.is_alphabetic()).collect();
    let vowel = |c: Option<&char>| c.is_some_and(|c| "aeiouy".contains(*c));
    let mut groups = 0;
    let mut before = false;
    for c in &word {
        let now = vowel(Some(c));
        groups += usize::from(now && !before);
        before = now;
    }
    let text: String = word.iter().collect();
    let at = |back: usize| word.len().checked_sub(back).and_then(|i| word.get(i));
    let silent_e = text.ends_with('e')
        && !vowel(at(2))
        && !(text.ends_with("le") && at(3).is_some_and(|c| !vowel(Some(c))));
    // The e of -ed is heard after t and d, that of -es after a hissing sound.
    let silent_ed = text.ends_with("ed") && !vowel(at(3)) && !matches!(at(3), Some('t' | 'd'));
    let silent_es = text.ends_with("es")
        && !vowel(at(3))
        && !matches!(at(3), Some('s' | 'x' | 'z' | 'h' | 'c' | 'g'));
    let silent = usize::from(silent_e || silent_ed || silent_es);
    groups.saturating_sub(silent).max(1)
}

/// School grade of a masked text: 0.39 words a sentence + 11.8 syllables a word - 15.59. `None`
/// below [`GRADE_WORDS_MIN`] words.
#[must_use]
pub fn grade(masked: &str) -> Option<f64> {
    let words = tokens(masked).count();
    if words < GRADE_WORDS_MIN {
        return None;
    }
    let syllables: usize = tokens(masked).map(syllables).sum();
    let sentences = sentences(masked).len().max(1);
    Some(0.39 * ratio(words, sentences) + 11.8 * ratio(syllables, words) - 15.59)
}

fn ratio(a: usize, b: usize) -> f64 {
    let small = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    small(a) / small(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_masks_compile() {
        assert_eq!(MASKS.len(), MASK_PATTERNS.len());
    }

    #[test]
    fn values_are_masked() {
        assert_eq!(
            masked("KiCad's check of R12 at 3.3V ran 3 times in 'place motor block'."),
            "tool's check of part at two ran two times in step."
        );
        assert_eq!(masked("say 'retry'."), "say step.");
        assert_eq!(masked("I can't read door.kicad_pcb, it's old"), "I can't read file, it's old");
    }

    #[test]
    fn sentences_end_where_they_should() {
        assert_eq!(sentences("One. Two (a). Three; four \u{2014} five").len(), 3);
        assert_eq!(sentences("At 3.3 volt, say 'retry.' Then go.").len(), 2);
        assert_eq!(sentences("").len(), 0);
    }

    #[test]
    fn syllables_follow_the_rules() {
        for (word, n) in [
            ("board", 1),
            ("table", 2),
            ("stopped", 1),
            ("started", 2),
            ("retry", 2),
            ("EasyEDA", 3),
            ("file", 1),
            ("files", 1),
            ("boxes", 2),
            ("read-only", 3),
            ("the", 1),
            ("engineer", 3),
            ("placed", 1),
        ] {
            assert_eq!(syllables(word), n, "{word}");
        }
    }

    #[test]
    fn short_texts_have_no_grade_and_office_language_has_a_high_one() {
        assert!(grade("Nothing to do here.").is_none());
        let office = "The authentication associated with your application session has been automatically \
            invalidated following an extended period of inactivity, necessitating reauthorization prior to continuation \
            of schematic generation operations.";
        assert!(grade(office).is_some_and(|g| g > 20.0));
    }
}
