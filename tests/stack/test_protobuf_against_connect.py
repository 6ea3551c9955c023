"""Protobuf against Confluent's real ProtobufConverter (7.0.16): the texts that it registers for columns, its bytes, what it
reads of ours and of other producers, and its message indexes.

What ksqlDB does with Connect's schemas and values is shared with Avro, or translated by the tests themselves (`to_value`).
"""

from __future__ import annotations

import base64
import datetime
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias, cast

import pytest
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns, print_columns
from srfix.serde.columns.types import Array, Column, Columns, ColumnType, Map, Struct
from srfix.serde.connect.columns import columns_of, connect_of
from srfix.serde.connect.schema import struct
from srfix.serde.errors import ColumnError, DecodeError, EncodeError, SchemaError
from srfix.serde.formats.protobuf import format as protobuf
from srfix.serde.formats.protobuf.connect import connect_schema
from srfix.serde.formats.protobuf.descriptors import compiled
from srfix.serde.formats.protobuf.indexes import read_indexes, written_indexes
from srfix.serde.interface import Value
from srfix.serde.specs import ReadSpec, WriteSpec
from tests.examples import examples
from tests.stack.avro_data import to_json
from tests.stack.connect_rows import described, to_value, to_wire
from tests.stack.java_process import Json
from tests.stack.protobuf_data import ProtobufData, protobuf_data
from tests.stack.protobuf_schemas import bodies_of, proto_texts
from tests.stack.rows_of_columns import TABLE, in_order, rows_of, settled, with_rows
from tests.strategies import column_types

pytestmark = pytest.mark.stack

EXAMPLES: Final = examples(3_000)

Nullable: TypeAlias = Literal["optional", "wrapper"] | None
NULLABLE: Final[dict[Nullable, dict[str, str]]] = {
    None: {},
    "optional": {"optional.for.nullables": "true"},
    "wrapper": {"wrapper.for.nullables": "true"},
}
"""`nullable_representation` → the settings that ksqlDB gives its converter for it."""


@pytest.fixture(scope="module")
def java() -> Iterator[ProtobufData]:
    with protobuf_data() as process:
        yield process


def _is_lost(type_: ColumnType) -> bool:
    """Whether its schema says another type: see `TestKnownDifferences`."""
    match type_:
        case Array(items):
            return isinstance(items, Array | Map) or _is_lost(items)
        case Map(values):
            return isinstance(values, Array | Map) or _is_lost(values)
        case Struct(fields):
            return any(_is_lost(field.type) for field in fields)
    return False


def _is_julian(value: object) -> bool:
    """Whether it has a date that we do not write: see `TestKnownDifferences`."""
    match value:
        case dict():
            return any(map(_is_julian, value.values()))
        case list():
            return any(map(_is_julian, value))
        case datetime.datetime():
            return False
    return isinstance(value, datetime.date) and value < datetime.date(1582, 10, 15)


def _undeprecated(text: str) -> str:
    """Without what 7.0.16 alone prints: see `TestKnownDifferences`."""
    words = " ".join(text.split()).replace(" [deprecated = false]", "")
    return re.sub(r"\[ deprecated = false, (\(confluent\.field_meta\) = \{.*?\} \] \}) \]", r"[\1]", words)


def both_ways(
    java: ProtobufData,
    columns: Columns,
    rows: list[dict[str, Value]],
    *,
    nullable: Nullable = None,
    full_name: str | None = None,
) -> None:
    """The same text and bytes; each reads the other's, and infers the same columns."""
    spec = WriteSpec(columns=columns, full_name=full_name, nullable_representation=nullable, case_rule=CaseRule.EXACT)
    connect = connect_of(columns)
    if full_name is not None:
        connect = struct(connect.fields, name=full_name)
    rows = [cast("dict[str, Value]", in_order(Struct(columns), row)) for row in rows]
    theirs, bodies = java.write(connect, [to_wire(connect, row) for row in rows], NULLABLE[nullable])
    try:
        text = protobuf.internal_schema(spec)
    except ColumnError:
        assert theirs.startswith("!"), theirs
        return
    if nullable == "optional":
        assert " ".join(text.split()) == _undeprecated(theirs)
    else:
        assert text == theirs
    infer_alike(java, text)
    as_ksqldb = protobuf.encoder(text, replace(spec, case_rule=CaseRule.KSQLDB))
    for row, body in zip(rows, bodies, strict=True):
        if isinstance(body, str):
            with pytest.raises(EncodeError):
                as_ksqldb(row, b"")
        else:
            assert as_ksqldb(row, b"") == body
    if any(_is_lost(column.type) for column in columns):
        return
    encode = protobuf.encoder(text, spec)
    written = []
    for row, body in zip(rows, bodies, strict=True):
        if isinstance(body, str) or _is_julian(row):
            with pytest.raises(EncodeError):
                encode(row, b"")
        else:
            assert encode(row, b"") == body
            written.append(body)
    read_alike(java, text, written, columns)


