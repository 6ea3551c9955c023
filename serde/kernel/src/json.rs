//! Bodies of JSON → Python's values and Arrow arrays, under columns.
//!
//! jiter reads the JSON. Which key feeds which column is Python's to say, once for each spelling of a key.

mod columns;
mod description;
mod document;
mod keys;
mod leaf;
mod numbers;
mod python;
mod reading;

pub use keys::Memory;
pub use reading::Reading;

use pyo3::PyErr;

use crate::columns::Refusal;

/// What ends the reading of a body.
#[derive(Debug)]
pub enum Fault {
    /// It is for Python to read it, or to say what is wrong with it.
    Unread,
    /// A column is full.
    Full,
    /// An exception of Python's.
    Raised(PyErr),
}

impl From<jiter::JiterError> for Fault {
    #[cold]
    fn from(_: jiter::JiterError) -> Self {
        Self::Unread
    }
}

impl From<Refusal> for Fault {
    #[cold]
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Bad(_) => Self::Unread,
            Refusal::Full => Self::Full,
        }
    }
}

impl From<PyErr> for Fault {
    #[cold]
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}
