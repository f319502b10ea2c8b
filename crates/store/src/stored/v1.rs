//! Version 1 of the stored form. Frozen: numbers are never reused, fields are only appended.
//!
//! ```text
//! header = [version, seq, time_us, actor, run, phase, step, attempt, fact, stream?]
//! fact   = [number, field, ...]            stream only in the first event of a stream
//! body   = [version, salt(32 bytes), summary, argv, stdout_tail, stderr_tail, signals, more]
//! ```
//!
//! Texts are CBOR texts, digests byte strings, maps of texts CBOR maps in the order of their
//! keys, values of closed lists small numbers, what is absent is null.

use pcbflow_core::check::{CheckOutcome, Counts, Gate, PhaseVerdict};
use pcbflow_core::event::{
    Actor, BlobRef, CatchLayer, CheckPurpose, Decision, Ended, Fact, OutputRef, Owner, ReadBack,
    RecoveryOutcome, StopCause, Words,
};
use pcbflow_core::evidence::{Signal, Source};
use pcbflow_core::ids::{Scope, StreamId};
use pcbflow_core::manifest::Safety;
use serde::ser::SerializeTuple;
use serde::{Serialize, Serializer};

use super::wire::{
    Code, Fault, Frozen, Get, Hash32, Later, Pairs, Text, array, codes, element, skip_rest,
    stored_enum, stored_struct,
};

/// Number of this version, the first element of header and body.
pub(crate) const VERSION: u32 = 1;

codes!(Actor { Engine = 0, Person = 1, Agent = 2 });
codes!(StopCause {
    Finished = 0, NothingToDo = 1, Findings = 2, Unverified = 3, NeedsPerson = 4, TryLater = 5,
    Interrupted = 6, Terminated = 7, Storage = 8,
});
codes!(Ended {
    Returned = 0,
    DeadlinePassed = 1,
    CutShort = 2,
    Stopped = 3,
    ConnectionLost = 4,
    NotStarted = 5,
});
codes!(CheckPurpose { Step = 0, Recheck = 1, Watch = 2, Sense = 3 });
codes!(ReadBack { Landed = 0, Absent = 1, Partial = 2, Unclear = 3 });
codes!(RecoveryOutcome { Done = 0, NotApplicable = 1, Failed = 2 });
codes!(CatchLayer {
    Step = 0, Recheck = 1, Resume = 2, Doctor = 3, UnitTests = 4, Acceptance = 5, Unverified = 6,
    Ci = 7, Diagnosis = 8, Stall = 9, Merge = 10, NoChange = 11, CannotBuild = 12, Scope = 13,
    Plan = 14, Ceiling = 15,
});
codes!(CheckOutcome { Pass = 0, Fail = 1, CouldNotRun = 2 });
codes!(Gate { Pass = 0, Warn = 1, Fail = 2, Empty = 3, Blocked = 4 });
codes!(PhaseVerdict { Pass = 0, Conditional = 1, Fail = 2, Pending = 3 });
codes!(Safety { ReadOnly = 0, Idempotent = 1, Guarded = 2, Once = 3, Publish = 4 });
codes!(Source {
    Own = 0, Exit = 1, Http = 2, Cdp = 3, Report = 4, Dom = 5, File = 6, Text = 7,
});

