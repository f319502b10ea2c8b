//! Patterns of the rubric: what must never stand in a text for a person.

use std::sync::LazyLock;

use regex_lite::Regex;

use crate::rubric::Rule;

/// One pattern: the rule, the expression, what it finds in words.
type Entry = (Rule, &'static str, &'static str);

/// Patterns that look at masked text.
pub(crate) const ON_WORDS: &[Entry] = &[
    (Rule::R02, r"(?i)\bhttps?\b", "a protocol word"),
    (Rule::R02, r"(?i)\bstatus codes?\b", "a protocol word"),
    (
        Rule::R02,
        r"(?i)\b(tcp|udp|tls|ssl|dns|cdp|websockets?|sockets?|localhost)\b",
        "a protocol word",
    ),
    (
        Rule::R02,
        r"(?i)\b(unauthorized|too many requests|bad gateway|forbidden \(|internal server error)",
        "a protocol phrase",
    ),
    (
        Rule::R03,
        r"(?i)\b(panic|panicked|backtrace|traceback|stack ?trace|stack frames?|call stack)\b",
        "a stack trace",
    ),
    (Rule::R03, r"(?i)\bcaused by\b", "'caused by'"),
    (Rule::R03, r"(?i)\b(at|on|in) line (two|[0-9])", "a line number"),
    (Rule::R03, r"(?i)\b0x[0-9a-f]+\b", "an address"),
    (
        Rule::R03,
        r"(?i)\b(segmentation fault|segfault|core dumped|unhandled|uncaught|exception)\b",
        "a program fault",
    ),
    (Rule::R03, r"\bthread '", "a thread name"),
    (
        Rule::R04,
        r"(?i)\.(py|js|mjs|cjs|ts|tsx|rs|sh|bat|ps1|cmd|exe|jsonl?|ya?ml|toml|log|html?|dll|so|lock|cbor|redb)\b",
        "a code-file name",
    ),
    (
        Rule::R05,
        r"\bE(CONN|TIME|NOENT|ACCES|PERM|PIPE|EXIST|ADDR|HOST|AGAIN|NOSPC|ROFS|MFILE)[A-Z]*\b",
        "an error name",
    ),
    (Rule::R05, r"\b[A-Za-z]+(Error|Exception)\b", "an error name"),
    (Rule::R05, r"\b(ENV|EDA|BR|KI|SC|ST|GIT|AG|LG)-[0-9]{1,4}\b", "a class id"),
    (Rule::R05, r"(?i)\b[0-9a-f]{12,}\b", "a hash"),
    (Rule::R05, r"(^|[^0-9A-Za-z]):[0-9]{2,5}\b", "a port"),
    (Rule::R05, r"(?i)\b(exit|return|error) (code|status|value)s?\b", "an exit code"),
    (Rule::R05, r"(?i)\b(code|status|errno) (two|[0-9])", "an exit code"),
    (Rule::R05, r"\b[A-Za-z0-9]+_[A-Za-z0-9_]+\b", "a snake_case name"),
    (Rule::R05, r"\b[a-z]{2,}[A-Z][A-Za-z]*\b", "a camelCase name"),
    (Rule::R05, r"(?i)\b(null|undefined|nan|nil|none type)\b", "a program value"),
    (Rule::R05, r"::|->|=>|==|\(\)|[{}<>`$|]", "program signs"),
    (Rule::R05, r"(^|\s)--?[a-z][a-z-]*", "a command-line option"),
    (Rule::R14, r"(?i)\byou (have )?(failed|forgot|forgotten|broke|must|should have)\b", "blame"),
    (Rule::R14, r"(?i)\byour (fault|mistake|error)\b", "blame"),
    (
        Rule::R14,
        r"(?i)\b(invalid|illegal|fatal|abort|aborts|aborted|aborting|kill|kills|killed|killing)\b",
        "a hard word",
    ),
    (Rule::R15, r"(?i)\b(probably|perhaps|maybe|i guess|i think|presumably|might be)\b", "a guess"),
    (Rule::R16, r"(?i)something (went|is) wrong", "a vague phrase"),
    (
        Rule::R16,
        r"(?i)\b(unexpected|unknown|internal|generic) (error|problem|failure|fault)",
        "a vague phrase",
    ),
    (Rule::R16, r"(?i)\bcontact (the )?(support|administrator|vendor)", "a vague phrase"),
    (
        Rule::R16,
        r"(?i)\b(an|some) (error|problem|issue) (occurred|happened|came up)",
        "a vague phrase",
    ),
    (Rule::R17, r"!", "an exclamation mark"),
];

