"""The arrays that are made without rows hold what those made of rows hold: same values, same bad rows, same words."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde.arrow.decode import ValueWise
from srfix.serde.arrow.row_wise import RowWise
from srfix.serde.columns.text import parse_columns
from srfix.serde.deserializer import AvroDeserializer, SchemaDeserializer
from srfix.serde.engine import DecodedBatch
from srfix.serde.errors import Reason, ResolveError
from srfix.serde.interface import SerdeContext
from srfix.serde.resolve.resolved import ResolvedSchema
from srfix.serde.schemas.errors import RegistryUnreachableError
from srfix.serde.schemas.models import Schema
from srfix.serde.subjects.names import Role
from srfix.serde.wire import SchemaId, frame_id
from tests.serde.avro_schemas import DATE, MILLIS, array, body, decimal, record

COLUMNS: Final = parse_columns(
    "ID BIGINT, AGE INT, SEEN TIMESTAMP, BORN DATE, NAME STRING, PRICE DECIMAL(9, 2), PARTS ARRAY<STRUCT<`AT` TIMESTAMP>>, "
    "WHEN_ STRING"
)
TOPIC: Final = SerdeContext("users")
PARTS: Final = array(record("P", at=MILLIS))


def _record(**fields: object) -> str:
    return json.dumps(record(**fields))


SCHEMAS: Final = {
    # Just the columns, in their order.
    1: _record(
        id="long", age="int", seen=MILLIS, born=DATE, name="string", price=decimal(9, 2), parts=PARTS, when_="string"
    ),
    # In capitals and another order, all may be null, one field more, two less; an int for the BIGINT.
    2: _record(
        NAME=["null", "string"],
        EXTRA="int",
        ID=["int", "null"],
        AGE=["null", "int"],
        SEEN=["null", MILLIS],
        BORN=[DATE, "null"],
    ),
    # Numbers and texts that become times and texts.
    3: _record(id="int", seen="long", born="int", name="long"),
    # A type that feeds no column.
    4: _record(id="long", age="string"),
    # No record.
    5: '"long"',
    # Letter case is undecided.
    6: _record(id="long", Id="long"),
    7: '{"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}',
    # A union, and the same type twice for one column's parts.
    8: _record(id=["int", "long"], name="string"),
    9: _record(seen={**MILLIS, "connect.default": 7}, born=["null", {**DATE, "connect.default": 7}]),
}


class Registry:
    """A policy without a registry."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def resolve(self, schema_id: int, *, topic: str, role: Role) -> ResolvedSchema:
        self.asked.append(schema_id)
        if schema_id == 99:
            raise RegistryUnreachableError([("http://registry", "refused")])
        if schema_id not in SCHEMAS:
            raise ResolveError(f"There is no schema {schema_id}.")
        kind = "JSON" if schema_id == 7 else "AVRO"
        return ResolvedSchema(schema_id=SchemaId(schema_id), schema=Schema(text=SCHEMAS[schema_id], schema_type=kind))

    def resolve_guid(self, guid: object, *, topic: str, role: Role) -> ResolvedSchema:
        raise NotImplementedError


def _payload(schema_id: int, value: Any) -> bytes:
    return frame_id(
        schema_id, json.dumps(value).encode() if schema_id == 7 else body(json.loads(SCHEMAS[schema_id]), value)
    )


NOW: Final = datetime.datetime(2026, 11, 21, 20, 0, 0, 123000, tzinfo=datetime.UTC)
FIRST: Final = {
    "id": 2**40,
    "age": -1,
    "seen": NOW,
    "born": NOW.date(),
    "name": "Ada",
    "price": b"\x04\xd2",
    "when_": "now",
    "parts": [{"at": NOW}, {"at": NOW}],
}
POOL: Final[tuple[bytes | None, ...]] = (
    None,
    b"",
    b"\0\0\0",
    b"{}",
    _payload(1, FIRST),
    _payload(1, {**FIRST, "seen": 253_402_300_799_999, "born": 2_932_896}),
    _payload(1, {**FIRST, "seen": 253_402_300_800_000}),
    _payload(1, {**FIRST, "seen": -62_135_596_800_001}),
    _payload(1, {**FIRST, "born": 2_932_897}),
    _payload(1, FIRST) + b"\0",
    _payload(1, FIRST)[:-1],
    _payload(2, {"NAME": None, "EXTRA": 1, "ID": 7, "AGE": None, "SEEN": None, "BORN": None}),
    _payload(2, {"NAME": "Bob", "EXTRA": 1, "ID": None, "AGE": 8, "SEEN": NOW, "BORN": NOW.date()}),
    _payload(3, {"id": 1, "seen": 1_592_265_600_000, "born": 18_000, "name": 5}),
    _payload(4, {"id": 1, "age": "seven"}),
    _payload(5, 7),
    _payload(6, {"id": 1, "Id": 2}),
    _payload(7, {"id": 7, "name": "JSON"}),
    frame_id(7, b"null"),
    _payload(8, {"id": 7, "name": "union"}),
    _payload(9, {"seen": 0, "born": None}),
    frame_id(77, b"unknown"),
    # Ints of more than 32 bits: of the INTEGER column, of the BIGINT, and of a field that no column takes.
    _payload(2, {"NAME": None, "EXTRA": 1, "ID": 7, "AGE": 1, "SEEN": None, "BORN": None})[:5]
    + bytes.fromhex("00" + "02" + "0002" + "02feffffffff01" + "00" + "02"),
    frame_id(3, bytes.fromhex("feffffffff01" + "02" + "02" + "02")),
)


