"""Arrow → payloads by the kernel: the same as row by row in Python, and how much of it the kernel leaves."""

from __future__ import annotations

import datetime
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, cast
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.arrow.encode import EncodeEngine, EncodeKernelWise, EncodeRowWise, from_arrow
from srfix.serde.arrow.values import TimeUnit
from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns
from srfix.serde.engine import EncodedBatch
from srfix.serde.errors import ColumnError, EncodeError, UsageError
from srfix.serde.interface import SerdeContext
from srfix.serde.native import kernel
from srfix.serde.registry.client import RegistryClient
from srfix.serde.schemas.errors import RegistryUnreachableError
from srfix.serde.serializer import AvroSerializer
from srfix.serde.subjects.names import Role, role_of
from srfix.serde.wire import Framing, prefix_id_bytes
from tests.bench.shapes import SHAPES, Shape
from tests.examples import examples
from tests.serde import avro_schemas
from tests.serde.arrow.arrow_fields import Fed, fields, scalars
from tests.serde.fakes import MemoryRegistry

VALUE = SerdeContext("orders")
KEY = SerdeContext("orders", Role.KEY)
needs_kernel = pytest.mark.skipif(kernel() is None, reason="the kernel is not there")


def record(named: Mapping[str, object]) -> str:
    """The schema of a record; a name of its types that comes twice is another one the second time."""
    numbers = itertools.count()

    def renamed(part: object) -> object:
        if isinstance(part, dict):
            made = {key: renamed(value) for key, value in part.items()}
            return made | ({"name": f"{part['name']}{next(numbers)}"} if part.get("type") in _NAMED else {})
        return [renamed(each) for each in part] if isinstance(part, list) else part

    return json.dumps(avro_schemas.record("Row", **{name: renamed(avro) for name, avro in named.items()}))


_NAMED = ("record", "enum", "fixed")


def left_by_the_kernel(rows: pa.StructArray, serialize: AvroSerializer, ctx: SerdeContext = VALUE) -> list[int]:
    """The rows that the kernel leaves to Python, once the schema is settled."""
    native = serialize.native_encode(ctx)
    assert native is not None
    encoder = cast("Any", native.encoder)
    _, left = encoder.encode_rows(rows, None, native.prefix, whole_millis=False, null_is_callers=native.is_bare)
    return cast("list[int]", left)


def told(encode: Callable[[], pa.BinaryArray | EncodedBatch]) -> object:
    """What came of it, to be compared."""
    try:
        encoded = encode()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is to be the same
        return type(error), str(error), getattr(error, "paths", None), getattr(error, "position", None)
    if not isinstance(encoded, EncodedBatch):
        return encoded.type, encoded.to_pylist()
    bad = [(row.position, row.reason, str(row.error), vars(row.error), row.payload) for row in encoded.bad]
    return encoded.payloads.type, encoded.payloads.to_pylist(), encoded.positions.to_pylist(), bad


def both_ways(
    rows: pa.StructArray,
    make: Callable[[], AvroSerializer],
    *,
    tombstones: list[bool] | None = None,
    on_error: Literal["fail", "quarantine"] = "quarantine",
    time_unit: TimeUnit = "us",
    ctx: SerdeContext = VALUE,
) -> object:
    """What the kernel makes of rows, which Python makes of them too."""

    def by(engine: EncodeEngine, serialize: AvroSerializer) -> object:
        return told(
            lambda: from_arrow(
                rows, serialize, ctx, tombstones=tombstones, on_error=on_error, time_unit=time_unit, engine=engine
            )
        )

    with patch("srfix.serde.formats.avro.write.kernel.kernel", lambda: None):
        wanted = by(EncodeRowWise, make())
    serialize = make()
    assert by(EncodeKernelWise, serialize) == wanted, "of a serializer that has written nothing"
    assert by(EncodeKernelWise, serialize) == wanted, "and again"
    assert by(EncodeKernelWise, settled(make(), ctx)) == wanted, (
        "of one that has written, though none of these rows fits"
    )
    return wanted


def settled(serialize: AvroSerializer, ctx: SerdeContext) -> AvroSerializer:
    """As it is when a row that fits has been written."""
    role = role_of(ctx.field)
    written = serialize._choice.written(ctx.topic, role)
    prefix = prefix_id_bytes(serialize._choice.publish(written, ctx.topic, role).schema_id)
    serialize._plans[ctx.topic, ctx.field] = (written.encode, prefix)
    return serialize


def _array(fed: Fed, values: list[object]) -> pa.Array:
    try:
        return pa.array(values, fed.arrow)
    except (pa.ArrowException, OverflowError):
        assume(False)  # pyarrow makes no such array
        raise


