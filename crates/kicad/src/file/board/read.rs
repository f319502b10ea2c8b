//! Reads a board from its tree.

use std::collections::{BTreeMap, BTreeSet};

use super::copper::{Counter, is_copper};
use super::{
    Board, BoardError, Drill, Footprint, Layer, MAX_ODDITIES, Oddity, Pad, PadKind, Via, Zone,
    text_at,
};
use crate::file::header::{FileKind, Header};
use crate::file::units::{Angle, Nm, Place};
use crate::sexpr::{Document, Node};

/// All footprints of a board file with their references, in order; for edits that need the nodes themselves.
pub fn footprint_nodes(doc: &Document) -> impl Iterator<Item = (Node<'_>, String)> {
    let is_footprint = |node: &Node<'_>| matches!(node.head(), b"footprint" | b"module");
    doc.root().children().filter(is_footprint).map(|node| (node, reference_of(node)))
}

/// The reference of one footprint node; empty if it has none.
#[must_use]
pub fn reference_of(footprint: Node<'_>) -> String {
    for child in footprint.children() {
        let (wanted, position) = match child.head() {
            b"property" => ("Reference", 2),
            b"fp_text" => ("reference", 2),
            _ => continue,
        };
        if child.atom(1).is_some_and(|name| *name.value() == *wanted.as_bytes()) {
            return text_at(child, position).unwrap_or_default();
        }
    }
    String::new()
}

pub(super) fn board(doc: &Document) -> Result<Board, BoardError> {
    let header = Header::parse(doc.bytes())?;
    if header.kind != FileKind::Board {
        return Err(BoardError::NotABoard { found: header.kind });
    }
    let layers = doc.root().child("layers").map(layers).unwrap_or_default();
    let codes = net_codes(doc.root());
    let nets = codes.values().filter(|name| !name.is_empty()).cloned().collect();
    let board = Board {
        header,
        nets,
        footprints: Vec::new(),
        vias: Vec::new(),
        zones: Vec::new(),
        tracks: 0,
        copper: BTreeMap::new(),
        outline_items: 0,
        first_track: None,
        oddities: Vec::new(),
        layers,
    };
    let mut reader = Reader { copper: Counter::new(&board.layers), codes, board };
    doc.root().children().for_each(|node| reader.item(node));
    reader.board.copper = reader.copper.by_layer;
    Ok(reader.board)
}

fn layers(list: Node<'_>) -> Vec<Layer> {
    let layer = |node: Node<'_>| Layer {
        number: text_at(node, 0).and_then(|n| n.parse().ok()),
        name: text_at(node, 1).unwrap_or_default(),
        kind: text_at(node, 2).unwrap_or_default(),
        // KiCad 5 has `hide` in this place, never quoted.
        user_name: node.atom(3).filter(|n| n.is_quoted()).map(Node::text),
    };
    list.children().filter(|node| node.is_list()).map(layer).collect()
}

/// The table `(net 3 "GND")` at the top of formats up to 9.
fn net_codes(root: Node<'_>) -> BTreeMap<u32, String> {
    let entry = |node: Node<'_>| Some((text_at(node, 1)?.parse().ok()?, text_at(node, 2)?));
    root.children_named("net").filter_map(entry).collect()
}

struct Reader {
    board: Board,
    codes: BTreeMap<u32, String>,
    copper: Counter,
}

impl Reader {
    fn item(&mut self, node: Node<'_>) {
        match node.head() {
            b"footprint" | b"module" => self.footprint(node),
            b"segment" | b"arc" => self.track(node),
            b"via" => self.via(node),
            b"zone" => self.zone(node),
            b"gr_line" | b"gr_arc" | b"gr_rect" | b"gr_circle" | b"gr_poly" | b"gr_curve" => {
                self.shape(node)
            }
            b"gr_text" | b"gr_text_box" => self.text(node),
            _ => {}
        }
    }

