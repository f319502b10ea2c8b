//! Boards of other people: KiCad's demos always, the corpus of real projects where it is.

#[cfg(feature = "heavy")]
mod heavy {
    use std::path::{Path, PathBuf};

    use pcbflow_tests::{TestEnvironment, environment, files, note, program};
    use serde_json::Value;

    /// Larger boards take minutes each.
    const BOARD_BYTES_MAX: u64 = 20_000_000;

    /// Project files below a folder that have a board of at most this size beside them.
    fn projects(folder: &Path) -> Vec<PathBuf> {
        let tree = files_below(folder);
        let mut found: Vec<PathBuf> = tree
            .into_iter()
            .filter(|file| file.extension().is_some_and(|e| e == "kicad_pro"))
            .filter(|file| {
                let board = file.with_extension("kicad_pcb");
                board.metadata().is_ok_and(|m| m.len() <= BOARD_BYTES_MAX)
            })
            .collect();
        found.sort();
        found
    }

    fn files_below(folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(dir) = folders.pop() {
            for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() { folders.push(path) } else { found.push(path) }
            }
        }
        found
    }

    /// Runs a copy of a project; what came of it.
    fn run(project: &Path) -> (TestEnvironment, Value) {
        let test = TestEnvironment::new();
        let folder = project.parent().expect("a folder");
        let copy = test.path("hw/board");
        files::copy_tree(folder, &copy);
        let file = copy.join(project.file_name().expect("a name"));
        let before = files::tree(&copy);
        test.pcbflow(&["init", "x", "--from", &file.display().to_string()]).exits(0);
        let ran = test.pcbflow(&["run", "x", "--json"]);
        ran.exits_one_of(&[0, 3, 4, 5]);
        let document = ran.json();
        assert_eq!(files::tree(&copy), before, "{}: the engineer's files", project.display());
        test.pcbflow(&["ledger", "verify"]).exits(0);
        let replay = test.pcbflow(&["replay", "x"]);
        assert_eq!(replay.exit, Some(0), "{}\n{replay}", project.display());
        // The verdict never says more than the checks: errors are findings, asks are asks.
        let errors = document["data"]["counts"]["errors"].as_u64().unwrap_or(0);
        if ran.exit == Some(0) {
            assert_eq!(errors, 0, "{}\n{document:#}", project.display());
        }
        if ran.exit == Some(4) {
            assert!(
                document["ask"]["id"].is_string() && document["class"].is_string(),
                "{document:#}"
            );
        }
        (test, document)
    }

    fn word(project: &Path, document: &Value) {
        let counts = &document["data"]["counts"];
        note(&format!(
            "{}: {} {} ({} errors, {} warnings)",
            project.file_stem().unwrap_or_default().to_string_lossy(),
            document["verdict"].as_str().unwrap_or("none"),
            document["class"].as_str().unwrap_or(""),
            counts["errors"],
            counts["warnings"]
        ));
    }

    #[test]
    fn every_demo_board_ends_in_a_verdict() {
        let mut seen = 0;
        for major in [9, 10] {
            if !environment::has_kicad(major) {
                continue;
            }
            let Some(demos) = environment::demos(major) else { continue };
            for project in projects(&demos) {
                // What both versions ship unchanged is run once.
                let other = environment::demos(9).filter(|_| major == 10);
                let twin = other.map(|d| d.join(project.strip_prefix(&demos).expect("below")));
                let board = |p: &Path| std::fs::read(p.with_extension("kicad_pcb")).ok();
                if twin.is_some_and(|t| board(&t).is_some() && board(&t) == board(&project)) {
                    continue;
                }
                let (_test, document) = run(&project);
                word(&project, &document);
                seen += 1;
            }
        }
        note(&format!("{seen} demo boards"));
    }

    fn corpus() -> Option<PathBuf> {
        let folder = program::source_root().join("../shared/corpus/kicad");
        if folder.is_dir() {
            return Some(folder);
        }
        note("skipped: the corpus of real projects is not here");
        None
    }

    #[test]
    fn every_board_of_the_corpus_ends_in_a_verdict() {
        let Some(corpus) = corpus() else { return };
        for project in
            projects(&corpus).into_iter().filter(|p| !p.to_string_lossy().contains("pairs"))
        {
            let (_test, document) = run(&project);
            word(&project, &document);
        }
    }

    /// The hand-made pairs: the same copper, other files beside it.
    #[test]
    fn the_pairs_are_told_apart() {
        let Some(corpus) = corpus() else { return };
        // Folder, and the errors that are really there; `None`: the rules are lost, so no verdict.
        let cases: [(&str, Option<u64>); 8] = [
            ("phantom-extra/with-pro", Some(0)),
            ("phantom-hidden/with-pro", Some(4)),
            ("severity/error", Some(4)),
            ("severity/warning", Some(0)),
            ("severity/ignore", Some(0)),
            ("dru/good", Some(4)),
            ("dru/syntax-error", None),
            ("truncated-pro/cut", None),
        ];
        for (name, errors) in cases {
            let project = corpus.join("pairs").join(name).join("board.kicad_pro");
            let (test, document) = run(&project);
            word(&project, &document);
            match errors {
                Some(errors) => {
                    let found = document["data"]["counts"]["errors"].as_u64();
                    assert_eq!(found, Some(errors), "{name}\n{document:#}");
                }
                None => assert_ne!(document["verdict"], "pass", "{name}\n{}", test.story("x")),
            }
        }
    }
}
