//! Secrets of many kinds, printed by tools, handed in by the environment, written into a
//! manifest, part of a file's name: none of them is found anywhere that pcbflow writes. A chain
//! keeps for ever what it was given once.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pcbflow_tests::manifest::Manifest;
use pcbflow_tests::{TestEnvironment, files, note};

/// Kind, the text that a tool prints, and what must be found nowhere. Put together here, so that no
/// scanner takes this file for a leak.
fn canaries() -> Vec<(&'static str, String, String)> {
    let body = |n: usize| format!("Qz{n:02}vK7mXw4RtYb9LpCd3HsJf6NgEa5")[..26].to_owned();
    let with = |n: usize, before: &str, after: &str| {
        let secret = body(n);
        (format!("{before}{secret}{after}"), secret)
    };
    let mut list = Vec::new();
    let mut add = |kind, (text, secret)| list.push((kind, text, secret));
    add("a token of GitHub", with(1, "pushing with gh\u{70}_", "0123456789 now"));
    let key = format!("AKI{}", "AQ7ZKVMXW4RTYB9LPC");
    add("a key of a cloud", (format!("using {key} for the upload"), key));
    add("a key of a language model", with(3, "sk-pr\u{6f}j-", "abcdef"));
    add("a bearer token", with(4, "Authorization: Bearer ", ""));
    add("basic authentication", with(5, "Proxy-Authorization: Basic ", "=="));
    add("a cookie", with(6, "Set-Cookie: session=", "; Path=/"));
    add("a password in an address", with(7, "cloning https://ann:", "@example.org/x.git"));
    add("a signed address", with(8, "GET https://example.org/f?X-Amz-Signature=", "&X-Amz-Date=2"));
    add("a code of a sign-in", with(9, "https://example.org/back?code=", "&scope=a"));
    add("an api-key header", with(10, "api-key: ", ""));
    add("a password by name", with(11, "DB_PASSWORD=", ""));
    let block = body(12);
    let lines = ["BEGIN RSA", "END RSA"].map(|w| format!("-----{w} PRIVATE KEY-----"));
    add("a private key", (format!("{}\n{block}\n{}", lines[0], lines[1]), block));
    add("a user's option", with(13, "+ curl -u ann:", " https://example.org/x"));
    add("a glued option", with(14, "+ mysql -uroot -p", " board"));
    add("a value in the next line", with(15, "password:\n  ", ""));
    add("an escaped address", with(16, "GET /r?to=https%3A%2F%2Fx%3Fclient_secret%3D", "%26n%3D1"));
    add("a sentence", with(17, "the passphrase is ", ""));
    add("a name cut by a backspace", with(18, "passx\u{8}word: ", ""));
    list
}

/// Whether bytes hold a text, as it is or with a byte between its letters (as UTF-16 has it).
fn holds(bytes: &[u8], text: &str) -> bool {
    let wide: Vec<u8> = text.bytes().flat_map(|b| [b, 0]).collect();
    let has = |needle: &[u8]| bytes.windows(needle.len()).any(|part| part == needle);
    has(text.as_bytes()) || has(&wide)
}

/// Everything that pcbflow wrote: its state, its mirrors, the commits, the user's state folder.
/// Compressed files are looked at open.
fn written(test: &TestEnvironment) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let folders = [test.ws().join(".pcbflow"), test.path("state"), test.board("b").join(".logs")];
    for folder in folders.iter().filter(|f| f.is_dir()) {
        for (name, bytes) in files::contents(folder) {
            let path = folder.join(name);
            if let Ok(open) = zstd::decode_all(bytes.as_slice()) {
                all.insert(path.with_extension("open"), open);
            }
            all.insert(path, bytes);
        }
    }
    all
}

fn look(test: &TestEnvironment, printed: &[(String, String)]) -> Vec<String> {
    let mut found = Vec::new();
    let files = written(test);
    assert!(
        files.keys().any(|p| p.extension().is_some_and(|e| e == "open")),
        "blobs were looked at"
    );
    // Commits and their messages; a repository may have none yet.
    let commits = test.git(&["rev-list", "--all", "--format=%B"]);
    for (kind, _, secret) in canaries() {
        for (path, bytes) in &files {
            if holds(bytes, &secret) {
                found.push(format!("{kind} in {}", path.display()));
            }
        }
        for (what, text) in printed {
            if text.contains(&secret) {
                found.push(format!("{kind} printed by {what}"));
            }
        }
        if commits.contains(&secret) {
            found.push(format!("{kind} in a commit's message"));
        }
    }
    found
}

/// What every reading command prints, in each of its forms.
fn printed(test: &TestEnvironment, run: &[(&str, &pcbflow_tests::Ran)]) -> Vec<(String, String)> {
    let mut texts: Vec<(String, String)> =
        run.iter().map(|(n, r)| ((*n).to_owned(), format!("{}{}", r.stdout, r.stderr))).collect();
    let events = test.events("b").len();
    let mut commands: Vec<Vec<String>> = ["status", "log", "history", "lessons"]
        .iter()
        .map(|c| vec![(*c).to_owned(), "b".to_owned()])
        .collect();
    commands.push(["history", "b", "--decisions"].map(str::to_owned).to_vec());
    for seq in 1..=events {
        let words = ["explain", &seq.to_string(), "--board", "b", "--technical"];
        commands.push(words.map(str::to_owned).to_vec());
    }
    for command in commands {
        for json in [false, true] {
            let mut words: Vec<&str> = command.iter().map(String::as_str).collect();
            if json {
                words.push("--json");
            }
            let ran = test.pcbflow(&words);
            ran.sane();
            texts.push((words.join(" "), format!("{}{}", ran.stdout, ran.stderr)));
        }
    }
    texts
}

