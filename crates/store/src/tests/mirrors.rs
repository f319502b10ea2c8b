//! Mirrors: the seed's fields, and byte for byte again after they were deleted.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use pcbflow_core::check::{CheckOutcome, Gate};
use pcbflow_core::event::{CheckPurpose, Decision, Ended, Fact, NewEvent, Owner, StopCause, Words};
use pcbflow_core::evidence::{Signal, Source};
use pcbflow_core::ids::{AttemptNo, BoardName, ClassId, Digest, Scope, Seq};
use pcbflow_core::manifest::Safety;
use pcbflow_core::ports::{Expect, Ledger};
use pcbflow_core::time::Timestamp;

use super::arb::Arb;
use super::{Place, board, note};
use crate::mirror::{HumanMessage, MessageFacts, Mirrors};

struct Plain;

impl HumanMessage for Plain {
    fn message(&self, facts: &MessageFacts<'_>) -> String {
        match facts.class {
            "" if facts.notes > 0 => format!("{} has {} notes.", facts.step, facts.notes),
            "" => format!("{} is done.", facts.step),
            class => format!("{} met {class}.", facts.step),
        }
    }
}

fn mirrors(place: &Place) -> Mirrors {
    Mirrors::new(&place.workspace(), Arc::new(Plain))
}

fn event(n: u64, fact: Fact, words: Words) -> NewEvent {
    let scope = Scope {
        phase: Some("04-schematic-generation".parse().unwrap()),
        step: Some("wire block U3".parse().unwrap()),
        ..Scope::default()
    };
    let at = Timestamp(1_783_965_852_000_000 + n as i64 * 1_000_000);
    NewEvent { at, scope, fact, words, ..note(0) }
}

fn started() -> (Fact, Words) {
    let fact = Fact::AttemptStarted {
        what: Digest::ZERO,
        safety: Safety::Guarded,
        deadline_ms: 1000,
        tag: "t".into(),
    };
    let mut words = Words { argv: vec!["cdp".into(), "eval".into()], ..Words::default() };
    words.more.insert("script".into(), "s04_imu.js".into());
    (fact, words)
}

fn finished(out: &str) -> (Fact, Words) {
    let fact = Fact::AttemptFinished {
        ended: Ended::Returned,
        exit: Some(0),
        signal: None,
        took_ms: 12,
        tool: "cdp".into(),
        closure: Digest::ZERO,
        outputs: Vec::new(),
        blobs: Vec::new(),
        records: BTreeMap::new(),
    };
    (fact, Words { stdout_tail: out.into(), ..Words::default() })
}

fn class() -> ClassId {
    ClassId::new("EDA-1").unwrap()
}

fn diagnosed() -> (Fact, Words) {
    let fact = Fact::FailureDiagnosed {
        class: class(),
        known: true,
        confidence: 100,
        trust: Source::Http,
        fingerprint: Digest::ZERO,
        retry_after_ms: None,
        allow: None,
        slots: BTreeMap::new(),
    };
    let signals = vec![Signal::http(401, "api")];
    (fact, Words { summary: "Unauthorized".into(), signals, ..Words::default() })
}

/// A step that fails, is healed and passes.
fn healed() -> Vec<(Fact, Words)> {
    let no = Words::default;
    let policy = Digest::ZERO;
    let attempt = Decision::Attempt {
        no: AttemptNo(2),
        deadline_ms: 5,
        wake: Timestamp(0),
        wait_ms: 0,
        rung: Some("retry".into()),
    };
    vec![
        started(),
        finished("login page"),
        diagnosed(),
        (Fact::RecoveryStarted { rung: "sign-in".into(), class: class() }, no()),
        (
            Fact::DecisionTaken {
                decision: attempt,
                based_on: Seq(4),
                now: Timestamp(0),
                seed: 1,
                policy,
            },
            no(),
        ),
        started(),
        finished("OK U3 <- imu"),
        (
            Fact::CheckObserved {
                check: "c".into(),
                purpose: CheckPurpose::Step,
                outcome: CheckOutcome::Pass,
                gate: Gate::Pass,
                counts: Default::default(),
                findings: None,
            },
            no(),
        ),
        (
            Fact::StepRecovered {
                class: class(),
                rung: "sign-in".into(),
                attempts: 2,
                proof: Seq(8),
            },
            no(),
        ),
        (
            Fact::StepPassed {
                gate: Gate::Pass,
                definition: policy,
                closure: policy,
                outputs: Vec::new(),
            },
            no(),
        ),
    ]
}

fn files(place: &Place) -> BTreeMap<String, Vec<u8>> {
    let folder = place.workspace().join("projects/door-sensor/.logs");
    let Ok(entries) = fs::read_dir(folder) else { return BTreeMap::new() };
    entries
        .map(|e| e.unwrap().path())
        .map(|p| (p.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&p).unwrap()))
        .collect()
}

fn name() -> BoardName {
    "door-sensor".parse().unwrap()
}

