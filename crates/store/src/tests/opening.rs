//! What is opened, what is new, what is refused.

use std::fs;

use pcbflow_core::ids::{Seq, StreamId};
use pcbflow_core::ports::{Expect, Ledger, LedgerError};

use super::{Place, board, note};
use crate::{Mode, OpenOptions, StateHome, open};

#[test]
fn where_there_was_none_reading_finds_none_and_writing_makes_one() {
    let place = Place::new();
    let none = place.try_open(Mode::Read);
    assert!(matches!(none, Err(LedgerError::NotFound { .. })));
    assert!(!place.file().exists(), "a reader makes nothing");
    let opened = place.try_open(Mode::Write).unwrap();
    assert!(opened.created && !opened.repaired);
    assert!(opened.ledger.streams().unwrap().is_empty());
    let id = opened.ledger.id();
    drop(opened);
    let opened = place.try_open(Mode::Write).unwrap();
    assert!(!opened.created);
    assert_eq!(opened.ledger.id(), id);
    assert_ne!(Place::new().open().id(), id, "ids are random");
}

#[test]
fn readers_read_while_a_writer_is_open_and_do_not_write() {
    let place = Place::new();
    let writer = place.open();
    writer.append(&board("a"), Expect::Any, &[note(1)]).unwrap();
    let reader = place.try_open(Mode::Read).unwrap();
    assert_eq!(reader.ledger.head(&board("a")).unwrap().unwrap().seq, Seq(1));
    writer.append(&board("a"), Expect::Any, &[note(2)]).unwrap();
    assert_eq!(reader.ledger.head(&board("a")).unwrap().unwrap().seq, Seq(2), "it follows");
    let refused = reader.ledger.append(&board("a"), Expect::Any, &[note(3)]);
    assert!(matches!(refused, Err(LedgerError::ReadOnly { .. })), "{refused:?}");
    let head = reader.ledger.head(&board("a")).unwrap().unwrap();
    reader.ledger.store_fold(&board("a"), "p", 1, head, b"x").unwrap();
    assert_eq!(reader.ledger.fold_cache(&board("a"), "p", 1).unwrap(), None, "dropped");
}

#[test]
fn many_open_a_new_ledger_at_once() {
    let place = Place::new();
    let options = place.options();
    let ids: Vec<_> = std::thread::scope(|scope| {
        let opens: Vec<_> = (0..8)
            .map(|n| {
                let options = options.clone();
                scope.spawn(move || {
                    let opened = open(&options).unwrap();
                    opened.ledger.append(&StreamId::Workspace, Expect::Any, &[note(n)]).unwrap();
                    opened.ledger.id()
                })
            })
            .collect();
        opens.into_iter().map(|o| o.join().unwrap()).collect()
    });
    assert!(ids.windows(2).all(|w| w[0] == w[1]));
    let ledger = place.open();
    assert_eq!(ledger.read(&StreamId::Workspace, Seq(1), 99, false).unwrap().len(), 8);
}

