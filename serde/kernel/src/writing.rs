//! How values are written: the description of Python's, looked through, and the decimals.

use arrow_buffer::i256;
use serde::Deserialize;

/// How a value of a type is written.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Write {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    String,
    Bytes,
    Fixed {
        size: usize,
    },
    Enum {
        symbols: Vec<String>,
    },
    Date,
    /// Of so many numbers a second, in a day.
    Time {
        per_second: i64,
        is_cut: bool,
    },
    Timestamp {
        per_second: i64,
        is_cut: bool,
        is_local: bool,
    },
    /// `size` 0 for bytes.
    Decimal {
        size: usize,
        precision: u32,
        scale: i32,
        /// True to leave to Python what fastavro writes in more bytes, or refuses.
        is_fastavros: bool,
    },
    /// Null, and one type beside it: the number of the branch of each; no null where that is none.
    Beside {
        null: Option<u32>,
        branch: u32,
        value: usize,
    },
    List {
        items: usize,
    },
    Map {
        values: usize,
    },
    Entries {
        key: usize,
        value: usize,
    },
    Record {
        fields: Vec<WriteField>,
    },
}

/// A field of a record.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteField {
    /// Its name in a row; None for one that no row has.
    pub key: Option<String>,
    pub value: usize,
    /// What is written where a row lacks it.
    pub missing: Option<Vec<u8>>,
    /// What null is written as; None for null.
    pub null: Option<Vec<u8>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    writes: Vec<Write>,
    root: usize,
    levels: u32,
}

pub struct Writing {
    writes: Vec<Write>,
    pub root: usize,
    pub levels: u32,
}

impl Writing {
    /// How to write, or why the description says none.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        const MOST_LEVELS: u32 = 1_000;
        let given: Description = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let levels = given.levels.min(MOST_LEVELS);
        let writing = Self { writes: given.writes, root: given.root, levels };
        writing.check()?;
        Ok(writing)
    }

    #[inline]
    pub fn write(&self, number: usize) -> &Write {
        &self.writes[number]
    }

    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    fn check(&self) -> Result<(), String> {
        let there = |number: usize| {
            if number < self.writes.len() { Ok(()) } else { Err(format!("there is no writing {number}")) }
        };
        there(self.root)?;
        self.writes.iter().try_for_each(|write| match write {
            Write::Beside { value: part, .. } | Write::List { items: part } | Write::Map { values: part } => {
                there(*part)
            }
            Write::Entries { key, value } => there(*key).and_then(|()| there(*value)),
            Write::Record { fields } => fields.iter().try_for_each(|field| there(field.value)),
            _ => Ok(()),
        })
    }
}

/// The bytes of an unscaled number, as few as hold it with its sign (Java's `BigInteger.toByteArray`), or as many as the type
/// has; None if it does not fit.
pub fn decimal_bytes(unscaled: i256, precision: u32, size: usize, out: &mut Vec<u8>) -> Option<()> {
    let bound = i256::from_i128(10).checked_pow(precision.min(76))?;
    if !(unscaled < bound && unscaled > bound.wrapping_neg()) {
        return None;
    }
    let wide = unscaled.to_be_bytes();
    let sign = if unscaled < i256::ZERO { 0xff } else { 0x00 };
    let mut from = 0;
    // A byte of nothing but the sign goes, as long as the next one has it too.
    while from < wide.len() - 1 && wide[from] == sign && (wide[from + 1] ^ sign) & 0x80 == 0 {
        from += 1;
    }
    let short = &wide[from..];
    if size == 0 {
        crate::sink::put_sized(out, short);
    } else {
        out.resize(out.len() + size.checked_sub(short.len())?, sign);
        out.extend_from_slice(short);
    }
    Some(())
}

/// A number's text, as Python's `str` of a Decimal, as an unscaled number of the scale; None if it would lose digits, has too
/// many, or is none.
pub fn unscaled_of_text(text: &str, scale: i32) -> Option<i256> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (digits, exponent) = match digits.split_once('E') {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (digits, 0),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let mut number: i128 = 0;
    for byte in whole.bytes().chain(part.bytes()) {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        // 38 digits; longer numbers are rare, and Python's.
        number = number.checked_mul(10)?.checked_add(i128::from(digit))?;
    }
    if whole.is_empty() {
        return None;
    }
    let behind = i32::try_from(part.len()).ok()?.checked_sub(exponent)?;
    let shift = scale.checked_sub(behind)?;
    let by = 10_i128.checked_pow(shift.unsigned_abs())?;
    let number = if shift >= 0 {
        number.checked_mul(by)?
    } else if number % by == 0 {
        number / by
    } else {
        return None;
    };
    Some(i256::from_i128(if is_negative { -number } else { number }))
}

/// Whether fastavro writes a decimal as Java does: it refuses more digits behind the point than the scale has, zeros too, and
/// writes the least number of so many bytes in one more.
pub fn is_written_alike(text: &str, unscaled: i256, scale: i32) -> bool {
    let behind = text.split_once('.').map_or(0, |(_, part)| part.len());
    let is_least_of_its_bytes = unscaled < i256::ZERO && {
        let bits = unscaled.wrapping_neg().to_be_bytes();
        bits.iter().map(|byte| byte.count_ones()).sum::<u32>() == 1 && bits.contains(&0x80)
    };
    !text.contains('E') && i32::try_from(behind).is_ok_and(|behind| behind <= scale) && !is_least_of_its_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(unscaled: i128, size: usize) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        decimal_bytes(i256::from_i128(unscaled), 38, size, &mut out)?;
        Some(out)
    }

    #[test]
    fn decimals_have_as_few_bytes_as_java_writes() {
        assert_eq!(bytes_of(0, 0), Some(vec![2, 0]));
        assert_eq!(bytes_of(-128, 0), Some(vec![2, 0x80]));
        assert_eq!(bytes_of(128, 0), Some(vec![4, 0x00, 0x80]));
        assert_eq!(bytes_of(-129, 0), Some(vec![4, 0xff, 0x7f]));
        assert_eq!(bytes_of(-1, 3), Some(vec![0xff, 0xff, 0xff]));
        assert_eq!(bytes_of(128, 1), None);
    }

    #[test]
    fn what_fastavro_writes_otherwise_is_told_apart() {
        let alike = |text: &str, scale| is_written_alike(text, unscaled_of_text(text, scale).unwrap(), scale);
        assert!(alike("1.23", 2) && alike("1.2", 2) && alike("-1.27", 2) && alike("-1.29", 2) && alike("1.28", 2));
        assert!(!alike("1.230", 2) && !alike("1E+2", 2) && !alike("-1.28", 2) && !alike("-327.68", 2));
    }

    #[test]
    fn a_decimals_text_is_never_rounded() {
        let of = |text, scale| unscaled_of_text(text, scale).and_then(|number| number.to_i128());
        assert_eq!(of("1.23", 2), Some(123));
        assert_eq!(of("-1.230", 2), Some(-123));
        assert_eq!(of("1.231", 2), None);
        assert_eq!(of("1E+3", 1), Some(10_000));
        assert_eq!(of("0E-10", 2), Some(0));
        assert_eq!(of("NaN", 2), None);
        assert_eq!(of("Infinity", 2), None);
        assert_eq!(of("12", 0), Some(12));
    }
}
