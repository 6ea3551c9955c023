"""The asyncio versions of the serdes, like confluent-kafka's. They take the same arguments; await the constructor once,
and each call.

>>> import asyncio
>>> from srfix.serde.confluent import AsyncAvroDeserializer, AsyncAvroSerializer
>>> async def there_and_back():
...     serialize = await AsyncAvroSerializer(registry, columns="ID BIGINT, NAME STRING")
...     deserialize = await AsyncAvroDeserializer(registry, columns="ID BIGINT, NAME STRING")
...     return await deserialize(await serialize({"id": 7}, "async-users"), "async-users")
>>> asyncio.run(there_and_back())
{'ID': 7, 'NAME': None}

Requests to the registry run on the serde's own threads, so that the event loop never waits: for the first payload of a
schema and topic, and for a schema with references when the serde is made. Tasks that need the same answer wait for the
first task's request, even if that task is cancelled. Everything else runs at once, on the loop. The client may be any
client that the other serdes accept, or confluent_kafka's `AsyncSchemaRegistryClient`, whose coroutines run on the loop.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable, Generator, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Self, TypeAlias, TypeVar, Unpack, cast, overload

from srfix.serde.arguments import usable_context
from srfix.serde.confluent.avro import AvroDeserializer, AvroSerializer
from srfix.serde.confluent.deserializer import ConfluentDeserializer, R, ReadOptions, T
from srfix.serde.confluent.json_schema import JSONDeserializer, JSONSerializer
from srfix.serde.confluent.protobuf import M, ProtobufDeserializer, ProtobufSerializer
from srfix.serde.confluent.serializer import ConfluentSerializer
from srfix.serde.errors import RegistryError, UsageError
from srfix.serde.interface import Context, Row
from srfix.serde.registries.confluent_client import AnySchema, ConfluentClient
from srfix.serde.registries.given import AnyClient

if TYPE_CHECKING:
    from srfix.serde.column_sources.given import GivenColumns

_THREADS: Final = 4
_METHODS: Final = [
    name for name in vars(ConfluentClient) if not name.startswith("_") and name not in ("config", "close")
]
_S = TypeVar("_S", bound="ConfluentSerializer | ConfluentDeserializer[Any]")
_A = TypeVar("_A")


class LoopClient:
    """Runs confluent_kafka's asynchronous client on the user's loop, for a waiting thread: never the loop's own."""

    def __init__(self, client: object) -> None:
        self._client = client
        self.loop: asyncio.AbstractEventLoop | None = None
        """The loop on which the client's coroutines run: the loop of the present call."""
        # Each is an attribute, because from Python 3.12 on isinstance() of a protocol does not see what `__getattr__` gives.
        for name in _METHODS:
            if callable(getattr(client, name, None)):
                setattr(self, name, partial(self._wait, name))

    def config(self) -> Mapping[str, Any]:
        config = self._client.config()  # type: ignore[attr-defined]
        return config if isinstance(config, Mapping) else {}

    def close(self) -> None:
        """Closes nothing: the client belongs to its owner, who awaits `aclose()`."""

    def _wait(self, name: str, *args: Any, **kwargs: Any) -> Any:
        if self.loop is None:
            raise UsageError("The asynchronous client was called before an event loop was running. Await the serde.")
        answer = getattr(self._client, name)(*args, **kwargs)
        if not inspect.isawaitable(answer):
            return answer
        return asyncio.run_coroutine_threadsafe(_await(answer), self.loop).result()


async def _await(awaitable: Any) -> Any:
    return await awaitable


def is_asynchronous(client: object) -> bool:
    """True for confluent_kafka's `AsyncSchemaRegistryClient`, and for objects with its methods."""
    return not inspect.isclass(client) and inspect.iscoroutinefunction(getattr(client, "get_schema", None))


