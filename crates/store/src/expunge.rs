//! Removing the words of one event for good: a secret that was found too late.
//!
//! The header and the digest of the body stay, so the chain verifies. Everything else that may
//! hold the words is rewritten: the ledger file as a new file, blobs and mirrors removed. Then
//! every file is searched, and what still holds a piece of the words is named.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use pcbflow_core::event::{Actor, Event, Fact, NewEvent, Words};
use pcbflow_core::ids::{Digest, Scope, Seq, StreamId};
use pcbflow_core::ports::{Expect, Head, Ledger, LedgerError};
use pcbflow_core::time::Timestamp;
use redb::ReadableTable;

use crate::blobs::{FileBlobs, unpack};
use crate::engine::{self, EVENTS, Handle, STREAMS};
use crate::fault;
use crate::frame::{Body, Frame, Prepared, RandomSalts, Sealer, damaged};
use crate::hash::Chain;
use crate::open::{Mode, OpenOptions, lock_file, open, sync_folder};
use crate::stored;

/// Largest file that the search reads, in bytes; a larger one is named as not searched.
const SEARCH_BYTES_MAX: u64 = 4 << 30;

/// Most files that the search looks at.
const SEARCH_FILES_MAX: usize = 1_000_000;

/// What is to go.
#[derive(Debug, Clone)]
pub struct Expunge<'e> {
    /// Stream of the event.
    pub stream: &'e StreamId,
    /// Its position.
    pub seq: Seq,
    /// Remove the evidence that the event names as well.
    pub blobs: bool,
    /// More texts that must be found nowhere afterwards, such as the secret itself.
    pub needles: &'e [Vec<u8>],
    /// Who asked for it.
    pub actor: Actor,
    /// When.
    pub at: Timestamp,
    /// Why, in words. Must not repeat what is removed.
    pub reason: &'e str,
    /// More folders to search, such as the boards' `.logs`.
    pub search: &'e [PathBuf],
}

/// What went.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Expunged {
    /// False when the body was gone already and only the rest was cleaned up again.
    pub body_removed: bool,
    /// Blobs removed.
    pub blobs_removed: u64,
    /// Files searched.
    pub files_searched: u64,
    /// Files in which a needle was still found, or that could not be searched.
    pub still_found: Vec<String>,
}

impl Expunged {
    /// Whether the bytes are gone.
    #[must_use]
    pub fn is_proven(&self) -> bool {
        self.still_found.is_empty()
    }
}

/// Removes the body of an event. The caller's own handle must be closed first; `mirrors` is
/// called before the search, to delete and rebuild the mirrors of the stream's board.
///
/// # Errors
/// [`LedgerError::Refused`] while any process has the ledger open, or for an event that is a
/// note of an expunge itself; [`LedgerError::NotFound`] when there is no such event; storage
/// faults.
pub fn expunge(
    options: &OpenOptions,
    wanted: &Expunge<'_>,
    mirrors: &mut dyn FnMut(&OpenOptions) -> Result<(), LedgerError>,
) -> Result<Expunged, LedgerError> {
    let options = OpenOptions { mode: Mode::Write, ..options.clone() };
    // Opened once as always: every check of an open holds before anything is touched.
    let opened = open(&options)?;
    let event = event_at(opened.ledger.as_ref(), wanted)?;
    drop(opened);
    let lock = File::options()
        .create(true)
        .append(true)
        .open(lock_file(&options.path))
        .map_err(|e| fault::io("locking the record", &e))?;
    if lock.try_lock().is_err() {
        let why = "another pcbflow has the record open; close it and try again".to_owned();
        return Err(LedgerError::Refused { why });
    }
    let blobs = FileBlobs::new(options.path.with_file_name("blobs"));
    let named = if wanted.blobs { blobs_of(&event) } else { BTreeSet::new() };
    let mut needles: Vec<Vec<u8>> = wanted.needles.to_vec();
    let salt = rewrite(&options, wanted, &named)?;
    let body_removed = salt.is_some();
    needles.extend(salt.map(|s| s.to_vec()));
    drop(lock);
    let mut blobs_removed = 0;
    for digest in &named {
        blobs_removed += u64::from(blobs.remove(digest)?);
    }
    // Notes the new head, so that a lost rewrite is noticed.
    drop(open(&options)?);
    mirrors(&options)?;
    let mut search = Search { needles, files: 0, found: Vec::new() };
    search.folder(options.path.parent().unwrap_or(Path::new(".")), &blobs)?;
    for folder in wanted.search {
        search.folder(folder, &blobs)?;
    }
    Ok(Expunged {
        body_removed,
        blobs_removed,
        files_searched: search.files as u64,
        still_found: search.found,
    })
}

