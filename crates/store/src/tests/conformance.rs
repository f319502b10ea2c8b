//! One suite for every ledger.

use pcbflow_core::event::{Fact, NewEvent};
use pcbflow_core::ids::{Digest, LedgerId, Seq, StreamId};
use pcbflow_core::ports::{Expect, Head, Ledger, LedgerError};
use proptest::prelude::*;

use super::arb::Arb;
use super::{Place, board, note};
use crate::MemLedger;
use crate::read::{Control, each_event};
use crate::verify::{Store, VerifyOptions, verify};

/// Runs a check on every kind of ledger.
fn on_all(check: impl Fn(&dyn Store)) {
    check(&MemLedger::new());
    check(&MemLedger::seeded(1));
    let place = Place::new();
    check(place.open().as_ref());
}

#[test]
fn a_stream_begins_with_its_genesis() {
    on_all(|ledger| {
        let stream = board("door-sensor");
        assert_eq!(ledger.head(&stream).unwrap(), None);
        assert!(ledger.read(&stream, Seq(0), 10, true).unwrap().is_empty());
        let head = ledger.append(&stream, Expect::Empty, &[note(1), note(2)]).unwrap();
        assert_eq!(head.seq, Seq(2));
        let events = ledger.read(&stream, Seq(0), 10, true).unwrap();
        assert_eq!(events.len(), 3);
        assert!(matches!(&events[0].fact, Fact::StreamOpened { ledger: id, .. }
            if *id == ledger.id()));
        assert_eq!(events[2].hash, head.hash);
        assert_eq!(events[2].words, Some(note(2).words));
        assert_eq!(ledger.streams().unwrap(), [stream]);
    });
}

#[test]
fn the_expected_head_is_held() {
    on_all(|ledger| {
        let stream = board("a");
        let first = ledger.append(&stream, Expect::Empty, &[note(1)]).unwrap();
        let again = ledger.append(&stream, Expect::Empty, &[note(2)]);
        assert!(matches!(again, Err(LedgerError::MovedOn { head, .. }) if head == Some(first)));
        let second = ledger.append(&stream, Expect::At(first), &[note(2)]).unwrap();
        let late = ledger.append(&stream, Expect::At(first), &[note(3)]);
        assert!(matches!(late, Err(LedgerError::MovedOn { head, .. }) if head == Some(second)));
        let wrong = Head { hash: Digest::ZERO, ..second };
        assert!(ledger.append(&stream, Expect::At(wrong), &[note(3)]).is_err());
        ledger.append(&stream, Expect::Any, &[note(3)]).unwrap();
        let other = Expect::At(second);
        assert!(ledger.append(&StreamId::Workspace, other, &[note(1)]).is_err());
        assert_eq!(ledger.head(&StreamId::Workspace).unwrap(), None);
        assert_eq!(ledger.head(&stream).unwrap().unwrap().seq, Seq(3));
    });
}

#[test]
fn all_or_nothing_and_bounded() {
    on_all(|ledger| {
        let stream = board("a");
        ledger.append(&stream, Expect::Any, &[note(1)]).unwrap();
        let head = ledger.head(&stream).unwrap();
        let mut big = note(2);
        big.words.summary = "x".repeat(crate::EVENT_BYTES_MAX);
        let refused = ledger.append(&stream, Expect::Any, &[note(2), big]);
        assert!(matches!(refused, Err(LedgerError::Refused { .. })));
        let foreign = NewEvent {
            fact: Fact::StreamOpened {
                ledger: LedgerId::new("other").unwrap(),
                version: "1".into(),
            },
            ..note(3)
        };
        for events in [vec![], vec![foreign.clone()]] {
            assert!(ledger.append(&stream, Expect::Any, &events).is_err());
        }
        assert!(ledger.append(&board("new"), Expect::Any, &[foreign]).is_err());
        assert_eq!(ledger.head(&stream).unwrap(), head);
        assert_eq!(ledger.streams().unwrap(), [stream]);
    });
}

