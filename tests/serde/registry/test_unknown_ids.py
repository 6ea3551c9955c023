"""That a registry does not know an id is remembered for a while, and never longer than it may be."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.bounds import UnknownIdBounds
from srfix.serde.confluent.avro import AvroDeserializer as DropInDeserializer
from srfix.serde.deserializer import AvroDeserializer
from srfix.serde.errors import ResolveError, UsageError
from srfix.serde.interface import SerdeContext
from srfix.serde.registry.client import RegistryClient
from srfix.serde.registry.http.retry import RetryPolicy
from srfix.serde.resolve.policies import ById, UnderOneSubject
from srfix.serde.schemas.errors import RegistryUnreachableError, SchemaNotFoundError
from srfix.serde.schemas.models import Schema
from srfix.serde.wire import frame_id
from tests.serde.fakes import Clock

TEXT = '{"type":"record","name":"R","fields":[{"name":"A","type":"long"}]}'
PAYLOAD = frame_id(1, b"\x02")
NO_RETRY = RetryPolicy(max_attempts=1)


@pytest.fixture
def clock() -> Clock:
    return Clock(100.0)


@pytest.fixture
def client(registry: FixtureRegistry, clock: Clock) -> Iterator[RegistryClient]:
    with RegistryClient(registry.url, retry=NO_RETRY, clock=clock) as opened:
        yield opened


def is_unknown(client: RegistryClient, schema_id: int = 1, *, subject: str | None = None) -> bool:
    try:
        client.schema_by_id(schema_id, subject=subject)
    except SchemaNotFoundError:
        return True
    return False


class TestManyRecordsOfOneId:
    @pytest.mark.parametrize(
        "make",
        [
            lambda client: AvroDeserializer(ById(client)),
            lambda client: AvroDeserializer(UnderOneSubject(client)),
            DropInDeserializer,
        ],
    )
    def test_they_are_one_request(
        self, make: Callable[[RegistryClient], Callable[..., object]], client: RegistryClient, registry: FixtureRegistry
    ) -> None:
        read = make(client)
        said = set()
        for _ in range(200):
            with pytest.raises(ResolveError) as caught:
                read(PAYLOAD, SerdeContext("users"))
            said.add(caught.value.message)
        assert len(said) == 1
        assert len(registry.requests) == 1

    def test_each_error_has_frames_of_its_own(self, client: RegistryClient) -> None:
        errors = []
        for _ in range(50):
            with pytest.raises(SchemaNotFoundError) as caught:
                client.schema_by_id(1)
            errors.append(caught.value)
        assert len({id(error) for error in errors}) == 50
        assert len({error.message for error in errors}) == 1
        depths = []
        for error in errors:
            depth, frame = 0, error.__traceback__
            while frame is not None:
                depth, frame = depth + 1, frame.tb_next
            depths.append(depth)
        assert max(depths[1:]) == min(depths[1:])

    def test_a_guid_likewise(self, registry: FixtureRegistry) -> None:
        with FixtureRegistry(emulate="8.2") as newer, RegistryClient(newer.url, retry=NO_RETRY) as client:
            for _ in range(20):
                with pytest.raises(SchemaNotFoundError):
                    client.schema_by_guid("6a8e3a4b-1d3c-4d64-9c0b-0a0a4f7c1f10")
            assert len(newer.requests) == 1


class TestWhenItIsAskedAgain:
    def test_after_its_time(self, client: RegistryClient, registry: FixtureRegistry, clock: Clock) -> None:
        assert is_unknown(client)
        registry.seed("s", TEXT)
        clock.now += 29.9
        assert is_unknown(client)
        clock.now += 0.2
        assert not is_unknown(client)

    @pytest.mark.parametrize(
        "write",
        [
            lambda client: client.register("s", Schema(text=TEXT)),
            lambda client: client.register_version("s", Schema(text=TEXT)),
            lambda client: client.set_config("other", {"compatibility": "NONE"}),
        ],
    )
    def test_after_a_write_of_any_client_of_this_process(
        self, write: Callable[[RegistryClient], object], client: RegistryClient, registry: FixtureRegistry
    ) -> None:
        assert is_unknown(client)
        with RegistryClient(registry.url, retry=NO_RETRY) as another:
            write(another)
        registry.seed("s", TEXT)
        assert not is_unknown(client)

    def test_when_it_is_told_to_forget(self, client: RegistryClient, registry: FixtureRegistry) -> None:
        assert is_unknown(client)
        registry.seed("s", TEXT)
        assert is_unknown(client)
        client.forget_unknown_ids()
        assert not is_unknown(client)

    def test_in_another_context(self, client: RegistryClient, registry: FixtureRegistry) -> None:
        registry.seed(":.eu:s", TEXT)
        assert is_unknown(client)
        assert not is_unknown(client, subject=":.eu:s")

    def test_each_time_where_nothing_is_to_be_remembered(self, registry: FixtureRegistry) -> None:
        for bounds in (UnknownIdBounds(remember_s=0), UnknownIdBounds(most=0)):
            registry.forget_requests()
            with RegistryClient(registry.url, retry=NO_RETRY, unknown_ids=bounds) as client:
                assert [is_unknown(client) for _ in range(3)] == [True] * 3
            assert len(registry.requests) == 3

    def test_where_it_was_asked_before_a_write_that_ended_meanwhile(
        self, client: RegistryClient, registry: FixtureRegistry
    ) -> None:
        """A look-up that began before a registration, and says "unknown" after it, must not be remembered."""
        asked, may_answer = threading.Event(), threading.Event()
        ask = client._schema_by_id

        def slowly(*question: object) -> object:
            asked.set()
            may_answer.wait(10)
            raise SchemaNotFoundError(404, 40403, "Schema 1 not found", "http://x")

        client._schema_by_id = slowly  # type: ignore[assignment]
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(is_unknown, client)
            assert asked.wait(10)
            with RegistryClient(registry.url, retry=NO_RETRY) as another:
                another.register("s", Schema(text=TEXT))
            may_answer.set()
            assert first.result(10)
        client._schema_by_id = ask
        assert not is_unknown(client)


class TestWhatIsNotRemembered:
    def test_an_outage(self, client: RegistryClient, registry: FixtureRegistry) -> None:
        registry.seed("s", TEXT)
        registry.close()
        for _ in range(2):
            with pytest.raises(RegistryUnreachableError):
                client.schema_by_id(1)

    def test_more_than_there_is_room_for(self, registry: FixtureRegistry) -> None:
        with RegistryClient(registry.url, retry=NO_RETRY, unknown_ids=UnknownIdBounds(most=10)) as client:
            for schema_id in range(1, 101):
                assert is_unknown(client, schema_id)
            assert len(client._unknown_ids._refused) == 10
            registry.forget_requests()
            assert is_unknown(client, 100)
            assert registry.requests == ()

    @pytest.mark.parametrize("bounds", [{"remember_s": -1.0}, {"most": -1}])
    def test_less_than_nothing(self, bounds: dict[str, float]) -> None:
        with pytest.raises(UsageError, match="The time to remember unknown ids, and"):
            UnknownIdBounds(**bounds)  # type: ignore[arg-type]
