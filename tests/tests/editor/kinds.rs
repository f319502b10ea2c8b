//! What the kinds of steps give: parts that are found, the editor's check, files.

use serde_json::json;

use super::browser::saw;
use super::place::{BOARD, Place};

fn with_steps(steps: &[&str]) -> Place {
    let open = "      - id: open\n        uses: eda/open\n        with: { project: door-sensor }\n";
    let rest: String = steps.iter().map(|s| format!("      - {s}\n")).collect();
    Place::new(&format!("{open}{rest}"))
}

fn read(place: &Place, file: &str) -> String {
    std::fs::read_to_string(place.test.board(BOARD).join(file)).unwrap_or_default()
}

#[test]
fn parts_are_found_by_number_and_by_words_and_never_as_the_first_hit() {
    let place = with_steps(&[
        "{ id: R5, uses: eda/find-part, needs: [open], with: { supplier: C25804 } }",
        "{ id: C1, uses: eda/find-part, needs: [open], with: { search: 100nF, package: '0402' } }",
        "{ id: R6, uses: eda/find-part, needs: [open], with: { search: '10k ohm', package: '0603' } }",
    ]);
    let done = place.test.pcbflow(&["run", BOARD]);
    assert_eq!(done.exit, Some(0), "{done}\n{}", place.story());
    assert!(read(&place, "parts/R5.json").contains("\"supplierId\": \"C25804\""));
    assert!(read(&place, "parts/C1.json").contains("\"supplierId\": \"C1525\""));
    assert!(read(&place, "parts/R6.json").contains("\"supplierId\": \"C25804\""), "not the array");
}

#[test]
fn eda_10_the_ladder_broadens_tries_the_number_and_allowed_footprints_then_asks() {
    let place = with_steps(&[
        "{ id: C1, uses: eda/find-part, needs: [open], with: { search: '100nF ceramic 0805', \
         package: ['0805', '0402'] } }",
        "{ id: R9, uses: eda/find-part, needs: [open], with: { search: 'no such thing' } }",
    ]);
    let done = place.test.json(4, &["run", BOARD]);
    assert!(read(&place, "parts/C1.json").contains("C1525"), "{}\n{done:#}", place.story());
    assert!(done.to_string().contains("R9"), "{done:#}");
    assert!(place.story().contains("EDA-10"), "{}", place.story());
}

#[test]
fn eda_5_a_throttled_search_waits_as_it_is_told_and_goes_slowly_afterwards() {
    let place = with_steps(&[
        "{ id: R5, uses: eda/find-part, needs: [open], with: { supplier: C25804 } }",
        "{ id: C1, uses: eda/find-part, needs: [R5], with: { supplier: C14663 } }",
    ]);
    let fault = json!({
        "id": "EDA-5", "variant": "too_many", "count": 2, "params": { "retry_after": 1 },
    });
    place.editor.arm(&fault);
    let done = place.test.pcbflow(&["run", BOARD]);
    assert_eq!(done.exit, Some(0), "{done}\n{}", place.story());
    assert!(place.story().contains("failure EDA-5"), "{}", place.story());
    let asked = place.editor.events("request");
    let at: Vec<u64> = asked
        .iter()
        .filter(|r| r["path"].as_str().is_some_and(|p| p.starts_with("/api/v2/devices")))
        .map(|r| r["at_ms"].as_u64().unwrap_or(0))
        .collect();
    assert_eq!(at.len(), 4, "two refusals, two answers: {at:?}");
    assert!(at.windows(2).all(|w| w[1] - w[0] >= 1_000), "as the header says: {at:?}");
    assert!(at[3] - at[2] >= 2_900, "and slowly from then on: {at:?}");
}

#[test]
fn the_editor_checks_and_gives_files_that_hold_all_parts() {
    let place = with_steps(&[
        "{ id: drc, uses: eda/drc, needs: [open] }",
        "{ id: net, uses: eda/export, needs: [open], with: { what: netlist } }",
        "{ id: bom, uses: eda/export, needs: [open], with: { what: bom } }",
        "{ id: pads, uses: eda/export, needs: [open], with: { what: pads } }",
        "{ id: place, uses: eda/export, needs: [open], with: { what: pick-and-place } }",
        "{ id: gerber, uses: eda/export, needs: [open], with: { what: gerber } }",
    ]);
    // A drawing and a layout as a person would have left them.
    saw(&place.editor, "layout");
    let done = place.test.pcbflow(&["run", BOARD]);
    assert_eq!(done.exit, Some(0), "{done}\n{}", place.story());
    assert!(read(&place, "out/netlist.enet").contains("LED_K"));
    assert_eq!(read(&place, "out/bom.csv").lines().count(), 4);
    assert!(read(&place, "out/board.asc").contains("PADS"));
    assert!(read(&place, "out/pick-and-place.csv").starts_with("\"Designator\""));
    let zip = std::fs::read(place.test.board(BOARD).join("out/gerber.zip")).expect("a zip");
    assert!(zip.starts_with(b"PK"));
}

#[test]
fn a_pin_without_a_net_is_a_finding_although_the_editor_only_says_no() {
    let place = Place::new(
        "      - id: open\n        uses: eda/open\n        with: { project: door-sensor }\n\
         \x20     - id: sensor\n        uses: eda/script\n        needs: [open]\n\
         \x20       with: { script: one.js }\n\
         \x20     - id: drc\n        uses: eda/drc\n        needs: [sensor]\n",
    );
    place.script(
        "one.js",
        "const d = (await eda.lib_Device.getByLcscIds(['C25804']))[0];\n\
         return (await eda.sch_PrimitiveComponent.create(d, 100, 100)).primitiveId;\n",
    );
    let done = place.test.json(3, &["run", BOARD]);
    assert!(done.to_string().contains("pin R1.1 has no net"), "{done:#}");
}

#[test]
fn a_check_or_output_that_the_step_does_not_make_is_refused() {
    let place = Place::new(
        "      - id: open\n        uses: eda/open\n        with: { project: door-sensor }\n        \
         check: { kind: exit, expect: [0] }\n",
    );
    let refused = place.test.pcbflow(&["run", BOARD]);
    assert!(
        refused.exit != Some(0) && refused.stderr.contains("does not make this check"),
        "{refused}"
    );
    let place = Place::new(
        "      - id: open\n        uses: eda/open\n        with: { project: door-sensor }\n        \
         outputs: [out/never.txt]\n",
    );
    let done = place.test.pcbflow(&["run", BOARD]);
    assert_ne!(done.exit, Some(0), "{done}");
    assert!(place.story().contains("out/never.txt"), "{}", place.story());
}
