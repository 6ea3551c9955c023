"""Avro rows against Confluent's real AvroConverter (7.0.16), value for value: our bytes are its bytes, it reads ours, and we
read its.

What ksqlDB does with Connect's values (`ConnectDataTranslator`) is translated by the tests themselves (`to_value`).
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from io import BytesIO
from typing import Final, cast

import fastavro
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns
from srfix.serde.columns.types import Columns, Struct
from srfix.serde.connect.columns import connect_of
from srfix.serde.connect.generations import Generation
from srfix.serde.connect.schema import (
    ConnectField,
    ConnectSchema,
    ConnectType,
    array,
    date,
    decimal,
    map_of,
    optional,
    primitive,
    struct,
    time,
    timestamp,
)
from srfix.serde.errors import ColumnError, DecodeError, SchemaError
from srfix.serde.formats import avro
from srfix.serde.formats.avro.format import columns_from_avro
from srfix.serde.formats.avro.internal_schema import avro_compatible
from srfix.serde.interface import SerdeContext, Value
from srfix.serde.registry.client import RegistryClient
from srfix.serde.serializer import AvroSerializer
from srfix.serde.specs import ReadSpec, WriteSpec
from srfix.serde.subjects.names import Role
from tests.serde.rules.test_schemas_that_java_takes import BODY, DECIMALS, schema
from tests.serde.rules.test_schemas_that_java_takes import decimal as decimal_of
from tests.stack.avro_schemas import avro_schemas, bodies_of
from tests.stack.connect_rows import Connect, Refused, connect, described, to_value, to_wire
from tests.stack.connect_strategies import connect_rows
from tests.stack.rows_of_columns import TABLE, in_order, rows_of, settled, unordered, with_rows
from tests.strategies import avro_columns

pytestmark = pytest.mark.stack

UTC: Final = datetime.UTC


@pytest.fixture(scope="module")
def java() -> Iterator[Connect]:
    with connect() as process:
        yield process


def both_ways(
    java: Connect,
    columns: Columns,
    rows: list[dict[str, Value]],
    *,
    wrapped: bool = True,
    role: Role = Role.VALUE,
    generation: Generation = Generation.FROM_0_29,
) -> None:
    """Our bytes are AvroConverter's, and it reads ours back to the same values; so do we."""
    schema = avro_compatible(connect_of(columns, wrapped=wrapped), "n.R")
    text = avro.internal_schema(
        WriteSpec(columns=columns, full_name="n.R", wrap=wrapped, generation=generation), role=role
    )
    encode = avro.encoder(text, WriteSpec(columns=columns, case_rule=CaseRule.EXACT, wrap=wrapped))
    decode = avro.decoder(text, ReadSpec(columns=columns, case_rule=CaseRule.KSQLDB, wrap=wrapped))
    ours = [encode(row, b"") for row in rows]
    rows = [cast("dict[str, Value]", in_order(Struct(columns), row)) for row in rows]
    wires = [to_wire(schema, row if wrapped else row[columns[0].name]) for row in rows]
    meta_data = generation is Generation.FROM_0_29
    for body, theirs in zip(
        ours, java.write_avro(schema, wires, meta_data=meta_data, is_key=role is Role.KEY), strict=True
    ):
        assert theirs.schema == text
        assert theirs.body == body
    for body, row, wire, (found, read) in zip(ours, rows, wires, java.read_avro(text, ours), strict=True):
        as_read = described(found)
        assert unordered(as_read, read) == unordered(schema, wire)
        assert settled(decode(body, 0)) == settled(row)


