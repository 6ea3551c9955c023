"""A union of several types in one of the two schemas, as `org.apache.avro.Resolver` resolves it
(`ReaderUnion.firstMatchingBranch`, `WriterUnion`). Such a union of the reader's is a STRUCT, of which only the branch
that was chosen is not null.

| the writer's type | the reader's union | the branch |
|---|---|---|
| any | has its kind | that, also behind one to which it can be promoted |
| a record, enum or fixed type | has its full name | that |
| the same | has its name, or an alias that is its name | that |
| a record | has none of its name (also beside null alone) | the first record that has its fields |
| int, long, float, string or bytes | has not its kind | the first to which it can be promoted |
| any | has nothing of this | none: the row is bad (TYPE_MISMATCH) |
| null, also beside another type | has null | that |

| the writer's union | the reader's type | a value of the branch |
|---|---|---|
| several types | is a branch's own, or one to which it can be promoted | is read as the reader's type |
| the same | is neither | makes a bad row (TYPE_MISMATCH) |
| the same | is a union of several types | is read by the first table |
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

import pytest

from srfix.serde.arrow.decode import ValueWise, to_arrow
from srfix.serde.casing import CaseRule
from srfix.serde.deserializer import AvroDeserializer
from srfix.serde.errors import IncompatibleTypeError
from srfix.serde.formats.avro.read import decoder
from srfix.serde.formats.avro.read.kernel import native_decoder
from srfix.serde.formats.avro.read.resolution import resolved_root
from srfix.serde.interface import SerdeContext, Value
from srfix.serde.native import kernel
from srfix.serde.resolve.policies import ById
from srfix.serde.specs import ReaderSchema
from tests.serde.avro_schemas import array, enum, field, fixed, map_of, record, record_of
from tests.serde.fakes import MemoryRegistry, framed
from tests.serde.fuzz.engines import python_engine

USERS = SerdeContext("users")
LONG_OR_TEXT = ["null", "long", "string"]
MANY = ["null", "int", "long", "string", "boolean"]
TEXT_OR_NUMBER = ["string", "null", "double"]
A, B = record("ns.A", x="int"), record("B", x="int", y="string")
FAR = record("far.A", x="long")
OLD = record_of("New", field("x", "long"), field("z", "int", default=7), aliases=["ns.A"])
LIKE = record_of("Like", field("x", "long"), field("z", "int", default=7))
UNLIKE = record_of("Unlike", field("x", "long"), field("needed", "int"))
FOREIGN = record_of("Foreign", field("z", "int", default=7))

READER_UNIONS = {
    "own_kind": ("long", 5, LONG_OR_TEXT, {"long": 5, "string": None}),
    "own_kind_last": ("int", 5, ["double", "long", "int"], {"double": None, "long": None, "int": 5}),
    "promoted": ("int", 5, LONG_OR_TEXT, {"long": 5, "string": None}),
    "first_promoted": ("int", 5, ["string", "double", "long"], {"string": None, "double": 5.0, "long": None}),
    "rounded": ("long", 16_777_219, ["float", "string"], {"float": 16_777_220.0, "string": None}),
    "float": ("float", 1.5, ["int", "double"], {"int": None, "double": 1.5}),
    "text_as_bytes": ("string", "é", ["null", "int", "bytes"], {"int": None, "bytes": "é".encode()}),
    "bytes_as_text": ("bytes", b"e", ["null", "int", "string"], {"int": None, "string": "e"}),
    "connect_default": (
        "long",
        5,
        ["null", "long", {"type": "string", "connect.default": "no"}],
        {"long": 5, "string": None},
    ),
    "nullable": (["null", "long"], 5, LONG_OR_TEXT, {"long": 5, "string": None}),
    "null": (["null", "long"], None, LONG_OR_TEXT, None),
    "full_name": (FAR, {"x": 1}, ["string", LIKE, FAR], {"string": None, "Like": None, "A": {"x": 1}}),
    "short_name": (A, {"x": 1}, ["string", LIKE, FAR], {"string": None, "Like": None, "A": {"x": 1}}),
    "alias": (A, {"x": 1}, ["string", LIKE, OLD], {"string": None, "Like": None, "New": {"x": 1, "z": 7}}),
    "its_fields": (A, {"x": 1}, ["string", UNLIKE, LIKE], {"string": None, "Unlike": None, "Like": {"x": 1, "z": 7}}),
    "enum": (enum("P", "Q"), "Q", ["int", enum("Q", "P")], {"int": None, "E": "Q"}),
    "fixed": (fixed(2), b"ab", ["bytes", fixed(2)], {"bytes": None, "F": b"ab"}),
    "array": (array("int"), [1], ["null", "int", array("double")], {"int": None, "array": [1.0]}),
    "map": (
        map_of("long"),
        {"k": 1},
        [map_of(LONG_OR_TEXT), "int"],
        {"map": {"k": {"long": 1, "string": None}}, "int": None},
    ),
    "items": (array("int"), [1, 2], array(LONG_OR_TEXT), [{"long": 1, "string": None}, {"long": 2, "string": None}]),
    "nullable_items": (
        array(["null", "string"]),
        ["a", None],
        array(LONG_OR_TEXT),
        [{"long": None, "string": "a"}, None],
    ),
    "values": (map_of("string"), {"k": "v"}, map_of(LONG_OR_TEXT), {"k": {"long": None, "string": "v"}}),
    "fields": (A, {"x": 1}, record("A", x=LONG_OR_TEXT), {"x": {"long": 1, "string": None}}),
    "several_of_both": (
        ["null", "int", A],
        {"x": 1},
        ["null", "double", OLD],
        {"double": None, "New": {"x": 1, "z": 7}},
    ),
    "its_fields_beside_null": (["null", A], {"x": 1}, ["null", LIKE], {"x": 1, "z": 7}),
    "two_records_are_read_as_one": ([A, B, "int"], ("B", {"x": 1, "y": "z"}), ["int", A], {"int": None, "A": {"x": 1}}),
    "beside_a_branch_that_the_reader_lacks": (MANY, "x", TEXT_OR_NUMBER, {"string": "x", "double": None}),
    "two_are_promoted_to_one": (MANY, ("long", 5), TEXT_OR_NUMBER, {"string": None, "double": 5.0}),
    "null_of_both": (MANY, None, TEXT_OR_NUMBER, None),
    "null_beside_what_the_reader_lacks": (["null", "boolean"], None, LONG_OR_TEXT, None),
    "null_beside_a_record_that_the_reader_lacks": (["null", B], None, ["null", FAR, LIKE], None),
    "null_beside_another_type": (["null", "boolean"], None, ["int", "null"], None),
    "items_of_both": (array(MANY), ["x", None], array(TEXT_OR_NUMBER), [{"string": "x", "double": None}, None]),
}
NULLS = {
    "number": ("null", None, ["null", "int"], None),
    "null_last": ("null", None, ["string", "null"], None),
    "record": ("null", None, ["null", A], None),
    "several": ("null", None, LONG_OR_TEXT, None),
    "array": ("null", None, ["null", array("int")], None),
    "values": (map_of("null"), {"k": None}, map_of(["null", "int"]), {"k": None}),
    "field": (record("A", x="null"), {"x": None}, record("A", x=["null", "int"]), {"x": None}),
}
"""Every value is null. (Not of the kernel alone: it leaves items without bytes to Python.)"""
WRITER_UNIONS = {
    "own_kind": (LONG_OR_TEXT, 5, "long", 5),
    "null": (LONG_OR_TEXT, None, "long", None),
    "promoted": (["null", "int", "string"], 5, ["null", "double"], 5.0),
    "two_of_it": (["boolean", "int", "double"], ("int", 5), "double", 5.0),
    "two_of_it_second": (["boolean", "int", "double"], ("double", 1.5), "double", 1.5),
    "text": (["string", "bytes"], ("bytes", b"a"), "string", "a"),
    "record": (["null", A, B], ("ns.A", {"x": 1}), OLD, {"x": 1, "z": 7}),
    "items": (array(["int", "string"]), [1, 2], array("long"), [1, 2]),
    "array": (["null", "string", array("int")], [1], array("double"), [1.0]),
}
REFUSED = {
    "another_branch": (LONG_OR_TEXT, "x", "long"),
    "connect_would_take_it": (LONG_OR_TEXT, 5, "string"),
    "another_record": (["null", A, B], ("B", {"x": 1, "y": "z"}), OLD),
    "one_of_the_items": (array(["int", "string"]), [1, "x"], array("long")),
    "no_branch_of_the_reader": ("boolean", True, LONG_OR_TEXT),
    "a_branch_of_both": (MANY, True, TEXT_OR_NUMBER),
    "one_of_the_items_of_both": (array(MANY), ["x", True], array(TEXT_OR_NUMBER)),
    "one_of_the_values_of_both": (map_of(MANY), {"k": True}, map_of(TEXT_OR_NUMBER)),
    "no_branch_of_either": (["int", "boolean"], 5, ["string", array("int")]),
    "a_record_of_both": (["null", B, "int"], ("B", {"x": 1, "y": "z"}), ["null", UNLIKE, "int"]),
    "a_record_that_a_union_lacks": (B, {"x": 1, "y": "z"}, ["null", UNLIKE, "int"]),
    "a_nullable_record_that_a_union_lacks": (["null", B], {"x": 1, "y": "z"}, ["null", UNLIKE, "int"]),
    "a_record_that_null_stands_beside": (["null", B], {"x": 1, "y": "z"}, ["null", UNLIKE]),
    "a_record_that_became_another_nullable_one": (B, {"x": 1, "y": "z"}, ["null", UNLIKE]),
    "a_record_that_became_another": (B, {"x": 1, "y": "z"}, FOREIGN),
    "a_nullable_record_that_became_another": (["null", B], {"x": 1, "y": "z"}, FOREIGN),
    "one_of_the_items_that_became_another": (array(B), [{"x": 1, "y": "z"}], array(FOREIGN)),
    "an_enum_that_a_union_lacks": (["int", enum("P", name="Other")], ("Other", "P"), ["int", enum("P")]),
    "a_union_under_a_record": (["null", "int", "string"], 5, ["null", A]),
    "a_union_under_another_record": (["null", "int", B], ("B", {"x": 1, "y": "z"}), UNLIKE),
    "beside_null": (["null", "boolean"], True, ["null", "int"]),
    "null": ("null", None, "int"),
}


def reading(writer: Any, value: object, reader: Any, *, strict: bool = False) -> tuple[AvroDeserializer, bytes]:
    registry = MemoryRegistry()
    payload = framed(registry, record(v=writer), {"v": value})
    return AvroDeserializer(ById(registry), reader_schema=json.dumps(record(v=reader)), strict=strict), payload


@contextmanager
def kernel_alone() -> Iterator[None]:
    """A body that the kernel leaves to Python is an error."""
    if kernel() is None:
        pytest.skip("There is no kernel")

    def leave(payload: bytes, body_offset: int) -> Value:
        raise AssertionError(f"{payload[body_offset:].hex()} was left to Python")

    with patch(f"{decoder.__name__}.native_decoder", lambda describe, costs, _: native_decoder(describe, costs, leave)):
        yield


ENGINES = pytest.mark.parametrize("engine", [kernel_alone, python_engine], ids=["kernel", "python"])


class TestRows:
    @ENGINES
    @pytest.mark.parametrize(("writer", "value", "reader", "row"), READER_UNIONS.values(), ids=READER_UNIONS)
    def test_one_type_is_the_branch_that_avro_chooses(
        self, engine: Any, writer: Any, value: object, reader: Any, row: object
    ) -> None:
        self._check(engine, writer, value, reader, row)

    @ENGINES
    @pytest.mark.parametrize(("writer", "value", "reader", "row"), WRITER_UNIONS.values(), ids=WRITER_UNIONS)
    def test_a_branch_is_the_readers_one_type(
        self, engine: Any, writer: Any, value: object, reader: Any, row: object
    ) -> None:
        self._check(engine, writer, value, reader, row)

    @ENGINES
    @pytest.mark.parametrize(("writer", "value", "reader", "row"), NULLS.values(), ids=NULLS)
    def test_null_is_the_readers_null(self, engine: Any, writer: Any, value: object, reader: Any, row: object) -> None:
        self._check(engine, writer, value, reader, row)

    def _check(self, engine: Any, writer: Any, value: object, reader: Any, row: object) -> None:
        with engine():
            read, payload = reading(writer, value, reader)
            assert read(payload, USERS) == {"v": row}
            by_column = [to_arrow([payload], USERS, read, engine=each).to_pylist() for each in (None, ValueWise)]
        assert by_column[0] == by_column[1]

    @pytest.mark.parametrize("engine", [nullcontext, python_engine], ids=["default", "python"])
    @pytest.mark.parametrize(("writer", "value", "reader"), REFUSED.values(), ids=REFUSED)
    def test_what_avro_does_not_resolve_is_a_bad_row(
        self, engine: Any, writer: Any, value: object, reader: Any
    ) -> None:
        with engine():
            read, payload = reading(writer, value, reader)
            with pytest.raises(IncompatibleTypeError, match="At v"):
                read(payload, USERS)
            batch = to_arrow([payload], USERS, read, on_error="quarantine")
        assert batch.column("_srfix_reason").to_pylist() == ["TYPE_MISMATCH"]


@pytest.mark.parametrize("writer", ["long", ["int", "boolean"]])
def test_members_that_the_writer_lacks_are_fed(writer: Any) -> None:
    read, payload = reading(writer, 5, LONG_OR_TEXT, strict=True)
    assert read(payload, USERS) == {"v": {"long": 5, "string": None}}


class TestRoots:
    """A root is the value of the only column, or a row whose columns are the union's types, or those of one of them."""

    UNION = (record_of("A", field("x", "long"), field("z", "int", default=7)), record("B", y="long"))

    def test_the_columns_are_the_unions_types(self) -> None:
        assert self._read(A, {"x": 1}, list(self.UNION)) == {"A": {"x": 1, "z": 7}, "B": None}
        assert self._read("int", 5, LONG_OR_TEXT) == {"long": 5, "string": None}

    def test_the_columns_are_those_of_one_type(self) -> None:
        assert self._read(A, {"x": 1}, list(self.UNION), columns="`x` BIGINT, `z` INT") == {"x": 1, "z": 7}
        assert self._read(["null", A], {"x": 1}, list(self.UNION), columns="`x` INT") == {"x": 1}

    def test_the_value_of_the_only_column(self) -> None:
        column = "`v` STRUCT<`long` BIGINT, `string` STRING>"
        assert self._read("int", 5, LONG_OR_TEXT, columns=column, wrap=False) == {"v": {"long": 5, "string": None}}

    def test_a_union_of_records_under_one_of_them(self) -> None:
        assert self._read([A, B], ("ns.A", {"x": 1}), self.UNION[0]) == {"x": 1, "z": 7}
        with pytest.raises(IncompatibleTypeError, match="the writer's type record B"):
            self._read([A, B], ("B", {"x": 1, "y": ""}), self.UNION[0])

    @pytest.mark.parametrize(
        ("writer", "value", "reader", "row"),
        [
            ("int", 5, "double", 5.0),
            ("string", "x", ["null", "bytes"], b"x"),
            (["null", "int"], None, "double", None),
            ("null", None, ["null", "double"], None),
            (array("int"), [1], array("double"), [1.0]),
            (MANY, "x", TEXT_OR_NUMBER, {"string": "x", "double": None}),
            ("bytes", b"x", "string", "x"),
            ("bytes", b"x", ["null", "bytes"], b"x"),
            ("bytes", b"x", ["int", "bytes"], {"int": None, "bytes": b"x"}),
            ("bytes", b"x", ["null", "string", "int"], {"string": "x", "int": None}),
        ],
    )
    def test_without_columns_a_bare_value_is_the_column_of_the_readers_type(
        self, writer: Any, value: object, reader: Any, row: object
    ) -> None:
        assert self._read(writer, value, reader, wrap=False) == {"ROWVAL": row}

    def test_bare_bytes_among_the_unions_types(self) -> None:
        """They stand in the body without their length, as Java's serializer writes them."""
        assert self._read("bytes", b"x", ["int", "bytes"]) == {"int": None, "bytes": b"x"}
        with pytest.raises(IncompatibleTypeError, match="cannot read the writer's type bytes"):
            self._read("bytes", b"x", ["int", "boolean"])

    def test_a_branch_that_the_readers_union_lacks(self) -> None:
        assert self._read([A, "int"], 5, ["int", B]) == {"int": 5, "B": None}
        for writer in ([A, "int"], A):
            with pytest.raises(IncompatibleTypeError, match=r"At the root, .* the writer's type record ns.A"):
                self._read(writer, {"x": 1}, ["int", B])

    def _read(self, writer: Any, value: object, reader: Any, **options: Any) -> object:
        registry = MemoryRegistry()
        payload = framed(registry, writer, value)
        if writer == "bytes":
            payload = payload[:5] + payload[6:]
        return AvroDeserializer(ById(registry), reader_schema=json.dumps(reader), **options)(payload, USERS)


