//! Bodies → Python's dicts.

use jiter::Peek;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::json::Fault;
use crate::json::description::{Object, Part, Read};
use crate::json::document::Document;
use crate::json::keys::Memory;
use crate::json::leaf::leaf;
use crate::json::reading::Reading;
use crate::python::{self, of_leaf};

impl From<python::Fault> for Fault {
    fn from(fault: python::Fault) -> Self {
        match fault {
            python::Fault::Bad => Self::Unread,
            python::Fault::Raised(error) => Self::Raised(*error),
        }
    }
}

impl Reading {
    /// The row of a body that fills the rest of the payload.
    pub fn row<'py>(&self, py: Python<'py>, payload: &[u8], body_offset: usize) -> Result<Bound<'py, PyAny>, Fault> {
        let mut memory = self.memory();
        let mut document = self.document(payload, body_offset, &mut memory)?;
        let row = Making { reading: self, document: &mut document, memory: &mut memory, py }.row();
        self.end(document, &mut memory);
        self.give_back(memory);
        row
    }
}

struct Making<'r, 'd, 'a, 'py> {
    reading: &'r Reading,
    document: &'d mut Document<'a>,
    memory: &'d mut Memory,
    py: Python<'py>,
}

impl<'r, 'py> Making<'r, '_, '_, 'py> {
    fn row(&mut self) -> Result<Bound<'py, PyAny>, Fault> {
        let peek = self.document.jiter.peek()?;
        let value = self.part(self.reading.root, peek)?;
        self.document.jiter.finish()?;
        match &self.reading.single {
            None => Ok(value),
            Some(name) => {
                let row = PyDict::new(self.py);
                row.set_item(name.bind(self.py), value)?;
                Ok(row.into_any())
            }
        }
    }

    fn object(&mut self, number: usize, object: &'r Object) -> Result<Bound<'py, PyAny>, Fault> {
        self.document.enter()?;
        self.document.spend(object.price)?;
        let row_of = self.reading.rows.get(number).and_then(Option::as_ref).ok_or(Fault::Unread)?;
        let row = row_of.nulls.bind(self.py).copy()?;
        let (mut place, mut fed, mut filled) = (0, 0, Filled::new(object.columns.len()));
        let mut next = self.document.jiter.known_object()?;
        while let Some(key) = next {
            let feeds = self.reading.feeds(self.memory, number, key, &mut place)?;
            let peek = self.document.jiter.peek()?;
            match feeds {
                Some(target) => {
                    // Of several keys for one column the caller knows which one counts.
                    if !filled.put(target) {
                        return Err(Fault::Unread);
                    }
                    let value = self.part(object.columns.get(target).ok_or(Fault::Unread)?.part, peek)?;
                    row.set_item(row_of.names[target].bind(self.py), value)?;
                    fed += 1;
                }
                None => self.document.skip(peek)?,
            }
            next = self.document.jiter.next_key()?;
        }
        let lacks = |(column, field): (usize, &crate::json::description::Field)| !field.may_lack && !filled.has(column);
        if fed < object.least || (fed < object.columns.len() && object.columns.iter().enumerate().any(lacks)) {
            return Err(Fault::Unread);
        }
        self.document.leave();
        Ok(row.into_any())
    }

    fn part(&mut self, part: Part, peek: Peek) -> Result<Bound<'py, PyAny>, Fault> {
        let py = self.py;
        if peek == Peek::Null {
            self.document.jiter.known_null()?;
            return if part.takes_null { Ok(py.None().into_bound(py)) } else { Err(Fault::Unread) };
        }
        match self.reading.read(part.read) {
            Read::Object(object) if peek == Peek::Object => self.object(part.read, object),
            Read::List { items } if peek == Peek::Array => {
                self.document.enter()?;
                let list = PyList::empty(py);
                let mut next = self.document.jiter.known_array()?;
                while let Some(peek) = next {
                    list.append(self.part(*items, peek)?)?;
                    next = self.document.jiter.array_step()?;
                }
                self.document.leave();
                Ok(list.into_any())
            }
            Read::Map { values } if peek == Peek::Object => {
                self.document.enter()?;
                let map = PyDict::new(py);
                let mut count = 0;
                let mut next = self.document.jiter.known_object()?;
                while let Some(key) = next {
                    let key = PyString::new(py, key);
                    let peek = self.document.jiter.peek()?;
                    map.set_item(key, self.part(*values, peek)?)?;
                    count += 1;
                    next = self.document.jiter.next_key()?;
                }
                self.document.leave();
                distinct(map, count)
            }
            Read::Entries { values } if peek == Peek::Array => {
                self.document.enter()?;
                let map = PyDict::new(py);
                let mut count = 0;
                let mut next = self.document.jiter.known_array()?;
                while let Some(peek) = next {
                    let (key, value) = self.entry(*values, peek)?;
                    map.set_item(key, value)?;
                    count += 1;
                    next = self.document.jiter.array_step()?;
                }
                self.document.leave();
                distinct(map, count)
            }
            read => Ok(of_leaf(py, leaf(read, self.document, peek, &mut self.memory.scratch)?)?),
        }
    }

    /// An object of a key, which is a string, and a value.
    fn entry(&mut self, values: Part, peek: Peek) -> Result<(Bound<'py, PyString>, Bound<'py, PyAny>), Fault> {
        if peek != Peek::Object {
            return Err(Fault::Unread);
        }
        self.document.enter()?;
        let (mut key, mut value) = (None, None);
        let mut next = self.document.jiter.known_object()?;
        while let Some(name) = next {
            match name {
                "key" if key.is_none() => key = Some(PyString::new(self.py, self.document.jiter.next_str()?)),
                "value" if value.is_none() => {
                    let peek = self.document.jiter.peek()?;
                    value = Some(self.part(values, peek)?);
                }
                _ => return Err(Fault::Unread),
            }
            next = self.document.jiter.next_key()?;
        }
        self.document.leave();
        key.zip(value).ok_or(Fault::Unread)
    }
}

/// The map, if no key came twice: of one that does the last value counts, at the place of the first.
fn distinct(map: Bound<'_, PyDict>, count: usize) -> Result<Bound<'_, PyAny>, Fault> {
    if map.len() == count { Ok(map.into_any()) } else { Err(Fault::Unread) }
}

/// Which columns have their value.
struct Filled {
    few: u64,
    many: Vec<bool>,
}

impl Filled {
    #[inline]
    fn new(columns: usize) -> Self {
        let most = u64::BITS as usize;
        Self { few: 0, many: if columns > most { vec![false; columns] } else { Vec::new() } }
    }

    /// False if it has one already, or if there is no such column.
    #[inline]
    fn put(&mut self, column: usize) -> bool {
        if let Some(place) = self.many.get_mut(column) {
            return !std::mem::replace(place, true);
        }
        let Some(bit) = u32::try_from(column).ok().and_then(|column| 1_u64.checked_shl(column)) else { return false };
        let is_new = self.few & bit == 0;
        self.few |= bit;
        is_new
    }

    fn has(&self, column: usize) -> bool {
        match self.many.get(column) {
            Some(has) => *has,
            None => column < u64::BITS as usize && self.few & (1 << column) != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_filled_once() {
        for columns in [1, 64, 65, 200] {
            let mut filled = Filled::new(columns);
            for column in 0..columns {
                assert!(!filled.has(column) && filled.put(column) && !filled.put(column) && filled.has(column));
            }
            assert!(!filled.put(usize::MAX));
        }
    }
}
