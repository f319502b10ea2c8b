//! One write transaction for a group of appends, and what happens when it fails.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pcbflow_core::ids::StreamId;
use pcbflow_core::ports::{Head, LedgerError};
use redb::{ReadableTable, WriteTransaction};

use super::{NOTE_EVERY_MS, RedbLedger, lock};
use crate::engine::{self, EVENTS, FOLDS};
use crate::fault;
use crate::frame::{Frame, Sealer, writable_tail};
use crate::group::Ticket;
use crate::hash::Chain;
use crate::reserve::Reserve;

/// One result for each append of a group, and the error that ended the group, if one did.
struct Tried {
    results: Vec<Result<Head, LedgerError>>,
    failed: Option<LedgerError>,
}

impl RedbLedger {
    pub(super) fn commit(&self, group: &[Arc<Ticket>]) -> Vec<Result<Head, LedgerError>> {
        let first = self.try_commit(group);
        let Some(failed) = first.failed else { return first.results };
        if matches!(failed, LedgerError::ReadOnly { .. }) {
            return first.results;
        }
        tracing::warn!(error = %failed, "a commit failed; opening the record again");
        let full = matches!(failed, LedgerError::DiskFull { .. });
        let gave = full && self.reserve.as_ref().is_some_and(Reserve::give_up);
        if full {
            self.space_short.store(true, Ordering::Relaxed);
        }
        if let Err(e) = self.reopen(true) {
            tracing::warn!(error = %e, "the record can't be opened again");
            return group.iter().map(|_| Err(fault::again(&failed))).collect();
        }
        // A commit that reported a fault may still be seen, but is it durable? Not acknowledged
        // and not tried again: the caller reads, folds and sees for itself.
        let seen = first.results.iter().zip(group).any(|(result, ticket)| match result {
            Ok(head) => self.has(&ticket.stream, *head).unwrap_or(true),
            Err(_) => false,
        });
        if gave && !seen {
            let second = self.try_commit(group);
            match second.failed {
                None => return second.results,
                Some(_) => {
                    if let Err(e) = self.reopen(true) {
                        tracing::warn!(error = %e, "the record can't be opened again");
                    }
                }
            }
        }
        first
            .results
            .into_iter()
            .map(|result| result.and_then(|_| Err(fault::again(&failed))))
            .collect()
    }

    fn has(&self, stream: &StreamId, head: Head) -> Result<bool, LedgerError> {
        let txn = self.read_txn()?;
        let Some(number) = engine::stream_numbers(&txn)?.get(stream).copied() else {
            return Ok(false);
        };
        let events = txn.open_table(EVENTS).map_err(|e| fault::engine("reading the record", e))?;
        Ok(engine::hash_at(&events, stream, number, head.seq)? == Some(head.hash))
    }

    fn try_commit(&self, group: &[Arc<Ticket>]) -> Tried {
        let mut results = Vec::with_capacity(group.len());
        let done = self.with_handle(|handle| {
            let txn = handle.begin_write()?;
            self.fill(&txn, group, &mut results)?;
            if results.iter().all(Result::is_err) {
                return txn.abort().map_err(|e| fault::engine("giving up a write", e));
            }
            self.put_folds(&txn)?;
            txn.commit().map_err(|e| fault::engine("committing events", e))
        });
        let failed = done.err();
        if let Some(e) = &failed {
            while results.len() < group.len() {
                results.push(Err(fault::again(e)));
            }
        } else {
            self.committed(group, &results);
        }
        Tried { results, failed }
    }

