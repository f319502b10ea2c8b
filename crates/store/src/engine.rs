//! The storage engine: tables, the one way to open a file, and what lies in it.
//!
//! **Invariant.** Every open of a ledger file, for reading too, goes through [`builder`]: one
//! handle in another mode locks everybody else out. Nothing outside this crate names the engine.

use std::collections::BTreeMap;
use std::path::Path;

use pcbflow_core::ids::{Digest, LedgerId, Seq, StreamId};
use pcbflow_core::ports::{Head, LedgerError};
use redb::{
    Builder, ConcurrencyMode, Database, ReadOnlyDatabase, ReadTransaction, ReadableDatabase,
    ReadableTable, TableDefinition, WriteTransaction,
};

use crate::fault;
use crate::frame::{Frame, damaged};
use crate::hash::Chain;

/// Format of the ledger file: tables, keys, frames. A newer one is never written.
pub const FORMAT_KNOWN: u32 = 1;

/// Memory that the engine may keep of a file, in bytes.
const CACHE_BYTES: usize = 256 << 20;

/// Most streams of one ledger.
const STREAMS_MAX: u32 = 1 << 16;

/// Events at the end of each stream that are checked when a ledger is opened.
const TAIL_EVENTS: u64 = 16;

/// Stream number and position to frame.
pub(crate) const EVENTS: TableDefinition<(u32, u64), &[u8]> = TableDefinition::new("events");
/// Stream name to stream number.
pub(crate) const STREAMS: TableDefinition<&str, u32> = TableDefinition::new("streams");
/// `format` and `id`.
pub(crate) const META: TableDefinition<&str, &[u8]> = TableDefinition::new("meta");
/// Stream number, projection and version to position (8), hash (32) and fold.
pub(crate) const FOLDS: TableDefinition<(u32, &str, u32), &[u8]> = TableDefinition::new("folds");

const META_FORMAT: &str = "format";
const META_ID: &str = "id";

/// The one way in which this crate opens a ledger file.
pub(crate) fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_concurrency_mode(ConcurrencyMode::MultiWriter).set_cache_size(CACHE_BYTES);
    builder
}

/// An open file.
pub(crate) enum Handle {
    Writer(Database),
    Reader(ReadOnlyDatabase),
}

impl Handle {
    pub(crate) fn open_writer(path: &Path) -> Result<Handle, LedgerError> {
        match builder().create(path) {
            Ok(db) => Ok(Handle::Writer(db)),
            Err(e) => Err(fault::engine("opening the record for writing", e)),
        }
    }

    /// Closes the file; what goes wrong is said, where a drop would hide it.
    pub(crate) fn close(self) -> Result<(), LedgerError> {
        match self {
            Handle::Writer(db) => close(db),
            Handle::Reader(db) => db.close().map_err(|e| fault::engine("closing the record", e)),
        }
    }

    pub(crate) fn begin_read(&self) -> Result<ReadTransaction, LedgerError> {
        let txn = match self {
            Handle::Writer(db) => db.begin_read(),
            Handle::Reader(db) => db.begin_read(),
        };
        txn.map_err(|e| fault::engine("reading the record", e))
    }

    pub(crate) fn begin_write(&self) -> Result<WriteTransaction, LedgerError> {
        match self {
            Handle::Writer(db) => {
                db.begin_write().map_err(|e| fault::engine("starting a write", e))
            }
            Handle::Reader(_) => {
                Err(LedgerError::ReadOnly { what: "it was opened for reading".to_owned() })
            }
        }
    }
}

/// Closes a file that was open for writing.
pub(crate) fn close(db: Database) -> Result<(), LedgerError> {
    db.close().map_err(|e| fault::engine("closing the record", e))
}

/// What a read-only look at the file found.
pub(crate) enum Look {
    Clean(ReadOnlyDatabase),
    /// The last writer was killed; opening for writing repairs it.
    NeedsRepair,
}

