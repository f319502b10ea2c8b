//! Reads rules as KiCad does and says what would switch them off.

use super::names::{self, MAX_NAMES, NamedThing};
use super::properties::OddProperty;
use super::words::{
    CONSTRAINTS, DISALLOWED, FUNCTIONS, LAYERS, PROPERTIES, SEVERITIES, UNITS, WITHOUT_UNIT,
    ZONE_CONNECTIONS,
};
use crate::sexpr::{Document, Node, SexprError};

/// Largest rules file that is read, in bytes (8 MiB); real ones are a few kilobytes.
pub const MAX_RULES_BYTES: usize = 8 * 1024 * 1024;

/// Most faults that are listed of one file.
pub const MAX_FAULTS: usize = 100;

/// Longest word that a fault repeats, in characters.
const MAX_SHOWN_CHARS: usize = 60;

/// What is wrong with a rules file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleFault {
    /// Larger than [`MAX_RULES_BYTES`].
    #[error("the rules have {bytes} bytes, more than the limit of {limit}")]
    TooLarge {
        /// Size in bytes.
        bytes: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// Brackets, quotes, byte order mark, merge marks.
    #[error("{0}")]
    Syntax(SexprError),
    /// The first list is not `(version N)`.
    #[error("the first line must be (version 1)")]
    NoVersion,
    /// An unknown word.
    #[error("{word:?} is no known {place}")]
    UnknownWord {
        /// The word.
        word: String,
        /// Where: `rule file entry`, `part of a rule`, `constraint`, `severity`, `layer`, `function`, …
        place: &'static str,
    },
    /// A word that the chosen KiCad does not know yet.
    #[error("{word:?} needs KiCad {major} or later")]
    NeedsNewer {
        /// The word.
        word: String,
        /// The lowest major version that knows it.
        major: u32,
    },
    /// Something that must be there is not.
    #[error("{what} is missing")]
    Missing {
        /// What.
        what: &'static str,
    },
    /// Something stands twice that may stand once.
    #[error("{word:?} stands twice in one rule")]
    Twice {
        /// What.
        word: String,
    },
    /// A number without a unit, or with one that is not known.
    #[error("{value:?} needs a unit, mm, mil or in")]
    Unit {
        /// The number as written.
        value: String,
    },
    /// Brackets or quotes inside a condition do not match.
    #[error("brackets or quotes do not match in the condition")]
    Condition,
}

/// A fault and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleProblem {
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
    /// What is wrong.
    pub fault: RuleFault,
}

/// What a rules file holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleSet {
    /// Names of its rules, in order; not unique.
    pub rules: Vec<String>,
    /// What would switch off the rules, in the order of the file; at most [`MAX_FAULTS`].
    pub problems: Vec<RuleProblem>,
    /// Properties that conditions name and that are not among those measured. KiCad takes a
    /// condition with a property that it does not know for false, without a word: the rule then
    /// never applies. At most [`MAX_FAULTS`].
    pub odd_properties: Vec<OddProperty>,
    /// Nets, net classes, parts and areas that conditions name; at most [`MAX_NAMES`].
    pub names: Vec<NamedThing>,
}

impl RuleSet {
    /// Whether KiCad will take the file.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Reads a rules file for one KiCad major version. `layers` are the board's own names for its layers, which rules may
/// use too. A file with nothing but blanks and comments has no rules and no faults.
///
/// Not everything that KiCad refuses is found; what is listed
/// was each seen to switch off the rules in 9.0.8, 10.0.6 or both, except an unknown function, which in 9 makes
/// only its own rule dead. For proof use [`with_canary`](super::with_canary).
#[must_use]
pub fn lint(bytes: &[u8], major: u32, layers: &[String]) -> RuleSet {
    let mut set = RuleSet::default();
    if bytes.len() > MAX_RULES_BYTES {
        let fault = RuleFault::TooLarge { bytes: bytes.len(), limit: MAX_RULES_BYTES };
        set.problems.push(RuleProblem { line: 1, column: 1, fault });
        return set;
    }
    let doc = match Document::parse(bytes.to_vec()) {
        Ok(doc) => doc,
        Err(SexprError { reason: crate::sexpr::Reason::Empty, .. }) => return set,
        Err(error) => {
            let (line, column) = (error.line, error.column);
            set.problems.push(RuleProblem { line, column, fault: RuleFault::Syntax(error) });
            return set;
        }
    };
    let mut linter = Linter { doc: &doc, major, layers, set };
    linter.file();
    linter.set
}

struct Linter<'a> {
    doc: &'a Document,
    major: u32,
    layers: &'a [String],
    set: RuleSet,
}

