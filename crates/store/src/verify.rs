//! Checking a whole ledger: every hash from the first event on, anchors, blobs.

use std::collections::{BTreeMap, BTreeSet};

use pcbflow_core::event::Fact;
use pcbflow_core::ids::{Digest, LedgerId, Seq, StreamId};
use pcbflow_core::ports::{Blobs, Head, Ledger, LedgerError};
use serde::Serialize;

use crate::anchor::Anchor;
use crate::blobs::FileBlobs;
use crate::frame::{Body, Frame};
use crate::hash::Chain;
use crate::heads::KnownHeads;
use crate::read::{Control, Scanner, each_frame};

/// A ledger whose stored bytes can be walked.
pub trait Store: Ledger + Scanner {}
impl<T: Ledger + Scanner> Store for T {}

/// What is checked besides the chains themselves.
#[derive(Default)]
pub struct VerifyOptions<'o> {
    /// Anchors found elsewhere, such as in commits.
    pub anchors: &'o [Anchor],
    /// What this machine knows.
    pub known: Option<&'o KnownHeads>,
    /// Evidence that the events name.
    pub blobs: Option<&'o FileBlobs>,
    /// Unpack every blob and compare it with its digest, not only look whether it is there.
    pub unpack_blobs: bool,
}

/// A place where the record is not what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Break {
    /// Position of the first bad event.
    pub first_bad: Seq,
    /// Position of the last good one, `None` when there is none.
    pub last_good: Option<Seq>,
    /// What is wrong.
    pub what: String,
}

/// What was found in one stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StreamReport {
    /// The stream.
    pub stream: StreamId,
    /// Good events.
    pub events: u64,
    /// Hash of the last good one.
    pub head: Option<Digest>,
    /// Bodies that were expunged.
    pub expunged: u64,
    /// Events of a newer release, passed over.
    pub unknown: u64,
    /// Where the chain breaks, if it does.
    pub broken: Option<Break>,
}

/// What was found in a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    /// Its id.
    pub ledger: LedgerId,
    /// Its streams, in the order of their names.
    pub streams: Vec<StreamReport>,
    /// Anchors outside the ledger that hold.
    pub anchors_held: u64,
    /// Anchors that do not, in words.
    pub anchors_broken: Vec<String>,
    /// Anchors of other ledgers, which say nothing about this one.
    pub anchors_foreign: u64,
    /// Blobs named by events.
    pub blobs: u64,
    /// Those that are missing or have other content, and the event that names each.
    pub blobs_bad: Vec<String>,
}

impl VerifyReport {
    /// Whether everything is as it was written.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.anchors_broken.is_empty()
            && self.blobs_bad.is_empty()
            && self.streams.iter().all(|s| s.broken.is_none())
    }
}

/// Where an event names a blob.
type Named = BTreeMap<Digest, (StreamId, Seq)>;

#[derive(Default)]
struct Seen {
    named: Named,
    removed: BTreeSet<Digest>,
    /// Anchor events: the place that each names in its own stream.
    anchors: Vec<(StreamId, Head)>,
}

/// Checks a ledger from its first event to its last. Faults of the record are in the report;
/// only what keeps it from being read at all is an error.
///
/// # Errors
/// Storage faults other than damage.
pub fn verify(
    ledger: &dyn Store,
    options: &VerifyOptions<'_>,
) -> Result<VerifyReport, LedgerError> {
    let mut seen = Seen::default();
    let mut streams = Vec::new();
    for stream in ledger.streams()? {
        streams.push(one_stream(ledger, &stream, &mut seen)?);
    }
    let mut report = VerifyReport {
        ledger: ledger.id(),
        streams,
        anchors_held: 0,
        anchors_broken: Vec::new(),
        anchors_foreign: 0,
        blobs: 0,
        blobs_bad: Vec::new(),
    };
    check_anchors(ledger, options, &seen, &mut report)?;
    if let Some(blobs) = options.blobs {
        check_blobs(blobs, options.unpack_blobs, &seen, &mut report);
    }
    Ok(report)
}

/// Checks the hashes of one stream from its first event on, without decoding anything. Gives the
/// number of events.
///
/// # Errors
/// [`LedgerError::Damaged`] at the first bad event; storage faults.
pub fn verify_chain(ledger: &dyn Store, stream: &StreamId) -> Result<u64, LedgerError> {
    let mut events = 0;
    let mut chain = Chain::new();
    each_frame(ledger, stream, Seq(0), &mut chain, &mut |_, _| {
        events += 1;
        Ok(Control::Next)
    })?;
    Ok(events)
}

