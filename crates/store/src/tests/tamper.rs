//! Everything that somebody might do to the file, each named.

use std::fs;

use pcbflow_core::event::Fact;
use pcbflow_core::ids::{Digest, Seq};
use pcbflow_core::ports::{Expect, Head, Ledger, LedgerError};

use super::{Place, board, note};
use crate::anchor::Anchor;
use crate::engine::{EVENTS, Handle};
use crate::frame::{Body, Frame};
use crate::hash::Chain;
use crate::verify::{Break, VerifyOptions, verify};
use crate::{FileBlobs, Mode};

const EVENTS_COUNT: u64 = 40;

fn filled() -> Place {
    let place = Place::new();
    let ledger = place.open();
    for n in 1..EVENTS_COUNT {
        ledger.append(&board("a"), Expect::Any, &[note(n)]).unwrap();
    }
    place
}

/// Changes stored frames behind the ledger's back.
fn edit(place: &Place, change: impl FnOnce(&mut Vec<Vec<u8>>)) {
    let handle = Handle::open_writer(&place.file()).unwrap();
    let mut frames = Vec::new();
    {
        let txn = handle.begin_read().unwrap();
        let events = txn.open_table(EVENTS).unwrap();
        for entry in events.range((1, 0)..=(1, u64::MAX)).unwrap() {
            frames.push(entry.unwrap().1.value().to_vec());
        }
    }
    let before = frames.len() as u64;
    change(&mut frames);
    let txn = handle.begin_write().unwrap();
    {
        let mut events = txn.open_table(EVENTS).unwrap();
        for n in 0..before {
            events.remove((1, n)).unwrap();
        }
        for (n, frame) in frames.iter().enumerate() {
            events.insert((1, n as u64), frame.as_slice()).unwrap();
        }
    }
    txn.commit().unwrap();
}

/// Every later hash computed anew, as somebody who knows the rule would do.
fn rechain(frames: &mut [Vec<u8>], from: usize) {
    let mut chain = Chain::new();
    for n in from..frames.len() {
        let prev = match n {
            0 => Digest::ZERO,
            _ => Frame::parse(&frames[n - 1]).unwrap().hash,
        };
        let frame = Frame::parse(&frames[n]).unwrap();
        let hash = frame.computed(&mut chain, &prev);
        let mut out = Vec::new();
        Frame { hash, ..frame }.write(&mut out);
        frames[n] = out;
    }
}

fn broken(place: &Place) -> Break {
    // In the middle of the chain an open, which looks at the end, may not see it: verify does.
    let options = crate::OpenOptions { mode: Mode::Read, ..place.options() };
    let ledger = match crate::open(&options) {
        Ok(opened) => opened.ledger,
        Err(LedgerError::Damaged { .. }) => {
            let blind = crate::OpenOptions { state_home: None, ..options };
            match crate::open(&blind) {
                Ok(opened) => opened.ledger,
                Err(LedgerError::Damaged { what }) => {
                    return Break { first_bad: Seq(u64::MAX), last_good: None, what };
                }
                Err(e) => panic!("{e}"),
            }
        }
        Err(e) => panic!("{e}"),
    };
    let report = verify(ledger.as_ref(), &VerifyOptions::default()).unwrap();
    assert!(!report.is_good());
    report.streams[0].broken.clone().unwrap()
}

