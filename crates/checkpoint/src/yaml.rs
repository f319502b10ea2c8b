//! YAML as a tree in which every node knows its place.
//!
//! The tree is what the manifest reader and the status writer stand on: the first names line and
//! column of every fault, the second proves that an edit changed one key and nothing else.
//!
//! **Invariant.** No input makes this module panic, recurse without limit or grow past the
//! limits below.

use std::fmt;

use serde::Deserialize;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Error as Saphyr, Location, Spanned};

/// Most bytes of a manifest.
pub const MANIFEST_BYTES_MAX: usize = 1024 * 1024;
/// Deepest nesting of a manifest.
pub const DEPTH_MAX: usize = 24;
/// Most nodes of a manifest, aliases counted as what they stand for.
pub const NODES_MAX: usize = 100_000;
/// Most aliases of a manifest.
const ALIASES_MAX: usize = 200;

/// A place in a file, both numbers from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line.
    pub line: u64,
    /// The column, in characters.
    pub column: u64,
}

impl Place {
    /// The start of the file.
    pub const START: Place = Place { line: 1, column: 1 };
}

impl From<Location> for Place {
    fn from(at: Location) -> Place {
        Place { line: at.line().max(1), column: at.column().max(1) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A fault of the text itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {fault}; {remedy}")]
pub struct YamlFault {
    /// Where.
    pub at: Place,
    /// What is wrong.
    pub fault: String,
    /// What to do.
    pub remedy: String,
}

/// A node with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where it starts.
    pub at: Place,
    /// What it is.
    pub data: Data,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// Nothing: an empty value, `null` or `~`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A mapping, in the order of the file.
    Map(Vec<Entry>),
}

/// One key of a mapping.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub at: Place,
    /// Its value.
    pub node: Node,
}

impl Node {
    /// The value of a key, if this is a mapping that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|e| &e.node)
    }

    /// The entry of a key, if this is a mapping that has it.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.data {
            Data::Map(entries) => entries.iter().find(|e| e.key == key),
            _ => None,
        }
    }

    /// What it is, in words.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.data {
            Data::Null => "empty",
            Data::Bool(_) => "a yes-or-no value",
            Data::Int(_) | Data::Float(_) => "a number",
            Data::Text(_) => "a text",
            Data::List(_) => "a list",
            Data::Map(_) => "a mapping",
        }
    }

    /// The same without places.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match &self.data {
            Data::Null => Value::Null,
            Data::Bool(b) => Value::Bool(*b),
            Data::Int(n) => Value::from(*n),
            Data::Float(x) => Value::from(*x),
            Data::Text(t) => Value::String(t.clone()),
            Data::List(list) => Value::Array(list.iter().map(Node::to_json).collect()),
            Data::Map(entries) => {
                Value::Object(entries.iter().map(|e| (e.key.clone(), e.node.to_json())).collect())
            }
        }
    }

    /// Place of `phases[1].steps[0].needs[2]`: the key of the last part that is there, or the
    /// nearest ancestor.
    #[must_use]
    pub fn place_of(&self, path: &str) -> Place {
        let mut node = self;
        let mut at = self.at;
        for part in path.split(['.', '[']).map(|p| p.trim_end_matches(']')) {
            match (&node.data, part.parse::<usize>()) {
                (Data::List(list), Ok(index)) => match list.get(index) {
                    Some(item) => {
                        node = item;
                        at = item.at;
                    }
                    None => break,
                },
                (Data::Map(entries), _) => match entries.iter().find(|e| e.key == part) {
                    Some(entry) => {
                        node = &entry.node;
                        at = entry.at;
                    }
                    None => break,
                },
                _ => break,
            }
        }
        at
    }
}

