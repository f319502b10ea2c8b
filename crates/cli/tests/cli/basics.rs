//! What holds for every command: one document with `--json`, clean output, exit codes.

use std::io::Read;

use serde_json::Value;

use crate::env::{Ran, TestEnvironment};
use crate::scenes;

/// Calls with the exit code that each must give in a workspace with a recorded board.
const CALLS: &[(&[&str], i32)] = &[
    (&["status"], 0),
    (&["status", "door"], 0),
    (&["status", "door", "--at", "3"], 0),
    (&["status", "door", "--at", "99999"], 11),
    (&["status", "dor"], 11),
    (&["status", "../x"], 2),
    (&["log"], 0),
    (&["log", "door", "--last", "1", "--phase", "12"], 0),
    (&["log", "nobody"], 11),
    (&["explain"], 0),
    (&["explain", "3"], 0),
    (&["explain", "2", "--technical"], 0),
    (&["explain", "a1"], 0),
    (&["explain", "--technical"], 0),
    (&["explain", "99999"], 11),
    (&["explain", "a99"], 11),
    (&["history"], 0),
    (&["history", "door", "--decisions"], 0),
    (&["history", "door", "--from", "3", "--limit", "2"], 0),
    (&["history", "--from", "99999"], 11),
    (&["history", "--limit", "0"], 2),
    (&["replay"], 0),
    (&["replay", "nobody"], 11),
    (&["verify-trace"], 0),
    (&["verify-trace", "door"], 0),
    (&["ledger", "verify"], 0),
    (&["ledger", "stats"], 0),
    (&["ledger", "rebuild-mirrors"], 0),
    (&["ledger", "expunge", "door", "5"], 4),
    (&["ledger", "expunge", "door", "99999", "--yes"], 11),
    (&["ledger", "import", "no-such-file"], 2),
    (&["ledger", "export", "pcbflow.toml"], 2),
    (&["lessons"], 0),
    (&["failures"], 0),
    (&["failures", "KI-6"], 0),
    (&["failures", "ki"], 0),
    (&["failures", "KI-99"], 11),
    (&["diagnose", "--text", "HTTP 429 Too Many Requests"], 0),
    (&["diagnose", "--text", "flux capacitor"], 0),
    (&["diagnose"], 2),
    (&["diagnose", "--signal", "NOPE"], 2),
    (&["diagnose", "--http", "7"], 2),
    (&["config", "show"], 0),
    (&["config", "show", "--origin"], 0),
    (&["schema"], 0),
    (&["schema", "result"], 0),
    (&["schema", "events"], 0),
    (&["schema", "kinds"], 0),
    (&["schema", "exit-codes"], 0),
    (&["schema", "catalogue"], 0),
    (&["schema", "resul"], 11),
    (&["completions", "bash"], 0),
    (&["completions", "powershell"], 0),
    (&["help"], 0),
    (&["help", "recovery"], 0),
    (&["help", "run"], 0),
    (&["help", "recover"], 11),
    (&["answer", "a99", "retry"], 11),
    (&["run", "nobody"], 11),
    (&["run", "door", "--wait", "soon"], 2),
    (&["check", "nobody"], 11),
    (&["check", "door", "--kind", "drcx"], 2),
    (&["check", "door", "--kind", "export"], 2),
    (&["resume", "nobody"], 11),
    (&["nonsense"], 2),
    (&["status", "--nonsense"], 2),
];

#[test]
fn every_command_gives_one_valid_document() {
    let env = TestEnvironment::new();
    scenes::full(&env, "door").close();
    let schema = pcbflow_cli::reference::result_schema();
    let valid = jsonschema::validator_for(&schema).unwrap();
    for (args, code) in CALLS {
        let mut with: Vec<&str> = args.to_vec();
        with.push("--json");
        let ran = env.run(&with);
        let document = ran.json();
        assert_eq!(ran.code, *code, "{args:?}: {ran:?}");
        let faults: Vec<String> = valid.iter_errors(&document).map(|e| e.to_string()).collect();
        assert!(faults.is_empty(), "{args:?}: {faults:?}");
        assert_eq!(document["exit"], *code, "{args:?}");
        assert_eq!(document["ok"], *code == 0, "{args:?}");
        assert_eq!(document["schema"], "pcbflow.result/1");
        assert!(*code == 0 || !document["error"].is_null(), "{args:?}: {document}");
        assert!(!ran.out.contains('\u{1b}'), "{args:?}");
    }
}

