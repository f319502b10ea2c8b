//! The one key of the manifest that is pcbflow's own: `status:`.
//!
//! The edit is a splice of whole lines. Everything outside the key's own lines stays byte for
//! byte; what came out is read again and compared before it replaces the file. Comment lines that
//! a person put inside the block are kept at its head; other words there are pcbflow's and are
//! written anew.
//!
//! **Invariant.** The file on disk is the old or the new content, never a mix, and a file that
//! somebody else changed meanwhile is never replaced by one that was made from its old text.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use pcbflow_core::ids::Digest;
use serde_json::Value;

use crate::manifest::STATUS_KEY;
use crate::yaml::{self, Data, Node, YamlFault};

/// How often an edit starts over because the file changed under it.
pub const EDIT_TRIES_MAX: u32 = 3;
/// Deepest nesting of a status.
const STATUS_DEPTH_MAX: usize = 8;
/// First line of the block.
const HEADER: &str = "# pcbflow writes this block; changes to it are not kept.";

/// Why `status:` could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StatusError {
    /// The manifest has a fault.
    #[error("{}:{fault}", path.display())]
    Fault {
        /// The manifest.
        path: PathBuf,
        /// Its fault.
        fault: YamlFault,
    },
    /// The keys of the file are not on lines of their own.
    #[error("{}: no place for 'status:', {why}", path.display())]
    NoPlace {
        /// The manifest.
        path: PathBuf,
        /// Why.
        why: &'static str,
    },
    /// The file changed again and again while it was edited.
    #[error("{} changed {tries} times while it was edited", path.display())]
    KeepsChanging {
        /// The manifest.
        path: PathBuf,
        /// How often.
        tries: u32,
    },
    /// A link leads out of the workspace.
    #[error("{} lies outside the workspace, at {}", path.display(), real.display())]
    Outside {
        /// The manifest.
        path: PathBuf,
        /// Where it really lies.
        real: PathBuf,
    },
    /// The value is not of a form that is written.
    #[error("the status can't be written: {0}")]
    Value(&'static str),
    /// The system refused.
    #[error("{} can't be {doing}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What the system says.
        source: std::io::Error,
    },
}

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// The file holds the new status.
    Changed,
    /// The file held that status already; it was not touched.
    Same,
}

/// As [`write`], for a manifest of this workspace: as for outputs, nothing is written through a
/// link that leads out of it, be it the file or a folder above it.
///
/// # Errors
/// [`StatusError::Outside`], and all of [`write`].
pub fn write_inside(workspace: &Path, path: &Path, status: &Value) -> Result<Written, StatusError> {
    let folder = std::fs::canonicalize(workspace).map_err(|e| io(workspace, "found", e))?;
    let real = std::fs::canonicalize(path).map_err(|e| io(path, "found", e))?;
    if !real.starts_with(&folder) {
        return Err(StatusError::Outside { path: path.to_owned(), real });
    }
    write(&real, status)
}

/// Puts `status` under `status:` of the manifest at `path`.
///
/// # Errors
/// [`StatusError`]; the file is then as it was.
pub fn write(path: &Path, status: &Value) -> Result<Written, StatusError> {
    for _ in 0..EDIT_TRIES_MAX {
        let bytes = std::fs::read(path).map_err(|e| io(path, "read", e))?;
        let edited = edit(path, &bytes, status)?;
        if edited == bytes {
            return Ok(Written::Same);
        }
        if replace(path, &bytes, &edited)? {
            return Ok(Written::Changed);
        }
    }
    Err(StatusError::KeepsChanging { path: path.to_owned(), tries: EDIT_TRIES_MAX })
}

fn io(path: &Path, doing: &'static str, source: std::io::Error) -> StatusError {
    StatusError::Io { path: path.to_owned(), doing, source }
}

/// Replaces the file if it still holds `old`. `false` when somebody changed it.
fn replace(path: &Path, old: &[u8], new: &[u8]) -> Result<bool, StatusError> {
    // A manifest that is a link stays one: the file behind it is replaced.
    let real = std::fs::canonicalize(path).map_err(|e| io(path, "found", e))?;
    let dir = real.parent().unwrap_or(Path::new("."));
    let mode = std::fs::metadata(&real).map_err(|e| io(path, "looked at", e))?.permissions();
    let mut temp = tempfile::Builder::new()
        .prefix(".project.yaml.")
        .tempfile_in(dir)
        .map_err(|e| io(path, "written", e))?;
    temp.write_all(new).map_err(|e| io(path, "written", e))?;
    temp.as_file().set_permissions(mode).map_err(|e| io(path, "written", e))?;
    temp.as_file().sync_all().map_err(|e| io(path, "synced", e))?;
    let now = std::fs::read(&real).map_err(|e| io(path, "read", e))?;
    if Digest::of(&now) != Digest::of(old) {
        return Ok(false);
    }
    temp.persist(&real).map_err(|e| io(path, "replaced", e.error))?;
    sync_dir(dir);
    Ok(true)
}

