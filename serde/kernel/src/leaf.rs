//! Values without parts, as columns hold them.

use arrow_buffer::i256;

use crate::cursor::{Bad, Cursor, Reason};
use crate::description::{Becomes, Read};

/// The years 1 to 9999, which are all that Python's dates have.
pub const DAYS: std::ops::RangeInclusive<i64> = -719_162..=2_932_896;
pub const MICROS: std::ops::RangeInclusive<i64> = -62_135_596_800_000_000..=253_402_300_799_999_999;
const DAY_SECONDS: i64 = 86_400;
/// Connect's `Time` takes 24:00, too.
pub const DAY_MILLIS: i64 = 86_400_000;
/// What 256 bits hold.
const MOST_DECIMAL_BYTES: usize = 32;

/// A value of a leaf.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Null,
    Boolean(bool),
    Long(i64),
    Double(f64),
    Text(&'a str),
    Bytes(&'a [u8]),
    Digits(Digits),
    /// Days since 1970.
    Date(i32),
    /// Microseconds of the day.
    Time(i64),
    /// Microseconds since 1970.
    Timestamp(i64),
    LocalTimestamp(i64),
    /// An unscaled number, and how many of its digits stand behind the point.
    Decimal(i256, i32),
    Uuid(&'a str),
}

/// A number as text, without memory of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Digits {
    bytes: [u8; 20],
    from: usize,
}

impl Digits {
    pub fn of(number: i64) -> Self {
        let mut bytes = [0; 20];
        let mut from = bytes.len();
        let mut left = number.unsigned_abs();
        loop {
            from -= 1;
            bytes[from] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        if number < 0 {
            from -= 1;
            bytes[from] = b'-';
        }
        Self { bytes, from }
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[self.from..]).unwrap_or_default()
    }
}

/// The value, for a reading without parts.
#[inline]
pub fn leaf<'a>(read: &'a Read, cursor: &mut Cursor<'a>) -> Result<Value<'a>, Bad> {
    Ok(match read {
        Read::Null => Value::Null,
        Read::Boolean { as_text } => {
            let value = cursor.boolean()?;
            if *as_text { Value::Text(if value { "true" } else { "false" }) } else { Value::Boolean(value) }
        }
        Read::Number { is_long, bits, within_a_day, becomes } => {
            let mut number = if *is_long { cursor.long()? } else { i64::from(cursor.int()?) };
            match bits {
                8 => number = i64::from(number as i8),
                16 => number = i64::from(number as i16),
                _ => {}
            }
            if *within_a_day && !(0..=DAY_MILLIS).contains(&number) {
                return Err(cursor.bad(Reason::Misfit));
            }
            if let Becomes::Same = becomes {
                Value::Long(number)
            } else {
                became(number, *becomes).ok_or_else(|| cursor.bad(Reason::Misfit))?
            }
        }
        Read::Float => Value::Double(f64::from(f32::from_le_bytes(cursor.array()?))),
        Read::Double => Value::Double(f64::from_le_bytes(cursor.array()?)),
        Read::Bytes => Value::Bytes(cursor.sized()?),
        Read::Fixed { size } => Value::Bytes(cursor.take(*size)?),
        Read::String => Value::Text(cursor.text()?),
        Read::Uuid => Value::Uuid(cursor.text()?),
        Read::Enum { symbols } => Value::Text(&symbols[cursor.index(symbols.len())?]),
        Read::Decimal { size, scale, precision, to_scale } => {
            let bytes = if *size == 0 { cursor.sized()? } else { cursor.take(*size)? };
            let unscaled = unscaled(bytes).ok_or_else(|| cursor.bad(Reason::Misfit))?;
            if *precision == 0 {
                Value::Decimal(unscaled, *scale)
            } else {
                let fitted =
                    fitted(unscaled, *scale, *precision, *to_scale).ok_or_else(|| cursor.bad(Reason::Misfit))?;
                Value::Decimal(fitted, *to_scale)
            }
        }
        _ => return Err(cursor.bad(Reason::Refused)),
    })
}

/// What a number becomes; None of what that does not hold.
#[inline]
pub fn became(number: i64, becomes: Becomes) -> Option<Value<'static>> {
    Some(match becomes {
        Becomes::Same => Value::Long(number),
        Becomes::Text => Value::Digits(Digits::of(number)),
        Becomes::Float => Value::Double(f64::from(number as f32)),
        Becomes::Double => Value::Double(number as f64),
        Becomes::Date => Value::Date(DAYS.contains(&number).then_some(number as i32)?),
        Becomes::Time(per_second) => {
            if !(0..DAY_SECONDS * per_second).contains(&number) {
                return None;
            }
            Value::Time(micros(number, per_second)?)
        }
        Becomes::Timestamp(per_second) => Value::Timestamp(instant(number, per_second)?),
        Becomes::LocalTimestamp(per_second) => Value::LocalTimestamp(instant(number, per_second)?),
    })
}

fn instant(number: i64, per_second: i64) -> Option<i64> {
    micros(number, per_second).filter(|micros| MICROS.contains(micros))
}

