//! The project file (`.kicad_pro`): is it there, and does it hold the board's rules?
//!
//! A missing, empty, cut or otherwise unreadable project file is silent in KiCad 9 and 10: the check runs with default
//! rules, exits 0 and says nothing. So its state is typed here and looked at before any check.
//!
//! Measured with 9.0.8 and 10.0.6, both the same: comments (`//`, `/* */`), a byte order mark, CRLF line ends, a NUL after
//! the end, numbers in quotes and repeated keys are accepted; a comma too many, text after the end, Latin-1 bytes, merge
//! marks, a list in place of the object and a missing `net_settings.classes` mean default rules.

use std::collections::BTreeMap;
use std::io;
use std::io::Read as _;
use std::path::Path;

use serde_json::Value;

use super::board::Board;
use super::units::Nm;

/// Largest project file that is read, in bytes (32 MiB); real ones are below 1 MB.
pub const MAX_PROJECT_BYTES: usize = 32 * 1024 * 1024;

/// Longest text that can be a link checked out as a file, in bytes.
pub const MAX_LINK_BYTES: usize = 4096;

/// What a project file is.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ProjectState {
    /// It holds rules; KiCad will use them.
    Ok(Box<ProjectRules>),
    /// There is no such file.
    Missing,
    /// A folder, a pipe, or a link that leads nowhere.
    NotPlainFile,
    /// It can't be opened.
    Unreadable {
        /// What the system says.
        kind: io::ErrorKind,
    },
    /// No byte, or nothing but blanks.
    Empty,
    /// A link that was checked out as a text file: its content is the name of another file.
    LinkAsText {
        /// That name.
        target: String,
    },
    /// The marks of an unfinished merge.
    MergeConflict {
        /// Line of the first mark, from 1.
        line: usize,
    },
    /// Larger than [`MAX_PROJECT_BYTES`].
    TooLarge,
    /// No JSON; most often cut off.
    NotJson {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// Whether the text ends too early.
        cut_off: bool,
    },
    /// JSON, but without the parts that carry rules.
    WithoutRules {
        /// The first part that is missing: `board.design_settings.rules` or `net_settings.classes`.
        missing: &'static str,
    },
}

/// The rules in a project file. Lengths are in nanometres, rounded from the file's millimetres.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProjectRules {
    /// Limits by their name in `board.design_settings.rules`: `min_clearance`, `min_track_width`, `min_via_diameter`,
    /// `min_through_hole_diameter`, …
    pub limits: BTreeMap<String, Nm>,
    /// Net classes in the order of the file.
    pub classes: Vec<NetClass>,
    /// Severity by check: `error`, `warning`, `ignore`.
    pub severities: BTreeMap<String, String>,
    /// The same for the electrical check.
    pub erc_severities: BTreeMap<String, String>,
    /// Findings of the design-rule check that a person excluded.
    pub exclusions: Vec<Exclusion>,
    /// Findings of the electrical check that a person excluded.
    pub erc_exclusions: Vec<Exclusion>,
}

/// A net class; `None` where the file does not say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NetClass {
    /// `Default` or a name of the person's.
    pub name: String,
    /// Clearance to other nets.
    pub clearance: Option<Nm>,
    /// Width of tracks.
    pub track_width: Option<Nm>,
    /// Diameter of vias.
    pub via_diameter: Option<Nm>,
    /// Diameter of their holes.
    pub via_drill: Option<Nm>,
}

/// A finding that a person excluded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exclusion {
    /// `type|x|y|uuid|uuid`, as stored. Those stored by KiCad 6 match nothing in newer versions.
    pub key: String,
    /// The person's reason, if one was given.
    pub comment: String,
}

impl ProjectRules {
    /// Checks that the project switches off.
    pub fn ignored_checks(&self) -> impl Iterator<Item = &str> {
        self.severities
            .iter()
            .filter(|(_, severity)| *severity == "ignore")
            .map(|(check, _)| check.as_str())
    }
}

impl ProjectState {
    /// Reads a project file from disk. Never fails: what is wrong is a state.
    #[must_use]
    pub fn read(path: &Path) -> Self {
        let state = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound if path.symlink_metadata().is_ok() => {
                ProjectState::NotPlainFile
            }
            io::ErrorKind::NotFound => ProjectState::Missing,
            kind => ProjectState::Unreadable { kind },
        };
        match path.metadata() {
            Err(error) => return state(error),
            Ok(data) if !data.is_file() => return ProjectState::NotPlainFile,
            Ok(_) => {}
        }
        let mut bytes = Vec::new();
        let limit = MAX_PROJECT_BYTES as u64 + 1;
        match std::fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes)) {
            Ok(_) => Self::of_bytes(&bytes),
            Err(error) => state(error),
        }
    }

    /// The state of a file with these bytes.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        if bytes.len() > MAX_PROJECT_BYTES {
            return ProjectState::TooLarge;
        }
        if bytes.iter().all(|b| b.is_ascii_whitespace() || *b == 0) {
            return ProjectState::Empty;
        }
        if let Some(target) = link_target(bytes) {
            return ProjectState::LinkAsText { target };
        }
        match lenient(bytes) {
            Ok(json) => rules(&json),
            Err(error) => match conflict_line(bytes) {
                Some(line) => ProjectState::MergeConflict { line },
                None => ProjectState::NotJson {
                    line: error.line(),
                    column: error.column(),
                    cut_off: error.is_eof(),
                },
            },
        }
    }

    /// Whether KiCad will use the rules in it.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        matches!(self, ProjectState::Ok(_))
    }
}

