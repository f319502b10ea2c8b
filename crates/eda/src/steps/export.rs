//! `eda/export`: files that the editor makes, checked against what it shows.
//!
//! A file that came is not yet the right one: it is parsed, and its parts and nets are held
//! against a fresh read of the live document.

use std::collections::BTreeSet;

use pcbflow_core::check::CheckResult;
use pcbflow_core::evidence::{Signal, Source};
use pcbflow_core::ports::Observation;
use serde_json::{Value, json};

use super::{Step, checked, of_file};
use crate::desk::{Kind, left_ms, script};
use crate::files;
use crate::sheet::{self, Sheet};
use crate::trouble::Trouble;

/// The editor's export answered undefined; a signal of the family KI.
const EXPORT_UNDEFINED: &str = "kicad.export_undefined";
/// The exported file lacks something of the live document; a signal of the family KI.
const EXPORT_INCOMPLETE: &str = "kicad.export_incomplete";
/// Longest wait for a file, in milliseconds.
const EXPORT_MS: u64 = 60_000;
/// Largest file, in bytes.
const FILE_BYTES_MAX: u64 = 10 * 1024 * 1024;

/// A kind of file.
struct Form {
    name: &'static str,
    kind: Kind,
    method: &'static str,
    args: &'static [&'static str],
    /// Where it goes, when the step does not say.
    to: &'static str,
    check: fn(&[u8], &Sheet) -> Result<(), String>,
}

const FORMS: &[Form] = &[
    Form {
        name: "netlist",
        kind: Kind::Page,
        method: "sch_ManufactureData.getNetlistFile",
        args: &["netlist"],
        to: "out/netlist.enet",
        check: all_parts_and_nets,
    },
    Form {
        name: "bom",
        kind: Kind::Page,
        method: "sch_ManufactureData.getBomFile",
        args: &["BOM", "csv"],
        to: "out/bom.csv",
        check: all_parts,
    },
    Form {
        name: "pads",
        kind: Kind::Pcb,
        method: "pcb_ManufactureData.getPadsFile",
        args: &["PADS"],
        to: "out/board.asc",
        check: pads,
    },
    Form {
        name: "pick-and-place",
        kind: Kind::Pcb,
        method: "pcb_ManufactureData.getPickAndPlaceFile",
        args: &["PickAndPlace", "csv"],
        to: "out/pick-and-place.csv",
        check: all_parts,
    },
    Form {
        name: "gerber",
        kind: Kind::Pcb,
        method: "pcb_ManufactureData.getGerberFile",
        args: &["Gerber"],
        to: "out/gerber.zip",
        check: gerber,
    },
];

/// The names for the manifest.
pub(crate) fn forms() -> Vec<&'static str> {
    FORMS.iter().map(|f| f.name).collect()
}

/// Whether this kind of file is one of a layout.
pub(crate) fn of_layout(what: Option<&str>) -> bool {
    FORMS.iter().any(|f| Some(f.name) == what && f.kind == Kind::Pcb)
}

impl Step<'_> {
    pub(super) async fn export(&mut self) -> Result<Observation, Trouble> {
        let what = self.context.step.arg_str("what").unwrap_or("").to_owned();
        let Some(form) = FORMS.iter().find(|f| f.name == what) else {
            return Err(Trouble::failed(&format!("{what} is none of {}", forms().join(", "))));
        };
        let want = self.want(&[form.method, "dmt_SelectControl.getCurrentDocumentInfo"], false)?;
        let view = self.ready(&want).await?;
        let seen = sheet::settled(self.desk, &view, true, self.until).await?;
        self.services.progress.doing(&self.context.key, &format!("exporting {what} from EasyEDA"));
        let input = json!({ "method": form.method, "args": form.args, "bytesMax": FILE_BYTES_MAX });
        let export =
            script(include_str!("../page/export.js"), &input, left_ms(self.until).min(EXPORT_MS));
        let (answer, window) = self.desk.run(&view.project, "exporting", &export).await?;
        let signal = |code: &str, t: &str| vec![Signal::new(Source::Report, code).text(t)];
        if answer.is_null() {
            let none = Trouble::seen("the export gave nothing", window.signals());
            return Err(none.with(signal(EXPORT_UNDEFINED, &what)));
        }
        let bytes =
            decoded(&answer).map_err(|why| Trouble::seen(&why, signal(EXPORT_INCOMPLETE, &why)))?;
        (form.check)(&bytes, &seen)
            .map_err(|why| Trouble::seen(&why, signal(EXPORT_INCOMPLETE, &why)))?;
        self.still_in_front(&view).await?;
        let to = self.context.step.arg_str("to").unwrap_or(form.to);
        let output = files::output(&self.context.board_dir, to, &bytes)
            .map_err(|e| of_file("the file can't be written:", to.as_ref(), &e))?;
        let summary = format!("{what}: {} bytes, as the live document", bytes.len());
        let mut observation = checked(CheckResult::pass("export"), &summary, Some(&view));
        observation.outputs.push(output);
        Ok(observation)
    }
}

