//! What must hold, counted apart from the state that `decide` sees.

use std::collections::BTreeMap;

use pcbflow_core::check::Gate;
use pcbflow_core::event::{Decision, ReadBack};
use pcbflow_core::evidence::Source;
use pcbflow_core::ids::{AttemptNo, ClassId, Digest};
use pcbflow_core::manifest::{DEADLINE_MS_MAX, Safety};
use pcbflow_core::policy::{
    EXHAUSTED_CLASS, FAILURE_ATTEMPTS_MAX, GO_AHEAD_ASK, Policy, RUNG_TIMES_MAX, STEP_ATTEMPTS_MAX,
    STEP_RECOVERIES_MAX, WAIT_MS_MAX,
};
use pcbflow_core::projection::StepState;
use pcbflow_core::row::{Autonomy, Available, Row, RungKind};

pub struct Model {
    pub safety: Safety,
    pub attempt_no: AttemptNo,
    /// The last check passed, or the effect was found.
    pub passed: bool,
    /// A repetition was proven to be safe since the last attempt.
    proof: bool,
    /// A person said that it is to run, and it did not since.
    word: bool,
    /// A person said that it is done.
    done_word: bool,
    publish: bool,
    go_aheads: BTreeMap<String, bool>,
    attempts: u32,
    recoveries: u32,
    of_failure: BTreeMap<Digest, u32>,
    rungs: BTreeMap<(Digest, String), usize>,
    /// Waits of the attempts that were decided, in order.
    pub waits: Vec<u64>,
    pub deadlines: Vec<u64>,
    pub recovered: Vec<String>,
}

impl Model {
    pub fn new(safety: Safety) -> Model {
        Model {
            safety,
            attempt_no: AttemptNo(0),
            passed: false,
            proof: true,
            word: false,
            done_word: false,
            publish: false,
            go_aheads: BTreeMap::new(),
            attempts: 0,
            recoveries: 0,
            of_failure: BTreeMap::new(),
            rungs: BTreeMap::new(),
            waits: Vec::new(),
            deadlines: Vec::new(),
            recovered: Vec::new(),
        }
    }

    pub fn read_back(&mut self, found: ReadBack) {
        self.passed = found == ReadBack::Landed || (found == ReadBack::Unclear && self.done_word);
        self.proof |= match found {
            ReadBack::Absent => true,
            ReadBack::Partial => self.safety == Safety::Guarded,
            ReadBack::Unclear => self.word,
            ReadBack::Landed => false,
        };
    }

    pub fn answered(&mut self, kind: &str, class: &ClassId, answer: &str) {
        self.attempts = 0;
        self.recoveries = 0;
        self.of_failure.clear();
        // Who says 'retry' to a question about the step was told that it may have done its work.
        self.done_word = answer == "done" && kind != GO_AHEAD_ASK;
        self.word |= answer == "retry" && kind != GO_AHEAD_ASK;
        if kind == GO_AHEAD_ASK && matches!(answer, "yes" | "no") {
            if class.as_str() != EXHAUSTED_CLASS {
                // The ladder goes on where it stood.
                self.go_aheads.insert(class.to_string(), answer == "yes");
                return;
            }
            self.publish = answer == "yes";
        }
        self.rungs.clear();
    }

    pub fn decided(
        &mut self,
        decision: &Decision,
        step: &StepState,
        row: Option<&Row>,
        policy: &Policy,
    ) {
        match decision {
            Decision::Attempt { wait_ms, deadline_ms, rung, .. } => {
                self.waits.push(*wait_ms);
                self.deadlines.push(*deadline_ms);
                assert!(*deadline_ms <= DEADLINE_MS_MAX);
                self.wait(*wait_ms, rung.as_deref(), step, row, policy);
            }
            Decision::Recover { rung } => self.recover(rung, step, row.unwrap()),
            Decision::Finish { gate: Gate::Pass | Gate::Warn } => {
                assert!(self.passed, "only a passed check or a found effect finishes a step");
            }
            Decision::TryLater => assert!(row.unwrap().passing),
            Decision::Ask { kind, class, .. }
                if kind == GO_AHEAD_ASK && class.as_str() == EXHAUSTED_CLASS =>
            {
                assert_eq!(self.safety, Safety::Publish);
            }
            _ => {}
        }
    }