/// Whole microseconds; None of what has parts of one, or too many.
fn micros(number: i64, per_second: i64) -> Option<i64> {
    const PER_SECOND: i64 = 1_000_000;
    if per_second <= PER_SECOND {
        return number.checked_mul(PER_SECOND / per_second);
    }
    let finer = per_second / PER_SECOND;
    (number % finer == 0).then(|| number / finer)
}

/// The number of two's-complement bytes; None of no bytes, and of more than 256 bits hold.
fn unscaled(bytes: &[u8]) -> Option<i256> {
    let first = *bytes.first()?;
    let sign = if first & 0x80 == 0 { 0x00 } else { 0xff };
    if bytes.len() <= 16 {
        let mut wide = [sign; 16];
        wide[16 - bytes.len()..].copy_from_slice(bytes);
        return Some(i256::from_i128(i128::from_be_bytes(wide)));
    }
    if bytes.len() > MOST_DECIMAL_BYTES {
        return None;
    }
    let mut wide = [sign; MOST_DECIMAL_BYTES];
    wide[MOST_DECIMAL_BYTES - bytes.len()..].copy_from_slice(bytes);
    Some(i256::from_be_bytes(wide))
}

/// The number with the column's scale; None if it would lose digits, or has too many.
pub fn fitted(unscaled: i256, scale: i32, precision: u32, to_scale: i32) -> Option<i256> {
    // Most decimals are short.
    if let (Some(short), 0..=38) = (unscaled.to_i128(), precision)
        && let Some(fitted) = fitted_short(short, scale, precision, to_scale)
    {
        return fitted.map(i256::from_i128);
    }
    let number = if to_scale >= scale {
        unscaled.checked_mul(power(u32::try_from(to_scale - scale).ok()?)?)?
    } else {
        let by = power(u32::try_from(scale - to_scale).ok()?)?;
        if unscaled.checked_rem(by)? != i256::ZERO {
            return None;
        }
        unscaled.checked_div(by)?
    };
    let bound = power(precision)?;
    (number < bound && number > bound.wrapping_neg()).then_some(number)
}

/// As `fitted`, in 128 bits; None if they do not suffice to tell.
fn fitted_short(unscaled: i128, scale: i32, precision: u32, to_scale: i32) -> Option<Option<i128>> {
    let number = match to_scale - scale {
        0 => unscaled,
        more @ 1.. => unscaled.checked_mul(10_i128.checked_pow(more.unsigned_abs())?)?,
        less => {
            let by = 10_i128.checked_pow(less.unsigned_abs())?;
            if unscaled % by != 0 {
                return Some(None);
            }
            unscaled / by
        }
    };
    Some((number.unsigned_abs() < 10_u128.checked_pow(precision)?).then_some(number))
}

fn power(of_ten: u32) -> Option<i256> {
    if of_ten > 76 { None } else { i256::from_i128(10).checked_pow(of_ten) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_the_least_number() {
        assert_eq!(Digits::of(i64::MIN).as_str(), "-9223372036854775808");
        assert_eq!(Digits::of(0).as_str(), "0");
    }

    #[test]
    fn decimals_are_never_rounded() {
        let number = |value: i128| i256::from_i128(value);
        assert_eq!(fitted(number(1230), 3, 6, 2), Some(number(123)));
        assert_eq!(fitted(number(1231), 3, 6, 2), None);
        assert_eq!(fitted(number(123), 2, 6, 4), Some(number(12300)));
        assert_eq!(fitted(number(12345), 2, 4, 2), None);
        assert_eq!(fitted(number(-9999), 2, 4, 2), Some(number(-9999)));
    }

    #[test]
    fn a_decimal_of_no_bytes_is_none() {
        assert_eq!(unscaled(&[]), None);
        assert_eq!(unscaled(&[0x80]), Some(i256::from_i128(-128)));
        assert_eq!(unscaled(&[0x00; 33]), None);
        assert_eq!(unscaled(&[0xff; 20]), Some(i256::from_i128(-1)));
    }

    #[test]
    fn a_float_is_rounded_once() {
        // By way of 64 bits it would be rounded twice, to another float.
        let number = (1 << 60) + (1 << 36) + 1;
        assert_eq!(became(number, Becomes::Float), Some(Value::Double(f64::from(number as f32))));
        assert_ne!(number as f32, number as f64 as f32);
        assert_eq!(became(16_777_217, Becomes::Float), Some(Value::Double(16_777_216.0)));
        assert_eq!(became(16_777_217, Becomes::Double), Some(Value::Double(16_777_217.0)));
    }

    #[test]
    fn nanoseconds_that_are_no_microseconds_do_not_fit() {
        assert_eq!(micros(1_000, 1_000_000_000), Some(1));
        assert_eq!(micros(1_001, 1_000_000_000), None);
        assert_eq!(micros(-1_000, 1_000_000_000), Some(-1));
        assert_eq!(micros(i64::MAX, 1_000), None);
    }
}
