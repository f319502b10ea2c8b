//! What makes two failures "the same": layer, class and test ids; without test ids the
//! normalised words stand in their place.
//!
//! Normalising masks what differs from run to run (hex ids, GUIDs, temporary paths, durations,
//! timestamps) and keeps numbers that are codes and text in parentheses, so that 401 and 500, or
//! two compiler codes, stay apart.

use std::sync::LazyLock;

use regex_lite::Regex;

use crate::evidence::Evidence;
use crate::ids::{ClassId, Digest};

/// Longest text that is normalised, in bytes; the rest is not looked at.
const NORMALISED_BYTES_MAX: usize = 16 * 1024;

/// Identity of a failure. Shown by its first twelve digits.
pub type Fingerprint = Digest;

/// Fingerprint of a failure of `class` seen as `evidence`.
#[must_use]
pub fn fingerprint(class: &ClassId, evidence: &Evidence) -> Fingerprint {
    let mut hasher = blake3::Hasher::new_derive_key("pcbflow fingerprint v1");
    let mut field = |bytes: &[u8]| {
        // Length first, so that no two lists of fields give the same bytes.
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    field(evidence.layer.as_bytes());
    field(class.as_str().as_bytes());
    if evidence.test_ids.is_empty() {
        field(b"words");
        field(normalise(&evidence.words()).as_bytes());
    } else {
        let mut ids = evidence.test_ids.clone();
        ids.sort();
        ids.dedup();
        field(b"ids");
        for id in &ids {
            field(id.as_bytes());
        }
    }
    Digest(*hasher.finalize().as_bytes())
}

static MASKS: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    let mask = |pattern: &str, with: &'static str| {
        // The patterns are constants of this file and a test compiles each of them.
        Regex::new(pattern).ok().map(|r| (r, with))
    };
    [
        mask(
            r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
            "<guid>",
        ),
        mask(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?", "<time>"),
        mask(r"\b\d{1,2}:\d{2}:\d{2}(\.\d+)?\b", "<time>"),
        mask(r"(/private)?/(tmp|var/tmp|var/folders)/[^\s'\x22:;,)]+", "<tmp>"),
        mask(r"[A-Za-z]:\\[^\s'\x22]*\\Temp\\[^\s'\x22]+", "<tmp>"),
        mask(r"\b\d+(\.\d+)?\s?(ms|us|µs|ns|s|sec|secs|seconds|min|minutes|h)\b", "<duration>"),
        mask(r"\b0x[0-9a-fA-F]+\b", "<hex>"),
    ]
    .into_iter()
    .flatten()
    .collect()
});

/// How many masks there are; the test compares so that none is lost to a bad pattern.
#[cfg(test)]
const MASKS_COUNT: usize = 7;

/// The text with everything masked that differs from run to run.
#[must_use]
pub fn normalise(text: &str) -> String {
    let mut out = crate::text::cut_bytes(text, NORMALISED_BYTES_MAX).to_owned();
    for (mask, with) in MASKS.iter() {
        out = mask.replace_all(&out, *with).into_owned();
    }
    mask_hex_words(&out).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Masks words of seven and more hex digits that hold both letters and digits, or of sixteen
/// and more digits of any kind: commit ids and digests, but neither words such as `facade` nor
/// numbers such as 20241229.
fn mask_hex_words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut word = String::new();
    let flush = |word: &mut String, out: &mut String| {
        let hex = word.chars().all(|c| c.is_ascii_hexdigit());
        let digits = word.chars().any(|c| c.is_ascii_digit());
        let letters = word.chars().any(|c| c.is_ascii_alphabetic());
        if hex && (word.len() >= 16 || (word.len() >= 7 && digits && letters)) {
            out.push_str("<hex>");
        } else {
            out.push_str(word);
        }
        word.clear();
    };
    for c in text.chars() {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
        } else {
            flush(&mut word, &mut out);
            out.push(c);
        }
    }
    flush(&mut word, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Signal;

    fn print_of(layer: &str, class: &str, words: &str) -> Fingerprint {
        let mut e = Evidence::new(layer, "");
        e.push(Signal::words("stderr", words));
        fingerprint(&ClassId::new(class).unwrap(), &e)
    }

    #[test]
    fn every_mask_compiles() {
        assert_eq!(MASKS.len(), MASKS_COUNT);
    }

    #[test]
    fn what_differs_from_run_to_run_is_masked() {
        for (a, b) in [
            ("commit 3f9a2c1 failed", "commit 77be01d failed"),
            ("/tmp/x1/a.json gone", "/tmp/yy/b.json gone"),
            ("took 12 ms", "took 340 ms"),
            ("at 2026-07-13T18:04:12Z", "at 2026-08-01T00:00:00.5Z"),
            ("id 6b1f6e0c-0000-4000-8000-0123456789ab", "id 00000000-0000-4000-8000-0123456789ab"),
            ("a   b", "a b"),
        ] {
            assert_eq!(print_of("l", "SC-1", a), print_of("l", "SC-1", b), "{a} / {b}");
        }
    }

    #[test]
    fn codes_and_parentheses_stay() {
        for (a, b) in [
            ("status 401", "status 500"),
            ("error C2065", "error C2061"),
            ("failed (GND)", "failed (VCC)"),
            ("format 20241229", "format 20260206"),
        ] {
            assert_ne!(print_of("l", "SC-1", a), print_of("l", "SC-1", b), "{a} / {b}");
        }
        assert_ne!(print_of("l", "SC-1", "x"), print_of("m", "SC-1", "x"), "two layers");
        assert_ne!(print_of("l", "SC-1", "x"), print_of("l", "SC-2", "x"), "two classes");
    }

    #[test]
    fn test_ids_are_a_set() {
        let class = ClassId::new("SC-1").unwrap();
        let mut a = Evidence::new("l", "");
        a.test_ids = vec!["b".into(), "a".into()];
        let mut b = Evidence::new("l", "");
        b.test_ids = vec!["a".into(), "b".into(), "a".into()];
        b.push(Signal::words("stderr", "other words"));
        assert_eq!(fingerprint(&class, &a), fingerprint(&class, &b));
    }
}
