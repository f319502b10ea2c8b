//! Export and import, expunge, numbers.

use std::fs::{self, File};
use std::path::Path;

use pcbflow_core::event::{Actor, Ended, Fact, NewEvent};
use pcbflow_core::ids::{Digest, Seq, StreamId};
use pcbflow_core::ports::{Blobs, Expect, Ledger, LedgerError};
use pcbflow_core::time::Timestamp;

use super::arb::Arb;
use super::{Place, board, note};
use crate::export::{export, import};
use crate::expunge::{Expunge, expunge};
use crate::stats::stats;
use crate::verify::{VerifyOptions, verify};
use crate::{FileBlobs, MemLedger, Mode};

fn fill(ledger: &dyn Ledger, stream: &StreamId, n: u64) {
    let mut arb = Arb(n);
    for _ in 0..n {
        ledger.append(stream, Expect::Any, &[arb.event()]).unwrap();
    }
}

fn exported(ledger: &dyn crate::verify::Store, only: &[StreamId]) -> Vec<u8> {
    let mut bytes = Vec::new();
    export(ledger, only, None, &mut bytes).unwrap();
    bytes
}

fn written(place: &Place, bytes: &[u8]) -> std::path::PathBuf {
    let path = place.folder.path().join("export");
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn a_ledger_moves_byte_for_byte() {
    let from = Place::new();
    let ledger = from.open();
    for (stream, n) in [(StreamId::Workspace, 3), (board("a"), 60), (board("b"), 20)] {
        fill(ledger.as_ref(), &stream, n);
    }
    let bytes = exported(ledger.as_ref(), &[]);
    let to = Place::new();
    let moved = import(&to.options(), None, &written(&to, &bytes)).unwrap();
    assert_eq!((moved.streams[&board("a")], moved.fresh), (61, 4 + 61 + 21));
    let there = to.open();
    assert_eq!(there.id(), ledger.id(), "a ledger made for the import takes the id");
    assert_eq!(exported(there.as_ref(), &[]), bytes);
    let report = verify(there.as_ref(), &VerifyOptions::default()).unwrap();
    assert!(report.streams.iter().all(|s| s.broken.is_none()));
    fill(there.as_ref(), &board("a"), 1);
    drop(there);
    let again = import(&to.options(), None, &written(&to, &bytes)).unwrap();
    assert_eq!(again.fresh, 0, "what is here already is left alone");
}

#[test]
fn one_board_moves_to_another_ledger_and_grows_there() {
    let (from, to) = (Place::new(), Place::new());
    fill(from.open().as_ref(), &board("a"), 10);
    fill(to.open().as_ref(), &board("b"), 5);
    let id = to.open().id();
    let ledger = from.open();
    let bytes = exported(ledger.as_ref(), &[board("a")]);
    assert_eq!(import(&to.options(), None, &written(&to, &bytes)).unwrap().fresh, 11);
    fill(ledger.as_ref(), &board("a"), 4);
    let longer = exported(ledger.as_ref(), &[board("a")]);
    assert_eq!(import(&to.options(), None, &written(&to, &longer)).unwrap().fresh, 4);
    let there = to.open();
    assert_eq!(there.id(), id);
    assert_eq!(exported(there.as_ref(), &[board("a")]), longer);
}

#[test]
fn a_forked_partial_or_changed_export_is_refused_whole() {
    let (from, to) = (Place::new(), Place::new());
    fill(from.open().as_ref(), &board("a"), 10);
    fill(from.open().as_ref(), &board("c"), 10);
    let ledger = from.open();
    let bytes = exported(ledger.as_ref(), &[]);
    import(&to.options(), None, &written(&to, &bytes)).unwrap();
    // Both go on by themselves.
    fill(ledger.as_ref(), &board("a"), 1);
    fill(ledger.as_ref(), &board("c"), 1);
    fill(to.open().as_ref(), &board("a"), 2);
    let forked = exported(ledger.as_ref(), &[]);
    let before = exported(to.open().as_ref(), &[]);
    let refused = import(&to.options(), None, &written(&to, &forked));
    assert!(matches!(refused, Err(LedgerError::Refused { .. })), "{refused:?}");
    assert_eq!(exported(to.open().as_ref(), &[]), before, "all or nothing");

    let fresh = Place::new();
    for keep in [0, 10, 17, 100, bytes.len() / 2, bytes.len() - 1] {
        let refused = import(&fresh.options(), None, &written(&fresh, &bytes[..keep]));
        assert!(matches!(refused, Err(LedgerError::Refused { .. })), "{keep}: {refused:?}");
    }
    let mut arb = Arb(5);
    for _ in 0..40 {
        let mut bad = bytes.clone();
        let at = arb.below(bad.len() as u64) as usize;
        bad[at] ^= 1 << arb.below(8);
        assert!(import(&fresh.options(), None, &written(&fresh, &bad)).is_err(), "bit at {at}");
    }
    assert!(!fresh.file().exists(), "a bad file makes no ledger");
}

#[test]
fn memory_and_file_export_alike() {
    let memory = MemLedger::seeded(3);
    fill(&memory, &board("a"), 20);
    let bytes = exported(&memory, &[]);
    let to = Place::new();
    import(&to.options(), None, &written(&to, &bytes)).unwrap();
    assert_eq!(exported(to.open().as_ref(), &[]), bytes);
    assert!(export(&memory, &[board("none")], None, std::io::sink()).is_err());
}

const SECRET: &str = "hunter2-not-redacted-in-time";

fn attempt(blobs: &FileBlobs, secret: &str) -> NewEvent {
    let blob = blobs.put("stdout", format!("token={secret}\n").repeat(500).as_bytes()).unwrap();
    let fact = Fact::AttemptFinished {
        ended: Ended::Returned,
        exit: Some(0),
        signal: None,
        took_ms: 5,
        tool: "git 2".into(),
        closure: Digest::ZERO,
        outputs: Vec::new(),
        blobs: vec![blob],
        records: Default::default(),
    };
    let mut event = NewEvent { fact, ..note(1) };
    event.words.stdout_tail = format!("token={secret}");
    event
}

/// A place with evidence of `n` attempts.
fn with_evidence(n: u64) -> (Place, FileBlobs) {
    let place = Place::new();
    let blobs = FileBlobs::new(place.workspace().join(".pcbflow/blobs"));
    let ledger = place.open();
    for i in 0..n {
        let event = attempt(&blobs, &format!("evidence {i} {}", "x".repeat(i as usize * 100)));
        ledger.append(&board("a"), Expect::Any, &[event]).unwrap();
    }
    (place, blobs)
}

fn whole(place: &Place, blobs: &FileBlobs) -> Vec<u8> {
    let mut bytes = Vec::new();
    export(place.open().as_ref(), &[], Some(blobs), &mut bytes).unwrap();
    bytes
}

fn verified(place: &Place, blobs: &FileBlobs) -> bool {
    let options =
        VerifyOptions { blobs: Some(blobs), unpack_blobs: true, ..VerifyOptions::default() };
    verify(place.open().as_ref(), &options).unwrap().is_good()
}

#[test]
fn evidence_travels_and_is_whole_on_the_other_side() {
    let (from, blobs) = with_evidence(5);
    let bytes = whole(&from, &blobs);
    let to = Place::new();
    let there = FileBlobs::new(to.workspace().join(".pcbflow/blobs"));
    let moved = import(&to.options(), Some(&there), &written(&to, &bytes)).unwrap();
    assert_eq!((moved.evidence, moved.evidence_fresh), (5, 5));
    assert!(verified(&to, &there));
    assert_eq!(there.list().unwrap(), blobs.list().unwrap());
    assert_eq!(whole(&to, &there), bytes, "byte for byte");
    let again = import(&to.options(), Some(&there), &written(&to, &bytes)).unwrap();
    assert_eq!((again.fresh, again.evidence_fresh), (0, 0));
    // A file without evidence is taken as before; what it names is then not there.
    let bare = Place::new();
    let none = FileBlobs::new(bare.workspace().join(".pcbflow/blobs"));
    let without = exported(from.open().as_ref(), &[]);
    import(&bare.options(), Some(&none), &written(&bare, &without)).unwrap();
    assert!(!verified(&bare, &none));
    import(&bare.options(), Some(&none), &written(&bare, &bytes)).unwrap();
    assert!(verified(&bare, &none), "mended by the file that has it");
}

#[test]
fn evidence_that_is_damaged_does_not_travel() {
    let (from, blobs) = with_evidence(3);
    let mut all = blobs.list().unwrap().into_iter();
    let (bad, gone) = (all.next().unwrap(), all.next().unwrap());
    fs::write(blobs.path_of(&bad), zstd::bulk::compress(b"other", 3).unwrap()).unwrap();
    blobs.remove(&gone).unwrap();
    let mut bytes = Vec::new();
    let moved = export(from.open().as_ref(), &[], Some(&blobs), &mut bytes).unwrap();
    assert_eq!((moved.evidence, moved.evidence_left_out), (1, 2));
    // A changed byte anywhere is refused before anything is made.
    let to = Place::new();
    let there = FileBlobs::new(to.workspace().join(".pcbflow/blobs"));
    let mut arb = Arb(11);
    for _ in 0..40 {
        let mut changed = bytes.clone();
        let at = arb.below(changed.len() as u64) as usize;
        changed[at] ^= 1 << arb.below(8);
        let refused = import(&to.options(), Some(&there), &written(&to, &changed));
        assert!(refused.is_err(), "bit at {at}");
    }
    for keep in [bytes.len() - 1, bytes.len() - 33, bytes.len() - 60] {
        assert!(import(&to.options(), Some(&there), &written(&to, &bytes[..keep])).is_err());
    }
    assert!(!to.file().exists() && there.list().unwrap().is_empty());
}

#[test]
fn evidence_that_was_removed_for_good_stays_removed() {
    let (place, blobs) = with_evidence(2);
    let old = whole(&place, &blobs);
    let before = blobs.list().unwrap().len();
    expunged(&place);
    let left = blobs.list().unwrap().len();
    assert!(left < before);
    let moved = import(&place.options(), Some(&blobs), &written(&place, &old)).unwrap();
    assert_eq!((moved.evidence, moved.evidence_fresh), (2, 0));
    assert_eq!(blobs.list().unwrap().len(), left);
}

/// Removes the words and the evidence of the first attempt for good.
fn expunged(place: &Place) {
    let board = board("a");
    let wanted = Expunge {
        stream: &board,
        seq: Seq(1),
        at: Timestamp(1_700_000_000_000_009),
        actor: Actor::Engine,
        reason: "r",
        search: &[],
        needles: &[],
        blobs: true,
    };
    expunge(&place.options(), &wanted, &mut |_| Ok(())).unwrap();
}

/// Every file below a folder that holds the bytes, blobs unpacked.
fn holds(folder: &Path, needle: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
                continue;
            }
            let bytes = fs::read(&path).unwrap();
            let plain = zstd::stream::decode_all(File::open(&path).unwrap()).unwrap_or_default();
            if [bytes, plain].iter().any(|b| b.windows(needle.len()).any(|w| w == needle)) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

#[test]
fn expunged_words_are_gone_from_every_file() {
    let place = Place::new();
    let ledger = place.open();
    let blobs = FileBlobs::new(place.file().with_file_name("blobs"));
    fill(ledger.as_ref(), &board("b"), 10);
    for n in 0..20 {
        ledger.append(&board("a"), Expect::Any, &[note(n)]).unwrap();
    }
    let head = ledger.append(&board("a"), Expect::Any, &[attempt(&blobs, SECRET)]).unwrap();
    ledger.append(&board("a"), Expect::Any, &[note(99)]).unwrap();
    ledger.store_fold(&board("a"), "p", 1, head, SECRET.as_bytes()).unwrap();
    let before = ledger.read(&board("a"), Seq(0), 100, false).unwrap();
    drop(ledger);
    let logs = place.workspace().join("projects/a/.logs");
    fs::create_dir_all(&logs).unwrap();
    fs::write(logs.join("05.jsonl"), SECRET).unwrap();
    assert!(holds(place.folder.path(), SECRET.as_bytes()).len() >= 3);

    let needles = [SECRET.as_bytes().to_vec()];
    let search = [logs.clone()];
    let stream = board("a");
    let wanted = Expunge {
        stream: &stream,
        seq: head.seq,
        blobs: true,
        needles: &needles,
        actor: Actor::Person,
        at: Timestamp(77),
        reason: "a token was printed",
        search: &search,
    };
    let reader = place.try_open(Mode::Read).unwrap();
    let refused = expunge(&place.options(), &wanted, &mut |_| Ok(()));
    assert!(matches!(refused, Err(LedgerError::Refused { .. })), "others have it open");
    drop(reader);
    let left = expunge(&place.options(), &wanted, &mut |_| Ok(())).unwrap();
    assert!(!left.is_proven(), "the mirror still has it, and that is said");
    assert!(left.body_removed && left.blobs_removed == 1);
    let done = expunge(&place.options(), &wanted, &mut |_| {
        fs::write(logs.join("05.jsonl"), "").map_err(|e| crate::fault::io("mirror", &e))
    })
    .unwrap();
    assert!(done.is_proven() && !done.body_removed, "{done:?}");
    assert_eq!(holds(place.folder.path(), SECRET.as_bytes()), Vec::<String>::new());

    let ledger = place.open();
    let options = VerifyOptions { blobs: Some(&blobs), ..VerifyOptions::default() };
    let report = verify(ledger.as_ref(), &options).unwrap();
    let chains = report.streams.iter().all(|s| s.broken.is_none());
    assert!(chains && report.blobs_bad.iter().all(|b| !b.contains("board/a")), "{report:?}");
    let after = ledger.read(&board("a"), Seq(0), 100, true).unwrap();
    assert_eq!(after.len(), before.len() + 1);
    for (after, before) in after.iter().zip(&before) {
        assert_eq!((after.hash, &after.fact), (before.hash, &before.fact));
    }
    let at = usize::try_from(head.seq.0).unwrap();
    assert_eq!(after[at].words, None);
    assert!(after[at + 1].words.is_some());
    assert!(matches!(&after.last().unwrap().fact, Fact::BodyExpunged { of_seq, blobs, .. }
        if *of_seq == head.seq && blobs.len() == 1));
    ledger.append(&board("a"), Expect::Any, &[note(5)]).unwrap();
    let bytes = exported(ledger.as_ref(), &[]);
    let to = Place::new();
    import(&to.options(), None, &written(&to, &bytes)).unwrap();
    assert_eq!(exported(to.open().as_ref(), &[]), bytes, "an expunged ledger moves too");
}

#[test]
fn expunge_of_nothing_is_named() {
    let place = Place::new();
    fill(place.open().as_ref(), &board("a"), 3);
    let stream = board("a");
    let wanted = Expunge {
        stream: &stream,
        seq: Seq(40),
        blobs: false,
        needles: &[],
        actor: Actor::Person,
        at: Timestamp(1),
        reason: "r",
        search: &[],
    };
    let refused = expunge(&place.options(), &wanted, &mut |_| Ok(()));
    assert!(matches!(refused, Err(LedgerError::NotFound { .. })), "{refused:?}");
}

#[test]
fn numbers_add_up() {
    let place = Place::new();
    let ledger = place.open();
    let events: Vec<_> = (0..10).map(note).collect();
    ledger.append(&board("a"), Expect::Any, &events).unwrap();
    let stats = stats(ledger.as_ref(), Some(&place.file()), None).unwrap();
    let one = &stats.streams[0];
    assert_eq!((one.events, one.by_event["noted"], one.by_event["stream_opened"]), (11, 10, 1));
    assert!(one.bytes > 500 && stats.file_bytes > one.bytes);
    assert_eq!(one.first.as_deref(), Some("2023-11-14T22:13:20.000000Z"));
}
