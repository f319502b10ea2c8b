//! Blocks are placed exactly once, whatever happens on the way.

use super::place::{BOARD, Place};

#[test]
fn a_block_is_placed_saved_read_back_and_not_placed_again() {
    let place = Place::one_block();
    let done = place.test.pcbflow(&["run", BOARD, "--json"]);
    assert_eq!(done.exit, Some(0), "{done}\n{}", place.story());
    assert_eq!(done.json()["verdict"], "pass");
    place.assert_whole();
    assert_eq!(place.calls("sch_PrimitiveComponent.create"), 3);
    let report = place.test.board(BOARD).join("out/read.json");
    let report = std::fs::read_to_string(report).expect("a report");
    assert!(report.contains("\"designator\": \"R1\""), "{report}");
    // A finished board is not driven again.
    let before = place.editor.events("").len();
    place.test.pcbflow(&["run", BOARD]).exits(0);
    assert_eq!(place.editor.events("").len(), before);
}
