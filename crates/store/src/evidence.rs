//! A fault of the ledger as typed evidence, for the diagnosis by the rows LG-1 to LG-5.

use pcbflow_core::evidence::{Evidence, Signal, Source};
use pcbflow_core::ports::LedgerError;

use crate::signals;

/// Layer of the evidence; part of its fingerprint.
const LAYER: &str = "ledger";

/// How a lost record is told in [`LedgerError::Damaged`]; `open` writes these words.
pub(crate) const GONE: &str = "it is gone";
/// The same for a file without content.
pub(crate) const EMPTY: &str = "it is empty";
/// Part of every sentence about a head that the state folder or a commit knows.
pub(crate) const KNEW: &str = "this computer knew";

/// The evidence of a fault, `None` where it is no failure: a stream that moved on, something
/// that is not there, an event that was refused.
#[must_use]
pub fn evidence_of(error: &LedgerError) -> Option<Evidence> {
    let signal = match error {
        LedgerError::DiskFull { doing } => {
            Signal::new(Source::Report, signals::STORAGE_FULL).text(doing)
        }
        LedgerError::Damaged { what } => damage(what),
        LedgerError::Newer { found, .. } => {
            Signal::new(Source::File, signals::FORMAT_NEWER).number(i64::from(*found))
        }
        LedgerError::ReadOnly { what } => {
            Signal::new(Source::Report, signals::OPEN_REFUSED).text(what)
        }
        LedgerError::Storage { message, .. } => stored(message)?,
        _ => return None,
    };
    let mut evidence = Evidence::new(LAYER, "");
    evidence.push(signal);
    Some(evidence)
}

/// The evidence of a record whose last writer was killed, as `open` reports it by `repaired`.
#[must_use]
pub fn evidence_of_repair() -> Evidence {
    let mut evidence = Evidence::new(LAYER, "");
    evidence.push(Signal::new(Source::Report, signals::REPAIR_NEEDED));
    evidence
}

fn damage(what: &str) -> Signal {
    let knew = what.contains(KNEW);
    match what {
        w if knew && w.starts_with(EMPTY) => Signal::new(Source::File, signals::EMPTY_BUT_KNOWN),
        w if knew && w.starts_with(GONE) => Signal::new(Source::File, signals::ABSENT_BUT_KNOWN),
        _ if knew => Signal::new(Source::Own, signals::BEHIND_ANCHOR),
        w if w.starts_with("event ") => Signal::new(Source::Own, signals::CHAIN_BROKEN),
        _ => Signal::new(Source::Report, signals::CUT_SHORT),
    }
    .text(what)
}

fn stored(message: &str) -> Option<Signal> {
    let low = message.to_lowercase();
    let code = match () {
        () if low.contains("file too large") => signals::FILE_SIZE_LIMIT,
        () if low.contains("already open") => signals::ALREADY_OPEN,
        () if low.contains("previous i/o") => signals::PREVIOUS_IO_ERROR,
        () => return None,
    };
    Some(Signal::new(Source::Report, code).text(message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcbflow_core::catalogue::{Catalogue, UNKNOWN_CLASS};
    use pcbflow_core::evidence::{Matcher, Pattern};
    use pcbflow_core::row::Row;
    use std::fs;

    use crate::Mode;
    use crate::tests::{Place, board, note};
    use pcbflow_core::ports::{Expect, Ledger};

    fn class_of(error: &LedgerError) -> String {
        diagnosed(&evidence_of(error).unwrap())
    }

    /// The class by this crate's rows, beside a row for what none of them fits.
    fn diagnosed(evidence: &Evidence) -> String {
        let mut rows = crate::rows::ROWS.to_vec();
        const NEVER: &[Matcher] = &[Matcher::new(&[Pattern::own("never")])];
        rows.push(Row { id: UNKNOWN_CLASS, matchers: NEVER, ..rows[0] });
        let catalogue = Catalogue::fold(rows, Vec::new()).unwrap();
        catalogue.diagnose(evidence).class.to_string()
    }

    #[test]
    fn real_faults_are_diagnosed() {
        let place = Place::new();
        place.open().append(&board("a"), Expect::Any, &[note(1)]).unwrap();
        let bytes = fs::read(place.file()).unwrap();
        fs::write(place.file(), &bytes[..bytes.len() / 2]).unwrap();
        assert_eq!(class_of(&place.try_open(Mode::Write).unwrap_err()), "LG-2");
        fs::write(place.file(), b"").unwrap();
        let empty = place.try_open(Mode::Write).unwrap_err();
        assert_eq!(
            damage(&empty.to_string()["the record is damaged: ".len()..]).code,
            signals::EMPTY_BUT_KNOWN
        );
        assert_eq!(class_of(&empty), "LG-2");
        fs::remove_file(place.file()).unwrap();
        assert_eq!(class_of(&place.try_open(Mode::Write).unwrap_err()), "LG-2");
        assert_eq!(class_of(&LedgerError::DiskFull { doing: "x" }), "LG-1");
        assert_eq!(class_of(&LedgerError::Newer { found: 2, known: 1 }), "LG-3");
        assert_eq!(class_of(&LedgerError::ReadOnly { what: "x".into() }), "LG-4");
        let moved = LedgerError::MovedOn { stream: board("a"), head: None };
        assert!(evidence_of(&moved).is_none());
    }

    #[test]
    fn a_repair_is_lg_5() {
        assert_eq!(diagnosed(&evidence_of_repair()), "LG-5");
    }
}
