//! Which names announce a secret.

/// Longest name looked at, in bytes.
pub(super) const KEY_BYTES_MAX: usize = 80;

/// How much a name says about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyKind {
    /// The value is a secret.
    Strong,
    /// The value is a secret if it looks like one; the word has other meanings, too.
    Weak,
    /// The value is a secret and goes on to the end of the line.
    Line,
    /// A list of cookies.
    List,
}

/// Endings of names, in words, whose value is a secret.
const STRONG: &[&[&str]] = &[
    &["password"],
    &["passwd"],
    &["pwd"],
    &["passcode"],
    &["userpass"],
    &["secret"],
    &["secrets"],
    &["apikey"],
    &["apitoken"],
    &["authtoken"],
    &["accesstoken"],
    &["refreshtoken"],
    &["idtoken"],
    &["csrftoken"],
    &["xsrftoken"],
    &["sessiontoken"],
    &["sessionid"],
    &["jsessionid"],
    &["phpsessid"],
    &["sessid"],
    &["clientsecret"],
    &["privatekey"],
    &["secretkey"],
    &["accesskey"],
    &["credential"],
    &["credentials"],
    &["creds"],
    &["jwt"],
    &["otp"],
    &["api", "key"],
    &["access", "key"],
    &["secret", "key"],
    &["private", "key"],
    &["auth", "key"],
    &["master", "key"],
    &["encryption", "key"],
    &["signing", "key"],
    &["account", "key"],
    &["session", "key"],
    &["shared", "key"],
    &["license", "key"],
    &["subscription", "key"],
    &["session", "id"],
    &["password", "hash"],
    &["key", "base"],
    &["github", "pat"],
    &["gitlab", "pat"],
    &["azure", "pat"],
    &["connection", "string"],
    &["pin", "code"],
    &["pincode"],
    &["puk"],
    &["passwort"],
    &["kennwort"],
    &["enter", "pin"],
    &["your", "pin"],
    &["card", "pin"],
    &["sim", "pin"],
    &["user", "pin"],
    &["unlock", "pin"],
    &["one", "time", "code"],
    &["verification", "code"],
    &["recovery", "code"],
];

/// Endings that make one word a secret's name: `PGPASSWORD`, `mypassphrase`.
const STRONG_TAILS: &[&str] = &["password", "passwd", "apikey", "sshpass", "askpass"];

/// Names whose value goes on to the end of the line.
const LINE: &[&[&str]] = &[
    &["authorization"],
    &["cookie"],
    &["cookie2"],
    &["passphrase"],
    &["pass", "phrase"],
    &["www", "authenticate"],
];

/// Last words that need the one before them to say something.
const NEEDS_A_WORD_BEFORE: &[&str] =
    &["key", "token", "code", "pin", "phrase", "id", "hash", "string"];

/// Words before `token` that make it a place in a list, not a secret.
const HARMLESS_TOKEN: &[&str] =
    &["page", "next", "continuation", "cursor", "sync", "unexpected", "invalid", "end", "start"];

/// Words before `KEY` in a variable's name that make it no secret.
const HARMLESS_KEY: &[&str] =
    &["public", "primary", "foreign", "sort", "cache", "partition", "index", "row", "hot", "host"];

/// Names that are secrets in the query of an address only.
const QUERY: &[&str] = &[
    "key",
    "sig",
    "signature",
    "code",
    "auth",
    "pass",
    "hmac",
    "ticket",
    "session",
    "sid",
    "x-amz-signature",
    "x-amz-credential",
    "x-goog-signature",
    "x-goog-credential",
    "awsaccesskeyid",
    "googleaccessid",
    "key-pair-id",
    "user_code",
    "device_code",
    "state",
    "code_verifier",
    "assertion",
    "samlresponse",
    "samlrequest",
];

/// The name in lower-case words: parted at `_`, `-`, `.` and where small letters meet capitals.
fn words(key: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let chars: Vec<char> = key.chars().collect();
    for (at, &c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|p| chars.get(p));
        let after = chars.get(at + 1);
        let hump = c.is_uppercase()
            && (before.is_some_and(|b| b.is_lowercase() || b.is_ascii_digit())
                || (before.is_some_and(|b| b.is_uppercase())
                    && after.is_some_and(|a| a.is_lowercase())));
        if (hump || !c.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

fn ends_with(words: &[String], end: &[&str]) -> bool {
    words.len() >= end.len()
        && words.iter().skip(words.len() - end.len()).zip(end).all(|(a, b)| a == b)
}

/// Whether a name ends with the last two letters of some entry; spares parting all others.
fn may_end(key: &str) -> bool {
    const LAST: &[&[u8; 2]] = &[
        b"rd", b"wd", b"de", b"ss", b"et", b"ts", b"ey", b"en", b"id", b"al", b"ls", b"ds", b"wt",
        b"tp", b"sh", b"se", b"at", b"ng", b"on", b"ie", b"e2", b"te", b"es", b"th", b"in", b"uk",
        b"rt", b"pw",
    ];
    let two = key.len().checked_sub(2).and_then(|at| key.as_bytes().get(at..));
    two.is_some_and(|two| LAST.iter().any(|last| last.eq_ignore_ascii_case(two)))
}

/// What a name says about its value; `None` when it is harmless.
pub(super) fn kind(key: &str) -> Option<KeyKind> {
    if key.is_empty() || key.len() > KEY_BYTES_MAX {
        return None;
    }
    if !may_end(key) {
        return None;
    }
    let words = words(key);
    let last = words.last()?.as_str();
    let before = words.len().checked_sub(2).and_then(|at| words.get(at)).map(String::as_str);
    if LINE.iter().any(|end| ends_with(&words, end)) {
        return Some(KeyKind::Line);
    }
    if STRONG.iter().any(|end| ends_with(&words, end)) {
        return Some(KeyKind::Strong);
    }
    if STRONG_TAILS.iter().any(|tail| last.ends_with(tail)) {
        return Some(KeyKind::Strong);
    }
    let variable = key.contains('_') && !key.bytes().any(|b| b.is_ascii_lowercase());
    match last {
        "cookies" => Some(KeyKind::List),
        "token" if before.is_some_and(|b| HARMLESS_TOKEN.contains(&b)) => None,
        "token" if before.is_some() => Some(KeyKind::Strong),
        "token" => Some(KeyKind::Weak),
        "key" if variable && !before.is_some_and(|b| HARMLESS_KEY.contains(&b)) => {
            Some(KeyKind::Weak)
        }
        "pw" => Some(KeyKind::Weak),
        "pass" | "pat" | "auth" if variable || key.starts_with('_') => Some(KeyKind::Weak),
        _ => None,
    }
}

/// Whether a name alone says too little, and the word before it may tell: `key`, `API key`.
pub(super) fn needs_a_word_before(key: &str) -> bool {
    NEEDS_A_WORD_BEFORE.iter().any(|word| word.eq_ignore_ascii_case(key))
}

/// Whether a name is a secret's in the query of an address.
pub(super) fn is_query_secret(key: &str) -> bool {
    kind(key).is_some() || QUERY.iter().any(|k| k.eq_ignore_ascii_case(key))
}

/// Whether a variable, field or header of this name holds a secret.
#[must_use]
pub fn is_secret_key(key: &str) -> bool {
    kind(key).is_some()
}
