//! Is the file in the fresh folder really this run's report on our board?

use std::io::{self, Read as _};
use std::path::Path;

use pcbflow_core::evidence::{Signal, Source};

use super::{REPORT_BYTES_MAX, Report};
use crate::signals;

/// Which lists a report must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lists {
    /// Those of `pcb drc`.
    Drc {
        /// The check compares with the schematic, so the tool says how much differs.
        parity: bool,
    },
    /// Those of `sch erc`.
    Erc,
}

/// A report that was proven, with its bytes.
#[derive(Debug, Clone)]
pub struct Proven {
    /// The report.
    pub report: Report,
    /// The file's bytes.
    pub bytes: Vec<u8>,
    /// Violations of the design rules that the tool counted and that are not in the list.
    pub unlisted: usize,
}

/// Seconds that a report may seem older than the start of its run; the tool writes whole seconds.
const DATE_SLACK_S: i64 = 1;

fn seen(code: &'static str, text: &str) -> Signal {
    Signal::new(Source::Report, code).text(text)
}

/// Reads the report at `path` and proves it: there, not empty, whole JSON with its lists, about
/// the file named `source`, not older than `started` (seconds since 1970), and in agreement with
/// the exit status and with what the tool `said` on its standard output.
///
/// # Errors
/// The signal that says what is missing from the proof.
pub fn prove(
    path: &Path,
    lists: Lists,
    source: &str,
    started: i64,
    exit: Option<i32>,
    said: &str,
) -> Result<Proven, Signal> {
    let bytes = read(path)?;
    let report: Report = serde_json::from_slice(&bytes)
        .map_err(|e| seen(signals::REPORT_UNREADABLE, &e.to_string()))?;
    let complete = match lists {
        Lists::Drc { .. } => {
            report.violations.is_some()
                && report.unconnected_items.is_some()
                && report.schematic_parity.is_some()
        }
        Lists::Erc => report.sheets.as_ref().is_some_and(|sheets| !sheets.is_empty()),
    };
    if !complete {
        return Err(seen(signals::REPORT_UNREADABLE, "a list is missing"));
    }
    if report.coordinate_units != "mm" {
        return Err(seen(signals::REPORT_UNREADABLE, "it is not in millimetres"));
    }
    if report.source != source {
        return Err(seen(signals::REPORT_OTHER_BOARD, &report.source));
    }
    match date_seconds(&report.date) {
        None => return Err(seen(signals::REPORT_UNREADABLE, "its date is none")),
        Some(date) if date + DATE_SLACK_S < started => {
            return Err(seen(signals::REPORT_STALE, &report.date));
        }
        Some(_) => {}
    }
    agree(&report, exit)?;
    let unlisted = whole(&report, lists, said)?;
    Ok(Proven { report, bytes, unlisted })
}

fn read(path: &Path) -> Result<Vec<u8>, Signal> {
    let fault = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => seen(signals::REPORT_MISSING, ""),
        _ => seen(signals::REPORT_UNREADABLE, &error.to_string()),
    };
    let file = std::fs::File::open(path).map_err(fault)?;
    let mut bytes = Vec::new();
    file.take(REPORT_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(fault)?;
    match bytes.len() as u64 {
        0 => Err(seen(signals::REPORT_EMPTY, "")),
        n if n > REPORT_BYTES_MAX => Err(seen(signals::REPORT_UNREADABLE, "it is too large")),
        _ => Ok(bytes),
    }
}

/// Status 5 says that there are violations, excluded ones included; 0 that there are none.
fn agree(report: &Report, exit: Option<i32>) -> Result<(), Signal> {
    let any = report.entries().next().is_some();
    match exit {
        Some(0) if any => Err(seen(signals::REPORT_CONTRADICTS_EXIT, "status 0 with findings")),
        Some(5) if !any => Err(seen(signals::REPORT_CONTRADICTS_EXIT, "status 5, no finding")),
        _ => Ok(()),
    }
}