@st.composite
def _batches(draw: st.DrawFn) -> tuple[str, pa.StructArray]:
    named = draw(fields())
    count = draw(st.integers(1, 6))
    arrays = {
        name: _array(fed, draw(st.lists(fed.values, min_size=count, max_size=count))) for name, fed in named.items()
    }
    fate = draw(st.integers(0, 19))
    if fate == 0:
        arrays.popitem()
    elif fate == 1:
        arrays["other"] = pa.nulls(count)
    mask = draw(st.none() | st.lists(st.integers(0, 9).map(lambda one: one == 0), min_size=count, max_size=count))
    kept = draw(st.permutations(list(arrays)))
    if not kept:
        return record({name: fed.avro for name, fed in named.items()}), pa.array([{}] * count, pa.struct([]))
    rows = pa.StructArray.from_arrays(
        [arrays[name] for name in kept], kept, mask=None if mask is None else pa.array(mask, pa.bool_())
    )
    schema = record({name: fed.avro for name, fed in named.items()})
    return schema, rows.slice(draw(st.integers(0, count)), draw(st.integers(0, count)))


class TestTheSameAsRowByRow:
    @given(_batches(), st.sampled_from(["us", "us", "ms"]), st.booleans(), st.booleans())
    @settings(deadline=None, max_examples=examples(300))
    def test_payloads_and_bad_rows_of_every_type_and_width(
        self, batch: tuple[str, pa.StructArray], time_unit: TimeUnit, cut_times: bool, fails: bool
    ) -> None:
        schema, rows = batch
        both_ways(
            rows,
            lambda: AvroSerializer.for_schema(MemoryRegistry(), schema, cut_times=cut_times),
            time_unit=time_unit,
            on_error="fail" if fails else "quarantine",
        )

    @given(st.data())
    @settings(deadline=None, max_examples=examples(100))
    def test_names_are_matched_by_every_case_rule(self, data: st.DataObject) -> None:
        names = ["ID", "id", "Id", "NAME", "name", "ß", "SS"]
        some = st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)
        declared, given_ = data.draw(some), data.draw(some)
        inner, inner_given = data.draw(some), data.draw(some)
        rule = data.draw(st.sampled_from(CaseRule))
        struct = ", ".join(f"`{name}` INT" for name in inner)
        columns = parse_columns(", ".join(f"`{name}` INT" for name in declared) + f", S STRUCT<{struct}>")
        numbers = pa.array([1, None, 3], pa.int32())
        nested = pa.StructArray.from_arrays(
            [numbers] * len(inner_given), inner_given, mask=pa.array([False, True, False])
        )
        rows = pa.StructArray.from_arrays(
            [*[numbers] * len(given_), nested], [*given_, data.draw(st.sampled_from("Ss"))]
        )
        both_ways(rows, lambda: AvroSerializer(MemoryRegistry(), columns, case_rule=rule, full_name="x.R"))

    @given(st.lists(st.none() | st.integers(-(2**40), 2**40)), st.sampled_from(["A", "a", "B"]), st.booleans())
    @settings(deadline=None)
    def test_bare_columns(self, numbers: list[int | None], name: str, is_key: bool) -> None:
        rows = pa.StructArray.from_arrays([pa.array(numbers, pa.int64())], [name])
        both_ways(
            rows,
            lambda: AvroSerializer(MemoryRegistry(), parse_columns("A INT"), wrap=False),
            ctx=KEY if is_key else VALUE,
        )

    @given(st.lists(st.tuples(st.none() | st.integers(-(2**40), 2**40), st.booleans(), st.booleans())), st.booleans())
    @settings(deadline=None)
    def test_tombstones_and_null_rows(self, drawn: list[tuple[int | None, bool, bool]], fails: bool) -> None:
        numbers, nulls, tombstones = (list(part) for part in zip(*drawn, strict=True)) if drawn else ([], [], [])
        rows = pa.StructArray.from_arrays([pa.array(numbers, pa.int64())], ["A"], mask=pa.array(nulls, pa.bool_()))
        both_ways(
            rows,
            lambda: AvroSerializer(MemoryRegistry(), parse_columns("A INT")),
            tombstones=cast("list[bool]", tombstones),
            on_error="fail" if fails else "quarantine",
        )

    @pytest.mark.parametrize("null", [None, 5])
    def test_columns_under_a_schema_with_defaults(self, null: int | None) -> None:
        text = record({"A": {"type": "int", "connect.default": 7}, "B": "int"})
        schema = json.loads(text)
        schema["fields"][0]["default"] = 5
        schema["fields"].append({"name": "C", "type": ["null", "string"], "default": None})

        def make() -> AvroSerializer:
            registry = MemoryRegistry()
            schema_id = registry.seed("orders-value", json.dumps(schema))
            return AvroSerializer(registry, parse_columns("A INT, B INT"), schema_id=schema_id)

        numbers = pa.array([null, 1, 2**30], pa.int32())
        both_ways(pa.StructArray.from_arrays([numbers, numbers], ["A", "B"]), make)
        both_ways(pa.StructArray.from_arrays([numbers], ["B"]), make)

    def test_a_bare_null_is_no_payload_though_the_schema_has_null(self) -> None:
        def make() -> AvroSerializer:
            registry = MemoryRegistry()
            schema_id = registry.seed("orders-key", '["null", "int"]')
            registry.seed("orders-value", '["null", "int"]')
            return AvroSerializer(registry, parse_columns("A INT"), schema_id=schema_id, wrap=False)

        rows = pa.StructArray.from_arrays([pa.array([1, None, 2], pa.int32())], ["A"])
        for ctx in (KEY, VALUE):
            both_ways(rows, make, ctx=ctx)
        assert from_arrow(rows, make(), KEY).is_null().to_pylist() == [False, True, False]

    def test_times_that_are_finer_than_the_caller_wants(self) -> None:
        schema = record({"A": {"type": "long", "logicalType": "timestamp-micros"}})
        rows = pa.StructArray.from_arrays([pa.array([1_000, 1_001], pa.timestamp("us", "UTC"))], ["A"])
        for unit, bad in (("ms", 1), ("us", 0)):
            told_ = both_ways(
                rows, lambda: AvroSerializer.for_schema(MemoryRegistry(), schema), time_unit=cast("TimeUnit", unit)
            )
            assert len(cast("tuple[Any, ...]", told_)[3]) == bad

    def test_a_type_that_no_column_has_is_told_of_a_batch_without_rows(self) -> None:
        rows = pa.StructArray.from_arrays([pa.array([], pa.duration("s"))], ["A"])
        told_ = both_ways(rows, lambda: AvroSerializer(MemoryRegistry(), parse_columns("A INT")))
        assert cast("tuple[Any, ...]", told_)[0] is ColumnError

    def test_integers_as_times(self) -> None:
        now = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
        for array in (pa.array([1, None], pa.int64()), pa.array([now, None], pa.timestamp("ms", "UTC"))):
            both_ways(
                pa.StructArray.from_arrays([array], ["A"]),
                lambda: AvroSerializer(MemoryRegistry(), parse_columns("A TIMESTAMP"), times="integers"),
            )

    def test_a_union_of_several_types_and_text_that_is_none(self) -> None:
        schema = record({"A": ["null", "int", "string"]})
        rows = pa.StructArray.from_arrays([pa.array(["a", None])], ["A"])
        both_ways(rows, lambda: AvroSerializer.for_schema(MemoryRegistry(), schema))
        broken = pa.StringArray.from_buffers(2, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"a\xff"))
        columns = parse_columns("A STRING")
        both_ways(pa.StructArray.from_arrays([broken], ["A"]), lambda: AvroSerializer(MemoryRegistry(), columns))


