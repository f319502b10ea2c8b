//! Appenders side by side, in threads and in processes.

use std::process::Command;

use pcbflow_core::ids::Seq;
use pcbflow_core::ports::{Expect, Ledger, LedgerError};

use super::{Place, board, note, options_of};
use crate::verify::{VerifyOptions, verify};
use crate::{Mode, open};

const HELPER: &str = "PCBFLOW_STORE_APPENDER";

#[test]
fn eight_writers_append_fifty_each() {
    let place = Place::new();
    let ledger = place.open();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let ledger = ledger.clone();
            scope.spawn(move || {
                for n in 0..50 {
                    ledger.append(&board("a"), Expect::Any, &[note(writer * 100 + n)]).unwrap();
                }
            });
        }
    });
    let events = ledger.read(&board("a"), Seq(1), 1000, false).unwrap();
    assert_eq!(events.len(), 400);
    let report = verify(ledger.as_ref(), &VerifyOptions::default()).unwrap();
    assert!(report.is_good());
    assert_eq!(report.streams[0].events, 401);
}

#[test]
fn of_two_with_the_same_expectation_one_wins() {
    let place = Place::new();
    let ledger = place.open();
    ledger.append(&board("a"), Expect::Any, &[note(0)]).unwrap();
    for round in 0..20 {
        let head = ledger.head(&board("a")).unwrap().unwrap();
        let won: usize = std::thread::scope(|scope| {
            let tries: Vec<_> = (0..6)
                .map(|n| {
                    let ledger = ledger.clone();
                    scope.spawn(move || {
                        ledger.append(&board("a"), Expect::At(head), &[note(round * 10 + n)])
                    })
                })
                .collect();
            tries.into_iter().filter(|_| true).map(|t| t.join().unwrap()).fold(0, |won, result| {
                match result {
                    Ok(_) => won + 1,
                    Err(LedgerError::MovedOn { .. }) => won,
                    Err(e) => panic!("{e}"),
                }
            })
        });
        assert_eq!(won, 1);
    }
}

/// Not a test of its own: what the other processes run.
#[test]
fn helper_appends() {
    let Ok(job) = std::env::var(HELPER) else { return };
    let (folder, name) = job.rsplit_once('|').unwrap();
    let opened = open(&options_of(folder.as_ref())).unwrap();
    for n in 0..200 {
        opened.ledger.append(&board(name), Expect::Any, &[note(n)]).unwrap();
    }
}

fn appender(place: &Place, stream: &str) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::group::helper_appends", "--nocapture"])
        .env(HELPER, format!("{}|{stream}", place.folder.path().display()))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn two_processes_append_while_a_third_reads() {
    let place = Place::new();
    drop(place.open());
    let mut children = [appender(&place, "shared"), appender(&place, "shared")];
    let reader = place.try_open(Mode::Read).unwrap().ledger;
    let mut last = 0;
    loop {
        let done = children.iter_mut().all(|c| c.try_wait().unwrap().is_some());
        let events = reader.read(&board("shared"), Seq(0), 10_000, false).unwrap();
        assert!(events.len() >= last, "a reader never goes back");
        assert!(events.iter().enumerate().all(|(n, e)| e.seq == Seq(n as u64)));
        last = events.len();
        if done {
            break;
        }
    }
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let ledger = place.open();
    assert_eq!(ledger.read(&board("shared"), Seq(1), 1000, false).unwrap().len(), 400);
    assert!(verify(ledger.as_ref(), &VerifyOptions::default()).unwrap().is_good());
}
