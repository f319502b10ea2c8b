//! Secrets in a list of arguments, where a secret stands apart from the option that names it.

use super::{MASK, is_secret_key, redact};

/// Shortest secret that is told apart from ordinary words, in bytes: `1` and `yes` stand everywhere.
pub const SECRET_BYTES_MIN: usize = 6;

/// A list of arguments as it may be recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    /// The arguments, in their order, without secrets.
    pub shown: Vec<String>,
    /// What was masked, where it is at least [`SECRET_BYTES_MIN`] long: the same words are secrets
    /// in what the program writes, too.
    pub secrets: Vec<String>,
}

/// The arguments without secrets; each is looked at alone and beside its neighbours.
#[must_use]
pub fn arguments(argv: &[String], home: Option<&str>) -> Arguments {
    let together = beside_each_other(argv, home);
    let mut shown = Vec::with_capacity(argv.len());
    let mut secrets = Vec::new();
    let mut secret_next = false;
    for (at, arg) in argv.iter().enumerate() {
        let named = secret_next && !arg.starts_with('-');
        secret_next = arg.strip_prefix("--").is_some_and(|n| is_secret_key(n) && !n.contains('='));
        let seen = if named {
            MASK.to_owned()
        } else {
            // The list that could not be read back hides everything but the program.
            let beside = match &together {
                Some(list) => list.get(at).cloned().unwrap_or_else(|| MASK.to_owned()),
                None if at == 0 => arg.clone(),
                None => MASK.to_owned(),
            };
            redact(&beside, home).into_owned()
        };
        secrets.extend(masked_stretch(arg, &seen).map(str::to_owned));
        shown.push(seen);
    }
    Arguments { shown, secrets }
}

/// All arguments in one text, redacted, and taken apart again.
fn beside_each_other(argv: &[String], home: Option<&str>) -> Option<Vec<String>> {
    let text = serde_json::to_string(argv).ok()?;
    let list: Vec<String> = serde_json::from_str(&redact(&text, home)).ok()?;
    (list.len() == argv.len()).then_some(list)
}

/// What stood where the only mask of `seen` stands.
fn masked_stretch<'a>(arg: &'a str, seen: &str) -> Option<&'a str> {
    let (before, after) = seen.split_once(MASK)?;
    let secret = arg.strip_prefix(before)?.strip_suffix(after)?;
    (!after.contains(MASK) && secret.len() >= SECRET_BYTES_MIN).then_some(secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(argv: &[&str]) -> Arguments {
        arguments(&argv.iter().map(|a| (*a).to_owned()).collect::<Vec<_>>(), Some("/home/ann"))
    }

    #[test]
    fn a_secret_is_known_by_the_option_before_it() {
        for argv in [
            &["curl", "-u", "ann:hunter2", "https://x"][..],
            &["tool", "--password", "hunter2"],
            &["tool", "--password=hunter2"],
            &["mysql", "-phunter2", "board"],
            &["sshpass", "-p", "hunter2", "ssh", "host"],
            &["bash", "-c", "mysql -phunter2 board"],
            &["curl", "-H", "X-Api-Key: hunter2"],
            &["tool", "--password", "hunter2", "say \"x\"", "ü\n"],
        ] {
            let got = shown(argv);
            assert_eq!(got.shown.len(), argv.len());
            assert!(!got.shown.concat().contains("hunter2"), "{got:?}");
            assert_eq!(got.secrets, ["hunter2"], "{argv:?}");
            assert_eq!(got.shown[0], argv[0]);
        }
    }

    #[test]
    fn others_stay_as_they_are() {
        let argv =
            ["kicad-cli", "pcb", "drc", "-o", "/home/ann/a \"b\".json", "-u", "mm", "-p", "8080"];
        let got = shown(&argv);
        assert_eq!(got.secrets, Vec::<String>::new());
        assert_eq!(got.shown[4], "~/a \"b\".json");
        assert_eq!(got.shown[5..], argv[5..]);
        assert_eq!(shown(&[]).shown, Vec::<String>::new());
    }
}
