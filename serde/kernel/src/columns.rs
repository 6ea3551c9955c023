//! Columns that rows are appended to. A row that turns out bad is taken back: no other row is disturbed.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Decimal256Array, Float64Array, Int32Array,
    Int64Array, ListArray, MapArray, StringArray, StructArray, Time64MicrosecondArray, TimestampMicrosecondArray,
};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer, i256};
use arrow_schema::{ArrowError, DataType, Field, Fields, TimeUnit};
use serde::Deserialize;

use crate::cursor::Reason;
use crate::leaf::Value;

/// A column's type.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Type {
    Boolean,
    Int32,
    Int64,
    Float64,
    String,
    Binary,
    Date,
    Time,
    Timestamp,
    LocalTimestamp,
    Decimal(u8, i8),
    List(Box<Type>),
    Map(Box<Type>, Box<Type>),
    Struct(Vec<(String, Type)>),
}

const DECIMAL128_DIGITS: u8 = 38;

impl Type {
    pub fn arrow(&self) -> DataType {
        match self {
            Type::Boolean => DataType::Boolean,
            Type::Int32 => DataType::Int32,
            Type::Int64 => DataType::Int64,
            Type::Float64 => DataType::Float64,
            Type::String => DataType::Utf8,
            Type::Binary => DataType::Binary,
            Type::Date => DataType::Date32,
            Type::Time => DataType::Time64(TimeUnit::Microsecond),
            Type::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Type::LocalTimestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Type::Decimal(precision, scale) if *precision <= DECIMAL128_DIGITS => {
                DataType::Decimal128(*precision, *scale)
            }
            Type::Decimal(precision, scale) => DataType::Decimal256(*precision, *scale),
            Type::List(items) => DataType::List(Arc::new(Field::new("item", items.arrow(), true))),
            Type::Map(..) => DataType::Map(self.entries(), false),
            Type::Struct(fields) => DataType::Struct(fields_of(fields)),
        }
    }

    fn entries(&self) -> Arc<Field> {
        let Type::Map(keys, values) = self else { unreachable!("only maps have entries") };
        let fields: Fields = vec![
            Field::new("key", keys.arrow(), false), //
            Field::new("value", values.arrow(), true),
        ]
        .into();
        Arc::new(Field::new("entries", DataType::Struct(fields), false))
    }
}

pub fn fields_of(fields: &[(String, Type)]) -> Fields {
    fields.iter().map(|(name, type_)| Field::new(name, type_.arrow(), true)).collect()
}

/// Why a value was not appended.
#[derive(Debug, PartialEq)]
pub enum Refusal {
    /// It is none of the column's.
    Bad(Reason),
    /// The column is full: Arrow counts its bytes, or its items, in 31 bits.
    Full,
}

pub struct Column {
    type_: Type,
    nulls: NullBufferBuilder,
    data: Data,
}

enum Data {
    Boolean(BooleanBufferBuilder),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float64(Vec<f64>),
    /// Text or bytes.
    Bytes {
        ends: Vec<i32>,
        bytes: Vec<u8>,
    },
    Decimal128(Vec<i128>),
    Decimal256(Vec<i256>),
    List {
        ends: Vec<i32>,
        items: Box<Column>,
    },
    Map {
        ends: Vec<i32>,
        keys: Box<Column>,
        values: Box<Column>,
    },
    Struct(Vec<Column>),
}

impl Column {
    pub fn new(type_: &Type) -> Self {
        let data = match type_ {
            Type::Boolean => Data::Boolean(BooleanBufferBuilder::new(0)),
            Type::Int32 | Type::Date => Data::Int32(Vec::new()),
            Type::Int64 | Type::Time | Type::Timestamp | Type::LocalTimestamp => Data::Int64(Vec::new()),
            Type::Float64 => Data::Float64(Vec::new()),
            Type::String | Type::Binary => Data::Bytes { ends: vec![0], bytes: Vec::new() },
            Type::Decimal(precision, _) if *precision <= DECIMAL128_DIGITS => Data::Decimal128(Vec::new()),
            Type::Decimal(..) => Data::Decimal256(Vec::new()),
            Type::List(items) => Data::List { ends: vec![0], items: Box::new(Column::new(items)) },
            Type::Map(keys, values) => {
                Data::Map { ends: vec![0], keys: Box::new(Column::new(keys)), values: Box::new(Column::new(values)) }
            }
            Type::Struct(fields) => Data::Struct(fields.iter().map(|(_, type_)| Column::new(type_)).collect()),
        };
        Self { type_: type_.clone(), nulls: NullBufferBuilder::new(0), data }
    }

    pub fn len(&self) -> usize {
        self.nulls.len()
    }