#[test]
fn output_for_people_is_clean_when_piped() {
    let env = TestEnvironment::new();
    scenes::full(&env, "door").close();
    for (args, code) in CALLS {
        for extra in [&[][..], &["--narrated"][..], &["-qq"][..]] {
            let ran = env.run(&[*args, extra].concat());
            assert_eq!(ran.code, *code, "{args:?} {extra:?}: {ran:?}");
            for text in [&ran.out, &ran.err] {
                assert!(!text.contains('\u{1b}') && !text.contains('\r'), "{args:?}: {text:?}");
                assert!(!text.contains("panicked"), "{args:?}: {text}");
            }
            assert!(*code == 0 || !ran.err.is_empty(), "{args:?} says nothing");
        }
    }
}

#[test]
fn events_end_with_the_result() {
    let env = TestEnvironment::new();
    scenes::full(&env, "door").close();
    for args in [&["status", "--events"][..], &["replay", "nobody", "--events"][..]] {
        let ran = env.run(args);
        let last: Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
        assert_eq!(last["type"], "result");
        assert_eq!(last["exit"], ran.code);
    }
}

#[test]
fn no_workspace_is_said_and_tools_work_anywhere() {
    let env = TestEnvironment::new();
    let outside = env.outside();
    for args in [&["status"][..], &["log"], &["history"], &["ledger", "stats"], &["explain"]] {
        let ran = env.run_in(&outside, args);
        assert_eq!(ran.code, 11, "{args:?}: {ran:?}");
        assert!(ran.err.contains("no workspace") && ran.err.contains("pcbflow init"), "{ran:?}");
    }
    for args in [
        &["failures"][..],
        &["diagnose", "--exit", "139"],
        &["schema", "result"],
        &["help"],
        &["config", "show"],
        &["completions", "zsh"],
    ] {
        let ran = env.run_in(&outside, args);
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
    }
    let doctor = env.run_in(&outside, &["doctor", "--json"]).json();
    let checks = doctor["data"]["checks"].as_array().unwrap();
    assert!(checks.iter().any(|c| c["name"] == "workspace" && c["result"] == "could_not_check"));
}