class _Twin(Generic[_S]):
    """A serde for calls from a coroutine."""

    _of: ClassVar[Callable[..., Any]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Takes the arguments of the class whose name lacks Async. Wrong arguments raise an error now, or when this is
        awaited.

        :raises UsageError: if an argument makes no sense.
        """
        self._client: LoopClient | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._serde: _S | None = None
        self._calls: dict[Hashable, asyncio.Future[Any]] = {}
        named = {name: self._adapted(argument) for name, argument in kwargs.items()}
        self._make: Callable[[], _S] = partial(type(self)._of, *map(self._adapted, args), **named)
        schema = args + tuple(kwargs.values())
        if not any(getattr(part, "references", None) for part in schema):
            self._serde = self._make()

    def __await__(self) -> Generator[Any, None, Self]:
        return self._made().__await__()

    async def _made(self) -> Self:
        if self._serde is None:
            self._serde = await self._first(None, self._make)
        return self

    async def _first(self, key: Hashable, call: Callable[[], _A]) -> _A:
        """The call's answer. A task's cancellation does not end the call, because other tasks wait for it."""
        if self._running(key) is not None:
            return await asyncio.shield(self._calls[key])
        future = asyncio.ensure_future(self._on_a_thread(call))
        self._calls[key] = future

        def ended(_: asyncio.Future[_A]) -> None:
            self._calls.pop(key, None)
            if not future.cancelled():
                future.exception()  # this marks the error as retrieved, because maybe no task waits for it any more

        future.add_done_callback(ended)
        return await asyncio.shield(future)

    def _running(self, key: Hashable) -> asyncio.Future[Any] | None:
        """The present call for a key. A call that another loop has left behind does not count."""
        future = self._calls.get(key)
        return future if future is not None and future.get_loop() is asyncio.get_running_loop() else None

    def _adapted(self, argument: object) -> object:
        if not is_asynchronous(argument):
            return argument
        self._client = LoopClient(argument)
        return self._client

    async def _on_a_thread(self, call: Callable[[], _A]) -> _A:
        # The loop's own pool is not used, because an asynchronous client resolves host names there while these threads
        # wait for it.
        if self._pool is None:
            self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="srfix-serde")
        loop = asyncio.get_running_loop()
        if self._client is not None:
            self._client.loop = loop
        context = contextvars.copy_context()
        return await loop.run_in_executor(self._pool, lambda: context.run(call))

    async def _called(self, subject: object, ctx: Context | str | None, call: Callable[[_S, Context | None], _A]) -> _A:
        context = usable_context(ctx) if isinstance(ctx, str) else ctx
        if self._serde is None:
            await self._made()
        serde = cast("_S", self._serde)
        if serde.is_ready(subject, context):
            return call(serde, context)
        key = serde.asks_for(subject, context)
        future = None if key is None else self._running(key)
        if key is not None and future is None:
            return await self._first(key, lambda: call(serde, context))
        if future is not None:
            await asyncio.wait([future])
            if serde.is_ready(subject, context):
                return call(serde, context)
            failed = None if future.cancelled() else future.exception()
            if isinstance(failed, RegistryError):  # asked once: each task would wait for the time-out again
                raise copy(failed) from failed
        return await self._on_a_thread(lambda: call(serde, context))

    async def aclose(self) -> None:
        """Ends the threads, and closes the connections of a client that was made for this serde."""
        if self._serde is not None:
            self._serde.close()
        if self._pool is not None:
            self._pool.shutdown(wait=False)
            self._pool = None

    async def __aenter__(self) -> Self:
        return await self._made()

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _AsyncSerializer(_Twin[ConfluentSerializer]):
    async def __call__(self, obj: object, ctx: Context | str | None = None) -> bytes | None:
        """The payload; see `ConfluentSerializer.__call__`."""
        return await self._called(obj, ctx, lambda serde, context: serde(obj, context))


class _AsyncDeserializer(_Twin[ConfluentDeserializer[T]]):
    async def __call__(self, data: bytes | None, ctx: Context | str | None = None) -> T:
        """The row, or the result of `into` or `from_dict`; see `ConfluentDeserializer.__call__`."""
        return await self._called(data, ctx, lambda serde, context: serde(data, context))

    @overload
    async def row(self, payload: None, ctx: Context | str | None = None) -> None: ...
    @overload
    async def row(self, payload: bytes, ctx: Context | str | None = None) -> Row: ...
    @overload
    async def row(self, payload: bytes | None, ctx: Context | str | None = None) -> Row | None: ...
    async def row(self, payload: bytes | None, ctx: Context | str | None = None) -> Row | None:
        """The row as a dict; see `ConfluentDeserializer.row`."""
        return await self._called(payload, ctx, lambda serde, context: serde.row(payload, context))


class AsyncAvroSerializer(_AsyncSerializer):
    """`AvroSerializer` for asyncio: await the constructor, and each call."""

    _of = AvroSerializer


class AsyncJSONSerializer(_AsyncSerializer):
    """`JSONSerializer` for asyncio: await the constructor, and each call."""

    _of = JSONSerializer


class AsyncProtobufSerializer(_AsyncSerializer):
    """`ProtobufSerializer` for asyncio: await the constructor, and each call."""

    _of = ProtobufSerializer


if TYPE_CHECKING:
    _Given: TypeAlias = AnyClient | AnySchema

    class _NamedOptions(ReadOptions, total=False):
        schema_registry_client: object
        schema_str: AnySchema

    class _IntoOptions(_NamedOptions, total=False):
        columns: GivenColumns | None


class AsyncAvroDeserializer(_AsyncDeserializer[T]):
    """`AvroDeserializer` for asyncio: await the constructor, and each call."""

    _of = AvroDeserializer

    if TYPE_CHECKING:

        @overload
        def __init__(
            self: AsyncAvroDeserializer[R | None], *given: _Given, columns: type[R], **options: Unpack[_NamedOptions]
        ) -> None: ...
        @overload
        def __init__(
            self: AsyncAvroDeserializer[R | None], *given: _Given, into: type[R], **options: Unpack[_IntoOptions]
        ) -> None: ...
        @overload
        def __init__(self: AsyncAvroDeserializer[object], *args: Any, **kwargs: Any) -> None: ...
        def __init__(self, *args: Any, **kwargs: Any) -> None: ...


class AsyncJSONDeserializer(_AsyncDeserializer[T]):
    """`JSONDeserializer` for asyncio: await the constructor, and each call."""

    _of = JSONDeserializer

    if TYPE_CHECKING:

        @overload
        def __init__(
            self: AsyncJSONDeserializer[R | None], *given: _Given, columns: type[R], **options: Unpack[_NamedOptions]
        ) -> None: ...
        @overload
        def __init__(
            self: AsyncJSONDeserializer[R | None], *given: _Given, into: type[R], **options: Unpack[_IntoOptions]
        ) -> None: ...
        @overload
        def __init__(self: AsyncJSONDeserializer[object], *args: Any, **kwargs: Any) -> None: ...
        def __init__(self, *args: Any, **kwargs: Any) -> None: ...


class AsyncProtobufDeserializer(_AsyncDeserializer["M | None"], Generic[M]):
    """`ProtobufDeserializer` for asyncio: await the constructor, and each call."""

    _of = ProtobufDeserializer

    if TYPE_CHECKING:

        def __init__(self, message_type: type[M] | None = None, *args: Any, **kwargs: Any) -> None: ...
