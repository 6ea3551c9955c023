//! Bodies of Avro and JSON → Python's values and Arrow arrays, by programs that srfix makes of columns and a writer's schema.
//!
//! The kernel knows no registry, no subject and no rule of letter case. It reads what is right, exactly as srfix's Python does,
//! and leaves everything else to it: what is wrong with a body, and in which words, is Python's to say.

mod batch;
mod bodies;
mod census;
mod columns;
mod cursor;
mod decimal_layout;
mod description;
mod encoder;
mod faults;
mod faulty_rows;
mod framer;
mod from_python;
#[cfg(test)]
mod hostile;
mod interchange;
mod json;
mod leaf;
mod moments;
mod places;
mod program;
mod python;
mod reader;
mod rows;
mod sink;
mod texts;
mod writing;

use std::iter;
use std::sync::{Arc, RwLock};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, LargeBinaryArray};
use arrow_schema::DataType;
use hashbrown::HashSet;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::batch::{Batch, Halt, Identity, Known, Odd, Plan, Plans};
use crate::bodies::Bodies;
use crate::columns::Type;
use crate::faulty_rows::FaultyRows;
use crate::interchange::{Exported, imported};

use crate::json::Reading;
use crate::program::Program;
use crate::python::{Fault, Rows};

/// Reads bodies of one writer schema, or of one set of columns.
#[pyclass(frozen)]
struct Decoder {
    bodies: Bodies,
    /// Called with a payload that is not read here, and the body's offset.
    otherwise: Py<PyAny>,
}

#[pymethods]
impl Decoder {
    #[new]
    fn new(py: Python<'_>, description: &[u8], otherwise: Py<PyAny>) -> PyResult<Self> {
        let program = Program::parse(description).map_err(PyValueError::new_err)?;
        Ok(Self { bodies: Bodies::Avro(Arc::new(Rows::new(py, Arc::new(program))?)), otherwise })
    }

    /// Of bodies of JSON.
    ///
    /// `ask` is called with the number of an object in the description and a key: which column the key feeds, -1 for none, -2
    /// if the object is `otherwise`'s to read.
    #[staticmethod]
    fn json(py: Python<'_>, description: &[u8], otherwise: Py<PyAny>, ask: Option<Py<PyAny>>) -> PyResult<Self> {
        let reading = Reading::parse(py, description, ask).map_err(PyValueError::new_err)?;
        Ok(Self { bodies: Bodies::Json(Arc::new(reading)), otherwise })
    }

    #[pyo3(signature = (payload, body_offset, /))]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        payload: &Bound<'py, PyAny>,
        body_offset: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(bytes) = payload.cast::<PyBytes>() {
            match self.bodies.read(py, bytes.as_bytes(), body_offset) {
                Ok(value) => return Ok(value),
                Err(Fault::Raised(error)) => return Err(*error),
                Err(Fault::Bad) => {}
            }
        }
        self.otherwise.bind(py).call1((payload, body_offset))
    }

    /// Rows of bare bodies from `first` on, up to the first one that is not read here.
    #[pyo3(signature = (payloads, first, /))]
    fn read_ahead<'py>(
        &self,
        py: Python<'py>,
        payloads: &Bound<'py, PyList>,
        first: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let rows = PyList::empty(py);
        for number in first..payloads.len() {
            // The list may be shorter by now, if another thread has it too.
            let Ok(payload) = payloads.get_item(number) else { break };
            let Ok(bytes) = payload.cast_exact::<PyBytes>() else { break };
            match self.bodies.read(py, bytes.as_bytes(), 0) {
                Ok(row) => rows.append(row)?,
                Err(Fault::Raised(error)) => return Err(*error),
                Err(Fault::Bad) => break,
            }
        }
        Ok(rows)
    }
}

impl Decoder {
    fn bodies(&self) -> &Bodies {
        &self.bodies
    }
}

/// Reads batches into one set of columns.
#[pyclass(frozen)]
struct BatchDecoder {
    types: Vec<(String, Type)>,
    /// Taken as they are for each batch: no lock is held while Python may be asked.
    plans: RwLock<Arc<Plans>>,
}

