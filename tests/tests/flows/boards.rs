//! Several boards of one workspace.

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
