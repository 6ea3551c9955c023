//! Bodies, written.

/// A zigzag number, in as few bytes as hold it.
#[inline]
pub fn put_long(out: &mut Vec<u8>, value: i64) {
    let mut left = ((value << 1) ^ (value >> 63)) as u64;
    while left >= 0x80 {
        out.push((left as u8 & 0x7f) | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

/// Bytes behind their length.
#[inline]
pub fn put_sized(out: &mut Vec<u8>, value: &[u8]) {
    put_long(out, value.len() as i64);
    out.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cursor::Cursor;

    proptest! {
        #[test]
        fn a_number_is_read_as_it_was_written(value: i64) {
            let mut out = Vec::new();
            put_long(&mut out, value);
            let mut cursor = Cursor::new(&out, 0, 1);
            prop_assert_eq!(cursor.long(), Ok(value));
            prop_assert_eq!(cursor.finish(), Ok(()));
        }
    }
}