    /// Puts every append of the group into the transaction. A storage fault ends the group; an
    /// append that may not be done only fails itself.
    fn fill(
        &self,
        txn: &WriteTransaction,
        group: &[Arc<Ticket>],
        results: &mut Vec<Result<Head, LedgerError>>,
    ) -> Result<(), LedgerError> {
        let doing = "appending events";
        let mut chain = Chain::new();
        let mut events = txn.open_table(EVENTS).map_err(|e| fault::engine(doing, e))?;
        let mut heads: BTreeMap<&StreamId, (Option<u32>, Option<Head>)> = BTreeMap::new();
        for ticket in group {
            let stream = &ticket.stream;
            if !heads.contains_key(stream) {
                heads.insert(stream, self.look_up(txn, &events, stream)?);
            }
            let (number, head) = heads.get(stream).copied().unwrap_or_default();
            // Frames first, table after: an append that is refused leaves nothing behind.
            let mut frames = Vec::with_capacity(ticket.events.len() + 1);
            let mut sealer =
                Sealer { chain: &mut chain, ledger: &self.id, salts: self.salts.as_ref() };
            let sealed = check_tail(&events, number, head).and_then(|()| {
                sealer.seal(stream, head, ticket.expect, &ticket.events, &mut |seq, frame| {
                    frames.push((seq, frame.to_vec()));
                    Ok(())
                })
            });
            if let Ok(head) = &sealed {
                let number = match number {
                    Some(number) => number,
                    None => engine::number_for_write(txn, stream)?,
                };
                let bytes: usize = frames.iter().map(|(_, frame)| frame.len()).sum();
                self.appended_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
                for (seq, frame) in &frames {
                    events
                        .insert((number, seq.0), frame.as_slice())
                        .map_err(|e| fault::engine(doing, e))?;
                }
                heads.insert(stream, (Some(number), Some(*head)));
            }
            results.push(sealed);
        }
        Ok(())
    }

    fn look_up(
        &self,
        txn: &WriteTransaction,
        events: &impl ReadableTable<(u32, u64), &'static [u8]>,
        stream: &StreamId,
    ) -> Result<(Option<u32>, Option<Head>), LedgerError> {
        let doing = "appending events";
        let cached = lock(&self.numbers).get(stream).copied();
        let number = match cached {
            Some(number) => Some(number),
            None => {
                let streams =
                    txn.open_table(engine::STREAMS).map_err(|e| fault::engine(doing, e))?;
                let found = streams.get(stream.to_string().as_str());
                let found = found.map_err(|e| fault::engine(doing, e))?.map(|n| n.value());
                if let Some(number) = found {
                    // Looked up before this transaction adds any: it is in the file for good.
                    lock(&self.numbers).insert(stream.clone(), number);
                }
                found
            }
        };
        let head = match number {
            Some(number) => engine::head(events, stream, number)?,
            None => None,
        };
        Ok((number, head))
    }

    pub(super) fn put_folds(&self, txn: &WriteTransaction) -> Result<(), LedgerError> {
        let doing = "storing a fold";
        let folds = lock(&self.folds);
        if folds.is_empty() {
            return Ok(());
        }
        let mut table = txn.open_table(FOLDS).map_err(|e| fault::engine(doing, e))?;
        for ((stream, projection, version), (at, bytes)) in folds.iter() {
            let number = engine::number_for_write(txn, stream)?;
            let mut value = at.seq.0.to_le_bytes().to_vec();
            value.extend_from_slice(&at.hash.0);
            value.extend_from_slice(bytes);
            table
                .insert((number, projection.as_str(), *version), value.as_slice())
                .map_err(|e| fault::engine(doing, e))?;
        }
        Ok(())
    }

    fn committed(&self, group: &[Arc<Ticket>], results: &[Result<Head, LedgerError>]) {
        if results.iter().any(Result::is_ok) {
            lock(&self.folds).clear();
        }
        let due = {
            let mut noting = lock(&self.noting);
            for (ticket, result) in group.iter().zip(results) {
                if let Ok(head) = result {
                    noting.heads.insert(ticket.stream.clone(), *head);
                    noting.dirty = true;
                }
            }
            noting.last.elapsed() >= Duration::from_millis(NOTE_EVERY_MS)
        };
        if due {
            self.note_heads();
        }
    }
}

fn check_tail(
    events: &impl ReadableTable<(u32, u64), &'static [u8]>,
    number: Option<u32>,
    head: Option<Head>,
) -> Result<(), LedgerError> {
    let (Some(number), Some(head)) = (number, head) else { return Ok(()) };
    let tail = events
        .get((number, head.seq.0))
        .map_err(|e| fault::engine("reading the head of a stream", e))?;
    match tail.as_ref().map(|t| Frame::parse(t.value())) {
        Some(Ok(frame)) => writable_tail(&frame),
        _ => Ok(()),
    }
}
