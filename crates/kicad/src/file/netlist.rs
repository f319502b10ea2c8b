//! Netlists, as `kicad-cli sch export netlist --format kicadxml` writes them.
//!
//! Read with `roxmltree`: it refuses document type definitions (so no entity can blow up), limits the number of nodes and
//! names the place of an error.
//!
//! Beware: for a schematic of KiCad 5 or older the export exits 0 with no components in it (measured, 9 and 10). No
//! components from a schematic whose board has footprints is an alarm, see
//! [`Comparison::is_netlist_empty`](super::compare::Comparison::is_netlist_empty).

use std::collections::BTreeMap;
use std::path::Path;

use roxmltree::{Document, Node, ParsingOptions};

/// Largest netlist that is read, in bytes (256 MiB).
pub const MAX_NETLIST_BYTES: usize = 256 * 1024 * 1024;

/// Most XML nodes in a netlist; 16 million take about 1.5 GB.
pub const MAX_NETLIST_NODES: u32 = 16_000_000;

/// A netlist that could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetlistError {
    /// The file could not be read from disk.
    #[error("the netlist can't be read from disk")]
    Io(#[from] std::io::Error),
    /// No byte: kicad-cli exits 0 on a full disk and leaves an empty file.
    #[error("the netlist is empty")]
    Empty,
    /// Larger than [`MAX_NETLIST_BYTES`].
    #[error("the netlist has {bytes} bytes, more than the limit of {limit}")]
    TooLarge {
        /// Size in bytes.
        bytes: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// Not UTF-8.
    #[error("the netlist is not UTF-8 from byte {offset} on")]
    NotText {
        /// First wrong byte.
        offset: usize,
    },
    /// No well-formed XML; most often cut off.
    #[error("the netlist is no whole XML (line {line}, column {column})")]
    Xml {
        /// Line, from 1.
        line: u32,
        /// Column, from 1.
        column: u32,
        /// What the XML reader says.
        #[source]
        source: roxmltree::Error,
    },
    /// XML, but not KiCad's netlist.
    #[error("the file holds {root:?} where a netlist holds \"export\", or lacks {missing}")]
    NotANetlist {
        /// Name of the outermost element.
        root: String,
        /// The part that is missing.
        missing: &'static str,
    },
}

/// A component of a schematic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// `R12`.
    pub reference: String,
    /// `10k`.
    pub value: String,
    /// `Resistor_SMD:R_0402_1005Metric`; empty if none was chosen.
    pub footprint: String,
    /// Has no place on the board.
    pub excluded_from_board: bool,
    /// Is left out of the bill of materials.
    pub excluded_from_bom: bool,
    /// Is not to be populated.
    pub dnp: bool,
}

/// One pin of one component.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pin {
    /// The component.
    pub reference: String,
    /// The pin's number, equal to its pad's: `1`, `A5`.
    pub number: String,
}

impl std::fmt::Display for Pin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.reference, self.number)
    }
}

/// A net and the pins on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Net {
    /// Its name, with `{slash}` as KiCad writes it.
    pub name: String,
    /// Its pins in the order of the file.
    pub pins: Vec<Pin>,
}

/// A netlist.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Netlist {
    /// The schematic that it was made from, as the tool names it.
    pub source: String,
    /// The tool and its version: `Eeschema 9.0.8`.
    pub tool: String,
    /// Components in the order of the file; several units of one symbol are one component.
    pub components: Vec<Component>,
    /// Nets in the order of the file; each unconnected pin has its own `unconnected-(…)` net.
    pub nets: Vec<Net>,
}

impl Netlist {
    /// Reads a netlist.
    ///
    /// # Errors
    /// All of [`NetlistError`] but [`NetlistError::Io`].
    pub fn parse(bytes: &[u8]) -> Result<Self, NetlistError> {
        if bytes.len() > MAX_NETLIST_BYTES {
            return Err(NetlistError::TooLarge { bytes: bytes.len(), limit: MAX_NETLIST_BYTES });
        }
        let text = std::str::from_utf8(bytes)
            .map_err(|e| NetlistError::NotText { offset: e.valid_up_to() })?;
        if text.trim().is_empty() {
            return Err(NetlistError::Empty);
        }
        let options = ParsingOptions {
            allow_dtd: false,
            nodes_limit: MAX_NETLIST_NODES,
            ..ParsingOptions::default()
        };
        let xml = Document::parse_with_options(text, options).map_err(|source| {
            let place = source.pos();
            NetlistError::Xml { line: place.row, column: place.col, source }
        })?;
        Self::of(&xml)
    }

