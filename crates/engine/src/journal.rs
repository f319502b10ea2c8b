//! The engine's only way to the ledger: it folds, decides, and appends with the expected head.
//!
//! Events of free steps may wait for the next transaction; everything that must not be lost is
//! appended at once. When another process was faster, the journal folds its events in and decides
//! again, so that parallel writers have one history.

use std::sync::{Arc, OnceLock};

use pcbflow_core::event::{Actor, Decision, Event, Fact, NewEvent, Words};
use pcbflow_core::ids::{BoardName, Digest, RunId, Scope, Seq, StepKey, StreamId};
use pcbflow_core::policy::{Decided, Policy, decide};
use pcbflow_core::ports::{Clock, Expect, Head, Ledger, LedgerError, Progress};
use pcbflow_core::projection::{BOARD_PROJECTION, BOARD_PROJECTION_VERSION, BoardState};

use crate::setup::EngineError;

/// How often an append is tried when other writers keep moving the stream.
const APPEND_TRIES_MAX: u32 = 64;
/// Most events that wait for the next transaction.
const WAITING_EVENTS_MAX: usize = 128;
/// Events read from the ledger at a time.
const READ_EVENTS_MAX: usize = 4096;

/// Writes and folds one board's stream.
pub struct Journal {
    ledger: Arc<dyn Ledger>,
    clock: Arc<dyn Clock>,
    progress: Arc<dyn Progress>,
    stream: StreamId,
    board: BoardName,
    policy: Arc<Policy>,
    /// Taken when the first event needs it: it is made of the whole table.
    policy_digest: OnceLock<Digest>,
    run: Option<RunId>,
    head: Option<Head>,
    /// Fold of what is durable.
    durable: BoardState,
    /// Fold with the waiting events on top.
    state: BoardState,
    waiting: Vec<NewEvent>,
}

impl Journal {
    /// Opens a board's stream and folds it, from a stored fold where there is one.
    ///
    /// # Errors
    /// What the ledger says.
    pub fn open(
        ledger: Arc<dyn Ledger>,
        clock: Arc<dyn Clock>,
        progress: Arc<dyn Progress>,
        board: BoardName,
        policy: Arc<Policy>,
    ) -> Result<Journal, EngineError> {
        let stream = StreamId::Board(board.clone());
        let (head, durable) = fold_board(ledger.as_ref(), &board)?;
        Ok(Journal {
            ledger,
            clock,
            progress,
            stream,
            board,
            policy,
            policy_digest: OnceLock::new(),
            run: None,
            head,
            state: durable.clone(),
            durable,
            waiting: Vec::new(),
        })
    }

    /// The state with everything that happened.
    #[must_use]
    pub fn state(&self) -> &BoardState {
        &self.state
    }

    /// The last durable head.
    #[must_use]
    pub fn head(&self) -> Option<Head> {
        self.head
    }

    /// Id of the ledger.
    #[must_use]
    pub fn ledger(&self) -> &Arc<dyn Ledger> {
        &self.ledger
    }

    /// Digest of the policy.
    #[must_use]
    pub fn policy_digest(&self) -> Digest {
        *self.policy_digest.get_or_init(|| self.policy.digest())
    }

    /// Events from here on belong to this run.
    pub fn set_run(&mut self, run: RunId) {
        self.run = Some(run);
    }

    /// Scope of the run, or of one of its steps.
    #[must_use]
    pub fn scope(&self, key: Option<&StepKey>) -> Scope {
        Scope {
            run: self.run.clone(),
            phase: key.map(|k| k.phase.clone()),
            step: key.map(|k| k.step.clone()),
            attempt: None,
        }
    }

    /// An event of the engine, now.
    #[must_use]
    pub fn event(&self, scope: Scope, fact: Fact, words: Words) -> NewEvent {
        NewEvent { at: self.clock.now(), scope, actor: Actor::Engine, fact, words }
    }

    /// Adds events; those that must not be lost, and all that waited, are appended at once.
    ///
    /// # Errors
    /// What the ledger says; nothing is lost then but what may be repeated.
    pub async fn put(&mut self, events: Vec<NewEvent>, sync: bool) -> Result<(), EngineError> {
        let must = sync || events.iter().any(|e| e.fact.syncs());
        let starts = events.iter().any(|e| matches!(e.fact, Fact::AttemptStarted { .. }));
        if starts && self.ledger.space_is_short() {
            // What is left of the disk is for the record of what was done, not for more work.
            self.sync().await?;
            return Err(LedgerError::DiskFull { doing: "starting a step" }.into());
        }
        for event in events {
            self.apply_waiting(&event);
            self.waiting.push(event);
        }
        if must || self.waiting.len() >= WAITING_EVENTS_MAX { self.sync().await } else { Ok(()) }
    }

    fn apply_waiting(&mut self, event: &NewEvent) {
        let seq = self.state.head.map_or(Seq(0), |(seq, _)| seq.next());
        // The hash is not known before the append; no decision looks at it.
        let folded = Event {
            stream: self.stream.clone(),
            seq,
            hash: Digest::ZERO,
            at: event.at,
            scope: event.scope.clone(),
            actor: event.actor,
            fact: event.fact.clone(),
            words: None,
        };
        self.state.apply(&folded);
    }

    /// Whether events wait for the next transaction.
    #[must_use]
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Appends what waits.
    ///
    /// # Errors
    /// What the ledger says; [`EngineError::Contended`] when others keep being faster.
    pub async fn sync(&mut self) -> Result<(), EngineError> {
        for _ in 0..APPEND_TRIES_MAX {
            if self.waiting.is_empty() || self.append_waiting(self.waiting.clone()).await? {
                return Ok(());
            }
        }
        Err(EngineError::Contended { board: self.board.clone(), tries: APPEND_TRIES_MAX })
    }