def _both(payloads: Sequence[bytes | None], kind: type[AvroDeserializer | SchemaDeserializer]) -> list[DecodedBatch]:
    return [
        engine(kind(Registry(), columns=COLUMNS), COLUMNS, Role.VALUE)(payloads, TOPIC)
        for engine in (RowWise, ValueWise)
    ]


def _told(batch: DecodedBatch) -> object:
    bad = [(row.position, row.reason, type(row.error), row.error.message, row.payload) for row in batch.bad]
    return bad, batch.tombstones, batch.rows.schema, batch.rows.to_pydict()


class TestValueWise:
    @pytest.mark.parametrize("kind", [AvroDeserializer, SchemaDeserializer])
    def test_each_payload_alone_and_all_of_them_are_as_row_by_row(
        self, kind: type[AvroDeserializer | SchemaDeserializer]
    ) -> None:
        for payloads in (*([payload] for payload in POOL), POOL, POOL * 2):
            rows, values = _both(payloads, kind)
            assert _told(values) == _told(rows)

    @given(st.lists(st.tuples(st.sampled_from(POOL), st.integers(0, 60), st.integers(0, 255)), max_size=30))
    def test_any_mixture_of_whole_and_broken_ones_is_as_row_by_row(
        self, drawn: list[tuple[bytes | None, int, int]]
    ) -> None:
        payloads = []
        for payload, at, byte in drawn:
            if payload is not None and 5 <= at < len(payload):
                payload = payload[:at] + bytes([byte]) + payload[at + 1 :]
            payloads.append(payload)
        rows, values = _both(payloads, SchemaDeserializer)
        assert _told(values) == _told(rows)

    def test_batches_of_several_thousands_keep_their_order(self) -> None:
        plain = [
            _payload(2, {"NAME": None, "EXTRA": 1, "ID": i, "AGE": i, "SEEN": None, "BORN": None}) for i in range(2500)
        ]
        plain[1700] = POOL[7] or b""  # its chunk goes row by row
        decode = ValueWise(AvroDeserializer(Registry(), columns=COLUMNS), COLUMNS, Role.VALUE)
        batch = decode(pa.array(plain, pa.binary()), TOPIC)
        assert batch.rows["ID"].to_pylist() == [None if i == 1700 else i for i in range(2500)]
        assert [(row.position, row.reason) for row in batch.bad] == [(1700, Reason.OVERFLOW)]

    def test_a_schema_is_asked_for_once_over_all_batches(self) -> None:
        registry = Registry()
        decode = ValueWise(AvroDeserializer(registry, columns=COLUMNS), COLUMNS, Role.VALUE)
        for _ in range(3):
            assert not decode([POOL[4], POOL[11]], TOPIC).bad
        assert registry.asked == [1, 2]

    def test_a_registry_that_cannot_be_asked_is_no_bad_row(self) -> None:
        decode = ValueWise(AvroDeserializer(Registry(), columns=COLUMNS), COLUMNS, Role.VALUE)
        with pytest.raises(RegistryUnreachableError, match="refused"):
            decode([POOL[4], frame_id(99, b"\0")], TOPIC)

    def test_contexts_of_their_own_go_row_by_row(self) -> None:
        decode = ValueWise(AvroDeserializer(Registry(), columns=COLUMNS), COLUMNS, Role.VALUE)
        batch = decode([POOL[4], POOL[4]], [TOPIC, SerdeContext("others")])
        assert batch.rows["NAME"].to_pylist() == ["Ada", "Ada"]

    def test_no_payloads_are_an_empty_batch(self) -> None:
        rows, values = _both([], AvroDeserializer)
        assert _told(values) == _told(rows)
        assert values.rows.num_rows == 0
