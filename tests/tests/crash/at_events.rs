//! Killed as soon as an event is told, for every event of the run.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::oracle;

/// More events than the run has.
const EVENTS_MAX: usize = 400;

#[test]
fn a_kill_at_every_event_loses_nothing_and_does_nothing_twice() {
    let alone = oracle::alone();
    let mut kills = 0;
    for n in 1..EVENTS_MAX {
        let test = oracle::place();
        let mut command = test.command(&["run", "b", "--events"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("pcbflow");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        // The first line is the version.
        let told = lines.map_while(Result::ok).take(n + 1).count();
        child.kill().expect("a kill");
        child.wait().expect("its end");
        assert_eq!(oracle::finish(&test, &format!("killed at event {n}")), alone, "event {n}");
        if told <= n {
            break;
        }
        kills += 1;
    }
    pcbflow_tests::note(&format!("killed at each of {kills} events"));
    assert!(kills > 40, "{kills}");
}