/// Makes a rename durable where the system can; elsewhere the rename is all there is.
fn sync_dir(dir: &Path) {
    if let Ok(folder) = std::fs::File::open(dir) {
        folder.sync_all().ok();
    }
}

/// The bytes of the manifest with another status. Pure; `path` only names it.
///
/// # Errors
/// [`StatusError`] when the text has faults, or there is no place for the key.
pub fn edit(path: &Path, bytes: &[u8], status: &Value) -> Result<Vec<u8>, StatusError> {
    let fault = |fault| StatusError::Fault { path: path.to_owned(), fault };
    let before = yaml::parse(bytes).map_err(fault)?;
    let Data::Map(entries) = &before.data else {
        return Err(StatusError::NoPlace { path: path.to_owned(), why: "the file has no keys" });
    };
    if before.get(STATUS_KEY).is_some_and(|n| n.to_json() == *status) {
        return Ok(bytes.to_vec());
    }
    let text = yaml::text_of(bytes).map_err(fault)?;
    let mark = bytes.len() - text.len();
    let indent = entries.first().map_or(0, |e| to_index(e.at.column));
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let eol = if lines.first().is_some_and(|l| l.ends_with("\r\n")) { "\r\n" } else { "\n" };
    let spot = spot(entries, &lines, indent);
    let kept = kept_comments(&lines, &spot);
    let block = block(status, indent, &kept)?;
    for spot in std::iter::once(spot).chain(at_top(entries)) {
        let candidate = splice(&lines, &spot, &block, eol);
        let mut out = bytes.get(..mark).unwrap_or_default().to_vec();
        out.extend_from_slice(candidate.as_bytes());
        if proven(&before, &out, status) {
            return Ok(out);
        }
    }
    Err(StatusError::NoPlace {
        path: path.to_owned(),
        why: "the keys are not each on lines of their own",
    })
}

/// Lines that the block takes: from the first, up to but without the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spot {
    from: usize,
    to: usize,
}

fn to_index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1)
}

fn spot(entries: &[yaml::Entry], lines: &[&str], indent: usize) -> Spot {
    let at = entries.iter().position(|e| e.key == STATUS_KEY);
    let next = match at {
        Some(index) => entries.get(index + 1).map(|e| to_index(e.at.line)),
        None => None,
    };
    let first = at.and_then(|i| entries.get(i)).map(|e| to_index(e.at.line));
    let end = next.unwrap_or_else(|| document_end(lines, entries));
    let floor = first.map_or(0, |f| f + 1);
    let to = if first.is_some() { before_others(lines, floor, end, indent) } else { end };
    let from = first.unwrap_or(to);
    // Our own header line belongs to the block.
    let above = from.checked_sub(1).and_then(|i| lines.get(i));
    let from = match above {
        Some(line) if first.is_some() && line.trim() == HEADER => from - 1,
        _ => from,
    };
    Spot { from, to }
}

/// The place before the first key: for a last value that takes up whatever follows it.
fn at_top(entries: &[yaml::Entry]) -> Option<Spot> {
    if entries.iter().any(|e| e.key == STATUS_KEY) {
        return None;
    }
    let line = entries.first().map(|e| to_index(e.at.line))?;
    Some(Spot { from: line, to: line })
}

/// The line behind the document: the mark of its end, or the end of the file.
fn document_end(lines: &[&str], entries: &[yaml::Entry]) -> usize {
    let last = entries.last().map_or(0, |e| to_index(e.at.line));
    lines
        .iter()
        .enumerate()
        .skip(last + 1)
        .find(|(_, l)| l.trim_end() == "...")
        .map_or(lines.len(), |(i, _)| i)
}

/// Steps back over blank lines and comments that belong to what follows the block.
fn before_others(lines: &[&str], floor: usize, end: usize, indent: usize) -> usize {
    let mut to = end;
    while to > floor {
        let line = lines.get(to - 1).copied().unwrap_or("");
        let left = line.len() - line.trim_start().len();
        let others = line.trim().is_empty() || (line.trim().starts_with('#') && left <= indent);
        if !others {
            break;
        }
        to -= 1;
    }
    to
}

