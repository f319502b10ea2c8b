//! Killed in the middle of the real KiCad flow.

#[cfg(feature = "heavy")]
mod heavy {
    use std::collections::{BTreeMap, BTreeSet};
    use std::time::{Duration, Instant};

    use pcbflow_core::event::Fact;
    use pcbflow_tests::rng::Rng;
    use pcbflow_tests::{TestEnvironment, files, processes, tools};

    /// Kills on the small board, and on StickHub.
    const KILLS: [(&str, u64); 2] = [("tracks", 30), ("stickhub", 10)];

    fn place(board: &str) -> Option<TestEnvironment> {
        let test = TestEnvironment::release();
        match board {
            "tracks" => test.tracks("tracks")?,
            _ => test.stickhub()?,
        };
        for tool in ["kicad-cli", "kicad-cli-9", "kicad-cli-10", "git"] {
            if tools::find(tool).is_some() {
                tools::put_journal(&test.wrappers(), tool, &test.path("journal"));
            }
        }
        Some(test)
    }

    /// Names of committed files; none of them is empty.
    fn finish(test: &TestEnvironment, board: &str, name: &str) -> BTreeSet<String> {
        let done = test.pcbflow(&["run", board, "--json"]);
        assert_eq!(done.exit, Some(0), "{name}\n{done}\n{}", test.story(board));
        assert_eq!(done.json()["verdict"], "pass", "{name}\n{done}");
        test.pcbflow(&["ledger", "verify"]).exits(0);
        let replay = test.pcbflow(&["replay", board]);
        assert_eq!(replay.exit, Some(0), "{name}\n{replay}\n{}", test.story(board));
        let left = processes::left_of(&test.path(""));
        assert!(left.is_empty(), "{name}: {left:?} are left");
        let mut passes = BTreeMap::new();
        for event in test.events(board) {
            if let (Fact::StepPassed { .. }, Some(key)) = (&event.fact, event.step_key()) {
                *passes.entry(key.to_string()).or_insert(0) += 1;
            }
        }
        assert!(passes.values().all(|n| *n == 1), "{name}: {passes:?}\n{}", test.story(board));
        let list = test.git(&["ls-tree", "-r", "-l", "HEAD", "--", &format!("projects/{board}")]);
        for line in list.lines() {
            assert!(!line.contains(" 0\t"), "{name}: an empty file is committed: {line}");
        }
        assert_eq!(test.git(&["status", "--porcelain", "--", "projects"]), "", "{name}");
        list.lines().filter_map(|l| l.split('\t').nth(1)).map(str::to_owned).collect()
    }

    #[test]
    fn kills_in_the_middle_of_real_checks_and_exports() {
        let mut rng = Rng::announced("kills in the real KiCad flow");
        for (board, wanted) in KILLS {
            let Some(test) = place(board) else { return };
            let start = Instant::now();
            let alone = finish(&test, board, "alone");
            let whole = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
            let (mut kills, mut early) = (0, 0);
            while kills < wanted {
                let Some(test) = place(board) else { return };
                let project = test.path("hw").join(board);
                let before = files::tree(&project);
                let moment = rng.below(whole);
                let running = test.start(&["run", board]);
                std::thread::sleep(Duration::from_millis(moment));
                running.kill();
                let ran = running.wait();
                ran.sane();
                if ran.signal == Some(9) {
                    kills += 1
                } else {
                    early += 1
                }
                let name = format!("{board} killed after {moment} of {whole} ms");
                assert_eq!(finish(&test, board, &name), alone, "{name}");
                assert_eq!(files::tree(&project), before, "{name}: the engineer's project");
            }
            pcbflow_tests::note(&format!("{board}: {kills} kills; {early} came after the end"));
        }
    }
}
