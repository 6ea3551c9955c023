use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, MapBuilder, StringBuilder, StringViewBuilder};
use arrow_array::types::Int8Type;
use arrow_array::*;
use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field};

use super::*;

/// Names of other letter case feed their keys.
struct Lower;

impl Names for Lower {
    type Error = ();

    fn matched(&self, keys: &[&str], names: &[&str]) -> Result<Option<HashMap<String, String>>, ()> {
        let all = names.iter().map(|name| (name.to_uppercase(), (*name).to_owned())).collect::<HashMap<_, _>>();
        Ok(all.keys().all(|key| keys.contains(&key.as_str())).then_some(all))
    }
}

fn rows(columns: Vec<(&str, ArrayRef)>) -> StructArray {
    let fields = columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    StructArray::new(fields, columns.into_iter().map(|(_, array)| array).collect(), None)
}

/// Writes rows under one record of such writes, each a field `A`, `B`, …; more writes stand behind.
fn written_with(fields: &str, more: &str, rows: &StructArray) -> (Vec<Option<Vec<u8>>>, Vec<usize>) {
    let text = format!(
        r#"{{"writes": [{{"kind": "record", "fields": [{fields}]}}{}{more}], "root": 0, "levels": 20}}"#,
        if more.is_empty() { "" } else { ", " }
    );
    let writing = Writing::parse(text.as_bytes()).unwrap();
    let ways = Ways { writing: &writing, names: &Lower, prefix: b"P", whole_millis: false, null_is_callers: false };
    let made = written(&ways, rows, None).unwrap();
    let bytes = made.payloads.iter().flatten().map(<[u8]>::len).sum::<usize>();
    assert_eq!(made.payloads.value_data().len(), bytes, "nothing is kept of what was not written");
    (made.payloads.iter().map(|payload| payload.map(<[u8]>::to_vec)).collect(), made.left)
}

fn field(key: &str, value: usize) -> String {
    format!(r#"{{"key": "{key}", "value": {value}, "missing": null, "null": null}}"#)
}

/// One column, written as one thing.
fn one(array: ArrayRef, write: &str, more: &str) -> Vec<Option<Vec<u8>>> {
    let more = if more.is_empty() { write.to_owned() } else { format!("{write}, {more}") };
    let (payloads, left) = written_with(&field("A", 1), &more, &rows(vec![("A", array)]));
    for row in left {
        assert_eq!(payloads[row], None, "a row that is left has no payload");
    }
    payloads.into_iter().map(|payload| payload.map(|bytes| bytes[1..].to_vec())).collect()
}

const LONG: &str = r#"{"kind": "long"}"#;
const TEXT: &str = r#"{"kind": "string"}"#;

#[test]
fn a_row_that_is_not_written_is_taken_back_and_its_neighbours_stay() {
    let numbers = Int64Array::from(vec![1, 1 << 40, 3]);
    let texts = StringArray::from(vec![Some("a"), Some("b"), None]);
    let batch = rows(vec![("B", Arc::new(numbers)), ("A", Arc::new(texts))]);
    let fields = format!("{}, {}", field("A", 1), field("B", 2));
    let (payloads, left) = written_with(&fields, &format!(r#"{TEXT}, {{"kind": "int"}}"#), &batch);
    assert_eq!(payloads, [Some(b"P\x02a\x02".to_vec()), None, None]);
    assert_eq!(left, [1, 2]);
}

#[test]
fn integers_of_every_width_are_written_and_those_beyond_are_left() {
    let zigzag = |byte| Some(vec![byte]);
    assert_eq!(one(Arc::new(Int8Array::from(vec![-1])), LONG, ""), [zigzag(1)]);
    assert_eq!(one(Arc::new(UInt16Array::from(vec![1])), LONG, ""), [zigzag(2)]);
    assert_eq!(one(Arc::new(UInt64Array::from(vec![1, u64::MAX])), LONG, ""), [zigzag(2), None]);
    assert_eq!(one(Arc::new(BooleanArray::from(vec![true])), LONG, ""), [None]);
    let doubles = one(Arc::new(Int64Array::from(vec![1, (1 << 53) + 1])), r#"{"kind": "double"}"#, "");
    assert_eq!(doubles, [Some(1_f64.to_le_bytes().to_vec()), None]);
}

#[test]
fn a_slice_writes_its_own_rows() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("é"), None, Some("ab"), Some("c")]));
    let batch = rows(vec![("A", texts)]).slice(1, 2);
    let write = r#"{"kind": "beside", "null": 0, "branch": 1, "value": 2}, {"kind": "string"}"#;
    let (payloads, left) = written_with(&field("A", 1), write, &batch);
    assert_eq!(payloads, [Some(b"P\x00".to_vec()), Some(b"P\x02\x04ab".to_vec())]);
    assert_eq!(left, [0_usize; 0]);
}