/// Parses as KiCad does: byte order mark, NUL bytes at the end and comments are accepted.
pub(crate) fn lenient(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let end = text.iter().rposition(|b| *b != 0).map_or(0, |at| at + 1);
    let text = &text[..end];
    serde_json::from_slice(text).or_else(|error| {
        let bare = without_comments(text);
        if bare == text { Err(error) } else { serde_json::from_slice(&bare) }
    })
}

/// Turns comments outside of strings into blanks.
fn without_comments(text: &[u8]) -> Vec<u8> {
    let mut out = text.to_vec();
    let (mut pos, mut in_string) = (0, false);
    while pos < text.len() {
        let rest = &text[pos..];
        let length = match (in_string, rest) {
            (true, [b'\\', _, ..]) => 2,
            (_, [b'"', ..]) => {
                in_string = !in_string;
                1
            }
            (false, [b'/', b'/', ..]) => {
                let length = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                out[pos..pos + length].fill(b' ');
                length
            }
            (false, [b'/', b'*', body @ ..]) => {
                let length =
                    body.windows(2).position(|w| w == b"*/").map_or(rest.len(), |at| at + 4);
                out[pos..pos + length].iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' ');
                length
            }
            _ => 1,
        };
        pos += length;
    }
    out
}

fn link_target(bytes: &[u8]) -> Option<String> {
    let text =
        std::str::from_utf8(bytes.get(..bytes.len().min(MAX_LINK_BYTES + 1))?).ok()?.trim_end();
    let one_name = text.len() <= MAX_LINK_BYTES && !text.contains(['\n', '{', '"']);
    let project = Path::new(text).extension().is_some_and(|e| e.eq_ignore_ascii_case("kicad_pro"));
    (one_name && project).then(|| text.to_owned())
}

fn conflict_line(bytes: &[u8]) -> Option<usize> {
    bytes.split(|b| *b == b'\n').position(|line| line.starts_with(b"<<<<<<<")).map(|at| at + 1)
}

fn rules(json: &Value) -> ProjectState {
    let settings = &json["board"]["design_settings"];
    let Some(limits) = settings["rules"].as_object() else {
        return ProjectState::WithoutRules { missing: "board.design_settings.rules" };
    };
    let Some(classes) = json["net_settings"]["classes"].as_array().filter(|list| !list.is_empty())
    else {
        return ProjectState::WithoutRules { missing: "net_settings.classes" };
    };
    // A count, not a length.
    let is_length = |name: &str| name != "min_resolved_spokes";
    let limit = |(name, value): (&String, &Value)| Some((name.clone(), length(value)?));
    ProjectState::Ok(Box::new(ProjectRules {
        limits: limits.iter().filter(|(name, _)| is_length(name)).filter_map(limit).collect(),
        classes: classes.iter().map(net_class).collect(),
        severities: severities(&settings["rule_severities"]),
        erc_severities: severities(&json["erc"]["rule_severities"]),
        exclusions: exclusions(&settings["drc_exclusions"]),
        erc_exclusions: exclusions(&json["erc"]["erc_exclusions"]),
    }))
}

/// A length in millimetres, as a number or as text.
fn length(value: &Value) -> Option<Nm> {
    match value {
        Value::Number(number) => Nm::from_mm(number.to_string().as_bytes()),
        Value::String(text) => Nm::from_mm(text.trim().as_bytes()),
        _ => None,
    }
}

fn net_class(value: &Value) -> NetClass {
    NetClass {
        name: value["name"].as_str().unwrap_or_default().to_owned(),
        clearance: length(&value["clearance"]),
        track_width: length(&value["track_width"]),
        via_diameter: length(&value["via_diameter"]),
        via_drill: length(&value["via_drill"]),
    }
}

fn severities(value: &Value) -> BTreeMap<String, String> {
    let pair =
        |(check, severity): (&String, &Value)| Some((check.clone(), severity.as_str()?.to_owned()));
    value.as_object().map(|map| map.iter().filter_map(pair).collect()).unwrap_or_default()
}