/// The bytes of an answer, whole.
fn decoded(answer: &Value) -> Result<Vec<u8>, String> {
    let size = answer.get("size").and_then(Value::as_u64).unwrap_or(0);
    if answer.get("tooLarge") == Some(&Value::Bool(true)) {
        return Err(format!("the file has {size} bytes, at most {FILE_BYTES_MAX} are taken"));
    }
    let text = answer.get("base64").and_then(Value::as_str).unwrap_or("");
    let bytes = base64(text).ok_or("the file came over damaged")?;
    let whole = u64::try_from(bytes.len()).is_ok_and(|n| n == size);
    match (whole, bytes.is_empty()) {
        (true, false) => Ok(bytes),
        (true, true) => Err("the file is empty".into()),
        (false, _) => Err(format!("{} of {size} bytes came over", bytes.len())),
    }
}

/// Base64 with padding, as browsers write it.
fn base64(text: &str) -> Option<Vec<u8>> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => Some(u32::from(c - b'A')),
        b'a'..=b'z' => Some(u32::from(c - b'a') + 26),
        b'0'..=b'9' => Some(u32::from(c - b'0') + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let bytes = text.as_bytes();
    if !bytes.len().is_multiple_of(4) {
        return None;
    }
    let mut out = Vec::with_capacity(bytes.len() / 4 * 3);
    for four in bytes.chunks_exact(4) {
        let pad = four.iter().rev().take_while(|c| **c == b'=').count();
        if pad > 2 {
            return None;
        }
        let mut word = 0;
        for c in four.iter().take(4 - pad) {
            word = (word << 6) | value(*c)?;
        }
        word <<= 6 * pad;
        let [_, a, b, c] = word.to_be_bytes();
        out.extend([a, b, c].into_iter().take(3 - pad));
    }
    Some(out)
}

/// References of all parts of a document.
fn references(seen: &Sheet) -> BTreeSet<String> {
    let reference = |r: &Value| r.get("designator").and_then(Value::as_str).map(str::to_owned);
    let parts = seen.of_kind("part").chain(seen.of_kind("component"));
    parts.filter_map(reference).filter(|d| !d.is_empty()).collect()
}

/// Whole words of a text.
fn words(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !(c.is_alphanumeric() || "_-+.$".contains(c)))
        .flat_map(|w| std::iter::once(w).chain(w.split('.')))
        .collect()
}

fn readable(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|_| "the file is no text".to_owned())
}

fn all_parts(bytes: &[u8], seen: &Sheet) -> Result<(), String> {
    let text = readable(bytes)?;
    let there = words(text);
    let wanted = references(seen);
    if wanted.is_empty() {
        return Err("the live document has no parts".into());
    }
    let missing: Vec<&String> = wanted.iter().filter(|r| !there.contains(r.as_str())).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let first: Vec<&str> = missing.iter().take(5).map(|r| r.as_str()).collect();
    Err(format!("{} parts are not in the file: {}", missing.len(), first.join(", ")))
}