#[test]
fn a_healed_step_has_the_seeds_record() {
    let place = Place::new();
    let ledger = place.open();
    let mirrors = mirrors(&place);
    let mut lines = Vec::new();
    for (n, (fact, words)) in healed().into_iter().enumerate() {
        ledger.append(&board("door-sensor"), Expect::Any, &[event(n as u64, fact, words)]).unwrap();
        assert!(mirrors.update(ledger.as_ref(), &name()).unwrap().is_empty());
        let files = files(&place);
        let text = files.get("04-schematic-generation.jsonl").cloned().unwrap_or_default();
        lines.push(String::from_utf8(text).unwrap().lines().count());
    }
    assert_eq!(lines, [0, 0, 1, 1, 1, 1, 1, 2, 2, 2], "the failure stands before any recovery");
    let files = files(&place);
    let text = String::from_utf8(files["04-schematic-generation.jsonl"].clone()).unwrap();
    let records: Vec<serde_json::Value> =
        text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let head = ledger.read(&board("door-sensor"), Seq(7), 1, false).unwrap();
    let wanted = serde_json::json!({
        "ts": "2026-07-13T18:04:18Z",
        "project": "door-sensor",
        "phase": "04-schematic-generation",
        "step": "wire block U3",
        "command": "cdp eval",
        "script": "s04_imu.js",
        "stdout_tail": "OK U3 <- imu",
        "status": "recovered",
        "error": {
            "class": "EDA-1", "http": 401, "message": "Unauthorized",
            "stack": "http status 401 api\n",
        },
        "recovery": { "attempted": "sign-in + retry", "attempts": 2, "result": "success" },
        "human_message": "wire block U3 met EDA-1.",
        "seq": 7,
        "hash": head[0].hash.to_string(),
    });
    assert_eq!(records[1], wanted);
    assert_eq!(records[0]["status"], "failed");
    assert_eq!(records[0]["recovery"]["result"], "tried");
    let log = String::from_utf8(files["04-schematic-generation.log"].clone()).unwrap();
    let last: Vec<&str> = log.lines().skip(2).collect();
    assert_eq!(
        last,
        [
            "18:04:18  door-sensor · schematic-generation · wire block U3   ✅ recovered",
            "          → wire block U3 met EDA-1.",
        ]
    );
}

#[test]
fn warnings_with_which_a_step_passed_are_told() {
    let place = Place::new();
    let ledger = place.open();
    let mirrors = mirrors(&place);
    let counts = pcbflow_core::check::Counts { warnings: 74, ..Default::default() };
    for (gate, said) in
        [(Gate::Warn, "wire block U3 has 74 notes."), (Gate::Pass, "wire block U3 is done.")]
    {
        let checked = Fact::CheckObserved {
            check: "c".into(),
            purpose: CheckPurpose::Step,
            outcome: CheckOutcome::Pass,
            gate,
            counts,
            findings: None,
        };
        for (fact, words) in [started(), finished(""), (checked, Words::default())] {
            ledger.append(&board("door-sensor"), Expect::Any, &[event(1, fact, words)]).unwrap();
        }
        mirrors.update(ledger.as_ref(), &name()).unwrap();
        let log = String::from_utf8(files(&place)["04-schematic-generation.log"].clone()).unwrap();
        assert!(log.trim_end().ends_with(said), "{log}");
    }
}

/// Random histories: whatever is written on the way is what a rebuild writes.
#[test]
fn a_mirror_comes_back_byte_for_byte() {
    for seed in 0..12 {
        let place = Place::new();
        let mut ledger = place.open();
        let mirrors = mirrors(&place);
        let mut arb = Arb(seed);
        for n in 0..80 {
            let mut next = match arb.below(4) {
                0 => arb.event(),
                _ => {
                    let mut all = healed();
                    let (fact, words) = all.swap_remove(arb.below(10) as usize);
                    event(n, fact, words)
                }
            };
            if arb.below(12) == 0 {
                next.fact = Fact::RunStopped { cause: StopCause::Finished };
            }
            if arb.below(15) == 0 {
                let owner = Owner { host: "h".into(), pid: 1, started: "s".into() };
                next.fact = Fact::RunStarted {
                    seed: 1,
                    policy: Digest::ZERO,
                    owner,
                    checks_only: false,
                    to: None,
                    only_kinds: Vec::new(),
                };
            }
            if next.scope.phase.is_some() && arb.below(2) == 0 {
                next.scope.phase = Some("05-x".parse().unwrap());
            }
            ledger.append(&board("door-sensor"), Expect::Any, &[next]).unwrap();
            if arb.below(3) == 0 {
                assert!(mirrors.update(ledger.as_ref(), &name()).unwrap().is_empty());
            }
            if arb.below(20) == 0 {
                drop(ledger);
                ledger = place.open();
            }
        }
        mirrors.update(ledger.as_ref(), &name()).unwrap();
        let on_the_way = files(&place);
        assert!(!on_the_way.is_empty());
        fs::remove_dir_all(mirrors.folder(&name())).unwrap();
        mirrors.update(ledger.as_ref(), &name()).unwrap();
        assert_eq!(files(&place), on_the_way, "seed {seed}: deleted, then updated");
        mirrors.rebuild(ledger.as_ref(), &name()).unwrap();
        assert_eq!(files(&place), on_the_way, "seed {seed}: rebuilt");
        for path in on_the_way.keys() {
            fs::write(mirrors.folder(&name()).join(path), "scribbled").unwrap();
        }
        mirrors.rebuild(ledger.as_ref(), &name()).unwrap();
        assert_eq!(files(&place), on_the_way, "seed {seed}: scribbled over");
    }
}

#[test]
fn a_mirror_that_can_not_be_written_is_a_warning() {
    let place = Place::new();
    let ledger = place.open();
    for (n, (fact, words)) in healed().into_iter().enumerate() {
        ledger.append(&board("door-sensor"), Expect::Any, &[event(n as u64, fact, words)]).unwrap();
    }
    let projects = place.workspace().join("projects");
    fs::create_dir(&projects).unwrap();
    fs::write(projects.join("door-sensor"), "a file where a folder should be").unwrap();
    let warnings = mirrors(&place).update(ledger.as_ref(), &name()).unwrap();
    assert_eq!(warnings.len(), 2);
    fs::remove_file(projects.join("door-sensor")).unwrap();
    assert!(mirrors(&place).update(ledger.as_ref(), &name()).unwrap().is_empty());
    assert_eq!(files(&place).len(), 2);
}