impl From<Spanned<Data>> for Node {
    fn from(spanned: Spanned<Data>) -> Node {
        let seen = if spanned.referenced.line() > 0 { spanned.referenced } else { spanned.defined };
        Node { at: seen.into(), data: spanned.value }
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Data, D::Error> {
        deserializer.deserialize_any(DataVisitor)
    }
}

struct DataVisitor;

impl<'de> Visitor<'de> for DataVisitor {
    type Value = Data;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, number, list or mapping")
    }
    fn visit_bool<E>(self, v: bool) -> Result<Data, E> {
        Ok(Data::Bool(v))
    }
    fn visit_i64<E>(self, v: i64) -> Result<Data, E> {
        Ok(Data::Int(v))
    }
    fn visit_u64<E>(self, v: u64) -> Result<Data, E> {
        Ok(i64::try_from(v).map_or_else(|_| Data::Text(v.to_string()), Data::Int))
    }
    fn visit_f64<E>(self, v: f64) -> Result<Data, E> {
        Ok(Data::Float(v))
    }
    fn visit_str<E>(self, v: &str) -> Result<Data, E> {
        Ok(Data::Text(v.to_owned()))
    }
    fn visit_string<E>(self, v: String) -> Result<Data, E> {
        Ok(Data::Text(v))
    }
    fn visit_unit<E>(self) -> Result<Data, E> {
        Ok(Data::Null)
    }
    fn visit_none<E>(self) -> Result<Data, E> {
        Ok(Data::Null)
    }
    fn visit_some<D: serde::Deserializer<'de>>(self, d: D) -> Result<Data, D::Error> {
        d.deserialize_any(DataVisitor)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Data, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = seq.next_element::<Spanned<Data>>()? {
            list.push(Node::from(item));
        }
        Ok(Data::List(list))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Data, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let node = Node::from(map.next_value::<Spanned<Data>>()?);
            entries.push(Entry { at: key.defined.into(), key: key.value, node });
        }
        Ok(Data::Map(entries))
    }
}

fn fault(at: Place, fault: impl Into<String>, remedy: impl Into<String>) -> YamlFault {
    YamlFault { at, fault: fault.into(), remedy: remedy.into() }
}

/// The text of a manifest without its byte-order mark.
///
/// # Errors
/// The text is too large, not UTF-8, empty, or holds merge conflict marks or control codes.
pub fn text_of(bytes: &[u8]) -> Result<&str, YamlFault> {
    if bytes.len() > MANIFEST_BYTES_MAX {
        return Err(fault(
            Place::START,
            // Of a longer file no more is read, so how long it is is not known here.
            format!("the file has more than {MANIFEST_BYTES_MAX} bytes, the most of a manifest"),
            "check that it is the board's manifest, and move lists and data into files of their own",
        ));
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(fault(Place::START, "the file is saved as UTF-16", "save it as UTF-8"));
    }
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let good = bytes.get(..e.valid_up_to()).unwrap_or_default();
        fault(place_at(good), "a byte here is not UTF-8 text", "save the file as UTF-8")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.chars().all(char::is_whitespace) {
        return Err(fault(
            Place::START,
            "the file is empty",
            "restore it from the history of your project, or write a new one with 'pcbflow init'",
        ));
    }
    marks(text)?;
    Ok(text)
}

/// Place just behind `good`, which is valid UTF-8.
fn place_at(good: &[u8]) -> Place {
    let text = String::from_utf8_lossy(good);
    let line = text.matches('\n').count() + 1;
    let column = text.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
    Place { line: to_u64(line), column: to_u64(column) }
}