def infer_alike(java: ProtobufData, text: str) -> None:
    """Both make the same Connect schema of it, and so the same columns."""
    theirs = java.infer(text)
    assert not isinstance(theirs, str), theirs
    ours, _ = protobuf.as_connect(text, by_units=False)
    assert _plain(to_json(ours)) == _plain(theirs)
    if "within" not in str(theirs):
        names: Any = "keep"
        assert _columns(lambda: protobuf.infer_columns(text, names=names)) == _columns(
            lambda: columns_of(described(theirs), names=names)
        )


def _columns(infer: Any) -> object:
    try:
        return infer().columns
    except (SchemaError, ColumnError) as error:
        return type(error)


def _plain(schema: Json, above: str = "") -> Json:
    """A Connect schema without what ksqlDB does not ask: tags, enums' numbers, the names of maps."""
    assert isinstance(schema, dict)
    if "within" in schema:
        return schema["within"]
    parameters = cast("dict[str, Json]", schema["parameters"])
    return {
        "type": schema["type"],
        "name": None if schema["type"] == "MAP" else schema["name"],
        "parameters": {name: value for name, value in parameters.items() if not name.startswith("io.confluent")},
        "fields": [[name, _plain(part)] for name, part in cast("list[tuple[str, Json]]", schema["fields"])],
        "keys": None if schema["keys"] is None else _plain(schema["keys"]),
        "values": None if schema["values"] is None else _plain(schema["values"]),
    }


def _message(text: str, body: bytes) -> Descriptor:
    """The one that the indexes name; the first, if they name none."""
    try:
        return compiled(text).message(read_indexes(body, 0)[0])
    except (DecodeError, IndexError):
        return compiled(text).message()


def read_alike(java: ProtobufData, text: str, bodies: list[bytes], columns: Columns | None = None) -> None:
    """Both read the same out of what stands behind the schema's id, or both refuse it.

    :param columns: None for those of the message's own fields.
    """
    found, values = java.read(text, bodies)
    connect = None if found is None else described(found)
    if columns is None:
        try:
            columns = columns_of(connect_schema(compiled(text), _message(text, bodies[0])), names="keep").columns
        except ColumnError:
            return  # there is none
        assert connect is None or columns == columns_of(connect, names="keep").columns
    decode = protobuf.decoder(text, ReadSpec(columns=columns, case_rule=CaseRule.KSQLDB))
    for body, value in zip(bodies, values, strict=True):
        try:
            row = None if connect is None or isinstance(value, str) else to_value(connect, value, Struct(columns))
        except (ArithmeticError, ValueError):  # no number of the column, no date of Python's
            row = None
        if row is None:
            with pytest.raises(DecodeError):
                decode(body, 0)
        else:
            assert settled(decode(body, 0)) == settled(row)


_names: Final = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,4}", fullmatch=True)
_columns_of: Final[SearchStrategy[Columns]] = st.lists(
    st.builds(Column, _names, column_types(_names)), min_size=1, max_size=5, unique_by=lambda column: column.name
).map(tuple)
_full_names: Final = st.none() | st.from_regex(r"([a-z_][a-z0-9_]{0,3}\.){0,3}[A-Z][A-Za-z0-9_]{0,5}", fullmatch=True)


