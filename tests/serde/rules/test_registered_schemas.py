"""What CREATE and the runtime serializer register for columns: all types, halves, wrappings, generations, both formats.

| rule | source |
|---|---|
| a field is null or its type, with the default null; an array's item null or its type | `ConnectSchemas`, `AvroData` |
| an un-wrapped Avro root is not nullable, and its logical type has no version; a JSON one stays nullable | `AvroSchemas` |
| types and Connect's properties as CREATE writes them | `AvroData`, `JsonSchemaData` |
| the serializer up to 0.28 writes none of Connect's properties but connect.internal.type | ksql#9238 |
| a nested record is named by its path; the path has the declared name, the field the one that Avro allows | `AvroSchemas` |
| a single KEY column stands bare where the format has bare values; several stand in a record | `SerdeFeaturesFactory` |
"""

from __future__ import annotations

import json
from typing import Final, TypeAlias, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde.columns.text import parse_columns
from srfix.serde.columns.types import Columns
from srfix.serde.connect.generations import Generation, WrittenBy
from srfix.serde.formats import avro, json_schema
from srfix.serde.formats.avro.format import infer_columns as infer_avro
from srfix.serde.formats.interface import SchemaFormatModule
from srfix.serde.formats.json_schema.format import infer_columns as infer_json_schema
from srfix.serde.interface import SerdeContext
from srfix.serde.serializer import AvroSerializer, JsonSchemaSerializer
from srfix.serde.specs import WriteSpec
from srfix.serde.subjects.names import Role
from tests.serde.fakes import MemoryRegistry
from tests.strategies import avro_columns

Json: TypeAlias = "str | int | list[Json] | dict[str, Json] | None"

CONNECT: Final = "org.apache.kafka.connect.data"
FULL: Final = "io.confluent.ksql.avro_schemas.KsqlDataSourceSchema"


def _avro_logical(kind: str, word: str, logical: str) -> dict[str, Json]:
    return {"type": kind, "connect.version": 1, "connect.name": f"{CONNECT}.{word}", "logicalType": logical}


def _json_logical(word: str, connect_type: str) -> dict[str, Json]:
    return {"type": "integer", **_connect_title(word), "connect.type": connect_type}


def _connect_title(word: str) -> dict[str, Json]:
    return {"title": f"{CONNECT}.{word}", "connect.version": 1}


def _fields(name: str, *fields: Json) -> dict[str, Json]:
    return {"type": "record", "name": name, "fields": list(fields)}


def _field(name: str, type_: Json) -> Json:
    return {"name": name, "type": ["null", type_], "default": None}


def _null_or(type_: Json, index: int | None = None) -> dict[str, Json]:
    indexed: dict[str, Json] = {} if index is None else {"connect.index": index}
    return {**indexed, "oneOf": [{"type": "null"}, type_]}


PARAMETERS: Final[Json] = {"scale": "2", "connect.decimal.precision": "4"}
INT32: Final[dict[str, Json]] = {"type": "integer", "connect.type": "int32"}
"""The type map, for a column named A: as CREATE registers it in Avro, and in JSON_SR."""
TYPES: Final[dict[str, tuple[Json, Json]]] = {
    "BOOLEAN": ("boolean", {"type": "boolean"}),
    "INTEGER": ("int", INT32),
    "BIGINT": ("long", {"type": "integer", "connect.type": "int64"}),
    "DOUBLE": ("double", {"type": "number", "connect.type": "float64"}),
    "STRING": ("string", {"type": "string"}),
    "BYTES": ("bytes", {"type": "string", "connect.type": "bytes"}),
    "DECIMAL(4, 2)": (
        {**_avro_logical("bytes", "Decimal", "decimal"), "scale": 2, "precision": 4, "connect.parameters": PARAMETERS},
        {"type": "number", **_connect_title("Decimal"), "connect.type": "bytes", "connect.parameters": PARAMETERS},
    ),
    "DATE": (_avro_logical("int", "Date", "date"), _json_logical("Date", "int32")),
    "TIME": (_avro_logical("int", "Time", "time-millis"), _json_logical("Time", "int32")),
    "TIMESTAMP": (_avro_logical("long", "Timestamp", "timestamp-millis"), _json_logical("Timestamp", "int64")),
    "ARRAY<INTEGER>": ({"type": "array", "items": ["null", "int"]}, {"type": "array", "items": _null_or(INT32)}),
    "MAP<STRING, INTEGER>": (
        {
            "type": "array",
            "items": {
                **_fields("KsqlDataSourceSchema_A", _field("key", "string"), _field("value", "int")),
                "connect.internal.type": "MapEntry",
            },
            "connect.name": f"{FULL}_A",
        },
        {
            "type": "array",
            "connect.type": "map",
            "items": {
                "type": "object",
                "properties": {"value": _null_or(INT32, 1), "key": _null_or({"type": "string"}, 0)},
            },
        },
    ),
    "STRUCT<B INTEGER>": (
        {**_fields("KsqlDataSourceSchema_A", _field("B", "int")), "connect.name": f"{FULL}_A"},
        {"type": "object", "properties": {"B": _null_or(INT32, 0)}},
    ),
}
WHO: Final = tuple((generation, written_by) for generation in Generation for written_by in WrittenBy)

