//! Records as a run leaves them: decisions come from `decide` itself, only the world is made up.

use std::collections::BTreeMap;

use pcbflow_checkpoint::workspace::Workspace;
use pcbflow_cli::compose::Site;
use pcbflow_core::check::{CheckOutcome, Counts, Gate, PhaseVerdict};
use pcbflow_core::event::{
    Actor, CatchLayer, CheckPurpose, Decision, Ended, Event, Fact, NewEvent, Owner,
    RecoveryOutcome, StopCause, Words,
};
use pcbflow_core::evidence::{Evidence, Signal, Source};
use pcbflow_core::ids::{
    AskId, AttemptNo, BoardName, ClassId, Digest, KindName, LedgerId, PhaseId, RunId, Scope,
    StepId, StepKey, StreamId,
};
use pcbflow_core::manifest::Safety;
use pcbflow_core::policy::decide;
use pcbflow_core::ports::{Blobs, Expect, Ledger};
use pcbflow_core::projection::BoardState;
use pcbflow_core::time::Timestamp;
use pcbflow_store::{FileBlobs, Mode, OpenOptions, RedbLedger, StateHome};

use crate::env::TestEnvironment;

/// A project file with two phases.
pub const MANIFEST: &str = "\
board: door
phases:
  - id: 05-schematic-audit
    steps:
      - id: erc
        uses: kicad/erc
        with: { schematic: door.kicad_sch }
  - id: 12-final-verification
    steps:
      - id: drc
        uses: kicad/drc
        with: { board: door.kicad_pcb }
";

/// What an attempt meets.
pub enum Meets {
    /// A pass.
    Pass,
    /// Findings.
    Findings,
    /// A failure of this class, with words of a tool.
    Fails(&'static str, Source),
}

/// Writes a board's record.
pub struct Scene {
    pub site: Site,
    pub board: BoardName,
    ledger: std::sync::Arc<RedbLedger>,
    state: BoardState,
    now: Timestamp,
    run: RunId,
}

impl Scene {
    /// A board with an empty record.
    pub fn new(env: &TestEnvironment, name: &str) -> Scene {
        env.board(name, &MANIFEST.replace("board: door", &format!("board: {name}")));
        let site = Site::at(Workspace::at(&env.workspace).unwrap()).unwrap();
        let home = StateHome(env.state_home());
        let options = OpenOptions::of_workspace(&env.workspace, Some(home), Mode::Write);
        let ledger = pcbflow_store::open(&options).unwrap().ledger;
        let mut scene = Scene {
            site,
            board: BoardName::new(name).unwrap(),
            ledger,
            state: BoardState::default(),
            now: Timestamp(1_783_965_852_000_000),
            run: RunId::new("0190run1").unwrap(),
        };
        let id: LedgerId = scene.ledger.id();
        scene.put(None, Fact::StreamOpened { ledger: id, version: "0.1.0".to_owned() }, "");
        scene.put(None, Fact::BoardCreated { records: BTreeMap::new() }, "");
        scene
    }

    /// Appends one event.
    pub fn put(&mut self, key: Option<&StepKey>, fact: Fact, summary: &str) {
        self.put_words(key, fact, Words::say(summary));
    }

    fn put_words(&mut self, key: Option<&StepKey>, fact: Fact, words: Words) {
        self.now = self.now.plus_ms(1_000);
        let scope = Scope {
            run: self.state.run.as_ref().map(|r| r.id.clone()).or(Some(self.run.clone())),
            phase: key.map(|k| k.phase.clone()),
            step: key.map(|k| k.step.clone()),
            attempt: None,
        };
        let stream = StreamId::Board(self.board.clone());
        let event = NewEvent {
            at: self.now,
            scope: scope.clone(),
            actor: Actor::Engine,
            fact: fact.clone(),
            words,
        };
        let head = self.ledger.append(&stream, Expect::Any, &[event]).unwrap();
        self.state.apply(&Event {
            stream,
            seq: head.seq,
            hash: head.hash,
            at: self.now,
            scope,
            actor: Actor::Engine,
            fact,
            words: None,
        });
    }

    /// Starts a run.
    pub fn start(&mut self) {
        let policy = self.blobs().put("policy", self.site.policy.describe().as_bytes()).unwrap();
        let fact = Fact::RunStarted {
            seed: 7,
            policy: policy.digest,
            owner: Owner { host: "test".to_owned(), pid: 1, started: "1".to_owned() },
            checks_only: false,
            to: None,
            only_kinds: Vec::new(),
        };
        self.put(None, fact, "");
    }

