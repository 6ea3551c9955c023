//! Arrow's arrays of values without parts, looked at. No offset is believed: what lies outside of its buffer is no value.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, GenericByteArray, GenericByteViewArray};
use arrow_buffer::{ArrowNativeType, Buffer, i256};
use arrow_schema::{DataType, TimeUnit};

/// Whole numbers of any width; days, times and timestamps too, by their units.
#[derive(Clone, Copy)]
pub enum Integers<'a> {
    I8(&'a [i8]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
}

impl<'a> Integers<'a> {
    pub fn of(array: &'a dyn Array) -> Option<Self> {
        use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
        Some(match array.data_type() {
            DataType::Int8 => Self::I8(array.as_primitive::<Int8Type>().values()),
            DataType::Int16 => Self::I16(array.as_primitive::<Int16Type>().values()),
            DataType::Int32 => Self::I32(array.as_primitive::<Int32Type>().values()),
            DataType::Int64 => Self::I64(array.as_primitive::<Int64Type>().values()),
            DataType::UInt8 => Self::U8(array.as_primitive::<UInt8Type>().values()),
            DataType::UInt16 => Self::U16(array.as_primitive::<UInt16Type>().values()),
            DataType::UInt32 => Self::U32(array.as_primitive::<UInt32Type>().values()),
            DataType::UInt64 => Self::U64(array.as_primitive::<UInt64Type>().values()),
            DataType::Date32 => Self::I32(array.as_primitive::<Date32Type>().values()),
            DataType::Date64 => Self::I64(array.as_primitive::<Date64Type>().values()),
            DataType::Time32(Second) => Self::I32(array.as_primitive::<Time32SecondType>().values()),
            DataType::Time32(Millisecond) => Self::I32(array.as_primitive::<Time32MillisecondType>().values()),
            DataType::Time64(Microsecond) => Self::I64(array.as_primitive::<Time64MicrosecondType>().values()),
            DataType::Time64(Nanosecond) => Self::I64(array.as_primitive::<Time64NanosecondType>().values()),
            DataType::Timestamp(Second, _) => Self::I64(array.as_primitive::<TimestampSecondType>().values()),
            DataType::Timestamp(Millisecond, _) => Self::I64(array.as_primitive::<TimestampMillisecondType>().values()),
            DataType::Timestamp(Microsecond, _) => Self::I64(array.as_primitive::<TimestampMicrosecondType>().values()),
            DataType::Timestamp(Nanosecond, _) => Self::I64(array.as_primitive::<TimestampNanosecondType>().values()),
            _ => return None,
        })
    }

    /// None of more than 63 bits.
    #[inline]
    pub fn get(&self, row: usize) -> Option<i64> {
        Some(match self {
            Self::I8(values) => i64::from(values[row]),
            Self::I16(values) => i64::from(values[row]),
            Self::I32(values) => i64::from(values[row]),
            Self::I64(values) => values[row],
            Self::U8(values) => i64::from(values[row]),
            Self::U16(values) => i64::from(values[row]),
            Self::U32(values) => i64::from(values[row]),
            Self::U64(values) => i64::try_from(values[row]).ok()?,
        })
    }
}

/// Numbers with a point, of any width; whole ones that a float of so many bits holds.
pub enum Floats<'a> {
    F16(&'a [<Float16Type as ArrowPrimitiveType>::Native]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    Whole(Integers<'a>, u64),
}

impl<'a> Floats<'a> {
    pub fn of(array: &'a dyn Array, most_whole: u64) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Float16 => Self::F16(array.as_primitive::<Float16Type>().values()),
            DataType::Float32 => Self::F32(array.as_primitive::<Float32Type>().values()),
            DataType::Float64 => Self::F64(array.as_primitive::<Float64Type>().values()),
            other if other.is_integer() => Self::Whole(Integers::of(array)?, most_whole),
            _ => return None,
        })
    }

    #[inline]
    pub fn get(&self, row: usize) -> Option<f64> {
        Some(match self {
            Self::F16(values) => values[row].to_f64(),
            Self::F32(values) => f64::from(values[row]),
            Self::F64(values) => values[row],
            Self::Whole(values, most) => values.get(row).filter(|value| value.unsigned_abs() <= *most)? as f64,
        })
    }
}

