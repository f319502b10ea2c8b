//! Faults that the electrical check must find, planted in a private copy of the root sheet.
//!
//! Measured with kicad-cli 9.0.8 and 10.0.6, the same in both:
//!
//! * A text `${ERC_ERROR words}` is reported as `generic-error` with the words, whatever severity a project gives that
//!   type; only `unresolved_variable` as `ignore` switches it off. It touches no net. The words are new in each attempt, so
//!   a report of another run can't hold them.
//! * A "no connection" flag that lies alone is `no_connect_dangling`: proof that nets were looked at.
//! * A short wire that lies alone and off the grid is `wire_dangling`, `unconnected_wire_endpoint` and
//!   `endpoint_off_grid`; a label that lies alone is `label_dangling`, a global one `single_global_label`. The first of
//!   these that the project leaves on stands in for the flag.
//! * Lists of this check have no cap: 1500 of a type were all there. So the canary can't be crowded out.
//! * The place in the JSON report is a hundredth of the true one.

use std::collections::BTreeMap;

use pcbflow_core::ids::Digest;

use super::units::Nm;
use crate::report::Entry;
use crate::sexpr::{Document, Edit, EditError, Node};

/// Beginning of the words and names that are planted.
const NAME: &str = "pcbflow-canary";
/// How far from everything on the sheet, in nanometres. Not farther: of two findings of one of the
/// 15 schematics that were compared, KiCad 9 lists only one, and which one changes with the extent of
/// the sheet's items; up to 50 mm it stays the same.
const AWAY_NM: i64 = 12_700_000;
/// Farthest place that KiCad's numbers hold with room to spare (100 m).
const FARTHEST_NM: i64 = 100_000_000_000;
/// Grid of the planted items, in nanometres: that of pins.
const GRID_NM: i64 = 2_540_000;
/// How far off every grid the wire lies.
const OFF_GRID_NM: i64 = 500_000;
/// How far from its place a report may name an item: the length of the wire.
const SLACK_NM: i64 = GRID_NM;
/// Factors of a report's positions: as they stand, and a hundredth.
const FACTORS: [i64; 2] = [1, 100];
/// Deepest list that is searched for places.
const LEVELS_MAX: usize = 8;

/// The check that lets texts be reported.
const OF_TEXT: &str = "unresolved_variable";
/// Checks that a planted item can prove, in the order of preference.
const OF_NETS: [(&str, Shape); 6] = [
    ("no_connect_dangling", Shape::Flag),
    ("wire_dangling", Shape::Wire),
    ("unconnected_wire_endpoint", Shape::Wire),
    ("endpoint_off_grid", Shape::Wire),
    ("label_dangling", Shape::Label),
    ("single_global_label", Shape::GlobalLabel),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Text,
    Flag,
    Wire,
    Label,
    GlobalLabel,
}

/// One planted item.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Planted {
    shape: Shape,
    /// Type of the finding that must come.
    kind: &'static str,
    uuid: String,
    at: (i64, i64),
    words: String,
}

/// A root sheet with faults in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SheetCanary {
    /// The whole text of the private root sheet: the engineer's bytes, with the planted items as its last children.
    pub text: Vec<u8>,
    planted: Vec<Planted>,
}

impl SheetCanary {
    /// Plants what the project's severities let be found. `None` when every check that could prove
    /// anything is switched off, or the sheet leaves no room.
    ///
    /// # Errors
    /// [`EditError`], when the sheet's own text can't be added to.
    pub fn plant(
        sheet: &Document,
        severities: &BTreeMap<String, String>,
        seed: &str,
    ) -> Result<Option<SheetCanary>, EditError> {
        let is_on = |check: &str| severities.get(check).is_none_or(|s| s != "ignore");
        let mut wanted = Vec::new();
        if is_on(OF_TEXT) {
            wanted.push(("generic-error", Shape::Text));
        }
        wanted.extend(OF_NETS.into_iter().find(|(check, _)| is_on(check)));
        let Some(x) = free_x(sheet.root()) else { return Ok(None) };
        if wanted.is_empty() {
            return Ok(None);
        }
        let mut edit = Edit::new(sheet);
        let mut planted = Vec::new();
        for (row, (kind, shape)) in wanted.into_iter().enumerate() {
            let digest = Digest::of(format!("{seed}\n{row}").as_bytes()).to_string();
            let row = i64::try_from(row).unwrap_or(0);
            let item = Planted {
                shape,
                kind,
                uuid: uuid_of(&digest),
                at: (x, (row + 1) * 10 * GRID_NM),
                words: format!("{NAME}-{}", digest.get(..12).unwrap_or_default()),
            };
            edit.insert_child(sheet.root(), None, &item.raw())?;
            planted.push(item);
        }
        Ok(Some(SheetCanary { text: edit.finish()?, planted }))
    }

