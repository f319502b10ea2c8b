//! Alternative texts of a class that shows itself in more than one way.

/// Texts that replace those of the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    /// The class.
    pub class: &'static str,
    /// Its name, as evidence gives it in the slot `variant`.
    pub name: &'static str,
    /// What happened.
    pub what: &'static str,
    /// Why.
    pub why: Option<&'static str>,
    /// Said when healed.
    pub healed: &'static str,
}

/// All of them.
pub const VARIANTS: &[Variant] = &[
    Variant {
        class: "KI-6",
        name: "looked_clean",
        what: "The design-rule check looked clean but had not used this board's rules.",
        why: Some("KiCad ran with weak rules of its own."),
        healed: "The check ran again with this board's rules.",
    },
    Variant {
        class: "KI-6",
        name: "reported_faults",
        what: "The design-rule check reported faults that are not real.",
        why: Some("KiCad ran without this board's own rules."),
        healed: "The check ran again with this board's rules.",
    },
    Variant {
        class: "KI-2",
        name: "not_on_board",
        what: "The board is missing {count:footprint|footprints} that the schematic has.",
        why: Some("They are in the schematic and not on the board."),
        healed: "Each part has its footprint again.",
    },
];

/// The variant of a class, if there is one of this name.
#[must_use]
pub fn find(class: &str, name: &str) -> Option<&'static Variant> {
    VARIANTS.iter().find(|v| v.class == class && v.name == name)
}
