//! The engineer's file `project.yaml`, read into [`pcbflow_core::manifest::Manifest`].
//!
//! Every fault has line, column and remedy, and all faults are reported at once. Entry points:
//! [`read`], [`Document::faults`], and [`all_faults`] for a file that has some of its form.

mod all;
mod check;
mod convert;
mod foreign;

use std::path::{Path, PathBuf};

use pcbflow_core::manifest::{KindInfo, Manifest, ManifestFault};
use serde_json::Value;

use crate::yaml::{self, MANIFEST_BYTES_MAX, Node, Place, YamlFault};

pub use all::{More, all_faults};
pub(crate) use all::{other_name, root_fault};
pub use check::LIMIT_KEYS;
pub use foreign::PHASE_NAMES;

/// Name of a manifest.
pub const MANIFEST_NAME: &str = "project.yaml";
/// The one key that pcbflow writes.
pub const STATUS_KEY: &str = "status";
/// Most faults that are listed; the rest is counted.
pub const FAULTS_SHOWN_MAX: usize = 50;

/// One fault with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedFault {
    /// Line and column.
    pub at: Place,
    /// Path in the manifest, such as `phases[1].steps[0].needs[2]`; empty for the whole text.
    pub path: String,
    /// What is wrong.
    pub fault: String,
    /// What to write instead.
    pub remedy: String,
}

impl std::fmt::Display for PlacedFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}; {}", self.at, self.fault, self.remedy)
    }
}

impl From<YamlFault> for PlacedFault {
    fn from(y: YamlFault) -> PlacedFault {
        PlacedFault { at: y.at, path: String::new(), fault: y.fault, remedy: y.remedy }
    }
}

/// Why a manifest can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// There is none.
    #[error("no manifest at {path}")]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// It is there and can't be read.
    #[error("the manifest {path} can't be read")]
    Unreadable {
        /// Its path.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// It is there and is not a plain file.
    #[error("the manifest {path} is {what}, a file is needed")]
    NotAFile {
        /// Its path.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// It is read and has faults.
    #[error("{}", shown(path, list))]
    Faults {
        /// Its path.
        path: PathBuf,
        /// All faults, in the order of the file; never empty.
        list: Vec<PlacedFault>,
    },
}

impl ManifestError {
    /// The faults, if the file could be read.
    #[must_use]
    pub fn faults(&self) -> &[PlacedFault] {
        match self {
            ManifestError::Faults { list, .. } => list,
            _ => &[],
        }
    }

    /// What to do, for faults of the file as a whole.
    #[must_use]
    pub fn remedy(&self) -> &str {
        match self {
            ManifestError::Missing { .. } => "make a board with 'pcbflow init NAME'",
            ManifestError::Unreadable { .. } => "check the permissions of the file",
            ManifestError::NotAFile { .. } => "move it away and write a manifest there",
            ManifestError::Faults { list, .. } => {
                list.first().map_or("correct the file", |f| f.remedy.as_str())
            }
        }
    }
}

fn shown(path: &Path, list: &[PlacedFault]) -> String {
    let mut lines: Vec<String> =
        list.iter().take(FAULTS_SHOWN_MAX).map(|f| format!("{}:{f}", path.display())).collect();
    if list.len() > FAULTS_SHOWN_MAX {
        lines.push(format!("and {} more", list.len() - FAULTS_SHOWN_MAX));
    }
    lines.join("\n")
}

/// A manifest that was read, with its text.
#[derive(Debug, Clone)]
pub struct Document {
    /// Where it lies.
    pub path: PathBuf,
    /// What it says.
    pub manifest: Manifest,
    /// What stood under `status:`.
    pub status: Option<Value>,
    /// The bytes as read.
    pub bytes: Vec<u8>,
    /// The whole tree, for places.
    pub tree: Node,
}

impl Document {
    /// Line and column of a path such as `phases[1].steps[0].needs[2]`.
    #[must_use]
    pub fn place_of(&self, path: &str) -> Place {
        self.tree.place_of(path)
    }

    /// The fault with its place.
    #[must_use]
    pub fn placed(&self, fault: ManifestFault) -> PlacedFault {
        PlacedFault {
            at: self.place_of(&fault.path),
            path: fault.path,
            fault: fault.fault,
            remedy: fault.remedy,
        }
    }

    /// All faults against the kinds that exist, in the order of the file. `more` are faults that
    /// the subsystems saw in the steps' arguments.
    #[must_use]
    pub fn faults(&self, kinds: &[KindInfo], more: Vec<ManifestFault>) -> Vec<PlacedFault> {
        let mut list: Vec<PlacedFault> = pcbflow_core::manifest::faults(&self.manifest, kinds)
            .into_iter()
            .chain(more)
            .map(|f| self.placed(f))
            .collect();
        list.sort_by_key(|f| f.at);
        list
    }

    /// The same as a result.
    ///
    /// # Errors
    /// [`ManifestError::Faults`] when there are any.
    pub fn valid(&self, kinds: &[KindInfo], more: Vec<ManifestFault>) -> Result<(), ManifestError> {
        let list = self.faults(kinds, more);
        if list.is_empty() {
            Ok(())
        } else {
            Err(ManifestError::Faults { path: self.path.clone(), list })
        }
    }
}

/// Reads the manifest at `path`.
///
/// # Errors
/// [`ManifestError`]; the text's own faults come one at a time, those of its content all at once.
pub fn read(path: &Path) -> Result<Document, ManifestError> {
    let unreadable =
        |source: std::io::Error| ManifestError::Unreadable { path: path.to_owned(), source };
    let meta = match std::fs::metadata(path) {
        Ok(meta) => meta,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Err(ManifestError::Missing { path: path.to_owned() });
        }
        Err(e) => return Err(unreadable(e)),
    };
    if !meta.is_file() {
        let what = if meta.is_dir() { "a folder" } else { "a device or pipe" };
        return Err(ManifestError::NotAFile { path: path.to_owned(), what });
    }
    let bytes = bounded(path).map_err(unreadable)?;
    parse(path, bytes)
}