/// Each list is as long as the tool said. Measured with 9.0.8 and 10.0.6 on 38 checks of demos and
/// public boards each: "Found N violations" counts what the list holds, excluded entries included;
/// of the electrical check it is the sum over all sheets. Both say every count, zeros included, in
/// both forms of report, with and without `--exit-code-violations`; of the schematic only when it is
/// compared with. So a count that can't be read is no agreement. Violations of a board may be
/// counted and not listed; how many is the answer, and the caller looks for them elsewhere.
fn whole(report: &Report, lists: Lists, said: &str) -> Result<usize, Signal> {
    let said = plain(said);
    let length = |list: &Option<Vec<super::Entry>>| list.as_ref().map(Vec::len);
    let violations = match &report.sheets {
        Some(sheets) => Some(sheets.iter().map(|s| s.violations.len()).sum()),
        None => length(&report.violations),
    };
    let of_board = matches!(lists, Lists::Drc { .. });
    let counts = [
        (VIOLATIONS, violations, true),
        ("unconnected items", length(&report.unconnected_items), of_board),
        (
            "schematic parity issues",
            length(&report.schematic_parity),
            lists == Lists::Drc { parity: true },
        ),
    ];
    let cut = |text: &str| Err(seen(signals::REPORT_CUT, text));
    let mut unlisted = 0;
    for (what, listed, is_due) in counts {
        let Some(listed) = listed else { continue };
        let Some(said) = number_said(&said, what) else {
            if is_due {
                return cut(&format!("the tool did not say how many {what} it found"));
            }
            continue;
        };
        if said > listed && what == VIOLATIONS && of_board {
            unlisted = said - listed;
        } else if said != listed {
            return cut(&format!("{said} {what} were found, {listed} are in the report"));
        }
    }
    Ok(unlisted)
}

/// What the tool calls the findings of both checks.
const VIOLATIONS: &str = "violations";

/// The number in the last `Found 15 violations`, which need not begin its line. A last one that is
/// no number (`1,273`, `1 273`) is none: an earlier one may be of something else.
fn number_said(said: &str, what: &str) -> Option<usize> {
    let numbers = said.split("Found ").skip(1).filter_map(|rest| {
        let (number, _) = rest.lines().next()?.split_once(what)?;
        Some(number.trim().parse().ok())
    });
    numbers.last().flatten()
}

/// The text without what a terminal takes as colours (`ESC [ 1 m`).
fn plain(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';' || c == '?');
        out.push_str(rest.strip_prefix(|c: char| c.is_ascii_alphabetic()).unwrap_or(rest));
    }
    out
}

