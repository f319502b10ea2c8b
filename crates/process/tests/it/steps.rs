//! Steps of the three kinds, with real programs.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use pcbflow_core::check::CheckOutcome;
use pcbflow_core::event::{Ended, Event, ReadBack, RecoveryOutcome};
use pcbflow_core::evidence::{Evidence, codes};
use pcbflow_core::ids::{AttemptNo, BoardName, Digest, KindName, PhaseId, StepId, StepKey};
use pcbflow_core::manifest::{CheckSpec, Safety, StepDef};
use pcbflow_core::ports::{
    Clock, FileDigests, Observation, Progress, Services, StepContext, StepResult, Subsystem,
};
use pcbflow_core::time::Timestamp;
use pcbflow_process::{ProcessSubsystem, signals};
use serde_json::{Value, json};

use crate::common::{Place, Stop, program, tag};

/// A clock whose waits are written down and cost nothing.
#[derive(Default)]
struct Driven(std::sync::Mutex<(i64, Vec<u64>)>);

#[async_trait]
impl Clock for Driven {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.lock().unwrap().0)
    }

    async fn sleep_until(&self, wake: Timestamp) {
        let mut state = self.0.lock().unwrap();
        let waited = wake.ms_since(Timestamp(state.0));
        state.1.push(waited);
        state.0 = wake.0;
    }
}

struct Plain;

impl FileDigests for Plain {
    fn digest(&self, path: &std::path::Path) -> Result<Option<(Digest, u64)>, std::io::Error> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(Some((Digest::of(&bytes), bytes.len() as u64))),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }
}

impl Progress for Plain {
    fn doing(&self, _key: &StepKey, _text: &str) {}
    fn appended(&self, _events: &[Event]) {}
}

/// A board with its folder and the services around it.
struct Board {
    place: Place,
    clock: Arc<Driven>,
    services: Services,
}

impl Board {
    fn new() -> Board {
        let place = Place::new();
        let clock = Arc::new(Driven::default());
        std::fs::create_dir(place.path().join("board")).unwrap();
        std::fs::create_dir(place.path().join("scratch")).unwrap();
        let services = Services {
            spawn: Arc::new(place.spawn.clone()),
            blobs: place.blobs.clone(),
            digests: Arc::new(Plain),
            clock: clock.clone(),
            cancel: Arc::new(Stop::never()),
            progress: Arc::new(Plain),
        };
        Board { place, clock, services }
    }

    fn dir(&self) -> PathBuf {
        self.place.path().join("board")
    }

    fn context(&self, step: StepDef) -> StepContext {
        StepContext {
            board: BoardName::new("door").unwrap(),
            key: StepKey { phase: PhaseId::new("01-x").unwrap(), step: step.id.clone() },
            step,
            workspace: self.place.path().to_owned(),
            board_dir: self.dir(),
            root: self.dir(),
            state_dir: self.place.state(),
            scratch: self.place.path().join("scratch"),
            attempt: AttemptNo(1),
            tag: tag(),
            deadline_ms: 20_000,
            notes: Default::default(),
            records: Default::default(),
            head: None,
            status: Value::Null,
            needs: Default::default(),
            phase_outputs: vec![],
            earlier_outputs: vec![],
            run: "r1".into(),
            round: None,
        }
    }

    async fn run(&self, context: &StepContext) -> Observation {
        ProcessSubsystem::new().run(context, &self.services).await
    }

    async fn recover(&self, context: &StepContext, action: &str) -> pcbflow_core::ports::Recovery {
        ProcessSubsystem::new().recover(context, &self.services, "SC-2", action).await
    }

    async fn probe(&self, context: &StepContext, probe: &str) -> CheckOutcome {
        ProcessSubsystem::new().probe(context, &self.services, probe).await.outcome
    }
}

fn step(kind: &str, with: Value) -> StepDef {
    let Value::Object(map) = with else { panic!("a map is wanted") };
    StepDef {
        id: StepId::new("s").unwrap(),
        uses: KindName::new(format!("process/{kind}")).unwrap(),
        with: map.into_iter().collect(),
        check: CheckSpec::Own,
        safety: None,
        timeout_ms: None,
        needs: vec![],
        inputs: None,
        outputs: vec![],
        install: vec![],
        systems: vec![],
    }
}

