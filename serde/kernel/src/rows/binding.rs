//! How values are written, tied to the arrays that hold them: once a batch, so that no row asks for a type again.
//!
//! Whatever does not go together is refused value by value, not here: nulls may be all that there is.

use std::collections::HashMap;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray, downcast_integer};
use arrow_schema::{DataType, TimeUnit};

use super::decimals::Fit;
use super::node::{Entries, Field, Kind, Node, Null};
use super::times::{Days, Tick, Ticks};
use super::views::{Bounds, Bytes, Decimals, Floats, Integers};
use crate::writing::{Write, WriteField, Writing};

/// Which of a row's names feeds which key, by the caller's rule of letter case; None if a name feeds none, or it is open.
pub trait Names {
    type Error;
    fn matched(&self, keys: &[&str], names: &[&str]) -> Result<Option<HashMap<String, String>>, Self::Error>;
}

/// Integers up to these are floats without loss.
const DOUBLE_WHOLE: u64 = 1 << 53;
const FLOAT_WHOLE: u64 = 1 << 24;

pub struct Binding<'a, N> {
    pub writing: &'a Writing,
    pub names: &'a N,
    /// Times finer than milliseconds are refused, whatever the schema.
    pub whole_millis: bool,
}

impl<'a, N: Names> Binding<'a, N> {
    /// How rows are written.
    ///
    /// `null_is_callers`: whether a null of the only field is no value of its schema's, but the caller's.
    pub fn rows(&self, rows: &'a StructArray, null_is_callers: bool) -> Result<Node<'a>, N::Error> {
        let mut root = self.value(self.writing.root, rows, 0..rows.len(), self.writing.levels)?;
        root.null = Null::Refused;
        if let Kind::Record(fields) = &mut root.kind
            && null_is_callers
        {
            for field in fields {
                if let Field::Column(node) = field {
                    refuse_null(node);
                }
            }
        }
        Ok(root)
    }

    /// `used`: the rows of the array that those of the batch stand in.
    fn value(
        &self,
        number: usize,
        array: &'a dyn Array,
        used: Range<usize>,
        levels: u32,
    ) -> Result<Node<'a>, N::Error> {
        let Some(below) = levels.checked_sub(1) else { return Ok(node(array, Kind::Refused)) };
        if let Write::Beside { null, branch, value } = self.writing.write(number) {
            let mut made = self.value(*value, array, used, below)?;
            set_null(&mut made, null.map_or(Null::Refused, |null| Null::Branch(i64::from(null))));
            set_branch(&mut made, i64::from(*branch));
            return Ok(made);
        }
        if let DataType::Dictionary(..) = array.data_type() {
            return self.encoded(number, array, below);
        }
        let kind = match (self.writing.write(number), array.data_type()) {
            (Write::Null, _) => {
                // Nothing but null fits.
                let kind = if array.data_type() == &DataType::Null { Kind::Null } else { Kind::Refused };
                return Ok(Node { null: Null::Nothing, ..node(array, kind) });
            }
            (_, DataType::Null) => Some(Kind::Null),
            (Write::Record { fields }, DataType::Struct(_)) => self.record(fields, array.as_struct(), used, below)?,
            (Write::List { items }, _) => self.list(*items, array, used, below)?,
            (Write::Map { values }, DataType::Map(..)) => self.map((None, *values), array, used, below)?,
            (Write::Entries { key, value }, DataType::Map(..)) => self.map((Some(*key), *value), array, used, below)?,
            (write, _) => self.scalar(write, array, &used),
        };
        Ok(node(array, kind.unwrap_or(Kind::Refused)))
    }

