//! What Python hands over, once for each set of columns, or for each writer schema: `srfix.serde.formats.json.kernel`.

use serde::Deserialize;

use crate::description::Becomes;

/// What is made of a value that is not null, by its number.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Read {
    Boolean {
        as_text: bool,
    },
    /// A whole number of so many bits; with `of_text` a string that is one, too.
    Number {
        bits: u32,
        of_text: bool,
        within_a_day: bool,
        becomes: Becomes,
    },
    /// `is_narrow` for 32 bits; with `has_negative_zero` -0.0 stays what it is.
    Double {
        is_narrow: bool,
        has_negative_zero: bool,
    },
    /// With `of_scalars` booleans and numbers, too, as Java writes them.
    String {
        of_scalars: bool,
    },
    /// Base64.
    Bytes,
    /// A number, and with `of_text` a string that is one.
    Decimal {
        precision: u32,
        scale: i32,
        of_text: bool,
    },
    List {
        items: Part,
    },
    /// An object whose keys are data.
    Map {
        values: Part,
    },
    /// An array of objects with `key`, a string, and `value`.
    Entries {
        values: Part,
    },
    Object(Object),
    /// No value is read: whatever stands there is the caller's.
    Refused,
}

/// A place for a value.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    pub read: usize,
    /// Null is null there; otherwise it is the caller's.
    pub takes_null: bool,
}

/// An object that a row, or a STRUCT, is made of.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    pub columns: Vec<Field>,
    /// The keys that feed columns, by the columns' numbers; None where the caller is asked about each key.
    pub keys: Option<Vec<(String, usize)>>,
    /// How many columns must be fed.
    pub least: usize,
    /// How many values are spent of what the body may make.
    pub price: i64,
}

/// A column, or a field of a STRUCT.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    pub name: String,
    pub part: Part,
    /// It is null where nothing feeds it; otherwise such an object is the caller's.
    pub may_lack: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    pub reads: Vec<Read>,
    pub root: Part,
    /// The only column, where bodies are its bare values.
    pub single: Option<String>,
    pub bounds: Bounds,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// How deep values may nest.
    pub levels: u32,
    /// How many characters a number may have.
    pub number_characters: usize,
    /// How many characters a string may have that is a number.
    pub text_characters: usize,
    /// How many values a body may make that its bytes do not pay for, and how many more for each byte.
    pub values: u64,
    pub values_per_byte: u64,
    /// How many spellings of keys are remembered, and how many bytes of them.
    pub keys: usize,
    pub key_bytes: usize,
}
