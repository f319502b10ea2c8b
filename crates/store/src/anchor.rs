//! A head written outside the ledger, in the trailer of a phase commit, and what a fresh clone
//! does with it.

use std::fmt;
use std::str::FromStr;

use pcbflow_core::event::{Actor, Fact, NewEvent, Words};
use pcbflow_core::ids::{BoardName, Digest, IdError, LedgerId, Scope, Seq, StreamId};
use pcbflow_core::ports::{Expect, Head, Ledger, LedgerError};
use pcbflow_core::time::Timestamp;

/// Key of the trailer in a commit message.
pub const TRAILER_KEY: &str = "Pcbflow-Ledger";

/// The head of a board's stream at the time of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// The ledger.
    pub ledger: LedgerId,
    /// The board.
    pub board: BoardName,
    /// Position of the head.
    pub seq: Seq,
    /// Its hash.
    pub hash: Digest,
}

/// Why a text is not an anchor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnchorError {
    /// It does not have the four parts.
    #[error("an anchor has the form LEDGER:BOARD:SEQ:HASH")]
    Form,
    /// One of its ids is none.
    #[error("a part of the anchor is not valid")]
    Id(#[from] IdError),
}

impl fmt::Display for Anchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}:{}", self.ledger, self.board, self.seq, self.hash)
    }
}

impl FromStr for Anchor {
    type Err = AnchorError;
    fn from_str(text: &str) -> Result<Anchor, AnchorError> {
        let parts: Vec<&str> = text.trim().split(':').collect();
        let [ledger, board, seq, hash] = parts.as_slice() else { return Err(AnchorError::Form) };
        Ok(Anchor {
            ledger: LedgerId::new(*ledger)?,
            board: BoardName::new(*board)?,
            seq: Seq(seq.parse().map_err(|_| AnchorError::Form)?),
            hash: hash.parse()?,
        })
    }
}

impl Anchor {
    /// The trailer line of a commit message.
    #[must_use]
    pub fn trailer(&self) -> String {
        format!("{TRAILER_KEY}: {self}")
    }

    /// All anchors in a commit message, in its order. Lines that only look like one are passed
    /// over.
    #[must_use]
    pub fn all_in(message: &str) -> Vec<Anchor> {
        message
            .lines()
            .filter_map(|line| line.strip_prefix(TRAILER_KEY)?.strip_prefix(':')?.parse().ok())
            .collect()
    }

    /// The board's stream.
    #[must_use]
    pub fn stream(&self) -> StreamId {
        StreamId::Board(self.board.clone())
    }
}

/// Starts a new segment of a board's history behind an anchor that came with a clone. No verdict
/// is taken over.
///
/// # Errors
/// [`LedgerError::MovedOn`] when the board has events here already; storage faults.
pub fn adopt(ledger: &dyn Ledger, anchor: &Anchor, at: Timestamp) -> Result<Head, LedgerError> {
    let event = NewEvent {
        at,
        scope: Scope::default(),
        actor: Actor::Engine,
        fact: Fact::SegmentAdopted {
            ledger: anchor.ledger.clone(),
            seq: anchor.seq,
            hash: anchor.hash,
        },
        words: Words::say("earlier history lies in another record; every step is checked again"),
    };
    ledger.append(&anchor.stream(), Expect::Empty, &[event])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemLedger;

    fn anchor() -> Anchor {
        Anchor {
            ledger: LedgerId::new("0123abcd").unwrap(),
            board: BoardName::new("tür-sensor_2.1").unwrap(),
            seq: Seq(41),
            hash: Digest::of(b"x"),
        }
    }

    #[test]
    fn trailer_round_trip() {
        let message = format!(
            "door-sensor: 05 done\n\nPcbflow-Run: r1\n{}\nPcbflow-Ledger: nonsense\n",
            anchor().trailer()
        );
        assert_eq!(Anchor::all_in(&message), [anchor()]);
        for bad in ["", "a:b:c", "a:b:1:zz", "a:../x:1:00", "a:b:-1:00", "a:b:1:2:3"] {
            assert!(bad.parse::<Anchor>().is_err(), "{bad}");
        }
    }

    #[test]
    fn an_anchor_is_adopted_once() {
        let ledger = MemLedger::new();
        let head = adopt(&ledger, &anchor(), Timestamp(5)).unwrap();
        assert_eq!(head.seq, Seq(1), "behind the genesis event");
        assert!(adopt(&ledger, &anchor(), Timestamp(6)).is_err());
        let events = ledger.read(&anchor().stream(), Seq(1), 9, true).unwrap();
        assert!(matches!(&events[0].fact, Fact::SegmentAdopted { seq: Seq(41), .. }));
    }
}