class TestRowsUnderColumns:
    @pytest.mark.smoke
    @pytest.mark.parametrize("generation", Generation)
    @TABLE
    def test_wrapped(self, java: Connect, text: str, values: list[list[Value]], generation: Generation) -> None:
        columns = parse_columns(text)
        both_ways(java, columns, rows_of(columns, values), generation=generation)

    @TABLE
    def test_unwrapped(self, java: Connect, text: str, values: list[list[Value]]) -> None:
        columns = parse_columns(text)[:1]
        both_ways(java, columns, rows_of(columns, values, nulls=False), wrapped=False)

    @TABLE
    def test_keys_unwrapped(self, java: Connect, text: str, values: list[list[Value]]) -> None:
        columns = parse_columns(text)[:1]
        if "MAP" in text:
            with pytest.raises(ColumnError):
                avro.internal_schema(WriteSpec(columns=columns, wrap=False), role=Role.KEY)
            return
        both_ways(java, columns, rows_of(columns, values, nulls=False), wrapped=False, role=Role.KEY)

    def test_generated(self, java: Connect) -> None:
        @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
        @given(avro_columns.flatmap(with_rows), st.sampled_from(Generation))
        def check(case: tuple[Columns, list[dict[str, Value]]], generation: Generation) -> None:
            columns, rows = case
            try:
                avro.internal_schema(WriteSpec(columns=columns, full_name="n.R"))
            except ColumnError:
                assume(False)
            both_ways(java, columns, rows, generation=generation)

        check()

    @pytest.mark.parametrize("type_", ["BYTES", "DECIMAL(4, 2)"])
    def test_raw_bytes_at_the_root_have_no_length(self, java: Connect, type_: str) -> None:
        columns = parse_columns(f"A {type_}")
        schema = avro_compatible(connect_of(columns, wrapped=False), "n.R")
        value: Value = b"\1\2" if type_ == "BYTES" else Decimal("2.58")
        (written,) = java.write_avro(schema, [to_wire(schema, value)])
        assert written.body == b"\1\2"

    def test_null_unwrapped_is_a_tombstone(self, java: Connect) -> None:
        schema = optional(avro_compatible(connect_of(parse_columns("A INT"), wrapped=False), "n.R"))
        (written,) = java.write_avro(schema, [None])
        assert written.body is None

    def test_the_serializer_frames_just_these_bytes(self, java: Connect) -> None:
        columns = parse_columns("A DECIMAL(4, 2), B MAP<STRING, INT>")
        row: dict[str, Value] = {"A": Decimal("-1.29"), "B": {"x": 1}}
        with FixtureRegistry() as registry, RegistryClient(registry.url) as client:
            payload = AvroSerializer(client, columns)(row, SerdeContext("t", Role.VALUE))
            assert payload is not None
            text = client.version("t-value", "latest").schema.text
        schema = avro_compatible(connect_of(columns), avro.KSQLDB_FULL_NAME)
        (theirs,) = java.write_avro(schema, [to_wire(schema, row)], meta_data=False)
        assert (text, payload[5:]) == (theirs.schema, theirs.body)


def agree(java: Connect, text: str, bodies: list[bytes], *, may_refuse: bool = False) -> None:
    """Both read the same out of bodies, or both refuse one."""
    columns = columns_from_avro(text, names="keep")
    decode = avro.decoder(text, ReadSpec(columns=columns, case_rule=CaseRule.KSQLDB))
    for body in bodies:
        try:
            ((schema, wire),) = java.read_avro(text, [body])
        except Refused as refused:
            if not may_refuse:
                raise
            if "Invalid type for MAP" in str(refused):
                continue  # see the test of its own
            with pytest.raises(DecodeError):
                decode(body, 0)
            continue
        row = decode(body, 0)
        assert settled(row) == settled(to_value(described(schema), wire, Struct(columns)))
        assert isinstance(row, dict)
        assert tuple(row) == tuple(column.name for column in columns)


def _one(type_: ConnectSchema) -> ConnectSchema:
    return struct([ConnectField("f", type_)], name="n.R")