class TestRowsUnderColumns:
    @pytest.mark.parametrize("nullable", NULLABLE)
    @TABLE
    def test_each_type(self, java: ProtobufData, text: str, values: list[list[Value]], nullable: Nullable) -> None:
        columns = parse_columns(text)
        if "." in text:
            with pytest.raises(ColumnError):
                protobuf.internal_schema(WriteSpec(columns=columns))
        both_ways(java, columns, rows_of(columns, values), nullable=nullable)

    @pytest.mark.parametrize("nullable", NULLABLE)
    @pytest.mark.parametrize(
        ("text", "values"),
        [
            ("`ConnectDefault2` STRUCT<A INT>", [[{"A": 1}]]),
            ("USER_ID INT, USERID INT, A STRUCT<B_ INT, B INT>", [[1, 2, {"B_": 3, "B": 4}]]),
            ("A ARRAY<DECIMAL(4, 2)>, B MAP<STRING, DECIMAL(4, 2)>", [[[Decimal("1.50")], {"x": Decimal("-0.01")}]]),
        ],
    )
    def test_names_and_decimals(
        self, java: ProtobufData, text: str, values: list[list[Value]], nullable: Nullable
    ) -> None:
        columns = parse_columns(text)
        both_ways(java, columns, rows_of(columns, values), nullable=nullable)

    def test_generated(self, java: ProtobufData) -> None:
        @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
        @given(_columns_of.flatmap(with_rows), st.sampled_from(list(NULLABLE)), _full_names)
        def check(case: tuple[Columns, list[dict[str, Value]]], nullable: Nullable, full_name: str | None) -> None:
            both_ways(java, *case, nullable=nullable, full_name=full_name)

        check()


def _named(messages: Iterable[Descriptor], above: str = "") -> Iterator[str]:
    """The messages' names, without the package."""
    for message in messages:
        if not message.GetOptions().map_entry:
            yield f"{above}{message.name}"
            yield from _named(message.nested_types, f"{above}{message.name}.")


def _as_descriptor(text: str) -> str:
    """As confluent-kafka registers it."""
    proto = FileDescriptorProto()
    compiled(text).file.CopyToProto(proto)
    return base64.b64encode(proto.SerializeToString()).decode()


MESSAGES: Final[dict[str, tuple[str, list[str]]]] = {
    "group": (
        """syntax = "proto2"; message M { optional group G = 1 { optional int32 x = 1; } optional int32 a = 2; message N {
        optional int32 b = 1; } }""",
        ["000b08010c1005", "0400000807", "0400020807"],
    ),
    "recursive": ('syntax = "proto3"; message M { M m = 1; repeated M r = 2; map<string, M> s = 3; int32 a = 4; }', []),
    "recursive-import": (
        """syntax = "proto3"; import "google/protobuf/struct.proto"; message M { google.protobuf.Struct s = 1; }""",
        [],
    ),
    "entries-by-shape": (
        """syntax = "proto3"; message M { repeated MEntry a = 1; repeated XEntry b = 2; Y c = 3; repeated YEntry d = 4;
        message MEntry { string key = 1; int32 value = 2; } message XEntry { double key = 1; int32 value = 2; }
        message Y {} message YEntry { int32 value = 1; string key = 2; } }""",
        ["000a050a0178100112021001220208011a00", "000a001200"],
    ),
    "required": (
        """syntax = "proto2"; message M { optional int32 a = 1 [default = 5]; required string b = 2; optional N n = 3;
        message N { required int32 x = 1; } }""",
        ["00", "001200", "0012017808001a020800", "0012001a00"],
    ),
    "broken": (
        'syntax = "proto3"; message M { string a = 1; }',
        [
            *(
                "",
                "00",
                "000a01ff",
                "000801",
                "000a0578",
                "02000a0178",
                "02020a0178",
                "01",
                "02010a0178",
                "0400000a0178",
            ),
            *("000a01780a0179", "00120179", "020000120178", "00000a0178", "000a80808080808080808080"),
        ],
    ),
    "enum-of-proto2": (
        """syntax = "proto2"; message M { optional E a = 1; repeated E b = 2; required E c = 3; optional E d = 5 [default = Y];
        enum E { X = 3; Y = 4; } }""",
        ["0008031803", "0008071007100418042804", "001809"],
    ),
    "enum-of-proto3": (
        'syntax = "proto3"; message M { E a = 1; repeated E b = 2; map<int32, E> c = 3; enum E { Z = 0; X = 3; } }',
        ["000807100910031a0408011007", "0008ffffffffffffffffff01"],
    ),
    "wrappers": (
        """syntax = "proto3"; import "google/protobuf/wrappers.proto"; message M { google.protobuf.StringValue a = 1;
        repeated google.protobuf.Int32Value b = 2; map<string, google.protobuf.BytesValue> c = 3; oneof o {
        google.protobuf.BoolValue d = 4; } }""",
        ["000a001200120208051a030a01782200", "00"],
    ),
    "wrapper-at-the-root": (
        'syntax = "proto3"; package google.protobuf; message StringValue { string value = 1; }',
        [],
    ),
    "names-by-case": ('syntax = "proto3"; message M { int32 id = 1; int32 ID = 2; int32 Id = 3; }', ["0008011002"]),
    "names-that-are-one-in-json": (
        'syntax = "proto3"; message M { int32 USER_ID = 1; int32 USERID = 2; message N { int32 a = 1; int32 _A = 2; } }',
        ["0008011002", "04000008011002"],
    ),
    "decimal-without-bytes": (
        'syntax = "proto3"; import "confluent/type/decimal.proto"; message M { confluent.type.Decimal d = 1; }',
        ["000a00", "000a030a0180"],
    ),
}


