//! Arbitrary bytes for arbitrary programs: nothing panics, nothing is read that is not there, and what is done is bounded by the
//! bytes. `PROPTEST_CASES` says how many (`make fuzz`).

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use hashbrown::HashMap;
use proptest::collection::vec;
use proptest::prelude::*;
use pyo3::Python;
use serde_json::{Value as Json, json};

use crate::batch::{Batch, Identity, Known, Plan, Plans};
use crate::columns::Type;
use crate::cursor::{Cursor, Reason};
use crate::faults::fault;
use crate::leaf::leaf;
use crate::program::Program;
use crate::sink::{put_long, put_sized};
use crate::writing::{Writing, decimal_bytes, unscaled_of_text};

const TYPES: usize = 6;
const PAYLOAD: &[u8] = &[0, 0, 0, 0, 1];

/// Bytes that mean something more often than any do: small numbers, lengths, counts, long numbers.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![-3_i64..5, any::<i64>(), Just(i64::MIN), Just(i64::from(i32::MIN)), Just(1 << 31)];
    let part = prop_oneof![
        4 => number.prop_map(|number| { let mut out = Vec::new(); put_long(&mut out, number); out }),
        2 => vec(any::<u8>(), 0..6).prop_map(|text| { let mut out = Vec::new(); put_sized(&mut out, &text); out }),
        2 => prop::sample::select(vec![vec![0], vec![1], vec![2], vec![4], vec![2, b'a'], vec![0x80, 0], vec![0x81, 0]]),
        1 => vec(any::<u8>(), 0..9),
        1 => Just(vec![0xff; 11]),
    ];
    vec(part, 0..12).prop_map(|parts| parts.concat())
}

/// A type's description, of which the parts have higher numbers; a union's branch may be any: its index takes a byte.
fn wire(number: usize) -> BoxedStrategy<Json> {
    let leaf = prop_oneof![
        prop::sample::select(vec!["null", "boolean", "int", "long", "float", "double", "bytes", "string"])
            .prop_map(|kind| json!({"kind": kind})),
        (0..5_usize).prop_map(|size| json!({"kind": "fixed", "size": size})),
        (0..4_usize).prop_map(|symbols| json!({"kind": "enum", "symbols": symbols})),
    ];
    if number + 1 == TYPES {
        return leaf.boxed();
    }
    let part = number + 1..TYPES;
    prop_oneof![
        2 => leaf,
        1 => vec(part.clone(), 0..3).prop_map(|parts| {
            let fields: Vec<_> = parts.iter().enumerate().map(|(at, part)| json!([format!("f{at}"), part])).collect();
            json!({"kind": "record", "fields": fields})
        }),
        1 => part.clone().prop_map(|items| json!({"kind": "array", "items": items})),
        1 => part.prop_map(|values| json!({"kind": "map", "values": values})),
        1 => vec(0..TYPES, 0..3).prop_map(|branches| json!({"kind": "union", "branches": branches})),
    ]
    .boxed()
}

fn wires() -> impl Strategy<Value = Vec<Json>> {
    (0..TYPES).map(wire).collect::<Vec<_>>().prop_map(|mut wires| {
        let mut least = [0_u64; TYPES];
        for number in (0..TYPES).rev() {
            let part = |name: &str| wires[number][name].as_u64().map(|part| least[part as usize]);
            let width = part("items").or_else(|| part("values").map(|width| width + 1));
            if let Some(width) = width {
                wires[number]["width"] = json!(width);
            }
            least[number] = least_bytes(&wires[number], &least);
        }
        wires
    })
}

/// How many bytes a value has at least: work is bounded by that, so a description must not lie.
fn least_bytes(wire: &Json, least: &[u64]) -> u64 {
    match wire["kind"].as_str().unwrap_or_default() {
        "null" => 0,
        "float" => 4,
        "double" => 8,
        "fixed" => wire["size"].as_u64().unwrap_or_default(),
        "record" => {
            let fields = wire["fields"].as_array().into_iter().flatten();
            fields.filter_map(|field| field[1].as_u64()).map(|part| least[part as usize]).sum()
        }
        _ => 1,
    }
}