INT8, INT16, INT32, INT64 = (primitive(type_) for type_ in list(ConnectType)[:4])
FLOAT32, FLOAT64, BOOLEAN, STRING, BYTES = (primitive(type_) for type_ in list(ConnectType)[4:9])
CONNECT: Final[dict[str, tuple[ConnectSchema, list[Value]]]] = {
    "int8": (INT8, [0, 127, -128]),
    "int16": (INT16, [0, 32767, -32768]),
    "int8-nullable": (optional(INT8), [1, None]),
    "int32": (INT32, [2**31 - 1, -(2**31)]),
    "int64": (INT64, [2**63 - 1, -(2**63)]),
    "float32": (FLOAT32, [0.5, -0.0, 1.401298464324817e-45, 3.4028234663852886e38, float("nan"), -float("inf"), 0.1]),
    "float64": (FLOAT64, [0.1, -0.0, 5e-324, float("nan"), float("inf")]),
    "bytes": (BYTES, [b"", b"\0\xff"]),
    "int32-with-a-default": (replace(INT32, default=7), [None, 8]),
    "nullable-with-a-default": (replace(optional(INT32), default=7), [None, 8]),
    "nullable-int8-with-a-default": (replace(optional(INT8), default=-7), [None, 8]),
    "nullable-string-with-a-default": (replace(optional(STRING), default="x"), [None, "", "y"]),
    "nullable-float32-with-a-default": (replace(optional(FLOAT32), default=0.5), [None, 1.5]),
    "nullable-boolean-with-a-default": (replace(optional(BOOLEAN), default=True), [None, False]),
    "bytes-with-a-default": (replace(BYTES, default=b"\0\xff"), [None, b""]),
    "nullable-bytes-with-a-default": (replace(optional(BYTES), default=b"\0\xff"), [None, b""]),
    "date-with-a-default": (replace(date(), default=datetime.date(2020, 6, 16)), [None, datetime.date(1960, 2, 29)]),
    "nullable-date-with-a-default": (replace(date(optional=True), default=datetime.date(2020, 6, 16)), [None]),
    "time-with-a-default": (replace(time(), default=datetime.time(1, 2, 3)), [None, datetime.time(23)]),
    "nullable-timestamp-with-a-default": (
        replace(timestamp(optional=True), default=datetime.datetime(2020, 1, 1, tzinfo=UTC)),
        [None, datetime.datetime(1960, 1, 1, tzinfo=UTC)],
    ),
    "decimal-with-a-default": (replace(decimal(2, 9), default=Decimal("1.50")), [None, Decimal("-1.28")]),
    "nullable-decimal-with-a-default": (replace(decimal(2, 9, optional=True), default=Decimal("1.50")), [None]),
    "array-with-a-default": (replace(array(INT32), default=[1, 2]), [None, []]),
    "nullable-array-with-a-default": (replace(array(INT32, optional=True), default=[1, 2]), [None, []]),
    "map-with-a-default": (replace(map_of(STRING, INT32), default={"x": 1}), [None, {}]),
    "decimal-without-precision": (decimal(3), [Decimal("12345678901234567890.123")]),
    "decimal-scale-0": (decimal(0, 5), [Decimal(-128)]),
    "array": (array(optional(INT16)), [[], [1, None]]),
    "map-of-strings": (map_of(STRING, FLOAT32), [{}, {"a": 0.25}]),
    "map-of-nullable-keys": (map_of(optional(STRING), INT8), [{"a": 1, "b": 2}]),
    **{
        f"map-of-{key.type.word}": (
            replace(map_of(key, optional(date())), name="n.E"),
            [cast("Value", {one: datetime.date(2020, 1, 1), two: None})],
        )
        for key, one, two in (
            (INT8, 1, -1),
            (INT16, 1, 300),
            (INT32, 1, 2**31 - 1),
            (INT64, 1, -(2**63)),
            (BOOLEAN, True, False),
        )
    },
    "struct-nullable": (struct([ConnectField("x", INT8)], name="n.S", optional=True), [None, {"x": 1}]),
}

NULLABLE: Final = [name for name in CONNECT if name.startswith("nullable-") and name != "nullable-array-with-a-default"]


class TestRowsOfConnect:
    """The other way: what the real converter writes of Connect's data, read by the columns that are inferred."""

    @pytest.mark.smoke
    @pytest.mark.parametrize("meta_data", [True, False])
    @pytest.mark.parametrize(("type_", "values"), CONNECT.values(), ids=CONNECT.keys())
    def test_each_type(self, java: Connect, type_: ConnectSchema, values: list[Value], meta_data: bool) -> None:
        schema = _one(type_)
        for written in java.write_avro(
            schema, [to_wire(schema, {"f": value}) for value in values], meta_data=meta_data
        ):
            assert written.body is not None
            agree(java, written.schema, [written.body])

    @pytest.mark.parametrize("name", NULLABLE)
    def test_null_where_there_is_a_default_is_the_default(self, java: Connect, name: str) -> None:
        # The converter never writes it: `Struct.get` gives it the default. Another producer does.
        (written, *_) = java.write_avro(_one(CONNECT[name][0]), [[None]])
        (field,) = json.loads(written.schema)["fields"]
        agree(java, written.schema, [bytes([2 * field["type"].index("null")])])

    def test_a_default_with_parts_is_not_ours(self, java: Connect) -> None:
        # Such a default would have to be made anew for each row; no producer but a Connect source that declares one meets it.
        (written,) = java.write_avro(_one(CONNECT["nullable-array-with-a-default"][0]), [[None]])
        ((_, wire),) = java.read_avro(written.schema, [b"\2"])
        assert wire == [[1, 2]]
        columns = columns_from_avro(written.schema, names="keep")
        assert avro.decoder(written.schema, ReadSpec(columns=columns, case_rule=CaseRule.KSQLDB))(b"\2", 0) == {
            "f": None
        }

    def test_generated(self, java: Connect) -> None:
        @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
        @given(connect_rows(), st.booleans())
        def check(case: tuple[ConnectSchema, list[Value]], meta_data: bool) -> None:
            schema, rows = case
            written = java.write_avro(schema, [to_wire(schema, row) for row in rows], meta_data=meta_data)
            agree(java, written[0].schema, [each.body for each in written if each.body is not None])

        check()