class TestMessagesOfOtherProducers:
    @pytest.mark.parametrize(("text", "bodies"), MESSAGES.values(), ids=MESSAGES.keys())
    def test_each_of_these(self, java: ProtobufData, text: str, bodies: list[str]) -> None:
        infer_alike(java, text)
        for body in bodies:
            read_alike(java, text, [bytes.fromhex(body)])

    def test_what_both_refuse(self, java: ProtobufData) -> None:
        for body in (
            "message M { int32 a = 1; int32 b = 1; }",
            "message M { oneof o { int32 x = 1; } string o_0 = 2; }",
            "message M { google.type.Date d = 1; }",
            "enum E { Z = 0; }",
        ):
            text = f'syntax = "proto3"; {body}'
            assert str(java.infer(text)).startswith("!")
            with pytest.raises(SchemaError):
                protobuf.infer_columns(text)

    def test_generated(self, java: ProtobufData) -> None:
        # Without shrinking, which takes minutes here.
        @settings(
            max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
        )
        @given(proto_texts(), st.data())
        def check(text: str, data: st.DataObject) -> None:
            # As it was written, as the registry keeps it, and as the registry keeps it of a client that sends descriptors.
            text = data.draw(st.sampled_from([text, java.canonical(text), java.canonical(_as_descriptor(text))]))
            infer_alike(java, text)
            schema = compiled(text)
            names = list(_named(schema.file.message_types_by_name.values()))
            indexes = dict(zip(names, java.indexes(text, names), strict=True))
            for name in data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=2)):
                numbers, _ = read_indexes(indexes[name], 0)
                message = schema.message(numbers)
                assert message.full_name.removeprefix(f"{message.file.package}.") == name
                assert written_indexes(numbers) == indexes[name]
                bodies = data.draw(st.lists(bodies_of(message), min_size=1, max_size=3))
                read_alike(java, text, [indexes[name] + body for body in bodies])

        check()


