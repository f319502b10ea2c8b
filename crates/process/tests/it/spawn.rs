//! Starting, passing things in, keeping what comes out.

use pcbflow_core::ports::{SpawnEnded, SpawnRequest};

use crate::common::{Place, program};

#[tokio::test]
async fn both_streams_are_kept_apart_and_whole() {
    let place = Place::new();
    let line = "for i in 1 2 3; do echo out$i; echo err$i >&2; done; exit 3";
    let result = place.sh(line).await;
    assert_eq!(result.ended, SpawnEnded::Exited(3));
    assert_eq!(result.status(), Some(3));
    assert_eq!(result.stdout.text, "out1\nout2\nout3\n");
    assert_eq!(result.stderr.text, "err1\nerr2\nerr3\n");
    assert_eq!(place.stored(&result.stdout), b"out1\nout2\nout3\n");
    assert_eq!(result.stderr.total_bytes, 15);
}

#[tokio::test]
async fn silence_stores_nothing() {
    let place = Place::new();
    let result = place.sh("true").await;
    assert_eq!(result.ended, SpawnEnded::Exited(0));
    assert_eq!((result.stdout.blob, result.stdout.total_bytes), (None, 0));
}

#[tokio::test]
async fn long_output_keeps_head_tail_and_the_full_blob() {
    let place = Place::new();
    let result = place.sh("echo first; seq 1 400000; echo last").await;
    let text = &result.stdout.text;
    assert!(text.starts_with("first\n") && text.ends_with("last\n"), "{}", text.len());
    assert!(text.contains("bytes left out"));
    assert!(text.len() < pcbflow_process::spawn::TEXT_BYTES_MAX + 100);
    assert_eq!(place.stored(&result.stdout).len() as u64, result.stdout.total_bytes);
}

#[tokio::test]
async fn bytes_that_are_no_text_do_no_harm() {
    let place = Place::new();
    let result = place.sh(r"printf 'a\377\376\303b\0c\n'; printf '\303\244\n' >&2").await;
    assert_eq!(result.stdout.text, "a\u{fffd}\u{fffd}\u{fffd}b\0c\n");
    assert_eq!(result.stdout.total_bytes, 8);
    assert_eq!(result.stderr.text, "ä\n");
}

