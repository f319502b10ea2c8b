//! Whole streams in one file, byte for byte, and back; with the stored evidence that their events
//! name, or without it.
//!
//! ```text
//! file     = magic | stream... | evidence... | 0 (1) | BLAKE3 of everything before (32)
//! magic    = "pcbflow export 1\n" without evidence, "pcbflow export 2\n" with it
//! stream   = 1 (1) | name length (2) | name | events (8) | event...
//! event    = frame length (4) | frame          numbers are little-endian
//! evidence = 2 (1) | digest (32) | packed length (4) | zstd frame, in the order of digests
//! ```

mod evidence;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use pcbflow_core::event::Fact;
use pcbflow_core::ids::{Digest, LedgerId, Seq, StreamId};
use pcbflow_core::ports::LedgerError;

use self::evidence::Named;
use crate::blobs::FileBlobs;
use crate::engine::{self, EVENTS, Handle};
use crate::fault;
use crate::frame::{EVENT_BYTES_MAX, Frame, damaged};
use crate::hash::Chain;
use crate::open::{Mode, OpenOptions, open};
use crate::read::{Control, each_frame};
use crate::verify::Store;

/// First line of an export without evidence, which every release reads.
const MAGIC: &[u8; 17] = b"pcbflow export 1\n";
/// First line of an export with evidence.
const MAGIC_EVIDENCE: &[u8; 17] = b"pcbflow export 2\n";

/// Largest frame in an export: the event and its frame, in bytes.
const FRAME_BYTES_MAX: usize = EVENT_BYTES_MAX + 64;

/// What an export or import moved.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct Moved {
    /// Events of each stream in the file.
    pub streams: BTreeMap<StreamId, u64>,
    /// Events that were new here; the rest was there already. 0 for an export.
    pub fresh: u64,
    /// Pieces of stored evidence in the file.
    pub evidence: u64,
    /// Pieces that were new here; 0 for an export.
    pub evidence_fresh: u64,
    /// Pieces that the events name and that did not travel: gone or damaged where they were.
    pub evidence_left_out: u64,
}

fn refused(why: impl Into<String>) -> LedgerError {
    LedgerError::Refused { why: why.into() }
}

struct Hashing<W> {
    inner: W,
    hasher: blake3::Hasher,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let n = self.inner.write(bytes)?;
        self.hasher.update(bytes.get(..n).unwrap_or_default());
        Ok(n)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

/// Writes whole streams to `out`, each checked on the way; all streams when `only` is empty. With
/// `blobs`, the evidence that their events name goes with them.
///
/// # Errors
/// Damage of a stream, an unknown stream, faults of storage and of `out`.
pub fn export(
    ledger: &dyn Store,
    only: &[StreamId],
    blobs: Option<&FileBlobs>,
    out: impl Write,
) -> Result<Moved, LedgerError> {
    let fail = |e: std::io::Error| fault::io("writing the export", &e);
    let streams = if only.is_empty() { ledger.streams()? } else { only.to_vec() };
    let mut out = Hashing { inner: BufWriter::new(out), hasher: blake3::Hasher::new() };
    let mut moved = Moved::default();
    let mut named = Named::default();
    out.write_all(if blobs.is_some() { MAGIC_EVIDENCE } else { MAGIC }).map_err(fail)?;
    for stream in streams {
        let Some(head) = ledger.head(&stream)? else {
            return Err(LedgerError::NotFound { what: format!("stream {stream}") });
        };
        let count = head.seq.0 + 1;
        let name = stream.to_string();
        let length = u16::try_from(name.len()).map_err(|_| refused("a stream name too long"))?;
        out.write_all(&[1]).map_err(fail)?;
        out.write_all(&length.to_le_bytes()).map_err(fail)?;
        out.write_all(name.as_bytes()).map_err(fail)?;
        out.write_all(&count.to_le_bytes()).map_err(fail)?;
        let mut chain = Chain::new();
        let mut frame_bytes = Vec::new();
        each_frame(ledger, &stream, Seq(0), &mut chain, &mut |seq, frame| {
            frame_bytes.clear();
            frame.write(&mut frame_bytes);
            let length = u32::try_from(frame_bytes.len()).unwrap_or(u32::MAX);
            out.write_all(&length.to_le_bytes()).map_err(fail)?;
            out.write_all(&frame_bytes).map_err(fail)?;
            if blobs.is_some() {
                named.see(&frame.event(&stream, seq, true)?.fact);
            }
            // Events that came after the head was read belong to the next export.
            Ok(if seq == head.seq { Control::Stop } else { Control::Next })
        })?;
        moved.streams.insert(stream, count);
    }
    if let Some(blobs) = blobs {
        (moved.evidence, moved.evidence_left_out) = evidence::write(blobs, &named, &mut out)?;
    }
    out.write_all(&[0]).map_err(fail)?;
    let digest = out.hasher.finalize();
    out.inner.write_all(digest.as_bytes()).map_err(fail)?;
    out.inner.flush().map_err(fail)?;
    Ok(moved)
}

/// Takes each frame of an export, as bytes and parsed.
type Walk<'w> = dyn FnMut(&StreamId, Seq, &[u8], &Frame<'_>) -> Result<(), LedgerError> + 'w;
/// Takes each piece of evidence of an export, packed.
type Pieces<'w> = dyn FnMut(Digest, &[u8]) -> Result<(), LedgerError> + 'w;

