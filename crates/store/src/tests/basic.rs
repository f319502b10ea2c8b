use pcbflow_core::event::{Actor, Fact, NewEvent, Words};
use pcbflow_core::ids::{Scope, Seq, StreamId};
use pcbflow_core::ports::{Expect, Ledger, LedgerError};
use pcbflow_core::time::Timestamp;

use crate::{MemLedger, Mode, OpenOptions, StateHome, open};

fn note(n: u64) -> NewEvent {
    NewEvent {
        at: Timestamp(1_700_000_000_000_000 + n as i64),
        scope: Scope::default(),
        actor: Actor::Engine,
        fact: Fact::Noted { topic: format!("n{n}") },
        words: Words::say(format!("words {n}")),
    }
}

fn exercise(ledger: &dyn Ledger) {
    let stream: StreamId = "board/door-sensor".parse().unwrap();
    assert_eq!(ledger.head(&stream).unwrap(), None);
    let head = ledger.append(&stream, Expect::Empty, &[note(1), note(2)]).unwrap();
    assert_eq!(head.seq, Seq(2));
    assert!(matches!(
        ledger.append(&stream, Expect::Empty, &[note(3)]),
        Err(LedgerError::MovedOn { head: Some(h), .. }) if h == head
    ));
    let next = ledger.append(&stream, Expect::At(head), &[note(3)]).unwrap();
    assert_eq!(ledger.head(&stream).unwrap(), Some(next));
    let all = ledger.read(&stream, Seq(0), 100, true).unwrap();
    assert_eq!(all.len(), 4);
    assert!(matches!(&all[0].fact, Fact::StreamOpened { ledger: id, .. } if *id == ledger.id()));
    assert_eq!(all[3].words, Some(Words::say("words 3")));
    ledger.store_fold(&stream, "p", 1, next, b"fold").unwrap();
    assert_eq!(ledger.fold_cache(&stream, "p", 1).unwrap(), Some((next, b"fold".to_vec())));
}

#[test]
fn memory() {
    exercise(&MemLedger::new());
}

#[test]
fn file() {
    let folder = tempfile::tempdir().unwrap();
    let home = StateHome(folder.path().join("state"));
    let options = OpenOptions::of_workspace(folder.path(), Some(home), Mode::Write);
    let opened = open(&options).unwrap();
    assert!(opened.created && !opened.repaired);
    exercise(opened.ledger.as_ref());
    drop(opened);
    let read = OpenOptions { mode: Mode::Read, ..options };
    let opened = open(&read).unwrap();
    let stream: StreamId = "board/door-sensor".parse().unwrap();
    assert_eq!(opened.ledger.read(&stream, Seq(1), 100, false).unwrap().len(), 3);
}
