"""Times finer than what they are written as: refused by every serializer, cut where that is asked for, and written whole where
the schema has microseconds."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator
from typing import Final

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.arrow.encode import from_arrow
from srfix.serde.columns.text import parse_columns
from srfix.serde.deserializer import AvroDeserializer
from srfix.serde.errors import EncodeError
from srfix.serde.formats.table import Format
from srfix.serde.interface import SerdeContext, Serializer
from srfix.serde.registry.client import RegistryClient
from srfix.serde.resolve.policies import ById
from srfix.serde.serializer import AvroSerializer, JsonSchemaSerializer, JsonSerializer
from srfix.serde.spark.read.plan import plan_read
from srfix.serde.spark.write.plan import plan_write
from tests.serde.avro_schemas import logical, record

COLUMNS: Final = parse_columns("A TIMESTAMP, T TIME, L ARRAY<TIMESTAMP>")
AT: Final = datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999, datetime.UTC)
CUT: Final = AT.replace(microsecond=999_000)
TIME: Final = datetime.time(0, 0, 0, 1_999)
MILLIS: Final = json.dumps(
    record(
        A=["null", logical("long", "timestamp-millis")],
        T=["null", logical("int", "time-millis")],
        L=["null", {"type": "array", "items": ["null", logical("long", "timestamp-millis")]}],
    )
)
_CONTEXT: Final = SerdeContext("t")
_ROWS: Final = (
    ({"A": AT, "T": None, "L": None}, {"A": CUT, "T": None, "L": None}, "->A"),
    ({"A": None, "T": TIME, "L": None}, {"A": None, "T": datetime.time(0, 0, 0, 1_000), "L": None}, "->T"),
    ({"A": None, "T": None, "L": [CUT, AT]}, {"A": None, "T": None, "L": [CUT, CUT]}, "->L[1]"),
)

Make = Callable[[RegistryClient, bool], Serializer]
SERIALIZERS: Final[dict[str, Make]] = {
    "Avro": lambda client, cut: AvroSerializer(client, COLUMNS, cut_times=cut),
    "Avro under a schema": lambda client, cut: AvroSerializer.for_schema(client, MILLIS, cut_times=cut),
    "Avro under a version": lambda client, cut: AvroSerializer(client, COLUMNS, version="latest", cut_times=cut),
    "JSON_SR": lambda client, cut: JsonSchemaSerializer(client, COLUMNS, cut_times=cut),
    "JSON": lambda _, cut: JsonSerializer(COLUMNS, cut_times=cut),
    "a plan's": lambda client, cut: plan_write(client, "t", COLUMNS, cut_times=cut).serializer(),
    "a plan's in JSON": lambda _, cut: plan_write(None, "t", COLUMNS, format=Format.JSON, cut_times=cut).serializer(),
    "a plan's in JSON_SR": lambda client, cut: plan_write(
        client, "t", COLUMNS, format=Format.JSON_SR, cut_times=cut
    ).serializer(),
}
every = pytest.mark.parametrize("make", SERIALIZERS.values(), ids=SERIALIZERS)


@pytest.fixture
def client(request: pytest.FixtureRequest) -> Iterator[RegistryClient]:
    with FixtureRegistry() as registry, RegistryClient(registry.url) as client:
        if "version" in request.node.name:
            registry.seed("t-value", MILLIS)
        yield client


@every
@pytest.mark.parametrize(("row", "cut", "path"), _ROWS)
class TestMilliseconds:
    def test_what_is_finer_is_refused(
        self, client: RegistryClient, make: Make, row: object, cut: object, path: str
    ) -> None:
        serialize = make(client, False)
        with pytest.raises(
            EncodeError, match=r"whole milliseconds \(cut the time first; a serializer or .* cut_"
        ) as caught:
            serialize(row, _CONTEXT)
        assert caught.value.paths == (path,)
        assert serialize(cut, _CONTEXT)

    def test_what_is_finer_is_cut_if_asked_for_and_arrow_batches_go_the_same_way(
        self, client: RegistryClient, make: Make, row: dict[str, object], cut: object, path: str
    ) -> None:
        serialize = make(client, True)
        assert serialize(row, _CONTEXT) == serialize(cut, _CONTEXT)
        types = {"A": pa.timestamp("us", tz="UTC"), "T": pa.time64("us"), "L": pa.list_(pa.timestamp("us", tz="UTC"))}
        batch = pa.RecordBatch.from_pylist([row], schema=pa.schema(types.items()))
        with pytest.raises(EncodeError, match="whole milliseconds"):
            from_arrow(batch, make(client, False), _CONTEXT)
        assert from_arrow(batch, serialize, _CONTEXT).to_pylist() == [serialize(cut, _CONTEXT)]


class TestMicroseconds:
    def test_what_is_written_under_microseconds_is_read_back(self, client: RegistryClient) -> None:
        schema = json.dumps(record(A=logical("long", "timestamp-micros"), T=["null", logical("long", "time-micros")]))
        write = plan_write(client, "t", schema=schema).serializer()
        read = plan_read(client, "t", "A TIMESTAMP, T TIME").deserializer()
        alone = AvroDeserializer(ById(client), columns="A TIMESTAMP, T TIME")

        @given(at=st.datetimes(timezones=st.just(datetime.UTC)), time=st.times())
        def check(at: datetime.datetime, time: datetime.time) -> None:
            payload = write({"A": at, "T": time}, _CONTEXT)
            assert read(payload, _CONTEXT) == alone(payload, _CONTEXT) == {"A": at, "T": time}

        check()

    def test_a_local_time_is_cut_towards_the_past(self, client: RegistryClient) -> None:
        text = json.dumps(record(A=logical("long", "local-timestamp-millis")))
        write = AvroSerializer.for_schema(client, text, cut_times=True)
        assert write({"A": AT.replace(tzinfo=None)}, _CONTEXT) == write({"A": CUT.replace(tzinfo=None)}, _CONTEXT)
