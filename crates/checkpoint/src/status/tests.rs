use proptest::prelude::*;
use serde_json::json;

use super::*;

fn edited(text: &str, status: &Value) -> String {
    String::from_utf8(edit(Path::new("p"), text.as_bytes(), status).unwrap()).unwrap()
}

fn status() -> Value {
    json!({
        "phase": "12-final-verification",
        "verdicts": {"05-schematic-audit": "PASS", "12-final-verification": "PENDING"},
        "open": ["drc: fails", "a"],
        "asks": [],
        "note": "line\none: \"two\" # three",
    })
}

#[test]
fn the_block_is_readable() {
    insta::assert_snapshot!(edited("# mine\nboard: b   # name\nphases: []\n", &status()));
}

#[test]
fn a_persons_edits_inside_are_written_anew_and_comments_kept() {
    let text = "board: b\nstatus: # was here\n  # ask Ann first\n  phase: mine\n\n  x: |\n    1\n\n# about the phases\nphases: []\n";
    let out = edited(text, &json!({"phase": "01-a"}));
    assert_eq!(
        out,
        format!(
            "board: b\n{HEADER}\nstatus:\n  # ask Ann first\n  phase: 01-a\n\n# about the phases\nphases: []\n"
        )
    );
    assert_eq!(edited(&out, &json!({"phase": "01-a"})), out, "written twice");
    let again = edited(&out, &json!({"phase": "02-b"}));
    assert_eq!(again, out.replace("01-a", "02-b"));
}

#[test]
fn odd_forms_keep_every_other_byte() {
    let s = json!({"phase": "01-a"});
    let block = format!("{HEADER}\nstatus:\n  phase: 01-a");
    assert_eq!(edited("board: b\nphases: []", &s), format!("board: b\nphases: []\n{block}"));
    let crlf = edited("\u{feff}board: b\r\nphases: []\r\n", &s);
    assert_eq!(
        crlf,
        format!("\u{feff}board: b\r\nphases: []\r\n{block}\n")
            .replace("\r\n", "\n")
            .replace('\n', "\r\n")
    );
    let marked = edited("%YAML 1.2\n---\nboard: b\nphases: []\n...\n", &s);
    assert!(marked.ends_with(&format!("phases: []\n{block}\n...\n")), "{marked}");
    let indented = edited("  board: b\n  phases: []\n", &s);
    assert!(indented.contains("\n  status:\n    phase: 01-a\n"), "{indented}");
    let flow = edited("board: b\nstatus: {phase: x}\nphases: []\n", &s);
    assert_eq!(flow, format!("board: b\n{block}\nphases: []\n"));
    let quoted = edited("board: b\n\"status\":\n- 1\n- 2\nphases: []\n", &s);
    assert_eq!(quoted, format!("board: b\n{block}\nphases: []\n"));
    // A last value that keeps the line ends behind it.
    let literal = "board: b\nfacts:\n  note: |+\n    text\n\n";
    assert_eq!(edited(literal, &s), format!("{literal}{block}\n"));
    let bare = literal.trim_end();
    assert!(edited(bare, &s).contains(bare));
}

#[test]
fn what_has_no_place_is_refused() {
    let s = json!({"phase": "01-a"});
    assert!(edit(Path::new("p"), b"{board: b, phases: []}\n", &s).is_err());
    assert!(edit(Path::new("p"), b"board: b\nboard: c\n", &s).is_err());
    // Others refer into the block: replacing it would break them.
    assert!(edit(Path::new("p"), b"status: &a {x: 1}\nfacts: *a\n", &s).is_err());
}

#[test]
fn the_file_is_replaced_whole_and_keeps_its_mode() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("project.yaml");
    std::fs::write(&path, "board: b\nphases: []\n").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    }
    assert_eq!(write(&path, &status()).unwrap(), Written::Changed);
    assert_eq!(write(&path, &status()).unwrap(), Written::Same);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing left over");
    assert!(!replace(&path, b"old text", b"new").unwrap(), "changed meanwhile");
    assert!(std::fs::read_to_string(&path).unwrap().contains("status:"));
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z][a-z0-9 ]{0,8}[a-z0-9]".prop_map(|s| s),
        "[ -~]{0,12}".prop_map(|s| Value::from(s).to_string()),
        Just("[1, two, {three: 4}]".to_owned()),
        Just("\n  - a # c\n  -  b: 1\n     c: 2".to_owned()),
        Just("\n  inner:   x\n  # in between\n\n  more: \"é\"".to_owned()),
        Just("|\n  # not a comment\n  text\n\n  end".to_owned()),
        Just(">-\n    folded\n    text".to_owned()),
        Just("~".to_owned()),
    ]
}

