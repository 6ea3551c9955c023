"""Payloads → Arrow."""

from __future__ import annotations

import datetime
import decimal
import json
import pickle
import subprocess
import sys
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srfix.serde.arrow.decode import to_arrow
from srfix.serde.arrow.kernel_wise import KernelWise
from srfix.serde.arrow.row_wise import RowWise
from srfix.serde.arrow.types import arrow_schema
from srfix.serde.batches.rows import ROWS_AT_A_TIME, deserialize_many
from srfix.serde.bounds import PayloadBounds, bound_payloads
from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns
from srfix.serde.columns.types import MAX_NESTING, Columns, Struct
from srfix.serde.deserializer import AvroDeserializer, JsonDeserializer, KafkaDeserializer, SchemaDeserializer
from srfix.serde.engine import DecodedBatch
from srfix.serde.errors import (
    ColumnError,
    IncompatibleTypeError,
    OutOfRangeError,
    Reason,
    ResolveError,
    TrailingBytesError,
    UsageError,
)
from srfix.serde.interface import BadRow, Context, Contexts, Deserializer, OnError, Payloads, SerdeContext, Value
from srfix.serde.native import kernel
from srfix.serde.resolve.policies import ById
from srfix.serde.schemas.errors import RegistryUnreachableError
from srfix.serde.serializer import AvroSerializer
from srfix.serde.subjects.names import Role
from srfix.serde.wire import frame_id
from tests.serde.fakes import MemoryRegistry
from tests.strategies import avro_columns, values_of

