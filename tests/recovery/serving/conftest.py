"""A member that serves a topic of the embedded broker, and a client of its HTTP API in this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.recovery.facts.decoding import RecordDecoder
from srfix.recovery.serving.api import Api
from srfix.recovery.serving.following import Follower
from srfix.recovery.serving.guarding import Credentials
from srfix.recovery.serving.ksql import ksql_routes
from srfix.recovery.serving.membership import Membership
from srfix.recovery.serving.node import Node
from srfix.recovery.serving.openapi import openapi
from srfix.recovery.serving.page import page_routes
from srfix.recovery.serving.partition import ServedStore
from srfix.recovery.serving.questions import Served
from srfix.recovery.serving.starting import rocks_in
from srfix.recovery.state.writing.kinds import WrittenKind
from srfix.recovery.state.writing.stores import StoreToWrite
from srfix.recovery.stores.choices import Until
from srfix.recovery.stores.whereabouts import partition_of
from srfix.serde.deserializer import JsonDeserializer, KafkaDeserializer
from srfix.serde.interface import SerdeContext
from srfix.serde.properties.kafka_client import ReadOnlyClient
from srfix.serde.serializer import KafkaSerializer
from srfix.serde.subjects.names import Role, Topic

PARTITIONS = 3


@dataclass(slots=True)
class Member:
    broker: EmbeddedBroker
    topic: Topic
    node: Node
    api: Api
    http: TestClient
    ends: dict[int, int]

    def produce(self, *records: tuple[str | bytes, str | bytes | None]) -> None:
        made = []
        for key, value in records:
            key_bytes = key.encode() if isinstance(key, str) else key
            value_bytes = value.encode() if isinstance(value, str) else value
            number = partition_of(key_bytes, PARTITIONS)
            self.ends[number] += 1
            made.append(ProducedRecord(topic=self.topic, partition=number, key=key_bytes, value=value_bytes))
        self.broker.produce(made)

    def catch_up(self) -> None:
        deadline = time.monotonic() + 20
        while not self.node.parts() or any(
            part.offset < self.ends[part.number] or not part.is_filled for part in self.node.parts()
        ):
            assert time.monotonic() < deadline, self.api.problems()
            time.sleep(0.01)

    def fix_ends(self, end: int) -> None:
        """From now on the logs end there, whatever the broker says."""
        seeing = {part: part.see_end for part in self.node.parts()}
        for part in seeing:
            part.see_end = lambda *_: None  # type: ignore[method-assign]
        time.sleep(0.1)  # what the broker has said already
        for see_end in seeing.values():
            see_end(end)


class _NoRegistry:
    def resolve(self, *_: object, **__: object) -> None:
        raise AssertionError

    resolve_guid = resolve


def _decoder() -> RecordDecoder:
    columns = {Role.KEY: "ID STRING", Role.VALUE: "NAME STRING, AGE INT"}
    makes = {Role.KEY: KafkaDeserializer(columns[Role.KEY]), Role.VALUE: JsonDeserializer(columns=columns[Role.VALUE])}
    return RecordDecoder(_NoRegistry(), roles=tuple(Role), make=lambda _resolver, role: makes[role])  # type: ignore[arg-type]


def _key_bytes(key: object) -> Sequence[bytes]:
    written = KafkaSerializer("ID STRING")({"ID": key}, SerdeContext("any", Role.KEY))
    return [] if written is None else [written]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Member]]:
    with contextmanager(_starting)(tmp_path) as starting:
        yield starting


@pytest.fixture(scope="module")
def start_shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Member]]:
    """For members that no test changes."""
    with contextmanager(_starting)(tmp_path_factory.mktemp("shared")) as starting:
        yield starting


def _starting(tmp_path: Path) -> Iterator[Callable[..., Member]]:
    closing: list[Callable[[], None]] = []

    def start(
        *,
        broker: EmbeddedBroker | None = None,
        kind: WrittenKind = WrittenKind.TIMESTAMPED_KV,
        retention_ms: int | None = None,
        until: Until = Until.END,
        credentials: Credentials | None = None,
        is_decoded: bool = True,
        folder: str = "served",
    ) -> Member:
        topic = Topic("shop-users-changelog")
        if broker is None:
            broker = EmbeddedBroker(topics={topic: PARTITIONS})
            closing.append(broker.close)
        client = ReadOnlyClient({"bootstrap.servers": broker.bootstrap_servers})
        spec = ServedStore(
            application="shop",
            store=StoreToWrite(name="users", kind=kind, retention_ms=retention_ms),
            topic=topic,
            partitions=PARTITIONS,
            until=until,
        )
        served = Served(
            spec=spec,
            decoder=_decoder() if is_decoded else RecordDecoder(_NoRegistry(), roles=()),  # type: ignore[arg-type]
            key_bytes=_key_bytes if is_decoded else None,
            columns=({"ID": "STRING"}, {"NAME": "STRING", "AGE": "INTEGER"}) if is_decoded else None,
            window_size_ms=60_000,
        )
        from srfix.recovery.cluster.cluster import Cluster

        cluster = Cluster({"bootstrap.servers": broker.bootstrap_servers})
        closing.append(cluster.close)
        node = Node(
            {"users": served},
            address="127.0.0.1:1",
            membership=Membership("127.0.0.1:1", [(topic, number) for number in range(PARTITIONS)]),
            make_follower=partial(Follower, client, committed=cluster.committed),
            make_database=rocks_in(tmp_path / folder),
        )
        closing.append(node.close)
        api = Api(node, httpx.AsyncClient(), credentials or Credentials())
        api.add_routes([*ksql_routes(api, "0.1.0"), *page_routes(api, openapi("0.1.0"), "0.1.0")])
        http = TestClient(api.app)
        http.__enter__()
        closing.append(lambda: http.__exit__(None, None, None))
        ends = dict.fromkeys(range(PARTITIONS), 0)
        return Member(broker=broker, topic=topic, node=node, api=api, http=http, ends=ends)

    try:
        yield start
    finally:
        for close in reversed(closing):
            close()
