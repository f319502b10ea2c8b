//! A board against the netlist of its schematic: by reference, by pad, by net.
//!
//! Comparing numbers of parts is wrong on most real boards (fiducials, logos, panel rails), and a check without parity
//! does not see dropped footprints at all. Comparing sets of references works: on eight public projects nothing that the
//! schematic asks for was missing, while the other direction is noisy, so what is only on the board is sorted by kind.
//!
//! Nets are compared by the pins on them, not by name or number: a net that only has another name is
//! [`Renamed`](Comparison::renamed), one with other pins is [`Rewired`](Comparison::rewired). A net is rewired only if the
//! pins that both sides have are grouped differently; pins and parts that one side lacks are listed apart.

use std::collections::{BTreeMap, BTreeSet};

use super::board::{Board, Footprint};
use super::netlist::{Netlist, Pin};

/// Why a footprint that is only on the board may be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ExtraKind {
    /// Marked as on the board alone: nothing to do.
    BoardOnly,
    /// No real reference: empty, `REF**`, `G***`, without any digit (logos), or not annotated (`R?`).
    Filler,
    /// Placed by hand: it has no link to a symbol and no pad with a net.
    Unlinked,
    /// It looks like a part of the schematic: it has a symbol, or a net.
    Part,
}

/// A footprint that the netlist does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extra {
    /// Its reference, as it stands on the board.
    pub reference: String,
    /// Library and name.
    pub library_id: String,
    /// Why it may be there.
    pub kind: ExtraKind,
}

/// Pads of a part that do not fit its pins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PadDifference {
    /// The part.
    pub reference: String,
    /// Pins of the schematic without a pad of that number.
    pub missing: BTreeSet<String>,
    /// Pads with a net whose number is no pin. Numbered pads without a net, such as mounting tabs, are not listed.
    pub extra: BTreeSet<String>,
    /// Numbers whose pads are on more than one net.
    pub torn: BTreeSet<String>,
}

/// A net with the same pins under another name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renamed {
    /// Name in the schematic.
    pub netlist: String,
    /// Name on the board.
    pub board: String,
}

/// A net whose pins are connected otherwise on the board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewired {
    /// Name in the schematic.
    pub netlist: String,
    /// The board's net that has most of its pins; `None` if none of them is on a net.
    pub board: Option<String>,
    /// Pins that belong here and are elsewhere on the board (on the net named, or on none).
    pub lost: Vec<(Pin, Option<String>)>,
    /// Pins that belong elsewhere and are here on the board (with their net in the schematic).
    pub gained: Vec<(Pin, String)>,
}

/// All differences. Lists are sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Comparison {
    /// Components of the schematic.
    pub components: usize,
    /// Footprints on the board.
    pub footprints: usize,
    /// References that the schematic wants on the board and that are not there.
    pub missing: Vec<String>,
    /// Footprints that the schematic does not have.
    pub extra: Vec<Extra>,
    /// References that the schematic keeps off the board and that are there all the same.
    pub excluded_on_board: Vec<String>,
    /// References that several footprints have, with their number. Fillers and board-only parts are left out.
    pub duplicated: Vec<(String, usize)>,
    /// References that several components of the schematic have, with their number.
    pub duplicated_in_schematic: Vec<(String, usize)>,
    /// Parts whose pads do not fit.
    pub pads: Vec<PadDifference>,
    /// Nets with another name.
    pub renamed: Vec<Renamed>,
    /// Nets with other pins.
    pub rewired: Vec<Rewired>,
}

impl Comparison {
    /// Compares.
    #[must_use]
    pub fn new(netlist: &Netlist, board: &Board) -> Self {
        let mut out = Comparison {
            components: netlist.components.len(),
            footprints: board.footprints.len(),
            ..Comparison::default()
        };
        out.references(netlist, board);
        let sides = Sides::new(netlist, board);
        out.pads = sides.pads();
        sides.nets(&mut out);
        out
    }

