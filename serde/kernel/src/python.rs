//! Bodies → Python's values.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyType};

use crate::cursor::{Bad, Cursor};
use crate::decimal_layout::Decimals;
use crate::description::{Absent, Becomes, Feed, Field, Read};
use crate::leaf::{Value, leaf};
use crate::moments::Moments;
use crate::program::Program;
use crate::texts::text;

/// What ends a reading: the body's fault, or an exception of Python's.
pub enum Fault {
    Bad,
    /// Boxed, so that a value or a fault fits two registers.
    Raised(Box<PyErr>),
}

impl From<Bad> for Fault {
    fn from(_: Bad) -> Self {
        Self::Bad
    }
}

impl From<PyErr> for Fault {
    fn from(error: PyErr) -> Self {
        Self::Raised(Box::new(error))
    }
}

/// Python's classes for what Rust has no type for.
struct Classes {
    moments: Moments,
    decimals: Decimals,
    uuid: Py<PyType>,
}

static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();

fn classes(py: Python<'_>) -> PyResult<&Classes> {
    CLASSES.get_or_try_init(py, || {
        Ok(Classes {
            moments: Moments::new(py)?,
            decimals: Decimals::new(py)?,
            uuid: py.import("uuid")?.getattr("UUID")?.cast_into()?.unbind(),
        })
    })
}

/// A program with the names that its rows have, as Python's strings.
pub struct Rows {
    program: Arc<Program>,
    names: Vec<Box<[Py<PyString>]>>,
    symbols: Vec<Box<[Py<PyString>]>>,
    /// For each record a row of nulls, to copy: no dict grows, and its keys have the columns' order whatever comes first. None
    /// where fields come in that order, and are few.
    blanks: Vec<Option<Py<PyDict>>>,
}

/// A dict holds so many keys before it grows.
const FEW_KEYS: usize = 5;

impl Rows {
    pub fn new(py: Python<'_>, program: Arc<Program>) -> PyResult<Self> {
        let interned = |texts: &[String]| texts.iter().map(|text| PyString::intern(py, text).unbind()).collect();
        let names = program.reads().iter().map(|read| match read {
            Read::Record { columns, .. } | Read::Branches { columns, .. } => interned(columns),
            _ => Box::default(),
        });
        let symbols = program.reads().iter().map(|read| match read {
            Read::Enum { symbols } => interned(symbols),
            _ => Box::default(),
        });
        let names: Vec<Box<[Py<PyString>]>> = names.collect();
        let blanks = program.reads().iter().zip(&names).map(|(read, names)| match read {
            Read::Record { fields, absent, .. } if !(names.len() <= FEW_KEYS && is_in_order(fields, absent)) => {
                Ok(Some(blank_row(py, names)?.unbind()))
            }
            _ => Ok(None),
        });
        Ok(Self {
            blanks: blanks.collect::<PyResult<_>>()?,
            symbols: symbols.collect(),
            names,
            program: Arc::clone(&program),
        })
    }

    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The value of a body that fills the rest of the payload.
    pub fn read<'a, 'py>(
        &'a self,
        py: Python<'py>,
        payload: &'a [u8],
        body_offset: usize,
    ) -> Result<Bound<'py, PyAny>, Fault> {
        let mut cursor = self.program.cursor(payload, body_offset)?;
        let value = self.value(py, self.program.root, &mut cursor)?;
        cursor.finish()?;
        Ok(value)
    }

    /// What most columns are is read in place, without a call or a `Value` in between.
    #[inline(always)]
    fn value<'a, 'py>(
        &'a self,
        py: Python<'py>,
        number: usize,
        cursor: &mut Cursor<'a>,
    ) -> Result<Bound<'py, PyAny>, Fault> {
        match self.program.read(number) {
            Read::Number { is_long, bits: 0, within_a_day: false, becomes: Becomes::Same } => {
                let number = if *is_long { cursor.long()? } else { i64::from(cursor.int()?) };
                Ok(PyInt::new(py, number).into_any())
            }
            Read::String => text(py, cursor.sized()?),
            Read::Double => Ok(PyFloat::new(py, f64::from_le_bytes(cursor.array()?)).into_any()),
            Read::Boolean { as_text: false } => Ok(PyBool::new(py, cursor.boolean()?).to_owned().into_any()),
            Read::Null => Ok(py.None().into_bound(py)),
            read => self.other(py, number, read, cursor),
        }
    }

    #[inline(never)]
    fn other<'a, 'py>(
        &'a self,
        py: Python<'py>,
        number: usize,
        read: &'a Read,
        cursor: &mut Cursor<'a>,
    ) -> Result<Bound<'py, PyAny>, Fault> {
        match read {
            Read::Record { fields, absent, .. } => self.record(py, number, fields, absent, cursor),
            Read::Union { branches } => {
                let branch = branches[cursor.index(branches.len())?];
                cursor.enter()?;
                let value = self.value(py, branch, cursor)?;
                cursor.leave();
                Ok(value)
            }
            Read::List { items, width } => self.list(py, *items, *width, cursor),
            Read::Map { values, width } => self.map(py, None, *values, *width, cursor),
            Read::Entries { key, value, width } => {
                cursor.enter()?;
                let map = self.map(py, Some(*key), *value, *width, cursor)?;
                cursor.leave();
                Ok(map)
            }
            Read::Branches { branches, .. } => self.branches(py, number, branches, cursor),
            Read::Enum { symbols } => {
                let symbol = cursor.index(symbols.len())?;
                Ok(self.symbols[number][symbol].bind(py).clone().into_any())
            }
            read => rare(py, read, cursor),
        }
    }

    #[inline(never)]
    fn list<'a, 'py>(
        &'a self,
        py: Python<'py>,
        items: usize,
        width: usize,
        cursor: &mut Cursor<'a>,
    ) -> Result<Bound<'py, PyAny>, Fault> {
        let list = PyList::empty(py);
        cursor.items(width, |cursor| Ok::<_, Fault>(list.append(self.value(py, items, cursor)?)?))?;
        Ok(list.into_any())
    }

    /// Without a reading of the keys they are texts.
    #[inline(never)]
    fn map<'a, 'py>(
        &'a self,
        py: Python<'py>,
        keys: Option<usize>,
        values: usize,
        width: usize,
        cursor: &mut Cursor<'a>,
    ) -> Result<Bound<'py, PyAny>, Fault> {
        let map = PyDict::new(py);
        cursor.items(width, |cursor| {
            let key = match keys {
                None => text(py, cursor.sized()?)?,
                Some(keys) => self.value(py, keys, cursor)?,
            };
            Ok::<_, Fault>(map.set_item(key, self.value(py, values, cursor)?)?)
        })?;
        Ok(map.into_any())
    }

    fn record<'a, 'py>(
        &'a self,
        py: Python<'py>,
        number: usize,
        fields: &'a [Field],
        absent: &'a [Absent],
        cursor: &mut Cursor<'a>,
    ) -> Result<Bound<'py, PyAny>, Fault> {
        let names = &self.names[number];
        let row = match &self.blanks[number] {
            Some(blank) => blank.bind(py).copy()?,
            None => PyDict::new(py),
        };
        cursor.enter()?;
        for field in fields {
            // Most fields feed one column.
            if let [Feed { read, column: Some(column) }] = field.feeds[..] {
                row.set_item(names[column].bind(py), self.value(py, read, cursor)?)?;
            } else {
                self.feed(py, field, cursor, &row, names)?;
            }
        }
        cursor.leave();
        for one in absent {
            // What has no default is null in the blank row.
            if let Some(read) = one.read {
                let mut default = self.program.cursor_at_default(&one.body);
                row.set_item(names[one.column].bind(py), self.value(py, read, &mut default)?)?;
            }
        }
        Ok(row.into_any())
    }

    #[inline(never)]
    fn branches<'a, 'py>(
        &'a self,
        py: Python<'py>,
        number: usize,
        branches: &'a [Option<Field>],
        cursor: &mut Cursor<'a>,
    ) -> Result<Bound<'py, PyAny>, Fault> {
        let Some(taken) = &branches[cursor.index(branches.len())?] else {
            return Ok(py.None().into_bound(py));
        };
        let names = &self.names[number];
        let row = blank_row(py, names)?;
        cursor.enter()?;
        self.feed(py, taken, cursor, &row, names)?;
        cursor.leave();
        Ok(row.into_any())
    }

    /// Puts a field's value into each column of the row that it feeds; reads past it if there is none.
    #[inline(never)]
    fn feed<'a, 'py>(
        &'a self,
        py: Python<'py>,
        field: &'a Field,
        cursor: &mut Cursor<'a>,
        row: &Bound<'py, PyDict>,
        names: &[Py<PyString>],
    ) -> Result<(), Fault> {
        if field.feeds.is_empty() {
            self.program.skip(field.wire, cursor)?;
        }
        let begin = cursor.at();
        for feed in &field.feeds {
            cursor.rewind(begin);
            let value = self.value(py, feed.read, cursor)?;
            if let Some(column) = feed.column {
                row.set_item(names[column].bind(py), value)?;
            }
        }
        Ok(())
    }
}

