"""Stores whose source topic holds something odd, all on one broker and registry: an application for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import AvroSerializer, RegistryClient, Role, SerdeContext, Subject, Topic
from srfix.serde.subjects.names import changelog_topic, subject_for

WRITER = '{"type":"record","name":"User","fields":[{"name":"userId","type":"long"},{"name":"name","type":"string"}]}'
INTERNAL = (
    '{"type":"record","name":"KsqlDataSourceSchema","fields":['
    '{"name":"USERID","type":["null","long"],"default":null},{"name":"NAME","type":["null","string"],"default":null}]}'
)
STORE = "users-store"
ODD_APPLICATION = "shop/eu: 50% off"
ODD_STORE = "users store%2F:x"


@dataclass(frozen=True, kw_only=True)
class Odd:
    """One application whose store restores from a topic of its own."""

    application: str
    store: str
    topic: Topic
    phantom: Subject

    @property
    def source(self) -> tuple[str, str]:
        """The option that says where the store restores from: the topics are of one schema, so nothing else tells."""
        return "--source", f"{self.application}/{self.store}={self.topic}"


class OddParts:
    """Odd payloads and odd names, staged; `kinds` by name."""

    def __init__(self, broker: EmbeddedBroker, registry: FixtureRegistry, client: RegistryClient) -> None:
        self.registry = registry
        self.environment = {"SRFIX_BOOTSTRAP_SERVERS": broker.bootstrap_servers, "SRFIX_REGISTRY": registry.url}
        good = AvroSerializer.for_schema(client, WRITER)({"userId": 1, "name": "Ada"}, SerdeContext(topic=Topic("any")))
        assert good is not None
        self.kinds = {
            "truncated": _stage(broker, registry, "truncated", [good[:-1]]),
            "overlong": _stage(broker, registry, "overlong", [good + b"\x00"]),
            "names": _stage(broker, registry, ODD_APPLICATION, [good], topic="odd-names", store=ODD_STORE),
        }
        registry.forget_requests()


def _stage(
    broker: EmbeddedBroker,
    registry: FixtureRegistry,
    application: str,
    values: Sequence[bytes],
    *,
    topic: str | None = None,
    store: str = STORE,
) -> Odd:
    """A topic of one partition with these values, all committed; the phantom subject has the internal schema alone."""
    name = Topic(topic or f"{application}-topic")
    broker.create_topic(name, 1)
    broker.produce(
        ProducedRecord(topic=name, partition=0, key=f"k{number}".encode(), value=value)
        for number, value in enumerate(values)
    )
    phantom = subject_for(changelog_topic(application, store), Role.VALUE)
    registry.seed(subject_for(name, Role.VALUE), WRITER)
    registry.seed(phantom, INTERNAL)
    broker.commit(application, {(name, 0): len(values)})
    return Odd(application=application, store=store, topic=name, phantom=phantom)


@contextmanager
def odd_parts() -> Iterator[OddParts]:
    """Stages them all."""
    with EmbeddedBroker() as broker, FixtureRegistry() as registry, RegistryClient(registry.url) as client:
        yield OddParts(broker, registry, client)
