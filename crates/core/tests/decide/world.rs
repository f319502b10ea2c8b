//! A simulated world: it carries out what `decide` says with outcomes from a list of choices, may
//! be killed after any event, and holds each decision against a model that counts by itself.

use std::collections::BTreeMap;

use pcbflow_core::check::{CheckOutcome, Counts, Gate};
use pcbflow_core::event::{
    Actor, CheckPurpose, Decision, Ended, Event, Fact, Owner, ReadBack, RecoveryOutcome,
};
use pcbflow_core::evidence::Source;
use pcbflow_core::ids::{AskId, AttemptNo, ClassId, Digest, KindName, Scope, Seq, StepKey};
use pcbflow_core::manifest::Safety;
use pcbflow_core::policy::{Policy, decide};
use pcbflow_core::projection::{BoardState, Decided, Stage, StepState};
use pcbflow_core::row::Row;
use pcbflow_core::time::Timestamp;

use crate::choices::Choices;
use crate::model::Model;
use crate::rows::CUT;

/// Most decisions of one episode: twenty attempts, each with the read-backs of a whole ladder of
/// one failure, and thirty actions with their probes.
pub const EPISODE_DECISIONS_MAX: usize = 500;
/// Most kills and answers in one world.
const KILLS_MAX: u32 = 12;
const ANSWERS_MAX: u32 = 4;

/// The world's process was killed.
pub struct Killed;

pub struct World {
    pub policy: Policy,
    pub key: StepKey,
    pub events: Vec<Event>,
    pub state: BoardState,
    pub now: Timestamp,
    pub seed: u64,
    pub c: Choices,
    pub model: Model,
    /// Nothing but this failure happens: (class, known).
    pub only: Option<(&'static str, bool)>,
    /// What a read-back finds, when it is always the same.
    pub finds: Option<ReadBack>,
    pub kills: u32,
    answers: u32,
}

pub fn key() -> StepKey {
    StepKey { phase: "01-p".parse().unwrap(), step: "s".parse().unwrap() }
}

fn owner() -> Owner {
    Owner { host: "h".into(), pid: 1, started: "s".into() }
}

pub fn fold(events: &[Event]) -> BoardState {
    let mut state = BoardState::default();
    state.apply_all(events);
    state
}

impl World {
    pub fn new(policy: Policy, safety: Safety, c: Choices) -> World {
        let mut world = World {
            policy,
            key: key(),
            events: Vec::new(),
            state: BoardState::default(),
            now: Timestamp(1_700_000_000_000_000),
            seed: 42,
            c,
            model: Model::new(safety),
            only: None,
            finds: None,
            kills: 0,
            answers: 0,
        };
        let policy = world.policy.digest();
        let start = Fact::RunStarted {
            seed: world.seed,
            policy,
            owner: owner(),
            checks_only: false,
            to: None,
            only_kinds: Vec::new(),
        };
        let plan = Fact::StepPlanned {
            uses: KindName::new("kind/verb").unwrap(),
            safety,
            definition: Digest::of(b"d"),
            deadline_ms: 60_000,
        };
        world.append(vec![start, plan]);
        world
    }

    pub fn step(&self) -> StepState {
        self.state.steps.get(&self.key).cloned().unwrap_or_default()
    }

    pub fn append(&mut self, facts: Vec<Fact>) {
        for fact in facts {
            let seq = Seq(self.events.len() as u64);
            let attempt =
                matches!(fact, Fact::AttemptStarted { .. } | Fact::AttemptFinished { .. });
            let event = Event {
                stream: "board/b".parse().unwrap(),
                seq,
                hash: Digest::of(&seq.0.to_le_bytes()),
                at: self.now,
                scope: Scope {
                    run: Some("r1".parse().unwrap()),
                    phase: Some(self.key.phase.clone()),
                    step: Some(self.key.step.clone()),
                    attempt: attempt.then_some(self.model.attempt_no),
                },
                actor: Actor::Engine,
                fact,
                words: None,
            };
            self.state.apply(&event);
            self.events.push(event);
        }
    }

    /// Appends in one transaction; afterwards the process may be killed.
    fn put(&mut self, facts: Vec<Fact>) -> Result<(), Killed> {
        self.append(facts);
        if self.kills < KILLS_MAX && self.c.pick(8) == 7 {
            self.kills += 1;
            let again = fold(&self.events);
            assert_eq!(again, self.state, "a refold gives the same state");
            let next = |s: &BoardState| decide(s, &self.key, &self.policy, self.now, self.seed);
            assert_eq!(next(&again), next(&self.state), "and the same next decision");
            return Err(Killed);
        }
        Ok(())
    }

