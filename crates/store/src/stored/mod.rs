//! The stored form of events: versioned, frozen, apart from the domain types.
//!
//! ciborium writes it; a hand-written borrowed reader reads the same bytes. **Rules of every
//! version:** header and body are arrays whose first element is the version; elements are only
//! appended, numbers are never reused. So a header of a newer version is read as far as known,
//! and a fact or word that this release does not know becomes `Fact::Noted` with the topic
//! [`UNKNOWN_EVENT_TOPIC`], which every projection passes over. Such a stream is never written
//! by this release.

pub(crate) mod v1;
pub(crate) mod wire;

use minicbor::Decoder;
use pcbflow_core::event::{Actor, Fact, Words};
use pcbflow_core::ids::{AttemptNo, PhaseId, RunId, Scope, StepId, StreamId};
use pcbflow_core::time::Timestamp;
use serde::Serialize;

use wire::{Code, Fault, Frozen, Get, Hash32, Text, array, element, skip_rest};

/// Newest version of the stored form that this release knows, and the one that it writes.
pub const VERSION_KNOWN: u32 = v1::VERSION;

/// Topic of the `Noted` fact that stands for an event of a newer release.
pub const UNKNOWN_EVENT_TOPIC: &str = "unknown_event";

/// A header, read back.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) seq: u64,
    pub(crate) at: Timestamp,
    pub(crate) actor: Actor,
    pub(crate) scope: Scope,
    pub(crate) fact: Fact,
    /// Only in the first event of a stream.
    pub(crate) stream: Option<StreamId>,
}

fn write<T: Serialize>(value: &T, out: &mut Vec<u8>) -> Result<(), Fault> {
    ciborium::into_writer(value, out).map_err(|e| Fault::Form(e.to_string()))
}

/// Writes the header of a new event behind `out`.
pub(crate) fn write_header(
    stream: &StreamId,
    seq: u64,
    at: Timestamp,
    actor: Actor,
    scope: &Scope,
    fact: &Fact,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let Some(fact) = v1::FactV1::of(fact) else {
        return Err(Fault::Form(format!("this release has no stored form for {fact}")));
    };
    write(&v1::header(stream, seq, at.0, &actor, scope, fact), out)
}

/// Writes the body of a new event behind `out`.
pub(crate) fn write_body(words: &Words, salt: [u8; 32], out: &mut Vec<u8>) -> Result<(), Fault> {
    write(&v1::BodyV1::of(words, salt), out)
}

/// Version of a header or body, without reading further.
pub(crate) fn version_of(bytes: &[u8]) -> Result<u32, Fault> {
    let mut d = Decoder::new(bytes);
    let mut left = array(&mut d)?;
    element(&mut d, &mut left)
}

fn optional<'a, D>(d: &mut Decoder<'a>, left: &mut u64) -> Result<Option<D>, Fault>
where
    Text<'a>: Frozen<'a, D>,
{
    let text: Option<Text<'a>> = element(d, left)?;
    text.map(Frozen::domain).transpose()
}

/// Reads a header.
pub(crate) fn read_header(bytes: &[u8]) -> Result<Header, Fault> {
    let mut d = Decoder::new(bytes);
    let mut left = array(&mut d)?;
    let version: u32 = element(&mut d, &mut left)?;
    if version == 0 {
        return Err(Fault::Form("a header of version 0".into()));
    }
    let seq: u64 = element(&mut d, &mut left)?;
    let at = Timestamp(element(&mut d, &mut left)?);
    let actor: Code = element(&mut d, &mut left)?;
    // An actor that a newer release added did something that this one can't attribute.
    let actor = actor.domain().unwrap_or(Actor::Engine);
    let run: Option<RunId> = optional(&mut d, &mut left)?;
    let phase: Option<PhaseId> = optional(&mut d, &mut left)?;
    let step: Option<StepId> = optional(&mut d, &mut left)?;
    let attempt: Option<u32> = element(&mut d, &mut left)?;
    let scope = Scope { run, phase, step, attempt: attempt.map(AttemptNo) };
    left = left.checked_sub(1).ok_or_else(|| Fault::Form("a header without fact".into()))?;
    let fact = read_fact(&mut d, version)?;
    let stream = if seq == 0 && left > 0 { optional(&mut d, &mut left)? } else { None };
    skip_rest(&mut d, left)?;
    if d.position() != bytes.len() {
        return Err(Fault::Form("bytes behind the header".into()));
    }
    Ok(Header { seq, at, actor, scope, fact, stream })
}

fn read_fact(d: &mut Decoder<'_>, version: u32) -> Result<Fact, Fault> {
    let start = d.position();
    match v1::FactV1::get(d).and_then(v1::FactV1::domain) {
        Ok(fact) => Ok(fact),
        // A word of a newer release, or a known fact whose fields a newer version changed.
        Err(fault) if matches!(fault, Fault::Unknown(_)) || version > VERSION_KNOWN => {
            d.set_position(start);
            d.skip()?;
            Ok(Fact::Noted { topic: UNKNOWN_EVENT_TOPIC.to_owned() })
        }
        Err(fault) => Err(fault),
    }
}

/// Reads a body.
pub(crate) fn read_body(bytes: &[u8]) -> Result<Words, Fault> {
    let mut d = Decoder::new(bytes);
    let mut left = array(&mut d)?;
    let version: u32 = element(&mut d, &mut left)?;
    let body = v1::BodyV1 {
        salt: element::<Hash32>(&mut d, &mut left)?,
        summary: element(&mut d, &mut left)?,
        argv: element(&mut d, &mut left)?,
        stdout_tail: element(&mut d, &mut left)?,
        stderr_tail: element(&mut d, &mut left)?,
        signals: element(&mut d, &mut left)?,
        more: element(&mut d, &mut left)?,
    };
    skip_rest(&mut d, left)?;
    if d.position() != bytes.len() {
        return Err(Fault::Form("bytes behind the body".into()));
    }
    match body.domain() {
        Err(Fault::Unknown(what)) => {
            let mut words = Words::say("words of a newer release");
            words.more.insert("unknown".to_owned(), format!("{what} (version {version})"));
            Ok(words)
        }
        other => other,
    }
}

/// The salt of a body, for the proof that its bytes are gone.
pub(crate) fn salt_of(bytes: &[u8]) -> Result<[u8; 32], Fault> {
    let mut d = Decoder::new(bytes);
    let mut left = array(&mut d)?;
    let _version: u32 = element(&mut d, &mut left)?;
    Ok(element::<Hash32>(&mut d, &mut left)?.0)
}

#[cfg(test)]
mod tests;
