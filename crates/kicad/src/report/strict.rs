//! Whether a custom rule that was edited asks for at least as much as before.

use std::collections::{BTreeMap, BTreeSet};

use crate::sexpr::{Document, Node};

/// Nanometres in the units of a rules file.
const UNITS: [(&str, f64); 3] = [("mm", 1e6), ("mil", 25_400.0), ("in", 25.4e6)];

/// The rules of a file: for each name its texts, blanks and comments left out.
type Rules = BTreeMap<String, BTreeSet<String>>;

/// What of the recorded custom rules is gone, or changed in such a way that it may ask for less.
/// A rule whose limits only became stricter is not listed; a text that can't be compared is.
#[must_use]
pub(super) fn gone_or_changed(was: &str, now: &str) -> Vec<String> {
    let (was, now) = (rules(was), rules(now));
    let mut list = Vec::new();
    for (name, texts) in &was {
        let Some(new) = now.get(name) else {
            list.push(format!("custom rule {name} is gone"));
            continue;
        };
        let kept = |old: &String| new.iter().any(|n| n == old || as_strict(old, n));
        if !texts.iter().all(kept) {
            list.push(format!("custom rule {name} is another"));
        }
    }
    list
}

fn rules(text: &str) -> Rules {
    let mut found = Rules::new();
    let Ok(doc) = Document::parse(text.as_bytes().to_vec()) else { return found };
    for node in doc.top().filter(|n| n.head() == b"rule") {
        let name = node.atom(1).map(Node::text).unwrap_or_default();
        found.entry(name).or_default().insert(plain(node));
    }
    found
}

/// A node with one blank between its parts.
fn plain(node: Node<'_>) -> String {
    if !node.is_list() {
        return String::from_utf8_lossy(node.bytes()).into_owned();
    }
    let parts: Vec<String> = node.children().map(plain).collect();
    format!("({})", parts.join(" "))
}

/// Whether a rule of the same name asks for at least as much: nothing but the limits of its
/// constraints differs, no least is smaller, no most is larger, no constraint is gone.
fn as_strict(old: &str, new: &str) -> bool {
    let parse = |text: &str| Document::parse(text.as_bytes().to_vec()).ok();
    let (Some(old), Some(new)) = (parse(old), parse(new)) else { return false };
    let (Some(old), Some(new)) = (old.top().next(), new.top().next()) else { return false };
    let rest = |rule: Node<'_>| -> BTreeSet<String> {
        rule.children().filter(|n| n.head() != b"constraint").map(plain).collect()
    };
    let constraints = |rule: Node<'_>| -> Option<BTreeMap<String, Limits>> {
        rule.children_named("constraint").map(Limits::read).collect()
    };
    let (Some(was), Some(is)) = (constraints(old), constraints(new)) else { return false };
    rest(old) == rest(new)
        && was.iter().all(|(kind, old)| is.get(kind).is_some_and(|new| new.as_strict_as(old)))
        // A further constraint may override another rule's.
        && was.len() == is.len()
}

/// The limits of a constraint.
#[derive(Debug, Default)]
struct Limits {
    least: Option<f64>,
    most: Option<f64>,
    /// Everything else, which must be as it was.
    rest: BTreeSet<String>,
}

impl Limits {
    /// Kind and limits; `None` where a limit can't be read.
    fn read(constraint: Node<'_>) -> Option<(String, Limits)> {
        let kind = constraint.atom(1)?.text();
        let mut limits = Limits::default();
        for part in constraint.children().skip(2) {
            match part.head() {
                b"min" if part.is_list() => limits.least = Some(length(&part.atom(1)?.text())?),
                b"max" if part.is_list() => limits.most = Some(length(&part.atom(1)?.text())?),
                _ => {
                    limits.rest.insert(plain(part));
                }
            }
        }
        Some((kind, limits))
    }

    fn as_strict_as(&self, old: &Limits) -> bool {
        let least = old.least.is_none_or(|was| self.least.is_some_and(|is| is >= was));
        let most = old.most.is_none_or(|was| self.most.is_some_and(|is| is <= was));
        least && most && self.rest == old.rest
    }
}

/// A length with its unit, in nanometres. A number without unit has none that is known here.
fn length(text: &str) -> Option<f64> {
    let (unit, factor) = UNITS.iter().find(|(unit, _)| text.ends_with(unit))?;
    let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
    number.is_finite().then_some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(was: &str, now: &str) -> bool {
        !gone_or_changed(&format!("(version 1)\n{was}"), &format!("(version 1)\n{now}")).is_empty()
    }

    #[test]
    fn stricter_limits_are_no_loss() {
        let old = "(rule w (constraint track_width (min 0.1mm)))";
        for (now, lost) in [
            (old, false),
            ("(rule w (constraint track_width (min 0.5mm)))", false),
            ("(rule w (constraint track_width (min 20mil)))", false),
            ("(rule w\n# a remark\n(constraint track_width (min 0.1mm)))", false),
            ("(rule other) (rule w (constraint track_width (min 0.1mm)))", false),
            ("(rule w (constraint track_width (min 0.05mm)))", true),
            ("(rule w (constraint track_width (min 3mil)))", true),
            ("(rule w (constraint track_width (min 500)))", true),
            ("(rule w (constraint track_width))", true),
            ("(rule w (constraint clearance (min 1mm)))", true),
            ("(rule w (condition \"A.NetName = 'x'\") (constraint track_width (min 1mm)))", true),
            ("(rule v (constraint track_width (min 0.1mm)))", true),
            ("", true),
        ] {
            assert_eq!(changed(old, now), lost, "{now}");
        }
        let span = "(rule l (constraint length (min 10mm) (max 20mm)))";
        assert!(!changed(span, "(rule l (constraint length (min 11mm) (max 19mm)))"));
        assert!(changed(span, "(rule l (constraint length (min 11mm) (max 21mm)))"));
        assert!(changed(span, "(rule l (constraint length (min 11mm)))"));
        let no = "(rule n (constraint disallow track))";
        assert!(changed(no, "(rule n (constraint disallow via))"));
    }
}