pub(crate) fn look(path: &Path) -> Result<Look, LedgerError> {
    match builder().open_read_only(path) {
        Ok(db) => Ok(Look::Clean(db)),
        Err(redb::DatabaseError::RepairAborted) => Ok(Look::NeedsRepair),
        Err(e) => Err(fault::engine("opening the record", e)),
    }
}

/// Format and id of an open ledger, `None` when nothing was ever written to it.
pub(crate) fn meta(txn: &ReadTransaction) -> Result<Option<(u32, LedgerId)>, LedgerError> {
    let doing = "reading the record's own data";
    let table = match txn.open_table(META) {
        Ok(table) => table,
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
        Err(e) => return Err(fault::engine(doing, e)),
    };
    let get = |key| table.get(key).map_err(|e| fault::engine(doing, e));
    let (Some(format), Some(id)) = (get(META_FORMAT)?, get(META_ID)?) else {
        return Err(LedgerError::Damaged { what: "it has no format or no id".to_owned() });
    };
    let format = <[u8; 4]>::try_from(format.value())
        .map(u32::from_le_bytes)
        .map_err(|_| LedgerError::Damaged { what: "its format is unreadable".to_owned() })?;
    let id = std::str::from_utf8(id.value()).ok().and_then(|t| LedgerId::new(t).ok());
    let id = id.ok_or_else(|| LedgerError::Damaged { what: "its id is unreadable".to_owned() })?;
    Ok(Some((format, id)))
}

/// Writes format and id.
pub(crate) fn write_meta(txn: &WriteTransaction, id: &LedgerId) -> Result<(), LedgerError> {
    let doing = "writing the record's own data";
    let mut table = txn.open_table(META).map_err(|e| fault::engine(doing, e))?;
    for (key, value) in
        [(META_FORMAT, &FORMAT_KNOWN.to_le_bytes()[..]), (META_ID, id.as_str().as_bytes())]
    {
        table.insert(key, value).map_err(|e| fault::engine(doing, e))?;
    }
    for result in [
        txn.open_table(EVENTS).map(drop),
        txn.open_table(STREAMS).map(drop),
        txn.open_table(FOLDS).map(drop),
    ] {
        result.map_err(|e| fault::engine(doing, e))?;
    }
    Ok(())
}

/// All streams with their numbers.
pub(crate) fn stream_numbers(
    txn: &ReadTransaction,
) -> Result<BTreeMap<StreamId, u32>, LedgerError> {
    let doing = "reading the list of streams";
    let table = txn.open_table(STREAMS).map_err(|e| fault::engine(doing, e))?;
    let mut streams = BTreeMap::new();
    for entry in table.iter().map_err(|e| fault::engine(doing, e))? {
        let (name, number) = entry.map_err(|e| fault::engine(doing, e))?;
        let stream: StreamId = name.value().parse().map_err(|_| LedgerError::Damaged {
            what: "the name of a stream is unreadable".to_owned(),
        })?;
        streams.insert(stream, number.value());
    }
    Ok(streams)
}

/// Number of a stream, a new one if needed.
pub(crate) fn number_for_write(
    txn: &WriteTransaction,
    stream: &StreamId,
) -> Result<u32, LedgerError> {
    let doing = "adding a stream";
    let mut table = txn.open_table(STREAMS).map_err(|e| fault::engine(doing, e))?;
    let name = stream.to_string();
    if let Some(number) = table.get(name.as_str()).map_err(|e| fault::engine(doing, e))? {
        return Ok(number.value());
    }
    let mut highest = 0;
    for entry in table.iter().map_err(|e| fault::engine(doing, e))? {
        highest = highest.max(entry.map_err(|e| fault::engine(doing, e))?.1.value());
    }
    if highest >= STREAMS_MAX {
        return Err(LedgerError::Refused { why: format!("more than {STREAMS_MAX} streams") });
    }
    table.insert(name.as_str(), highest + 1).map_err(|e| fault::engine(doing, e))?;
    Ok(highest + 1)
}

