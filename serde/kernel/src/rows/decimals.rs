//! Decimals of one scale, written with another: exactly, or not at all.

use arrow_buffer::i256;

use crate::sink::put_long;
use crate::writing::decimal_bytes;

/// What an array's decimals become.
pub struct Fit {
    /// By how many digits the schema's scale is the larger.
    shift: i32,
    /// Ten to the power of that, whichever is larger; None beyond 128 bits.
    by: Option<i128>,
    /// What a number stays below; None beyond 128 bits, which none of those reaches.
    bound: Option<i128>,
    precision: u32,
    /// 0 for bytes.
    size: usize,
}

impl Fit {
    pub fn new(from_scale: i8, precision: u32, scale: i32, size: usize) -> Option<Self> {
        let shift = scale.checked_sub(i32::from(from_scale))?;
        let ten = 10_i128;
        Some(Self {
            shift,
            by: ten.checked_pow(shift.unsigned_abs()),
            bound: ten.checked_pow(precision),
            precision,
            size,
        })
    }

    /// Appends an unscaled number, of 128 bits or more.
    #[inline]
    pub fn put(&self, unscaled: Result<i128, i256>, out: &mut Vec<u8>) -> Option<()> {
        if let (Ok(number), Some(by)) = (unscaled, self.by) {
            if self.shift < 0 {
                return if number % by == 0 { self.put_short(number / by, out) } else { None };
            }
            if let Some(number) = if self.shift == 0 { Some(number) } else { number.checked_mul(by) } {
                return self.put_short(number, out);
            }
        }
        self.put_long(unscaled.map_or_else(|wide| wide, i256::from_i128), out)
    }

    fn put_short(&self, number: i128, out: &mut Vec<u8>) -> Option<()> {
        if self.bound.is_some_and(|bound| number >= bound || number <= -bound) {
            return None;
        }
        let bits = 128 - (if number < 0 { !number } else { number }).leading_zeros();
        // One more, for the sign.
        let len = bits as usize / 8 + 1;
        if self.size == 0 {
            put_long(out, len as i64);
        } else {
            out.resize(out.len() + self.size.checked_sub(len)?, if number < 0 { 0xff } else { 0x00 });
        }
        let wide = number.to_be_bytes();
        out.extend_from_slice(wide.get(wide.len().checked_sub(len)?..)?);
        Some(())
    }

    #[cold]
    fn put_long(&self, number: i256, out: &mut Vec<u8>) -> Option<()> {
        const MOST_DIGITS: u32 = 76;
        let shift = self.shift.unsigned_abs();
        if shift > MOST_DIGITS {
            return None;
        }
        let by = i256::from_i128(10).checked_pow(shift)?;
        let number = if self.shift >= 0 {
            number.checked_mul(by)?
        } else if number.checked_rem(by)? == i256::ZERO {
            number.checked_div(by)?
        } else {
            return None;
        };
        decimal_bytes(number, self.precision, self.size, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(number: Result<i128, i256>, from_scale: i8, fit: (u32, i32, usize)) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        Fit::new(from_scale, fit.0, fit.1, fit.2)?.put(number, &mut out)?;
        Some(out)
    }

    #[test]
    fn a_scale_is_changed_without_rounding() {
        assert_eq!(bytes_of(Ok(1_230), 3, (6, 2, 0)), Some(vec![2, 123]));
        assert_eq!(bytes_of(Ok(1_231), 3, (6, 2, 0)), None);
        assert_eq!(bytes_of(Ok(-1), -2, (6, 0, 0)), Some(vec![2, 0x9c]));
        assert_eq!(bytes_of(Ok(1), 0, (6, 5, 0)), Some(vec![6, 0x01, 0x86, 0xa0]));
        assert_eq!(bytes_of(Ok(1), 0, (5, 5, 0)), None);
        assert_eq!(bytes_of(Ok(0), 0, (1, 0, 0)), Some(vec![2, 0]));
    }

    #[test]
    fn short_and_long_numbers_have_the_same_bytes() {
        for number in [0, 1, -1, 127, 128, -128, -129, 32_767, 32_768, i128::from(i64::MAX), i128::MAX, i128::MIN] {
            for size in [0, 2, 16, 20] {
                let (mut long, fit) = (Vec::new(), (60, 0, size));
                let longs = decimal_bytes(i256::from_i128(number), 60, size, &mut long).map(|()| long);
                assert_eq!(bytes_of(Ok(number), 0, fit), longs, "{number} in {size} bytes");
            }
        }
        let nines = i256::from_string(&"9".repeat(76)).unwrap();
        assert!(bytes_of(Err(nines), 0, (76, 0, 0)).is_some());
        assert_eq!(bytes_of(Err(nines), 0, (75, 0, 0)), None);
        assert_eq!(bytes_of(Err(nines), 0, (76, 1, 0)), None);
    }

    #[test]
    fn a_number_that_needs_more_than_128_bits_with_the_other_scale_is_written_too() {
        let number = 10_i128.pow(38) - 1;
        assert_eq!(bytes_of(Ok(number), 0, (76, 10, 0)).map(|bytes| bytes.len()), Some(22));
        assert_eq!(bytes_of(Ok(number), 0, (47, 10, 0)), None);
    }
}
