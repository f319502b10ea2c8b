//! Do the nets, net classes, parts and areas that a condition names exist on the board?
//!
//! KiCad says nothing about a name that fits nothing: the comparison is false for every item, and
//! the rule never applies. Names are patterns with `*` and `?`; upper and lower case are alike in
//! comparisons and not in functions (measured with 9.0.8 and 10.0.6).

use super::lint::matches;
use crate::file::board::Board;
use crate::sexpr::Node;

/// Most names that are kept of one file.
pub const MAX_NAMES: usize = 2_000;
/// Longest name that a finding repeats, in characters.
const MAX_SHOWN_CHARS: usize = 80;

/// What a name in a condition stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Named {
    /// A net.
    Net,
    /// What the names of the two nets of a differential pair have in common.
    DiffPair,
    /// A net class.
    NetClass,
    /// A reference.
    Part,
    /// A zone or rule area.
    Area,
}

impl Named {
    /// In words.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Named::Net => "net",
            Named::DiffPair => "differential pair",
            Named::NetClass => "net class",
            Named::Part => "part",
            Named::Area => "area",
        }
    }

    fn of_property(name: &str) -> Option<Named> {
        match name.to_ascii_lowercase().as_str() {
            "netname" => Some(Named::Net),
            "netclass" | "net_class" => Some(Named::NetClass),
            "reference" | "parent" => Some(Named::Part),
            _ => None,
        }
    }

    fn of_function(name: &str) -> Option<Named> {
        match name.to_ascii_lowercase().as_str() {
            "hasnetclass" | "hasexactnetclass" => Some(Named::NetClass),
            "indiffpair" => Some(Named::DiffPair),
            "memberof" | "memberoffootprint" => Some(Named::Part),
            name if name.ends_with("courtyard") => Some(Named::Part),
            name if name.ends_with("area") => Some(Named::Area),
            _ => None,
        }
    }
}

/// A name in the condition of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedThing {
    /// What it stands for.
    pub kind: Named,
    /// The name or pattern, as written.
    pub name: String,
    /// Whether upper and lower case differ: in arguments of functions.
    pub exact: bool,
    /// Line of the condition, from 1.
    pub line: u32,
    /// Name of the rule.
    pub rule: String,
}

/// A piece of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Word(String),
    Text(String),
    Sign(char),
}

/// The names in a condition.
pub(super) fn of_condition(condition: Node<'_>, rule: &str) -> Vec<NamedThing> {
    let pieces = pieces(&condition.text());
    let mut found: Vec<NamedThing> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let Piece::Text(name) = piece else { continue };
        let sign = |at: Option<usize>| match at.and_then(|at| pieces.get(at)) {
            Some(Piece::Sign(c)) => Some(*c),
            _ => None,
        };
        let word = |at: Option<usize>| match at.and_then(|at| pieces.get(at)) {
            Some(Piece::Word(word)) => word.rsplit_once('.').map(|(_, last)| last),
            _ => None,
        };
        let (before, after) = (at.checked_sub(1), Some(at + 1));
        let exact = sign(before) == Some('(') && word(at.checked_sub(2)).is_some();
        let kind = if exact {
            word(at.checked_sub(2)).and_then(Named::of_function)
        } else if sign(before) == Some('=') {
            word(at.checked_sub(2)).and_then(Named::of_property)
        } else if sign(after) == Some('=') {
            word(Some(at + 2)).and_then(Named::of_property)
        } else {
            None
        };
        if let Some(kind) = kind {
            found.push(NamedThing {
                kind,
                name: name.clone(),
                exact,
                line: condition.line(),
                rule: rule.to_owned(),
            });
        }
    }
    found
}

/// `==` is one sign, `=`; `!=` is `!`: a name that nothing has makes it true, as it may be meant.
fn pieces(text: &str) -> Vec<Piece> {
    let mut out = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\'' {
            // An end that is missing is a fault that the lint tells.
            out.push(Piece::Text(chars.by_ref().take_while(|c| *c != '\'').collect()));
        } else if c.is_alphanumeric() || c == '_' {
            let mut word = String::from(c);
            while let Some(c) = chars.next_if(|c| c.is_alphanumeric() || matches!(c, '_' | '.')) {
                word.push(c);
            }
            out.push(Piece::Word(word));
        } else if !c.is_whitespace() {
            chars.next_if(|next| *next == '=');
            out.push(Piece::Sign(c));
        }
    }
    out
}

/// Those names that fit nothing on the board, each once. `classes` are the net classes of the
/// project.
#[must_use]
pub fn absent<'a>(names: &'a [NamedThing], board: &Board, classes: &[&str]) -> Vec<&'a NamedThing> {
    let mut found: Vec<&NamedThing> = Vec::new();
    for thing in names {
        let told = found.iter().any(|f| (f.kind, &f.name) == (thing.kind, &thing.name));
        if !told && !is_there(thing, board, classes) {
            found.push(thing);
        }
    }
    found
}

fn is_there(thing: &NamedThing, board: &Board, classes: &[&str]) -> bool {
    let cased = |text: &str| if thing.exact { text.to_owned() } else { text.to_lowercase() };
    let name = cased(&thing.name);
    // An empty name, a variable, an id, the other item: nothing that can be looked up here.
    if name.is_empty() || name.contains("${") || is_id(&name) || matches!(name.as_str(), "A" | "B")
    {
        return true;
    }
    let fits = |own: &str| matches(name.as_bytes(), cased(own).as_bytes());
    // In files a '/' inside a name is written out.
    let nets = || board.nets.iter().flat_map(|own| [own.clone(), own.replace("{slash}", "/")]);
    match thing.kind {
        Named::Net => nets().any(|own| fits(&own)),
        Named::DiffPair => nets().any(|own| {
            base_of_pair(&own)
                .is_some_and(|base| fits(&base) || base.strip_suffix('_').is_some_and(fits))
        }),
        Named::NetClass => fits("Default") || classes.iter().any(|own| fits(own)),
        Named::Part => {
            let of_library = |id: &str| name.contains(':') && fits(id);
            board.footprints.iter().any(|f| fits(&f.reference) || of_library(&f.library_id))
        }
        Named::Area => {
            let zones = || board.zones.iter().filter_map(|z| z.name.as_deref());
            zones().any(fits)
        }
    }
}

/// A net's name without the letter that tells the two of a pair apart; digits and '_' may follow it.
fn base_of_pair(net: &str) -> Option<String> {
    let end = net.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_');
    let base = end.strip_suffix(['+', '-', 'P', 'N'])?;
    Some(format!("{base}{}", net.get(end.len()..)?))
}

fn is_id(name: &str) -> bool {
    name.len() == 36 && name.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

impl NamedThing {
    /// Its name, cut to what a person reads.
    #[must_use]
    pub fn shown(&self) -> String {
        self.name.chars().take(MAX_SHOWN_CHARS).collect()
    }
}
