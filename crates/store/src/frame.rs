//! How one event lies in storage, and how it is made and read back. Shared by every backend.
//!
//! ```text
//! frame = hash (32) | kind (1) | header length (4, little-endian) | header | rest
//! kind 0: rest is the body; kind 1: the body was expunged, rest is its digest (32)
//! ```

use pcbflow_core::event::{Actor, Event, Fact, NewEvent, Words};
use pcbflow_core::ids::{Digest, LedgerId, Scope, Seq, StreamId};
use pcbflow_core::ports::{Expect, Head, LedgerError};
use pcbflow_core::time::Timestamp;

use crate::hash::Chain;
use crate::stored::{self, VERSION_KNOWN};

/// Largest header and body of one event together, in bytes. Larger evidence is a blob.
pub const EVENT_BYTES_MAX: usize = 1 << 20;

/// Most events of one append.
pub const APPEND_EVENTS_MAX: usize = 4096;

const FIXED_BYTES: usize = 32 + 1 + 4;

/// A body, or what is left of it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Body<'a> {
    There(&'a [u8]),
    Gone(Digest),
}

/// An event as it lies in storage.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame<'a> {
    pub(crate) hash: Digest,
    pub(crate) header: &'a [u8],
    pub(crate) body: Body<'a>,
}

impl<'a> Frame<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Frame<'a>, String> {
        let short = || format!("a frame of {} bytes", bytes.len());
        let (hash, rest) = bytes.split_first_chunk::<32>().ok_or_else(short)?;
        let (kind, rest) = rest.split_first().ok_or_else(short)?;
        let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
        let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|e| e.to_string())?;
        let (header, rest) = rest.split_at_checked(length).ok_or_else(short)?;
        let body = match kind {
            0 => Body::There(rest),
            1 => Body::Gone(Digest(rest.try_into().map_err(|_| short())?)),
            n => return Err(format!("a frame of kind {n}")),
        };
        Ok(Frame { hash: Digest(*hash), header, body })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let (kind, rest): (u8, &[u8]) = match &self.body {
            Body::There(body) => (0, body),
            Body::Gone(digest) => (1, &digest.0),
        };
        out.reserve(FIXED_BYTES + self.header.len() + rest.len());
        out.extend_from_slice(&self.hash.0);
        out.push(kind);
        // Headers are bounded by EVENT_BYTES_MAX, far below the range of the length.
        let length = u32::try_from(self.header.len()).unwrap_or(u32::MAX);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(self.header);
        out.extend_from_slice(rest);
    }

    /// The hash that the bytes really have behind `prev`.
    pub(crate) fn computed(&self, chain: &mut Chain, prev: &Digest) -> Digest {
        match &self.body {
            Body::There(body) => chain.hash(prev, self.header, body),
            Body::Gone(digest) => chain.hash_digested(prev, self.header, digest),
        }
    }

    /// Digest of the body.
    pub(crate) fn body_digest(&self) -> Digest {
        match &self.body {
            Body::There(body) => Digest::of(body),
            Body::Gone(digest) => *digest,
        }
    }

    /// Bytes that are the event itself, without the frame.
    pub(crate) fn event_bytes(&self) -> u64 {
        let body = match &self.body {
            Body::There(body) => body.len(),
            Body::Gone(digest) => digest.0.len(),
        };
        (self.header.len() + body) as u64
    }

    /// Decodes the event. The hash must have been checked already.
    pub(crate) fn event(
        &self,
        stream: &StreamId,
        seq: Seq,
        words: bool,
    ) -> Result<Event, LedgerError> {
        let header = stored::read_header(self.header).map_err(|e| damaged(stream, seq, &e))?;
        if header.seq != seq.0 {
            let what = format!("it says that it is event {}", header.seq);
            return Err(damaged(stream, seq, &what));
        }
        if header.stream.as_ref().is_some_and(|s| s != stream) {
            return Err(damaged(stream, seq, &"it belongs to another stream"));
        }
        let words = match self.body {
            Body::There(body) if words => {
                Some(stored::read_body(body).map_err(|e| damaged(stream, seq, &e))?)
            }
            _ => None,
        };
        Ok(Event {
            stream: stream.clone(),
            seq,
            hash: self.hash,
            at: header.at,
            scope: header.scope,
            actor: header.actor,
            fact: header.fact,
            words,
        })
    }
}

/// The one form in which a bad event is named.
pub(crate) fn damaged(stream: &StreamId, seq: Seq, what: &dyn std::fmt::Display) -> LedgerError {
    let last_good = match seq.0.checked_sub(1) {
        Some(good) => format!("the last good event is {good}"),
        None => "no event before it is good".to_owned(),
    };
    LedgerError::Damaged { what: format!("event {seq} of {stream} is bad ({what}); {last_good}") }
}

/// Gives the salt of each new body.
pub(crate) trait Salts: Send + Sync {
    fn next(&self) -> Result<[u8; 32], LedgerError>;
}

/// Salts from the system's random source.
pub(crate) struct RandomSalts;

impl Salts for RandomSalts {
    fn next(&self) -> Result<[u8; 32], LedgerError> {
        random()
    }
}

pub(crate) fn random<const N: usize>() -> Result<[u8; N], LedgerError> {
    let mut bytes = [0u8; N];
    getrandom::fill(&mut bytes).map_err(|e| LedgerError::Storage {
        doing: "drawing a random number",
        message: e.to_string(),
    })?;
    Ok(bytes)
}

