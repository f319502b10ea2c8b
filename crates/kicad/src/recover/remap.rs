//! KI-2: gives dropped parts the footprints of the project's footprint map.
//!
//! The engineer asked for it by naming the map. The parts are put beside the board on a copy, the
//! copy is read by the second parser (old parts and new ones, nothing else), then it takes the
//! board's place by rename; the board as it was is kept as evidence.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pcbflow_core::event::BlobRef;
use pcbflow_core::ids::Digest;
use pcbflow_core::ports::{Recovery, Services, StepContext};

use super::rules::project_of;
use crate::cli::find::FindEnv;
use crate::file::Nm;
use crate::file::board::Board;
use crate::file::netlist::Netlist;
use crate::file::schematic::Hierarchy;
use crate::report::sheets::{SheetIndex, Symbol};
use crate::sexpr::{Document, Edit, EditError, Node, quote};
use crate::steps::footprint_map::{FootprintMap, file_of};
use crate::steps::netlist;
use crate::steps::project::Project;
use crate::steps::stop::{Session, Stop};

/// Distance between parts that are put beside the board, in nanometres.
const PITCH_NM: i64 = 10_000_000;
/// First format of boards whose ids are called `uuid`.
const UUID_SINCE: u32 = 20_231_212;

/// Puts mapped footprints onto the board.
pub(super) async fn remap(env: &FindEnv, context: &StepContext, services: &Services) -> Recovery {
    match work(env, context, services).await {
        Ok((parts, before)) => {
            let mut done = Recovery::done(&format!("put {parts} beside the board"));
            done.blobs.push(before);
            done
        }
        Err(Stop::Refused(why)) => Recovery::not_applicable(&why),
        Err(Stop::Failed(evidence)) => {
            let code = evidence.signals.first().map_or("", |s| s.code.as_str()).to_owned();
            Recovery::failed(&code)
        }
    }
}

fn refused(why: impl std::fmt::Display) -> Stop {
    Stop::Refused(why.to_string())
}

async fn work(
    env: &FindEnv,
    context: &StepContext,
    services: &Services,
) -> Result<(String, BlobRef), Stop> {
    let map = FootprintMap::of_step(context)?
        .ok_or_else(|| refused("the step names no footprint map"))?;
    let mut session = Session::new(context, services);
    let project = project_of(&session)?;
    let path = project.beside("kicad_pcb");
    let bytes = crate::file::read_bounded(&path).map_err(refused)?;
    let doc = Document::parse(bytes).map_err(refused)?;
    let board = Board::from_document(&doc).map_err(refused)?;
    let sheet = project.beside("kicad_sch");
    let sheets = Hierarchy::read(&sheet);
    let index = SheetIndex::of(&sheets);
    let on_board: BTreeSet<&str> = board.footprints.iter().map(|f| f.reference.as_str()).collect();
    let mut wanted: BTreeMap<&str, (&Symbol, &str)> = BTreeMap::new();
    for symbol in index.symbols.iter().filter(|s| s.on_board) {
        if let Some(footprint) = map.get(&symbol.reference, &symbol.footprint)
            && !on_board.contains(symbol.reference.as_str())
        {
            wanted.entry(&symbol.reference).or_insert((symbol, footprint));
        }
    }
    if wanted.is_empty() {
        return Err(refused("none of the missing parts is in the footprint map"));
    }
    let made = netlist::export(env, &mut session, &project, &sheet, &sheets).await?;
    let new = Maker { project: &project, doc: &doc, board: &board, netlist: &made.netlist }
        .board_with(&wanted)?;
    prove(&new, &board, &wanted)?;
    let before = services.blobs.put("board-before.kicad_pcb", doc.bytes()).map_err(refused)?;
    swap_in(&path, &new).map_err(|e| session.failed(crate::cli::space::signal_of(&path, &e)))?;
    Ok((wanted.keys().copied().collect::<Vec<_>>().join(", "), before))
}

/// The copy must have the old parts and the new ones, and nothing else may have changed.
fn prove(new: &[u8], board: &Board, wanted: &BTreeMap<&str, (&Symbol, &str)>) -> Result<(), Stop> {
    let now = Board::parse(new.to_vec()).map_err(refused)?;
    let mut expected: Vec<&str> = board.footprints.iter().map(|f| f.reference.as_str()).collect();
    expected.extend(wanted.keys());
    expected.sort_unstable();
    let mut have: Vec<&str> = now.footprints.iter().map(|f| f.reference.as_str()).collect();
    have.sort_unstable();
    let rest = |b: &Board| (b.tracks, b.vias.len(), b.zones.len(), b.outline_items);
    if have == expected && rest(&now) == rest(board) {
        Ok(())
    } else {
        Err(refused("the copy did not have exactly the old and the new parts"))
    }
}

fn swap_in(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".pcbflow-new").tempfile_in(folder)?;
    std::io::Write::write_all(&mut file, bytes)?;
    file.as_file().set_permissions(std::fs::metadata(path)?.permissions())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}

struct Maker<'a> {
    project: &'a Project,
    doc: &'a Document,
    board: &'a Board,
    netlist: &'a Netlist,
}