    /// Reads a file from disk.
    ///
    /// # Errors
    /// All of [`NetlistError`].
    pub fn read(path: &Path) -> Result<Self, NetlistError> {
        Self::parse(&super::read_bounded(path)?)
    }

    fn of(xml: &Document<'_>) -> Result<Self, NetlistError> {
        let root = xml.root_element();
        let name = root.tag_name().name();
        let part = |missing: &'static str| {
            let found = (name == "export").then(|| child(root, missing)).flatten();
            found.ok_or_else(|| NetlistError::NotANetlist {
                root: name.chars().take(60).collect(),
                missing,
            })
        };
        let design = part("design")?;
        Ok(Netlist {
            source: text(design, "source"),
            tool: text(design, "tool"),
            components: elements(part("components")?, "comp").map(component).collect(),
            nets: elements(part("nets")?, "net").map(net).collect(),
        })
    }

    /// Components by reference; a reference that occurs more than once is a fault of the schematic.
    #[must_use]
    pub fn by_reference(&self) -> BTreeMap<&str, Vec<&Component>> {
        let mut map: BTreeMap<&str, Vec<&Component>> = BTreeMap::new();
        for component in &self.components {
            map.entry(&component.reference).or_default().push(component);
        }
        map
    }
}

fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|n| n.is_element() && n.tag_name().name() == name)
}

fn elements<'a, 'i>(node: Node<'a, 'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(move |n| n.is_element() && n.tag_name().name() == name)
}

fn text(node: Node<'_, '_>, name: &str) -> String {
    child(node, name).and_then(|n| n.text()).unwrap_or_default().to_owned()
}

fn component(node: Node<'_, '_>) -> Component {
    let property =
        |name: &str| elements(node, "property").any(|p| p.attribute("name") == Some(name));
    Component {
        reference: node.attribute("ref").unwrap_or_default().to_owned(),
        value: text(node, "value"),
        footprint: text(node, "footprint"),
        excluded_from_board: property("exclude_from_board"),
        excluded_from_bom: property("exclude_from_bom"),
        dnp: property("dnp"),
    }
}

fn net(node: Node<'_, '_>) -> Net {
    let pin = |n: Node<'_, '_>| Pin {
        reference: n.attribute("ref").unwrap_or_default().to_owned(),
        number: n.attribute("pin").unwrap_or_default().to_owned(),
    };
    Net {
        name: node.attribute("name").unwrap_or_default().to_owned(),
        pins: elements(node, "node").map(pin).collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SMALL: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<export version="E"><design><source>/x/y.kicad_sch</source><tool>Eeschema 9.0.8</tool></design>
<components><comp ref="R1"><value>10k &amp; 1%</value><footprint>R:R_0402</footprint>
  <property name="exclude_from_board"/><property name="dnp"/></comp></components>
<nets><net code="1" name="/A"><node ref="R1" pin="1"/><node ref="J1" pin="A5"/></net></nets></export>"#;

    #[test]
    fn reads_components_and_nets() {
        let netlist = Netlist::parse(SMALL.as_bytes()).unwrap();
        let part = &netlist.components[0];
        assert_eq!((part.reference.as_str(), part.value.as_str()), ("R1", "10k & 1%"));
        assert!(part.excluded_from_board && part.dnp && !part.excluded_from_bom);
        assert_eq!(netlist.nets[0].pins[1].to_string(), "J1.A5");
        assert_eq!(netlist.tool, "Eeschema 9.0.8");
    }

    #[test]
    fn tells_what_is_wrong() {
        let error = |text: &str| Netlist::parse(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(error(""), "the netlist is empty");
        assert!(error(&SMALL[..200]).contains("no whole XML (line"));
        assert!(error("<html/>").contains("\"html\""));
        assert!(error("<export><design/></export>").contains("components"));
        assert!(error("<!DOCTYPE a [<!ENTITY b \"c\">]><export/>").contains("no whole XML"));
        assert!(matches!(Netlist::parse(b"\xff"), Err(NetlistError::NotText { offset: 0 })));
    }

    #[test]
    fn deep_files_do_not_overflow() {
        let deep = "<a>".repeat(200_000);
        assert!(Netlist::parse(deep.as_bytes()).is_err());
        let closed = format!("{deep}{}", "</a>".repeat(200_000));
        assert!(Netlist::parse(closed.as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn damaged_netlists_never_panic(at in 0_usize..600, byte: u8, cut in 0_usize..600) {
            let mut bytes = SMALL.as_bytes().to_vec();
            if let Some(b) = bytes.get_mut(at) { *b = byte; }
            bytes.truncate(bytes.len().saturating_sub(cut));
            let _result = Netlist::parse(&bytes);
        }
    }
}
