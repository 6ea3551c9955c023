//! What is known for one topic's keys or values, found by the context that a call gets.

use std::sync::{Mutex, MutexGuard};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

struct Place<T> {
    topic: Py<PyString>,
    field: Py<PyString>,
    known: T,
}

/// Of each topic and field one `T`.
pub struct Places<T>(Mutex<Vec<Place<T>>>);

impl<T> Default for Places<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Default> Places<T> {
    /// What `look` finds in the context's place; None without one, and where headers may say more and count.
    #[inline]
    pub fn find<R>(
        &self,
        ctx: &Bound<'_, PyAny>,
        do_headers_count: bool,
        look: impl FnOnce(&T) -> Option<R>,
    ) -> Option<R> {
        let py = ctx.py();
        let topic = ctx.getattr_opt(intern!(py, "topic")).ok()??.cast_into::<PyString>().ok()?;
        let field = ctx.getattr_opt(intern!(py, "field")).ok()??.cast_into::<PyString>().ok()?;
        if do_headers_count {
            let headers = ctx.getattr_opt(intern!(py, "headers")).ok()??;
            if !headers.is_none() && headers.is_truthy().unwrap_or(true) {
                return None;
            }
        }
        let places = self.0.lock().ok()?;
        look(&places.iter().find(|place| place.is_of(&topic, &field))?.known)
    }

    /// Changes what is known there; of more than `most`, as `count` counts them, all are forgotten first.
    pub fn put(
        &self,
        topic: Bound<'_, PyString>,
        field: Bound<'_, PyString>,
        most: usize,
        count: impl Fn(&T) -> usize,
        change: impl FnOnce(&mut T),
    ) -> PyResult<()> {
        let mut places = self.lock()?;
        if places.iter().map(|place| count(&place.known)).sum::<usize>() >= most {
            places.clear();
        }
        let number = match places.iter().position(|place| place.is_of(&topic, &field)) {
            Some(number) => number,
            None => {
                places.push(Place { topic: topic.unbind(), field: field.unbind(), known: T::default() });
                places.len() - 1
            }
        };
        change(&mut places[number].known);
        Ok(())
    }

    fn lock(&self) -> PyResult<MutexGuard<'_, Vec<Place<T>>>> {
        self.0.lock().map_err(|_| crate::poisoned())
    }
}

impl<T> Place<T> {
    fn is_of(&self, topic: &Bound<'_, PyString>, field: &Bound<'_, PyString>) -> bool {
        same(&self.topic, topic) && same(&self.field, field)
    }
}

/// Whether two strings are the same; mostly they are one object.
fn same(one: &Py<PyString>, other: &Bound<'_, PyString>) -> bool {
    one.is(other) || matches!((one.to_str(other.py()), other.to_str()), (Ok(one), Ok(other)) if one == other)
}