/// `2026-11-30T18:30:04+0000` (KiCad 9) or the same without a zone (10, which runs with UTC as its
/// local time), as seconds since 1970.
#[must_use]
pub fn date_seconds(text: &str) -> Option<i64> {
    let field = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (field(0, 4)?, field(5, 7)?, field(8, 10)?);
    let (hour, minute, second) = (field(11, 13)?, field(14, 16)?, field(17, 19)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 {
        return None;
    }
    let offset = match text.get(19..)? {
        "" | "Z" => 0,
        zone => {
            let sign = if zone.starts_with('-') { -1 } else { 1 };
            let digits: String = zone.chars().filter(char::is_ascii_digit).collect();
            let hours: i64 = digits.get(0..2)?.parse().ok()?;
            let minutes: i64 = digits.get(2..4)?.parse().ok()?;
            sign * (hours * 3600 + minutes * 60)
        }
    };
    let days = days_since_1970(year, month, day);
    Some(days * 86_400 + hour * 3600 + minute * 60 + second - offset)
}

/// Days of the civil calendar, counted in eras of 400 years that begin in March.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(date_seconds("1970-01-01T00:00:00+0000"), Some(0));
        assert_eq!(date_seconds("2026-11-30T20:35:17+0000"), Some(1_796_070_917));
        assert_eq!(date_seconds("2026-11-30T20:35:17"), Some(1_796_070_917));
        assert_eq!(date_seconds("2026-11-30T22:35:17+0200"), Some(1_796_070_917));
        assert_eq!(date_seconds("2024-02-29T00:00:00Z"), Some(1_709_164_800));
        for bad in ["", "yesterday", "2026-13-01T00:00:00", "2026-11-30"] {
            assert_eq!(date_seconds(bad), None, "{bad}");
        }
    }

    fn code(text: &str, source: &str, started: i64, exit: i32) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.json");
        std::fs::write(&path, text).unwrap();
        let said = "Found 0 violations\nFound 0 unconnected items\n";
        match prove(&path, Lists::Drc { parity: false }, source, started, Some(exit), said) {
            Ok(_) => String::new(),
            Err(signal) => signal.code,
        }
    }

    #[test]
    fn each_lack_of_proof_has_its_code() {
        let good = r#"{"source":"a.kicad_pcb","date":"2026-11-30T20:35:17+0000","coordinate_units":"mm",
            "violations":[],"unconnected_items":[],"schematic_parity":[]}"#;
        let at = 1_796_070_917;
        assert_eq!(code(good, "a.kicad_pcb", at, 0), "");
        assert_eq!(code("", "a.kicad_pcb", at, 0), signals::REPORT_EMPTY);
        assert_eq!(code(&good[..90], "a.kicad_pcb", at, 0), signals::REPORT_UNREADABLE);
        assert_eq!(
            code(&good.replace("schematic_parity", "x"), "a.kicad_pcb", at, 0),
            signals::REPORT_UNREADABLE
        );
        assert_eq!(code(good, "b.kicad_pcb", at, 0), signals::REPORT_OTHER_BOARD);
        assert_eq!(code(good, "a.kicad_pcb", at + 60, 0), signals::REPORT_STALE);
        assert_eq!(code(good, "a.kicad_pcb", at, 5), signals::REPORT_CONTRADICTS_EXIT);
        let lists = Lists::Drc { parity: false };
        let gone = prove(Path::new("/nowhere/r.json"), lists, "a", 0, None, "").unwrap_err();
        assert_eq!(gone.code, signals::REPORT_MISSING);
    }

    #[test]
    fn a_list_of_another_length_than_was_said_is_cut() {
        let of = |text: &str, said: &str| {
            let report: Report = serde_json::from_str(text).unwrap();
            let lists = match report.sheets {
                Some(_) => Lists::Erc,
                None => Lists::Drc { parity: true },
            };
            whole(&report, lists, said).err().map(|s| s.code)
        };
        let one = r#"{"type":"x","severity":"error"}"#;
        let drc = format!(
            r#"{{"source":"","date":"","violations":[{one}],"unconnected_items":[],"schematic_parity":[{one}]}}"#
        );
        let good =
            "Found 1 violations\nFound 0 unconnected items\nFound 1 schematic parity issues\n";
        assert_eq!(of(&drc, good), None);
        let cut = Some(signals::REPORT_CUT.to_owned());
        assert_eq!(of(&drc, ""), cut);
        let coloured = good.replace("1 v", "\u{1b}[1;31m1\u{1b}[0m v");
        assert_eq!(of(&drc, &coloured), None);
        assert_eq!(of(&drc, &coloured.replace("31m1", "31m0")), cut);
        // What can't be read agrees with nothing: another language, thousands, a count too few.
        for (from, to) in [
            ("Found 1 violations", "1 Verletzungen gefunden"),
            ("Found 1 violations", "Found 1,001 violations"),
            ("Found 1 violations", "Found 1 violations\nFound 1 001 violations"),
            ("Found 1 violations", "Found violations"),
            ("Found 0 unconnected items\n", ""),
            ("Found 1 schematic parity issues\n", ""),
        ] {
            assert_eq!(of(&drc, &good.replace(from, to)), cut, "{to}");
        }
        let last = format!("Found 1 violations\n{}", good.replace("1 v", "1,001 v"));
        assert_eq!(of(&drc, &last), cut, "an earlier number is not taken for the last one");
        let alone: Report = serde_json::from_str(&drc).unwrap();
        let unasked = good.replace("Found 1 schematic parity issues\n", "");
        assert!(whole(&alone, Lists::Drc { parity: false }, &unasked).is_ok());
        for (from, to) in [("1 v", "0 v"), ("0 u", "3 u"), ("1 s", "0 s")] {
            assert_eq!(of(&drc, &good.replace(from, to)), cut, "{to}");
        }
        let more: Report = serde_json::from_str(&drc).unwrap();
        assert_eq!(
            whole(&more, Lists::Drc { parity: true }, &good.replace("1 v", "4 v")).ok(),
            Some(3)
        );
        let sheets = format!(
            r#"{{"source":"","date":"","sheets":[{{"violations":[{one}]}},{{"violations":[{one}]}}]}}"#
        );
        let first_run = "See the documentation for more information. Found 2 violations\n";
        assert_eq!(of(&sheets, first_run), None);
        assert_eq!(of(&sheets, &first_run.replace('2', "1")), cut);
        assert_eq!(of(&sheets, "See the documentation for more information."), cut);
    }
}
