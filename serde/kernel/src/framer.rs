//! One row → one payload: the look-up of what a topic is written under, without Python in between.

use std::sync::Arc;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::encoder::Encoder;
use crate::from_python::Writer;
use crate::places::{Address, Given, Places};
use crate::python::Fault;

/// How rows of a topic are written, and what stands before each body.
struct Known {
    writer: Arc<Writer>,
    prefix: Box<[u8]>,
}

/// What serializers inherit from: a call writes the dicts that it has a program for, and has `_call` do the rest.
#[pyclass(subclass, frozen)]
pub struct Framer {
    places: Places<Option<Arc<Known>>>,
}

#[pymethods]
impl Framer {
    #[new]
    #[pyo3(signature = (*_args, **_options))]
    fn new(_args: &Bound<'_, PyTuple>, _options: Option<&Bound<'_, PyDict>>) -> Self {
        Self { places: Places::default() }
    }

    #[pyo3(signature = (*args, **named))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if named.is_none()
            && args.len() == 2
            && let row = args.get_borrowed_item(0)?
            && row.is_exact_instance_of::<PyDict>()
            && let ctx = args.get_borrowed_item(1)?
            && let Some(given) = Given::by(&ctx, false)
            && let Some(known) = slf.get().places.find(&given, Clone::clone)
        {
            match known.writer.payload(&row, &known.prefix) {
                Ok(payload) => return Ok(payload.into_any()),
                Err(Fault::Raised(error)) => return Err(*error),
                Err(Fault::Bad) => {}
            }
        }
        slf.getattr(intern!(slf.py(), "_call"))?.call(args, named)
    }

    /// Says how the rows of a topic's keys or values are written; of more than `most` all are forgotten first.
    fn _put(
        &self,
        topic: Bound<'_, PyString>,
        field: Bound<'_, PyString>,
        prefix: &[u8],
        encoder: &Encoder,
        most: usize,
    ) -> PyResult<()> {
        let known = Some(Arc::new(Known { writer: encoder.writer(), prefix: Box::from(prefix) }));
        self.places.put(topic.py(), Address::new(topic, field), most, |_| 1, |place| *place = known)
    }
}
