//! A model disk that loses what was not flushed, tears what was being written, fails a flush and
//! stops at any call. Every case is named by its seed.
//!
//! What it does not model: a system that reports a failed flush once and then forgets the pages.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex};

use pcbflow_core::ids::{Digest, Seq, StreamId};
use pcbflow_core::ports::{Expect, Head, Ledger, LedgerError};
use redb::{BackendError, StorageBackend};

use super::arb::Arb;
use super::{board, note};
use crate::RedbLedger;
use crate::engine::{self, Handle};
use crate::frame::fresh_id;
use crate::ledger::Parts;
use crate::mem::seeded_salts;
use crate::read::{Control, each_event};
use crate::verify::{VerifyOptions, verify};

/// Smallest unit that a disk writes whole, in bytes.
const SECTOR_BYTES: usize = 512;

#[derive(Debug, Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

impl Change {
    /// Applies the change to an image, only the first `part` bytes of a write.
    fn apply(&self, image: &mut Vec<u8>, part: usize) {
        match self {
            Change::Length(n) => image.resize(*n, 0),
            Change::Write(at, bytes) => {
                let bytes = &bytes[..bytes.len().min(part)];
                if image.len() < at + bytes.len() {
                    image.resize(at + bytes.len(), 0);
                }
                image[*at..at + bytes.len()].copy_from_slice(bytes);
            }
        }
    }
}

#[derive(Debug, Default)]
struct Disk {
    /// What a reader sees.
    seen: Vec<u8>,
    /// What a crash leaves for sure.
    flushed: Vec<u8>,
    /// What was written since.
    pending: Vec<Change>,
    calls: u64,
    /// From this call on nothing works.
    freeze_at: Option<u64>,
    /// These flushes fail, counted from now.
    fail_flush: Option<u64>,
}

impl Disk {
    fn call(&mut self) -> std::io::Result<()> {
        self.calls += 1;
        if self.freeze_at.is_some_and(|n| self.calls > n) {
            return Err(std::io::Error::other("the machine is off"));
        }
        Ok(())
    }

    /// What a crash now may leave: each unflushed write whole, torn or not at all.
    fn image(&self, arb: &mut Arb, style: u64) -> Vec<u8> {
        let mut image = self.flushed.clone();
        for (n, change) in self.pending.iter().enumerate() {
            let last = n + 1 == self.pending.len();
            let sectors = arb.below(9) as usize * SECTOR_BYTES;
            match style {
                0 => break,
                1 if last => change.apply(&mut image, sectors),
                1 => change.apply(&mut image, usize::MAX),
                _ => match arb.below(3) {
                    0 => {}
                    1 => change.apply(&mut image, usize::MAX),
                    _ => change.apply(&mut image, sectors),
                },
            }
        }
        image
    }
}

#[derive(Debug, Clone, Default)]
struct Model(Arc<Mutex<Disk>>);

impl Model {
    fn of(image: Vec<u8>) -> Model {
        let disk = Disk { seen: image.clone(), flushed: image, ..Disk::default() };
        Model(Arc::new(Mutex::new(disk)))
    }
    fn disk(&self) -> std::sync::MutexGuard<'_, Disk> {
        self.0.lock().unwrap()
    }
}

impl StorageBackend for Model {
    fn len(&self) -> Result<u64, std::io::Error> {
        Ok(self.disk().seen.len() as u64)
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), std::io::Error> {
        let mut disk = self.disk();
        disk.call()?;
        let at = offset as usize;
        let from = disk.seen.get(at..at + out.len());
        out.copy_from_slice(from.ok_or(std::io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
    fn set_len(&self, len: u64) -> Result<(), std::io::Error> {
        let mut disk = self.disk();
        disk.call()?;
        let change = Change::Length(len as usize);
        change.apply(&mut disk.seen, 0);
        disk.pending.push(change);
        Ok(())
    }
    fn sync_data(&self) -> Result<(), std::io::Error> {
        let mut disk = self.disk();
        disk.call()?;
        if let Some(n) = disk.fail_flush {
            disk.fail_flush = n.checked_sub(1);
            if n == 0 {
                return Err(std::io::Error::other("flush failed"));
            }
        }
        disk.flushed = disk.seen.clone();
        disk.pending.clear();
        Ok(())
    }
    fn write(&self, offset: u64, data: &[u8]) -> Result<(), std::io::Error> {
        let mut disk = self.disk();
        disk.call()?;
        let change = Change::Write(offset as usize, data.to_vec());
        change.apply(&mut disk.seen, usize::MAX);
        disk.pending.push(change);
        Ok(())
    }
    fn try_lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Ok(true)
    }
    fn try_lock_shared_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Ok(true)
    }
    fn lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }
    fn lock_shared_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }
    fn unlock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }
    fn query_lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Ok(false)
    }
}

