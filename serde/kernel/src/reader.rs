//! One payload → one row: the look-up of a schema id's program, without Python in between.

use std::collections::HashMap;
use std::sync::Mutex;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::Decoder;
use crate::batch::{PREFIX_ID_SIZE, id_of};
use crate::bodies::Bodies;
use crate::python::Fault;

/// The programs for one topic's keys or values.
struct Place {
    topic: Py<PyString>,
    field: Py<PyString>,
    programs: HashMap<u32, Bodies>,
}

/// What deserializers inherit from: a call reads what it has a program for, and has `_call` do the rest.
#[pyclass(subclass)]
pub struct Reader {
    places: Mutex<Vec<Place>>,
}

#[pymethods]
impl Reader {
    #[new]
    #[pyo3(signature = (*_args, **_options))]
    fn new(_args: &Bound<'_, PyTuple>, _options: Option<&Bound<'_, PyDict>>) -> Self {
        Self { places: Mutex::default() }
    }

    #[pyo3(signature = (payload, ctx))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        payload: &Bound<'py, PyAny>,
        ctx: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Some(rows) = Self::rows(slf, payload, ctx)
            && let Ok(bytes) = payload.cast_exact::<PyBytes>()
        {
            match rows.read(slf.py(), bytes.as_bytes(), PREFIX_ID_SIZE) {
                Ok(row) => return Ok(row),
                Err(Fault::Raised(error)) => return Err(error),
                Err(Fault::Bad) => {}
            }
        }
        slf.call_method1(intern!(slf.py(), "_call"), (payload, ctx))
    }

    /// Rows of the payloads from `first` on, up to the first one that is not read here: null, bad, or of a schema id without a
    /// program.
    fn _read_ahead<'py>(
        slf: &Bound<'py, Self>,
        payloads: &Bound<'py, PyList>,
        first: usize,
        ctx: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = slf.py();
        let rows = PyList::empty(py);
        let mut known: Option<(u32, Bodies)> = None;
        for number in first..payloads.len() {
            // The list may be shorter by now, if another thread has it too.
            let Ok(payload) = payloads.get_item(number) else { break };
            let Ok(bytes) = payload.cast_exact::<PyBytes>() else { break };
            let Some(id) = id_of(bytes.as_bytes()) else { break };
            if known.as_ref().is_none_or(|(of, _)| *of != id) {
                known = Self::rows(slf, &payload, ctx).map(|rows| (id, rows));
            }
            let Some((_, program)) = &known else { break };
            match program.read(py, bytes.as_bytes(), PREFIX_ID_SIZE) {
                Ok(row) => rows.append(row)?,
                Err(Fault::Raised(error)) => return Err(error),
                Err(Fault::Bad) => break,
            }
        }
        Ok(rows)
    }

    /// Puts a program in its place; of more than `most` all are forgotten first.
    fn _put(
        &self,
        topic: Bound<'_, PyString>,
        field: Bound<'_, PyString>,
        schema_id: u32,
        decoder: &Decoder,
        most: usize,
    ) -> PyResult<()> {
        let mut places = self.places.lock().map_err(|_| crate::poisoned())?;
        if places.iter().map(|place| place.programs.len()).sum::<usize>() >= most {
            places.clear();
        }
        let is_there = |place: &Place| same(&place.topic, &topic) && same(&place.field, &field);
        let place = match places.iter().position(is_there) {
            Some(number) => &mut places[number],
            None => {
                places.push(Place { topic: topic.unbind(), field: field.unbind(), programs: HashMap::new() });
                places.last_mut().ok_or_else(crate::poisoned)?
            }
        };
        place.programs.insert(schema_id, decoder.bodies().clone());
        Ok(())
    }
}

impl Reader {
    /// The program for the payload, unless headers may name another schema.
    fn rows(slf: &Bound<'_, Self>, payload: &Bound<'_, PyAny>, ctx: &Bound<'_, PyAny>) -> Option<Bodies> {
        let py = slf.py();
        let id = id_of(payload.cast_exact::<PyBytes>().ok()?.as_bytes())?;
        let topic = ctx.getattr_opt(intern!(py, "topic")).ok()??.cast_into::<PyString>().ok()?;
        let field = ctx.getattr_opt(intern!(py, "field")).ok()??.cast_into::<PyString>().ok()?;
        let headers = ctx.getattr_opt(intern!(py, "headers")).ok()??;
        if !headers.is_none() && headers.is_truthy().unwrap_or(true) {
            return None;
        }
        let this = slf.try_borrow().ok()?;
        let places = this.places.lock().ok()?;
        let place = places.iter().find(|place| same(&place.topic, &topic) && same(&place.field, &field))?;
        place.programs.get(&id).cloned()
    }
}

/// Whether two strings are the same; mostly they are one object.
fn same(one: &Py<PyString>, other: &Bound<'_, PyString>) -> bool {
    one.is(other) || matches!((one.to_str(other.py()), other.to_str()), (Ok(one), Ok(other)) if one == other)
}