    #[inline]
    pub fn push_null(&mut self) {
        self.nulls.append_null();
        self.put_nothing(Column::push_null);
    }

    /// A row that `finish` makes null: until then it holds nothing in particular, so that no other row pays for it.
    pub fn push_blank(&mut self) {
        self.nulls.append_non_null();
        self.put_nothing(Column::push_blank);
    }

    #[inline]
    fn put_nothing(&mut self, in_field: impl FnMut(&mut Column)) {
        match &mut self.data {
            Data::Boolean(bits) => bits.append(false),
            Data::Int32(values) => values.push(0),
            Data::Int64(values) => values.push(0),
            Data::Float64(values) => values.push(0.0),
            Data::Decimal128(values) => values.push(0),
            Data::Decimal256(values) => values.push(i256::ZERO),
            Data::Bytes { ends, .. } | Data::List { ends, .. } | Data::Map { ends, .. } => {
                ends.push(ends.last().copied().unwrap_or_default());
            }
            Data::Struct(fields) => fields.iter_mut().for_each(in_field),
        }
    }

    /// A value without parts.
    #[inline]
    pub fn push(&mut self, value: Value) -> Result<(), Refusal> {
        match (&mut self.data, value) {
            (_, Value::Null) => {
                self.push_null();
                return Ok(());
            }
            (Data::Int64(values), Value::Long(value)) => values.push(value),
            (Data::Int64(values), Value::Time(value) | Value::Timestamp(value) | Value::LocalTimestamp(value)) => {
                values.push(value);
            }
            (Data::Int32(values), Value::Long(value)) => {
                values.push(i32::try_from(value).map_err(|_| Refusal::Bad(Reason::Misfit))?);
            }
            (Data::Int32(values), Value::Date(value)) => values.push(value),
            (Data::Float64(values), Value::Double(value)) => values.push(value),
            (Data::Boolean(bits), Value::Boolean(value)) => bits.append(value),
            (Data::Bytes { ends, bytes }, Value::Text(value)) => push_bytes(ends, bytes, value.as_bytes())?,
            (Data::Bytes { ends, bytes }, Value::Digits(value)) => push_bytes(ends, bytes, value.as_str().as_bytes())?,
            (Data::Bytes { ends, bytes }, Value::Bytes(value)) => push_bytes(ends, bytes, value)?,
            (Data::Decimal128(values), Value::Decimal(value, _)) => {
                values.push(value.to_i128().ok_or(Refusal::Bad(Reason::Misfit))?);
            }
            (Data::Decimal256(values), Value::Decimal(value, _)) => values.push(value),
            _ => return Err(Refusal::Bad(Reason::Refused)),
        }
        self.nulls.append_non_null();
        Ok(())
    }

    #[inline(always)]
    pub fn push_long(&mut self, value: i64) -> Result<(), Refusal> {
        match &mut self.data {
            Data::Int64(values) => values.push(value),
            Data::Int32(values) => values.push(i32::try_from(value).map_err(|_| Refusal::Bad(Reason::Misfit))?),
            _ => return Err(Refusal::Bad(Reason::Refused)),
        }
        self.nulls.append_non_null();
        Ok(())
    }

    #[inline(always)]
    pub fn push_double(&mut self, value: f64) -> Result<(), Refusal> {
        let Data::Float64(values) = &mut self.data else { return Err(Refusal::Bad(Reason::Refused)) };
        values.push(value);
        self.nulls.append_non_null();
        Ok(())
    }

    #[inline(always)]
    pub fn push_boolean(&mut self, value: bool) -> Result<(), Refusal> {
        let Data::Boolean(bits) = &mut self.data else { return Err(Refusal::Bad(Reason::Refused)) };
        bits.append(value);
        self.nulls.append_non_null();
        Ok(())
    }

    #[inline(always)]
    pub fn push_bytes(&mut self, value: &[u8]) -> Result<(), Refusal> {
        let Data::Bytes { ends, bytes } = &mut self.data else { return Err(Refusal::Bad(Reason::Refused)) };
        push_bytes(ends, bytes, value)?;
        self.nulls.append_non_null();
        Ok(())
    }

    /// Takes memory for so many rows more.
    pub fn reserve(&mut self, rows: usize) {
        match &mut self.data {
            Data::Boolean(bits) => bits.reserve(rows),
            Data::Int32(values) => values.reserve(rows),
            Data::Int64(values) => values.reserve(rows),
            Data::Float64(values) => values.reserve(rows),
            Data::Decimal128(values) => values.reserve(rows),
            Data::Decimal256(values) => values.reserve(rows),
            Data::Bytes { ends, .. } | Data::List { ends, .. } | Data::Map { ends, .. } => ends.reserve(rows),
            Data::Struct(fields) => fields.iter_mut().for_each(|field| field.reserve(rows)),
        }
    }

