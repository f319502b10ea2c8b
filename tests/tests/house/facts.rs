//! Every event has one readable line, whatever stands in it.

use std::collections::{BTreeMap, BTreeSet};

use pcbflow_core::check::{CheckOutcome, Counts, Gate, PhaseVerdict};
use pcbflow_core::event::{
    CatchLayer, CheckPurpose, Decision, Ended, Fact, Owner, ReadBack, RecoveryOutcome, StopCause,
};
use pcbflow_core::evidence::Source;
use pcbflow_core::ids::{
    AskId, AttemptNo, BoardName, ClassId, Digest, KindName, LedgerId, Seq, StreamId,
};
use pcbflow_core::manifest::Safety;
use pcbflow_core::time::Timestamp;

use super::{expect_none, files};

/// Longest line of an event.
const LINE_CHARS_MAX: usize = 100;

/// One of each, with the longest and oddest values that their types allow. Newlines, escape
/// codes and letters of several bytes are where a text is free.
fn every_fact() -> Vec<Fact> {
    let odd = || format!("\u{1b}[31m{}\nb\r\tc", "ä".repeat(500));
    let long = |n: usize| "x".repeat(n);
    let class = || ClassId::new("ABCDEFGH-9999").expect("the longest class id");
    let kind = || KindName::new(format!("{}/{}", long(30), long(30))).expect("a long kind");
    let ask = || AskId::new(long(60)).expect("a long ask id");
    let ledger = || LedgerId::new(long(60)).expect("a long ledger id");
    let board = || BoardName::new(long(60)).expect("a long name");
    let digest = Digest([0xff; 32]);
    let seq = Seq(u64::MAX);
    let owner = || Owner { host: odd(), pid: u32::MAX, started: odd() };
    let counts = Counts { errors: u32::MAX, warnings: u32::MAX, excluded: 1, apart: 1 };
    let map = || BTreeMap::from([(odd(), odd())]);
    let now = Timestamp(i64::MAX);
    let decided =
        |decision| Fact::DecisionTaken { decision, based_on: seq, now, seed: 1, policy: digest };
    vec![
        Fact::StreamOpened { ledger: ledger(), version: odd() },
        Fact::BoardCreated { records: map() },
        Fact::SegmentAdopted { ledger: ledger(), seq, hash: digest },
        Fact::RunStarted {
            seed: 1,
            policy: digest,
            owner: owner(),
            checks_only: true,
            to: None,
            only_kinds: Vec::new(),
        },
        Fact::RunStarted {
            seed: 1,
            policy: digest,
            owner: owner(),
            checks_only: false,
            to: None,
            only_kinds: Vec::new(),
        },
        Fact::RunResumed { policy: digest, owner: owner(), to: None, only_kinds: Vec::new() },
        Fact::RunStopped { cause: StopCause::NothingToDo },
        Fact::StepPlanned {
            uses: kind(),
            safety: Safety::Idempotent,
            definition: digest,
            deadline_ms: u64::MAX,
        },
        Fact::AttemptStarted {
            what: digest,
            safety: Safety::Once,
            deadline_ms: u64::MAX,
            tag: odd(),
        },
        Fact::AttemptFinished {
            ended: Ended::ConnectionLost,
            exit: Some(i32::MIN),
            signal: Some(9),
            took_ms: u64::MAX,
            tool: odd(),
            closure: digest,
            outputs: Vec::new(),
            blobs: Vec::new(),
            records: map(),
        },
        Fact::CheckObserved {
            check: odd(),
            purpose: CheckPurpose::Step,
            outcome: CheckOutcome::CouldNotRun,
            gate: Gate::Blocked,
            counts,
            findings: Some(digest),
        },
        Fact::EffectReadBack { found: ReadBack::Unclear },
        Fact::FailureDiagnosed {
            class: class(),
            known: true,
            confidence: 255,
            trust: Source::Text,
            fingerprint: digest,
            retry_after_ms: Some(u64::MAX),
            allow: Some(odd()),
            slots: map(),
        },
        decided(Decision::Attempt {
            no: AttemptNo(u32::MAX),
            deadline_ms: u64::MAX,
            wake: now,
            wait_ms: u64::MAX,
            rung: Some(odd()),
        }),
        decided(Decision::ReadBack { rung: Some(odd()) }),
        decided(Decision::Recover { rung: odd() }),
        decided(Decision::Probe { rung: odd(), probe: odd() }),
        decided(Decision::Finish { gate: Gate::Warn }),
        decided(Decision::Ask { class: class(), kind: odd(), tool: odd(), watch: Some(odd()) }),
        decided(Decision::LeaveUnverified),
        decided(Decision::TryLater),
        Fact::RecoveryStarted { rung: odd(), class: class() },
        Fact::RecoveryFinished {
            rung: odd(),
            outcome: RecoveryOutcome::NotApplicable,
            notes: map(),
        },
        Fact::SnapshotBlessed { snapshot: digest, files: Vec::new() },
        Fact::SnapshotRestored { snapshot: digest },
        Fact::StepPassed {
            gate: Gate::Pass,
            definition: digest,
            closure: digest,
            outputs: Vec::new(),
        },
        Fact::StepRecovered { class: class(), rung: odd(), attempts: u32::MAX, proof: seq },
        Fact::StepHeld { gate: Gate::Empty },
        Fact::StepEscalated { class: class(), try_later: true },
        Fact::StepEscalated { class: class(), try_later: false },
        Fact::StepSkipped { since: seq, gate: Gate::Pass },
        Fact::PhaseVerdictGiven { verdict: PhaseVerdict::Conditional, counts },
        Fact::OutputsCommitted { commit: odd() },
        Fact::AskRaised { ask: ask(), class: class(), kind: odd(), tool: odd(), watch: None },
        Fact::AskAnswered { ask: ask(), answer: odd() },
        Fact::CatchRecorded { layer: CatchLayer::CannotBuild, class: class(), fingerprint: digest },
        Fact::StallDetected { fingerprint: digest, sightings: u32::MAX },
        Fact::ReplanRequested { fingerprint: digest },
        Fact::RepairRoundStarted { round: u32::MAX },
        Fact::RepairRoundFinished { round: u32::MAX, diff: digest, in_scope: false },
        Fact::LessonLearned { fingerprint: digest, class: class(), rung: odd(), worked: false },
        Fact::AnchorWritten { seq, hash: digest },
        Fact::BodyExpunged {
            of_stream: StreamId::Board(board()),
            of_seq: seq,
            blobs: vec![digest],
        },
        Fact::Noted { topic: odd() },
    ]
}

