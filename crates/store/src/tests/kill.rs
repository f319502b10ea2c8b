//! Processes that are killed while they append.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use pcbflow_core::ids::Seq;
use pcbflow_core::ports::{Expect, Ledger};

use super::arb::Arb;
use super::{Place, board, note, options_of};
use crate::verify::{VerifyOptions, verify};
use crate::{Mode, open};

const HELPER: &str = "PCBFLOW_STORE_VICTIM";

/// Kills of the suite; the line it prints gives the seed.
const KILLS: u64 = 40;

/// Not a test of its own: appends without end and says so after each.
#[test]
fn helper_victim() {
    let Ok(folder) = std::env::var(HELPER) else { return };
    let opened = open(&options_of(folder.as_ref())).unwrap();
    let mut out = std::io::stdout();
    for n in 0..1_000_000 {
        let head = opened.ledger.append(&board("a"), Expect::Any, &[note(n)]).unwrap();
        writeln!(out, "ack {}", head.seq).unwrap();
        out.flush().unwrap();
    }
}

fn victim(place: &Place) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::kill::helper_victim", "--nocapture"])
        .env(HELPER, place.folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Lets a victim run until `acks` acknowledgements came, and a moment more, and kills it. Gives
/// the last acknowledged position.
fn kill_after(place: &Place, acks: u64, wait_us: u64) -> Option<u64> {
    let mut child = victim(place);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut last = None;
    let mut seen = 0;
    while seen < acks {
        let line = lines.next().unwrap().unwrap();
        // The harness prints the name of the test in front of the first.
        if let Some((_, n)) = line.rsplit_once("ack ") {
            last = Some(n.trim().parse().unwrap());
            seen += 1;
        }
    }
    std::thread::sleep(Duration::from_micros(wait_us));
    child.kill().unwrap();
    child.wait().unwrap();
    // What was acknowledged up to the kill lies in the pipe. The last line may be cut.
    for line in lines.map_while(Result::ok) {
        if let Some((_, n)) = line.rsplit_once("ack ")
            && let Ok(n) = n.trim().parse::<u64>()
        {
            last = last.max(Some(n));
        }
    }
    last
}

#[test]
fn killed_under_load_nothing_acknowledged_is_lost() {
    let seed = std::env::var("PCBFLOW_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let mut arb = Arb(seed);
    let place = Place::new();
    drop(place.open());
    let mut repaired = 0;
    for _ in 0..KILLS {
        let acks = 1 + arb.below(6);
        let acked = kill_after(&place, acks, arb.below(2_000)).unwrap();
        let reader = arb.below(2) == 0;
        let opened = place.try_open(if reader { Mode::Read } else { Mode::Write }).unwrap();
        repaired += u64::from(opened.repaired);
        assert!(!opened.private_copy && !opened.created);
        let head = opened.ledger.head(&board("a")).unwrap().unwrap().seq.0;
        assert!(head == acked || head == acked + 1, "stored {head}, acknowledged {acked}");
        assert!(verify(opened.ledger.as_ref(), &VerifyOptions::default()).unwrap().is_good());
    }
    assert!(repaired > KILLS / 2, "only {repaired} repairs seen, seed {seed}");
    let clean = place.try_open(Mode::Write).unwrap();
    drop(clean);
    assert!(!place.try_open(Mode::Write).unwrap().repaired, "said once");
}

#[test]
fn a_reader_is_not_disturbed_when_a_writer_dies() {
    let place = Place::new();
    let mine = place.open();
    mine.append(&board("b"), Expect::Any, &[note(1)]).unwrap();
    let reader = place.try_open(Mode::Read).unwrap();
    kill_after(&place, 3, 300).unwrap();
    assert_eq!(reader.ledger.read(&board("b"), Seq(1), 9, true).unwrap().len(), 1);
    assert!(reader.ledger.head(&board("a")).unwrap().is_some());
    mine.append(&board("b"), Expect::Any, &[note(2)]).unwrap();
    assert!(verify(mine.as_ref(), &VerifyOptions::default()).unwrap().is_good());
}
