//! Killed at random moments, up to three times in a row.

use std::time::{Duration, Instant};

use pcbflow_tests::rng::Rng;

use crate::oracle;

/// Kills in all; more by the variable.
const KILLS: u64 = 160;
const KILLS_VARIABLE: &str = "PCBFLOW_TEST_KILLS";

#[test]
fn kills_at_random_moments_lose_nothing_and_do_nothing_twice() {
    let mut rng = Rng::announced("kills at random moments");
    let wanted = std::env::var(KILLS_VARIABLE).ok().and_then(|n| n.parse().ok()).unwrap_or(KILLS);
    let alone = oracle::alone();
    let place = oracle::place();
    let start = Instant::now();
    place.pcbflow(&["run", "b"]).exits(0);
    let whole = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    let (mut kills, mut early, mut round) = (0, 0, 0_u64);
    while kills < wanted {
        let test = oracle::place();
        let mut moments = Vec::new();
        for _ in 0..=round % 3 {
            let moment = rng.below(whole * 11 / 10);
            moments.push(moment);
            let running = test.start(&["run", "b"]);
            std::thread::sleep(Duration::from_micros(moment));
            running.kill();
            let ran = running.wait();
            ran.sane();
            match ran.signal {
                Some(9) => kills += 1,
                // It was done before the kill came.
                _ => early += 1,
            }
        }
        let name = format!("round {round}, killed after {moments:?} of {whole} us");
        assert_eq!(oracle::finish(&test, &name), alone, "{name}");
        round += 1;
    }
    pcbflow_tests::note(&format!("{kills} kills in {round} rounds; {early} came after the end"));
}
