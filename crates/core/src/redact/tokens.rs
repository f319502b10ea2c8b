//! Tokens that are recognised without a name: by the prefix their vendor gives them, or by form.

/// Shortest run after `sk-` that counts without a digit in it, in bytes.
const PLAIN_RUN_BYTES_MIN: usize = 32;

/// Most bytes of a value that are looked at to judge its form.
const LOOK_BYTES_MAX: usize = 256;

/// Characters that a token may have after its prefix.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Set {
    /// Letters and digits.
    Plain,
    /// Capital letters and digits.
    Capital,
    /// Letters, digits, `_` and `-`.
    Dash,
    /// Letters, digits, `_`, `-` and `.`.
    Dot,
}

impl Set {
    fn has(self, b: u8) -> bool {
        match self {
            Set::Plain => b.is_ascii_alphanumeric(),
            Set::Capital => b.is_ascii_uppercase() || b.is_ascii_digit(),
            Set::Dash => b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'),
            Set::Dot => b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'),
        }
    }
}

/// Prefix, fewest bytes after it, their set, whether a digit must be among them.
const VENDORS: &[(&str, usize, Set, bool)] = &[
    ("ghp_", 6, Set::Dash, false),
    ("gho_", 6, Set::Dash, false),
    ("ghu_", 6, Set::Dash, false),
    ("ghs_", 6, Set::Dash, false),
    ("ghr_", 6, Set::Dash, false),
    ("github_pat_", 6, Set::Dash, false),
    ("glpat-", 6, Set::Dash, false),
    ("gldt-", 16, Set::Dash, false),
    ("glrt-", 16, Set::Dash, false),
    ("glptt-", 16, Set::Dash, false),
    ("AKIA", 12, Set::Capital, false),
    ("ASIA", 12, Set::Capital, true),
    ("ABIA", 12, Set::Capital, true),
    ("AROA", 12, Set::Capital, true),
    ("AIDA", 12, Set::Capital, true),
    ("AIza", 30, Set::Dash, false),
    ("AGE-SECRET-KEY-1", 16, Set::Capital, false),
    ("sk_live_", 8, Set::Dash, false),
    ("sk_test_", 8, Set::Dash, false),
    ("rk_live_", 8, Set::Dash, false),
    ("rk_test_", 8, Set::Dash, false),
    ("whsec_", 8, Set::Dash, false),
    ("xoxa-", 8, Set::Dash, false),
    ("xoxb-", 8, Set::Dash, false),
    ("xoxe-", 8, Set::Dash, false),
    ("xoxo-", 8, Set::Dash, false),
    ("xoxp-", 8, Set::Dash, false),
    ("xoxr-", 8, Set::Dash, false),
    ("xoxs-", 8, Set::Dash, false),
    ("xoxe.xox", 8, Set::Dot, false),
    ("xapp-", 8, Set::Dash, true),
    ("npm_", 20, Set::Plain, true),
    ("hf_", 20, Set::Plain, false),
    ("pypi-", 40, Set::Dash, true),
    ("SG.", 30, Set::Dot, true),
    ("dop_v1_", 16, Set::Plain, false),
    ("doo_v1_", 16, Set::Plain, false),
    ("shpat_", 16, Set::Plain, false),
    ("shpss_", 16, Set::Plain, false),
    ("dckr_pat_", 8, Set::Dash, false),
    ("lin_api_", 16, Set::Plain, false),
    ("figd_", 16, Set::Dash, false),
    ("tskey-", 12, Set::Dash, true),
    ("hvs.", 20, Set::Dash, false),
    ("ya29.", 10, Set::Dash, false),
    ("PMAK-", 20, Set::Dash, true),
];

/// First bytes of everything that [`at`] knows.
pub(super) const FIRST: &[u8] = b"gAsrwxnhpSdlftyPeBb";

fn run(bytes: &[u8], set: Set) -> usize {
    bytes.iter().take_while(|b| set.has(**b)).count()
}

/// Whether something that [`at`] knows may start with these two bytes.
pub(super) fn may_start(first: u8, second: u8) -> bool {
    let seconds: &[u8] = match first {
        b'g' => b"hil",
        b'A' => b"KSBRIG",
        b's' => b"kh",
        b'r' => b"k",
        b'w' | b'S' => b"hG",
        b'x' => b"oa",
        b'n' => b"p",
        b'h' => b"fv",
        b'p' | b'e' => b"y",
        b'd' => b"oc",
        b'l' | b'f' => b"i",
        b't' => b"s",
        b'y' => b"a",
        b'P' => b"M",
        b'B' | b'b' => b"eEaA",
        _ => b"",
    };
    seconds.contains(&second)
}

