//! How much there is of what.

use std::collections::BTreeMap;

use pcbflow_core::ids::{LedgerId, Seq, StreamId};
use pcbflow_core::ports::LedgerError;
use pcbflow_core::projection::tables::fact_name;
use pcbflow_core::time::Timestamp;
use serde::Serialize;

use crate::blobs::{BlobStats, FileBlobs};
use crate::read::{Control, each_frame};
use crate::verify::Store;

/// Numbers of one stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StreamStats {
    /// The stream.
    pub stream: StreamId,
    /// Events.
    pub events: u64,
    /// Their headers and bodies in bytes, as stored.
    pub bytes: u64,
    /// Time of the first event, RFC 3339.
    pub first: Option<String>,
    /// Time of the last event, RFC 3339.
    pub last: Option<String>,
    /// Events by what happened.
    pub by_event: BTreeMap<String, u64>,
}

/// Numbers of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Its id.
    pub ledger: LedgerId,
    /// Its streams.
    pub streams: Vec<StreamStats>,
    /// Size of its file in bytes.
    pub file_bytes: u64,
    /// Its evidence.
    pub blobs: BlobStats,
}

/// Counts everything.
///
/// # Errors
/// Storage faults, damage included.
pub fn stats(
    ledger: &dyn Store,
    file: Option<&std::path::Path>,
    blobs: Option<&FileBlobs>,
) -> Result<Stats, LedgerError> {
    let mut streams = Vec::new();
    for stream in ledger.streams()? {
        streams.push(one(ledger, stream)?);
    }
    let file_bytes = file.and_then(|f| std::fs::metadata(f).ok()).map_or(0, |m| m.len());
    let blobs = blobs.map(FileBlobs::stats).transpose()?.unwrap_or_default();
    Ok(Stats { ledger: ledger.id(), streams, file_bytes, blobs })
}

fn one(ledger: &dyn Store, stream: StreamId) -> Result<StreamStats, LedgerError> {
    let mut stats = StreamStats {
        stream: stream.clone(),
        events: 0,
        bytes: 0,
        first: None,
        last: None,
        by_event: BTreeMap::new(),
    };
    let mut chain = crate::hash::Chain::new();
    let (mut first, mut last): (Option<Timestamp>, Option<Timestamp>) = (None, None);
    each_frame(ledger, &stream, Seq(0), &mut chain, &mut |seq, frame| {
        let event = frame.event(&stream, seq, false)?;
        stats.events += 1;
        stats.bytes += frame.event_bytes();
        first = first.or(Some(event.at));
        last = Some(event.at);
        *stats.by_event.entry(fact_name(&event.fact)).or_default() += 1;
        Ok(Control::Next)
    })?;
    stats.first = first.map(|t| t.to_string());
    stats.last = last.map(|t| t.to_string());
    Ok(stats)
}
