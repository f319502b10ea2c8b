//! Symbols and places of a schematic, read by our own parser: the second opinion on parity, and
//! the proof whether ERC's positions are right.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::index::{Known, uuid_of};
use super::{Item, Report, findings::Names};
use crate::file::Nm;
use crate::file::schematic::Hierarchy;
use crate::sexpr::{Document, Node};

/// Factor by which ERC's JSON is wrong in KiCad 9 and 10.
const ERC_FACTOR: i64 = 100;
/// Most paths of sheets that are followed.
const PATHS_MAX: usize = 20_000;

/// A symbol at one place of the hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its reference there.
    pub reference: String,
    /// Its id in the sheet's file.
    pub uuid: String,
    /// `10k`.
    pub value: String,
    /// Name of the footprint that the symbol carries; empty if none.
    pub footprint: String,
    /// Ids of the sheets and of itself, as footprints name their symbol: `/sheet/symbol`.
    pub path: String,
    /// It belongs on the board.
    pub on_board: bool,
    /// It belongs in the bill of materials.
    pub in_bom: bool,
    /// It is marked not to be populated.
    pub dnp: bool,
}

/// All symbols and places.
#[derive(Debug, Clone, Default)]
pub struct SheetIndex {
    /// Symbols in the order of the walk; power symbols (`#…`) are left out.
    pub symbols: Vec<Symbol>,
    /// Number of all symbols, power symbols included.
    pub symbols_total: usize,
    places: BTreeMap<String, Vec<(i64, i64)>>,
    parts: BTreeMap<String, String>,
    factor: Option<i64>,
}

impl SheetIndex {
    /// Reads all sheets of a hierarchy.
    #[must_use]
    pub fn of(hierarchy: &Hierarchy) -> SheetIndex {
        let mut docs = BTreeMap::new();
        for path in hierarchy.files() {
            let parsed = crate::file::read_bounded(path).ok().and_then(|b| Document::parse(b).ok());
            docs.extend(parsed.map(|doc| (path.to_owned(), doc)));
        }
        let mut index = SheetIndex::default();
        for doc in docs.values() {
            index.add_places(doc);
        }
        index.walk(hierarchy, &docs);
        index
    }

    /// References that belong on the board.
    #[must_use]
    pub fn on_board(&self) -> BTreeSet<&str> {
        self.symbols.iter().filter(|s| s.on_board).map(|s| s.reference.as_str()).collect()
    }

    fn add_places(&mut self, doc: &Document) {
        for node in doc.root().children().filter(|n| n.is_list()) {
            let Some(uuid) = uuid_of(node) else { continue };
            let points: Vec<(i64, i64)> = match node.child("pts") {
                Some(pts) => pts.children_named("xy").filter_map(point).collect(),
                None => node.child("at").and_then(point).into_iter().collect(),
            };
            self.places.insert(uuid, points);
        }
    }

    /// Each sheet file once for every path that leads to it.
    fn walk(&mut self, hierarchy: &Hierarchy, docs: &BTreeMap<PathBuf, Document>) {
        let Some(root) = docs.get(&hierarchy.root) else { return };
        let old = old_instances(root.root());
        let root_id = uuid_of(root.root()).unwrap_or_default();
        let mut stack = vec![(hierarchy.root.clone(), format!("/{root_id}"), String::new())];
        let mut left = PATHS_MAX;
        while let Some((path, ids, old_ids)) = stack.pop() {
            let Some(doc) = docs.get(&path) else { continue };
            left = left.saturating_sub(1);
            if left == 0 {
                return;
            }
            for node in doc.root().children_named("symbol") {
                self.add_symbol(node, &ids, &old_ids, &old);
            }
            let folder = path.parent().unwrap_or(Path::new(""));
            let children = hierarchy.sheets.get(&path).map(|s| s.children.as_slice());
            let nodes = doc.root().children_named("sheet");
            for (node, child) in nodes.zip(children.unwrap_or_default()) {
                let Some(id) = uuid_of(node) else { continue };
                let file = child.path.clone().unwrap_or_else(|| folder.join(&child.file));
                // A sheet that holds itself is a fault of the hierarchy and not followed.
                if !ids.contains(&format!("/{id}")) {
                    stack.push((file, format!("{ids}/{id}"), format!("{old_ids}/{id}")));
                }
            }
        }
    }