def _record(type_: object, **more: object) -> str:
    return json.dumps({"type": "record", "name": "n.R", "fields": [{"name": "f", "type": type_, **more}]})


ENUM: Final = {"type": "enum", "name": "n.K", "symbols": ["A", "B"]}
FIXED: Final = {"type": "fixed", "name": "n.F", "size": 3}
INNER: Final = {"type": "record", "name": "n.X", "fields": [{"name": "x", "type": "int"}]}
AVRO: Final[dict[str, tuple[str, list[object]]]] = {
    "enum": (_record(ENUM), ["A", "B"]),
    "enum-nullable": (_record(["null", ENUM]), [None, "B"]),
    "fixed": (_record(FIXED), [b"abc", b"\0\0\0"]),
    "fixed-nullable": (_record([FIXED, "null"]), [None, b"abc"]),
    "union": (
        _record(["null", "int", "string", ENUM, FIXED, INNER]),
        [None, 1, "x", ("n.K", "B"), ("n.F", b"abc"), ("n.X", {"x": 1})],
    ),
    "union-of-numbers": (
        _record(["int", "long", "float", "double"]),
        [("int", 1), ("long", 2), ("float", 0.5), ("double", 0.1)],
    ),
    "union-of-logical-types": (
        _record(
            [{"type": "int", "logicalType": "date"}, {"type": "long", "logicalType": "timestamp-millis"}, "boolean"]
        ),
        [("int", 5), ("long", -5), True],
    ),
    "union-of-parts": (
        _record([{"type": "array", "items": "int"}, {"type": "map", "values": "int"}, "bytes"]),
        [[1, 2], {"a": 1}, b"x"],
    ),
    "map": (_record({"type": "map", "values": ["null", "long"]}), [{}, {"a": 1, "b": None}]),
    "uuid-is-a-string": (_record({"type": "string", "logicalType": "uuid"}), ["no-uuid"]),
    "timestamp-micros-is-a-long": (_record({"type": "long", "logicalType": "timestamp-micros"}), [2**62]),
    "time-micros-is-a-long": (_record({"type": "long", "logicalType": "time-micros"}), [5]),
    "int8-is-cut": (_record({"type": "int", "connect.type": "int8"}), [127, 128, -129, 300, 2**31 - 1]),
    "int16-is-cut": (_record(["null", {"type": "int", "connect.type": "int16"}]), [32768, -32769, None]),
    "time-beyond-a-day": (_record({"type": "int", "logicalType": "time-millis"}), [0, 86_399_999, 86_400_001, -1]),
    "decimal-of-no-bytes": (
        _record({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}),
        [b"", b"\x80", b"\0\0\1"],
    ),
    "null-with-an-avro-default": (_record(["int", "null"], default=5), [None, 6]),
    "null-with-a-connect-default": (_record(["null", {"type": "int", "connect.default": 5}]), [None, 6]),
    "null-with-a-connect-default-of-text": (_record(["null", {"type": "string", "connect.default": "x"}]), [None, "y"]),
    "enum-with-a-connect-default": (_record(["null", {**ENUM, "connect.default": "A"}]), [None, "B"]),
    "entries": (
        _record(
            {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "n.E",
                    "connect.internal.type": "MapEntry",
                    "fields": [{"name": "key", "type": ["null", "int"]}, {"name": "value", "type": ["null", "string"]}],
                },
            }
        ),
        [
            [{"key": 1, "value": "x"}, {"key": 1, "value": "y"}, {"key": 2, "value": None}],
            [{"key": None, "value": "z"}],
        ],
    ),
}


