//! What must be in the files.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use pcbflow_core::check::{Finding, FindingItem, FindingSeverity};

use super::Truth;
use super::csv;
use super::plan::What;
use crate::cli::call::Called;
use crate::file::board::Board;
use crate::report::sheets::SheetIndex;

/// Largest text file that is read whole, in bytes (512 MiB).
const TEXT_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Bytes at the end of a file in which its end mark stands.
const TAIL_BYTES: u64 = 4096;
/// Most models that are listed.
const MODELS_MAX: usize = 500;
/// Most parts that a message names.
const PARTS_SHOWN_MAX: usize = 10;

/// A file that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// No bytes.
    Empty(String),
    /// No beginning or no end.
    Cut(String),
}

/// A finding of an export.
fn finding(rule: &str, severity: FindingSeverity, message: String) -> Finding {
    let key = pcbflow_core::ids::Digest::of(message.as_bytes()).short();
    Finding {
        id: format!("export:{rule}:{key}"),
        engine: "export".to_owned(),
        rule: rule.to_owned(),
        severity,
        message: pcbflow_core::text::without_control(&message),
        items: Vec::new(),
        excluded: None,
        apart: false,
    }
}

/// A finding that keeps the files from being good.
#[must_use]
pub fn error(rule: &str, message: String) -> Finding {
    finding(rule, FindingSeverity::Error, message)
}

/// A finding that the engineer should know.
#[must_use]
pub fn warning(rule: &str, message: String, part: Option<&str>) -> Finding {
    let mut found = finding(rule, FindingSeverity::Warning, message);
    found.items.extend(part.map(of_part));
    found
}

fn of_part(part: &str) -> FindingItem {
    FindingItem {
        text: part.to_owned(),
        uuid: String::new(),
        at_nm: None,
        part: Some(part.to_owned()),
        net: None,
    }
}

type Files = [(PathBuf, PathBuf)];

/// Reads the files of one export back.
///
/// # Errors
/// A file without bytes, or without its beginning or end.
pub fn judge(
    what: What,
    files: &Files,
    called: &Called,
    truth: &Truth,
) -> Result<Vec<Finding>, Fault> {
    let (board, index) = (&truth.board, truth.index.as_ref());
    for (path, relative) in files {
        if path.metadata().map_or(0, |m| m.len()) == 0 {
            return Err(Fault::Empty(relative.to_string_lossy().into_owned()));
        }
    }
    match what {
        What::Gerbers => gerbers(files, board),
        What::Drill => drill(files, board),
        What::Position => position(files, board),
        What::Bom => bom(files, index),
        What::Pdf => framed(files, b"%PDF", b"%%EOF").map(|()| Vec::new()),
        What::Svg => framed(files, b"<", b"</svg>").map(|()| Vec::new()),
        What::Step => {
            framed(files, b"ISO-10303-21", b"END-ISO-10303-21;")?;
            let said = format!("{}\n{}", called.result.stdout.text, called.result.stderr.text);
            Ok(models(&said, |name| !truth.resolver.is_of_kicad(name)))
        }
        What::Ipc2581 => framed(files, b"<", b"</IPC-2581>").map(|()| Vec::new()),
        What::Odb => framed(files, b"PK\x03\x04", b"PK\x05\x06").map(|()| Vec::new()),
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn text(path: &Path) -> Result<String, Fault> {
    let cut = |_| Fault::Cut(name(path));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(cut)?;
    file.take(TEXT_BYTES_MAX).read_to_end(&mut bytes).map_err(cut)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Each file begins and ends as its format wants it.
fn framed(files: &Files, head: &[u8], end: &[u8]) -> Result<(), Fault> {
    for (path, _) in files {
        let cut = |_| Fault::Cut(name(path));
        let mut file = std::fs::File::open(path).map_err(cut)?;
        let mut first = vec![0u8; head.len()];
        file.read_exact(&mut first).map_err(cut)?;
        let length = file.seek(SeekFrom::End(0)).map_err(cut)?;
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES))).map_err(cut)?;
        let mut tail = Vec::new();
        file.read_to_end(&mut tail).map_err(cut)?;
        if first != head || !tail.windows(end.len()).any(|w| w == end) {
            return Err(Fault::Cut(name(path)));
        }
    }
    Ok(())
}

/// Copper layers from front to back.
fn copper_order(board: &Board) -> Vec<&str> {
    let rank = |name: &str| match name {
        "F.Cu" => 0,
        "B.Cu" => u32::MAX,
        _ => name
            .strip_prefix("In")
            .and_then(|n| n.strip_suffix(".Cu"))
            .and_then(|n| n.parse().ok())
            .unwrap_or(1),
    };
    let mut names: Vec<&str> = board.copper_layers().map(|l| l.name.as_str()).collect();
    names.sort_by_key(|n| rank(n));
    names
}