/// Whether the fields fill the columns one by one, from the first to the last.
fn is_in_order(fields: &[Field], absent: &[Absent]) -> bool {
    let columns = fields.iter().flat_map(|field| &field.feeds).filter_map(|feed| feed.column);
    absent.is_empty() && columns.enumerate().all(|(number, column)| number == column)
}

fn blank_row<'py>(py: Python<'py>, names: &[Py<PyString>]) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    for name in names {
        row.set_item(name.bind(py), py.None())?;
    }
    Ok(row)
}

/// A leaf that few columns are, apart from the way of the others.
#[inline(never)]
fn rare<'a, 'py>(py: Python<'py>, read: &'a Read, cursor: &mut Cursor<'a>) -> Result<Bound<'py, PyAny>, Fault> {
    of_leaf(py, leaf(read, cursor)?)
}

pub fn of_leaf<'py>(py: Python<'py>, value: Value) -> Result<Bound<'py, PyAny>, Fault> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Boolean(value) => PyBool::new(py, value).to_owned().into_any(),
        Value::Long(value) => PyInt::new(py, value).into_any(),
        Value::Double(value) => PyFloat::new(py, value).into_any(),
        Value::Text(value) => PyString::new(py, value).into_any(),
        Value::Digits(value) => PyString::new(py, value.as_str()).into_any(),
        Value::Bytes(value) => PyBytes::new(py, value).into_any(),
        Value::Date(days) => classes(py)?.moments.date(py, i64::from(days))?,
        Value::Time(micros) => classes(py)?.moments.time(py, micros)?,
        Value::Timestamp(micros) => classes(py)?.moments.instant(py, micros)?,
        Value::LocalTimestamp(micros) => classes(py)?.moments.local(py, micros)?,
        Value::Decimal(unscaled, scale) => classes(py)?.decimals.decimal(py, unscaled, scale)?,
        // Whatever Python takes for a UUID's text; its refusal is the caller's to word.
        Value::Uuid(text) => classes(py)?.uuid.bind(py).call1((text,)).map_err(|error| {
            if error.is_instance_of::<pyo3::exceptions::PyValueError>(py) { Fault::Bad } else { error.into() }
        })?,
    })
}