fn sh(kind: &str, line: &str) -> StepDef {
    step(kind, json!({"argv": ["sh", "-c", line]}))
}

fn making(line: &str, outputs: &[&str]) -> StepDef {
    let outputs = outputs.iter().map(|o| (*o).to_owned()).collect();
    StepDef { outputs, ..sh("generate", line) }
}

fn failed(observation: Observation) -> Evidence {
    match observation.result {
        StepResult::Failed(evidence) => evidence,
        StepResult::Checked(check) => panic!("it has to fail: {check:?}"),
    }
}

fn codes_of(evidence: &Evidence) -> Vec<&str> {
    evidence.signals.iter().map(|s| s.code.as_str()).collect()
}

fn outcome(observation: Observation) -> CheckOutcome {
    match observation.result {
        StepResult::Checked(check) => check.outcome,
        StepResult::Failed(evidence) => panic!("failed: {:?}", evidence.signals),
    }
}

#[tokio::test]
async fn a_command_that_works() {
    let board = Board::new();
    let context = board.context(sh("command", "echo hello; echo \"$PCBFLOW_STEP\""));
    let seen = board.run(&context).await;
    assert_eq!(seen.stdout.text, "hello\ns\n");
    assert_eq!((seen.exit, seen.tool.as_str(), seen.ended), (Some(0), "sh", Ended::Returned));
    assert_eq!(seen.blobs.len(), 1);
    assert_eq!(outcome(seen), CheckOutcome::Pass);
}

#[tokio::test]
async fn what_was_executed_is_recorded_without_secrets() {
    let board = Board::new();
    let argv = json!(["true", "--password", "hunter2", "--x", "api-key: zzz9", "ok"]);
    let seen = board.run(&board.context(step("command", json!({"argv": argv})))).await;
    assert_eq!(seen.argv, ["true", "--password", "[redacted]", "--x", "api-key: [redacted]", "ok"]);
}

#[tokio::test]
async fn statuses_failures_and_findings() {
    let board = Board::new();
    let evidence = failed(board.run(&board.context(sh("command", "echo no >&2; exit 3"))).await);
    assert_eq!(codes_of(&evidence), ["status", "stderr"]);
    assert_eq!(evidence.signals[0].number, Some(3));
    let with = json!({"argv": ["sh", "-c", "echo C4 too near; exit 1"], "findings": [1]});
    let seen = board.run(&board.context(step("check", with))).await;
    let StepResult::Checked(check) = &seen.result else { panic!("{seen:?}") };
    // What it found is counted and told, though the program counts nothing.
    assert_eq!((check.outcome, check.counts.errors), (CheckOutcome::Fail, 1));
    assert!(check.findings[0].message.contains("found something: C4 too near"), "{check:?}");
    let mut expects = sh("command", "exit 2");
    expects.check = CheckSpec::Exit { expect: vec![0, 2] };
    assert_eq!(outcome(board.run(&board.context(expects)).await), CheckOutcome::Pass);
    let evidence = failed(board.run(&board.context(sh("command", "kill -SEGV $$"))).await);
    assert_eq!(
        (evidence.signals[0].code.as_str(), evidence.signals[0].number),
        ("signal", Some(11))
    );
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let board = Board::new();
    let run = async |argv: Value| {
        failed(board.run(&board.context(step("command", json!({"argv": argv})))).await)
    };
    let evidence = run(json!(["no-such-program-here"])).await;
    assert_eq!(evidence.signals[0].code, codes::SPAWN_NOT_FOUND);
    assert_eq!(evidence.slots["program"], "no-such-program-here");
    assert_eq!(evidence.slots["items"], "no-such-program-here");
    let mut declared = step("command", json!({"argv": ["no-such-program-here"]}));
    declared.install = ["sh", "-c", "it's here"].map(str::to_owned).to_vec();
    let evidence = failed(board.run(&board.context(declared)).await);
    assert_eq!(evidence.slots["install"], r"sh -c 'it'\''s here'");
    let evidence = run(json!(["sh", "-c", "no-such-program-here"])).await;
    assert_eq!(codes_of(&evidence)[..2], ["status", codes::SPAWN_NOT_FOUND]);
    program(&board.dir().join("tool"), "#!/opt/none/node\n");
    let evidence = run(json!(["./tool"])).await;
    assert_eq!(evidence.signals[0].text, "/opt/none/node");
    let evidence = run(json!(["python3", "-c", "import no_such_module_here"])).await;
    assert!(codes_of(&evidence).contains(&codes::MODULE_NOT_FOUND), "{evidence:?}");
    assert_eq!(evidence.slots["module"], "no_such_module_here");
}

