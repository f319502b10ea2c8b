//! Facts of a board (`.kicad_pcb`), formats of KiCad 5 to 10.
//!
//! The formats differ in words, not in substance: `module` became `footprint` (6), `fp_text reference` became
//! `property "Reference"` (8), `tstamp` became `uuid` (8), and nets, numbered up to 9, go by name alone in 10. This
//! module hides all of that. Lengths are exact, in nanometres.

mod copper;
mod read;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::header::{Header, HeaderError};
use super::units::{Angle, Nm, Place};
use crate::sexpr::{Document, Node, SexprError};

pub use copper::LayerCopper;
pub use read::{footprint_nodes, reference_of};

/// Most oddities that are kept of one board.
pub const MAX_ODDITIES: usize = 100;

/// A board that could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BoardError {
    /// The file could not be read from disk.
    #[error("the board can't be read from disk")]
    Io(#[from] std::io::Error),
    /// The bytes are no s-expression.
    #[error("the board can't be read")]
    Sexpr(#[from] SexprError),
    /// The first lines say nothing that is known.
    #[error("the head of the board can't be read")]
    Header(#[from] HeaderError),
    /// A KiCad file of another kind.
    #[error("the file is not a board but a {found}")]
    NotABoard {
        /// What it is.
        found: super::header::FileKind,
    },
}

/// A board.
#[derive(Debug, Clone)]
pub struct Board {
    /// Kind, version, maker.
    pub header: Header,
    /// Layers in the order of the file.
    pub layers: Vec<Layer>,
    /// Names of all nets that occur, without the empty one.
    pub nets: BTreeSet<String>,
    /// Footprints in the order of the file.
    pub footprints: Vec<Footprint>,
    /// Vias in the order of the file.
    pub vias: Vec<Via>,
    /// Zones, those inside footprints included.
    pub zones: Vec<Zone>,
    /// Straight and curved track pieces.
    pub tracks: usize,
    /// Copper that is certain to be there, by layer name; every copper layer has an entry.
    pub copper: BTreeMap<String, LayerCopper>,
    /// Lines, arcs and other shapes on `Edge.Cuts`, those of footprints included.
    pub outline_items: usize,
    /// Where the first straight track begins; a canary can name it.
    pub first_track: Option<Place>,
    /// What was odd: parts without a place, numbers that are none. At most [`MAX_ODDITIES`].
    pub oddities: Vec<Oddity>,
}

/// A layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Its number in the file; means different things in different formats.
    pub number: Option<u32>,
    /// Its fixed name: `F.Cu`, `In1.Cu`, `Edge.Cuts`.
    pub name: String,
    /// `signal`, `power`, `mixed`, `jumper` or `user`.
    pub kind: String,
    /// The name a person gave it.
    pub user_name: Option<String>,
}

impl Layer {
    /// Whether it is a copper layer.
    #[must_use]
    pub fn is_copper(&self) -> bool {
        self.name.ends_with(".Cu")
    }
}

/// A footprint on the board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footprint {
    /// `R12`; may be empty, repeated, or a filler such as `REF**`.
    pub reference: String,
    /// `10k`.
    pub value: String,
    /// Library and name: `Resistor_SMD:R_0402_1005Metric`.
    pub library_id: String,
    /// Its own id (`uuid`, before KiCad 8 `tstamp`).
    pub uuid: Option<String>,
    /// Path of its symbol in the schematic; `None` for parts that never came from one.
    pub path: Option<String>,
    /// Words of `attr`: `smd`, `through_hole`, `virtual`, `board_only`, `exclude_from_bom`, `exclude_from_pos_files`, `dnp`.
    pub attributes: BTreeSet<String>,
    /// The layer that it stands on, `F.Cu` or `B.Cu`.
    pub layer: String,
    /// Where it stands.
    pub place: Place,
    /// How it is turned.
    pub angle: Angle,
    /// Its pads in the order of the file.
    pub pads: Vec<Pad>,
    /// Where it begins in the file, in bytes.
    pub offset: usize,
}

impl Footprint {
    /// Whether it is on the board alone and has no symbol to match.
    #[must_use]
    pub fn is_board_only(&self) -> bool {
        self.attributes.contains("board_only")
    }

    /// Whether it is left out of the bill of materials.
    #[must_use]
    pub fn is_excluded_from_bom(&self) -> bool {
        self.attributes.contains("exclude_from_bom") || self.attributes.contains("virtual")
    }

    /// Whether it is marked as not to be populated.
    #[must_use]
    pub fn is_dnp(&self) -> bool {
        self.attributes.contains("dnp")
    }
}

/// How a pad is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum PadKind {
    /// `thru_hole`: a plated hole.
    Through,
    /// `np_thru_hole`: a hole without plating.
    NotPlated,
    /// `smd`.
    Surface,
    /// `connect`: an edge contact.
    Edge,
    /// A word that is not known.
    Other,
}

