"""A data engineer with a topic of mixed schemas: what is in it, its rows in chosen columns, and no bad row lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
import pytest
from confluent_kafka import Consumer, TopicPartition

from srfix.fixtures.captured import CapturedUsers
from srfix.serde import BadRow, ById, RegistryClient, SchemaDeserializer, SerdeContext, deserialize_many
from srfix.serde.arrow import to_arrow
from tests.cli.kept_demo import kept_demo
from tests.cli.sessions.session import Session

pytestmark = pytest.mark.slow

COLUMNS = "ORDERID BIGINT, CUSTOMER STRING"
ROWS = [
    {"ORDERID": 1, "CUSTOMER": "Ada"},
    {"ORDERID": 2, "CUSTOMER": "Grace"},
    {"ORDERID": 3, "CUSTOMER": "Edsger"},
    {"ORDERID": 4, "CUSTOMER": "Barbara"},
]
PRODUCER = """
import os
from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

client = SchemaRegistryClient({"url": os.environ["SRFIX_REGISTRY"]})
client.set_compatibility(subject_name="orders-value", level="NONE")
avro = '{"type": "record", "name": "Order", "fields": [{"name": "%s", "type": "long"}, {"name": "%s", "type": "string"}]}'
json = '{"title": "Order", "type": "object", "properties": {"orderid": {"type": "integer"}, "customer": {"type": "string"}}}'
first = AvroSerializer(client, avro % ("orderId", "customer"))
second = AvroSerializer(client, avro % ("ORDERID", "Customer"))
third = JSONSerializer(json, client)
ctx = SerializationContext("orders", MessageField.VALUE)
values = [
    first({"orderId": 1, "customer": "Ada"}, ctx),
    second({"ORDERID": 2, "Customer": "Grace"}, ctx),
    third({"orderid": 3, "customer": "Edsger"}, ctx),
    b"no frame",
    None,
    first({"orderId": 4, "customer": "Barbara"}, ctx),
]
producer = Producer({"bootstrap.servers": os.environ["SRFIX_BOOTSTRAP_SERVERS"]})
for number, value in enumerate(values):
    producer.produce("orders", key=f"o{number}", value=value, partition=0)
assert producer.flush(30) == 0
"""
"""A stranger's producers: two letter cases, JSON_SR, one that writes without a frame, and a tombstone."""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    directory: Path = tmp_path_factory.mktemp("engineer")
    with kept_demo(directory) as demo:
        made = Session(directory=directory, settings=demo.environment)
        made.python(PRODUCER)
        yield made


class TestWhatIsInIt:
    def test_scan_counts_the_ids_and_names_their_subjects_and_what_has_none(self, session: Session) -> None:
        screen = session.types(
            "srfix scan orders",
            says=("orders: 6 records", "3 schema ids, 1 unframed", "offset 3 of partition 0", "1 tombstone"),
        )
        assert screen.words.count("orders-value") == 3
        session.runs("srfix scan USERS", code=2, says=("Did you mean 'users'?",))


class TestItsRows:
    def test_each_row_is_there_and_the_bad_one_with_its_reason_and_place(self, session: Session) -> None:
        screen = session.types(
            "srfix decode orders", code=1, says=('"orderId": 1', '"ORDERID": 2', '"orderid": 3', "0/3:")
        )
        assert "6 records read, 1 of them not decoded." in screen.words
        session.types("srfix decode orders --last --max-records 1", says=('"Barbara"',), never=('"Ada"',))

    def test_in_columns_the_letter_case_of_the_writers_is_gone(self, session: Session) -> None:
        shown = session.runs(f"srfix decode orders --columns '{COLUMNS}' --output json > rows.jsonl", code=1)
        assert "1 of them not decoded" in shown.err
        lines = [json.loads(line) for line in (session.directory / "rows.jsonl").read_text().splitlines()]
        assert [line["offset"] for line in lines] == [0, 1, 2, 3, 4, 5]
        assert [line["value"] for line in lines if line["value_schema"]] == ROWS
        [bad] = [line for line in lines if line["errors"]]
        assert bad["offset"] == 3
        assert bad["value"]["text"] == "no frame"
        assert bad["errors"][0]["kind"] == "UnknownMagicByteError"
        assert lines[4]["value"] is None
        assert not lines[4]["errors"]


class TestInPython:
    def test_a_batch_keeps_the_bad_row_with_its_bytes_and_its_place(self, session: Session) -> None:
        payloads = values_of("orders", session.settings["SRFIX_BOOTSTRAP_SERVERS"])
        with RegistryClient(session.settings["SRFIX_REGISTRY"]) as registry:
            read = SchemaDeserializer(ById(registry), columns=COLUMNS)
            rows = list(deserialize_many(payloads, "orders", read, on_error="quarantine"))
            good = [payload for payload, row in zip(payloads, rows, strict=True) if not isinstance(row, BadRow)]
            batch = to_arrow(good, SerdeContext("orders"), read)
        [bad] = [row for row in rows if isinstance(row, BadRow)]
        assert rows.index(bad) == 3
        assert bad.payload == b"no frame"
        assert bad.reason.value == "BAD_MAGIC"
        assert [row for row in rows if row is not bad and row is not None] == ROWS
        assert rows[4] is None
        assert [batch.column("ORDERID").to_pylist(), batch.column("CUSTOMER").to_pylist()] == [
            [1, 2, 3, None, 4],
            ["Ada", "Grace", "Edsger", None, "Barbara"],
        ]

    def test_the_captured_topic_is_read_without_spark_and_loses_nothing(self) -> None:
        captured = CapturedUsers()
        payloads = pyarrow.parquet.read_table(captured.path).column("value").to_pylist()
        with RegistryClient(captured.registry_url) as registry:
            read = SchemaDeserializer(ById(registry), columns="USERID BIGINT, FULLNAME STRING")
            rows = list(deserialize_many(payloads, "users", read, on_error="quarantine"))
        assert len(rows) == len(payloads) > 0
        bad = [row for row in rows if isinstance(row, BadRow)]
        assert bad
        assert all(row.payload in payloads and row.reason for row in bad)
        assert any(isinstance(row, dict) and row["FULLNAME"] for row in rows)


def values_of(topic: str, bootstrap_servers: str) -> list[bytes | None]:
    """The values of partition 0, in their order, as any consumer reads them."""
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "engineer", "enable.auto.commit": False})
    try:
        _low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)
        consumer.assign([TopicPartition(topic, 0, 0)])
        read = consumer.consume(high, timeout=30)
        assert len(read) == high
        return [message.value() for message in read]
    finally:
        consumer.close()
