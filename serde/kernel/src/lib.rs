//! Avro bodies → Python's values and Arrow arrays, by programs that srfix makes of a writer's schema and columns.
//!
//! The kernel knows no registry, no subject and no rule of letter case. It reads what is right, exactly as srfix's Python does,
//! and leaves everything else to it: what is wrong with a body, and in which words, is Python's to say.

mod batch;
mod census;
mod columns;
mod cursor;
mod description;
mod encoder;
mod faults;
mod from_python;
mod interchange;
mod leaf;
mod program;
mod python;
mod reader;
mod rows;
mod sink;
mod writing;

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use arrow_array::{Array, ArrayRef, cast::AsArray};
use arrow_schema::DataType;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::batch::{Batch, Identity, Odd, Plan, TooMuch};
use crate::columns::Type;
use crate::interchange::{Exported, imported};
use crate::program::Program;
use crate::python::{Fault, Rows};

/// Reads bodies of one writer schema.
#[pyclass(frozen)]
struct Decoder {
    rows: Arc<Rows>,
    /// Called with a payload that is not read here, and the body's offset.
    otherwise: Py<PyAny>,
}

#[pymethods]
impl Decoder {
    #[new]
    fn new(py: Python<'_>, description: &[u8], otherwise: Py<PyAny>) -> PyResult<Self> {
        let program = Program::parse(description).map_err(PyValueError::new_err)?;
        Ok(Self { rows: Arc::new(Rows::new(py, Arc::new(program))), otherwise })
    }

    #[pyo3(signature = (payload, body_offset, /))]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        payload: &Bound<'py, PyAny>,
        body_offset: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(bytes) = payload.cast::<PyBytes>() {
            match self.rows.read(py, bytes.as_bytes(), body_offset) {
                Ok(value) => return Ok(value),
                Err(Fault::Raised(error)) => return Err(error),
                Err(Fault::Bad) => {}
            }
        }
        self.otherwise.bind(py).call1((payload, body_offset))
    }
}

impl Decoder {
    fn rows(&self) -> &Arc<Rows> {
        &self.rows
    }
}

/// Reads batches into one set of columns.
#[pyclass(frozen)]
struct BatchDecoder {
    types: Vec<(String, Type)>,
    plans: RwLock<HashMap<Identity, Plan>>,
}

/// The batch, none if there are ids without a plan; these ids; the rows that are the caller's to read, as (position, reason,
/// words; no words where both are Python's to say).
type Decoded = (Option<Exported>, Vec<Identity>, Vec<(usize, &'static str, Option<String>)>);

#[pymethods]
impl BatchDecoder {
    #[new]
    fn new(columns: &[u8]) -> PyResult<Self> {
        let types = serde_json::from_slice(columns).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { types, plans: RwLock::default() })
    }

    /// Says how the bodies of a schema, by its id or GUID, are read: by a decoder's program; by the caller, if there is none.
    #[pyo3(signature = (identity, decoder, /))]
    fn plan(&self, identity: Identity, decoder: Option<&Decoder>) -> PyResult<()> {
        let plan = decoder.map_or(Plan::Otherwise, |decoder| Plan::Program(Arc::clone(decoder.rows.program())));
        self.plans.write().map_err(|_| poisoned())?.insert(identity, plan);
        Ok(())
    }

    /// Forgets a schema's plan.
    #[pyo3(signature = (identity, /))]
    fn forget(&self, identity: Identity) -> PyResult<()> {
        self.plans.write().map_err(|_| poisoned())?.remove(&identity);
        Ok(())
    }

    /// Of a list of bytes and None.
    fn decode_list(&self, py: Python<'_>, payloads: &Bound<'_, PyList>) -> PyResult<Decoded> {
        let mut held = Vec::with_capacity(payloads.len());
        for payload in payloads {
            // Held, for other threads may change the list meanwhile.
            held.push(if payload.is_none() { None } else { Some(payload.cast_into::<PyBytes>()?) });
        }
        let bytes: Vec<Option<&[u8]>> =
            held.iter().map(|payload| payload.as_ref().map(|payload| payload.as_bytes())).collect();
        py.detach(|| self.decode(bytes.iter().copied(), bytes.len()))
    }

    /// Of Arrow arrays of a binary type.
    fn decode_arrays(&self, py: Python<'_>, payloads: Vec<Bound<'_, PyAny>>) -> PyResult<Decoded> {
        let arrays = payloads.iter().map(imported).collect::<PyResult<Vec<_>>>()?;
        py.detach(|| {
            let parts = arrays.iter().map(payloads_of).collect::<PyResult<Vec<_>>>()?;
            {
                let rows = arrays.iter().map(|array| array.len()).sum();
                self.decode(parts.into_iter().flatten(), rows)
            }
        })
    }
}

impl BatchDecoder {
    fn decode<'a>(&self, mut payloads: impl Iterator<Item = Option<&'a [u8]>>, rows: usize) -> PyResult<Decoded> {
        let plans = self.plans.read().map_err(|_| poisoned())?;
        let mut batch = Batch::new(self.types.clone(), rows);
        while let Some(payload) = payloads.next() {
            batch.push(payload, &plans).map_err(|TooMuch| {
                PyOverflowError::new_err("a column's values are more than one Arrow array can hold")
            })?;
            if let Some((_, Odd::Unknown(id))) = batch.odd.last() {
                let mut unknown = vec![*id];
                unknown.extend(payloads.flatten().filter_map(batch::identity_of).map(|(identity, _)| identity));
                unknown.retain(|identity| !plans.contains_key(identity));
                unknown.sort_unstable();
                unknown.dedup();
                return Ok((None, unknown, Vec::new()));
            }
        }
        let odd = std::mem::take(&mut batch.odd).into_iter().map(|(position, odd)| odd.told(position)).collect();
        let batch = batch.finish().map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok((Some(Exported::new(batch)), Vec::new(), odd))
    }
}

type Payloads<'a> = Box<dyn Iterator<Item = Option<&'a [u8]>> + 'a>;

fn payloads_of(array: &ArrayRef) -> PyResult<Payloads<'_>> {
    Ok(match array.data_type() {
        DataType::Binary => Box::new(array.as_binary::<i32>().iter()),
        DataType::LargeBinary => Box::new(array.as_binary::<i64>().iter()),
        DataType::BinaryView => Box::new(array.as_binary_view().iter()),
        DataType::FixedSizeBinary(_) => Box::new(array.as_fixed_size_binary().iter()),
        other => return Err(PyTypeError::new_err(format!("payloads are binary, not {other}"))),
    })
}

#[cold]
fn poisoned() -> PyErr {
    PyValueError::new_err("a thread panicked while it held the plans")
}

#[pymodule(gil_used = true)]
fn srfix_kernel(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Decoder>()?;
    module.add_class::<reader::Reader>()?;
    module.add_class::<encoder::Encoder>()?;
    module.add_class::<BatchDecoder>()?;
    module.add_class::<census::PartitionCounter>()
}