    fn record(
        &self,
        fields: &'a [WriteField],
        rows: &'a StructArray,
        used: Range<usize>,
        levels: u32,
    ) -> Result<Option<Kind<'a>>, N::Error> {
        let names = rows.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>();
        let keys = fields.iter().filter_map(|field| field.key.as_deref()).collect::<Vec<_>>();
        let matched = if names.iter().all(|name| keys.contains(name)) {
            None
        } else {
            let Some(matched) = self.names.matched(&keys, &names)? else { return Ok(None) };
            Some(matched)
        };
        let column = |key: &str| {
            let name = match &matched {
                None => key,
                Some(matched) => matched.get(key)?.as_str(),
            };
            names.iter().position(|each| *each == name).map(|place| rows.column(place))
        };
        let mut bound = Vec::with_capacity(fields.len());
        for field in fields {
            bound.push(match field.key.as_deref().and_then(column) {
                Some(array) => {
                    let mut made = self.value(field.value, array, used.clone(), levels)?;
                    if let Some(null) = &field.null {
                        set_null(&mut made, Null::Constant(null));
                    }
                    Field::Column(made)
                }
                None => match &field.missing {
                    Some(missing) => Field::Constant(missing),
                    None => return Ok(None),
                },
            });
        }
        Ok(Some(Kind::Record(bound.into())))
    }

    fn list(
        &self,
        items: usize,
        array: &'a dyn Array,
        used: Range<usize>,
        levels: u32,
    ) -> Result<Option<Kind<'a>>, N::Error> {
        let Some((bounds, part)) = list(array) else { return Ok(None) };
        let Some(used) = bounds.of(&used, part.len()) else { return Ok(None) };
        Ok(Some(Kind::List(bounds, Box::new(self.value(items, part, used, levels)?))))
    }

    fn map(
        &self,
        (key, value): (Option<usize>, usize),
        array: &'a dyn Array,
        used: Range<usize>,
        levels: u32,
    ) -> Result<Option<Kind<'a>>, N::Error> {
        let map = array.as_map();
        let entries = map.entries();
        let [keys, values] = entries.columns() else { return Ok(None) };
        let bounds = Bounds::Short(map.value_offsets());
        // A row's map has text as its keys. A null among them is no map's.
        let parts = bounds.of(&used, entries.len()).filter(|_| entries.null_count() == 0 && keys.null_count() == 0);
        let Some(used) = parts else { return Ok(None) };
        let Some(texts) = Bytes::of_text(keys, &used) else { return Ok(None) };
        let keys = match key {
            None => None,
            Some(key) => Some(self.value(key, keys, used.clone(), levels)?),
        };
        let values = self.value(value, values, used, levels)?;
        Ok(Some(Kind::Map(bounds, Box::new(Entries { texts, keys, values }))))
    }

    fn encoded(&self, number: usize, array: &'a dyn Array, levels: u32) -> Result<Node<'a>, N::Error> {
        macro_rules! places {
            ($key:ty, $_array:ident) => {{
                let encoded = $_array.as_dictionary::<$key>();
                Some((Integers::of(encoded.keys()), encoded.values()))
            }};
        }
        let DataType::Dictionary(key, _) = array.data_type() else { return Ok(node(array, Kind::Refused)) };
        let parts = downcast_integer! {
            **key => (places, array),
            _ => None,
        };
        let Some((Some(places), values)) = parts else { return Ok(node(array, Kind::Refused)) };
        let values = self.value(number, values, 0..values.len(), levels)?;
        Ok(Node { null: values.null, ..node(array, Kind::Encoded(places, Box::new(values))) })
    }

    fn scalar(&self, write: &'a Write, array: &'a dyn Array, used: &Range<usize>) -> Option<Kind<'a>> {
        let is_number = array.data_type().is_integer();
        Some(match write {
            Write::Boolean => Kind::Boolean(array.as_boolean_opt()?.values()),
            Write::Int if is_number => Kind::Int(Integers::of(array)?),
            Write::Long if is_number => Kind::Long(Integers::of(array)?),
            Write::Float => Kind::Float(Floats::of(array, FLOAT_WHOLE)?),
            Write::Double => Kind::Double(Floats::of(array, DOUBLE_WHOLE)?),
            Write::String => Kind::Sized(Bytes::of_text(array, used)?),
            Write::Bytes => Kind::Sized(Bytes::of_bytes(array, used)?),
            Write::Fixed { size } => Kind::Fixed(Bytes::of_bytes(array, used)?, *size),
            Write::Enum { symbols } => Kind::Enum(Bytes::of_text(array, used)?, symbols),
            Write::Date => Kind::Date(match array.data_type() {
                DataType::Date32 => Days::Days(Integers::of(array)?),
                DataType::Date64 => Days::Millis(Integers::of(array)?),
                _ => return None,
            }),
            Write::Time { per_second, is_cut } => {
                let (DataType::Time32(unit) | DataType::Time64(unit)) = array.data_type() else { return None };
                Kind::Time(self.ticks(array, *unit, *per_second, *is_cut, true)?)
            }
            Write::Timestamp { per_second, is_cut, is_local } => match array.data_type() {
                DataType::Timestamp(unit, zone) if zone.is_none() == *is_local => {
                    Kind::Time(self.ticks(array, *unit, *per_second, *is_cut, false)?)
                }
                _ => return None,
            },
            Write::Decimal { size, precision, scale, is_fastavros: false } => {
                let (decimals, from_scale) = Decimals::of(array)?;
                Kind::Decimal(decimals, Fit::new(from_scale, *precision, *scale, *size)?)
            }
            _ => return None,
        })
    }

    fn ticks(
        &self,
        array: &'a dyn Array,
        unit: TimeUnit,
        per_second: i64,
        is_cut: bool,
        is_of_day: bool,
    ) -> Option<Ticks<'a>> {
        let tick = match unit {
            TimeUnit::Second => Tick::Micros(1_000_000),
            TimeUnit::Millisecond => Tick::Micros(1_000),
            TimeUnit::Microsecond => Tick::Micros(1),
            TimeUnit::Nanosecond => Tick::Nanosecond,
        };
        let in_millis = match per_second {
            1_000 => true,
            1_000_000 => false,
            _ => return None,
        };
        let values = Integers::of(array)?;
        Some(Ticks { values, tick, is_of_day, in_millis, is_cut, whole_millis: self.whole_millis })
    }
}

fn node<'a>(array: &'a dyn Array, kind: Kind<'a>) -> Node<'a> {
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
    Node { nulls, null: Null::Refused, branch: None, len: array.len(), kind }
}

/// A list's bounds and its items.
fn list(array: &dyn Array) -> Option<(Bounds<'_>, &ArrayRef)> {
    Some(match array.data_type() {
        DataType::List(_) => (Bounds::Short(array.as_list::<i32>().value_offsets()), array.as_list::<i32>().values()),
        DataType::LargeList(_) => {
            (Bounds::Long(array.as_list::<i64>().value_offsets()), array.as_list::<i64>().values())
        }
        DataType::FixedSizeList(_, size) => {
            (Bounds::Fixed(usize::try_from(*size).ok()?), array.as_fixed_size_list().values())
        }
        _ => return None,
    })
}

/// A dictionary's null may be its own, or a value's.
fn set_null<'a>(node: &mut Node<'a>, null: Null<'a>) {
    node.null = null;
    if let Kind::Encoded(_, values) = &mut node.kind {
        set_null(values, null);
    }
}

fn refuse_null(node: &mut Node<'_>) {
    set_null(node, Null::Refused);
}

/// What is null throughout takes no branch, and of a dictionary the value does.
fn set_branch(node: &mut Node<'_>, branch: i64) {
    match &mut node.kind {
        Kind::Null => {}
        Kind::Encoded(_, values) => set_branch(values, branch),
        _ => node.branch = Some(branch),
    }
}