#[test]
fn a_callers_own_genesis_is_taken() {
    on_all(|ledger| {
        let fact = Fact::StreamOpened { ledger: ledger.id(), version: "9".into() };
        let events = [NewEvent { fact: fact.clone(), ..note(0) }, note(1)];
        let head = ledger.append(&board("a"), Expect::Empty, &events).unwrap();
        assert_eq!(head.seq, Seq(1));
        assert_eq!(ledger.read(&board("a"), Seq(0), 1, false).unwrap()[0].fact, fact);
    });
}

#[test]
fn reading_in_pieces() {
    on_all(|ledger| {
        let stream = board("a");
        let events: Vec<_> = (1..100).map(note).collect();
        ledger.append(&stream, Expect::Any, &events).unwrap();
        let all = ledger.read(&stream, Seq(0), 1000, true).unwrap();
        let mut pieces = Vec::new();
        for from in (0..100).step_by(7) {
            pieces.extend(ledger.read(&stream, Seq(from), 7, true).unwrap());
        }
        assert_eq!(all, pieces);
        let headers = ledger.read(&stream, Seq(50), 1, false).unwrap();
        assert_eq!((headers[0].seq, &headers[0].words), (Seq(50), &None));
        assert!(ledger.read(&stream, Seq(100), 5, true).unwrap().is_empty());
        assert!(ledger.read(&stream, Seq(u64::MAX), 5, true).unwrap().is_empty());
        assert!(ledger.read(&stream, Seq(0), 0, true).unwrap().is_empty());
        let mut seen = 0;
        each_event(ledger, &stream, Seq(90), false, &mut |_| {
            seen += 1;
            Ok(if seen == 3 { Control::Stop } else { Control::Next })
        })
        .unwrap();
        assert_eq!(seen, 3);
    });
}

#[test]
fn fold_caches_count_only_on_their_own_chain() {
    on_all(|ledger| {
        let stream = board("a");
        let head = ledger.append(&stream, Expect::Any, &[note(1)]).unwrap();
        ledger.store_fold(&stream, "board", 3, head, b"state").unwrap();
        let found = ledger.fold_cache(&stream, "board", 3).unwrap();
        assert_eq!(found, Some((head, b"state".to_vec())));
        ledger.append(&stream, Expect::Any, &[note(2)]).unwrap();
        let found = ledger.fold_cache(&stream, "board", 3).unwrap();
        assert_eq!(found, Some((head, b"state".to_vec())), "it may lag");
        assert_eq!(ledger.fold_cache(&stream, "board", 4).unwrap(), None);
        assert_eq!(ledger.fold_cache(&stream, "other", 3).unwrap(), None);
        assert_eq!(ledger.fold_cache(&board("b"), "board", 3).unwrap(), None);
        let wrong = Head { hash: Digest::ZERO, ..head };
        ledger.store_fold(&stream, "board", 3, wrong, b"lie").unwrap();
        assert_eq!(ledger.fold_cache(&stream, "board", 3).unwrap(), None);
    });
}

#[test]
fn every_kind_of_event_goes_through() {
    on_all(|ledger| {
        let stream = board("a");
        let mut arb = Arb(7);
        let events: Vec<NewEvent> = (0..300).map(|_| arb.event()).collect();
        for chunk in events.chunks(11) {
            ledger.append(&stream, Expect::Any, chunk).unwrap();
        }
        let read = ledger.read(&stream, Seq(1), 1000, true).unwrap();
        for (read, wanted) in read.iter().zip(&events) {
            assert_eq!((&read.fact, &read.scope), (&wanted.fact, &wanted.scope));
            assert_eq!((read.at, read.actor), (wanted.at, wanted.actor));
            assert_eq!(read.words.as_ref(), Some(&wanted.words));
        }
        assert_eq!(read.len(), events.len());
        let report = verify(ledger, &VerifyOptions::default()).unwrap();
        assert!(report.streams[0].broken.is_none());
    });
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let run = |seed| {
        let ledger = MemLedger::seeded(seed);
        let mut arb = Arb(3);
        for _ in 0..50 {
            ledger_append(&ledger, &arb.event());
        }
        ledger.bytes_digest()
    };
    assert_eq!(run(4), run(4));
    assert_ne!(run(4), run(5), "salts differ");
}

