//! Every event that can stand in a ledger, in one enum.
//!
//! An event has a **header** (everything that `decide` and the projections need: [`Event`]
//! without [`Event::words`]) and a **body** ([`Words`]: words and tails, which can be expunged
//! without breaking the chain). Names are past tense; each doc comment says what the event does
//! to the state. Stored forms live in `store::stored` and are versioned there; these types are
//! the domain's and may change shape.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::check::{CheckOutcome, Counts, Gate, PhaseVerdict};
use crate::evidence::{Signal, Source};
use crate::ids::{
    AskId, AttemptNo, ClassId, Digest, KindName, LedgerId, PhaseId, RunId, Scope, Seq, StepKey,
    StreamId,
};
use crate::manifest::Safety;
use crate::time::Timestamp;

/// Longest tail of one output stream kept in a body, in bytes.
pub const TAIL_BYTES_MAX: usize = 8 * 1024;

/// Who did it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// pcbflow itself.
    Engine,
    /// A person at the command line.
    Person,
    /// An agent through an interface for agents.
    Agent,
}

/// A process, so that a dead one is told from a live one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Owner {
    /// Name of the host.
    pub host: String,
    /// Process id.
    pub pid: u32,
    /// Start of the process in the system's own terms; with the pid it names one process.
    pub started: String,
}

/// A stored file of evidence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct BlobRef {
    /// What it is, such as `stdout`, `report.json`.
    pub name: String,
    /// Digest of the stored (redacted, uncompressed) bytes.
    pub digest: Digest,
    /// Bytes stored.
    pub bytes: u64,
    /// Bytes that there really were; more than `bytes` when the cap cut it.
    pub true_bytes: u64,
}

/// A file that a step made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
pub struct OutputRef {
    /// Path relative to the board's folder, with '/'.
    pub path: String,
    /// Its digest.
    pub digest: Digest,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Why a run stopped. There is no default: each stop names its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    /// Everything asked for is done.
    Finished,
    /// There was nothing to do.
    NothingToDo,
    /// Findings at or above a limit.
    Findings,
    /// Something could not be checked.
    Unverified,
    /// An ask is open.
    NeedsPerson,
    /// A passing fault outlived its budget.
    TryLater,
    /// Ctrl-C.
    Interrupted,
    /// A termination signal.
    Terminated,
    /// Storage refused to take events.
    Storage,
}

/// How an attempt ended, before anything was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// By itself, and its outcome is known.
    Returned,
    /// It never began (no such program, not allowed): nothing was done.
    NotStarted,
    /// Our deadline passed: the outcome is unknown when the step writes.
    DeadlinePassed,
    /// The process of pcbflow was gone before the result: the outcome is unknown.
    CutShort,
    /// A person or signal stopped it.
    Stopped,
    /// The connection was lost in the middle: the outcome is unknown when the step writes.
    ConnectionLost,
}

impl Ended {
    /// Whether what the attempt did is unknown, if it writes at all.
    #[must_use]
    pub fn outcome_unknown(self) -> bool {
        !matches!(self, Ended::Returned | Ended::NotStarted)
    }
}

/// What a check was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckPurpose {
    /// The step's own check after an attempt.
    Step,
    /// Proof of a cure after a rung.
    Recheck,
    /// A look whether an ask's condition is met.
    Watch,
    /// A loose look (`sense`).
    Sense,
}

/// What a read-back found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadBack {
    /// The effect is there, whole, once.
    Landed,
    /// Nothing of it is there.
    Absent,
    /// Part of it is there; an attempt does only the rest.
    Partial,
    /// It can't be told.
    Unclear,
}

/// How an action of a rung ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryOutcome {
    /// It did what it says. Not a cure yet: the recheck decides.
    Done,
    /// It does not apply here; the next rung is tried.
    NotApplicable,
    /// It failed.
    Failed,
}

