//! Python's values → bodies. Values of exactly the types that columns give are written here; all others are the caller's.

use std::sync::Arc;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyType};

use crate::python::Fault;
use crate::sink::{put_long, put_sized};
use crate::writing::{Write, WriteField, Writing, decimal_bytes, unscaled_of_text};

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

    /// Appends the body of a value.
    pub fn write(&self, value: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> Written {
        self.value(self.writing.root, value, out, self.writing.levels)
    }

    fn value(&self, number: usize, value: &Bound<'_, PyAny>, out: &mut Vec<u8>, levels: u32) -> Written {
        let below = levels.checked_sub(1).ok_or(Fault::Bad)?;
        match self.writing.write(number) {
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
            Write::Map { values } => {
                let map = exact::<PyDict>(value)?;
                let len = map.len();
                if len > 0 {
                    put_long(out, len as i64);
                    let mut written = 0;
                    for (key, item) in map {
                        put_text(&key, out)?;
                        self.value(*values, &item, out, below)?;
                        written += 1;
                    }
                    if written != len {
                        return Err(Fault::Bad);
                    }
                }
                out.push(0);
                Ok(())
            }
            Write::Entries { key, value: part } => {
                let map = exact::<PyDict>(value)?;
                let len = map.len();
                if len > 0 {
                    put_long(out, len as i64);
                    let mut written = 0;
                    for (name, item) in map {
                        // A dict of entries has text as its keys, whatever their type, or null.
                        if !name.is_none() {
                            exact::<PyString>(&name)?;
                        }
                        self.value(*key, &name, out, below)?;
                        self.value(*part, &item, out, below)?;
                        written += 1;
                    }
                    if written != len {
                        return Err(Fault::Bad);
                    }
                }
                out.push(0);
                Ok(())
            }
            write => scalar(write, value, out),
        }
    }

    fn record(
        &self,
        number: usize,
        fields: &[WriteField],
        row: &Bound<'_, PyDict>,
        out: &mut Vec<u8>,
        levels: u32,
    ) -> Written {
        let py = row.py();
        let mut found = 0;
        for (field, key) in fields.iter().zip(&self.keys[number]) {
            let value = match key {
                Some(key) => row.get_item(key.bind(py))?,
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

/// A value of exactly that type: a subclass may have a mind of its own.
fn exact<'a, 'py, T: pyo3::PyTypeInfo>(value: &'a Bound<'py, PyAny>) -> Result<&'a Bound<'py, T>, Fault> {
    if value.is_exact_instance_of::<T>() { value.cast().map_err(|_| Fault::Bad) } else { Err(Fault::Bad) }
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

fn scalar(write: &Write, value: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> Written {
    let py = value.py();
    match write {
        Write::Null if value.is_none() => {}
        Write::Boolean => out.push(u8::from(exact::<PyBool>(value)?.is_true())),
        Write::Int => put_long(out, i64::from(i32::try_from(integer(value)?).map_err(|_| Fault::Bad)?)),
        Write::Long => put_long(out, integer(value)?),
        Write::Double => out.extend_from_slice(&exact::<PyFloat>(value)?.value().to_le_bytes()),
        Write::Float => {
            let number = exact::<PyFloat>(value)?.value();
            if (FLOAT_MAX..f64::INFINITY).contains(&number.abs()) {
                return Err(Fault::Bad);
            }
            out.extend_from_slice(&(number as f32).to_le_bytes());
        }
        Write::String => put_text(value, out)?,
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
        Write::Decimal { size, precision, scale } => {
            of_class(value, &classes(py)?.decimal)?;
            let text = value.str()?;
            let unscaled = unscaled_of_text(text.to_str()?, *scale).ok_or(Fault::Bad)?;
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