/// Reads an export, frame by frame.
struct Reader<R> {
    inner: R,
    hasher: blake3::Hasher,
}

impl<R: Read> Reader<R> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], LedgerError> {
        let mut bytes = [0u8; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), LedgerError> {
        self.inner.read_exact(bytes).map_err(|e| match e.kind() {
            std::io::ErrorKind::UnexpectedEof => refused("the export is cut short"),
            _ => fault::io("reading the export", &e),
        })?;
        self.hasher.update(bytes);
        Ok(())
    }

    /// Visits every frame and every piece of evidence, and checks each chain and the file's own
    /// digest. What a piece holds is checked by who takes it.
    fn walk(mut self, visit: &mut Walk<'_>, piece: &mut Pieces<'_>) -> Result<(), LedgerError> {
        let unknown = || refused("the file is not an export that this release knows");
        let head = self.take::<17>().map_err(|e| match e {
            // Too short to say what it is.
            LedgerError::Refused { .. } => unknown(),
            other => other,
        })?;
        let with_evidence = match &head {
            MAGIC => false,
            MAGIC_EVIDENCE => true,
            _ => return Err(unknown()),
        };
        let mut chain = Chain::new();
        let mut buffer = Vec::new();
        let mut mark = self.take::<1>()?;
        while mark == [1] {
            let mut name = vec![0u8; usize::from(u16::from_le_bytes(self.take()?))];
            self.fill(&mut name)?;
            let stream: StreamId = String::from_utf8(name)
                .ok()
                .and_then(|name| name.parse().ok())
                .ok_or_else(|| refused("a stream name is unreadable"))?;
            let count = u64::from_le_bytes(self.take()?);
            let mut prev = Digest::ZERO;
            for seq in (0..count).map(Seq) {
                let length = u32::from_le_bytes(self.take()?) as usize;
                if length > FRAME_BYTES_MAX {
                    return Err(refused(format!("an event of {length} bytes")));
                }
                buffer.resize(length, 0);
                self.fill(&mut buffer)?;
                let frame = Frame::parse(&buffer).map_err(|e| damaged(&stream, seq, &e))?;
                if frame.computed(&mut chain, &prev) != frame.hash {
                    return Err(damaged(&stream, seq, &"its hash does not fit"));
                }
                prev = frame.hash;
                visit(&stream, seq, &buffer, &frame)?;
            }
            mark = self.take()?;
        }
        let mut last = None;
        while with_evidence && mark == [evidence::MARK] {
            let digest = Digest(self.take()?);
            let length = u32::from_le_bytes(self.take()?) as usize;
            if length > evidence::PACKED_BYTES_MAX || last >= Some(digest) {
                return Err(refused("evidence in the file is too large or out of order"));
            }
            last = Some(digest);
            buffer.resize(length, 0);
            self.fill(&mut buffer)?;
            piece(digest, &buffer)?;
            mark = self.take()?;
        }
        if mark != [0] {
            return Err(refused("the export holds what this release does not know"));
        }
        let wanted = *self.hasher.finalize().as_bytes();
        if self.take::<32>()? != wanted {
            return Err(refused("the export's own digest does not fit"));
        }
        Ok(())
    }
}

fn reader(file: &File) -> Result<Reader<BufReader<&File>>, LedgerError> {
    let mut inner = BufReader::with_capacity(1 << 20, file);
    inner.seek(SeekFrom::Start(0)).map_err(|e| fault::io("reading the export", &e))?;
    Ok(Reader { inner, hasher: blake3::Hasher::new() })
}

/// What the first reading of an export found.
#[derive(Default)]
struct Content {
    /// Events, and the hash at the place where this ledger's own stream ends, of each stream.
    streams: BTreeMap<StreamId, (u64, Option<Digest>)>,
    genesis: Option<LedgerId>,
    named: Named,
}