/// Layer that caught a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CatchLayer {
    /// A step's own run or check.
    Step,
    /// A recheck.
    Recheck,
    /// Resume, comparing the record with what is there.
    Resume,
    /// The doctor, before the step.
    Doctor,
    /// Unit or integration tests.
    UnitTests,
    /// Acceptance.
    Acceptance,
    /// Something could not be verified.
    Unverified,
    /// Checks of a pull request.
    Ci,
    /// A diagnosis.
    Diagnosis,
    /// The stall rule.
    Stall,
    /// A merge.
    Merge,
    /// An attempt that changed nothing.
    NoChange,
    /// An implementer that cannot build.
    CannotBuild,
    /// An edit outside the scope.
    Scope,
    /// The plan.
    Plan,
    /// A ceiling.
    Ceiling,
}

/// What `decide` chose for one step.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Decision {
    /// Make an attempt, not before `wake`.
    Attempt {
        /// Its number.
        no: AttemptNo,
        /// Its deadline in milliseconds.
        deadline_ms: u64,
        /// Earliest start.
        wake: Timestamp,
        /// The wait that was drawn, in milliseconds.
        wait_ms: u64,
        /// The rung it belongs to, if it follows a failure.
        rung: Option<String>,
    },
    /// Read back whether the effect is there.
    ReadBack {
        /// The rung it belongs to, if it follows a failure.
        rung: Option<String>,
    },
    /// Carry out an action of the subsystem.
    Recover {
        /// The rung.
        rung: String,
    },
    /// Run the row's probe after an action.
    Probe {
        /// The rung whose action is judged.
        rung: String,
        /// The probe.
        probe: String,
    },
    /// The step is done.
    Finish {
        /// With this gate.
        gate: Gate,
    },
    /// Ask the person; the ladder is at its end or leads there.
    Ask {
        /// Class in whose words the person is asked.
        class: ClassId,
        /// Kind for machines.
        kind: String,
        /// Plain name of the tool or place.
        tool: String,
        /// Probe by which pcbflow can see that it was done.
        watch: Option<String>,
    },
    /// Leave it unverified and go on with what does not depend on it.
    LeaveUnverified,
    /// Stop trying for now: a passing fault outlived its budget.
    TryLater,
}

