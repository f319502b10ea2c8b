//! Holes that belong to no part of the schematic: mounting holes, slots of a case, tooling holes. No parity check
//! misses them, so they are put on record and compared.
//!
//! A board can be given its recorded holes back: [`restored`] adds a footprint of its own for each, and changes no other
//! byte. Measured: KiCad 9.0.8 and 10.0.6 load the result of boards of the formats 5, 6 and 9, and drill these holes.

use pcbflow_core::ids::Digest;
use serde::{Deserialize, Serialize};

use super::board::{Board, Footprint, Pad, PadKind};
use super::units::{Nm, Place};
use crate::sexpr::{Document, Edit, EditError, quote};

/// Form of the record.
const FORM: u32 = 1;
/// How far a hole may have moved and still be the same, in nanometres (0.01 mm).
pub const SAME_PLACE_NM: i64 = 10_000;
/// Most holes that are put on record; a board with more has none on record, which is said.
pub const HOLES_MAX: usize = 5_000;
/// Ring of copper around a plated hole that is put back, in nanometres: the record has no size of it.
const RING_NM: i64 = 250_000;
/// First format of boards whose ids are called `uuid` and whose texts are properties.
const UUID_SINCE: u32 = 20_231_212;
/// Name of the footprints that are put back.
const LIBRARY_NAME: &str = "pcbflow:RestoredHole";

/// A hole as it was.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RecordedHole {
    /// To the right, in nanometres.
    pub x: i64,
    /// Down, in nanometres.
    pub y: i64,
    /// Width of the drill in nanometres.
    pub width: i64,
    /// Its height; other than the width for slots.
    pub height: i64,
    /// Whether its wall is plated.
    pub plated: bool,
    /// Reference of its footprint, for people.
    pub owner: String,
}

impl RecordedHole {
    fn is_at(&self, other: &RecordedHole) -> bool {
        let near = |a: i64, b: i64| a.abs_diff(b) <= SAME_PLACE_NM.unsigned_abs();
        near(self.x, other.x)
            && near(self.y, other.y)
            && (self.width, self.height, self.plated) == (other.width, other.height, other.plated)
    }

    /// As a person reads it: `H1 at 12.5, 30 mm, drill 3.2 mm`.
    #[must_use]
    pub fn words(&self) -> String {
        let mm = |nm: i64| Nm(nm).to_mm();
        let drill = match self.is_slot() {
            true => format!("slot {} by {} mm", mm(self.width), mm(self.height)),
            false => format!("drill {} mm", mm(self.width)),
        };
        let plated = if self.plated { ", plated" } else { "" };
        format!("{} at {}, {} mm, {drill}{plated}", self.owner, mm(self.x), mm(self.y))
    }

    fn is_slot(&self) -> bool {
        self.width != self.height
    }
}

/// The holes of a board on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoleRecord {
    form: u32,
    /// The holes, sorted.
    pub holes: Vec<RecordedHole>,
}

impl HoleRecord {
    /// The holes of footprints that no symbol stands for; `None` with more than [`HOLES_MAX`].
    #[must_use]
    pub fn of(board: &Board) -> Option<HoleRecord> {
        let of_footprint = |f: &Footprint| -> Vec<RecordedHole> {
            f.pads.iter().filter_map(|pad| recorded(f, pad)).collect()
        };
        let alone =
            board.footprints.iter().filter(|f| f.path.as_ref().is_none_or(|p| p.is_empty()));
        let holes: Vec<RecordedHole> = alone.flat_map(of_footprint).collect();
        (holes.len() <= HOLES_MAX).then(|| HoleRecord::of_holes(holes))
    }

    /// These holes.
    #[must_use]
    pub fn of_holes(mut holes: Vec<RecordedHole>) -> HoleRecord {
        holes.sort();
        HoleRecord { form: FORM, holes }
    }

    /// Whether each of `holes` is one of these; each of these counts once.
    #[must_use]
    pub fn has_all(&self, holes: &[RecordedHole]) -> bool {
        let mut left = self.holes.clone();
        holes.iter().all(|hole| {
            let at = left.iter().position(|one| one.is_at(hole));
            at.map(|at| left.swap_remove(at)).is_some()
        })
    }

    /// Reads a stored record; `None` for one of another form.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<HoleRecord> {
        serde_json::from_slice::<HoleRecord>(bytes).ok().filter(|r| r.form == FORM)
    }

    /// Recorded holes that a board no longer has: none of the same size and kind within
    /// [`SAME_PLACE_NM`]. Holes of every footprint and each hole once count as there.
    #[must_use]
    pub fn lost_on(&self, board: &Board) -> Vec<RecordedHole> {
        let mut have: Vec<RecordedHole> = board
            .footprints
            .iter()
            .flat_map(|f| f.pads.iter().filter_map(|pad| recorded(f, pad)))
            .collect();
        let mut lost = Vec::new();
        for hole in &self.holes {
            match have.iter().position(|h| h.is_at(hole)) {
                Some(at) => drop(have.swap_remove(at)),
                None => lost.push(hole.clone()),
            }
        }
        lost
    }
}

