//! Which column a key feeds. The kernel knows no rule of letter case: Python says it, once for each spelling.

use hashbrown::HashMap;

use crate::json::description::{Object, Read};

/// What a key feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feeds {
    Nothing,
    Column(usize),
    /// The object is the caller's to read.
    Unsure,
}

impl Feeds {
    /// As Python has it: a column's number, -1 for nothing; anything else for what is its own.
    pub fn of(number: i64) -> Self {
        match usize::try_from(number) {
            Ok(column) => Self::Column(column),
            Err(_) if number == -1 => Self::Nothing,
            Err(_) => Self::Unsure,
        }
    }
}

/// The spellings that are known for one type of objects, and which one follows which: objects are mostly alike.
struct Table {
    seen: Vec<(Box<str>, Feeds)>,
    slots: HashMap<Box<str>, usize>,
    /// By slot + 1 of the key before, 0 for the first: the slot of the key that followed it last.
    follows: Vec<usize>,
    is_asked: bool,
}

/// What a thread remembers between bodies.
pub struct Memory {
    tables: Vec<Option<Table>>,
    remembered: usize,
    bytes: usize,
    /// For strings with escapes, and for what base64 stands for.
    pub tape: Vec<u8>,
    pub scratch: Vec<u8>,
}

/// Not known: the caller is asked.
#[derive(Debug, PartialEq, Eq)]
pub struct Unknown;

impl Memory {
    pub fn new(reads: &[Read]) -> Self {
        let tables = reads.iter().map(|read| match read {
            Read::Object(object) => Some(Table::of(object)),
            _ => None,
        });
        Self { tables: tables.collect(), remembered: 0, bytes: 0, tape: Vec::new(), scratch: Vec::new() }
    }

    /// What a key feeds of the object of that number.
    ///
    /// `place` is where the object's keys are: 0 before the first.
    #[inline]
    pub fn feeds(&mut self, object: usize, key: &str, place: &mut usize) -> Result<Feeds, Unknown> {
        let Some(Some(table)) = self.tables.get_mut(object) else { return Ok(Feeds::Unsure) };
        let guess = table.follows.get(*place).copied().unwrap_or_default();
        if let Some((name, feeds)) = table.seen.get(guess)
            && **name == *key
        {
            *place = guess + 1;
            return Ok(*feeds);
        }
        table.looked_up(key, place)
    }

    /// Remembers what a key feeds; of more than `most` of them, or more than so many bytes, all are forgotten first.
    pub fn remember(&mut self, object: usize, key: &str, feeds: Feeds, most: usize, most_bytes: usize) {
        // One that all others would be forgotten for is not worth it.
        if key.len() > most_bytes / most.max(1) {
            return;
        }
        if self.remembered >= most || self.bytes + key.len() > most_bytes {
            self.tables.iter_mut().flatten().filter(|table| table.is_asked).for_each(Table::forget);
            self.remembered = 0;
            self.bytes = 0;
        }
        if let Some(Some(table)) = self.tables.get_mut(object) {
            table.put(key, feeds);
            self.remembered += 1;
            self.bytes += key.len();
        }
    }
}

impl Table {
    fn of(object: &Object) -> Self {
        let mut table =
            Self { seen: Vec::new(), slots: HashMap::new(), follows: vec![0], is_asked: object.keys.is_none() };
        for (key, column) in object.keys.iter().flatten() {
            table.put(key, Feeds::Column(*column));
        }
        table
    }

    fn put(&mut self, key: &str, feeds: Feeds) {
        let slot = self.seen.len();
        self.slots.insert(key.into(), slot);
        self.seen.push((key.into(), feeds));
        // Until it is known better, keys follow each other in the order in which they were met.
        self.follows.push(slot + 1);
    }

    fn forget(&mut self) {
        self.seen.clear();
        self.slots.clear();
        self.follows.clear();
        self.follows.push(0);
    }

    fn looked_up(&mut self, key: &str, place: &mut usize) -> Result<Feeds, Unknown> {
        let Some(slot) = self.slots.get(key).copied() else {
            return if self.is_asked { Err(Unknown) } else { Ok(Feeds::Nothing) };
        };
        if let Some(follows) = self.follows.get_mut(*place) {
            *follows = slot;
        }
        *place = slot + 1;
        Ok(self.seen[slot].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(keys: Option<Vec<(String, usize)>>) -> Read {
        Read::Object(Object { columns: Vec::new(), keys, least: 0, price: 0 })
    }

    #[test]
    fn keys_are_found_in_any_order() {
        let keys = ["a", "b", "c"].iter().enumerate().map(|(column, key)| ((*key).to_owned(), column)).collect();
        let mut memory = Memory::new(&[object(Some(keys))]);
        for order in [["a", "b", "c"], ["c", "a", "b"], ["c", "a", "b"], ["b", "c", "a"]] {
            let mut place = 0;
            for key in order {
                let column = usize::from(key.as_bytes()[0] - b'a');
                assert_eq!(memory.feeds(0, key, &mut place), Ok(Feeds::Column(column)));
                assert_eq!(memory.feeds(0, "other", &mut place), Ok(Feeds::Nothing));
            }
        }
    }

    #[test]
    fn what_is_not_known_is_asked_for_and_remembered_within_bounds() {
        let mut memory = Memory::new(&[object(None)]);
        for number in 0..100 {
            let key = format!("key-{number}");
            let mut place = 0;
            assert_eq!(memory.feeds(0, &key, &mut place), Err(Unknown));
            memory.remember(0, &key, Feeds::Column(number), 8, 1 << 10);
            assert_eq!(memory.feeds(0, &key, &mut place), Ok(Feeds::Column(number)));
            assert!(memory.remembered <= 8);
        }
        memory.remember(0, &"long".repeat(100), Feeds::Nothing, 8, 1 << 10);
        assert_eq!(memory.feeds(0, &"long".repeat(100), &mut 0), Err(Unknown));
    }

    #[test]
    fn what_python_says() {
        assert_eq!([7, -1, -2].map(Feeds::of), [Feeds::Column(7), Feeds::Nothing, Feeds::Unsure]);
    }
}