/// A pad of a footprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pad {
    /// `1`, `A5`; empty for mechanical holes and paste openings. Several pads may have one number.
    pub number: String,
    /// How it is made.
    pub kind: PadKind,
    /// Where its centre is on the board.
    pub place: Place,
    /// Its hole, if it has one.
    pub drill: Option<Drill>,
    /// Its net; `None` if it is on none.
    pub net: Option<String>,
    /// Whether any of its layers is copper; paste openings are not.
    pub on_copper: bool,
}

/// Size of a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Drill {
    /// Width.
    pub width: Nm,
    /// Height; equal to the width for round holes.
    pub height: Nm,
}

/// A via.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Via {
    /// Where it is.
    pub place: Place,
    /// Diameter of its hole; `None` where the file leaves it to the net class.
    pub drill: Option<Nm>,
    /// First and last layer.
    pub layers: Vec<String>,
    /// `through`, or the word of the file: `blind`, `buried`, `micro`.
    pub kind: String,
    /// Its net; `None` if it is on none.
    pub net: Option<String>,
}

/// A zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone {
    /// Its net; `None` if it is on none.
    pub net: Option<String>,
    /// Layers as they stand in the file; may hold `*.Cu` or `F&B.Cu`.
    pub layers: Vec<String>,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// A rule area (keepout), never copper.
    pub keepout: bool,
    /// Whether it is meant to be filled.
    pub wants_fill: bool,
    /// Stored filled areas.
    pub fills: usize,
}

/// A hole in the board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hole {
    /// Its centre.
    pub place: Place,
    /// Its size; `None` for vias whose size the net class gives.
    pub drill: Option<Drill>,
    /// Whether its wall is plated.
    pub plated: bool,
    /// Reference and pad number, or `None` for vias.
    pub owner: Option<(String, String)>,
}

/// Something in a board that is not as expected but does not stop reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oddity {
    /// Offset in the file, in bytes.
    pub offset: usize,
    /// What, as a fragment: `pad without a place`.
    pub what: &'static str,
}

impl Board {
    /// Reads the facts from a parsed file.
    ///
    /// # Errors
    /// [`BoardError::Header`], [`BoardError::NotABoard`].
    pub fn from_document(doc: &Document) -> Result<Self, BoardError> {
        read::board(doc)
    }

    /// Parses and reads.
    ///
    /// # Errors
    /// Those of [`Board::from_document`], and [`BoardError::Sexpr`].
    pub fn parse(bytes: Vec<u8>) -> Result<Self, BoardError> {
        Self::from_document(&Document::parse(bytes)?)
    }

    /// Reads a file from disk.
    ///
    /// # Errors
    /// Those of [`Board::parse`], and [`BoardError::Io`].
    pub fn read(path: &Path) -> Result<Self, BoardError> {
        Self::parse(crate::file::read_bounded(path)?)
    }

    /// Copper layers in the order of the file.
    pub fn copper_layers(&self) -> impl Iterator<Item = &Layer> {
        self.layers.iter().filter(|layer| layer.is_copper())
    }

    /// All holes: those of pads, then those of vias.
    #[must_use]
    pub fn holes(&self) -> Vec<Hole> {
        let of_pad = |footprint: &Footprint, pad: &Pad| Hole {
            place: pad.place,
            drill: pad.drill,
            plated: pad.kind != PadKind::NotPlated,
            owner: Some((footprint.reference.clone(), pad.number.clone())),
        };
        let mut holes = Vec::with_capacity(self.drill_count());
        for footprint in &self.footprints {
            let drilled = footprint.pads.iter().filter(|pad| pad.drill.is_some());
            holes.extend(drilled.map(|pad| of_pad(footprint, pad)));
        }
        holes.extend(self.vias.iter().map(|via| Hole {
            place: via.place,
            drill: via.drill.map(|width| Drill { width, height: width }),
            plated: true,
            owner: None,
        }));
        holes
    }

    /// Number of holes, those of pads and of vias together; what the drill files must add up to.
    #[must_use]
    pub fn drill_count(&self) -> usize {
        let pads =
            self.footprints.iter().flat_map(|f| &f.pads).filter(|pad| pad.drill.is_some()).count();
        pads + self.vias.len()
    }

    /// Whether the board has an outline.
    #[must_use]
    pub fn has_outline(&self) -> bool {
        self.outline_items > 0
    }

    /// Zones that are meant to be filled and have no stored fill.
    pub fn unfilled_zones(&self) -> impl Iterator<Item = &Zone> {
        self.zones.iter().filter(|zone| !zone.keepout && zone.wants_fill && zone.fills == 0)
    }

    /// Whether there is nothing on it that a check could look at.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let copper: usize = self.copper.values().map(LayerCopper::total).sum();
        self.footprints.is_empty()
            && self.zones.is_empty()
            && self.outline_items == 0
            && copper == 0
    }
}

/// The text of an atom child, lossily.
fn text_at(node: Node<'_>, position: usize) -> Option<String> {
    node.atom(position).map(Node::text)
}