def _pairs() -> Iterator[tuple[object, pa.DataType]]:
    for avro, types in scalars:
        for type_ in types:
            yield avro, type_


@needs_kernel
class TestWhatTheKernelWrites:
    @pytest.mark.parametrize(("avro", "type_"), list(_pairs()), ids=str)
    def test_every_width_of_what_a_type_takes(self, avro: object, type_: pa.DataType) -> None:
        is_decimal, is_bytes = pa.types.is_decimal(type_), "binary" in str(type_)
        one: object = "a" if "string" in str(type_) else b"four" if is_bytes else 0 if is_decimal else 1
        if type_ == pa.date64():
            one = 86_400_000
        elif type_ in (pa.time64("ns"), pa.timestamp("ns"), pa.timestamp("ns", "UTC"), pa.timestamp("ns", "+05:00")):
            one = 1_000_000
        elif type_ in (pa.time64("us"), pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.timestamp("us", "+05:00")):
            one = 1_000
        elif "bool" in str(type_):
            one = True
        rows = pa.StructArray.from_arrays([pa.array([one, None, one], type_)], ["A"])
        serialize = AvroSerializer.for_schema(MemoryRegistry(), record({"A": ["null", avro]}))
        serialize({"A": None}, VALUE)
        assert left_by_the_kernel(rows, serialize) == []
        assert left_by_the_kernel(rows.slice(1, 2), serialize) == []

    @pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
    def test_all_rows_of_the_shapes_that_speed_is_measured_with(self, shape: Shape) -> None:
        rows = pa.array([shape.row] * 3, pa.struct(list(pa.RecordBatch.from_pylist([dict(shape.row)]).schema)))
        serialize = AvroSerializer.for_schema(MemoryRegistry(), shape.schema)
        payload = serialize(shape.row, VALUE)
        assert payload is not None
        maps = {"rich20": ["attributes"], "ksql": ["COUNTS"]}.get(shape.name, [])
        for name in maps:
            entries = pa.array([list(cast("dict[str, object]", shape.row[name]).items())] * 3, _MAPS[shape.name])
            names = [field.name for field in rows.type]
            arrays = [entries if each == name else rows.field(each) for each in names]
            rows = pa.StructArray.from_arrays(arrays, names)
        assert left_by_the_kernel(rows, serialize) == []
        assert from_arrow(rows, serialize, VALUE).to_pylist() == [payload] * 3

    def test_no_row_of_a_bare_key_but_its_nulls(self) -> None:
        serialize = AvroSerializer(MemoryRegistry(), parse_columns("A INT KEY, B INT"))
        serialize({"A": 1}, KEY)
        rows = pa.StructArray.from_arrays([pa.array([1, None, 2**40])], ["a"])
        assert left_by_the_kernel(rows, serialize, KEY) == [1, 2]

    def test_payloads_own_their_memory_and_a_batch_without_rows_is_one(self) -> None:
        serialize = AvroSerializer(MemoryRegistry(), parse_columns("A INT"))
        batch = pa.RecordBatch.from_pydict({"A": pa.array([], pa.int32())})
        assert from_arrow(batch, serialize, VALUE).type == pa.binary()
        serialize({"A": 1}, VALUE)
        assert from_arrow(batch, serialize, VALUE).equals(pa.array([], pa.binary()))
        assert from_arrow(batch, serialize, VALUE, on_error="quarantine").positions.type == pa.int64()

    @pytest.mark.slow  # it writes 2 GiB
    def test_payloads_beyond_what_one_array_holds_are_refused_as_ever(self) -> None:
        columns = parse_columns("A STRING")
        serialize = AvroSerializer(MemoryRegistry(), columns)
        serialize({"A": None}, VALUE)
        text = pa.array(["x" * 2**20]).dictionary_encode()
        rows = pa.DictionaryArray.from_arrays(pa.array([0] * 2048, pa.int32()), text.dictionary)
        with pytest.raises(UsageError, match=r"^In this batch the payloads would have more than the 2 GiB"):
            from_arrow(pa.RecordBatch.from_arrays([rows], ["A"]), serialize, VALUE)