/// What happened. The header's facts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fact {
    /// Genesis of a stream. Effect: the stream belongs to this ledger.
    StreamOpened {
        /// The ledger's random id.
        ledger: LedgerId,
        /// Version of pcbflow that opened it.
        version: String,
    },
    /// A board was created or taken in. Effect: its records (rule set and the like) are known.
    BoardCreated {
        /// Named records, such as `kicad.ruleset` -> digest of a blob.
        records: BTreeMap<String, String>,
    },
    /// A clone's anchor was adopted. Effect: earlier history is elsewhere; no verdict is taken over.
    SegmentAdopted {
        /// The ledger that wrote the anchor.
        ledger: LedgerId,
        /// Its position.
        seq: Seq,
        /// Its hash.
        hash: Digest,
    },
    /// A run started. Effect: a new episode for every step; the run's seed and policy hold.
    RunStarted {
        /// Seed from which every jitter of the run is drawn.
        seed: u64,
        /// Digest of the policy, a blob.
        policy: Digest,
        /// The process.
        owner: Owner,
        /// Only checks are run, nothing is committed.
        checks_only: bool,
        /// The last phase it goes to; `None` for all of them.
        #[serde(skip_serializing_if = "Option::is_none")]
        to: Option<PhaseId>,
        /// With only checks: last parts of the kinds that it looks at; empty for all of them.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        only_kinds: Vec<String>,
    },
    /// A run that was cut short went on. Effect: the owner and the limits change, counts go on.
    RunResumed {
        /// Digest of the policy that holds from here.
        policy: Digest,
        /// The process.
        owner: Owner,
        /// The last phase it goes to; `None` for all of them.
        #[serde(skip_serializing_if = "Option::is_none")]
        to: Option<PhaseId>,
        /// With only checks: last parts of the kinds that it looks at; empty for all of them.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        only_kinds: Vec<String>,
    },
    /// A run stopped. Effect: no owner; the cause is the run's result.
    RunStopped {
        /// Why.
        cause: StopCause,
    },
    /// A step was planned. Effect: its definition, safety and deadline are those that `decide` uses.
    StepPlanned {
        /// Its kind.
        uses: KindName,
        /// Its safety class.
        safety: Safety,
        /// Digest of its definition.
        definition: Digest,
        /// Deadline of a first attempt in milliseconds.
        deadline_ms: u64,
    },
    /// An attempt is about to start. Effect: an open intent until its result is there.
    AttemptStarted {
        /// Digest of what is executed (argv or script).
        what: Digest,
        /// Safety class at that time.
        safety: Safety,
        /// Deadline in milliseconds.
        deadline_ms: u64,
        /// Marker in the environment of every child.
        tag: String,
    },
    /// An attempt ended. Effect: the intent is closed; outputs and records are known.
    AttemptFinished {
        /// How.
        ended: Ended,
        /// Exit status of the tool, if one ran and exited.
        exit: Option<i32>,
        /// Ending signal of the tool.
        signal: Option<i32>,
        /// How long it took, in milliseconds.
        took_ms: u64,
        /// Tool and version that really ran.
        tool: String,
        /// Digest of the input closure with tool version and settings.
        closure: Digest,
        /// Files made.
        outputs: Vec<OutputRef>,
        /// Stored evidence.
        blobs: Vec<BlobRef>,
        /// Named records for later attempts.
        records: BTreeMap<String, String>,
    },
    /// A check was observed. Effect: judges the attempt, the rung or the ask it was made for.
    CheckObserved {
        /// Name of the check.
        check: String,
        /// What it was made for.
        purpose: CheckPurpose,
        /// What it saw.
        outcome: CheckOutcome,
        /// The gate.
        gate: Gate,
        /// Complete counts.
        counts: Counts,
        /// Blob with the findings.
        findings: Option<Digest>,
    },
    /// A read-back was observed. Effect: settles an unknown outcome.
    EffectReadBack {
        /// What it found.
        found: ReadBack,
    },
    /// A failure was diagnosed. Effect: an open failure of this class; its ladder starts.
    FailureDiagnosed {
        /// The class.
        class: ClassId,
        /// False: no rule fits, nothing is guessed.
        known: bool,
        /// In percent.
        confidence: u8,
        /// Leading source.
        trust: Source,
        /// Identity of the failure.
        fingerprint: Digest,
        /// `Retry-After` of the other side in milliseconds.
        retry_after_ms: Option<u64>,
        /// Rung that a person's rule puts first.
        allow: Option<String>,
        /// Values for the slots of the message.
        slots: BTreeMap<String, String>,
    },
    /// A decision was taken. Effect: it is pending until what follows from it starts; a restart
    /// goes on with it and does not draw again.
    DecisionTaken {
        /// What was decided.
        decision: Decision,
        /// Position of the last event that the decision took into account.
        based_on: Seq,
        /// The `now` that `decide` was given.
        now: Timestamp,
        /// The seed that `decide` was given.
        seed: u64,
        /// Digest of the policy.
        policy: Digest,
    },
    /// A rung's action is about to start. Effect: the rung counts as used.
    RecoveryStarted {
        /// The rung.
        rung: String,
        /// Class of the failure.
        class: ClassId,
    },
    /// A rung's action ended. Effect: its notes hold for the next attempts of the step.
    RecoveryFinished {
        /// The rung.
        rung: String,
        /// How it ended.
        outcome: RecoveryOutcome,
        /// Notes for the next attempts, such as the tool to use.
        notes: BTreeMap<String, String>,
    },
    /// A set of files was blessed by a green check. Effect: a rollback may restore it.
    SnapshotBlessed {
        /// Its digest, also its id.
        snapshot: Digest,
        /// Its files.
        files: Vec<OutputRef>,
    },
    /// A snapshot was restored. Effect: none on verdicts; steps are checked again.
    SnapshotRestored {
        /// Which.
        snapshot: Digest,
    },
    /// A step passed its gate. Effect: done until definition, closure or outputs change.
    StepPassed {
        /// Pass or warn.
        gate: Gate,
        /// Digest of its definition.
        definition: Digest,
        /// Digest of its closure.
        closure: Digest,
        /// Its outputs.
        outputs: Vec<OutputRef>,
    },
    /// A failure of the step was healed, proven by the check at `proof`. Effect: the failure is closed.
    StepRecovered {
        /// Class of the failure.
        class: ClassId,
        /// The rung that worked.
        rung: String,
        /// Attempts it took, the first included.
        attempts: u32,
        /// Position of the check that proves it.
        proof: Seq,
    },
    /// The step ran and its gate holds the phase. Effect: findings, nothing to look at or blocked.
    StepHeld {
        /// Fail, empty or blocked.
        gate: Gate,
    },
    /// The ladder is at its end. Effect: the step waits for the person or for later.
    StepEscalated {
        /// Class of the failure.
        class: ClassId,
        /// Safe to repeat later without a person.
        try_later: bool,
    },
    /// The step was up to date. Effect: its earlier pass holds.
    StepSkipped {
        /// Position of that pass.
        since: Seq,
        /// Gate of that pass.
        gate: Gate,
    },
    /// A phase got its verdict.
    PhaseVerdictGiven {
        /// The verdict.
        verdict: PhaseVerdict,
        /// Counts over its steps.
        counts: Counts,
    },
    /// The outputs of a phase were committed. Effect: the phase is done if its verdict advances.
    OutputsCommitted {
        /// Id of the commit.
        commit: String,
    },
    /// Something is asked of the person. Effect: open until answered; the step waits. With the id
    /// of an open ask: this step has the same cause and waits for the same answer. With the id of
    /// an ask that a new run closed: the same question still stands.
    AskRaised {
        /// Its id.
        ask: AskId,
        /// Class it comes from.
        class: ClassId,
        /// Kind for machines.
        kind: String,
        /// Plain name of the tool or place.
        tool: String,
        /// Probe by which pcbflow sees by itself that it was done.
        watch: Option<String>,
    },
    /// An ask was answered. Effect: a fresh budget for the failure it belongs to.
    AskAnswered {
        /// Its id.
        ask: AskId,
        /// The answer, one word for machines (`retry`, `yes`, `no`, or the chosen value).
        answer: String,
    },
    /// A failure was caught. Effect: one line in the catch log.
    CatchRecorded {
        /// Which layer found it.
        layer: CatchLayer,
        /// Its class.
        class: ClassId,
        /// Its identity.
        fingerprint: Digest,
    },
    /// The same failure came back. Effect: counts as a stall.
    StallDetected {
        /// Its identity.
        fingerprint: Digest,
        /// How often it was seen.
        sightings: u32,
    },
    /// A new plan is wanted. Effect: one replan is used.
    ReplanRequested {
        /// Identity of the failure behind it.
        fingerprint: Digest,
    },
    /// A repair round started. Effect: one round is used.
    RepairRoundStarted {
        /// Its number.
        round: u32,
    },
    /// A repair round finished.
    RepairRoundFinished {
        /// Its number.
        round: u32,
        /// Digest of the change.
        diff: Digest,
        /// Whether every changed path was allowed.
        in_scope: bool,
    },
    /// What worked, or did not, for a failure. Effect: orders the ladder next time.
    LessonLearned {
        /// Identity of the failure.
        fingerprint: Digest,
        /// Its class.
        class: ClassId,
        /// The rung.
        rung: String,
        /// Whether the failure was gone afterwards.
        worked: bool,
    },
    /// The head was written outside the ledger.
    AnchorWritten {
        /// Position of the head.
        seq: Seq,
        /// Its hash.
        hash: Digest,
    },
    /// A body was removed. Effect: its words are gone for good, the chain holds.
    BodyExpunged {
        /// Stream of the event whose body went.
        of_stream: StreamId,
        /// Its position.
        of_seq: Seq,
        /// Blobs that went with it.
        blobs: Vec<Digest>,
    },
    /// Something was noticed that is worth a line and changes nothing.
    Noted {
        /// Machine word, such as `clock_went_back`, `mirror_unwritable`.
        topic: String,
    },
}