#[test]
fn an_empty_file_is_new_only_where_nothing_was_known() {
    let place = Place::new();
    fs::create_dir_all(place.file().parent().unwrap()).unwrap();
    fs::write(place.file(), b"").unwrap();
    assert!(place.try_open(Mode::Write).unwrap().created);

    place.open().append(&board("a"), Expect::Any, &[note(1)]).unwrap();
    fs::write(place.file(), b"").unwrap();
    for mode in [Mode::Read, Mode::Write] {
        let refused = place.try_open(mode);
        assert!(matches!(refused, Err(LedgerError::Damaged { .. })), "{refused:?}");
    }
    fs::remove_file(place.file()).unwrap();
    for mode in [Mode::Read, Mode::Write] {
        let refused = place.try_open(mode);
        assert!(matches!(refused, Err(LedgerError::Damaged { .. })), "{refused:?}");
    }
    assert!(!place.file().exists(), "never treated as new");
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says why")]
fn a_fresh_clone_at_the_same_place_is_new() {
    let place = Place::new();
    place.open().append(&board("a"), Expect::Any, &[note(1)]).unwrap();
    fs::remove_dir_all(place.workspace()).unwrap();
    fs::create_dir(place.workspace()).unwrap();
    let born = fs::metadata(place.workspace()).unwrap().created();
    if born.is_err() {
        eprintln!("skipped: the file system keeps no time of birth");
        return;
    }
    assert!(place.try_open(Mode::Write).unwrap().created);
}

#[test]
fn another_machine_knows_nothing() {
    let place = Place::new();
    place.open().append(&board("a"), Expect::Any, &[note(1)]).unwrap();
    fs::remove_file(place.file()).unwrap();
    let home = Some(StateHome(place.folder.path().join("elsewhere")));
    let options = OpenOptions { state_home: home, ..place.options() };
    assert!(open(&options).unwrap().created);
}

#[test]
fn a_newer_format_is_told_from_damage() {
    let place = Place::new();
    place.open().append(&board("a"), Expect::Any, &[note(1)]).unwrap();
    let bytes = fs::read(place.file()).unwrap();
    let format = place.file().with_file_name("ledger.format");
    // What a later engine with another file format would leave: bytes that this one calls
    // damaged, and its own number beside them.
    let mut other = bytes.clone();
    other[..64].fill(0x5a);
    fs::write(place.file(), &other).unwrap();
    fs::write(&format, "7\n").unwrap();
    for mode in [Mode::Read, Mode::Write] {
        let refused = place.try_open(mode);
        let newer = matches!(refused, Err(LedgerError::Newer { found: 7, known: 1 }));
        assert!(newer, "{refused:?}");
    }
    fs::write(&format, "1\n").unwrap();
    assert!(matches!(place.try_open(Mode::Write), Err(LedgerError::Damaged { .. })));
    fs::write(place.file(), &bytes).unwrap();
    assert_eq!(place.open().head(&board("a")).unwrap().unwrap().seq, Seq(1));
}

#[test]
fn a_newer_release_is_read_and_never_written() {
    use crate::engine::{EVENTS, Handle, META};
    use crate::frame::{Body, Frame};
    let place = Place::new();
    let head = place.open().append(&board("a"), Expect::Any, &[note(1)]).unwrap();
    let golden = format!("{}/golden/v2-from-future/new-fact.cbor", env!("CARGO_MANIFEST_DIR"));
    let mut header = fs::read(golden).unwrap();
    assert_eq!(header[2], 7, "the position in the fixture");
    header[2] = 2;
    let body: &[u8] = &[0x81, 2];
    let hash = crate::hash::Chain::new().hash(&head.hash, &header, body);
    let mut frame = Vec::new();
    Frame { hash, header: &header, body: Body::There(body) }.write(&mut frame);
    {
        let handle = Handle::open_writer(&place.file()).unwrap();
        let txn = handle.begin_write().unwrap();
        txn.open_table(EVENTS).unwrap().insert((1, 2), frame.as_slice()).unwrap();
        txn.commit().unwrap();
    }
    let refused = place.try_open(Mode::Write);
    assert!(matches!(refused, Err(LedgerError::Newer { found: 2, known: 1 })), "{refused:?}");
    let opened = place.try_open(Mode::Read).unwrap();
    assert_eq!(opened.newer, Some(2));
    let events = opened.ledger.read(&board("a"), Seq(2), 1, false).unwrap();
    assert_eq!(events[0].fact.to_string(), "noted: unknown_event");
    drop(opened);
    {
        let handle = Handle::open_writer(&place.file()).unwrap();
        let txn = handle.begin_write().unwrap();
        txn.open_table(META).unwrap().insert("format", &9u32.to_le_bytes()[..]).unwrap();
        txn.commit().unwrap();
    }
    let refused = place.try_open(Mode::Write);
    assert!(matches!(refused, Err(LedgerError::Newer { found: 9, known: 1 })), "{refused:?}");
    assert_eq!(place.try_open(Mode::Read).unwrap().newer, Some(9));
}

#[test]
fn after_damage_a_person_can_go_on_in_a_new_segment() {
    use crate::segment::start_over;
    use pcbflow_core::event::Fact;
    use pcbflow_core::time::Timestamp;
    let place = Place::new();
    let ledger = place.open();
    ledger.append(&board("a"), Expect::Any, &[note(1)]).unwrap();
    let head = ledger.append(&board("a"), Expect::Any, &[note(2)]).unwrap();
    let id = ledger.id();
    let busy = start_over(&place.options(), Timestamp(5));
    assert!(matches!(busy, Err(LedgerError::Refused { .. })), "{busy:?}");
    drop(ledger);
    // Gone: what this machine knew is named.
    fs::remove_file(place.file()).unwrap();
    let over = start_over(&place.options(), Timestamp(5)).unwrap();
    assert_eq!((over.aside, over.adopted[&board("a")]), (None, head));
    let first = over.opened.ledger.read(&board("a"), Seq(1), 1, true).unwrap();
    assert!(matches!(&first[0].fact, Fact::SegmentAdopted { ledger, seq, hash }
        if *ledger == id && *seq == head.seq && *hash == head.hash));
    drop(over.opened);
    let second = place.open().id();
    assert_ne!(second, id);
    // There: it is put aside whole, under the name of its digest.
    let bytes = fs::read(place.file()).unwrap();
    let over = start_over(&place.options(), Timestamp(6)).unwrap();
    assert_eq!(fs::read(over.aside.unwrap()).unwrap(), bytes);
    assert_eq!(over.adopted[&board("a")].seq, Seq(1));
    drop(over.opened);
    assert!(!place.try_open(Mode::Write).unwrap().created, "opened as always from here on");
}

#[test]
fn unused_room_is_given_back() {
    let place = Place::new();
    let events: Vec<_> = (0..1000).map(note).collect();
    let ledger = place.open();
    for _ in 0..40 {
        ledger.append(&board("a"), Expect::Any, &events).unwrap();
    }
    let before = fs::metadata(place.file()).unwrap().len();
    drop(ledger);
    let ledger = place.open();
    let bytes = crate::stats::stats(ledger.as_ref(), None, None).unwrap().streams[0].bytes;
    let after = fs::metadata(place.file()).unwrap().len();
    // Small events: the frame weighs more here than in the benches.
    assert!(after < before && after < bytes * 2, "{bytes} bytes in {before}, then {after}");
}
