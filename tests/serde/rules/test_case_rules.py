"""Which field feeds which column, in every format, over a registry: one record, as each format and engine reads it.

| fields, in the writer's order | column | Avro, Protobuf, JSON_SR (0.13 on) | Avro, Protobuf up to 0.12 | JSON |
|---|---|---|---|---|
| FOO, foo | FOO | foo: the last, over the exact one | foo: the last | FOO: the exact one |
| foo, FOO | FOO | FOO | FOO | FOO |
| foo, Foo | FOO | Foo: the last | Foo: the last | Foo: the last |
| foo | FOO, also quoted | foo | foo | foo |
| CASEFIELD, casefield | `caseField` | nothing | the last | nothing |
| foo | `foo` and FOO | foo: `foo` | both | both |

Null is a value like any other. Sources: `ConnectDataTranslator.toKsqlStruct` since ksql#6201 (JSON_SR since
ksql#9130) and before it, `KsqlJsonDeserializer.enforceFieldTypesForStruct` (JSON_SR before).
"""

from __future__ import annotations

import json
from typing import Final, TypeAlias

import pytest

from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns
from srfix.serde.deserializer import JsonDeserializer, SchemaDeserializer
from srfix.serde.interface import SerdeContext
from srfix.serde.resolve.policies import ById
from srfix.serde.serializer import AvroSerializer, JsonSchemaSerializer, ProtobufSerializer
from tests.serde import avro_schemas as avro
from tests.serde.fakes import MemoryRegistry

Fields: TypeAlias = "tuple[tuple[str, int | None], ...]"
Row: TypeAlias = "dict[str, int | None]"

VALUE: Final = SerdeContext("t")
HEAD, INCIDENT, JSON = "ConnectDataTranslator", "ConnectDataTranslator of 0.12", "KsqlJsonDeserializer"

CASES: Final[tuple[tuple[str, Fields, str, Row, Row, Row], ...]] = (
    ("last over exact", (("FOO", 1), ("foo", 2)), "FOO INT", {"FOO": 2}, {"FOO": 2}, {"FOO": 1}),
    ("last is exact", (("foo", 1), ("FOO", 2)), "FOO INT", {"FOO": 2}, {"FOO": 2}, {"FOO": 2}),
    ("last of none exact", (("foo", 1), ("Foo", 2)), "FOO INT", {"FOO": 2}, {"FOO": 2}, {"FOO": 2}),
    ("last of three", (("fOO", 1), ("FOO", 2), ("Foo", 3)), "FOO INT", {"FOO": 3}, {"FOO": 3}, {"FOO": 2}),
    ("last is null", (("FOO", 1), ("foo", None)), "FOO INT", {"FOO": None}, {"FOO": None}, {"FOO": 1}),
    ("exact is null", (("foo", 1), ("FOO", None)), "FOO INT", {"FOO": None}, {"FOO": None}, {"FOO": None}),
    ("exact null first", (("FOO", None), ("foo", 1)), "FOO INT", {"FOO": 1}, {"FOO": 1}, {"FOO": None}),
    ("folded null", (("foo", 1), ("Foo", None)), "FOO INT", {"FOO": None}, {"FOO": None}, {"FOO": None}),
    ("unquoted", (("foo", 1),), "foo INT", {"FOO": 1}, {"FOO": 1}, {"FOO": 1}),
    ("quoted in capitals", (("foo", 1),), "`FOO` INT", {"FOO": 1}, {"FOO": 1}, {"FOO": 1}),
    ("quoted exact", (("caseField", 1),), '"caseField" INT', {"caseField": 1}, {"caseField": 1}, {"caseField": 1}),
    ("quoted, upper field", (("FOO", 1),), "`foo` INT", {"foo": None}, {"foo": 1}, {"foo": None}),
    ("quoted, lower field", (("foo", 1),), "`Foo` INT", {"Foo": None}, {"Foo": 1}, {"Foo": None}),
    (
        "two columns, one field",
        (("foo", 1),),
        "`foo` INT, FOO INT",
        {"foo": 1, "FOO": None},
        {"foo": 1, "FOO": 1},
        {"foo": 1, "FOO": 1},
    ),
    (
        "two columns, two fields",
        (("FOO", 1), ("foo", 2)),
        "`foo` INT, FOO INT",
        {"foo": 2, "FOO": 1},
        {"foo": 2, "FOO": 2},
        {"foo": 2, "FOO": 1},
    ),
    (
        "two columns, three fields",
        (("foo", 1), ("FOO", 2), ("Foo", 3)),
        "FOO INT, `foo` INT",
        {"FOO": 3, "foo": 1},
        {"FOO": 3, "foo": 3},
        {"FOO": 2, "foo": 1},
    ),
    ("nothing", (("bar", 1),), "FOO INT, BAR INT", *({"FOO": None, "BAR": 1},) * 3),
)  # fmt: skip
NESTED: Final = {
    "root": "{}",
    "STRUCT": "S STRUCT<{}>",
    "ARRAY": "S ARRAY<STRUCT<{}>>",
    "MAP": "S MAP<STRING, STRUCT<{}>>",
    "deep": "S ARRAY<MAP<STRING, STRUCT<S STRUCT<{}>>>>",
}


