//! Python's values → bodies. Values of exactly the types that columns give are written here; all others are the caller's.

use std::cell::Cell;
use std::ptr;
use std::sync::Arc;

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyType};

use crate::python::Fault;
use crate::sink::{put_long, put_sized};
use crate::writing::{Write, WriteField, Writing, decimal_bytes, is_written_alike, unscaled_of_text};

/// Python's classes of what is taken.
struct Classes {
    date: Py<PyType>,
    time: Py<PyType>,
    datetime: Py<PyType>,
    timezone: Py<PyType>,
    decimal: Py<PyType>,
    epoch: Py<PyAny>,
    local_epoch: Py<PyAny>,
}

static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();

fn classes(py: Python<'_>) -> PyResult<&Classes> {
    CLASSES.get_or_try_init(py, || {
        let module = py.import("datetime")?;
        let of = |name: &str| -> PyResult<Py<PyType>> { Ok(module.getattr(name)?.cast_into::<PyType>()?.unbind()) };
        let datetime = of("datetime")?;
        let epoch = datetime.bind(py).call1((1970, 1, 1, 0, 0, 0, 0, module.getattr("UTC")?))?.unbind();
        let local_epoch = datetime.bind(py).call1((1970, 1, 1))?.unbind();
        let decimal = py.import("decimal")?.getattr("Decimal")?.cast_into::<PyType>()?.unbind();
        Ok(Classes {
            date: of("date")?,
            time: of("time")?,
            datetime,
            timezone: of("timezone")?,
            decimal,
            epoch,
            local_epoch,
        })
    })
}

/// How rows are written, with their keys as Python's strings.
pub struct Writer {
    writing: Arc<Writing>,
    keys: Vec<Box<[Option<Py<PyString>>]>>,
}

type Written = Result<(), Fault>;

thread_local! {
    /// What payloads are written into: memory of its own for each would cost as much as a field or two.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}
/// More bytes are not kept for the next payload.
const MOST_SPARE: usize = 1 << 16;

const EPOCH_ORDINAL: i64 = 719_163;
const MICROS: i64 = 1_000_000;
const FLOAT_MAX: f64 = 3.402_823_567_797_336_6e38;

impl Writer {
    pub fn new(py: Python<'_>, writing: Arc<Writing>) -> Self {
        let keys = writing.writes().iter().map(|write| match write {
            Write::Record { fields } => {
                let interned = |key: &String| PyString::intern(py, key).unbind();
                fields.iter().map(|field| field.key.as_ref().map(interned)).collect()
            }
            _ => Box::default(),
        });
        Self { keys: keys.collect(), writing: Arc::clone(&writing) }
    }

    /// The prefix, and a value's body behind it.
    pub fn payload<'py>(&self, value: &Bound<'py, PyAny>, prefix: &[u8]) -> Result<Bound<'py, PyBytes>, Fault> {
        // Taken, for Python's code may run meanwhile and write, too.
        let mut out = SPARE.take();
        out.clear();
        out.extend_from_slice(prefix);
        self.value(self.writing.root, value, &mut out, self.writing.levels)?;
        let payload = PyBytes::new(value.py(), &out);
        if out.capacity() <= MOST_SPARE {
            SPARE.set(out);
        }
        Ok(payload)
    }

    /// What most fields are is written in place, as `Rows::value` reads it.
    #[inline(always)]
    fn value(&self, number: usize, value: &Bound<'_, PyAny>, out: &mut Vec<u8>, levels: u32) -> Written {
        let below = levels.checked_sub(1).ok_or(Fault::Bad)?;
        match self.writing.write(number) {
            Write::String => put_text(value, out)?,
            Write::Long => put_long(out, integer(value)?),
            Write::Int => put_long(out, i64::from(i32::try_from(integer(value)?).map_err(|_| Fault::Bad)?)),
            Write::Double => out.extend_from_slice(&exact::<PyFloat>(value)?.value().to_le_bytes()),
            Write::Boolean => out.push(u8::from(exact::<PyBool>(value)?.is_true())),
            write => self.other(number, write, value, out, below)?,
        }
        Ok(())
    }

    #[inline(never)]
    fn other(&self, number: usize, write: &Write, value: &Bound<'_, PyAny>, out: &mut Vec<u8>, below: u32) -> Written {
        match write {
            Write::Beside { null, branch, value: part } => {
                if !value.is_none() {
                    put_long(out, i64::from(*branch));
                    return self.value(*part, value, out, below);
                }
                put_long(out, i64::from(null.ok_or(Fault::Bad)?));
                Ok(())
            }
            Write::Record { fields } => self.record(number, fields, exact::<PyDict>(value)?, out, below),
            Write::List { items } => {
                let list = exact::<PyList>(value)?;
                let len = list.len();
                if len > 0 {
                    put_long(out, len as i64);
                    for item in list {
                        self.value(*items, &item, out, below)?;
                    }
                    // Another thread, or a subclass's method, may have changed it meanwhile.
                    if list.len() != len {
                        return Err(Fault::Bad);
                    }
                }
                out.push(0);
                Ok(())
            }
            Write::Entries { key, value: part } if value.is_exact_instance_of::<PyList>() => {
                self.listed(*key, *part, exact::<PyList>(value)?, out, below)
            }
            Write::Map { values } => entries(exact::<PyDict>(value)?, out, |key, item, out| {
                put_text(key, out)?;
                self.value(*values, item, out, below)
            }),
            Write::Entries { key, value: part } => {
                entries(exact::<PyDict>(value)?, out, |name, item, out| {
                    // A map's key is a string, whatever type it is written as.
                    exact::<PyString>(name)?;
                    self.value(*key, name, out, below)?;
                    self.value(*part, item, out, below)
                })
            }
            write => rare(write, value, out),
        }
    }

    /// A map that comes as fastavro gives it: entries of `key` and `value`.
    fn listed(&self, key: usize, value: usize, entries: &Bound<'_, PyList>, out: &mut Vec<u8>, levels: u32) -> Written {
        let py = entries.py();
        let len = entries.len();
        if len > 0 {
            put_long(out, len as i64);
            for entry in entries {
                let entry = exact::<PyDict>(&entry)?;
                let of = |name| -> Result<_, Fault> { entry.get_item(name)?.ok_or(Fault::Bad) };
                self.value(key, &of(intern!(py, "key"))?, out, levels)?;
                self.value(value, &of(intern!(py, "value"))?, out, levels)?;
                if entry.len() != 2 {
                    return Err(Fault::Bad);
                }
            }
            if entries.len() != len {
                return Err(Fault::Bad);
            }
        }
        out.push(0);
        Ok(())
    }

    fn record(
        &self,
        number: usize,
        fields: &[WriteField],
        row: &Bound<'_, PyDict>,
        out: &mut Vec<u8>,
        levels: u32,
    ) -> Written {
        let (mut found, mut next) = (0, 0);
        for (field, key) in fields.iter().zip(&self.keys[number]) {
            let value = match key {
                Some(key) => item(row, key, &mut next)?,
                None => None,
            };
            match (value, &field.null) {
                (Some(value), Some(null)) if value.is_none() => {
                    out.extend_from_slice(null);
                    found += 1;
                }
                (Some(value), _) => {
                    self.value(field.value, &value, out, levels)?;
                    found += 1;
                }
                (None, _) => out.extend_from_slice(field.missing.as_deref().ok_or(Fault::Bad)?),
            }
        }
        // A key that is left over is another field's, in other letter case, or nobody's.
        if found == row.len() { Ok(()) } else { Err(Fault::Bad) }
    }
}

