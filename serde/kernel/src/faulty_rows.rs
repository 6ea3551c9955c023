//! The rows of a batch whose bytes are no value of their schema: as columns, or one by one.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::batch::identity_of;
use crate::faults::Fault;
use crate::interchange::Exported;

/// Messages of fewer bytes are never cut.
const SHORT: usize = 1_000;
/// Bytes of one of Arrow's arrays.
const MOST_BYTES: usize = i32::MAX as usize;

#[pyclass(frozen)]
#[derive(Default)]
pub struct FaultyRows {
    /// Of the whole batch.
    pub rows: usize,
    /// Position, fault and payload, by ascending position.
    pub faults: Vec<(usize, Fault, Box<[u8]>)>,
}

#[pymethods]
impl FaultyRows {
    fn __len__(&self) -> usize {
        self.faults.len()
    }

    /// Position, reason, words and payload.
    #[pyo3(signature = (number, /))]
    fn row(&self, number: usize) -> PyResult<(usize, &'static str, &str, &[u8])> {
        let (position, fault, payload) = self.faults.get(number).ok_or_else(|| PyIndexError::new_err(number))?;
        Ok((*position, fault.reason.word(), &fault.words, payload))
    }

    /// Reasons, messages and payloads, which are null in all other rows. None if a message may have to be shown otherwise than it
    /// is, or if one array cannot hold a column.
    ///
    /// `reasons` has the words by the kernel's own. `about` is called with a payload: how the messages of its schema begin.
    #[pyo3(signature = (reasons, about, /))]
    fn columns(
        &self,
        py: Python<'_>,
        reasons: HashMap<String, String>,
        about: &Bound<'_, PyAny>,
    ) -> PyResult<Option<Exported>> {
        let (mut words, mut messages, mut payloads) =
            (StringBuilder::new(), StringBuilder::new(), BinaryBuilder::new());
        let (mut schema, mut message, mut begin) = (None, String::new(), 0);
        let (mut next, mut message_bytes, mut payload_bytes) = (0, 0, 0);
        for (position, fault, payload) in &self.faults {
            let identity = identity_of(payload).map(|(identity, _)| identity);
            if schema != Some(identity) {
                message = about.call1((PyBytes::new(py, payload),))?.extract()?;
                (schema, begin) = (Some(identity), message.len());
            }
            message.truncate(begin);
            message.push_str(&fault.words);
            message_bytes += message.len();
            payload_bytes += payload.len();
            let is_plain = message.len() < SHORT && message.bytes().all(|byte| matches!(byte, b' '..=b'~'));
            if !is_plain || message_bytes > MOST_BYTES || payload_bytes > MOST_BYTES {
                return Ok(None);
            }
            words.append_nulls(position - next);
            messages.append_nulls(position - next);
            payloads.append_nulls(position - next);
            let word = reasons.get(fault.reason.word());
            words.append_value(word.ok_or_else(|| PyValueError::new_err(fault.reason.word()))?);
            messages.append_value(&message);
            payloads.append_value(payload);
            next = position + 1;
        }
        words.append_nulls(self.rows - next);
        messages.append_nulls(self.rows - next);
        payloads.append_nulls(self.rows - next);
        let columns: [ArrayRef; 3] =
            [Arc::new(words.finish()), Arc::new(messages.finish()), Arc::new(payloads.finish())];
        let batch = RecordBatch::try_from_iter(["reason", "message", "payload"].into_iter().zip(columns));
        Ok(Some(Exported::new(batch.map_err(|error| PyValueError::new_err(error.to_string()))?)))
    }
}