/// Takes whole streams from an export, all or nothing. What is here already must be a beginning
/// of what is in the file, or the other way round; a forked stream is refused. A ledger that was
/// made for this import takes the id of the first stream. Evidence in the file is stored in
/// `blobs` before the first event that names it; what was removed here for good stays removed.
///
/// # Errors
/// [`LedgerError::Refused`] for a partial, damaged, foreign or forked file, and everything that
/// [`open`] answers about the record here.
pub fn import(
    options: &OpenOptions,
    blobs: Option<&FileBlobs>,
    file: &Path,
) -> Result<Moved, LedgerError> {
    let file = File::open(file).map_err(|e| fault::io("opening the export", &e))?;
    // Before anything is made here: a bad file leaves nothing behind.
    let mut fits = |digest: Digest, packed: &[u8]| match evidence::fits(&digest, packed) {
        true => Ok(()),
        false => Err(refused("evidence in the file is not what its digest says")),
    };
    reader(&file)?.walk(&mut |_, _, _, _| Ok(()), &mut fits).map_err(|e| match e {
        // It is the file that is bad; the record here was not even opened.
        LedgerError::Damaged { what } => refused(format!("the export is damaged: {what}")),
        other => other,
    })?;
    let opened = open(&OpenOptions { mode: Mode::Write, ..options.clone() })?;
    let ledger = opened.ledger;
    let fresh_ledger = pcbflow_core::ports::Ledger::streams(ledger.as_ref())?.is_empty();
    let mut heads = BTreeMap::new();
    for stream in pcbflow_core::ports::Ledger::streams(ledger.as_ref())? {
        if let Some(head) = pcbflow_core::ports::Ledger::head(ledger.as_ref(), &stream)? {
            heads.insert(stream, head);
        }
    }
    let content = look(&file, &heads)?;
    for (stream, (count, at_head)) in &content.streams {
        let Some(head) = heads.get(stream) else { continue };
        if *count > head.seq.0 && *at_head != Some(head.hash) {
            return Err(refused(format!("{stream} here and in the file have parted ways")));
        }
    }
    let mut moved = Moved::default();
    if let Some(blobs) = blobs {
        pieces(ledger.as_ref(), blobs, &file, &content.named, &mut moved)?;
    }
    let fresh = ledger.with_handle(|handle| write(handle, &file, &heads, fresh_ledger, &content));
    drop(ledger);
    moved.fresh = fresh?;
    // Opened once more, so that id, heads and known heads are those of what is there now.
    drop(open(&OpenOptions { mode: Mode::Write, ..options.clone() })?);
    moved.streams = content.streams.into_iter().map(|(s, (n, _))| (s, n)).collect();
    Ok(moved)
}

/// Reads what is in an export.
fn look(
    file: &File,
    heads: &BTreeMap<StreamId, pcbflow_core::ports::Head>,
) -> Result<Content, LedgerError> {
    let mut content = Content::default();
    let mut visit = |stream: &StreamId, seq: Seq, _: &[u8], frame: &Frame<'_>| {
        let event = frame.event(stream, seq, true)?;
        content.named.see(&event.fact);
        if let Fact::StreamOpened { ledger, .. } = event.fact
            && content.genesis.is_none()
        {
            content.genesis = Some(ledger);
        }
        let slot = content.streams.entry(stream.clone()).or_default();
        slot.0 += 1;
        if heads.get(stream).is_some_and(|head| head.seq == seq) {
            slot.1 = Some(frame.hash);
        }
        Ok(())
    };
    reader(file)?.walk(&mut visit, &mut |_, _| Ok(()))?;
    Ok(content)
}

/// Stores the evidence of an export.
fn pieces(
    ledger: &dyn Store,
    blobs: &FileBlobs,
    file: &File,
    named: &Named,
    moved: &mut Moved,
) -> Result<(), LedgerError> {
    let removed = evidence::removed_here(ledger)?;
    reader(file)?.walk(&mut |_, _, _, _| Ok(()), &mut |digest, packed| {
        if !named.wants(&digest) {
            return Err(refused("the file holds evidence that none of its events names"));
        }
        moved.evidence += 1;
        if !removed.contains(&digest) && evidence::keep(blobs, &digest, packed)? {
            moved.evidence_fresh += 1;
        }
        Ok(())
    })
}

fn write(
    handle: &Handle,
    file: &File,
    heads: &BTreeMap<StreamId, pcbflow_core::ports::Head>,
    fresh_ledger: bool,
    content: &Content,
) -> Result<u64, LedgerError> {
    let doing = "importing events";
    let txn = handle.begin_write()?;
    if let (true, Some(id)) = (fresh_ledger, &content.genesis) {
        engine::write_meta(&txn, id)?;
    }
    let mut fresh = 0;
    {
        let mut events = txn.open_table(EVENTS).map_err(|e| fault::engine(doing, e))?;
        let mut number: Option<(StreamId, u32)> = None;
        let mut visit = |stream: &StreamId, seq: Seq, bytes: &[u8], frame: &Frame<'_>| {
            let number = match &number {
                Some((of, number)) if of == stream => *number,
                _ => {
                    let found = engine::number_for_write(&txn, stream)?;
                    number = Some((stream.clone(), found));
                    found
                }
            };
            if heads.get(stream).is_some_and(|head| seq <= head.seq) {
                let here = engine::hash_at(&events, stream, number, seq)?;
                if here != Some(frame.hash) {
                    return Err(refused(format!(
                        "{stream} here and in the file have parted ways at event {seq}"
                    )));
                }
                return Ok(());
            }
            fresh += 1;
            let moved = events.insert((number, seq.0), bytes).map_err(|e| fault::engine(doing, e));
            match moved?.is_some() {
                true => Err(refused(format!("{stream} has grown meanwhile"))),
                false => Ok(()),
            }
        };
        reader(file)?.walk(&mut visit, &mut |_, _| Ok(()))?;
    }
    txn.commit().map_err(|e| fault::engine(doing, e))?;
    Ok(fresh)
}
