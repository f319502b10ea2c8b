//! No fault without a test that makes it strike.

use pcbflow_tests::editor::{Options, StandIn, client};
use serde_json::Value;

/// The texts of the tests.
const TESTS: &[&str] =
    &[include_str!("server.rs"), include_str!("strikes.rs"), include_str!("page.rs")];

#[test]
fn every_fault_strikes_in_a_test() {
    let editor = StandIn::start(&Options::default()).expect("starts");
    let reply = client::request(editor.control(), "GET", "/variants", &[], &Value::Null);
    let list = reply.expect("answers").json();
    let list = list.as_array().expect("a list");
    assert!(list.len() > 40, "{}", list.len());
    // Line breaks of the formatter do not matter.
    let tests: String = TESTS.concat().split_whitespace().collect();
    let missing: Vec<String> = list
        .iter()
        .filter(|v| {
            let (id, name) = (&v["id"], &v["variant"]);
            !tests.contains(&format!("\"id\":{id},\"variant\":{name}"))
                && !tests.contains(&format!("({id},{name},"))
        })
        .map(|v| format!("{} {}", v["id"], v["variant"]))
        .collect();
    assert!(missing.is_empty(), "no test arms: {}", missing.join(", "));
}