/// Names of the variants of an enum of `event.rs`.
fn variants(name: &str) -> BTreeSet<String> {
    let text = files::text("crates/core/src/event.rs");
    let body = text.split(&format!("pub enum {name} {{")).nth(1).unwrap_or("");
    let body = body.split("\n}").next().unwrap_or("");
    body.lines()
        .filter(|l| l.starts_with("    ") && !l.starts_with("     "))
        .map(|l| l.trim().split([' ', '{', ',']).next().unwrap_or("").to_owned())
        .filter(|w| w.starts_with(|c: char| c.is_ascii_uppercase()))
        .collect()
}

/// The variant's name, as `Debug` begins with it.
fn name_of(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}").split([' ', '{', '(']).next().unwrap_or("").to_owned()
}

#[test]
fn every_event_is_one_line() {
    let mut faults = Vec::new();
    for fact in every_fact() {
        let line = fact.to_string();
        let chars = line.chars().count();
        if line.is_empty() || chars > LINE_CHARS_MAX || line.chars().any(char::is_control) {
            faults.push(format!("{}: {chars} characters: {line:?}", name_of(&fact)));
        }
    }
    expect_none("events whose line is empty, too long or broken", &faults);
}

#[test]
fn no_event_is_forgotten_here() {
    let seen: BTreeSet<String> = every_fact().iter().map(name_of).collect();
    assert_eq!(variants("Fact"), seen);
    let seen: BTreeSet<String> = every_fact()
        .iter()
        .filter_map(|f| match f {
            Fact::DecisionTaken { decision, .. } => Some(name_of(decision)),
            _ => None,
        })
        .collect();
    assert_eq!(variants("Decision"), seen);
}

#[test]
fn every_event_says_what_it_does() {
    // Facts without an effect on the state say what they are, in one sentence.
    let text = files::text("crates/core/src/event.rs");
    let body = text.split("pub enum Fact {").nth(1).and_then(|t| t.split("\n}").next());
    let lines: Vec<&str> = body.unwrap_or("").lines().collect();
    let mut faults = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let begins = line.starts_with("    ") && !line.starts_with("     ");
        let variant = begins && line.trim().starts_with(|c: char| c.is_ascii_uppercase());
        let above = at.checked_sub(1).and_then(|a| lines.get(a)).copied().unwrap_or("");
        if variant && !above.trim().starts_with("///") {
            faults.push(line.trim().to_owned());
        }
    }
    expect_none("events without a doc comment", &faults);
}
