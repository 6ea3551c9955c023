"""Calls that the kernel takes over from the second on: what confluent-kafka does, whatever comes."""

from __future__ import annotations

import datetime
import json
from collections import UserDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.serialization import SerializationContext
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import EncodeError, UsageError, deserialize_many
from srfix.serde.confluent import AvroDeserializer, AvroSerializer
from tests.serde.avro_schemas import (
    DATE,
    MILLIS,
    TIME_MILLIS,
    UUID,
    array,
    decimal,
    enum,
    field,
    fixed,
    map_of,
    record_of,
)
from tests.serde.confluent import peers

UTC = datetime.UTC
PLAIN = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
SCHEMA = json.dumps(
    record_of(
        "Rich",
        field("a", "int"),
        field("price", decimal(12, 2)),
        field("at", MILLIS),
        field("day", ["null", DATE], default=None),
        field("clock", ["null", TIME_MILLIS], default=None),
        field("note", ["string", "null"], default="none"),
        field("id", ["null", UUID], default=None),
        field("score", ["null", "double"], default=None),
        field("parts", array(map_of("long")), default=[]),
        field("kind", enum("A", "B", name="Kind"), default="A"),
        field("sum", fixed(2), default="ab"),
    )
)
GOOD = {
    "a": 1,
    "price": Decimal("1.23"),
    "at": datetime.datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC),
    "day": datetime.date(2026, 1, 2),
    "clock": datetime.time(1, 2, 3, 4000),
    "note": "x",
    "id": "6f2c0a0e-0c5f-4b8b-9c57-1f6d0b1f9a11",
    "score": 0.5,
    "parts": [{"k": 1}],
    "kind": "B",
    "sum": b"xy",
}
ODD: Mapping[str, Sequence[object]] = {
    "a": [2**31 - 1, -(2**31), 2.0, True, "1", None],
    "price": [
        *map(
            Decimal, ("-1.28", "1.28", "-327.68", "1.230", "1E+2", "0", "-0.00", "9999999999.99", "99999999999", "NaN")
        ),
        1,
        b"\x01",
    ],
    "at": [
        datetime.datetime(2026, 1, 2, 3, 4, 5, 678999, tzinfo=UTC),
        datetime.datetime(1969, 1, 2, 3, 4, 5, 999, tzinfo=UTC),
        datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
        datetime.datetime(2026, 1, 2, 3, 4, 5),
        7,
    ],
    "day": [datetime.datetime(2026, 1, 2, tzinfo=UTC), 3, "2026-01-02"],
    "clock": [datetime.time(1, 2, 3, 4567), datetime.time(1, tzinfo=UTC), 3],
    "note": [None, b"bytes", "\ud800", 1, "é"],
    "id": ["no uuid", None],
    "score": [1, float("nan"), -0.0, True, "1"],
    "parts": [[], [{}], ({"k": 1},), [{"k": 2**63}], [{1: 1}], [{"k": True}]],
    "kind": ["A", "C", None],
    "sum": [b"x", "xy", bytearray(b"xy")],
}


@dataclass
class Made:
    a: int


_Write: TypeAlias = Callable[[object, SerializationContext], bytes | None]


def _outcome(write: _Write, row: object, ctx: SerializationContext) -> bytes | str | None:
    try:
        return write(row, ctx)
    except Exception:  # noqa: BLE001 - confluent-kafka's are of many kinds
        return "refused"


def _rows() -> st.SearchStrategy[dict[str, object]]:
    def changed(names: list[str]) -> st.SearchStrategy[dict[str, object]]:
        values = {name: st.sampled_from(ODD[name]) for name in names}
        return st.fixed_dictionaries(values).map(lambda odd: GOOD | odd)

    odd = st.lists(st.sampled_from(sorted(ODD)), max_size=2, unique=True).flatmap(changed)
    gone = st.frozensets(st.sampled_from(sorted(GOOD)), max_size=3)
    surplus = st.sampled_from([{}, {"more": 1}, {"A": 1}, {"-type": "Rich"}])
    return st.builds(
        lambda row, without, more: {key: value for key, value in row.items() if key not in without} | more,
        odd,
        gone,
        surplus,
    )


STRICT: list[dict[str, object]] = [{}, {"validate.strict": True}, {"validate.strict.allow.default": True}]


def _compared(rows: Sequence[dict[str, object]], strict: dict[str, object]) -> None:
    client, ctx, conf = peers.mock_client(), peers.context(), {**peers.BY_TOPIC, **strict}
    ours, theirs = AvroSerializer(client, SCHEMA, conf=conf), peers.their_avro_serializer(client, SCHEMA, conf=conf)
    for row in rows:
        assert _outcome(ours, row, ctx) == _outcome(theirs, row, ctx), row


class TestSerializer:
    def test_each_odd_value_is_written_as_confluent_kafka_writes_it(self) -> None:
        _compared([GOOD, *(GOOD | {name: value} for name in ODD for value in ODD[name]), GOOD], {})

    @pytest.mark.slow
    @given(rows=st.lists(_rows(), min_size=1, max_size=5), strict=st.sampled_from(STRICT))
    def test_so_are_rows_of_several(self, rows: list[dict[str, object]], strict: dict[str, object]) -> None:
        _compared([GOOD, *rows, GOOD], strict)

    def test_arguments_may_be_named_and_be_of_other_kinds(self) -> None:
        serialize = AvroSerializer(peers.mock_client(), PLAIN)
        expected = b"\0\0\0\0\1\2"
        for _ in range(2):
            assert serialize({"a": 1}, ctx=peers.context()) == expected
            assert serialize(obj={"a": 1}, ctx="t") == expected
            assert serialize(UserDict({"a": 1}), "t") == expected
            assert serialize(Made(1), peers.context()) == expected
            assert serialize(None, peers.context()) is None
        with pytest.raises(EncodeError):
            serialize({"a": "no"}, peers.context())
        with pytest.raises(UsageError, match="context"):
            serialize({"a": 1}, 7)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            serialize({"a": 1}, peers.context(), 7)  # type: ignore[call-arg]


class TestDeserializer:
    @pytest.fixture
    def client(self) -> SchemaRegistryClient:
        client = peers.mock_client()
        AvroSerializer(client, PLAIN)({"a": 1}, "t")
        return client

    PAYLOAD = b"\0\0\0\0\1\2"

    def test_many_rows_are_each_what_from_dict_makes(self, client: SchemaRegistryClient) -> None:
        deserialize = AvroDeserializer(client, from_dict=lambda row, ctx: ("made", row, ctx.topic))
        rows = list(deserialize_many([self.PAYLOAD] * 4, "t", deserialize))  # type: ignore[arg-type]
        assert rows == [("made", {"a": 1}, "t")] * 4

    def test_arguments_may_be_named(self, client: SchemaRegistryClient) -> None:
        deserialize = AvroDeserializer(client)
        for _ in range(2):
            assert deserialize(self.PAYLOAD, ctx=peers.context()) == {"a": 1}
            assert deserialize(data=self.PAYLOAD) == {"a": 1}
            assert deserialize(bytearray(self.PAYLOAD), "t") == {"a": 1}  # type: ignore[arg-type]
            assert deserialize(self.PAYLOAD, "t") == {"a": 1}
        with pytest.raises(TypeError):
            deserialize(self.PAYLOAD, peers.context(), 7)  # type: ignore[call-arg]
