//! A description that was looked through, and what is remembered between bodies.

use std::sync::Mutex;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::json::Fault;
use crate::json::description::{Bounds, Description, Part, Read};
use crate::json::document::Document;
use crate::json::keys::{Feeds, Memory};

/// Deeper nesting is Python's.
const MOST_LEVELS: u32 = 200;
/// How many threads' memories are kept.
const MOST_MEMORIES: usize = 8;
/// Longer buffers are not kept.
const MOST_KEPT_BYTES: usize = 1 << 20;

/// How bodies are read into columns.
pub struct Reading {
    reads: Vec<Read>,
    pub root: Part,
    bounds: Bounds,
    /// Called with an object's number and a key: which column it feeds (`Feeds::of`).
    ask: Option<Py<PyAny>>,
    memories: Mutex<Vec<Memory>>,
    /// Of each object the row without values, and the names of its columns.
    pub rows: Vec<Option<Row>>,
    /// The only column's name, where bodies are its bare values.
    pub single: Option<Py<PyString>>,
}

/// An object's row, all null, and its columns' names.
pub struct Row {
    pub nulls: Py<PyDict>,
    pub names: Box<[Py<PyString>]>,
}

impl Reading {
    /// How bodies are read, or why the description says nothing.
    pub fn parse(py: Python<'_>, text: &[u8], ask: Option<Py<PyAny>>) -> Result<Self, String> {
        let given: Description = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        check(&given)?;
        let rows = given.reads.iter().map(|read| row_of(py, read)).collect::<PyResult<_>>();
        let mut bounds = given.bounds;
        bounds.levels = bounds.levels.min(MOST_LEVELS);
        Ok(Self {
            rows: rows.map_err(|error| error.to_string())?,
            single: given.single.map(|name| PyString::intern(py, &name).unbind()),
            reads: given.reads,
            root: given.root,
            bounds,
            ask,
            memories: Mutex::default(),
        })
    }

    #[inline]
    pub fn read(&self, number: usize) -> &Read {
        &self.reads[number]
    }

    /// A memory, which is to be given back.
    pub fn memory(&self) -> Memory {
        let kept = self.memories.lock().ok().and_then(|mut memories| memories.pop());
        kept.unwrap_or_else(|| Memory::new(&self.reads))
    }

    pub fn give_back(&self, memory: Memory) {
        if let Ok(mut memories) = self.memories.lock()
            && memories.len() < MOST_MEMORIES
        {
            memories.push(memory);
        }
    }

    /// The body behind an offset, as a document.
    #[inline]
    pub fn document<'a>(
        &self,
        payload: &'a [u8],
        body_offset: usize,
        memory: &mut Memory,
    ) -> Result<Document<'a>, Fault> {
        let body = payload.get(body_offset..).ok_or(Fault::Unread)?;
        Ok(Document::new(body, std::mem::take(&mut memory.tape), &self.bounds))
    }

    /// Keeps a document's buffers for the next one.
    #[inline]
    pub fn end(&self, document: Document<'_>, memory: &mut Memory) {
        let tape = document.jiter.into_tape();
        if tape.capacity() <= MOST_KEPT_BYTES {
            memory.tape = tape;
        }
        if memory.scratch.capacity() > MOST_KEPT_BYTES {
            memory.scratch = Vec::new();
        }
    }

    /// What a key feeds of the object of that number; Python is asked about one that is met for the first time.
    #[inline]
    pub fn feeds(
        &self,
        memory: &mut Memory,
        object: usize,
        key: &str,
        place: &mut usize,
    ) -> Result<Option<usize>, Fault> {
        let feeds = match memory.feeds(object, key, place) {
            Ok(feeds) => feeds,
            Err(_) => self.asked(memory, object, key)?,
        };
        match feeds {
            Feeds::Column(column) => Ok(Some(column)),
            Feeds::Nothing => Ok(None),
            Feeds::Unsure => Err(Fault::Unread),
        }
    }

    /// No lock is held here: who has the interpreter may want it.
    #[cold]
    fn asked(&self, memory: &mut Memory, object: usize, key: &str) -> Result<Feeds, Fault> {
        let Some(ask) = &self.ask else { return Ok(Feeds::Unsure) };
        let told = Python::attach(|py| ask.bind(py).call1((object, key))?.extract::<i64>())?;
        let feeds = Feeds::of(told);
        memory.remember(object, key, feeds, self.bounds.keys, self.bounds.key_bytes);
        Ok(feeds)
    }
}

fn row_of(py: Python<'_>, read: &Read) -> PyResult<Option<Row>> {
    let Read::Object(object) = read else { return Ok(None) };
    let nulls = PyDict::new(py);
    let mut names = Vec::with_capacity(object.columns.len());
    for column in &object.columns {
        let name = PyString::intern(py, &column.name);
        nulls.set_item(&name, py.None())?;
        names.push(name.unbind());
    }
    Ok(Some(Row { nulls: nulls.unbind(), names: names.into() }))
}

/// Every number is of something that is there.
fn check(given: &Description) -> Result<(), String> {
    let known = |part: &Part| {
        if part.read < given.reads.len() { Ok(()) } else { Err(format!("there is no reading {}", part.read)) }
    };
    known(&given.root)?;
    for read in &given.reads {
        match read {
            Read::List { items: part } | Read::Map { values: part } | Read::Entries { values: part } => known(part)?,
            Read::Object(object) => {
                object.columns.iter().try_for_each(|column| known(&column.part))?;
                let columns = object.columns.len();
                if let Some((_, none)) = object.keys.iter().flatten().find(|(_, column)| *column >= columns) {
                    return Err(format!("there is no column {none}"));
                }
                if object.price < 0 {
                    return Err("a price is negative".to_owned());
                }
            }
            _ => {}
        }
    }
    if given.single.is_none() && !matches!(given.reads[given.root.read], Read::Object(_)) {
        return Err("a row is an object".to_owned());
    }
    Ok(())
}