    pub fn blobs(&self) -> FileBlobs {
        self.site.blobs()
    }

    /// Stops the run.
    pub fn stop(&mut self, cause: StopCause) {
        self.put(None, Fact::RunStopped { cause }, "");
    }

    /// Gives a phase its verdict and commits it.
    pub fn judge(&mut self, phase: &str, verdict: PhaseVerdict) {
        let key = StepKey {
            phase: PhaseId::new(phase).unwrap(),
            step: StepId::new("commit outputs").unwrap(),
        };
        let counts = Counts::default();
        self.put(Some(&key), Fact::PhaseVerdictGiven { verdict, counts }, "");
        if verdict.advances() {
            let fact = Fact::OutputsCommitted { commit: "0123456789abcdef".to_owned() };
            self.put(Some(&key), fact, "");
        }
    }

    /// Drives a step as the engine would: decides, and lets each attempt meet what is scripted;
    /// the last one again and again.
    pub fn step(&mut self, phase: &str, step: &str, uses: &str, meets: &[Meets]) -> StepKey {
        let key = StepKey { phase: PhaseId::new(phase).unwrap(), step: StepId::new(step).unwrap() };
        let planned = Fact::StepPlanned {
            uses: KindName::new(uses).unwrap(),
            safety: Safety::ReadOnly,
            definition: Digest::of(b"definition"),
            deadline_ms: 60_000,
        };
        self.put(Some(&key), planned, "");
        let mut attempt = 0;
        for _ in 0..60 {
            let decided = decide(&self.state, &key, &self.site.policy, self.now, 7);
            let fact = Fact::DecisionTaken {
                decision: decided.decision.clone(),
                based_on: self.state.head.unwrap().0,
                now: self.now,
                seed: 7,
                policy: self.site.policy.digest(),
            };
            self.put(Some(&key), fact, &decided.reason);
            match decided.decision {
                Decision::Attempt { no, .. } => {
                    let what = meets.get(attempt).or(meets.last()).unwrap();
                    attempt += 1;
                    self.attempt(&key, no, what);
                }
                Decision::Recover { rung } => self.recover(&key, &rung),
                Decision::Probe { probe, .. } => {
                    let purpose = CheckPurpose::Recheck;
                    self.put(Some(&key), check(&probe, purpose, CheckOutcome::Pass), "");
                }
                Decision::ReadBack { .. } => {
                    let found = pcbflow_core::event::ReadBack::Absent;
                    self.put(Some(&key), Fact::EffectReadBack { found }, "");
                }
                other => {
                    self.end(&key, &other);
                    return key;
                }
            }
        }
        panic!("the step does not end");
    }