fn handle(model: &Model) -> Result<Handle, LedgerError> {
    let db = engine::builder().create_with_backend(model.clone());
    db.map(Handle::Writer).map_err(|e| crate::fault::engine("opening the model", e))
}

fn ledger(model: &Model) -> Result<RedbLedger, LedgerError> {
    let first = handle(model)?;
    let found = engine::meta(&first.begin_read()?)?;
    let id = match found {
        Some((_, id)) => id,
        None => {
            let id = fresh_id()?;
            let txn = first.begin_write()?;
            engine::write_meta(&txn, &id)?;
            txn.commit().map_err(|e| crate::fault::engine("making the model", e))?;
            id
        }
    };
    let txn = first.begin_read()?;
    let (heads, _) = engine::check_tails(&txn, &engine::stream_numbers(&txn)?)?;
    drop(txn);
    let again = model.clone();
    Ok(RedbLedger::new(Parts {
        path: "model".into(),
        id,
        handle: first,
        opener: Box::new(move || handle(&again)),
        salts: seeded_salts(1),
        known: None,
        reserve: None,
        heads,
        lock: None,
        copy: None,
    }))
}

/// The events of a stream, as the model test wants to see them again.
type Wanted = BTreeMap<StreamId, Vec<String>>;

/// Appends by seed until the disk refuses. Gives what was acknowledged, and the stream and
/// events of the append that was under way at the end.
fn work(
    ledger: &RedbLedger,
    arb: &mut Arb,
    wanted: &mut Wanted,
) -> Option<(StreamId, Vec<String>)> {
    for n in 0..30 {
        let stream = board(["a", "b"][arb.below(2) as usize]);
        let events: Vec<_> = (0..1 + arb.below(4)).map(|k| note(n * 10 + k)).collect();
        let topics: Vec<String> = events.iter().map(|e| e.fact.to_string()).collect();
        if arb.below(4) == 0 {
            let head = ledger.head(&stream).ok().flatten();
            if let Some(head) = head {
                drop(ledger.store_fold(&stream, "count", 1, head, &head.seq.0.to_le_bytes()));
            }
        }
        match ledger.append(&stream, Expect::Any, &events) {
            Ok(_) => wanted.entry(stream).or_default().extend(topics),
            Err(_) => return Some((stream, topics)),
        }
    }
    None
}

/// After a crash: a prefix that holds everything acknowledged, whole appends only, a chain that
/// verifies, folds that a clean fold agrees with.
fn judge(image: Vec<u8>, wanted: &Wanted, under_way: Option<&(StreamId, Vec<String>)>, case: &str) {
    let model = Model::of(image);
    let ledger = match ledger(&model) {
        Ok(ledger) => ledger,
        Err(e) => panic!("{case}: {e}"),
    };
    let report = verify(&ledger, &VerifyOptions::default()).unwrap();
    assert!(report.is_good(), "{case}: {report:?}");
    for stream in [board("a"), board("b")] {
        let mut found = Vec::new();
        each_event(&ledger, &stream, Seq(1), true, &mut |event| {
            found.push(event.fact.to_string());
            Ok(Control::Next)
        })
        .unwrap();
        let acked = wanted.get(&stream).cloned().unwrap_or_default();
        let mut more = acked.clone();
        if let Some((of, topics)) = under_way
            && *of == stream
        {
            more.extend(topics.iter().cloned());
        }
        assert!(found == acked || found == more, "{case}: {found:?} is not {acked:?} or {more:?}");
        if let Some((head, bytes)) = ledger.fold_cache(&stream, "count", 1).unwrap() {
            assert_eq!(bytes, head.seq.0.to_le_bytes(), "{case}");
        }
    }
    let head: Head = ledger.append(&board("a"), Expect::Any, &[note(9)]).unwrap();
    assert_ne!(head.hash, Digest::ZERO);
}