class TestKnownDifferences:
    """What differs, and is to."""

    def test_7_0_16_alone_says_deprecated_of_what_is_optional(self, java: ProtobufData) -> None:
        # ksqlDB's own test cases have it nowhere.
        text, _ = java.write(connect_of(parse_columns("A INT")), [], NULLABLE["optional"])
        assert "  optional int32 A = 1 [deprecated = false];" in text

    @pytest.mark.parametrize(
        ("type_", "value"),
        [
            ("ARRAY<MAP<STRING, INT>>", [{"x": 1}]),
            ("MAP<STRING, ARRAY<INT>>", {"x": [1]}),
            ("MAP<STRING, MAP<STRING, INT>>", {"x": {}}),
        ],
    )
    def test_rows_that_java_cannot_read_back_are_written_only_under_its_rule(
        self, java: ProtobufData, type_: str, value: Value
    ) -> None:
        # It writes some, under a schema that says another type, by which ksqlDB then reads no row: see `both_ways`.
        columns = parse_columns(f"A {type_}")
        text, _ = java.write(connect_of(columns), [to_wire(connect_of(columns), {"A": value})], {})
        assert text == protobuf.internal_schema(WriteSpec(columns=columns))
        assert print_columns(columns) != print_columns(protobuf.infer_columns(text, names="keep").columns)
        with pytest.raises(SchemaError, match="Declare the column with the schema's type"):
            protobuf.encoder(text, WriteSpec(columns=columns))

    def test_protoc_refuses_more(self, java: ProtobufData) -> None:
        # No producer can have compiled such a schema.
        for enum in ("E_X = 0; X = 1;", "E_X = 1;"):
            text = f'syntax = "proto3"; message M {{ E a = 1; enum E {{ {enum} }} }}'
            assert isinstance(java.infer(text), dict)
            with pytest.raises(SchemaError):
                protobuf.infer_columns(text)

    def test_a_day_before_the_gregorian_calendar_is_written_only_under_its_rule(self, java: ProtobufData) -> None:
        # Java writes the day's Julian name, which every reader but Java takes for another day. It is read as Java means it.
        columns = parse_columns("A DATE")
        for day in (datetime.date(1582, 10, 14), datetime.date(1500, 3, 10), datetime.date(1, 1, 1)):
            row: dict[str, Value] = {"A": day}
            text, (body,) = java.write(connect_of(columns), [to_wire(connect_of(columns), row)], {})
            assert isinstance(body, bytes)
            assert _read(text, body) == row
            assert protobuf.encoder(text, WriteSpec(columns=columns, case_rule=CaseRule.KSQLDB))(row, b"") == body
            with pytest.raises(EncodeError):
                protobuf.encoder(text, WriteSpec(columns=columns))(row, b"")

    def test_a_day_outside_of_the_years_1_to_9999_is_no_date(self, java: ProtobufData) -> None:
        # Python's date has none; `times="integers"` reads it.
        text = 'syntax = "proto3"; import "google/type/date.proto"; message M { google.type.Date d = 1; }'
        body = bytes.fromhex("000a0708904e10011801")
        assert java.read(text, [body])[1] == [[2_932_897]]
        with pytest.raises(DecodeError, match="times='integers'"):
            _read(text, body)

    def test_a_number_that_an_enum_of_proto3_lacks_is_read_in_proto2_too(self, java: ProtobufData) -> None:
        # Java goes by the message's syntax instead of the enum's, against Protobuf's specification, and reads null.
        text = 'syntax = "proto2"; import "google/type/dayofweek.proto"; message M { optional google.type.DayOfWeek d = 1; }'
        body = bytes.fromhex("000863")
        assert java.read(text, [body])[1] == [[None]]
        assert _read(text, body) == {"d": "UNKNOWN_ENUM_VALUE_DayOfWeek_99"}

    def test_a_string_of_proto2_that_is_no_utf_8_is_refused_but_by_ksqldbs_own_rules(self, java: ProtobufData) -> None:
        # As in Avro: what Java loses in silence is refused by the rules that are srfix's own.
        text = (
            'syntax = "proto2"; message M { optional string a = 1; repeated string b = 2; map<string, string> c = 3; }'
        )
        outside = [bytes.fromhex("000a01ff"), bytes.fromhex("001201ff")]
        in_maps = [bytes.fromhex("001a060a01ff120178"), bytes.fromhex("001a060a01781201ff")]
        values = java.read(text, [*outside, *in_maps])[1]
        assert values[:2] == [["\ufffd", [], []], [None, ["\ufffd"], []]]
        assert all("invalid UTF-8" in str(value) for value in values[2:])
        assert [_read(text, body) for body in outside] == [
            {"a": "\ufffd", "b": [], "c": {}},
            {"a": None, "b": ["\ufffd"], "c": {}},
        ]
        for body in in_maps:
            with pytest.raises(DecodeError, match="not UTF-8"):
                _read(text, body)
        for body in (*outside, *in_maps):
            with pytest.raises(DecodeError, match="not UTF-8"):
                protobuf.decoder(text, ReadSpec())(body, 0)

    def test_a_map_s_entry_whose_enum_nobody_knows_is_left_out(self, java: ProtobufData) -> None:
        # As Protobuf's specification has it for proto2; Java's dynamic messages have the enum's first value instead.
        text = 'syntax = "proto2"; message M { map<int32, E> c = 1; enum E { Z = 0; X = 3; } }'
        body = bytes.fromhex("000a0408011007")
        assert java.read(text, [body])[1] == [[[[1, "Z"]]]]
        assert _read(text, body) == {"c": {}}


def _read(text: str, body: bytes) -> Value:
    columns = protobuf.infer_columns(text, names="keep").columns
    return protobuf.decoder(text, ReadSpec(columns=columns, case_rule=CaseRule.KSQLDB))(body, 0)