fn event_at(ledger: &dyn Ledger, wanted: &Expunge<'_>) -> Result<Event, LedgerError> {
    let mut events = ledger.read(wanted.stream, wanted.seq, 1, false)?;
    let event = events.pop().ok_or_else(|| LedgerError::NotFound {
        what: format!("event {} of {}", wanted.seq, wanted.stream),
    })?;
    if matches!(event.fact, Fact::BodyExpunged { .. }) {
        let why = "the note of an expunge is not expunged itself".to_owned();
        return Err(LedgerError::Refused { why });
    }
    Ok(event)
}

fn blobs_of(event: &Event) -> BTreeSet<Digest> {
    match &event.fact {
        Fact::AttemptFinished { blobs, .. } => blobs.iter().map(|b| b.digest).collect(),
        Fact::CheckObserved { findings: Some(digest), .. } => BTreeSet::from([*digest]),
        _ => BTreeSet::new(),
    }
}

/// Writes the ledger anew without the body and puts the new file in the place of the old one.
/// The event that says so is in the new file: both come into force with one rename. Gives the
/// salt of the removed body, `None` when it was gone already.
fn rewrite(
    options: &OpenOptions,
    wanted: &Expunge<'_>,
    blobs: &BTreeSet<Digest>,
) -> Result<Option<[u8; 32]>, LedgerError> {
    let doing = "writing the record anew";
    let path = &options.path;
    let fresh_path = path.with_extension("expunge-new");
    match fs::remove_file(&fresh_path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(fault::io(doing, &e)),
        _ => {}
    }
    let old = Handle::open_writer(path)?;
    let fresh = Handle::open_writer(&fresh_path)?;
    let salt = copy_without(&old, &fresh, wanted)?;
    if salt.is_none() {
        drop(fresh);
        fs::remove_file(&fresh_path).map_err(|e| fault::io(doing, &e))?;
        return Ok(None);
    }
    note(&fresh, wanted, blobs)?;
    drop(old);
    drop(fresh);
    File::open(&fresh_path).and_then(|f| f.sync_all()).map_err(|e| fault::io(doing, &e))?;
    fs::rename(&fresh_path, path).map_err(|e| fault::io(doing, &e))?;
    sync_folder(path);
    Ok(salt)
}

fn copy_without(
    old: &Handle,
    fresh: &Handle,
    wanted: &Expunge<'_>,
) -> Result<Option<[u8; 32]>, LedgerError> {
    let doing = "copying events";
    let from = old.begin_read()?;
    let Some((_, id)) = engine::meta(&from)? else {
        return Err(LedgerError::Damaged { what: "it has no id".to_owned() });
    };
    let numbers = engine::stream_numbers(&from)?;
    let target = numbers.get(wanted.stream).copied();
    let to = fresh.begin_write()?;
    engine::write_meta(&to, &id)?;
    let mut salt = None;
    {
        let mut streams = to.open_table(STREAMS).map_err(|e| fault::engine(doing, e))?;
        for (stream, number) in &numbers {
            streams
                .insert(stream.to_string().as_str(), *number)
                .map_err(|e| fault::engine(doing, e))?;
        }
        let source = from.open_table(EVENTS).map_err(|e| fault::engine(doing, e))?;
        let mut events = to.open_table(EVENTS).map_err(|e| fault::engine(doing, e))?;
        for entry in source.iter().map_err(|e| fault::engine(doing, e))? {
            let (key, value) = entry.map_err(|e| fault::engine(doing, e))?;
            let (number, seq) = key.value();
            if Some(number) == target && seq == wanted.seq.0 {
                let (frame, found) = without_body(wanted, value.value())?;
                salt = found;
                events.insert((number, seq), frame.as_slice())
            } else {
                events.insert((number, seq), value.value())
            }
            .map_err(|e| fault::engine(doing, e))?;
        }
    }
    to.commit().map_err(|e| fault::engine(doing, e))?;
    Ok(salt)
}

