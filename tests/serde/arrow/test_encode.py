"""Arrow → payloads."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srfix.serde.arrow.decode import to_arrow
from srfix.serde.arrow.encode import EncodedBatch, from_arrow
from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns
from srfix.serde.columns.types import Columns, Struct
from srfix.serde.deserializer import AvroDeserializer
from srfix.serde.errors import ColumnError, EncodeError, Reason, UsageError
from srfix.serde.interface import Context, SerdeContext
from srfix.serde.resolve.policies import ById
from srfix.serde.schemas.errors import RegistryUnreachableError
from srfix.serde.serializer import AvroSerializer
from srfix.serde.subjects.names import Role
from tests.serde.fakes import MemoryRegistry
from tests.strategies import avro_columns, values_of

VALUE = SerdeContext("orders")
KEY = SerdeContext("orders", Role.KEY)
NOON = datetime.datetime(2020, 6, 16, 12, 0, 0, 123000, tzinfo=datetime.UTC)
NOON_MS = 1592308800123


def seen(value: object, ctx: Context) -> bytes:
    """A serializer that shows what it is given."""
    return repr(value).encode()


def values(array: pa.Array, **options: str) -> list[object]:
    """What a serializer is given for each value of a column A."""
    kept: list[object] = []

    def keep(value: object, ctx: Context) -> bytes:
        assert isinstance(value, dict)
        kept.append(value["A"])
        return b""

    from_arrow(pa.RecordBatch.from_arrays([array], names=["A"]), keep, VALUE, **options)  # type: ignore[call-overload]
    return kept


def serializer(columns: str) -> AvroSerializer:
    return AvroSerializer(MemoryRegistry(), parse_columns(columns))


class TestValues:
    @pytest.mark.parametrize(
        ("type_", "given", "value"),
        [
            (pa.bool_(), True, True),
            (pa.int8(), -5, -5),
            (pa.uint64(), 2**64 - 1, 2**64 - 1),
            (pa.float16(), 1.5, 1.5),
            (pa.float32(), 1.5, 1.5),
            (pa.large_string(), "é", "é"),
            (pa.string_view(), "é", "é"),
            (pa.large_binary(), b"\xff", b"\xff"),
            (pa.binary_view(), b"\xff", b"\xff"),
            (pa.binary(2), b"\xff\x00", b"\xff\x00"),
            (pa.decimal32(5, 2), Decimal("1.50"), Decimal("1.50")),
            (pa.decimal64(5, 2), Decimal("1.50"), Decimal("1.50")),
            (pa.decimal128(38, 38), Decimal("-0." + "9" * 38), Decimal("-0." + "9" * 38)),
            (pa.decimal256(76, 0), Decimal("9" * 76), Decimal("9" * 76)),
            (pa.decimal128(5, -2), Decimal("1E+2"), Decimal("1E+2")),
            (pa.date32(), datetime.date.min, datetime.date.min),
            (pa.date64(), datetime.date.max, datetime.date.max),
            (pa.time32("s"), datetime.time(23, 59, 59), datetime.time(23, 59, 59)),
            (pa.time64("us"), datetime.time(1, 2, 3, 4000), datetime.time(1, 2, 3, 4000)),
            (pa.time64("ns"), 4_000_000, datetime.time(0, 0, 0, 4000)),
            (pa.timestamp("s", tz="UTC"), 0, datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)),
            (pa.timestamp("ms", tz="UTC"), NOON_MS, NOON),
            (pa.timestamp("us", tz="Europe/Paris"), NOON_MS * 1000, NOON),
            (pa.timestamp("ns", tz="+05:00"), NOON_MS * 1_000_000, NOON),
            (pa.timestamp("ms", tz="UTC"), -1, NOON.replace(1969, 12, 31, 23, 59, 59, 999000)),
            (pa.list_(pa.date32()), [datetime.date.min, None], [datetime.date.min, None]),
            (pa.large_list(pa.date32()), [], []),
            (pa.list_(pa.date32(), 1), [datetime.date.min], [datetime.date.min]),
            (pa.list_view(pa.date32()), [datetime.date.min], [datetime.date.min]),
            (pa.large_list_view(pa.int8()), [1], [1]),
            (pa.map_(pa.string(), pa.date32()), {"k": datetime.date.min, "l": None}, ...),
            (pa.struct([("B", pa.date32())]), {"B": datetime.date.min}, {"B": datetime.date.min}),
            (pa.struct([]), {}, {}),
            (
                pa.list_(pa.map_(pa.string(), pa.list_(pa.struct([("B", pa.time32("ms"))])))),
                [{"k": [{"B": None}, None]}, None, {}],
                ...,
            ),
        ],
        ids=str,
    )
    def test_each_type_gives_what_a_serializer_takes_and_none_for_null(
        self, type_: pa.DataType, given: object, value: object
    ) -> None:
        value = given if value is ... else value
        array = pa.array([None, given, None, given], type_)
        for some, wanted in [
            (array, [None, value, None, value]),
            (array.slice(1, 2), [value, None]),
            (array.slice(3), [value]),
        ]:
            got = values(some)
            assert got == wanted
            assert [type(one) for one in got] == [type(one) for one in wanted]
            assert str(got) == str(wanted), "the scale of a decimal, the zone of a time"

    def test_encoded_arrays_are_what_they_hold(self) -> None:
        days = pa.array([datetime.date.min, None, datetime.date.min], pa.date32())
        wanted = [None, datetime.date.min]
        assert values(days.dictionary_encode().slice(1)) == wanted
        assert values(pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3], pa.int32()), days).slice(1)) == wanted
        uuid = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"x" * 16], pa.binary(16)))
        assert values(uuid) == [b"x" * 16]
        assert values(pa.nulls(2)) == [None, None]

    def test_a_dictionary_within_a_list_too(self) -> None:
        words = pa.array(["a", None, "a"]).dictionary_encode()
        assert values(pa.ListArray.from_arrays(pa.array([0, 2, 3], pa.int32()), words)) == [["a", None], ["a"]]

    def test_a_null_struct_is_none_and_not_its_fields(self) -> None:
        array = pa.StructArray.from_arrays([pa.array([1, 2])], names=["B"], mask=pa.array([False, True]))
        assert values(array) == [{"B": 1}, None]


class TestRefusals:
    @pytest.mark.parametrize(
        ("type_", "number", "words"),
        [
            (pa.timestamp("ns", tz="UTC"), 1001, r"1001 ns is not a whole number of microseconds"),
            (pa.time64("ns"), 1, r"1 ns is not a whole number of microseconds"),
            (pa.time32("s"), 86400, r"86400000000 us is not a time of day"),
            (pa.time32("ms"), -1, r"-1000 us is not a time of day"),
            (pa.date64(), 1, r"1 ms is not a whole day"),
            (pa.date32(), -719163, r"ordinal must be >= 1"),
            (pa.date32(), 2**31 - 1, r""),
            (pa.timestamp("s", tz="UTC"), 2**62, r""),
            (pa.timestamp("ms", tz="UTC"), 253402300800000, r"date value out of range"),
        ],
    )
    def test_what_python_cannot_hold_exactly_is_a_bad_row_alone(
        self, type_: pa.DataType, number: int, words: str
    ) -> None:
        width = pa.int32() if type_.bit_width == 32 else pa.int64()
        array = pa.array([0, number, 0], width).view(type_)
        batch = pa.RecordBatch.from_arrays([array], names=["A"])
        with pytest.raises(EncodeError, match=rf"^Row 1 of the batch: .*: A has .*{words}") as caught:
            from_arrow(batch, seen, VALUE)
        assert caught.value.paths == ("->A",)
        encoded = from_arrow(batch, seen, VALUE, on_error="quarantine")
        assert encoded.positions.to_pylist() == [0, 2]
        assert [(row.position, row.reason) for row in encoded.bad] == [(1, Reason.ENCODE_FAILED)]

    def test_microseconds_pass_unless_they_are_not_wanted(self) -> None:
        array = pa.array([1_000], pa.int64()).view(pa.timestamp("ns", tz="UTC"))
        assert values(array) == [datetime.datetime(1970, 1, 1, 0, 0, 0, 1, datetime.UTC)]
        with pytest.raises(EncodeError, match=r"1000 ns is not a whole number of milliseconds"):
            values(array, time_unit="ms")

    def test_two_entries_with_one_key_are_refused(self) -> None:
        array = pa.array([[("a", 1), ("b", 2)], [("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int32()))
        with pytest.raises(EncodeError, match=r"^Row 1 of the batch: .*: A has two entries with the "):
            values(array)

    def test_all_bad_fields_of_a_row_are_named(self) -> None:
        day = pa.array([2**31 - 1], pa.int32()).view(pa.date32())
        entry = pa.StructArray.from_arrays([day, day], names=["C", "D"])
        batch = pa.RecordBatch.from_arrays([day, entry], names=["A", "B"])
        with pytest.raises(EncodeError, match=r"3 fields do not fit: A .*; B->C .*; B->D ") as caught:
            from_arrow(batch, seen, VALUE)
        assert caught.value.paths == ("->A", "->B->C", "->B->D")

    @pytest.mark.parametrize("type_", [pa.duration("s"), pa.month_day_nano_interval()], ids=str)
    def test_a_type_that_no_column_holds_is_refused_before_any_row(self, type_: pa.DataType) -> None:
        with pytest.raises(ColumnError, match=r"^The Arrow type .*, at A->ARRAY, cannot be written\."):
            values(pa.array([], pa.list_(type_)))

    def test_two_fields_of_one_name_are_refused(self) -> None:
        batch = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], names=["A", "A"])
        with pytest.raises(ColumnError, match=r"^Two fields of the batch have the same name: 'A', 'A'\."):
            from_arrow(batch, seen, VALUE)

    def test_a_table_is_refused(self) -> None:
        with pytest.raises(UsageError, match=r"^Rows must be a pyarrow RecordBatch or StructArray\."):
            from_arrow(pa.table({"A": [1]}), seen, VALUE)


class TestRows:
    def test_a_row_that_the_serializer_refuses_says_its_position_and_all_its_fields(self) -> None:
        batch = pa.RecordBatch.from_pydict({"A": [1, 2**40, 3], "B": ["x", "y", "z"]})
        with pytest.raises(EncodeError, match=r"^Row 0 of the batch: A value for topic 'orders': 1 field does not fit"):
            from_arrow(batch, serializer("A INT, B INT"), VALUE)
        encoded = from_arrow(batch.select(["A"]), serializer("A INT"), VALUE, on_error="quarantine")
        assert encoded.positions.to_pylist() == [0, 2]
        assert encoded.payloads.to_pylist() == [b"\x00\x00\x00\x00\x01\x02\x02", b"\x00\x00\x00\x00\x01\x02\x06"]
        assert [(row.position, row.reason, row.payload) for row in encoded.bad] == [(1, Reason.ENCODE_FAILED, None)]
        (bad,) = encoded.bad
        assert isinstance(bad.error, EncodeError)
        assert bad.error.paths == ("->A",)

    def test_fields_are_matched_by_the_serializers_case_rule(self) -> None:
        batch = pa.RecordBatch.from_pydict({"b": [2], "a": [1], "B": [3]})
        payloads = from_arrow(batch, serializer("A INT, `b` INT, B INT"), VALUE)
        assert payloads.to_pylist() == [b"\x00\x00\x00\x00\x01\x02\x02\x02\x04\x02\x06"]
        ambiguous = pa.RecordBatch.from_pydict({"foo": [1], "Foo": [2]})
        with pytest.raises(EncodeError, match=r"^Row 0 of the batch: .* Column 'FOO' could be fed by several fields"):
            from_arrow(ambiguous, serializer("FOO INT"), VALUE)

    def test_a_null_struct_is_no_tombstone_unless_it_is_said_to_be(self) -> None:
        rows = pa.array([{"A": 1}, None], pa.struct([("A", pa.int32())]))
        with pytest.raises(EncodeError, match=r"^Row 1 of the batch: .* not marked as a tombstone\."):
            from_arrow(rows, serializer("A INT"), VALUE)
        assert from_arrow(rows, serializer("A INT"), VALUE, tombstones=[False, True]).null_count == 1
        encoded = from_arrow(rows, serializer("A INT"), VALUE, on_error="quarantine")
        assert (len(encoded.payloads), encoded.payloads.null_count, len(encoded.bad)) == (1, 0, 1)

    def test_a_row_of_nulls_is_a_row(self) -> None:
        batch = pa.RecordBatch.from_pydict({"A": pa.array([None], pa.int32())})
        assert from_arrow(batch, serializer("A INT"), VALUE).to_pylist() == [b"\x00\x00\x00\x00\x01\x00"]

    def test_a_tombstone_is_one_whatever_its_row_holds_and_is_not_serialized(self) -> None:
        batch = pa.RecordBatch.from_pydict({"A": [2**40, 1]})
        for mask in ([True, False], pa.array([True, False])):
            assert from_arrow(batch, serializer("A INT"), VALUE, tombstones=mask).is_null().to_pylist() == [True, False]

    @pytest.mark.parametrize("mask", [[True], [True, None], pa.array([True, None]), [1, 0]], ids=str)
    def test_the_mask_says_yes_or_no_of_each_row(self, mask: Sequence[bool]) -> None:
        with pytest.raises(UsageError, match=r"^tombstones= needs True or False for each of the 2 rows; it has "):
            from_arrow(pa.RecordBatch.from_pydict({"A": [1, 2]}), seen, VALUE, tombstones=mask)

    def test_no_payload_for_a_value_that_is_no_tombstone_is_an_error_and_for_a_key_is_null(self) -> None:
        def nothing(row: object, ctx: Context) -> bytes | None:
            return None

        batch = pa.RecordBatch.from_pydict({"A": [1]})
        with pytest.raises(EncodeError, match=r"^Row 0 of the batch: The serializer gives no payload for the row"):
            from_arrow(batch, nothing, VALUE)
        assert from_arrow(batch, nothing, KEY).to_pylist() == [None]

    def test_behind_the_first_bad_row_none_is_serialized_where_that_is_an_error(self) -> None:
        met: list[object] = []

        def refuse(row: object, ctx: Context) -> bytes:
            met.append(row)
            raise EncodeError("no")

        batch = pa.RecordBatch.from_pydict({"A": [1, 2]})
        with pytest.raises(EncodeError, match=r"^Row 0 of the batch: no$"):
            from_arrow(batch, refuse, VALUE)
        assert met == [{"A": 1}]

    def test_an_outage_is_raised_in_quarantine_too(self) -> None:
        registry = MemoryRegistry()
        registry.failures["register"] = RegistryUnreachableError([("http://registry.test", "refused")])
        write = AvroSerializer(registry, parse_columns("A INT"))
        with pytest.raises(RegistryUnreachableError):
            from_arrow(pa.RecordBatch.from_pydict({"A": [1]}), write, VALUE, on_error="quarantine")

    @pytest.mark.parametrize("count", [0, 1, 1000, 1001, 2500])
    def test_many_rows_keep_their_order(self, count: int) -> None:
        batch = pa.RecordBatch.from_pydict({"A": pa.array(range(count), pa.int32())})
        payloads = from_arrow(batch, serializer("A INT"), VALUE)
        assert payloads.type == pa.binary()
        deserializer = AvroSerializer(MemoryRegistry(), parse_columns("A INT"))
        assert payloads.to_pylist() == [deserializer({"A": number}, VALUE) for number in range(count)]

    def test_contexts_may_differ_from_row_to_row(self) -> None:
        topics: list[str] = []

        def note(row: object, ctx: Context) -> bytes:
            topics.append(ctx.topic)
            return b""

        batch = pa.RecordBatch.from_pydict({"A": [1, 2]})
        from_arrow(batch, note, [VALUE, SerdeContext("other")])
        assert topics == ["orders", "other"]

    def test_a_schema_that_exists_is_written_under(self) -> None:
        text = json.dumps({"type": "record", "name": "R", "fields": [{"name": "at", "type": "long"}]})
        write = AvroSerializer.for_schema(MemoryRegistry(), text)
        payloads = from_arrow(pa.RecordBatch.from_pydict({"at": pa.array([3], pa.int16())}), write, VALUE)
        assert payloads.to_pylist() == [b"\x00\x00\x00\x00\x01\x06"]


@st.composite
def _columns_and_rows(draw: st.DrawFn) -> tuple[Columns, list[object]]:
    columns = draw(avro_columns)
    return columns, draw(st.lists(values_of(Struct(columns)), max_size=6))


class TestProperties:
    @given(_columns_and_rows(), st.integers(0, 6))
    @settings(deadline=None)
    def test_what_to_arrow_reads_from_arrow_writes_with_the_same_bytes(
        self, columns_and_rows: tuple[Columns, list[object]], offset: int
    ) -> None:
        columns, rows = columns_and_rows
        registry = MemoryRegistry()
        write = AvroSerializer(registry, columns, case_rule=CaseRule.EXACT)
        read = AvroDeserializer(ById(registry), columns=columns, case_rule=CaseRule.EXACT)
        payloads = [write(row, VALUE) for row in rows][offset:]
        batch = to_arrow(payloads, VALUE, read, with_reason=True)
        names = [column.name for column in columns]
        tombstones = [reason is not None for reason in batch.columns[-1].to_pylist()]
        written = from_arrow(batch.select(names), write, VALUE, tombstones=tombstones, on_error="quarantine")
        assert isinstance(written, EncodedBatch)
        assert written.bad == ()
        assert written.payloads.to_pylist() == payloads