/// Appends the entries of a dict in one block. A dict that is changed meanwhile (by the `__eq__` of a key further down, by
/// another thread) is the caller's: PyO3's iterator panics at the next entry, so it is not asked for one then.
fn entries<'py>(
    map: &Bound<'py, PyDict>,
    out: &mut Vec<u8>,
    write: impl Fn(&Bound<'py, PyAny>, &Bound<'py, PyAny>, &mut Vec<u8>) -> Written,
) -> Written {
    let len = map.len();
    if len > 0 {
        put_long(out, len as i64);
        let mut left = map.iter();
        for _ in 0..len {
            let (key, item) = left.next().ok_or(Fault::Bad)?;
            write(&key, &item, out)?;
            if map.len() != len {
                return Err(Fault::Bad);
            }
        }
        if left.next().is_some() {
            return Err(Fault::Bad);
        }
    }
    out.push(0);
    Ok(())
}

/// A key's value. Most rows have their keys in the order of the fields: the entry at `next`, where one is looked for first,
/// then has the very key, and `next` goes on.
#[inline]
fn item<'py>(row: &Bound<'py, PyDict>, key: &Py<PyString>, next: &mut isize) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (mut after, mut its_key, mut value) = (*next, ptr::null_mut(), ptr::null_mut());
    // SAFETY: the thread is attached and the dict lives, so key and value are its own until Python's code runs. None does
    // before the value is held. A dict that was changed since `next` was found has another entry there, or none.
    unsafe {
        let is_there = ffi::PyDict_Next(row.as_ptr(), &raw mut after, &raw mut its_key, &raw mut value) != 0;
        if is_there && its_key == key.as_ptr() {
            *next = after;
            return Ok(Some(Bound::from_borrowed_ptr(row.py(), value)));
        }
    }
    row.get_item(key.bind(row.py()))
}