fn recorded(footprint: &Footprint, pad: &Pad) -> Option<RecordedHole> {
    let drill = pad.drill?;
    Some(RecordedHole {
        x: pad.place.x.0,
        y: pad.place.y.0,
        width: drill.width.0,
        height: drill.height.0,
        plated: pad.kind != PadKind::NotPlated,
        owner: footprint.reference.clone(),
    })
}

/// A board with holes put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The whole text: the old bytes and one footprint for each hole.
    pub text: Vec<u8>,
    /// Holes that were put back.
    pub holes: Vec<RecordedHole>,
    /// Holes that a person has to draw: slots, whose turn is not on record, and holes where a pad or
    /// a hole is now.
    pub by_hand: Vec<RecordedHole>,
}

/// Puts lost holes back. Doing it twice changes nothing the second time, since a hole that is there is
/// not put there again.
///
/// # Errors
/// [`EditError`], when the board's own text can't be added to.
pub fn restored(
    doc: &Document,
    board: &Board,
    lost: &[RecordedHole],
) -> Result<Restored, EditError> {
    let record = HoleRecord { form: FORM, holes: lost.to_vec() };
    let pads: Vec<Place> = board.footprints.iter().flat_map(|f| &f.pads).map(|p| p.place).collect();
    let taken = |hole: &RecordedHole| {
        let reach = hole.width / 2 + RING_NM;
        pads.iter()
            .any(|p| p.x.0.abs_diff(hole.x).max(p.y.0.abs_diff(hole.y)) < reach.unsigned_abs())
    };
    let (by_hand, holes): (Vec<_>, Vec<_>) =
        record.lost_on(board).into_iter().partition(|h| h.is_slot() || taken(h));
    let mut edit = Edit::new(doc);
    let last = doc.root().children_named("footprint").last();
    let last = last.or_else(|| doc.root().children_named("module").last());
    for hole in &holes {
        edit.insert_child(doc.root(), last, &footprint(hole, board.header.version))?;
    }
    Ok(Restored { text: edit.finish()?, holes, by_hand })
}

/// A footprint with nothing but a hole.
fn footprint(hole: &RecordedHole, version: Option<u32>) -> String {
    let mm = |nm: i64| Nm(nm).to_mm();
    let (x, y, drill) = (mm(hole.x), mm(hole.y), mm(hole.width));
    let new = version >= Some(UUID_SINCE);
    let id = |part: u32| {
        let word = if new { "uuid" } else { "tstamp" };
        format!("({word} {})", id_of(hole, part))
    };
    let (size, kind, layers) = match hole.plated {
        true => (mm(hole.width + 2 * RING_NM), "thru_hole", "\"*.Cu\" \"*.Mask\""),
        false => (drill.clone(), "np_thru_hole", "\"*.Cu\" \"*.Mask\""),
    };
    let effects = "(effects (font (size 1 1) (thickness 0.15)))";
    let reference = quote(&hole.owner);
    let texts = match new {
        true => format!(
            "(property \"Reference\" {reference} (at 0 0 0) (layer \"F.Fab\") {} {effects})",
            id(1)
        ),
        false => {
            format!(
                "(fp_text reference {reference} (at 0 0) (layer \"F.Fab\") {effects} {})",
                id(1)
            )
        }
    };
    format!(
        "(footprint \"{LIBRARY_NAME}\" (layer \"F.Cu\") {} (at {x} {y}) {texts} \
         (attr exclude_from_pos_files exclude_from_bom) \
         (pad \"\" {kind} circle (at 0 0) (size {size} {size}) (drill {drill}) (layers {layers}) {}))",
        id(0),
        id(2)
    )
}

