//! What is known for one topic's keys or values, found by the context that a call gets.

use std::sync::{Mutex, MutexGuard};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// A topic's keys or values.
pub struct Address {
    topic: Py<PyString>,
    field: Py<PyString>,
}

/// What a context gives as its topic and field: no strings, perhaps.
pub struct Given<'py> {
    topic: Bound<'py, PyAny>,
    field: Bound<'py, PyAny>,
}

impl<'py> Given<'py> {
    /// None where headers may say more and count.
    #[inline]
    pub fn by(ctx: &Bound<'py, PyAny>, do_headers_count: bool) -> Option<Self> {
        let py = ctx.py();
        let topic = ctx.getattr_opt(intern!(py, "topic")).ok()??;
        let field = ctx.getattr_opt(intern!(py, "field")).ok()??;
        if do_headers_count {
            let headers = ctx.getattr_opt(intern!(py, "headers")).ok()??;
            if !headers.is_none() && headers.is_truthy().unwrap_or(true) {
                return None;
            }
        }
        Some(Self { topic, field })
    }
}

impl Address {
    pub fn new(topic: Bound<'_, PyString>, field: Bound<'_, PyString>) -> Self {
        Self { topic: topic.unbind(), field: field.unbind() }
    }

    #[inline]
    pub fn is(&self, given: &Given) -> bool {
        same(&self.topic, &given.topic) && same(&self.field, &given.field)
    }

    fn given<'py>(&self, py: Python<'py>) -> Given<'py> {
        Given { topic: self.topic.bind(py).clone().into_any(), field: self.field.bind(py).clone().into_any() }
    }
}

/// Whether two strings are the same; mostly they are one object.
#[inline]
fn same(one: &Py<PyString>, other: &Bound<'_, PyAny>) -> bool {
    one.is(other) || other.cast::<PyString>().is_ok_and(|other| one.to_str(other.py()).ok() == other.to_str().ok())
}

/// Of each address one `T`.
pub struct Places<T>(Mutex<Vec<(Address, T)>>);

impl<T> Default for Places<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Default> Places<T> {
    /// What `look` finds in the address's place.
    #[inline]
    pub fn find<R>(&self, given: &Given, look: impl FnOnce(&T) -> Option<R>) -> Option<R> {
        let places = self.0.lock().ok()?;
        look(&places.iter().find(|(address, _)| address.is(given))?.1)
    }

    /// Changes what is known there; of more than `most`, as `count` counts them, all are forgotten first.
    pub fn put(
        &self,
        py: Python<'_>,
        address: Address,
        most: usize,
        count: impl Fn(&T) -> usize,
        change: impl FnOnce(&mut T),
    ) -> PyResult<()> {
        let given = address.given(py);
        let mut places = self.lock()?;
        if places.iter().map(|(_, known)| count(known)).sum::<usize>() >= most {
            places.clear();
        }
        let number = match places.iter().position(|(address, _)| address.is(&given)) {
            Some(number) => number,
            None => {
                places.push((address, T::default()));
                places.len() - 1
            }
        };
        change(&mut places[number].1);
        Ok(())
    }

    fn lock(&self) -> PyResult<MutexGuard<'_, Vec<(Address, T)>>> {
        self.0.lock().map_err(|_| crate::poisoned())
    }
}