/// Every copper layer has its file, with copper where the board has copper and with poured regions
/// (G36) where the board stores them.
fn gerbers(files: &Files, board: &Board) -> Result<Vec<Finding>, Fault> {
    let mut by_layer: BTreeMap<usize, (bool, bool)> = BTreeMap::new();
    let mut outline = false;
    for (path, relative) in files {
        if relative.extension().is_some_and(|e| e == "gbrjob") {
            let job = text(path)?;
            let whole = serde_json::from_str::<serde_json::Value>(&job).is_ok();
            if !whole {
                return Err(Fault::Cut(name(path)));
            }
            continue;
        }
        let text = text(path)?;
        if !text.trim_end().ends_with("M02*") {
            return Err(Fault::Cut(name(path)));
        }
        let draws = text.contains("D01*") || text.contains("D03*");
        let function = text.split_once("TF.FileFunction,").map_or("", |(_, rest)| rest);
        if let Some(layer) = function.strip_prefix("Copper,L") {
            let digits = layer.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
            let number: usize = layer.get(..digits).and_then(|d| d.parse().ok()).unwrap_or(0);
            by_layer.insert(number, (draws, text.contains("G36*")));
        }
        outline |= function.starts_with("Profile") && draws;
    }
    let mut found = Vec::new();
    for (at, layer) in copper_order(board).into_iter().enumerate() {
        let copper = board.copper.get(layer).copied().unwrap_or_default();
        match by_layer.get(&(at + 1)) {
            None => {
                found.push(error("layer_missing", format!("there is no Gerber file of {layer}")))
            }
            Some((false, _)) if copper.total() > 0 => {
                found.push(error(
                    "copper_missing",
                    format!("the Gerber file of {layer} has no copper"),
                ));
            }
            Some((_, false)) if copper.fills > 0 => {
                found.push(error(
                    "pour_missing",
                    format!("the Gerber file of {layer} has no poured copper"),
                ));
            }
            Some(_) => {}
        }
    }
    if board.has_outline() && !outline {
        found.push(error("outline_missing", "no Gerber file has the board's outline".to_owned()));
    }
    Ok(found)
}

/// Holes in an Excellon file: single hits, slots (G85) and routed slots (M15 to M16).
#[must_use]
pub fn excellon_hits(text: &str) -> Option<usize> {
    let body = text.split_once("\n%").map(|(_, body)| body)?;
    if !text.trim_end().ends_with("M30") {
        return None;
    }
    let (mut hits, mut routing) = (0, false);
    for line in body.lines().map(str::trim) {
        match line {
            "M15" => {
                routing = true;
                hits += 1;
            }
            "M16" | "M17" => routing = false,
            _ if !routing && (line.starts_with('X') || line.starts_with('Y')) => hits += 1,
            _ => {}
        }
    }
    Some(hits)
}

fn drill(files: &Files, board: &Board) -> Result<Vec<Finding>, Fault> {
    let (mut plated, mut bare) = (0, 0);
    for (path, _) in files.iter().filter(|(p, _)| p.extension().is_some_and(|e| e == "drl")) {
        let text = text(path)?;
        let hits = excellon_hits(&text).ok_or_else(|| Fault::Cut(name(path)))?;
        let slot = if text.contains("TF.FileFunction,NonPlated") { &mut bare } else { &mut plated };
        *slot += hits;
    }
    let holes = board.holes();
    let want_plated = holes.iter().filter(|h| h.plated).count();
    let want_bare = holes.len() - want_plated;
    let mut found = Vec::new();
    for (what, made, want) in [("plated", plated, want_plated), ("bare", bare, want_bare)] {
        if made != want {
            let message = format!("the drill files have {made} {what} holes, the board has {want}");
            found.push(error("drill_count", message));
        }
    }
    Ok(found)
}

/// Each part that belongs into the position file is there once, and no other.
fn position(files: &Files, board: &Board) -> Result<Vec<Finding>, Fault> {
    let mut listed: BTreeMap<String, usize> = BTreeMap::new();
    for (path, _) in files {
        for record in csv::records(&text(path)?).into_iter().skip(1) {
            if let Some(reference) = record.into_iter().next() {
                *listed.entry(reference).or_default() += 1;
            }
        }
    }
    let mut wanted: BTreeMap<String, usize> = BTreeMap::new();
    for footprint in &board.footprints {
        let left_out = footprint.attributes.contains("exclude_from_pos_files")
            || footprint.attributes.contains("virtual");
        if !left_out {
            *wanted.entry(footprint.reference.clone()).or_default() += 1;
        }
    }
    Ok(differences("position", &wanted, &listed))
}