/// Pieces of a manifest: keys with values, comments and blank lines between them.
fn pieces() -> impl Strategy<Value = Vec<String>> {
    let filler = prop_oneof![
        Just(String::new()),
        Just("# a comment: with colon\n".to_owned()),
        Just("\n".to_owned()),
        Just("\n\n# two\n#three\n".to_owned()),
    ];
    proptest::collection::vec((filler, value(), any::<bool>()), 1..7).prop_map(|list| {
        list.into_iter()
            .enumerate()
            .map(|(i, (filler, value, note))| {
                let note = if note && !value.contains('\n') { "   # note" } else { "" };
                format!("{filler}key{i}: {value}{note}\n")
            })
            .collect()
    })
}

fn states() -> impl Strategy<Value = Value> {
    proptest::collection::btree_map("[ -~é]{1,10}", "[ -~é\n\t]{0,14}", 0..5)
        .prop_map(|map| json!({"phase": "01-a", "more": map, "list": ["x", {"a b": [1, null]}]}))
}

proptest! {
    #[test]
    fn only_the_key_changes(
        mut parts in pieces(),
        at in 0usize..8,
        has in any::<bool>(),
        crlf in any::<bool>(),
        bom in any::<bool>(),
        no_end in any::<bool>(),
        first in states(),
        second in states(),
    ) {
        let at = at.min(parts.len());
        if has {
            parts.insert(at, "status:\n  phase: old\n  list:\n    - 1\n".to_owned());
        }
        let mut text = parts.concat();
        if no_end {
            text.truncate(text.trim_end_matches('\n').len());
        }
        if crlf {
            text = text.replace('\n', "\r\n");
        }
        if bom {
            text.insert(0, '\u{feff}');
        }
        let Ok(before) = yaml::parse(text.as_bytes()) else { return Ok(()) };
        let once = edit(Path::new("p"), text.as_bytes(), &first).unwrap();
        prop_assert!(proven(&before, &once, &first));
        let twice = edit(Path::new("p"), &once, &second).unwrap();
        prop_assert!(proven(&before, &twice, &second));
        // Every line of the others is there, in order, byte for byte.
        let once = String::from_utf8(once).unwrap();
        let others: Vec<String> = parts
            .iter()
            .filter(|p| !p.starts_with("status:"))
            .map(|p| if crlf { p.replace('\n', "\r\n") } else { p.clone() })
            .collect();
        let mut rest = once.as_str();
        for part in others {
            let part = part.trim_end_matches(['\r', '\n']);
            let found = rest.find(part);
            prop_assert!(found.is_some(), "{part:?} is not in {once:?}");
            rest = &rest[found.unwrap() + part.len()..];
        }
        // And without the block the text is the old one.
        if !has {
            let (from, to) = block_of(&once);
            let mut left = once.clone();
            left.replace_range(from..to, "");
            let trim = |t: &str| t.trim_end_matches(['\r', '\n']).to_owned();
            prop_assert_eq!(trim(&left), trim(&text));
        }
    }
}

/// Bytes of the block that pcbflow wrote.
fn block_of(text: &str) -> (usize, usize) {
    let from = text.find(HEADER).unwrap();
    let mut to = from;
    for (i, line) in text[from..].split_inclusive('\n').enumerate() {
        if i < 2 || line.starts_with("  ") {
            to += line.len();
        } else {
            break;
        }
    }
    (from, to)
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link_that_leads_out() {
    let dir = tempfile::tempdir().unwrap();
    let (workspace, outside) = (dir.path().join("ws"), dir.path().join("outside"));
    std::fs::create_dir_all(workspace.join("projects")).unwrap();
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::write(outside.join("project.yaml"), "board: b\n").unwrap();
    std::os::unix::fs::symlink(&outside, workspace.join("projects/b")).unwrap();
    let path = workspace.join("projects/b/project.yaml");
    let status = serde_json::json!({"phase": "01-x"});
    let refused = write_inside(&workspace, &path, &status);
    assert!(matches!(refused, Err(StatusError::Outside { .. })), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "board: b\n");
    std::fs::remove_file(workspace.join("projects/b")).unwrap();
    std::fs::create_dir(workspace.join("projects/b")).unwrap();
    std::fs::write(&path, "board: b\n").unwrap();
    assert_eq!(write_inside(&workspace, &path, &status).unwrap(), Written::Changed);
}
