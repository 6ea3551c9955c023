//! Numbers by their text, exactly; None of what is left to Python.

use arrow_buffer::i256;

use crate::leaf::fitted;

/// More digits than these are Python's, and so are exponents beyond.
const MOST_DIGITS: usize = 38;
const MOST_EXPONENT: i32 = 99;
const SAFE_DIGITS: usize = 18;

/// A whole number of 64 bits. Minus zero, which is no int everywhere, is none.
#[inline]
pub fn whole(token: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match token {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) || (is_negative && digits == b"0") {
        return None;
    }
    if digits.len() > SAFE_DIGITS {
        return std::str::from_utf8(token).ok()?.parse().ok();
    }
    let size = digits.iter().fold(0_i64, |size, digit| size * 10 + i64::from(digit - b'0'));
    Some(if is_negative { -size } else { size })
}

/// A whole number in a string, as Java's `parseLong` reads it.
pub fn whole_of_text(text: &str) -> Option<i64> {
    if text.len() > SAFE_DIGITS { None } else { whole(text.as_bytes()) }
}

/// The nearest double of a number of JSON, if it is finite.
#[inline]
pub fn double(token: &[u8]) -> Option<f64> {
    if let Some(whole) = whole(token) {
        return Some(whole as f64);
    }
    // A minus zero without a point is an int to some.
    if !token.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
        return None;
    }
    std::str::from_utf8(token).ok()?.parse().ok().filter(|number: &f64| number.is_finite())
}

/// A number of JSON as a decimal of the column's scale, if it fits without rounding.
pub fn decimal(token: &[u8], precision: u32, to_scale: i32) -> Option<i256> {
    let (digits, exponent) = match token.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        None => (token, 0),
        Some(at) => (&token[..at], exponent(&token[at + 1..])?),
    };
    let (is_negative, digits) = match digits {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let mut unscaled = 0_i128;
    let (mut count, mut scale, mut is_fraction) = (0, 0, false);
    for byte in digits {
        match byte {
            b'.' if !is_fraction => is_fraction = true,
            b'0'..=b'9' => {
                // Zeros in front are no digits.
                count += usize::from(count > 0 || *byte != b'0');
                if count > MOST_DIGITS {
                    return None;
                }
                unscaled = unscaled * 10 + i128::from(byte - b'0');
                scale += i32::from(is_fraction);
            }
            _ => return None,
        }
    }
    let unscaled = i256::from_i128(if is_negative { -unscaled } else { unscaled });
    fitted(unscaled, scale - exponent, precision, to_scale)
}

fn exponent(text: &[u8]) -> Option<i32> {
    let exponent: i32 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (-MOST_EXPONENT..=MOST_EXPONENT).contains(&exponent).then_some(exponent)
}

/// A number in a string, as a BigDecimal reads it: digits, and perhaps digits behind a point.
pub fn decimal_of_text(text: &str, precision: u32, to_scale: i32) -> Option<i256> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (front, behind) = digits.split_once('.').unwrap_or((digits, "0"));
    let are_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(front) || !are_digits(behind) {
        return None;
    }
    decimal(text.as_bytes(), precision, to_scale)
}

/// Java's text of a number of JSON, where it is the number's own: whole, or with a fraction and no exponent, and not so small
/// that a BigDecimal would have one.
pub fn own_text(token: &[u8]) -> Option<&str> {
    const PLAIN_FRACTION: usize = 6;
    let text = std::str::from_utf8(token).ok()?;
    let size = text.strip_prefix('-').unwrap_or(text);
    if size.bytes().any(|byte| matches!(byte, b'e' | b'E')) {
        return None;
    }
    let is_own = match size.split_once('.') {
        // Minus zero has no sign in Java.
        None => text != "-0",
        Some(("0", fraction)) => {
            fraction.len() <= PLAIN_FRACTION && (text == size || fraction.bytes().any(|byte| byte != b'0'))
        }
        Some(_) => true,
    };
    is_own.then_some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn whole_numbers_end_where_64_bits_do() {
        assert_eq!(whole(b"9223372036854775807"), Some(i64::MAX));
        assert_eq!(whole(b"-9223372036854775808"), Some(i64::MIN));
        for none in ["9223372036854775808", "-0", "-", "", "1.0", "1e3", "+1"] {
            assert_eq!(whole(none.as_bytes()), None, "{none}");
        }
    }

    #[test]
    fn doubles_are_finite_and_no_minus_zero_is_whole() {
        assert_eq!(double(b"0.1"), Some(0.1));
        assert_eq!(double(b"-0.0").map(f64::to_bits), Some((-0.0_f64).to_bits()));
        assert_eq!(double(b"9007199254740993"), Some(9_007_199_254_740_992.0));
        assert_eq!(double(b"1e999"), None);
        assert_eq!(double(b"-0"), None);
        assert_eq!(double(b"99999999999999999999"), None);
    }

    #[test]
    fn decimals_are_never_rounded() {
        let of = |text: &str| decimal(text.as_bytes(), 6, 2).and_then(i256::to_i128);
        assert_eq!(of("12.3"), Some(1230));
        assert_eq!(of("-12.340"), Some(-1234));
        assert_eq!(of("12.345"), None);
        assert_eq!(of("1.5e2"), Some(15000));
        assert_eq!(of("12345"), None);
        assert_eq!(of("1e100"), None);
        assert_eq!(of(&"9".repeat(39)), None);
        assert_eq!(of("-0.00"), Some(0));
        assert_eq!(decimal_of_text("007.5", 6, 2).and_then(i256::to_i128), Some(750));
        for none in ["", "-", ".5", "5.", "+1", "1e3", " 1", "1_0"] {
            assert_eq!(decimal_of_text(none, 6, 2), None, "{none}");
        }
    }

    #[test]
    fn texts_that_java_writes_otherwise_are_none() {
        for same in ["0", "-1", "1.50", "0.000001", "-0.5", "100.0"] {
            assert_eq!(own_text(same.as_bytes()), Some(same));
        }
        for other in ["-0", "-0.0", "0.0000001", "1e3", "1E-3"] {
            assert_eq!(own_text(other.as_bytes()), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn a_number_is_read_as_rust_reads_it(number: i64) {
            if number != 0 {
                prop_assert_eq!(whole(number.to_string().as_bytes()), Some(number));
            }
        }

        #[test]
        fn whatever_stands_there_is_a_number_or_none(token in proptest::collection::vec(any::<u8>(), 0..50)) {
            let _ = (whole(&token), double(&token), decimal(&token, 38, 2), own_text(&token));
        }
    }
}