fn all_parts_and_nets(bytes: &[u8], seen: &Sheet) -> Result<(), String> {
    all_parts(bytes, seen)?;
    let text = readable(bytes)?;
    let wires = seen.of_kind("wire");
    let nets: BTreeSet<&str> = wires
        .filter_map(|w| w.get("net").and_then(Value::as_str))
        .filter(|n| !n.is_empty())
        .collect();
    // A net's name may hold any character, so it is looked for as it is.
    let missing: Vec<&&str> = nets.iter().filter(|n| !text.contains(**n)).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("nets are not in the file: {missing:?}")) }
}

fn pads(bytes: &[u8], seen: &Sheet) -> Result<(), String> {
    let text = readable(bytes)?;
    if !text.lines().next().is_some_and(|l| l.contains("PADS")) {
        return Err("the file does not begin as a PADS file does".into());
    }
    for section in [&["*PART*"][..], &["*SIGNAL*", "*NET*", "*ROUTE*"]] {
        if !section.iter().any(|s| text.contains(s)) {
            return Err(format!("the file has no section {}", section.join(" or ")));
        }
    }
    all_parts(bytes, seen)
}

/// A zip whose directory names at least one copper layer and no entry without content.
fn gerber(bytes: &[u8], _: &Sheet) -> Result<(), String> {
    /// Most entries that are looked at.
    const ENTRIES_MAX: usize = 10_000;
    const COPPER: &[&str] = &["gtl", "gbl", "copper", "toplayer", "bottomlayer"];
    if !bytes.starts_with(b"PK\x03\x04") {
        return Err("the file is no zip".into());
    }
    let number = |at: usize, size: usize| -> Option<usize> {
        let part = bytes.get(at..at + size)?;
        Some(part.iter().rev().fold(0, |n, b| (n << 8) | usize::from(*b)))
    };
    let end = bytes.windows(4).rposition(|w| w == b"PK\x05\x06");
    let end = end.ok_or("the zip has no directory")?;
    let cut = || "the zip's directory is cut".to_owned();
    let count = number(end + 10, 2).ok_or_else(cut)?;
    let mut at = number(end + 16, 4).ok_or_else(cut)?;
    let mut copper = 0;
    for _ in 0..count.min(ENTRIES_MAX) {
        if bytes.get(at..at + 4) != Some(b"PK\x01\x02".as_slice()) {
            return Err(cut());
        }
        let size = number(at + 24, 4).ok_or_else(cut)?;
        let (name_len, extra, comment) = (
            number(at + 28, 2).ok_or_else(cut)?,
            number(at + 30, 2).ok_or_else(cut)?,
            number(at + 32, 2).ok_or_else(cut)?,
        );
        let name = bytes.get(at + 46..at + 46 + name_len).ok_or_else(cut)?;
        let name = String::from_utf8_lossy(name).to_lowercase();
        let is_copper = COPPER.iter().any(|c| name.contains(c));
        if is_copper && size == 0 {
            return Err(format!("{name} is empty"));
        }
        copper += usize::from(is_copper);
        at += 46 + name_len + extra + comment;
    }
    if copper == 0 { Err("the zip has no copper layer".into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_as_browsers_write_it() {
        for (text, bytes) in [("", ""), ("TQ==", "M"), ("TWE=", "Ma"), ("TWFu", "Man")] {
            assert_eq!(base64(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        assert_eq!(base64("+/+/"), Some(vec![0xfb, 0xff, 0xbf]));
        for bad in ["T", "TWFu\n", "T===", "TW\u{e9}", "****"] {
            assert_eq!(base64(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_file_with_a_part_too_few_is_not_the_right_one() {
        let part = |id: &str, name: &str| {
            (id.to_owned(), json!({ "id": id, "kind": "part", "designator": name }))
        };
        let seen = Sheet { records: [part("e1", "R1"), part("e2", "R10")].into() };
        assert_eq!(all_parts(b"\"1\",\"R1,R10\"", &seen), Ok(()));
        assert!(all_parts(b"\"1\",\"R10\"", &seen).is_err(), "R10 is not R1");
        assert!(all_parts(b"R1", &Sheet::default()).is_err(), "nothing to compare with");
        assert!(gerber(b"PK\x03\x04", &seen).is_err() && gerber(b"GTL", &seen).is_err());
    }
}