/// The batch, none if there are ids without a plan; these ids; position and reason of the rows that are the caller's to read; the
/// rows that are bad.
type Decoded = (Option<Exported>, Vec<Identity>, Vec<(usize, &'static str)>, FaultyRows);

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
        let plan = decoder.map_or(Plan::Otherwise, |decoder| decoder.bodies().plan());
        self.change(|plans| drop(plans.named.insert(identity, plan)))
    }

    /// Says how all payloads are read, which are bodies and nothing else.
    #[pyo3(signature = (decoder, /))]
    fn plan_bare(&self, decoder: &Decoder) -> PyResult<()> {
        self.change(|plans| plans.bare = Some(decoder.bodies().plan()))
    }

    /// Forgets a schema's plan.
    #[pyo3(signature = (identity, /))]
    fn forget(&self, identity: Identity) -> PyResult<()> {
        self.change(|plans| drop(plans.named.remove(&identity)))
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
        py.detach(|| self.decode(|| bytes.iter().copied(), bytes.len()))
    }

    /// Of Arrow arrays of a binary type.
    fn decode_arrays(&self, py: Python<'_>, payloads: Vec<Bound<'_, PyAny>>) -> PyResult<Decoded> {
        let arrays = payloads.iter().map(imported).collect::<PyResult<Vec<_>>>()?;
        py.detach(|| {
            let parts = arrays.iter().map(payloads_of).collect::<PyResult<Vec<_>>>()?;
            let rows = arrays.iter().map(|array| array.len()).sum();
            self.decode(|| parts.iter().flat_map(Payloads::iter), rows)
        })
    }
}

impl BatchDecoder {
    fn change(&self, change: impl FnOnce(&mut Plans)) -> PyResult<()> {
        change(Arc::make_mut(&mut *self.plans.write().map_err(|_| poisoned())?));
        Ok(())
    }

    fn decode<'a, I: Iterator<Item = Option<&'a [u8]>>>(
        &self,
        payloads: impl Fn() -> I,
        rows: usize,
    ) -> PyResult<Decoded> {
        let plans = Arc::clone(&*self.plans.read().map_err(|_| poisoned())?);
        // Bytes that are no text are rare: a batch with some is read again, to find out in which rows.
        match self.decode_once(&plans, payloads(), rows, true)? {
            Some(decoded) => Ok(decoded),
            None => self.decode_once(&plans, payloads(), rows, false)?.ok_or_else(poisoned),
        }
    }

    /// None if a text turns out at the end not to be UTF-8.
    fn decode_once<'a>(
        &self,
        plans: &Plans,
        mut payloads: impl Iterator<Item = Option<&'a [u8]>>,
        rows: usize,
        is_text_checked_later: bool,
    ) -> PyResult<Option<Decoded>> {
        let mut batch = Batch::new(self.types.clone(), rows, is_text_checked_later);
        let mut known = Known::new(plans);
        while let Some(payload) = payloads.next() {
            batch.push(payload, &mut known).map_err(|halt| match halt {
                Halt::TooMuch => PyOverflowError::new_err("a column's values are more than one Arrow array can hold"),
                Halt::Raised(error) => error,
            })?;
            if let Some((_, Odd::Unknown(id))) = batch.odd.last() {
                // In the order in which rows name them: Python asks for the first row's schema first, too.
                let mut seen: HashSet<Identity> = iter::once(*id).collect();
                let more = payloads.flatten().filter_map(batch::identity_of).map(|(identity, _)| identity);
                let mut unknown = vec![*id];
                unknown.extend(more.filter(|one| !plans.named.contains_key(one) && seen.insert(*one)));
                return Ok(Some((None, unknown, Vec::new(), FaultyRows::default())));
            }
        }
        match batch.finish() {
            Ok((batch, odd)) => {
                let (mut left, mut faults) = (Vec::new(), Vec::new());
                for (position, odd) in odd {
                    match odd {
                        Odd::Faulty(fault, payload) => faults.push((position, fault, payload)),
                        other => left.push((position, other.word())),
                    }
                }
                Ok(Some((Some(Exported::new(batch)), Vec::new(), left, FaultyRows { rows, faults })))
            }
            Err(_) if is_text_checked_later => Ok(None),
            Err(error) => Err(PyValueError::new_err(error.to_string())),
        }
    }
}

/// Arrow's binary types.
enum Payloads<'a> {
    Binary(&'a BinaryArray),
    LargeBinary(&'a LargeBinaryArray),
    BinaryView(&'a BinaryViewArray),
    FixedSizeBinary(&'a FixedSizeBinaryArray),
}

impl<'a> Payloads<'a> {
    fn iter(&self) -> Box<dyn Iterator<Item = Option<&'a [u8]>> + 'a> {
        match *self {
            Self::Binary(array) => Box::new(array.iter()),
            Self::LargeBinary(array) => Box::new(array.iter()),
            Self::BinaryView(array) => Box::new(array.iter()),
            Self::FixedSizeBinary(array) => Box::new(array.iter()),
        }
    }
}

fn payloads_of(array: &ArrayRef) -> PyResult<Payloads<'_>> {
    Ok(match array.data_type() {
        DataType::Binary => Payloads::Binary(array.as_binary()),
        DataType::LargeBinary => Payloads::LargeBinary(array.as_binary()),
        DataType::BinaryView => Payloads::BinaryView(array.as_binary_view()),
        DataType::FixedSizeBinary(_) => Payloads::FixedSizeBinary(array.as_fixed_size_binary()),
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
    module.add_class::<framer::Framer>()?;
    module.add_class::<BatchDecoder>()?;
    module.add_class::<census::PartitionCounter>()
}