/// A fresh ledger id of 128 random bits.
pub(crate) fn fresh_id() -> Result<LedgerId, LedgerError> {
    let text = random::<16>()?.iter().map(|b| format!("{b:02x}")).collect::<String>();
    LedgerId::new(text).map_err(|e| LedgerError::Refused { why: e.to_string() })
}

/// A new event with its body written, so that only the header waits for its place.
pub(crate) struct Prepared {
    at: Timestamp,
    actor: Actor,
    scope: Scope,
    fact: Fact,
    body: Vec<u8>,
    body_digest: Digest,
}

impl Prepared {
    pub(crate) fn new(event: &NewEvent, salts: &dyn Salts) -> Result<Prepared, LedgerError> {
        let mut body = Vec::with_capacity(256);
        stored::write_body(&event.words, salts.next()?, &mut body).map_err(refused)?;
        Ok(Prepared {
            at: event.at,
            actor: event.actor,
            scope: event.scope.clone(),
            fact: event.fact.clone(),
            body_digest: Digest::of(&body),
            body,
        })
    }

    pub(crate) fn all(
        events: &[NewEvent],
        salts: &dyn Salts,
    ) -> Result<Vec<Prepared>, LedgerError> {
        if events.is_empty() || events.len() > APPEND_EVENTS_MAX {
            let why = format!("{} events in one append", events.len());
            return Err(LedgerError::Refused { why });
        }
        events.iter().map(|e| Prepared::new(e, salts)).collect()
    }
}

fn refused(e: impl std::fmt::Display) -> LedgerError {
    LedgerError::Refused { why: e.to_string() }
}

/// The first event of a stream.
fn genesis(ledger: &LedgerId, at: Timestamp, salts: &dyn Salts) -> Result<Prepared, LedgerError> {
    let event = NewEvent {
        at,
        scope: Scope::default(),
        actor: Actor::Engine,
        fact: Fact::StreamOpened {
            ledger: ledger.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        words: Words::default(),
    };
    Prepared::new(&event, salts)
}

/// Where a frame is put.
pub(crate) type Put<'p> = dyn FnMut(Seq, &[u8]) -> Result<(), LedgerError> + 'p;

/// Places prepared events behind a head.
pub(crate) struct Sealer<'s> {
    pub(crate) chain: &'s mut Chain,
    pub(crate) ledger: &'s LedgerId,
    pub(crate) salts: &'s dyn Salts,
}

impl Sealer<'_> {
    /// Checks the expectation and hands every frame to `put`, the genesis first when the stream
    /// is empty and the caller brought none.
    pub(crate) fn seal(
        &mut self,
        stream: &StreamId,
        head: Option<Head>,
        expect: Expect,
        events: &[Prepared],
        put: &mut Put<'_>,
    ) -> Result<Head, LedgerError> {
        let met = match expect {
            Expect::Any => true,
            Expect::Empty => head.is_none(),
            Expect::At(wanted) => head == Some(wanted),
        };
        if !met {
            return Err(LedgerError::MovedOn { stream: stream.clone(), head });
        }
        let mut at = head;
        for (index, event) in events.iter().enumerate() {
            match (&event.fact, at) {
                (Fact::StreamOpened { ledger, .. }, None) if ledger == self.ledger => {}
                (Fact::StreamOpened { .. }, _) => {
                    let why = "a stream is opened once, as its first event, by its own ledger";
                    return Err(refused(why));
                }
                (_, None) => {
                    debug_assert_eq!(index, 0, "after the first event there is a head");
                    let genesis = genesis(self.ledger, event.at, self.salts)?;
                    at = Some(self.one(stream, at, &genesis, put)?);
                }
                _ => {}
            }
            at = Some(self.one(stream, at, event, put)?);
        }
        at.ok_or_else(|| refused("no event"))
    }

    fn one(
        &mut self,
        stream: &StreamId,
        head: Option<Head>,
        event: &Prepared,
        put: &mut Put<'_>,
    ) -> Result<Head, LedgerError> {
        let (seq, prev) = match head {
            None => (Seq(0), Digest::ZERO),
            Some(head) => (head.seq.next(), head.hash),
        };
        let mut header = Vec::with_capacity(256);
        stored::write_header(
            stream,
            seq.0,
            event.at,
            event.actor,
            &event.scope,
            &event.fact,
            &mut header,
        )
        .map_err(refused)?;
        let bytes = header.len() + event.body.len();
        if bytes > EVENT_BYTES_MAX {
            let why = format!("an event of {bytes} bytes, at most {EVENT_BYTES_MAX} are taken");
            return Err(LedgerError::Refused { why });
        }
        let hash = self.chain.hash_digested(&prev, &header, &event.body_digest);
        let mut frame = Vec::new();
        Frame { hash, header: &header, body: Body::There(&event.body) }.write(&mut frame);
        put(seq, &frame)?;
        Ok(Head { seq, hash })
    }
}

/// Refuses to write behind an event of a newer release.
pub(crate) fn writable_tail(frame: &Frame<'_>) -> Result<(), LedgerError> {
    match stored::version_of(frame.header) {
        Ok(found) if found > VERSION_KNOWN => {
            Err(LedgerError::Newer { found, known: VERSION_KNOWN })
        }
        _ => Ok(()),
    }
}
