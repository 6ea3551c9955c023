"""The twins for asyncio: the same answers, and a loop that never waits for the registry."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, assert_type

import pytest
from confluent_kafka.schema_registry import AsyncSchemaRegistryClient

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import ColumnError, RegistryClient, RegistryError, ResolveError, SerdeContext, UsageError
from srfix.serde.confluent import AsyncAvroDeserializer, AsyncAvroSerializer, AsyncJSONDeserializer, AsyncJSONSerializer
from srfix.serde.interface import Row
from srfix.serde.schemas.models import RegisteredSchema
from srfix.serde.wire import frame_id

COLUMNS = "ID BIGINT, NAME STRING"
RECORD = '{"type":"record","name":"R","fields":[{"name":"id","type":"long"}]}'


@dataclass
class User:
    id: int | None
    name: str | None


def run(make: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(make(), 30))


class TestCalls:
    def test_each_form_of_a_client_writes_and_reads(self, server: FixtureRegistry, ours: RegistryClient) -> None:
        async def check() -> None:
            async with AsyncSchemaRegistryClient({"url": server.url}) as theirs:
                for number, given in enumerate((ours, theirs, {"url": server.url}, server.url)):
                    ctx = SerdeContext(f"t{number}")
                    write = await AsyncAvroSerializer(given, columns=COLUMNS)
                    read = await AsyncAvroDeserializer(given, columns=COLUMNS)
                    payload = await write({"id": 7}, ctx)
                    for _ in range(2):
                        assert await read(payload, ctx) == {"ID": 7, "NAME": None}
                        assert await write({"id": 7}, f"t{number}") == payload
                    json_write = await AsyncJSONSerializer(given, columns=COLUMNS)
                    json_read = await AsyncJSONDeserializer(given, columns=COLUMNS)
                    topic = f"j{number}"
                    assert await json_read(await json_write({"id": 7}, topic), topic) == {"ID": 7, "NAME": None}
                    for serde in (write, read, json_write, json_read):
                        await serde.aclose()

        run(check)

    def test_dataclasses_and_rows_are_typed(self, ours: RegistryClient) -> None:
        async def check() -> None:
            async with AsyncAvroSerializer(ours, columns=User) as write, AsyncAvroDeserializer(ours, into=User) as read:
                payload = await write(User(7, "Ada"), "t")
                assert payload is not None
                assert_type(await read(payload, "t"), User | None)
                assert_type(await read.row(payload, "t"), Row)
                assert await read(payload, "t") == User(7, "Ada")
                assert await read.row(payload, "t") == {"ID": 7, "NAME": "Ada"}
                assert await read(None) is None
                assert await write(None) is None

        run(check)

    def test_what_is_wrong_is_said_when_it_is_made(self, ours: RegistryClient) -> None:
        with pytest.raises(UsageError, match=r"^schema_registry_client is None"):
            AsyncAvroDeserializer(None)
        with pytest.raises(UsageError, match=r"^schema_registry_client is the class AsyncSchemaRegistryClient;"):
            AsyncAvroDeserializer(AsyncSchemaRegistryClient)
        with pytest.raises(ColumnError):
            AsyncAvroSerializer(ours, columns="ID")


class Slow:
    """A registry whose first answer, or problem, takes until the loop has done something else."""

    def __init__(self, client: RegistryClient, problem: RegistryError | None) -> None:
        self._client = client
        self._problem = problem
        self.turned = threading.Event()
        self.threads: list[str] = []

    def schema_by_id(self, schema_id: int, *, subject: str | None = None) -> RegisteredSchema:
        self.threads.append(threading.current_thread().name)
        assert self.turned.wait(20), "the loop waits for the registry"
        if self._problem is not None:
            raise self._problem
        return self._client.schema_by_id(schema_id, subject=subject)


class TestManyTasksAtOnce:
    @pytest.mark.parametrize("problem", [None, RegistryError("it is down")])
    def test_ask_the_registry_once_also_when_the_first_is_cancelled(
        self, ours: RegistryClient, problem: RegistryError | None
    ) -> None:
        """Seen: as many requests as the serde has threads."""
        slow = Slow(ours, problem)

        async def check() -> None:
            async with AsyncAvroSerializer(ours, RECORD) as write, AsyncAvroDeserializer(slow) as read:
                payload = await write({"id": 7}, "t")
                tasks = [asyncio.create_task(read(payload, "t")) for _ in range(50)]
                while not slow.threads:
                    await asyncio.sleep(0)
                tasks[0].cancel()
                await asyncio.sleep(0.05)
                slow.turned.set()
                told = await asyncio.gather(*tasks[1:], return_exceptions=True)
                assert {str(one) for one in told} == {str(problem or {"id": 7})}
                with pytest.raises(ResolveError, match="A value of topic 't', schema id 9: "):
                    await AsyncAvroDeserializer(ours)(frame_id(9, b"\x02"), "t")
                with pytest.raises(asyncio.CancelledError):
                    await tasks[0]

        run(check)
        assert len(slow.threads) == 1
        assert slow.threads[0].startswith("srfix-serde"), "the loop itself never waits"
