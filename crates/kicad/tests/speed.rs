//! How long all fabrication files of a board take: the same calls one after another, the step with
//! one job, the step with two. Behind `PCBFLOW_HEAVY`; prints ratios and asserts nothing on them.

mod support;

use std::process::Command;
use std::time::{Duration, Instant};

use pcbflow_core::check::Gate;
use serde_json::json;
use support::*;

/// Rounds; the best of each counts.
const ROUNDS: usize = 3;

#[test]
fn side_by_side_against_one_after_another() {
    if !heavy() {
        return;
    }
    for (name, board) in [("stickhub", "StickHub.kicad_pcb"), ("video", "video.kicad_pcb")] {
        let (Some(demo), true) = (demo(9, name), have(9)) else { return };
        let bench = Bench::new();
        bench.bring(&demo);
        let step = |jobs: u32| {
            let args = [("board", json!(board)), ("kicad", json!(9)), ("jobs", json!(jobs))];
            let began = Instant::now();
            assert!(bench.check("kicad/export", &args).gate() != Gate::Blocked);
            began.elapsed()
        };
        step(1);
        let calls: Vec<Vec<String>> = bench
            .spawn
            .runs
            .lock()
            .unwrap()
            .iter()
            .filter(|a| a[1] != "version")
            .cloned()
            .collect();
        let home = bench.folder.path().join("ws/.pcbflow/kicad-home");
        let bare = || {
            let began = Instant::now();
            for argv in &calls {
                let status = Command::new(&argv[0])
                    .args(&argv[1..])
                    .current_dir(bench.root())
                    .env("HOME", &home)
                    .env("KICAD_CONFIG_HOME", home.join("plain"))
                    .env("LC_ALL", "C.UTF-8")
                    .output()
                    .unwrap()
                    .status;
                assert!(status.success());
            }
            began.elapsed()
        };
        let mut best = [Duration::MAX; 3];
        for _ in 0..ROUNDS {
            for (slot, time) in best.iter_mut().zip([bare(), step(1), step(2)]) {
                *slot = (*slot).min(time);
            }
        }
        let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
        note(&format!(
            "{name}: bare {:.2} s; one job {:.2} times that; two jobs {:.2} times faster",
            best[0].as_secs_f64(),
            ratio(best[1], best[0]),
            ratio(best[0], best[2]),
        ));
    }
}
