"""What was opened for a serde or a policy ends with it; what was passed to it does not."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import (
    AvroDeserializer,
    AvroSerializer,
    ById,
    ChangelogSubject,
    DualSubject,
    RegistryClient,
    TopicSubject,
    UnderOneSubject,
    confluent,
)

SCHEMA = '{"type":"record","name":"R","fields":[{"name":"id","type":"long"}]}'
MADE: dict[str, Callable[[Any], Any]] = {
    "deserializer": AvroDeserializer,
    "serializer": lambda registry: AvroSerializer(registry, "ID BIGINT"),
    "serializer of a schema": lambda registry: AvroSerializer.for_schema(registry, SCHEMA),
    "by id": ById,
    "one subject": UnderOneSubject,
    "dual subject": lambda registry: DualSubject(
        registry, first=ChangelogSubject(application="a", store="s"), second=TopicSubject()
    ),
    "the front's deserializer": confluent.AvroDeserializer,
    "the front's serializer": lambda registry: confluent.AvroSerializer(registry, columns="ID BIGINT"),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE.keys())
class TestClose:
    def test_ends_the_client_that_was_made_for_it_and_no_other(
        self, make: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        closed: list[RegistryClient] = []

        def close(client: RegistryClient) -> None:
            closed.append(client)

        monkeypatch.setattr(RegistryClient, "close", close)
        with FixtureRegistry() as server:
            given = RegistryClient(server.url)
            with make(given):
                pass
            assert closed == []
            with make(server.url) as made:
                assert closed == []
            assert len(closed) == 1
            pickle.loads(pickle.dumps(made)).close()


def test_a_policy_is_its_owners() -> None:
    closed: list[str] = []

    class Policy(ById):
        def close(self) -> None:
            closed.append("policy")

    with FixtureRegistry() as server, AvroDeserializer(Policy(server.url)):
        pass
    assert closed == []