/// What is read by a type: most often what it has.
fn read(wire: &Json, number: usize) -> BoxedStrategy<Json> {
    let part = |name: &str| wire[name].clone();
    let kind = wire["kind"].as_str().unwrap_or_default().to_owned();
    match kind.as_str() {
        "int" | "long" => {
            let becomes = prop::sample::select(vec![
                json!("same"),
                json!("text"),
                json!("float"),
                json!("double"),
                json!("date"),
                json!({"time": 1_000}),
                json!({"time": 1_000_000}),
                json!({"timestamp": 1_000}),
                json!({"timestamp": 1_000_000_000}),
                json!({"local_timestamp": 1_000_000}),
            ]);
            let bits = prop::sample::select(vec![0, 8, 16]);
            (becomes, bits, any::<bool>())
                .prop_map(move |(becomes, bits, within_a_day)| {
                    json!({"kind": "number", "is_long": kind == "long", "bits": bits, "within_a_day": within_a_day,
                           "becomes": becomes})
                })
                .boxed()
        }
        "boolean" => any::<bool>().prop_map(|as_text| json!({"kind": "boolean", "as_text": as_text})).boxed(),
        "bytes" | "fixed" => {
            let size = if kind == "fixed" { wire["size"].as_u64().unwrap_or_default() } else { 0 };
            let plain = if kind == "fixed" { json!({"kind": "fixed", "size": size}) } else { json!({"kind": "bytes"}) };
            let decimal = (-76..=76_i32, 0..=76_u32, -76..=76_i32).prop_map(move |(scale, precision, to_scale)| {
                json!({"kind": "decimal", "size": size, "scale": scale, "precision": precision, "to_scale": to_scale})
            });
            prop_oneof![Just(plain), decimal].boxed()
        }
        "enum" => {
            let count = wire["symbols"].as_u64().unwrap_or_default();
            let symbols: Vec<_> = (0..count).map(|symbol| format!("S{symbol}")).collect();
            Just(json!({"kind": "enum", "symbols": symbols})).boxed()
        }
        "array" => Just(json!({"kind": "list", "items": part("items"), "width": part("width")})).boxed(),
        "map" => Just(json!({"kind": "map", "values": part("values"), "width": part("width")})).boxed(),
        "union" => Just(json!({"kind": "union", "branches": part("branches")})).boxed(),
        "record" => {
            let fields = wire["fields"].as_array().cloned().unwrap_or_default();
            vec(any::<bool>(), fields.len())
                .prop_map(move |fed| {
                    let mut columns = Vec::new();
                    let mut described = Vec::new();
                    for (field, is_fed) in fields.iter().zip(fed) {
                        let mut feeds = Vec::new();
                        if is_fed {
                            feeds.push(json!({"read": field[1], "column": columns.len()}));
                            columns.push(field[0].clone());
                        }
                        described.push(json!({"wire": field[1], "feeds": feeds}));
                    }
                    json!({"kind": "record", "columns": columns, "fields": described, "absent": []})
                })
                .boxed()
        }
        _ => Just(json!({"kind": kind})).boxed(),
    }
    .prop_flat_map(move |read| {
        prop_oneof![20 => Just(read), 1 => Just(json!({"kind": "refused"})), 1 => Just(json!({"kind": "uuid"}))]
    })
    .prop_map(move |read| if number == 0 { as_root(read) } else { read })
    .boxed()
}

/// A row is a record.
fn as_root(read: Json) -> Json {
    if read["kind"] == "record" {
        return read;
    }
    json!({"kind": "record", "columns": ["f0"], "fields": [{"wire": 1, "feeds": [{"read": 1, "column": 0}]}], "absent": []})
}

/// A description, with the columns of its rows.
fn description() -> impl Strategy<Value = (Json, Vec<Json>)> {
    wires().prop_flat_map(|wires| {
        let reads: Vec<_> = wires.iter().enumerate().map(|(number, wire)| read(wire, number)).collect();
        (reads, 0..40_u32, any::<u64>()).prop_map(move |(reads, levels, choice)| {
            let columns = columns_of(&reads, &reads[0], choice, 0);
            let text = json!({"wires": wires, "reads": reads, "root": 0, "wire_root": 0, "levels": levels, "most_bytes": null});
            (text, columns)
        })
    })
}

fn columns_of(reads: &[Json], record: &Json, choice: u64, depth: usize) -> Vec<Json> {
    let fed = record["fields"].as_array().into_iter().flatten().flat_map(|field| field["feeds"].as_array()).flatten();
    let number = |feed: &Json| feed["read"].as_u64().unwrap_or_default() as usize;
    fed.enumerate()
        .map(|(at, feed)| {
            json!([format!("f{at}"), type_of(reads, number(feed), choice.rotate_left(at as u32 + 7), depth)])
        })
        .collect()
}