    /// Goes on until the step is at an end that nobody answers; the last decision.
    pub fn run(&mut self) -> Decision {
        let mut decisions = 0;
        let mut ended = None;
        while ended.is_none() {
            decisions += 1;
            let most =
                (EPISODE_DECISIONS_MAX + 2) * (self.answers as usize + 1) + 4 * self.kills as usize;
            assert!(decisions <= most, "no end after {decisions} decisions");
            match self.turn() {
                Ok(end) => ended = end,
                Err(Killed) => self.resume(),
            }
        }
        ended.unwrap()
    }

    fn resume(&mut self) {
        let step = self.step();
        let fact = Fact::RunResumed {
            policy: self.policy.digest(),
            owner: owner(),
            to: None,
            only_kinds: Vec::new(),
        };
        let mut facts = vec![fact];
        if step.stage == Stage::Attempting {
            facts.push(finished(Ended::CutShort));
            let print = Digest::of(format!("cut {}", self.kills).as_bytes());
            facts.push(failure(CUT, true, Source::Own, print, None));
        }
        self.append(facts);
    }

    fn turn(&mut self) -> Result<Option<Decision>, Killed> {
        self.jump();
        let step = self.step();
        if let Some(ask) =
            step.ask.clone().filter(|_| matches!(step.stage, Stage::Escalated { .. }))
        {
            return self.answer(ask, &step);
        }
        if let Some((_, Decided::Attempt { no, deadline_ms, rung, .. })) = step.decided.clone()
            && step.stage != Stage::Attempting
        {
            self.attempt(no, deadline_ms, rung)?;
            return Ok(None);
        }
        let decided = decide(&self.state, &self.key, &self.policy, self.now, self.seed);
        let again = decide(&self.state, &self.key, &self.policy, self.now, self.seed);
        assert_eq!(decided, again, "same inputs, same decision");
        assert!(!decided.reason.is_empty());
        let row = self.row();
        self.model.decided(&decided.decision, &step, row.as_ref(), &self.policy);
        let decision = decided.decision;
        let mut facts = vec![Fact::DecisionTaken {
            decision: decision.clone(),
            based_on: Seq(self.events.len().saturating_sub(1) as u64),
            now: self.now,
            seed: self.seed,
            policy: self.policy.digest(),
        }];
        facts.extend(self.following(&decision, &step));
        self.put(facts)?;
        self.carry_out(decision)
    }

    fn row(&self) -> Option<Row> {
        let class = self.step().failure?.class;
        self.policy.catalogue.row(&class).copied()
    }

    /// The clock ticks, and now and then jumps either way.
    fn jump(&mut self) {
        let by = match self.c.pick(16) {
            14 => i64::from(self.c.small()) * 60_000_000,
            15 => -i64::from(self.c.small()) * 60_000_000,
            _ => 1_000_000,
        };
        self.now = Timestamp(self.now.0.saturating_add(by));
    }

    fn following(&self, decision: &Decision, step: &StepState) -> Vec<Fact> {
        let class = step.failure.as_ref().map(|f| f.class.clone());
        match decision {
            Decision::Recover { rung } => {
                vec![Fact::RecoveryStarted { rung: rung.clone(), class: class.unwrap() }]
            }
            Decision::Finish { gate } if gate.advances() => vec![Fact::StepPassed {
                gate: *gate,
                definition: Digest::of(b"d"),
                closure: step.last_closure,
                outputs: Vec::new(),
            }],
            Decision::Finish { gate } => vec![Fact::StepHeld { gate: *gate }],
            Decision::LeaveUnverified => vec![Fact::StepHeld { gate: Gate::Blocked }],
            Decision::TryLater => {
                let class = class.unwrap();
                vec![Fact::StepEscalated { class, try_later: true }]
            }
            Decision::Ask { class, kind, tool, watch } => vec![
                Fact::StepEscalated { class: class.clone(), try_later: false },
                Fact::AskRaised {
                    ask: AskId::new(self.state.next_ask_id()).unwrap(),
                    class: class.clone(),
                    kind: kind.clone(),
                    tool: tool.clone(),
                    watch: watch.clone(),
                },
            ],
            _ => Vec::new(),
        }
    }