/// Comment lines that a person wrote inside the block.
fn kept_comments<'t>(lines: &[&'t str], spot: &Spot) -> Vec<&'t str> {
    lines
        .get(spot.from..spot.to)
        .unwrap_or_default()
        .iter()
        .map(|l| l.trim())
        .filter(|l| l.starts_with('#') && *l != HEADER)
        .collect()
}

/// The lines of the block, without line ends.
fn block(status: &Value, indent: usize, kept: &[&str]) -> Result<Vec<String>, StatusError> {
    let pad = " ".repeat(indent);
    let mut lines = vec![format!("{pad}{HEADER}")];
    match status {
        Value::Object(map) if !map.is_empty() => {
            lines.push(format!("{pad}{STATUS_KEY}:"));
            lines.extend(kept.iter().map(|c| format!("{pad}  {c}")));
            emit(status, indent + 2, STATUS_DEPTH_MAX, &mut lines)?;
        }
        other => {
            lines.extend(kept.iter().map(|c| format!("{pad}{c}")));
            lines.push(format!("{pad}{STATUS_KEY}: {}", flow(other)));
        }
    }
    Ok(lines)
}

fn emit(
    value: &Value,
    indent: usize,
    depth: usize,
    out: &mut Vec<String>,
) -> Result<(), StatusError> {
    if depth == 0 {
        return Err(StatusError::Value("it nests too deep"));
    }
    let pad = " ".repeat(indent);
    let Value::Object(map) = value else {
        return Err(StatusError::Value("a mapping is needed"));
    };
    for (key, value) in map {
        let key = word(key);
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                out.push(format!("{pad}{key}:"));
                emit(value, indent + 2, depth - 1, out)?;
            }
            Value::Array(list) if !list.is_empty() => {
                out.push(format!("{pad}{key}:"));
                out.extend(list.iter().map(|item| format!("{pad}  - {}", flow(item))));
            }
            other => out.push(format!("{pad}{key}: {}", flow(other))),
        }
    }
    Ok(())
}

/// A value on one line. JSON is YAML, save for texts that read well without quotes.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => word(text),
        Value::Array(list) => {
            let items: Vec<String> = list.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) => {
            let items: Vec<String> =
                map.iter().map(|(k, v)| format!("{}: {}", word(k), flow(v))).collect();
            if items.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", items.join(", ")) }
        }
        other => other.to_string(),
    }
}

/// A text, in quotes unless it is a plain word that YAML reads as text.
fn word(text: &str) -> String {
    let plain = text.starts_with(|c: char| c.is_alphabetic())
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | '.'))
        && !matches!(
            text.to_lowercase().as_str(),
            "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
        );
    let numbered = text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().any(|c| c.is_ascii_alphabetic() && !matches!(c, 'e' | 'E' | 'x' | 'o'))
        && text.contains('-')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if plain || numbered { text.to_owned() } else { Value::from(text).to_string() }
}

fn splice(lines: &[&str], spot: &Spot, block: &[String], eol: &str) -> String {
    let mut out: String = lines.get(..spot.from).unwrap_or_default().concat();
    if !out.is_empty() && !out.ends_with('\n') {
        out.push_str(eol);
    }
    out.push_str(&block.join(eol));
    let rest = lines.get(spot.to..).unwrap_or_default().concat();
    // A file without a final line end stays one.
    let ended = lines.last().is_some_and(|l| l.ends_with('\n'));
    if !rest.is_empty() || ended {
        out.push_str(eol);
    }
    out.push_str(&rest);
    out
}

/// Whether the new text reads as the old with another status and nothing else changed.
fn proven(before: &Node, after: &[u8], status: &Value) -> bool {
    let Ok(after) = yaml::parse(after) else { return false };
    let without = |node: &Node| match node.to_json() {
        Value::Object(mut map) => {
            map.remove(STATUS_KEY);
            Value::Object(map)
        }
        other => other,
    };
    let order = |node: &Node| match &node.data {
        Data::Map(entries) => {
            entries.iter().map(|e| e.key.clone()).filter(|k| k != STATUS_KEY).collect::<Vec<_>>()
        }
        _ => Vec::new(),
    };
    after.get(STATUS_KEY).is_some_and(|n| n.to_json() == *status)
        && without(before) == without(&after)
        && order(before) == order(&after)
}

#[cfg(test)]
mod tests;