#[tokio::test]
async fn outputs_are_proven() {
    let board = Board::new();
    let out = board.dir().join("out/ä b.txt");
    let good = making("mkdir -p out; echo 1 > 'out/ä b.txt'", &["out/ä b.txt"]);
    let context = board.context(good);
    let seen = board.run(&context).await;
    assert_eq!(seen.outputs[0].path, "out/ä b.txt");
    assert_eq!(seen.outputs[0].digest, Digest::of(b"1\n"));
    assert_eq!(outcome(seen), CheckOutcome::Pass);
    // Written again with the same content: made by this attempt.
    assert_eq!(outcome(board.run(&context).await), CheckOutcome::Pass);
    let code = async |line: &str| {
        let evidence = failed(board.run(&board.context(making(line, &["out/ä b.txt"]))).await);
        evidence.signals[0].code.clone()
    };
    assert_eq!(code("true").await, codes::OUTPUT_STALE);
    assert_eq!(code(": > 'out/ä b.txt'").await, codes::OUTPUT_EMPTY);
    std::fs::remove_file(&out).unwrap();
    assert_eq!(code("true").await, codes::OUTPUT_MISSING);
    // An old time on a fresh copy is no lie.
    let kept = "echo 1 > 'out/ä b.txt'; touch -d 2001-01-01 'out/ä b.txt'";
    let seen = board.run(&board.context(making(kept, &["out/ä b.txt"]))).await;
    assert_eq!(outcome(seen), CheckOutcome::Pass);
    // A folder counts as all of its files.
    let seen =
        board.run(&board.context(making("mkdir -p d; echo 1 > d/a; echo 2 > d/b", &["d"]))).await;
    assert_eq!(seen.outputs.len(), 2);
}

#[tokio::test]
async fn nothing_leaves_the_board() {
    let board = Board::new();
    let outside = board.place.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, board.dir().join("link")).unwrap();
    let through = making("echo 1 > link/x", &["link/x"]);
    assert_eq!(codes_of(&failed(board.run(&board.context(through)).await)), [codes::SPAWN_FAILED]);
    assert!(!outside.join("x").exists(), "refused before the start");
    let cwd = step("command", json!({"argv": ["pwd"], "cwd": "link"}));
    assert_eq!(codes_of(&failed(board.run(&board.context(cwd)).await)), [codes::SPAWN_FAILED]);
}