    fn carry_out(&mut self, decision: Decision) -> Result<Option<Decision>, Killed> {
        match decision {
            Decision::Attempt { no, deadline_ms, rung, .. } => {
                self.attempt(no, deadline_ms, rung)?;
            }
            Decision::ReadBack { .. } => {
                use ReadBack::{Absent, Landed, Partial, Unclear};
                let one = self.c.one_of(&[Absent, Absent, Unclear, Partial, Landed]);
                let found = self.finds.unwrap_or(one);
                self.model.read_back(found);
                self.put(vec![Fact::EffectReadBack { found }])?;
            }
            Decision::Recover { rung } => {
                use RecoveryOutcome::{Done, Failed, NotApplicable};
                let outcome = self.c.one_of(&[Done, Failed, NotApplicable]);
                self.put(vec![Fact::RecoveryFinished { rung, outcome, notes: BTreeMap::new() }])?;
            }
            Decision::Probe { .. } => {
                let outcome = self.outcome();
                self.put(vec![check(CheckPurpose::Recheck, outcome, Gate::Pass)])?;
            }
            Decision::Ask { .. } => return Ok(None),
            end => return Ok(Some(end)),
        }
        Ok(None)
    }

    fn outcome(&mut self) -> CheckOutcome {
        self.c.one_of(&[CheckOutcome::Fail, CheckOutcome::Pass, CheckOutcome::CouldNotRun])
    }

    fn attempt(
        &mut self,
        no: AttemptNo,
        deadline_ms: u64,
        rung: Option<String>,
    ) -> Result<(), Killed> {
        let (step, row) = (self.step(), self.row());
        self.model.attempt(no, rung.as_deref(), &step, row.as_ref(), &self.policy);
        self.put(vec![Fact::AttemptStarted {
            what: Digest::of(b"d"),
            safety: self.model.safety,
            deadline_ms,
            tag: format!("t{no}"),
        }])?;
        let ended = self.c.one_of(&[Ended::Returned, Ended::DeadlinePassed, Ended::ConnectionLost]);
        let passes = self.only.is_none() && self.c.pick(5) == 4;
        if passes {
            let gate = self.c.one_of(&[Gate::Pass, Gate::Warn, Gate::Fail, Gate::Empty]);
            let outcome = if gate.advances() { CheckOutcome::Pass } else { CheckOutcome::Fail };
            self.model.passed = gate.advances();
            return self
                .put(vec![finished(Ended::Returned), check(CheckPurpose::Step, outcome, gate)]);
        }
        let facts = vec![finished(ended), self.some_failure()];
        self.put(facts)
    }

    fn some_failure(&mut self) -> Fact {
        if let Some((class, known)) = self.only {
            return failure(class, known, Source::Own, Digest::of(b"only"), None);
        }
        let rows = self.policy.catalogue.rows();
        let ids: Vec<&'static str> = rows.iter().map(|r| r.id).collect();
        let at = self.c.pick(ids.len());
        let trust = self.c.one_of(&[Source::Own, Source::Text, Source::Report]);
        let known = self.c.pick(6) != 5;
        let after = (self.c.pick(6) == 5).then(|| self.c.number());
        let class = if known { ids[at] } else { "SC-1" };
        // A few fingerprints alternate; one of them belongs to one class.
        failure(class, known, trust, Digest::of(format!("{class} {known}").as_bytes()), after)
    }

    fn answer(&mut self, ask: AskId, step: &StepState) -> Result<Option<Decision>, Killed> {
        let open = self.state.asks.iter().find(|a| a.id == ask).cloned().unwrap();
        let answer = self.c.one_of(&["", "retry", "yes", "no", "done"]);
        if answer.is_empty() || self.answers >= ANSWERS_MAX {
            let Some(failure) = &step.failure else { return Ok(Some(Decision::LeaveUnverified)) };
            let watch = open.watch;
            let (class, kind, tool) = (failure.class.clone(), open.kind, open.tool);
            return Ok(Some(Decision::Ask { class, kind, tool, watch }));
        }
        self.answers += 1;
        self.model.answered(&open.kind, &open.class, answer);
        self.put(vec![Fact::AskAnswered { ask, answer: answer.to_owned() }])?;
        Ok(None)
    }
}

fn finished(ended: Ended) -> Fact {
    Fact::AttemptFinished {
        ended,
        exit: None,
        signal: None,
        took_ms: 1,
        tool: String::new(),
        closure: Digest::of(b"c"),
        outputs: Vec::new(),
        blobs: Vec::new(),
        records: BTreeMap::new(),
    }
}

fn check(purpose: CheckPurpose, outcome: CheckOutcome, gate: Gate) -> Fact {
    let counts = Counts::default();
    Fact::CheckObserved { check: "c".into(), purpose, outcome, gate, counts, findings: None }
}

pub fn failure(
    class: &str,
    known: bool,
    trust: Source,
    fingerprint: Digest,
    retry_after_ms: Option<u64>,
) -> Fact {
    Fact::FailureDiagnosed {
        class: ClassId::new(class).unwrap(),
        known,
        confidence: 95,
        trust,
        fingerprint,
        retry_after_ms,
        allow: None,
        slots: BTreeMap::new(),
    }
}
