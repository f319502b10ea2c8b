//! Opening a ledger: what is refused, what is repaired, what is new.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcbflow_core::ids::{LedgerId, StreamId};
use pcbflow_core::ports::{Head, LedgerError};

use crate::engine::{self, EVENTS, FORMAT_KNOWN, Handle, Look};
use crate::evidence::{EMPTY, GONE, KNEW};
use crate::fault;
use crate::frame::{RandomSalts, Salts};
use crate::heads::{KnownHeads, StateHome};
use crate::ledger::{Parts, RedbLedger};
use crate::reserve::{RESERVE_BYTES, Reserve};
use crate::stored::VERSION_KNOWN;

/// Name of the ledger file in `.pcbflow`.
pub const LEDGER_FILE: &str = "ledger.redb";

/// What the ledger is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Only reading. A newer format is read as far as known; a read-only disk is no hindrance.
    Read,
    /// Reading and appending; a ledger is made where there never was one.
    Write,
}

/// Where and how.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// The file, normally `.pcbflow/ledger.redb` in the workspace.
    pub path: PathBuf,
    /// The user's state folder, for the known heads; without it a lost end can't be noticed.
    pub state_home: Option<StateHome>,
    /// What for.
    pub mode: Mode,
    /// Size of the reserved block in bytes; 0 for none.
    pub reserve_bytes: u64,
}

impl OpenOptions {
    /// The ledger of the workspace in `workspace`.
    #[must_use]
    pub fn of_workspace(workspace: &Path, state_home: Option<StateHome>, mode: Mode) -> Self {
        OpenOptions::new(workspace.join(".pcbflow").join(LEDGER_FILE), state_home, mode)
    }

    /// The ledger in the file `path`.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, state_home: Option<StateHome>, mode: Mode) -> Self {
        OpenOptions { path: path.into(), state_home, mode, reserve_bytes: RESERVE_BYTES }
    }

    /// The folder that holds `.pcbflow`.
    #[must_use]
    pub fn workspace(&self) -> PathBuf {
        let folder = self.path.parent().and_then(Path::parent).unwrap_or(Path::new(""));
        let here = folder.as_os_str().is_empty();
        if here { PathBuf::from(".") } else { folder.to_owned() }
    }

    /// What this machine knows of the workspace.
    #[must_use]
    pub fn known_heads(&self) -> Option<KnownHeads> {
        self.state_home.as_ref().map(|home| KnownHeads::of(home, &self.workspace()))
    }
}

/// An open ledger, and what happened on the way.
#[derive(Debug)]
pub struct Opened {
    /// The ledger.
    pub ledger: Arc<RedbLedger>,
    /// The last run was killed and its record was repaired; nothing was lost.
    pub repaired: bool,
    /// The disk is read-only and this is a private copy that goes away with the ledger.
    pub private_copy: bool,
    /// It was made just now.
    pub created: bool,
    /// The newer format that it has; only in [`Mode::Read`].
    pub newer: Option<u32>,
}

/// A file beside the ledger that tells a newer format from damage.
fn format_file(ledger: &Path) -> PathBuf {
    ledger.with_file_name("ledger.format")
}

/// A file beside the ledger that everybody who has it open holds shared; rewriting the file
/// needs it alone.
pub(crate) fn lock_file(ledger: &Path) -> PathBuf {
    ledger.with_file_name("ledger.lock")
}

/// The engine calls a newer file damaged; the file beside the ledger knows better.
fn newer_or(path: &Path, e: LedgerError) -> LedgerError {
    if !matches!(e, LedgerError::Damaged { .. }) {
        return e;
    }
    let text = fs::read_to_string(format_file(path)).unwrap_or_default();
    match text.trim().parse::<u32>() {
        Ok(found) if found > FORMAT_KNOWN => LedgerError::Newer { found, known: FORMAT_KNOWN },
        _ => e,
    }
}

fn shared_lock(path: &Path, mode: Mode) -> Result<Option<File>, LedgerError> {
    let lock_path = lock_file(path);
    let file = match mode {
        Mode::Write => File::options().create(true).append(true).open(&lock_path),
        Mode::Read => File::open(&lock_path),
    };
    match file {
        Ok(file) => {
            file.lock_shared().map_err(|e| fault::io("waiting for the record", &e))?;
            Ok(Some(file))
        }
        // A reader of a ledger that was moved here without its lock file does without.
        Err(_) if mode == Mode::Read => Ok(None),
        Err(e) => Err(as_read_only(fault::io("locking the record", &e))),
    }
}

fn as_read_only(e: LedgerError) -> LedgerError {
    match e {
        LedgerError::ReadOnly { .. } | LedgerError::DiskFull { .. } => e,
        other => LedgerError::ReadOnly { what: other.to_string() },
    }
}

