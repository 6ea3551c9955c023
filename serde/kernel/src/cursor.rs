//! Bytes of a body, read forwards. No length is believed before it is compared with what is left.

/// Why a body is not read here. The caller's own reader finds the words, or another opinion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    /// The body ends within a value.
    Truncated,
    /// Bytes are left over.
    Trailing,
    /// The bytes cannot be a value of their type.
    Malformed,
    /// A value does not fit its column.
    Misfit,
    /// More than a body may ask for, or more than is settled here.
    Bounds,
    /// The writer's type does not feed its column.
    Refused,
    /// What the root is, is not for this reader: null, say.
    Other,
}

impl Reason {
    pub fn word(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::Trailing => "trailing",
            Self::Malformed => "malformed",
            Self::Misfit => "misfit",
            Self::Bounds => "bounds",
            Self::Refused => "refused",
            Self::Other => "other",
        }
    }
}

/// A fault and the byte of the payload at which it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bad {
    pub reason: Reason,
    pub at: usize,
}

pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// How many levels values may still nest.
    levels: u32,
    /// Whether somebody checks later that texts are UTF-8.
    is_text_checked_later: bool,
}

const MAX_VARINT_BYTES: usize = 10;

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], at: usize, levels: u32) -> Self {
        Self { bytes, at: at.min(bytes.len()), levels, is_text_checked_later: false }
    }

    /// Leaves it to the caller to check that what `text_bytes` gives is UTF-8.
    #[inline]
    pub fn checking_text_later(self, is_later: bool) -> Self {
        Self { is_text_checked_later: is_later, ..self }
    }

    #[cold]
    pub fn bad(&self, reason: Reason) -> Bad {
        Bad { reason, at: self.at }
    }

    #[inline]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Goes back to where a field began, which several columns are fed by.
    #[inline]
    pub fn rewind(&mut self, at: usize) {
        debug_assert!(at <= self.at);
        self.at = at;
    }

    #[inline]
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    #[inline]
    pub fn finish(&self) -> Result<(), Bad> {
        if self.at == self.bytes.len() { Ok(()) } else { Err(self.bad(Reason::Trailing)) }
    }

    #[inline]
    pub fn enter(&mut self) -> Result<(), Bad> {
        if self.levels == 0 {
            return Err(self.bad(Reason::Bounds));
        }
        self.levels -= 1;
        Ok(())
    }

    #[inline]
    pub fn leave(&mut self) {
        self.levels += 1;
    }

    #[inline]
    pub fn take(&mut self, size: usize) -> Result<&'a [u8], Bad> {
        match self.bytes.get(self.at..).and_then(|left| left.get(..size)) {
            Some(taken) => {
                self.at += size;
                Ok(taken)
            }
            None => Err(self.bad(Reason::Truncated)),
        }
    }

    #[inline]
    pub fn byte(&mut self) -> Result<u8, Bad> {
        match self.bytes.get(self.at) {
            Some(byte) => {
                self.at += 1;
                Ok(*byte)
            }
            None => Err(self.bad(Reason::Truncated)),
        }
    }

    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Bad> {
        let mut taken = [0; N];
        taken.copy_from_slice(self.take(N)?);
        Ok(taken)
    }

    /// A zigzag number of up to ten bytes; bits beyond 64 are lost, as everywhere.
    #[inline]
    pub fn long(&mut self) -> Result<i64, Bad> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(unzigzag(u64::from(first)));
        }
        self.long_of_more(u64::from(first & 0x7f))
    }

    fn long_of_more(&mut self, first: u64) -> Result<i64, Bad> {
        let mut value = first;
        for number in 1..MAX_VARINT_BYTES {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << (7 * number);
            if byte < 0x80 {
                return Ok(unzigzag(value));
            }
        }
        Err(self.bad(Reason::Malformed))
    }

    #[inline]
    pub fn int(&mut self) -> Result<i32, Bad> {
        let value = self.long()?;
        i32::try_from(value).map_err(|_| self.bad(Reason::Malformed))
    }

    #[inline]
    pub fn boolean(&mut self) -> Result<bool, Bad> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.bad(Reason::Malformed)),
        }
    }

    /// A number from 0, below `count`: of a union's branch, of an enum's symbol.
    #[inline]
    pub fn index(&mut self, count: usize) -> Result<usize, Bad> {
        let value = self.long()?;
        match usize::try_from(value) {
            Ok(index) if index < count => Ok(index),
            _ => Err(self.bad(Reason::Malformed)),
        }
    }

    /// Bytes behind their length.
    #[inline]
    pub fn sized(&mut self) -> Result<&'a [u8], Bad> {
        let size = self.long()?;
        match usize::try_from(size) {
            Ok(size) => self.take(size),
            Err(_) => Err(self.bad(Reason::Malformed)),
        }
    }

    #[inline]
    pub fn text(&mut self) -> Result<&'a str, Bad> {
        let bytes = self.sized()?;
        std::str::from_utf8(bytes).map_err(|_| self.bad(Reason::Malformed))
    }

    /// The bytes of a text: UTF-8, unless that is checked later.
    #[inline]
    pub fn text_bytes(&mut self) -> Result<&'a [u8], Bad> {
        if self.is_text_checked_later { self.sized() } else { self.text().map(str::as_bytes) }
    }

    /// How many items the next block of an array or map has; 0 at its end. Never more than the bytes that are left can hold:
    /// of items that may take no bytes none are counted here.
    #[inline]
    pub fn block(&mut self, item_width: usize) -> Result<usize, Bad> {
        let count = self.long()?;
        if count == 0 {
            return Ok(0);
        }
        if count < 0 {
            self.long()?; // the block's size in bytes, which nothing depends on
        }
        let items = usize::try_from(count.unsigned_abs()).map_err(|_| self.bad(Reason::Bounds))?;
        if count == i64::MIN || item_width == 0 {
            return Err(self.bad(Reason::Bounds));
        }
        if items > self.left() / item_width {
            return Err(self.bad(Reason::Truncated));
        }
        Ok(items)
    }

    /// Reads the blocks of an array or map, item by item, a level further down.
    #[inline]
    pub fn items<E: From<Bad>>(
        &mut self,
        item_width: usize,
        mut item: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.enter()?;
        loop {
            let count = self.block(item_width)?;
            if count == 0 {
                break;
            }
            for _ in 0..count {
                item(self)?;
            }
        }
        self.leave();
        Ok(())
    }
}

#[inline]
fn unzigzag(value: u64) -> i64 {
    ((value >> 1) as i64) ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long_of(bytes: &[u8]) -> Result<i64, Bad> {
        Cursor::new(bytes, 0, 10).long()
    }

    #[test]
    fn numbers_of_the_specification() {
        assert_eq!(long_of(&[0x00]), Ok(0));
        assert_eq!(long_of(&[0x01]), Ok(-1));
        assert_eq!(long_of(&[0x80, 0x01]), Ok(64));
        assert_eq!(long_of(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]), Ok(i64::MIN));
    }

    #[test]
    fn a_number_of_eleven_bytes_is_none() {
        assert_eq!(long_of(&[0xff; 11]).unwrap_err().reason, Reason::Malformed);
        assert_eq!(long_of(&[0xff; 3]).unwrap_err().reason, Reason::Truncated);
    }

    #[test]
    fn a_block_claims_no_more_than_the_bytes_that_are_left() {
        let bytes = [0xfe, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0, 0];
        assert_eq!(Cursor::new(&bytes, 0, 10).block(1).unwrap_err().reason, Reason::Truncated);
        assert_eq!(Cursor::new(&bytes, 0, 10).block(0).unwrap_err().reason, Reason::Bounds);
    }
}
