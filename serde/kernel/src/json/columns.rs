//! Bodies → rows of Arrow's columns.

use jiter::Peek;

use crate::columns::Column;
use crate::description::Becomes;
use crate::json::Fault;
use crate::json::description::{Object, Part, Read};
use crate::json::document::Document;
use crate::json::keys::Memory;
use crate::json::leaf::leaf;
use crate::json::numbers::whole;
use crate::json::reading::Reading;

impl Reading {
    /// Appends a row. One that is not read leaves the columns of different lengths: the caller takes it back.
    pub fn append(
        &self,
        payload: &[u8],
        body_offset: usize,
        columns: &mut [Column],
        memory: &mut Memory,
    ) -> Result<(), Fault> {
        let mut document = self.document(payload, body_offset, memory)?;
        let appended = Appending { reading: self, document: &mut document, memory }.row(columns);
        self.end(document, memory);
        appended
    }
}

struct Appending<'r, 'd, 'a> {
    reading: &'r Reading,
    document: &'d mut Document<'a>,
    memory: &'d mut Memory,
}

impl<'r> Appending<'r, '_, '_> {
    fn row(&mut self, columns: &mut [Column]) -> Result<(), Fault> {
        let root = self.reading.root;
        let peek = self.document.jiter.peek()?;
        if self.reading.single.is_some() {
            self.part(root, peek, columns.first_mut().ok_or(Fault::Unread)?)?;
        } else {
            let first = columns.first().map_or(0, Column::len);
            match self.reading.read(root.read) {
                Read::Object(object) if peek == Peek::Object => self.object(root.read, object, columns, first)?,
                // Null is a tombstone, by the caller's rules.
                _ => return Err(Fault::Unread),
            }
        }
        Ok(self.document.jiter.finish()?)
    }

    /// `first`: how many values each column had before.
    fn object(&mut self, number: usize, object: &'r Object, columns: &mut [Column], first: usize) -> Result<(), Fault> {
        self.document.enter()?;
        self.document.spend(object.price)?;
        let (mut place, mut fed) = (0, 0);
        let mut next = self.document.jiter.known_object()?;
        while let Some(key) = next {
            let feeds = self.reading.feeds(self.memory, number, key, &mut place)?;
            let peek = self.document.jiter.peek()?;
            match feeds {
                Some(target) => {
                    let column = columns.get_mut(target).ok_or(Fault::Unread)?;
                    // Of several keys for one column the caller knows which one counts.
                    if column.len() != first {
                        return Err(Fault::Unread);
                    }
                    self.part(object.columns.get(target).ok_or(Fault::Unread)?.part, peek, column)?;
                    fed += 1;
                }
                None => self.document.skip(peek)?,
            }
            next = self.document.jiter.next_key()?;
        }
        if fed < object.least {
            return Err(Fault::Unread);
        }
        if fed < object.columns.len() {
            for (field, column) in object.columns.iter().zip(columns) {
                if column.len() == first {
                    if !field.may_lack {
                        return Err(Fault::Unread);
                    }
                    column.push_null();
                }
            }
        }
        self.document.leave();
        Ok(())
    }

    fn part(&mut self, part: Part, peek: Peek, column: &mut Column) -> Result<(), Fault> {
        if peek == Peek::Null {
            self.document.jiter.known_null()?;
            if !part.takes_null {
                return Err(Fault::Unread);
            }
            column.push_null();
            return Ok(());
        }
        match self.reading.read(part.read) {
            // What most columns are, without a value in between.
            Read::String { .. } if peek == Peek::String => {
                column.push_bytes(self.document.jiter.known_str()?.as_bytes())?;
            }
            Read::Number { bits: 64, within_a_day: false, becomes: Becomes::Same, .. } if peek.is_num() => {
                column.push_long(whole(self.document.number(peek)?).ok_or(Fault::Unread)?)?;
            }
            Read::Object(object) if peek == Peek::Object => {
                let first = column.len();
                self.object(part.read, object, column.fields()?, first)?;
                column.end_struct();
            }
            Read::List { items } if peek == Peek::Array => {
                self.document.enter()?;
                let part = column.items()?;
                let mut next = self.document.jiter.known_array()?;
                while let Some(peek) = next {
                    self.part(*items, peek, part)?;
                    next = self.document.jiter.array_step()?;
                }
                self.document.leave();
                column.end_items()?;
            }
            Read::Map { values } if peek == Peek::Object => {
                self.document.enter()?;
                let (keys, parts) = column.entries()?;
                let first = keys.len();
                let mut next = self.document.jiter.known_object()?;
                while let Some(key) = next {
                    keys.push_bytes(key.as_bytes())?;
                    let peek = self.document.jiter.peek()?;
                    self.part(*values, peek, parts)?;
                    next = self.document.jiter.next_key()?;
                }
                self.document.leave();
                end_map(column, first)?;
            }
            Read::Entries { values } if peek == Peek::Array => {
                self.document.enter()?;
                let (keys, parts) = column.entries()?;
                let first = keys.len();
                let mut next = self.document.jiter.known_array()?;
                while let Some(peek) = next {
                    self.entry(*values, peek, keys, parts)?;
                    next = self.document.jiter.array_step()?;
                }
                self.document.leave();
                end_map(column, first)?;
            }
            read => column.push(leaf(read, self.document, peek, &mut self.memory.scratch)?)?,
        }
        Ok(())
    }

    /// An object of a key, which is a string, and a value.
    fn entry(&mut self, values: Part, peek: Peek, keys: &mut Column, parts: &mut Column) -> Result<(), Fault> {
        if peek != Peek::Object {
            return Err(Fault::Unread);
        }
        self.document.enter()?;
        let (mut has_key, mut has_value) = (false, false);
        let mut next = self.document.jiter.known_object()?;
        while let Some(name) = next {
            match name {
                "key" if !has_key => {
                    keys.push_bytes(self.document.jiter.next_str()?.as_bytes())?;
                    has_key = true;
                }
                "value" if !has_value => {
                    let peek = self.document.jiter.peek()?;
                    self.part(values, peek, parts)?;
                    has_value = true;
                }
                _ => return Err(Fault::Unread),
            }
            next = self.document.jiter.next_key()?;
        }
        self.document.leave();
        if has_key && has_value { Ok(()) } else { Err(Fault::Unread) }
    }
}

fn end_map(column: &mut Column, first: usize) -> Result<(), Fault> {
    let (keys, _) = column.entries()?;
    // Of a key that comes twice the last value counts: rare, and the caller's.
    if !keys.are_keys_distinct(first) {
        return Err(Fault::Unread);
    }
    Ok(column.end_items()?)
}