_MAPS = {"rich20": pa.map_(pa.string(), pa.string()), "ksql": pa.map_(pa.string(), pa.int64())}


class TestTheFirstRow:
    def test_a_schema_is_registered_once_and_not_for_rows_that_do_not_fit(self) -> None:
        registry = MemoryRegistry()
        serialize = AvroSerializer(registry, parse_columns("A INT"))
        bad = pa.RecordBatch.from_pydict({"A": [2**40] * 3})
        assert len(from_arrow(bad, serialize, VALUE, on_error="quarantine").bad) == 3
        assert registry.count("register") == 0
        good = pa.RecordBatch.from_pydict({"A": [2**40, 1, 2]})
        for _ in range(2):
            encoded = from_arrow(good, serialize, VALUE, on_error="quarantine")
            assert encoded.positions.to_pylist() == [1, 2]
            assert [row.position for row in encoded.bad] == [0]
        assert registry.count("register") == 1

    def test_nothing_behind_the_first_bad_row_is_written_where_that_is_an_error(self) -> None:
        registry = MemoryRegistry()
        registry.failures["register"] = RegistryUnreachableError([("http://registry.test", "refused")])
        serialize = AvroSerializer(registry, parse_columns("A INT"))
        with pytest.raises(EncodeError, match=r"^Row 0 of the batch: "):
            from_arrow(pa.RecordBatch.from_pydict({"A": [2**40, 1]}), serialize, VALUE)

    @pytest.fixture
    def registry(self) -> Iterator[FixtureRegistry]:
        with FixtureRegistry(emulate="8.2") as registry:
            yield registry

    @pytest.mark.parametrize("framing", Framing)
    def test_every_framing_is_that_of_a_row(self, framing: Framing, client: RegistryClient) -> None:
        serialize = AvroSerializer(client, parse_columns("A INT"), schema_id_framing=framing)
        one = SerdeContext("orders", headers=[])
        payload = serialize({"A": 1}, one)
        batch = pa.RecordBatch.from_pydict({"A": [1, 1, 1]})
        for kind in (list, dict):
            headers = kind([("trace", b"1")])
            for _ in range(2):
                written = from_arrow(batch, serialize, SerdeContext("orders", headers=headers))
                assert written.to_pylist() == [payload] * 3
            found = list(headers.items() if isinstance(headers, dict) else headers)
            assert found == [("trace", b"1"), *(one.headers or ())]
        if framing is Framing.HEADER_GUID:
            with pytest.raises(UsageError, match=r"must have headers as a list or a dict"):
                from_arrow(batch, serialize, VALUE)