    fn attempt(&mut self, key: &StepKey, no: AttemptNo, what: &Meets) {
        let started = Fact::AttemptStarted {
            what: Digest::of(b"argv"),
            safety: Safety::ReadOnly,
            deadline_ms: 60_000,
            tag: format!("door-{no}"),
        };
        self.put(Some(key), started, "");
        let report = self.blobs().put("report.json", br#"{"violations":[]}"#).unwrap();
        let finished = Fact::AttemptFinished {
            ended: Ended::Returned,
            exit: Some(0),
            signal: None,
            took_ms: 1234,
            tool: "kicad-cli 9.0.8".to_owned(),
            closure: Digest::of(b"closure"),
            outputs: Vec::new(),
            blobs: vec![report],
            records: BTreeMap::new(),
        };
        let words = Words {
            summary: "ran".to_owned(),
            argv: ["kicad-cli", "pcb", "drc", "door one.kicad_pcb"].map(str::to_owned).to_vec(),
            stdout_tail: "Saved \u{1b}[31mreport\u{1b}[0m\n".to_owned(),
            stderr_tail: "a word on stderr\n".to_owned(),
            ..Words::default()
        };
        self.put_words(Some(key), finished, words);
        match what {
            Meets::Pass => {
                self.put(Some(key), check("own", CheckPurpose::Step, CheckOutcome::Pass), "");
            }
            Meets::Findings => {
                self.put(Some(key), check("own", CheckPurpose::Step, CheckOutcome::Fail), "");
            }
            Meets::Fails(class, trust) => self.fail(key, class, *trust),
        }
    }

    fn fail(&mut self, key: &StepKey, class: &str, trust: Source) {
        let class = ClassId::new(class).unwrap();
        let fingerprint =
            pcbflow_core::fingerprint::fingerprint(&class, &Evidence::new("kicad/drc", ""));
        let fact = Fact::FailureDiagnosed {
            class: class.clone(),
            known: true,
            confidence: 95,
            trust,
            fingerprint,
            retry_after_ms: None,
            allow: None,
            slots: BTreeMap::from([("step".to_owned(), key.step.to_string())]),
        };
        let words = Words {
            signals: vec![Signal::new(Source::File, "kicad.pro_missing").text("door.kicad_pro")],
            ..Words::say(format!("{class} by {class} signal 1 (file: kicad.pro_missing)"))
        };
        self.put_words(Some(key), fact, words);
        let catch = Fact::CatchRecorded { layer: CatchLayer::Step, class, fingerprint };
        self.put(Some(key), catch, "");
    }

    fn recover(&mut self, key: &StepKey, rung: &str) {
        let class = self.state.steps[key].failure.as_ref().unwrap().class.clone();
        self.put(Some(key), Fact::RecoveryStarted { rung: rung.to_owned(), class }, "");
        let done = Fact::RecoveryFinished {
            rung: rung.to_owned(),
            outcome: RecoveryOutcome::Done,
            notes: BTreeMap::new(),
        };
        self.put(Some(key), done, "copied the rules in");
    }

    fn end(&mut self, key: &StepKey, decision: &Decision) {
        let step = self.state.steps[key].clone();
        match decision {
            Decision::Finish { gate } if gate.advances() => {
                if let Some(failure) = step.failure.as_ref().filter(|_| step.has_open_failure()) {
                    let rung = failure.tried.last().map_or("ask", |t| t.rung.as_str()).to_owned();
                    let recovered = Fact::StepRecovered {
                        class: failure.class.clone(),
                        rung: rung.clone(),
                        attempts: step.attempts,
                        proof: step.last_check.unwrap(),
                    };
                    let lesson = Fact::LessonLearned {
                        fingerprint: failure.fingerprint,
                        class: failure.class.clone(),
                        rung,
                        worked: true,
                    };
                    self.put(Some(key), recovered, "");
                    self.put(Some(key), lesson, "");
                }
                let passed = Fact::StepPassed {
                    gate: *gate,
                    definition: Digest::of(b"definition"),
                    closure: Digest::of(b"closure"),
                    outputs: Vec::new(),
                };
                self.put(Some(key), passed, "");
            }
            Decision::Finish { gate } => self.put(Some(key), Fact::StepHeld { gate: *gate }, ""),
            Decision::LeaveUnverified => {
                self.put(Some(key), Fact::StepHeld { gate: Gate::Blocked }, "");
            }
            Decision::Ask { class, kind, tool, watch } => {
                let escalated = Fact::StepEscalated { class: class.clone(), try_later: false };
                self.put(Some(key), escalated, "");
                let ask = Fact::AskRaised {
                    ask: AskId::new(self.state.next_ask_id()).unwrap(),
                    class: class.clone(),
                    kind: kind.clone(),
                    tool: tool.clone(),
                    watch: watch.clone(),
                };
                self.put(Some(key), ask, "");
            }
            Decision::TryLater => {
                let class = step.failure.unwrap().class;
                self.put(Some(key), Fact::StepEscalated { class, try_later: true }, "");
            }
            other => panic!("{other:?} is no end"),
        }
    }

    /// Head of the record.
    pub fn head(&self) -> u64 {
        self.state.head.unwrap().0.0
    }

    /// Closes the record.
    pub fn close(self) {}
}

fn check(name: &str, purpose: CheckPurpose, outcome: CheckOutcome) -> Fact {
    let fail = outcome == CheckOutcome::Fail;
    Fact::CheckObserved {
        check: name.to_owned(),
        purpose,
        outcome,
        gate: if fail { Gate::Fail } else { Gate::Pass },
        counts: Counts { errors: u32::from(fail) * 2, ..Counts::default() },
        findings: None,
    }
}

/// A board whose first phase passed and whose second one was healed and then needs a person.
pub fn full(env: &TestEnvironment, name: &str) -> Scene {
    let mut scene = Scene::new(env, name);
    scene.start();
    scene.step("05-schematic-audit", "erc", "kicad/erc", &[Meets::Pass]);
    scene.judge("05-schematic-audit", PhaseVerdict::Pass);
    scene.step("05-schematic-audit", "parity", "kicad/drc", &[Meets::Findings]);
    let healed = [Meets::Fails("KI-6", Source::File), Meets::Pass];
    scene.step("12-final-verification", "drc", "kicad/drc", &healed);
    let stuck = [Meets::Fails("SC-2", Source::Exit)];
    scene.step("12-final-verification", "parity", "kicad/drc", &stuck);
    scene.stop(StopCause::NeedsPerson);
    scene
}