fn ledger_append(ledger: &dyn Store, event: &NewEvent) {
    ledger.append(&board("a"), Expect::Any, std::slice::from_ref(event)).unwrap();
}

/// One step of the model test.
#[derive(Debug, Clone)]
enum Op {
    Append { stream: u8, right_head: bool, events: u8, seed: u64 },
    Fold { stream: u8 },
    Reopen,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0u8..3, prop::bool::weighted(0.8), 1u8..4, any::<u64>()).prop_map(
            |(stream, right_head, events, seed)| Op::Append { stream, right_head, events, seed }
        ),
        1 => (0u8..3).prop_map(|stream| Op::Fold { stream }),
        1 => Just(Op::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// The file against the memory, step by step, over restarts.
    #[test]
    fn the_file_does_what_the_model_does(ops in prop::collection::vec(op(), 1..25)) {
        let place = Place::new();
        let model = MemLedger::new();
        let mut real = Some(place.open());
        let streams = [StreamId::Workspace, board("a"), board("b")];
        let mut folds = std::collections::BTreeMap::new();
        for op in ops {
            let ledger = real.clone().unwrap();
            match op {
                Op::Append { stream, right_head, events, seed } => {
                    let stream = &streams[usize::from(stream)];
                    let expect = |head: Option<Head>| match (head, right_head) {
                        (None, true) => Expect::Empty,
                        (None, false) => Expect::At(Head { seq: Seq(0), hash: Digest::ZERO }),
                        (Some(head), true) => Expect::At(head),
                        (Some(head), false) => Expect::At(Head { seq: head.seq.next(), ..head }),
                    };
                    let mut arb = Arb(seed);
                    let events: Vec<_> = (0..events).map(|_| arb.event()).collect();
                    let heads = (model.head(stream).unwrap(), ledger.head(stream).unwrap());
                    prop_assert_eq!(heads.0.map(|h| h.seq), heads.1.map(|h| h.seq));
                    let a = model.append(stream, expect(heads.0), &events);
                    let b = ledger.append(stream, expect(heads.1), &events);
                    prop_assert_eq!(a.is_ok(), b.is_ok());
                    prop_assert_eq!(a.is_ok(), right_head);
                }
                Op::Fold { stream } => {
                    let stream = &streams[usize::from(stream)];
                    if let Some(head) = ledger.head(stream).unwrap() {
                        ledger.store_fold(stream, "p", 1, head, b"x").unwrap();
                        folds.insert(stream.clone(), head);
                    }
                }
                Op::Reopen => {
                    drop(ledger);
                    drop(real.take());
                    real = Some(place.open());
                }
            }
        }
        let ledger = real.unwrap();
        for stream in &streams {
            let a = model.read(stream, Seq(0), 1000, true).unwrap();
            let b = ledger.read(stream, Seq(0), 1000, true).unwrap();
            prop_assert_eq!(a.len(), b.len());
            for (a, b) in a.iter().zip(&b).skip(1) {
                prop_assert_eq!((&a.fact, &a.words, a.seq), (&b.fact, &b.words, b.seq));
            }
            let fold = ledger.fold_cache(stream, "p", 1).unwrap().map(|(head, _)| head);
            prop_assert_eq!(fold, folds.get(stream).copied());
        }
        // The anchors that the seed makes up hold nothing; the chains must.
        let report = verify(ledger.as_ref(), &VerifyOptions::default()).unwrap();
        prop_assert!(report.streams.iter().all(|s| s.broken.is_none()));
    }
}
