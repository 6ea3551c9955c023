//! A description that was looked through: every number in it is of something that is there.

use crate::cursor::{Bad, Cursor, Reason};
use crate::description::{Description, Field, Read, Wire};

/// Deeper nesting is Python's: it has the better stack for it.
const MOST_LEVELS: u32 = 1_000;

pub struct Program {
    wires: Vec<Wire>,
    reads: Vec<Read>,
    pub root: usize,
    pub wire_root: usize,
    pub levels: u32,
    pub most_bytes: usize,
}

impl Program {
    /// A program, or why the description is none.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let given: Description = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let program = Self {
            wires: given.wires,
            reads: given.reads,
            root: given.root,
            wire_root: given.wire_root,
            levels: given.levels.min(MOST_LEVELS),
            most_bytes: given.most_bytes.unwrap_or(usize::MAX),
        };
        program.check()?;
        Ok(program)
    }

    #[inline]
    pub fn read(&self, number: usize) -> &Read {
        &self.reads[number]
    }

    pub fn wire(&self, number: usize) -> &Wire {
        &self.wires[number]
    }

    pub fn reads(&self) -> &[Read] {
        &self.reads
    }

    /// A cursor at the body.
    #[inline]
    pub fn cursor<'a>(&self, payload: &'a [u8], body_offset: usize) -> Result<Cursor<'a>, Bad> {
        let cursor = Cursor::new(payload, body_offset, self.levels);
        if cursor.left() > self.most_bytes {
            return Err(cursor.bad(Reason::Bounds));
        }
        Ok(cursor)
    }

    /// A cursor at a default, which the program holds.
    pub fn cursor_at_default<'a>(&self, body: &'a [u8]) -> Cursor<'a> {
        Cursor::new(body, 0, self.levels)
    }

    /// Reads past a value: of what is in it all is checked that makes it one.
    pub fn skip(&self, wire: usize, cursor: &mut Cursor) -> Result<(), Bad> {
        match &self.wires[wire] {
            Wire::Null => Ok(()),
            Wire::Boolean => cursor.boolean().map(drop),
            Wire::Int | Wire::Long => cursor.long().map(drop),
            Wire::Float => cursor.take(4).map(drop),
            Wire::Double => cursor.take(8).map(drop),
            Wire::Bytes => cursor.sized().map(drop),
            Wire::String => cursor.text().map(drop),
            Wire::Fixed { size } => cursor.take(*size).map(drop),
            Wire::Enum { symbols } => cursor.index(*symbols).map(drop),
            Wire::Record { fields } => {
                cursor.enter()?;
                for (_, field) in fields {
                    self.skip(*field, cursor)?;
                }
                cursor.leave();
                Ok(())
            }
            Wire::Array { items, width } => cursor.items(*width, |cursor| self.skip(*items, cursor)),
            Wire::Map { values, width } => cursor.items(*width, |cursor| {
                cursor.text()?;
                self.skip(*values, cursor)
            }),
            Wire::Union { branches } => {
                let branch = cursor.index(branches.len())?;
                cursor.enter()?;
                self.skip(branches[branch], cursor)?;
                cursor.leave();
                Ok(())
            }
        }
    }

    fn check(&self) -> Result<(), String> {
        let wire = |number: usize| {
            if number < self.wires.len() { Ok(()) } else { Err(format!("there is no wire type {number}")) }
        };
        let read = |number: usize| {
            if number < self.reads.len() { Ok(()) } else { Err(format!("there is no reading {number}")) }
        };
        let fed = |field: &Field, columns: usize| -> Result<(), String> {
            wire(field.wire)?;
            for feed in &field.feeds {
                read(feed.read)?;
                if feed.column.is_some_and(|column| column >= columns) {
                    return Err(format!("there is no column {:?}", feed.column));
                }
            }
            Ok(())
        };
        read(self.root)?;
        wire(self.wire_root)?;
        for each in &self.wires {
            match each {
                Wire::Record { fields } => fields.iter().try_for_each(|(_, field)| wire(*field))?,
                Wire::Array { items: part, .. } | Wire::Map { values: part, .. } => wire(*part)?,
                Wire::Union { branches } => branches.iter().try_for_each(|branch| wire(*branch))?,
                _ => {}
            }
        }
        for each in &self.reads {
            match each {
                Read::List { items: part, .. } | Read::Map { values: part, .. } => read(*part)?,
                Read::Entries { key, value, .. } => read(*key).and_then(|()| read(*value))?,
                Read::Union { branches } => branches.iter().try_for_each(|branch| read(*branch))?,
                Read::Record { columns, fields, absent } => {
                    let mut filled = vec![0; columns.len()];
                    for field in fields {
                        fed(field, columns.len())?;
                        field.feeds.iter().filter_map(|feed| feed.column).for_each(|column| filled[column] += 1);
                    }
                    for one in absent {
                        one.read.map_or(Ok(()), read)?;
                        *filled.get_mut(one.column).ok_or_else(|| format!("there is no column {}", one.column))? += 1;
                    }
                    if filled.iter().any(|times| *times != 1) {
                        return Err("a column is not filled exactly once".to_owned());
                    }
                }
                Read::Branches { columns, branches } => {
                    branches.iter().flatten().try_for_each(|branch| fed(branch, columns.len()))?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}