def _put(level: str, row: object, name: str = "s") -> object:
    """The record, or row, at a level. Keys of maps are data: they are not folded."""
    match level:
        case "root":
            return row
        case "STRUCT":
            return {name: row}
        case "ARRAY":
            return {name: [row, None]}
        case "MAP":
            return {name: {"k": row, "K": None}}
        case _:
            return {name: [{"k": {name: row}, "K": None}]}


def _avro(level: str, fields: Fields) -> str:
    inner = avro.record("R", **{name: ["null", "int"] for name, _ in fields})
    match level:
        case "root":
            schema = inner
        case "STRUCT":
            schema = avro.record("Root", s=inner)
        case "ARRAY":
            schema = avro.record("Root", s=avro.array(["null", inner]))
        case "MAP":
            schema = avro.record("Root", s=avro.map_of(["null", inner]))
        case _:
            schema = avro.record("Root", s=avro.array(avro.map_of(["null", avro.record("Between", s=inner)])))
    return json.dumps(schema)


def _json_schema(level: str, fields: Fields) -> str:
    def null_or(type_: object) -> dict[str, object]:
        return {"oneOf": [{"type": "null"}, type_]}

    def struct(*parts: tuple[str, object]) -> dict[str, object]:
        properties = {name: {**null_or(type_), "connect.index": i} for i, (name, type_) in enumerate(parts)}
        return {"type": "object", "properties": properties}

    def map_of(type_: object) -> object:
        return {"type": "object", "connect.type": "map", "additionalProperties": null_or(type_)}

    inner = struct(*((name, {"type": "integer", "connect.type": "int32"}) for name, _ in fields))
    match level:
        case "root":
            schema = inner
        case "STRUCT":
            schema = struct(("s", inner))
        case "ARRAY":
            schema = struct(("s", {"type": "array", "items": null_or(inner)}))
        case "MAP":
            schema = struct(("s", map_of(inner)))
        case _:
            schema = struct(("s", {"type": "array", "items": map_of(struct(("s", inner)))}))
    return json.dumps(schema)


cases = pytest.mark.parametrize(("fields", "declared", "head", "incident", "of_json"), [
    pytest.param(*rest, id=name) for name, *rest in CASES
])  # fmt: skip
levels = pytest.mark.parametrize("level", NESTED)


def _read(registry: MemoryRegistry, payload: bytes | None, declared: str, level: str, rule: CaseRule) -> object:
    columns = parse_columns(NESTED[level].format(declared))
    return SchemaDeserializer(ById(registry), columns=columns, case_rule=rule)(payload, VALUE)


