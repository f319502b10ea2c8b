//! From the tree to the manifest. Goes on after a fault, so that all are reported at once.

use std::collections::BTreeMap;

use pcbflow_core::check::Limits;
use pcbflow_core::ids::{BoardName, IdError, KindName, PhaseId, StepId};
use pcbflow_core::manifest::{CheckSpec, Manifest, PhaseDef, Safety, StepDef, nearest};
use serde_json::Value;

use super::{PlacedFault, check, foreign};
use crate::yaml::{Data, Entry, Node, Place};

const TOP_KEYS: &[&str] = &["board", "root", "facts", "phases", "status"];
const PHASE_KEYS: &[&str] = &["id", "steps"];
/// Keys of a step.
pub(super) const STEP_KEYS: &[&str] = &[
    "id", "uses", "with", "check", "safety", "timeout", "needs", "inputs", "outputs", "install",
    "systems",
];
const SYSTEMS: &[&str] = &["linux", "macos", "windows"];
const SAFETIES: [Safety; 5] =
    [Safety::ReadOnly, Safety::Idempotent, Safety::Guarded, Safety::Once, Safety::Publish];

/// Collects faults.
#[derive(Default)]
pub(super) struct Faults(pub(super) Vec<PlacedFault>);

impl Faults {
    pub(super) fn add(&mut self, at: Place, path: &str, fault: String, remedy: impl Into<String>) {
        self.0.push(PlacedFault { at, path: path.to_owned(), fault, remedy: remedy.into() });
    }

    fn id<T>(&mut self, node: &Node, path: &str, result: Result<T, IdError>) -> Option<T> {
        result.map_err(|e| self.add(node.at, path, e.to_string(), "choose another name")).ok()
    }