fn one_stream(
    ledger: &dyn Store,
    stream: &StreamId,
    seen: &mut Seen,
) -> Result<StreamReport, LedgerError> {
    let mut report = StreamReport {
        stream: stream.clone(),
        events: 0,
        head: None,
        expunged: 0,
        unknown: 0,
        broken: None,
    };
    let mut chain = Chain::new();
    let end = each_frame(ledger, stream, Seq(0), &mut chain, &mut |seq, frame| {
        check_frame(stream, seq, frame, seen, &mut report)?;
        report.events += 1;
        report.head = Some(frame.hash);
        Ok(Control::Next)
    });
    match end {
        Ok(_) => {}
        Err(LedgerError::Damaged { what }) => {
            let first_bad = Seq(report.events);
            let last_good = report.events.checked_sub(1).map(Seq);
            report.broken = Some(Break { first_bad, last_good, what });
        }
        Err(e) => return Err(e),
    }
    if report.events == 0 && report.broken.is_none() {
        let what = "the stream has lost all its events".to_owned();
        report.broken = Some(Break { first_bad: Seq(0), last_good: None, what });
    }
    Ok(report)
}

fn check_frame(
    stream: &StreamId,
    seq: Seq,
    frame: &Frame<'_>,
    seen: &mut Seen,
    report: &mut StreamReport,
) -> Result<(), LedgerError> {
    let event = frame.event(stream, seq, true)?;
    if matches!(frame.body, Body::Gone(_)) {
        report.expunged += 1;
    }
    named(&event.fact, &mut |digest| {
        seen.named.entry(*digest).or_insert_with(|| (stream.clone(), seq));
    });
    match &event.fact {
        Fact::BodyExpunged { blobs, .. } => seen.removed.extend(blobs),
        Fact::AnchorWritten { seq, hash } => {
            seen.anchors.push((stream.clone(), Head { seq: *seq, hash: *hash }));
        }
        Fact::Noted { topic } if topic == crate::UNKNOWN_EVENT_TOPIC => report.unknown += 1,
        _ => {}
    }
    Ok(())
}

/// Visits the digests of all evidence that an event names.
pub(crate) fn named(fact: &Fact, name: &mut dyn FnMut(&Digest)) {
    match fact {
        Fact::AttemptFinished { blobs, .. } => blobs.iter().for_each(|b| name(&b.digest)),
        Fact::CheckObserved { findings: Some(digest), .. } => name(digest),
        Fact::RunStarted { policy, .. } | Fact::RunResumed { policy, .. } => name(policy),
        _ => {}
    }
}

/// Hash of the event at a place, `None` when there is none.
fn hash_at(ledger: &dyn Store, stream: &StreamId, seq: Seq) -> Result<Option<Digest>, LedgerError> {
    let mut found = None;
    ledger.scan(stream, seq, &mut |at, bytes| {
        found = (at == seq).then(|| Frame::parse(bytes).ok().map(|f| f.hash)).flatten();
        Ok(Control::Stop)
    })?;
    Ok(found)
}

fn check_anchors(
    ledger: &dyn Store,
    options: &VerifyOptions<'_>,
    seen: &Seen,
    report: &mut VerifyReport,
) -> Result<(), LedgerError> {
    let mut wanted: Vec<(StreamId, Head, &str)> = Vec::new();
    for (stream, head) in &seen.anchors {
        wanted.push((stream.clone(), *head, "an event"));
    }
    for anchor in options.anchors {
        if anchor.ledger == report.ledger {
            let head = Head { seq: anchor.seq, hash: anchor.hash };
            wanted.push((anchor.stream(), head, "a commit"));
        } else {
            report.anchors_foreign += 1;
        }
    }
    let known = options.known.map(|k| k.heads(&report.ledger)).unwrap_or_default();
    for (stream, head) in known {
        wanted.push((stream, head, "this computer"));
    }
    for (stream, head, by) in wanted {
        match hash_at(ledger, &stream, head.seq) {
            Ok(Some(hash)) if hash == head.hash => report.anchors_held += 1,
            Ok(found) => {
                let is = if found.is_some() { "another event is there" } else { "it is gone" };
                let line = format!("event {} of {stream} was anchored by {by}; {is}", head.seq);
                report.anchors_broken.push(line);
            }
            // The break itself is in the stream's report.
            Err(LedgerError::Damaged { what }) => report.anchors_broken.push(what),
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

fn check_blobs(blobs: &FileBlobs, unpack: bool, seen: &Seen, report: &mut VerifyReport) {
    for (digest, (stream, seq)) in &seen.named {
        if seen.removed.contains(digest) {
            continue;
        }
        report.blobs += 1;
        let bad = if unpack {
            blobs.get(digest).err().map(|e| e.to_string())
        } else {
            (!blobs.has(digest)).then(|| format!("no stored evidence {}", digest.short()))
        };
        if let Some(bad) = bad {
            report.blobs_bad.push(format!("{bad}, named by event {seq} of {stream}"));
        }
    }
}
