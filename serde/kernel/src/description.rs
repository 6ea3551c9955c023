//! What Python hands over, once for each writer schema: JSON, as `srfix.serde.formats.avro.kernel` makes it.

use serde::Deserialize;

/// A type of the writer's, to read past: its number stands where it is referred to, so that schemas may be recursive.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Wire {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    Fixed {
        size: usize,
    },
    Enum {
        symbols: usize,
    },
    /// Names and types of the fields.
    Record {
        fields: Vec<(String, usize)>,
    },
    Array {
        items: usize,
        width: usize,
    },
    Map {
        values: usize,
        width: usize,
    },
    Union {
        branches: Vec<usize>,
    },
}

/// What a number becomes.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Becomes {
    Same,
    Text,
    /// A reader's float: 32 bits of it.
    Float,
    Double,
    Date,
    /// A time of day, of so many numbers a second.
    Time(i64),
    /// An instant.
    Timestamp(i64),
    /// What a clock without a zone shows.
    LocalTimestamp(i64),
}

/// A value that is made of the body.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Read {
    Null,
    Boolean {
        as_text: bool,
    },
    Number {
        is_long: bool,
        bits: u32,
        within_a_day: bool,
        becomes: Becomes,
    },
    Float,
    Double,
    Bytes,
    Fixed {
        size: usize,
    },
    String,
    Uuid,
    Enum {
        symbols: Vec<String>,
    },
    /// `size` 0 for bytes; without `precision` the number is left as it was written.
    Decimal {
        size: usize,
        scale: i32,
        precision: u32,
        to_scale: i32,
    },
    List {
        items: usize,
        width: usize,
    },
    Map {
        values: usize,
        width: usize,
    },
    Entries {
        key: usize,
        value: usize,
        width: usize,
    },
    /// One value of several types: the number of a `Read` for each branch.
    Union {
        branches: Vec<usize>,
    },
    Record {
        columns: Vec<String>,
        fields: Vec<Field>,
        absent: Vec<Absent>,
    },
    /// The branches of a union as the fields of a STRUCT: None for null.
    Branches {
        columns: Vec<String>,
        branches: Vec<Option<Field>>,
    },
    /// No value of the type is read: whatever stands there is the caller's to refuse.
    Refused,
}

/// A field of a record: what it feeds, none if it is read past.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    pub wire: usize,
    pub feeds: Vec<Feed>,
}

/// What a field feeds: a column, or none that counts.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feed {
    pub read: usize,
    pub column: Option<usize>,
}

/// A column that no field feeds: null, or a default that is read from its own body.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Absent {
    pub column: usize,
    pub read: Option<usize>,
    pub body: Vec<u8>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    pub wires: Vec<Wire>,
    pub reads: Vec<Read>,
    pub root: usize,
    /// The writer's type of the root.
    pub wire_root: usize,
    /// How deep values may nest.
    pub levels: u32,
    /// Longer bodies are the caller's; None for any.
    pub most_bytes: Option<usize>,
}
