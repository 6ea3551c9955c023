"""What a repair needs of a registry, whichever it is: one suite over two releases and over every known deviation.

| implementation | how it deviates (`Habits`) |
|---|---|
| confluent-7.9, confluent-8.2 | not |
| karapace, axonops, apicurio | `KARAPACE`, `AXONOPS`, `APICURIO` |
| each habit alone | that one |
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from parts.registries.known import APICURIO, AXONOPS, KARAPACE
from srfix.fixtures.registry.emulation import Habits, Release
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import RegistryClient, RetryPolicy, Schema
from srfix.serde.schemas.errors import (
    EndpointNotSupportedError,
    IncompatibleSchemaError,
    OperationNotPermittedError,
    SchemaNotFoundError,
    SubjectNotFoundError,
    SubjectSoftDeletedError,
)
from srfix.serde.schemas.models import answered_elsewhere
from tests.serde.fakes import Clock

WRITER = (
    '{"type":"record","name":"Order","fields":[{"name":"orderId","type":"string"},{"name":"amount","type":"double"}]}'
)
INTERNAL = '{"type":"record","name":"KsqlDataSourceSchema","fields":[{"name":"ORDERID","type":"string"}]}'
SOURCE, PHANTOM = "orders-value", "app-orders-store-changelog-value"


@dataclass(frozen=True)
class Implementation:
    emulate: Release
    habits: Habits


IMPLEMENTATIONS = {
    "confluent-7.9": Implementation("7.9", Habits()),
    "confluent-8.2": Implementation("8.2", Habits()),
    "karapace": Implementation("7.9", KARAPACE),
    "axonops": Implementation("7.9", AXONOPS),
    "apicurio": Implementation("7.9", APICURIO),
    "lacks-ids-subjects": Implementation("8.2", Habits(lacks_ids_subjects=True)),
    "sorts-keys": Implementation("8.2", Habits(sorts_keys=True)),
    "ignores-prefix": Implementation("8.2", Habits(ignores_subject_prefix=True)),
    "incompatible-409": Implementation("8.2", Habits(incompatible_code=409)),
    "incompatible-40901": Implementation("7.9", Habits(incompatible_code=40901)),
    "null-for-none": Implementation("8.2", Habits(null_for_no_subjects=True)),
    "late-writes": Implementation("8.2", Habits(takes_writes_after_s=15.0)),
}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=IMPLEMENTATIONS)
def implementation(request: pytest.FixtureRequest) -> Implementation:
    return IMPLEMENTATIONS[str(request.param)]


@pytest.fixture
def registry(implementation: Implementation, clock: Clock) -> Iterator[FixtureRegistry]:
    with FixtureRegistry(emulate=implementation.emulate, habits=implementation.habits, clock=clock) as running:
        yield running


@pytest.fixture
def client(registry: FixtureRegistry, clock: Clock) -> Iterator[RegistryClient]:
    with RegistryClient(registry.url, retry=RetryPolicy(sleep=clock.sleep)) as made:
        yield made


class TestRepair:
    def test_the_incident_is_met_repaired_and_undone(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        writer_id = registry.seed(SOURCE, WRITER)
        registry.seed(PHANTOM, INTERNAL)
        before = registry.dump()

        writer = client.schema_by_id(writer_id).schema
        assert json.loads(writer.text) == json.loads(WRITER)
        with pytest.raises(SchemaNotFoundError):
            client.lookup(PHANTOM, writer, deleted=True)
        assert not client.check_compatibility(PHANTOM, writer).is_compatible
        assert client.effective_compatibility(PHANTOM) == "BACKWARD"
        with pytest.raises(IncompatibleSchemaError):
            client.register(PHANTOM, writer)
        assert client.config(PHANTOM) is None

        client.set_config(PHANTOM, {"compatibility": "NONE"})
        assert client.register_version(PHANTOM, writer).schema_id == writer_id
        client.delete_config(PHANTOM)
        found = client.lookup(PHANTOM, writer, deleted=True)
        assert (found.schema_id, found.version) == (writer_id, 2)
        assert not answered_elsewhere(PHANTOM, found)
        client.delete_version(PHANTOM, 2)
        assert client.versions(PHANTOM) == (1,)
        assert client.lookup(PHANTOM, writer, deleted=True).schema_id == writer_id
        client.delete_version(PHANTOM, 2, permanent=True)
        assert registry.dump() == before

    def test_a_phantom_that_is_missing_altogether_takes_the_writers_schema(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        writer_id = registry.seed(SOURCE, WRITER)
        with pytest.raises(SubjectNotFoundError):
            client.lookup(PHANTOM, Schema(text=WRITER), deleted=True)
        assert client.register(PHANTOM, Schema(text=WRITER)) == writer_id
        client.delete_subject(PHANTOM)
        with pytest.raises(SubjectSoftDeletedError):
            client.delete_subject(PHANTOM)
        client.delete_subject(PHANTOM, permanent=True)
        assert client.subjects(deleted=True) == (SOURCE,)


class TestExactId:
    def test_it_is_given_refused_or_told_to_be_another(
        self, implementation: Implementation, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        registry.seed(PHANTOM, INTERNAL)
        before = registry.dump()
        if implementation.habits.lacks_mode_writes:
            with pytest.raises(EndpointNotSupportedError):
                client.set_mode(PHANTOM, "IMPORT", force=True)
            assert registry.dump() == before
            return
        if not implementation.habits.ignores_explicit_ids:
            with pytest.raises(OperationNotPermittedError):  # not in IMPORT
                client.register_with_id(PHANTOM, Schema(text=WRITER), 4242)
        with pytest.raises(OperationNotPermittedError):  # live versions
            client.set_mode(PHANTOM, "IMPORT")
        client.set_mode(PHANTOM, "IMPORT", force=True)
        assert client.mode(PHANTOM) == client.effective_mode(PHANTOM) == "IMPORT"
        if implementation.habits.ignores_explicit_ids:
            return
        assert client.register_with_id(PHANTOM, Schema(text=WRITER), 4242).schema_id == 4242
        assert client.register_with_id(PHANTOM, Schema(text=WRITER), 4242).schema_id == 4242, "a repetition"
        client.delete_mode(PHANTOM)
        assert (client.mode(PHANTOM), client.effective_mode(PHANTOM)) == (None, "READWRITE")
        assert client.lookup(PHANTOM, Schema(text=WRITER)).schema_id == 4242


class TestListings:
    def test_a_prefix_leaves_the_same_whether_the_registry_knows_it_or_not(
        self, implementation: Implementation, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        for subject in (SOURCE, PHANTOM, "app-value"):
            registry.seed(subject, WRITER)
        assert client.subjects(prefix="app-") == (PHANTOM, "app-value")
        if implementation.habits.lists_bare_schemas:
            with pytest.raises(EndpointNotSupportedError, match=r"without subject, version and id"):
                client.schemas(prefix="app-")
        else:
            assert [found.subject for found in client.schemas(prefix="app-")] == [PHANTOM, "app-value"]

    def test_schemas_say_what_the_subjects_say_one_by_one(
        self, implementation: Implementation, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        if implementation.habits.lists_bare_schemas:
            return  # then nobody can ask for them (the test before)
        registry.seed(SOURCE, WRITER)
        registry.seed(PHANTOM, INTERNAL)
        registry.seed(PHANTOM, WRITER)
        client.delete_version(PHANTOM, 2)
        for deleted in (False, True):
            one_by_one = {
                client.version(subject, version, deleted=deleted)
                for subject in client.subjects(deleted=deleted)
                for version in client.versions(subject, deleted=deleted)
            }
            assert set(client.schemas(deleted=deleted)) == one_by_one
