"""The client against a registry with Confluent's semantics: the repair, and lost answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from srfix.fixtures.registry.http.intercept import CutAfter, CutBefore, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.registry.client import RegistryClient
from srfix.serde.registry.errors import (
    IncompatibleSchemaError,
    SchemaNotFoundError,
    SubjectNotFoundError,
    VersionNotSoftDeletedError,
    VersionSoftDeletedError,
)
from srfix.serde.registry.http.retry import RetryPolicy
from srfix.serde.registry.models import Schema

WRITER = Schema(
    text='{"type":"record","name":"Order","fields":[{"name":"orderId","type":"string"},{"name":"amount","type":"double"}]}'
)
INTERNAL = Schema(text='{"type":"record","name":"KsqlDataSourceSchema","fields":[{"name":"ORDERID","type":"string"}]}')
SOURCE = "orders-value"
PHANTOM = "app-orders-store-changelog-value"


@pytest.fixture
def registry() -> Iterator[FixtureRegistry]:
    with FixtureRegistry() as running:
        yield running


@pytest.fixture
def client(registry: FixtureRegistry) -> Iterator[RegistryClient]:
    with RegistryClient(registry.url, retry=RetryPolicy(sleep=lambda _: None)) as made:
        yield made


class TestRepair:
    def test_the_incident_is_met_repaired_and_undone(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        writer_id = registry.seed(SOURCE, WRITER.text)
        registry.seed(PHANTOM, INTERNAL.text)
        before = registry.dump()

        writer = client.schema_by_id(writer_id, subject=PHANTOM).schema
        with pytest.raises(SchemaNotFoundError):
            client.lookup(PHANTOM, writer, deleted=True)
        assert client.check_compatibility(PHANTOM, writer).is_compatible is False
        assert client.check_compatibility(PHANTOM, writer, version=None).messages
        with pytest.raises(IncompatibleSchemaError):
            client.register(PHANTOM, writer)
        assert client.config(PHANTOM) is None
        assert client.mode(PHANTOM) is None
        assert client.effective_compatibility(PHANTOM) == "BACKWARD"

        client.set_config(PHANTOM, {"compatibility": "NONE"})
        assert client.register(PHANTOM, writer) == writer_id
        client.delete_config(PHANTOM)
        assert client.lookup(PHANTOM, writer).schema_id == writer_id
        assert client.versions(PHANTOM) == (1, 2)

        client.delete_version(PHANTOM, 2)
        assert client.versions(PHANTOM) == (1,)
        assert client.lookup(PHANTOM, writer, deleted=True).version == 2
        client.delete_version(PHANTOM, 2, permanent=True)
        assert registry.dump() == before

    def test_a_phantom_that_does_not_exist_takes_any_schema(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        with pytest.raises(SubjectNotFoundError):
            client.lookup(PHANTOM, WRITER, deleted=True)
        assert client.check_compatibility(PHANTOM, WRITER).is_compatible
        assert registry.writes == 0

    def test_a_subject_of_odd_characters_is_written_and_read_back(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        subject = "a/b:c%20d e+f#g?h-größe-value"
        schema_id = client.register(subject, WRITER)
        assert client.subjects() == (subject,)
        assert client.version(subject, "latest").schema_id == schema_id


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

    def test_without_a_lost_answer_doing_it_twice_is_an_error(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        registry.seed(PHANTOM, INTERNAL.text)
        registry.seed(PHANTOM, WRITER.text)
        with pytest.raises(VersionNotSoftDeletedError):
            client.delete_version(PHANTOM, 2, permanent=True)
        client.delete_version(PHANTOM, 2)
        with pytest.raises(VersionSoftDeletedError):
            client.delete_version(PHANTOM, 2)
        with pytest.raises(SubjectNotFoundError):
            client.delete_config(PHANTOM)