/// Text with such offsets into such bytes, which nobody has checked.
fn doubtful(offsets: &[i32], bytes: &[u8]) -> ArrayRef {
    let data = ArrayData::builder(DataType::Utf8)
        .len(offsets.len() - 1)
        .add_buffer(Buffer::from_slice_ref(offsets))
        .add_buffer(Buffer::from_slice_ref(bytes));
    // SAFETY: no value is asked of the array; its buffers are as long as it says, and looked at with bounds alone.
    make_array(unsafe { data.build_unchecked() })
}

#[test]
fn text_that_is_none_is_left_and_its_neighbours_are_written() {
    let text = |bytes: &[u8]| Some([&[bytes.len() as u8 * 2], bytes].concat());
    assert_eq!(one(doubtful(&[0, 1, 2, 3], b"a\xffc"), TEXT, ""), [text(b"a"), None, text(b"c")]);
    // The whole is UTF-8, the halves are not.
    assert_eq!(one(doubtful(&[0, 1, 2, 3], "éc".as_bytes()), TEXT, ""), [None, None, text(b"c")]);
}

#[test]
fn offsets_that_point_outside_are_left() {
    assert_eq!(one(doubtful(&[0, 7, 1, 2], b"ab"), TEXT, "")[..2], [None, None]);
    assert_eq!(one(doubtful(&[0, -1, 2], b"ab"), TEXT, ""), [None, None]);
    assert_eq!(one(doubtful(&[0, 1, 9], b"ab"), TEXT, ""), [None, None]);
}

