//! Counting a partition's records for a census: which schema ids they carry, and which of them a restore would keep.
//!
//! The rules are those of `srfix.recovery.census.counting`, which does the same where there is no kernel.

use hashbrown::HashMap;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::batch::{Identity, identity_of};

/// A schema id, or a mark of `srfix.serde.wire_peek`.
type Peeked = i32;
const NO_PAYLOAD: Peeked = -1;
const BY_GUID: Peeked = -2;
const UNFRAMED: Peeked = -3;

fn peek(payload: Option<&[u8]>) -> Peeked {
    let Some(payload) = payload else { return NO_PAYLOAD };
    match identity_of(payload) {
        // No registry gives id 0, nor one beyond Java's int.
        Some((Identity::Id(id), _)) => i32::try_from(id).ok().filter(|id| *id > 0).unwrap_or(UNFRAMED),
        Some((Identity::Guid(_), _)) => BY_GUID,
        None => UNFRAMED,
    }
}

/// What is counted of one id or mark.
struct Count {
    of: Peeked,
    records: u64,
    first: i64,
    last: i64,
}

/// Per id or mark of one role.
#[derive(Default)]
struct Tally {
    counts: Vec<Count>,
    numbers: HashMap<Peeked, u32>,
    /// Where the last record's id is counted: the next one's is mostly the same.
    here: usize,
}

impl Tally {
    /// The number of the id's count.
    #[inline]
    fn add(&mut self, of: Peeked, offset: i64) -> u32 {
        if self.counts.get(self.here).is_none_or(|count| count.of != of) {
            let counts = &mut self.counts;
            self.here = *self.numbers.entry(of).or_insert_with(|| {
                counts.push(Count { of, records: 0, first: offset, last: offset });
                (counts.len() - 1) as u32
            }) as usize;
        }
        let count = &mut self.counts[self.here];
        count.records += 1;
        count.last = offset;
        self.here as u32
    }
}

/// The latest record of a key.
struct Latest {
    offset: i64,
    /// The numbers of its ids' counts.
    key: u32,
    value: u32,
}

/// Per id: keys whose latest record carries it, and the last of these records' offsets.
type Carried = Vec<(u64, Option<i64>)>;

#[derive(Default)]
struct LatestOfKey(HashMap<Box<[u8]>, Latest>);

impl LatestOfKey {
    #[inline]
    fn add(&mut self, key: &[u8], latest: Option<Latest>) {
        match latest {
            Some(latest) => match self.0.get_mut(key) {
                Some(known) => *known = latest,
                None => {
                    self.0.insert(key.into(), latest);
                }
            },
            None => {
                self.0.remove(key);
            }
        }
    }

    fn carried(&self, of: impl Fn(&Latest) -> u32, counts: usize) -> Carried {
        let mut carried = vec![(0, None); counts];
        for latest in self.0.values() {
            let (keys, last) = &mut carried[of(latest) as usize];
            *keys += 1;
            *last = (*last).max(Some(latest.offset));
        }
        carried
    }
}

/// An id or mark with its records, live keys, pending keys, first and last offset, and the last live offset.
type Told = (Peeked, u64, u64, u64, i64, i64, Option<i64>);

/// Counts one partition's records, given in order of their offsets.
#[pyclass]
pub struct PartitionCounter {
    /// Where a restore stops, exclusive; none if nothing is restored.
    limit: Option<i64>,
    records: u64,
    keys: Tally,
    values: Tally,
    live: LatestOfKey,
    pending: LatestOfKey,
}

#[pymethods]
impl PartitionCounter {
    #[new]
    fn new(limit: Option<i64>) -> Self {
        Self {
            limit,
            records: 0,
            keys: Tally::default(),
            values: Tally::default(),
            live: LatestOfKey::default(),
            pending: LatestOfKey::default(),
        }
    }

