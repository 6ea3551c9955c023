//! One body of JSON, read forwards by jiter, with what it may still ask for.

use jiter::{Jiter, Peek};

use crate::json::Fault;
use crate::json::description::Bounds;

pub struct Document<'a> {
    pub jiter: Jiter<'a>,
    /// How many levels values may still nest.
    levels: u32,
    /// How many values may still be made that are to be paid for.
    left: i64,
    number_characters: usize,
    text_characters: usize,
}

impl<'a> Document<'a> {
    pub fn new(body: &'a [u8], tape: Vec<u8>, bounds: &Bounds) -> Self {
        let left = bounds.values.saturating_add(bounds.values_per_byte.saturating_mul(body.len() as u64));
        Self {
            jiter: Jiter::with_tape(body, tape),
            levels: bounds.levels,
            left: i64::try_from(left).unwrap_or(i64::MAX),
            number_characters: bounds.number_characters,
            text_characters: bounds.text_characters,
        }
    }

    #[inline]
    pub fn enter(&mut self) -> Result<(), Fault> {
        self.levels = self.levels.checked_sub(1).ok_or(Fault::Unread)?;
        Ok(())
    }

    #[inline]
    pub fn leave(&mut self) {
        self.levels += 1;
    }

    /// Pays for so many values.
    #[inline]
    pub fn spend(&mut self, price: i64) -> Result<(), Fault> {
        self.left = self.left.checked_sub(price).filter(|left| *left >= 0).ok_or(Fault::Unread)?;
        Ok(())
    }

    /// The text of a number that was peeked at; anything else that it may have been is an error.
    #[inline]
    pub fn number(&mut self, peek: Peek) -> Result<&'a [u8], Fault> {
        let begin = self.jiter.current_index();
        self.jiter.known_number_bytes(peek)?;
        let token = self.jiter.slice_to_current(begin);
        if token.len() > self.number_characters { Err(Fault::Unread) } else { Ok(token) }
    }

    /// A string that may be a number.
    pub fn number_text(&mut self) -> Result<&str, Fault> {
        let text = self.jiter.known_str()?;
        if text.len() > self.text_characters { Err(Fault::Unread) } else { Ok(text) }
    }

    /// Reads past a value. Of what is in it all is checked that makes it one: jiter's own skipping leaves out UTF-8.
    pub fn skip(&mut self, peek: Peek) -> Result<(), Fault> {
        match peek {
            Peek::Null => self.jiter.known_null()?,
            Peek::True | Peek::False => drop(self.jiter.known_bool(peek)?),
            Peek::String => drop(self.jiter.known_str()?),
            Peek::Array => {
                self.enter()?;
                let mut next = self.jiter.known_array()?;
                while let Some(peek) = next {
                    self.skip(peek)?;
                    next = self.jiter.array_step()?;
                }
                self.leave();
            }
            Peek::Object => {
                self.enter()?;
                let mut next = self.jiter.known_object()?.is_some();
                while next {
                    let peek = self.jiter.peek()?;
                    self.skip(peek)?;
                    next = self.jiter.next_key()?.is_some();
                }
                self.leave();
            }
            _ => {
                let token = self.number(peek)?;
                // An exponent that not every reader holds is Python's.
                let at = token.iter().position(|byte| matches!(byte, b'e' | b'E'));
                if at.is_some_and(|at| token.len() - at > MOST_EXPONENT_CHARACTERS) {
                    return Err(Fault::Unread);
                }
            }
        }
        Ok(())
    }
}

/// The letter, a sign, and three digits.
const MOST_EXPONENT_CHARACTERS: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        levels: 3,
        number_characters: 20,
        text_characters: 9,
        values: 10,
        values_per_byte: 1,
        keys: 8,
        key_bytes: 100,
    };

    fn skipped(body: &[u8]) -> bool {
        let mut document = Document::new(body, Vec::new(), &BOUNDS);
        let Ok(peek) = document.jiter.peek() else { return false };
        document.skip(peek).is_ok() && document.jiter.finish().is_ok()
    }

    #[test]
    fn what_is_read_past_is_looked_at() {
        assert!(skipped(br#" {"a": [1, -2.5e3, "\ud83d\ude00", null, true], "b": {}} "#));
        let bad: [&[u8]; 16] = [
            b"\"\xff\"",
            br#"{"a": "\ud800"}"#,
            b"{\"\xff\": 1}",
            b"01",
            b"-",
            b"1.",
            b"1e",
            b"+1",
            b".5",
            b"NaN",
            b"-Infinity",
            b"[1,]",
            b"1 2",
            b"\"\x01\"",
            b"1e99999",
            b"123456789012345678901",
        ];
        for body in bad {
            assert!(!skipped(body), "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn levels_and_values_are_counted() {
        assert!(skipped(b"[[[1]]]"));
        assert!(!skipped(b"[[[[1]]]]"));
        let mut document = Document::new(b"12345", Vec::new(), &BOUNDS);
        assert!(document.spend(15).is_ok());
        assert!(document.spend(1).is_err());
    }
}
