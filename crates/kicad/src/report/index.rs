//! Parts and nets of a board by the ids of its objects, read by our own parser.

use std::collections::{BTreeMap, BTreeSet};

use crate::sexpr::{Document, Node};

/// What is known of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// Reference of the footprint that it is or belongs to.
    pub part: Option<String>,
    /// Its net.
    pub net: Option<String>,
}

/// Objects by id; only those that were asked for.
#[derive(Debug, Clone, Default)]
pub struct BoardIndex {
    by_uuid: BTreeMap<String, Known>,
}

impl BoardIndex {
    /// Looks for the `wanted` ids in a board.
    #[must_use]
    pub fn of(doc: &Document, wanted: &BTreeSet<String>) -> BoardIndex {
        let mut index = BoardIndex::default();
        if wanted.is_empty() {
            return index;
        }
        let nets = net_names(doc);
        for node in doc.root().children().filter(|n| n.is_list()) {
            match node.head() {
                b"footprint" | b"module" => index.footprint(node, wanted, &nets),
                b"segment" | b"arc" | b"via" | b"zone" => {
                    index.add(node, wanted, None, net_of(node, &nets));
                }
                b"net" | b"layers" | b"general" | b"setup" => {}
                _ => index.add(node, wanted, None, None),
            }
        }
        index
    }

    /// What is known of an object; `None` if the file has no such id.
    #[must_use]
    pub fn get(&self, uuid: &str) -> Option<&Known> {
        self.by_uuid.get(uuid)
    }

    fn footprint(
        &mut self,
        node: Node<'_>,
        wanted: &BTreeSet<String>,
        nets: &BTreeMap<String, String>,
    ) {
        let part = reference(node);
        self.add(node, wanted, part.clone(), None);
        for child in node.children().filter(|n| n.is_list()) {
            let net = if child.head() == b"pad" { net_of(child, nets) } else { None };
            self.add(child, wanted, part.clone(), net);
        }
    }

    fn add(
        &mut self,
        node: Node<'_>,
        wanted: &BTreeSet<String>,
        part: Option<String>,
        net: Option<String>,
    ) {
        let Some(uuid) = uuid_of(node) else { return };
        if wanted.contains(&uuid) {
            self.by_uuid.insert(uuid, Known { part, net });
        }
    }
}

/// The id of an object; before KiCad 8 it is called `tstamp`, and in KiCad 5 it is a number.
pub(crate) fn uuid_of(node: Node<'_>) -> Option<String> {
    let text = node.field("uuid", 1).or_else(|| node.field("tstamp", 1))?.to_lowercase();
    let short = text.len() <= 12 && text.chars().all(|c| c.is_ascii_hexdigit());
    Some(if short { format!("00000000-0000-0000-0000-{text:0>12}") } else { text })
}

fn reference(footprint: Node<'_>) -> Option<String> {
    let named = |n: &Node<'_>, name: &[u8]| n.atom(1).is_some_and(|a| *a.value() == *name);
    let property = footprint
        .children_named("property")
        .find(|n| named(n, b"Reference"))
        .or_else(|| footprint.children_named("fp_text").find(|n| named(n, b"reference")));
    property?.atom(2).map(Node::text).filter(|text| !text.is_empty())
}

/// Net names by number; formats up to KiCad 9 write numbers.
fn net_names(doc: &Document) -> BTreeMap<String, String> {
    doc.root()
        .children_named("net")
        .filter_map(|n| Some((n.atom(1)?.text(), n.atom(2)?.text())))
        .collect()
}

fn net_of(node: Node<'_>, nets: &BTreeMap<String, String>) -> Option<String> {
    let list = node.child("net")?;
    let name = match list.atom(2) {
        Some(name) => name.text(),
        None => {
            let first = list.atom(1)?;
            let text = first.text();
            if first.is_quoted() { text } else { nets.get(&text).cloned().unwrap_or(text) }
        }
    };
    (!name.is_empty() && name != "0").then_some(name)
}
