"""The client against a registry with Confluent's semantics: lost answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from srfix.fixtures.registry.http.intercept import CutAfter, CutBefore, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.registry.client import RegistryClient
from srfix.serde.registry.http.retry import RetryPolicy
from srfix.serde.registry.models import Schema

WRITER = Schema(
    text='{"type":"record","name":"Order","fields":[{"name":"orderId","type":"string"},{"name":"amount","type":"double"}]}'
)
INTERNAL = Schema(text='{"type":"record","name":"KsqlDataSourceSchema","fields":[{"name":"ORDERID","type":"string"}]}')
PHANTOM = "app-orders-store-changelog-value"


@pytest.fixture
def registry() -> Iterator[FixtureRegistry]:
    with FixtureRegistry() as running:
        yield running


@pytest.fixture
def client(registry: FixtureRegistry) -> Iterator[RegistryClient]:
    with RegistryClient(registry.url, retry=RetryPolicy(sleep=lambda _: None)) as made:
        yield made


class TestLostAnswers:
    @pytest.mark.parametrize("cut", [CutBefore(), CutAfter()])
    def test_each_write_takes_effect_once_and_succeeds(
        self, cut: CutBefore | CutAfter, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        registry.seed(PHANTOM, INTERNAL.text)
        before = registry.dump()

        def cut_the_next() -> None:
            registry.intercept(Fault(action=cut, times=1))

        cut_the_next()
        client.set_config(PHANTOM, {"compatibility": "NONE"})
        cut_the_next()
        schema_id = client.register(PHANTOM, WRITER)
        assert client.lookup(PHANTOM, WRITER).schema_id == schema_id
        cut_the_next()
        client.delete_config(PHANTOM)
        cut_the_next()
        client.delete_version(PHANTOM, 2)
        cut_the_next()
        client.delete_version(PHANTOM, 2, permanent=True)
        assert registry.dump() == before
        assert registry.writes == 10, "each write is sent, cut off, and sent again"