/// Opens the ledger.
///
/// # Errors
/// * [`LedgerError::Damaged`] (LG-2): the chain's end breaks, the file is cut; or it is empty,
///   gone, shorter or another one although this machine knew the ledger of this workspace.
/// * [`LedgerError::Newer`] (LG-3): a newer format, opened for writing.
/// * [`LedgerError::ReadOnly`] (LG-4): opened for writing where nothing can be written.
/// * [`LedgerError::DiskFull`] (LG-1): no room to open it.
/// * [`LedgerError::NotFound`]: opened for reading and there never was one.
pub fn open(options: &OpenOptions) -> Result<Opened, LedgerError> {
    open_with_salts(options, Box::new(RandomSalts))
}

pub(crate) fn open_with_salts(
    options: &OpenOptions,
    salts: Box<dyn Salts>,
) -> Result<Opened, LedgerError> {
    let path = &options.path;
    let known = options.known_heads();
    let current = known.as_ref().and_then(KnownHeads::current);
    if fs::metadata(path).map_or(0, |m| m.len()) == 0 {
        if let Some(id) = current {
            return Err(gone(path, &id));
        }
        if options.mode == Mode::Read {
            return Err(LedgerError::NotFound { what: "record in this workspace".to_owned() });
        }
    }
    if options.mode == Mode::Write {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)
            .map_err(|e| as_read_only(fault::io("making the record's folder", &e)))?;
    }
    let lock = shared_lock(path, options.mode)?;
    fault::guarded(|| {
        let found = match options.mode {
            Mode::Read => open_reader(path),
            Mode::Write => open_writer(path, current.as_ref()),
        };
        finish(options, known, current, lock, salts, found?)
    })
    .map_err(|e| newer_or(path, e))
}

fn gone(path: &Path, id: &LedgerId) -> LedgerError {
    let is = if path.exists() { EMPTY } else { GONE };
    LedgerError::Damaged { what: format!("{is}, but {KNEW} record {id} here") }
}

struct Found {
    handle: Handle,
    repaired: bool,
    created: bool,
    copy: Option<tempfile::TempDir>,
}

fn open_reader(path: &Path) -> Result<Found, LedgerError> {
    let clean =
        |db, repaired| Found { handle: Handle::Reader(db), repaired, created: false, copy: None };
    match engine::look(path) {
        Ok(Look::Clean(db)) => return Ok(clean(db, false)),
        Ok(Look::NeedsRepair) => {}
        Err(e) => return Err(e),
    }
    match Handle::open_writer(path) {
        Ok(handle) => {
            drop(handle);
            match engine::look(path)? {
                Look::Clean(db) => Ok(clean(db, true)),
                Look::NeedsRepair => Err(LedgerError::Storage {
                    doing: "repairing the record",
                    message: "another process was killed meanwhile".to_owned(),
                }),
            }
        }
        Err(LedgerError::ReadOnly { .. }) => open_copy(path),
        Err(e) => Err(e),
    }
}

/// On a read-only disk a killed writer's file can't be repaired in place.
fn open_copy(path: &Path) -> Result<Found, LedgerError> {
    let doing = "copying the record to a temporary folder";
    let folder = tempfile::Builder::new()
        .prefix("pcbflow-ledger-")
        .tempdir()
        .map_err(|e| fault::io(doing, &e))?;
    let copy = folder.path().join(LEDGER_FILE);
    fs::copy(path, &copy).map_err(|e| fault::io(doing, &e))?;
    make_writable(&copy).map_err(|e| fault::io(doing, &e))?;
    drop(Handle::open_writer(&copy)?);
    match engine::look(&copy)? {
        Look::Clean(db) => Ok(Found {
            handle: Handle::Reader(db),
            repaired: true,
            created: false,
            copy: Some(folder),
        }),
        Look::NeedsRepair => Err(LedgerError::Damaged { what: "it can't be repaired".to_owned() }),
    }
}

fn make_writable(file: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(file, fs::Permissions::from_mode(0o600))
    }
    #[cfg(not(unix))]
    {
        let mut rights = fs::metadata(file)?.permissions();
        rights.set_readonly(false);
        fs::set_permissions(file, rights)
    }
}

fn open_writer(path: &Path, current: Option<&LedgerId>) -> Result<Found, LedgerError> {
    let there = fs::metadata(path).map_or(0, |m| m.len()) > 0;
    // A read-only look first: it alone says whether the last writer was killed.
    let repaired = there && matches!(engine::look(path)?, Look::NeedsRepair);
    let handle = Handle::open_writer(path)?;
    let created = engine::meta(&handle.begin_read()?)?.is_none();
    if created {
        if let Some(id) = current {
            return Err(gone(path, id));
        }
        create(path, &handle)?;
    }
    Ok(Found { handle, repaired, created, copy: None })
}