who = pytest.mark.parametrize(
    ("generation", "written_by"), WHO, ids=lambda part: part.value if isinstance(part, Generation | WrittenBy) else None
)
types = pytest.mark.parametrize("column", TYPES)


def _without_connect(schema: Json) -> Json:
    """What is left where connect.meta.data is false (ksql#9238)."""
    if isinstance(schema, dict):
        return {
            name: part if name == "default" else _without_connect(part)
            for name, part in schema.items()
            if not name.startswith("connect.") or name == "connect.internal.type"
        }
    return [_without_connect(part) for part in schema] if isinstance(schema, list) else schema


def _bare(schema: Json) -> Json:
    """As the root: named by the full name, and a logical type without its version."""
    text = json.dumps(schema).replace("KsqlDataSourceSchema_A", "KsqlDataSourceSchema")
    root = cast("Json", json.loads(text))
    if isinstance(root, dict):
        root.pop("connect.version", None)
        for record in (root, root.get("items")):
            if isinstance(record, dict) and record["type"] == "record":
                record["namespace"] = "io.confluent.ksql.avro_schemas"
    return root


@types
@who
class TestEveryType:
    def test_avro(self, column: str, generation: Generation, written_by: WrittenBy) -> None:
        text = avro.internal_schema(
            WriteSpec(columns=parse_columns(f"A {column}"), generation=generation, written_by=written_by)
        )
        created: Json = {
            **_fields("KsqlDataSourceSchema", _field("A", TYPES[column][0])),
            "namespace": "io.confluent.ksql.avro_schemas",
            "connect.name": FULL,
        }
        is_bare = (generation, written_by) == (Generation.UP_TO_0_28, WrittenBy.SERIALIZER)
        assert json.loads(text) == (_without_connect(created) if is_bare else created)
        assert " " not in text

    @pytest.mark.parametrize("role", Role)
    def test_avro_unwrapped(self, column: str, generation: Generation, written_by: WrittenBy, role: Role) -> None:
        if role is Role.KEY and column.startswith("MAP"):
            return
        text = avro.internal_schema(
            WriteSpec(columns=parse_columns(f"A {column}"), wrap=False, generation=generation, written_by=written_by),
            role=role,
        )
        is_bare = (generation, written_by) == (Generation.UP_TO_0_28, WrittenBy.SERIALIZER)
        created = _bare(TYPES[column][0])
        assert json.loads(text) == (_without_connect(created) if is_bare else created)

    @pytest.mark.parametrize("role", Role)
    def test_json_sr(self, column: str, generation: Generation, written_by: WrittenBy, role: Role) -> None:
        if role is Role.KEY and column.startswith("MAP"):
            return

        for wrapped, expected in (
            (True, {"type": "object", "properties": {"A": _null_or(TYPES[column][1], 0)}}),
            (False, _null_or(TYPES[column][1])),
        ):
            spec = WriteSpec(
                columns=parse_columns(f"A {column}"), wrap=wrapped, generation=generation, written_by=written_by
            )
            # To the letter: the keys stand as Everit's `ToStringVisitor` and HashMaps have them.
            assert json_schema.internal_schema(spec, role=role) == json.dumps(expected, separators=(",", ":"))


class TestTheDefault:
    """SerdeFeaturesFactory.buildKeyFeatures, DefaultSchemaInjector: a single KEY column is bare, written and inferred."""

    def test_a_key_of_one_column_is_bare(self) -> None:
        assert avro.internal_schema(WriteSpec(columns=parse_columns("A INT")), role=Role.KEY) == '"int"'
        assert json.loads(
            json_schema.internal_schema(WriteSpec(columns=parse_columns("A INT")), role=Role.KEY)
        ) == _null_or(INT32)

    @pytest.mark.parametrize("module", [avro, json_schema])
    def test_everything_else_is_wrapped(self, module: SchemaFormatModule) -> None:
        for declared, role in (("A INT, B INT", Role.KEY), ("A INT", Role.VALUE), ("A INT, B INT", Role.VALUE)):
            columns = parse_columns(declared)
            wrapped = module.internal_schema(WriteSpec(columns=columns, wrap=True), role=role)
            assert module.internal_schema(WriteSpec(columns=columns), role=role) == wrapped

    @pytest.mark.parametrize("module", [avro, json_schema])
    def test_marked_columns_are_those_of_the_half(self, module: SchemaFormatModule) -> None:
        """LogicalSchema.key, LogicalSchema.value."""
        both = parse_columns("K INT KEY, V STRING, W INT")
        for role, declared in ((Role.KEY, "K INT"), (Role.VALUE, "V STRING, W INT")):
            assert module.internal_schema(WriteSpec(columns=both), role=role) == module.internal_schema(
                WriteSpec(columns=parse_columns(declared)), role=role
            )

    def test_a_key_is_inferred_as_one_column_whatever_it_is(self) -> None:
        record = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
        assert infer_avro(record, role=Role.KEY).columns == parse_columns("ROWKEY STRUCT<A INT>")
        assert infer_avro('"int"', role=Role.KEY, names="keep").columns == parse_columns("ROWKEY INT")
        assert infer_json_schema('{"type":"string"}', role=Role.KEY).columns == parse_columns("ROWKEY STRING")
        assert infer_avro(record, role=Role.KEY, wrapped=True).columns == parse_columns("A INT")