#[test]
fn lists_that_reach_outside_of_their_items_are_left() {
    let items = Int64Array::from(vec![5]).to_data();
    let item = Arc::new(Field::new("item", DataType::Int64, true));
    let list = |offsets: [i32; 3]| {
        let data = ArrayData::builder(DataType::List(Arc::clone(&item)))
            .len(2)
            .add_buffer(Buffer::from_slice_ref(offsets))
            .add_child_data(items.clone());
        // SAFETY: as above.
        make_array(unsafe { data.build_unchecked() })
    };
    let of = |offsets| one(list(offsets), r#"{"kind": "list", "items": 2}"#, LONG);
    assert_eq!(of([0, 1, 1]), [Some(vec![2, 10, 0]), Some(vec![0])]);
    assert_eq!(of([0, 9, 1]), [None, None]);
    assert_eq!(of([0, 1, 9]), [None, None]);
    assert_eq!(of([0, -1, 1]), [None, None]);
}

#[test]
fn a_long_list_of_items_without_bytes_is_left_and_takes_no_time() {
    let item = Arc::new(Field::new("item", DataType::Null, true));
    let list = |len: i32| {
        let nulls = Arc::new(NullArray::new(len as usize));
        Arc::new(ListArray::new(Arc::clone(&item), OffsetBuffer::from_lengths([len as usize]), nulls, None))
    };
    let of = |len| one(list(len), r#"{"kind": "list", "items": 2}"#, r#"{"kind": "null"}"#);
    assert_eq!(of(2), [Some(vec![4, 0])]);
    assert_eq!(of(i32::MAX), [None]);
}

#[test]
fn views_are_written_inline_or_not() {
    let mut builder = StringViewBuilder::new();
    builder.append_value("short");
    builder.append_value("longer than twelve");
    builder.append_null();
    let made = one(Arc::new(builder.finish()), TEXT, "");
    assert_eq!(made, [Some(b"\x0ashort".to_vec()), Some(b"\x24longer than twelve".to_vec()), None]);
}

#[test]
fn lists_of_nullable_items_are_one_block() {
    let mut builder = ListBuilder::new(StringBuilder::new());
    builder.append_value([Some("a"), None]);
    builder.append_value::<[Option<&str>; 0], &str>([]);
    let more = format!(r#"{{"kind": "beside", "null": 1, "branch": 0, "value": 3}}, {TEXT}"#);
    let made = one(Arc::new(builder.finish()), r#"{"kind": "list", "items": 2}"#, &more);
    assert_eq!(made, [Some(b"\x04\x00\x02a\x02\x00".to_vec()), Some(b"\x00".to_vec())]);
}

#[test]
fn a_map_with_one_key_twice_is_left() {
    let mut builder = MapBuilder::new(None, StringBuilder::new(), Int64Array::builder(4));
    for keys in [["a", "b"], ["a", "a"]] {
        for key in keys {
            builder.keys().append_value(key);
            builder.values().append_value(1);
        }
        builder.append(true).unwrap();
    }
    let map: ArrayRef = Arc::new(builder.finish());
    let wanted = [Some(b"\x04\x02a\x02\x02b\x02\x00".to_vec()), None];
    assert_eq!(one(Arc::clone(&map), r#"{"kind": "map", "values": 2}"#, LONG), wanted);
    let entries = format!("{TEXT}, {LONG}");
    assert_eq!(one(Arc::clone(&map), r#"{"kind": "entries", "key": 2, "value": 3}"#, &entries), wanted);
    assert_eq!(one(map, r#"{"kind": "entries", "key": 2, "value": 2}"#, LONG), [None, None], "keys are text");
}

#[test]
fn a_dictionarys_nulls_and_values_are_as_if_it_were_none() {
    let keys = Int8Array::from(vec![Some(0), None, Some(1), Some(0)]);
    let values: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
    let encoded: ArrayRef = Arc::new(DictionaryArray::<Int8Type>::new(keys, values));
    let beside = r#"{"kind": "beside", "null": 0, "branch": 1, "value": 2}"#;
    let (a, null) = (Some(b"\x02\x02a".to_vec()), Some(b"\x00".to_vec()));
    assert_eq!(one(Arc::clone(&encoded), beside, TEXT), [a.clone(), null.clone(), null, a]);
    let a = Some(b"\x02a".to_vec());
    assert_eq!(one(encoded, TEXT, ""), [a.clone(), None, None, a]);
}

#[test]
fn nulls_throughout_take_the_null_branch() {
    let nulls: ArrayRef = Arc::new(NullArray::new(1));
    assert_eq!(
        one(Arc::clone(&nulls), r#"{"kind": "beside", "null": 1, "branch": 0, "value": 2}"#, LONG),
        [Some(vec![2])]
    );
    assert_eq!(one(Arc::clone(&nulls), r#"{"kind": "null"}"#, ""), [Some(vec![])]);
    assert_eq!(one(nulls, LONG, ""), [None]);
}

#[test]
fn names_are_matched_and_one_that_feeds_nothing_leaves_all_rows() {
    let numbers = || -> ArrayRef { Arc::new(Int64Array::from(vec![1])) };
    let written = Some(b"P\x02".to_vec());
    let with = |columns| written_with(&field("A", 1), LONG, &rows(columns)).0;
    assert_eq!(with(vec![("a", numbers())]), std::slice::from_ref(&written));
    assert_eq!(with(vec![("A", numbers())]), [written]);
    assert_eq!(with(vec![("A", numbers()), ("B", numbers())]), [None]);
}

#[test]
fn what_is_missing_or_null_is_its_constant() {
    let constants = r#"{"key": "A", "value": 1, "missing": [7], "null": [8]}"#;
    let fields = format!(r#"{constants}, {}"#, field("B", 1));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    let written = |columns| written_with(&fields, LONG, &rows(columns)).0;
    let both = written(vec![("A", Arc::clone(&numbers)), ("B", Arc::new(Int64Array::from(vec![2, 2])))]);
    assert_eq!(both, [Some(b"P\x02\x04".to_vec()), Some(b"P\x08\x04".to_vec())]);
    assert_eq!(written(vec![("B", numbers)]), [Some(b"P\x07\x02".to_vec()), None]);
}

#[test]
fn null_rows_are_left_and_tombstones_are_null() {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let fields = vec![Field::new("A", DataType::Int64, true)].into();
    let nulls = NullBuffer::from(vec![true, false, false]);
    let batch = StructArray::new(fields, vec![numbers], Some(nulls));
    let text = format!(
        r#"{{"writes": [{{"kind": "record", "fields": [{}]}}, {LONG}], "root": 0, "levels": 9}}"#,
        field("A", 1)
    );
    let writing = Writing::parse(text.as_bytes()).unwrap();
    let ways = Ways { writing: &writing, names: &Lower, prefix: b"", whole_millis: false, null_is_callers: false };
    let made = written(&ways, &batch, Some(&BooleanArray::from(vec![false, true, false]))).unwrap();
    assert_eq!(made.payloads.iter().collect::<Vec<_>>(), [Some(&b"\x02"[..]), None, None]);
    assert_eq!(made.left, [2]);
}

#[test]
fn a_null_that_is_the_callers_is_left() {
    let write = r#"{"kind": "beside", "null": 0, "branch": 1, "value": 2}, {"kind": "long"}"#;
    let text = format!(
        r#"{{"writes": [{{"kind": "record", "fields": [{}]}}, {write}], "root": 0, "levels": 9}}"#,
        field("A", 1)
    );
    let writing = Writing::parse(text.as_bytes()).unwrap();
    let batch = rows(vec![("A", Arc::new(Int64Array::from(vec![Some(1), None])))]);
    let ways = Ways { writing: &writing, names: &Lower, prefix: b"", whole_millis: false, null_is_callers: true };
    assert_eq!(written(&ways, &batch, None).unwrap().left, [1]);
}

#[test]
fn nesting_is_bounded() {
    // A record within itself by way of a list.
    let text = format!(
        r#"{{"writes": [{{"kind": "record", "fields": [{}]}}, {{"kind": "list", "items": 0}}], "root": 0, "levels": 4}}"#,
        r#"{"key": "A", "value": 1, "missing": [0], "null": null}"#
    );
    let writing = Writing::parse(text.as_bytes()).unwrap();
    let ways = Ways { writing: &writing, names: &Lower, prefix: b"", whole_millis: false, null_is_callers: false };
    let nested = |depth: usize| {
        let mut batch = StructArray::new_empty_fields(1, None);
        for _ in 0..depth {
            let item = Arc::new(Field::new("item", batch.data_type().clone(), true));
            let list = ListArray::new(item, OffsetBuffer::from_lengths([1]), Arc::new(batch), None);
            batch = rows(vec![("A", Arc::new(list))]);
        }
        batch
    };
    assert_eq!(written(&ways, &nested(1), None).unwrap().payloads.value(0), [2, 0, 0]);
    assert_eq!(written(&ways, &nested(2), None).unwrap().left, [0]);
}