#[tokio::test]
async fn arguments_arrive_as_they_are() {
    let place = Place::new();
    let odd = ["a b", "$HOME", "`id`", "*", "it's", "\"q\"", "new\nline", "ü é 漢", "", "-n", "\\"];
    let mut argv = vec!["sh", "-c", r#"for a in "$@"; do printf '[%s]' "$a"; done"#, "sh"];
    argv.extend(odd);
    let result = place.run(place.request(&argv)).await;
    let want: String = odd.iter().map(|a| format!("[{a}]")).collect();
    assert_eq!(result.stdout.text, want);
}

#[tokio::test]
async fn programs_and_folders_with_odd_names_are_found() {
    let place = Place::new();
    let folder = place.path().join("ein Ordner\nmit ü $x");
    std::fs::create_dir(&folder).unwrap();
    program(&folder.join("my tool"), "#!/bin/sh\npwd\n");
    let request = SpawnRequest { cwd: folder.clone(), ..place.request(&["./my tool"]) };
    let result = place.run(request).await;
    assert_eq!(result.ended, SpawnEnded::Exited(0));
    let real = folder.canonicalize().unwrap();
    assert_eq!(result.stdout.text, format!("{}\n", real.display()));
}

#[tokio::test]
async fn standard_input_is_given_or_closed() {
    let place = Place::new();
    let given = SpawnRequest { stdin: Some(b"hello".to_vec()), ..place.request(&["cat"]) };
    assert_eq!(place.run(given).await.stdout.text, "hello");
    assert_eq!(place.run(place.request(&["cat"])).await.ended, SpawnEnded::Exited(0));
    // More than a pipe holds, and a program that reads none of it.
    let big = SpawnRequest { stdin: Some(vec![b'x'; 1 << 20]), ..place.request(&["true"]) };
    assert_eq!(place.run(big).await.ended, SpawnEnded::Exited(0));
}

#[tokio::test]
async fn only_listed_variables_pass() {
    let place = Place::new();
    // Cargo sets CARGO_PKG_NAME for tests; it stands for any variable of the engineer's shell.
    assert!(std::env::var_os("CARGO_PKG_NAME").is_some());
    let mut request = place.request(&["env"]);
    request.env.insert("BOARD".into(), "door".into());
    let tag = request.tag.clone();
    let out = place.run(request).await.stdout.text;
    assert!(out.contains("PATH=") && out.contains("BOARD=door"), "{out}");
    assert!(out.contains(&format!("PCBFLOW_ATTEMPT={tag}.")), "{out}");
    assert!(!out.contains("CARGO_PKG_NAME"), "{out}");
}

#[tokio::test]
async fn secrets_are_neither_in_the_text_nor_in_the_blob() {
    let place = Place::new();
    let line = "echo 'Authorization: Bearer abcdef0123456789'; \
                echo ghp_16C7e42F292c6912E7710c838347Ae178B4a >&2; echo tokenCount=7 >&2";
    let result = place.sh(line).await;
    assert!(!result.stdout.text.contains("abcdef"));
    assert!(!result.stderr.text.contains("ghp_"));
    assert!(result.stderr.text.contains("tokenCount=7"));
    for captured in [&result.stdout, &result.stderr] {
        let stored = String::from_utf8(place.stored(captured)).unwrap();
        assert!(stored.contains("[redacted]") && !stored.contains("6789"), "{stored}");
        assert!(!stored.contains("ghp_"), "{stored}");
    }
}

#[tokio::test]
async fn faults_of_starting_are_told_apart() {
    let place = Place::new();
    let dir = place.path();
    std::fs::write(dir.join("plain"), "x").unwrap();
    program(&dir.join("noint"), "#!/no/such/interpreter\n");
    program(&dir.join("garbage"), "\u{7f}ELFgarbage");
    std::fs::create_dir(dir.join("folder")).unwrap();
    let ended = async |argv: &[&str]| place.run(place.request(argv)).await.ended;
    let failed = |what: &str| SpawnEnded::Failed(what.to_owned());
    assert_eq!(ended(&["no-such-program-here"]).await, SpawnEnded::NotFound);
    assert_eq!(ended(&["./none"]).await, SpawnEnded::NotFound);
    assert_eq!(ended(&["./plain"]).await, SpawnEnded::Denied);
    assert_eq!(ended(&["./folder"]).await, SpawnEnded::Denied);
    assert_eq!(ended(&["./garbage"]).await, failed("exec format error"));
    let SpawnEnded::Failed(why) = ended(&["./noint"]).await else { panic!("it has to fail") };
    assert!(why.starts_with("bad interpreter"), "{why}");
    assert_eq!(ended(&[]).await, failed("no program is named"));
    assert_eq!(ended(&[""]).await, failed("no program is named"));
    assert_eq!(ended(&["true", "a\0b"]).await, failed("argument 1 holds a NUL byte"));
    let long = "x".repeat(4 << 20);
    assert_eq!(ended(&["true", &long]).await, failed("argument list too long"));
    let nowhere = SpawnRequest { cwd: dir.join("gone"), ..place.request(&["true"]) };
    assert_eq!(place.run(nowhere).await.ended, failed("the folder to run in is not there"));
    let left = std::fs::read_dir(place.state().join("children")).unwrap().count();
    assert_eq!(left, 0, "no record of what never started");
}

#[tokio::test]
async fn a_folder_without_state_still_runs() {
    let place = Place::new();
    std::fs::remove_dir_all(place.state()).unwrap();
    std::fs::write(place.state(), "a file where the folder should be").unwrap();
    assert_eq!(place.sh("echo x; seq 1 300000").await.ended, SpawnEnded::Exited(0));
}
