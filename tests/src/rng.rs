//! Random numbers that a seed brings back.

use std::time::{SystemTime, UNIX_EPOCH};

/// Variable that names a seed.
pub const SEED_VARIABLE: &str = "PCBFLOW_TEST_SEED";

/// A generator (splitmix64).
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// The generator of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// A generator with the seed of `PCBFLOW_TEST_SEED`, or a fresh one. The seed is printed.
    #[must_use]
    pub fn announced(what: &str) -> Rng {
        let given = std::env::var(SEED_VARIABLE).ok().and_then(|text| text.parse().ok());
        let seed = given.unwrap_or_else(|| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            u64::from(now.subsec_nanos()) ^ (now.as_secs() << 20) ^ u64::from(std::process::id())
        });
        crate::note(&format!("{what}: {SEED_VARIABLE}={seed}"));
        Rng(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next_u64() % end.max(1)
    }
}