    /// Counts the records from index `start` to `stop`, exclusive.
    ///
    /// `offsets` are those of all records, none if they ascend by one from `first`; the ids are none where the payloads tell.
    #[pyo3(signature = (first, offsets, keys, values, key_ids, value_ids, start, stop, /))]
    #[expect(clippy::too_many_arguments, reason = "columns, called once a batch")]
    fn add(
        &mut self,
        first: i64,
        offsets: Option<&Bound<'_, PyList>>,
        keys: &Bound<'_, PyList>,
        values: &Bound<'_, PyList>,
        key_ids: Option<Vec<Peeked>>,
        value_ids: Option<Vec<Peeked>>,
        start: usize,
        stop: usize,
    ) -> PyResult<()> {
        for index in start..stop {
            let offset = match offsets {
                Some(offsets) => offsets.get_item(index)?.extract()?,
                None => first + index as i64,
            };
            let key = keys.get_item(index)?;
            let value = values.get_item(index)?;
            let (key, value) = (bytes_of(&key)?, bytes_of(&value)?);
            let key_id = given(key_ids.as_ref(), index, key)?;
            let value_id = given(value_ids.as_ref(), index, value)?;
            self.count(offset, key, key_id, value_id);
        }
        Ok(())
    }

    /// The number of records; what was counted in the keys and in the values.
    fn result(&self) -> (u64, Vec<Told>, Vec<Told>) {
        let told = |tally: &Tally, of: fn(&Latest) -> u32| {
            let live = self.live.carried(of, tally.counts.len());
            let pending = self.pending.carried(of, tally.counts.len());
            let carried = live.into_iter().zip(pending);
            tally
                .counts
                .iter()
                .zip(carried)
                .map(|(count, ((live, live_offset), (pending, _)))| {
                    (count.of, count.records, live, pending, count.first, count.last, live_offset)
                })
                .collect()
        };
        (self.records, told(&self.keys, |latest| latest.key), told(&self.values, |latest| latest.value))
    }
}

impl PartitionCounter {
    #[inline]
    fn count(&mut self, offset: i64, key: Option<&[u8]>, key_id: Peeked, value_id: Peeked) {
        self.records += 1;
        let key_count = self.keys.add(key_id, offset);
        let value_count = self.values.add(value_id, offset);
        let Some(key) = key else { return };
        let latest = (value_id != NO_PAYLOAD).then_some(Latest { offset, key: key_count, value: value_count });
        let is_live = self.limit.is_some_and(|limit| offset < limit);
        let side = if is_live { &mut self.live } else { &mut self.pending };
        side.add(key, latest);
    }
}

fn bytes_of<'a>(payload: &'a Bound<'_, PyAny>) -> PyResult<Option<&'a [u8]>> {
    Ok(if payload.is_none() { None } else { Some(payload.cast::<PyBytes>()?.as_bytes()) })
}

fn given(ids: Option<&Vec<Peeked>>, index: usize, payload: Option<&[u8]>) -> PyResult<Peeked> {
    match ids {
        Some(ids) => ids.get(index).copied().ok_or_else(|| PyIndexError::new_err("fewer ids than records")),
        None => Ok(peek(payload)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_those_of_the_framing() {
        assert_eq!(peek(None), NO_PAYLOAD);
        assert_eq!(peek(Some(b"")), UNFRAMED);
        assert_eq!(peek(Some(b"\0\0\0\0\x07x")), 7);
        assert_eq!(peek(Some(b"\0\0\0\0\0x")), UNFRAMED);
        assert_eq!(peek(Some(b"\0\x80\0\0\0x")), UNFRAMED);
        assert_eq!(peek(Some(b"\0\x7f\xff\xff\xff")), i32::MAX);
        assert_eq!(peek(Some(&[1; 17])), BY_GUID);
        assert_eq!(peek(Some(&[1; 16])), UNFRAMED);
    }

    #[test]
    fn a_tombstone_takes_its_key_out_on_its_side_of_the_limit() {
        let mut counter = PartitionCounter::new(Some(2));
        for (offset, value_id) in [(0, 1), (1, 1), (2, 2), (3, NO_PAYLOAD)] {
            counter.count(offset, Some(if offset == 1 { b"b" } else { b"a" }), 9, value_id);
        }
        let (records, _, values) = counter.result();
        assert_eq!(records, 4);
        assert_eq!(values, [(1, 2, 2, 0, 0, 1, Some(1)), (2, 1, 0, 0, 2, 2, None), (NO_PAYLOAD, 1, 0, 0, 3, 3, None)]);
    }
}
