//! The example of the repository, as a newcomer runs it.

use pcbflow_tests::editor::{Options, StandIn};
use pcbflow_tests::{TestEnvironment, files, program};
use serde_json::json;

#[test]
fn the_door_sensor_runs_from_parts_to_netlist() {
    let editor = StandIn::start(&Options::default()).expect("starts");
    editor.set(&json!({ "signed_in": true }));
    let test = TestEnvironment::new();
    let example = program::source_root().join("examples/door-sensor");
    test.pcbflow(&["init", "door-sensor"]).exits(0);
    files::copy_tree(&example.join("projects/door-sensor"), &test.board("door-sensor"));
    let address = editor.editor_url();
    let settings = format!("[editor]\naddress = '{address}'\nheadless = true\nsandbox = false\n");
    std::fs::write(test.ws().join("pcbflow.toml"), settings).expect("settings");
    let done = test.pcbflow(&["run", "door-sensor"]);
    assert_eq!(done.exit, Some(0), "{done}\n{}", test.story("door-sensor"));
    let read = |file: &str| {
        std::fs::read_to_string(test.board("door-sensor").join(file)).unwrap_or_default()
    };
    assert!(read("parts/SW1.json").contains("C98732"));
    assert!(read("out/netlist.enet").contains("\"DOOR\""), "{}", read("out/netlist.enet"));
    assert_eq!(read("out/bom.csv").lines().count(), 7, "a heading and six parts");
    // The same scripts again place nothing again.
    let creates = || {
        editor.events("call").iter().filter(|c| c["api"] == "sch_PrimitiveComponent.create").count()
    };
    assert_eq!(creates(), 6);
    test.pcbflow(&["run", "door-sensor"]).exits(0);
    assert_eq!(creates(), 6);
}