    /// Whether the board has everything that the schematic has, connected as there: no part missing, duplicated or
    /// unfit, no net rewired. Extra footprints and other names do not count.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.missing.is_empty()
            && self.duplicated.is_empty()
            && self.pads.is_empty()
            && self.rewired.is_empty()
    }

    /// No components although the board has footprints: the netlist is not to be believed.
    #[must_use]
    pub fn is_netlist_empty(&self) -> bool {
        self.components == 0 && self.footprints > 0
    }

    fn references(&mut self, netlist: &Netlist, board: &Board) {
        let components = netlist.by_reference();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for footprint in &board.footprints {
            if !footprint.is_board_only() && !is_filler(&footprint.reference) {
                *counts.entry(&footprint.reference).or_default() += 1;
            }
        }
        let on_board: BTreeSet<&str> =
            board.footprints.iter().map(|f| f.reference.as_str()).collect();
        for (reference, list) in &components {
            let excluded = list.iter().all(|component| component.excluded_from_board);
            match (on_board.contains(reference), excluded) {
                (true, true) => self.excluded_on_board.push((*reference).to_owned()),
                (false, false) => self.missing.push((*reference).to_owned()),
                _ => {}
            }
        }
        let several = |(name, count): (&str, usize)| (count > 1).then(|| (name.to_owned(), count));
        self.duplicated = counts.into_iter().filter_map(several).collect();
        self.duplicated_in_schematic =
            components.iter().filter_map(|(name, list)| several((name, list.len()))).collect();
        let unknown =
            board.footprints.iter().filter(|f| !components.contains_key(f.reference.as_str()));
        self.extra = unknown.map(extra).collect();
        self.extra.sort_by(|a, b| (a.kind, &a.reference).cmp(&(b.kind, &b.reference)));
    }
}

/// Whether a reference names no part: empty, `REF**`, `G***`, `LOGO`, `R?`.
fn is_filler(reference: &str) -> bool {
    reference.contains(['*', '?']) || !reference.contains(|c: char| c.is_ascii_digit())
}

fn extra(footprint: &Footprint) -> Extra {
    let kind = match () {
        () if footprint.is_board_only() => ExtraKind::BoardOnly,
        () if is_filler(&footprint.reference) => ExtraKind::Filler,
        () if footprint.path.is_none() && footprint.pads.iter().all(|pad| pad.net.is_none()) => {
            ExtraKind::Unlinked
        }
        () => ExtraKind::Part,
    };
    Extra { reference: footprint.reference.clone(), library_id: footprint.library_id.clone(), kind }
}

/// Both sides, reduced to parts that each has exactly once.
struct Sides<'a> {
    /// Pin to net in the schematic.
    netlist: BTreeMap<Pin, &'a str>,
    /// Pad number to the nets of its pads on the board; `None` for pads on no net.
    board: BTreeMap<Pin, BTreeSet<Option<&'a str>>>,
}

impl<'a> Sides<'a> {
    fn new(netlist: &'a Netlist, board: &'a Board) -> Self {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let real = || board.footprints.iter().filter(|f| !f.is_board_only());
        real().for_each(|f| *counts.entry(&f.reference).or_default() += 1);
        let components = netlist.by_reference();
        let both = |reference: &str| {
            counts.get(reference) == Some(&1) && components.contains_key(reference)
        };
        let mut sides = Sides { netlist: BTreeMap::new(), board: BTreeMap::new() };
        for net in &netlist.nets {
            for pin in net.pins.iter().filter(|pin| both(&pin.reference)) {
                sides.netlist.entry(pin.clone()).or_insert(&net.name);
            }
        }
        for footprint in real().filter(|f| both(&f.reference)) {
            // Holes and paste openings carry no signal; pads without a number belong to no pin.
            for pad in footprint.pads.iter().filter(|pad| pad.on_copper && !pad.number.is_empty()) {
                let pin =
                    Pin { reference: footprint.reference.clone(), number: pad.number.clone() };
                sides.board.entry(pin).or_default().insert(pad.net.as_deref());
            }
        }
        sides
    }