fn seeds() -> std::ops::Range<u64> {
    let first = std::env::var("PCBFLOW_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(100);
    let count = std::env::var("PCBFLOW_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(60);
    first..first + count
}

#[test]
fn a_crash_at_any_call_keeps_everything_acknowledged() {
    // How many calls a whole run makes, so that the crash points lie all over it.
    let whole = Model::default();
    work(&ledger(&whole).unwrap(), &mut Arb(1), &mut Wanted::new());
    let calls = whole.disk().calls;
    let mut cut = 0;
    for seed in seeds() {
        let mut arb = Arb(seed);
        let model = Model::default();
        let freeze = arb.below(calls) + 1;
        let mut wanted = Wanted::new();
        let opened = ledger(&model).unwrap();
        let made = model.disk().calls;
        model.disk().freeze_at = Some(made + freeze);
        let under_way = work(&opened, &mut arb, &mut wanted);
        cut += u64::from(under_way.is_some());
        drop(opened);
        for style in 0..3 {
            let image = model.disk().image(&mut arb, style);
            let case = format!("seed {seed}, off at call {freeze}, style {style}");
            judge(image, &wanted, under_way.as_ref(), &case);
        }
    }
    assert!(cut * 2 > seeds().count() as u64, "only {cut} of the runs were cut in an append");
}

#[test]
fn a_crash_while_the_ledger_is_made_leaves_none_or_a_whole_one() {
    let whole = Model::default();
    drop(ledger(&whole).unwrap());
    let calls = whole.disk().calls;
    for freeze in 1..calls {
        let model = Model::default();
        model.disk().freeze_at = Some(freeze);
        drop(ledger(&model));
        let mut arb = Arb(freeze);
        for style in 0..3 {
            let image = model.disk().image(&mut arb, style);
            let again = Model::of(image);
            match ledger(&again) {
                Ok(ledger) => drop(ledger.append(&board("a"), Expect::Any, &[note(1)]).unwrap()),
                // Half a header: told from a ledger by the known heads, which know none yet.
                Err(LedgerError::Damaged { .. } | LedgerError::Storage { .. }) => {}
                Err(e) => panic!("off at call {freeze}, style {style}: {e}"),
            }
        }
    }
}

#[test]
fn a_failed_flush_loses_nothing_and_the_ledger_goes_on() {
    for seed in seeds() {
        let mut arb = Arb(seed);
        let model = Model::default();
        let ledger = ledger(&model).unwrap();
        let mut acked = 0u64;
        let mut refused = 0;
        for n in 0..40 {
            if arb.below(5) == 0 {
                model.disk().fail_flush = Some(arb.below(4));
            }
            let before = ledger.head(&board("a")).ok().flatten();
            let expect = before.map_or(Expect::Empty, Expect::At);
            match ledger.append(&board("a"), expect, &[note(n)]) {
                Ok(head) => {
                    assert!(head.seq.0 > acked, "seed {seed}");
                    acked = head.seq.0;
                }
                Err(_) => refused += 1,
            }
        }
        model.disk().fail_flush = None;
        let head = ledger.append(&board("a"), Expect::Any, &[note(99)]).unwrap();
        assert!(head.seq.0 > acked, "seed {seed}");
        assert!(refused > 0 || seed % 7 != 0, "seed {seed}: no flush failed");
        assert!(verify(&ledger, &VerifyOptions::default()).unwrap().is_good(), "seed {seed}");
        drop(ledger);
        let image = model.disk().image(&mut arb, 0);
        let again = Model::of(image);
        let again = self::ledger(&again).unwrap();
        assert_eq!(again.head(&board("a")).unwrap(), Some(head), "seed {seed}");
    }
}
