//! Arrow's rows → payloads. A row that is not plainly right is taken back, and is the caller's to write or to refuse.

mod binding;
mod decimals;
mod node;
mod times;
mod views;

use arrow_array::{Array, BinaryArray, BooleanArray, StructArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer, ScalarBuffer};

use binding::Binding;
pub use binding::Names;

use crate::writing::Writing;

/// What rows are written with.
pub struct Ways<'a, N> {
    pub writing: &'a Writing,
    pub names: &'a N,
    /// What stands in front of each body.
    pub prefix: &'a [u8],
    /// Times finer than milliseconds are not written.
    pub whole_millis: bool,
    /// A null of the only field is the caller's.
    pub null_is_callers: bool,
}

/// As many payloads as rows.
#[derive(Debug)]
pub struct Payloads {
    /// Null for a tombstone, and for a row that was not written.
    pub payloads: BinaryArray,
    /// The rows that were not written, ascending.
    pub left: Vec<usize>,
}

/// Why there are no payloads.
#[derive(Debug, PartialEq)]
pub enum Unwritten<E> {
    /// They are more than one array holds.
    TooMuch,
    /// The names could not be matched.
    Names(E),
}

/// The rows' payloads; `tombstones`, as long as they, says which are null whatever they hold.
pub fn written<N: Names>(
    ways: &Ways<'_, N>,
    rows: &StructArray,
    tombstones: Option<&BooleanArray>,
) -> Result<Payloads, Unwritten<N::Error>> {
    let binding = Binding { writing: ways.writing, names: ways.names, whole_millis: ways.whole_millis };
    let root = binding.rows(rows, ways.null_is_callers).map_err(Unwritten::Names)?;
    let mut out = Vec::new();
    // No length is believed: nulls have one that nothing stands behind.
    let few = rows.len().min(FEW_ROWS);
    let mut ends = Vec::with_capacity(few + 1);
    ends.push(0);
    let mut nulls = NullBufferBuilder::new(few);
    let mut left = Vec::new();
    for row in 0..rows.len() {
        let begin = out.len();
        if tombstones.is_some_and(|tombstones| tombstones.value(row)) {
            nulls.append_null();
        } else {
            out.extend_from_slice(ways.prefix);
            if root.put(row, &mut out).is_some() {
                nulls.append_non_null();
            } else {
                out.truncate(begin);
                nulls.append_null();
                left.push(row);
            }
        }
        ends.push(i32::try_from(out.len()).map_err(|_| Unwritten::TooMuch)?);
        if row == SOME {
            out.reserve((out.len() / SOME).saturating_mul(rows.len() - row).min(FEW_BYTES));
        }
    }
    let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
    Ok(Payloads { payloads: BinaryArray::new(offsets, out.into(), nulls.finish()), left })
}

/// After so many rows it is known how long they are.
const SOME: usize = 64;
/// Memory that is taken ahead: more grows with what is written.
const FEW_ROWS: usize = 1 << 20;
const FEW_BYTES: usize = 1 << 24;

#[cfg(test)]
mod tests;
