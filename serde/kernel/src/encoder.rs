//! Bodies under one schema, written from Python's rows and from Arrow's.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::from_python::Writer;
use crate::interchange::{Exported, imported_in_doubt};
use crate::python::Fault;
use crate::rows::{Names, Unwritten, Ways, written};
use crate::writing::Writing;

/// Writes bodies under one schema.
#[pyclass(frozen)]
pub struct Encoder {
    writing: Arc<Writing>,
    writer: Arc<Writer>,
    /// Called with a value that is not written here, and the prefix.
    otherwise: Py<PyAny>,
    /// Called with a record's keys, and the names of an array's fields that are not all among them: which name feeds which key;
    /// None if one feeds none, or letter case leaves it open.
    names: Py<PyAny>,
}

#[pymethods]
impl Encoder {
    #[new]
    fn new(py: Python<'_>, description: &[u8], otherwise: Py<PyAny>, names: Py<PyAny>) -> PyResult<Self> {
        let writing = Arc::new(Writing::parse(description).map_err(PyValueError::new_err)?);
        Ok(Self { writer: Arc::new(Writer::new(py, Arc::clone(&writing))), writing, otherwise, names })
    }

    #[pyo3(signature = (value, prefix, /))]
    fn encode<'py>(&self, value: &Bound<'py, PyAny>, prefix: &Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyAny>> {
        match self.writer.payload(value, prefix.as_bytes()) {
            Ok(payload) => Ok(payload.into_any()),
            Err(Fault::Raised(error)) => Err(*error),
            Err(Fault::Bad) => self.otherwise.bind(value.py()).call1((value, prefix)),
        }
    }

    /// The payloads of an Arrow array of structs, and the positions of the rows that are the caller's to write, which have null.
    #[pyo3(signature = (rows, tombstones, prefix, /, *, whole_millis, null_is_callers))]
    fn encode_rows(
        &self,
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        tombstones: Option<&Bound<'_, PyAny>>,
        prefix: &Bound<'_, PyBytes>,
        whole_millis: bool,
        null_is_callers: bool,
    ) -> PyResult<(Exported, Vec<usize>)> {
        let rows = imported_in_doubt(rows)?;
        let tombstones = tombstones.map(imported_in_doubt).transpose()?;
        let structs = rows.as_struct_opt().ok_or_else(|| PyTypeError::new_err("rows are structs"))?;
        let is_tombstone = match &tombstones {
            None => None,
            Some(mask) => Some(mask_of(mask, structs.len())?),
        };
        let prefix = prefix.as_bytes();
        let names = Matching { names: &self.names };
        let ways = Ways { writing: &self.writing, names: &names, prefix, whole_millis, null_is_callers };
        match py.detach(|| written(&ways, structs, is_tombstone)) {
            Ok(made) => Ok((Exported::of_array(&made.payloads), made.left)),
            Err(Unwritten::Names(error)) => Err(error),
            Err(Unwritten::TooMuch) => {
                Err(PyOverflowError::new_err("the payloads are more than one Arrow array can hold"))
            }
        }
    }
}

impl Encoder {
    /// How Python's rows are written.
    pub fn writer(&self) -> Arc<Writer> {
        Arc::clone(&self.writer)
    }
}

fn mask_of(mask: &dyn Array, rows: usize) -> PyResult<&BooleanArray> {
    mask.as_boolean_opt()
        .filter(|mask| mask.len() == rows && mask.null_count() == 0)
        .ok_or_else(|| PyTypeError::new_err("tombstones are true or false for each row"))
}

/// The rule of letter case, which is Python's.
struct Matching<'a> {
    names: &'a Py<PyAny>,
}

impl Names for Matching<'_> {
    type Error = PyErr;

    fn matched(&self, keys: &[&str], names: &[&str]) -> PyResult<Option<HashMap<String, String>>> {
        Python::attach(|py| self.names.bind(py).call1((keys, names))?.extract())
    }
}