/// Words and tails: what people and agents read, and nothing that decisions need.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
pub struct Words {
    /// The reason or summary, one or a few lines.
    pub summary: String,
    /// What was executed, if anything.
    pub argv: Vec<String>,
    /// Bounded tail of standard output.
    pub stdout_tail: String,
    /// Bounded tail of standard error.
    pub stderr_tail: String,
    /// The signals of a failure.
    pub signals: Vec<Signal>,
    /// Anything else, by name.
    pub more: BTreeMap<String, String>,
}

impl Words {
    /// Only a summary.
    #[must_use]
    pub fn say(summary: impl Into<String>) -> Words {
        Words { summary: summary.into(), ..Words::default() }
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Words::default()
    }
}

/// An event that is to be appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// When it happened.
    pub at: Timestamp,
    /// Where the work stood.
    pub scope: Scope,
    /// Who did it.
    pub actor: Actor,
    /// What happened.
    pub fact: Fact,
    /// Its words.
    pub words: Words,
}

/// An event of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Its stream.
    pub stream: StreamId,
    /// Its position.
    pub seq: Seq,
    /// Its hash, and so the chain's up to here.
    pub hash: Digest,
    /// When it happened.
    #[serde(serialize_with = "as_text")]
    pub at: Timestamp,
    /// Where the work stood.
    pub scope: Scope,
    /// Who did it.
    pub actor: Actor,
    /// What happened.
    pub fact: Fact,
    /// Its words; `None` when only headers were read or the body was expunged.
    pub words: Option<Words>,
}

