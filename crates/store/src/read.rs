//! Reading whole streams without holding them in memory.

use pcbflow_core::event::Event;
use pcbflow_core::ids::{Digest, Seq, StreamId};
use pcbflow_core::ports::LedgerError;

use crate::frame::{Frame, damaged};
use crate::hash::Chain;

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Hand me the next one.
    Next,
    /// That is enough.
    Stop,
}

/// How a scan ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanEnd {
    /// There are no more events.
    All,
    /// The visitor stopped it.
    Stopped,
}

/// Takes each stored frame in turn.
pub type Scan<'v> = dyn FnMut(Seq, &[u8]) -> Result<Control, LedgerError> + 'v;

/// Takes each event in turn.
pub type Visit<'v> = dyn FnMut(Event) -> Result<Control, LedgerError> + 'v;

/// Hands out the stored bytes of a stream in order, one at a time, from one consistent view.
pub trait Scanner {
    /// Visits the frames of `stream` from `from` on.
    ///
    /// # Errors
    /// Storage faults, and whatever the visitor returns.
    fn scan(
        &self,
        stream: &StreamId,
        from: Seq,
        visit: &mut Scan<'_>,
    ) -> Result<ScanEnd, LedgerError>;
}

/// Reads events of a stream from `from` on, each checked against the chain, one in memory at a
/// time. Only headers are decoded unless `words`.
///
/// # Errors
/// [`LedgerError::Damaged`] at the first event whose hash or form does not fit; storage faults;
/// whatever the visitor returns.
pub fn each_event(
    ledger: &dyn Scanner,
    stream: &StreamId,
    from: Seq,
    words: bool,
    visit: &mut Visit<'_>,
) -> Result<ScanEnd, LedgerError> {
    let mut chain = Chain::new();
    each_frame(ledger, stream, from, &mut chain, &mut |seq, frame| {
        visit(frame.event(stream, seq, words)?)
    })
}

/// Takes each checked frame in turn.
pub(crate) type FrameVisit<'v> = dyn FnMut(Seq, &Frame<'_>) -> Result<Control, LedgerError> + 'v;

/// Visits frames with their hashes checked: the one before `from` gives the hash to start with.
pub(crate) fn each_frame(
    ledger: &dyn Scanner,
    stream: &StreamId,
    from: Seq,
    chain: &mut Chain,
    visit: &mut FrameVisit<'_>,
) -> Result<ScanEnd, LedgerError> {
    let first = Seq(from.0.saturating_sub(1));
    let mut wanted = first;
    let mut prev: Option<Digest> = (from.0 == 0).then_some(Digest::ZERO);
    ledger.scan(stream, first, &mut |seq, bytes| {
        if seq != wanted {
            return Err(damaged(stream, wanted, &"it is missing"));
        }
        wanted = seq.next();
        let frame = Frame::parse(bytes).map_err(|e| damaged(stream, seq, &e))?;
        let Some(before) = prev else {
            prev = Some(frame.hash);
            return Ok(Control::Next);
        };
        if frame.computed(chain, &before) != frame.hash {
            return Err(damaged(stream, seq, &"its hash does not fit"));
        }
        prev = Some(frame.hash);
        visit(seq, &frame)
    })
}

/// Up to `limit` events, for [`pcbflow_core::ports::Ledger::read`].
pub(crate) fn collect(
    ledger: &dyn Scanner,
    stream: &StreamId,
    from: Seq,
    limit: usize,
    words: bool,
) -> Result<Vec<Event>, LedgerError> {
    let mut events = Vec::new();
    if limit == 0 {
        return Ok(events);
    }
    each_event(ledger, stream, from, words, &mut |event| {
        events.push(event);
        Ok(if events.len() < limit { Control::Next } else { Control::Stop })
    })?;
    Ok(events)
}
