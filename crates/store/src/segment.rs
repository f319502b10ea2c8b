//! Going on after damage: the old file is put aside, a new ledger names the old heads.
//!
//! Nothing is repaired in place. Only a person decides to go on; this is what happens then.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use pcbflow_core::event::{Actor, Fact, NewEvent, Words};
use pcbflow_core::ids::{LedgerId, Scope, StreamId};
use pcbflow_core::ports::{Expect, Head, Ledger, LedgerError};
use pcbflow_core::time::Timestamp;

use crate::fault;
use crate::heads::KnownHeads;
use crate::open::{Mode, OpenOptions, Opened, lock_file, open, sync_folder};
use crate::verify::{VerifyOptions, verify};

/// A ledger that was put aside, and the one that goes on.
#[derive(Debug)]
pub struct StartedOver {
    /// The new ledger.
    pub opened: Opened,
    /// The old file, named by its digest; `None` when there was none.
    pub aside: Option<PathBuf>,
    /// Heads of the old ledger that the new one names.
    pub adopted: BTreeMap<StreamId, Head>,
}

/// Puts a damaged, cut or lost ledger aside and starts a new one, whose streams begin with the
/// last good heads of the old one. No verdict is taken over.
///
/// # Errors
/// [`LedgerError::Refused`] while another process has the ledger open; storage faults.
pub fn start_over(options: &OpenOptions, at: Timestamp) -> Result<StartedOver, LedgerError> {
    let options = OpenOptions { mode: Mode::Write, ..options.clone() };
    let known = options.known_heads();
    let aside = put_aside(&options.path)?;
    let old = aside.as_deref().and_then(|file| last_good(file, &options));
    let (id, adopted) = match (old, known.as_ref()) {
        (Some((id, heads)), _) => (Some(id), heads),
        (None, Some(known)) => {
            let id = known.current();
            let heads = id.as_ref().map(|id| known.heads(id)).unwrap_or_default();
            (id, heads)
        }
        (None, None) => (None, BTreeMap::new()),
    };
    known.as_ref().map_or(Ok(()), KnownHeads::forget)?;
    let opened = open(&options)?;
    if let Some(id) = id {
        for (stream, head) in &adopted {
            let event = adopted_event(&id, *head, at);
            opened.ledger.append(stream, Expect::Empty, &[event])?;
        }
    }
    opened.ledger.note_heads();
    Ok(StartedOver { opened, aside, adopted })
}

fn adopted_event(ledger: &LedgerId, head: Head, at: Timestamp) -> NewEvent {
    NewEvent {
        at,
        scope: Scope::default(),
        actor: Actor::Person,
        fact: Fact::SegmentAdopted { ledger: ledger.clone(), seq: head.seq, hash: head.hash },
        words: Words::say("the earlier record was put aside; every step is checked again"),
    }
}

fn put_aside(path: &Path) -> Result<Option<PathBuf>, LedgerError> {
    let fail = |e: std::io::Error| fault::io("putting the old record aside", &e);
    if fs::metadata(path).map_or(0, |m| m.len()) == 0 {
        return match fs::remove_file(path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(fail(e)),
            _ => Ok(None),
        };
    }
    let lock = File::options().create(true).append(true).open(lock_file(path)).map_err(fail)?;
    if lock.try_lock().is_err() {
        let why = "another pcbflow has the record open; close it and try again".to_owned();
        return Err(LedgerError::Refused { why });
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(path).map_err(fail)?).map_err(fail)?;
    let digest = pcbflow_core::ids::Digest(*hasher.finalize().as_bytes());
    let aside = path.with_file_name(format!("ledger-aside-{}.redb", digest.short()));
    fs::rename(path, &aside).map_err(fail)?;
    sync_folder(path);
    Ok(Some(aside))
}

/// Id and last good heads of a file, as far as it can be read. It is not written: reading a
/// copy keeps even the repair of a killed writer out of it.
fn last_good(file: &Path, options: &OpenOptions) -> Option<(LedgerId, BTreeMap<StreamId, Head>)> {
    let folder = tempfile::tempdir().ok()?;
    let copy = folder.path().join("ledger.redb");
    fs::copy(file, &copy).ok()?;
    let blind = OpenOptions { path: copy, state_home: None, mode: Mode::Read, ..options.clone() };
    // The end may be what is bad; then only the known heads are left to name.
    let opened = open(&blind).ok()?;
    let report = verify(opened.ledger.as_ref(), &VerifyOptions::default()).ok()?;
    let heads = report.streams.into_iter().filter_map(|stream| {
        let seq = pcbflow_core::ids::Seq(stream.events.checked_sub(1)?);
        Some((stream.stream, Head { seq, hash: stream.head? }))
    });
    Some((report.ledger, heads.collect()))
}
