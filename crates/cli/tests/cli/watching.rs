//! Commands that go on: `status --watch` and `log --follow`.

#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use pcbflow_core::event::StopCause;

use crate::env::TestEnvironment;
use crate::scenes::{self, Meets, Scene};

/// Longest wait for a line.
const WAIT: Duration = Duration::from_secs(30);

fn lines(child: &mut Child) -> Receiver<String> {
    let (tx, rx) = channel();
    let out = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || {
        for line in out.lines().map_while(Result::ok) {
            if tx.send(line).is_err() {
                return;
            }
        }
    });
    rx
}

fn interrupt(child: &mut Child) -> i32 {
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    child.wait().unwrap().code().unwrap_or(-1)
}

#[test]
fn watch_shows_a_line_for_each_change_and_ends_with_130() {
    let env = TestEnvironment::new();
    let mut scene = Scene::new(&env, "door");
    let mut child = env.command(&["status", "--watch"]).spawn().unwrap();
    let rx = lines(&mut child);
    let first = rx.recv_timeout(WAIT).unwrap();
    assert!(first.contains("door"), "{first}");
    scene.start();
    let second = rx.recv_timeout(WAIT).unwrap();
    assert!(second.contains("cut short"), "{second}");
    scene.stop(StopCause::Interrupted);
    rx.recv_timeout(WAIT).unwrap();
    assert_eq!(interrupt(&mut child), 130);
}

#[test]
fn follow_shows_attempts_as_they_are_judged() {
    let env = TestEnvironment::new();
    let mut scene = Scene::new(&env, "door");
    scene.start();
    let mut child = env.command(&["log", "--follow", "--events"]).spawn().unwrap();
    let rx = lines(&mut child);
    std::thread::sleep(Duration::from_millis(500));
    scene.step("05-schematic-audit", "erc", "kicad/erc", &[Meets::Pass]);
    let line = rx.recv_timeout(WAIT).unwrap();
    let json: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&json["type"], &json["step"]), (&"attempt".into(), &"erc".into()));
    assert_eq!(interrupt(&mut child), 130);
}

#[test]
fn one_document_can_not_go_on() {
    let env = TestEnvironment::new();
    scenes::full(&env, "door").close();
    assert_eq!(env.run(&["status", "--watch", "--json"]).code, 2);
    assert_eq!(env.run(&["log", "--follow", "--json"]).code, 2);
}