#[test]
fn a_flipped_byte_of_each_class_is_found_at_its_event() {
    // Places in a frame: hash, kind, length, header, body, salt.
    let header = |f: &[u8]| 37 + u32::from_le_bytes(f[33..37].try_into().unwrap()) as usize;
    type Place2 = (&'static str, fn(&[u8], usize) -> usize);
    let places: [Place2; 6] = [
        ("hash", |_, _| 5),
        ("kind", |_, _| 32),
        ("length", |_, _| 33),
        ("header", |_, _| 41),
        ("salt", |_, header| header + 6),
        ("body", |f, _| f.len() - 2),
    ];
    for (name, at) in places {
        let place = filled();
        edit(&place, |frames| {
            let at = at(&frames[12], header(&frames[12]));
            frames[12][at] ^= 0x04;
        });
        let found = broken(&place);
        assert_eq!(found.first_bad, Seq(12), "{name}: {}", found.what);
        assert_eq!(found.last_good, Some(Seq(11)), "{name}");
        assert!(found.what.contains("event 12"), "{name}: {}", found.what);
    }
}

#[test]
fn drop_swap_insert_are_found() {
    let place = filled();
    edit(&place, |frames| drop(frames.remove(7)));
    assert_eq!(broken(&place).first_bad, Seq(7));
    let place = filled();
    edit(&place, |frames| frames.swap(7, 8));
    assert_eq!(broken(&place).first_bad, Seq(7));
    let place = filled();
    edit(&place, |frames| frames.insert(7, frames[6].clone()));
    assert_eq!(broken(&place).first_bad, Seq(7));
    let place = filled();
    edit(&place, |frames| frames.clear());
    assert!(matches!(place.try_open(Mode::Write), Err(LedgerError::Damaged { .. })));
}

#[test]
fn a_bad_end_is_found_at_the_open() {
    let place = filled();
    edit(&place, |frames| {
        let last = frames.len() - 1;
        let end = frames[last].len() - 1;
        frames[last][end] ^= 1;
    });
    for mode in [Mode::Read, Mode::Write] {
        let refused = place.try_open(mode).unwrap_err();
        assert!(matches!(&refused, LedgerError::Damaged { what } if what.contains("event 39")));
    }
}

#[test]
fn a_cut_end_is_known_by_the_head_outside() {
    let place = filled();
    edit(&place, |frames| frames.truncate(30));
    for mode in [Mode::Read, Mode::Write] {
        let refused = place.try_open(mode).unwrap_err().to_string();
        assert!(refused.contains("ends at event 29"), "{refused}");
        assert!(refused.contains("up to event 39"), "{refused}");
    }
}

#[test]
fn a_rewritten_chain_is_known_by_the_head_outside() {
    let place = filled();
    edit(&place, |frames| {
        let frame = Frame::parse(&frames[20]).unwrap();
        let body = match frame.body {
            Body::There(body) => body.to_vec(),
            Body::Gone(_) => unreachable!(),
        };
        let mut body = body;
        let end = body.len() - 2;
        body[end] ^= 1;
        let mut out = Vec::new();
        Frame { body: Body::There(&body), ..frame }.write(&mut out);
        frames[20] = out;
        rechain(frames, 20);
    });
    let refused = place.try_open(Mode::Write).unwrap_err().to_string();
    assert!(refused.contains("not the one this computer knew"), "{refused}");
}

#[test]
fn another_ledger_in_its_place_is_refused() {
    let (place, other) = (filled(), filled());
    fs::copy(other.file(), place.file()).unwrap();
    let refused = place.try_open(Mode::Write).unwrap_err().to_string();
    assert!(refused.contains("this computer knew record"), "{refused}");
}

#[test]
fn a_commits_anchor_tells_where_this_computer_can_not() {
    let place = filled();
    let ledger = place.open();
    let head = ledger.head(&board("a")).unwrap().unwrap();
    let id = ledger.id();
    drop(ledger);
    edit(&place, |frames| frames.truncate(30));
    let options = crate::OpenOptions { state_home: None, mode: Mode::Read, ..place.options() };
    let ledger = crate::open(&options).unwrap().ledger;
    let anchor = |hash, seq| Anchor { ledger: id.clone(), board: "a".parse().unwrap(), seq, hash };
    let earlier = ledger.read(&board("a"), Seq(9), 1, false).unwrap()[0].hash;
    let foreign = Anchor { ledger: "other".parse().unwrap(), ..anchor(Digest::ZERO, Seq(3)) };
    let anchors = [anchor(earlier, Seq(9)), anchor(head.hash, head.seq), foreign];
    let options = VerifyOptions { anchors: &anchors, ..VerifyOptions::default() };
    let report = verify(ledger.as_ref(), &options).unwrap();
    assert_eq!((report.anchors_held, report.anchors_foreign), (1, 1));
    assert_eq!(report.anchors_broken, ["event 39 of board/a was anchored by a commit; it is gone"]);
}

#[test]
fn an_anchor_event_that_lies_is_found() {
    let place = filled();
    let ledger = place.open();
    let good = ledger.head(&board("a")).unwrap().unwrap();
    let write = |head: Head| {
        let fact = Fact::AnchorWritten { seq: head.seq, hash: head.hash };
        let event = pcbflow_core::event::NewEvent { fact, ..note(1) };
        ledger.append(&board("a"), Expect::Any, &[event]).unwrap();
    };
    write(good);
    assert!(verify(ledger.as_ref(), &VerifyOptions::default()).unwrap().is_good());
    write(Head { hash: Digest::ZERO, ..good });
    let report = verify(ledger.as_ref(), &VerifyOptions::default()).unwrap();
    assert_eq!((report.anchors_held, report.anchors_broken.len()), (1, 1));
}

#[test]
fn a_cut_or_overwritten_file_is_damage_and_nothing_panics() {
    let place = filled();
    let bytes = fs::read(place.file()).unwrap();
    let length = bytes.len();
    for keep in [1, 100, 512, 4096, 5000, length / 2, length - 4096, length - 1] {
        fs::write(place.file(), &bytes[..keep]).unwrap();
        for mode in [Mode::Read, Mode::Write] {
            match place.try_open(mode) {
                Err(LedgerError::Damaged { .. }) => {}
                Ok(opened) => {
                    // The cut part may be free pages: then nothing may be missing.
                    let report = verify(opened.ledger.as_ref(), &VerifyOptions::default()).unwrap();
                    let whole = report.is_good() && report.streams[0].events == EVENTS_COUNT;
                    let named = !report.is_good();
                    assert!(whole || named, "cut at {keep}: {report:?}");
                }
                Err(e) => panic!("cut at {keep}: {e}"),
            }
            fs::write(place.file(), &bytes[..keep]).unwrap();
        }
    }
    let mut arb = super::arb::Arb(11);
    for round in 0..60 {
        let mut bad = bytes.clone();
        for _ in 0..1 + arb.below(30) {
            let at = arb.below(length as u64) as usize;
            bad[at] = arb.next() as u8;
        }
        fs::write(place.file(), &bad).unwrap();
        if let Ok(opened) = place.try_open(Mode::Read) {
            let report = verify(opened.ledger.as_ref(), &VerifyOptions::default());
            let whole = report.as_ref().is_ok_and(|r| {
                r.is_good() && r.streams.first().is_some_and(|s| s.events == EVENTS_COUNT)
            });
            let named = report.as_ref().map_or(true, |r| !r.is_good());
            assert!(whole || named, "round {round}: {report:?}");
        }
    }
}

#[test]
fn missing_and_changed_blobs_are_named() {
    let place = Place::new();
    let ledger = place.open();
    let blobs = FileBlobs::new(place.file().with_file_name("blobs"));
    let blob = pcbflow_core::ports::Blobs::put(&blobs, "report", b"findings").unwrap();
    let fact = Fact::CheckObserved {
        check: "report_clean".into(),
        purpose: pcbflow_core::event::CheckPurpose::Step,
        outcome: pcbflow_core::check::CheckOutcome::Pass,
        gate: pcbflow_core::check::Gate::Pass,
        counts: Default::default(),
        findings: Some(blob.digest),
    };
    let event = pcbflow_core::event::NewEvent { fact, ..note(1) };
    ledger.append(&board("a"), Expect::Any, &[event]).unwrap();
    let options = |unpack_blobs| VerifyOptions {
        blobs: Some(&blobs),
        unpack_blobs,
        ..VerifyOptions::default()
    };
    assert!(verify(ledger.as_ref(), &options(true)).unwrap().is_good());
    fs::write(blobs.path_of(&blob.digest), b"junk").unwrap();
    assert!(verify(ledger.as_ref(), &options(false)).unwrap().is_good());
    assert!(!verify(ledger.as_ref(), &options(true)).unwrap().is_good());
    fs::remove_file(blobs.path_of(&blob.digest)).unwrap();
    let report = verify(ledger.as_ref(), &options(false)).unwrap();
    assert!(report.blobs_bad[0].contains("event 1 of board/a"), "{:?}", report.blobs_bad);
}