    fn add_symbol(
        &mut self,
        node: Node<'_>,
        ids: &str,
        old_ids: &str,
        old: &BTreeMap<String, String>,
    ) {
        self.symbols_total += 1;
        let Some(uuid) = uuid_of(node) else { return };
        let reference = instance_reference(node, ids)
            .or_else(|| old.get(&format!("{old_ids}/{uuid}")).cloned())
            .or_else(|| property(node, "Reference"))
            .unwrap_or_default();
        if reference.is_empty() || reference.starts_with('#') {
            return;
        }
        // A missing word means yes, `dnp` means no.
        let yes = |word: &str| node.field(word, 1).is_none_or(|v| v != "no");
        let symbol = Symbol {
            on_board: yes("on_board"),
            in_bom: yes("in_bom"),
            dnp: node.field("dnp", 1).is_some_and(|v| v == "yes"),
            reference: reference.clone(),
            value: property(node, "Value").unwrap_or_default(),
            footprint: property(node, "Footprint").unwrap_or_default(),
            path: format!("{old_ids}/{uuid}"),
            uuid: uuid.clone(),
        };
        self.parts.entry(uuid).or_insert_with(|| reference.clone());
        for pin in node.children_named("pin") {
            if let Some(uuid) = uuid_of(pin) {
                self.parts.entry(uuid).or_insert_with(|| reference.clone());
            }
        }
        self.symbols.push(symbol);
    }

    /// Judges the positions of a report against the schematic: items whose id and place we know
    /// must lie where the file says, as they stand or times a hundred. Without any such item
    /// nothing is corrected and no position is believed.
    pub fn judge_positions(&mut self, report: &Report) {
        let (mut as_is, mut hundred) = (0_u32, 0_u32);
        for item in report.entries().flat_map(|e| &e.items) {
            let Some(places) = self.places.get(&item.uuid.to_lowercase()) else { continue };
            let at = |factor| item.pos.as_ref().and_then(|p| p.nm(factor));
            let (Some(one), Some(times)) = (at(1), at(ERC_FACTOR)) else { continue };
            if one == (0, 0) {
                continue;
            }
            as_is += u32::from(places.contains(&one));
            hundred += u32::from(places.contains(&times));
        }
        self.factor = match (as_is, hundred) {
            (0, 0) => self.judge_near(report),
            (a, h) if h > a => Some(ERC_FACTOR),
            _ => Some(1),
        };
    }

    /// Pins have no place of their own in the file, but lie near their symbol: closer than the
    /// hundredth part of the sheet does.
    fn judge_near(&self, report: &Report) -> Option<i64> {
        let all: Vec<(i64, i64)> = self.places.values().flatten().copied().collect();
        let (mut as_is, mut hundred) = (0_u32, 0_u32);
        for pos in report.entries().flat_map(|e| &e.items).filter_map(|i| i.pos.as_ref()) {
            let near = |factor| {
                pos.nm(factor).is_some_and(|at| all.iter().any(|p| distance(*p, at) <= NEAR_NM))
            };
            match (near(1), near(ERC_FACTOR)) {
                (true, false) => as_is += 1,
                (false, true) => hundred += 1,
                _ => {}
            }
        }
        match (as_is, hundred) {
            (0, 0) => None,
            (a, h) if h > a => Some(ERC_FACTOR),
            _ => Some(1),
        }
    }
}

/// How near a pin lies to anything on its sheet, in nanometres.
const NEAR_NM: i64 = 2_540_000;

fn distance(a: (i64, i64), b: (i64, i64)) -> i64 {
    a.0.saturating_sub(b.0).saturating_abs().max(a.1.saturating_sub(b.1).saturating_abs())
}

impl Names for SheetIndex {
    fn of(&self, item: &Item) -> Option<Known> {
        let uuid = item.uuid.to_lowercase();
        let part = self.parts.get(&uuid).cloned();
        let known = part.is_some() || self.places.contains_key(&uuid);
        known.then_some(Known { part, net: None })
    }

    fn factor(&self) -> Option<i64> {
        self.factor
    }
}

fn point(node: Node<'_>) -> Option<(i64, i64)> {
    let nm = |at| Nm::from_mm(node.atom(at)?.bytes()).map(|nm| nm.0);
    Some((nm(1)?, nm(2)?))
}

fn property(node: Node<'_>, name: &str) -> Option<String> {
    node.children_named("property")
        .find(|p| p.atom(1).is_some_and(|a| *a.value() == *name.as_bytes()))?
        .atom(2)
        .map(Node::text)
}

/// `(instances (project "x" (path "/root/sheet" (reference "R1") (unit 1))))`, since KiCad 7.
fn instance_reference(node: Node<'_>, ids: &str) -> Option<String> {
    node.child("instances")?
        .children_named("project")
        .flat_map(|project| project.children_named("path"))
        .find(|path| path.atom(1).is_some_and(|a| a.text() == ids))?
        .field("reference", 1)
}

/// `(symbol_instances (path "/sheet/symbol" (reference "R1") …))` in the root sheet of KiCad 6.
fn old_instances(root: Node<'_>) -> BTreeMap<String, String> {
    let Some(list) = root.child("symbol_instances") else { return BTreeMap::new() };
    list.children_named("path")
        .filter_map(|p| Some((p.atom(1)?.text(), p.field("reference", 1)?)))
        .collect()
}