/// A value of exactly that type: a subclass may have a mind of its own.
#[inline]
fn exact<'a, 'py, T: pyo3::PyTypeInfo>(value: &'a Bound<'py, PyAny>) -> Result<&'a Bound<'py, T>, Fault> {
    value.cast_exact().map_err(|_| Fault::Bad)
}

fn put_text(value: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> Written {
    // Half of a surrogate pair has no UTF-8.
    let text = exact::<PyString>(value)?.to_str().map_err(|_| Fault::Bad)?;
    put_sized(out, text.as_bytes());
    Ok(())
}

fn integer(value: &Bound<'_, PyAny>) -> Result<i64, Fault> {
    exact::<PyInt>(value)?.extract().map_err(|_| Fault::Bad)
}

/// Values without parts that few fields have.
fn rare(write: &Write, value: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> Written {
    let py = value.py();
    match write {
        Write::Null if value.is_none() => {}
        Write::Float => {
            let number = exact::<PyFloat>(value)?.value();
            if (FLOAT_MAX..f64::INFINITY).contains(&number.abs()) {
                return Err(Fault::Bad);
            }
            out.extend_from_slice(&(number as f32).to_le_bytes());
        }
        Write::Bytes => put_sized(out, exact::<PyBytes>(value)?.as_bytes()),
        Write::Fixed { size } => {
            let bytes = exact::<PyBytes>(value)?.as_bytes();
            if bytes.len() != *size {
                return Err(Fault::Bad);
            }
            out.extend_from_slice(bytes);
        }
        Write::Enum { symbols } => {
            let text = exact::<PyString>(value)?.to_str().map_err(|_| Fault::Bad)?;
            let symbol = symbols.iter().position(|symbol| symbol == text).ok_or(Fault::Bad)?;
            put_long(out, symbol as i64);
        }
        Write::Date => {
            of_class(value, &classes(py)?.date)?;
            let ordinal: i64 = value.call_method0(intern!(py, "toordinal"))?.extract()?;
            put_long(out, ordinal - EPOCH_ORDINAL);
        }
        Write::Time { per_second, is_cut } => {
            of_class(value, &classes(py)?.time)?;
            if !value.getattr(intern!(py, "tzinfo"))?.is_none() {
                return Err(Fault::Bad);
            }
            let of = |name: &Bound<'_, PyString>| -> PyResult<i64> { value.getattr(name)?.extract() };
            let hours = of(intern!(py, "hour"))?;
            let minutes = of(intern!(py, "minute"))?;
            let seconds = of(intern!(py, "second"))?;
            let micros = of(intern!(py, "microsecond"))?;
            put_long(out, in_unit(((hours * 60 + minutes) * 60 + seconds) * MICROS + micros, *per_second, *is_cut)?);
        }
        Write::Timestamp { per_second, is_cut, is_local } => {
            let classes = classes(py)?;
            of_class(value, &classes.datetime)?;
            let zone = value.getattr(intern!(py, "tzinfo"))?;
            // Any other zone runs Python code, which may change what is being written.
            if *is_local != zone.is_none() || !*is_local && !zone.get_type().is(classes.timezone.bind(py)) {
                return Err(Fault::Bad);
            }
            let epoch = if *is_local { &classes.local_epoch } else { &classes.epoch };
            let since = value.sub(epoch.bind(py))?;
            let of = |name: &Bound<'_, PyString>| -> PyResult<i64> { since.getattr(name)?.extract() };
            let seconds = of(intern!(py, "days"))? * 86_400 + of(intern!(py, "seconds"))?;
            let micros = seconds * MICROS + of(intern!(py, "microseconds"))?;
            put_long(out, in_unit(micros, *per_second, *is_cut)?);
        }
        Write::Decimal { size, precision, scale, is_fastavros } => {
            of_class(value, &classes(py)?.decimal)?;
            let text = value.str()?;
            let text = text.to_str()?;
            let unscaled = unscaled_of_text(text, *scale).ok_or(Fault::Bad)?;
            if *is_fastavros && !is_written_alike(text, unscaled, *scale) {
                return Err(Fault::Bad);
            }
            decimal_bytes(unscaled, *precision, *size, out).ok_or(Fault::Bad)?;
        }
        _ => return Err(Fault::Bad),
    }
    Ok(())
}

fn of_class(value: &Bound<'_, PyAny>, class: &Py<PyType>) -> Written {
    if value.get_type().is(class.bind(value.py())) { Ok(()) } else { Err(Fault::Bad) }
}

/// Microseconds in a type's unit; what is finer is cut down, or nobody's here.
fn in_unit(micros: i64, per_second: i64, is_cut: bool) -> Result<i64, Fault> {
    let unit = MICROS / per_second;
    if !is_cut && micros.rem_euclid(unit) != 0 {
        return Err(Fault::Bad);
    }
    Ok(micros.div_euclid(unit))
}