fn bom(files: &Files, index: Option<&SheetIndex>) -> Result<Vec<Finding>, Fault> {
    let mut listed: BTreeMap<String, usize> = BTreeMap::new();
    for (path, _) in files {
        for record in csv::records(&text(path)?).into_iter().skip(1) {
            let references = record.into_iter().next().unwrap_or_default();
            for one in references.split(',').map(str::trim).filter(|r| !r.is_empty()) {
                listed.insert(one.to_owned(), 1);
            }
        }
    }
    let Some(index) = index else { return Ok(Vec::new()) };
    let in_bom = index.symbols.iter().filter(|s| s.in_bom);
    let wanted: BTreeMap<String, usize> = in_bom.map(|s| (s.reference.clone(), 1)).collect();
    Ok(differences("bom", &wanted, &listed))
}

fn differences(
    what: &str,
    wanted: &BTreeMap<String, usize>,
    listed: &BTreeMap<String, usize>,
) -> Vec<Finding> {
    let lines = |map: &BTreeMap<String, usize>, key: &str| map.get(key).copied().unwrap_or(0);
    let mut found = Vec::new();
    for reference in wanted.keys().filter(|r| lines(listed, r) < lines(wanted, r)) {
        let message = format!("{reference} is missing in the {what} file");
        found.push(error(&format!("{what}_missing"), message));
    }
    for reference in listed.keys().filter(|r| lines(listed, r) > lines(wanted, r)) {
        let message = format!("{reference} is in the {what} file and should not be");
        found.push(error(&format!("{what}_extra"), message));
    }
    found
}

/// Models that the tool could not add, as it names them: "Could not add 3D model for C1." and, where
/// there is no such file, "File not found: NAME" in the next line. Those of KiCad's libraries depend on
/// the machine; those of the project itself are missed by whoever uses the file.
fn models(said: &str, is_own: impl Fn(&str) -> bool) -> Vec<Finding> {
    let (mut own, mut found): (BTreeMap<&str, Vec<&str>>, Vec<Finding>) = Default::default();
    let mut lines = said.lines().map(str::trim).peekable();
    let mut count = 0;
    while let Some(line) = lines.next() {
        let Some(rest) = line.strip_prefix("Could not add 3D model for ") else { continue };
        let part = rest.trim_end_matches('.');
        let name = lines.peek().and_then(|next| next.strip_prefix("File not found: "));
        count += 1;
        if count > MODELS_MAX {
            break;
        }
        match name.filter(|name| is_own(name)) {
            Some(name) => own.entry(name).or_default().push(part),
            None => {
                let message = format!("{part} has no 3D model in the STEP file");
                found
                    .push(Finding { apart: true, ..warning("model_missing", message, Some(part)) });
            }
        }
    }
    found.extend(own.into_iter().map(|(name, parts)| of_own(name, parts)));
    found
}

/// A model of the project that was not found, with the parts that lack it.
fn of_own(name: &str, mut parts: Vec<&str>) -> Finding {
    parts.sort_unstable_by_key(|part| (part.len(), *part));
    let mut shown = parts.iter().take(PARTS_SHOWN_MAX).copied().collect::<Vec<_>>().join(", ");
    if let more @ 1.. = parts.len().saturating_sub(PARTS_SHOWN_MAX) {
        shown.push_str(&format!(" and {more} more"));
    }
    let message =
        format!("the 3D model {name} was not found, so the STEP file has none of it for {shown}");
    let mut finding = warning("own_model_missing", message, None);
    finding.items.extend(parts.into_iter().map(of_part));
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_models_that_are_missing_are_named_once_with_their_parts() {
        let said = "Adding component J1.\nCould not add 3D model for J6.\nFile not found: ${KIPRJMOD}/a.step\nCould not add 3D model for J12.\nFile not found: ${KIPRJMOD}/a.step\nCould not add 3D model for C1.\nFile not found: ${KICAD9_3DMODEL_DIR}/c.wrl\nCould not add 3D model for C2.\n";
        let found = models(said, |name| name.contains("KIPRJMOD"));
        let seen: Vec<(&str, bool, usize)> =
            found.iter().map(|f| (f.message.as_str(), f.apart, f.items.len())).collect();
        assert_eq!(
            seen,
            [
                ("C1 has no 3D model in the STEP file", true, 1),
                ("C2 has no 3D model in the STEP file", true, 1),
                (
                    "the 3D model ${KIPRJMOD}/a.step was not found, so the STEP file has none of it for J6, J12",
                    false,
                    2
                ),
            ]
        );
        let many: String = (0..12)
            .map(|n| format!("Could not add 3D model for R{n}.\nFile not found: x.step\n"))
            .collect();
        assert!(models(&many, |_| true)[0].message.ends_with("R9 and 2 more"));
    }

    #[test]
    fn hits_slots_and_routes() {
        let text = "M48\nT1C0.3\n%\nG90\nT1\nX1Y2\nX1Y3\nT2\nX1.0Y2.0G85X3.0Y2.0\nG00X1Y1\nM15\nG01X2Y1\nM16\nM30\n";
        assert_eq!(excellon_hits(text), Some(4));
        assert_eq!(excellon_hits("M48\n%\nX1Y1\n"), None, "cut off");
        assert_eq!(excellon_hits(""), None);
    }
}