    /// Decides for a step and appends the decision with what follows from it, in one
    /// transaction with everything that waited.
    ///
    /// # Errors
    /// As [`Journal::sync`].
    pub async fn decide(
        &mut self,
        key: &StepKey,
        seed: u64,
        follow: impl Fn(&Decision, &BoardState) -> Vec<NewEvent>,
    ) -> Result<Decided, EngineError> {
        for _ in 0..APPEND_TRIES_MAX {
            let now = self.clock.now();
            let decided = decide(&self.state, key, &self.policy, now, seed);
            let based_on = self.state.head.map_or(Seq(0), |(seq, _)| seq);
            let fact = Fact::DecisionTaken {
                decision: decided.decision.clone(),
                based_on,
                now,
                seed,
                policy: self.policy_digest(),
            };
            let mut events = vec![NewEvent {
                at: now,
                scope: self.scope(Some(key)),
                actor: Actor::Engine,
                fact,
                words: Words::say(decided.reason.clone()),
            }];
            events.extend(follow(&decided.decision, &self.state));
            let waits = !events.iter().any(|e| e.fact.syncs())
                && matches!(decided.decision, Decision::Finish { .. });
            if waits {
                self.put(events, false).await?;
                return Ok(decided);
            }
            let mut all = self.waiting.clone();
            all.extend(events);
            if self.append_waiting(all).await? {
                return Ok(decided);
            }
        }
        Err(EngineError::Contended { board: self.board.clone(), tries: APPEND_TRIES_MAX })
    }

    /// Appends `events`, which begin with what waits. False when the stream had moved on: then
    /// the others' events are folded in and the waiting ones stand on top again.
    async fn append_waiting(&mut self, events: Vec<NewEvent>) -> Result<bool, EngineError> {
        let expect = self.head.map_or(Expect::Empty, Expect::At);
        let (ledger, stream) = (Arc::clone(&self.ledger), self.stream.clone());
        let result = blocking(move || ledger.append(&stream, expect, &events)).await;
        match result {
            Ok(_) => {
                self.waiting.clear();
                self.catch_up().await?;
                self.state = self.durable.clone();
                Ok(true)
            }
            Err(LedgerError::MovedOn { .. }) => {
                self.catch_up().await?;
                self.restack();
                Ok(false)
            }
            Err(e) => Err(e.into()),
        }
    }

    /// Folds in what others appended, without losing what waits.
    ///
    /// # Errors
    /// What the ledger says.
    pub async fn refresh(&mut self) -> Result<(), EngineError> {
        self.catch_up().await?;
        self.restack();
        Ok(())
    }

    fn restack(&mut self) {
        self.state = self.durable.clone();
        for mut event in std::mem::take(&mut self.waiting) {
            if let Fact::DecisionTaken { based_on, .. } = &mut event.fact {
                // Only decisions that follow from the step's own check wait; they hold whatever
                // others appended, and now stand after those events.
                *based_on = self.state.head.map_or(Seq(0), |(seq, _)| seq);
            }
            self.apply_waiting(&event);
            self.waiting.push(event);
        }
    }

    async fn catch_up(&mut self) -> Result<(), EngineError> {
        loop {
            let from = self.head.map_or(Seq(0), |h| h.seq.next());
            let (ledger, stream) = (Arc::clone(&self.ledger), self.stream.clone());
            let events =
                blocking(move || ledger.read(&stream, from, READ_EVENTS_MAX, true)).await?;
            let Some(last) = events.last() else { return Ok(()) };
            self.head = Some(Head { seq: last.seq, hash: last.hash });
            self.durable.apply_all(&events);
            self.progress.appended(&events);
            if events.len() < READ_EVENTS_MAX {
                return Ok(());
            }
        }
    }

    /// Stores the fold, so that the next open is quick. A cache that can't be stored is no fault.
    pub async fn store_fold(&self) {
        let Some(head) = self.head else { return };
        let Ok(bytes) = serde_json::to_vec(&self.durable) else { return };
        let (ledger, stream) = (Arc::clone(&self.ledger), self.stream.clone());
        let stored = blocking(move || {
            ledger.store_fold(&stream, BOARD_PROJECTION, BOARD_PROJECTION_VERSION, head, &bytes)
        })
        .await;
        if let Err(e) = stored {
            tracing::debug!("the fold was not stored: {e}");
        }
    }
}

/// Folds a board's stream from its stored fold, or from nothing.
///
/// # Errors
/// What the ledger says.
pub fn fold_board(
    ledger: &dyn Ledger,
    board: &BoardName,
) -> Result<(Option<Head>, BoardState), LedgerError> {
    let stream = StreamId::Board(board.clone());
    let cached = ledger.fold_cache(&stream, BOARD_PROJECTION, BOARD_PROJECTION_VERSION)?;
    let (mut head, mut state) = match cached {
        // A cache that does not decode is as good as none.
        Some((head, bytes)) => match serde_json::from_slice::<BoardState>(&bytes) {
            Ok(state) => (Some(head), state),
            Err(_) => (None, BoardState::default()),
        },
        None => (None, BoardState::default()),
    };
    loop {
        let from = head.map_or(Seq(0), |h| h.seq.next());
        let events = ledger.read(&stream, from, READ_EVENTS_MAX, false)?;
        let Some(last) = events.last() else { break };
        head = Some(Head { seq: last.seq, hash: last.hash });
        state.apply_all(&events);
        if events.len() < READ_EVENTS_MAX {
            break;
        }
    }
    Ok((head, state))
}

/// Runs blocking work off the async threads.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        // The work itself panicked: that is a bug of the callee and must not be hidden.
        Err(e) => std::panic::resume_unwind(e.into_panic()),
    }
}
