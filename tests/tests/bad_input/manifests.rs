//! Manifests that can't be used: each fault with its place and remedy, and nothing is run.

use std::fs;

use pcbflow_tests::TestEnvironment;
use pcbflow_tests::manifest::Manifest;

/// A step that would pass.
const STEP: &str =
    "      - id: one\n        uses: process/check\n        with: { argv: [\"true\"] }\n";

fn with_steps(steps: &str) -> String {
    format!("board: b\nphases:\n  - id: 05-schematic-audit\n    steps:\n{steps}")
}

/// Name, text, and a word that the message must have.
fn cases() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let step = |more: &str| with_steps(&format!("{STEP}{more}"));
    let text = |name, text: String, word| (name, text.into_bytes(), word);
    vec![
        text("empty", String::new(), "project.yaml"),
        text("only a comment", "# nothing\n".into(), "project.yaml"),
        text("a list", "- a\n- b\n".into(), "keys"),
        text("not YAML", "board: [b\nphases: }{\n".into(), "yaml:2:7"),
        text("tabs", "board: b\nphases:\n\t- id: x\n".into(), "tab"),
        text("a key twice", format!("board: b\n{}", with_steps(STEP)), "board"),
        text("no board", with_steps(STEP).replace("board: b\n", ""), "board"),
        text("another board", with_steps(STEP).replace("board: b\n", "board: c\n"), "c"),
        text("no phases", "board: b\n".into(), "phases"),
        text("a number as phase", with_steps(STEP).replace("05-schematic-audit", "5"), "phase"),
        text(
            "a phase twice",
            {
                let one = with_steps(STEP);
                let again = one.split_once("phases:\n").map_or("", |(_, p)| p).to_owned();
                format!("{one}{again}")
            },
            "twice",
        ),
        text(
            "unknown kind",
            with_steps(STEP).replace("process/check", "process/chek"),
            "process/chek",
        ),
        text("unknown key", step("        timeuot: 5s\n"), "timeout"),
        text("no unit", step("        timeout: 5\n"), "5s"),
        text("endless timeout", step("        timeout: 25h\n"), "time"),
        text("unknown need", step("        needs: [two]\n"), "two"),
        text("needs itself", step("        needs: [one]\n"), "one"),
        text(
            "a cycle",
            step(
                "        needs: [two]\n      - id: two\n        uses: process/check\n        with: { argv: [\"true\"] }\n        needs: [one]\n",
            ),
            "one",
        ),
        text("a step twice", step(STEP), "twice"),
        text(
            "looser safety",
            with_steps(
                "      - id: one\n        uses: process/command\n        with: { argv: [\"true\"] }\n        safety: read_only\n",
            ),
            "stricter",
        ),
        text("an output outside", step("        outputs: [../../evil.txt]\n"), "evil"),
        text("an absolute output", step("        outputs: [/tmp/evil.txt]\n"), "/tmp"),
        text("an output in git", step("        outputs: [.git/config]\n"), ".git"),
        text(
            "a script outside",
            with_steps(
                "      - id: one\n        uses: process/check\n        with: { script: ../../evil.sh }\n",
            ),
            "evil",
        ),
        text(
            "a shell line",
            with_steps(
                "      - id: one\n        uses: process/check\n        with: { run: \"true | false\" }\n",
            ),
            "argv",
        ),
        text(
            "no program",
            with_steps(
                "      - id: one\n        uses: process/check\n        with: { argv: [] }\n",
            ),
            "program",
        ),
        text(
            "a root that is not there",
            format!("root: ../nowhere\n{}", with_steps(STEP)),
            "nowhere",
        ),
        text(
            "merge conflict marks",
            format!("<<<<<<< HEAD\n{}=======\n>>>>>>> other\n", with_steps(STEP)),
            "project.yaml:",
        ),
        text(
            "anchors that blow up",
            {
                let mut text = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
                for (n, p) in ('b'..='i').zip('a'..='h') {
                    text.push_str(&format!(
                        "{n}: &{n} [*{p},*{p},*{p},*{p},*{p},*{p},*{p},*{p},*{p}]\n"
                    ));
                }
                text
            },
            "project.yaml",
        ),
        text("nested for ever", format!("board: {}", "[".repeat(100_000)), "project.yaml"),
        ("not UTF-8", b"board: b\xff\xfe\nphases: []\n".to_vec(), "UTF-8"),
        ("NUL bytes", b"board: b\0\nphases: []\n".to_vec(), "project.yaml"),
        (
            "UTF-16",
            "board: b\n".encode_utf16().flat_map(u16::to_le_bytes).collect(),
            "project.yaml",
        ),
        text("huge", format!("{}\n# {}\n", with_steps(STEP), "x".repeat(40 << 20)), "project.yaml"),
    ]
}

