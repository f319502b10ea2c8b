//! Several boards of one workspace.

use std::fs;

use pcbflow_core::event::{Decision, Fact};
use pcbflow_tests::TestEnvironment;
use pcbflow_tests::manifest::Manifest;

fn board(name: &str) -> Manifest {
    Manifest::new(name).phase("05-schematic-audit").make("one", "out/1.txt", &[]).make(
        "two",
        "out/2.txt",
        &["needs: [one]"],
    )
}

#[test]
fn all_boards_run_and_each_has_its_own_record_and_commit() {
    let test = TestEnvironment::new();
    let names = ["anna", "berta", "carla", "dora"];
    let boards: Vec<Manifest> = names.iter().map(|n| board(n)).collect();
    test.boards(&boards.iter().collect::<Vec<_>>());
    let done = test.json(0, &["run", "--all", "-j", "2"]);
    let documents = done["data"]["boards"].as_array().expect("one document a board");
    let told: Vec<&str> = documents.iter().filter_map(|d| d["board"].as_str()).collect();
    assert_eq!(told, names);
    assert!(documents.iter().all(|d| d["verdict"] == "pass"), "{done:#}");
    for name in names {
        assert!(test.board(name).join("out/2.txt").is_file(), "{name}");
        let log = test.git(&["log", "--format=%B", "--", &format!("projects/{name}")]);
        assert!(log.contains(&format!(":{name}:")), "{name}: {log}");
    }
    test.pcbflow(&["ledger", "verify"]).exits(0);
    let again = test.json(0, &["run", "--all", "-j", "2"]);
    let causes = again["data"]["boards"].as_array().expect("boards");
    assert!(causes.iter().all(|d| d["data"]["cause"] == "nothing_to_do"), "{again:#}");
}

#[test]
fn the_worst_board_decides_and_the_others_are_done() {
    let test = TestEnvironment::new();
    let bad =
        Manifest::new("bad").phase("05-schematic-audit").act("check", "x", &["fail", "3"], &[]);
    test.boards(&[&board("good"), &bad]);
    let done = test.json(4, &["run", "--all", "-j", "2"]);
    let documents = done["data"]["boards"].as_array().expect("one document a board");
    let of = |name: &str| {
        documents
            .iter()
            .find(|d| d["board"] == name)
            .map_or("", |d| d["verdict"].as_str().unwrap_or(""))
    };
    assert_eq!((of("good"), of("bad")), ("pass", "needs_person"), "{done:#}");
}

#[test]
fn a_board_is_meant_by_its_name_its_folder_or_being_the_only_one() {
    let test = TestEnvironment::new();
    test.boards(&[&board("anna")]);
    assert_eq!(test.json(0, &["run"])["board"], "anna");
    test.boards(&[&board("berta")]);
    test.json(2, &["run"]);
    test.json(11, &["run", "bertha"]);
    let mut inside = test.command(&["run", "--json"]);
    inside.current_dir(test.board("berta"));
    let ran = pcbflow_tests::Running::start(inside).wait();
    assert_eq!(ran.exits(0).json()["board"], "berta");
}

/// What healed one board is tried first for another one that meets the same failure.
#[test]
fn a_board_profits_from_what_another_one_learned() {
    let test = TestEnvironment::new();
    let rungs = |name: &str| -> Vec<String> {
        let recovered = |f: Fact| match f {
            Fact::DecisionTaken { decision: Decision::Recover { rung }, .. } => Some(rung),
            _ => None,
        };
        test.facts(name).into_iter().filter_map(recovered).collect()
    };
    for name in ["a", "b"] {
        let argv = ["sh", "copy.sh", "my folder/data.txt"];
        let board = Manifest::new(name).phase("05-schematic-audit").command(
            "check",
            "look",
            &argv,
            &["inputs: ['my folder']"],
        );
        test.boards(&[&board]);
        let folder = test.board(name).join("my folder");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("data.txt"), "data\n").expect("a file");
        fs::write(test.board(name).join("copy.sh"), "cat $1\n").expect("a script");
        test.pcbflow(&["run", name]).exits(0);
        test.pcbflow(&["replay", name]).exits(0);
    }
    let cure = "short-plain-copy";
    assert!(
        rungs("a").len() > 1 && rungs("a").last().is_some_and(|r| r == cure),
        "{:?}",
        rungs("a")
    );
    assert_eq!(rungs("b"), [cure], "{}", test.story("b"));
    test.pcbflow(&["ledger", "verify"]).exits(0);
    // A finished board still only reads.
    let before = test.events("b").len();
    test.pcbflow(&["run", "b"]).exits(0);
    assert_eq!(test.events("b").len(), before);
}
