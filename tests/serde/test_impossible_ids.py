"""Schema ids that no registry gives: below 1, or of 2^31 and more, which Java's readers take for negative. No registry is
ever asked for one, whoever meets it; a payload that carries one is one bad row."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.batches.rows import deserialize_many
from srfix.serde.confluent.avro import AvroDeserializer as DropInDeserializer
from srfix.serde.deserializer import AvroDeserializer
from srfix.serde.errors import ImpossibleSchemaIdError, Reason, UsageError
from srfix.serde.interface import BadRow, SerdeContext
from srfix.serde.registry.client import RegistryClient
from srfix.serde.registry.http.retry import RetryPolicy
from srfix.serde.resolve.policies import ById, DualSubject, Resolver, UnderOneSubject
from srfix.serde.schemas.errors import AddressNotFoundError, SchemaNotFoundError
from srfix.serde.schemas.models import Schema
from srfix.serde.serializer import AvroSerializer
from srfix.serde.spark.read.plan import plan_read
from srfix.serde.spark.worker.decode import RememberedRefusals
from srfix.serde.subjects.names import Role
from srfix.serde.subjects.strategies import ChangelogSubject, TopicSubject
from srfix.serde.wire import frame_id

TEXT = '{"type":"record","name":"R","fields":[{"name":"A","type":"long"}]}'
IMPOSSIBLE = [-1, 0, 2**31, 10**30]
ONE_LONG = b"\x02"


@pytest.fixture
def registry(registry: FixtureRegistry) -> FixtureRegistry:
    registry.seed("users-value", TEXT)
    registry.forget_requests()
    return registry


def _dual(client: RegistryClient) -> Resolver:
    return DualSubject(client, first=ChangelogSubject(application="a", store="s"), second=TopicSubject())


ASKERS: list[Callable[[RegistryClient, int], object]] = [
    lambda client, schema_id: client.schema_by_id(schema_id),
    lambda client, schema_id: client.gives_id_to("users-value", schema_id),
    lambda client, schema_id: client.subjects_of_id(schema_id),
    lambda client, schema_id: client.versions_of_id(schema_id),
    lambda client, schema_id: client.register_with_id("users-value", Schema(text=TEXT), schema_id),
    lambda client, schema_id: ById(client).resolve(schema_id, topic="users", role=Role.VALUE),
    lambda client, schema_id: UnderOneSubject(client).resolve(schema_id, topic="users", role=Role.VALUE),
    lambda client, schema_id: _dual(client).resolve(schema_id, topic="users", role=Role.VALUE),
    lambda client, schema_id: RememberedRefusals(ById(client)).resolve(schema_id, topic="users", role=Role.VALUE),
    lambda client, schema_id: AvroSerializer(client, schema_id=schema_id)({"A": 1}, SerdeContext("users")),
]


class TestNobodyAsks:
    @pytest.mark.parametrize("schema_id", IMPOSSIBLE)
    @pytest.mark.parametrize("ask", ASKERS)
    def test_a_person_names_it(
        self,
        ask: Callable[[RegistryClient, int], object],
        schema_id: int,
        client: RegistryClient,
        registry: FixtureRegistry,
    ) -> None:
        with pytest.raises(ImpossibleSchemaIdError, match=rf"There is no schema id {schema_id}\b.*:"):
            ask(client, schema_id)
        assert registry.requests == ()

    @pytest.mark.parametrize("schema_id", IMPOSSIBLE)
    def test_a_plan_for_spark_names_it(self, schema_id: int, client: RegistryClient, registry: FixtureRegistry) -> None:
        with pytest.raises(UsageError, match=rf"^ids: There is no schema id {schema_id}\b.* Leave it out\.$"):
            plan_read(client, "users", "A BIGINT", ids=[1, schema_id])
        assert registry.requests == ()


def payload_with(schema_id: int) -> bytes:
    return b"\x00" + schema_id.to_bytes(4, "big") + ONE_LONG


class TestABadRow:
    @pytest.mark.parametrize("policy", [ById, UnderOneSubject, _dual])
    @pytest.mark.parametrize("schema_id", [0, 2**31, 2**32 - 1])
    def test_it_is_one_among_good_ones(
        self,
        schema_id: int,
        policy: Callable[[RegistryClient], Resolver],
        client: RegistryClient,
        registry: FixtureRegistry,
    ) -> None:
        payloads = [frame_id(1, ONE_LONG), payload_with(schema_id), frame_id(1, ONE_LONG)]
        read = AvroDeserializer(policy(client))
        good, bad, last = deserialize_many(payloads, SerdeContext("users"), read, on_error="quarantine")
        assert (good, last) == ({"A": 1}, {"A": 1})
        assert isinstance(bad, BadRow)
        assert (bad.reason, bad.position) == (Reason.BAD_ID, 1)
        assert not [request for request in registry.requests if str(schema_id) in request.path and schema_id]
        assert not [request for request in registry.requests if "/ids/0" in request.path]

    @pytest.mark.parametrize("schema_id", [0, 2**31, 2**32 - 1])
    def test_it_is_one_to_the_drop_in(self, schema_id: int, client: RegistryClient, registry: FixtureRegistry) -> None:
        read = DropInDeserializer(client)
        with pytest.raises(ImpossibleSchemaIdError, match=rf"its schema id would be {schema_id}\b"):
            read(payload_with(schema_id), SerdeContext("users"))
        assert registry.requests == ()

    def test_what_a_callable_of_the_user_finds_is_looked_at_too(
        self, client: RegistryClient, registry: FixtureRegistry
    ) -> None:
        def identify(payload: bytes, _ctx: object, schema_id: object) -> bytes:
            schema_id.id = 2**31  # type: ignore[attr-defined]
            return payload

        read = DropInDeserializer(client, conf={"schema.id.deserializer": identify})
        with pytest.raises(ImpossibleSchemaIdError, match=r"There is no schema id 2147483648 \(-2147483648"):
            read(ONE_LONG, SerdeContext("users"))
        assert registry.requests == ()


class TestAnAddressThatIsNotThere:
    """404 with the error code 404: what a registry says of an id that is no number of its own, and of a wrong base path."""

    def test_an_id_behind_it_is_unknown(self, registry: FixtureRegistry) -> None:
        with RegistryClient(f"{registry.url}/elsewhere", retry=RetryPolicy(max_attempts=1)) as client:
            with pytest.raises(SchemaNotFoundError, match=r"error 404 .*Check the URL's base path") as caught:
                client.schema_by_id(7)
            assert (caught.value.status, caught.value.error_code) == (404, 404)
            assert not client.gives_id_to("users-value", 7)
            with pytest.raises(AddressNotFoundError, match="Check the URL's base path"):
                client.versions("users-value")