    fn pads(&self) -> Vec<PadDifference> {
        let mut found: BTreeMap<&str, PadDifference> = BTreeMap::new();
        let fresh = |reference: &str| PadDifference {
            reference: reference.to_owned(),
            missing: BTreeSet::new(),
            extra: BTreeSet::new(),
            torn: BTreeSet::new(),
        };
        // A pin without a number has no pad to be found: mounting holes are drawn like that.
        let numbered = self.netlist.keys().filter(|pin| !pin.number.is_empty());
        for pin in numbered.filter(|pin| !self.board.contains_key(*pin)) {
            let part = found.entry(&pin.reference).or_insert_with(|| fresh(&pin.reference));
            part.missing.insert(pin.number.clone());
        }
        for (pin, nets) in &self.board {
            let connected = nets.iter().flatten().count();
            if connected > 1 {
                let part = found.entry(&pin.reference).or_insert_with(|| fresh(&pin.reference));
                part.torn.insert(pin.number.clone());
            }
            if connected > 0 && !self.netlist.contains_key(pin) {
                let part = found.entry(&pin.reference).or_insert_with(|| fresh(&pin.reference));
                part.extra.insert(pin.number.clone());
            }
        }
        found.into_values().collect()
    }

    /// The net of a pin on the board; the first by name if its pads are torn.
    fn on_board(&self, pin: &Pin) -> Option<&'a str> {
        self.board.get(pin).and_then(|nets| nets.iter().flatten().next().copied())
    }

    fn nets(&self, out: &mut Comparison) {
        // Only pins that both sides have.
        let mut wanted: BTreeMap<&str, Vec<&Pin>> = BTreeMap::new();
        let mut built: BTreeMap<&str, Vec<&Pin>> = BTreeMap::new();
        for (pin, net) in self.netlist.iter().filter(|(pin, _)| self.board.contains_key(*pin)) {
            wanted.entry(net).or_default().push(pin);
            if let Some(board_net) = self.on_board(pin) {
                built.entry(board_net).or_default().push(pin);
            }
        }
        for (name, pins) in &wanted {
            let home = self.home(pins);
            let lost: Vec<(Pin, Option<String>)> = match pins.as_slice() {
                // A pin alone is as good on no net at all.
                [_] if home.is_none() => Vec::new(),
                _ => {
                    let elsewhere =
                        pins.iter().filter(|pin| home.is_none() || self.on_board(pin) != home);
                    elsewhere
                        .map(|pin| ((*pin).clone(), self.on_board(pin).map(str::to_owned)))
                        .collect()
                }
            };
            let there =
                home.and_then(|home| built.get(home)).map(Vec::as_slice).unwrap_or_default();
            let gained: Vec<(Pin, String)> = there
                .iter()
                .filter_map(|pin| {
                    self.netlist.get(*pin).filter(|net| *net != name).map(|net| (pin, net))
                })
                .map(|(pin, net)| ((*pin).clone(), (*net).to_owned()))
                .collect();
            let board = home.map(str::to_owned);
            if !lost.is_empty() || !gained.is_empty() {
                out.rewired.push(Rewired { netlist: (*name).to_owned(), board, lost, gained });
            } else if let Some(board) =
                board.filter(|board| pins.len() > 1 && unescaped(board) != unescaped(name))
            {
                out.renamed.push(Renamed { netlist: (*name).to_owned(), board });
            }
        }
    }

    /// The board's net that has most of these pins; the first by name among equals.
    fn home(&self, pins: &[&Pin]) -> Option<&'a str> {
        let mut votes: BTreeMap<&str, usize> = BTreeMap::new();
        pins.iter()
            .filter_map(|pin| self.on_board(pin))
            .for_each(|net| *votes.entry(net).or_default() += 1);
        let most = votes.values().copied().max()?;
        votes.into_iter().find(|(_, count)| *count == most).map(|(net, _)| net)
    }
}

/// A net's name without KiCad's escapes: the board file has `{slash}` where the netlist may have
/// `/`, and both are one name.
fn unescaped(name: &str) -> String {
    ESCAPES.iter().fold(name.to_owned(), |name, (escape, plain)| name.replace(escape, plain))
}

/// KiCad's escapes in names, the one for the bracket itself last.
const ESCAPES: [(&str, &str); 12] = [
    ("{slash}", "/"),
    ("{backslash}", "\\"),
    ("{space}", " "),
    ("{colon}", ":"),
    ("{comma}", ","),
    ("{bar}", "|"),
    ("{dollar}", "$"),
    ("{lt}", "<"),
    ("{gt}", ">"),
    ("{quote}", "'"),
    ("{dblquote}", "\""),
    ("{brace}", "{"),
];

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