@levels
@cases
class TestFolding:
    def test_avro(self, level: str, fields: Fields, declared: str, head: Row, incident: Row, of_json: Row) -> None:
        registry = MemoryRegistry()
        payload = AvroSerializer.for_schema(registry, _avro(level, fields))(_put(level, dict(fields)), VALUE)
        assert _read(registry, payload, declared, level, CaseRule.KSQLDB) == _put(level, head, "S"), HEAD
        assert _read(registry, payload, declared, level, CaseRule.KSQLDB_2020) == _put(level, incident, "S"), INCIDENT

    def test_json(self, level: str, fields: Fields, declared: str, head: Row, incident: Row, of_json: Row) -> None:
        columns = parse_columns(NESTED[level].format(declared))
        payload = json.dumps(_put(level, dict(fields))).encode()
        for rule in (CaseRule.KSQLDB, CaseRule.KSQLDB_2020):
            read = JsonDeserializer(columns, case_rule=rule)
            assert read(payload, VALUE) == _put(level, of_json, "S"), JSON

    def test_json_sr(self, level: str, fields: Fields, declared: str, head: Row, incident: Row, of_json: Row) -> None:
        registry = MemoryRegistry()
        write = JsonSchemaSerializer.for_schema(registry, _json_schema(level, fields))
        payload = write(_put(level, dict(fields)), VALUE)
        assert _read(registry, payload, declared, level, CaseRule.KSQLDB) == _put(level, head, "S"), HEAD
        assert _read(registry, payload, declared, level, CaseRule.KSQLDB_2020) == _put(level, of_json, "S"), JSON


@pytest.mark.parametrize("level", ["root", "STRUCT"])
@cases
def test_protobuf_folds_as_avro(
    level: str, fields: Fields, declared: str, head: Row, incident: Row, of_json: Row
) -> None:
    """Lists and maps of it hold no nulls."""
    inner = " ".join(f"optional int32 {name} = {number};" for number, (name, _) in enumerate(fields, start=1))
    text = f"message R {{ {inner} }}"
    text = 'syntax = "proto3"; ' + (text if level == "root" else f"message Root {{ R s = 1; }} {text}")
    registry = MemoryRegistry()
    payload = ProtobufSerializer.for_schema(registry, text)(_put(level, dict(fields)), VALUE)
    assert _read(registry, payload, declared, level, CaseRule.KSQLDB) == _put(level, head, "S"), HEAD
    assert _read(registry, payload, declared, level, CaseRule.KSQLDB_2020) == _put(level, incident, "S"), INCIDENT


@pytest.mark.core
class TestDots:
    """`ConnectSchemas.withCompatibleSchema`: Avro's column `a.b` reads the field a_b, by position; JSON knows no such thing."""

    def test_avro_reads_the_name_that_avro_allows(self) -> None:
        registry = MemoryRegistry()
        schema = '{"type":"record","name":"R","fields":[{"name":"a_b","type":"int"},{"name":"A_B","type":"int"}]}'
        payload = AvroSerializer.for_schema(registry, schema)({"a_b": 1, "A_B": 2}, VALUE)
        assert _read(registry, payload, "`a.b` INT, `A.B` INT", "root", CaseRule.KSQLDB) == {"a.b": 1, "A.B": 2}
        assert _read(registry, payload, "`A.b` INT", "root", CaseRule.KSQLDB) == {"A.b": None}
        assert _read(registry, payload, "`A.b` INT", "root", CaseRule.KSQLDB_2020) == {"A.b": 2}

    def test_json_reads_the_dot(self) -> None:
        read = JsonDeserializer(parse_columns("`a.b` INT"), case_rule=CaseRule.KSQLDB)
        assert read(b'{"a_b":1,"a.b":2}', VALUE) == {"a.b": 2}


@pytest.mark.core
class TestJsonObjects:
    """`KsqlJsonDeserializer.upperCaseKeys`, over Jackson's ObjectNode."""

    @pytest.mark.parametrize(
        ("body", "declared", "row"),
        [
            ('{"foo":1,"foo":2}', "FOO INT", {"FOO": 2}),
            # A key that comes again keeps its place and gets the new value: so Foo is the last.
            ('{"foo":1,"Foo":2,"foo":3}', "FOO INT", {"FOO": 2}),
            ('{"straße":1}', "STRASSE INT", {"STRASSE": 1}),
            ('{"s":{"a":1},"S":null}', "S STRUCT<A INT>", {"S": None}),
            ('{"a":{"b":1},"B":2}', "A STRUCT<B INT>, B INT", {"A": {"B": 1}, "B": 2}),
        ],
    )
    def test_the_last_in_document_order(self, body: str, declared: str, row: object) -> None:
        assert JsonDeserializer(parse_columns(declared), case_rule=CaseRule.KSQLDB)(body.encode(), VALUE) == row
