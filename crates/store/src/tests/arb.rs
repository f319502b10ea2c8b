//! Events of every kind from a seed.

use std::collections::BTreeMap;

use pcbflow_core::check::{CheckOutcome, Counts, Gate, PhaseVerdict};
use pcbflow_core::event::{
    Actor, BlobRef, CatchLayer, CheckPurpose, Decision, Ended, Fact, NewEvent, OutputRef, Owner,
    ReadBack, RecoveryOutcome, StopCause, Words,
};
use pcbflow_core::evidence::{Signal, Source};
use pcbflow_core::ids::{
    AskId, AttemptNo, ClassId, Digest, KindName, LedgerId, PhaseId, RunId, Scope, Seq, StepId,
    StreamId,
};
use pcbflow_core::manifest::Safety;
use pcbflow_core::time::Timestamp;

/// Number of fact variants that [`Arb::fact`] makes.
pub(crate) const FACTS: u64 = 35;

/// A small generator (splitmix64): the same seed gives the same events on every machine.
pub(crate) struct Arb(pub(crate) u64);

impl Arb {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    /// Numbers at the borders of CBOR's short forms too.
    fn number(&mut self) -> u64 {
        let all = [0, 1, 23, 24, 255, 256, 65_535, 65_536, u64::from(u32::MAX), u64::MAX];
        match self.below(3) {
            0 => all[self.below(10) as usize],
            1 => self.next(),
            _ => self.below(1000),
        }
    }
    fn small(&mut self) -> u32 {
        self.number() as u32
    }
    fn flag(&mut self) -> bool {
        self.below(2) == 1
    }
    fn text(&mut self) -> String {
        let pieces = ["", "a", "drc", "ü", "漢字", "\n", "\u{0}", "\u{1f600}", "\"", "kicad-cli 9"];
        (0..self.below(6)).map(|_| pieces[self.below(10) as usize]).collect()
    }
    fn id(&mut self, stem: &str) -> String {
        format!("{stem}-{}", self.below(10_000))
    }
    fn digest(&mut self) -> Digest {
        Digest::of(&self.next().to_le_bytes())
    }
    fn opt<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.flag().then(|| make(self))
    }
    fn list<T>(&mut self, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(4)).map(|_| make(self)).collect()
    }
    fn map(&mut self) -> BTreeMap<String, String> {
        (0..self.below(4)).map(|_| (self.text(), self.text())).collect()
    }
    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }
    fn class(&mut self) -> ClassId {
        ClassId::new(format!("KI-{}", self.below(9999))).unwrap()
    }
    fn gate(&mut self) -> Gate {
        self.pick(&[Gate::Pass, Gate::Warn, Gate::Fail, Gate::Empty, Gate::Blocked])
    }
    fn safety(&mut self) -> Safety {
        use Safety::*;
        self.pick(&[ReadOnly, Idempotent, Guarded, Once, Publish])
    }
    fn source(&mut self) -> Source {
        self.pick(&Source::ALL)
    }
    fn counts(&mut self) -> Counts {
        Counts {
            errors: self.small(),
            warnings: self.small(),
            excluded: self.small(),
            apart: self.small(),
        }
    }
    fn owner(&mut self) -> Owner {
        Owner { host: self.text(), pid: self.small(), started: self.text() }
    }
    fn output(&mut self) -> OutputRef {
        OutputRef { path: self.text(), digest: self.digest(), bytes: self.number() }
    }
    fn blob(&mut self) -> BlobRef {
        BlobRef {
            name: self.text(),
            digest: self.digest(),
            bytes: self.number(),
            true_bytes: self.number(),
        }
    }
    fn time(&mut self) -> Timestamp {
        Timestamp(self.number() as i64)
    }
    fn decision(&mut self) -> Decision {
        match self.below(8) {
            0 => Decision::Attempt {
                no: AttemptNo(self.small()),
                deadline_ms: self.number(),
                wake: self.time(),
                wait_ms: self.number(),
                rung: self.opt(Arb::text),
            },
            1 => Decision::ReadBack { rung: self.opt(Arb::text) },
            2 => Decision::Recover { rung: self.text() },
            3 => Decision::Probe { rung: self.text(), probe: self.text() },
            4 => Decision::Finish { gate: self.gate() },
            5 => Decision::Ask {
                class: self.class(),
                kind: self.text(),
                tool: self.text(),
                watch: self.opt(Arb::text),
            },
            6 => Decision::LeaveUnverified,
            _ => Decision::TryLater,
        }
    }

    /// The fact of the given number, 0 to [`FACTS`] - 1; all but the first can stand anywhere.
    pub(crate) fn fact(&mut self, variant: u64) -> Fact {
        match variant {
            0..12 => self.fact_of_run(variant),
            12..24 => self.fact_of_step(variant),
            _ => self.fact_of_rest(variant),
        }
    }

    fn fact_of_run(&mut self, variant: u64) -> Fact {
        use StopCause::*;
        match variant {
            0 => Fact::StreamOpened {
                ledger: LedgerId::new(self.id("l")).unwrap(),
                version: self.text(),
            },
            1 => Fact::BoardCreated { records: self.map() },
            2 => Fact::SegmentAdopted {
                ledger: LedgerId::new(self.id("l")).unwrap(),
                seq: Seq(self.number()),
                hash: self.digest(),
            },
            3 => Fact::RunStarted {
                seed: self.number(),
                policy: self.digest(),
                owner: self.owner(),
                checks_only: self.flag(),
                to: self.flag().then(|| PhaseId::new(self.id("p")).unwrap()),
                only_kinds: self.list(Self::text),
            },
            4 => Fact::RunResumed {
                policy: self.digest(),
                owner: self.owner(),
                to: self.flag().then(|| PhaseId::new(self.id("p")).unwrap()),
                only_kinds: self.list(Self::text),
            },
            5 => {
                let causes = [
                    Finished,
                    NothingToDo,
                    Findings,
                    Unverified,
                    NeedsPerson,
                    TryLater,
                    Interrupted,
                    Terminated,
                    Storage,
                ];
                Fact::RunStopped { cause: self.pick(&causes) }
            }
            6 => Fact::StepPlanned {
                uses: KindName::new("kicad/drc").unwrap(),
                safety: self.safety(),
                definition: self.digest(),
                deadline_ms: self.number(),
            },
            7 => Fact::AttemptStarted {
                what: self.digest(),
                safety: self.safety(),
                deadline_ms: self.number(),
                tag: self.text(),
            },
            8 => {
                use Ended::*;
                Fact::AttemptFinished {
                    ended: self.pick(&[
                        Returned,
                        DeadlinePassed,
                        CutShort,
                        Stopped,
                        ConnectionLost,
                    ]),
                    exit: self.opt(|a| a.next() as i32),
                    signal: self.opt(|a| a.below(64) as i32),
                    took_ms: self.number(),
                    tool: self.text(),
                    closure: self.digest(),
                    outputs: self.list(Arb::output),
                    blobs: self.list(Arb::blob),
                    records: self.map(),
                }
            }
            9 => {
                use CheckPurpose::*;
                Fact::CheckObserved {
                    check: self.text(),
                    purpose: self.pick(&[Step, Recheck, Watch, Sense]),
                    outcome: self.pick(&[
                        CheckOutcome::Pass,
                        CheckOutcome::Fail,
                        CheckOutcome::CouldNotRun,
                    ]),
                    gate: self.gate(),
                    counts: self.counts(),
                    findings: self.opt(Arb::digest),
                }
            }
            10 => {
                use ReadBack::*;
                Fact::EffectReadBack { found: self.pick(&[Landed, Absent, Partial, Unclear]) }
            }
            _ => Fact::FailureDiagnosed {
                class: self.class(),
                known: self.flag(),
                confidence: self.next() as u8,
                trust: self.source(),
                fingerprint: self.digest(),
                retry_after_ms: self.opt(Arb::number),
                allow: self.opt(Arb::text),
                slots: self.map(),
            },
        }
    }

    fn fact_of_step(&mut self, variant: u64) -> Fact {
        match variant {
            12 => Fact::DecisionTaken {
                decision: self.decision(),
                based_on: Seq(self.number()),
                now: self.time(),
                seed: self.number(),
                policy: self.digest(),
            },
            13 => Fact::RecoveryStarted { rung: self.text(), class: self.class() },
            14 => {
                use RecoveryOutcome::*;
                Fact::RecoveryFinished {
                    rung: self.text(),
                    outcome: self.pick(&[Done, NotApplicable, Failed]),
                    notes: self.map(),
                }
            }
            15 => Fact::SnapshotBlessed { snapshot: self.digest(), files: self.list(Arb::output) },
            16 => Fact::SnapshotRestored { snapshot: self.digest() },
            17 => Fact::StepPassed {
                gate: self.gate(),
                definition: self.digest(),
                closure: self.digest(),
                outputs: self.list(Arb::output),
            },
            18 => Fact::StepRecovered {
                class: self.class(),
                rung: self.text(),
                attempts: self.small(),
                proof: Seq(self.number()),
            },
            19 => Fact::StepHeld { gate: self.gate() },
            20 => Fact::StepEscalated { class: self.class(), try_later: self.flag() },
            21 => Fact::StepSkipped { since: Seq(self.number()), gate: self.gate() },
            22 => {
                use PhaseVerdict::*;
                Fact::PhaseVerdictGiven {
                    verdict: self.pick(&[Pass, Conditional, Fail, Pending]),
                    counts: self.counts(),
                }
            }
            _ => Fact::OutputsCommitted { commit: self.text() },
        }
    }

    fn fact_of_rest(&mut self, variant: u64) -> Fact {
        match variant {
            24 => Fact::AskRaised {
                ask: AskId::new(self.id("a")).unwrap(),
                class: self.class(),
                kind: self.text(),
                tool: self.text(),
                watch: self.opt(Arb::text),
            },
            25 => Fact::AskAnswered { ask: AskId::new(self.id("a")).unwrap(), answer: self.text() },
            26 => {
                use CatchLayer::*;
                let layers = [
                    Step,
                    Recheck,
                    Resume,
                    Doctor,
                    UnitTests,
                    Acceptance,
                    Unverified,
                    Ci,
                    Diagnosis,
                    Stall,
                    Merge,
                    NoChange,
                    CannotBuild,
                    Scope,
                    Plan,
                    Ceiling,
                ];
                Fact::CatchRecorded {
                    layer: self.pick(&layers),
                    class: self.class(),
                    fingerprint: self.digest(),
                }
            }
            27 => Fact::StallDetected { fingerprint: self.digest(), sightings: self.small() },
            28 => Fact::ReplanRequested { fingerprint: self.digest() },
            29 => Fact::RepairRoundStarted { round: self.small() },
            30 => Fact::RepairRoundFinished {
                round: self.small(),
                diff: self.digest(),
                in_scope: self.flag(),
            },
            31 => Fact::LessonLearned {
                fingerprint: self.digest(),
                class: self.class(),
                rung: self.text(),
                worked: self.flag(),
            },
            32 => Fact::AnchorWritten { seq: Seq(self.number()), hash: self.digest() },
            33 => Fact::BodyExpunged {
                of_stream: self.pick(&[StreamId::Workspace, "board/x.1".parse().unwrap()]),
                of_seq: Seq(self.number()),
                blobs: self.list(Arb::digest),
            },
            _ => Fact::Noted { topic: self.text() },
        }
    }

    pub(crate) fn words(&mut self) -> Words {
        Words {
            summary: self.text(),
            argv: self.list(Arb::text),
            stdout_tail: self.text(),
            stderr_tail: self.text(),
            signals: self.list(|a| Signal {
                source: a.source(),
                code: a.text(),
                number: a.opt(|a| a.next() as i64),
                text: a.text(),
            }),
            more: self.map(),
        }
    }

    pub(crate) fn scope(&mut self) -> Scope {
        Scope {
            run: self.opt(|a| RunId::new(a.id("run")).unwrap()),
            phase: self.opt(|a| PhaseId::new(a.id("05-drc")).unwrap()),
            step: self.opt(|a| StepId::new(a.id("place motor")).unwrap()),
            attempt: self.opt(|a| AttemptNo(a.small())),
        }
    }

    /// Any event that may follow the first.
    pub(crate) fn event(&mut self) -> NewEvent {
        let variant = 1 + self.below(FACTS - 1);
        NewEvent {
            at: self.time(),
            scope: self.scope(),
            actor: self.pick(&[Actor::Engine, Actor::Person, Actor::Agent]),
            fact: self.fact(variant),
            words: self.words(),
        }
    }
}