    /// The fields of a STRUCT, each of which gets one value before `end_struct`.
    #[inline]
    pub fn fields(&mut self) -> Result<&mut [Column], Refusal> {
        match &mut self.data {
            Data::Struct(fields) => Ok(fields),
            _ => Err(Refusal::Bad(Reason::Refused)),
        }
    }

    #[inline]
    pub fn end_struct(&mut self) {
        self.nulls.append_non_null();
    }

    /// The items of an ARRAY, which get values before `end_items`.
    #[inline]
    pub fn items(&mut self) -> Result<&mut Column, Refusal> {
        match &mut self.data {
            Data::List { items, .. } => Ok(items),
            _ => Err(Refusal::Bad(Reason::Refused)),
        }
    }

    /// Keys and values of a MAP, which get as many of each before `end_items`.
    #[inline]
    pub fn entries(&mut self) -> Result<(&mut Column, &mut Column), Refusal> {
        match &mut self.data {
            Data::Map { keys, values, .. } => Ok((keys, values)),
            _ => Err(Refusal::Bad(Reason::Refused)),
        }
    }

    #[inline]
    pub fn end_items(&mut self) -> Result<(), Refusal> {
        let (ends, len) = match &mut self.data {
            Data::List { ends, items } => (ends, items.len()),
            Data::Map { ends, keys, .. } => (ends, keys.len()),
            _ => return Err(Refusal::Bad(Reason::Refused)),
        };
        ends.push(i32::try_from(len).map_err(|_| Refusal::Full)?);
        self.nulls.append_non_null();
        Ok(())
    }

    /// True if no key of the entries from `first` on is null or comes twice: of one that does Python's dict keeps the last.
    pub fn are_keys_distinct(&self, first: usize) -> bool {
        let count = self.len() - first;
        if (first..self.len()).any(|row| !self.nulls.is_valid(row)) {
            return false;
        }
        if count < 2 {
            return true;
        }
        match &self.data {
            Data::Bytes { ends, bytes } => {
                let key = |row: usize| bytes.get(ends[row] as usize..ends[row + 1] as usize).unwrap_or_default();
                are_distinct(first, count, key)
            }
            Data::Int32(values) => are_distinct(first, count, |row| values[row]),
            Data::Int64(values) => are_distinct(first, count, |row| values[row]),
            Data::Boolean(bits) => are_distinct(first, count, |row| bits.get_bit(row)),
            // Rare: the caller has another way.
            _ => false,
        }
    }

    /// Takes back all rows behind the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.nulls.truncate(len);
        let until = |ends: &mut Vec<i32>| {
            ends.truncate(len + 1);
            usize::try_from(ends.last().copied().unwrap_or_default()).unwrap_or_default()
        };
        match &mut self.data {
            Data::Boolean(bits) => bits.truncate(len),
            Data::Int32(values) => values.truncate(len),
            Data::Int64(values) => values.truncate(len),
            Data::Float64(values) => values.truncate(len),
            Data::Decimal128(values) => values.truncate(len),
            Data::Decimal256(values) => values.truncate(len),
            Data::Bytes { ends, bytes } => bytes.truncate(until(ends)),
            Data::List { ends, items } => items.truncate(until(ends)),
            Data::Map { ends, keys, values } => {
                let left = until(ends);
                keys.truncate(left);
                values.truncate(left);
            }
            Data::Struct(fields) => fields.iter_mut().for_each(|field| field.truncate(len)),
        }
    }

    /// The column as an array, checked by Arrow's own constructors.
    ///
    /// `blanks` says which rows there are, but for blank ones.
    pub fn finish(mut self, blanks: Option<&NullBuffer>) -> Result<ArrayRef, ArrowError> {
        let len = self.len();
        let nulls = NullBuffer::union(self.nulls.finish().as_ref(), blanks);
        let type_ = self.type_.arrow();
        Ok(match self.data {
            Data::Boolean(mut bits) => Arc::new(BooleanArray::new(bits.finish(), nulls)),
            Data::Int32(values) => match type_ {
                DataType::Date32 => Arc::new(Date32Array::try_new(values.into(), nulls)?),
                _ => Arc::new(Int32Array::try_new(values.into(), nulls)?),
            },
            Data::Int64(values) => match type_ {
                DataType::Time64(_) => Arc::new(Time64MicrosecondArray::try_new(values.into(), nulls)?),
                DataType::Timestamp(_, zone) => {
                    Arc::new(TimestampMicrosecondArray::try_new(values.into(), nulls)?.with_timezone_opt(zone))
                }
                _ => Arc::new(Int64Array::try_new(values.into(), nulls)?),
            },
            Data::Float64(values) => Arc::new(Float64Array::try_new(values.into(), nulls)?),
            Data::Decimal128(values) => Arc::new(Decimal128Array::try_new(values.into(), nulls)?.with_data_type(type_)),
            Data::Decimal256(values) => Arc::new(Decimal256Array::try_new(values.into(), nulls)?.with_data_type(type_)),
            Data::Bytes { ends, bytes } => match type_ {
                DataType::Utf8 => Arc::new(StringArray::try_new(offsets(ends), bytes.into(), nulls)?),
                _ => Arc::new(BinaryArray::try_new(offsets(ends), bytes.into(), nulls)?),
            },
            Data::List { ends, items } => {
                let DataType::List(field) = type_ else { unreachable!("a list has a list's type") };
                Arc::new(ListArray::try_new(field, offsets(ends), items.finish(None)?, nulls)?)
            }
            Data::Map { ends, keys, values } => {
                let DataType::Map(field, is_sorted) = type_ else { unreachable!("a map has a map's type") };
                let DataType::Struct(fields) = field.data_type() else { unreachable!("entries are structs") };
                let entries =
                    StructArray::try_new(fields.clone(), vec![keys.finish(None)?, values.finish(None)?], None)?;
                Arc::new(MapArray::try_new(field, offsets(ends), entries, nulls, is_sorted)?)
            }
            Data::Struct(columns) => {
                let DataType::Struct(fields) = type_ else { unreachable!("a struct has a struct's type") };
                let arrays = columns.into_iter().map(|column| column.finish(blanks)).collect::<Result<Vec<_>, _>>()?;
                Arc::new(StructArray::try_new_with_length(fields, arrays, nulls, len)?)
            }
        })
    }
}

