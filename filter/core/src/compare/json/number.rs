//! Numbers by value: exact decimal comparison without ever making a number of them, so that neither thousands of digits
//! nor an exponent of any size costs more than reading the text.

use std::cmp::Ordering;

use super::hash;

/// A number lexeme taken apart: ± 0.`digits` × 10^(`point` + `exponent`). `digits` may hold the decimal point, which
/// does not count; it neither begins nor ends with 0, and is empty for zero.
struct Decimal<'t> {
    negative: bool,
    digits: &'t [u8],
    point: i64,
    exponent_negative: bool,
    /// Without leading zeros.
    exponent: &'t [u8],
}

impl<'t> Decimal<'t> {
    fn of(lexeme: &'t [u8]) -> Self {
        let (negative, rest) = match lexeme {
            [b'-', rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let end = rest.iter().position(|b| matches!(b, b'e' | b'E')).unwrap_or(rest.len());
        let (mantissa, exponent) = rest.split_at_checked(end).unwrap_or((rest, &[]));
        let (exponent_negative, exponent) = match exponent {
            [_, b'-', digits @ ..] => (true, digits),
            [_, b'+', digits @ ..] | [_, digits @ ..] => (false, digits),
            [] => (false, exponent),
        };
        let point = memchr::memchr(b'.', mantissa).unwrap_or(mantissa.len());
        let zeros = mantissa.iter().take_while(|b| matches!(b, b'0' | b'.')).count();
        // A leading zero behind the point shifts it; the point itself, when passed, is no digit.
        let shift = if zeros > point { zeros.wrapping_sub(1) } else { zeros };
        let digits = mantissa.get(zeros..).unwrap_or_default();
        let last = digits.iter().rposition(|b| !matches!(b, b'0' | b'.')).map_or(0, |last| last.wrapping_add(1));
        let leading = exponent.iter().take_while(|b| **b == b'0').count();
        Self {
            negative,
            digits: digits.get(..last).unwrap_or_default(),
            point: (point as i64).wrapping_sub(shift as i64),
            exponent_negative,
            exponent: exponent.get(leading..).unwrap_or_default(),
        }
    }

    fn digits(&self) -> impl Iterator<Item = u8> {
        self.digits.iter().copied().filter(|b| *b != b'.')
    }

    /// The whole exponent modulo 2^64.
    fn wrapped_exponent(&self) -> i64 {
        let read = self.exponent.iter().fold(0_i64, |sum, b| sum.wrapping_mul(10).wrapping_add(digit(*b)));
        let signed = if self.exponent_negative { read.wrapping_neg() } else { read };
        signed.wrapping_add(self.point)
    }

    /// How much larger this exponent is than the other's; where that passes 2^60, some number beyond it.
    fn exponent_above(&self, other: &Self) -> i64 {
        const FAR: i64 = 1 << 40;
        let width = self.exponent.len().max(other.exponent.len());
        let mut written = 0_i64;
        for place in (0..width).rev() {
            // Once far apart the digits to come cannot bring them together again.
            if written.abs() < FAR {
                let difference = self.exponent_digit(place).wrapping_sub(other.exponent_digit(place));
                written = written.wrapping_mul(10).wrapping_add(difference);
            }
        }
        written.wrapping_add(self.point).wrapping_sub(other.point)
    }

    /// The signed digit of the exponent that counts 10^`place`.
    fn exponent_digit(&self, place: usize) -> i64 {
        let at = self.exponent.len().checked_sub(place.wrapping_add(1));
        let digit = at.and_then(|at| self.exponent.get(at)).map_or(0, |b| digit(*b));
        if self.exponent_negative { digit.wrapping_neg() } else { digit }
    }

    /// The first 18 digits as an integer, with the power of ten that it is to be multiplied by; `None` where that is
    /// no number that a program would mean.
    fn scaled(&self) -> Option<(i128, i64)> {
        if self.digits.is_empty() {
            return Some((0, 0));
        }
        if self.exponent.len() > 9 {
            return None;
        }
        let mut mantissa = 0_i128;
        let mut power = self.wrapped_exponent();
        for b in self.digits().take(18) {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(i128::from(digit(b)));
            power = power.wrapping_sub(1);
        }
        Some((if self.negative { mantissa.wrapping_neg() } else { mantissa }, power))
    }
}

fn digit(b: u8) -> i64 {
    i64::from(b.wrapping_sub(b'0'))
}

/// Whether two number lexemes have the same value.
pub fn equal(one: &[u8], other: &[u8]) -> bool {
    if one == other {
        return true;
    }
    let (one, other) = (Decimal::of(one), Decimal::of(other));
    if one.digits.is_empty() || other.digits.is_empty() {
        return one.digits.is_empty() && other.digits.is_empty();
    }
    one.negative == other.negative && one.digits().eq(other.digits()) && one.exponent_above(&other) == 0
}

/// The number as a program holds it, or next to it: the first 18 digits count. Infinite where it is too large.
pub fn nearest(lexeme: &[u8]) -> f64 {
    let decimal = Decimal::of(lexeme);
    let Some((mantissa, power)) = decimal.scaled() else {
        return if decimal.exponent_negative { 0.0 } else { f64::INFINITY };
    };
    let magnitude = i32::try_from(power.unsigned_abs()).map_or(f64::INFINITY, |power| 10_f64.powi(power));
    // Powers of ten are exact up to 10^22, their fractions are not.
    if power < 0 { mantissa as f64 / magnitude } else { mantissa as f64 * magnitude }
}

/// A hash that lexemes of equal value share.
pub fn hash(lexeme: &[u8]) -> u64 {
    let decimal = Decimal::of(lexeme);
    let exponent = if decimal.digits.is_empty() { 0 } else { decimal.wrapped_exponent().cast_unsigned() };
    let sign = u64::from(decimal.negative && !decimal.digits.is_empty());
    let digits = decimal.digits().fold(0_u64, |sum, b| sum.wrapping_mul(0x0100_0000_01b3) ^ u64::from(b));
    hash::mix(hash::mix(exponent, sign), digits)
}

/// How far apart two numbers may lie; either bound suffices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    /// The largest difference.
    pub absolute: Option<f64>,
    /// The largest difference in proportion to the larger magnitude.
    pub relative: Option<f64>,
}

impl Bounds {
    /// Whether the lexemes' values lie within these bounds.
    ///
    /// Both are read to 18 digits and subtracted as integers, so that 1.1 is within 0.1 of 1.0.
    pub fn allow(self, one: &[u8], other: &[u8]) -> bool {
        // Bounds are binary fractions (0.1 is not quite a tenth): a part in 10^12 makes up for that.
        const SLACK: f64 = 1.0 + 1e-12;
        let (Some(one), Some(other)) = (Decimal::of(one).scaled(), Decimal::of(other).scaled()) else {
            return false;
        };
        let Some((one, other, power)) = aligned(one, other) else {
            return self.relative.is_some_and(|bound| bound >= 1.0);
        };
        let difference = one.abs_diff(other) as f64;
        let larger = one.unsigned_abs().max(other.unsigned_abs()) as f64;
        self.relative.is_some_and(|bound| difference <= larger * bound * SLACK)
            || self.absolute.is_some_and(|bound| difference * 10_f64.powi(power) <= bound * SLACK)
    }
}

/// Both integers for the lower of the two powers of ten; `None` where they lie so far apart that the smaller counts
/// for nothing beside the larger.
fn aligned(one: (i128, i64), other: (i128, i64)) -> Option<(i128, i128, i32)> {
    // Zero fits any power.
    let one = if one.0 == 0 { (0, other.1) } else { one };
    let other = if other.0 == 0 { (0, one.1) } else { other };
    let raised = |value: i128, by: i64| {
        let factor = 10_i128.checked_pow(u32::try_from(by).ok()?)?;
        value.checked_mul(factor)
    };
    let (one, other, power) = match one.1.cmp(&other.1) {
        Ordering::Less => (one.0, raised(other.0, other.1.wrapping_sub(one.1))?, one.1),
        Ordering::Equal => (one.0, other.0, one.1),
        Ordering::Greater => (raised(one.0, one.1.wrapping_sub(other.1))?, other.0, other.1),
    };
    Some((one, other, i32::try_from(power).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_equal_by_value() {
        let zeros = "0".repeat(5000);
        let long = format!("1{zeros}");
        let long_fraction = format!("0.{zeros}1");
        let huge = "9".repeat(5000);
        for (one, other) in [
            ("1", "1.0"),
            ("1", "1e0"),
            ("1", "10e-1"),
            ("1", "0.1E+1"),
            ("-0", "0"),
            ("0.00", "-0e99999999999999999999"),
            ("100", "1e2"),
            ("0.05", "5e-2"),
            ("0.0500", "0.5e-1"),
            ("120.50", "1.205e2"),
            ("-12", "-0.12e002"),
            (&long, "1e5000"),
            (&long_fraction, "1e-5001"),
            ("1e99999999999999999999", "10e99999999999999999998"),
            ("1e-100000000000000000000", "0.1e-99999999999999999999"),
            (&format!("1e{huge}"), &format!("10e{}8", "9".repeat(4999))),
            (&format!("0.1e1{zeros}"), &format!("1e{huge}")),
        ] {
            assert!(equal(one.as_bytes(), other.as_bytes()), "{one} {other}");
            assert!(equal(other.as_bytes(), one.as_bytes()), "{other} {one}");
            assert_eq!(hash(one.as_bytes()), hash(other.as_bytes()), "{one} {other}");
        }
    }

    #[test]
    fn numbers_of_other_value_differ() {
        for (one, other) in [
            ("1", "-1"),
            ("0", "1"),
            ("1", "10"),
            ("1", "0.1"),
            ("9007199254740993", "9007199254740992"),
            ("0.1", "0.10000000000000000000001"),
            ("1e400", "1e401"),
            ("1e-400", "0"),
            ("1e5", "1e-5"),
            ("1e99999999999999999999", "1e99999999999999999998"),
            ("1e18446744073709551616", "1"),
            ("1e18446744073709551616", "1e36893488147419103232"),
            ("101", "11"),
            ("10.1", "1.01"),
        ] {
            assert!(!equal(one.as_bytes(), other.as_bytes()), "{one} {other}");
            assert!(!equal(other.as_bytes(), one.as_bytes()), "{other} {one}");
        }
    }

    #[test]
    fn numbers_are_read_as_programs_hold_them() {
        for lexeme in
            ["0", "-0.0", "1", "-2.5", "0.1", "0.001", "1e-3", "123456.789", "9007199254740993", "1e22", "1E+20"]
        {
            assert_eq!(Ok(nearest(lexeme.as_bytes())), lexeme.parse(), "{lexeme}");
        }
        assert_eq!(nearest(b"0e9999999999"), 0.0);
        assert_eq!(nearest(b"1e-9999999999"), 0.0);
        assert_eq!(nearest(b"1e400"), f64::INFINITY);
        assert_eq!(nearest(b"1e9999999999"), f64::INFINITY);
    }

    #[test]
    fn bounds_hold_at_their_edges() {
        let absolute = |bound| Bounds { absolute: Some(bound), relative: None };
        let relative = |bound| Bounds { absolute: None, relative: Some(bound) };
        for (bounds, one, other, allowed) in [
            (absolute(0.1), "1.0", "1.1", true),
            (absolute(0.1), "0.3", "0.2", true),
            (absolute(0.1), "1.0", "1.1000000001", false),
            (absolute(0.0), "1", "1.0", true),
            (absolute(0.0), "1", "2", false),
            (absolute(0.5), "9007199254740993", "9007199254740992", false),
            (absolute(1.0), "9007199254740993", "9007199254740992", true),
            (absolute(5.0), "-2", "3", true),
            (absolute(5.0), "0", "1e99999999999999999999", false),
            (absolute(1e6), "1e30", "1e-30", false),
            (relative(0.1), "90", "100", true),
            (relative(0.1), "0.9", "1.0", true),
            (relative(0.1), "89.9", "100", false),
            (relative(0.1), "-1", "1", false),
            (relative(2.0), "-1", "1", true),
            (relative(0.5), "0", "5", false),
            (relative(1.0), "1e-300", "1e300", true),
            (relative(0.01), "1e1000", "1.01e1000", true),
            (relative(0.01), "1e1000", "1.02e1000", false),
        ] {
            assert_eq!(bounds.allow(one.as_bytes(), other.as_bytes()), allowed, "{bounds:?} {one} {other}");
            assert_eq!(bounds.allow(other.as_bytes(), one.as_bytes()), allowed, "{bounds:?} {other} {one}");
        }
    }
}