VALUE = SerdeContext("orders")
TEXT = json.dumps(
    {"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}, {"name": "Name", "type": "string"}]}
)
COLUMNS = parse_columns("ID BIGINT, NAME STRING")
GOOD = frame_id(1, b"\x0e\x06tea")
ROW = {"ID": 7, "NAME": "tea"}
NULLS = {"ID": None, "NAME": None}


@pytest.fixture
def registry() -> MemoryRegistry:
    registry = MemoryRegistry()
    registry.seed("orders-value", TEXT)
    return registry


@pytest.fixture
def deserializer(registry: MemoryRegistry) -> AvroDeserializer:
    return AvroDeserializer(ById(registry), columns=COLUMNS)


def about(reason: str | None = None, message: str | None = None, payload: bytes | None = None) -> dict[str, object]:
    return {"_srfix_reason": reason, "_srfix_message": message, "_srfix_payload": payload}


class TestRows:
    def test_each_column_is_an_array_of_its_type(self, deserializer: AvroDeserializer) -> None:
        batch = to_arrow([GOOD, GOOD], VALUE, deserializer)
        assert batch.schema == arrow_schema(COLUMNS)
        assert batch.to_pylist() == [ROW, ROW]

    @pytest.mark.parametrize("on_error", ["fail", "quarantine"])
    @pytest.mark.parametrize(
        "nothing", [[], pa.array([], pa.binary()), pa.chunked_array([], pa.binary())], ids=["list", "array", "chunks"]
    )
    def test_no_payloads_make_an_empty_batch_and_ask_nobody(
        self, registry: MemoryRegistry, deserializer: AvroDeserializer, nothing: Payloads, on_error: OnError
    ) -> None:
        batch = to_arrow(nothing, VALUE, deserializer, on_error=on_error)
        assert batch.num_rows == 0
        assert batch.schema == arrow_schema(COLUMNS, on_error=on_error)
        assert registry.calls == []

    @pytest.mark.parametrize("count", [1, ROWS_AT_A_TIME - 1, ROWS_AT_A_TIME, ROWS_AT_A_TIME + 1, 2500])
    def test_many_rows_keep_their_order(self, deserializer: AvroDeserializer, count: int) -> None:
        payloads = [frame_id(1, bytes([number % 64 * 2]) + b"\x06tea") for number in range(count)]
        batch = to_arrow(payloads, VALUE, deserializer)
        assert batch.column("ID").to_pylist() == [number % 64 for number in range(count)]

    @pytest.mark.parametrize(
        "type_",
        [
            pa.binary(),
            pa.large_binary(),
            pa.binary_view(),
            pa.dictionary(pa.int32(), pa.binary()),
            pa.binary(len(GOOD)),
        ],
        ids=str,
    )
    def test_payloads_come_in_any_binary_type_sliced_and_chunked(
        self, deserializer: AvroDeserializer, type_: pa.DataType
    ) -> None:
        array = pa.array([GOOD, None, GOOD, GOOD], pa.binary()).cast(type_)
        wanted = [NULLS, ROW, ROW]
        assert to_arrow(array.slice(1), VALUE, deserializer).to_pylist() == wanted
        assert (
            to_arrow(pa.chunked_array([array.slice(1, 1), array.slice(2)]), VALUE, deserializer).to_pylist() == wanted
        )
        quarantine = to_arrow(array.slice(1), VALUE, deserializer, on_error="quarantine")
        assert quarantine.column("_srfix_reason").to_pylist() == ["TOMBSTONE", None, None]

    def test_an_array_of_nulls_alone_is_tombstones(self, deserializer: AvroDeserializer) -> None:
        assert to_arrow(pa.nulls(2), VALUE, deserializer).to_pylist() == [NULLS, NULLS]

    def test_what_is_no_bytes_is_refused(self, deserializer: AvroDeserializer) -> None:
        with pytest.raises(UsageError, match=r"^Payloads must be bytes, but these have the Arrow type string\."):
            to_arrow(pa.array(["a"]), VALUE, deserializer)

    def test_a_key_has_the_columns_that_are_marked_as_key(self, registry: MemoryRegistry) -> None:
        columns = parse_columns("ID BIGINT KEY, NAME STRING")
        deserializer = AvroDeserializer(ById(registry), columns=columns, wrap=True)
        keys = to_arrow([GOOD], SerdeContext("orders", Role.KEY), deserializer)
        assert keys.to_pylist() == [{"ID": 7}]
        assert to_arrow([GOOD], VALUE, deserializer).to_pylist() == [{"NAME": "tea"}]
        assert to_arrow([GOOD], VALUE, deserializer, columns=columns).to_pylist() == [{"NAME": "tea"}]
        with pytest.raises(UsageError, match=r"^A batch has keys or values, but not both\."):
            to_arrow([GOOD] * 2, [VALUE, SerdeContext("orders", Role.KEY)], deserializer)

    def test_contexts_may_differ_from_row_to_row(self, deserializer: AvroDeserializer) -> None:
        contexts = [VALUE, SerdeContext("other")]
        assert to_arrow([GOOD] * 2, contexts, deserializer).to_pylist() == [ROW, ROW]


class TestBadRows:
    @pytest.mark.parametrize("as_array", [False, True])
    def test_they_are_nulls_with_reason_message_and_bytes(self, deserializer: AvroDeserializer, as_array: bool) -> None:
        given: list[bytes | None] = [GOOD, None, GOOD + b"!", b"{}", GOOD]
        payloads: Payloads = pa.array(given, pa.binary()) if as_array else given
        rows = to_arrow(payloads, VALUE, deserializer, on_error="quarantine").to_pylist()
        messages = [row["_srfix_message"] for row in rows]
        assert messages[2].startswith("A value of topic 'orders', schema id 1: 1 of the body's 6 bytes are left over")
        assert rows == [
            ROW | about(),
            NULLS | about("TOMBSTONE"),
            NULLS | about("TRAILING_BYTES", messages[2], GOOD + b"!"),
            NULLS | about("BAD_MAGIC", messages[3], b"{}"),
            ROW | about(),
        ]

    def test_they_are_found_behind_the_first_thousand_too(self) -> None:
        columns = parse_columns("A INT")
        rows: list[Value] = [{"A": number} for number in range(2500)]
        rows[0], rows[1700], rows[2100] = None, None, {"A": 2**31}
        batch = to_arrow([b"x"] * 2500, VALUE, Fixed(rows, columns), on_error="quarantine")
        reasons = batch.column("_srfix_reason").to_pylist()
        bad = {0: "TOMBSTONE", 1700: "TOMBSTONE", 2100: "OVERFLOW"}
        assert {number: reason for number, reason in enumerate(reasons) if reason} == bad
        assert batch.column("A").to_pylist() == [None if number in bad else number for number in range(2500)]

    def test_an_id_that_is_refused_has_the_words_that_a_call_has(self, deserializer: AvroDeserializer) -> None:
        unknown = frame_id(99, b"\x0e")
        with pytest.raises(ResolveError) as refused:
            deserializer(unknown, VALUE)
        batch = to_arrow([unknown, GOOD, unknown], VALUE, deserializer, on_error="quarantine")
        assert batch["_srfix_message"].to_pylist() == [refused.value.message, None, refused.value.message]

    def test_what_is_raised_for_a_whole_batch_is_about_the_first_row(self, registry: MemoryRegistry) -> None:
        first, second = (registry.seed(name, f'{{"title":"{name}"}}', schema_type="JSON") for name in "xy")
        local = SchemaDeserializer(ById(registry), columns=parse_columns("ID TIMESTAMP_NTZ"))
        with pytest.raises(ColumnError, match=rf"^A value of topic 'orders', schema id {second}: json_sr has no local"):
            to_arrow([frame_id(second, b"{}"), frame_id(first, b"{}")], VALUE, local, on_error="quarantine")

    def test_a_body_that_is_cut_off_is_beyond_bounds_that_no_row_is_within(self, registry: MemoryRegistry) -> None:
        before = bound_payloads(PayloadBounds(values=1, values_per_byte=8))
        try:
            narrow = AvroDeserializer(ById(registry), columns=COLUMNS)
            batch = to_arrow([GOOD, frame_id(1, b"")], VALUE, narrow, on_error="quarantine")
        finally:
            bound_payloads(before)
        assert batch["_srfix_reason"].to_pylist() == [None, "BEYOND_BOUNDS"]

    def test_halves_of_a_letter_in_two_rows_make_no_text(self, registry: MemoryRegistry) -> None:
        """Texts are checked a column at a time, and "é" is one there."""
        registry.seed(
            "maps-value", '{"type":"record","name":"M","fields":[{"name":"m","type":{"type":"map","values":"int"}}]}'
        )
        deserialize = AvroDeserializer(
            ById(registry), columns=parse_columns("ID BIGINT, NAME STRING, M MAP<STRING, INT>")
        )
        names = [b"\x06\xc3", b"\x06\xa9", b"\x06\xc3\xa9", b"\x06e"]
        payloads = [frame_id(1, b"\x0e" + bytes((2 * (len(name) - 1),)) + name[1:]) for name in names]
        payloads += [frame_id(2, b"\x02\x02" + half + b"\x02\x00") for half in (b"\xc3", b"\xa9", b"e")]
        batch = to_arrow(payloads, VALUE, deserialize, on_error="quarantine")
        failed = "DECODE_FAILED"
        assert batch["_srfix_reason"].to_pylist() == [failed, failed, None, None, failed, failed, None]
        assert batch["NAME"].to_pylist() == [None, None, "é", "e", None, None, None]
        assert batch["M"].to_pylist() == [*[None] * 6, [("e", 1)]]

    def test_a_bad_row_survives_a_process(self, deserializer: AvroDeserializer) -> None:
        """Its error may not have been made yet."""
        engine = KernelWise if kernel() else RowWise
        (row,) = engine(deserializer, COLUMNS, Role.VALUE)([GOOD[:-1], GOOD], VALUE).bad
        again = pickle.loads(pickle.dumps(row))
        assert (again.position, again.reason, again.payload) == (0, Reason.TRUNCATED, GOOD[:-1])
        assert (again.message, str(again.error)) == (row.message, str(row.error))

    @pytest.mark.parametrize("name", ["name", "näme", "n" * 1000], ids=["plain", "not ASCII", "long"])
    def test_bad_rows_say_in_columns_what_they_say_one_by_one(self, registry: MemoryRegistry, name: str) -> None:
        """Of several schemas, cut off and left over, beside a tombstone and alone."""
        ids = [
            registry.seed(subject, json.dumps({"type": "record", "name": "R", "fields": fields}))
            for subject, fields in (
                ("one", [{"name": "ID", "type": "long"}, {"name": name, "type": "string"}]),
                ("two", [{"name": "ID", "type": "long"}, {"name": "other", "type": "string"}]),
            )
        ]
        deserialize = AvroDeserializer(ById(registry), columns=parse_columns("ID BIGINT"))
        bodies = (b"\x02\x04ab", b"\x02\x04a", b"\x02\x04abc", b"\x02\x04\xff\xff")
        payloads: list[bytes | None] = [frame_id(schema_id, body) for body in bodies for schema_id in ids]
        for some in (payloads, [*payloads, None], payloads[2:], payloads[:3]):
            batch = to_arrow(some, VALUE, deserialize, on_error="quarantine")
            assert batch.equals(to_arrow(some, VALUE, deserialize, on_error="quarantine", engine=RowWise))
            rows = deserialize_many(some, VALUE, deserialize, on_error="quarantine")
            said = [(row.reason.value, row.message, row.payload) for row in rows if isinstance(row, BadRow)]
            columns = [batch[f"_srfix_{column}"].to_pylist() for column in ("reason", "message", "payload")]
            assert [one for one in zip(*columns, strict=True) if one[2] is not None] == said

    def test_a_boolean_of_several_bytes_is_what_it_is_where_a_column_refuses_it(self, registry: MemoryRegistry) -> None:
        text = '{"type":"record","name":"B","fields":[{"name":"id","type":"boolean"}]}'
        payload = frame_id(registry.seed("x", text), b"\x81\x80\x80\x00")
        for columns in (COLUMNS, parse_columns("ID BOOLEAN")):
            deserialize = AvroDeserializer(ById(registry), columns=columns)
            (row,) = deserialize_many([payload], VALUE, deserialize, on_error="quarantine")
            (batch,) = to_arrow([payload], VALUE, deserialize, on_error="quarantine").to_pylist()
            expected = row.reason.value if isinstance(row, BadRow) else row
            assert (batch["_srfix_reason"] or {"ID": batch["ID"]}) == expected

    def test_without_quarantine_the_first_is_raised_with_its_position(self, deserializer: AvroDeserializer) -> None:
        payloads = [GOOD] * 1500 + [GOOD + b"!"] + [b""]
        with pytest.raises(TrailingBytesError, match=r"^Row 1500 of the batch: A value of topic 'orders'") as caught:
            to_arrow(payloads, VALUE, deserializer)
        assert vars(caught.value)["position"] == 1500

    def test_a_reason_column_tells_tombstones_from_rows_of_nulls(self) -> None:
        registry = MemoryRegistry()
        columns = parse_columns("A INT")
        payload = AvroSerializer(registry, columns)({"A": None}, VALUE)
        batch = to_arrow([payload, None], VALUE, AvroDeserializer(ById(registry), columns=columns), with_reason=True)
        assert batch.to_pylist() == [{"A": None, "_srfix_reason": None}, {"A": None, "_srfix_reason": "TOMBSTONE"}]
        assert batch.schema == arrow_schema(columns, with_reason=True)

    def test_an_outage_is_raised_in_quarantine_too(
        self, registry: MemoryRegistry, deserializer: AvroDeserializer
    ) -> None:
        registry.failures["schema_by_id"] = RegistryUnreachableError([("http://registry.test", "refused")])
        with pytest.raises(RegistryUnreachableError):
            to_arrow([GOOD], VALUE, deserializer, on_error="quarantine")

    @pytest.mark.parametrize("type_", ["STRUCT<A {}>", "MAP<STRING, {}>", "ARRAY<{}>"])
    @pytest.mark.parametrize("levels", [29, 30, 45, MAX_NESTING - 1])
    def test_columns_nest_as_deep_as_they_may(self, registry: MemoryRegistry, type_: str, levels: int) -> None:
        columns = "INT"
        for _ in range(levels):
            columns = type_.format(columns)
        text = '{"type":"record","name":"D","fields":[{"name":"id","type":"int"},{"name":"n","type":["null","int"]}]}'
        payload = frame_id(registry.seed("x", text), b"\x02\x00")
        deep = AvroDeserializer(ById(registry), columns=parse_columns(f"ID INT, DEEP {columns}"))
        batch = to_arrow([payload, payload[:-1]], VALUE, deep, on_error="quarantine")
        assert batch["_srfix_reason"].to_pylist() == [None, "TRUNCATED"]

    def test_columns_of_their_own_names_are_left_alone(self, registry: MemoryRegistry) -> None:
        text = '{"type": "record", "name": "R", "fields": [{"name": "_srfix_reason", "type": "int"}]}'
        registry.seed("orders-value", text)
        columns = parse_columns("`_srfix_reason` INT")
        deserializer = AvroDeserializer(ById(registry), columns=columns, case_rule=CaseRule.EXACT)
        (row,) = to_arrow([frame_id(2, b"\x02")], VALUE, deserializer, on_error="quarantine").to_pylist()
        assert row["_srfix_reason"] == 1
        assert row["__srfix_reason"] is None


class Fixed:
    """A deserializer that gives the rows it was made with, and vouches for their columns, or not."""

    def __init__(self, rows: Sequence[Value], columns: Columns | None) -> None:
        self._rows = iter(rows)
        self._columns = columns

    def columns_of(self, role: Role) -> Columns | None:
        return self._columns

    def __call__(self, payload: bytes | None, ctx: Context, /) -> Value:
        return next(self._rows)


def _unfit(columns: str, value: object, *, vouched: bool) -> dict[str, object]:
    """The second of three rows, the other two being null, and what is said of it."""
    declared = parse_columns(columns)
    fixed = Fixed([{"A": None}, {"A": value}, {"A": None}], declared if vouched else None)  # type: ignore[dict-item]
    batch = to_arrow([b"1", b"2", b"3"], VALUE, fixed, columns=declared, on_error="quarantine")
    first, second, third = batch.to_pylist()
    assert first == third == {"A": None} | about()
    assert second["_srfix_payload"] == b"2"
    return dict(second)


NEVER_WRONG = [
    ("A INT", 2**31, "OVERFLOW"),
    ("A INT", -(2**31) - 1, "OVERFLOW"),
    ("A BIGINT", 2**63, "OVERFLOW"),
    ("A DECIMAL(3, 1)", decimal.Decimal("100.0"), "OVERFLOW"),
    ("A DECIMAL(3, 1)", decimal.Decimal("1.25"), "OVERFLOW"),
    ("A DECIMAL(3, 1)", decimal.Decimal("NaN"), "BAD_VALUE"),
    ("A STRING", "\ud800", "BAD_VALUE"),
    ("A MAP<STRING, INT>", {None: 1}, "BAD_VALUE"),
    ("A ARRAY<INT>", [1, 2**31], "OVERFLOW"),
    ("A MAP<STRING, INT>", {"k": 2**31}, "OVERFLOW"),
    ("A STRUCT<B INT>", {"B": 2**31}, "OVERFLOW"),
    ("A STRING", 5, "TYPE_MISMATCH"),
    ("A INT", "5", "TYPE_MISMATCH"),
    ("A INT", True, "TYPE_MISMATCH"),
    ("A ARRAY<INT>", 5, "TYPE_MISMATCH"),
]
UNVOUCHED = [
    ("A INT", 1.5, "TYPE_MISMATCH"),
    ("A DOUBLE", 1, "TYPE_MISMATCH"),
    ("A BYTES", "a", "TYPE_MISMATCH"),
    ("A STRING", b"a", "TYPE_MISMATCH"),
    ("A BOOLEAN", 1, "TYPE_MISMATCH"),
    ("A DATE", datetime.datetime(2020, 1, 1), "TYPE_MISMATCH"),
    ("A DATE", 5, "TYPE_MISMATCH"),
    ("A TIMESTAMP", datetime.date(2020, 1, 1), "TYPE_MISMATCH"),
    ("A TIMESTAMP", datetime.datetime(2020, 1, 1), "BAD_VALUE"),
    (
        "A TIMESTAMP",
        datetime.datetime(1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
        "OVERFLOW",
    ),
    ("A TIME", datetime.time(0, 0, 0, 1, tzinfo=datetime.UTC), "BAD_VALUE"),
    ("A DECIMAL(3, 1)", 1, "TYPE_MISMATCH"),
    ("A STRUCT<B INT>", {"b": 1}, "TYPE_MISMATCH"),
    ("A STRUCT<B INT>", [1], "TYPE_MISMATCH"),
    ("A MAP<STRING, INT>", [("k", 1)], "TYPE_MISMATCH"),
]
"""What pyarrow would take, and make something else of."""


class TestValuesThatArrowCannotHold:
    @pytest.mark.parametrize("vouched", [True, False])
    @pytest.mark.parametrize(("columns", "value", "reason"), NEVER_WRONG)
    def test_they_make_a_bad_row_and_never_another_value(
        self, columns: str, value: object, reason: str, vouched: bool
    ) -> None:
        row = _unfit(columns, value, vouched=vouched)
        assert (row["A"], row["_srfix_reason"]) == (None, reason)
        assert str(row["_srfix_message"]).startswith("The row does not fit its Arrow columns: A")

    @pytest.mark.parametrize(("columns", "value", "reason"), UNVOUCHED)
    def test_a_row_that_nobody_vouches_for_is_checked(self, columns: str, value: object, reason: str) -> None:
        row = _unfit(columns, value, vouched=False)
        assert (row["A"], row["_srfix_reason"]) == (None, reason)

    @pytest.mark.parametrize(
        ("columns", "value"),
        [
            ("A DECIMAL(3, 1)", decimal.Decimal("99.900")),
            ("A DECIMAL(5, 0)", decimal.Decimal("1E+4")),
            ("A DECIMAL(2, 2)", decimal.Decimal("-0.99")),
            ("A INT", -(2**31)),
            ("A DOUBLE", float("inf")),
            ("A TIME", datetime.time(0, 0, 0, 1)),
            ("A TIMESTAMP", datetime.datetime(2020, 1, 1, 0, 0, 0, 1, tzinfo=datetime.UTC)),
        ],
    )
    def test_what_fits_exactly_is_taken(self, columns: str, value: object) -> None:
        declared = parse_columns(columns)
        fixed = Fixed([{"A": value}], None)  # type: ignore[dict-item]
        assert to_arrow([b""], VALUE, fixed, columns=declared).to_pylist() == [{"A": value}]

    def test_all_bad_fields_of_a_row_are_named_with_their_paths(self) -> None:
        columns = parse_columns("A INT, B ARRAY<STRUCT<C INT>>, D MAP<STRING, INT>")
        row: Value = {"A": 2**31, "B": [{"C": 1}, {"C": "x"}], "D": {"k": 2**40}}
        with pytest.raises(OutOfRangeError, match=r"A is .*; B->ARRAY->C is .*; D->MAP_VAL is ") as caught:
            to_arrow([b""], VALUE, Fixed([row], columns))
        assert (caught.value.path, caught.value.column_type) == ("->A", "INTEGER")

    def test_a_row_without_a_column_is_a_bad_row(self) -> None:
        with pytest.raises(IncompatibleTypeError, match=r"the row has no field 'A'; it has 'a'\.$"):
            to_arrow([b""], VALUE, Fixed([{"a": 1}], None), columns=parse_columns("A INT"))

    @pytest.mark.parametrize("vouched", [True, False])
    def test_a_value_that_is_no_record_is_a_bad_row(self, vouched: bool) -> None:
        columns = parse_columns("A INT")
        fixed = Fixed([5, {"A": 1}], columns if vouched else None)
        batch = to_arrow([b"", b""], VALUE, fixed, columns=columns, on_error="quarantine")
        assert batch.column("_srfix_reason").to_pylist() == ["TYPE_MISMATCH", None]
        assert batch.column("A").to_pylist() == [None, 1]

    @pytest.mark.parametrize("vouched", [True, False])
    def test_none_is_a_tombstone_whatever_the_payload(self, vouched: bool) -> None:
        columns = parse_columns("A INT")
        fixed = Fixed([None, None], columns if vouched else None)
        batch = to_arrow([b"null", None], VALUE, fixed, columns=columns, on_error="quarantine")
        assert batch.to_pylist() == [{"A": None} | about("TOMBSTONE")] * 2

    def test_a_decimal_beyond_arrows_is_refused_before_any_row(self) -> None:
        with pytest.raises(ColumnError):
            to_arrow([b""], VALUE, Fixed([], parse_columns("A DECIMAL(77, 0)")))


class TestOtherFormats:
    def test_json(self) -> None:
        deserializer = JsonDeserializer(columns=parse_columns("A INT, B MAP<STRING, ARRAY<DECIMAL(5, 2)>>"))
        payloads = [b'{"a": 1, "B": {"x": [1.5, null]}}', None, b"null", b"{", b'{"A": "x"}', b"5"]
        batch = to_arrow(payloads, VALUE, deserializer, on_error="quarantine")
        nothing = {"A": None, "B": None}
        rows = batch.select(["A", "B"]).to_pylist(maps_as_pydicts="strict")
        assert rows == [{"A": 1, "B": {"x": [decimal.Decimal("1.50"), None]}}, *[nothing] * 5]
        reasons = [None, "TOMBSTONE", "TOMBSTONE", "TRUNCATED", "BAD_VALUE", "TYPE_MISMATCH"]
        assert batch.column("_srfix_reason").to_pylist() == reasons

    def test_keys_of_kafkas_own_format(self) -> None:
        deserializer = KafkaDeserializer(parse_columns("A INT KEY, B STRING"))
        batch = to_arrow(
            [bytes([0, 0, 0, 5]), None, b"1"], SerdeContext("orders", Role.KEY), deserializer, on_error="quarantine"
        )
        assert batch.column("A").to_pylist() == [5, None, None]
        assert batch.column("_srfix_reason").to_pylist() == [None, "TOMBSTONE", "TRUNCATED"]


class TestColumns:
    def test_a_deserializer_without_columns_needs_them_here(self, registry: MemoryRegistry) -> None:
        deserializer = AvroDeserializer(ById(registry))
        with pytest.raises(UsageError, match=r"^The deserializer has no columns\. Make it with columns="):
            to_arrow([GOOD], VALUE, deserializer)
        columns = parse_columns("`Name` STRING, `id` INT")
        assert to_arrow([GOOD], VALUE, deserializer, columns=columns).to_pylist() == [{"Name": "tea", "id": 7}]

    def test_a_plain_function_is_a_deserializer(self) -> None:
        def read(payload: bytes | None, ctx: Context) -> Value:
            return {"A": payload}

        assert to_arrow([b"x"], VALUE, read, columns=parse_columns("A BYTES")).to_pylist() == [{"A": b"x"}]

    def test_another_engine_stands_behind_the_seam(self, deserializer: AvroDeserializer) -> None:
        made: list[tuple[Deserializer, Columns, Role]] = []

        class Kernel:
            def __init__(self, deserializer: Deserializer, columns: Columns, role: Role) -> None:
                made.append((deserializer, columns, role))
                self._rows = RowWise(deserializer, columns, role)

            def __call__(self, payloads: Payloads, ctx: Contexts, /) -> DecodedBatch:
                return self._rows(payloads, ctx)

        assert to_arrow([GOOD], VALUE, deserializer, engine=Kernel).to_pylist() == [ROW]
        assert made == [(deserializer, COLUMNS, Role.VALUE)]


@st.composite
def _columns_and_rows(draw: st.DrawFn) -> tuple[Columns, list[dict[str, object] | None]]:
    columns = draw(avro_columns)
    rows = draw(st.lists(values_of(Struct(columns)), max_size=6))
    return columns, rows  # type: ignore[return-value]


def _encoded(columns: Columns, rows: Sequence[object]) -> tuple[AvroDeserializer, list[bytes | None]]:
    registry = MemoryRegistry()
    serializer = AvroSerializer(registry, columns, case_rule=CaseRule.EXACT)
    deserializer = AvroDeserializer(ById(registry), columns=columns, case_rule=CaseRule.EXACT)
    return deserializer, [serializer(row, VALUE) for row in rows]


class TestProperties:
    @given(_columns_and_rows())
    @settings(deadline=None)
    def test_what_was_written_is_what_the_columns_hold(
        self, columns_and_rows: tuple[Columns, list[dict[str, object] | None]]
    ) -> None:
        columns, rows = columns_and_rows
        deserializer, payloads = _encoded(columns, rows)
        batch = to_arrow(payloads, VALUE, deserializer)
        batch.validate(full=True)
        assert batch.schema == arrow_schema(columns)
        nulls = dict.fromkeys(column.name for column in columns)
        assert batch.to_pylist(maps_as_pydicts="strict") == [nulls if row is None else row for row in rows]


class TestImports:
    def run(self, program: str) -> str:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
        return done.stdout

    def test_importing_it_does_not_load_pyarrow(self) -> None:
        program = (
            "import sys, srfix.serde.arrow, srfix.serde.batches.rows, srfix.serde.engine\n"
            "print('pyarrow' in sys.modules, 'numpy' in sys.modules, 'pandas' in sys.modules)"
        )
        assert self.run(program).split() == ["False", "False", "False"]

    def test_without_pyarrow_the_extra_is_named(self) -> None:
        program = (
            "import sys\nsys.modules['pyarrow'] = None\n"
            "from srfix.serde.arrow import arrow_schema\nfrom srfix.serde.columns.text import parse_columns\n"
            "from srfix.serde.errors import UsageError\n"
            "try: arrow_schema(parse_columns('A INT'))\nexcept UsageError as error: print(error)"
        )
        assert "Install the extra: srfix[arrow]." in self.run(program)
