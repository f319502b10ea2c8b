//! Odd names and links.

use std::fs;
use std::os::unix::fs::symlink;

use pcbflow_tests::TestEnvironment;
use pcbflow_tests::manifest::Manifest;

#[test]
fn board_names_are_checked_before_anything_is_made() {
    let test = TestEnvironment::new();
    for name in
        ["", ".", "..", "a/b", "../x", "a\nb", "-x", "a\u{0}b", "a b/../../c", &"x".repeat(300)]
    {
        // The system itself refuses a NUL in an argument.
        if name.contains('\0') {
            continue;
        }
        test.pcbflow(&["init", "--json", "--", name]).exits(2);
    }
    assert!(!test.ws().join("projects").exists(), "nothing was made");
    for name in ["tür-sensor", "基板", "a.b_c-1"] {
        test.pcbflow(&["init", name]).exits(0);
        let board = Manifest::new(name).phase("05-schematic-audit").make("x", "out/ü x.txt", &[]);
        board.write(&test.board(name));
        test.pcbflow(&["run", name]).exits(0);
        assert!(test.board(name).join("out/ü x.txt").is_file());
        let again = test.json(0, &["run", name]);
        assert_eq!(again["data"]["cause"], "nothing_to_do", "{again:#}");
    }
}

#[test]
fn projects_in_odd_folders_are_checked_like_others() {
    for folder in [
        "Tür Sensor (v2)",
        "基板",
        "it's \"quoted\" $HOME `x`",
        "tab\there",
        "-o",
        "a:b",
        "new\nline",
    ] {
        let test = TestEnvironment::new();
        let Some(project) = test.tracks(folder) else { return };
        let before = pcbflow_tests::files::tree(&project);
        let done = test.json(0, &["run", "tracks"]);
        assert_eq!(done["verdict"], "pass", "{folder:?} {done:#}");
        assert_eq!(pcbflow_tests::files::tree(&project), before, "{folder:?}");
    }
}

#[test]
fn an_output_behind_a_link_that_leads_away_is_refused() {
    let test = TestEnvironment::new();
    let outside = test.path("outside");
    fs::create_dir_all(&outside).expect("a folder");
    let board = Manifest::new("b").phase("05-schematic-audit").make("x", "out/x.txt", &[]);
    test.boards(&[&board]);
    symlink(&outside, test.board("b").join("out")).expect("a link");
    let ran = test.pcbflow(&["run", "b", "--json"]);
    ran.exits_one_of(&[4, 5, 78]);
    assert_ne!(ran.json()["verdict"], "pass");
    // What the tool wrote is the tool's doing; pcbflow neither takes nor commits it.
    assert!(!test.git(&["ls-files"]).contains("out/x.txt"));
}

#[test]
fn an_output_that_is_a_link_is_not_taken_for_a_file() {
    let test = TestEnvironment::new();
    let secret = test.path("home/secret.txt");
    fs::write(&secret, "private").expect("a file");
    let board = Manifest::new("b").phase("05-schematic-audit").command(
        "generate",
        "x",
        &["ln", "-sf", &secret.display().to_string(), "x.txt"],
        &["outputs: [x.txt]"],
    );
    test.boards(&[&board]);
    let ran = test.pcbflow(&["run", "b", "--json"]);
    ran.exits_one_of(&[4, 5, 78]);
    assert_ne!(ran.json()["verdict"], "pass", "{ran}");
}

#[test]
fn a_board_folder_or_manifest_that_is_a_link_out_of_the_workspace_is_no_way_out() {
    let test = TestEnvironment::new();
    test.boards(&[&Manifest::new("a").phase("05-schematic-audit").make("x", "out/x.txt", &[])]);
    let outside = test.path("outside");
    Manifest::new("b").phase("05-schematic-audit").make("x", "out/x.txt", &[]).write(&outside);
    symlink(&outside, test.board("b")).expect("a link");
    let before = pcbflow_tests::files::contents(&outside);
    for words in [&["run", "b", "--json"][..], &["resume", "b", "--json"]] {
        let ran = test.pcbflow(words);
        ran.exits(78);
        assert!(ran.stdout.contains("outside the workspace"), "{ran}");
    }
    assert_eq!(pcbflow_tests::files::contents(&outside), before, "nothing is written there");
    // The manifest alone as a link.
    fs::remove_file(test.board("b")).expect("no link");
    fs::create_dir(test.board("b")).expect("a folder");
    symlink(outside.join("project.yaml"), test.board("b").join("project.yaml")).expect("a link");
    test.pcbflow(&["run", "b"]).exits(78);
    assert_eq!(pcbflow_tests::files::contents(&outside), before, "nothing is written there");
    test.pcbflow(&["run", "a"]).exits(0);
}

#[test]
fn a_workspace_that_is_none_and_a_folder_that_is_gone() {
    let test = TestEnvironment::new();
    for words in
        [&["run"][..], &["status"], &["log"], &["ledger", "verify"], &["answer", "a1", "yes"]]
    {
        test.json(11, words);
    }
    let gone = test.path("gone");
    fs::create_dir(&gone).expect("a folder");
    let mut command = test.program("sh");
    let pcbflow = pcbflow_tests::program::pcbflow();
    command
        .current_dir(&gone)
        .arg("-c")
        .arg("rmdir ../gone && exec \"$0\" run --json")
        .arg(pcbflow);
    let ran = pcbflow_tests::Running::start(command).wait();
    ran.exits_one_of(&[2, 11, 78]);
}