impl Linter<'_> {
    fn fault(&mut self, node: Node<'_>, fault: RuleFault) {
        if self.set.problems.len() < MAX_FAULTS {
            let (line, column) = self.doc.line_column(node.span().start());
            self.set.problems.push(RuleProblem { line, column, fault });
        }
    }

    fn unknown(&mut self, node: Node<'_>, place: &'static str) {
        let word = if node.is_list() {
            String::from_utf8_lossy(node.head()).into_owned()
        } else {
            node.text()
        };
        self.fault(node, RuleFault::UnknownWord { word: shown(&word), place });
    }

    fn missing(&mut self, node: Node<'_>, what: &'static str) {
        self.fault(node, RuleFault::Missing { what });
    }

    /// Looks a word up in a table of words and the versions that brought them.
    fn known(&mut self, node: Node<'_>, word: &str, table: &[(&str, u32)], place: &'static str) {
        match table.iter().find(|(known, _)| *known == word) {
            None => self.fault(node, RuleFault::UnknownWord { word: shown(word), place }),
            Some((_, major)) if *major > self.major => {
                self.fault(node, RuleFault::NeedsNewer { word: shown(word), major: *major });
            }
            Some(_) => {}
        }
    }

    fn file(&mut self) {
        let doc = self.doc;
        for (position, entry) in doc.top().enumerate() {
            match entry.head() {
                b"version" => {
                    let number =
                        entry.atom(1).filter(|n| !n.is_quoted() && n.bytes()[0].is_ascii_digit());
                    if number.is_none() {
                        self.fault(entry, RuleFault::NoVersion);
                    }
                }
                _ if position == 0 => self.fault(entry, RuleFault::NoVersion),
                b"rule" => self.rule(entry),
                // KiCad 10 has entries that assign component classes; their form was not examined.
                b"assign_component_class" if self.major >= 10 => {}
                _ => self.unknown(entry, "rule file entry"),
            }
        }
    }

    fn rule(&mut self, rule: Node<'_>) {
        let name = rule.atom(1);
        if name.is_none() {
            self.missing(rule, "the name of the rule");
        }
        self.set.rules.push(name.map(Node::text).unwrap_or_default());
        let mut seen: Vec<String> = Vec::new();
        for part in rule.children().skip(if name.is_some() { 2 } else { 1 }) {
            let key = match part.head() {
                b"constraint" => part.atom(1).map(Node::text),
                b"layer" => Some("layer".to_owned()),
                _ => None,
            };
            if let Some(word) = key {
                if seen.contains(&word) {
                    self.fault(part, RuleFault::Twice { word: shown(&word) });
                }
                seen.push(word);
            }
            match part.head() {
                b"constraint" => self.constraint(part),
                b"condition" => self.condition(part),
                b"layer" => self.layer(part),
                b"severity" => self.severity(part),
                _ => self.unknown(part, "part of a rule"),
            }
        }
    }

    fn condition(&mut self, part: Node<'_>) {
        match part.atom(1) {
            Some(text) => {
                self.expression(text);
                let rule = self.set.rules.last().map(|r| shown(r)).unwrap_or_default();
                let left = MAX_NAMES.saturating_sub(self.set.names.len());
                self.set.names.extend(names::of_condition(text, &rule).into_iter().take(left));
            }
            None => self.missing(part, "the text of the condition"),
        }
    }

    fn severity(&mut self, part: Node<'_>) {
        match part.atom(1) {
            Some(word) if SEVERITIES.contains(&word.text().as_str()) => {}
            Some(word) => self.unknown(word, "severity"),
            None => self.missing(part, "the severity"),
        }
    }

    fn layer(&mut self, part: Node<'_>) {
        let Some(layer) = part.atom(1) else { return self.missing(part, "the layer") };
        let name = layer.text();
        let word = !layer.is_quoted() && (name == "outer" || name == "inner");
        if !word && !is_layer(&name, self.layers) {
            self.unknown(layer, "layer");
        }
        if let Some(second) = part.children().nth(2) {
            self.unknown(second, "end of a layer, which takes one name,");
        }
    }

    fn constraint(&mut self, part: Node<'_>) {
        let Some(name) = part.atom(1) else {
            return self.missing(part, "the kind of the constraint");
        };
        let kind = name.text();
        self.known(name, &kind, &CONSTRAINTS, "constraint");
        let arguments: Vec<Node<'_>> = part.children().skip(2).collect();
        match kind.as_str() {
            "assertion" => match arguments.first().filter(|n| !n.is_list()) {
                Some(text) => self.expression(*text),
                None => self.missing(part, "the text of the assertion"),
            },
            "disallow" => arguments
                .iter()
                .for_each(|n| self.known(*n, &n.text(), &DISALLOWED, "item to disallow")),
            "zone_connection" => {
                let known = |n: &&Node<'_>| !ZONE_CONNECTIONS.contains(&n.text().as_str());
                if let Some(bad) = arguments.iter().find(known) {
                    self.unknown(*bad, "zone connection");
                }
            }
            "min_resolved_spokes" => {
                if arguments.first().is_none_or(|n| n.is_list()) {
                    self.missing(part, "the number of spokes");
                }
            }
            _ => arguments.into_iter().for_each(|n| self.limit(&kind, n)),
        }
    }

    /// `(min 1mm)`, `(opt …)`, `(max …)`, `(within_diff_pairs)`.
    fn limit(&mut self, kind: &str, limit: Node<'_>) {
        match limit.head() {
            b"within_diff_pairs" => return,
            b"min" | b"opt" | b"max" => {}
            _ => return self.unknown(limit, "limit (min, opt or max)"),
        }
        let Some(value) = limit.atom(1) else {
            return self.missing(limit, "the number of the limit");
        };
        if WITHOUT_UNIT.contains(&kind) {
            return;
        }
        // From 10 on the unit may stand apart.
        let apart = limit.atom(2).filter(|_| self.major >= 10).map(Node::text).unwrap_or_default();
        let text = format!("{}{apart}", value.text());
        let plain = |c: char| c.is_ascii_digit() || c == '.' || c == '-' || c == '+';
        let unit = text.trim_start_matches(plain).trim();
        // Sums and products are left to KiCad.
        let is_sum = unit.contains(|c: char| !c.is_ascii_alphabetic());
        let known = UNITS.iter().any(|(word, major)| *word == unit && *major <= self.major);
        if !is_sum && !known {
            self.fault(value, RuleFault::Unit { value: shown(&text) });
        }
    }

    /// Brackets, quotes and functions of a condition or assertion.
    fn expression(&mut self, node: Node<'_>) {
        let text = node.text();
        let (mut depth, mut quoted, mut word, mut sound) = (0_i32, false, String::new(), true);
        for c in text.chars() {
            match c {
                '\'' => quoted = !quoted,
                _ if quoted => {}
                '(' => {
                    depth += 1;
                    // A function is called on an object: `A.inDiffPair(`.
                    if let Some((_, name)) = word.rsplit_once('.') {
                        self.function(node, name);
                    }
                }
                ')' => {
                    depth -= 1;
                    sound &= depth >= 0;
                }
                _ => {}
            }
            let part_of_word = !quoted && (c.is_ascii_alphanumeric() || c == '_' || c == '.');
            if part_of_word {
                word.push(c);
            } else {
                if c != '(' {
                    self.property(node, &word);
                }
                word.clear();
            }
        }
        self.property(node, &word);
        if !sound || depth != 0 || quoted {
            self.fault(node, RuleFault::Condition);
        }
    }

    /// `A.NetClass`: a property of an object, if the word is one.
    fn property(&mut self, node: Node<'_>, word: &str) {
        let Some((object, name)) = word.split_once('.') else { return };
        let known = PROPERTIES.iter().any(|p| p.eq_ignore_ascii_case(name));
        let odd = &mut self.set.odd_properties;
        let named = ["A", "B", "AB", "L"].iter().any(|o| o.eq_ignore_ascii_case(object));
        if named && !known && odd.len() < MAX_FAULTS && !odd.iter().any(|p| p.name == name) {
            let rule = self.set.rules.last().map(|r| shown(r)).unwrap_or_default();
            odd.push(OddProperty { name: shown(name), line: node.line(), rule });
        }
    }

    fn function(&mut self, node: Node<'_>, name: &str) {
        let found = FUNCTIONS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        match found {
            None => {
                self.fault(node, RuleFault::UnknownWord { word: shown(name), place: "function" })
            }
            Some((_, major)) if *major > self.major => {
                self.fault(node, RuleFault::NeedsNewer { word: shown(name), major: *major });
            }
            Some(_) => {}
        }
    }
}

fn shown(word: &str) -> String {
    word.chars().take(MAX_SHOWN_CHARS).collect()
}

/// Whether a name or a pattern with `*` and `?` names any layer, of KiCad's own or of the board's.
fn is_layer(pattern: &str, own: &[String]) -> bool {
    let numbered = (1..=45).flat_map(|n| [format!("In{n}.Cu"), format!("User.{n}")]);
    let all =
        LAYERS.iter().map(|name| (*name).to_owned()).chain(numbered).chain(own.iter().cloned());
    all.into_iter().any(|name| matches(pattern.as_bytes(), name.as_bytes()))
}

/// Wildcard match, `*` and `?`; linear in the product of both lengths at worst.
pub(super) fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&c) if c == b'?' || c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    p = at + 1;
                    n = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}