class TestAnyColumns:
    @given(avro_columns, st.booleans())
    def test_the_serializer_of_2020_leaves_connects_properties_out_and_nothing_else(
        self, columns: Columns, wrapped: bool
    ) -> None:
        some = columns if wrapped else columns[:1]
        created = avro.internal_schema(WriteSpec(columns=some, wrap=wrapped, written_by=WrittenBy.CREATE))
        written = avro.internal_schema(WriteSpec(columns=some, wrap=wrapped, written_by=WrittenBy.SERIALIZER))
        assert json.loads(written) == _without_connect(json.loads(created))
        assert created == avro.internal_schema(WriteSpec(columns=some, wrap=wrapped, generation=Generation.FROM_0_29))

    @given(avro_columns)
    def test_names_are_paths(self, columns: Columns) -> None:
        """`AvroSchemas.Context`: the full name, then each declared name, MapKey or MapValue, joined with "_"."""
        names = set(_record_names(json.loads(avro.internal_schema(WriteSpec(columns=columns, full_name="R")))))
        firsts = {f"R_{column.name}" for column in columns}
        assert all(name == "R" or any(f"{name}_".startswith(f"{first}_") for first in firsts) for name in names)


def _record_names(schema: Json) -> list[str]:
    if isinstance(schema, list):
        return [name for part in schema for name in _record_names(part)]
    if not isinstance(schema, dict):
        return []
    own = [str(schema["name"])] if schema.get("type") == "record" else []
    return own + [name for part in schema.values() for name in _record_names(part)]


class TestPaths:
    def test_the_path_has_the_declared_name_and_the_field_the_allowed_one(self) -> None:
        columns = parse_columns("`a.b` STRUCT<`c.d` ARRAY<STRUCT<E INT>>>, M MAP<STRING, STRUCT<F MAP<STRING, INT>>>")
        text = avro.internal_schema(WriteSpec(columns=columns, full_name="n.R"))
        names = [part for part in _record_names(json.loads(text)) if part != "R"]
        # A dot in a path makes a namespace of what is before it: n.R_a.b, n.R_a.b_c.d.
        assert names == ["b", "d", "R_M", "R_M_MapValue", "R_M_MapValue_F"]
        assert '"name":"b","namespace":"n.R_a"' in text
        assert '"name":"d","namespace":"n.R_a.b_c"' in text
        assert '"name":"a_b"' in text
        assert '"name":"c_d"' in text


@pytest.mark.parametrize("make", [AvroSerializer, JsonSchemaSerializer])
class TestRegistered:
    """Over a registry, as a query's serializer does it: WRAP_SINGLE_VALUE, and UNWRAP_SINGLES of keys."""

    @pytest.mark.parametrize(
        ("declared", "row", "root"),
        [
            ("K INT KEY, V INT", {"K": 1}, "bare"),
            ("K INT PRIMARY KEY, V INT, W INT", {"K": 1}, "bare"),
            ("K STRUCT<A INT> KEY, V INT", {"K": {"A": 1}}, ["A"]),
            ("K INT KEY, L INT KEY, V INT", {"K": 1, "L": 2}, ["K", "L"]),
        ],
    )
    def test_a_single_key_column_is_bare(
        self, make: type[AvroSerializer | JsonSchemaSerializer], declared: str, row: dict[str, object], root: object
    ) -> None:
        assert _registered(make(registry := MemoryRegistry(), parse_columns(declared)), registry, row, Role.KEY) == root

    @pytest.mark.parametrize(
        ("wrap", "root"), [(None, ["V"]), (True, ["V"]), (False, "bare")], ids=["default", "true", "false"]
    )
    def test_a_single_value_column_is_bare_where_that_is_said(
        self, make: type[AvroSerializer | JsonSchemaSerializer], wrap: bool | None, root: object
    ) -> None:
        serializer = make(registry := MemoryRegistry(), parse_columns("K INT KEY, V INT"), wrap=wrap)
        assert _registered(serializer, registry, {"V": 1}, Role.VALUE) == root


def _registered(
    serializer: AvroSerializer | JsonSchemaSerializer, registry: MemoryRegistry, row: dict[str, object], role: Role
) -> object:
    """The names at the root of the schema that a row was registered under, or that there are none."""
    serializer(row, SerdeContext("t", role))
    schema = json.loads(registry.schemas[registry.subjects[f"t-{role.value}"][0]].text)
    if isinstance(schema, dict) and schema.get("type") == "record":
        return [part["name"] for part in schema["fields"]]
    if isinstance(schema, dict) and "oneOf" in schema:
        schema = schema["oneOf"][1]
    return list(schema["properties"]) if isinstance(schema, dict) and "properties" in schema else "bare"