/// Head of a stream.
pub(crate) fn head(
    events: &impl ReadableTable<(u32, u64), &'static [u8]>,
    stream: &StreamId,
    number: u32,
) -> Result<Option<Head>, LedgerError> {
    let doing = "reading the head of a stream";
    let mut range =
        events.range((number, 0)..=(number, u64::MAX)).map_err(|e| fault::engine(doing, e))?;
    let Some(entry) = range.next_back() else { return Ok(None) };
    let (key, value) = entry.map_err(|e| fault::engine(doing, e))?;
    let seq = Seq(key.value().1);
    let frame = Frame::parse(value.value()).map_err(|e| damaged(stream, seq, &e))?;
    Ok(Some(Head { seq, hash: frame.hash }))
}

/// Hash of one event, `None` when there is none at that place.
pub(crate) fn hash_at(
    events: &impl ReadableTable<(u32, u64), &'static [u8]>,
    stream: &StreamId,
    number: u32,
    seq: Seq,
) -> Result<Option<Digest>, LedgerError> {
    let doing = "reading an event";
    let Some(value) = events.get((number, seq.0)).map_err(|e| fault::engine(doing, e))? else {
        return Ok(None);
    };
    let frame = Frame::parse(value.value()).map_err(|e| damaged(stream, seq, &e))?;
    Ok(Some(frame.hash))
}

/// A stored fold, with the head it says it stands at.
pub(crate) fn fold(
    txn: &ReadTransaction,
    number: u32,
    projection: &str,
    version: u32,
) -> Result<Option<(Head, Vec<u8>)>, LedgerError> {
    let doing = "reading a fold";
    let table = txn.open_table(FOLDS).map_err(|e| fault::engine(doing, e))?;
    let value = table.get((number, projection, version)).map_err(|e| fault::engine(doing, e))?;
    let Some(value) = value else { return Ok(None) };
    // A cache of another form is no cache.
    let Some((seq, rest)) = value.value().split_first_chunk::<8>() else { return Ok(None) };
    let Some((hash, bytes)) = rest.split_first_chunk::<32>() else { return Ok(None) };
    let at = Head { seq: Seq(u64::from_le_bytes(*seq)), hash: Digest(*hash) };
    Ok(Some((at, bytes.to_vec())))
}

/// Checks the last events of each stream; gives the heads and the newest version of a tail.
pub(crate) fn check_tails(
    txn: &ReadTransaction,
    streams: &BTreeMap<StreamId, u32>,
) -> Result<(BTreeMap<StreamId, Head>, u32), LedgerError> {
    let doing = "checking the end of the record";
    let events = txn.open_table(EVENTS).map_err(|e| fault::engine(doing, e))?;
    let mut chain = Chain::new();
    let mut heads = BTreeMap::new();
    let mut version = 0;
    for (stream, &number) in streams {
        let Some(head) = head(&events, stream, number)? else {
            return Err(LedgerError::Damaged { what: format!("{stream} has lost all its events") });
        };
        let last = head.seq.0;
        let first = last.saturating_sub(TAIL_EVENTS);
        let mut prev = (first == 0).then_some(Digest::ZERO);
        let range = events.range((number, first)..=(number, last));
        let mut wanted = Seq(first);
        for entry in range.map_err(|e| fault::engine(doing, e))? {
            let (key, value) = entry.map_err(|e| fault::engine(doing, e))?;
            let seq = Seq(key.value().1);
            let frame = Frame::parse(value.value()).map_err(|e| damaged(stream, seq, &e))?;
            if seq != wanted {
                return Err(damaged(stream, wanted, &"it is missing"));
            }
            wanted = seq.next();
            if prev.is_some_and(|prev| frame.computed(&mut chain, &prev) != frame.hash) {
                return Err(damaged(stream, seq, &"its hash does not fit"));
            }
            prev = Some(frame.hash);
            version = version.max(crate::stored::version_of(frame.header).unwrap_or(0));
        }
        if wanted != head.seq.next() {
            return Err(damaged(stream, wanted, &"it can't be reached"));
        }
        heads.insert(stream.clone(), head);
    }
    Ok((heads, version))
}
