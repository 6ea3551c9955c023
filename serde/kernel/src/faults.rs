//! What is wrong with a body, in the words of `srfix.serde.formats.avro.read.body_walk`. Only for bodies that were not read.

use crate::cursor::Reason;
use crate::description::Wire;
use crate::program::Program;

/// Of a path, at either end.
const SHOWN_LABELS: usize = 8;
const MAX_VARINT_BYTES: usize = 10;

/// A fault of the body's bytes: the reason, and its words.
#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    pub reason: Reason,
    pub words: String,
}

enum End {
    Fault(Fault),
    /// It is for Python to say what is wrong, and whether anything is.
    Unsure,
}

type Walked<T> = Result<T, End>;

/// The first fault of the body's bytes; None if they are a value of the schema, or if it is Python's to say.
pub fn fault(program: &Program, payload: &[u8], body_offset: usize) -> Option<Fault> {
    let body = payload.get(body_offset..).filter(|body| body.len() <= program.most_bytes)?;
    let mut walk = Walk { program, body, at: 0, path: Vec::new(), levels: program.levels };
    match walk.value(program.wire_root) {
        Err(End::Fault(fault)) => Some(fault),
        Err(End::Unsure) => None,
        Ok(()) => {
            let left = body.len() - walk.at;
            (left > 0).then(|| Fault {
                reason: Reason::Trailing,
                words: format!(
                    "{left} of the body's {} bytes are left over after the last field: the body was written under another \
                     schema, or is corrupt.",
                    body.len()
                ),
            })
        }
    }
}

struct Walk<'a> {
    program: &'a Program,
    body: &'a [u8],
    at: usize,
    path: Vec<&'a str>,
    levels: u32,
}

impl<'a> Walk<'a> {
    fn value(&mut self, number: usize) -> Walked<()> {
        let program = self.program;
        match program.wire(number) {
            Wire::Null => Ok(()),
            Wire::Boolean => {
                let byte = self.byte()?;
                // fastavro takes a boolean of several bytes for the number that it is.
                if byte >= 0x80 {
                    return Err(End::Unsure);
                }
                if byte > 1 {
                    let at = self.at - 1;
                    return self.malformed(at, &format!("has a boolean of the byte {byte}; it must be 0 or 1."));
                }
                Ok(())
            }
            // fastavro reads 64 bits: the words depend on who looks, and where.
            Wire::Int => match i32::try_from(self.long()?) {
                Ok(_) => Ok(()),
                Err(_) => Err(End::Unsure),
            },
            Wire::Long => self.long().map(drop),
            Wire::Float => self.skip(4),
            Wire::Double => self.skip(8),
            Wire::Bytes => self.sized().map(drop),
            Wire::String => self.utf8(),
            Wire::Fixed { size } => self.skip(*size),
            Wire::Enum { symbols } => self.index(*symbols, "enum has symbols").map(drop),
            Wire::Record { fields } => {
                self.enter()?;
                for (name, field) in fields {
                    self.path.push(name);
                    self.value(*field)?;
                    self.path.pop();
                }
                self.levels += 1;
                Ok(())
            }
            Wire::Array { items, width } => self.items(*items, *width, false),
            Wire::Map { values, width } => self.items(*values, *width, true),
            Wire::Union { branches } => {
                let branch = self.index(branches.len(), "union has branches")?;
                self.enter()?;
                self.value(branches[branch])?;
                self.levels += 1;
                Ok(())
            }
        }
    }

    fn items(&mut self, part: usize, width: usize, is_map: bool) -> Walked<()> {
        self.enter()?;
        loop {
            let count = self.long()?;
            if count == 0 {
                break;
            }
            if count < 0 {
                self.long()?;
            }
            if width == 0 || count == i64::MIN {
                return Err(End::Unsure);
            }
            for _ in 0..count.unsigned_abs() {
                if is_map {
                    self.utf8()?;
                }
                self.path.push(if is_map { "MAP_VAL" } else { "ARRAY" });
                self.value(part)?;
                self.path.pop();
            }
        }
        self.levels += 1;
        Ok(())
    }

    fn enter(&mut self) -> Walked<()> {
        self.levels = self.levels.checked_sub(1).ok_or(End::Unsure)?;
        Ok(())
    }

    fn index(&mut self, count: usize, what: &str) -> Walked<usize> {
        let before = self.at;
        let index = self.long()?;
        match usize::try_from(index) {
            Ok(found) if found < count => Ok(found),
            _ => {
                let last = count as i64 - 1;
                self.malformed(before, &format!("has the index {index}, but the {what} 0 to {last}."))
            }
        }
    }

    fn sized(&mut self) -> Walked<&'a [u8]> {
        let Ok(length) = u64::try_from(self.long()?) else { return Err(End::Unsure) };
        let begin = self.at;
        match usize::try_from(length) {
            Ok(length) if length <= self.body.len() - self.at => self.skip(length)?,
            _ => return self.truncated(&length.to_string()),
        }
        Ok(&self.body[begin..self.at])
    }

    fn utf8(&mut self) -> Walked<()> {
        let bytes = self.sized()?;
        let begin = self.at - bytes.len();
        match std::str::from_utf8(bytes) {
            Ok(_) => Ok(()),
            Err(error) => self.malformed(begin + error.valid_up_to(), "has a string that is not UTF-8."),
        }
    }

    fn long(&mut self) -> Walked<i64> {
        let mut value = 0_u64;
        for number in 0..MAX_VARINT_BYTES {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << (7 * number);
            if byte < 0x80 {
                return Ok(((value >> 1) as i64) ^ -((value & 1) as i64));
            }
        }
        Err(End::Unsure)
    }

    fn byte(&mut self) -> Walked<u8> {
        self.skip(1)?;
        Ok(self.body[self.at - 1])
    }

    fn skip(&mut self, size: usize) -> Walked<()> {
        if size > self.body.len() - self.at {
            return self.truncated(&size.to_string());
        }
        self.at += size;
        Ok(())
    }

    fn truncated<T>(&self, size: &str) -> Walked<T> {
        let left = self.body.len() - self.at;
        Err(End::Fault(Fault {
            reason: Reason::Truncated,
            words: format!(
                "The body ends at byte {}, inside {}: after byte {} there should be {size} bytes, but there are {left}.",
                self.body.len(),
                self.shown_path(),
                self.at
            ),
        }))
    }

    fn malformed<T>(&self, at: usize, what: &str) -> Walked<T> {
        let words = format!("At byte {at}, at {}, the body {what}", self.shown_path());
        Err(End::Fault(Fault { reason: Reason::Malformed, words }))
    }

    fn shown_path(&self) -> String {
        if self.path.is_empty() {
            return "the root".to_owned();
        }
        let more = self.path.len().saturating_sub(2 * SHOWN_LABELS);
        let left_out = format!("… ({more} more)");
        let labels: Vec<&str> = if more > 0 {
            let (front, back) = (&self.path[..SHOWN_LABELS], &self.path[self.path.len() - SHOWN_LABELS..]);
            front.iter().chain([&left_out.as_str()]).chain(back).copied().collect()
        } else {
            self.path.clone()
        };
        labels.join("->")
    }
}