stored_struct!(
    /// A process.
    OwnerV1 => Owner { host: Text<'a>, pid: u32, started: Text<'a> }
);
stored_struct!(
    /// A stored file of evidence.
    BlobRefV1 => BlobRef { name: Text<'a>, digest: Hash32, bytes: u64, true_bytes: u64 }
);
stored_struct!(
    /// A file that a step made.
    OutputRefV1 => OutputRef { path: Text<'a>, digest: Hash32, bytes: u64 }
);
stored_struct!(
    /// One observed fact of a failure.
    SignalV1 => Signal { source: Code, code: Text<'a>, number: Option<i64>, text: Text<'a> }
);

/// Errors, warnings, excluded, apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CountsV1([u32; 4]);

impl Serialize for CountsV1 {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(s)
    }
}

impl<'a> Get<'a> for CountsV1 {
    fn get(d: &mut minicbor::Decoder<'a>) -> Result<Self, Fault> {
        let mut left = array(d)?;
        let mut counts = [0u32; 4];
        for slot in &mut counts {
            *slot = element(d, &mut left)?;
        }
        skip_rest(d, left)?;
        Ok(CountsV1(counts))
    }
}

impl<'a> Frozen<'a, Counts> for CountsV1 {
    fn of(c: &'a Counts) -> Self {
        CountsV1([c.errors, c.warnings, c.excluded, c.apart])
    }
    fn domain(self) -> Result<Counts, Fault> {
        let [errors, warnings, excluded, apart] = self.0;
        Ok(Counts { errors, warnings, excluded, apart })
    }
}

stored_enum!(
    /// What `decide` chose.
    DecisionV1 => Decision, rest {}
    1 Attempt { no: u32, deadline_ms: u64, wake: i64, wait_ms: u64, rung: Option<Text<'a>> }
    2 ReadBack { rung: Option<Text<'a>> }
    3 Recover { rung: Text<'a> }
    4 Probe { rung: Text<'a>, probe: Text<'a> }
    5 Finish { gate: Code }
    6 Ask { class: Text<'a>, kind: Text<'a>, tool: Text<'a>, watch: Option<Text<'a>> }
    7 LeaveUnverified {}
    8 TryLater {}
);

impl<'a> Frozen<'a, Decision> for DecisionV1<'a> {
    fn of(domain: &'a Decision) -> Self {
        // Every variant of the closed enum has a form above, so this is never the fallback.
        DecisionV1::of(domain).unwrap_or(DecisionV1::TryLater {})
    }
    fn domain(self) -> Result<Decision, Fault> {
        DecisionV1::domain(self)
    }
}

stored_enum!(
    /// What happened.
    FactV1 => Fact, rest { _ => None, }
    1 StreamOpened { ledger: Text<'a>, version: Text<'a> }
    2 BoardCreated { records: Pairs<'a> }
    3 SegmentAdopted { ledger: Text<'a>, seq: u64, hash: Hash32 }
    4 RunStarted {
        seed: u64, policy: Hash32, owner: OwnerV1<'a>, checks_only: bool,
        to: Later<Option<Text<'a>>>, only_kinds: Later<Vec<Text<'a>>>,
    }
    5 RunResumed {
        policy: Hash32, owner: OwnerV1<'a>,
        to: Later<Option<Text<'a>>>, only_kinds: Later<Vec<Text<'a>>>,
    }
    6 RunStopped { cause: Code }
    7 StepPlanned { uses: Text<'a>, safety: Code, definition: Hash32, deadline_ms: u64 }
    8 AttemptStarted { what: Hash32, safety: Code, deadline_ms: u64, tag: Text<'a> }
    9 AttemptFinished {
        ended: Code, exit: Option<i32>, signal: Option<i32>, took_ms: u64, tool: Text<'a>,
        closure: Hash32, outputs: Vec<OutputRefV1<'a>>, blobs: Vec<BlobRefV1<'a>>,
        records: Pairs<'a>,
    }
    10 CheckObserved {
        check: Text<'a>, purpose: Code, outcome: Code, gate: Code, counts: CountsV1,
        findings: Option<Hash32>,
    }
    11 EffectReadBack { found: Code }
    12 FailureDiagnosed {
        class: Text<'a>, known: bool, confidence: u8, trust: Code, fingerprint: Hash32,
        retry_after_ms: Option<u64>, allow: Option<Text<'a>>, slots: Pairs<'a>,
    }
    13 DecisionTaken {
        decision: DecisionV1<'a>, based_on: u64, now: i64, seed: u64, policy: Hash32,
    }
    14 RecoveryStarted { rung: Text<'a>, class: Text<'a> }
    15 RecoveryFinished { rung: Text<'a>, outcome: Code, notes: Pairs<'a> }
    16 SnapshotBlessed { snapshot: Hash32, files: Vec<OutputRefV1<'a>> }
    17 SnapshotRestored { snapshot: Hash32 }
    18 StepPassed {
        gate: Code, definition: Hash32, closure: Hash32, outputs: Vec<OutputRefV1<'a>>,
    }
    19 StepRecovered { class: Text<'a>, rung: Text<'a>, attempts: u32, proof: u64 }
    20 StepHeld { gate: Code }
    21 StepEscalated { class: Text<'a>, try_later: bool }
    22 StepSkipped { since: u64, gate: Code }
    23 PhaseVerdictGiven { verdict: Code, counts: CountsV1 }
    24 OutputsCommitted { commit: Text<'a> }
    25 AskRaised {
        ask: Text<'a>, class: Text<'a>, kind: Text<'a>, tool: Text<'a>, watch: Option<Text<'a>>,
    }
    26 AskAnswered { ask: Text<'a>, answer: Text<'a> }
    27 CatchRecorded { layer: Code, class: Text<'a>, fingerprint: Hash32 }
    28 StallDetected { fingerprint: Hash32, sightings: u32 }
    29 ReplanRequested { fingerprint: Hash32 }
    30 RepairRoundStarted { round: u32 }
    31 RepairRoundFinished { round: u32, diff: Hash32, in_scope: bool }
    32 LessonLearned { fingerprint: Hash32, class: Text<'a>, rung: Text<'a>, worked: bool }
    33 AnchorWritten { seq: u64, hash: Hash32 }
    34 BodyExpunged { of_stream: Text<'a>, of_seq: u64, blobs: Vec<Hash32> }
    35 Noted { topic: Text<'a> }
);

/// The header: everything but the words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeaderV1<'a> {
    pub(crate) seq: u64,
    pub(crate) at: i64,
    pub(crate) actor: Code,
    pub(crate) run: Option<Text<'a>>,
    pub(crate) phase: Option<Text<'a>>,
    pub(crate) step: Option<Text<'a>>,
    pub(crate) attempt: Option<u32>,
    pub(crate) fact: FactV1<'a>,
    /// Name of the stream, in its first event only.
    pub(crate) stream: Option<Text<'a>>,
}

impl Serialize for HeaderV1<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut t = s.serialize_tuple(9 + usize::from(self.stream.is_some()))?;
        t.serialize_element(&VERSION)?;
        t.serialize_element(&self.seq)?;
        t.serialize_element(&self.at)?;
        t.serialize_element(&self.actor)?;
        t.serialize_element(&self.run)?;
        t.serialize_element(&self.phase)?;
        t.serialize_element(&self.step)?;
        t.serialize_element(&self.attempt)?;
        t.serialize_element(&self.fact)?;
        if let Some(stream) = &self.stream {
            t.serialize_element(stream)?;
        }
        t.end()
    }
}

/// Places `fact` at `seq` of `stream`.
pub(crate) fn header<'a>(
    stream: &'a StreamId,
    seq: u64,
    at: i64,
    actor: &'a Actor,
    scope: &'a Scope,
    fact: FactV1<'a>,
) -> HeaderV1<'a> {
    HeaderV1 {
        seq,
        at,
        actor: Frozen::of(actor),
        run: Frozen::of(&scope.run),
        phase: Frozen::of(&scope.phase),
        step: Frozen::of(&scope.step),
        attempt: Frozen::of(&scope.attempt),
        fact,
        stream: (seq == 0).then(|| Frozen::of(stream)),
    }
}

/// The body: words, tails and salt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BodyV1<'a> {
    pub(crate) salt: Hash32,
    pub(crate) summary: Text<'a>,
    pub(crate) argv: Vec<Text<'a>>,
    pub(crate) stdout_tail: Text<'a>,
    pub(crate) stderr_tail: Text<'a>,
    pub(crate) signals: Vec<SignalV1<'a>>,
    pub(crate) more: Pairs<'a>,
}

impl<'a> BodyV1<'a> {
    pub(crate) fn of(words: &'a Words, salt: [u8; 32]) -> BodyV1<'a> {
        BodyV1 {
            salt: Hash32(salt),
            summary: Frozen::of(&words.summary),
            argv: Frozen::of(&words.argv),
            stdout_tail: Frozen::of(&words.stdout_tail),
            stderr_tail: Frozen::of(&words.stderr_tail),
            signals: Frozen::of(&words.signals),
            more: Frozen::of(&words.more),
        }
    }

    pub(crate) fn domain(self) -> Result<Words, Fault> {
        Ok(Words {
            summary: self.summary.into_owned(),
            argv: Frozen::domain(self.argv)?,
            stdout_tail: self.stdout_tail.into_owned(),
            stderr_tail: self.stderr_tail.into_owned(),
            signals: Frozen::domain(self.signals)?,
            more: Frozen::domain(self.more)?,
        })
    }
}

impl Serialize for BodyV1<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut t = s.serialize_tuple(8)?;
        t.serialize_element(&VERSION)?;
        t.serialize_element(&self.salt)?;
        t.serialize_element(&self.summary)?;
        t.serialize_element(&self.argv)?;
        t.serialize_element(&self.stdout_tail)?;
        t.serialize_element(&self.stderr_tail)?;
        t.serialize_element(&self.signals)?;
        t.serialize_element(&self.more)?;
        t.end()
    }
}
