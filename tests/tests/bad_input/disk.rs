//! Disks that are full or may not be written.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use pcbflow_tests::TestEnvironment;
use pcbflow_tests::files::copy_tree;
use pcbflow_tests::manifest::Manifest;
use pcbflow_tests::small_disk::Mount;

fn board() -> Manifest {
    Manifest::new("b").phase("05-schematic-audit").make("one", "out/1.txt", &[]).make(
        "two",
        "out/2.txt",
        &["needs: [one]"],
    )
}

/// What is done to a ledger's file.
type Damage = fn(&Path);

/// Fills a disk to its last byte.
fn fill(file: &Path) {
    let mut out = File::create(file).expect("a file");
    let block = [0_u8; 65536];
    for size in [block.len(), 512, 1] {
        while out.write_all(&block[..size]).is_ok() {}
    }
}

#[test]
fn a_full_disk_stops_before_a_step_and_goes_on_when_there_is_room() {
    let test = TestEnvironment::new();
    let Some(_disk) = Mount::small(&test.ws(), 24 * 1024) else { return };
    test.boards(&[&board()]);
    test.pcbflow(&["run", "b", "--to", "05-schematic-audit"]).exits(0);
    let before = test.events("b").len();
    fs::write(test.board("b").join("project.yaml"), board().make("three", "out/3.txt", &[]).text())
        .expect("a manifest");
    let filler = test.ws().join("filler");
    fill(&filler);
    let ran = test.pcbflow(&["run", "b", "--json"]);
    let stopped = ran.exits(4).json();
    assert_eq!(stopped["class"], "LG-1", "{ran}");
    assert!(stopped["verdict"] != "pass");
    test.pcbflow(&["status", "b"]).exits(0);
    fs::remove_file(&filler).expect("the filler");
    let done = test.pcbflow(&["run", "b", "--json"]);
    if done.exit == Some(4) {
        let ask = done.json()["ask"]["id"].as_str().expect("an ask").to_owned();
        test.pcbflow(&["answer", &ask, "retry"]).exits(0);
        test.pcbflow(&["resume", "b"]).exits(0);
    } else {
        done.exits(0);
    }
    assert!(test.board("b").join("out/3.txt").is_file());
    assert!(test.events("b").len() > before);
    test.pcbflow(&["ledger", "verify"]).exits(0);
    test.pcbflow(&["replay", "b"]).exits(0);
}

#[test]
fn a_disk_that_fills_up_at_any_moment_loses_no_event() {
    // From roomy to none: the full disk strikes in different places of the same run.
    for left_kb in [4096, 1024, 256, 64, 16, 0] {
        let test = TestEnvironment::new();
        let Some(_disk) = Mount::small(&test.ws(), 24 * 1024) else { return };
        test.boards(&[&board()]);
        let filler = test.ws().join("filler");
        fill(&filler);
        let size = fs::metadata(&filler).expect("the filler").len();
        let kept = size.saturating_sub(left_kb * 1024);
        File::options().write(true).open(&filler).and_then(|f| f.set_len(kept)).expect("room");
        let ran = test.pcbflow(&["run", "b", "--json"]);
        ran.exits_one_of(&[0, 4]);
        fs::remove_file(&filler).expect("the filler");
        let again = test.pcbflow(&["run", "b", "--json"]);
        if again.exit == Some(4) {
            let ask = again.json()["ask"]["id"].as_str().expect("an ask").to_owned();
            test.pcbflow(&["answer", &ask, "retry"]).exits(0);
            test.pcbflow(&["resume", "b"]).exits(0);
        } else {
            again.exits(0);
        }
        test.pcbflow(&["ledger", "verify"]).exits(0);
        assert!(test.board("b").join("out/2.txt").is_file(), "{left_kb} kB");
    }
}

#[test]
fn a_read_only_workspace_can_be_read_and_no_run_starts() {
    let test = TestEnvironment::new();
    test.boards(&[&board()]);
    test.pcbflow(&["run", "b"]).exits(0);
    let before = test.events("b").len();
    let Some(disk) = Mount::read_only(&test.ws()) else { return };
    for words in [&["status", "b"][..], &["log", "b"], &["history", "b"], &["ledger", "verify"]] {
        test.json(0, words);
    }
    for words in [&["run", "b", "--force"][..], &["check", "b", "--force"], &["init", "c"]] {
        let refused = test.pcbflow(&[words, &["--json"]].concat());
        refused.exits(78);
        assert_ne!(refused.json()["verdict"], "pass", "{refused}");
    }
    drop(disk);
    assert_eq!(test.events("b").len(), before);
    test.pcbflow(&["run", "b"]).exits(0);
}

#[test]
fn a_read_only_outputs_folder_is_no_clean_verdict() {
    let test = TestEnvironment::new();
    let Some(_project) = test.tracks("tracks") else { return };
    let out = test.board("tracks");
    // Everything that KiCad says about such a folder is "Saved".
    let Some(_disk) = Mount::read_only(&out) else { return };
    let ran = test.pcbflow(&["run", "tracks", "--json"]);
    ran.exits_one_of(&[4, 5, 78]);
    assert_ne!(ran.json()["verdict"], "pass", "{ran}");
}

#[test]
fn a_ledger_that_was_cut_emptied_or_removed_is_refused_and_not_made_anew() {
    let test = TestEnvironment::new();
    test.boards(&[&board()]);
    test.pcbflow(&["run", "b"]).exits(0);
    let state = test.ws().join(".pcbflow");
    let saved = test.path("saved");
    copy_tree(&state, &saved);
    let ledger = state.join("ledger.redb");
    let damages: [(&str, Damage); 4] = [
        ("cut", |file| {
            let size = fs::metadata(file).expect("the ledger").len();
            File::options().write(true).open(file).and_then(|f| f.set_len(size / 2)).expect("cut");
        }),
        ("empty", |file| fs::write(file, "").expect("an empty file")),
        ("gone", |file| fs::remove_file(file).expect("no file")),
        ("other bytes", |file| fs::write(file, "not a ledger ".repeat(5000)).expect("bytes")),
    ];
    for (name, damage) in damages {
        damage(&ledger);
        let was = fs::read(&ledger).ok();
        for words in [&["run", "b"][..], &["ledger", "verify"], &["verify-trace", "b"]] {
            let refused = test.json(12, words);
            assert_eq!(refused["class"], "LG-2", "{name} {words:?}: {refused:#}");
        }
        assert_eq!(fs::read(&ledger).ok(), was, "{name}: nothing is repaired in place");
        fs::remove_dir_all(&state).expect("the damaged state");
        copy_tree(&saved, &state);
    }
    test.pcbflow(&["ledger", "verify"]).exits(0);
    let again = test.json(0, &["run", "b"]);
    assert_eq!(again["data"]["cause"], "nothing_to_do");
}