fn page(folder: &Path) -> String {
    let text: Vec<String> = canaries().into_iter().map(|(_, text, _)| text).collect();
    let file = folder.join("page.txt");
    fs::write(&file, text.join("\n")).expect("a page of secrets");
    file.display().to_string()
}

#[test]
fn what_tools_print_is_redacted_before_it_is_kept() {
    let test = TestEnvironment::new();
    let page = page(&test.path("home"));
    let noisy = format!("cat '{page}'; cat '{page}' >&2; exit 3");
    let board = Manifest::new("b")
        .phase("05-schematic-audit")
        .act("check", "prints", &["cat", &page], &[])
        .command("check", "fails", &["sh", "-c", &noisy], &[]);
    test.boards(&[&board]);
    let run = test.pcbflow(&["run", "b"]);
    run.exits(4);
    let json = test.pcbflow(&["run", "b", "--json"]);
    let events = test.pcbflow(&["run", "b", "--events"]);
    json.exits(4);
    events.exits(4);
    let printed =
        printed(&test, &[("run", &run), ("run --json", &json), ("run --events", &events)]);
    let found = look(&test, &printed);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn what_stands_in_arguments_is_redacted_before_it_is_kept() {
    let test = TestEnvironment::new();
    let mut board = Manifest::new("b").phase("05-schematic-audit");
    for (n, (_, text, _)) in canaries().iter().enumerate() {
        board = board.act("check", &format!("say{n}"), &["say", text], &[]);
        board = board.act("check", &format!("lost{n}"), &["cat", &format!("/nowhere/{text}")], &[]);
    }
    // Named by the argument before it only; what `say` prints has no name at all beside it.
    let lonely = |n: usize| canaries().swap_remove(n).2;
    let parted: [(&str, &[&str]); 3] = [
        ("parted0", &["say", "-u", &format!("ann:{}", lonely(12))]),
        ("parted1", &["say", "--password", &lonely(10)]),
        ("parted2", &["sh", "-c", "echo \"$2\"; exit 3", "sshpass", "-p", &lonely(13)]),
    ];
    for (name, argv) in parted {
        board = board.act("check", name, argv, &[]);
    }
    test.boards(&[&board]);
    let run = test.pcbflow(&["run", "b"]);
    run.exits(4);
    let printed = printed(&test, &[("run", &run)]);
    let found = look(&test, &printed);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn the_environment_of_the_person_stays_there() {
    let mut test = TestEnvironment::new();
    let names =
        ["GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "KICAD_API_TOKEN", "XDG_SECRET", "MY_SETTING"];
    let list = canaries();
    for (name, (_, _, secret)) in names.iter().zip(&list) {
        test.set(*name, secret.clone());
    }
    let mut board = Manifest::new("b").phase("05-schematic-audit");
    for name in names {
        board = board.act("check", &format!("env-{}", name.to_lowercase()), &["env", name], &[]);
    }
    board = board.command("check", "all", &["env"], &[]);
    test.boards(&[&board]);
    let run = test.pcbflow(&["run", "b", "-vv"]);
    run.exits(0);
    let printed = printed(&test, &[("run", &run)]);
    let found = look(&test, &printed);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_secret_that_a_manifest_hands_to_a_tool_is_not_kept() {
    let test = TestEnvironment::new();
    let (_, _, secret) = canaries().remove(0);
    let act = pcbflow_tests::program::own("act").display().to_string();
    let board = Manifest::new("b").phase("05-schematic-audit").raw(&format!(
        "      - id: env\n        uses: process/check\n        with: {{ argv: [{act:?}, env, API_TOKEN], env: {{ API_TOKEN: {secret:?} }} }}\n"
    ));
    test.boards(&[&board]);
    let run = test.pcbflow(&["run", "b"]);
    run.exits(0);
    let printed = printed(&test, &[("run", &run)]);
    let found = look(&test, &printed);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn harmless_fields_are_kept() {
    let test = TestEnvironment::new();
    let line = "tokenCount: 41 nextPageToken: 7 cookieConsent: yes";
    let board =
        Manifest::new("b").phase("05-schematic-audit").act("check", "say", &["say", line], &[]);
    test.boards(&[&board]);
    test.pcbflow(&["run", "b"]).exits(0);
    let kept = test.events("b").into_iter().any(|e| {
        e.words.is_some_and(|w| w.stdout_tail.contains("41 nextPageToken: 7 cookieConsent: yes"))
    });
    if !kept {
        let open = written(&test).into_values().any(|bytes| holds(&bytes, line));
        assert!(open, "{}", test.story("b"));
        note("kept in a blob");
    }
}