    /// Whether an entry of a report is about a planted item and nothing else.
    #[must_use]
    pub fn owns(&self, entry: &Entry) -> bool {
        self.owns_ids(entry.items.iter().map(|i| i.uuid.as_str()))
    }

    /// The same by the ids of an entry's items.
    pub fn owns_ids<'a>(&self, ids: impl IntoIterator<Item = &'a str>) -> bool {
        let mut any = false;
        let all = ids.into_iter().all(|id| {
            any = true;
            self.planted.iter().any(|p| p.uuid.eq_ignore_ascii_case(id))
        });
        any && all
    }

    /// Types of planted faults that a report does not hold, at their place and with their words.
    #[must_use]
    pub fn silent<'a>(&self, entries: impl IntoIterator<Item = &'a Entry>) -> Vec<&'static str> {
        let own: Vec<&Entry> = entries.into_iter().filter(|e| self.owns(e)).collect();
        let missing = self.planted.iter().filter(|p| !own.iter().any(|e| p.is_reported_by(e)));
        missing.map(|p| p.kind).collect()
    }
}

impl Planted {
    fn raw(&self) -> String {
        let mm = |nm: i64| Nm(nm).to_mm();
        let (x, y) = (mm(self.at.0), mm(self.at.1));
        let (uuid, words) = (&self.uuid, &self.words);
        let font = "(effects (font (size 1.27 1.27)))";
        match self.shape {
            Shape::Text => {
                format!("(text \"${{ERC_ERROR {words}}}\" (at {x} {y} 0) {font} (uuid \"{uuid}\"))")
            }
            Shape::Flag => format!("(no_connect (at {x} {y}) (uuid \"{uuid}\"))"),
            Shape::Wire => {
                let (from, to) = (mm(self.at.1 + OFF_GRID_NM), mm(self.at.1 + GRID_NM));
                format!(
                    "(wire (pts (xy {x} {from}) (xy {x} {to})) (stroke (width 0) (type default)) (uuid \"{uuid}\"))"
                )
            }
            Shape::Label => {
                format!("(label \"{words}\" (at {x} {y} 0) {font} (uuid \"{uuid}\"))")
            }
            Shape::GlobalLabel => format!(
                "(global_label \"{words}\" (shape input) (at {x} {y} 0) {font} (uuid \"{uuid}\"))"
            ),
        }
    }

    fn is_reported_by(&self, entry: &Entry) -> bool {
        let here = |item: &crate::report::Item| {
            let at = |factor| item.pos.as_ref().and_then(|p| p.nm(factor));
            let near = |(x, y): (i64, i64)| {
                (x - self.at.0).abs() <= SLACK_NM && (y - self.at.1).abs() <= SLACK_NM
            };
            item.uuid.eq_ignore_ascii_case(&self.uuid)
                && FACTORS.into_iter().filter_map(at).any(near)
        };
        let said = self.shape != Shape::Text || entry.description.contains(&self.words);
        entry.kind == self.kind && said && entry.items.iter().any(here)
    }
}

/// An id of the form that KiCad gives, out of a digest.
fn uuid_of(digest: &str) -> String {
    let part = |from: usize, to: usize| digest.get(from..to).unwrap_or_default();
    format!(
        "{}-{}-4{}-8{}-{}",
        part(16, 24),
        part(24, 28),
        part(28, 31),
        part(31, 34),
        part(34, 46)
    )
}

/// A place to the right of everything on the sheet, pins of its symbols included, else to the left of it.
fn free_x(root: Node<'_>) -> Option<i64> {
    let (symbols, items): (Vec<_>, Vec<_>) =
        root.children().filter(|n| n.is_list()).partition(|n| n.head() == b"lib_symbols");
    let (least, most) = reach(items);
    let (left, right) = reach(symbols);
    let pins = right.max(left.saturating_neg());
    let on_grid = |x: i64| x.div_euclid(GRID_NM) * GRID_NM;
    let away = AWAY_NM.saturating_add(pins);
    let right = on_grid(most.saturating_add(away));
    let left = on_grid(least.saturating_sub(away));
    [right, left].into_iter().find(|x| x.saturating_abs() <= FARTHEST_NM)
}

