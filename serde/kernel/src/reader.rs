//! One payload → one row: the look-up of a schema id's program, without Python in between.

use std::borrow::Cow;
use std::sync::OnceLock;

use hashbrown::HashMap;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::Decoder;
use crate::batch::{PREFIX_ID_SIZE, id_of};
use crate::bodies::Bodies;
use crate::places::{Address, Given, Places};
use crate::python::Fault;

/// What deserializers inherit from: a call reads what it has a program for, and has `_call` do the rest.
#[pyclass(subclass, frozen)]
pub struct Reader {
    /// The first programs, with address and schema id: found without a lock, a hash or a count, therefore never forgotten.
    first: [OnceLock<(Address, u32, Bodies)>; 4],
    places: Places<HashMap<u32, Bodies>>,
}

#[pymethods]
impl Reader {
    #[new]
    #[pyo3(signature = (*_args, **_options))]
    fn new(_args: &Bound<'_, PyTuple>, _options: Option<&Bound<'_, PyDict>>) -> Self {
        Self { first: Default::default(), places: Places::default() }
    }

    #[pyo3(signature = (*args, **named))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if named.is_none()
            && args.len() == 2
            && let payload = args.get_borrowed_item(0)?
            && let Ok(bytes) = payload.cast_exact::<PyBytes>()
            && let bytes = bytes.as_bytes()
            && let ctx = args.get_borrowed_item(1)?
            && let Some(rows) = slf.get().rows(bytes, &ctx)
        {
            match rows.read(slf.py(), bytes, PREFIX_ID_SIZE) {
                Ok(row) => return Ok(row),
                Err(Fault::Raised(error)) => return Err(*error),
                Err(Fault::Bad) => {}
            }
        }
        slf.getattr(intern!(slf.py(), "_call"))?.call(args, named)
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
        let mut known: Option<(u32, Cow<Bodies>)> = None;
        for number in first..payloads.len() {
            // The list may be shorter by now, if another thread has it too.
            let Ok(payload) = payloads.get_item(number) else { break };
            let Ok(bytes) = payload.cast_exact::<PyBytes>() else { break };
            let Some(id) = id_of(bytes.as_bytes()) else { break };
            if known.as_ref().is_none_or(|(of, _)| *of != id) {
                known = slf.get().rows(bytes.as_bytes(), ctx).map(|rows| (id, rows));
            }
            let Some((_, program)) = &known else { break };
            match program.read(py, bytes.as_bytes(), PREFIX_ID_SIZE) {
                Ok(row) => rows.append(row)?,
                Err(Fault::Raised(error)) => return Err(*error),
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
        let py = topic.py();
        let mut program = (Address::new(topic, field), schema_id, decoder.bodies().clone());
        for place in &self.first {
            match place.set(program) {
                Ok(()) => return Ok(()),
                Err(refused) => program = refused,
            }
        }
        let (address, schema_id, bodies) = program;
        self.places.put(py, address, most, HashMap::len, |programs| drop(programs.insert(schema_id, bodies)))
    }
}

impl Reader {
    /// The program for the payload, unless headers may name another schema.
    #[inline]
    fn rows(&self, payload: &[u8], ctx: &Bound<'_, PyAny>) -> Option<Cow<'_, Bodies>> {
        let id = id_of(payload)?;
        let given = Given::by(ctx, true)?;
        for (address, schema_id, bodies) in self.first.iter().map_while(OnceLock::get) {
            if *schema_id == id && address.is(&given) {
                return Some(Cow::Borrowed(bodies));
            }
        }
        self.places.find(&given, |programs| programs.get(&id).cloned()).map(Cow::Owned)
    }
}
