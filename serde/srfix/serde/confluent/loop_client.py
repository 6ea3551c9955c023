"""confluent_kafka's asynchronous client as a client that is asked from a thread: each call runs on the user's event loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from srfix.serde.errors import UsageError


class LoopClient:
    """The client's methods, each waited for by the thread that calls it. Never call one on the loop's own thread.

    It has the methods of confluent_kafka's client by name, so that it stands where that one stands.
    """

    def __init__(self, client: object) -> None:
        self._client = client
        self.loop: asyncio.AbstractEventLoop | None = None
        """The loop that the client's coroutines run on: that of the call in hand."""

    def config(self) -> Mapping[str, Any]:
        found = self._client.config()  # type: ignore[attr-defined]
        return found if isinstance(found, Mapping) else {}

    def close(self) -> None:
        """Nothing: the client is its owner's, who awaits `aclose()`."""

    def _wait(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.loop is None:
            raise UsageError("An asynchronous client was asked before an event loop ran. Await the serde.")
        found = getattr(self._client, name)(*args, **kwargs)
        if not inspect.isawaitable(found):
            return found
        return asyncio.run_coroutine_threadsafe(_awaited(found), self.loop).result()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or not callable(getattr(self._client, name)):
            raise AttributeError(name)
        return lambda *args, **kwargs: self._wait(name, args, kwargs)


async def _awaited(found: Any) -> Any:
    return await found


def is_asynchronous(client: object) -> bool:
    """True for confluent_kafka's `AsyncSchemaRegistryClient`, and what has its methods."""
    return not inspect.isclass(client) and inspect.iscoroutinefunction(getattr(client, "get_schema", None))