/// A column's type that takes what is read; now and then another.
fn type_of(reads: &[Json], number: usize, choice: u64, depth: usize) -> Json {
    let read = &reads[number];
    let part = |name: &str| read[name].as_u64().unwrap_or_default() as usize;
    if depth > 8 || choice.is_multiple_of(13) {
        return json!(["string", "int64", "binary", "boolean"][(choice % 4) as usize]);
    }
    match read["kind"].as_str().unwrap_or_default() {
        "boolean" if read["as_text"] == false => json!("boolean"),
        "number" => match &read["becomes"] {
            Json::String(becomes) if becomes == "date" => json!("date"),
            Json::String(becomes) if becomes == "text" => json!("string"),
            Json::String(becomes) if becomes == "float" || becomes == "double" => json!("float64"),
            Json::String(_) => json!(["int32", "int64"][(choice % 2) as usize]),
            becomes if becomes.get("time").is_some() => json!("time"),
            becomes if becomes.get("timestamp").is_some() => json!("timestamp"),
            _ => json!("local_timestamp"),
        },
        "float" | "double" => json!("float64"),
        "bytes" | "fixed" => json!("binary"),
        "decimal" => {
            let precision = read["precision"].as_u64().unwrap_or_default().max(1);
            json!({"decimal": [precision, read["to_scale"].as_i64().unwrap_or_default().clamp(0, precision as i64)]})
        }
        "list" => json!({"list": type_of(reads, part("items"), choice >> 1, depth + 1)}),
        "map" => json!({"map": ["string", type_of(reads, part("values"), choice >> 1, depth + 1)]}),
        "union" => {
            let branches: Vec<_> = read["branches"].as_array().into_iter().flatten().filter_map(Json::as_u64).collect();
            let taken = branches.iter().find(|branch| reads[**branch as usize]["kind"] != "null");
            taken.map_or(json!("string"), |branch| type_of(reads, *branch as usize, choice >> 1, depth + 1))
        }
        "record" => json!({"struct": columns_of(reads, read, choice >> 1, depth + 1)}),
        _ => json!("string"),
    }
}

fn parsed(text: &Json) -> Program {
    Program::parse(text.to_string().as_bytes()).unwrap()
}

fn batch_of(columns: &[Json], program: &Arc<Program>, bodies: &[Option<Vec<u8>>]) -> (RecordBatch, Vec<usize>) {
    let types: Vec<(String, Type)> = serde_json::from_value(Json::Array(columns.to_vec())).unwrap();
    let named = HashMap::from([(Identity::Id(1), Plan::Program(Arc::clone(program)))]);
    let plans = Plans { named, bare: None };
    let mut batch = Batch::new(types, bodies.len(), false);
    for body in bodies {
        let payload = body.as_ref().map(|body| [PAYLOAD, body].concat());
        batch.push(payload.as_deref(), &mut Known::new(&plans)).unwrap();
    }
    let (rows, odd) = batch.finish().unwrap();
    (rows, odd.into_iter().map(|(position, _)| position).collect())
}

