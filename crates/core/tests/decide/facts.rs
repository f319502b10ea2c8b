//! Arbitrary facts and events, in any order and with any scope.

use std::collections::BTreeMap;

use pcbflow_core::check::{CheckOutcome, Counts, Gate, PhaseVerdict};
use pcbflow_core::event::{
    Actor, BlobRef, CatchLayer, CheckPurpose, Decision, Ended, Event, Fact, OutputRef, Owner,
    ReadBack, RecoveryOutcome, StopCause,
};
use pcbflow_core::evidence::Source;
use pcbflow_core::ids::{AttemptNo, ClassId, Digest, Scope, Seq};
use pcbflow_core::manifest::Safety;
use pcbflow_core::time::Timestamp;

use crate::choices::Choices;

const CLASSES: [&str; 6] = ["SC-1", "SY-1", "SY-4", "SY-5", "SY-8", "XX-99"];
const RUNGS: [&str; 6] = ["w3", "mend", "with-yes", "read-back", "no-such", ""];
const WORDS: [&str; 7] = ["", "yes", "no", "retry", "go_ahead", "publish", "ü \u{1b}[0m \" \\"];
const GATES: [Gate; 5] = [Gate::Pass, Gate::Warn, Gate::Fail, Gate::Empty, Gate::Blocked];

fn class(c: &mut Choices) -> ClassId {
    ClassId::new(c.one_of(&CLASSES)).unwrap()
}

fn digest(c: &mut Choices) -> Digest {
    Digest::of(&[c.byte() % 4])
}

fn text(c: &mut Choices) -> String {
    c.one_of(&WORDS).to_owned()
}

fn rung(c: &mut Choices) -> String {
    c.one_of(&RUNGS).to_owned()
}

fn maybe_rung(c: &mut Choices) -> Option<String> {
    c.yes().then(|| rung(c))
}

fn map(c: &mut Choices) -> BTreeMap<String, String> {
    (0..c.pick(3)).map(|_| (text(c), text(c))).collect()
}

fn time(c: &mut Choices) -> Timestamp {
    Timestamp(c.number() as i64)
}

fn gate(c: &mut Choices) -> Gate {
    c.one_of(&GATES)
}

fn outputs(c: &mut Choices) -> Vec<OutputRef> {
    (0..c.pick(3))
        .map(|_| OutputRef { path: text(c), digest: digest(c), bytes: c.number() })
        .collect()
}

fn counts(c: &mut Choices) -> Counts {
    Counts { errors: c.number() as u32, warnings: c.small(), excluded: c.small(), apart: c.small() }
}

fn owner(c: &mut Choices) -> Owner {
    Owner { host: text(c), pid: c.number() as u32, started: text(c) }
}

fn found(c: &mut Choices) -> ReadBack {
    use ReadBack::{Absent, Landed, Partial, Unclear};
    c.one_of(&[Absent, Landed, Partial, Unclear])
}

fn decision(c: &mut Choices) -> Decision {
    match c.pick(8) {
        0 => Decision::Attempt {
            no: AttemptNo(c.number() as u32),
            deadline_ms: c.number(),
            wake: time(c),
            wait_ms: c.number(),
            rung: maybe_rung(c),
        },
        1 => Decision::ReadBack { rung: maybe_rung(c) },
        2 => Decision::Recover { rung: rung(c) },
        3 => Decision::Probe { rung: rung(c), probe: text(c) },
        4 => Decision::Finish { gate: gate(c) },
        5 => Decision::Ask { class: class(c), kind: text(c), tool: text(c), watch: maybe_rung(c) },
        6 => Decision::LeaveUnverified,
        _ => Decision::TryLater,
    }
}