impl Maker<'_> {
    fn board_with(&self, wanted: &BTreeMap<&str, (&Symbol, &str)>) -> Result<Vec<u8>, Stop> {
        let root = self.doc.root();
        let mut edit = Edit::new(self.doc);
        let mut numbers = self.net_numbers();
        let mut parts = Vec::new();
        let right = self.board.footprints.iter().map(|f| f.place.x.0).max().unwrap_or(0);
        let top = self.board.footprints.iter().map(|f| f.place.y.0).min().unwrap_or(0);
        let (mut new_nets, mut y) = (Vec::new(), top);
        for (symbol, footprint) in wanted.values() {
            let file = file_of(self.project, footprint)?;
            let bytes = crate::file::read_bounded(&file).map_err(refused)?;
            let library = Document::parse(bytes).map_err(refused)?;
            let at = format!("(at {} {})", Nm(right + 3 * PITCH_NM).to_mm(), Nm(y).to_mm());
            let name = self.library_name(footprint, &file);
            let mut nets = |pin: &str| self.net_text(symbol, pin, &mut numbers, &mut new_nets);
            parts.push(self.part(&library, symbol, &name, &at, &mut nets)?);
            y += PITCH_NM;
        }
        let fault = |e: EditError| refused(e);
        let last_net = root.children_named("net").last();
        if let (Some(last), false) = (last_net, new_nets.is_empty()) {
            for text in new_nets.iter().rev() {
                edit.insert_child(root, Some(last), text).map_err(fault)?;
            }
        }
        let last = root.children_named("footprint").last();
        for text in parts.iter().rev() {
            edit.insert_child(root, last, text).map_err(fault)?;
        }
        edit.finish().map_err(fault)
    }

    /// Numbers of nets; `None` for formats that name nets only.
    fn net_numbers(&self) -> Option<BTreeMap<String, u32>> {
        let pairs: BTreeMap<String, u32> = self
            .doc
            .root()
            .children_named("net")
            .filter_map(|n| Some((n.atom(2)?.text(), n.atom(1)?.text().parse().ok()?)))
            .collect();
        (!pairs.is_empty()).then_some(pairs)
    }

    fn net_text(
        &self,
        symbol: &Symbol,
        pin: &str,
        numbers: &mut Option<BTreeMap<String, u32>>,
        new_nets: &mut Vec<String>,
    ) -> Option<String> {
        let on = |n: &&crate::file::netlist::Net| {
            n.pins.iter().any(|p| p.reference == symbol.reference && p.number == pin)
        };
        let name = self.netlist.nets.iter().find(on)?.name.clone();
        let Some(numbers) = numbers else { return Some(format!("(net {})", quote(&name))) };
        let next = numbers.values().max().map_or(1, |n| n + 1);
        let number = *numbers.entry(name.clone()).or_insert_with(|| {
            new_nets.push(format!("(net {next} {})", quote(&name)));
            next
        });
        Some(format!("(net {number} {})", quote(&name)))
    }

    fn library_name(&self, footprint: &str, file: &Path) -> String {
        if !footprint.ends_with(".kicad_mod") {
            return footprint.to_owned();
        }
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        stem.into_owned()
    }

    /// A footprint of a library as it stands on a board.
    fn part(
        &self,
        library: &Document,
        symbol: &Symbol,
        name: &str,
        at: &str,
        nets: &mut dyn FnMut(&str) -> Option<String>,
    ) -> Result<String, Stop> {
        let fault = |e: EditError| refused(e);
        let root = library.root();
        let named = root.atom(1).ok_or_else(|| refused("the footprint has no name"))?;
        let mut edit = Edit::new(library);
        edit.replace_atom(named, &quote(name)).map_err(fault)?;
        for head in ["version", "generator", "generator_version"] {
            for node in root.children_named(head) {
                edit.remove(node).map_err(fault)?;
            }
        }
        let seed = format!("{} {}", symbol.uuid, symbol.path);
        let is_new = self.board.header.version >= Some(UUID_SINCE);
        let word = if is_new { "uuid" } else { "tstamp" };
        let head = format!("({word} {})", quote(&derived(&seed, 0)));
        let layer = root.child("layer").unwrap_or(named);
        for text in [format!("(path {})", quote(&symbol.path)), at.to_owned(), head] {
            edit.insert_child(root, Some(layer), &text).map_err(fault)?;
        }
        let mut count = 0;
        let mut renew = |node: Node<'_>, edit: &mut Edit<'_>| -> Result<(), Stop> {
            for id in ["uuid", "tstamp"].into_iter().filter_map(|w| node.child(w)) {
                count += 1;
                if let Some(atom) = id.atom(1) {
                    edit.replace_atom(atom, &quote(&derived(&seed, count))).map_err(fault)?;
                }
            }
            Ok(())
        };
        for node in root.children().filter(|n| n.is_list()) {
            renew(node, &mut edit)?;
            match node.head() {
                b"property" | b"fp_text" => {
                    let text = match node.atom(1).map(Node::text).as_deref() {
                        Some("Reference" | "reference") => &symbol.reference,
                        Some("Value" | "value") => &symbol.value,
                        _ => continue,
                    };
                    if let Some(atom) = node.atom(2) {
                        edit.replace_atom(atom, &quote(text)).map_err(fault)?;
                    }
                }
                b"pad" => {
                    let number = node.atom(1).map(Node::text).unwrap_or_default();
                    if let Some(text) = nets(&number) {
                        edit.insert_child(node, None, &text).map_err(fault)?;
                    }
                }
                _ => {}
            }
        }
        let bytes = edit.finish().map_err(fault)?;
        let text = String::from_utf8(bytes).map_err(refused)?;
        Ok(text.trim().to_owned())
    }
}

/// An id that is the same for the same part each time, so that doing it twice changes nothing.
fn derived(seed: &str, count: u32) -> String {
    let hex = Digest::of(format!("pcbflow footprint {seed} {count}").as_bytes()).to_string();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default().to_owned();
    format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}
