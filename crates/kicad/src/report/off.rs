//! Checks that the project itself switches off. KiCad then reports nothing, which looks like a
//! board without faults; so each of those that no board can do without is named.

use std::collections::BTreeMap;

use pcbflow_core::check::{Finding, FindingSeverity};

use crate::file::rules::{NamedThing, OddProperty};

/// Rule of the findings.
pub const RULE: &str = "pcbflow_check_off";
/// Checks of copper, holes and outline that no board can do without.
const OF_BOARDS: &[&str] = &[
    "annular_width",
    "clearance",
    "copper_edge_clearance",
    "drill_out_of_range",
    "hole_clearance",
    "hole_to_hole",
    "invalid_outline",
    "items_not_allowed",
    "shorting_items",
    "track_width",
    "tracks_crossing",
    "unconnected_items",
    "zones_intersect",
];
/// Checks of pins and wires that no schematic can do without.
const OF_SCHEMATICS: &[&str] = &[
    "duplicate_reference",
    "pin_not_connected",
    "pin_not_driven",
    "pin_to_pin",
    "power_pin_not_driven",
    "unannotated",
];

/// One warning for each check of the board that is switched off.
#[must_use]
pub fn of_board(severities: &BTreeMap<String, String>) -> Vec<Finding> {
    named("drc", OF_BOARDS, severities)
}

/// One warning for each check of the schematic that is switched off.
#[must_use]
pub fn of_schematic(severities: &BTreeMap<String, String>) -> Vec<Finding> {
    named("erc", OF_SCHEMATICS, severities)
}

/// Rule of the findings about properties.
pub const PROPERTY_RULE: &str = "pcbflow_rule_property";

/// One warning for each property in the board's own rules that KiCad did not show to know: its rule
/// then never applies, and KiCad says nothing about it.
#[must_use]
pub fn of_properties<'a>(odd: impl IntoIterator<Item = &'a OddProperty>) -> Vec<Finding> {
    odd.into_iter()
        .map(|OddProperty { name, line, rule }| Finding {
            id: format!("drc:{PROPERTY_RULE}:{name}"),
            engine: "drc".to_owned(),
            rule: PROPERTY_RULE.to_owned(),
            severity: FindingSeverity::Warning,
            message: format!(
                "line {line} of the rules file, rule '{rule}', names a property '{name}' that \
                 is not known here; if it is misspelt, the rule never applies"
            ),
            items: Vec::new(),
            excluded: None,
            apart: false,
        })
        .collect()
}

/// Rule of the findings about names.
pub const NAME_RULE: &str = "pcbflow_rule_name";

/// One warning for each net, net class, part or area that the board's own rules name and that is
/// not on the board: a rule for it never applies, and KiCad says nothing about it.
#[must_use]
pub fn of_names<'a>(absent: impl IntoIterator<Item = &'a NamedThing>) -> Vec<Finding> {
    absent
        .into_iter()
        .map(|thing| {
            let (kind, name) = (thing.kind.word(), thing.shown());
            Finding {
                id: format!("drc:{NAME_RULE}:{kind}:{name}"),
                engine: "drc".to_owned(),
                rule: NAME_RULE.to_owned(),
                severity: FindingSeverity::Warning,
                message: format!(
                    "line {} of the rules file, rule '{}', names the {kind} '{name}', which this \
                     board does not have; what the rule asks of it never applies",
                    thing.line, thing.rule
                ),
                items: Vec::new(),
                excluded: None,
                apart: false,
            }
        })
        .collect()
}

/// The project switches off every check that a planted fault could trip, so nothing shows that the
/// electrical check looked at the schematic.
pub const NOTHING_PROVES_ERC: &str = "the project switches off every check that could prove that the schematic was \
     checked; switch 'unresolved_variable' or 'no_connect_dangling' on";

/// Rule of the finding that nothing compares the board with a schematic.
pub const NO_SCHEMATIC_RULE: &str = "pcbflow_no_schematic";

/// The step asks for no comparison, and there is no schematic that another step could compare with.
#[must_use]
pub fn no_schematic(name: &str) -> Finding {
    Finding {
        id: format!("drc:{NO_SCHEMATIC_RULE}"),
        engine: "drc".to_owned(),
        rule: NO_SCHEMATIC_RULE.to_owned(),
        severity: FindingSeverity::Warning,
        message: format!(
            "there is no schematic {name}, so nothing shows that the board is wired as it is meant"
        ),
        items: Vec::new(),
        excluded: None,
        apart: false,
    }
}

/// Rule of the findings about further root sheets.
pub const ROOT_RULE: &str = "pcbflow_root_not_checked";

/// One warning for each further root sheet of the project. Measured with 10.0.6: the command line asks
/// whether such a file is there and reads only the schematic that it was given.
#[must_use]
pub fn of_roots(names: impl IntoIterator<Item = String>) -> Vec<Finding> {
    names
        .into_iter()
        .map(|name| Finding {
            id: format!("erc:{ROOT_RULE}:{name}"),
            engine: "erc".to_owned(),
            rule: ROOT_RULE.to_owned(),
            severity: FindingSeverity::Warning,
            message: pcbflow_core::text::without_control(&format!(
                "{name} is a further root sheet of this project, and KiCad's command line does not \
                 check it; check it in KiCad"
            )),
            items: Vec::new(),
            excluded: None,
            apart: false,
        })
        .collect()
}

fn named(engine: &str, needed: &[&str], severities: &BTreeMap<String, String>) -> Vec<Finding> {
    let off = |check: &&&str| severities.get(**check).is_some_and(|s| s == "ignore");
    let one = |check: &&str| Finding {
        id: format!("{engine}:{RULE}:{check}"),
        engine: engine.to_owned(),
        rule: RULE.to_owned(),
        severity: FindingSeverity::Warning,
        message: format!("the project switches the check '{check}' off, so it did not run"),
        items: Vec::new(),
        excluded: None,
        apart: false,
    };
    needed.iter().filter(off).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_that_nobody_knows_is_named() {
        let lint = |text: &str| crate::file::rules::lint(text.as_bytes(), 9, &[]).odd_properties;
        let rule = |condition: &str| {
            format!(
                "(version 1)\n(rule x (condition \"{condition}\") (constraint clearance (min 1mm)))"
            )
        };
        let odd = lint(&rule("A.NetClas == 'HV' && B.netclass != 'A.Foo' && A.insideArea('z.q')"));
        let known = OddProperty { name: "NetClas".into(), line: 2, rule: "x".into() };
        assert_eq!(odd, [known]);
        assert!(of_properties(&odd)[0].message.contains("line 2 of the rules file, rule 'x'"));
        assert!(lint(&rule("A.Type == 'Via' && AB.isCoupledDiffPair()")).is_empty());
    }

    #[test]
    fn only_needed_checks_that_are_off_are_named() {
        let set = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
        };
        let board =
            set(&[("clearance", "ignore"), ("silk_overlap", "ignore"), ("track_width", "warning")]);
        let ids: Vec<String> = of_board(&board).into_iter().map(|f| f.id).collect();
        assert_eq!(ids, ["drc:pcbflow_check_off:clearance"]);
        assert!(of_schematic(&board).is_empty());
        let sheets = set(&[("pin_to_pin", "ignore"), ("four_way_junction", "ignore")]);
        let ids: Vec<String> = of_schematic(&sheets).into_iter().map(|f| f.id).collect();
        assert_eq!(ids, ["erc:pcbflow_check_off:pin_to_pin"]);
    }
}
