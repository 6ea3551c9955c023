//! What reads bodies, whatever their format.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::batch::Plan;
use crate::json::{self, Reading};
use crate::python::{Fault, Rows};

/// How bodies of a schema, or of none, are read.
#[derive(Clone)]
pub enum Bodies {
    Avro(Arc<Rows>),
    Json(Arc<Reading>),
}

impl Bodies {
    /// The value of a body that fills the rest of the payload.
    #[inline]
    pub fn read<'py>(&self, py: Python<'py>, payload: &[u8], body_offset: usize) -> Result<Bound<'py, PyAny>, Fault> {
        match self {
            Self::Avro(rows) => rows.read(py, payload, body_offset),
            Self::Json(reading) => reading.row(py, payload, body_offset).map_err(|fault| match fault {
                json::Fault::Raised(error) => error.into(),
                json::Fault::Unread | json::Fault::Full => Fault::Bad,
            }),
        }
    }

    /// How batches are read.
    pub fn plan(&self) -> Plan {
        match self {
            Self::Avro(rows) => Plan::Program(Arc::clone(rows.program())),
            Self::Json(reading) => Plan::Json(Arc::clone(reading)),
        }
    }
}