/// The least and the most place to the right in some lists, zero included.
fn reach(lists: Vec<Node<'_>>) -> (i64, i64) {
    let (mut least, mut most) = (0, 0);
    let mut waiting: Vec<(Node<'_>, usize)> = lists.into_iter().map(|n| (n, 0)).collect();
    // Ends: each node of the sheet is seen once.
    while let Some((node, level)) = waiting.pop() {
        if matches!(node.head(), b"at" | b"xy" | b"start" | b"mid" | b"end" | b"center")
            && let Some(x) = node.atom(1).and_then(|a| Nm::from_mm(a.bytes()))
        {
            (least, most) = (x.0.min(least), x.0.max(most));
        }
        if level < LEVELS_MAX {
            waiting.extend(node.children().filter(|n| n.is_list()).map(|n| (n, level + 1)));
        }
    }
    (least, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHEET: &str = "(kicad_sch (version 20250114) (generator \"x\")\n\t(wire (pts (xy 10 20) (xy 310.5 20)) (uuid \"u\"))\n)\n";

    fn planted(off: &[&str]) -> Option<SheetCanary> {
        let severities = off.iter().map(|c| ((*c).to_owned(), "ignore".to_owned())).collect();
        let doc = Document::parse(SHEET.into()).unwrap();
        SheetCanary::plant(&doc, &severities, "seed").unwrap()
    }

    fn entry(planted: &Planted, kind: &str, words: &str, factor: f64) -> Entry {
        let mm = |nm: i64| nm as f64 / 1e6 / factor;
        serde_json::from_value(serde_json::json!({"type": kind, "severity": "error", "description": words,
            "items": [{"uuid": planted.uuid, "pos": {"x": mm(planted.at.0), "y": mm(planted.at.1)}}]}))
        .unwrap()
    }

    #[test]
    fn another_kind_is_taken_when_the_first_is_off() {
        let kinds = |off: &[&str]| -> Vec<&'static str> {
            planted(off).into_iter().flat_map(|c| c.planted).map(|p| p.kind).collect()
        };
        assert_eq!(kinds(&[]), ["generic-error", "no_connect_dangling"]);
        assert_eq!(kinds(&["unresolved_variable"]), ["no_connect_dangling"]);
        assert_eq!(kinds(&["no_connect_dangling"]), ["generic-error", "wire_dangling"]);
        let nets: Vec<&str> = OF_NETS.iter().map(|(check, _)| *check).collect();
        assert_eq!(kinds(&nets), ["generic-error"]);
        let mut all = nets;
        all.push(OF_TEXT);
        assert_eq!(kinds(&all[..5]), ["generic-error", "single_global_label"]);
        assert!(planted(&all).is_none());
    }

    #[test]
    fn the_own_bytes_stay_and_the_place_is_far_from_them() {
        let canary = planted(&[]).unwrap();
        let text = String::from_utf8(canary.text.clone()).unwrap();
        let kept = SHEET.trim_end().trim_end_matches(')').trim_end();
        assert!(text.starts_with(kept));
        assert!(Document::parse(canary.text.clone()).is_ok());
        assert!(canary.planted.iter().all(|p| p.at.0 > 320_000_000 && p.at.0 % GRID_NM == 0));
    }

    #[test]
    fn only_the_fault_at_its_place_and_with_its_words_counts() {
        let canary = planted(&[]).unwrap();
        let (text, flag) = (&canary.planted[0], &canary.planted[1]);
        for factor in [1.0, 100.0] {
            let good = [
                entry(text, "generic-error", &text.words, factor),
                entry(flag, "no_connect_dangling", "x", factor),
            ];
            assert!(canary.silent(&good).is_empty());
            assert!(good.iter().all(|e| canary.owns(e)));
        }
        let bad = [
            entry(text, "generic-error", "other words", 1.0),
            entry(flag, "no_connect_dangling", "x", 7.0),
        ];
        assert_eq!(canary.silent(&bad), ["generic-error", "no_connect_dangling"]);
        assert_eq!(canary.silent(&[]).len(), 2);
        assert!(!canary.owns_ids(["other"]));
        assert!(!canary.owns_ids([]));
    }
}
