//! What is written of an array's values, a row at a time.

use arrow_buffer::{BooleanBuffer, NullBuffer};

use super::decimals::Fit;
use super::times::{Days, Ticks};
use super::views::{Bounds, Bytes, Decimals, Floats, Integers};
use crate::columns::are_distinct;
use crate::sink::{put_long, put_sized};

/// What null is written as.
#[derive(Clone, Copy)]
pub enum Null<'a> {
    /// It is not: the row is the caller's.
    Refused,
    Nothing,
    Branch(i64),
    Constant(&'a [u8]),
}

impl Null<'_> {
    fn put(self, out: &mut Vec<u8>) -> Option<()> {
        match self {
            Self::Refused => return None,
            Self::Nothing => {}
            Self::Branch(branch) => put_long(out, branch),
            Self::Constant(body) => out.extend_from_slice(body),
        }
        Some(())
    }
}

/// An array, and how its values are written.
pub struct Node<'a> {
    pub nulls: Option<&'a NullBuffer>,
    pub null: Null<'a>,
    /// The branch of a value, in a union.
    pub branch: Option<i64>,
    pub len: usize,
    pub kind: Kind<'a>,
}

pub enum Kind<'a> {
    /// No value is written: the row is the caller's.
    Refused,
    /// Every value is null.
    Null,
    Boolean(&'a BooleanBuffer),
    Int(Integers<'a>),
    Long(Integers<'a>),
    Float(Floats<'a>),
    Double(Floats<'a>),
    Sized(Bytes<'a>),
    Fixed(Bytes<'a>, usize),
    Enum(Bytes<'a>, &'a [String]),
    Date(Days<'a>),
    Time(Ticks<'a>),
    Decimal(Decimals<'a>, Fit),
    List(Bounds<'a>, Box<Node<'a>>),
    Map(Bounds<'a>, Box<Entries<'a>>),
    Record(Box<[Field<'a>]>),
    /// Places among the values of a dictionary.
    Encoded(Integers<'a>, Box<Node<'a>>),
}

pub struct Entries<'a> {
    pub texts: Bytes<'a>,
    /// How the keys are written; None for as text.
    pub keys: Option<Node<'a>>,
    pub values: Node<'a>,
}

pub enum Field<'a> {
    Column(Node<'a>),
    Constant(&'a [u8]),
}

/// What a batch's payloads may come to.
pub const MOST_BYTES: usize = i32::MAX as usize;
/// Longer lists of items that have no bytes are the caller's.
const FEW_ITEMS: usize = 1 << 16;
const FLOAT_MAX: f64 = 3.402_823_567_797_336_6e38;

impl Node<'_> {
    /// Appends a row's value; None of what is the caller's, with some of it appended perhaps.
    #[inline]
    pub fn put(&self, row: usize, out: &mut Vec<u8>) -> Option<()> {
        if let Some(nulls) = self.nulls
            && nulls.is_null(row)
        {
            return self.null.put(out);
        }
        if let Some(branch) = self.branch {
            put_long(out, branch);
        }
        match &self.kind {
            Kind::Long(values) => put_long(out, values.get(row)?),
            Kind::Int(values) => put_long(out, i64::from(i32::try_from(values.get(row)?).ok()?)),
            Kind::Sized(values) => put_sized(out, values.get(row)?),
            Kind::Double(values) => out.extend_from_slice(&values.get(row)?.to_le_bytes()),
            Kind::Boolean(values) => out.push(u8::from(values.value(row))),
            Kind::Time(values) => put_long(out, values.get(row)?),
            Kind::Record(fields) => return put_record(fields, row, out),
            kind => return put_other(kind, self.null, row, out),
        }
        Some(())
    }
}

fn put_record(fields: &[Field<'_>], row: usize, out: &mut Vec<u8>) -> Option<()> {
    for field in fields {
        match field {
            Field::Column(node) => node.put(row, out)?,
            Field::Constant(body) => out.extend_from_slice(body),
        }
    }
    Some(())
}

fn put_other(kind: &Kind<'_>, null: Null<'_>, row: usize, out: &mut Vec<u8>) -> Option<()> {
    match kind {
        Kind::Null => null.put(out)?,
        Kind::Float(values) => {
            let number = values.get(row)?;
            if (FLOAT_MAX..f64::INFINITY).contains(&number.abs()) {
                return None;
            }
            out.extend_from_slice(&(number as f32).to_le_bytes());
        }
        Kind::Fixed(values, size) => {
            out.extend_from_slice(values.get(row).filter(|bytes| bytes.len() == *size)?);
        }
        Kind::Enum(values, symbols) => {
            let text = values.get(row)?;
            put_long(out, symbols.iter().position(|symbol| symbol.as_bytes() == text)? as i64);
        }
        Kind::Date(values) => put_long(out, values.get(row)?),
        Kind::Decimal(values, fit) => fit.put(values.get(row), out)?,
        Kind::List(bounds, items) => {
            let range = bounds.get(row, items.len)?;
            let is_long = range.len() > FEW_ITEMS;
            put_block(range.len(), out);
            for item in range {
                let begin = out.len();
                items.put(item, out)?;
                // Nulls have a length that nothing stands behind; values of a dictionary stand behind many.
                if out.len() > MOST_BYTES || is_long && out.len() == begin {
                    return None;
                }
            }
            out.push(0);
        }
        Kind::Map(bounds, entries) => {
            let range = bounds.get(row, entries.values.len)?;
            put_block(range.len(), out);
            for entry in range.clone() {
                match &entries.keys {
                    None => put_sized(out, entries.texts.get(entry)?),
                    Some(keys) => keys.put(entry, out)?,
                }
                entries.values.put(entry, out)?;
                if out.len() > MOST_BYTES {
                    return None;
                }
            }
            // A key that is none was refused.
            let key = |entry| entries.texts.get(entry).unwrap_or_default();
            if !are_distinct(range.start, range.len(), key) {
                return None;
            }
            out.push(0);
        }
        Kind::Encoded(places, values) => {
            let place = usize::try_from(places.get(row)?).ok().filter(|place| *place < values.len)?;
            values.put(place, out)?;
        }
        _ => return None,
    }
    Some(())
}

/// Avro's blocks begin with their count; none stands for no items.
fn put_block(count: usize, out: &mut Vec<u8>) {
    if count > 0 {
        put_long(out, count as i64);
    }
}