fn without_body(
    wanted: &Expunge<'_>,
    bytes: &[u8],
) -> Result<(Vec<u8>, Option<[u8; 32]>), LedgerError> {
    let bad = |e: &dyn std::fmt::Display| damaged(wanted.stream, wanted.seq, e);
    let frame = Frame::parse(bytes).map_err(|e| bad(&e))?;
    let Body::There(body) = frame.body else { return Ok((bytes.to_vec(), None)) };
    let salt = stored::salt_of(body).map_err(|e| bad(&e))?;
    let mut out = Vec::new();
    Frame { body: Body::Gone(frame.body_digest()), ..frame }.write(&mut out);
    Ok((out, Some(salt)))
}

fn note(fresh: &Handle, wanted: &Expunge<'_>, blobs: &BTreeSet<Digest>) -> Result<(), LedgerError> {
    let doing = "noting the expunge";
    let event = NewEvent {
        at: wanted.at,
        scope: Scope::default(),
        actor: wanted.actor,
        fact: Fact::BodyExpunged {
            of_stream: wanted.stream.clone(),
            of_seq: wanted.seq,
            blobs: blobs.iter().copied().collect(),
        },
        words: Words::say(wanted.reason),
    };
    let prepared = [Prepared::new(&event, &RandomSalts)?];
    let read = fresh.begin_read()?;
    let Some((_, id)) = engine::meta(&read)? else {
        return Err(LedgerError::Damaged { what: "it has no id".to_owned() });
    };
    let number = engine::stream_numbers(&read)?.get(wanted.stream).copied().unwrap_or_default();
    let txn = fresh.begin_write()?;
    {
        let mut events = txn.open_table(EVENTS).map_err(|e| fault::engine(doing, e))?;
        let head: Option<Head> = engine::head(&events, wanted.stream, number)?;
        let mut frames = Vec::new();
        let mut chain = Chain::new();
        let mut sealer = Sealer { chain: &mut chain, ledger: &id, salts: &RandomSalts };
        sealer.seal(wanted.stream, head, Expect::Any, &prepared, &mut |seq, frame| {
            frames.push((seq, frame.to_vec()));
            Ok(())
        })?;
        for (seq, frame) in frames {
            events
                .insert((number, seq.0), frame.as_slice())
                .map_err(|e| fault::engine(doing, e))?;
        }
    }
    txn.commit().map_err(|e| fault::engine(doing, e))
}

struct Search {
    needles: Vec<Vec<u8>>,
    files: usize,
    found: Vec<String>,
}

impl Search {
    fn folder(&mut self, folder: &Path, blobs: &FileBlobs) -> Result<(), LedgerError> {
        let fail = |e: std::io::Error| fault::io("searching for removed words", &e);
        let mut waiting = vec![folder.to_owned()];
        while let Some(folder) = waiting.pop() {
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
                Err(e) => return Err(fail(e)),
            };
            for entry in entries {
                let entry = entry.map_err(fail)?;
                let kind = entry.file_type().map_err(fail)?;
                if kind.is_dir() {
                    waiting.push(entry.path());
                } else if kind.is_file() {
                    self.file(&entry.path(), blobs);
                }
                if self.files > SEARCH_FILES_MAX {
                    let why = format!("more than {SEARCH_FILES_MAX} files to search");
                    return Err(LedgerError::Refused { why });
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, blobs: &FileBlobs) {
        self.files += 1;
        let name = path.display().to_string();
        if fs::metadata(path).is_ok_and(|m| m.len() > SEARCH_BYTES_MAX) {
            self.found.push(format!("{name} (too large to search)"));
            return;
        }
        let mut texts = Vec::new();
        match fs::read(path) {
            Ok(bytes) => texts.push(bytes),
            // Gone since it was listed: nothing of it is left.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return,
            Err(e) => return self.found.push(format!("{name} ({e})")),
        }
        if blobs.holds(path)
            && let Ok(bytes) = unpack(path)
        {
            texts.push(bytes);
        }
        let has = |needle: &Vec<u8>| texts.iter().any(|text| contains(text, needle));
        if self.needles.iter().any(has) {
            self.found.push(name);
        }
    }
}

/// Whether `needle` stands anywhere in `text`. An empty needle stands nowhere.
fn contains(text: &[u8], needle: &[u8]) -> bool {
    let Some(first) = needle.first() else { return false };
    let mut rest = text;
    while let Some(at) = rest.iter().position(|b| b == first) {
        rest = rest.get(at..).unwrap_or_default();
        if rest.starts_with(needle) {
            return true;
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    false
}
