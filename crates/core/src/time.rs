//! Points in time. Core never asks what time it is: `now` is always an argument.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// UTC microseconds since 1970-01-01T00:00:00Z. Shown as RFC 3339 with six digits, in JSON too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub i64);

/// Ending of a time that the calendar does not know and that is shown as a number.
const NUMBER_SUFFIX: &str = "us";

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        let read = match text.strip_suffix(NUMBER_SUFFIX) {
            Some(number) => number.parse().map(Timestamp).map_err(|e| e.to_string()),
            None => text.parse().map_err(|e: jiff::Error| e.to_string()),
        };
        read.map_err(serde::de::Error::custom)
    }
}

impl Timestamp {
    /// This time plus some milliseconds; stays at the end of the range instead of wrapping.
    #[must_use]
    pub fn plus_ms(self, ms: u64) -> Timestamp {
        let us = i64::try_from(ms.saturating_mul(1000)).unwrap_or(i64::MAX);
        Timestamp(self.0.saturating_add(us))
    }

    /// Milliseconds from `earlier` to this; 0 when the clock went backwards.
    #[must_use]
    pub fn ms_since(self, earlier: Timestamp) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0) / 1000).unwrap_or(0)
    }

    /// RFC 3339 with whole seconds, as the JSON Lines mirror wants it.
    #[must_use]
    pub fn seconds_text(self) -> String {
        let full = self.to_string();
        match full.split_once('.') {
            Some((head, _)) => format!("{head}Z"),
            None => full,
        }
    }

    /// Time of day `HH:MM:SS` in UTC.
    #[must_use]
    pub fn clock_text(self) -> String {
        self.to_string().get(11..19).unwrap_or("00:00:00").to_owned()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(t) => write!(f, "{t:.6}"),
            // Out of the calendar's range: still say which number it was.
            Err(_) => write!(f, "{}{NUMBER_SUFFIX}", self.0),
        }
    }
}

impl std::str::FromStr for Timestamp {
    type Err = jiff::Error;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Timestamp(text.parse::<jiff::Timestamp>()?.as_microsecond()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_with_six_digits_and_read_back() {
        let t = Timestamp(1_783_965_852_000_007);
        assert_eq!(t.to_string(), "2026-07-13T18:04:12.000007Z");
        assert_eq!(t.seconds_text(), "2026-07-13T18:04:12Z");
        assert_eq!(t.clock_text(), "18:04:12");
        assert_eq!(t.to_string().parse::<Timestamp>().unwrap(), t);
    }

    #[test]
    fn every_time_survives_json() {
        for us in [0, -1, 1_783_965_852_000_007, i64::MAX, i64::MIN] {
            let json = serde_json::to_string(&Timestamp(us)).unwrap();
            assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), Timestamp(us), "{json}");
        }
        assert!(serde_json::from_str::<Timestamp>("\"soon\"").is_err());
    }

    #[test]
    fn a_clock_that_goes_back_gives_zero() {
        assert_eq!(Timestamp(5).ms_since(Timestamp(9_000_000)), 0);
        assert_eq!(Timestamp(9_000_000).ms_since(Timestamp(0)), 9000);
    }
}
