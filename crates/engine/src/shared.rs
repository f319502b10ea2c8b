//! Lessons that boards of a workspace share, by its own stream.
//!
//! What a board learned is told there when its run stops. A board that meets a failure of which
//! it knows nothing takes over what the others learned, as events of its own stream and before it
//! decides: so each board's stream alone explains its decisions. What is taken over is never told
//! again as the board's own; a lesson that did not help here is, and outweighs the others in time.

use std::collections::BTreeMap;
use std::sync::Arc;

use pcbflow_core::event::{Actor, Event, Fact, NewEvent, Words};
use pcbflow_core::ids::{BoardName, ClassId, Digest, Scope, Seq, StreamId};
use pcbflow_core::policy::LESSON_FAILURES_MAX;
use pcbflow_core::ports::{Expect, Head, Ledger, LedgerError};
use pcbflow_core::projection::Lesson;

/// Most of the newest events of a stream that are looked at for lessons.
const LOOK_EVENTS_MAX: u64 = 20_000;
/// Events read from the ledger at a time.
const READ_EVENTS_MAX: usize = 4096;
/// How often telling is tried when other boards tell at the same time.
const TELL_TRIES_MAX: u32 = 16;
/// Names of what a lesson in the workspace's stream says besides: who learned it, and where.
const BOARD: &str = "board";
const SEQ: &str = "seq";

/// What the other boards learned about a failure: for each rung its class, and how it went.
type OfFailure = BTreeMap<String, (ClassId, Lesson)>;

/// What the workspace's stream says.
#[derive(Debug, Default)]
pub struct Shared {
    others: BTreeMap<Digest, OfFailure>,
    /// The last of this board's own lessons that was told.
    told: Option<Seq>,
    head: Option<Head>,
}

impl Shared {
    /// Reads the workspace's stream.
    ///
    /// # Errors
    /// What the ledger says.
    pub fn read(ledger: &dyn Ledger, board: &BoardName) -> Result<Shared, LedgerError> {
        let mut shared = Shared { head: ledger.head(&StreamId::Workspace)?, ..Shared::default() };
        let Some(head) = shared.head else { return Ok(shared) };
        each(ledger, &StreamId::Workspace, first_of(head), true, &mut |event| {
            shared.take(event, board);
        })?;
        Ok(shared)
    }

    fn take(&mut self, event: &Event, own: &BoardName) {
        let Fact::LessonLearned { fingerprint, class, rung, worked } = &event.fact else { return };
        // Without its words nobody knows whose lesson it is.
        let Some(words) = &event.words else { return };
        let said = |name: &str| words.more.get(name).map(String::as_str);
        if said(BOARD) == Some(own.as_str()) {
            self.told = self.told.max(said(SEQ).and_then(|s| s.parse().ok()).map(Seq));
            return;
        }
        let of_failure = self.others.entry(*fingerprint).or_default();
        let (_, lesson) =
            of_failure.entry(rung.clone()).or_insert_with(|| (class.clone(), Lesson::default()));
        let count = if *worked { &mut lesson.worked } else { &mut lesson.failed };
        *count = count.saturating_add(1);
    }

    /// What a board takes over when it meets a failure for the first time: the rungs that worked
    /// more often than not, and those that never did.
    #[must_use]
    pub fn taken_over(&self, fingerprint: &Digest) -> Vec<Fact> {
        let none = OfFailure::new();
        let of_failure = self.others.get(fingerprint).unwrap_or(&none);
        let mut facts = Vec::new();
        for (rung, (class, Lesson { worked, failed })) in of_failure {
            let learned = |worked| Fact::LessonLearned {
                fingerprint: *fingerprint,
                class: class.clone(),
                rung: rung.clone(),
                worked,
            };
            if worked > failed {
                facts.push(learned(true));
            } else if *worked == 0 && *failed >= LESSON_FAILURES_MAX {
                facts.extend((0..LESSON_FAILURES_MAX).map(|_| learned(false)));
            }
        }
        facts
    }
}

/// The words of a lesson that was taken over.
#[must_use]
pub fn taken_over_words() -> Words {
    Words::say("learned by other boards of this workspace")
}

/// Tells the workspace what a board learned since it told last. Gives how many lessons.
///
/// # Errors
/// What the ledger says.
pub fn tell(ledger: &Arc<dyn Ledger>, board: &BoardName) -> Result<usize, LedgerError> {
    let stream = StreamId::Board(board.clone());
    let Some(own_head) = ledger.head(&stream)? else { return Ok(0) };
    for _ in 0..TELL_TRIES_MAX {
        let shared = Shared::read(ledger.as_ref(), board)?;
        let from = shared.told.map_or(Seq(0), Seq::next).max(first_of(own_head));
        let mut events = Vec::new();
        each(ledger.as_ref(), &stream, from, false, &mut |event| {
            // One that was taken over belongs to no step of this board.
            if matches!(event.fact, Fact::LessonLearned { .. }) && event.scope.step.is_some() {
                events.push(told(event, board));
            }
        })?;
        if events.is_empty() {
            return Ok(0);
        }
        let expect = shared.head.map_or(Expect::Empty, Expect::At);
        match ledger.append(&StreamId::Workspace, expect, &events) {
            Ok(_) => return Ok(events.len()),
            Err(LedgerError::MovedOn { .. }) => {}
            Err(e) => return Err(e),
        }
    }
    // They are in the board's own stream, and are told when its next run stops.
    Ok(0)
}

fn told(event: &Event, board: &BoardName) -> NewEvent {
    let mut words = Words::default();
    words.more.insert(BOARD.to_owned(), board.to_string());
    words.more.insert(SEQ.to_owned(), event.seq.0.to_string());
    NewEvent {
        at: event.at,
        scope: Scope { run: event.scope.run.clone(), ..Scope::default() },
        actor: Actor::Engine,
        fact: event.fact.clone(),
        words,
    }
}

fn first_of(head: Head) -> Seq {
    Seq(head.seq.0.saturating_sub(LOOK_EVENTS_MAX))
}

/// Visits the events of a stream from a place on; ends at its head.
fn each(
    ledger: &dyn Ledger,
    stream: &StreamId,
    mut from: Seq,
    words: bool,
    visit: &mut dyn FnMut(&Event),
) -> Result<(), LedgerError> {
    loop {
        let events = ledger.read(stream, from, READ_EVENTS_MAX, words)?;
        events.iter().for_each(&mut *visit);
        match events.last() {
            Some(last) if events.len() == READ_EVENTS_MAX => from = last.seq.next(),
            _ => return Ok(()),
        }
    }
}