/// Writes id and format, unless another process did so a moment before.
fn create(path: &Path, handle: &Handle) -> Result<(), LedgerError> {
    let doing = "making a new record";
    let txn = handle.begin_write()?;
    if engine::meta(&handle.begin_read()?)?.is_none() {
        engine::write_meta(&txn, &crate::frame::fresh_id()?)?;
        txn.commit().map_err(|e| fault::engine(doing, e))?;
    }
    let format = format!("{FORMAT_KNOWN}\n");
    fs::write(format_file(path), format).map_err(|e| fault::io(doing, &e))?;
    sync_folder(path);
    Ok(())
}

/// Makes the names in a file's folder durable. Best effort: some systems have no such call.
pub(crate) fn sync_folder(path: &Path) {
    let folder = path.parent().unwrap_or(Path::new("."));
    if let Err(e) = File::open(folder).and_then(|f| f.sync_all()) {
        tracing::debug!(error = %e, "the folder can't be synced");
    }
}

fn finish(
    options: &OpenOptions,
    known: Option<KnownHeads>,
    current: Option<LedgerId>,
    lock: Option<File>,
    salts: Box<dyn Salts>,
    found: Found,
) -> Result<Opened, LedgerError> {
    let path = &options.path;
    let txn = found.handle.begin_read()?;
    let Some((format, id)) = engine::meta(&txn)? else {
        return Err(match current {
            Some(id) => gone(path, &id),
            None => LedgerError::NotFound { what: "record in this workspace".to_owned() },
        });
    };
    if format > FORMAT_KNOWN && options.mode == Mode::Write {
        return Err(LedgerError::Newer { found: format, known: FORMAT_KNOWN });
    }
    if let Some(current) = current.filter(|c| *c != id) {
        let what = format!("it is record {id}, but {KNEW} record {current} here");
        return Err(LedgerError::Damaged { what });
    }
    let streams = engine::stream_numbers(&txn)?;
    let (heads, version) = engine::check_tails(&txn, &streams)?;
    if version > VERSION_KNOWN && options.mode == Mode::Write {
        return Err(LedgerError::Newer { found: version, known: VERSION_KNOWN });
    }
    if let Some(known) = &known {
        check_known(&txn, &streams, &heads, &known.heads(&id))?;
    }
    drop(txn);
    let newest = format.max(version);
    let reserve = (options.mode == Mode::Write && options.reserve_bytes > 0)
        .then(|| Reserve::beside(path, options.reserve_bytes));
    if let Some(reserve) = &reserve {
        reserve.ensure();
    }
    let again = path.clone();
    let mode = options.mode;
    let private_copy = found.copy.is_some();
    let ledger = RedbLedger::new(Parts {
        path: path.clone(),
        id,
        handle: found.handle,
        opener: Box::new(move || match mode {
            Mode::Write => Handle::open_writer(&again),
            Mode::Read => open_reader(&again).map(|f| f.handle),
        }),
        salts,
        known,
        reserve,
        heads,
        lock,
        copy: found.copy,
    });
    Ok(Opened {
        ledger: Arc::new(ledger),
        repaired: found.repaired,
        private_copy,
        created: found.created,
        newer: (newest > FORMAT_KNOWN.max(VERSION_KNOWN)).then_some(newest),
    })
}

/// Every head that this machine has seen must still be part of its chain.
fn check_known(
    txn: &redb::ReadTransaction,
    streams: &BTreeMap<StreamId, u32>,
    heads: &BTreeMap<StreamId, Head>,
    known: &BTreeMap<StreamId, Head>,
) -> Result<(), LedgerError> {
    let events =
        txn.open_table(EVENTS).map_err(|e| fault::engine("checking the known heads", e))?;
    for (stream, seen) in known {
        let Some(number) = streams.get(stream) else {
            let what = format!("{stream} is gone; {KNEW} it up to event {}", seen.seq);
            return Err(LedgerError::Damaged { what });
        };
        let real = engine::hash_at(&events, stream, *number, seen.seq)?;
        if real == Some(seen.hash) {
            continue;
        }
        let end = heads.get(stream).map_or(0, |h| h.seq.0);
        let what = match real {
            None => format!("{stream} ends at event {end}; {KNEW} it up to event {}", seen.seq),
            Some(_) => format!("event {} of {stream} is not the one {KNEW}", seen.seq),
        };
        return Err(LedgerError::Damaged { what });
    }
    Ok(())
}
