//! Payloads of any mixture of schema ids → one batch of columns.

use std::sync::Arc;

use arrow_array::{RecordBatch, StructArray};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use arrow_schema::ArrowError;
use hashbrown::HashMap;
use pyo3::{FromPyObject, IntoPyObject, PyErr};

use crate::columns::{Column, Refusal, Type, fields_of};
use crate::cursor::{Bad, Cursor, Reason};
use crate::description::{Absent, Becomes, Field, Read};
use crate::faults;
use crate::json::{self, Memory, Reading};
use crate::leaf::leaf;
use crate::program::Program;

const MAGIC_ID: u8 = 0;
const MAGIC_GUID: u8 = 1;
const GUID_SIZE: usize = 16;
pub const PREFIX_ID_SIZE: usize = 5;

/// How bodies of a schema id are read.
#[derive(Clone)]
pub enum Plan {
    /// By the kernel: Avro.
    Program(Arc<Program>),
    /// By the kernel: JSON.
    Json(Arc<Reading>),
    /// By the caller.
    Otherwise,
}

/// How the payloads of a batch are read.
#[derive(Clone, Default)]
pub struct Plans {
    /// Those that name their schema.
    pub named: HashMap<Identity, Plan>,
    /// All of them, if they are bodies and nothing else.
    pub bare: Option<Plan>,
}

/// Plans, and the one that was used last: payloads of one schema come one after the other.
pub struct Known<'a> {
    plans: &'a Plans,
    last: Option<(Identity, &'a Plan)>,
}

impl<'a> Known<'a> {
    pub fn new(plans: &'a Plans) -> Self {
        Self { plans, last: None }
    }

    /// How a payload is read, and where its body starts.
    #[inline]
    fn of(&mut self, payload: &[u8]) -> Result<(&'a Plan, usize), Odd> {
        if let Some(plan) = &self.plans.bare {
            return Ok((plan, 0));
        }
        let (identity, body_offset) = identity_of(payload).ok_or(Odd::Unframed)?;
        match self.last {
            Some((last, plan)) if last == identity => Ok((plan, body_offset)),
            _ => {
                let plan = self.plans.named.get(&identity).ok_or(Odd::Unknown(identity))?;
                self.last = Some((identity, plan));
                Ok((plan, body_offset))
            }
        }
    }
}

/// A row that was not read.
#[derive(Debug, PartialEq, Eq)]
pub enum Odd {
    /// A null payload.
    Tombstone,
    /// No prefix with a schema id or GUID.
    Unframed,
    /// Its schema has no plan yet.
    Unknown(Identity),
    /// The plan says that the caller reads it.
    Otherwise,
    /// It was not read, and it is Python's to say why.
    Unread(Bad),
    /// Its bytes, the payload's, are no value of the schema.
    Faulty(faults::Fault, Box<[u8]>),
    /// It is for Python to read, or to say why not.
    Left,
}

impl Odd {
    /// The reason, for the caller.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Tombstone => "tombstone",
            Self::Unframed => "unframed",
            Self::Unknown(_) => "unknown",
            Self::Otherwise => "otherwise",
            Self::Left => "other",
            Self::Unread(bad) => bad.reason.word(),
            Self::Faulty(fault, _) => fault.reason.word(),
        }
    }
}

/// What names a payload's schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, FromPyObject, IntoPyObject)]
pub enum Identity {
    Id(u32),
    Guid([u8; GUID_SIZE]),
}

/// The schema id in front of a payload.
#[inline]
pub fn id_of(payload: &[u8]) -> Option<u32> {
    match payload.get(..PREFIX_ID_SIZE) {
        Some(&[MAGIC_ID, a, b, c, d]) => Some(u32::from_be_bytes([a, b, c, d])),
        _ => None,
    }
}

/// What stands in front of a payload, and where its body starts.
#[inline]
pub fn identity_of(payload: &[u8]) -> Option<(Identity, usize)> {
    if let Some(id) = id_of(payload) {
        return Some((Identity::Id(id), PREFIX_ID_SIZE));
    }
    let (magic, rest) = payload.split_first()?;
    let guid = rest.first_chunk::<GUID_SIZE>().filter(|_| *magic == MAGIC_GUID)?;
    Some((Identity::Guid(*guid), 1 + GUID_SIZE))
}

pub struct Batch {
    types: Vec<(String, Type)>,
    columns: Vec<Column>,
    rows: usize,
    is_text_checked_later: bool,
    /// What reads JSON, and what it remembers meanwhile.
    json: Option<(Arc<Reading>, Memory)>,
    /// The rows that were not read, which are null in every column in the end, by ascending position.
    pub odd: Vec<(usize, Odd)>,
}

/// Why there is no batch.
#[derive(Debug)]
pub enum Halt {
    /// It is more than Arrow's arrays can hold.
    TooMuch,
    /// Python raised an exception when it was asked.
    Raised(PyErr),
}

