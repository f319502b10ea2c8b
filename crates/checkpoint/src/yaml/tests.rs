use super::*;

#[test]
fn places_are_known() {
    let tree = parse(b"\xef\xbb\xbfboard: x\r\nphases:\r\n  - id: 01-a\r\n    steps:\r\n      - needs: [a, b]\r\n").unwrap();
    assert_eq!(tree.place_of("board"), Place { line: 1, column: 1 });
    assert_eq!(tree.place_of("phases[0].id"), Place { line: 3, column: 5 });
    assert_eq!(tree.place_of("phases[0].steps[0].needs[1]"), Place { line: 5, column: 20 });
    assert_eq!(tree.place_of("phases[0].steps[0].with.x"), Place { line: 5, column: 9 });
}

#[test]
fn numbers_and_words_keep_their_kind() {
    let tree = parse(b"a: 05\nb: yes\nc: ~\nd: 1.5\ne: true\nf: 7\n1: x\n").unwrap();
    assert_eq!(tree.get("a").unwrap().data, Data::Text("05".into()));
    assert_eq!(tree.get("b").unwrap().data, Data::Text("yes".into()));
    assert_eq!(tree.get("c").unwrap().data, Data::Null);
    assert_eq!(tree.get("f").unwrap().data, Data::Int(7));
    assert_eq!(tree.get("1").unwrap().data, Data::Text("x".into()));
}

#[test]
fn hostile_texts_are_refused() {
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";
    let refused = parse(bomb.as_bytes()).unwrap_err();
    assert!(refused.fault.contains("repeats itself"), "{refused}");
    let deep = format!("a: {}{}", "[".repeat(5000), "]".repeat(5000));
    parse(deep.as_bytes()).unwrap_err();
    parse(b"a: &a\n  b: *a\n").unwrap_err();
    parse(&vec![b'#'; MANIFEST_BYTES_MAX + 1]).unwrap_err();
}

#[test]
fn faults_of_the_text() {
    let mut seen = String::new();
    let cases: [(&str, &[u8]); 16] = [
        ("empty", b" \n"),
        ("utf-16", b"\xff\xfea\0"),
        ("latin-1", b"board: x\nnote: caf\xe9\n"),
        ("tab", b"board: x\nphases:\n\t- id: a\n"),
        ("twice", b"board: x\nroot: y\nboard: z\n"),
        ("conflict", b"board: x\n<<<<<<< HEAD\nroot: a\n=======\nroot: b\n>>>>>>> other\n"),
        ("colon", b"board: a: b\n"),
        ("quote", b"board: \"x\nroot: y\n"),
        ("indent", b"board: x\n  root: y\n"),
        ("bracket", b"board: [x\nroot: y\n"),
        ("documents", b"board: x\n---\nboard: y\n"),
        ("anchor", b"board: *name\n"),
        ("tag", b"board: !!python/object x\n"),
        ("control", b"board: x\x07\n"),
        ("nul", b"board: x\x00\n"),
        ("comment only", b"# nothing here\n"),
    ];
    for (name, bytes) in cases {
        let line = match parse(bytes) {
            Ok(node) => format!("read as {}", node.kind()),
            Err(e) => e.to_string(),
        };
        seen.push_str(&format!("{name}: {line}\n"));
    }
    insta::assert_snapshot!(seen);
}

proptest::proptest! {
    #[test]
    fn no_input_panics(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
        if let Ok(tree) = parse(&bytes) {
            assert!(tree.place_of("phases[0].steps[1].needs").line > 0);
        }
    }

    #[test]
    fn no_text_panics(text in "[a-c:\\-\\[\\]{}&*!|>'\"#%@ \n\t0-9.,~?]{0,120}") {
        if let Ok(tree) = parse(text.as_bytes()) {
            assert!(tree.at.line > 0);
            crate::manifest::parse(std::path::Path::new("p"), text.into_bytes()).ok();
        }
    }
}