fn offsets(ends: Vec<i32>) -> OffsetBuffer<i32> {
    OffsetBuffer::new(ScalarBuffer::from(ends))
}

#[inline]
fn push_bytes(ends: &mut Vec<i32>, bytes: &mut Vec<u8>, value: &[u8]) -> Result<(), Refusal> {
    let end = i32::try_from(bytes.len() + value.len()).map_err(|_| Refusal::Full)?;
    bytes.extend_from_slice(value);
    ends.push(end);
    Ok(())
}

/// Few keys are compared with each other; many are sorted.
pub fn are_distinct<T: Ord>(first: usize, count: usize, key: impl Fn(usize) -> T) -> bool {
    const FEW: usize = 8;
    if count <= FEW {
        return (1..count).all(|one| (0..one).all(|other| key(first + one) != key(first + other)));
    }
    let mut keys: Vec<T> = (first..first + count).map(key).collect();
    keys.sort_unstable();
    keys.windows(2).all(|pair| pair[0] != pair[1])
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;

    use super::*;

    #[test]
    fn a_row_that_is_taken_back_leaves_no_trace() {
        let type_ = Type::Struct(vec![
            ("texts".to_owned(), Type::List(Box::new(Type::String))),
            ("map".to_owned(), Type::Map(Box::new(Type::String), Box::new(Type::Int64))),
        ]);
        let mut column = Column::new(&type_);
        let row = |column: &mut Column| {
            let fields = column.fields().unwrap();
            fields[0].items().unwrap().push(Value::Text("a")).unwrap();
            fields[0].end_items().unwrap();
            let (keys, values) = fields[1].entries().unwrap();
            keys.push(Value::Text("k")).unwrap();
            values.push(Value::Null).unwrap();
            fields[1].end_items().unwrap();
            column.end_struct();
        };
        row(&mut column);
        let fields = column.fields().unwrap();
        fields[0].items().unwrap().push(Value::Text("half")).unwrap();
        column.truncate(1);
        column.push_null();
        column.push_blank();
        row(&mut column);
        let array = column.finish(Some(&NullBuffer::from(vec![true, true, false, true]))).unwrap();
        assert_eq!((0..4).map(|row| array.is_valid(row)).collect::<Vec<_>>(), [true, false, false, true]);
        let fields = array.as_struct();
        assert_eq!((fields.column(0).null_count(), fields.column(1).null_count()), (2, 2));
    }

    #[test]
    fn keys_that_come_twice_are_found_among_few_and_many() {
        for count in [2_usize, 9, 40] {
            let mut keys = Column::new(&Type::String);
            for number in 0..count {
                keys.push(Value::Text(&number.to_string())).unwrap();
            }
            assert!(keys.are_keys_distinct(0));
            keys.push(Value::Text("1")).unwrap();
            assert!(!keys.are_keys_distinct(0));
            assert!(keys.are_keys_distinct(2));
        }
    }
}
