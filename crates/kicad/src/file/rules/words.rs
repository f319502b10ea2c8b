//! The words of the rules language. All were tried one by one on kicad-cli 9.0.8 and 10.0.6: a wrong word switches off
//! the whole file, so a canary in it tells what is accepted. Versions below 9 were not run: 6, the first with such rules,
//! stands for all of them.

/// Names of constraints, and the KiCad major version that brought them.
pub const CONSTRAINTS: [(&str, u32); 38] = [
    ("annular_width", 6),
    ("assertion", 6),
    ("bridged_mask", 10),
    ("clearance", 6),
    ("connection_width", 6),
    ("courtyard_clearance", 6),
    ("creepage", 6),
    ("diff_pair_gap", 6),
    ("diff_pair_uncoupled", 6),
    ("disallow", 6),
    ("edge_clearance", 6),
    ("hole", 6),
    ("hole_clearance", 6),
    ("hole_size", 6),
    ("hole_to_hole", 6),
    ("length", 6),
    ("mechanical_clearance", 6),
    ("mechanical_hole_clearance", 6),
    ("min_resolved_spokes", 6),
    ("physical_clearance", 6),
    ("physical_hole_clearance", 6),
    ("silk_clearance", 6),
    ("skew", 6),
    ("solder_mask_expansion", 10),
    ("solder_mask_sliver", 10),
    ("solder_paste_abs_margin", 10),
    ("solder_paste_rel_margin", 10),
    ("text_height", 6),
    ("text_thickness", 6),
    ("thermal_relief_gap", 6),
    ("thermal_spoke_width", 6),
    ("track_angle", 6),
    ("track_segment_length", 6),
    ("track_width", 6),
    ("via_count", 6),
    ("via_dangling", 10),
    ("via_diameter", 6),
    ("zone_connection", 6),
];

/// Functions of conditions and assertions, and the KiCad major version that brought them. Case does not matter.
pub const FUNCTIONS: [(&str, u32); 27] = [
    ("enclosedByArea", 6),
    ("existsOnLayer", 6),
    ("fromTo", 6),
    ("getField", 6),
    ("hasComponentClass", 6),
    ("hasExactNetclass", 6),
    ("hasNetclass", 6),
    ("inDiffPair", 6),
    ("insideArea", 6),
    ("insideBackCourtyard", 6),
    ("insideCourtyard", 6),
    ("insideFrontCourtyard", 6),
    ("intersectsArea", 6),
    ("intersectsBackCourtyard", 6),
    ("intersectsCourtyard", 6),
    ("intersectsFrontCourtyard", 6),
    ("isBlindBuriedVia", 6),
    ("isBlindVia", 10),
    ("isBuriedVia", 10),
    ("isCoupledDiffPair", 6),
    ("isMicroVia", 6),
    ("isPlated", 6),
    ("memberOf", 6),
    ("memberOfFootprint", 6),
    ("memberOfGroup", 6),
    ("memberOfSheet", 6),
    ("memberOfSheetOrChildren", 6),
];

/// What `disallow` takes, and the major version that brought it.
pub(super) const DISALLOWED: [(&str, u32); 12] = [
    ("blind_via", 10),
    ("buried_via", 6),
    ("footprint", 6),
    ("graphic", 6),
    ("hole", 6),
    ("micro_via", 6),
    ("pad", 6),
    ("text", 6),
    ("through_via", 10),
    ("track", 6),
    ("via", 6),
    ("zone", 6),
];

/// Severities of a rule.
pub(super) const SEVERITIES: [&str; 4] = ["error", "warning", "ignore", "exclusion"];

/// What `zone_connection` takes.
pub(super) const ZONE_CONNECTIONS: [&str; 3] = ["solid", "thermal_reliefs", "none"];

/// Units of lengths, and the major version that brought them.
pub(super) const UNITS: [(&str, u32); 4] = [("mm", 6), ("mil", 6), ("in", 6), ("ps", 10)];

/// Constraints whose numbers are no lengths: counts, angles, ratios.
pub(super) const WITHOUT_UNIT: [&str; 3] = ["via_count", "track_angle", "solder_paste_rel_margin"];

/// Layers that are no copper; copper layers are `F.Cu`, `B.Cu`, `In1.Cu` to `In30.Cu`, `User.1` to `User.45` are free.
pub(super) const LAYERS: [&str; 28] = [
    "B.Adhes",
    "F.Adhes",
    "B.Paste",
    "F.Paste",
    "B.SilkS",
    "F.SilkS",
    "B.Mask",
    "F.Mask",
    "Dwgs.User",
    "Cmts.User",
    "Eco1.User",
    "Eco2.User",
    "Edge.Cuts",
    "Margin",
    "B.CrtYd",
    "F.CrtYd",
    "B.Fab",
    "F.Fab",
    "F.Cu",
    "B.Cu",
    "F.Adhesive",
    "B.Adhesive",
    "F.Silkscreen",
    "B.Silkscreen",
    "F.Courtyard",
    "B.Courtyard",
    "User.Drawings",
    "User.Comments",
];
