//! A small board with a known report: two nets whose tracks are 0.15 mm apart, where the rule
//! asks for 0.2 mm. A tool that can't load what does the work answers `version` all the same, so
//! only this proves that it works.

/// Name of the board.
pub const BOARD: &str = "sample.kicad_pcb";
/// Type of the finding that its report must have.
pub const FINDING: &str = "clearance";

/// The board, in a format that every supported version reads.
pub const TEXT: &str = r#"(kicad_pcb (version 20221018) (generator pcbnew)
  (general (thickness 1.6))
  (paper "A4")
  (layers (0 "F.Cu" signal) (31 "B.Cu" signal) (44 "Edge.Cuts" user))
  (net 0 "") (net 1 "A") (net 2 "B")
  (segment (start 10 10) (end 30 10) (width 0.25) (layer "F.Cu") (net 1) (tstamp 00000000-0000-0000-0000-000000000001))
  (segment (start 10 10.4) (end 30 10.4) (width 0.25) (layer "F.Cu") (net 2) (tstamp 00000000-0000-0000-0000-000000000002))
  (gr_rect (start 0 0) (end 40 20) (stroke (width 0.1) (type solid)) (fill none) (layer "Edge.Cuts") (tstamp 00000000-0000-0000-0000-000000000003))
)
"#;