#[test]
fn every_fault_is_refused_with_a_remedy_and_nothing_runs() {
    let test = TestEnvironment::new();
    test.boards(&[&Manifest::new("b").phase("05-schematic-audit").make("x", "out/x.txt", &[])]);
    let before = test.events("b").len();
    let file = test.board("b").join("project.yaml");
    let mut wrong = Vec::new();
    for (name, text, word) in cases() {
        fs::write(&file, &text).expect("a manifest");
        let ran = test.pcbflow(&["run", "b", "--json"]);
        ran.sane();
        let told = ran.stdout.clone();
        if ran.exit != Some(78) || !told.contains(word) {
            let told: String = told.chars().take(2000).collect();
            wrong.push(format!("{name} (wants {word:?}): exit {:?}\n{told}", ran.exit));
            continue;
        }
        let document = ran.json();
        let hinted = document["hints"].as_array().is_some_and(|h| !h.is_empty());
        if !hinted || document["error"].as_str().is_none_or(str::is_empty) {
            wrong.push(format!("{name}: no error or remedy\n{document:#}"));
        }
        // The file stays as it was written.
        assert_eq!(fs::read(&file).expect("the manifest"), text, "{name}");
        // Other commands say so, too, and none panics.
        test.pcbflow(&["status", "b", "--json"]).sane();
        test.pcbflow(&["check", "b", "--json"]).exits(78);
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n\n"));
    assert_eq!(test.events("b").len(), before, "{}", test.story("b"));
    assert!(!test.board("b").join("out").exists());
}

#[test]
fn carriage_returns_and_byte_order_marks_are_read_and_kept() {
    for (name, change) in [
        ("CRLF", (|t: &str| t.replace('\n', "\r\n")) as fn(&str) -> String),
        ("BOM", |t| format!("\u{feff}{t}")),
        ("both", |t| format!("\u{feff}{}", t.replace('\n', "\r\n"))),
        ("no last newline", |t| t.trim_end().to_owned()),
    ] {
        let test = TestEnvironment::new();
        let board = Manifest::new("b").phase("05-schematic-audit").make("x", "out/x.txt", &[]);
        test.boards(&[&board]);
        let file = test.board("b").join("project.yaml");
        let text = change(board.text());
        fs::write(&file, &text).expect("a manifest");
        test.pcbflow(&["run", "b"]).exits(0);
        let after = fs::read_to_string(&file).expect("a manifest");
        assert!(after.starts_with(&text), "{name}: only 'status:' is added\n{after:?}");
        assert!(after.contains("status:"), "{name}\n{after:?}");
        let again = test.json(0, &["run", "b"]);
        assert_eq!(again["data"]["cause"], "nothing_to_do", "{name}");
    }
}

#[test]
fn five_hundred_steps_and_sixty_four_phases_are_taken_and_no_more() {
    let test = TestEnvironment::new();
    let many = |n: usize| {
        let step = |s: usize| {
            format!(
                "      - id: s{s}\n        uses: process/check\n        with: {{ argv: [\"true\"] }}\n"
            )
        };
        with_steps(&(0..n).map(step).collect::<String>())
    };
    test.boards(&[&Manifest::new("b").phase("05-schematic-audit").make("x", "out/x.txt", &[])]);
    let file = test.board("b").join("project.yaml");
    fs::write(&file, many(500)).expect("a manifest");
    let plan = test.json(0, &["run", "b", "--dry-run"]);
    assert_eq!(plan["data"]["plan"].as_array().map(Vec::len), Some(500));
    fs::write(&file, many(501)).expect("a manifest");
    test.json(78, &["run", "b"]);
}

#[test]
fn settings_and_rules_that_are_broken_are_told_with_their_file() {
    let test = TestEnvironment::new();
    test.boards(&[&Manifest::new("b").phase("05-schematic-audit").make("x", "out/x.txt", &[])]);
    for (file, text) in [
        ("pcbflow.toml", "[retry\n"),
        ("pcbflow.toml", "[retry]\ntimes = 1000000\n"),
        ("pcbflow.toml", "[retry]\ntimes = \"many\"\n"),
        ("knowledge/rules.toml", "[[rule]]\nname = 1\n"),
        ("knowledge/rules.toml", "[[rule]]\nname = \"x\"\nwords = [\"y\"]\nclass = \"XX-9\"\n"),
    ] {
        let path = test.ws().join(file);
        let old = fs::read(&path).expect("a file of the workspace");
        fs::write(&path, text).expect("a file");
        let refused = test.json(78, &["run", "b"]);
        assert!(refused["error"].as_str().is_some_and(|e| !e.is_empty()), "{refused:#}");
        fs::write(&path, old).expect("a file");
    }
    fs::write(test.ws().join("pcbflow.toml"), "[retrys]\ntimes = 1\n").expect("settings");
    let warned = test.pcbflow(&["run", "b"]);
    assert!(warned.exits(0).stderr.contains("retry"), "did you mean\n{warned}");
}

/// An unknown key hides nothing of what is wrong elsewhere, a root that is not there included.
#[test]
fn every_fault_is_told_in_one_go() {
    let test = TestEnvironment::new();
    test.boards(&[&Manifest::new("b")]);
    let text = "board: b\nrut: x\nroot: ../gone\nphases:\n  - id: 05-schematic-audit\n    steps:\n\
                \x20     - id: one\n        uses: process/chek\n\
                \x20     - id: two\n        uses: process/check\n        with: { argv: \"a b\" }\n\
                \x20     - id: three\n        uses: process/check\n        timeout: 5\n        with: { run: \"a | b\" }\n";
    fs::write(test.board("b").join("project.yaml"), text).expect("a manifest");
    let ran = test.pcbflow(&["run", "b"]);
    ran.exits(78);
    let at = |line: u32, word: &str| {
        let start = format!("project.yaml:{line}:");
        let found = ran.stderr.lines().position(|l| l.contains(&start) && l.contains(word));
        found.unwrap_or_else(|| panic!("no fault of line {line} with {word}: {ran}"))
    };
    let places = [
        at(2, "rut"),
        at(3, "gone"),
        at(8, "process/chek"),
        at(11, "list"),
        at(14, "5s"),
        at(15, "'|'"),
    ];
    assert!(places.is_sorted(), "{ran}");
}