    /// A text; numbers are pointed out, because YAML makes them of unquoted texts.
    pub(super) fn text<'n>(&mut self, node: &'n Node, path: &str) -> Option<&'n str> {
        match &node.data {
            Data::Text(text) => Some(text),
            Data::Int(_) | Data::Float(_) | Data::Bool(_) => {
                let fault = format!("'{}' is {}, a text is needed", path_end(path), node.kind());
                self.add(node.at, path, fault, "put the value in quotes");
                None
            }
            _ => {
                let fault = format!("'{}' is {}, a text is needed", path_end(path), node.kind());
                self.add(node.at, path, fault, "write a text");
                None
            }
        }
    }

    pub(super) fn map<'n>(&mut self, node: &'n Node, path: &str) -> Option<&'n [Entry]> {
        match &node.data {
            Data::Map(entries) => Some(entries),
            _ => {
                let fault = format!("'{}' is {}, keys are needed", path_end(path), node.kind());
                self.add(node.at, path, fault, "write 'key: value' lines");
                None
            }
        }
    }

    fn list<'n>(&mut self, node: &'n Node, path: &str) -> &'n [Node] {
        match &node.data {
            Data::List(list) => list,
            Data::Null => &[],
            _ => {
                let fault = format!("'{}' is {}, a list is needed", path_end(path), node.kind());
                self.add(node.at, path, fault, "write '[a, b]', or one '- ' line for each");
                &[]
            }
        }
    }

    fn texts(&mut self, parent: &Node, key: &str, path: &str) -> Vec<String> {
        let Some(node) = parent.get(key) else { return Vec::new() };
        let path = format!("{path}.{key}");
        let items = self.list(node, &path);
        items
            .iter()
            .enumerate()
            .filter_map(|(i, n)| self.text(n, &format!("{path}[{i}]")).map(str::to_owned))
            .collect()
    }

    pub(super) fn unknown_keys(&mut self, entries: &[Entry], known: &[&str], path: &str) {
        for entry in entries.iter().filter(|e| !known.contains(&e.key.as_str())) {
            let remedy = match nearest(&entry.key, known.iter().copied()) {
                Some(best) => format!("did you mean '{best}'?"),
                None => format!("known here: {}", known.join(", ")),
            };
            let at = join(path, &entry.key);
            self.add(entry.at, &at, format!("there is no key '{}' here", entry.key), remedy);
        }
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn path_end(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// What was understood of a manifest.
pub(super) struct Partial {
    /// Without what has a fault of its form. Never to be run.
    pub manifest: Manifest,
    /// For each of its phases: which one of the file it is, and which steps its steps are.
    pub origin: Vec<(usize, Vec<usize>)>,
}

/// The manifest, or all faults of its form.
pub(super) fn manifest(tree: &Node) -> Result<Manifest, Vec<PlacedFault>> {
    match partial(tree) {
        (Some(found), list) if list.is_empty() => Ok(found.manifest),
        (_, list) => Err(list),
    }
}

/// What can be understood of a manifest, and all faults of its form, in the order of the file.
pub(super) fn partial(tree: &Node) -> (Option<Partial>, Vec<PlacedFault>) {
    let mut faults = Faults::default();
    let found = whole(tree, &mut faults);
    let mut list = faults.0;
    list.sort_by_key(|f| f.at);
    (found, list)
}

fn whole(tree: &Node, faults: &mut Faults) -> Option<Partial> {
    let Data::Map(entries) = &tree.data else {
        let fault = format!("the file is {}, keys are needed", tree.kind());
        faults.add(tree.at, "", fault, "start with 'board: NAME' and 'phases:'");
        return None;
    };
    if foreign::refused(entries, faults) {
        return None;
    }
    faults.unknown_keys(entries, TOP_KEYS, "");
    let board = match tree.get("board") {
        Some(node) => {
            let text = faults.text(node, "board").map(str::to_owned);
            text.and_then(|t| faults.id(node, "board", BoardName::new(t)))
        }
        None => {
            let fault = "the key 'board' is missing".to_owned();
            faults.add(tree.at, "board", fault, "add 'board: NAME', the name of its folder");
            None
        }
    };
    let root = tree.get("root").filter(|n| n.data != Data::Null);
    let root = root.and_then(|n| root_text(n, faults));
    let facts = match tree.get("facts").filter(|n| n.data != Data::Null) {
        Some(node) => values(faults.map(node, "facts")),
        None => BTreeMap::new(),
    };
    let phases: Vec<(usize, (PhaseDef, Vec<usize>))> = match tree.get("phases") {
        Some(node) => faults
            .list(node, "phases")
            .iter()
            .enumerate()
            .filter_map(|(p, n)| Some((p, phase(n, &format!("phases[{p}]"), faults)?)))
            .collect(),
        None => {
            let fault = "the key 'phases' is missing".to_owned();
            faults.add(tree.at, "phases", fault, "add 'phases:' with at least one '- id: NN-name'");
            Vec::new()
        }
    };
    // A board without a name has a fault, so nothing is ever done under this one.
    let board = board.or_else(|| BoardName::new("unnamed").ok())?;
    let (origin, phases) =
        phases.into_iter().map(|(at, (phase, steps))| ((at, steps), phase)).unzip();
    Some(Partial { manifest: Manifest { board, root, facts, phases }, origin })
}

fn root_text(node: &Node, faults: &mut Faults) -> Option<String> {
    let text = faults.text(node, "root")?;
    if text.is_empty() || text.contains('\0') {
        let fault = "'root' is empty or has a NUL character".to_owned();
        faults.add(node.at, "root", fault, "write the folder, relative to this file");
        return None;
    }
    Some(text.to_owned())
}

fn values(entries: Option<&[Entry]>) -> BTreeMap<String, Value> {
    entries.unwrap_or_default().iter().map(|e| (e.key.clone(), e.node.to_json())).collect()
}

fn phase(node: &Node, path: &str, faults: &mut Faults) -> Option<(PhaseDef, Vec<usize>)> {
    if foreign::bare_phase(node, path, faults) {
        return None;
    }
    let entries = faults.map(node, path)?;
    faults.unknown_keys(entries, PHASE_KEYS, path);
    let id = match node.get("id") {
        Some(id) => foreign::phase_text(id, &format!("{path}.id"), faults)
            .and_then(|t| faults.id(id, &format!("{path}.id"), PhaseId::new(t))),
        None => {
            let fault = "this phase has no 'id'".to_owned();
            faults.add(node.at, &format!("{path}.id"), fault, "add 'id: NN-name'");
            None
        }
    };
    let steps =
        node.get("steps").map_or(&[] as &[Node], |n| faults.list(n, &format!("{path}.steps")));
    let (origin, steps) = steps
        .iter()
        .enumerate()
        .filter_map(|(s, n)| Some((s, step(n, &format!("{path}.steps[{s}]"), faults)?)))
        .unzip();
    // The same for a phase without an id: its steps are still looked at.
    let id = id.or_else(|| PhaseId::new(format!("99-line-{}", node.at.line)).ok())?;
    Some((PhaseDef { id, steps }, origin))
}

fn step(node: &Node, path: &str, faults: &mut Faults) -> Option<StepDef> {
    let entries = faults.map(node, path)?;
    faults.unknown_keys(entries, STEP_KEYS, path);
    let mut needed = |key: &str, remedy: &str| match node.get(key) {
        Some(n) => faults.text(n, &format!("{path}.{key}")).map(|t| (n, t.to_owned())),
        None => {
            let fault = format!("this step has no '{key}'");
            faults.add(node.at, &format!("{path}.{key}"), fault, remedy);
            None
        }
    };
    let id = needed("id", "add 'id: NAME', its name in this phase");
    let uses = needed("uses", "add 'uses: KIND', such as 'kicad/drc'");
    let id = id.and_then(|(n, t)| faults.id(n, &format!("{path}.id"), StepId::new(t)));
    let uses = uses.and_then(|(n, t)| faults.id(n, &format!("{path}.uses"), KindName::new(t)));
    let with = match node.get("with").filter(|n| n.data != Data::Null) {
        Some(n) => values(faults.map(n, &format!("{path}.with"))),
        None => BTreeMap::new(),
    };
    let needs = needs(node, path, faults);
    let systems = faults.texts(node, "systems", path);
    for (i, system) in systems.iter().enumerate() {
        if !SYSTEMS.contains(&system.as_str()) {
            let at = format!("{path}.systems[{i}]");
            let fault = format!("'{system}' is no operating system that is known here");
            faults.add(
                node.place_of(&format!("systems[{i}]")),
                &at,
                fault,
                "use linux, macos or windows",
            );
        }
    }
    let check = node
        .get("check")
        .map_or(CheckSpec::Own, |n| check::spec(n, &format!("{path}.check"), faults));
    let safety = node.get("safety").and_then(|n| safety(n, path, faults));
    let timeout_ms =
        node.get("timeout").and_then(|n| duration(n, &format!("{path}.timeout"), faults));
    let inputs = node.get("inputs").map(|_| faults.texts(node, "inputs", path));
    let outputs = faults.texts(node, "outputs", path);
    let install = faults.texts(node, "install", path);
    let (id, uses) = (id?, uses?);
    Some(StepDef {
        id,
        uses,
        with,
        check,
        safety,
        timeout_ms,
        needs,
        inputs,
        outputs,
        install,
        systems,
    })
}

fn needs(node: &Node, path: &str, faults: &mut Faults) -> Vec<StepId> {
    let Some(list) = node.get("needs") else { return Vec::new() };
    let path = format!("{path}.needs");
    let mut found = Vec::new();
    for (i, item) in faults.list(list, &path).iter().enumerate() {
        let path = format!("{path}[{i}]");
        let Some(text) = faults.text(item, &path) else { continue };
        found.extend(faults.id(item, &path, StepId::new(text)));
    }
    found
}

fn safety(node: &Node, path: &str, faults: &mut Faults) -> Option<Safety> {
    let path = format!("{path}.safety");
    let text = faults.text(node, &path)?;
    let found = SAFETIES.into_iter().find(|s| s.word() == text);
    if found.is_none() {
        let words: Vec<&str> = SAFETIES.iter().map(|s| s.word()).collect();
        let remedy = match nearest(text, words.iter().copied()) {
            Some(best) => format!("did you mean '{best}'?"),
            None => format!("use one of {}", words.join(", ")),
        };
        faults.add(node.at, &path, format!("there is no safety class '{text}'"), remedy);
    }
    found
}

/// Units of a duration and their milliseconds, longest name first.
const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

/// Milliseconds of `300s`, `5m`, `2h` or `250ms`.
pub(super) fn duration(node: &Node, path: &str, faults: &mut Faults) -> Option<u64> {
    let remedy = match &node.data {
        Data::Text(text) => match duration_ms(text) {
            Some(ms) => return Some(ms),
            None if text.bytes().all(|b| b.is_ascii_digit()) => unit_remedy(text),
            None => "write a whole number with its unit: '300s', '5m' or '2h'".to_owned(),
        },
        Data::Int(n) => unit_remedy(&n.to_string()),
        _ => "write a whole number with its unit: '300s', '5m' or '2h'".to_owned(),
    };
    faults.add(node.at, path, "a time needs a number and a unit".to_owned(), remedy);
    None
}

fn unit_remedy(number: &str) -> String {
    format!("add the unit: '{number}s' for seconds, '{number}m' for minutes")
}

/// Milliseconds of a duration text, `None` when it is none.
#[must_use]
pub(super) fn duration_ms(text: &str) -> Option<u64> {
    let (unit, ms) = UNITS.iter().find(|(unit, _)| text.ends_with(unit))?;
    let number = text.strip_suffix(unit)?;
    if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    number.parse::<u64>().ok()?.checked_mul(*ms)
}

/// Limits that hold when a check names none.
pub(super) fn default_limits() -> Limits {
    Limits::default()
}