/// An id that is the same for the same hole each time.
fn id_of(hole: &RecordedHole, part: u32) -> String {
    let hex = Digest::of(format!("pcbflow hole {hole:?} {part}").as_bytes()).to_string();
    let cut = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    let id =
        format!("{}-{}-4{}-8{}-{}", cut(0, 8), cut(8, 12), cut(13, 16), cut(17, 20), cut(20, 32));
    quote(&id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{corpus, demos, kicad_cli, run};

    fn board(text: &[u8]) -> (Document, Board) {
        let doc = Document::parse(text.to_vec()).unwrap();
        let board = Board::from_document(&doc).unwrap();
        (doc, board)
    }

    fn hole(x: i64, width: i64, plated: bool) -> RecordedHole {
        let owner = "H9".to_owned();
        RecordedHole { x, y: 30_000_000, width, height: width, plated, owner }
    }

    const SMALL: &str = "(kicad_pcb (version 20241229) (generator \"x\")\n\t(layers (0 \"F.Cu\" signal) (2 \"B.Cu\" signal))\n\t(footprint \"a:b\" (layer \"F.Cu\") (at 10 10)\n\t\t(property \"Reference\" \"H1\" (at 0 0 0))\n\t\t(pad \"\" np_thru_hole circle (at 1 0) (size 3.2 3.2) (drill 3.2) (layers \"*.Cu\")))\n\t(footprint \"a:c\" (layer \"F.Cu\") (at 50 10) (path \"/1\")\n\t\t(property \"Reference\" \"J1\" (at 0 0 0))\n\t\t(pad \"\" np_thru_hole circle (at 0 0) (size 1 1) (drill 1) (layers \"*.Cu\"))))\n";

    #[test]
    fn only_holes_without_a_symbol_are_on_record() {
        let (_, whole) = board(SMALL.as_bytes());
        let record = HoleRecord::of(&whole).unwrap();
        let words: Vec<String> = record.holes.iter().map(RecordedHole::words).collect();
        assert_eq!(words, ["H1 at 11, 10 mm, drill 3.2 mm"]);
        assert!(record.lost_on(&whole).is_empty());
        let stored = serde_json::to_vec(&record).unwrap();
        assert_eq!(HoleRecord::from_bytes(&stored), Some(record.clone()));
        let lost = |from: &str, to: &str| {
            record.lost_on(&board(SMALL.replace(from, to).as_bytes()).1).len()
        };
        assert_eq!(lost("(at 1 0)", "(at 1.009 0)"), 0);
        assert_eq!(lost("(at 1 0)", "(at 1.02 0)"), 1);
        assert_eq!(lost("(drill 3.2)", "(drill 3)"), 1);
        assert_eq!(lost("np_thru_hole circle (at 1", "thru_hole circle (at 1"), 1);
    }

    #[test]
    fn each_hole_counts_once_and_is_put_back_once() {
        let (doc, whole) = board(SMALL.as_bytes());
        let lost = [hole(30_000_000, 3_200_000, false), hole(30_000_000, 3_200_000, false)];
        let mut slot = hole(80_000_000, 1_000_000, false);
        slot.height = 2_000_000;
        let taken = RecordedHole { x: 50_100_000, y: 10_000_000, ..hole(0, 3_000_000, true) };
        let one = restored(&doc, &whole, &[lost[0].clone(), slot.clone(), taken.clone()]).unwrap();
        assert_eq!((one.holes.len(), &one.by_hand), (1, &vec![slot, taken]));
        let (again, now) = board(&one.text);
        assert_eq!(HoleRecord { form: FORM, holes: lost.to_vec() }.lost_on(&now).len(), 1);
        let twice = restored(&again, &now, &lost[..1]).unwrap();
        assert_eq!(twice.text, one.text);
    }

    /// Takes the footprints with holes and without a symbol off real boards, puts the holes back, and
    /// lets KiCad drill the result.
    #[test]
    fn kicad_drills_the_holes_that_were_put_back() {
        let mut boards = Vec::new();
        if let Some(corpus) = corpus() {
            for name in [
                "v6-smartknob-view-base/electronics/view_base/view_base.kicad_pcb",
                "v9-bitaxe-gamma/bitaxeGamma.kicad_pcb",
                "v5-fomu-pvt/archive/pvt/pcb/tomu-fpga.kicad_pcb",
            ] {
                boards.push(corpus.join(name));
            }
        }
        boards.extend(demos(9).map(|d| d.join("stickhub/StickHub.kicad_pcb")));
        for (path, major) in boards.iter().flat_map(|b| [(b, 9), (b, 10)]) {
            let Some(program) = kicad_cli(major) else { continue };
            let folder = tempfile::tempdir().unwrap();
            let (doc, whole) = board(&std::fs::read(path).unwrap());
            let (x, y) = (300_000_000, 300_000_000);
            let lost: Vec<RecordedHole> = [(0, false), (10_000_000, true)]
                .map(|(off, plated)| RecordedHole { x: x + off, y, ..hole(0, 3_210_000, plated) })
                .into();
            let new = restored(&doc, &whole, &lost).unwrap();
            assert_eq!((new.holes.len(), new.by_hand.len()), (2, 0));
            let file = folder.path().join("b.kicad_pcb");
            std::fs::write(&file, &new.text).unwrap();
            let drills = format!("{}/", folder.path().join("drill").display());
            let args = [
                "pcb",
                "export",
                "drill",
                "--excellon-separate-th",
                "-o",
                &drills,
                &file.to_string_lossy(),
            ];
            let (code, _, stderr) = run(&program, folder.path(), &args);
            assert_eq!(code, Some(0), "{} with {major}: {stderr}", path.display());
            for kind in ["PTH", "NPTH"] {
                let text =
                    std::fs::read_to_string(folder.path().join(format!("drill/b-{kind}.drl")))
                        .unwrap();
                let tool = text.lines().find(|l| l.ends_with("C3.210")).unwrap();
                let tool = tool.split('C').next().unwrap();
                let hits = text.rsplit(&format!("\n{tool}\n")).next().unwrap();
                assert!(hits.starts_with('X'), "{kind} {tool} {hits:.40}");
            }
            let now = board(&new.text).1;
            assert!(HoleRecord { form: FORM, holes: lost }.lost_on(&now).is_empty());
            assert_eq!(now.footprints.len(), whole.footprints.len() + 2);
        }
    }
}