    fn odd(&mut self, node: Node<'_>, what: &'static str) {
        if self.board.oddities.len() < MAX_ODDITIES {
            self.board.oddities.push(Oddity { offset: node.span().start(), what });
        }
    }

    /// The name of the net that `(net …)` gives: a name in quotes (10), or a number with or without its name (to 9).
    fn net(&mut self, node: Node<'_>) -> Option<String> {
        let list = node.child("net")?;
        let first = list.atom(1)?;
        let name = match text_at(list, 2) {
            Some(name) => name,
            None if first.is_quoted() => first.text(),
            None => match first.text().parse::<u32>() {
                Ok(code) => self.codes.get(&code).cloned().unwrap_or_default(),
                Err(_) => first.text(),
            },
        };
        if name.is_empty() {
            return None;
        }
        if !self.board.nets.contains(&name) {
            self.board.nets.insert(name.clone());
        }
        Some(name)
    }

    fn place(&mut self, node: Node<'_>, head: &str) -> Option<Place> {
        let list = node.child(head)?;
        let number = |position| list.atom(position).and_then(|n| Nm::from_mm(&n.value()));
        let (x, y) = (number(1), number(2));
        if x.is_none() || y.is_none() {
            self.odd(list, "place that is no pair of numbers");
        }
        Some(Place { x: x?, y: y? })
    }

    fn track(&mut self, node: Node<'_>) {
        self.board.tracks += 1;
        self.net(node);
        self.copper.add(&layer_names(node), |layer| &mut layer.tracks);
        if self.board.first_track.is_none() && node.head() == b"segment" {
            self.board.first_track = self.place(node, "start");
        }
    }

    fn via(&mut self, node: Node<'_>) {
        let Some(place) = self.place(node, "at") else {
            return self.odd(node, "via without a place");
        };
        let kind = node.atom(1).map(Node::text).filter(|word| word != "locked");
        let layers = layer_names(node);
        if !node.flag("remove_unused_layers") {
            self.copper.add_via(&layers, false);
        } else if node.flag("keep_end_layers") {
            self.copper.add_via(&layers, true);
        }
        let drill =
            node.child("drill").and_then(|d| d.atom(1)).and_then(|n| Nm::from_mm(&n.value()));
        let net = self.net(node);
        let kind = kind.unwrap_or_else(|| "through".to_owned());
        self.board.vias.push(Via { place, drill: drill.filter(|d| d.0 > 0), layers, kind, net });
    }

    fn zone(&mut self, node: Node<'_>) {
        let layers = layer_names(node);
        let keepout = node.child("keepout").is_some();
        let mut fills = 0;
        for fill in node.children_named("filled_polygon") {
            fills += 1;
            let own = layer_names(fill);
            self.copper.add(if own.is_empty() { &layers } else { &own }, |layer| &mut layer.fills);
        }
        let wants_fill =
            node.child("fill").and_then(|f| f.atom(1)).is_some_and(|yes| yes.bytes() == b"yes");
        let net = node.field("net_name", 1).filter(|name| !name.is_empty());
        let net = net.or_else(|| self.net(node));
        if let Some(name) = net.as_ref().filter(|name| !self.board.nets.contains(*name)) {
            self.board.nets.insert(name.clone());
        }
        let name = node.field("name", 1);
        self.board.zones.push(Zone { net, layers, name, keepout, wants_fill, fills });
    }

    fn shape(&mut self, node: Node<'_>) {
        let layers = layer_names(node);
        if layers.iter().any(|name| name == "Edge.Cuts") {
            self.board.outline_items += 1;
        }
        self.copper.add(&layers, |layer| &mut layer.graphics);
    }

    fn text(&mut self, node: Node<'_>) {
        let shown =
            !node.flag("hide") && text_at(node, 1).is_some_and(|text| !text.trim().is_empty());
        if shown {
            self.copper.add(&layer_names(node), |layer| &mut layer.graphics);
        }
    }