#[test]
fn nothing_recorded_yet() {
    let env = TestEnvironment::new();
    env.board("door", scenes::MANIFEST);
    let status = env.run(&["status"]);
    assert_eq!(status.code, 0);
    assert!(status.out.contains("not run yet") && status.out.contains("pcbflow run door"));
    assert_eq!(env.run(&["log"]).code, 0);
    for args in [&["history"][..], &["replay"], &["verify-trace"], &["explain"]] {
        assert_eq!(env.run(args).code, 11, "{args:?}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let env = TestEnvironment::new();
    for args in [&["failures"][..], &["failures", "--json"], &["completions", "bash"]] {
        let mut child = env.command(args).spawn().unwrap();
        let mut first = [0u8; 10];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        // The pipe is closed here, long before the output ends.
        let ran = crate::env::ran(child.wait_with_output().unwrap());
        assert_eq!(ran.code, 0, "{args:?}");
        assert_eq!(ran.err, "", "{args:?}");
    }
}

#[test]
fn colour_is_for_those_who_want_it() {
    let env = TestEnvironment::new();
    scenes::full(&env, "door").close();
    let colored = |ran: Ran| ran.out.contains('\u{1b}');
    assert!(colored(env.run(&["status", "--color", "always"])));
    assert!(!colored(env.run(&["status", "--color", "never"])));
    let mut command = env.command(&["status"]);
    command.env("CLICOLOR_FORCE", "1");
    assert!(colored(crate::env::ran(command.output().unwrap())));
    let mut command = env.command(&["status"]);
    command.env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1");
    assert!(!colored(crate::env::ran(command.output().unwrap())));
}

#[test]
fn pasted_errors_are_diagnosed_and_never_guessed() {
    let env = TestEnvironment::new();
    let known = env.run(&["diagnose", "--http", "429", "--tool", "easyeda", "--json"]).json();
    assert_eq!(known["class"], "EDA-5");
    assert_eq!(known["data"]["known"], true);
    assert!(!known["data"]["ladder"].as_array().unwrap().is_empty());
    let text = b"error: kicad-cli: command not found\n";
    let piped = env.run_with_input(&["diagnose", "--text", "-", "--exit", "127", "--json"], text);
    assert_eq!(piped.code, 0);
    assert_eq!(piped.json()["data"]["known"], true);
    let unknown = env.run(&["diagnose", "--text", "the flux capacitor is empty", "--json"]);
    assert_eq!(unknown.code, 0);
    let unknown = unknown.json();
    assert_eq!(unknown["class"], "SC-1");
    assert_eq!(unknown["data"]["known"], false);
    assert_eq!(unknown["data"]["confidence"], 0);
    let long = vec![b'x'; (1 << 20) + 1];
    assert_eq!(env.run_with_input(&["diagnose", "--text", "-"], &long).code, 2);
    let odd = env.run_with_input(&["diagnose", "--text", "-"], b"\x1b[31m\xff\xfe bad \x07");
    assert_eq!(odd.code, 0);
    assert!(!odd.out.contains('\u{1b}'));
}

#[test]
fn man_pages_and_completions_are_written() {
    let env = TestEnvironment::new();
    let dir = env.workspace.join("man1");
    let ran = env.run(&["util", "install-man-pages", dir.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for page in ["pcbflow.1", "pcbflow-run.1", "pcbflow-ledger-export.1"] {
        let text = std::fs::read_to_string(dir.join(page)).unwrap();
        assert!(text.contains(".SH NAME"), "{page}");
    }
    let blocked = env.run(&["util", "install-man-pages", "pcbflow.toml/x"]);
    assert_eq!(blocked.code, 78, "{blocked:?}");
}

#[test]
fn the_shell_is_offered_what_is_there() {
    let env = TestEnvironment::new();
    scenes::full(&env, "door").close();
    let offered = |words: &[&str]| {
        let at = (words.len() - 1).to_string();
        let mut command = env.command(&[&["--"][..], words].concat());
        command.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", at).env("_CLAP_IFS", "\n");
        let ran = crate::env::ran(command.output().unwrap());
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.out
    };
    for (words, wanted) in [
        (&["pcbflow", "status", ""][..], "door"),
        (&["pcbflow", "run", "--to", "12"], "12-final-verification"),
        (&["pcbflow", "answer", ""], "a1"),
        (&["pcbflow", "failures", "KI-"], "KI-6"),
        (&["pcbflow", "verify"], "verify-trace"),
    ] {
        let out = offered(words);
        assert!(out.lines().any(|l| l.starts_with(wanted)), "{words:?}: {out}");
    }
}

#[test]
fn a_person_s_rules_and_settings_are_seen() {
    let env = TestEnvironment::new();
    std::fs::create_dir_all(env.workspace.join("knowledge")).unwrap();
    let rule = "[[rule]]\nname='flux'\nclass='SC-2'\nwords=['flux capacitor']\nhint='order one'\n";
    std::fs::write(env.workspace.join("knowledge/rules.toml"), rule).unwrap();
    std::fs::write(env.workspace.join("pcbflow.toml"), "[retry.EDA-5]\nattempts = 2\n").unwrap();
    let found = env.run(&["diagnose", "--text", "Flux capacitor gone", "--json"]).json();
    assert_eq!(found["class"], "SC-2");
    assert_eq!(found["data"]["hint"], "order one");
    let config = env.run(&["config", "show", "--origin"]);
    assert!(
        config.out.contains("retry.EDA-5") && config.out.contains("pcbflow.toml"),
        "{config:?}"
    );
    std::fs::write(env.workspace.join("pcbflow.toml"), "[retry.EDA-5]\nattempts = 99\n").unwrap();
    assert_eq!(env.run(&["config", "show"]).code, 78);
}

/// `--kind drc,ecr` must not check the board's design rules and then call everything checked.
#[test]
fn a_kind_that_checks_nothing_is_no_pass() {
    let env = TestEnvironment::new();
    let step = "{ id: looks, uses: process/check, with: { argv: [\"true\"] } }";
    env.board("lamp", &format!("board: lamp\nphases:\n  - id: 05-a\n    steps:\n      - {step}\n"));
    assert_eq!(env.run(&["check", "lamp", "--kind", "check"]).code, 0);
    let typo = env.run(&["check", "lamp", "--kind", "check,ecr"]);
    assert_eq!(typo.code, 2, "{typo:?}");
    assert!(typo.err.contains("'ecr'"), "{typo:?}");
    let none = env.run(&["check", "lamp", "--kind", "check,erc"]);
    assert_eq!(none.code, 5, "{none:?}");
    assert!(none.err.contains("no step of kind 'erc'"), "{none:?}");
}