/// The file's bytes, at most one more than the limit, so that the limit is seen and kept.
fn bounded(path: &Path) -> Result<Vec<u8>, std::io::Error> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let most = u64::try_from(MANIFEST_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    std::fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a manifest from bytes; `path` only names it.
///
/// # Errors
/// [`ManifestError::Faults`].
pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Document, ManifestError> {
    let tree = parsed(path, &bytes)?;
    let faults = |list| ManifestError::Faults { path: path.to_owned(), list };
    let manifest = convert::manifest(&tree).map_err(faults)?;
    let status = tree.get(STATUS_KEY).map(Node::to_json);
    Ok(Document { path: path.to_owned(), manifest, status, bytes, tree })
}

/// The tree of a text, whose outermost keys have lines of their own.
fn parsed(path: &Path, bytes: &[u8]) -> Result<Node, ManifestError> {
    let faults = |list| ManifestError::Faults { path: path.to_owned(), list };
    let tree = yaml::parse(bytes).map_err(|e| faults(vec![e.into()]))?;
    with_own_lines(path, bytes, tree)
}

/// The same for telling all faults: keys that are there twice are told beside the others.
fn parsed_doubled(path: &Path, bytes: &[u8]) -> Result<(Node, Vec<PlacedFault>), ManifestError> {
    let faults = |list| ManifestError::Faults { path: path.to_owned(), list };
    let (tree, doubled) = yaml::parse_doubled(bytes).map_err(|e| faults(vec![e.into()]))?;
    let tree = with_own_lines(path, bytes, tree)?;
    Ok((tree, doubled.into_iter().map(PlacedFault::from).collect()))
}

fn with_own_lines(path: &Path, bytes: &[u8], tree: Node) -> Result<Node, ManifestError> {
    let faults = |list| ManifestError::Faults { path: path.to_owned(), list };
    if in_braces(bytes, &tree) {
        return Err(faults(vec![PlacedFault {
            at: tree.at,
            path: String::new(),
            fault: "the whole file stands in braces".to_owned(),
            remedy: "write 'board:', 'phases:' and so on at the start of lines of their own".into(),
        }]));
    }
    Ok(tree)
}

/// Whether the outermost mapping is in flow style, in which no key has lines of its own.
fn in_braces(bytes: &[u8], tree: &Node) -> bool {
    let Ok(text) = yaml::text_of(bytes) else { return false };
    let line = usize::try_from(tree.at.line).unwrap_or(1).saturating_sub(1);
    let column = usize::try_from(tree.at.column).unwrap_or(1).saturating_sub(1);
    text.lines().nth(line).and_then(|l| l.chars().nth(column)) == Some('{')
}

#[cfg(test)]
mod tests;