fn as_text<S: serde::Serializer>(at: &Timestamp, s: S) -> Result<S::Ok, S::Error> {
    s.collect_str(at)
}

impl Event {
    /// Phase and step, if both are known.
    #[must_use]
    pub fn step_key(&self) -> Option<StepKey> {
        match (&self.scope.phase, &self.scope.step) {
            (Some(phase), Some(step)) => Some(StepKey { phase: phase.clone(), step: step.clone() }),
            _ => None,
        }
    }

    /// The phase, if known.
    #[must_use]
    pub fn phase(&self) -> Option<&PhaseId> {
        self.scope.phase.as_ref()
    }

    /// The run, if known.
    #[must_use]
    pub fn run(&self) -> Option<&RunId> {
        self.scope.run.as_ref()
    }
}

impl Fact {
    /// Whether losing this event in a crash could lead to a lost or doubled act, so that it must
    /// be on disk before anything else happens.
    #[must_use]
    pub fn syncs(&self) -> bool {
        match self {
            Fact::DecisionTaken { .. }
            | Fact::StepSkipped { .. }
            | Fact::StepPlanned { .. }
            | Fact::LessonLearned { .. }
            | Fact::CatchRecorded { .. }
            | Fact::Noted { .. }
            | Fact::AnchorWritten { .. } => false,
            Fact::AttemptFinished { ended, .. } => *ended != Ended::Returned,
            Fact::CheckObserved { outcome, .. } => *outcome != CheckOutcome::Pass,
            Fact::StepPassed { .. } | Fact::StepHeld { .. } => false,
            _ => true,
        }
    }
}

impl fmt::Display for Fact {
    /// One readable line of at most 100 characters, for logs and tables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line();
        f.write_str(crate::text::cut_bytes(&crate::text::one_line(&line), 100))
    }
}