def _body(text: str, value: object) -> bytes:
    """Written as it is on the wire: logical types are left alone."""

    def plain(part: object) -> object:
        match part:
            case dict():
                return {name: plain(inner) for name, inner in part.items() if name != "logicalType"}
            case list():
                return [plain(inner) for inner in part]
        return part

    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(plain(json.loads(text))), {"f": value})  # type: ignore[arg-type]
    return out.getvalue()


class TestRowsOfOtherProducers:
    """Avro that no Connect wrote: the real converter reads it first."""

    @pytest.mark.parametrize(("text", "values"), AVRO.values(), ids=AVRO.keys())
    def test_each_of_these(self, java: Connect, text: str, values: list[object]) -> None:
        agree(java, text, [_body(text, value) for value in values], may_refuse=True)

    @pytest.mark.parametrize(("properties", "value"), DECIMALS.values(), ids=DECIMALS)
    def test_a_decimal_that_is_none_to_avro(self, java: Connect, properties: dict[str, object], value: str) -> None:
        ((_, wire),) = java.read_avro(schema(decimal_of(**properties)), [BODY])
        assert Decimal(cast("list[str]", wire)[1]) == Decimal(value)

    def test_a_union_of_one(self, java: Connect) -> None:
        assert java.read_avro(schema(["string"]), [bytes.fromhex("02000261")])[0][1] == [1, ["a"]]

    def test_what_connect_refuses_of_these(self, java: Connect) -> None:
        for name, value, words in (
            ("decimal-of-no-bytes", b"", "Zero length BigInteger"),
            (
                "time-beyond-a-day",
                -1,
                "Time values must use number of milliseconds greater than 0 and less than 86400000",
            ),
        ):
            text, _ = AVRO[name]
            with pytest.raises(Refused, match=words):
                java.read_avro(text, [_body(text, value)])

    def test_entries_whose_key_is_a_string_that_is_never_null_are_read_here(self, java: Connect) -> None:
        # AvroData takes only an Avro map for such keys, and never writes entries for them. What was meant is plain.
        record = {**INNER, "fields": [{"name": "key", "type": "string"}, {"name": "value", "type": "int"}]}
        text = _record({"type": "array", "items": {**record, "connect.internal.type": "MapEntry"}})
        body = _body(text, [{"key": "k", "value": 1}])
        with pytest.raises(Refused, match="DataException: Invalid type for MAP"):
            java.read_avro(text, [body])
        decode = avro.decoder(text, ReadSpec(columns=columns_from_avro(text, names="keep"), case_rule=CaseRule.KSQLDB))
        assert decode(body, 0) == {"f": {"k": 1}}

    def test_a_fixed_beside_bytes_is_its_own_branch_here(self, java: Connect) -> None:
        # AvroData takes the first branch whose Java class fits the value, and bytes' fits a fixed; the body says which it is.
        text = _record(["null", "bytes", FIXED])
        body = _body(text, ("n.F", b"abc"))
        ((schema, wire),) = java.read_avro(text, [body])
        columns = columns_from_avro(text, names="keep")
        assert to_value(described(schema), wire, Struct(columns)) == {"f": {"bytes": b"abc", "F": None}}
        decode = avro.decoder(text, ReadSpec(columns=columns, case_rule=CaseRule.KSQLDB))
        assert decode(body, 0) == {"f": {"bytes": None, "F": b"abc"}}

    def test_generated(self, java: Connect) -> None:
        # Without shrinking, which takes minutes here.
        @settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
        @given(avro_schemas().filter(_is_told_apart).flatmap(_with_bodies))
        def check(case: tuple[object, list[bytes]]) -> None:
            text = json.dumps(case[0])
            try:
                columns_from_avro(text, names="keep")
            except (ColumnError, SchemaError):
                assume(False)
            agree(java, text, case[1], may_refuse=True)

        check()


def _is_told_apart(schema: object) -> bool:
    """Whether no union has bytes beside a fixed type: see the test of its own."""
    match schema:
        case list():
            kinds = {branch["type"] if isinstance(branch, dict) else branch for branch in schema}
            return not {"bytes", "fixed"} <= kinds and all(map(_is_told_apart, schema))
        case {"fields": list(fields)}:
            return all(_is_told_apart(part["type"]) for part in fields)
        case {"items": inner} | {"values": inner}:
            return _is_told_apart(inner)
    return True


def _with_bodies(schema: object) -> SearchStrategy[tuple[object, list[bytes]]]:
    return st.tuples(st.just(schema), st.lists(bodies_of(schema), min_size=1, max_size=3))