    /// A wait lies in its envelope, or is what the other side asked for.
    fn wait(
        &self,
        wait: u64,
        rung: Option<&str>,
        step: &StepState,
        row: Option<&Row>,
        policy: &Policy,
    ) {
        assert!(wait <= WAIT_MS_MAX);
        let found = row.and_then(|r| r.ladder.iter().find(|x| Some(x.id) == rung));
        let Some((RungKind::Retry(waits), row)) = found.map(|f| f.kind).zip(row) else {
            assert_eq!(wait, 0, "only a rung that repeats waits");
            return;
        };
        let failure = step.failure.as_ref().unwrap();
        if waits.honours_retry_after && failure.retry_after_ms.is_some() {
            assert_eq!(Some(wait), failure.retry_after_ms.map(|ms| ms.min(WAIT_MS_MAX)));
            return;
        }
        let set = policy.settings.get(row.id).and_then(|s| s.waits_ms.clone());
        let list = set.filter(|_| waits.ms != [0]).unwrap_or_else(|| waits.ms.to_vec());
        let percent = u64::from(waits.jitter_percent);
        let fits = list.iter().map(|ms| (*ms).min(WAIT_MS_MAX)).any(|ms| {
            let span = ms.saturating_mul(percent) / 100;
            (ms - span..=ms.saturating_add(span)).contains(&wait) || wait == WAIT_MS_MAX
        });
        assert!(fits, "{wait} ms is in no envelope of {list:?}");
    }

    fn recover(&mut self, rung: &str, step: &StepState, row: &Row) {
        let failure = step.failure.as_ref().unwrap();
        assert!(failure.known, "an unknown failure leads to no action");
        assert_ne!(failure.trust, Source::Text, "words alone lead to no action");
        assert_eq!(row.available, Available::Now);
        let rung = row.ladder.iter().find(|r| r.id == rung).unwrap();
        assert_eq!(rung.kind, RungKind::Act);
        assert_ne!(rung.autonomy, Autonomy::Person);
        if rung.autonomy == Autonomy::GoAhead {
            assert_eq!(self.go_aheads.get(row.id), Some(&true), "no yes was given for {}", row.id);
        }
        self.recoveries += 1;
        assert!(self.recoveries <= STEP_RECOVERIES_MAX);
        let used = self.rungs.entry((failure.fingerprint, rung.id.to_owned())).or_default();
        *used += 1;
        assert_eq!(*used, 1, "an action runs once for a failure");
        self.recovered.push(rung.id.to_owned());
    }

    pub fn attempt(
        &mut self,
        no: AttemptNo,
        rung: Option<&str>,
        step: &StepState,
        row: Option<&Row>,
        policy: &Policy,
    ) {
        assert!(no > self.attempt_no, "numbers of attempts only rise");
        self.attempt_no = no;
        self.attempts += 1;
        assert!(self.attempts <= STEP_ATTEMPTS_MAX);
        if !self.safety.freely_repeated() {
            assert!(self.proof, "{:?} repeated without proof", self.safety);
        }
        if self.safety == Safety::Publish {
            assert!(self.publish, "published without a yes");
        }
        self.proof = false;
        self.word = false;
        self.done_word = false;
        self.passed = false;
        let Some((failure, row)) = step.failure.as_ref().zip(row) else { return };
        let settings = policy.settings.get(row.id);
        let most = settings.and_then(|s| s.attempts_max).unwrap_or(row.budget.attempts_max);
        let most = most.min(FAILURE_ATTEMPTS_MAX);
        if rung.is_some() {
            let spent = self.of_failure.entry(failure.fingerprint).or_insert(1);
            *spent += 1;
            // One more where an action or read-back had begun before the count was reached.
            assert!(*spent <= most.max(1) + 1, "{spent} attempts for one failure, {most} allowed");
        }
        let Some(found) = row.ladder.iter().find(|r| Some(r.id) == rung) else { return };
        if matches!(found.kind, RungKind::Retry(_) | RungKind::RetryLonger { .. }) {
            let used = self.rungs.entry((failure.fingerprint, found.id.to_owned())).or_default();
            *used += 1;
            let set = settings.and_then(|s| s.waits_ms.as_ref()).map_or(0, Vec::len);
            assert!(*used <= found.times().max(set).min(RUNG_TIMES_MAX));
        }
    }
}
