"""The text by which Java's readers look a schema up, and what becomes of it where the registry keeps another one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.registry.emulation import Release
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import Schema
from srfix.serde.formats.table import as_readers_ask
from srfix.serde.wire import frame_id
from tests.cli.kept_demo import srfix
from tests.stack.avro_schemas import avro_schemas
from tests.stack.connect_rows import Connect, connect
from tests.stack.scene import without_what_is_made

pytestmark = pytest.mark.stack

SENT = '{"type":"record","name":"U","fields":[{"name":"userId","type":{"type":"long"}}]}'
INTERNAL = '{"type":"record","name":"R","fields":[{"name":"USERID","type":["null","long"],"default":null}]}'
WRITTEN_OTHERWISE = [
    SENT,
    '{"name":"a.b.U","type":"record","doc":"d","aliases":["O","c.P"],"fields":[{"type":"int","name":"x","order":"ignore"}]}',
    '{"type":"record","name":"U","namespace":"a","fields":[{"name":"f","type":{"type":"fixed","name":"F","namespace":"","size":2}}]}',
    '{"type":"record","name":"U","namespace":"a","fields":[{"name":"u","type":["null",{"type":"array","items":"a.U"}]}]}',
    '{"type":"record","name":"U","fields":[{"name":"d","type":"double","default":1e10},{"name":"e","type":"float","default":0.10}]}',
    '{"type":"enum","symbols":["A","B"],"default":"A","name":"E","connect.name":"E","x":[1.50,{"b":1E-9,"a":null}]}',
    '{"type":"bytes","scale":2,"precision":4,"logicalType":"decimal"}',
    '{"type":"map","values":{"type":"long","logicalType":"timestamp-millis"},"x":"\\u00e4\\n\\u001f"}',
    '[{"type":"null"},{"type":"string","avro.java.string":"String"}]',
]


@pytest.fixture(scope="module")
def java() -> Iterator[Connect]:
    with connect() as running:
        yield running


@pytest.mark.parametrize("sent", WRITTEN_OTHERWISE)
def test_of_avro(java: Connect, sent: str) -> None:
    assert java.reader_texts("avro.AvroSchema", [sent]) == [as_readers_ask(Schema(text=sent)).text]


def test_of_any_avro_schema(java: Connect) -> None:
    @settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
    @given(avro_schemas())
    def check(schema: object) -> None:
        sent = json.dumps(schema, indent=1)
        (asked,) = java.reader_texts("avro.AvroSchema", [sent])
        assert asked in (None, as_readers_ask(Schema(text=sent)).text)

    check()


@pytest.mark.parametrize("release", ["redpanda-23.1", "redpanda-25.1"])
def test_what_a_registry_keeps_as_it_was_sent_is_repaired_for_the_real_converter(
    release: Release, broker: KraftBroker, java: Connect, tmp_path: Path
) -> None:
    payload = frame_id(1, b"\x02")
    phantom = "shop-t-changelog-value"
    with FixtureRegistry(emulate=release) as registry, without_what_is_made(broker):
        topic = f"users-of-{release}"
        broker.create_topic(topic, 1, {"cleanup.policy": "compact"})
        broker.produce([ProducedRecord(topic=topic, partition=0, key=b"k", value=payload)])
        for subject, text in ((f"{topic}-value", SENT), (phantom, INTERNAL), (phantom, SENT)):
            registry.seed(subject, text)
        env = {"SRFIX_BOOTSTRAP_SERVERS": broker.bootstrap_servers, "SRFIX_REGISTRY": registry.url}

        def run(*arguments: str) -> int:
            return srfix(*arguments, env=env, cwd=tmp_path).returncode

        def read() -> str | None:
            (error,) = java.convert(registry.url, "shop-t-changelog", [payload], is_key=False)
            return error

        assert "Error retrieving Avro value schema version for id 1" in str(read())
        check = (topic, "--subject", phantom, "--role", "value", "--reader", "connect")
        assert run("check", *check) == 1
        assert run("plan", "--topic", *check, "-o", "plan.json") == 0
        assert run("apply", "plan.json", "--yes") == 0
        assert run("verify", "plan.json") == 0
        assert run("check", *check) == 0
        assert read() is None