/// A text each up to KiCad 7, a pair of text and comment since 8.
fn exclusions(value: &Value) -> Vec<Exclusion> {
    let one = |item: &Value| {
        let (key, comment) = match item {
            Value::String(key) => (key.as_str(), ""),
            _ => (item[0].as_str()?, item[1].as_str().unwrap_or_default()),
        };
        Some(Exclusion { key: key.to_owned(), comment: comment.to_owned() })
    };
    value.as_array().map(|list| list.iter().filter_map(one).collect()).unwrap_or_default()
}

/// The absurd limit, in micrometres: 24.683 mm, a number that no board has. KiCad quietly takes its default instead of a
/// limit above 25 mm (measured: 24.5 hits, 9000 does not).
pub const ABSURD_LIMIT_UM: u32 = 24_683;

/// A limit of the project that is made absurd in a private copy, so that a check which really reads the project must
/// complain.
///
/// Measured with 9.0.8 and 10.0.6 on StickHub, on StickHub without tracks, without tracks and vias, and on the hand-made
/// pairs with and without tracks: each of these fires wherever the board has what it speaks of, and the description
/// repeats the number, for instance "Track width (board setup constraints min width 24.6830 mm; actual 0.1500 mm)".
/// A board with nothing but an outline has nothing to probe. Leave the `.kicad_dru` out of the copy: custom rules win
/// over limits of the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// `min_track_width`; needs a track.
    TrackWidth,
    /// `min_through_hole_diameter`; needs a hole.
    HoleSize,
    /// `min_copper_edge_clearance`; needs copper and an outline at most 24 mm away.
    EdgeClearance,
    /// `min_clearance`; needs copper of two nets. The slowest: it floods up to the cap of about 500.
    Clearance,
}

impl Probe {
    /// The probe that fits a board; `None` if there is nothing on it that a limit speaks of.
    #[must_use]
    pub fn for_board(board: &Board) -> Option<Self> {
        let pads =
            board.footprints.iter().flat_map(|f| &f.pads).filter(|pad| pad.on_copper).count();
        match () {
            () if board.tracks > 0 => Some(Probe::TrackWidth),
            () if board.drill_count() > 0 => Some(Probe::HoleSize),
            () if board.has_outline() && pads > 0 => Some(Probe::EdgeClearance),
            () if pads > 1 => Some(Probe::Clearance),
            () => None,
        }
    }

    /// Name of the limit in the project.
    #[must_use]
    pub fn limit(self) -> &'static str {
        match self {
            Probe::TrackWidth => "min_track_width",
            Probe::HoleSize => "min_through_hole_diameter",
            Probe::EdgeClearance => "min_copper_edge_clearance",
            Probe::Clearance => "min_clearance",
        }
    }

    /// `type` of the finding that must appear in the report.
    #[must_use]
    pub fn finding_type(self) -> &'static str {
        match self {
            Probe::TrackWidth => "track_width",
            Probe::HoleSize => "drill_out_of_range",
            Probe::EdgeClearance => "copper_edge_clearance",
            Probe::Clearance => "clearance",
        }
    }

    /// Whether a finding is the one that the absurd limit must provoke.
    #[must_use]
    pub fn is_hit(self, finding_type: &str, description: &str) -> bool {
        // With a decimal comma in some languages.
        let named = description.contains("24.683") || description.contains("24,683");
        finding_type == self.finding_type() && named
    }
}

/// A project that can't be given an absurd limit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectError {
    /// No JSON.
    #[error("the project is no JSON")]
    Json(#[from] serde_json::Error),
    /// JSON without the part that carries limits.
    #[error("the project holds no {missing}")]
    WithoutRules {
        /// What is missing.
        missing: &'static str,
    },
}

/// A copy of a project with one limit made absurd, its severity raised to error and no exclusions; everything else is
/// the same. For a private copy only, never for the person's file.
///
/// # Errors
/// [`ProjectError`] for a project whose state is not [`ProjectState::Ok`].
pub fn with_absurd_limit(project_json: &[u8], probe: Probe) -> Result<Vec<u8>, ProjectError> {
    let mut json = lenient(project_json)?;
    if let ProjectState::WithoutRules { missing } = rules(&json) {
        return Err(ProjectError::WithoutRules { missing });
    }
    let settings = &mut json["board"]["design_settings"];
    settings["rules"][probe.limit()] = Value::from(f64::from(ABSURD_LIMIT_UM) / 1000.0);
    if !settings["rule_severities"].is_object() {
        settings["rule_severities"] = Value::Object(serde_json::Map::new());
    }
    settings["rule_severities"][probe.finding_type()] = Value::from("error");
    settings["drc_exclusions"] = Value::Array(Vec::new());
    Ok(serde_json::to_vec_pretty(&json)?)
}

#[cfg(test)]
#[path = "project_tests.rs"]
mod tests;