/// Length of the token that `bytes` starts with, and how much of its front stays readable.
/// `no_jwt_before` spares looking again where no end was found.
pub(super) fn at(bytes: &[u8], offset: usize, no_jwt_before: &mut usize) -> Option<(usize, usize)> {
    match bytes.first()? {
        b'e' => jwt(bytes, offset, no_jwt_before).map(|n| (n, 0)),
        b'B' | b'b' => scheme(bytes),
        _ => vendor(bytes).map(|n| (n, 0)),
    }
}

fn vendor(bytes: &[u8]) -> Option<usize> {
    if bytes.starts_with(b"sk-") {
        let rest = bytes.get(3..)?;
        let n = run(rest, Set::Dash);
        let digit = rest.iter().take(n).any(u8::is_ascii_digit);
        return (n >= PLAIN_RUN_BYTES_MIN || (n >= 8 && digit)).then_some(3 + n);
    }
    VENDORS.iter().find_map(|(prefix, fewest, set, digit)| {
        if !bytes.starts_with(prefix.as_bytes()) {
            return None;
        }
        let rest = bytes.get(prefix.len()..)?;
        let front = rest.get(..rest.len().min(LOOK_BYTES_MAX))?;
        let n = run(front, *set);
        let ok = n >= *fewest && (!digit || front.iter().take(n).any(u8::is_ascii_digit));
        ok.then(|| prefix.len() + run(rest, *set))
    })
}

/// `eyJ...` in two or three parts.
fn jwt(bytes: &[u8], offset: usize, no_jwt_before: &mut usize) -> Option<usize> {
    if !bytes.starts_with(b"eyJ") || offset < *no_jwt_before {
        return None;
    }
    let first = run(bytes, Set::Dash);
    let rest = bytes.get(first..)?;
    if first < 8 || rest.first() != Some(&b'.') {
        *no_jwt_before = offset + first;
        return None;
    }
    let second = run(rest.get(1..)?, Set::Dash);
    if second < 5 {
        *no_jwt_before = offset + first;
        return None;
    }
    let mut len = first + 1 + second;
    // Signature; an encrypted token has two parts more.
    for _ in 0..3 {
        let Some((b'.', more)) = bytes.get(len..).and_then(<[u8]>::split_first) else { break };
        len += 1 + run(more, Set::Dash);
    }
    Some(len)
}

/// `Bearer X` and `Basic X` outside of a header; the word stays.
fn scheme(bytes: &[u8]) -> Option<(usize, usize)> {
    let is = |word: &[u8]| bytes.get(..word.len()).is_some_and(|w| w.eq_ignore_ascii_case(word));
    let (word, bearer) = if is(b"bearer") {
        (6, true)
    } else if is(b"basic") {
        (5, false)
    } else {
        return None;
    };
    let gap = bytes.get(word..)?.iter().take(8).take_while(|b| **b == b' ').count();
    if gap == 0 {
        return None;
    }
    let value = bytes.get(word + gap..)?;
    let fits = |b: &&u8| b.is_ascii_alphanumeric() || b"._~+/=-".contains(*b);
    let n = value.iter().take_while(fits).count();
    let value = value.get(..n)?;
    let digit = value.iter().take(LOOK_BYTES_MAX).any(u8::is_ascii_digit);
    let hump = value.iter().take(LOOK_BYTES_MAX).skip(1).any(u8::is_ascii_uppercase);
    let secret = if bearer {
        (n >= 6 && digit) || n >= 20
    } else {
        n >= 8 && (digit || hump || value.ends_with(b"="))
    };
    secret.then_some((word + gap + n, word + gap))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_test_lets_every_prefix_pass() {
        let others = ["sk-", "eyJ", "Bearer", "bearer", "BASIC", "basic"];
        for prefix in VENDORS.iter().map(|v| v.0).chain(others) {
            let bytes = prefix.as_bytes();
            assert!(may_start(bytes[0], bytes[1]), "{prefix}");
            assert!(FIRST.contains(&bytes[0]), "{prefix}");
        }
    }
}