impl Fact {
    fn line(&self) -> String {
        match self {
            Fact::StreamOpened { .. } => "record opened".into(),
            Fact::BoardCreated { .. } => "board created".into(),
            Fact::SegmentAdopted { seq, .. } => format!("adopted from anchor {seq}"),
            Fact::RunStarted { checks_only: true, .. } => "run of checks started".into(),
            Fact::RunStarted { .. } => "run started".into(),
            Fact::RunResumed { .. } => "run resumed".into(),
            Fact::RunStopped { cause } => format!("run stopped: {}", word(cause)),
            Fact::StepPlanned { uses, safety, .. } => {
                format!("step planned: {uses}, {}", safety.word())
            }
            Fact::AttemptStarted { deadline_ms, .. } => {
                format!("attempt started, {deadline_ms} ms at most")
            }
            Fact::AttemptFinished { ended, exit, took_ms, .. } => match exit {
                Some(exit) => {
                    format!("attempt finished: {}, exit {exit}, {took_ms} ms", word(ended))
                }
                None => format!("attempt finished: {}, {took_ms} ms", word(ended)),
            },
            Fact::CheckObserved { check, outcome, counts, .. } => format!(
                "check {check}: {} ({} errors, {} warnings)",
                word(outcome),
                counts.errors,
                counts.warnings
            ),
            Fact::EffectReadBack { found } => format!("read back: {}", word(found)),
            Fact::FailureDiagnosed { class, known: true, confidence, .. } => {
                format!("failure {class}, {confidence} %")
            }
            Fact::FailureDiagnosed { class, .. } => format!("failure {class}, cause unknown"),
            Fact::DecisionTaken { decision, .. } => format!("decided: {}", decision.line()),
            Fact::RecoveryStarted { rung, class } => format!("recovery {rung} of {class} started"),
            Fact::RecoveryFinished { rung, outcome, .. } => {
                format!("recovery {rung}: {}", word(outcome))
            }
            Fact::SnapshotBlessed { snapshot, files } => {
                format!("snapshot {} of {} files blessed", snapshot.short(), files.len())
            }
            Fact::SnapshotRestored { snapshot } => {
                format!("snapshot {} restored", snapshot.short())
            }
            Fact::StepPassed { gate, .. } => format!("step passed: {}", word(gate)),
            Fact::StepRecovered { class, rung, attempts, .. } => {
                format!("step recovered from {class} by {rung} after {attempts} attempts")
            }
            Fact::StepHeld { gate } => format!("step held: {}", word(gate)),
            Fact::StepEscalated { class, try_later: true } => {
                format!("step stopped for now: {class}")
            }
            Fact::StepEscalated { class, .. } => format!("step escalated: {class}"),
            Fact::StepSkipped { since, .. } => format!("step up to date since {since}"),
            Fact::PhaseVerdictGiven { verdict, .. } => format!("phase verdict {}", verdict.word()),
            Fact::OutputsCommitted { commit } => format!("outputs committed as {commit}"),
            Fact::AskRaised { ask, class, kind, .. } => format!("asked {ask}: {kind} ({class})"),
            Fact::AskAnswered { ask, answer } => format!("ask {ask} answered: {answer}"),
            Fact::CatchRecorded { layer, class, .. } => format!("catch {class} by {}", word(layer)),
            Fact::StallDetected { sightings, .. } => format!("stall, seen {sightings} times"),
            Fact::ReplanRequested { .. } => "replan requested".into(),
            Fact::RepairRoundStarted { round } => format!("repair round {round} started"),
            Fact::RepairRoundFinished { round, .. } => format!("repair round {round} finished"),
            Fact::LessonLearned { class, rung, worked, .. } => {
                format!(
                    "lesson: {rung} {} for {class}",
                    if *worked { "worked" } else { "did not work" }
                )
            }
            Fact::AnchorWritten { seq, .. } => format!("anchor written at {seq}"),
            Fact::BodyExpunged { of_stream, of_seq, .. } => {
                format!("words of {of_stream} {of_seq} removed")
            }
            Fact::Noted { topic } => format!("noted: {topic}"),
        }
    }
}

impl Decision {
    /// One readable line.
    #[must_use]
    pub fn line(&self) -> String {
        let by = |rung: &Option<String>| rung.as_ref().map_or(String::new(), |r| format!(" ({r})"));
        match self {
            Decision::Attempt { no, wait_ms: 0, rung, .. } => format!("attempt {no}{}", by(rung)),
            Decision::Attempt { no, wait_ms, rung, .. } => {
                format!("attempt {no} after {wait_ms} ms{}", by(rung))
            }
            Decision::ReadBack { rung } => format!("read back{}", by(rung)),
            Decision::Recover { rung } => format!("recover by {rung}"),
            Decision::Probe { rung, probe } => format!("probe {probe} after {rung}"),
            Decision::Finish { gate } => format!("finish with {}", word(gate)),
            Decision::Ask { kind, .. } => format!("ask: {kind}"),
            Decision::LeaveUnverified => "leave unverified".into(),
            Decision::TryLater => "try later".into(),
        }
    }
}

/// The stored word of a simple enum.
#[must_use]
pub fn word<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(s)) => s.replace('_', " "),
        _ => String::new(),
    }
}

/// Milliseconds, for durations in events.
pub type Ms = u64;