impl Batch {
    /// `is_text_checked_later` leaves it to `finish` to find that a text is not UTF-8: a column at a time costs a fraction of a
    /// text at a time, but nobody knows then in which row.
    pub fn new(types: Vec<(String, Type)>, rows: usize, is_text_checked_later: bool) -> Self {
        let mut columns: Vec<_> = types.iter().map(|(_, type_)| Column::new(type_)).collect();
        columns.iter_mut().for_each(|column| column.reserve(rows));
        Self { types, columns, rows: 0, json: None, odd: Vec::new(), is_text_checked_later }
    }

    /// Appends a row for the payload: what it holds, or nulls.
    #[inline]
    pub fn push(&mut self, payload: Option<&[u8]>, plans: &mut Known<'_>) -> Result<(), Halt> {
        let odd = match self.read(payload, plans) {
            Ok(()) => {
                self.rows += 1;
                return Ok(());
            }
            Err(odd) => odd?,
        };
        self.columns.iter_mut().for_each(|column| {
            column.truncate(self.rows);
            column.push_blank();
        });
        self.odd.push((self.rows, odd));
        self.rows += 1;
        Ok(())
    }

    #[inline]
    fn read(&mut self, payload: Option<&[u8]>, plans: &mut Known<'_>) -> Result<(), Result<Odd, Halt>> {
        let Some(payload) = payload else { return Err(Ok(Odd::Tombstone)) };
        let (plan, body_offset) = plans.of(payload).map_err(Ok)?;
        let program = match plan {
            Plan::Program(program) => program,
            Plan::Json(reading) => return self.read_json(payload, body_offset, reading),
            Plan::Otherwise => return Err(Ok(Odd::Otherwise)),
        };
        let mut reading = || {
            let mut cursor = program.cursor(payload, body_offset)?.checking_text_later(self.is_text_checked_later);
            root(program, &mut cursor, &mut self.columns)?;
            Ok(cursor.finish()?)
        };
        reading().map_err(|refused| match refused {
            Fault::Bad(bad) => Ok(match faults::fault(program, payload, body_offset) {
                Some(fault) => Odd::Faulty(fault, payload.into()),
                None => Odd::Unread(bad),
            }),
            Fault::Full => Err(Halt::TooMuch),
        })
    }

    #[inline]
    fn read_json(
        &mut self,
        payload: &[u8],
        body_offset: usize,
        reading: &Arc<Reading>,
    ) -> Result<(), Result<Odd, Halt>> {
        if !matches!(&self.json, Some((known, _)) if Arc::ptr_eq(known, reading)) {
            self.give_back();
        }
        let (_, memory) = self.json.get_or_insert_with(|| (Arc::clone(reading), reading.memory()));
        reading.append(payload, body_offset, &mut self.columns, memory).map_err(|fault| match fault {
            json::Fault::Unread => Ok(Odd::Left),
            json::Fault::Full => Err(Halt::TooMuch),
            json::Fault::Raised(error) => Err(Halt::Raised(error)),
        })
    }

    fn give_back(&mut self) {
        if let Some((reading, memory)) = self.json.take() {
            reading.give_back(memory);
        }
    }

    /// The rows, and the odd ones among them.
    pub fn finish(mut self) -> Result<(RecordBatch, Vec<(usize, Odd)>), ArrowError> {
        self.give_back();
        let blanks = self.blanks();
        let arrays = self.columns.into_iter().map(|column| column.finish(blanks.as_ref()));
        let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
        let rows = StructArray::try_new_with_length(fields_of(&self.types), arrays, None, self.rows)?;
        Ok((RecordBatch::from(rows), self.odd))
    }

    /// Which rows are not odd; None if none is.
    fn blanks(&self) -> Option<NullBuffer> {
        if self.odd.is_empty() {
            return None;
        }
        let mut there = BooleanBufferBuilder::new(self.rows);
        there.append_n(self.rows, true);
        self.odd.iter().for_each(|(position, _)| there.set_bit(*position, false));
        Some(NullBuffer::new(there.finish()))
    }
}

enum Fault {
    Bad(Bad),
    Full,
}

impl From<Bad> for Fault {
    fn from(bad: Bad) -> Self {
        Self::Bad(bad)
    }
}

/// Says where a refused value stood.
fn at(cursor: &Cursor) -> impl Fn(Refusal) -> Fault {
    let at = cursor.at();
    move |refusal| match refusal {
        Refusal::Bad(reason) => Fault::Bad(Bad { reason, at }),
        Refusal::Full => Fault::Full,
    }
}

/// A row: a record, or the record beside null.
fn root<'a>(program: &'a Program, cursor: &mut Cursor<'a>, columns: &mut [Column]) -> Result<(), Fault> {
    let mut number = program.root;
    if let Read::Union { branches } = program.read(number) {
        number = branches[cursor.index(branches.len())?];
    }
    match program.read(number) {
        Read::Record { fields, absent, .. } => record(program, fields, absent, cursor, columns),
        // Null is a tombstone, by the caller's rules.
        _ => Err(cursor.bad(Reason::Other).into()),
    }
}

