//! The real clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use pcbflow_core::ports::Clock;
use pcbflow_core::time::Timestamp;

/// Longest single sleep; the wake time is looked at again after it, so that a clock that was
/// set or a computer that slept does not make a wait longer than meant.
const SLEEP_SLICE_MS_MAX: u64 = 1_000;

/// Time of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    async fn sleep_until(&self, wake: Timestamp) {
        // A clock set back must not stretch the wait: it is measured twice, by the wall and by
        // the steady timer, and ends when either says so.
        let started = self.now();
        let planned_ms = wake.ms_since(started);
        let mut slept_ms = 0;
        while slept_ms < planned_ms && self.now() < wake {
            let slice = SLEEP_SLICE_MS_MAX.min(planned_ms - slept_ms).max(1);
            tokio::time::sleep(Duration::from_millis(slice)).await;
            slept_ms += slice;
        }
    }
}