fn to_u64(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

fn marks(text: &str) -> Result<(), YamlFault> {
    for (index, line) in text.lines().enumerate() {
        let at = |column: usize| Place { line: to_u64(index + 1), column: to_u64(column + 1) };
        let conflict = ["<<<<<<< ", ">>>>>>> ", "||||||| "].iter().any(|m| line.starts_with(m))
            || line.trim_end() == "=======";
        if conflict {
            return Err(fault(
                at(0),
                "this line is a mark of an unfinished merge",
                "choose one version of the marked lines and remove the marks",
            ));
        }
        let tab = line.starts_with('\t') && !line.trim().is_empty();
        if tab && !line.trim_start().starts_with('#') {
            return Err(fault(at(0), "a tab stands before the text", "use spaces instead"));
        }
        if let Some(bad) = line.chars().position(|c| c.is_control() && c != '\t' && c != '\r') {
            return Err(fault(at(bad), "a control code is in the text", "remove it"));
        }
    }
    Ok(())
}

/// Reads one document into a tree.
///
/// # Errors
/// The first fault of the text, with place and remedy.
pub fn parse(bytes: &[u8]) -> Result<Node, YamlFault> {
    read(bytes, DuplicateKeyPolicy::Error)
}

/// The same for telling all faults at once: keys that are there twice are faults of their own, and
/// the tree holds the first of them.
///
/// # Errors
/// As [`parse`], keys that are there twice left out.
pub fn parse_doubled(bytes: &[u8]) -> Result<(Node, Vec<YamlFault>), YamlFault> {
    let mut tree = read(bytes, DuplicateKeyPolicy::PassThrough)?;
    let mut doubled = Vec::new();
    single(&mut tree, &mut doubled);
    Ok((tree, doubled))
}

/// Takes later entries of the same key out of every mapping. The tree is at most [`DEPTH_MAX`] deep.
fn single(node: &mut Node, doubled: &mut Vec<YamlFault>) {
    match &mut node.data {
        Data::List(list) => list.iter_mut().for_each(|item| single(item, doubled)),
        Data::Map(entries) => {
            let mut seen = std::collections::BTreeSet::new();
            entries.retain(|entry| {
                let first = seen.insert(entry.key.clone());
                if !first {
                    doubled.push(twice(entry.at, Some(&entry.key)));
                }
                first
            });
            entries.iter_mut().for_each(|entry| single(&mut entry.node, doubled));
        }
        _ => {}
    }
}

fn twice(at: Place, key: Option<&str>) -> YamlFault {
    let what = match key {
        Some(key) => format!("the key '{key}' is there twice"),
        None => "a key is there twice".to_owned(),
    };
    fault(at, what, "keep one of the two")
}

fn read(bytes: &[u8], duplicate_keys: DuplicateKeyPolicy) -> Result<Node, YamlFault> {
    let text = text_of(bytes)?;
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEPTH_MAX,
            max_nodes: NODES_MAX,
            max_events: NODES_MAX * 3,
            max_aliases: ALIASES_MAX,
            max_anchors: ALIASES_MAX,
            max_documents: 2,
            flow_nesting_limit: DEPTH_MAX,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: NODES_MAX,
            max_replay_stack_depth: 8,
        },
        duplicate_keys: duplicate_keys,
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        reject_unsupported_tags: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options::<Spanned<Data>>(text, options)
        .map(Node::from)
        .map_err(|e| in_words(e.without_snippet()))
}

fn in_words(error: &Saphyr) -> YamlFault {
    let at = error.location().map_or(Place::START, Place::from);
    match error {
        // A fault met while an alias is written out; the library wraps it once.
        Saphyr::AliasError { error, .. } => YamlFault { at, ..in_words(error.without_snippet()) },
        Saphyr::DuplicateMappingKey { key, .. } => twice(at, key.as_deref()),
        Saphyr::MultipleDocuments { .. } => fault(
            at,
            "a second document starts here",
            "keep one document: remove the line '---' and what does not belong",
        ),
        Saphyr::Budget { .. }
        | Saphyr::AliasReplayLimitExceeded { .. }
        | Saphyr::AliasExpansionLimitExceeded { .. }
        | Saphyr::AliasReplayStackDepthExceeded { .. }
        | Saphyr::AliasReplayCounterOverflow { .. }
        | Saphyr::RecursiveReferencesRequireWeakTypes { .. } => fault(
            at,
            "the file nests or repeats itself more than a manifest may",
            "write the values out instead of using '&' and '*'",
        ),
        Saphyr::UnknownAnchor { .. } => fault(
            at,
            "'*' refers to a name that is not defined before",
            "put the value in quotes, or define the name with '&' first",
        ),
        Saphyr::UnsupportedTag { tag, .. } => {
            fault(at, format!("the tag '{tag}' means nothing here"), "remove it")
        }
        Saphyr::Eof { .. } => fault(at, "the file ends too early", "complete the last line"),
        other => {
            let said = pcbflow_core::text::one_line(&other.to_string());
            let said = said.split(" at line ").next().unwrap_or_default();
            fault(at, format!("this is not YAML: {said}"), remedy_for(said))
        }
    }
}

/// The parser's words lead to a remedy only; what is refused never depends on them.
fn remedy_for(said: &str) -> &'static str {
    let said = said.to_lowercase();
    if said.contains("mapping values") || said.contains("':'") {
        "put a text that holds ': ' in quotes, and check the indentation"
    } else if said.contains("quote") {
        "close the quotation mark"
    } else if said.contains("indent") || said.contains("block") {
        "line up the keys of one mapping and the '-' of one list"
    } else if said.contains("flow") || said.contains("']'") || said.contains("'}'") {
        "close the bracket"
    } else {
        "check this line and the one before it"
    }
}

#[cfg(test)]
mod tests;