    fn footprint(&mut self, node: Node<'_>) {
        let place = self.place(node, "at");
        if place.is_none() {
            self.odd(node, "footprint without a place");
        }
        let angle = |at: Node<'_>| at.atom(3).and_then(|n| Angle::from_degrees(&n.value()));
        let mut part = Footprint {
            reference: String::new(),
            value: String::new(),
            library_id: text_at(node, 1).unwrap_or_default(),
            uuid: node.field("uuid", 1).or_else(|| node.field("tstamp", 1)),
            path: node.field("path", 1).filter(|path| !path.is_empty()),
            attributes: BTreeSet::new(),
            layer: node.field("layer", 1).unwrap_or_default(),
            place: place.unwrap_or_default(),
            angle: node.child("at").and_then(angle).unwrap_or_default(),
            pads: Vec::new(),
            offset: node.span().start(),
        };
        for child in node.children() {
            match child.head() {
                b"pad" => self.pad(child, &mut part),
                b"property" | b"fp_text" => words(child, &mut part),
                b"attr" => part
                    .attributes
                    .extend(child.children().skip(1).filter(|n| !n.is_list()).map(Node::text)),
                b"zone" => self.zone(child),
                b"fp_line" | b"fp_arc" | b"fp_rect" | b"fp_circle" | b"fp_poly" | b"fp_curve" => {
                    self.shape(child)
                }
                _ => {}
            }
        }
        self.board.footprints.push(part);
    }

    fn pad(&mut self, node: Node<'_>, part: &mut Footprint) {
        let Some(relative) = self.place(node, "at") else {
            return self.odd(node, "pad without a place");
        };
        let kind = match node.atom(2).map(Node::bytes) {
            Some(b"thru_hole") => PadKind::Through,
            Some(b"np_thru_hole") => PadKind::NotPlated,
            Some(b"smd") => PadKind::Surface,
            Some(b"connect") => PadKind::Edge,
            _ => {
                self.odd(node, "pad of an unknown kind");
                PadKind::Other
            }
        };
        let layers = layer_names(node);
        let on_copper = layers.iter().any(|name| is_copper(name));
        if kind != PadKind::NotPlated && !node.flag("remove_unused_layers") {
            self.copper.add(&layers, |layer| &mut layer.pads);
        }
        let net = self.net(node);
        part.pads.push(Pad {
            number: text_at(node, 1).unwrap_or_default(),
            kind,
            place: Place::of_relative(part.place, part.angle, relative),
            drill: node.child("drill").and_then(drill),
            net,
            on_copper,
        });
    }
}

/// Reference and value, old and new form.
fn words(node: Node<'_>, part: &mut Footprint) {
    let Some(name) = node.atom(1) else { return };
    let value = || text_at(node, 2).unwrap_or_default();
    match (node.head(), &*name.value()) {
        (b"property", b"Reference") | (b"fp_text", b"reference") => part.reference = value(),
        (b"property", b"Value") | (b"fp_text", b"value") => part.value = value(),
        _ => {}
    }
}

/// `(drill 0.8)`, `(drill oval 1 2)`, `(drill 0.8 (offset 0 0.1))`; an offset alone is no hole.
fn drill(node: Node<'_>) -> Option<Drill> {
    let mut sizes =
        node.children().skip(1).filter(|n| !n.is_list()).filter_map(|n| Nm::from_mm(&n.value()));
    let width = sizes.next().filter(|d| d.0 > 0)?;
    let height = sizes.next().filter(|d| d.0 > 0).unwrap_or(width);
    Some(Drill { width, height })
}

/// The names in `(layer …)` and `(layers …)`.
fn layer_names(node: Node<'_>) -> Vec<String> {
    let lists = node.children().filter(|child| matches!(child.head(), b"layer" | b"layers"));
    lists
        .flat_map(|list| list.children().skip(1).filter(|n| !n.is_list()).map(Node::text))
        .collect()
}