fn record<'a>(
    program: &'a Program,
    fields: &'a [Field],
    absent: &'a [Absent],
    cursor: &mut Cursor<'a>,
    columns: &mut [Column],
) -> Result<(), Fault> {
    cursor.enter()?;
    for field in fields {
        match field.feeds.as_slice() {
            [] => program.skip(field.wire, cursor)?,
            [feed] if feed.column.is_some() => {
                let column = columns.get_mut(feed.column.unwrap_or_default());
                append(program, feed.read, cursor, column.ok_or_else(|| cursor.bad(Reason::Other))?)?;
            }
            // One field for several columns is rare, and what does not count is read all the same.
            _ => return Err(cursor.bad(Reason::Other).into()),
        }
    }
    cursor.leave();
    for one in absent {
        let column = columns.get_mut(one.column).ok_or_else(|| cursor.bad(Reason::Other))?;
        match one.read {
            None => column.push_null(),
            Some(read) => append(program, read, &mut program.cursor_at_default(&one.body), column)?,
        }
    }
    Ok(())
}

fn append<'a>(program: &'a Program, number: usize, cursor: &mut Cursor<'a>, column: &mut Column) -> Result<(), Fault> {
    match program.read(number) {
        Read::Record { fields, absent, .. } => {
            record(program, fields, absent, cursor, column.fields().map_err(at(cursor))?)?;
            column.end_struct();
            Ok(())
        }
        Read::Union { branches } => {
            let branch = branches[cursor.index(branches.len())?];
            if let Read::Null = program.read(branch) {
                column.push_null();
                return Ok(());
            }
            cursor.enter()?;
            append(program, branch, cursor, column)?;
            cursor.leave();
            Ok(())
        }
        Read::List { items, width } => {
            let part = column.items().map_err(at(cursor))?;
            cursor.items(*width, |cursor| append(program, *items, cursor, part))?;
            column.end_items().map_err(at(cursor))
        }
        Read::Map { values, width } => {
            let (keys, parts) = column.entries().map_err(at(cursor))?;
            let first = keys.len();
            cursor.items(*width, |cursor| {
                keys.push_bytes(cursor.text_bytes()?).map_err(at(cursor))?;
                append(program, *values, cursor, parts)
            })?;
            end_map(column, first, cursor)
        }
        Read::Entries { key, value, width } => {
            let (keys, parts) = column.entries().map_err(at(cursor))?;
            let first = keys.len();
            cursor.enter()?;
            cursor.items(*width, |cursor| {
                append(program, *key, cursor, keys)?;
                append(program, *value, cursor, parts)
            })?;
            cursor.leave();
            end_map(column, first, cursor)
        }
        Read::Branches { branches, .. } => {
            let Some(taken) = &branches[cursor.index(branches.len())?] else {
                column.push_null();
                return Ok(());
            };
            cursor.enter()?;
            let fields = column.fields().map_err(at(cursor))?;
            let begin = cursor.at();
            if taken.feeds.is_empty() {
                program.skip(taken.wire, cursor)?;
            }
            for (number, field) in fields.iter_mut().enumerate() {
                match taken.feeds.iter().find(|feed| feed.column == Some(number)) {
                    Some(feed) => {
                        cursor.rewind(begin);
                        append(program, feed.read, cursor, field)?;
                    }
                    None => field.push_null(),
                }
            }
            if taken.feeds.iter().any(|feed| feed.column.is_none()) {
                return Err(cursor.bad(Reason::Other).into());
            }
            cursor.leave();
            column.end_struct();
            Ok(())
        }
        // What most columns are, without a value in between.
        Read::Number { is_long, bits: 0, within_a_day: false, becomes: Becomes::Same } => {
            let number = if *is_long { cursor.long()? } else { i64::from(cursor.int()?) };
            column.push_long(number).map_err(at(cursor))
        }
        Read::String => column.push_bytes(cursor.text_bytes()?).map_err(at(cursor)),
        Read::Boolean { as_text: false } => column.push_boolean(cursor.boolean()?).map_err(at(cursor)),
        Read::Double => column.push_double(f64::from_le_bytes(cursor.array()?)).map_err(at(cursor)),
        read => {
            let value = leaf(read, cursor)?;
            column.push(value).map_err(at(cursor))
        }
    }
}

fn end_map(column: &mut Column, first: usize, cursor: &Cursor) -> Result<(), Fault> {
    let (keys, _) = column.entries().map_err(at(cursor))?;
    if !keys.are_keys_distinct(first) {
        return Err(cursor.bad(Reason::Other).into());
    }
    column.end_items().map_err(at(cursor))
}