/// Unscaled decimals of any width.
pub enum Decimals<'a> {
    D32(&'a [i32]),
    D64(&'a [i64]),
    D128(&'a [i128]),
    D256(&'a [i256]),
}

impl<'a> Decimals<'a> {
    /// They, and their scale.
    pub fn of(array: &'a dyn Array) -> Option<(Self, i8)> {
        Some(match array.data_type() {
            DataType::Decimal32(_, scale) => (Self::D32(array.as_primitive::<Decimal32Type>().values()), *scale),
            DataType::Decimal64(_, scale) => (Self::D64(array.as_primitive::<Decimal64Type>().values()), *scale),
            DataType::Decimal128(_, scale) => (Self::D128(array.as_primitive::<Decimal128Type>().values()), *scale),
            DataType::Decimal256(_, scale) => (Self::D256(array.as_primitive::<Decimal256Type>().values()), *scale),
            _ => return None,
        })
    }

    /// The number where 128 bits hold it, else in 256.
    #[inline]
    pub fn get(&self, row: usize) -> Result<i128, i256> {
        match self {
            Self::D32(values) => Ok(i128::from(values[row])),
            Self::D64(values) => Ok(i128::from(values[row])),
            Self::D128(values) => Ok(values[row]),
            Self::D256(values) => values[row].to_i128().ok_or(values[row]),
        }
    }
}

/// Text or bytes.
pub enum Bytes<'a> {
    Short(&'a [i32], Held<'a>),
    Long(&'a [i64], Held<'a>),
    /// Views of 16 bytes each: Arrow's layout of string_view and binary_view.
    Views {
        views: &'a [u8],
        buffers: &'a [Buffer],
        are_text: bool,
    },
    Fixed(usize, &'a [u8]),
}

/// What offsets point into: a part of a buffer, and where it begins there.
pub enum Held<'a> {
    Bytes(usize, &'a [u8]),
    /// Which is UTF-8 throughout.
    Text(usize, &'a str),
    /// Which is not: each value's text is looked at.
    Doubtful(usize, &'a [u8]),
}

const VIEW: usize = 16;
const INLINE: usize = 12;

impl<'a> Bytes<'a> {
    /// The text of the rows that are in use.
    pub fn of_text(array: &'a dyn Array, used: &Range<usize>) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Utf8 => {
                let text = array.as_string::<i32>();
                Self::Short(text.value_offsets(), held(text, used, true)?)
            }
            DataType::LargeUtf8 => {
                let text = array.as_string::<i64>();
                Self::Long(text.value_offsets(), held(text, used, true)?)
            }
            DataType::Utf8View => views(array.as_string_view(), true),
            _ => return None,
        })
    }

    /// The bytes of the rows that are in use.
    pub fn of_bytes(array: &'a dyn Array, used: &Range<usize>) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Binary => {
                let bytes = array.as_binary::<i32>();
                Self::Short(bytes.value_offsets(), held(bytes, used, false)?)
            }
            DataType::LargeBinary => {
                let bytes = array.as_binary::<i64>();
                Self::Long(bytes.value_offsets(), held(bytes, used, false)?)
            }
            DataType::BinaryView => views(array.as_binary_view(), false),
            DataType::FixedSizeBinary(size) => {
                let bytes = array.as_fixed_size_binary();
                let size = usize::try_from(*size).ok()?;
                Self::Fixed(size, bytes.value_data().get(..size.checked_mul(array.len())?)?)
            }
            _ => return None,
        })
    }

    #[inline]
    pub fn get(&self, row: usize) -> Option<&'a [u8]> {
        match self {
            Self::Short(offsets, held) => held.get(offsets[row] as usize, offsets[row + 1] as usize),
            Self::Long(offsets, held) => held.get(offsets[row] as usize, offsets[row + 1] as usize),
            Self::Views { views, buffers, are_text } => {
                let bytes = viewed(views.get(row * VIEW..(row + 1) * VIEW)?, buffers)?;
                if *are_text {
                    std::str::from_utf8(bytes).ok()?;
                }
                Some(bytes)
            }
            Self::Fixed(size, values) => values.get(row * size..(row + 1) * size),
        }
    }
}

impl<'a> Held<'a> {
    #[inline]
    fn get(&self, begin: usize, end: usize) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(from, bytes) => bytes.get(begin.checked_sub(*from)?..end.checked_sub(*from)?),
            Self::Text(from, text) => {
                text.get(begin.checked_sub(*from)?..end.checked_sub(*from)?).map(|text| text.as_bytes())
            }
            Self::Doubtful(from, bytes) => {
                let bytes = bytes.get(begin.checked_sub(*from)?..end.checked_sub(*from)?)?;
                std::str::from_utf8(bytes).ok().map(|text| text.as_bytes())
            }
        }
    }
}

/// The part of the buffer that the rows in use are in: of a slice, not the whole.
fn held<'a, T: ByteArrayType>(array: &'a GenericByteArray<T>, used: &Range<usize>, is_text: bool) -> Option<Held<'a>> {
    let offsets = array.value_offsets();
    let begin = offsets.get(used.start)?.as_usize();
    let bytes = array.value_data().get(begin..offsets.get(used.end)?.as_usize())?;
    if !is_text {
        return Some(Held::Bytes(begin, bytes));
    }
    Some(std::str::from_utf8(bytes).map_or(Held::Doubtful(begin, bytes), |text| Held::Text(begin, text)))
}

fn views<T: ByteViewType + ?Sized>(array: &GenericByteViewArray<T>, are_text: bool) -> Bytes<'_> {
    Bytes::Views { views: array.views().inner().as_slice(), buffers: array.data_buffers(), are_text }
}

fn viewed<'a>(view: &'a [u8], buffers: &'a [Buffer]) -> Option<&'a [u8]> {
    let part = |at: usize| -> Option<usize> {
        usize::try_from(u32::from_ne_bytes(view.get(at..at + 4)?.try_into().ok()?)).ok()
    };
    let length = part(0)?;
    if length <= INLINE {
        return view.get(4..4 + length);
    }
    let begin = part(12)?;
    buffers.get(part(8)?)?.as_slice().get(begin..begin.checked_add(length)?)
}

/// Where each list's items stand among all items.
pub enum Bounds<'a> {
    Short(&'a [i32]),
    Long(&'a [i64]),
    Fixed(usize),
}

impl Bounds<'_> {
    /// The range of a row's items; None of one that is not among so many.
    #[inline]
    pub fn get(&self, row: usize, items: usize) -> Option<Range<usize>> {
        self.of(&(row..row + 1), items)
    }

    /// Likewise of some rows.
    #[inline]
    pub fn of(&self, rows: &Range<usize>, items: usize) -> Option<Range<usize>> {
        let (begin, end) = (self.begin(rows.start)?, self.begin(rows.end)?);
        (begin <= end && end <= items).then_some(begin..end)
    }

    #[inline]
    fn begin(&self, row: usize) -> Option<usize> {
        match self {
            // Of a number below 0 it is one beyond all items.
            Self::Short(offsets) => offsets.get(row).map(|begin| *begin as usize),
            Self::Long(offsets) => offsets.get(row).map(|begin| *begin as usize),
            Self::Fixed(size) => row.checked_mul(*size),
        }
    }
}