/// With a Python, which the first test that needs one starts.
pub fn attached<R>(test: impl FnOnce(Python<'_>) -> R) -> R {
    Python::initialize();
    Python::attach(test)
}

/// Asked by LeakSanitizer (`make sanitize`): what Python allocates, it does not free when the process ends.
#[unsafe(no_mangle)]
extern "C" fn __lsan_default_suppressions() -> *const std::ffi::c_char {
    c"leak:libpython".as_ptr()
}

proptest! {
    #[test]
    fn a_cursor_reads_what_is_there_and_no_more(bytes in bytes(), at in 0..40_usize, asked in vec(0..9_u8, 0..20), size: usize) {
        let mut cursor = Cursor::new(&bytes, at, 3);
        for what in asked {
            let before = (cursor.at(), cursor.left());
            let found = match what {
                0 => cursor.long().map(drop),
                1 => cursor.int().map(drop),
                2 => cursor.boolean().map(drop),
                3 => cursor.sized().map(|found| assert!(found.len() <= before.1)),
                4 => cursor.text().map(|found| assert!(found.len() <= before.1)),
                5 => cursor.index(size).map(|found| assert!(found < size)),
                6 => cursor.block(size % 4).map(|count| assert!(count <= before.1)),
                7 => cursor.take(size).map(|found| assert_eq!(found.len(), size)),
                _ => cursor.enter(),
            };
            prop_assert!(cursor.at() <= bytes.len());
            prop_assert_eq!(cursor.at() + cursor.left(), before.0 + before.1);
            if let Err(bad) = found {
                prop_assert!(bad.at <= bytes.len());
            }
        }
    }

    #[test]
    fn what_is_read_past_does_not_depend_on_what_follows(wires in wires(), bytes in bytes(), levels in 0..40_u32) {
        let text = json!({"wires": wires, "reads": [{"kind": "null"}], "root": 0, "wire_root": 0, "levels": levels,
                          "most_bytes": null});
        let program = parsed(&text);
        let mut cursor = program.cursor(&bytes, 0).unwrap();
        if program.skip(0, &mut cursor).is_ok() {
            let whole = &bytes[..cursor.at()];
            let mut again = program.cursor(whole, 0).unwrap();
            prop_assert_eq!(program.skip(0, &mut again), Ok(()));
            prop_assert_eq!(again.finish(), Ok(()));
            for end in 0..whole.len() {
                let short = program.skip(0, &mut program.cursor(&whole[..end], 0).unwrap());
                // A block's count is refused as soon as its items cannot be there.
                prop_assert_eq!(short.map_err(|bad| bad.reason), Err(Reason::Truncated));
            }
            prop_assert_eq!(fault(&program, whole, 0), None);
        }
    }

    #[test]
    fn a_fault_is_told_of_no_body_that_is_whole((text, _) in description(), bytes in bytes()) {
        let program = parsed(&text);
        if let Some(fault) = fault(&program, &bytes, 0) {
            let mut cursor = program.cursor(&bytes, 0).unwrap();
            let passed = program.skip(0, &mut cursor).and_then(|()| cursor.finish());
            prop_assert!(passed.is_err(), "{}", fault.words);
        }
    }

    #[test]
    fn a_bad_row_disturbs_no_other((text, columns) in description(), bodies in vec(prop::option::weighted(0.9, bytes()), 0..7)) {
        let program = Arc::new(parsed(&text));
        let (batch, odd) = batch_of(&columns, &program, &bodies);
        prop_assert_eq!(batch.num_rows(), bodies.len());
        for column in batch.columns() {
            column.to_data().validate_full().unwrap();
            prop_assert!(odd.iter().all(|row| column.is_null(*row)));
        }
        let alone: Vec<_> = bodies.iter().enumerate().map(|(row, body)| body.clone().filter(|_| !odd.contains(&row))).collect();
        prop_assert_eq!(batch, batch_of(&columns, &program, &alone).0);
    }

    #[test]
    fn a_decimal_is_the_same_in_more_bytes(
        bytes in vec(any::<u8>(), 1..17), more in 0..17_usize, scale in 0..77_i32, precision in 0..77_u32, to_scale in 0..77_i32
    ) {
        let sign = if bytes[0] & 0x80 == 0 { 0x00 } else { 0xff };
        let read = serde_json::from_value(
            json!({"kind": "decimal", "size": 0, "scale": scale, "precision": precision, "to_scale": to_scale})
        ).unwrap();
        let of = |bytes: &[u8]| {
            let mut out = Vec::new();
            put_sized(&mut out, bytes);
            format!("{:?}", leaf(&read, &mut Cursor::new(&out, 0, 1)).map_err(|bad| bad.reason))
        };
        prop_assert_eq!(of(&bytes), of(&[vec![sign; more], bytes.clone()].concat()));
    }

    #[test]
    fn a_decimals_text_is_written_or_not(text in "-?[0-9]{0,45}(\\.[0-9]{0,45})?(E[+-]?[0-9]{1,12})?|.{0,9}", scale: i32, precision: u32, size in 0..40_usize) {
        for scale in [scale, scale % 80] {
            if let Some(unscaled) = unscaled_of_text(&text, scale) {
                let mut out = Vec::new();
                if decimal_bytes(unscaled, precision, size, &mut out).is_some() && size > 0 {
                    prop_assert_eq!(out.len(), size);
                }
            }
        }
    }

    #[test]
    fn no_text_is_a_program_that_refers_to_nothing(
        (text, _) in description(), cut in 0..400_usize, place in 0..400_usize, byte: u8
    ) {
        let mut text = text.to_string().into_bytes();
        let place = place % text.len();
        text[place] = byte;
        for text in [&text[..], &text[..cut.min(text.len())]] {
            let _ = Writing::parse(text);
            if let Ok(program) = Program::parse(text) {
                program.read(program.root);
                program.wire(program.wire_root);
            }
        }
    }
}
