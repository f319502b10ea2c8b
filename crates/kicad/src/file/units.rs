//! Exact lengths and angles.

use std::fmt;

/// Nanometres in a millimetre.
const NM_PER_MM: i64 = 1_000_000;

/// Decimal places that are kept: nanometres of a millimetre, millionths of a degree.
const KEPT_PLACES: i32 = 6;

/// Largest exponent that is read, in decimal places either way.
const MAX_EXPONENT: i32 = 20;

/// A length in nanometres, KiCad's own smallest unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nm(pub i64);

impl Nm {
    /// Reads millimetres as KiCad writes them: `-12.345678`. More than six places are rounded half away from zero.
    /// `None` for anything that is no decimal number or does not fit.
    #[must_use]
    pub fn from_mm(text: &[u8]) -> Option<Self> {
        millionths(text).map(Nm)
    }

    /// The length as decimal text in millimetres, without needless zeros.
    #[must_use]
    pub fn to_mm(self) -> String {
        let sign = if self.0 < 0 { "-" } else { "" };
        let whole = self.0.unsigned_abs() / NM_PER_MM.unsigned_abs();
        let rest = self.0.unsigned_abs() % NM_PER_MM.unsigned_abs();
        let text = format!("{sign}{whole}.{rest:06}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

impl fmt::Display for Nm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} mm", self.to_mm())
    }
}

/// An angle in millionths of a degree, counter-clockwise on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Angle(pub i64);

/// Millionths of a degree in a quarter turn.
const QUARTER: i64 = 90_000_000;

impl Angle {
    /// Reads degrees; rules as for [`Nm::from_mm`].
    #[must_use]
    pub fn from_degrees(text: &[u8]) -> Option<Self> {
        millionths(text).map(Angle)
    }
}

/// A point: x to the right, y **down**, from the corner of the sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Place {
    /// To the right.
    pub x: Nm,
    /// Down.
    pub y: Nm,
}

impl Place {
    /// The place of a point that is given relative to `origin`, after turning by `angle`. Quarter turns are exact,
    /// other angles are right to a nanometre. Sums that do not fit saturate.
    #[must_use]
    pub fn of_relative(origin: Place, angle: Angle, relative: Place) -> Place {
        let (x, y) = (relative.x.0, relative.y.0);
        let (dx, dy) = match angle.0.rem_euclid(4 * QUARTER) {
            0 => (x, y),
            QUARTER => (y, x.saturating_neg()),
            a if a == 2 * QUARTER => (x.saturating_neg(), y.saturating_neg()),
            a if a == 3 * QUARTER => (y.saturating_neg(), x),
            a => turned(a, x, y),
        };
        Place { x: Nm(origin.x.0.saturating_add(dx)), y: Nm(origin.y.0.saturating_add(dy)) }
    }

    /// Whether two places are at most `tolerance` apart in x and in y.
    #[must_use]
    pub fn is_near(self, other: Place, tolerance: Nm) -> bool {
        let near = |a: Nm, b: Nm| a.0.abs_diff(b.0) <= tolerance.0.unsigned_abs();
        near(self.x, other.x) && near(self.y, other.y)
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "boards are below 2^53 nm wide"
)]
fn turned(millionths: i64, x: i64, y: i64) -> (i64, i64) {
    let (sin, cos) = (millionths as f64 / 1e6).to_radians().sin_cos();
    let (x, y) = (x as f64, y as f64);
    ((y * sin + x * cos).round() as i64, (y * cos - x * sin).round() as i64)
}

/// A decimal number times a million, exactly, rounded half away from zero beyond that.
fn millionths(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (digits, exponent) = match digits.iter().position(|b| matches!(b, b'e' | b'E')) {
        Some(at) => {
            (&digits[..at], std::str::from_utf8(&digits[at + 1..]).ok()?.parse::<i32>().ok()?)
        }
        None => (digits, 0),
    };
    if exponent.abs() > MAX_EXPONENT || digits.is_empty() {
        return None;
    }
    let point = digits.iter().position(|b| *b == b'.').unwrap_or(digits.len());
    let mut wanted = i32::try_from(point).ok()? + exponent + KEPT_PLACES;
    let mut value = 0_i64;
    let (mut seen, mut round_up, mut rounded) = (false, false, false);
    for &byte in digits.iter().enumerate().filter(|(at, _)| *at != point).map(|(_, b)| b) {
        let digit = i64::from(char::from(byte).to_digit(10)?);
        seen = true;
        if wanted > 0 {
            value = value.checked_mul(10)?.checked_add(digit)?;
        } else if wanted == 0 && !rounded {
            round_up = digit >= 5;
            rounded = true;
        }
        wanted -= 1;
    }
    for _ in 0..wanted.max(0) {
        value = value.checked_mul(10)?;
    }
    value = value.checked_add(i64::from(round_up))?;
    seen.then_some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_decimals_exactly() {
        let table: [(&str, Option<i64>); 17] = [
            ("0", Some(0)),
            ("-0", Some(0)),
            ("12.345678", Some(12_345_678)),
            ("-0.000001", Some(-1)),
            ("+1.5", Some(1_500_000)),
            (".5", Some(500_000)),
            ("5.", Some(5_000_000)),
            ("0.0000005", Some(1)),
            ("0.00000049", Some(0)),
            ("-1.0000005", Some(-1_000_001)),
            ("1e-06", Some(1)),
            ("2.5E1", Some(25_000_000)),
            ("", None),
            (".", None),
            ("1.2.3", None),
            ("1mm", None),
            ("99999999999999999999", None),
        ];
        for (text, expected) in table {
            assert_eq!(Nm::from_mm(text.as_bytes()).map(|n| n.0), expected, "{text}");
        }
    }

    #[test]
    fn quarter_turns_are_exact() {
        let at = |x, y| Place { x: Nm(x), y: Nm(y) };
        let turn =
            |degrees: i64| Place::of_relative(at(10, 20), Angle(degrees * 1_000_000), at(3, 1));
        assert_eq!(turn(0), at(13, 21));
        assert_eq!(turn(90), at(11, 17));
        assert_eq!(turn(180), at(7, 19));
        assert_eq!(turn(-90), at(9, 23));
        assert_eq!(turn(450), turn(90));
    }

    proptest! {
        #[test]
        fn text_round_trips(value in -1_000_000_000_000_i64..1_000_000_000_000) {
            prop_assert_eq!(Nm::from_mm(Nm(value).to_mm().as_bytes()), Some(Nm(value)));
        }

        #[test]
        fn turning_back_gives_the_point(x in -1_000_000_000_i64..1_000_000_000, y in -1_000_000_000_i64..1_000_000_000,
                                        a in 0_i64..360_000_000) {
            let here = Place { x: Nm(x), y: Nm(y) };
            let there = Place::of_relative(Place::default(), Angle(a), here);
            prop_assert!(Place::of_relative(Place::default(), Angle(-a), there).is_near(here, Nm(2)));
        }

        #[test]
        fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..30)) {
            let _value = Nm::from_mm(&bytes);
        }
    }
}