pub fn fact(c: &mut Choices) -> Fact {
    match c.pick(24) {
        0 => Fact::StreamOpened { ledger: "l-1".parse().unwrap(), version: text(c) },
        1 => Fact::BoardCreated { records: map(c) },
        2 => Fact::RunStarted {
            seed: c.number(),
            policy: digest(c),
            owner: owner(c),
            checks_only: c.yes(),
            to: None,
            only_kinds: Vec::new(),
        },
        3 => Fact::RunResumed {
            policy: digest(c),
            owner: owner(c),
            to: None,
            only_kinds: Vec::new(),
        },
        4 => {
            use StopCause::{Findings, Finished, Interrupted, NeedsPerson, Storage, TryLater};
            let causes = [Finished, Findings, NeedsPerson, TryLater, Interrupted, Storage];
            Fact::RunStopped { cause: c.one_of(&causes) }
        }
        5 => {
            use Safety::{Guarded, Idempotent, Once, Publish, ReadOnly};
            Fact::StepPlanned {
                uses: "kind/verb".parse().unwrap(),
                safety: c.one_of(&[ReadOnly, Idempotent, Guarded, Once, Publish]),
                definition: digest(c),
                deadline_ms: c.number(),
            }
        }
        6 => Fact::AttemptStarted {
            what: digest(c),
            safety: Safety::Once,
            deadline_ms: c.number(),
            tag: text(c),
        },
        7 => Fact::AttemptFinished {
            ended: c.one_of(&[Ended::Returned, Ended::CutShort, Ended::Stopped]),
            exit: c.yes().then_some(1),
            signal: None,
            took_ms: c.number(),
            tool: text(c),
            closure: digest(c),
            outputs: outputs(c),
            blobs: vec![BlobRef { name: text(c), digest: digest(c), bytes: 1, true_bytes: 2 }],
            records: map(c),
        },
        8 => {
            use CheckOutcome::{CouldNotRun, Fail, Pass};
            use CheckPurpose::{Recheck, Sense, Step, Watch};
            Fact::CheckObserved {
                check: text(c),
                purpose: c.one_of(&[Step, Recheck, Watch, Sense]),
                outcome: c.one_of(&[Pass, Fail, CouldNotRun]),
                gate: gate(c),
                counts: counts(c),
                findings: c.yes().then(|| digest(c)),
            }
        }
        9 => Fact::EffectReadBack { found: found(c) },
        10 => Fact::FailureDiagnosed {
            class: class(c),
            known: c.yes(),
            confidence: c.byte(),
            trust: c.one_of(&Source::ALL),
            fingerprint: digest(c),
            retry_after_ms: c.yes().then(|| c.number()),
            allow: maybe_rung(c),
            slots: map(c),
        },
        11 => Fact::DecisionTaken {
            decision: decision(c),
            based_on: Seq(c.number()),
            now: time(c),
            seed: c.number(),
            policy: digest(c),
        },
        12 => Fact::RecoveryStarted { rung: rung(c), class: class(c) },
        13 => {
            use RecoveryOutcome::{Done, Failed, NotApplicable};
            let outcome = c.one_of(&[Done, Failed, NotApplicable]);
            Fact::RecoveryFinished { rung: rung(c), outcome, notes: map(c) }
        }
        _ => more(c),
    }
}

fn more(c: &mut Choices) -> Fact {
    use PhaseVerdict::{Conditional, Fail, Pass, Pending};
    match c.pick(14) {
        0 => Fact::StepPassed {
            gate: gate(c),
            definition: digest(c),
            closure: digest(c),
            outputs: outputs(c),
        },
        1 => Fact::StepRecovered {
            class: class(c),
            rung: rung(c),
            attempts: c.number() as u32,
            proof: Seq(c.number()),
        },
        2 => Fact::StepHeld { gate: gate(c) },
        3 => Fact::StepEscalated { class: class(c), try_later: c.yes() },
        4 => Fact::StepSkipped { since: Seq(c.number()), gate: gate(c) },
        5 => Fact::PhaseVerdictGiven {
            verdict: c.one_of(&[Pass, Conditional, Fail, Pending]),
            counts: counts(c),
        },
        6 => Fact::OutputsCommitted { commit: text(c) },
        7 => Fact::AskRaised {
            ask: format!("a{}", c.pick(4)).parse().unwrap(),
            class: class(c),
            kind: text(c),
            tool: text(c),
            watch: maybe_rung(c),
        },
        8 => Fact::AskAnswered { ask: format!("a{}", c.pick(4)).parse().unwrap(), answer: text(c) },
        9 => {
            Fact::CatchRecorded { layer: CatchLayer::Step, class: class(c), fingerprint: digest(c) }
        }
        10 => Fact::LessonLearned {
            fingerprint: digest(c),
            class: class(c),
            rung: rung(c),
            worked: c.yes(),
        },
        11 => Fact::SnapshotBlessed { snapshot: digest(c), files: outputs(c) },
        12 => Fact::AnchorWritten { seq: Seq(c.number()), hash: digest(c) },
        _ => Fact::Noted { topic: text(c) },
    }
}

/// Any event: nothing about its scope, time or place in the list can be relied on.
pub fn event(c: &mut Choices, seq: u64) -> Event {
    let phase = c.one_of(&["01-p", "02-q"]).parse().unwrap();
    let step = c.one_of(&["s", "t", "commit outputs"]).parse().unwrap();
    let jump = c.pick(8) == 7;
    Event {
        stream: "board/b".parse().unwrap(),
        seq: Seq(if jump { c.number() } else { seq }),
        hash: digest(c),
        at: if jump { time(c) } else { Timestamp(seq as i64) },
        scope: Scope {
            run: (c.pick(8) != 7).then(|| "r1".parse().unwrap()),
            phase: (c.pick(8) != 7).then_some(phase),
            step: (c.pick(8) != 7).then_some(step),
            attempt: c.yes().then(|| AttemptNo(c.number() as u32)),
        },
        actor: Actor::Engine,
        fact: fact(c),
        words: None,
    }
}