def test_records_that_nest_in_many_ways_are_compared_once() -> None:
    """Each of 100 levels has two branches: there are 2¹⁰⁰ ways through them."""
    writers, readers = [json.dumps(record("W99", x="int"))], [json.dumps(record(f"{side}99", y="int")) for side in "AB"]
    for level in range(98, -1, -1):
        writers.append(json.dumps(record(f"W{level}", x=f"W{level + 1}")))
        readers += [json.dumps(record(f"{side}{level}", x=[f"A{level + 1}", f"B{level + 1}"])) for side in "AB"]
    reader = ReaderSchema(text=json.dumps(record(v=["A0", "B0"])), references=tuple(readers))
    root = resolved_root(json.dumps(record(v="W0")), tuple(writers), reader, CaseRule.UNIQUE)
    assert root.fields[0].node.name == "W0"  # as it was: none of them fits


def test_a_record_in_itself() -> None:
    def tree(value: Any, below: Any) -> Any:
        return record("Tree", value=value, below=["null", below])

    writer, reader = tree("int", "Tree"), tree(LONG_OR_TEXT, "Tree")
    registry = MemoryRegistry()
    payload = framed(registry, writer, {"value": 1, "below": {"value": 2, "below": None}})
    struct = "`value` STRUCT<`long` BIGINT>"
    columns = f"{struct}, `below` STRUCT<{struct}, `below` STRUCT<{struct}>>"
    read = AvroDeserializer(ById(registry), columns=columns, reader_schema=json.dumps(reader))
    assert read(payload, USERS) == {"value": {"long": 1}, "below": {"value": {"long": 2}, "below": None}}