/// Patterns that look at the text as shown, values included.
pub(crate) const ON_SHOWN: &[Entry] = &[
    (Rule::R04, r"\\", "a path"),
    (Rule::R04, r"~/|[A-Za-z]+://", "a path"),
    (Rule::R04, r"(^|[^0-9\s])/|/([^0-9\s]|$)", "a path"),
    (
        Rule::R19,
        r"[\x00-\x1f\x7f-\x{9f}\x{200e}\x{200f}\x{202a}-\x{202e}\x{2066}-\x{2069}]",
        "a control code",
    ),
    (Rule::R20, r"[\w.+-]+@[\w-]+\.[A-Za-z]{2,}", "an e-mail address"),
    (
        Rule::R20,
        r"\b(gh[pousr]_[A-Za-z0-9]{8,}|github_pat_[A-Za-z0-9_]{8,}|AKIA[0-9A-Z]{8,}|sk-[A-Za-z0-9-]{8,}|xox[abp]-[A-Za-z0-9-]{8,})",
        "a secret",
    ),
    (
        Rule::R20,
        r"(?i)\b(bearer\s+[a-z0-9._-]{8,}|(password|passwd|secret|token|api[-_]?key)\s*[=:]\s*\S+|private key-----)",
        "a secret",
    ),
    (Rule::R20, r"(?i)([/\\]home[/\\]|[/\\]users[/\\]|~/)", "a home folder"),
];

/// Units and counted nouns are asked for after a bare number from 400 to 599.
const STATUS_LIKE: &str = r"(^|[^0-9A-Za-z.,-])([45][0-9][0-9])($|[^0-9A-Za-z.,%]|[.,]($|[^0-9]))";

struct Compiled {
    rule: Rule,
    regex: Regex,
    finds: &'static str,
}

fn compiled(list: &'static [Entry]) -> Vec<Compiled> {
    list.iter()
        .filter_map(|(rule, p, finds)| {
            Regex::new(p).ok().map(|regex| Compiled { rule: *rule, regex, finds })
        })
        .collect()
}

static WORDS: LazyLock<Vec<Compiled>> = LazyLock::new(|| compiled(ON_WORDS));
static SHOWN: LazyLock<Vec<Compiled>> = LazyLock::new(|| compiled(ON_SHOWN));
static STATUS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(STATUS_LIKE).ok());

/// What the patterns for masked text find.
pub(crate) fn on_words(masked: &str) -> impl Iterator<Item = (Rule, String)> {
    found(&WORDS, masked)
}

/// What the patterns for shown text find.
pub(crate) fn on_shown(shown: &str) -> impl Iterator<Item = (Rule, String)> {
    found(&SHOWN, shown)
}

fn found(list: &'static [Compiled], text: &str) -> impl Iterator<Item = (Rule, String)> {
    list.iter().filter_map(move |c| {
        c.regex.find(text).map(|m| (c.rule, format!("{}: {:?}", c.finds, m.as_str().trim())))
    })
}

/// Words after a number from 400 to 599 that make it a measure: units, and what is counted.
const UNITS: &[&str] = &[
    "mm", "cm", "mil", "mils", "um", "v", "mv", "a", "ma", "w", "mw", "ms", "s", "k", "ohm",
    "ohms", "hz", "khz", "mhz", "ghz", "nf", "uf", "pf", "mb", "gb", "kb", "percent", "of",
];

/// Words on -s that count nothing.
const NO_NOUN: &[&str] =
    &["was", "is", "has", "this", "as", "us", "its", "says", "means", "does", "comes"];

/// A bare number from 400 to 599 that no unit and no counted noun follows.
pub(crate) fn bare_status(text: &str) -> Option<String> {
    let regex = STATUS.as_ref()?;
    for hit in regex.captures_iter(text) {
        let number = hit.get(2)?;
        let rest = text.get(number.end()..).unwrap_or("").trim_start();
        let word: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
        let counted = word.ends_with('s')
            && word.chars().next().is_some_and(char::is_lowercase)
            && !NO_NOUN.contains(&word.as_str());
        let counted_later =
            rest.split_whitespace().nth(1).is_some_and(|w| w.trim_end_matches('.').ends_with('s'))
                && word.chars().next().is_some_and(char::is_lowercase)
                && !NO_NOUN.contains(&word.as_str());
        if !(counted || counted_later || UNITS.contains(&word.to_lowercase().as_str())) {
            return Some(format!("a bare number: {:?}", number.as_str()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_patterns_compile() {
        assert_eq!(WORDS.len(), ON_WORDS.len());
        assert_eq!(SHOWN.len(), ON_SHOWN.len());
        assert!(STATUS.is_some());
    }

    #[test]
    fn numbers_that_count_something_are_no_status() {
        for good in [
            "I placed 404 parts.",
            "The track is 450 mm long.",
            "R404 is missing.",
            "It took 1,404 tries.",
            "I matched 429 of them.",
            "about 450mm",
            "412.5 mm",
            "I saw 410 open findings.",
        ] {
            assert_eq!(bare_status(good), None, "{good}");
        }
        for bad in
            ["The answer was 404.", "429 Too Many Requests", "It said 503 and stopped.", "Got 401"]
        {
            assert!(bare_status(bad).is_some(), "{bad}");
        }
    }
}