#[tokio::test]
async fn an_envelope_outranks_the_status() {
    let board = Board::new();
    let run = async |line: &str, check: CheckSpec| {
        let with = json!({"argv": ["sh", "-c", line], "envelope": true});
        let step = StepDef { check, ..step("check", with) };
        board.run(&board.context(step)).await
    };
    let ok = r#"echo noise; echo '{"ok":true,"v":{"errors":0,"warnings":2}}'; echo"#;
    assert_eq!(outcome(run(ok, CheckSpec::Own).await), CheckOutcome::Pass);
    for line in [r#"echo '{"ok":false,"err":"no net"}'"#, "echo done", "true", "echo '{}'"] {
        let evidence = failed(run(line, CheckSpec::Own).await);
        assert_eq!(evidence.signals[0].code, codes::ENVELOPE_FAILED, "{line}");
    }
    let clean = CheckSpec::ReportClean(Default::default());
    assert_eq!(outcome(run(ok, clean.clone()).await), CheckOutcome::Pass);
    let bad = r#"echo '{"ok":true,"errors":1,"warnings":0}'"#;
    assert_eq!(outcome(run(bad, clean.clone()).await), CheckOutcome::Fail);
    assert_eq!(outcome(run(r#"echo '{"ok":true}'"#, clean).await), CheckOutcome::CouldNotRun);
}

#[tokio::test]
async fn a_post_condition_is_read_fresh() {
    let board = Board::new();
    let check = CheckSpec::RegexInFile { path: "x".into(), pattern: "^yes$".into() };
    let outputs = vec!["x".to_owned()];
    let acts = StepDef { check: check.clone(), outputs, ..sh("command", "echo no > x") };
    let evidence = failed(board.run(&board.context(acts)).await);
    assert_eq!(evidence.signals[0].code, signals::POST_CONDITION_UNMET);
    let inputs = Some(vec!["x".to_owned()]);
    let looks = StepDef { check: check.clone(), inputs, ..sh("check", "true") };
    assert_eq!(outcome(board.run(&board.context(looks)).await), CheckOutcome::Fail);
    // A file of an earlier attempt proves nothing, and one of unknown age is refused.
    std::fs::write(board.dir().join("x"), "yes\n").unwrap();
    let lazy =
        StepDef { check: check.clone(), outputs: vec!["x".to_owned()], ..sh("check", "true") };
    assert!(
        codes_of(&failed(board.run(&board.context(lazy)).await)).contains(&codes::OUTPUT_STALE)
    );
    let faults = ProcessSubsystem::new().step_faults(&StepDef { check, ..sh("check", "true") });
    assert_eq!(faults.iter().map(|f| f.path.as_str()).collect::<Vec<_>>(), ["check.path"]);
}

#[tokio::test]
async fn limits_become_typed_evidence() {
    let board = Board::new();
    let mut context = board.context(sh("command", "echo started; sleep 20"));
    context.deadline_ms = 600;
    let seen = board.run(&context).await;
    assert_eq!((seen.ended, seen.stdout.text.as_str()), (Ended::DeadlinePassed, "started\n"));
    assert_eq!(codes_of(&failed(seen))[..2], [codes::DEADLINE_PASSED, signals::ENDED_BY_US]);
    // With a longer deadline the same step comes to its end.
    let mut context = board.context(sh("command", "sleep 1; echo done"));
    context.deadline_ms = 200;
    assert_eq!(board.run(&context).await.ended, Ended::DeadlinePassed);
    context.deadline_ms = 20_000;
    assert_eq!(outcome(board.run(&context).await), CheckOutcome::Pass);
    let with = json!({"argv": ["yes"], "output_mb": 4});
    let seen = board.run(&board.context(step("check", with))).await;
    assert_eq!(codes_of(&failed(seen))[0], codes::OUTPUT_ENDLESS);
}

#[tokio::test]
async fn the_word_timeout_means_nothing() {
    let board = Board::new();
    let evidence =
        failed(board.run(&board.context(sh("command", "echo 'timeout: 5' >&2; exit 1"))).await);
    assert!(!codes_of(&evidence).contains(&codes::DEADLINE_PASSED));
}

#[tokio::test]
async fn a_declared_install_runs_once() {
    let board = Board::new();
    let mut def = sh("command", "./tool");
    def.install = vec![
        "sh".into(),
        "-c".into(),
        "echo x >> ran; printf '#!/bin/sh\\n' > tool; chmod +x tool".into(),
    ];
    let mut context = board.context(def);
    let evidence = failed(board.run(&context).await);
    assert_eq!(codes_of(&evidence)[1], codes::SPAWN_NOT_FOUND);
    for (slot, value) in &evidence.slots {
        context.notes.insert(format!("slot:{slot}"), value.clone());
    }
    assert_eq!(board.probe(&context, "dependency-loads").await, CheckOutcome::Fail);
    let recovery = board.recover(&context, "install-declared").await;
    assert_eq!(recovery.outcome, RecoveryOutcome::Done, "{recovery:?}");
    context.notes.extend(recovery.notes);
    assert_eq!(board.probe(&context, "dependency-loads").await, CheckOutcome::Pass);
    assert_eq!(outcome(board.run(&context).await), CheckOutcome::Pass);
    let again = board.recover(&context, "install-declared").await;
    assert_eq!(again.outcome, RecoveryOutcome::NotApplicable);
    assert_eq!(std::fs::read_to_string(board.dir().join("ran")).unwrap(), "x\n");
    let none = board.context(sh("command", "./tool"));
    let none = board.recover(&none, "install-declared").await;
    assert_eq!(none.outcome, RecoveryOutcome::NotApplicable);
}

#[tokio::test]
async fn a_broken_download_is_tried_three_times_with_waits() {
    let board = Board::new();
    let mut def = sh("command", "true");
    def.install =
        vec!["sh".into(), "-c".into(), "echo x >> ran; echo ECONNRESET >&2; exit 1".into()];
    let mut context = board.context(def);
    let first = board.recover(&context, "install-declared").await;
    assert_eq!(first.outcome, RecoveryOutcome::Failed);
    context.notes.extend(first.notes);
    let more = board.recover(&context, "install-after-broken-download").await;
    assert_eq!(more.outcome, RecoveryOutcome::Failed);
    assert_eq!(board.clock.0.lock().unwrap().1, [1_000, 4_000, 16_000]);
    assert_eq!(std::fs::read_to_string(board.dir().join("ran")).unwrap(), "x\nx\nx\nx\n");
}

#[tokio::test]
async fn tools_are_asked_for_and_found() {
    let board = Board::new();
    let requires = json!({"argv": ["true"], "requires": {"python": ">=3.9", "tools": ["sh"]}});
    assert_eq!(
        outcome(board.run(&board.context(step("check", requires))).await),
        CheckOutcome::Pass
    );
    let requires = json!({"argv": ["true"], "requires": {"python": ">=99"}});
    let evidence = failed(board.run(&board.context(step("check", requires))).await);
    assert_eq!(codes_of(&evidence), [codes::VERSION_TOO_OLD]);
    assert!(evidence.signals[0].text.starts_with("python3 3."), "{evidence:?}");
    let requires = json!({"argv": ["true"], "requires": {"tools": ["no-such-tool"]}});
    let evidence = failed(board.run(&board.context(step("check", requires))).await);
    assert_eq!(codes_of(&evidence), [codes::SPAWN_NOT_FOUND]);

    // A configured place is taken, recorded, proven by the probe, and used.
    program(&board.dir().join("my node"), "#!/bin/sh\necho v20.1.0\n");
    let own = ProcessSubsystem::new().tool("node", board.dir().join("my node"));
    let mut context = board.context(step("check", json!({"argv": ["node", "x.js"]})));
    context.notes.insert("class".into(), "ENV-1".into());
    let recovery = own.recover(&context, &board.services, "ENV-1", "use-configured-path").await;
    assert_eq!(recovery.outcome, RecoveryOutcome::Done, "{recovery:?}");
    context.notes.extend(recovery.notes);
    let probe = own.probe(&context, &board.services, "node-usable").await;
    assert_eq!(probe.outcome, CheckOutcome::Pass);
    let seen = own.run(&context, &board.services).await;
    assert_eq!(seen.stdout.text, "v20.1.0\n");
    // An old one is not.
    program(&board.dir().join("my node"), "#!/bin/sh\necho v16.2.0\n");
    let recovery = own.recover(&context, &board.services, "ENV-1", "use-configured-path").await;
    assert_eq!(recovery.outcome, RecoveryOutcome::Failed);
    assert_eq!(
        own.probe(&context, &board.services, "node-usable").await.outcome,
        CheckOutcome::Fail
    );
}

#[tokio::test]
async fn another_system_is_refused_before_the_start() {
    let board = Board::new();
    let other = if cfg!(target_os = "macos") { "linux" } else { "macos" };
    let here = std::env::consts::OS;
    let with = json!({"argv": ["touch", "made"], "recipes": {here: ["echo", "here"]}});
    let def = StepDef { systems: vec![other.into()], ..step("check", with) };
    let mut context = board.context(def);
    assert_eq!(codes_of(&failed(board.run(&context).await)), [codes::WRONG_SYSTEM]);
    assert!(!board.dir().join("made").exists());
    let recovery = board.recover(&context, "use-recipe-for-system").await;
    context.notes.extend(recovery.notes);
    assert_eq!(board.probe(&context, "recipe-self-test").await, CheckOutcome::Pass);
    assert_eq!(board.run(&context).await.stdout.text, "here\n");
}

#[tokio::test]
async fn a_path_that_a_script_takes_apart() {
    let board = Board::new();
    std::fs::write(board.dir().join("in put.txt"), "content\n").unwrap();
    let with = json!({"argv": ["sh", "-c", "cat $1", "sh", "in put.txt"]});
    let mut context = board.context(step("check", with));
    let evidence = failed(board.run(&context).await);
    assert!(codes_of(&evidence).contains(&signals::PATH_AWKWARD), "{evidence:?}");
    let not = board.recover(&context, "pass-as-list").await;
    assert_eq!(not.outcome, RecoveryOutcome::NotApplicable);
    let copy = board.recover(&context, "short-plain-copy").await;
    assert_eq!(copy.outcome, RecoveryOutcome::Done);
    context.notes.extend(copy.notes);
    let seen = board.run(&context).await;
    assert_eq!(seen.stdout.text, "content\n", "{}", seen.stderr.text);
    // A file that is not there, with an intact name, is another matter.
    let def = StepDef { inputs: Some(vec!["gone".into()]), ..sh("check", "cat gone") };
    let evidence = failed(board.run(&board.context(def)).await);
    assert!(codes_of(&evidence).contains(&signals::INPUT_MISSING));
}

#[tokio::test]
async fn read_back_proves_or_says_that_it_can_not() {
    let board = Board::new();
    let back = async |step: StepDef| {
        ProcessSubsystem::new().read_back(&board.context(step), &board.services).await
    };
    let guarded = |status: &str| {
        step("command", json!({"argv": ["true"], "guard": ["sh", "-c", format!("exit {status}")]}))
    };
    assert_eq!(back(guarded("0")).await, ReadBack::Landed);
    assert_eq!(back(guarded("1")).await, ReadBack::Absent);
    assert_eq!(back(guarded("7")).await, ReadBack::Unclear);
    assert_eq!(back(sh("command", "true")).await, ReadBack::Unclear);
    assert_eq!(back(sh("check", "true")).await, ReadBack::Absent);
    let stricter = StepDef { safety: Some(Safety::Publish), ..sh("check", "true") };
    assert_eq!(back(stricter).await, ReadBack::Unclear);
    std::fs::write(board.dir().join("a"), "abc").unwrap();
    let sum = pcbflow_process::sha256(&b"abc"[..]).unwrap();
    let check = CheckSpec::FileSha256 { path: "a".into(), expect: sum };
    assert_eq!(back(StepDef { check, ..sh("command", "true") }).await, ReadBack::Landed);
}

#[tokio::test]
async fn the_closure_moves_with_what_counts() {
    let board = Board::new();
    std::fs::write(board.dir().join("gen.py"), "print(1)").unwrap();
    let with = json!({"script": "gen.py", "args": ["--x"], "env": {"A": "1"}});
    let def = StepDef { inputs: Some(vec!["a.txt".into(), "*.csv".into()]), ..step("check", with) };
    let context = board.context(def);
    let closure = ProcessSubsystem::new().closure(&context, &board.services).await.unwrap();
    let names: Vec<_> = closure.files.iter().filter_map(|f| f.file_name()?.to_str()).collect();
    assert_eq!(names, ["gen.py"], "declared inputs are added by the engine");
    assert_eq!(closure.settings["env:A"], "1");
    assert!(closure.settings["program"].contains("python"));
    assert_eq!(board.run(&context).await.stdout.text, "1\n");
}

/// A guard says that the work was done, not that it was done well.
#[tokio::test]
async fn a_guard_replaces_the_run_and_not_the_check() {
    let board = Board::new();
    let with = json!({"argv": ["true"], "guard": ["true"]});
    let check = CheckSpec::RegexInFile { path: "r.txt".into(), pattern: "PASS".into() };
    let outputs = vec!["r.txt".to_owned()];
    let judged = StepDef { check, outputs: outputs.clone(), ..step("command", with.clone()) };
    let made = StepDef { outputs, ..step("command", with.clone()) };
    let envelope = json!({"argv": ["true"], "guard": ["true"], "envelope": true});
    let check = CheckSpec::ReportClean(Default::default());
    let counted = StepDef { check, ..step("command", envelope) };
    let back = async |def: &StepDef| {
        ProcessSubsystem::new().read_back(&board.context(def.clone()), &board.services).await
    };
    assert_eq!(back(&step("command", with)).await, ReadBack::Landed);
    assert_eq!(back(&counted).await, ReadBack::Partial, "its numbers are gone");
    for (text, judged_as, made_as) in [
        (None, ReadBack::Partial, ReadBack::Partial),
        (Some(""), ReadBack::Partial, ReadBack::Partial),
        (Some("result: FAIL"), ReadBack::Partial, ReadBack::Landed),
        (Some("result: PASS"), ReadBack::Landed, ReadBack::Landed),
    ] {
        if let Some(text) = text {
            std::fs::write(board.dir().join("r.txt"), text).unwrap();
        }
        assert_eq!(back(&judged).await, judged_as, "{text:?}");
        assert_eq!(back(&made).await, made_as, "{text:?}");
    }
}

#[tokio::test]
async fn a_pass_holds_in_later_runs_only_where_the_inputs_are_declared() {
    let board = Board::new();
    let in_run = async |def: &StepDef, run: &str, need: &[u8]| {
        let mut context = board.context(def.clone());
        context.run = run.into();
        context.needs.insert(StepId::new("before").unwrap(), Digest::of(need));
        ProcessSubsystem::new().closure(&context, &board.services).await.unwrap()
    };
    for kind in ["check", "generate"] {
        let silent = making("true", &["x"]);
        let silent = StepDef { uses: format!("process/{kind}").parse().unwrap(), ..silent };
        let said = StepDef { inputs: Some(Vec::new()), ..silent.clone() };
        assert_eq!(in_run(&silent, "r1", b"a").await, in_run(&silent, "r1", b"a").await, "{kind}");
        assert_ne!(in_run(&silent, "r1", b"a").await, in_run(&silent, "r2", b"a").await, "{kind}");
        assert_eq!(in_run(&said, "r1", b"a").await, in_run(&said, "r2", b"a").await, "{kind}");
        assert_ne!(in_run(&said, "r1", b"a").await, in_run(&said, "r1", b"b").await, "{kind}");
    }
    // What may run only once is not run again for what only may have changed.
    let once = sh("command", "true");
    assert_eq!(in_run(&once, "r1", b"a").await, in_run(&once, "r2", b"b").await);
}

#[tokio::test]
async fn a_lock_list_is_held_against_what_is_installed() {
    let board = Board::new();
    std::fs::create_dir_all(board.dir().join("node_modules")).unwrap();
    let lock = |version: &str| {
        format!(r#"{{"packages":{{"":{{}},"node_modules/a":{{"version":"{version}"}}}}}}"#)
    };
    std::fs::write(board.dir().join("package-lock.json"), lock("1.0.0")).unwrap();
    let installed = board.dir().join("node_modules/.package-lock.json");
    let with = json!({"argv": ["true"],
        "requires": {"lock": "package-lock.json", "environment": "node_modules"}});
    let context = board.context(step("check", with));
    let evidence = failed(board.run(&context).await);
    assert_eq!(codes_of(&evidence), [codes::DEPENDENCY_MISSING]);
    assert_eq!(board.probe(&context, "lock-equals-installed").await, CheckOutcome::Fail);
    std::fs::write(&installed, lock("1.0.0")).unwrap();
    assert_eq!(board.probe(&context, "lock-equals-installed").await, CheckOutcome::Pass);
    assert_eq!(outcome(board.run(&context).await), CheckOutcome::Pass);
    std::fs::remove_dir_all(board.dir().join("node_modules")).unwrap();
    let evidence = failed(board.run(&context).await);
    assert_eq!(codes_of(&evidence), [signals::ENVIRONMENT_MISSING]);
    // The same for Python, read by a fresh interpreter.
    std::fs::write(board.dir().join("r.txt"), "no-such-package==1.0\n").unwrap();
    let with = json!({"argv": ["python3", "-c", ""], "requires": {"lock": "r.txt"}});
    let context = board.context(step("check", with));
    assert_eq!(codes_of(&failed(board.run(&context).await)), [codes::DEPENDENCY_MISSING]);
}

#[tokio::test]
async fn every_action_and_probe_of_the_rows_is_known() {
    let board = Board::new();
    let context = board.context(sh("command", "true"));
    for action in pcbflow_process::rows::actions::ALL {
        let recovery = board.recover(&context, action).await;
        assert!(!recovery.summary.contains("there is no action"), "{action}");
    }
    for probe in [
        "recipe-self-test",
        "lock-equals-installed",
        "dependency-loads",
        "tool-usable",
        "objects-equal-plan",
        "assistant-usable",
    ] {
        let seen = ProcessSubsystem::new().probe(&context, &board.services, probe).await;
        assert!(!seen.reason.contains("there is no probe"), "{probe}");
    }
}
